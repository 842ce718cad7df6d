// A loop that does no more than merge into its builder, on a builder of another type.
#pragma once

#include <functional>
#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/passes/normal_form.h"

namespace weld {

class OtherBuilder {
  public:
    /// `merged(merge, before)`: what becomes of a merge into a builder of the type `from`, where `before` of the type `to`
    /// is what it merges into.
    using Merged = std::function<const Expr*(Merge, const Expr*)>;
    OtherBuilder(Module& m, const Type* from, const Type* to, Merged merged)
        : m_(m), from_(from), to_(to), merged_(std::move(merged)) {}

    /// The loop on `start`; null if it does more than merge.
    const Expr* loop(For f, const Expr* start);

  private:
    const Expr* rebuilt(const Expr* e);
    const Expr* block(Block b);

    Module& m_;
    const Type *from_, *to_;
    Merged merged_;
    std::unordered_map<const Symbol*, const Symbol*> names_;
};

}  // namespace weld
