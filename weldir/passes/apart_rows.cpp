// Each round puts elements into a row, `i * n + j`, of a vector that it reads:
//
//     for(rangeiter(k + 1L, n, 1L), vecsetter[f64](a), |b, _, i|
//       let f = lookup(a, i * n + k);
//       for(rangeiter(k, n, 1L), b, |c, _, j| merge(c, {i * n + j, lookup(a, i * n + j) - f * lookup(a, k * n + j)})))
//
// Places are sums of products (ir/count.h). What is added to `i * n` has to lie between 0 and n, so that rows are apart;
// places that are the same in all rounds, like those from `k * n + k` to `k * n + n`, before the first row or behind the
// last. What a round reads of its own row it has to read before it puts anything, or at the place where it puts an
// element next, or where it puts none. What is not seen from sums is asked before the loop.
#include "weldir/passes/apart_rows.h"

#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"

namespace weld {

namespace {

constexpr std::int64_t kMost = std::int64_t(1) << 31;  // rows and their length, so that products do not wrap

/// Places in a row, or in all of the vector.
struct Places {
    Count begin, end;
    bool in_row = false;
    bool before = false;  ///< read before the round puts anything
    For inner;            ///< the loop inside that goes along them, one by one; empty: it is one place
    std::vector<std::pair<const Expr*, std::size_t>> sides;  ///< of the `if`s around
};

class Rows {
  public:
    Rows(Module& m, Facts& facts, For loop) : m_(m), facts_(facts), loop_(loop), inside_(loop.node) {}

    std::optional<const Expr*> condition() {
        const NewBuilder start = loop_.builder()->as<NewBuilder>();
        const auto rows = std::ranges::find_if(loop_.data(), counts_by_one);
        if (!start || !info(start.kind()).indexed || !is_path(start.arg()) || rows == loop_.data().end())
            return {};
        vector_ = facts_.root(start.arg());
        const Iter range = (*rows)->as<Iter>();
        const auto first = facts_.count(range.start()), last = facts_.count(range.end());
        const bool zips = loop_.data().size() > 1;
        const Expr* elem = var(m_, loop_.elem_param());
        row_ = name_of(zips ? get_field(m_, elem, std::size_t(rows - loop_.data().begin())) : elem);
        if (!first || !last || !row_) return {};
        for (const Expr* d : loop_.data()) look_at_datum(d);
        look(loop_.body().body());
        if (!ok_ || writes_.empty() || !stride_ || !std::ranges::all_of(writes_, &Places::in_row)) return {};
        for (const Places& p : writes_) lies_in_row(p);
        for (const Places& p : reads_) {
            if (p.in_row) {
                lies_in_row(p);
                ok_ &=
                    p.before || std::ranges::all_of(writes_, [&](const Places& w) { return is_apart(p, w); });
            } else {
                const Count above = *first * *stride_ - p.end, below = p.begin - *last * *stride_;
                if (is_sure(above) || is_sure(below)) continue;
                add(scalar_op(m_, Op::BitOr,
                              {at_most(p.end, *first * *stride_), at_most(*last * *stride_, p.begin)}));
            }
        }
        for (const Count& n : {*first, *stride_}) holds(Count(), n);
        for (const Count& n : {*last, *stride_}) holds(n, Count(kMost));
        return ok_ ? std::optional(condition_) : std::nullopt;
    }

  private:
    const Expr* name_of(const Expr* path) {
        const auto n = path->type->is_scalar() ? facts_.count(path) : std::nullopt;
        return n ? n->name() : nullptr;
    }

    // -- what the rounds read and put

    bool is_vector(const Expr* path) {
        return path->type == vector_->type && same(facts_.root(path), vector_);
    }

    void look(const Expr* e) {
        if (!ok_) return;
        if (is_path(e)) {  // as a whole
            ok_ &= !e->type->holds_pointer || base_of(facts_.root(e)) != base_of(vector_) ||
                   (e->type->is_vec() && !is_vector(e));
            return;
        }
        switch (e->op) {
            case Op::Len:
                if (!is_path(e->arg(0))) look(e->arg(0));
                return;
            case Op::Lookup: {
                const bool of_vector = is_path(e->arg(0)) && is_vector(e->arg(0));
                if (!of_vector) look(e->arg(0));
                look(e->arg(1));
                if (of_vector) note(facts_.count(e->arg(1)), {}, reads_);
                return;
            }
            case Op::Merge: {
                look(e->arg(0));
                look(e->arg(1));
                if (e->type != loop_.node->type) return;
                const MakeStruct pair = e->arg(1)->as<MakeStruct>();
                ok_ &= pair && e->num_args == 2;
                if (ok_) note(facts_.count(pair.node->arg(0)), {}, writes_);
                puts_ = true;
                return;
            }
            case Op::For: return look_at_loop(e->as<For>());
            case Op::If: {
                look(e->arg(0));
                const bool before = puts_;
                bool puts = before;
                for (const std::size_t side : {1, 2}) {
                    puts_ = before;
                    sides_.emplace_back(e, side);
                    look(e->arg(side));
                    sides_.pop_back();
                    puts |= puts_;
                }
                puts_ = puts;
                return;
            }
            default:
                for (const Expr* a : e->args()) look(a);
        }
    }

    void look_at_loop(For inner) {
        look(inner.builder());
        ok_ &= !inner_.node;
        puts_ |= inner.node->type == loop_.node->type;
        inner_ = inner;
        for (const Expr* d : inner.data()) look_at_datum(d);
        look(inner.body().body());
        inner_ = {};
    }

    /// What the loop inside goes along; of the loop over rows nothing of the vector.
    void look_at_datum(const Expr* d) {
        const Iter it = d->as<Iter>();
        const Expr* vec = !it ? d : it.shape().range ? nullptr : it.data();
        const bool of_vector = vec && is_path(vec) && is_vector(vec);
        if (vec && !of_vector) look(vec);
        for (const Expr* a : it ? it.node->args() : Args())
            if (a != vec) look(a);
        if (!of_vector) return;
        ok_ &= inner_.node && it && it.shape().bounded && it.shape().kind == IterKind::Scalar &&
               !it.shape().nd && is_int(it.stride(), 1);
        if (ok_) note(facts_.count(it.start()), facts_.count(it.end()), reads_);
    }

    /// The place `at`, or all places up to `end` one by one.
    void note(std::optional<Count> at, const std::optional<Count>& end, std::vector<Places>& all) {
        ok_ &= at.has_value();
        if (!ok_) return;
        Places p{.begin = {}, .end = {}, .before = !puts_, .inner = end ? inner_ : For{}, .sides = sides_};
        Count stride, to;
        for (const Count::Product& product : at->sum()) {
            if (const auto rest = without_row(product)) stride = stride + Count(*rest);
            else if (const auto range = product.of.size() == 1 ? counted(product.of[0]) : std::nullopt) {
                ok_ &= product.factor == 1 && !p.inner;
                p.begin = p.begin + range->first;
                to = range->second - range->first - Count(1);
                p.inner = inner_;
            } else {
                ok_ &= !inside_.are_read_by(Count(product));
                p.begin = p.begin + Count(product);
            }
        }
        p.in_row = !(stride == Count());
        if (p.in_row) {
            ok_ &= !inside_.are_read_by(stride) && (!stride_ || *stride_ == stride);
            stride_ = stride;
        }
        p.end = end ? p.begin + (*end - *at) : p.begin + to + Count(1);
        ok_ &= !inside_.are_read_by(p.end) && !inside_.are_read_by(p.begin);
        all.push_back(p);
    }

    /// What the number of the row is multiplied by in `product`.
    std::optional<Count::Product> without_row(const Count::Product& product) const {
        Count::Product rest{product.factor, {}};
        int times = 0;
        for (const Expr* name : product.of) name == row_ ? void(++times) : rest.of.push_back(name);
        return times == 1 ? std::optional(rest) : std::nullopt;
    }

    /// From where to where `name` counts, if it goes along with the loop inside.
    std::optional<std::pair<Count, Count>> counted(const Expr* name) {
        if (!inner_.node) return {};
        const auto trips = facts_.iterations(inner_.node);
        if (is_var(name, inner_.index_param()) && trips) return std::pair(Count(), *trips);
        const Expr* datum = datum_of(inner_, name);
        if (!datum || !counts_by_one(datum)) return {};
        const auto begin = facts_.count(datum->as<Iter>().start()),
                   end = facts_.count(datum->as<Iter>().end());
        return begin && end ? std::optional(std::pair(*begin, *end)) : std::nullopt;
    }

    // -- what has to hold

    void lies_in_row(const Places& p) {
        holds(Count(), p.begin);
        holds(p.end, *stride_);
    }

    /// On other sides of an `if`; the same element, read before it is put there; or others.
    static bool is_apart(const Places& read, const Places& put) {
        for (const auto& [choice, side] : read.sides)
            for (const auto& [other, other_side] : put.sides)
                if (choice == other && side != other_side) return true;
        if (read.inner.node && read.inner.node == put.inner.node && read.begin == put.begin) return true;
        return is_sure(put.begin - read.end) || is_sure(read.begin - put.end);
    }

    const Expr* at_most(const Count& a, const Count& b) {
        return scalar_op(m_, Op::Le, {written(m_, a), written(m_, b)});
    }
    static bool is_sure(const Count& not_negative) {
        const auto known = not_negative.known();
        return known && *known >= 0;
    }
    void holds(const Count& a, const Count& b) {
        if ((b - a).known()) ok_ &= is_sure(b - a);
        else add(at_most(a, b));
    }
    void add(const Expr* c) {
        if (std::ranges::any_of(asked_, [&](const Expr* other) { return same(other, c); })) return;
        asked_.push_back(c);
        condition_ = condition_ ? scalar_op(m_, Op::BitAnd, {condition_, c}) : c;
    }

    Module& m_;
    Facts& facts_;
    For loop_;
    BoundNames inside_;
    const Expr* vector_ = nullptr;
    const Expr* row_ = nullptr;  ///< the name that counts sums have for the number of the round's row
    std::optional<Count> stride_;
    std::vector<Places> writes_, reads_;
    For inner_{};
    std::vector<std::pair<const Expr*, std::size_t>> sides_;  ///< where it looks
    bool puts_ = false;
    bool ok_ = true;
    std::vector<const Expr*> asked_;
    const Expr* condition_ = nullptr;  ///< all of these
};

}  // namespace

std::optional<const Expr*> rows_are_apart(Module& m, Facts& facts, For loop) {
    return Rows(m, facts, loop).condition();
}

}  // namespace weld
