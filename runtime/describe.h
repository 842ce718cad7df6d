// Helpers on WeldType: what emitted code tells the runtime about types.
#pragma once

#include <cstdint>

#include "runtime/abi/weld_abi.h"
#include "weldir/support/round_up.h"

namespace weld::runtime {

inline bool is_scalar(const WeldType* t) { return t->kind < kWeldSimd; }
inline bool is_builder(const WeldType* t) { return t->kind >= kWeldFirstBuilder; }
inline bool is_float(const WeldType* t) { return t->kind == kWeldF32 || t->kind == kWeldF64; }
inline bool is_integer(const WeldType* t) { return is_scalar(t) && !is_float(t) && t->kind != kWeldBool; }

inline std::int64_t lanes_of(const WeldType* simd) { return simd->size / simd->args[0]->size; }

/// Whether a part of a value of type `t` satisfies `is`, which is asked about every type below `t`.
template <class Is>
bool any_part(const WeldType* t, const Is& is) {
    if (is(t)) return true;
    for (std::uint32_t i = 0; i < t->num_args; ++i)
        if (any_part(t->args[i], is)) return true;
    return false;
}
inline bool holds_float(const WeldType* t) { return any_part(t, is_float); }

/// Calls `f(type, offset)` for every scalar of a scalar, simd or (nested) struct of them.
template <class F>
void for_each_scalar(const WeldType* t, std::int64_t offset, const F& f) {
    if (t->kind == kWeldSimd) {
        for (std::int64_t k = 0; k < lanes_of(t); ++k) f(t->args[0], offset + k * t->args[0]->size);
        return;
    }
    if (t->kind != kWeldStruct) return f(t, offset);
    for (std::uint32_t i = 0; i < t->num_args; ++i) for_each_scalar(t->args[i], offset + t->offsets[i], f);
}

}  // namespace weld::runtime
