// What is read behind a node is known when the walk backward comes to it.
#include "weldir/passes/lives.h"

#include <map>
#include <utility>

#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"

namespace weld::ownership {

Lives::Lives(Origins& origins, const Expr* lambda, const Function* f)
    : o_(origins), f_(f), live_(origins.objects.size()) {
    const Expr* body = lambda->arg(0);
    if (f && may_allocate(body) && !o_.gave_up()) {
        params_ = lambda->symbols();
        if (body->type->holds_pointer)
            for (Object o : all_of(o_.reach(body)))
                if (o_.objects[o].is_param) o_.objects[o].escapes = true;
        keep_jumps_apart(body);
    }
    look(lambda->arg(0));
}

bool Lives::is_in_place(const Expr* start) const {
    auto found = in_place_.find(start);
    return found != in_place_.end() && found->second;
}

std::optional<std::size_t> Lives::over(const Expr* start) const {
    auto found = over_.find(start);
    return found == over_.end() ? std::nullopt : found->second;
}

std::vector<std::vector<const Symbol*>> Lives::frees(Block b) const {
    std::vector<std::vector<const Symbol*>> all(b.size() + 1);
    for (const Symbol* s : b.symbols())
        if (auto end = ends_.find(s); end != ends_.end() && is_own(s) && !ended_.contains(s))
            all[end->second].push_back(s);
    if (auto outer = outer_ends_.find(b.node); outer != outer_ends_.end())
        for (const auto& [s, at] : outer->second)
            if (is_own(s)) all[at].push_back(s);
    return all;
}

std::vector<const Symbol*> Lives::gives(const Expr* call) const {
    auto found = gives_.find(call);
    return found == gives_.end() ? std::vector<const Symbol*>() : found->second;
}

void Lives::look(const Expr* e, const Throughs& through) {
    if (is_path(e)) {
        if (e->type->holds_pointer) read(e);
        return;
    }
    switch (e->op) {
        case Op::Len:  // of a vector is no part of its memory
            if (!is_path(e->arg(0)) || e->arg(0)->type->is_dict()) look(e->arg(0));
            return;
        case Op::Block: return block(e->as<Block>());
        case Op::If: return branches(e, through);
        case Op::NewBuilder: return start(e);
        case Op::Call: return call(e->as<Call>());
        case Op::Merge: return merge(e);
        case Op::For: return loop(e->as<For>());
        case Op::Iterate: return iterate(e->as<Iterate>());
        case Op::Sort:
            inside(e->arg(1));
            if (e->num_args > 2) look(e->arg(2));
            return look(e->arg(0));
        default:
            for (std::size_t i = e->num_args; i-- > 0;) operand(e, i);
    }
}

void Lives::operand(const Expr* e, std::size_t i) {
    const bool hold = o_.has_start(e->arg(i));
    for (std::size_t k = 0; hold && k < i; ++k) keep(e->arg(k), 1);
    look(e->arg(i));
    for (std::size_t k = 0; hold && k < i; ++k) keep(e->arg(k), -1);
}

void Lives::keep(const Expr* e, int times) {
    if (!e->type->holds_pointer) return;
    for (Object o : all_of(o_.reach(e))) live_[o] += times;
}

void Lives::read(const Expr* path) {
    if (std::ranges::any_of(safe_to_read_, [&](const Expr* safe) { return same(path, safe); })) return;
    const auto through = is_path(path) ? through_.find(base_of(path)) : through_.end();
    const Reach& reach = o_.reach(path);
    for (Object o : all_of(reach)) {
        const StateVector* s = o_.left_by(o, path->type, reach);
        if (s && o_.objects[o].level > o_.objects[s->out].level) continue;  // the end of the round reads it
        if (s) ++left_[s->iterate][o];
        ++live_[o];
        log_.push_back(o);
        if (through != through_.end()) {
            ++through->second[o].reads;
            through->second[o].left += s != nullptr;
        }
    }
}

void Lives::inside(const Expr* lambda) {
    ++level_;
    look(lambda->arg(0));
    --level_;
}

void Lives::block(Block b) {
    std::unordered_map<const Symbol*, std::size_t> own;  // the numbers of its lets
    for (std::size_t i = 0; i < b.size(); ++i) own[b.symbol(i)] = i;
    const auto ends = [&](const Symbol* s, std::size_t at) {
        if (auto let = own.find(s); let != own.end()) ends_.try_emplace(s, std::max(at, let->second + 1));
    };
    const auto look_at = [&](const Symbol* name, const Expr* e, std::size_t at) {
        const std::size_t begin = log_.size();
        Throughs through;
        if (auto found = through_.extract(name)) through = std::move(found.mapped());
        if (!through.empty()) pass_on(e, through);
        look(e, through);
        for (std::size_t read = begin; read < log_.size(); ++read) ends(o_.objects[log_[read]].owner, at);
        end_outer(b, at, begin);
    };
    if (level_ == 0) open_.insert(b.symbols().begin(), b.symbols().end());
    for (std::size_t i = 0; i < b.size(); ++i)
        if (b.symbol(i)->type->holds_pointer && passes_on(b.value(i))) through_[b.symbol(i)];
    if (b.result()->type->holds_pointer)
        for (Object o : all_of(o_.reach(b.result())))
            if (own.contains(o_.objects[o].owner)) o_.objects[o].escapes = true;
    look_at(nullptr, b.result(), b.size());
    for (std::size_t i = b.size(); i-- > 0;) {
        open_.erase(b.symbol(i));
        look_at(b.symbol(i), b.value(i), i);
        if (b.symbol(i)->type->is_vec() || b.symbol(i)->type->is_dict())
            ends_.try_emplace(b.symbol(i), i + 1);  // nobody reads it
    }
}

// ---- parameters ----------------------------------------------------------------------------------------

void Lives::end_outer(Block b, std::size_t at, std::size_t begin) {
    if (!f_ || level_ > 0) return;
    std::map<const Symbol*, Objects> read;  // by owner
    std::unordered_map<Object, int> times;
    for (std::size_t i = begin; i < log_.size(); ++i) ++times[log_[i]];
    for (auto [o, n] : times)
        if (const Symbol* s = o_.objects[o].owner; s && live_[o] == n) add(read[s], {o});
    for (const auto& [s, objects] : read) {
        const bool may_end = is_param(s) ? !params_.empty() : f_->summary.recursive && open_.contains(s);
        if (!may_end || ended_.contains(s) || std::ranges::find(b.symbols(), s) != b.symbols().end())
            continue;
        const auto is_last = [&](Object o) {
            return std::ranges::binary_search(objects, o) || live_[o] == 0;
        };
        if (!std::ranges::all_of(all_of(o_.names.at(s)), is_last)) continue;
        outer_ends_[b.node].emplace_back(s, at);
        ended_.insert(s);
    }
}

void Lives::keep_jumps_apart(const Expr* e) {
    if (Call c = e->as<Call>(); c && &c.function() == f_ && e->says(AttrKey::TailCall, true)) {
        std::unordered_map<Object, const Symbol*> seen;
        for (std::size_t i = 0; i < params_.size(); ++i) {
            const Symbol* p = params_[i];
            if (!p->type->holds_pointer) continue;
            for_each_leaf(p->type, o_.reach(c.args()[i]), [&](const Reach& leaf) {
                for (Object o : all_of(leaf)) {
                    if (o == kOutside) continue;
                    auto [other, is_first] = seen.try_emplace(o, p);
                    if (!is_first) lose(p), lose(other->second);
                }
            });
        }
    }
    for (const Expr* a : e->args()) keep_jumps_apart(a);
}

void Lives::lose(const Symbol* p) {
    for (Object o : all_of(o_.names.at(p))) o_.objects[o].lost = true;
}

bool Lives::takes(const Function& callee) {
    if (!callee.lambda || !callee.summary.allocates) return false;
    auto [known, is_new] = takes_.try_emplace(&callee, false);
    if (is_new) known->second = may_allocate(callee.lambda->as<Lambda>().body());
    return known->second;
}

void Lives::call(Call c) {
    if (level_ == 0 && takes(c.function()) && !jumps_here(c)) {
        std::unordered_map<Object, int> times;
        for (const Expr* a : c.args())
            if (a->type->holds_pointer)
                for_each_leaf(a->type, o_.reach(a), [&](const Reach& leaf) {
                    for (Object o : all_of(leaf)) ++times[o];
                });
        std::vector<const Symbol*> given;
        for (const Expr* a : c.args())
            if (a->type->holds_pointer)
                for_each_leaf(a->type, o_.reach(a), [&](const Reach& leaf) {
                    if (leaf.tops.size() != 1 || !leaf.inner.empty()) return;
                    const Symbol* s = o_.objects[leaf.tops[0]].owner;
                    if (s && std::ranges::find(given, s) == given.end() && may_give(s, times))
                        given.push_back(s);
                });
        ended_.insert(given.begin(), given.end());
        if (!given.empty()) gives_[c.node] = given;
    }
    for (std::size_t i = c.node->num_args; i-- > 0;) operand(c.node, i);
}

bool Lives::jumps_here(Call c) const { return &c.function() == f_ && c.node->says(AttrKey::TailCall, true); }

bool Lives::is_param(const Symbol* s) const {
    const Objects all = all_of(o_.names.at(s));
    return !all.empty() && o_.objects[all[0]].is_param && o_.objects[all[0]].owner == s;
}

bool Lives::may_give(const Symbol* s, const std::unordered_map<Object, int>& times) const {
    if (is_param(s) ? params_.empty() : !open_.contains(s)) return false;
    if (ended_.contains(s)) return false;
    return is_own(s) && std::ranges::all_of(all_of(o_.names.at(s)), [&](Object o) {
               auto found = times.find(o);
               return live_[o] == 0 && o_.objects[o].level == 0 &&
                      (found == times.end() || found->second == 1);
           });
}

// ---- branches ------------------------------------------------------------------------------------------

bool Lives::passes_on(const Expr* value) {
    return value->op == Op::If || value->op == Op::MakeStruct || is_path(value);
}

/// Calls `fn` with the values that the value of `e` may consist of.
static void for_each_part(const Expr* e, const std::function<void(const Expr*)>& fn) {
    switch (e->op) {
        case Op::If: return for_each_part(e->arg(1), fn), for_each_part(e->arg(2), fn);
        case Op::MakeStruct:
            for (const Expr* f : e->args()) for_each_part(f, fn);
            return;
        case Op::Block: return for_each_part(e->as<Block>().result(), fn);
        default:
            if (e->type->holds_pointer) fn(e);
    }
}

void Lives::pass_on(const Expr* value, const Throughs& through) {
    std::map<Object, const Symbol*> names;  // null: not only through one
    for_each_part(value, [&](const Expr* part) {
        const Symbol* name = is_path(part) && through_.contains(base_of(part)) ? base_of(part) : nullptr;
        for (Object o : all_of(o_.reach(part))) {
            const auto [known, is_new] = names.try_emplace(o, name);
            if (!is_new && known->second != name) known->second = nullptr;
        }
    });
    for (const auto& [o, name] : names)
        if (auto found = through.find(o); name && found != through.end()) {
            through_[name][o].reads += found->second.reads;
            through_[name][o].left += found->second.left;
        }
}

void Lives::branch(const Expr* e, const Throughs& through) {
    Throughs others, own;  // that it does not give, and that it does
    const Objects given = e->type->holds_pointer ? all_of(o_.reach(e)) : Objects();
    for (const auto& [o, times] : through)
        (std::ranges::binary_search(given, o) ? own : others).emplace(o, times);
    struct Left {
        const Expr* iterate;
        Object o;
        int times;
    };
    std::vector<Left> left;  // by iterates in here, which take these reads along
    for (auto& [o, times] : own)
        if (const StateVector* s = o_.left_by(o, e->type, o_.reach(e))) {
            left.push_back({s->iterate, o, times.reads - times.left});
            left_[s->iterate][o] += left.back().times;
            times.left = times.reads;
        }
    for (const auto& [o, times] : others) live_[o] -= times.reads;
    look(e, own);
    for (const auto& [o, times] : others) live_[o] += times.reads;
    for (const Left& l : left)  // by iterates before
        if (const auto at = left_[l.iterate].find(l.o); at != left_[l.iterate].end()) at->second -= l.times;
}

void Lives::branches(const Expr* e, const Throughs& through) {
    const std::size_t begin = log_.size();
    const std::set<const Symbol*> ended_before = ended_;
    branch(e->arg(1), through);
    const std::size_t end = log_.size();
    for (std::size_t i = begin; i < end; ++i) --live_[log_[i]];
    const std::set<const Symbol*> ended_there = std::exchange(ended_, ended_before);
    branch(e->arg(2), through);
    ended_.insert(ended_there.begin(), ended_there.end());
    for (std::size_t i = begin; i < end; ++i) ++live_[log_[i]];
    look(e->arg(0));
}

void Lives::merge(const Expr* e) {
    const bool is_first = e->arg(0)->op == Op::NewBuilder;
    if (is_first) look(e->arg(0));
    for (std::size_t i = e->num_args; i-- > std::size_t(is_first);) operand(e, i);
}

void Lives::loop(For f) {
    const For lanes = lanes_of_fringe(f);
    const std::array<For, 2> both = {lanes ? lanes : f, lanes ? f : For{}};
    const Expr* changes = safe_to_change(both[0].builder());
    if (changes) safe_to_read_.push_back(changes);
    for (For g : both)
        if (g) inside(g.body().node);
    std::size_t number = 0;
    Objects taken;
    lay_over(both, both[0].builder(), number, taken);
    for (For g : both)
        for (const Expr* d : g ? g.data() : std::span<const Expr* const>())
            if (const Expr* vec = vector_of(d)) read(vec);
    if (changes) safe_to_read_.pop_back();
    look(both[0].builder());
    for (For g : both)
        for (std::size_t i = g ? g.data().size() : 0; i-- > 0;) look(g.data()[i]);
}

const Expr* Lives::safe_to_change(const Expr* start) {
    return start->says(AttrKey::Independent, true) ? start->arg(0) : nullptr;
}

const Expr* Lives::vector_of(const Expr* datum) {
    return datum->op == Op::Iter ? datum->as<Iter>().data() : datum;
}

// ---- loops that write over what they read --------------------------------------------------------------

For Lives::lanes_of_fringe(For f) {
    const auto is_of = [](const Expr* d, IterKind kind) {
        return d->op == Op::Iter && d->as<Iter>().shape().kind == kind;
    };
    const For before = f.builder()->as<For>();
    const bool pair =
        before && is_of(f.data()[0], IterKind::Fringe) && is_of(before.data()[0], IterKind::Simd);
    return pair ? before : For{};
}

bool Lives::reads_in_step(const Expr* datum) {
    const Iter it = datum->as<Iter>();
    return !it || !it.shape().bounded;
}

void Lives::lay_over(const std::array<For, 2>& loops, const Expr* start, std::size_t& number,
                     Objects& taken) {
    if (start->op == Op::MakeStruct) {
        for (const Expr* s : start->args()) lay_over(loops, s, number, taken);
        return;
    }
    const std::size_t k = number;
    number += std::size_t(num_builders(start->type));
    if (start->op != Op::NewBuilder || !info(start->type).lists_merges) return;
    for (For f : loops)
        if (f && merges_per_iteration(f)[k] != std::int32_t(elements_per_round(f))) return;
    std::optional<std::size_t> over;
    const std::span<const Expr* const> data = loops[0].data();
    for (std::size_t i = 0; i < data.size() && !over; ++i)
        if (may_lay_over(loops, data[i], start->type->elem(), taken)) over = i;
    const auto [known, is_new] = over_.try_emplace(start, over);  // a node may stand in several places
    if (!is_new && known->second != over) over = known->second = std::nullopt;
    if (!over) return;
    const Reach& r = o_.reach(vector_of(data[*over]));
    add(taken, r.tops);
    consume(r);
}

std::uint32_t Lives::elements_per_round(For f) {
    const Iter it = f.data()[0]->as<Iter>();
    return it && it.shape().kind == IterKind::Simd ? it.lanes() : 1;
}

bool Lives::may_lay_over(const std::array<For, 2>& loops, const Expr* datum, const Type* elem,
                         const Objects& taken) const {
    const Expr* vec = vector_of(datum);
    if (!vec || !reads_in_step(datum)) return false;
    const Type* old = vec->type->elem();
    if (elem->holds_pointer || old->holds_pointer || size_of(elem) != size_of(old)) return false;
    const Reach& r = o_.reach(vec);
    if (!may_consume(r) || meet(r.tops, taken)) return false;
    for (For f : loops)
        for (const Expr* d : f ? f.data() : std::span<const Expr* const>())
            if (!is_apart_or_in_step(d, r.tops)) return false;
    return true;
}

bool Lives::is_apart_or_in_step(const Expr* datum, const Objects& of) const {
    const Expr* vec = vector_of(datum);
    if (!vec) return true;
    const Reach& r = o_.reach(vec);
    if (!meet(all_of(r), of)) return true;
    return reads_in_step(datum) && r.fields.empty() && !meet(r.inner, of) &&
           !std::ranges::binary_search(r.tops, kOutside);
}

// ---- starts in place -----------------------------------------------------------------------------------

void Lives::start(const Expr* e) {
    if (info(e->type->builder).indexed) {
        const Expr* of = e->arg(0);
        const bool may = is_plain_vector(of->type) && may_consume(o_.reach(of));
        auto [known, is_new] = in_place_.try_emplace(e, may);  // a node may stand in several places
        known->second &= may;
        if (may) consume(o_.reach(of));
    }
    if (const Annotation* spare = e->annotation(AttrKey::Spare)) {
        const Reach& r = o_.names.at(spare->symbols[0]);
        const auto [known, is_new] = in_place_.try_emplace(e, may_consume(r));
        if (is_new && known->second) {
            consume(r);
            for (Object o : r.tops) {
                ++live_[o];
                log_.push_back(o);
            }
        }
    }
    for (std::size_t i = e->num_args; i-- > 0;) look(e->arg(i));
}

bool Lives::may_consume(const Reach& r, const Counts& left) const {
    return !r.tops.empty() && std::ranges::all_of(r.tops, [&](Object o) {
        const auto as_left = left.find(o);
        const int reads = live_[o] - (as_left == left.end() ? 0 : as_left->second);
        return o_.is_owned(o) && !o_.objects[o].is_param && o_.objects[o].level == level_ && reads == 0 &&
               can_own(o);
    });
}

void Lives::consume(const Reach& r) {
    for (Object o : r.tops) {
        o_.objects[o].consumed = true;
        want(o);
    }
}

bool Lives::can_own(Object o) const {
    const StateVector* s = o_.objects[o].state;
    if (!s || s->wanted || (o == s->out && !o_.passes_on(*s))) return true;
    return !s->settled && std::ranges::all_of(s->next, [&](Object next) {
        return o_.objects[next].state == s || can_own_next(next);
    });
}

bool Lives::can_own_next(Object o) const {
    const StateVector* s = o_.objects[o].state;
    return !s || s->wanted || !s->settled;
}

void Lives::want(Object o) {
    StateVector* s = o_.objects[o].state;
    if (!s || s->wanted || (o == s->out && !o_.passes_on(*s))) return;
    s->wanted = true;
    for (Object next : s->next) want(next);
}

void Lives::iterate(Iterate it) {
    inside(it.body().node);
    auto found = o_.states.find(it.node);
    const Counts left = std::exchange(left_[it.node], {});
    const Reach* init = it.init()->type->holds_pointer ? &o_.reach(it.init()) : nullptr;
    if (found != o_.states.end())
        for (auto& s : found->second) {
            s->settled = true;
            if (!s->wanted) continue;
            const Reach& here = at(*init, s->path);
            Objects others;
            add_others(others, *init, s->path, 0);
            s->copied = !here.fields.empty() || meet(here.tops, others) || !may_consume(here, left);
            if (!s->copied) consume(here);
        }
    for (const auto& [o, times] : left)
        if (const StateVector* before = o_.left_by(o, it.init()->type, *init))
            left_[before->iterate][o] += times;  // as what this one was given by another
    look(it.init());
}

bool Lives::is_own(const Symbol* s) const {
    auto found = o_.names.find(s);
    Objects seen;
    return found != o_.names.end() && is_own(s, s->type, found->second, seen);
}

bool Lives::is_own(const Symbol* s, const Type* t, const Reach& r, Objects& seen) const {
    if (!t->holds_pointer) return true;
    if (t->is_struct()) {
        if (r.fields.size() != t->args.size()) return false;
        for (std::size_t i = 0; i < t->args.size(); ++i)
            if (!is_own(s, t->args[i], r.fields[i], seen)) return false;
        return true;
    }
    if (t->is_builder() || r.tops.empty() || meet(r.tops, seen)) return false;
    add(seen, r.tops);
    return std::ranges::all_of(r.tops, [&](Object o) {
        const ObjectInfo& x = o_.objects[o];
        const bool is_sure = !x.state || x.state->wanted || !o_.passes_on(*x.state);
        return o_.is_owned(o) && x.owner == s && !x.consumed && !x.escapes && is_sure;
    });
}

}  // namespace weld::ownership
