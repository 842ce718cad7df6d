// Arithmetic of counts. Products are sorted, and equal ones are one, so that equal counts look the same.
#include "weldir/ir/count.h"

#include <algorithm>
#include <compare>
#include <utility>

namespace weld {

static constexpr std::size_t kMostProducts = 8, kMostNames = 6;

Count::Count(std::int64_t n) {
    if (n != 0) sum_.push_back({n, {}});
}

std::optional<std::int64_t> Count::known() const {
    if (sum_.empty()) return 0;
    return sum_.size() == 1 && sum_[0].of.empty() ? std::optional(sum_[0].factor) : std::nullopt;
}

const Expr* Count::name() const {
    return sum_.size() == 1 && sum_[0].factor == 1 && sum_[0].of.size() == 1 ? sum_[0].of[0] : nullptr;
}

using Names = decltype(Count::Product::of);

static std::strong_ordering order(const Names& a, const Names& b) {
    return std::lexicographical_compare_three_way(
        a.begin(), a.end(), b.begin(), b.end(), [](const Expr* x, const Expr* y) { return x->id <=> y->id; });
}

static std::int64_t wrapped(std::uint64_t n) { return std::int64_t(n); }

/// a + times * b
Count Count::sum(const Count& a, std::int64_t times, const Count& b) {
    const auto scaled = [&](const Product& q) {
        return wrapped(std::uint64_t(times) * std::uint64_t(q.factor));
    };
    Count sum;
    sum.exact_ = a.exact_ && b.exact_;
    sum.sum_.reserve(a.sum_.size() + b.sum_.size());
    const Product* p = a.sum_.begin();
    for (const Product& q : b.sum_) {
        while (p != a.sum_.end() && order(p->of, q.of) < 0) sum.sum_.push_back(*p++);
        const bool both = p != a.sum_.end() && p->of == q.of;
        const std::int64_t factor =
            both ? wrapped(std::uint64_t(p++->factor) + std::uint64_t(scaled(q))) : scaled(q);
        if (factor) sum.sum_.push_back({factor, q.of});
    }
    sum.sum_.append(p, a.sum_.end());
    return sum;
}

static Names merged(const Names& a, const Names& b) {
    Names both;
    both.reserve(a.size() + b.size());
    const Expr* const* y = b.begin();
    for (const Expr* x : a) {
        while (y != b.end() && (*y)->id < x->id) both.push_back(*y++);
        both.push_back(x);
    }
    both.append(y, b.end());
    return both;
}

Count operator*(const Count& a, const Count& b) {
    Count sum;
    for (const Count::Product& p : a.sum_) {
        Count row;
        for (const Count::Product& q : b.sum_) {
            const auto factor = wrapped(std::uint64_t(p.factor) * std::uint64_t(q.factor));
            if (!factor) continue;
            Count one(Count::Product{factor, merged(p.of, q.of)});
            row = row.sum_.empty() ? std::move(one) : row + one;
        }
        sum = sum.sum_.empty() ? std::move(row) : sum + row;
    }
    sum.exact_ = a.exact_ && b.exact_;
    return sum;
}

bool Count::is_small() const {
    return sum_.size() <= kMostProducts &&
           std::ranges::all_of(sum_, [](const Product& p) { return p.of.size() <= kMostNames; });
}

std::optional<Count> plus(const std::optional<Count>& a, const std::optional<Count>& b) {
    if (!a || !b) return {};
    const Count sum = *a + *b;
    return sum.is_small() ? std::optional(sum) : std::nullopt;
}

std::optional<Count> times(const std::optional<Count>& a, const std::optional<Count>& b) {
    if (!a || !b) return {};
    const Count product = *a * *b;
    return product.is_small() ? std::optional(product) : std::nullopt;
}

}  // namespace weld
