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
    if (op == MergeOp::Min || op == MergeOp::Max) return true;
    if (value->is_scalar()) return !is_float(value->scalar);
    return std::none_of(value->args.begin(), value->args.end(),
                        [](const Type* f) { return is_float(f->scalar); });
}

}  // namespace weld
