// What passes ask a builder, so that none of them needs to know builders by name.
// The answers stand in weldir/builders/NAME.cpp, one file per builder. (What they start from: identity_bits,
// scalar.h.)
#pragma once

#include "weldir/ir/type.h"

namespace weld {

/// The typing and the promises of one kind of builder. `b` is always a type of that kind.
struct BuilderInfo {
    const Type* (*takes)(Types& types, const Type* b);  ///< what one `merge` takes
    const Type* (*gives)(Types& types, const Type* b);  ///< type of `result`
    const Type* (*starts)(Types& types,
                          const Type* b);  ///< type of the argument that makes a new one; null: none
    bool needs_start;                      ///< the argument must be there
    bool start_counts;                     ///< the argument takes part in the result (else it is a hint)

    /// The result is a vector with one element per merge, in the order of merges: such a builder can be fused
    /// away, its length counted and its memory set aside before the loop.
    bool lists_merges;
    /// Until `result` there is an array of what was merged: its memory can be set aside before the loop.
    bool keeps_merges;
    /// The order of merges shows in the result, apart from rounding.
    bool (*ordered)(const Type* b);
    /// Merging in another order or grouping gives the same bits (integer `+ *`, every `min max`).
    bool (*exact)(const Type* b);
    /// `merge` takes lanes: simd values (struct fields each), with a mask or without; of a builder that is
    /// indexed, `{i, lanes}` for the indices from i on.
    bool (*takes_lanes)(const Type* b);
    /// A merge takes {i64 index, value}.
    bool indexed;
    /// A merge may fail (an index outside).
    bool merge_fails;
};

const BuilderInfo& info(BuilderKind kind);

/// What one `merge` into `b` takes.
inline const Type* merge_type(Types& types, const Type* b) { return info(b->builder).takes(types, b); }
/// Type of `result` of `b`.
inline const Type* result_type(Types& types, const Type* b) { return info(b->builder).gives(types, b); }

}  // namespace weld
