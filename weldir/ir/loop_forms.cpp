// Telling whether a loop has the form that an annotation is about.
#include "weldir/ir/loop_forms.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weldir/ir/builder.h"
#include "weldir/ir/keys.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"

namespace weld {

std::optional<Filter> filter_of(For f) {
    const Expr* body = f.body().body();
    const Block lets = body->as<Block>();
    const If choice = (lets ? lets.result() : body)->as<If>();
    if (!choice) return {};
    const auto is_untouched = [&](const Expr* e) { return is_var(e, f.builder_param()); };
    const bool wanted = is_untouched(choice.otherwise());
    if (!wanted && !is_untouched(choice.then())) return {};
    return Filter{lets, choice.cond(), wanted, wanted ? choice.then() : choice.otherwise()};
}

void each_condition(const Expr* cond, const std::function<void(const Expr*)>& f) {
    if (cond->op != Op::And && cond->op != Op::BitAnd) return f(cond);
    for (const Expr* a : cond->args()) each_condition(a, f);
}

bool goes_one_by_one(For f) {
    return std::ranges::none_of(f.data(), [](const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return it && (it.shape().nd || it.shape().kind != IterKind::Scalar);
    });
}

bool is_known_early(const Filter& filter) {
    for (std::size_t i = 0; filter.lets && i < filter.lets.size(); ++i)
        if (!is_movable(filter.lets.value(i))) return false;
    return is_movable(filter.cond);
}

namespace {

/// The masks of a body on lanes, and what they read.
class Masks {
  public:
    explicit Masks(For f) : f_(f), lets_(f.body().body()->as<Block>()) {
        for (std::size_t i = 0; lets_ && i < lets_.size(); ++i) {
            bound_[lets_.symbol(i)] = lets_.value(i);
            cannot_fail_ &= lets_.value(i)->type->holds_builder || is_movable(lets_.value(i));
        }
    }

    std::optional<Demand> demand() {
        std::vector<const Expr*> shared;
        bool first = true, all = cannot_fail_;
        visit(f_.body().body(), [&](const Expr* e) {
            all &= e->op != Op::For && e->op != Op::NewBuilder;
            const bool is_look_up = fails_under_mask(e);
            if (e->op != Op::Merge && !is_look_up) return;
            if (!is_look_up)
                for (const Expr* a : e->args().subspan(1)) all &= fails_under_masks_only(a);
            std::vector<const Expr*> of;
            seen_.clear();
            if (e->num_args > 2) split(e->arg(2), of);
            if (first) shared = of;
            else std::erase_if(shared, [&](const Expr* c) { return !holds(of, c); });
            first = false;
        });
        if (!all || shared.empty()) return {};
        Demand d = {lets_, {}, std::vector<bool>(f_.data().size())};
        for (const Expr* c : shared) {
            std::vector<bool> reads(f_.data().size());
            if (!read(c, reads)) continue;
            const bool is_first = d.conds.empty();
            if (is_first) d.reads = reads;
            bool more = false;
            for (std::size_t i = 0; i < reads.size(); ++i) more |= reads[i] && !d.reads[i];
            if (!more) d.conds.push_back(c);
        }
        return d.conds.empty() ? std::nullopt : std::optional(d);
    }

  private:
    /// A look-up by the lanes of a mask alone, of which those outside of vectors fail.
    static bool fails_under_mask(const Expr* e) {
        return e->op == Op::LookupLanes && e->num_args > 2 && own_traits(e).fails;
    }
    static bool fails_under_masks_only(const Expr* e) {
        const Traits own = own_traits(e);
        const bool moves = !e->type->holds_builder && !own.calls && !own.ordered;
        return moves && (!own.fails || fails_under_mask(e)) &&
               std::ranges::all_of(e->args(), fails_under_masks_only);
    }
    static bool holds(const std::vector<const Expr*>& all, const Expr* c) {
        return std::ranges::any_of(all, [&](const Expr* one) { return same(one, c); });
    }

    /// The parts of `mask`, all of which must hold.
    void split(const Expr* mask, std::vector<const Expr*>& parts) {
        const auto at = mask->op == Op::Var ? bound_.find(mask->attr.symbol) : bound_.end();
        if (at != bound_.end() && !seen_.insert(at->first).second) return;
        const Expr* e = at == bound_.end() ? mask : at->second;
        if (e->op != Op::BitAnd) return parts.push_back(mask);
        split(e->arg(0), parts);
        split(e->arg(1), parts);
    }

    /// Notes the data that `e` reads; false if it may fail or reads none, or takes long.
    bool read(const Expr* e, std::vector<bool>& reads) {
        if (!is_straight_line(e)) return false;
        bool plain = true;
        seen_.clear();
        note(e, reads, plain);
        return plain && std::ranges::find(reads, true) != reads.end();
    }

    void note(const Expr* e, std::vector<bool>& reads, bool& plain) {
        if (e->op == Op::GetField && is_var(e->arg(0), f_.elem_param()) && reads.size() > 1) {
            reads[std::size_t(e->attr.index)] = true;
            return;
        }
        if (is_var(e, f_.elem_param())) reads.assign(reads.size(), true);
        if (e->op == Op::Var) {
            const auto at = bound_.find(e->attr.symbol);
            if (at == bound_.end() || !seen_.insert(at->first).second) return;
            plain &= is_straight_line(at->second);
            note(at->second, reads, plain);
        }
        for (const Expr* a : e->args()) note(a, reads, plain);
    }

    For f_;
    Block lets_;
    std::unordered_map<const Symbol*, const Expr*> bound_;
    bool cannot_fail_ = true;                 // what stands in lets: rounds that are left out would not fail
    std::unordered_set<const Symbol*> seen_;  // names, each of which is followed once
};

}  // namespace

std::optional<Demand> demand_of(For f) {
    const Iter it = f.data()[0]->as<Iter>();
    if (!it || it.shape().kind != IterKind::Simd) return {};
    return Masks(f).demand();
}

bool does_nothing(For loop) {
    const Var end = loop.body().body()->as<Var>();
    return end && end.symbol() == loop.builder_param();
}

/// Whether a body can do a round on some of `lanes` lanes: it has no loops, calls or builders of its own, and
/// merges all lanes or none.
static bool has_plain_lanes(const Expr* body, std::uint32_t lanes) {
    bool plain = true;
    visit(body, [&](const Expr* e) {
        switch (e->op) {
            case Op::Lambda:
            case Op::NewBuilder:
            case Op::Result:
            case Op::Call:
            case Op::Kernel: plain = false; break;
            case Op::Merge: plain &= !e->type->holds_simd && lanes_in(e->arg(1)->type) == lanes; break;
            case Op::Block:
                for (const Expr* v : e->as<Block>().values()) plain &= !v->type->holds_builder;
                break;
            default: break;
        }
    });
    return plain;
}

bool merges_at_places(For f) {
    const Type* t = f.node->type;
    if (!t->is_builder() || !info(t).probes || !has_places(t->key())) return false;
    std::int64_t merges = 0;
    bool alone = true, lanes = false;
    visit(f.body().body(), [&](const Expr* e) {
        merges += e->op == Op::Merge;
        alone &= e->op != Op::For && e->op != Op::Iterate && e->op != Op::NewBuilder && e->op != Op::Call;
        lanes |= e->type->holds_simd;
    });
    return merges == 1 && alone && !lanes;
}

/// The fringe of what `full` goes over.
static bool is_rest_of(Iter full, Iter rest) {
    if (!full || !rest || full.shape().kind != IterKind::Simd || rest.shape().kind != IterKind::Fringe)
        return false;
    if (rest.lanes() != full.lanes() || (full.shape().bounded && !is_int(full.stride(), 1))) return false;
    return std::ranges::equal(full.node->args(), rest.node->args(), same);
}

For masked_loop(For rest) {
    const For lanes = rest.builder()->as<For>();
    if (!lanes || lanes.data().size() > rest.data().size()) return {};
    for (std::size_t i = 0; i < lanes.data().size(); ++i)
        if (!is_rest_of(lanes.data()[i]->as<Iter>(), rest.data()[i]->as<Iter>())) return {};
    const std::uint32_t n = lanes.data()[0]->as<Iter>().lanes();
    return n <= 64 && has_plain_lanes(lanes.body().body(), n) ? lanes : For{};
}

For last_loop(For f) {
    const Expr* end = f.body().body();
    if (const Block b = end->as<Block>()) end = b.result();
    return end->as<For>();
}

For tiled_loop(For outer) {
    const NewBuilder start = outer.builder()->as<NewBuilder>();
    const Annotation* size = start ? start.node->annotation(AttrKey::Size) : nullptr;
    if (!size || size->text != "given" || !info(start.node->type).lists_merges) return {};
    const For inner = last_loop(outer);
    if (!inner) return {};
    const For lanes = masked_loop(inner);
    const Var into = (lanes ? lanes : inner).builder()->as<Var>();
    if (!into || into.symbol() != outer.builder_param()) return {};
    return appends_per_iteration(inner) == std::vector<std::int64_t>{1} ? inner : For{};
}

const Expr* datum_of(For loop, const Expr* path) {
    const bool zips = loop.data().size() > 1;
    if (zips && path->op != Op::GetField) return nullptr;
    return is_var(zips ? path->arg(0) : path, loop.elem_param()) ? loop.data()[zips ? path->attr.index : 0]
                                                                 : nullptr;
}

std::optional<Counting> counting_of(Iterate it) {
    const Expr* body = it.body().body();
    const Block lets = body->as<Block>();
    const Expr* end = lets ? lets.result() : body;
    if (end->op != Op::MakeStruct || !it.node->type->is_struct()) return {};
    const Expr *next = end->arg(0), *again = end->arg(1);
    if ((again->op != Op::Lt && again->op != Op::Le) || !again->arg(0)->type->is_scalar() ||
        again->arg(0)->type->scalar != Scalar::I64)
        return {};
    const Symbol* state = it.body().param(0);
    const auto value_of = [&](const Expr* e) {
        for (std::size_t i = 0; lets && i < lets.size(); ++i)
            if (is_var(e, lets.symbol(i))) return lets.value(i);
        return e;
    };
    const Expr* asked = value_of(again->arg(0));
    const bool is_new = asked->op == Op::Add;
    const Expr* before = is_new ? value_of(asked->arg(0)) : asked;
    if (before->op != Op::GetField || !is_var(before->arg(0), state)) return {};
    const std::size_t field = before->attr.index;
    const auto is_count = [&](const Expr* e) {
        return e->op == Op::Add && same(value_of(e->arg(0)), before) && is_int(e->arg(1), 1);
    };
    if (is_new && !is_count(asked)) return {};
    const std::function<bool(const Expr*)> is_counted = [&](const Expr* e) {
        if (e->op == Op::If) return is_counted(e->arg(1)) && is_counted(e->arg(2));
        return e->op == Op::MakeStruct && is_count(value_of(e->arg(field)));
    };
    bool is_fixed = is_straight_line(again->arg(1));
    visit(again->arg(1), [&](const Expr* e) {
        is_fixed &= !is_var(e, state);
        for (std::size_t i = 0; lets && i < lets.size(); ++i) is_fixed &= !is_var(e, lets.symbol(i));
    });
    if (!is_fixed || !is_counted(next)) return {};
    return Counting{field, again->arg(1), (again->op == Op::Le) + std::int64_t(!is_new)};
}

}  // namespace weld
