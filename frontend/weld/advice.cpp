// Advice: a literal is written in the other type, else what is converted loses nothing, if that can be.
#include "frontend/weld/advice.h"

#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "weldir/ir/print.h"
#include "weldir/ir/scalar.h"

namespace weld::front {

/// The smallest type that holds the values of both; an `f64` does for integers.
static std::optional<Scalar> common_type(Scalar a, Scalar b) {
    if (a == b || b == Scalar::Bool) return a;
    if (a == Scalar::Bool) return b;
    if (is_float(a) && is_float(b)) return Scalar::F64;
    if (is_float(b)) std::swap(a, b);
    if (is_float(a)) return a == Scalar::F32 && size_of(b) <= 2 ? Scalar::F32 : Scalar::F64;
    if (is_signed(a) == is_signed(b)) return size_of(a) > size_of(b) ? a : b;
    if (is_signed(b)) std::swap(a, b);
    if (size_of(a) > size_of(b)) return a;
    for (Scalar s : {Scalar::I16, Scalar::I32, Scalar::I64})
        if (size_of(s) > size_of(b)) return s;
    return std::nullopt;
}

static bool is_negative(Scalar s, std::uint64_t bits) {
    return is_signed(s) && bits >> (8 * size_of(s) - 1) & 1;
}

/// How an integer literal is written in another type; nothing if that does not hold it.
static std::optional<std::string> integer_in(Scalar found, std::uint64_t bits, Scalar want) {
    const std::uint64_t same = eval_cast(found, want, bits);
    const std::uint64_t magnitude = is_negative(found, bits) ? 0 - eval_cast(found, Scalar::I64, bits) : bits;
    const bool fits = is_float(want) ? magnitude <= std::uint64_t(1) << (want == Scalar::F32 ? 24 : 53)
                                     : eval_cast(want, found, same) == bits &&
                                           is_negative(want, same) == is_negative(found, bits);
    return fits ? std::optional(print_literal(want, same)) : std::nullopt;
}

/// The same of a literal with a fraction, which no integer stands for.
static std::optional<std::string> float_in(Scalar found, std::uint64_t bits, Scalar want) {
    if (!is_float(want)) return std::nullopt;
    std::string text = print_literal(found, bits);
    if (found == Scalar::F32) return text.substr(0, text.size() - 1);  // without the `f`
    return std::isfinite(float(std::bit_cast<double>(bits))) ? std::optional(text + "f") : std::nullopt;
}

static std::optional<std::string> literal_in(const Node* at, Scalar want) {
    if (!at->is(Op::Literal) || at->scalar == Scalar::Bool || want == Scalar::Bool) return std::nullopt;
    const auto text =
        is_float(at->scalar) ? float_in(at->scalar, at->bits, want) : integer_in(at->scalar, at->bits, want);
    if (!text) return std::nullopt;
    return fmt::format("as {} `{}`, `{}` is written `{}`", is_unsigned(want) ? "a" : "an", name_of(want),
                       print_literal(at->scalar, at->bits), *text);
}

static std::string conversion(const Node* at, Scalar to) {
    const bool has_name = at->form == Form::Name && !at->expansion;
    return fmt::format("there are no implicit conversions; `{}({})` converts", name_of(to),
                       has_name ? at->local->name : "...");
}

std::string advice(const Node* at, Scalar found, Scalar want) {
    if (const auto literal = literal_in(at, want)) return *literal;
    std::string text = conversion(at, want);
    if (common_type(found, want) != want && want != Scalar::Bool)
        text += fmt::format(", but `{}` does not hold every `{}`", name_of(want), name_of(found));
    return text;
}

std::string advice_for_both(const Node* a, Scalar type_a, const Node* b, Scalar type_b) {
    const std::optional<Scalar> common = common_type(type_a, type_b);
    if (common == type_b) {
        std::swap(a, b);
        std::swap(type_a, type_b);
    }
    // If one type holds both, it is that of `a`.
    if (const auto literal = literal_in(b, type_a)) return *literal;
    if (const auto literal = literal_in(a, type_b)) return *literal;
    if (!common)
        return fmt::format("there are no implicit conversions, and no type holds every `{}` and every `{}`",
                           name_of(type_a), name_of(type_b));
    if (common == type_a) return conversion(b, type_a);
    return fmt::format("there are no implicit conversions; `{}(...)` of both loses nothing",
                       name_of(*common));
}

}  // namespace weld::front
