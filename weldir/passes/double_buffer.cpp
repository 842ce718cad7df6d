// Vectors in the state of an `iterate` that each round makes anew are written where the round before found the old one.
//
//     iterate({v, 0L}, |s|
//       let t = result(for(rangeiter(1L, len(s.$0), 1L), appender[f64], |b, i, k|
//         merge(b, lookup(s.$0, k) - lookup(s.$0, k - 1L))));
//       {{t, s.$1 + 1L}, s.$1 < n})
// becomes
//     iterate({v, 0L, result(appender[f64])}, |s2|
//       let spare = s2.$2;
//       let t = result(for(rangeiter(1L, len(s2.$0), 1L), @(spare:spare) appender[f64], |b, i, k|
//         merge(b, lookup(s2.$0, k) - lookup(s2.$0, k - 1L))));
//       {{t, s2.$1 + 1L, s2.$0}, s2.$1 < n})
//
// So rounds need no memory of their own, and go on in the cache. `reuse` says then whether the appender may have that of
// `spare`. Vectors that a round changes in place, or writes over element by element, need none.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "weldir/ir/builder.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lives.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/pass.h"

namespace weld {

using namespace ownership;

namespace {

/// What is added to the state of an `iterate`.
struct Spare {
    Path of;                          ///< the vector of the state that the round leaves behind
    std::vector<const Expr*> starts;  ///< appenders, of which a round begins one at most
};
using Plans = std::unordered_map<const Expr*, std::vector<Spare>>;  // by iterate

const Type* type_at(Iterate it, const Path& path) {
    const Type* t = it.node->type;
    for (std::size_t k : path) t = t->args[k];
    return t;
}

class Planner {
  public:
    explicit Planner(const Expr* lambda) : origins_(lambda, true, none_), lives_(origins_, lambda, nullptr) {}

    Plans plans() {
        Plans all;
        if (origins_.gave_up()) return all;
        for (const auto& [node, states] : origins_.states)
            if (auto spares = plan(node->as<Iterate>(), states); !spares.empty())
                all.emplace(node, std::move(spares));
        return all;
    }

  private:
    /// An appender or another builder that a round begins, and the loop that it begins with, if any.
    struct Start {
        const Expr* builder;
        For loop;
    };

    std::vector<Spare> plan(Iterate it, const std::vector<std::unique_ptr<StateVector>>& states) {
        if (states.empty() || it.lanes() || !can_extend(it.init(), it.body().body())) return {};
        starts_.clear();
        find_starts(it.body().body(), {});
        const Objects kept = all_of(origins_.reach(it.body().body()));
        std::vector<const StateVector*> left;
        for (const auto& s : states)
            if (s->owned && !origins_.objects[s->in].consumed && !std::ranges::binary_search(kept, s->in))
                left.push_back(s.get());
        std::vector<Spare> spares;
        for (const auto& s : states) {
            std::vector<const Expr*> starts;
            for (Object o : s->next) find(o, starts);
            const auto fits = [&](const StateVector* old) {
                return !starts.empty() && type_at(it, old->path) == type_at(it, s->path);
            };
            auto old =
                std::ranges::find_if(left, [&](const StateVector* l) { return l == s.get() && fits(l); });
            if (old == left.end()) old = std::ranges::find_if(left, fits);
            if (old == left.end()) continue;
            spares.push_back({(*old)->path, starts});
            left.erase(old);
        }
        return spares;
    }

    /// The state that it starts with and those that it gives are written as structs, or have names; or are no structs.
    static bool can_extend(const Expr* init, const Expr* body) {
        const auto is_plain = [](const Expr* state) {
            return !state->type->is_struct() || state->op == Op::MakeStruct || is_path(state);
        };
        bool all = is_plain(init);
        visit_last(body, [&](const Expr* e) { all &= e->op == Op::MakeStruct && is_plain(e->arg(0)); });
        return all;
    }

    void find_starts(const Expr* e, For loop) {
        if (e->op == Op::Lambda) return;
        if (e->op == Op::NewBuilder && e->type->holds_pointer) {
            const auto [known, is_new] = starts_.try_emplace(origins_.reach(e).tops.at(0), Start{e, loop});
            if (!is_new) known->second.builder = nullptr;  // a node that stands in several places
        }
        for (std::size_t i = 0; i < e->num_args; ++i) {
            const bool is_start = e->op == Op::For ? i == 0 : e->op == Op::MakeStruct && loop;
            find_starts(e->arg(i), !is_start ? For{} : e->op == Op::For ? e->as<For>() : loop);
        }
    }

    /// Adds the appenders in whose memory `o` may be. (What else makes it takes memory of its own, or has it already.)
    void find(Object o, std::vector<const Expr*>& to) {
        const auto found = starts_.find(o);
        if (found == starts_.end() || !found->second.builder) return;
        const auto [start, loop] = found->second;
        const Expr* of = nullptr;  // what it begins with
        if (info(start->type).indexed) {
            if (!lives_.is_in_place(start)) return;
            of = start->arg(0);
        } else if (!info(start->type).lists_merges || start->type->elem()->holds_pointer) {
            return;
        } else if (const auto over = lives_.over(start)) {
            of = Lives::vector_of(loop.data()[*over]);
        }
        if (of)
            for (Object inside : origins_.reach(of).tops) find(inside, to);
        else if (std::ranges::find(to, start) == to.end()) to.push_back(start);
    }

    Results none_;
    Origins origins_;
    Lives lives_;
    std::unordered_map<Object, Start> starts_;  // of a round
};

class DoubleBuffer {
  public:
    DoubleBuffer(Module& m, const Plans& plans) : m_(m), plans_(plans) {}

    const Expr* rebuilt(const Expr* e) {
        if (e->op == Op::Var) {
            const auto state = states_.find(e->attr.symbol);
            return state == states_.end() ? e : old_state(state->second, e->type);
        }
        if (e->op == Op::GetField && e->arg(0)->op == Op::Var)
            if (const auto state = states_.find(e->arg(0)->attr.symbol); state != states_.end())
                return get_field(m_, var(m_, state->second, e->loc), e->attr.index, e->loc);
        if (const auto name = names_.find(e); name != names_.end()) {
            const Symbol* spare = name->second;
            return annotate(m_, rebuilt_args(e), AttrKey::Spare, std::span(&spare, 1));
        }
        if (e->op == Op::Block) return rebuilt_block(e->as<Block>());
        if (!plans_.contains(e)) return rebuilt_args(e);
        const Expr* all = extended(e->as<Iterate>());
        const Symbol* last = m_.symbol("last", all->type);
        return let(m_, last, all, old_state(last, e->type), e->loc);
    }

  private:
    const Expr* rebuilt_args(const Expr* e) {
        return map_args(m_, e, [&](const Expr* a, std::size_t) { return rebuilt(a); });
    }

    const Expr* rebuilt_block(Block b) {
        if (std::ranges::none_of(b.values(), [&](const Expr* v) { return plans_.contains(v); }))
            return rebuilt_args(b.node);
        std::vector<const Symbol*> symbols;
        std::vector<const Expr*> args;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const Symbol* name = b.symbol(i);
            const bool is_planned = plans_.contains(b.value(i));
            args.push_back(is_planned ? extended(b.value(i)->as<Iterate>()) : rebuilt(b.value(i)));
            symbols.push_back(is_planned ? m_.symbol(name->name, args.back()->type) : name);
            if (is_planned) states_[name] = symbols.back();
        }
        args.push_back(rebuilt(b.result()));
        return with_symbols(m_, b.node, symbols, args);
    }

    /// The state, of type `t`, without what was added to it.
    const Expr* old_state(const Symbol* s, const Type* t) {
        if (!t->is_struct()) return get_field(m_, var(m_, s), 0);
        std::vector<const Expr*> fields;
        for (std::size_t k = 0; k < t->args.size(); ++k) fields.push_back(get_field(m_, var(m_, s), k));
        return make_struct(m_, fields);
    }

    const Expr* extended(Iterate it) {
        std::vector<const Symbol*> names;
        std::vector<const Expr*> none;
        for (const Spare& s : plans_.at(it.node)) {
            const Type* type = type_at(it, s.of);
            names.push_back(m_.symbol("spare", type));
            none.push_back(result(m_, new_builder(m_, m_.types.builder(BuilderKind::Appender, type->args))));
            for (const Expr* start : s.starts) names_[start] = names.back();
        }
        const Expr* init = with_fields(rebuilt(it.init()), none);
        const Symbol *before = it.body().param(0), *state = m_.symbol(before->name, init->type);
        states_[before] = state;
        std::vector<const Expr*> left;
        Lets lets;
        for (const Spare& s : plans_.at(it.node)) {
            const std::size_t at = init->type->args.size() - none.size() + left.size();
            lets.emplace_back(names[left.size()], get_field(m_, var(m_, state), at));
            const Expr* old = var(m_, before);
            for (std::size_t field : s.of) old = get_field(m_, old, field);
            left.push_back(rebuilt(old));
        }
        const Expr* body = block(m_, lets, leaving(rebuilt(it.body().body()), left));
        return with_annotations(
            m_, iterate(m_, init, lambda(m_, {state}, body, it.body().node->loc), it.node->loc),
            it.node->annotations);
    }

    /// What a round gives, with `left` in the next state.
    const Expr* leaving(const Expr* e, const std::vector<const Expr*>& left) {
        switch (e->op) {
            case Op::Block:
                return map_args(m_, e, [&](const Expr* a, std::size_t i) {
                    return i + 1 == e->num_args ? leaving(a, left) : a;
                });
            case Op::If:
                return map_args(m_, e,
                                [&](const Expr* a, std::size_t i) { return i ? leaving(a, left) : a; });
            default: return make_struct(m_, {with_fields(e->arg(0), left), e->arg(1)}, e->loc);
        }
    }

    const Expr* with_fields(const Expr* state, const std::vector<const Expr*>& more) {
        std::vector<const Expr*> fields;
        const std::size_t n = state->type->is_struct() ? state->type->args.size() : 0;
        for (std::size_t k = 0; k < n; ++k)
            fields.push_back(state->op == Op::MakeStruct ? state->arg(k) : get_field(m_, state, k));
        if (!n) fields.push_back(state);
        fields.insert(fields.end(), more.begin(), more.end());
        return make_struct(m_, fields, state->loc);
    }

    Module& m_;
    const Plans& plans_;
    std::unordered_map<const Expr*, const Symbol*> names_;     // of what appenders begin with
    std::unordered_map<const Symbol*, const Symbol*> states_;  // with more fields, by what they were
};

/// Whether there may be something to do.
bool has_state_vectors(const Expr* lambda) {
    bool any = false;
    visit_binding(lambda, [&](const Expr* e) { any |= e->op == Op::Iterate && e->type->holds_pointer; });
    return any;
}

}  // namespace

const Expr* double_buffer(Module& m, const Expr* lambda) {
    if (!has_state_vectors(lambda)) return lambda;
    const Plans plans = Planner(lambda).plans();
    return plans.empty() ? lambda : DoubleBuffer(m, plans).rebuilt(lambda);
}

}  // namespace weld
