// Numbers that are not known before a run, as sums of products of names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "weldir/ir/expr.h"
#include "weldir/support/small_vector.h"

namespace weld {

/// A number that is not known before the run: a sum of products of names, `rows * columns + 2`, as arithmetic
/// of i64 computes it. So Counts that are equal are equal numbers, whether or not they wrap; it says nothing
/// of which is larger.
class Count {
  public:
    /// `factor * of[0] * of[1] ...`. A factor of 0 has no place in a sum.
    struct Product {
        std::int64_t factor;
        SmallVector<const Expr*, 2> of;  ///< by number of their nodes
        friend bool operator==(const Product&, const Product&) = default;
    };

    Count(std::int64_t n = 0);
    /// An i64 expression without computation: a name, `len` of a name, fields of names. Facts has one node
    /// for each, so that pointers can be compared.
    explicit Count(const Expr* name) : sum_{{1, {name}}} {}
    explicit Count(Product p) : sum_{std::move(p)} {}

    std::span<const Product> sum() const { return {sum_.data(), sum_.size()}; }
    /// The number, if it is known.
    std::optional<std::int64_t> known() const;
    /// If it is just a name, that.
    const Expr* name() const;

    /// What is worth reckoning with.
    bool is_small() const;

    /// The number is the sum without wrapping, too: it is counted, not computed.
    bool is_exact() const { return exact_; }
    void set_exact(bool is) { exact_ = is; }

    friend bool operator==(const Count& a, const Count& b) { return a.sum_ == b.sum_; }
    friend Count operator+(const Count& a, const Count& b) { return sum(a, 1, b); }
    friend Count operator-(const Count& a, const Count& b) { return sum(a, -1, b); }
    friend Count operator*(const Count& a, const Count& b);

  private:
    static Count sum(const Count& a, std::int64_t times, const Count& b);

    SmallVector<Product, 2> sum_;  // by `of`
    bool exact_ = true;
};

/// The sum, the product; nothing if one of the two is not known, or if it is not worth reckoning with.
std::optional<Count> plus(const std::optional<Count>& a, const std::optional<Count>& b);
std::optional<Count> times(const std::optional<Count>& a, const std::optional<Count>& b);

}  // namespace weld
