// Loops that look up integers ask once whether the keys of the dictionary are all integers of a range; if so, its
// values are elements of a vector.
//
//     for(ks, appender[f64], |b, i, k| let o = optlookup(d, k); if(o.$0, merge(b, o.$1), b))
// becomes
//     let by_key = cudf[weld_dense_values,{i64,vec[f64]}](d, len(ks), 0L);
//     if(len(by_key.$1) > 0L,
//       for(ks, appender[f64], |b, i, k|
//         let at = k - by_key.$0;
//         let found = u64(at) < u64(len(by_key.$1));
//         let o = {found, select(found, lookup(by_key.$1, select(found, at, 0L)), 0.0)};
//         if(o.$0, merge(b, o.$1), b)),
//       for(ks, appender[f64], ... as before))
//
// Numbers that a table counts from 0 or 1 are such keys, and groups of them: nothing is hashed then, and the loop runs on
// lanes. A `lookup` that finds nothing asks the dictionary, which fails where the program said.
//
// For values that are numbers, bools, or structs of a few, each field of which is a vector of its own; in loops that
// are in no other one. The kernel gives no values where making the vector would not pay.
#include <algorithm>
#include <map>

#include "weldir/ir/facts.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostFields = 4;
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
        inside_ = BoundNames(e);
        const Expr* now =
            rewrite(m_, f.body().body(), [&](const Expr* part) { return found_by_place(part); });
        if (tables_.empty()) return e;
        return asked(f, now);
    }

  private:
    /// {least key, values}, one for each field of the values.
    using Table = std::vector<const Symbol*>;

    /// `if(all are dense, the loop with this body, the loop)`.
    const Expr* asked(For f, const Expr* body) {
        Lets lets;
        const Expr* dense = nullptr;
        for (const auto& [dict, table] : tables_) {
            for (std::size_t k = 0; k < table.size(); ++k) {
                const Expr* of[] = {var(m_, dict), trip_count(m_, f.data()[0]),
                                    i64_literal(m_, std::int64_t(k))};
                lets.emplace_back(table[k],
                                  builtin_kernel(m_, "weld_dense_values", table[k]->type, of, f.node->loc));
            }
            const Expr* any = scalar_op(m_, Op::Gt, {len(m_, values_of(table[0])), i64_literal(m_, 0)});
            dense = dense ? scalar_op(m_, Op::BitAnd, {dense, any}) : any;
        }
        const Expr* quick = with_body(m_, f.node, body);
        return block(m_, lets, if_(m_, dense, quick, fresh(m_, f.node), f.node->loc), f.node->loc);
    }

    const Expr* found_by_place(const Expr* e) {
        const std::optional<Search> search = Search::of(e);
        if (!search || !search->may_be_dense() || inside_.are_read_by(search->dict)) return nullptr;
        const Type* value = search->dict->type->value();
        const Table& table = table_of(search->dict->as<Var>().symbol(), value);
        const Symbol* at = m_.symbol("at", m_.types.i64());
        const Symbol* found = m_.symbol("found", m_.types.scalar(Scalar::Bool));
        const auto as = [&](Scalar s, const Expr* of) {
            return of->type->scalar == s ? of : cast(m_, s, of, e->loc);
        };
        const Expr* first = get_field(m_, var(m_, table[0]), 0);
        const Expr* place = scalar_op(m_, Op::Sub, {as(Scalar::I64, search->key), first}, e->loc);
        const Expr* count = len(m_, values_of(table[0]));
        const Lets lets = {
            {at, place},
            {found, scalar_op(m_, Op::Lt, {as(Scalar::U64, var(m_, at)), as(Scalar::U64, count)}, e->loc)}};
        return block(m_, lets, given(e, table, value, var(m_, at), var(m_, found)), e->loc);
    }

    /// What the look-up `e` gives.
    const Expr* given(const Expr* e, const Table& table, const Type* value, const Expr* at,
                      const Expr* found) {
        if (e->op == Op::KeyExists) return found;
        if (e->op == Op::Lookup) {
            const auto field = [&](std::size_t k) { return lookup(m_, values_of(table[k]), at, e->loc); };
            return if_(m_, found, whole(value, field), e, e->loc);
        }
        const Expr* inside = select(m_, found, at, i64_literal(m_, 0), e->loc);
        const auto field = [&](std::size_t k) {
            const Expr* there = lookup(m_, values_of(table[k]), inside, e->loc);
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

    const Table& table_of(const Symbol* dict, const Type* value) {
        const auto known = std::ranges::find(tables_, dict, [](const auto& t) { return t.first; });
        if (known != tables_.end()) return known->second;
        Table table;
        const std::size_t fields = value->is_struct() ? value->args.size() : 1;
        for (std::size_t k = 0; k < fields; ++k) {
            const Type* parts[] = {m_.types.i64(), m_.types.vec(value->is_struct() ? value->args[k] : value)};
            table.push_back(m_.symbol("by_key", m_.types.structure(parts)));
        }
        return tables_.emplace_back(dict, table).second;
    }

    const Expr* values_of(const Symbol* table) { return get_field(m_, var(m_, table), 1); }

    Module& m_;
    Facts facts_;
    BoundNames inside_;                                    ///< names of the loop
    std::vector<std::pair<const Symbol*, Table>> tables_;  ///< of the dictionaries that it looks into
};

}  // namespace

const Expr* dense_keys(Module& m, const Expr* lambda) {
    DenseKeys pass(m, lambda);
    return in_normal_form(m, lambda, pass.asking(lambda));
}

}  // namespace weld
