// Arithmetic of counts. Products are sorted, and equal ones are one, so that equal counts look the same.
#include "weldir/ir/count.h"

#include <algorithm>

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

static bool are_before(const std::vector<const Expr*>& a, const std::vector<const Expr*>& b) {
    return std::ranges::lexicographical_compare(a, b, {}, &Expr::id, &Expr::id);
}

static std::int64_t wrapped(std::uint64_t n) { return std::int64_t(n); }

Count operator+(const Count& a, const Count& b) {
    Count sum = a;
    sum.exact_ = a.exact_ && b.exact_;
    for (const Count::Product& p : b.sum_) {
        const auto at = std::ranges::lower_bound(sum.sum_, p.of, are_before, &Count::Product::of);
        if (at == sum.sum_.end() || at->of != p.of) sum.sum_.insert(at, p);
        else if (!(at->factor = wrapped(std::uint64_t(at->factor) + std::uint64_t(p.factor))))
            sum.sum_.erase(at);
    }
    return sum;
}

Count operator*(const Count& a, const Count& b) {
    Count sum;
    for (const Count::Product& p : a.sum_)
        for (const Count::Product& q : b.sum_) {
            Count one;
            one.sum_ = {{wrapped(std::uint64_t(p.factor) * std::uint64_t(q.factor)), p.of}};
            std::vector<const Expr*>& of = one.sum_[0].of;
            of.insert(of.end(), q.of.begin(), q.of.end());
            std::ranges::sort(of, {}, &Expr::id);
            if (one.sum_[0].factor) sum = sum + one;
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
