// Sorts of which a few first elements are read become loops that keep no more than these.
//
//     sort(v, |x| x.$1, 100L)
// becomes, where v is a vec[{i32,f64}],
//     let t = result(for(v, topk[{f64,i64,{i32,f64}}](100L), |b, i, x| merge(b, {x.$1, i, x})));
//     result(for(t, appender[{i32,f64}], |b, i, x| merge(b, x.$2)))
//
// The number of an element tells which of two with the same key comes first, as a stable sort has it. Elements
// that are long or hold vectors are looked up by it in the end instead. A loop can be joined with what makes
// `v`, which then need not be made. Inside of loops vectors tend to be short, so there it is done for very few elements
// of vectors that turn out to be longer:
//     if(64L < len(v), (let t = ...; ...), @(topk:false) sort(v, |x| x.$1, 3L))
// Where it is not known of how many elements, that is asked: `if(1L <= k & k <= 1024L, ..., @(topk:false) sort(v, |x| x.$1, k))`.
#include "weldir/ir/builder.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kMostFirst = 1024;      // elements; more are found sooner by sorting
constexpr std::int64_t kMostFirstInLoop = 32;  // which topk puts in order one by one
constexpr std::int64_t kMostBytes = 64;        // of an element that is kept

bool is_all_scalars(const Type* t) {
    return t->is_scalar() || (t->is_struct() && std::ranges::all_of(t->args, is_all_scalars));
}

/// Emitted code sees of such a key whether it comes too late.
bool begins_with_number(const Type* t) {
    while (t->is_struct() && !t->args.empty()) t = t->args[0];
    return t->is_scalar() && !t->is_bool();
}

const Expr* as_loop(Module& m, Sort s) {
    if (s.by().params().size() != 1) return nullptr;
    const Type *elem = s.of()->type->elem(), *key = s.by().body()->type, *number = m.types.i64();
    if (!is_path(s.of()) || !begins_with_number(key)) return nullptr;
    const bool is_key = is_var(s.by().body(), s.by().param(0));
    const bool is_kept = is_key || (is_all_scalars(elem) && size_of(elem) <= kMostBytes);
    const Loc loc = s.node->loc;

    std::vector<const Type*> fields = {key, number};
    if (is_kept && !is_key) fields.push_back(elem);
    const Type* kept = m.types.structure(fields);
    const Type* least = m.types.builder(BuilderKind::TopK, {&kept, 1});
    const Symbol *b = m.symbol("b", least), *i = m.symbol("i", number), *x = m.symbol("x", elem);
    const Lambda by = fresh(m, s.by().node)->as<Lambda>();
    std::vector<const Expr*> values = {let(m, by.param(0), var(m, x), by.body()), var(m, i)};
    if (fields.size() > 2) values.push_back(var(m, x));
    const Expr* body = merge(m, var(m, b), make_struct(m, values), nullptr, loc);
    const Expr* of = s.of();
    const Expr* found =
        loop(m, {&of, 1}, new_builder(m, least, s.limit(), loc), lambda(m, {b, i, x}, body), loc);

    const Type* list = m.types.builder(BuilderKind::Appender, {&elem, 1});
    const Symbol *c = m.symbol("b", list), *j = m.symbol("i", number), *y = m.symbol("x", kept);
    const Expr* one = is_key    ? get_field(m, var(m, y), 0)
                      : is_kept ? get_field(m, var(m, y), 2)
                                : lookup(m, s.of(), get_field(m, var(m, y), 1), loc);
    const Symbol* t = m.symbol("t", found->type->gives);
    const Expr* all[] = {var(m, t)};
    const Expr* elements =
        loop(m, all, new_builder(m, list), lambda(m, {c, j, y}, merge(m, var(m, c), one)), loc);
    return let(m, t, result(m, found, loc), result(m, elements, loc));
}

}  // namespace

/// So many elements are sorted sooner than a loop finds the first `limit` of them, where keys are scalars.
static std::int64_t most_sorted(std::int64_t limit) {
    if (limit == 1) return 512;  // by looking once
    return limit <= 8 ? 64 : 16 * limit;
}

/// `sort` as a loop where it gives few elements, and, if it is done again and again, where it has many.
static const Expr* where_it_pays(Module& m, Sort s, bool repeated) {
    if (s.node->says(AttrKey::TopK, false)) return nullptr;
    const std::int64_t most = repeated ? kMostFirstInLoop : kMostFirst;
    const Literal limit = s.limit() ? s.limit()->as<Literal>() : Literal{};
    const bool asks = s.limit() && !limit && !repeated && is_path(s.limit());
    if (!asks && (!limit || limit.as_int() < 1 || limit.as_int() > most)) return nullptr;
    const Expr* loop = as_loop(m, s);
    if (!loop) return nullptr;
    const auto at_most = [&](const Expr* a, const Expr* b) { return scalar_op(m, Op::Le, {a, b}); };
    const Expr* pays = nullptr;
    if (asks) {
        const Expr *some = at_most(i64_literal(m, 1), s.limit()),
                   *few = at_most(s.limit(), i64_literal(m, most));
        pays = scalar_op(m, Op::BitAnd, {some, few});
    } else if (repeated && s.by().body()->type->is_scalar()) {
        pays = scalar_op(m, Op::Lt, {i64_literal(m, most_sorted(limit.as_int())), len(m, s.of())});
    }
    return pays ? if_(m, pays, loop, annotate(m, s.node, AttrKey::TopK, "false"), s.node->loc) : loop;
}

/// `e`, with its sorts as loops.
static const Expr* with_loops(Module& m, const Expr* e, bool repeated) {
    if (const Sort s = e->as<Sort>())
        if (const Expr* loop = where_it_pays(m, s, repeated)) return loop;
    if (!e->binds) return e;
    repeated |= e->op == Op::For || e->op == Op::Iterate;
    return map_args(m, e, [&](const Expr* a, std::size_t) { return with_loops(m, a, repeated); });
}

const Expr* topk_sorts(Module& m, const Expr* lambda) {
    return in_normal_form(m, lambda, with_loops(m, lambda, false));
}

}  // namespace weld
