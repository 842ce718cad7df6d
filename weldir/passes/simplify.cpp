// Exact algebra: expressions become simpler ones that give the same bits and fail alike.
//
//     let p = {x * 1, y};
//     let v = [a, b, c];
//     if(!(n < len(v)), p.$0 + 0, lookup(v, 1L))
// becomes
//     let v = [a, b, c];
//     if(n >= 3L, x, b)
//
// Identities of scalar operations are in algebra.cpp. Here:
//   structs   a bound struct literal of which fields are read becomes its fields, each bound by itself
//   lengths   `len` of what has a length that is known, or the length of something else (see facts.h)
//   lookups   of a constant index in a vector literal; of what a range or a zip yields anyway
//   indices   the index of a loop over `rangeiter(0, n, 1)` is its element
//   keys      if(keyexists(d, k), lookup(d, k), x) looks once: let o = optlookup(d, k); if(o.$0, o.$1, x)
//   choices   if(a, x, if(b, x, y)) is if(a || b, x, y), and if(a, if(b, x, y), y) is if(a && b, x, y)
//   builders  `result` of a builder that nothing was merged into, or of a merger without a loop
//   asserts   of true
// Nothing that may fail is left out, unless what stays fails alike.
#include "weldir/ir/builder.h"
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/algebra.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostProducts = 2;  // of a length that is written out
constexpr std::int64_t kMostSplit = 16;   // elements of a vector literal that get names
/// Nodes of a literal that may stand in several places.
constexpr std::uint32_t kLargestCopy = 64;

class Simplifier {
  public:
    Simplifier(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {
        visit(lambda, [&](const Expr* e) {
            if (e->op == Op::Var) ++reads_[e->attr.symbol];
            if (e->op == Op::GetField && e->arg(0)->op == Op::Var) ++field_reads_[e->arg(0)->attr.symbol];
            if (is_known_place(e)) note_place(e->arg(0)->attr.symbol, e->arg(1)->as<Literal>().as_int());
        });
        visit_binding(lambda, [&](const Expr* e) {
            if (Block block = e->as<Block>())
                for (std::size_t i = 0; i < block.size(); ++i) split(block.symbol(i), block.value(i));
        });
    }

    const Expr* simpler(const Expr* e) {
        if (is_scalar_op(e->op)) return simpler_scalar(m_, facts_, e);
        switch (e->op) {
            case Op::Cast:
            case Op::Select: return simpler_scalar(m_, facts_, e);
            case Op::If: return choice(e);
            case Op::Block: return block_of(e->as<Block>());
            case Op::GetField: return field(e->as<GetField>());
            case Op::Len: return length(e->as<Len>());
            case Op::Lookup: return lookup_of(e->as<Lookup>());
            case Op::Slice: return slice_of(e->as<Slice>());
            case Op::For: return loop_of(e->as<For>());
            case Op::Result: return result_of(e->as<Result>());
            case Op::Assert: return asserted(e->as<Assert>());
            default: return nullptr;
        }
    }

  private:
    /// What the fields of a struct literal are called, or the elements of a short vector.
    struct Split {
        std::vector<const Expr*> names;
        std::vector<bool> is_new;  ///< bound where the literal stood; else the field was an atom
    };

    // ---- structs

    /// `lookup(v, 1L)`: an element that a literal would have.
    static bool is_known_place(const Expr* e) {
        if (e->op != Op::Lookup || e->arg(0)->op != Op::Var || !e->arg(0)->type->is_vec()) return false;
        const Literal at = e->arg(1)->as<Literal>();
        return at && at.as_int() >= 0 && at.as_int() < kMostSplit;
    }

    void note_place(const Symbol* vector, std::int64_t place) {
        ++field_reads_[vector];
        std::int64_t& last = last_places_[vector];
        last = std::max(last, place);
    }

    /// Gives the fields of a bound struct literal names of their own, to stand before it.
    void split(const Symbol* s, const Expr* value) {
        const bool is_vec = value->op == Op::MakeVec && value->num_args <= kMostSplit &&
                            last_places_[s] < value->num_args && !is_constant(value);
        if ((value->op != Op::MakeStruct && !is_vec) || !field_reads_.contains(s)) return;
        if (s->type->holds_builder && !only_fields_are_read(s)) return;  // builders are used once
        Split& fields = fields_[s];
        for (const Expr* f : value->args()) {
            fields.is_new.push_back(!is_atom(f));
            fields.names.push_back(is_atom(f) ? f : var(m_, m_.symbol("f", f->type), f->loc));
        }
    }

    bool only_fields_are_read(const Symbol* s) { return reads_[s] == field_reads_[s]; }

    const Expr* block_of(Block block) {
        Lets lets;
        bool changed = false;
        for (std::size_t i = 0; i < block.size(); ++i) {
            const Symbol* s = block.symbol(i);
            const Expr* value = block.value(i);
            const Split* fields = fields_.find(s);
            if (!fields) {
                lets.emplace_back(s, value);
                continue;
            }
            const auto& [names, is_new] = *fields;
            for (std::size_t k = 0; k < names.size(); ++k) {
                const bool is_bound = value->arg(k) == names[k];  // this block was spliced into an outer one
                if (is_new[k] && !is_bound) lets.emplace_back(names[k]->attr.symbol, value->arg(k));
            }
            if (only_fields_are_read(s)) changed = true;
            else if (s->type->is_vec())
                lets.emplace_back(s, make_vec(m_, s->type->elem(), names, value->loc));
            else lets.emplace_back(s, make_struct(m_, names, value->loc));
        }
        changed |= lets.size() != block.size();
        return changed ? weld::block(m_, lets, block.result(), block.node->loc) : nullptr;
    }

    const Expr* field(GetField get) {
        if (Var v = get.of()->as<Var>()) {
            const Split* fields = fields_.find(v.symbol());
            return fields ? fields->names[get.index()] : nullptr;
        }
        const MakeStruct made = get.of()->as<MakeStruct>();
        if (!made) return nullptr;
        for (std::size_t i = 0; i < made.fields().size(); ++i)
            if (i != get.index() && !facts_.traits(made.fields()[i]).free_to_repeat()) return nullptr;
        return made.fields()[get.index()];
    }

    // ---- lengths and lookups

    /// What facts know is about the program as it was: fields of structs have other names now.
    const Expr* with_names_of_now(const Expr* count) {
        return rewrite(m_, count, [&](const Expr* e) -> const Expr* {
            return e->op == Op::GetField ? field(e->as<GetField>()) : nullptr;
        });
    }

    const Expr* length(Len len) {
        if (!facts_.traits(len.of()).free_to_repeat() && !is_path(len.of())) return nullptr;
        const std::optional<Count> n = facts_.length(len.of());
        if (!n || n->sum().size() > kMostProducts || (n->name() && same(n->name(), len.node))) return nullptr;
        return with_names_of_now(written(m_, *n, len.node->loc));
    }

    const Expr* lookup_of(Lookup at) {
        if (is_known_place(at.node)) {
            const Split* elems = fields_.find(at.of()->attr.symbol);
            if (elems) return elems->names[std::size_t(at.key()->attr.bits)];
        }
        const MakeVec made = facts_.resolve(at.of())->as<MakeVec>();
        const Literal index = facts_.resolve(at.key())->as<Literal>();
        if (!made || !index || index.as_int() < 0 || index.as_int() >= std::int64_t(made.elems().size()))
            return nullptr;
        const Expr* elem = made.elems()[std::size_t(index.as_int())];
        const bool small = is_constant(elem) && facts_.traits(elem).size <= kLargestCopy;
        return is_atom(elem) || small ? elem : nullptr;
    }

    /// All of a vector; and of a row it is known that it is whole.
    const Expr* slice_of(Slice slice) {
        if (!slice.node->annotation(AttrKey::Inside) && facts_.is_row(slice))
            return annotate(m_, slice.node, AttrKey::Inside, "true");
        const Literal start = slice.start()->as<Literal>();
        if (!start || start.as_int() != 0) return nullptr;
        const std::optional<Count> n = facts_.length(slice.of()), size = facts_.count(slice.size());
        return n && size && *n == *size ? slice.of() : nullptr;
    }

    // ---- loops and builders

    const Expr* loop_of(For loop) {
        if (const Expr* plain = without_full_iters(loop)) return plain;
        if (loop.data().size() == 1 && facts_.iterations(loop.node) == Count{} &&
            facts_.traits(loop.data()[0]).free_to_repeat())
            return loop.builder();
        return index_as_element(loop);
    }

    /// `iter(v)` is `v`, and so is `iter(v, 0, len(v), 1)`.
    const Expr* without_full_iters(For loop) {
        std::vector<const Expr*> args(loop.node->args().begin(), loop.node->args().end());
        for (std::size_t i = 2; i < args.size(); ++i) {
            const Iter iter = args[i]->as<Iter>();
            if (!iter || iter.shape().kind != IterKind::Scalar || iter.shape().range || iter.shape().nd)
                continue;
            if (iter.shape().bounded) {
                if (!is_int(iter.start(), 0) || !is_int(iter.stride(), 1)) continue;
                const std::optional<Count> n = facts_.length(iter.data()), end = facts_.count(iter.end());
                if (!n || !end || !(*n == *end)) continue;
            }
            args[i] = iter.data();
        }
        const Expr* plain = with_args(m_, loop.node, args);
        return plain == loop.node ? nullptr : plain;
    }

    /// Over a range from 0 in steps of 1 the elements serve as the index. (In a zip, fuse-zip does it the
    /// other way round.)
    const Expr* index_as_element(For loop) {
        const Iter iter = loop.data().size() == 1 ? loop.data()[0]->as<Iter>() : Iter{};
        if (!iter || !iter.shape().range || iter.shape().kind != IterKind::Scalar) return nullptr;
        if (!is_int(iter.start(), 0) || !is_int(iter.stride(), 1)) return nullptr;
        if (!mentions(loop.body().body(), loop.index_param())) return nullptr;
        std::vector<const Expr*> args(loop.node->args().begin(), loop.node->args().end());
        args[1] = substitute(m_, args[1], {{loop.index_param(), var(m_, loop.elem_param())}});
        return with_args(m_, loop.node, args);
    }

    const Expr* identity(const Type* value, MergeOp op, Loc loc) {
        if (value->is_scalar()) return literal(m_, value, identity_bits(op, value->scalar), loc);
        std::vector<const Expr*> fields;
        for (const Type* f : value->args) fields.push_back(identity(f, op, loc));
        return make_struct(m_, fields, loc);
    }

    const Expr* result_of(Result result) {
        const NewBuilder start = result.builder()->as<NewBuilder>();
        if (!start)
            return info(result.builder()->type).lists_merges ? listed_values(result) : merged_values(result);
        const BuilderInfo& builder = info(start.kind());
        const Loc loc = result.node->loc;
        if (start.arg() && builder.start_counts) return is_value(builder) ? start.arg() : nullptr;
        if (start.arg() && !facts_.traits(start.arg()).free_to_repeat()) return nullptr;
        if (builder.lists_merges) return make_vec(m_, start.node->type->elem(), {}, loc);
        return is_value(builder) ? identity(start.node->type->elem(), start.node->type->op, loc) : nullptr;
    }

    /// What straight code appends is a vector of known elements.
    const Expr* listed_values(Result result) {
        std::vector<const Expr*> values;
        const Expr* state = result.builder();
        for (; state->op == Op::Merge && state->num_args == 2; state = state->arg(0))
            values.push_back(state->arg(1));
        const Type* elem = state->type->elem();
        const bool all_single = std::ranges::all_of(values, [&](const Expr* v) { return v->type == elem; });
        if (state->op != Op::NewBuilder || state->num_args || !all_single || elem->holds_simd) return nullptr;
        std::ranges::reverse(values);
        return make_vec(m_, elem, values, result.node->loc);
    }

    /// A merger that only straight code merges into is arithmetic: the first value, by the operator the next,
    /// ...
    const Expr* merged_values(Result result) {
        const Type* b = result.builder()->type;
        if (!is_value(info(b)) || !b->elem()->is_scalar()) return nullptr;
        std::vector<Merge> merges;
        const Expr* state = result.builder();
        for (; state->op == Op::Merge; state = state->arg(0)) merges.push_back(state->as<Merge>());
        const NewBuilder start = state->as<NewBuilder>();
        if (!start) return nullptr;
        const Expr* value = start.arg() ? start.arg() : identity(b->elem(), b->op, result.node->loc);
        for (std::size_t i = merges.size(); i-- > 0;) {
            if (merges[i].mask() || merges[i].value()->type != b->elem()) return nullptr;
            value = scalar_op(m_, op_of(b->op), {value, merges[i].value()}, merges[i].node->loc);
        }
        return value;
    }

    const Expr* asserted(Assert assertion) {
        const Literal l = assertion.of()->as<Literal>();
        return l && l.bits() ? l.node : nullptr;
    }

    // ---- choices

    const Expr* choice(const Expr* e) {
        if (const Expr* simple = simpler_scalar(m_, facts_, e)) return simple;
        const If choice = e->as<If>();
        if (const Expr* one = joined(choice)) return one;
        const KeyExists asked = choice.cond()->as<KeyExists>();
        const Lookup found = choice.then()->as<Lookup>();
        if (!asked || !found || !same(asked.of(), found.of()) || !same(asked.key(), found.key()))
            return nullptr;
        if (!facts_.traits(asked.node).free_to_repeat()) return nullptr;
        const Expr* both = opt_lookup(m_, asked.of(), asked.key(), found.node->loc);
        const Symbol* o = m_.symbol("o", both->type);
        return let(
            m_, o, both,
            if_(m_, get_field(m_, var(m_, o), 0), get_field(m_, var(m_, o), 1), choice.otherwise(), e->loc));
    }

    /// A choice whose one side is a choice with the other.
    const Expr* joined(If outer) {
        const bool any = is_choice(outer.otherwise());
        const Expr *side = any ? outer.otherwise() : outer.then(),
                   *other = any ? outer.then() : outer.otherwise();
        if (!is_choice(side) || facts_.traits(other).fails) return nullptr;
        const Block lets = side->as<Block>();
        const If inner = (lets ? lets.result() : side)->as<If>();
        const bool holds = same(inner.then(), other);
        const Expr* rest = holds ? inner.otherwise() : inner.then();
        if (!holds && !same(inner.otherwise(), other)) return nullptr;
        for (std::size_t i = 0; lets && i < lets.size(); ++i)
            if (mentions(rest, lets.symbol(i)) || facts_.traits(lets.value(i)).ordered) return nullptr;
        if (facts_.traits(inner.cond()).ordered) return nullptr;
        // `rest` is what neither condition, or both of them, choose.
        const Expr* cond = holds == any ? inner.cond() : scalar_op(m_, Op::Not, {inner.cond()});
        if (lets) cond = with_result(lets, cond);
        cond = scalar_op(m_, any ? Op::Or : Op::And, {outer.cond(), cond});
        return any ? if_(m_, cond, other, rest, outer.node->loc)
                   : if_(m_, cond, rest, other, outer.node->loc);
    }

    static bool is_choice(const Expr* e) {
        const Block lets = e->as<Block>();
        return (lets ? lets.result() : e)->op == Op::If;
    }

    const Expr* with_result(Block lets, const Expr* result) {
        std::vector<const Expr*> args(lets.node->args().begin(), lets.node->args().end());
        args.back() = result;
        return with_args(m_, lets.node, args);
    }

    Module& m_;
    Facts facts_;
    Table<Symbol, int> reads_, field_reads_;
    Table<Symbol, std::int64_t> last_places_;
    Table<Symbol, Split> fields_;
};

}  // namespace

const Expr* simplify(Module& m, const Expr* lambda) {
    Simplifier simplifier(m, lambda);
    const Expr* simple = rewrite(m, lambda, [&](const Expr* e) { return simplifier.simpler(e); });
    return in_normal_form(m, lambda, simple);
}

}  // namespace weld
