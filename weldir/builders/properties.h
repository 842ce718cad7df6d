// Answers that several builders share.
#pragma once

#include <algorithm>

#include "weldir/ir/builder.h"

namespace weld {

extern const BuilderInfo kAppender, kMerger, kDictMerger, kGroupMerger, kVecMerger;

inline bool always(const Type*) { return true; }
inline bool never(const Type*) { return false; }
inline const Type* no_start(Types&, const Type*) { return nullptr; }
inline const Type* size_hint(Types& types, const Type*) { return types.i64(); }

inline const Type* pair(Types& types, const Type* first, const Type* second) {
    const Type* fields[] = {first, second};
    return types.structure(fields);
}

/// `value` (a numeric scalar or a flat struct of them) combined by `op` gives the same bits in every order.
inline bool exact_in_any_order(const Type* value, MergeOp op) {
    if (op == MergeOp::Min || op == MergeOp::Max) return true;
    if (value->is_scalar()) return !is_float(value->scalar);
    return std::none_of(value->args.begin(), value->args.end(),
                        [](const Type* f) { return is_float(f->scalar); });
}

}  // namespace weld
