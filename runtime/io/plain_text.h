// Numbers as C and C++ write them: as `std::ostream <<` does in its default state (six significant digits),
// and as `std::to_string` does. The same bytes, by std::to_chars, which knows no locale and no stream.
#pragma once

#include <charconv>
#include <cmath>
#include <string_view>
#include <type_traits>

namespace weld {

/// Room for any number in either form.
using NumberText = char[400];

/// As `std::ostream <<`; an 8-bit number as a number.
template <class T>
std::string_view streamed(T value, NumberText& to) {
    const auto text = [&](std::to_chars_result end) {
        return std::string_view(to, std::size_t(end.ptr - to));
    };
    if constexpr (std::is_floating_point_v<T>) {
        // Most numbers that people look at; -0 is not among them.
        const bool is_small = value > -1e6 && value < 1e6 && !(value == 0 && std::signbit(value));
        if (const int whole = is_small ? int(value) : 0; is_small && T(whole) == value)
            return text(std::to_chars(to, to + sizeof to, whole));
        return text(std::to_chars(to, to + sizeof to, value, std::chars_format::general, 6));
    } else {
        using Wide = std::conditional_t<sizeof(T) == 1, int, T>;
        return text(std::to_chars(to, to + sizeof to, Wide(value)));
    }
}

/// As `std::to_string`, which for floats is `%f`.
template <class T>
std::string_view in_full(T value, NumberText& to) {
    if constexpr (std::is_floating_point_v<T>) {
        const auto end = std::to_chars(to, to + sizeof to, value, std::chars_format::fixed, 6);
        return {to, std::size_t(end.ptr - to)};
    } else {
        return streamed(value, to);
    }
}

}  // namespace weld
