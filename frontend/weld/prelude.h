// Weld text inside other front ends: what a language is built from can be written as macros in a prelude, and
// used with values of a Module that is being made.
//
//     Prelude prelude(m, "prelude.weld", "macro twice(x) = x + x;");
//     const Expr* e = prelude.apply("|x: i64| twice(x)", {{var(m, n)}}, loc);     // n + n
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weldir/ir/module.h"

namespace weld {

namespace front {
struct Reader;
}

/// The standard macros and those of one text, read once for a Module.
class Prelude {
  public:
    Prelude(Module& m, std::string name, std::string text);
    ~Prelude();

    /// The body of `function`, a Weld function with typed parameters, for these arguments (variables and
    /// literals). All its nodes stand at `loc`, as if they were written there. Wrong text is a defect of the
    /// caller: null, and `error` says what is wrong.
    const Expr* apply(std::string_view function, std::span<const Expr* const> args, Loc loc,
                      std::string* error);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weld
