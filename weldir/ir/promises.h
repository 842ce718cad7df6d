// What is promised of sizes: of those in what a function or a kernel gives, in terms of its arguments and of one
// another; of those in the value of one symbol, by a front end that knows how such values are made.
//
//     @(holds:len(result) == len(x)) def scale(x: vec[f64], a: f64): vec[f64] = ...
//     |@(holds:len(m.$0) == m.$1 * m.$2 && m.$1 >= 0 && m.$2 >= 0) m: {vec[f64],i64,i64}| ...
//
// What functions promise is found (CallGraph); a kernel's row in kernels.def says it, with the arguments as `a`,
// `b`, ...; a symbol's is written when it is made, and believed. The reference interpreter checks all of them each
// time. Like other facts, they change what is proved, not what generated code checks: one that is wrong is a wrong
// message, not a wrong address.
//
// Sums are those of integers. What arithmetic of i64 makes of one, which may have wrapped, is written `wrap(r * c)`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weldir/support/arena.h"

namespace weld {

struct Type;

/// A number in a value: an i64, or the length of a vector or dictionary.
struct SizeName {
    static constexpr int kResult = -1;  ///< what a call gives, or the value of the symbol itself
    int of = kResult;                   ///< or the number of a parameter
    bool is_length = false;
    std::span<const std::size_t> path = {};  ///< indices of nested fields, outermost first
    friend bool operator==(const SizeName& a, const SizeName& b);
};

struct Promise {
    enum Kind : std::uint8_t { Equal, NotNegative };
    struct Product {
        std::int64_t factor;
        std::span<const SizeName> of;
    };
    SizeName size;
    Kind kind = Equal;
    bool wraps = false;                 ///< the sum is what arithmetic makes of it
    std::span<const Product> sum = {};  ///< Equal: what the size is
};
using Promises = std::span<const Promise>;

/// The promise `kind` about `size`; null if there is none.
const Promise* find_promise(Promises all, const SizeName& size, Promise::Kind kind);

/// Reads `len(result) == len(x) * n + 1 && result.$1 >= 0`; `names` are those of the parameters, `result` that of
/// what is promised about. Nothing if the text is something else.
std::optional<Promises> read_promises(Arena& arena, std::string_view text,
                                      std::span<const std::string_view> names, std::string_view result);
/// The text, with what `name` says for each `SizeName::of`.
std::string print_promises(Promises promises, const std::function<std::string(int)>& name);

/// A promise is true where sizes have these values.
bool is_true(const Promise& p, const std::function<std::int64_t(const SizeName&)>& value);

/// The numbers and lengths in a value of this type, depth first; the first so many, if there are more.
std::vector<SizeName> sizes_in(Arena& arena, const Type* type);
/// What they name is there, and is a number or has a length, in values of these types; no size is promised by way of
/// itself.
bool fit(Promises promises, std::span<const Type* const> params, const Type* result);

}  // namespace weld
