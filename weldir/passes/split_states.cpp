// States of an `iterate` that hold a vector of structs hold a vector for each of its fields.
//
//     let r = iterate({0L, ps}, |s|
//       let t = result(for(s.$1, appender[{f64,f64}], |b, i, p| merge(b, {p.$0 + p.$1, p.$1 * 0.9})));
//       {{s.$0 + 1L, t}, s.$0 < n});
// becomes
//     let bs = for(ps, {appender[f64], appender[f64]}, |b, i, p| {merge(b.$0, p.$0), merge(b.$1, p.$1)});
//     let r2 = iterate({0L, result(bs.$0), result(bs.$1)}, |s2|
//       let cs = for(zip(s2.$1, s2.$2), {appender[f64], appender[f64]}, |b, i, z| …);
//       {{s2.$0 + 1L, result(cs.$0), result(cs.$1)}, s2.$0 < n});
//     let ps2 = result(for(zip(r2.$1, r2.$2), appender[{f64,f64}], |b, i, z| merge(b, z)));
//     let r = {r2.$0, ps2};
//
// The vectors at both ends are made once; `split-structs` does without them where it can. Each round makes the vector
// anew, by a loop that does no more than merge into it, and reads it as `split-structs` allows.
#include "weldir/passes/struct_columns.h"

namespace weld {

namespace {

class StateSplitter {
  public:
    StateSplitter(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda), counters_(facts_, lambda) {}

    /// The block with a vector of the first state split that has one; null if there is none.
    const Expr* split(Block b) {
        for (std::size_t i = 0; i < b.size(); ++i) {
            const Iterate it = b.value(i)->as<Iterate>();
            if (!it || it.one_lane() || it.init()->op != Op::MakeStruct) continue;
            for (std::size_t k = 0; k < it.node->type->args.size(); ++k)
                if (const Expr* now = split_at(b, i, it, k)) return now;
        }
        return nullptr;
    }

  private:
    /// With field `k` of the state of let `i` split; null if it cannot be.
    const Expr* split_at(Block b, std::size_t i, Iterate it, std::size_t k) {
        const Type* type = it.node->type->args[k];
        const Expr* begin = it.init()->arg(k);
        if (!holds_structs(type) || type->elem()->args.size() > kMostColumns || !is_path(begin))
            return nullptr;
        num_fields_ = type->elem()->args.size();
        at_ = k;
        Lets lets;
        for (std::size_t n = 0; n < i; ++n) lets.emplace_back(b.symbol(n), b.value(n));
        const Expr* init = replaced(it.init(), taken_apart(begin, lets));
        state_ = m_.symbol(it.body().param(0)->name, init->type);
        const Expr* body = round(it, type);
        if (!body) return nullptr;
        const Expr* by = lambda(m_, {state_}, body, it.body().node->loc);
        const Expr* all = with_annotations(m_, iterate(m_, init, by, it.node->loc), it.node->annotations);
        const Symbol* last = m_.symbol(b.symbol(i)->name, all->type);
        lets.emplace_back(last, all);
        lets.emplace_back(b.symbol(i), put_together(last, it.node->type, lets));
        for (std::size_t n = i + 1; n < b.size(); ++n) lets.emplace_back(b.symbol(n), b.value(n));
        return block(m_, lets, b.result(), b.node->loc);
    }

    /// The body of the iterate; null if it does something else with the vector.
    const Expr* round(Iterate it, const Type* type) {
        const Block b = it.body().body()->as<Block>();
        const Expr* end = b ? b.result() : nullptr;
        if (!end || end->op != Op::MakeStruct || end->arg(0)->op != Op::MakeStruct) return nullptr;
        const Expr* next = end->arg(0)->arg(at_);
        std::size_t made = 0;
        while (made < b.size() && !is_var(next, b.symbol(made))) ++made;
        if (made == b.size() || !appends_structs(b.value(made))) return nullptr;

        // The vector that the round begins with gets a name, and leaves what the round ends with.
        const Symbol *s = it.body().param(0), *old = m_.symbol("old", type), *now = b.symbol(made);
        bool is_whole = false;
        std::vector<const Expr*> values;
        for (const Expr* value : b.values()) values.push_back(with_name(value, s, old, &is_whole));
        const Expr* others = replaced(end->arg(0), {});
        others = with_name(make_struct(m_, {others, end->arg(1)}, end->loc), s, old, &is_whole);
        if (is_whole) return nullptr;
        StructReaders of_old(counters_, old), of_new(counters_, now);
        for (std::size_t n = 0; n < values.size(); ++n) {
            of_old.find(values[n]);
            if (n > made) of_new.find(values[n]);
        }
        of_old.find(others);
        of_new.find(others);
        if (!of_old.ok() || !of_new.ok()) return nullptr;

        std::vector<const Expr*> before, after;
        for (std::size_t n = 0; n < num_fields_; ++n)
            before.push_back(get_field(m_, var(m_, state_), at_ + n));
        Lets lets;
        for (std::size_t n = 0; n < values.size(); ++n) {
            const Expr* value = reading_columns(m_, on_state(values[n], s), old, before);
            if (n > made) value = reading_columns(m_, value, now, after);
            if (n != made) {
                lets.emplace_back(b.symbol(n), value);
                continue;
            }
            after = StructColumns(m_, type).make(value, now, lets);
            if (after.empty()) return nullptr;
        }
        others = reading_columns(m_, reading_columns(m_, on_state(others, s), old, before), now, after);
        std::vector<const Expr*> fields(others->arg(0)->args().begin(), others->arg(0)->args().end());
        fields.insert(fields.begin() + std::ptrdiff_t(at_), after.begin(), after.end());
        return block(m_, lets, make_struct(m_, {make_struct(m_, fields), others->arg(1)}, end->loc),
                     b.node->loc);
    }

    /// `e` with the vector in the state `s` called `old`. `is_whole`: it reads the state otherwise than by its fields.
    const Expr* with_name(const Expr* e, const Symbol* s, const Symbol* old, bool* is_whole) {
        if (is_var(e, s)) return *is_whole = true, e;
        if (e->op == Op::GetField && is_var(e->arg(0), s))
            return e->attr.index == at_ ? var(m_, old, e->loc) : e;
        return map_args(m_, e, [&](const Expr* a, std::size_t) { return with_name(a, s, old, is_whole); });
    }

    /// `e`, which reads other fields of the state `s`, on the new one.
    const Expr* on_state(const Expr* e, const Symbol* s) {
        return rewrite(m_, e, [&](const Expr* part) {
            const bool is_field = part->op == Op::GetField && is_var(part->arg(0), s);
            return is_field ? get_field(m_, var(m_, state_), place_of(part->attr.index), part->loc) : nullptr;
        });
    }

    /// The struct with these in place of field `at_`.
    const Expr* replaced(const Expr* all, const std::vector<const Expr*>& columns) {
        std::vector<const Expr*> fields(all->args().begin(), all->args().end());
        fields.erase(fields.begin() + std::ptrdiff_t(at_));
        fields.insert(fields.begin() + std::ptrdiff_t(at_), columns.begin(), columns.end());
        return make_struct(m_, fields, all->loc);
    }

    /// The columns of a vector of structs.
    std::vector<const Expr*> taken_apart(const Expr* vec, Lets& lets) {
        return StructColumns(m_, vec->type)
            .make(appended({&vec, 1}, vec->type->elem()), m_.symbol("column", vec->type), lets);
    }

    /// The state as it was, of the last state `s`.
    const Expr* put_together(const Symbol* s, const Type* state, Lets& lets) {
        const auto field = [&](std::size_t k) { return get_field(m_, var(m_, s), k); };
        std::vector<const Expr*> data, fields;
        for (std::size_t n = 0; n < num_fields_; ++n) data.push_back(field(at_ + n));
        const Symbol* vec = m_.symbol("rows", state->args[at_]);
        lets.emplace_back(vec, appended(data, vec->type->elem()));
        for (std::size_t k = 0; k < state->args.size(); ++k)
            fields.push_back(k == at_ ? var(m_, vec) : field(place_of(k)));
        return make_struct(m_, fields);
    }

    /// A vector of what a loop over `data` yields.
    const Expr* appended(Args data, const Type* elem) {
        const Type* appender = m_.types.builder(BuilderKind::Appender, {&elem, 1});
        const Symbol *b = m_.symbol("b", appender), *i = m_.symbol("i", m_.types.i64()),
                     *x = m_.symbol("x", elem);
        const Expr* append = lambda(m_, {b, i, x}, merge(m_, var(m_, b), var(m_, x)));
        return result(m_, loop(m_, data, new_builder(m_, appender), append));
    }

    /// Where field `k` of the state, which is another than the vector, is in the new one.
    std::size_t place_of(std::size_t k) const { return k < at_ ? k : k + num_fields_ - 1; }

    Module& m_;
    Facts facts_;
    Counters counters_;
    std::size_t at_ = 0, num_fields_ = 0;
    const Symbol* state_ = nullptr;
};

}  // namespace

const Expr* split_states(Module& m, const Expr* lambda) { return split_blocks<StateSplitter>(m, lambda); }

}  // namespace weld
