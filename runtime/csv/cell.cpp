// Floats by fast_float, which rounds correctly; integers by std::from_chars.
#include "runtime/csv/cell.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include <fast_float/fast_float.h>

#include "runtime/cell_types.h"

namespace weld::runtime {

// ---- all of a field

namespace {

template <class T>
bool store(void* to, T value) {
    std::memcpy(to, &value, sizeof value);
    return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

bool equal_ignoring_case(std::string_view a, std::string_view lower) {
    return std::ranges::equal(a, lower,
                              [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

/// What fast_float gives for numbers beyond the range differs between its versions: it is asked again.
template <class T>
bool nearest(std::string_view text, T* value) {
    *value = std::is_same_v<T, float> ? T(std::strtof(std::string(text).c_str(), nullptr))
                                      : T(std::strtod(std::string(text).c_str(), nullptr));
    return !std::isinf(*value);
}

template <class T>
bool read_float(std::string_view text, void* to) {
    if (text.empty()) return store(to, std::numeric_limits<T>::quiet_NaN());
    const bool negative = text.front() == '-';
    if (negative || text.front() == '+') text.remove_prefix(1);
    T value;
    if (equal_ignoring_case(text, "nan")) value = std::numeric_limits<T>::quiet_NaN();
    else if (equal_ignoring_case(text, "inf") || equal_ignoring_case(text, "infinity"))
        value = std::numeric_limits<T>::infinity();
    else {
        if (text.empty() || !(is_digit(text.front()) || text.front() == '.')) return false;
        const char* end = text.data() + text.size();
        const auto [stop, error] = fast_float::from_chars(text.data(), end, value);
        if (stop != end) return false;
        if ((error != std::errc() || !std::isfinite(value)) && !nearest(text, &value)) return false;
    }
    return store(to, negative ? -value : value);
}

bool read_bool(std::string_view text, void* to) {
    const bool yes = text == "1" || equal_ignoring_case(text, "true");
    if (!yes && text != "0" && !equal_ignoring_case(text, "false")) return false;
    return store(to, std::uint8_t(yes));
}

template <class T>
bool read_integer(std::string_view text, void* to) {
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) return false;
    }
    const char* end = text.data() + text.size();
    if (std::is_unsigned_v<T> && text.starts_with('-'))  // -0
        return text.size() > 1 && text.find_first_not_of('0', 1) == text.npos && store(to, T(0));
    T value;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stop == end && store(to, value);
}

}  // namespace

bool read_cell(std::string_view text, WeldKind type, void* to) {
    const std::string_view cell = trimmed(text);
    return with_cell(type, [&]<class T>() {
        if constexpr (std::is_same_v<T, Bool>) return read_bool(cell, to);
        else if constexpr (std::is_floating_point_v<T>) return read_float<T>(cell, to);
        else if constexpr (std::is_integral_v<T>) return read_integer<T>(cell, to);
        else return false;
    });
}

// ---- what a field begins with

template <class T>
T lenient_number(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0]))) text.remove_prefix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const char *begin = text.data(), *end = begin + text.size();
    if constexpr (std::is_floating_point_v<T>) {
        T value;
        return fast_float::from_chars(begin, end, value).ec == std::errc()
                   ? value
                   : std::numeric_limits<T>::quiet_NaN();
    } else if constexpr (std::is_same_v<T, Bool>) {
        const double value = lenient_number<double>(text);
        return Bool{value != 0 && !std::isnan(value)};
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        T value = 0;
        if (text.starts_with('-')) return T(lenient_number<std::int64_t>(text));
        const std::errc error = std::from_chars(begin, end, value).ec;
        return error == std::errc::result_out_of_range ? std::numeric_limits<T>::max() : value;
    } else {
        std::int64_t value = 0;
        if (std::from_chars(begin, end, value).ec == std::errc::result_out_of_range)
            value = text.starts_with('-') ? std::numeric_limits<std::int64_t>::min()
                                          : std::numeric_limits<std::int64_t>::max();
        return T(value);
    }
}

template Bool lenient_number(std::string_view);
template std::int8_t lenient_number(std::string_view);
template std::int16_t lenient_number(std::string_view);
template std::int32_t lenient_number(std::string_view);
template std::int64_t lenient_number(std::string_view);
template std::uint8_t lenient_number(std::string_view);
template std::uint16_t lenient_number(std::string_view);
template std::uint32_t lenient_number(std::string_view);
template std::uint64_t lenient_number(std::string_view);
template float lenient_number(std::string_view);
template double lenient_number(std::string_view);

// ---- in a hurry

template <class T>
static const char* quick(const char* at, const char* end, void* to) {
    T value;
    if constexpr (std::is_floating_point_v<T>) {
        const auto found = fast_float::from_chars(at, end, value);
        if (found.ec != std::errc() || !std::isfinite(value)) return nullptr;
        std::memcpy(to, &value, sizeof value);
        return found.ptr;
    } else {
        const auto found = std::from_chars(at, end, value);
        if (found.ec != std::errc()) return nullptr;
        std::memcpy(to, &value, sizeof value);
        return found.ptr;
    }
}

QuickNumber* quick_number(WeldKind type) {
    return with_cell(type, []<class T>() -> QuickNumber* {
        if constexpr (std::is_arithmetic_v<T>) return quick<T>;
        else return nullptr;
    });
}

}  // namespace weld::runtime
