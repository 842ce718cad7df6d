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

inline bool is_i64(const Type* t) { return t->is_scalar(Scalar::I64); }

/// Every scalar in `t` is simd of `lanes`: verify_types.cpp.
bool all_lanes(const Type* t, std::uint32_t lanes);

// Rules of kinds of nodes: verify_loops.cpp.
void iterate_rules(Demands& d, const Expr* e);
void loop_rules(Demands& d, const Expr* e);
void iterator_rules(Demands& d, const Expr* e);
void new_builder_rules(Demands& d, const Expr* e);
void merge_rules(Demands& d, const Expr* e);
void result_rules(Demands& d, const Expr* e);

/// The annotations of `e` fit it: verify_annotations.cpp.
void annotations(Demands& d, const Expr* e);

}  // namespace weld
