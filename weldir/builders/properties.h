// Answers that several builders share.
#pragma once

#include <algorithm>

#include "weldir/ir/builder.h"

namespace weld {

#define WELD_BUILDER(name, ...) extern const BuilderInfo k##name;
#include "runtime/abi/builders.def"

inline bool always(const Type*) { return true; }
inline bool never(const Type*) { return false; }

/// `value` (a numeric scalar or a flat struct of them) combined by `op` gives the same bits in every order.
inline bool exact_in_any_order(const Type* value, MergeOp op) {
    const auto is_exact = [](MergeOp op, Scalar s) {
        return op == MergeOp::Min || op == MergeOp::Max || !is_float(s);
    };
    if (value->is_scalar()) return is_exact(op, value->scalar);
    for (std::size_t k = 0; k < value->args.size(); ++k)
        if (!is_exact(op_of_field(op, k), value->args[k]->scalar)) return false;
    return true;
}

}  // namespace weld
