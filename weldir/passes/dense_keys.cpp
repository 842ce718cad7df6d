// Loops that look up integers ask once whether the keys of the dictionary are all integers of a range; if so, its
// values are elements of a vector.
//
//     for(ks, appender[f64], |b, i, k| let o = optlookup(d, k); if(o.$0, merge(b, o.$1), b))
// becomes
//     let by_key = cudf[weld_dense_values,{i64,vec[f64]}](d, len(ks), 0L, false);
//     if(len(by_key.$1) > 0L,
//       for(ks, appender[f64], |b, i, k|
//         let at = k - by_key.$0;
//         let found = u64(at) < u64(len(by_key.$1));
//         let o = {found, select(found, lookup(by_key.$1, select(found, at, 0L)), 0.0)};
//         if(o.$0, merge(b, o.$1), b)),
//       for(ks, appender[f64], ... as before))
//
// Numbers that a table counts from 0 or 1 are such keys, and groups of them: nothing is hashed then, and the loop runs on
// lanes. Where each round has a `lookup`, a loop finds out before whether all their keys are there:
//
//     map(ks, |k| lookup(d, k) * 2.0)
// becomes
//     let by_key = ...;
//     let all_found = if(len(by_key.$1) > 0L,
//       result(for(ks, merger[i64,+], |b, i, k|
//         merge(b, select(u64(k - by_key.$0) < u64(len(by_key.$1)), 0L, 1L)))) == 0L,
//       false);
//     if(all_found, map(ks, |k| lookup(by_key.$1, k - by_key.$0) * 2.0), map(ks, ... as before))
//
// so that lanes need not ask the dictionary, which fails where the program said. Another `lookup` that finds nothing asks it
// itself, as do those whose keys take long to compute twice. A dictionary that some rounds of a loop have filled is likely to have gaps: there a bit is looked up, too, which says
// whether a key is there (kernel weld_dense_keys).
//
// For values that are numbers, bools, or structs of a few, each field of which is a vector of its own; in loops that
// are in no other one. The kernel gives no values where making the vector would not pay.
#include <algorithm>
#include <optional>

#include "weldir/ir/facts.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostFields = 4;
constexpr int kMostNames = 8;                // that a key follows from, one after the other
constexpr std::uint32_t kLargestLoop = 300;  // nodes, which are there twice

bool is_few_scalars(const Type* t) {
    return t->is_scalar() || (t->is_struct() && !t->args.empty() && t->args.size() <= kMostFields &&
                              std::ranges::all_of(t->args, [](const Type* f) { return f->is_scalar(); }));
}

/// The dictionary and the key of a look-up.
struct Search {
    const Expr *dict, *key;

    static std::optional<Search> of(const Expr* e) {
        if (const Lookup l = e->as<Lookup>()) return Search{l.of(), l.key()};
        if (const OptLookup o = e->as<OptLookup>()) return Search{o.of(), o.key()};
        if (const KeyExists k = e->as<KeyExists>(); k && !k.bits()) return Search{k.of(), k.key()};
        return {};
    }
    bool may_be_dense() const {
        return dict->op == Op::Var && dict->type->is_dict() && key->type->is_scalar() &&
               is_integer(key->type->scalar) && is_few_scalars(dict->type->value());
    }
};

class DenseKeys {
  public:
    DenseKeys(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    /// Asks before the loops that are in no other one.
    const Expr* asking(const Expr* e) {
        if (!e->binds) return e;
        const For f = e->as<For>();
        if (!f) return map_args(m_, e, [&](const Expr* a, std::size_t) { return asking(a); });
        const Op builder = f.builder()->op;
        if (!(builder == Op::NewBuilder || builder == Op::Var) || facts_.traits(e).size > kLargestLoop)
            return e;
        const Expr* datum = f.data()[0];
        if (!(datum->op == Op::Iter || is_path(datum))) return e;
        tables_.clear();
        certain_.clear();
        missing_ = nullptr;
        loop_ = f;
        inside_ = BoundNames(e);
        find_certain(f.body().body());
        const Expr* now =
            rewrite(m_, f.body().body(), [&](const Expr* part) { return found_by_place(part); });
        if (tables_.empty()) return e;
        return asked(f, now);
    }

  private:
    /// What is known of a dictionary by its keys.
    struct Table {
        const Symbol* dict;
        std::vector<const Symbol*> fields;  ///< {least key, values}, one for each field of the values
        const Symbol* keys;                 ///< words, a bit of which says that a key is there; null: all are
    };

    /// `if(all are dense, the loop with this body, the loop)`.
    const Expr* asked(For f, const Expr* body) {
        Lets lets;
        const Expr* dense = nullptr;
        for (const Table& table : tables_) {
            const auto ask = [&](const Symbol* as, std::string_view kernel, std::vector<const Expr*> more) {
                more.insert(more.begin(), {var(m_, table.dict), trip_count(m_, f.data()[0])});
                lets.emplace_back(as, builtin_kernel(m_, kernel, as->type, more, f.node->loc));
            };
            for (std::size_t k = 0; k < table.fields.size(); ++k) {
                ask(table.fields[k], "weld_dense_values",
                    {i64_literal(m_, std::int64_t(k)), bool_literal(m_, table.keys != nullptr)});
                // Each by itself: memory may be short for the last.
                const Expr* any = scalar_op(m_, Op::Gt, {len(m_, values_of(table, k)), i64_literal(m_, 0)});
                dense = dense ? scalar_op(m_, Op::BitAnd, {dense, any}) : any;
            }
            if (table.keys) ask(table.keys, "weld_dense_keys", {});
        }
        if (missing_) {
            const Symbol* all = m_.symbol("all_found", dense->type);
            lets.emplace_back(all, if_(m_, dense, none_missing(f), bool_literal(m_, false), f.node->loc));
            dense = var(m_, all);
        }
        const Expr* quick = with_body(m_, f.node, body);
        return block(m_, lets, if_(m_, dense, quick, fresh(m_, f.node), f.node->loc), f.node->loc);
    }

    /// Notes the look-ups that each round of the loop has, with their keys as they follow from its data.
    void find_certain(const Expr* e) {
        if (const Lookup l = e->as<Lookup>();
            l && Search::of(e)->may_be_dense() && !inside_.are_read_by(l.of()))
            if (const Expr* key = of_data(l.key(), kMostNames)) certain_.emplace(e, key);
        for (std::size_t i = 0; i < e->num_args; ++i)
            if (!is_lazy_arg(e, i)) find_certain(e->arg(i));
    }

    /// `e` without names that the body binds; null if it may fail, takes long, or follows from more than `most` of them.
    const Expr* of_data(const Expr* e, int most) {
        const Traits& traits = facts_.traits(e);
        if (traits.fails || traits.calls || traits.heavy || traits.costly || traits.builds || most == 0)
            return nullptr;
        const Symbol* const bound[] = {loop_.elem_param(), loop_.index_param()};
        if (e->op == Op::Var && inside_.hold(e->attr.symbol) &&
            std::ranges::count(bound, e->attr.symbol) == 0) {
            const Expr* value = facts_.definition(e->attr.symbol);
            return value ? of_data(value, most - 1) : nullptr;
        }
        bool known = true;
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) {
            const Expr* part = known ? of_data(a, most) : nullptr;
            known &= part != nullptr;
            return part ? part : a;
        });
        return known ? now : nullptr;
    }

    /// That `missing_` is 0 in all rounds of the loop.
    const Expr* none_missing(For f) {
        const Type *number = m_.types.i64(),
                   *counter = m_.types.builder(BuilderKind::Merger, {&number, 1}, MergeOp::Add);
        const Symbol *b = m_.symbol("b", counter), *i = m_.symbol("i", number),
                     *x = m_.symbol("x", f.elem_param()->type);
        const Expr* missing =
            substitute(m_, missing_, {{f.index_param(), var(m_, i)}, {f.elem_param(), var(m_, x)}});
        const Expr* body = lambda(m_, {b, i, x}, merge(m_, var(m_, b), missing, nullptr, f.node->loc));
        const Expr* all =
            loop(m_, f.data(), new_builder(m_, counter, nullptr, f.node->loc), body, f.node->loc);
        return scalar_op(m_, Op::Eq, {result(m_, all), i64_literal(m_, 0)});
    }

    /// Key `at` of the table is there.
    const Expr* is_there(const Table& table, const Expr* at) {
        const Expr* count = as(Scalar::U64, len(m_, values_of(table, 0)));
        const Expr* inside = scalar_op(m_, Op::Lt, {as(Scalar::U64, at), count}, at->loc);
        if (!table.keys) return inside;
        return scalar_op(m_, Op::BitAnd, {inside, bit(table.keys, at, inside)});
    }

    const Expr* place_of(const Table& table, const Expr* key, Loc loc) {
        return scalar_op(m_, Op::Sub, {as(Scalar::I64, key), get_field(m_, var(m_, table.fields[0]), 0)},
                         loc);
    }

    /// The look-up `e`, of which it is known that it finds something.
    const Expr* found_for_sure(const Expr* e, const Table& table, const Expr* key) {
        const Expr* there = is_there(table, place_of(table, key, e->loc));
        const Expr* missing = select(m_, there, i64_literal(m_, 0), i64_literal(m_, 1));
        missing_ = missing_ ? scalar_op(m_, Op::Add, {missing_, missing}) : missing;
        const Symbol* at = m_.symbol("at", m_.types.i64());
        const auto field = [&](std::size_t k) {
            return lookup(m_, values_of(table, k), var(m_, at), e->loc);
        };
        const Expr* values = whole(table.dict->type->value(), field);
        return let(m_, at, place_of(table, e->arg(1), e->loc), values, e->loc);
    }

    const Expr* found_by_place(const Expr* e) {
        const std::optional<Search> search = Search::of(e);
        if (!search || !search->may_be_dense() || inside_.are_read_by(search->dict)) return nullptr;
        const Table& table = table_of(search->dict->as<Var>().symbol());
        if (const auto known = certain_.find(e); known != certain_.end())
            return found_for_sure(e, table, known->second);
        const Symbol* at = m_.symbol("at", m_.types.i64());
        const Symbol* found = m_.symbol("found", m_.types.scalar(Scalar::Bool));
        Lets lets = {{at, place_of(table, search->key, e->loc)}};
        const Expr* count = as(Scalar::U64, len(m_, values_of(table, 0)));
        const Expr* holds = scalar_op(m_, Op::Lt, {as(Scalar::U64, var(m_, at)), count}, e->loc);
        if (table.keys) {
            const Symbol* inside = m_.symbol("inside", m_.types.scalar(Scalar::Bool));
            lets.emplace_back(inside, holds);
            holds =
                scalar_op(m_, Op::BitAnd, {var(m_, inside), bit(table.keys, var(m_, at), var(m_, inside))});
        }
        lets.emplace_back(found, holds);
        return block(m_, lets, given(e, table, var(m_, at), var(m_, found)), e->loc);
    }

    /// That bit `at` of the words is set, if `at` lies inside.
    const Expr* bit(const Symbol* words, const Expr* at, const Expr* inside) {
        constexpr std::int64_t log = 5, mask = 31;  // of the bits in a word
        const Type* u32 = m_.types.scalar(Scalar::U32);
        const Expr* number = scalar_op(m_, Op::Shr, {at, i64_literal(m_, log)});
        const Expr* word = lookup(m_, var(m_, words), select(m_, inside, number, i64_literal(m_, 0)));
        const Expr* by = as(Scalar::U32, scalar_op(m_, Op::BitAnd, {at, i64_literal(m_, mask)}));
        const Expr* one = int_literal(m_, u32, 1);
        return scalar_op(m_, Op::Eq,
                         {scalar_op(m_, Op::BitAnd, {scalar_op(m_, Op::Shr, {word, by}), one}), one});
    }

    const Expr* as(Scalar s, const Expr* of) { return of->type->scalar == s ? of : cast(m_, s, of, of->loc); }

    /// What the look-up `e` gives.
    const Expr* given(const Expr* e, const Table& table, const Expr* at, const Expr* found) {
        if (e->op == Op::KeyExists) return found;
        const Type* value = table.dict->type->value();
        if (e->op == Op::Lookup) {
            const auto field = [&](std::size_t k) { return lookup(m_, values_of(table, k), at, e->loc); };
            return if_(m_, found, whole(value, field), e, e->loc);
        }
        const Expr* inside = select(m_, found, at, i64_literal(m_, 0), e->loc);
        const auto field = [&](std::size_t k) {
            const Expr* there = lookup(m_, values_of(table, k), inside, e->loc);
            return select(m_, found, there, literal(m_, there->type, 0), e->loc);
        };
        return make_struct(m_, {found, whole(value, field)}, e->loc);
    }

    /// A value, of which `field(k)` are the fields.
    template <class F>
    const Expr* whole(const Type* value, const F& field) {
        if (!value->is_struct()) return field(0);
        std::vector<const Expr*> all;
        for (std::size_t k = 0; k < value->args.size(); ++k) all.push_back(field(k));
        return make_struct(m_, all);
    }

    const Table& table_of(const Symbol* dict) {
        const auto known = std::ranges::find(tables_, dict, &Table::dict);
        if (known != tables_.end()) return *known;
        const Type* value = dict->type->value();
        Table table{dict, {}, nullptr};
        for (std::size_t k = 0; k < (value->is_struct() ? value->args.size() : 1); ++k) {
            const Type* parts[] = {m_.types.i64(), m_.types.vec(value->is_struct() ? value->args[k] : value)};
            table.fields.push_back(m_.symbol("by_key", m_.types.structure(parts)));
        }
        if (may_have_gaps(dict)) table.keys = m_.symbol("keys", m_.types.vec(m_.types.scalar(Scalar::U32)));
        tables_.push_back(std::move(table));
        return tables_.back();
    }

    /// Rounds of a loop filled it that some others did not.
    bool may_have_gaps(const Symbol* dict) {
        const Expr* made = facts_.definition(dict);
        const Expr* builder = made && made->op == Op::Result ? made->arg(0) : nullptr;
        return builder && builder->op == Op::For && !facts_.merges_per_iteration(builder);
    }

    const Expr* values_of(const Table& table, std::size_t field) {
        return get_field(m_, var(m_, table.fields[field]), 1);
    }

    Module& m_;
    Facts facts_;
    For loop_;
    BoundNames inside_;                                     ///< names of the loop
    std::unordered_map<const Expr*, const Expr*> certain_;  ///< look-ups of each round, and their keys
    const Expr* missing_ = nullptr;  ///< how many of these find nothing, in a round; null if there are none
    std::vector<Table> tables_;      ///< of the dictionaries that it looks into
};

}  // namespace

const Expr* dense_keys(Module& m, const Expr* lambda) {
    DenseKeys pass(m, lambda);
    return in_normal_form(m, lambda, pass.asking(lambda));
}

}  // namespace weld
