// Numbers are digits with separators, a fraction, an exponent, a suffix; Weld's reader does the arithmetic of
// floats, which both languages round alike.
#include "frontend/daphne/literals.h"

#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "frontend/daphne/tokens.h"
#include "frontend/weld/literals.h"

namespace weld::daphne {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Cuts a number token from its beginning on.
struct Cutter {
    std::string_view rest;
    std::string clean;  ///< what was cut, without separators

    bool take(std::string_view any_of) {
        if (rest.empty() || any_of.find(rest[0]) == any_of.npos) return false;
        clean += rest[0];
        rest.remove_prefix(1);
        return true;
    }
    /// Digits, one separator between two at most.
    void digits(std::string_view separators) {
        while (take("0123456789"))
            if (rest.size() > 1 && separators.find(rest[0]) != separators.npos && is_digit(rest[1]))
                rest.remove_prefix(1);
    }
};

std::string_view shown(std::string_view token) { return token.substr(0, 40); }

std::string read_integer(std::string_view token, std::string_view digits, std::string_view suffix,
                         Literal* literal) {
    if (suffix.empty() || suffix == "l") literal->value = ValueType::Si64;
    else if (suffix == "u" || suffix == "ull") literal->value = ValueType::Ui64;
    else if (suffix == "z") literal->value = ValueType::Size;
    else
        return fmt::format("`{}` is not a number; integers end with `u`, `l`, `ull`, `z` or nothing",
                           shown(token));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    // 2^63 is there for `-9223372036854775808`
    const bool fits = literal->value != ValueType::Si64 || value <= std::uint64_t(1) << 63;
    if (error != std::errc() || !fits)
        return fmt::format("`{}` does not fit `{}`", shown(token), name_of(literal->value));
    literal->integer = std::int64_t(value);
    return {};
}

std::string read_float(std::string_view token, std::string digits, std::string_view suffix,
                       Literal* literal) {
    if (!suffix.empty() && suffix != "f")
        return fmt::format("`{}` is not a number; floats end with `f` or nothing", shown(token));
    literal->value = suffix.empty() ? ValueType::F64 : ValueType::F32;
    const front::Number n = front::read_number(digits += suffix, false);
    if (!n.error.empty()) return fmt::format("`{}` does not fit `{}`", shown(token), name_of(literal->value));
    literal->number =
        suffix.empty() ? std::bit_cast<double>(n.bits) : double(std::bit_cast<float>(std::uint32_t(n.bits)));
    return {};
}

}  // namespace

std::string read_number(std::string_view token, Literal* literal) {
    Cutter cut{token, {}};
    cut.digits("_'");
    if (cut.clean.size() > 1 && cut.clean[0] == '0')
        return fmt::format("`{}` is not a number; numbers have no leading zeros", shown(token));
    bool is_float = false;
    if (cut.rest.size() > 1 && cut.rest[0] == '.' && is_digit(cut.rest[1])) {
        is_float = cut.take(".");
        cut.digits("_'");
    }
    if (cut.take("eE")) {
        is_float = true;
        cut.take("+-");
        const std::size_t start = cut.clean.size();
        cut.digits("");
        if (cut.clean.size() == start) return fmt::format("`{}` is not a number", shown(token));
        if (cut.clean.size() > start + 1 && cut.clean[start] == '0')
            return fmt::format("`{}` is not a number; exponents have no leading zeros", shown(token));
    }
    return is_float ? read_float(token, std::move(cut.clean), cut.rest, literal)
                    : read_integer(token, cut.clean, cut.rest, literal);
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
        switch (token[i]) {
            case 'b': out += '\b'; break;
            case 'f': out += '\f'; break;
            case 'n': out += '\n'; break;
            case 'r': out += '\r'; break;
            case 't': out += '\t'; break;
            case '"': out += '"'; break;
            case '\\': out += '\\'; break;
            default:
                if (*bad == std::string::npos) *bad = escape;
        }
    }
    return out;
}

bool read_word(std::uint8_t kind, Literal* literal) {
    switch (kind) {
        case kTrue:
        case kFalse:
            literal->value = ValueType::Bool;
            literal->integer = kind == kTrue;
            return true;
        case kNan:
        case kNanF:
        case kInf:
        case kInfF:
            literal->value = ValueType::F64;
            literal->number = kind == kNan || kind == kNanF ? NAN : INFINITY;
            return true;
        default: return false;
    }
}

bool read_literal(std::string_view text, Arena& texts, Literal* literal) {
    Sources sources;
    Diagnostics diagnostics;
    const Loc begin = sources.add("", std::string(text));
    const std::vector<Token> tokens = lex(sources, begin, language(), diagnostics);
    const bool negative = tokens[0].kind == kSub;
    if (diagnostics.has_errors() || tokens.size() != (negative ? 3 : 2)) return false;
    const Token& token = tokens[negative];
    const std::string_view written =
        sources.text(begin).substr(token.loc.offset - begin.offset, token.length);
    if (token.kind == kString && !negative) {
        std::size_t bad;
        literal->value = ValueType::Str;
        literal->text = texts.copy(std::string_view(read_string(written, &bad)));
        return bad == std::string::npos;
    }
    const bool good =
        token.kind == kNumber ? read_number(written, literal).empty() : read_word(token.kind, literal);
    if (!good || !negative) return good;
    if (is_float(literal->value)) literal->number = -literal->number;
    else literal->integer = std::int64_t(0 - std::uint64_t(literal->integer));
    return literal->value != ValueType::Bool;
}

}  // namespace weld::daphne
