// Words, numbers and strings as they are written in programs.
#include <bit>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include "weldir/ir/build.h"
#include "weldir/ir/print.h"

namespace weld {

bool is_reserved(std::string_view word) {
    static const std::unordered_set<std::string_view> words = [] {
        std::unordered_set<std::string_view> w = {
            "let",    "macro",     "type",       "def",       "true",      "false",  "zip",
            "if",     "for",       "select",     "iterate",   "iter",      "merge",  "result",
            "nditer", "simditer",  "fringeiter", "rangeiter", "len",       "lookup", "optlookup",
            "slice",  "keyexists", "sort",       "tovec",     "serialize", "assert", "deserialize",
            "cudf",   "broadcast", "bits",       "simd",      "vec",       "dict"};
        for (const OpInfo& op : kOps)
            if (op.scalar) w.insert(op.text);
        for (int s = 0; s < kNumScalars; ++s) w.insert(name_of(Scalar(s)));
#define WELD_BUILDER(name, text, ...) w.insert(text);
#include "runtime/abi/builders.def"
        return w;
    }();
    return words.count(word) != 0;
}

template <class T>
static std::string float_text(T value) {
    std::string s = fmt::format("{}", value);
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return s;
}

static std::string float_literal(Scalar type, std::uint64_t bits) {
    if (type == Scalar::F32) {
        const float f = std::bit_cast<float>(std::uint32_t(bits));
        if (std::isfinite(f)) return float_text(f) + 'f';
        return fmt::format("bits[f32](0x{:08x}{})", bits, std::signbit(f) ? "u32" : "");
    }
    const double d = std::bit_cast<double>(bits);
    if (std::isfinite(d)) return float_text(d);
    return fmt::format("bits[f64](0x{:016x}{})", bits, std::signbit(d) ? "u64" : "L");
}

std::string print_literal(Scalar type, std::uint64_t bits) {
    switch (type) {
        case Scalar::Bool: return bits ? "true" : "false";
        case Scalar::I8: return fmt::format("{}c", int(std::int8_t(bits)));
        case Scalar::I16: return fmt::format("{}si", int(std::int16_t(bits)));
        case Scalar::I32: return fmt::format("{}", std::int32_t(bits));
        case Scalar::I64: return fmt::format("{}L", std::int64_t(bits));
        case Scalar::F32:
        case Scalar::F64: return float_literal(type, bits);
        default: return fmt::format("{}{}", bits, name_of(type));
    }
}

/// How many bytes the UTF-8 character at `s` has; 0 if there is none, or one that nobody can see.
static std::size_t visible_character(std::string_view s) {
    const auto byte = [&](std::size_t i) { return i < s.size() ? std::uint8_t(s[i]) : 0u; };
    if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f;
    const std::size_t n = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
    if (n == 0 || byte(0) > 0xf4) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const unsigned second = byte(1);
    if ((byte(0) == 0xe0 && second < 0xa0) || (byte(0) == 0xed && second >= 0xa0) ||
        (byte(0) == 0xf0 && second < 0x90) || (byte(0) == 0xf4 && second >= 0x90))
        return 0;                                    // overlong, surrogate, beyond Unicode
    if (byte(0) == 0xc2 && second < 0xa0) return 0;  // C1 controls
    return n;
}

std::string print_string(std::string_view bytes) {
    std::string out = "\"";
    for (std::size_t i = 0; i < bytes.size();) {
        const char c = bytes[i];
        constexpr std::string_view special{"\n\t\r\0\\\"", 6};
        if (const std::size_t at = special.find(c); at != std::string_view::npos) {
            (out += '\\') += "ntr0\\\""[at];
            ++i;
            continue;
        }
        const std::size_t n = visible_character(bytes.substr(i));
        if (n == 0) return {};
        out += bytes.substr(i, n);
        i += n;
    }
    return out + '"';
}

}  // namespace weld
