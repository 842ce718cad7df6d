// A small recursive reader, led by the type of what is to come.
#include "frontend/cli/read_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "frontend/api/describe.h"
#include "runtime/describe.h"
#include "weldir/support/visible.h"

namespace weld {

std::string no_literals_of(const WeldType* type) {
    switch (type->kind) {
        case kWeldVec:
        case kWeldStruct:
            for (std::uint32_t i = 0; i < type->num_args; ++i)
                if (std::string why = no_literals_of(type->args[i]); !why.empty()) return why;
            return {};
        default:
            if (runtime::is_scalar(type)) return {};
            return fmt::format("values of type `{}` cannot be written as arguments", name_of(type));
    }
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

template <class T>
bool store(void* to, T value) {
    std::memcpy(to, &value, sizeof value);
    return true;
}

/// An integer with sign and magnitude, as the text has it; false if the type does not hold it.
template <class T>
bool store_integer(bool negative, std::uint64_t magnitude, void* to) {
    constexpr std::uint64_t most = std::uint64_t(std::numeric_limits<T>::max());
    const std::uint64_t limit = !negative ? most : std::is_signed_v<T> ? most + 1 : 0;
    if (magnitude > limit) return false;
    return store(to, T(negative ? 0 - magnitude : magnitude));
}

bool store_integer(WeldKind kind, bool negative, std::uint64_t magnitude, void* to) {
    switch (kind) {
        case kWeldI8: return store_integer<std::int8_t>(negative, magnitude, to);
        case kWeldI16: return store_integer<std::int16_t>(negative, magnitude, to);
        case kWeldI32: return store_integer<std::int32_t>(negative, magnitude, to);
        case kWeldI64: return store_integer<std::int64_t>(negative, magnitude, to);
        case kWeldU8: return store_integer<std::uint8_t>(negative, magnitude, to);
        case kWeldU16: return store_integer<std::uint16_t>(negative, magnitude, to);
        case kWeldU32: return store_integer<std::uint32_t>(negative, magnitude, to);
        case kWeldU64: return store_integer<std::uint64_t>(negative, magnitude, to);
        default: return false;
    }
}

/// The float nearest to decimal `digits`; nothing if it is too large for the type.
template <class T>
std::optional<T> nearest(std::string_view digits) {
    T value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error == std::errc() && stop == end) return value;
    // Out of range either way: what is too small is not an error, it rounds to zero or a denormal.
    const std::string copy(digits);
    value = std::is_same_v<T, float> ? T(std::strtof(copy.c_str(), nullptr))
                                     : T(std::strtod(copy.c_str(), nullptr));
    if (std::isinf(value)) return std::nullopt;
    return value;
}

/// A number as written: `[-] digits [. digits] [e exponent] [suffix]`, or with a base.
struct Number {
    bool negative = false;
    bool decimal = true;           ///< not in hexadecimal or binary
    bool fraction = false;         ///< has a point or an exponent: not an integer
    std::string_view digits;       ///< without sign, base and suffix
    std::uint64_t magnitude = 0;   ///< of integers
    bool too_long = false;         ///< an integer beyond 64 bits
    std::optional<WeldKind> type;  ///< what the suffix says
};

std::optional<WeldKind> suffix_type(std::string_view suffix) {
    if (suffix == "c" || suffix == "C") return kWeldI8;
    if (suffix == "si") return kWeldI16;
    if (suffix == "l" || suffix == "L") return kWeldI64;
    if (suffix == "f" || suffix == "F") return kWeldF32;
    for (int kind = 0; kind < kNumScalars; ++kind)
        if (kind != kWeldBool && suffix == name_of(Scalar(kind))) return WeldKind(kind);
    return std::nullopt;
}

class Reader {
  public:
    Reader(std::string_view text, Arena& memory) : text_(text), memory_(memory) {}

    bool read_all(const WeldType* type, void* to) {
        if (!read(type, to)) return false;
        skip_spaces();
        return at_ == text_.size() || fail("expected the end");
    }
    std::string error;

  private:
    bool read(const WeldType* type, void* to) {
        skip_spaces();
        switch (type->kind) {
            case kWeldBool: return read_bool(to);
            case kWeldVec:
                if (peek() == '"' && type->args[0]->kind == kWeldI8) return read_string(to);
                return read_vec(type, to);
            case kWeldStruct: return read_struct(type, to);
            default:
                if (runtime::is_scalar(type)) return read_number(WeldKind(type->kind), to);
                return fail_here(no_literals_of(type));
        }
    }

    bool read_bool(void* to) {
        if (take_word("true")) return store(to, std::uint8_t(1));
        if (take_word("false")) return store(to, std::uint8_t(0));
        return fail("expected `true` or `false`");
    }

    bool read_vec(const WeldType* type, void* to) {
        const WeldType* elem = type->args[0];
        if (!take('[')) return fail("expected `[`: a value of type `" + name_of(type) + "`");
        std::vector<std::byte> elems;
        WeldVec vec{nullptr, 0};
        while (skip_spaces(), peek() != ']') {
            elems.resize(elems.size() + std::size_t(elem->size));
            if (!read(elem, elems.data() + elems.size() - elem->size)) return false;
            ++vec.len;
            skip_spaces();
            if (!take(',') && peek() != ']') return fail("expected `,` or `]`");
        }
        ++at_;
        vec.data = keep(elems, std::max<std::size_t>(64, std::size_t(elem->align)));
        return store(to, vec);
    }

    bool read_struct(const WeldType* type, void* to) {
        if (!take('{')) return fail("expected `{`: a value of type `" + name_of(type) + "`");
        for (std::uint32_t i = 0; i < type->num_args; ++i) {
            if (!read(type->args[i], static_cast<std::byte*>(to) + type->offsets[i])) return false;
            skip_spaces();
            const bool last = i + 1 == type->num_args;
            if (!take(',') && !last) return fail("expected `,`: " + fields_of(type));
        }
        skip_spaces();
        return take('}') || fail("expected `}`: " + fields_of(type));
    }

    static std::string fields_of(const WeldType* type) {
        return fmt::format("`{}` has {} field{}", name_of(type), type->num_args,
                           type->num_args == 1 ? "" : "s");
    }

    bool read_string(void* to) {
        ++at_;
        std::vector<std::byte> bytes;
        while (peek() != '"') {
            if (at_ == text_.size()) return fail("expected `\"` at the end of the string");
            char c = text_[at_++];
            if (c == '\\' && !read_escape(&c)) return false;
            bytes.push_back(std::byte(c));
        }
        ++at_;
        return store(to, WeldVec{keep(bytes, 64), std::int64_t(bytes.size())});
    }

    bool read_escape(char* c) {
        constexpr std::string_view names = "ntr0\\\"", values("\n\t\r\0\\\"", 6);
        const char name = peek();
        if (const auto i = names.find(name); name && i != names.npos) {
            ++at_;
            *c = values[i];
            return true;
        }
        if (name != 'x' || at_ + 2 >= text_.size() || !is_hex(text_[at_ + 1]) || !is_hex(text_[at_ + 2]))
            return fail("expected `n t r 0 \\ \"` or `xHH` after the backslash");
        std::uint8_t byte = 0;
        std::from_chars(text_.data() + at_ + 1, text_.data() + at_ + 3, byte, 16);
        *c = char(byte);
        at_ += 3;
        return true;
    }

    // ---- numbers

    bool read_number(WeldKind kind, void* to) {
        const std::size_t start = at_;
        const std::string wanted = "expected a number of type `";
        Number number;
        number.negative = take('-');
        if (take_word("NaN") && !number.negative) return read_special(kind, start, NAN, to);
        if (take_word("Infinity"))
            return read_special(kind, start, number.negative ? -INFINITY : INFINITY, to);
        if (!is_digit(peek())) {
            at_ = start;
            return fail(wanted + name_of(Scalar(kind)) + "`");
        }
        if (!scan(number)) return false;
        if (convert(number, kind, to)) return true;
        const std::string text(quoted_excerpt(text_.substr(start, at_ - start)));
        at_ = start;
        return fail_here(
            number.fraction && !is_float(Scalar(kind))
                ? fmt::format("{} is not an integer; the type is `{}`", text, name_of(Scalar(kind)))
                : fmt::format("{} does not fit `{}`", text, misfit(number, kind)));
    }

    bool read_special(WeldKind kind, std::size_t start, double value, void* to) {
        if (kind == kWeldF32) return store(to, float(value));
        if (kind == kWeldF64) return store(to, value);
        at_ = start;
        return fail(fmt::format("expected a number of type `{}`", name_of(Scalar(kind))));
    }

    bool scan(Number& number) {
        const bool hex = starts("0x") || starts("0X"), binary = starts("0b") || starts("0B");
        number.decimal = !hex && !binary;
        if (!number.decimal) at_ += 2;
        const std::size_t start = at_;
        auto digits = [&](auto is) {
            const std::size_t from = at_;
            while (at_ < text_.size() && is(text_[at_])) ++at_;
            return at_ > from || fail("expected a digit");
        };
        if (hex && !digits(is_hex)) return false;
        if (binary && !digits([](char c) { return c == '0' || c == '1'; })) return false;
        if (number.decimal) {
            if (!digits(is_digit)) return false;
            if (take('.')) {
                number.fraction = true;
                if (!digits(is_digit)) return false;
            }
            if (starts_exponent()) {
                number.fraction = true;
                at_ += is_digit(text_[at_ + 1]) ? 1 : 2;
                if (!digits(is_digit)) return false;
            }
        }
        number.digits = text_.substr(start, at_ - start);
        if (!number.fraction) {
            const auto [end, error] = std::from_chars(
                number.digits.data(), number.digits.data() + number.digits.size(), number.magnitude,
                hex      ? 16
                : binary ? 2
                         : 10);
            number.too_long = error != std::errc();
        }
        return scan_suffix(number);
    }

    bool scan_suffix(Number& number) {
        const std::size_t start = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '_'))
            ++at_;
        if (at_ == start) return true;
        number.type = suffix_type(text_.substr(start, at_ - start));
        if (number.type) return true;
        at_ = start;
        return fail("expected a suffix of a number (`c si l f i8 ... f64`) or none");
    }

    /// `e5`, `e-5`, `e+5`.
    bool starts_exponent() const {
        if (at_ + 1 >= text_.size() || (text_[at_] != 'e' && text_[at_] != 'E')) return false;
        if (is_digit(text_[at_ + 1])) return true;
        return (text_[at_ + 1] == '+' || text_[at_ + 1] == '-') && at_ + 2 < text_.size() &&
               is_digit(text_[at_ + 2]);
    }

    /// `number` as a value of `kind`, if it is one: first as what its suffix says, then as what is asked for.
    static bool convert(const Number& number, WeldKind kind, void* to) {
        std::uint64_t scratch;
        if (number.type && *number.type != kind && !convert_plain(number, *number.type, &scratch))
            return false;
        if (number.type == kWeldF32 && kind == kWeldF64) {
            float narrow;
            std::memcpy(&narrow, &scratch, sizeof narrow);
            return store(to, double(narrow));
        }
        if (number.type && is_float(Scalar(*number.type)) && !is_float(Scalar(kind))) return false;
        return convert_plain(number, kind, to);
    }

    static bool convert_plain(const Number& number, WeldKind kind, void* to) {
        if (!is_float(Scalar(kind)))
            return !number.fraction && !number.too_long &&
                   store_integer(kind, number.negative, number.magnitude, to);
        return kind == kWeldF32 ? convert_float<float>(number, to) : convert_float<double>(number, to);
    }

    template <class T>
    static bool convert_float(const Number& number, void* to) {
        if (!number.decimal && number.too_long) return false;
        const auto value = number.decimal ? nearest<T>(number.digits) : std::optional<T>(T(number.magnitude));
        return value && store(to, number.negative ? -*value : *value);
    }

    /// The type that `number` fails to be.
    static const char* misfit(const Number& number, WeldKind kind) {
        std::uint64_t scratch;
        const bool own = number.type && !convert_plain(number, *number.type, &scratch);
        return name_of(Scalar(own ? *number.type : kind));
    }

    // ---- text

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
    bool take(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    bool take_word(std::string_view word) {
        if (!starts(word)) return false;
        const std::size_t end = at_ + word.size();
        if (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '_'))
            return false;
        at_ = end;
        return true;
    }
    void skip_spaces() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
            else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') ++at_;
            else return;
        }
    }

    bool fail(const std::string& expected) {
        const std::string found = at_ < text_.size() ? quoted_excerpt(text_.substr(at_)) : "the end";
        return fail_here(fmt::format("{}, found {}", expected, found));
    }
    bool fail_here(const std::string& what) {
        error = at_ && at_ < text_.size()
                    ? fmt::format("{} at character {}", what, count_characters(text_.substr(0, at_)) + 1)
                    : what;
        return false;
    }

    void* keep(const std::vector<std::byte>& bytes, std::size_t align) {
        if (bytes.empty()) return nullptr;
        void* at = memory_.allocate(bytes.size(), align);
        std::memcpy(at, bytes.data(), bytes.size());
        return at;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    Arena& memory_;
};

}  // namespace

std::string read_literal(std::string_view text, const WeldType* type, Arena& memory, void* to) {
    Reader reader(text, memory);
    if (reader.read_all(type, to)) return {};
    return std::move(reader.error);
}

}  // namespace weld
