// What is always true of a module, and the check of it.
//
// Scope
//   - every symbol is bound once in its module, by a Block, a Lambda or as a parameter of a function, and read
//     only inside what binds it; a Lambda stands only as main, as a function's body, or under For, Iterate or
//     Sort; an Iter only as data of a For; a Block is neither empty, nor a value or the result of another Block.
// Types
//   - every node has the type that build.h would give it, and arguments as its row in ops.def or its view in
//     expr.h says (see verify_types.cpp); vectors, dictionaries and kernel calls hold no builders; keys are keys.
//   - simd values that meet have equally many lanes; the data of one For are all plain, all simd or all fringe,
//     with the same lanes; a mask goes with a simd value.
// Builders
//   - on every path, a symbol that holds builders is used exactly once: as a whole, or each of its builders
//     through field access; plain fields beside builders may be read freely. The sides of an If use the same ones.
//   - the function of For, Iterate and Sort uses no builder from outside.
//   - what the function of For returns derives from its first parameter, builder by builder.
// Effects
//   - a kernel with an effect, or a call of a function that has one inside, stands where the order of
//     evaluation is plain: as a `let` value or the result of a Block or Lambda, also below If and nodes of one
//     argument; in loops only if they stand so themselves and are not marked parallel; never under Sort.
// Memory
//   - what an annotation frees, keeps or reuses is bound where it says so, and not read afterwards.
//   - a call that takes the place of its caller is the last thing that a function does.
// Annotations are sorted by key, each key once; which stand on which nodes says verify_annotations.cpp.
#pragma once

#include <string>

#include "weldir/ir/module.h"

namespace weld {

/// The first violation, or nothing. Linear in the module.
std::string verify(const Module& m);

/// What is wrong with the types of one node, judged by those of its arguments; nothing if all is well.
std::string type_error(const Expr* e);

}  // namespace weld
