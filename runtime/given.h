// Vectors that come from outside: arguments of a run, and what functions of users give.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/abi/weld_abi.h"

namespace weld::runtime {

/// What vectors of `elem` have to be before anything may read them.
struct Plausible {
    explicit Plausible(const WeldType* elem)
        : unaligned(std::uintptr_t(elem->align) - 1),
          most(elem->size ? (std::int64_t(1) << 47) / elem->size : INT64_MAX),
          lies_nowhere(elem->size == 0) {}

    bool operator()(const WeldVec& v) const {
        return v.len >= 0 && v.len <= most &&
               (lies_nowhere || (v.data && !(reinterpret_cast<std::uintptr_t>(v.data) & unaligned)));
    }
    std::uintptr_t unaligned;
    std::int64_t most;  ///< that have addresses
    bool lies_nowhere;  ///< elements without bytes
};

}  // namespace weld::runtime
