// Sizes of results: each number and length in the result of the body as a Count, whose names are then those
// of parameters, or have to be sizes in the result themselves:
//
//     def some(v: vec[f64], c: i64): {vec[f64],i64,i64} =
//       let r = len(result(for(v, appender[f64], |b, i, x| if(x > 0.0, merge(b, x), b))));
//       {result(for(rangeiter(0L, r, 1L), ...c merges each...)), r, c}
//
// has len(result.$0) == result.$1 * c, as r is result.$1, and result.$2 == c.
#include "weldir/ir/result_sizes.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "weldir/ir/walk.h"

namespace weld {

namespace {

class ResultSizes {
  public:
    ResultSizes(Module& m, const Function& f, Facts& facts)
        : m_(m), f_(f), body_(f.lambda->as<Lambda>()), facts_(facts) {}

    Promises find() {
        sizes_ = sizes_in(m_.arena, f_.type->result());
        for (const SizeName& size : sizes_) {
            counts_.push_back(count_at(body_.body(), size));
            const Expr* name = counts_.back() ? counts_.back()->name() : nullptr;
            if (name && !is_of_parameter(name) && !find_promise(f_.holds, size, Promise::Equal))
                of_result_.try_emplace(name, size);  // what nothing is known of, so that promises end there
        }
        for (std::size_t i = 0; i < sizes_.size(); ++i)
            if (counts_[i]) promise(sizes_[i], *counts_[i]);
        return m_.arena.copy(std::span<const Promise>(found_));
    }

    /// What holds where the body ends otherwise than with a call of the function itself.
    std::vector<Promise> find_at_other_ends() {
        std::vector<Promise> found;
        for (const SizeName& size : sizes_in(m_.arena, f_.type->result())) {
            std::optional<Count> all;
            bool agree = !find_promise(f_.holds, size, Promise::Equal);
            visit_last(body_.body(), [&](const Expr* end) {
                if (!agree || (end->op == Op::Call && end->attr.function == &f_)) return;
                const std::optional<Count> n = count_at(end, size);
                agree = n && (!all || *all == *n);
                all = n;
            });
            if (const auto sum = agree && all ? sum_of(*all) : std::nullopt)
                found.push_back({.size = size, .wraps = !all->is_exact(), .sum = *sum});
        }
        return found;
    }

    bool is_seen(const Promise& p) {
        const std::optional<Count> n = count_at(body_.body(), p.size);
        const auto sum = n && (n->is_exact() || p.wraps) ? sum_of(*n) : std::nullopt;
        return sum &&
               std::ranges::equal(*sum, p.sum, [](const Promise::Product& a, const Promise::Product& b) {
                   return a.factor == b.factor && std::ranges::equal(a.of, b.of);
               });
    }

  private:
    std::optional<Count> count_at(const Expr* e, const SizeName& size) {
        return facts_.size(e, {size.path.begin(), size.path.end()}, size.is_length);
    }

    int parameter(const Symbol* s) const {
        const auto at = std::ranges::find(body_.params(), s);
        return at == body_.params().end() ? -1 : int(at - body_.params().begin());
    }

    static const Expr* path_of(const Expr* name) { return name->op == Op::Len ? name->arg(0) : name; }
    bool is_of_parameter(const Expr* name) const { return parameter(base_of(path_of(name))) >= 0; }

    void promise(const SizeName& size, const Count& n) {
        const Expr* name = n.name();
        const auto own = name ? of_result_.find(name) : of_result_.end();
        const bool is_itself = own != of_result_.end() && own->second == size;
        const std::optional<Count> is = is_itself ? facts_.asserted(name) : n;
        if (is && !find_promise(f_.holds, size, Promise::Equal))
            if (const auto sum = sum_of(*is))
                found_.push_back({.size = size, .wraps = !is->is_exact(), .sum = *sum});
        if (is_itself && !size.is_length && (name->op == Op::Len || facts_.is_promised_not_negative(name)) &&
            !find_promise(f_.holds, size, Promise::NotNegative))
            found_.push_back({.size = size, .kind = Promise::NotNegative});
    }

    std::optional<std::span<const Promise::Product>> sum_of(const Count& n) {
        std::vector<Promise::Product> sum;
        for (const Count::Product& p : n.sum()) {
            std::vector<SizeName> of;
            for (const Expr* name : p.of) {
                const std::optional<SizeName> size = size_of(name);
                if (!size) return {};
                of.push_back(*size);
            }
            sum.push_back({p.factor, m_.arena.copy(std::span<const SizeName>(of))});
        }
        return m_.arena.copy(std::span<const Promise::Product>(sum));
    }

    std::optional<SizeName> size_of(const Expr* name) {
        if (const auto own = of_result_.find(name); own != of_result_.end()) return own->second;
        const Expr* path = path_of(name);
        const int param = parameter(base_of(path));
        if (param < 0) return {};
        const std::vector<std::size_t> indices = indices_of(path);
        return SizeName{param, name->op == Op::Len, m_.arena.copy(std::span<const std::size_t>(indices))};
    }

    Module& m_;
    const Function& f_;
    const Lambda body_;
    Facts& facts_;
    std::vector<SizeName> sizes_;  // in the result
    std::vector<std::optional<Count>> counts_;
    std::unordered_map<const Expr*, SizeName> of_result_;  // names that stand for these
    std::vector<Promise> found_;
};

}  // namespace

Promises find_result_sizes(Module& m, const Function& f, Facts& facts) {
    return ResultSizes(m, f, facts).find();
}

Promises find_recursive_sizes(Module& m, Function& f, Facts& facts) {
    std::vector<Promise> supposed = ResultSizes(m, f, facts).find_at_other_ends();
    const Promises known = f.holds;
    for (bool all_seen = false; !all_seen && !supposed.empty();) {
        std::vector<Promise> all(known.begin(), known.end());
        all.insert(all.end(), supposed.begin(), supposed.end());
        f.holds = all;
        Facts then(m, f.lambda);
        ResultSizes sizes(m, f, then);
        all_seen = std::erase_if(supposed, [&](const Promise& p) { return !sizes.is_seen(p); }) == 0;
    }
    f.holds = known;
    return m.arena.copy(std::span<const Promise>(supposed));
}

}  // namespace weld
