// A program: its functions and main expression, and the owner of all their nodes, types and symbols.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weldir/ir/expr.h"
#include "weldir/ir/type.h"
#include "weldir/support/arena.h"
#include "weldir/support/source.h"

namespace weld {

/// What is known of a function and of all that it calls; found by CallGraph. Until then the worst is.
struct Summary {
    bool fails = true;         ///< may fail, or not end
    bool calls = true;         ///< kernels that are not pure
    bool ordered = true;       ///< has an effect, or a call that keeps its order
    bool allocates = true;     ///< may leave memory behind
    bool recursive = true;     ///< calls itself, directly or through others
    bool mutual = true;        ///< and through others
    bool repeated = true;      ///< is recursive, or called from a loop, or by functions that are
    std::uint32_t cycle = 0;   ///< functions that call each other have the same number
    std::uint32_t height = 0;  ///< of the longest chain of calls below it, cycles counted once
    friend bool operator==(const Summary&, const Summary&) = default;
};

/// A named function of a module; may call itself and others.
struct Function {
    std::string_view name;
    const Type* type;              ///< a Function type
    const Expr* lambda = nullptr;  ///< a Lambda; null until it is defined
    Summary summary;
    Promises holds = {};  ///< of the sizes in what it gives: found by CallGraph, and true whatever passes do
};

/// Owns everything of one program. Once finished it is read-only and may be used from several threads.
class Module {
  public:
    Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    Arena arena;
    Types types;
    Sources sources;

    const Expr* main = nullptr;        ///< a Lambda; a program without parameters has none there
    std::vector<Function*> functions;  ///< in order of definition

    /// A new symbol; its name is copied.
    const Symbol* symbol(std::string_view name, const Type* type, Promises holds = {});
    /// A new symbol for the same as another one.
    const Symbol* copy(const Symbol* s) { return symbol(s->name, s->type, s->holds); }
    std::uint32_t num_symbols() const { return next_symbol_; }
    std::uint32_t next_node_id() { return next_node_++; }
    Function* function(std::string_view name, const Type* type);

  private:
    std::uint32_t next_symbol_ = 0;
    std::uint32_t next_node_ = 0;
};

}  // namespace weld
