// What there is to know of a builder without running it, so that neither passes nor the front end nor the
// verifier need to know builders by name. The answers stand in weldir/builders/NAME.cpp, one file per
// builder. (What operators start from: identity_bits, scalar.h.)
#pragma once

#include <string_view>
#include <vector>

#include "weldir/ir/type.h"

namespace weld {

/// The typing and the promises of one kind of builder. `b` is always a type of that kind.
struct BuilderInfo {
    // Types as patterns: `T` and `K` stand for the first type argument, `V` for the second (`typed_by`). Of a
    // type that is known, Type::takes, gives and starts are what they mean.
    std::string_view takes;   ///< what one `merge` takes
    std::string_view gives;   ///< type of `result`
    std::string_view starts;  ///< of the argument that makes a new one; empty: there is none
    bool needs_start;         ///< the argument must be there
    bool start_counts;        ///< the argument takes part in the result (else it is a hint)

    bool keyed;          ///< the first type argument is that of keys
    bool combines_simd;  ///< what the operator combines may be simd, lane by lane
    /// Its state in memory: so many 64-bit words, of which the first is a pointer. 0: one value of `T`, which
    /// is also the result.
    int words;

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
    /// A merge takes {i64 index, value}, and the result is as long as the start.
    bool indexed;
    /// A merge looks for its key in a table.
    bool probes;
    /// A merge may fail (an index outside).
    bool merge_fails;
};

const BuilderInfo& info(BuilderKind kind);
inline const BuilderInfo& info(const Type* builder) { return info(builder->builder); }

/// One of the builders in `t`, a builder or a struct of them, is such.
template <class Fn>
bool any_builder(const Type* t, Fn&& is_such) {
    if (t->is_builder()) return is_such(info(t));
    if (t->is_struct())
        for (const Type* f : t->args)
            if (any_builder(f, is_such)) return true;
    return false;
}

/// The state is one value, and the result is that.
inline bool is_value(const BuilderInfo& builder) { return builder.words == 0; }

/// Why there can be no such type, or nothing.
std::string ill_formed_builder(const Type* b);

namespace detail {

inline bool taken(std::string_view& pattern, std::string_view text) {
    if (!pattern.starts_with(text)) return false;
    pattern.remove_prefix(text.size());
    return true;
}

/// Takes the pattern of one type off the front of `pattern`.
template <class T, class Maker>
T next_typed(std::string_view& pattern, std::span<T const> args, Maker& make) {
    const auto all_until = [&](std::string_view close) {
        std::vector<T> all;
        while (!taken(pattern, close)) {
            all.push_back(next_typed(pattern, args, make));
            taken(pattern, ",");
        }
        return all;
    };
    if (taken(pattern, "T") || taken(pattern, "K")) return args[0];
    if (taken(pattern, "V")) return args[1];
    if (taken(pattern, "i64")) return make.i64();
    if (taken(pattern, "vec[")) return make.vec(all_until("]")[0]);
    if (taken(pattern, "dict[")) {
        const std::vector<T> both = all_until("]");
        return make.dict(both[0], both[1]);
    }
    taken(pattern, "{");
    return make.structure(all_until("}"));
}

}  // namespace detail

/// What a pattern of a BuilderInfo means for a builder with the type arguments `args`. `make` makes types, or
/// what stands for types that are not known yet.
template <class T, class Maker>
T typed_by(std::string_view pattern, std::span<T const> args, Maker& make) {
    return detail::next_typed(pattern, args, make);
}

}  // namespace weld
