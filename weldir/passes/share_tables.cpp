// Dictionaries that one loop fills by the same key are one, with an operator for each field.
//
//     let g = for(v, {dictmerger[i64,f64,min], dictmerger[i64,f64,max]}, |b, i, x|
//       {merge(b.$0, {k(x), x}), merge(b.$1, {k(x), x})});
//     let low = result(g.$0);
//     let high = result(g.$1);
//     {tovec(low), lookup(high, 3L)}
// becomes
//     let d = result(for(v, dictmerger[i64,{f64,f64},{min,max}], |b, i, x| merge(b, {k(x), {x, x}})));
//     let rows = tovec(d);
//     let entries = result(for(rows, appender[{i64,f64}], |c, j, e| merge(c, {e.$0, e.$1.$0})));
//     {entries, lookup(d, 3L).$1}
//
// so a key is hashed and sought once. A dictionary that more is done with than looking up, counting and listing is made
// of the joint one.
//
// Where all merges of a round stand side by side, each under the same condition or none, and nothing else is done with
// the loop's results. Before fusion, which joins what is read of the entries with its readers.
#include <algorithm>
#include <optional>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

std::size_t num_fields(const Type* value) { return value->is_struct() ? value->args.size() : 1; }

/// What a round does to one of the loop's builders: merges `value`, under `cond` if that is not null.
struct Step {
    Merge merge;
    const Expr* cond = nullptr;
    bool wanted = true;  ///< of the condition
};

/// One loop, and those of its builders that become one.
class Tables {
  public:
    Tables(Module& m, For loop) : m_(m), loop_(loop), body_(loop.body()) {
        const MakeStruct builders = loop.builder()->as<MakeStruct>();
        if (!builders || !find_rounds(body_.body())) return;
        for (std::size_t k = 0; k < builders.fields().size(); ++k) {
            const NewBuilder b = builders.fields()[k]->as<NewBuilder>();
            if (!b || b.kind() != BuilderKind::DictMerger || b.arg() || !fits(k, b.node->type)) continue;
            shared_.push_back(k);
            fields_ += num_fields(b.node->type->value());
        }
    }

    bool any() const { return shared_.size() > 1; }
    bool holds(std::size_t k) const { return std::ranges::find(shared_, k) != shared_.end(); }

    /// Where the fields of builder `k` begin.
    std::size_t first_field(std::size_t k) const {
        std::size_t first = 0;
        for (const std::size_t s : shared_)
            if (s < k) first += num_fields(type_of(s)->value());
        return first;
    }

    const Type* type_of(std::size_t k) const { return loop_.node->type->args[k]; }

    /// The loop with one builder for all that are shared.
    const Expr* joint() {
        std::vector<const Expr*> starts;
        const MakeStruct builders = loop_.builder()->as<MakeStruct>();
        for (std::size_t k = 0; k < builders.fields().size(); ++k) {
            if (k == shared_[0])
                starts.push_back(new_builder(m_, joint_type(), nullptr, builders.fields()[k]->loc));
            else if (!holds(k)) starts.push_back(builders.fields()[k]);
        }
        const Expr* start = is_alone() ? starts[0] : make_struct(m_, starts, builders.node->loc);
        builder_ = m_.symbol(loop_.builder_param()->name, start->type);
        const Symbol* params[] = {builder_, loop_.index_param(), loop_.elem_param()};
        const Expr* f = lambda(m_, params, rewritten(body_.body()), body_.node->loc);
        const Expr* all = weld::loop(m_, loop_.data(), start, f, loop_.node->loc);
        return with_annotations(m_, all, loop_.node->annotations);
    }

    /// Builder `k` of the joint loop's state `of`; of those that are shared, the joint one.
    const Expr* part(const Expr* of, std::size_t k) const {
        if (is_alone()) return of;
        const std::size_t old = holds(k) ? shared_[0] : k;
        const auto gone =
            std::ranges::count_if(shared_, [&](std::size_t s) { return s != shared_[0] && s < old; });
        return get_field(m_, of, old - std::size_t(gone), of->loc);
    }

    /// What `value`, of the joint dictionary, has of the dictionary that builder `k` made.
    const Expr* value_of(const Expr* value, std::size_t k) const {
        const Type* type = type_of(k)->value();
        const std::size_t first = first_field(k);
        if (!type->is_struct()) return get_field(m_, value, first);
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < num_fields(type); ++i) fields.push_back(get_field(m_, value, first + i));
        return make_struct(m_, fields);
    }

  private:
    bool is_alone() const { return shared_.size() == loop_.node->type->args.size(); }

    bool is_builder(const Expr* e, std::size_t k) const {
        const GetField field = e->as<GetField>();
        return field && field.index() == k && is_var(field.of(), loop_.builder_param());
    }

    /// The states that a round may end with, but for the one it began with; false if it does something else.
    bool find_rounds(const Expr* e) {
        if (is_var(e, loop_.builder_param())) return true;
        if (const Block lets = e->as<Block>()) {
            for (std::size_t i = 0; i < lets.size(); ++i)
                if (mentions(lets.value(i), loop_.builder_param())) return false;
            return find_rounds(lets.result());
        }
        if (const If choice = e->as<If>())
            return !mentions(choice.cond(), loop_.builder_param()) && find_rounds(choice.then()) &&
                   find_rounds(choice.otherwise());
        const MakeStruct state = e->as<MakeStruct>();
        if (state) rounds_.push_back(state);
        return bool(state);
    }

    std::optional<Step> step(const Expr* e, std::size_t k) const {
        if (const If choice = e->as<If>()) {
            const bool wanted = is_builder(choice.otherwise(), k);
            std::optional<Step> inner = step(wanted ? choice.then() : choice.otherwise(), k);
            if (!inner || inner->cond || !is_builder(wanted ? choice.otherwise() : choice.then(), k))
                return {};
            inner->cond = choice.cond();
            inner->wanted = wanted;
            return inner;
        }
        const Merge merge = e->as<Merge>();
        if (!merge || merge.mask() || !is_builder(merge.builder(), k)) return {};
        if (mentions(merge.value(), loop_.builder_param())) return {};
        return Step{merge};
    }

    const Expr* key_of(Merge g) const {
        const MakeStruct pair = g.value()->as<MakeStruct>();
        return pair ? pair.fields()[0] : get_field(m_, g.value(), 0);
    }

    /// In all rounds builder `k` takes a value whenever the first one that is shared does, by the same key.
    bool fits(std::size_t k, const Type* type) const {
        if (rounds_.empty() || fields_ + num_fields(type->value()) > kMostFieldOps) return false;
        for (const MakeStruct& round : rounds_) {
            const std::optional<Step> own = step(round.fields()[k], k);
            if (!own) return false;
            if (shared_.empty()) continue;
            const std::size_t first = shared_[0];
            const std::optional<Step> other = step(round.fields()[first], first);
            const bool same_cond = own->cond && other->cond
                                       ? own->wanted == other->wanted && same(own->cond, other->cond)
                                       : !own->cond && !other->cond;
            if (!same_cond || !same(key_of(own->merge), key_of(other->merge))) return false;
        }
        return true;
    }

    const Type* joint_type() const {
        std::vector<const Type*> fields;
        std::vector<MergeOp> ops;
        for (const std::size_t k : shared_) {
            const Type* b = type_of(k);
            for (std::size_t i = 0; i < num_fields(b->value()); ++i) {
                fields.push_back(b->value()->is_struct() ? b->value()->args[i] : b->value());
                ops.push_back(op_of_field(b->op, i));
            }
        }
        const bool one = std::ranges::all_of(ops, [&](MergeOp op) { return op == ops[0]; });
        const Type* args[] = {type_of(shared_[0])->key(), m_.types.structure(fields)};
        return m_.types.builder(BuilderKind::DictMerger, args, one ? ops[0] : ops_of_fields(ops));
    }

    const Expr* rewritten(const Expr* e) {
        if (is_var(e, loop_.builder_param())) return var(m_, builder_, e->loc);
        if (e->op == Op::Block || e->op == Op::If) {
            const std::size_t first_state = e->op == Op::If ? 1 : e->num_args - 1;
            return map_args(m_, e,
                            [&](const Expr* a, std::size_t i) { return i < first_state ? a : rewritten(a); });
        }
        std::vector<const Expr*> now;
        for (std::size_t k = 0; k < e->num_args; ++k) {
            if (k == shared_[0]) now.push_back(joint_step(e->as<MakeStruct>()));
            else if (!holds(k)) now.push_back(with_parts(e->arg(k)));
        }
        return is_alone() ? now[0] : make_struct(m_, now, e->loc);
    }

    const Expr* joint_step(MakeStruct round) {
        const Step first = *step(round.fields()[shared_[0]], shared_[0]);
        std::vector<const Expr*> fields;
        for (const std::size_t k : shared_) {
            const Merge g = step(round.fields()[k], k)->merge;
            const MakeStruct pair = g.value()->as<MakeStruct>();
            const Expr* value = pair ? pair.fields()[1] : get_field(m_, g.value(), 1);
            const MakeStruct parts = value->as<MakeStruct>();
            if (!value->type->is_struct()) fields.push_back(value);
            for (std::size_t i = 0; value->type->is_struct() && i < num_fields(value->type); ++i)
                fields.push_back(parts ? parts.fields()[i] : get_field(m_, value, i));
        }
        const Expr* old = part(var(m_, builder_), shared_[0]);
        const Expr* row =
            make_struct(m_, {key_of(first.merge), make_struct(m_, fields)}, first.merge.value()->loc);
        const Expr* now = merge(m_, old, row, nullptr, first.merge.node->loc);
        if (!first.cond) return now;
        return first.wanted ? if_(m_, first.cond, now, old) : if_(m_, first.cond, old, now);
    }

    /// `e` on the builders of the joint state.
    const Expr* with_parts(const Expr* e) {
        const GetField field = e->as<GetField>();
        if (field && is_var(field.of(), loop_.builder_param())) return part(var(m_, builder_), field.index());
        return map_args(m_, e, [&](const Expr* a, std::size_t) { return with_parts(a); });
    }

    Module& m_;
    For loop_;
    Lambda body_;
    std::vector<MakeStruct> rounds_;
    std::vector<std::size_t> shared_;
    std::size_t fields_ = 0;
    const Symbol* builder_ = nullptr;  // of the joint loop
};

/// A block in which a loop fills several dictionaries.
class Sharer {
  public:
    Sharer(Module& m, Block b) : m_(m), block_(b) {}

    /// Null if there is no such loop.
    const Expr* shared() {
        for (std::size_t i = 0; i < block_.size(); ++i) {
            const For loop = block_.value(i)->as<For>();
            if (!loop || !loop.node->type->is_struct()) continue;
            Tables tables(m_, loop);
            if (tables.any() && find_results(i, tables)) return with_one(i, tables);
        }
        return nullptr;
    }

  private:
    /// The names of the dictionaries; false if something else is done with the loop's builders.
    bool find_results(std::size_t at, const Tables& tables) {
        results_.clear();
        const Symbol* state = block_.symbol(at);
        for (std::size_t i = at + 1; i < block_.node->num_args; ++i) {
            const Expr* value = block_.node->arg(i);
            const GetField of = value->op == Op::Result ? value->arg(0)->as<GetField>() : GetField{};
            const bool is_result =
                i < block_.size() && of && is_var(of.of(), state) && tables.holds(of.index());
            if (is_result) results_.emplace_back(block_.symbol(i), of.index());
            else if (!only_others(value, state, tables)) return false;
        }
        return !results_.empty();
    }

    /// `e` reads of the loop's results none that is shared.
    static bool only_others(const Expr* e, const Symbol* state, const Tables& tables) {
        const GetField field = e->as<GetField>();
        if (field && is_var(field.of(), state)) return !tables.holds(field.index());
        return !is_var(e, state) &&
               std::ranges::all_of(e->args(), [&](const Expr* a) { return only_others(a, state, tables); });
    }

    const Expr* with_one(std::size_t at, Tables& tables) {
        const Symbol* old = block_.symbol(at);
        const Expr* loop = tables.joint();
        const bool is_alone = loop->type->is_builder();
        const Symbol* state = is_alone ? nullptr : m_.symbol(old->name, loop->type);
        const auto builder = [&](std::size_t k) { return is_alone ? loop : tables.part(var(m_, state), k); };
        Lets lets;
        for (std::size_t i = 0; i < at; ++i) lets.emplace_back(block_.symbol(i), block_.value(i));
        if (state) lets.emplace_back(state, loop);
        const Expr* all = result(m_, builder(results_[0].second), loop->loc);
        joint_ = m_.symbol("d", all->type);
        lets.emplace_back(joint_, all);
        for (std::size_t i = at + 1; i < block_.size(); ++i) {
            const auto known = std::ranges::find(results_, block_.symbol(i), &Made::first);
            if (known != results_.end()) add_result(i, known->second, tables, lets);
            else lets.emplace_back(block_.symbol(i), rewritten(block_.value(i), old, builder, tables));
        }
        return block(m_, lets, rewritten(block_.result(), old, builder, tables), block_.node->loc);
    }

    /// What is read of the dictionary of builder `k`, or that itself.
    void add_result(std::size_t i, std::size_t k, const Tables& tables, Lets& lets) {
        const Symbol* dict = block_.symbol(i);
        bool lists = false, all_known = true;
        for (std::size_t j = i + 1; j < block_.node->num_args; ++j)
            look(block_.node->arg(j), dict, lists, all_known);
        if (lists || !all_known) {
            if (!rows_) {
                const Expr* rows = to_vec(m_, var(m_, joint_), block_.value(i)->loc);
                rows_ = m_.symbol("rows", rows->type);
                lets.emplace_back(rows_, rows);
            }
            const Type* entry[] = {tables.type_of(k)->key(), tables.type_of(k)->value()};
            const Type* row = m_.types.structure(entry);
            const Type* listed =
                all_known ? m_.types.builder(BuilderKind::Appender, {&row, 1}) : tables.type_of(k);
            const Symbol* b = m_.symbol("b", listed);
            const Symbol* n = m_.symbol("i", m_.types.i64());
            const Symbol* e = m_.symbol("e", rows_->type->elem());
            const Expr* one = make_struct(
                m_, {get_field(m_, var(m_, e), 0), tables.value_of(get_field(m_, var(m_, e), 1), k)});
            const Expr* data = var(m_, rows_);
            const Expr* each =
                weld::loop(m_, {&data, 1}, new_builder(m_, listed),
                           lambda(m_, {b, n, e}, merge(m_, var(m_, b), one)), block_.value(i)->loc);
            const Expr* made = result(m_, each, block_.value(i)->loc);
            const Symbol* name = all_known ? m_.symbol("entries", made->type) : dict;
            lets.emplace_back(name, made);
            if (all_known) entries_.emplace_back(dict, name);
        }
        if (all_known) parts_.emplace_back(dict, k);
    }

    /// How `dict` is read in `e`.
    static void look(const Expr* e, const Symbol* dict, bool& lists, bool& all_known) {
        if (is_var(e, dict)) all_known = false;
        const bool reads = e->num_args > 0 && is_var(e->arg(0), dict);
        const bool is_known = e->op == Op::ToVec || e->op == Op::Len || e->op == Op::Lookup ||
                              e->op == Op::OptLookup || e->op == Op::KeyExists;
        lists |= reads && e->op == Op::ToVec;
        for (std::size_t i = 0; i < e->num_args; ++i) {
            if (i == 0 && reads && is_known) continue;
            look(e->arg(i), dict, lists, all_known);
        }
    }

    template <class Builder>
    const Expr* rewritten(const Expr* e, const Symbol* old, const Builder& builder, const Tables& tables) {
        const GetField field = e->as<GetField>();
        if (field && is_var(field.of(), old)) return builder(field.index());
        const Expr* read = e->num_args ? e->arg(0) : nullptr;
        const auto known = read && read->op == Op::Var
                               ? std::ranges::find(parts_, read->attr.symbol, &Made::first)
                               : parts_.end();
        if (known == parts_.end() || e->op == Op::Block || e->op == Op::Lambda)
            return map_args(m_, e,
                            [&](const Expr* a, std::size_t) { return rewritten(a, old, builder, tables); });
        if (e->op == Op::ToVec)
            return var(m_, std::ranges::find(entries_, known->first, &Listed::first)->second, e->loc);
        const Expr* of = var(m_, joint_);
        if (e->op == Op::Len) return len(m_, of, e->loc);
        const Expr* key = rewritten(e->arg(1), old, builder, tables);
        if (e->op == Op::KeyExists) return key_exists(m_, of, key, e->loc);
        const Expr* all = e->op == Op::Lookup ? lookup(m_, of, key, e->loc) : opt_lookup(m_, of, key, e->loc);
        const Symbol* found = m_.symbol("o", all->type);
        const Expr* there = var(m_, found);
        const Expr* value = e->op == Op::Lookup
                                ? tables.value_of(there, known->second)
                                : make_struct(m_, {get_field(m_, there, 0),
                                                   tables.value_of(get_field(m_, there, 1), known->second)});
        return let(m_, found, all, value, e->loc);
    }

    using Made = std::pair<const Symbol*, std::size_t>;      // the name of a dictionary, its builder
    using Listed = std::pair<const Symbol*, const Symbol*>;  // the same, the name of its entries
    Module& m_;
    Block block_;
    std::vector<Made> results_, parts_;
    std::vector<Listed> entries_;
    const Symbol *joint_ = nullptr, *rows_ = nullptr;
};

}  // namespace

const Expr* share_tables(Module& m, const Expr* lambda) {
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Expr* all = nullptr;
        while (const Block b = (all ? all : e)->as<Block>()) {
            const Expr* next = Sharer(m, b).shared();
            if (!next) break;
            all = next;
        }
        return all;
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
