// What the rules of types and of annotations are made of.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "weldir/ir/expr.h"

namespace weld {

/// Collects the first demand that is not met.
class Demands {
  public:
    /// Says whether `ok`, so that later demands may rely on it. Types among `args` are spelled only if it is
    /// not.
    template <class... Args>
    bool that(bool ok, std::string_view otherwise, const Args&... args) {
        if (!ok && error.empty()) error = fmt::format(fmt::runtime(otherwise), shown(args)...);
        return ok;
    }
    bool equal(const Type* found, const Type* wanted, std::string_view what) {
        if (found != wanted && error.empty())
            error = fmt::format("{} is `{}`, not `{}`", what, found->str(), wanted->str());
        return found == wanted;
    }
    bool arity(const Expr* e, std::size_t least, std::size_t most) {
        return that(e->num_args >= least && e->num_args <= most, "wrong number of arguments");
    }
    std::string error;

  private:
    static std::string shown(const Type* t) { return t->str(); }
    template <class T>
    static const T& shown(const T& value) {
        return value;
    }
};

/// The annotations of `e` fit it: verify_annotations.cpp.
void annotations(Demands& d, const Expr* e);

}  // namespace weld
