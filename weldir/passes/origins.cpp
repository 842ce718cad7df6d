// What a node may point at follows from what its arguments may.
#include "weldir/passes/origins.h"

#include <map>

#include "weldir/ir/builder.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/walk.h"

namespace weld::ownership {

bool is_plain_vector(const Type* t) {
    return t->is_vec() && !t->elem()->holds_pointer && !t->elem()->holds_simd && size_of(t->elem()) > 0;
}

Origins::Origins(const Expr* lambda, bool is_main, const Results& results) : results_(results) {
    objects.resize(1);
    for (const Symbol* p : lambda->symbols())
        names[p] = is_main ? Reach{{kOutside}, {}, {}} : param(p, p->type);
    num_params_ = objects.size();
    result_ = of(lambda->arg(0));
}

Reach Origins::result(const Type* t) const {
    std::unordered_map<Object, std::vector<int>> places;
    int place = 0;
    const auto note = [&](const Objects& set) {
        ++place;
        for (Object o : set) places[o].push_back(place);
    };
    for_each_leaf(t, result_, [&](const Reach& r) { note(r.tops), note(r.inner); });
    std::map<std::vector<int>, Object> numbers;
    const auto number = [&](Object o, Objects& to) {
        if (o >= num_params_) {
            const bool is_new =
                is_owned(o) && objects[o].level == 0 && !(objects[o].state && passes_on(*objects[o].state));
            o = is_new ? Object(num_params_) +
                             numbers.try_emplace(places[o], Object(numbers.size())).first->second
                       : kOutside;
        }
        add(to, {o});
    };
    if (gave_up_) return {{kOutside}, all_params(), {}};
    return mapped(result_, [&](const Reach& r) {
        Reach to;
        for (Object o : r.tops) number(o, to.tops);
        for (Object o : r.inner) number(o, to.inner);
        return to;
    });
}

Reach Origins::of(const Expr* e) {
    const std::size_t before = num_starts_;
    Reach r = look(e);
    if (num_starts_ != before) starts_.insert(e);
    if (!e->type->holds_pointer) return {};
    limit(r);
    Reach& known = reaches_[e];
    return known = std::move(r);
}

void Origins::limit(Reach& r) {
    constexpr std::size_t most = 64;
    for (Objects* set : {&r.tops, &r.inner}) {
        if (set->size() <= most) continue;
        for (Object o : *set) objects[o].lost = true;
        *set = {kOutside};
        gave_up_ = true;
    }
    for (Reach& f : r.fields) limit(f);
}

Object Origins::make() {
    objects.push_back({.level = level_});
    return Object(objects.size() - 1);
}

Reach Origins::param(const Symbol* p, const Type* t) {
    if (!t->holds_pointer) return {};
    Reach r;
    if (t->is_struct()) {
        for (const Type* f : t->args) r.fields.push_back(param(p, f));
        return r;
    }
    objects.push_back({.owner = p, .is_param = true});
    return {{Object(objects.size() - 1)}, {}, {}};
}

Objects Origins::all_params() const {
    Objects all;
    for (Object o = 1; o < num_params_; ++o) all.push_back(o);
    return all;
}

Reach Origins::made(Objects inner) { return {{make()}, std::move(inner), {}}; }

Reach Origins::joined(const Reach& a, const Reach& b) {
    if (is_nothing(a)) return b;
    if (is_nothing(b)) return a;
    Reach all;
    if (!a.fields.empty() && a.fields.size() == b.fields.size()) {
        for (std::size_t i = 0; i < a.fields.size(); ++i)
            all.fields.push_back(joined(a.fields[i], b.fields[i]));
        return all;
    }
    if (a.fields.empty() != b.fields.empty()) {
        all.tops = {kOutside};
        add_all(all.inner, a);
        add_all(all.inner, b);
        return all;
    }
    all = a;
    add(all.tops, b.tops);
    add(all.inner, b.inner);
    return all;
}

Reach Origins::unknown(const Expr* e) {
    Reach all = {{kOutside}, {}, {}};
    for (const Expr* a : e->args()) add_all(all.inner, of(a));
    return all;
}

/// What is in a vector or dictionary does.
static bool holds_pointers(const Type* holder) {
    return std::ranges::any_of(holder->args, [](const Type* t) { return t->holds_pointer; });
}

Objects Origins::pointees(const Type* holder, const Reach& r) {
    return holds_pointers(holder) ? all_of(r) : Objects();
}

Reach Origins::look(const Expr* e) {
    switch (e->op) {
        case Op::Var: {
            auto found = names.find(e->attr.symbol);
            return found == names.end() ? Reach{{kOutside}, {}, {}} : found->second;
        }
        case Op::GetField: {
            Reach r = of(e->arg(0));
            return r.fields.empty() ? r : r.fields[e->attr.index];
        }
        case Op::MakeStruct: {
            Reach all;
            for (const Expr* f : e->args()) all.fields.push_back(of(f));
            return all;
        }
        case Op::MakeVec:
            if (!rows_in(e->type)) return unknown(e);
            for (const Expr* a : e->args()) of(a);
            return made();
        case Op::Block: ++num_starts_; return of_block(e->as<Block>());
        case Op::Call: return of_call(e->as<Call>());
        case Op::If:
        case Op::Select: {
            of(e->arg(0));
            const Reach then = of(e->arg(1));
            return joined(then, of(e->arg(2)));
        }
        case Op::NewBuilder:
            ++num_starts_;
            for (const Expr* a : e->args()) of(a);
            return made();
        case Op::Merge: {
            Reach r = of(e->arg(0));
            const bool copies = e->as<Merge>().rows();
            for (std::size_t i = 1; i < e->num_args; ++i)
                if (const Reach v = of(e->arg(i)); e->arg(i)->type->holds_pointer && !copies)
                    add_all(r.inner, v);
            return r;
        }
        case Op::Result: return of(e->arg(0));
        case Op::For: return of_loop(e->as<For>());
        case Op::Iterate: return of_iterate(e->as<Iterate>());
        case Op::Sort: {
            const Reach in = of(e->arg(0));
            if (e->num_args > 2) of(e->arg(2));
            body(e->arg(1)->as<Lambda>(), {{kOutside}, all_of(in), {}});
            return made(pointees(e->type, in));
        }
        case Op::OptLanes: {  // {found, rows side by side}
            for (const Expr* a : e->args()) of(a);
            Reach both;
            both.fields = {Reach(), e->as<OptLanes>().most() ? Reach{{kOutside}, {}, {}} : made()};
            return both;
        }
        case Op::Serialize: of(e->arg(0)); return made();
        case Op::Kernel: {
            const BuiltinKernel* row = e->as<Kernel>().ref().builtin;
            const Reach all = unknown(e);
            if (!row || !row->fresh || !(e->type->is_vec() || e->type->is_dict())) return all;
            Objects inner;
            if (holds_pointers(e->type))
                for (const Expr* a : e->args()) add(inner, of(a).inner);
            return made(std::move(inner));
        }
        default: return unknown(e);
    }
}

Reach Origins::of_call(Call c) {
    ++num_starts_;
    std::vector<const Reach*> args = {nullptr};  // by object
    std::vector<Reach> values;
    for (const Expr* a : c.args()) values.push_back(of(a));
    const Expr* e = c.node;
    const Reach nothing_known = {{kOutside},
                                 [&] {
                                     Objects all;
                                     for (const Reach& v : values) add_all(all, v);
                                     return all;
                                 }(),
                                 {}};
    const auto known = results_.find(&c.function());
    if (!e->type->holds_pointer || known == results_.end()) return nothing_known;
    std::vector<Reach> leaves;
    leaves.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) leaves_of(c.args()[i]->type, values[i], leaves);
    std::map<Object, Object> made;
    return mapped(known->second, [&](const Reach& r) {
        Reach to;
        const auto put = [&](Object o, Objects& set) {
            if (o == kOutside) return add(set, {kOutside});
            if (o < leaves.size()) {
                add(set, leaves[o].tops);
                add(to.inner, leaves[o].inner);
                return;
            }
            auto [it, is_new] = made.try_emplace(o, kOutside);
            if (is_new) it->second = make();
            add(set, {it->second});
        };
        for (Object o : r.tops) put(o, to.tops);
        for (Object o : r.inner) put(o, to.inner);
        return to;
    });
}

void Origins::leaves_of(const Type* t, const Reach& r, std::vector<Reach>& all) {
    if (!t->holds_pointer) return;
    if (!t->is_struct()) {
        all.push_back(r.fields.empty() ? r : part_of(r));
        return;
    }
    for (std::size_t i = 0; i < t->args.size(); ++i)
        leaves_of(t->args[i], r.fields.size() == t->args.size() ? r.fields[i] : part_of(r), all);
}

Reach Origins::of_block(Block b) {
    const auto first = Object(objects.size());  // what was there before may be read behind the block
    for (std::size_t i = 0; i < b.size(); ++i) {
        const std::size_t since = ++num_bound_;
        const Reach r = of(b.value(i));
        own(b.symbol(i), b.symbol(i)->type, r, since, first);
        names[b.symbol(i)] = r;
    }
    return of(b.result());
}

void Origins::own(const Symbol* s, const Type* t, const Reach& r, std::size_t since, Object first) {
    if (t->is_vec() || t->is_dict()) {
        for (Object o : r.tops) {
            ObjectInfo& x = objects[o];
            if (o < first || x.level != level_ || (x.owner && x.owned_since < since)) continue;
            x.owner = s;
            x.owned_since = num_bound_;
        }
    }
    for (std::size_t i = 0; i < r.fields.size(); ++i) own(s, t->args[i], r.fields[i], since, first);
}

Reach Origins::body(Lambda l, const Reach& first) {
    ++level_;
    for (const Symbol* p : l.params()) names[p] = first;
    const Reach r = of(l.body());
    --level_;
    return r;
}

Reach Origins::of_loop(For f) {
    Reach data = {{kOutside}, {}, {}};
    for (const Expr* d : f.data()) {
        for (const Expr* a : d->op == Op::Iter ? d->args() : std::span<const Expr* const>{})
            add_all(data.inner, of(a));
        if (d->op != Op::Iter) add_all(data.inner, of(d));
        if (d->op == Op::Iter) reaches_[d] = data;
    }
    const Reach builder = of(f.builder());
    ++level_;
    names[f.builder_param()] = builder;
    names[f.elem_param()] = data;
    const Reach after = of(f.body().body());
    --level_;
    return joined(builder, after);
}

Reach Origins::of_iterate(Iterate it) {
    const Reach init = of(it.init());
    auto& all = states[it.node];
    Path path;
    ++level_;
    names[it.body().param(0)] = state_of(it, it.init()->type, init, path);
    const Reach both = of(it.body().body());
    --level_;
    const Reach next = both.fields.empty() ? both : both.fields[0];
    for (auto& s : all) judge(*s, next);
    for (bool changed = true; changed;) {
        changed = false;
        for (auto& s : all)
            if (s->owned && std::ranges::any_of(s->next, [&](Object o) { return !is_owned(o); })) {
                s->owned = false;
                changed = true;
            }
    }
    for (auto& s : all) objects[s->out = make()].state = s.get();
    return after(it, it.node->type, init, next, path);
}

/// The builders in `r`, of type `t`.
static void add_builders(Objects& to, const Type* t, const Reach& r) {
    if (!t->holds_pointer) return;
    if (t->is_struct() && r.fields.size() == t->args.size()) {
        for (std::size_t i = 0; i < t->args.size(); ++i) add_builders(to, t->args[i], r.fields[i]);
    } else if (t->is_struct() || t->is_builder()) {
        add_all(to, r);
    }
}

/// It has memory of its own, where nothing points at others.
static bool is_plain_builder(const Type* t) {
    return t->is_builder() && !info(t).indexed && !holds_pointers(t);
}

/// How many builders `t` holds that are of type `of`.
static int count_of(const Type* of, const Type* t) {
    if (!t->is_struct()) return t == of;
    int n = 0;
    for (const Type* f : t->args) n += count_of(of, f);
    return n;
}

/// Any of the builders in `r`, of type `t`, between which rounds may have chosen.
static Reach one_of_the_builders(const Type* t, const Reach& r) {
    Reach one = {{kOutside}, {}, {}};
    add_builders(one.inner, t, r);
    return one;
}

Reach Origins::state_of(Iterate it, const Type* t, const Reach& r, Path& path) {
    if (!t->holds_pointer) return {};
    if (t->is_struct()) {
        Reach state;
        for (std::size_t i = 0; i < t->args.size(); ++i) {
            path.push_back(i);
            state.fields.push_back(state_of(it, t->args[i], r, path));
            path.pop_back();
        }
        return state;
    }
    if (is_plain_builder(t)) {  // no other one can take its place, where it is the only one of its type
        const Reach& begin = at(r, path);
        const bool is_only = count_of(t, it.init()->type) == 1 && begin.fields.empty() && !begin.tops.empty();
        return is_only ? begin : one_of_the_builders(it.init()->type, r);
    }
    if (!is_plain_vector(t) || !can_copy(it.init(), path)) return part_of(r);
    const Object in = make();
    auto& all = states[it.node];
    all.push_back(std::make_unique<StateVector>(
        StateVector{.iterate = it.node, .path = path, .in = in, .out = 0, .next = {}}));
    objects[in].state = all.back().get();
    return {{in}, {}, {}};
}

bool Origins::can_copy(const Expr* init, const Path& path) {
    for (std::size_t i : path) {
        if (init->op != Op::MakeStruct) break;
        init = init->arg(i);
    }
    const Expr* e = init;
    while (e->op == Op::GetField) e = e->arg(0);
    return e->op == Op::Var || (init->type->is_vec());
}

void Origins::judge(StateVector& s, const Reach& next) {
    const Reach& here = at(next, s.path);
    s.next = here.tops;
    Objects others;  // nothing is inside of a plain vector: `inner` has what an iterate may have passed on
    add_others(others, next, s.path, 0);
    s.owned = here.fields.empty() && !here.tops.empty() && !meet(here.tops, others);
    for (Object o : here.tops) s.owned &= o != kOutside && objects[o].level == level_ + 1;
}

Reach Origins::after(Iterate it, const Type* t, const Reach& init, const Reach& next, Path& path) {
    if (!t->holds_pointer) return {};
    Reach r;
    if (t->is_struct()) {
        for (std::size_t i = 0; i < t->args.size(); ++i) {
            path.push_back(i);
            r.fields.push_back(after(it, t->args[i], init, next, path));
            path.pop_back();
        }
        return r;
    }
    for (const auto& s : states.at(it.node)) {
        if (s->path != path || !s->owned) continue;
        r = {{s->out}, at(next, path).inner, {}};
        if (passes_on(*s)) add_all(r.inner, init);
        return r;
    }
    if (is_plain_builder(t)) {
        const Reach &begin = at(init, path), &end = at(next, path);
        if (count_of(t, it.node->type) == 1 && !begin.tops.empty() && is_same(begin, end)) return begin;
        r = one_of_the_builders(it.init()->type, init);
        add_builders(r.inner, it.node->type, next);
        return r;
    }
    r = part_of(init);
    add_all(r.inner, next);
    return r;
}

bool Origins::is_owned(Object o) const {
    const ObjectInfo& x = objects[o];
    return o != kOutside && !x.lost && (!x.state || x.state->owned);
}

const StateVector* Origins::left_by(Object o, const Type* t, const Reach& r) const {
    const StateVector* found = nullptr;
    bool is_left = true;
    for_each_leaf(t, r, [&](const Reach& leaf) {
        if (std::ranges::binary_search(leaf.tops, o)) is_left = false;
        if (!std::ranges::binary_search(leaf.inner, o)) return;
        const StateVector* here = nullptr;  // of what else a plain vector may be, nothing has others in it
        for (Object top : leaf.tops)
            if (const StateVector* s = objects[top].state; s && s->out == top) {
                is_left &= !found || found->iterate == s->iterate;
                here = found = s;
            }
        is_left &= here && leaf.tops[0] != kOutside;
    });
    return is_left ? found : nullptr;
}

bool Origins::passes_on(const StateVector& s) const {
    return std::ranges::any_of(s.next, [&](Object o) {
        const StateVector* of = objects[o].state;
        return of && (of == &s || o == of->in || passes_on(*of));
    });
}

}  // namespace weld::ownership
