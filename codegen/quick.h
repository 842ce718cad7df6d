// What is compiled the quick way, in a form that is soon compiled.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace weld::codegen {

/// Says of a branch's condition that it chooses between two forms of the same code: quick code has the one alone that
/// stands where it is false.
void mark_for_quick(llvm::Value* condition);

/// `module` says the same afterwards, in instructions that LLVM selects one by one.
void prepare_quick(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace weld::codegen
