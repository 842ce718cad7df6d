// Whose memory a value is, and what follows from it: vectors are changed in place where nobody sees it, and
// freed after their last reader.
//
//     let a = result(for(v, appender[f64], f));
//     let h = result(for(a, vecmerger[f64,+](z), g));
//     let k = result(for(h, vecmerger[f64,+](h2), g2)); ...
// becomes
//     let h = @(free:a) result(...);                                     # nobody reads `a` after this
//     let k = result(for(h, @(inplace:true) vecmerger[f64,+](h2), ...    # nor `h2`, which `k` now is
//
// Three steps, each one walk:
//   1. `Origins`, forward: which *objects* each value may point at. An object is memory that a node of the
//      program allocates: what a builder builds, what a sort gives. Parameters, constants, and all that is
//      unknown are one object, kOutside, which is nobody's here.
//   2. `Lives`, backward: which objects are read later. A vecmerger may start in place on a vector whose
//      objects are all owned and not read later.
//   3. `Marks` writes down what was found.
//
// A function does not know who else reads its parameters. Its caller does: `@(give:a) f(a)` says that nobody
// reads `a` later, and moves its memory to the region of the callee, which ends it after its last reader
// there. Freeing a parameter that was not given does nothing, since that lies in another region. What
// functions give is known as well: which of it is new, and which may be a parameter.
//
// The vectors in the state of an `iterate` are objects of its round. If a round owns what it gives to the
// next, it owns what it gets, but for the first round: that gets a copy of what isn't its own.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/call_graph.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

using Object = std::uint32_t;
using Objects = std::vector<Object>;  // in order
constexpr Object kOutside = 0;
constexpr int kMostRounds = 8;  // until the results of functions that call each other are known

/// What a value may point at. A struct has `fields`, unless nothing is known of them.
struct Reach {
    Objects tops;   ///< the memory of the vector, dictionary or builder itself: one of these
    Objects inner;  ///< what else it reaches: of a slice the whole, of a vector what its elements point at
    std::vector<Reach> fields;
};

using Path = std::vector<std::size_t>;

/// A vector in the state of an `iterate`.
struct StateVector {
    Path path;
    Object in, out;        ///< what a round gets there, and what is left in the end
    Objects next;          ///< what a round gives to the next
    bool owned = true;     ///< by the round, if the first one owns it
    bool wanted = false;   ///< so it must
    bool settled = false;  ///< no longer to be wanted
    bool copied = false;   ///< before the first round
};

struct ObjectInfo {
    int level = 0;  ///< of the loops around what makes it
    bool lost = false;
    bool consumed = false;          ///< something starts in place on it
    bool escapes = false;           ///< to who reads the block of its owner
    const Symbol* owner = nullptr;  ///< whose end is its end
    std::size_t owned_since = 0;    ///< counts lets
    StateVector* state = nullptr;   ///< that it is `in` or `out` of
    bool is_param = false;          ///< what a function gets there
};

bool is_number(const Type* t) {
    if (t->is_struct()) return !t->args.empty() && std::ranges::all_of(t->args, is_number);
    return t->is_scalar() && !t->is_bool();
}
/// A vector of what a vecmerger takes.
bool is_plain_vector(const Type* t) { return t->is_vec() && is_number(t->elem()); }

void add(Objects& to, const Objects& from) {
    Objects all;
    std::ranges::set_union(to, from, std::back_inserter(all));
    to = std::move(all);
}
bool meet(const Objects& a, const Objects& b) {
    return std::ranges::any_of(a, [&](Object o) { return std::ranges::binary_search(b, o); });
}

void add_all(Objects& to, const Reach& of) {
    add(to, of.tops);
    add(to, of.inner);
    for (const Reach& f : of.fields) add_all(to, f);
}
Objects all_of(const Reach& r) {
    Objects all;
    add_all(all, r);
    return all;
}
/// Of a part of what `r` is.
Reach part_of(const Reach& r) { return {{kOutside}, all_of(r), {}}; }

const Reach& at(const Reach& r, const Path& path) {
    const Reach* p = &r;
    for (std::size_t i : path)
        if (!p->fields.empty()) p = &p->fields[i];
    return *p;
}

/// All but what is at `path`.
void add_others(Objects& all, const Reach& r, const Path& path, std::size_t depth) {
    for (std::size_t i = 0; i < r.fields.size(); ++i) {
        if (depth < path.size() && path[depth] == i) add_others(all, r.fields[i], path, depth + 1);
        else add_all(all, r.fields[i]);
    }
    if (r.fields.empty() && depth < path.size()) add_all(all, r);
}

/// Calls `fn` for each part of `r`, a value of type `t`, that is one piece of memory or more.
template <class Fn>
void for_each_leaf(const Type* t, const Reach& r, const Fn& fn) {
    if (!t->holds_pointer) return;
    if (!t->is_struct() || r.fields.size() != t->args.size()) return fn(r);
    for (std::size_t i = 0; i < t->args.size(); ++i) for_each_leaf(t->args[i], r.fields[i], fn);
}

template <class Fn>
Reach mapped(const Reach& r, const Fn& fn) {
    Reach to = fn(r);
    for (const Reach& f : r.fields) to.fields.push_back(mapped(f, fn));
    return to;
}

bool is_same(const Reach& a, const Reach& b) {
    return a.tops == b.tops && a.inner == b.inner && std::ranges::equal(a.fields, b.fields, is_same);
}

/// What functions give, in terms of the objects of their parameters, which come first and in order, and of
/// those that they make. Until it is known of a function that is being looked at, it gives nothing.
using Results = std::unordered_map<const Function*, Reach>;

// ---- which objects there are

class Origins {
  public:
    Origins(const Expr* lambda, bool is_main, const Results& results) : results_(results) {
        objects.resize(1);
        for (const Symbol* p : lambda->symbols())
            names[p] = is_main ? Reach{{kOutside}, {}, {}} : param(p, p->type);
        num_params_ = objects.size();
        result_ = of(lambda->arg(0));
    }

    /// What the function gives; objects that stand in the same places are one.
    Reach result(const Type* t) const {
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
                const bool is_new = is_owned(o) && objects[o].level == 0 &&
                                    !(objects[o].state && passes_on(*objects[o].state));
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
    /// Sets became too large to know who is in them.
    bool gave_up() const { return gave_up_; }

    /// Of a node that was looked at and whose type holds pointers.
    const Reach& reach(const Expr* e) const { return reaches_.at(e); }
    bool has_start(const Expr* e) const { return starts_.contains(e); }

    std::vector<ObjectInfo> objects;
    std::unordered_map<const Expr*, std::vector<std::unique_ptr<StateVector>>> states;  ///< by iterate

  private:
    Reach of(const Expr* e) {
        const std::size_t before = num_starts_;
        Reach r = look(e);
        if (num_starts_ != before) starts_.insert(e);
        if (!e->type->holds_pointer) return {};
        limit(r);
        Reach& known = reaches_[e];
        return known = std::move(r);
    }

    /// Sets stay small: what is in too many of them is given up.
    void limit(Reach& r) {
        constexpr std::size_t most = 64;
        for (Objects* set : {&r.tops, &r.inner}) {
            if (set->size() <= most) continue;
            for (Object o : *set) objects[o].lost = true;
            *set = {kOutside};
            gave_up_ = true;
        }
        for (Reach& f : r.fields) limit(f);
    }

    Object make() {
        objects.push_back({.level = level_});
        return Object(objects.size() - 1);
    }
    Reach param(const Symbol* p, const Type* t) {
        if (!t->holds_pointer) return {};
        Reach r;
        if (t->is_struct()) {
            for (const Type* f : t->args) r.fields.push_back(param(p, f));
            return r;
        }
        objects.push_back({.owner = p, .is_param = true});
        return {{Object(objects.size() - 1)}, {}, {}};
    }
    Objects all_params() const {
        Objects all;
        for (Object o = 1; o < num_params_; ++o) all.push_back(o);
        return all;
    }

    Reach made(Objects inner = {}) { return {{make()}, std::move(inner), {}}; }

    /// Nothing comes of it: a call of a function that was not looked at yet.
    static bool is_nothing(const Reach& r) { return r.tops.empty() && r.inner.empty() && r.fields.empty(); }

    static Reach joined(const Reach& a, const Reach& b) {
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

    /// Nothing is known of what `e` makes of its arguments.
    Reach unknown(const Expr* e) {
        Reach all = {{kOutside}, {}, {}};
        for (const Expr* a : e->args()) add_all(all.inner, of(a));
        return all;
    }

    static Objects pointees(const Type* holder, const Reach& r) {
        return std::ranges::any_of(holder->args, [](const Type* t) { return t->holds_pointer; }) ? all_of(r)
                                                                                                 : Objects();
    }

    Reach look(const Expr* e) {
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
                for (std::size_t i = 1; i < e->num_args; ++i)
                    if (const Reach v = of(e->arg(i)); e->arg(i)->type->holds_pointer) add_all(r.inner, v);
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
            case Op::Serialize: of(e->arg(0)); return made();
            case Op::Kernel: {
                const BuiltinKernel* row = e->as<Kernel>().ref().builtin;
                const Reach all = unknown(e);
                return row && row->fresh && e->type->is_vec() ? made() : all;
            }
            default: return unknown(e);
        }
    }

    /// What the function says that it gives, with the arguments in the place of parameters.
    Reach of_call(Call c) {
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
    /// As many as `param` makes of the type.
    static void leaves_of(const Type* t, const Reach& r, std::vector<Reach>& all) {
        if (!t->holds_pointer) return;
        if (!t->is_struct()) {
            all.push_back(r.fields.empty() ? r : part_of(r));
            return;
        }
        for (std::size_t i = 0; i < t->args.size(); ++i)
            leaves_of(t->args[i], r.fields.size() == t->args.size() ? r.fields[i] : part_of(r), all);
    }

    Reach of_block(Block b) {
        for (std::size_t i = 0; i < b.size(); ++i) {
            const std::size_t since = ++num_bound_;
            const Reach r = of(b.value(i));
            own(b.symbol(i), b.symbol(i)->type, r, since);
            names[b.symbol(i)] = r;
        }
        return of(b.result());
    }

    /// What `r` is itself ends with `s`, unless it has another name in the same block or outside.
    void own(const Symbol* s, const Type* t, const Reach& r, std::size_t since) {
        if (t->is_vec() || t->is_dict()) {
            for (Object o : r.tops) {
                ObjectInfo& x = objects[o];
                if (x.level != level_ || (x.owner && x.owned_since < since)) continue;
                x.owner = s;
                x.owned_since = num_bound_;
            }
        }
        for (std::size_t i = 0; i < r.fields.size(); ++i) own(s, t->args[i], r.fields[i], since);
    }

    Reach body(Lambda l, const Reach& first) {
        ++level_;
        for (const Symbol* p : l.params()) names[p] = first;
        const Reach r = of(l.body());
        --level_;
        return r;
    }

    Reach of_loop(For f) {
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

    Reach of_iterate(Iterate it) {
        const Reach init = of(it.init());
        auto& all = states[it.node];
        Path path;
        ++level_;
        names[it.body().param(0)] = state_of(all, it.init(), it.init()->type, init, path);
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
        return after(all, it.node->type, init, next, path);
    }

    /// The state that a round gets.
    Reach state_of(std::vector<std::unique_ptr<StateVector>>& all, const Expr* init, const Type* t,
                   const Reach& r, Path& path) {
        if (!t->holds_pointer) return {};
        if (t->is_struct()) {
            Reach state;
            for (std::size_t i = 0; i < t->args.size(); ++i) {
                path.push_back(i);
                state.fields.push_back(state_of(all, init, t->args[i], r, path));
                path.pop_back();
            }
            return state;
        }
        if (!is_plain_vector(t) || !can_copy(init, path)) return part_of(r);
        const Object in = make();
        all.push_back(
            std::make_unique<StateVector>(StateVector{.path = path, .in = in, .out = 0, .next = {}}));
        objects[in].state = all.back().get();
        return {{in}, {}, {}};
    }

    static bool can_copy(const Expr* init, const Path& path) {
        for (std::size_t i : path) {
            if (init->op != Op::MakeStruct) break;
            init = init->arg(i);
        }
        const Expr* e = init;
        while (e->op == Op::GetField) e = e->arg(0);
        return e->op == Op::Var || (init->type->is_vec());
    }

    /// A round owns what it gives to the next at `s.path` if it made that, and gives it to nobody else.
    void judge(StateVector& s, const Reach& next) {
        const Reach& here = at(next, s.path);
        s.next = here.tops;
        Objects others = here.inner;
        add_others(others, next, s.path, 0);
        s.owned = here.fields.empty() && !here.tops.empty() && !meet(here.tops, others);
        for (Object o : here.tops) s.owned &= o != kOutside && objects[o].level == level_ + 1;
    }

    Reach after(const std::vector<std::unique_ptr<StateVector>>& all, const Type* t, const Reach& init,
                const Reach& next, Path& path) {
        if (!t->holds_pointer) return {};
        Reach r;
        if (t->is_struct()) {
            for (std::size_t i = 0; i < t->args.size(); ++i) {
                path.push_back(i);
                r.fields.push_back(after(all, t->args[i], init, next, path));
                path.pop_back();
            }
            return r;
        }
        for (const auto& s : all) {
            if (s->path != path || !s->owned) continue;
            r = {{s->out}, at(next, path).inner, {}};
            if (passes_on(*s)) add_all(r.inner, init);
            return r;
        }
        r = part_of(init);
        add_all(r.inner, next);
        return r;
    }

  public:
    bool is_owned(Object o) const {
        const ObjectInfo& x = objects[o];
        return o != kOutside && !x.lost && (!x.state || x.state->owned);
    }

    /// A round may give what it got to the next.
    bool passes_on(const StateVector& s) const {
        return std::ranges::any_of(s.next, [&](Object o) { return objects[o].state; });
    }

    std::unordered_map<const Symbol*, Reach> names;

  private:
    std::unordered_map<const Expr*, Reach> reaches_;
    std::unordered_set<const Expr*> starts_;  // nodes that hold a NewBuilder
    const Results& results_;
    Reach result_;
    std::size_t num_params_ = 1;
    bool gave_up_ = false;
    std::size_t num_starts_ = 0, num_bound_ = 0;
    int level_ = 0;
};

// ---- which of them are read later

class Lives {
  public:
    /// `f`: null for the main program.
    Lives(Origins& origins, const Expr* lambda, const Function* f)
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

    bool is_in_place(const Expr* start) const {
        auto found = in_place_.find(start);
        return found != in_place_.end() && found->second;
    }
    /// The datum that an appender goes over.
    std::optional<std::size_t> over(const Expr* start) const {
        auto found = over_.find(start);
        return found == over_.end() ? std::nullopt : found->second;
    }
    /// What is freed after each let of `b`; the last is for its result.
    std::vector<std::vector<const Symbol*>> frees(Block b) const {
        std::vector<std::vector<const Symbol*>> all(b.size() + 1);
        for (const Symbol* s : b.symbols())
            if (auto end = ends_.find(s); end != ends_.end() && is_own(s) && !ended_.contains(s))
                all[end->second].push_back(s);
        if (auto outer = outer_ends_.find(b.node); outer != outer_ends_.end())
            for (const auto& [s, at] : outer->second)
                if (is_own(s)) all[at].push_back(s);
        return all;
    }
    /// What a call gives to its callee.
    std::vector<const Symbol*> gives(const Expr* call) const {
        auto found = gives_.find(call);
        return found == gives_.end() ? std::vector<const Symbol*>() : found->second;
    }

  private:
    void look(const Expr* e) {
        if (is_path(e)) {
            if (e->type->holds_pointer) read(o_.reach(e));
            return;
        }
        switch (e->op) {
            case Op::Len:  // of a vector is no part of its memory
                if (!is_path(e->arg(0)) || e->arg(0)->type->is_dict()) look(e->arg(0));
                return;
            case Op::Block: return block(e->as<Block>());
            case Op::If: return branches(e);
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

    /// While an operand is computed those before it are kept for the operation.
    void operand(const Expr* e, std::size_t i) {
        const bool hold = o_.has_start(e->arg(i));
        for (std::size_t k = 0; hold && k < i; ++k) keep(e->arg(k), 1);
        look(e->arg(i));
        for (std::size_t k = 0; hold && k < i; ++k) keep(e->arg(k), -1);
    }
    void keep(const Expr* e, int times) {
        if (!e->type->holds_pointer) return;
        for (Object o : all_of(o_.reach(e))) live_[o] += times;
    }

    void read(const Reach& r) {
        for (Object o : all_of(r)) {
            ++live_[o];
            log_.push_back(o);
        }
    }

    void inside(const Expr* lambda) {
        ++level_;
        look(lambda->arg(0));
        --level_;
    }

    void block(Block b) {
        std::unordered_map<const Symbol*, std::size_t> own;  // the numbers of its lets
        for (std::size_t i = 0; level_ == 0 && i < b.size(); ++i) own[b.symbol(i)] = i;
        const auto ends = [&](const Symbol* s, std::size_t at) {
            if (auto let = own.find(s); let != own.end()) ends_.try_emplace(s, std::max(at, let->second + 1));
        };
        const auto look_at = [&](const Expr* e, std::size_t at) {
            const std::size_t begin = log_.size();
            look(e);
            for (std::size_t read = begin; read < log_.size(); ++read) ends(o_.objects[log_[read]].owner, at);
            end_outer(b, at, begin);
        };
        if (level_ == 0) open_.insert(b.symbols().begin(), b.symbols().end());
        if (b.result()->type->holds_pointer)
            for (Object o : all_of(o_.reach(b.result())))
                if (own.contains(o_.objects[o].owner)) o_.objects[o].escapes = true;
        look_at(b.result(), b.size());
        for (std::size_t i = b.size(); i-- > 0;) {
            open_.erase(b.symbol(i));
            look_at(b.value(i), i);
            if (level_ == 0 && (b.symbol(i)->type->is_vec() || b.symbol(i)->type->is_dict()))
                ends_.try_emplace(b.symbol(i), i + 1);  // nobody reads it
        }
    }

    // -- parameters

    /// What `b` did not bind, its value at `at` reads (as the log tells from `begin` on), and nothing later
    /// does, ends there: parameters, and in recursive functions what would else stay until calls return.
    void end_outer(Block b, std::size_t at, std::size_t begin) {
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

    /// After a jump to the beginning of the function its parameters may have memory in common.
    void keep_jumps_apart(const Expr* e) {
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
    void lose(const Symbol* p) {
        for (Object o : all_of(o_.names.at(p))) o_.objects[o].lost = true;
    }

    /// Whether `callee` has a region for what it is given.
    bool takes(const Function& callee) {
        if (!callee.lambda || !callee.summary.allocates) return false;
        auto [known, is_new] = takes_.try_emplace(&callee, false);
        if (is_new) known->second = may_allocate(callee.lambda->as<Lambda>().body());
        return known->second;
    }

    /// What nobody reads later is given to the callee, if no other argument has a part of it.
    void call(Call c) {
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
    bool jumps_here(Call c) const { return &c.function() == f_ && c.node->says(AttrKey::TailCall, true); }
    bool is_param(const Symbol* s) const {
        const Objects all = all_of(o_.names.at(s));
        return !all.empty() && o_.objects[all[0]].is_param && o_.objects[all[0]].owner == s;
    }
    bool may_give(const Symbol* s, const std::unordered_map<Object, int>& times) const {
        if (is_param(s) ? params_.empty() : !open_.contains(s)) return false;
        if (ended_.contains(s)) return false;
        return is_own(s) && std::ranges::all_of(all_of(o_.names.at(s)), [&](Object o) {
                   auto found = times.find(o);
                   return live_[o] == 0 && o_.objects[o].level == 0 &&
                          (found == times.end() || found->second == 1);
               });
    }

    void branches(const Expr* e) {
        const std::size_t begin = log_.size();
        const std::set<const Symbol*> ended_before = ended_;
        look(e->arg(1));
        const std::size_t end = log_.size();
        for (std::size_t i = begin; i < end; ++i) --live_[log_[i]];
        const std::set<const Symbol*> ended_there = std::exchange(ended_, ended_before);
        look(e->arg(2));
        ended_.insert(ended_there.begin(), ended_there.end());
        for (std::size_t i = begin; i < end; ++i) ++live_[log_[i]];
        look(e->arg(0));
    }

    /// What is merged first into a vector that starts in place is computed before that changes.
    void merge(const Expr* e) {
        const bool is_first = e->arg(0)->op == Op::NewBuilder;
        if (is_first) look(e->arg(0));
        for (std::size_t i = e->num_args; i-- > std::size_t(is_first);) operand(e, i);
    }

    void loop(For f) {
        const For lanes = lanes_of_fringe(f);
        const std::array<For, 2> both = {lanes ? lanes : f, lanes ? f : For{}};
        for (For g : both)
            if (g) inside(g.body().node);
        std::size_t number = 0;
        Objects taken;
        lay_over(both, both[0].builder(), number, taken);
        for (For g : both)
            for (const Expr* d : g ? g.data() : std::span<const Expr* const>())
                if (const Expr* vec = vector_of(d)) read(o_.reach(vec));
        look(both[0].builder());
        for (For g : both)
            for (std::size_t i = g ? g.data().size() : 0; i-- > 0;) look(g.data()[i]);
    }

    static const Expr* vector_of(const Expr* datum) {
        return datum->op == Op::Iter ? datum->as<Iter>().data() : datum;
    }

    // -- loops that write over what they read

    /// Of a loop over the elements that do not fill all lanes, the one over lanes.
    static For lanes_of_fringe(For f) {
        const auto is_of = [](const Expr* d, IterKind kind) {
            return d->op == Op::Iter && d->as<Iter>().shape().kind == kind;
        };
        const For before = f.builder()->as<For>();
        const bool pair =
            before && is_of(f.data()[0], IterKind::Fringe) && is_of(before.data()[0], IterKind::Simd);
        return pair ? before : For{};
    }

    /// Round i reads element i of `datum`, or the lanes and the fringe that stand for it.
    static bool reads_in_step(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return !it || !it.shape().bounded;
    }

    /// The appenders in `start`, with which the first of `loops` starts, to which each round merges once, and
    /// a datum that nobody else reads: it would be freed after the loop, of which no round reads what another
    /// one has written.
    void lay_over(const std::array<For, 2>& loops, const Expr* start, std::size_t& number, Objects& taken) {
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
        auto [known, is_new] = over_.try_emplace(start, over);  // a node may stand in several places
        if (known->second != over) known->second.reset();
        if (!over) return;
        const Reach& r = o_.reach(vector_of(data[*over]));
        add(taken, r.tops);
        consume(r);
    }

    static std::uint32_t elements_per_round(For f) {
        const Iter it = f.data()[0]->as<Iter>();
        return it && it.shape().kind == IterKind::Simd ? it.lanes() : 1;
    }

    bool may_lay_over(const std::array<For, 2>& loops, const Expr* datum, const Type* elem,
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
    /// Of the memory `of` each round reads from `datum` no more than its own element.
    bool is_apart_or_in_step(const Expr* datum, const Objects& of) const {
        const Expr* vec = vector_of(datum);
        if (!vec) return true;
        const Reach& r = o_.reach(vec);
        if (!meet(all_of(r), of)) return true;
        return reads_in_step(datum) && r.fields.empty() && !meet(r.inner, of) &&
               !std::ranges::binary_search(r.tops, kOutside);
    }

    // -- starts in place

    void start(const Expr* e) {
        if (e->type->is_builder(BuilderKind::VecMerger)) {
            const Expr* of = e->arg(0);
            const bool may = is_plain_vector(of->type) && may_consume(o_.reach(of));
            auto [known, is_new] = in_place_.try_emplace(e, may);  // a node may stand in several places
            known->second &= may;
            if (may) consume(o_.reach(of));
        }
        for (std::size_t i = e->num_args; i-- > 0;) look(e->arg(i));
    }

    bool may_consume(const Reach& r) const {
        return !r.tops.empty() && std::ranges::all_of(r.tops, [&](Object o) {
            return o_.is_owned(o) && !o_.objects[o].is_param && o_.objects[o].level == level_ &&
                   live_[o] == 0 && can_own(o);
        });
    }
    void consume(const Reach& r) {
        for (Object o : r.tops) {
            o_.objects[o].consumed = true;
            want(o);
        }
    }

    /// Vectors in the state of an `iterate` are owned if those are that they are made of.
    bool can_own(Object o) const {
        const StateVector* s = o_.objects[o].state;
        if (!s || s->wanted || (o == s->out && !o_.passes_on(*s))) return true;
        return !s->settled && std::ranges::all_of(s->next, [&](Object next) {
            return o_.objects[next].state == s || can_own_next(next);
        });
    }
    bool can_own_next(Object o) const {
        const StateVector* s = o_.objects[o].state;
        return !s || s->wanted || !s->settled;
    }
    void want(Object o) {
        StateVector* s = o_.objects[o].state;
        if (!s || s->wanted || (o == s->out && !o_.passes_on(*s))) return;
        s->wanted = true;
        for (Object next : s->next) want(next);
    }

    void iterate(Iterate it) {
        inside(it.body().node);
        auto found = o_.states.find(it.node);
        const Reach* init = it.init()->type->holds_pointer ? &o_.reach(it.init()) : nullptr;
        if (found != o_.states.end())
            for (auto& s : found->second) {
                s->settled = true;
                if (!s->wanted) continue;
                const Reach& here = at(*init, s->path);
                Objects others = here.inner;
                add_others(others, *init, s->path, 0);
                s->copied = !here.fields.empty() || meet(here.tops, others) || !may_consume(here);
                if (!s->copied) consume(here);
            }
        look(it.init());
    }

    /// `s` is to be freed: nobody else has what it consists of.
    bool is_own(const Symbol* s) const {
        auto found = o_.names.find(s);
        Objects seen;
        return found != o_.names.end() && is_own(s, s->type, found->second, seen);
    }
    bool is_own(const Symbol* s, const Type* t, const Reach& r, Objects& seen) const {
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

    Origins& o_;
    const Function* f_;
    std::span<const Symbol* const> params_;   // of a function with a region of its own
    std::unordered_set<const Symbol*> open_;  // bound before, by the blocks around
    std::set<const Symbol*> ended_;  // inside of a block that is not theirs: parameters, and what is given
    std::unordered_map<const Expr*, std::vector<std::pair<const Symbol*, std::size_t>>>
        outer_ends_;  // by block
    std::unordered_map<const Expr*, std::vector<const Symbol*>> gives_;
    std::unordered_map<const Function*, bool> takes_;
    std::vector<int> live_;  // by object: how many later nodes read it
    Objects log_;            // what was read, in the order of the walk
    std::unordered_map<const Expr*, bool> in_place_;
    std::unordered_map<const Expr*, std::optional<std::size_t>> over_;  // by appender: which datum
    std::unordered_map<const Symbol*, std::size_t> ends_;
    int level_ = 0;
};

// ---- writing it down

class Marks {
  public:
    Marks(Module& m, const Origins& origins, const Lives& lives) : m_(m), o_(origins), lives_(lives) {}

    const Expr* marked(const Expr* e) {
        if (!e->binds && !o_.has_start(e)) return e;
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) { return marked(a); });
        if (e->op == Op::NewBuilder && lives_.is_in_place(e))
            return annotate(m_, now, AttrKey::InPlace, "true");
        if (const auto datum = lives_.over(e))
            return annotate(m_, now, AttrKey::Over, std::to_string(*datum));
        if (e->op == Op::Iterate) return with_copies(e, now);
        if (e->op == Op::Call) {
            const std::vector<const Symbol*> given = lives_.gives(e);
            return given.empty() ? now : annotate(m_, now, AttrKey::Give, given);
        }
        if (e->op == Op::Block) return with_frees(e->as<Block>(), now);
        return now;
    }

  private:
    const Expr* with_frees(Block b, const Expr* now) {
        const auto frees = lives_.frees(b);
        return map_args(m_, now, [&](const Expr* a, std::size_t i) {
            return frees[i].empty() ? a : annotate(m_, a, AttrKey::Free, frees[i]);
        });
    }

    const Expr* with_copies(const Expr* before, const Expr* now) {
        auto found = o_.states.find(before);
        if (found == o_.states.end()) return now;
        const Expr* init = now->arg(0);
        for (const auto& s : found->second)
            if (s->copied) init = with_copy(init, s->path, 0);
        return init == now->arg(0) ? now : with_args(m_, now, {{init, now->arg(1)}});
    }

    const Expr* with_copy(const Expr* e, const Path& path, std::size_t depth) {
        if (depth == path.size()) {
            const Type* t = m_.types.builder(BuilderKind::VecMerger, {{e->type->elem()}}, MergeOp::Add);
            return result(m_, new_builder(m_, t, e));
        }
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < e->type->args.size(); ++i) {
            const Expr* f = e->op == Op::MakeStruct ? e->arg(i) : get_field(m_, e, i);
            fields.push_back(i == path[depth] ? with_copy(f, path, depth + 1) : f);
        }
        return make_struct(m_, fields);
    }

    Module& m_;
    const Origins& o_;
    const Lives& lives_;
};

}  // namespace

/// What the functions of a cycle of calls give: at first nothing, then what that leads to.
static void find_results(std::span<Function* const> cycle, Results& results) {
    for (const Function* f : cycle) results[f] = {};
    for (int round = 0;; ++round) {
        bool changed = false;
        for (const Function* f : cycle) {
            if (!f->type->result()->holds_pointer) continue;
            Reach now = Origins(f->lambda, false, results).result(f->type->result());
            changed |= !is_same(now, results[f]);
            results[f] = std::move(now);
        }
        if (!changed || !cycle[0]->summary.recursive) return;
        if (round < kMostRounds) continue;
        for (const Function* f : cycle) results.erase(f);
        return;
    }
}

bool reuse(Module& m) {
    std::map<std::uint32_t, std::vector<Function*>> cycles;  // callees have lower numbers
    for (Function* f : m.functions)
        if (f->lambda) cycles[f->summary.cycle].push_back(f);
    Results results;
    for (const auto& [number, cycle] : cycles) find_results(cycle, results);
    bool changed = false;
    const auto mark = [&](const Expr** root, const Function* f) {
        Origins origins(*root, !f, results);
        const Lives lives(origins, *root, f);
        const Expr* now = with_args(m, *root, {{Marks(m, origins, lives).marked((*root)->arg(0))}});
        changed |= now != *root;
        *root = now;
    };
    if (m.main) mark(&m.main, nullptr);
    for (Function* f : m.functions)
        if (f->lambda) mark(&f->lambda, f);
    return changed;
}

}  // namespace weld
