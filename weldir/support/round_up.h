// Sizes and places that are multiples of something.
#pragma once

#include <type_traits>

namespace weld {

/// The least multiple of `to` that is not less than `n`.
template <class T>
constexpr T round_up(T n, std::type_identity_t<T> to) {
    return (n + to - 1) / to * to;
}

}  // namespace weld
