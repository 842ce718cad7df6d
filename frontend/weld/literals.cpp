// Numbers: radix, digits, suffix; then whether the value fits the type that the suffix names.
#include "frontend/weld/literals.h"

#include <bit>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace weld::front {
namespace {

/// A number token, taken apart. `digits` of a decimal number may have a fraction and an exponent.
struct NumberToken {
    int radix = 10;
    std::string_view digits;
    std::string_view suffix;
    bool is_float = false;  ///< has a fraction or an exponent
};

bool is_digit(char c, int radix) {
    if (radix == 2) return c == '0' || c == '1';
    if (c >= '0' && c <= '9') return true;
    return radix == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
}

std::size_t skip_digits(std::string_view s, std::size_t at, int radix) {
    while (at < s.size() && is_digit(s[at], radix)) ++at;
    return at;
}

NumberToken take_apart(std::string_view token) {
    NumberToken p;
    if (token.size() > 1 && token[0] == '0' && (token[1] | 0x20) == 'x') p.radix = 16;
    if (token.size() > 1 && token[0] == '0' && (token[1] | 0x20) == 'b') p.radix = 2;
    if (p.radix != 10) token.remove_prefix(2);
    std::size_t at = skip_digits(token, 0, p.radix);
    if (p.radix == 10) {
        if (at + 1 < token.size() && token[at] == '.' && is_digit(token[at + 1], 10)) {
            p.is_float = true;
            at = skip_digits(token, at + 1, 10);
        }
        if (at < token.size() && (token[at] | 0x20) == 'e') {
            const std::size_t sign = at + 1 < token.size() && (token[at + 1] == '+' || token[at + 1] == '-');
            const std::size_t end = skip_digits(token, at + 1 + sign, 10);
            if (end > at + 1 + sign) {
                p.is_float = true;
                at = end;
            }
        }
    }
    p.digits = token.substr(0, at);
    p.suffix = token.substr(at);
    return p;
}

std::optional<Scalar> scalar_of_suffix(const NumberToken& p) {
    if (p.suffix.empty()) return p.is_float ? Scalar::F64 : Scalar::I32;
    if (p.suffix == "c" || p.suffix == "C") return Scalar::I8;
    if (p.suffix == "si") return Scalar::I16;
    if (p.suffix == "l" || p.suffix == "L") return Scalar::I64;
    if (p.suffix == "f" || p.suffix == "F") return Scalar::F32;
    for (int s = int(Scalar::I8); s < kNumScalars; ++s)
        if (p.suffix == name_of(Scalar(s))) return Scalar(s);
    return std::nullopt;
}

/// The integer of the digits; nothing if it needs more than 64 bits.
std::optional<std::uint64_t> integer_of(const NumberToken& p) {
    std::uint64_t value = 0;
    const char* end = p.digits.data() + p.digits.size();
    auto [stop, error] = std::from_chars(p.digits.data(), end, value, p.radix);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

/// Is a decimal number that no float can hold too large, rather than too close to zero?
bool is_huge(std::string_view digits) {
    std::int64_t magnitude = 0;  // decimal exponent of the first digit that is not 0
    bool point = false, found = false;
    std::size_t at = 0;
    for (; at < digits.size() && (digits[at] | 0x20) != 'e'; ++at) {
        if (digits[at] == '.') {
            point = true;
            continue;
        }
        found |= digits[at] != '0';
        if (found && !point) ++magnitude;
        if (!found && point) --magnitude;
    }
    if (at == digits.size()) return magnitude > 0;
    std::string_view exponent = digits.substr(at + 1);
    const bool negative = exponent[0] == '-';
    if (exponent[0] == '-' || exponent[0] == '+') exponent.remove_prefix(1);
    std::int64_t value = 0;
    if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), value).ec != std::errc())
        return !negative;
    return magnitude + (negative ? -value : value) > 0;
}

/// Rounds once, to the type's own precision. Nothing if the number is too large; too small gives 0.
template <class Float>
std::optional<Float> float_of(const NumberToken& p) {
    if (p.radix != 10) {
        const std::optional<std::uint64_t> value = integer_of(p);
        return value ? std::optional<Float>(Float(*value)) : std::nullopt;
    }
    Float value = 0;
    auto [stop, error] = std::from_chars(p.digits.data(), p.digits.data() + p.digits.size(), value);
    if (error == std::errc::result_out_of_range) {
        if (is_huge(p.digits)) return std::nullopt;
        return Float(0);
    }
    return value;
}

bool fits(std::uint64_t magnitude, Scalar s, bool negative) {
    const int width = 8 * size_of(s);
    if (is_unsigned(s)) return width == 64 || magnitude >> width == 0;
    const std::uint64_t top = std::uint64_t(1) << (width - 1);
    return negative ? magnitude <= top : magnitude < top;
}

void read_integer(const NumberToken& p, bool negative, Number& out, std::string_view token) {
    const std::optional<std::uint64_t> value = integer_of(p);
    if (!value || !fits(*value, out.scalar, negative)) {
        out.error = fmt::format("`{}{}` does not fit `{}`", negative ? "-" : "", token, name_of(out.scalar));
        return;
    }
    const int width = 8 * size_of(out.scalar);
    out.bits = negative ? 0 - *value : *value;
    if (width < 64) out.bits &= (std::uint64_t(1) << width) - 1;
}

void read_float(const NumberToken& p, bool negative, Number& out, std::string_view token) {
    std::optional<std::uint64_t> bits;
    if (out.scalar == Scalar::F32) {
        if (auto value = float_of<float>(p)) bits = std::bit_cast<std::uint32_t>(negative ? -*value : *value);
    } else if (auto value = float_of<double>(p)) {
        bits = std::bit_cast<std::uint64_t>(negative ? -*value : *value);
    }
    if (bits) out.bits = *bits;
    else out.error = fmt::format("`{}` does not fit `{}`", token, name_of(out.scalar));
}

int hex_value(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

Number read_number(std::string_view token, bool negative) {
    Number out;
    const NumberToken p = take_apart(token);
    const std::optional<Scalar> scalar = scalar_of_suffix(p);
    if (p.digits.empty() || !scalar || (p.is_float && !is_float(*scalar))) {
        const std::string_view shown = token.substr(0, 40);
        out.error = fmt::format("`{}{}` is not a number", shown, shown.size() < token.size() ? "…" : "");
        return out;
    }
    out.scalar = *scalar;
    if (is_float(*scalar)) read_float(p, negative, out, token);
    else read_integer(p, negative, out, token);
    return out;
}

bool read_bits(std::string_view token, std::uint64_t* bits) {
    const NumberToken p = take_apart(token);
    const std::optional<std::uint64_t> value = p.is_float ? std::nullopt : integer_of(p);
    if (!value || !scalar_of_suffix(p)) return false;
    *bits = *value;
    return true;
}

std::string read_string(std::string_view token, std::size_t* bad) {
    *bad = std::string::npos;
    std::string out;
    out.reserve(token.size());
    for (std::size_t i = 1; i + 1 < token.size(); ++i) {
        if (token[i] != '\\') {
            out += token[i];
            continue;
        }
        const std::size_t escape = i++;
        auto hex = [&](std::size_t at) { return at + 1 < token.size() && is_digit(token[at], 16); };
        switch (token[i]) {
            case 'n': out += '\n'; break;
            case 't': out += '\t'; break;
            case 'r': out += '\r'; break;
            case '0': out += '\0'; break;
            case '\\': out += '\\'; break;
            case '"': out += '"'; break;
            case 'x':
                if (hex(i + 1) && hex(i + 2)) {
                    out += char(hex_value(token[i + 1]) * 16 + hex_value(token[i + 2]));
                    i += 2;
                    break;
                }
                [[fallthrough]];
            default:
                if (*bad == std::string::npos) *bad = escape;
        }
    }
    return out;
}

}  // namespace weld::front
