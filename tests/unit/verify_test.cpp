// Modules that break one rule each.
#include <doctest/doctest.h>

#include <array>

#include "weldir/ir/build.h"
#include "weldir/ir/verify.h"

using namespace weld;

namespace {

struct Fixture {
    Module m;
    const Type* i32 = m.types.scalar(Scalar::I32);
    const Type* i64 = m.types.i64();
    const Type* f64 = m.types.scalar(Scalar::F64);
    const Type* merger = m.types.builder(BuilderKind::Merger, std::span(&i32, 1));
    const Expr* num(std::int64_t n) { return int_literal(m, i32, n); }
    const Expr* vec() {
        const Expr* one[] = {num(1)};
        return make_vec(m, i32, one);
    }
    const Expr* start() { return new_builder(m, merger); }

    /// What is wrong with a program of no parameters: the first part of the message, without the place.
    std::string wrong(const Expr* body) {
        m.main = lambda(m, {}, body);
        const std::string s = verify(m);
        return s.substr(0, s.find("; in `"));
    }
    template <class Fn>
    const Expr* loop_over(const Expr* data, const Expr* builder, Fn&& body) {
        const Symbol *b = m.symbol("b", builder->type), *i = m.symbol("i", i64),
                     *x = m.symbol("x", data->type->elem());
        return loop(m, std::span(&data, 1), builder, lambda(m, {b, i, x}, body(var(m, b), var(m, x))));
    }
    template <class Fn>
    const Expr* loop_over(const Expr* builder, Fn&& body) {
        return loop_over(vec(), builder, body);
    }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a right program has nothing wrong") {
    const Expr* sum = loop_over(start(), [&](const Expr* b, const Expr* x) { return merge(m, b, x); });
    CHECK(wrong(result(m, sum)) == "");
}

TEST_CASE_FIXTURE(Fixture, "scopes") {
    const Symbol *x = m.symbol("x", i32), *y = m.symbol("y", i32);
    CHECK(wrong(var(m, x)) == "`x` is not bound");
    CHECK(wrong(let(m, x, num(1), let(m, x, num(2), var(m, x)))) == "`x` is bound twice");
    const Expr* inner = let(m, y, num(1), var(m, y));
    CHECK(wrong(make_struct(m, {inner, var(m, y)})) == "`y` is not bound");
    const Symbol* p = m.symbol("p", i32);
    CHECK(wrong(make_struct(m, {lambda(m, {p}, var(m, p))})) == "a function where a value is wanted");
    const Expr* bounds[] = {int_literal(m, i64, 0), int_literal(m, i64, 1), int_literal(m, i64, 1)};
    CHECK(wrong(iter(m, IterKind::Scalar, vec(), bounds)) == "an iterator outside of a loop");
}

TEST_CASE_FIXTURE(Fixture, "types") {
    const Expr* real = float_literal(m, f64, 1);
    CHECK(wrong(scalar_op(m, Op::Add, {num(1), real})) == "the right side is `f64`, not `i32`");
    CHECK(wrong(scalar_op(m, Op::Exp, {num(1)})) == "`exp` is not defined for `i32`");
    CHECK(wrong(scalar_op(m, Op::And, {num(1), num(2)})) == "`&&` is not defined for `i32`");
    CHECK(wrong(literal(m, m.types.boolean(), 2)) == "a literal has bits outside of its type");
    CHECK(wrong(if_(m, num(1), num(1), num(2))) == "the condition of an `if` is bool");
    CHECK(wrong(lookup(m, vec(), num(0))) == "an index is i64");
    CHECK(wrong(result(m, merge(m, start(), real))) == "a merge of `f64` into `merger[i32,+]`");
    const Type* bad = m.types.builder(BuilderKind::Merger, std::span(&merger->args[0], 1));
    CHECK(bad == merger);
    const Type* of_vec = m.types.vec(i32);
    CHECK(wrong(result(m, new_builder(m, m.types.builder(BuilderKind::Merger, std::span(&of_vec, 1))))) ==
          "`vec[i32]` cannot be merged by an operator");
}

TEST_CASE_FIXTURE(Fixture, "lanes") {
    const Expr *four = broadcast(m, num(1), 4), *eight = broadcast(m, num(1), 8);
    CHECK(wrong(scalar_op(m, Op::Add, {four, four})) == "");
    CHECK(wrong(scalar_op(m, Op::Add, {four, eight})) ==
          "the right side is `simd[i32,8]`, not `simd[i32,4]`");
    const Expr* mask = broadcast(m, bool_literal(m, true), 4);
    CHECK(wrong(result(m, merge(m, start(), four, mask))) == "");
    CHECK(wrong(result(m, merge(m, start(), eight, mask))) == "a mask of `simd[bool,4]` for `simd[i32,8]`");
    CHECK(wrong(result(m, merge(m, start(), num(1), mask))) == "a mask of `simd[bool,4]` for `i32`");
    CHECK(wrong(select(m, mask, eight, eight)) == "a `select` of `simd[i32,8]` by `simd[bool,4]`");
}

TEST_CASE_FIXTURE(Fixture, "builders are used once on every path") {
    const Symbol* b = m.symbol("b", merger);
    auto used_as = [&](const Expr* rest) { return let(m, b, start(), rest); };
    CHECK(wrong(used_as(num(1))) == "builder `b` is not used");
    const Symbol* c = m.symbol("c", merger);
    CHECK(wrong(let(m, c, start(), make_struct(m, {result(m, var(m, c)), result(m, var(m, c))}))) ==
          "builder `c` is used twice");
    const Symbol* d = m.symbol("d", merger);
    CHECK(wrong(let(m, d, start(), if_(m, bool_literal(m, true), result(m, var(m, d)), num(1)))) ==
          "builder `d` is used on one side of an `if` only");
    const Symbol* e = m.symbol("e", merger);
    CHECK(wrong(let(m, e, start(),
                    if_(m, bool_literal(m, true), result(m, var(m, e)),
                        result(m, merge(m, var(m, e), num(1)))))) == "");
}

TEST_CASE_FIXTURE(Fixture, "structs of builders are followed field by field") {
    auto two = [&] { return make_struct(m, {start(), start()}); };
    auto results = [&](const Expr* e) {
        const Symbol* r = m.symbol("r", e->type);
        return let(
            m, r, e,
            make_struct(m, {result(m, get_field(m, var(m, r), 0)), result(m, get_field(m, var(m, r), 1))}));
    };
    auto field = [&](const Expr* b, int i, const Expr* x) { return merge(m, get_field(m, b, i), x); };
    CHECK(wrong(results(loop_over(two(), [&](const Expr* b, const Expr* x) {
              return make_struct(m, {field(b, 0, x), field(b, 1, x)});
          }))) == "");
    CHECK(wrong(results(loop_over(two(), [&](const Expr* b, const Expr* x) {
              return make_struct(m, {field(b, 1, x), field(b, 0, x)});
          }))) == "the function of a loop gives a builder that does not derive from its own");
    CHECK(wrong(results(loop_over(two(), [&](const Expr* b, const Expr* x) {
              return make_struct(m, {field(b, 0, x), field(b, 0, x)});
          }))) == "builder `b` is used twice");
    CHECK(wrong(result(m, get_field(m, two(), 0))) == "a builder is dropped");
}

TEST_CASE_FIXTURE(Fixture, "what is used again is looked at once, whatever the number of branches after it") {
    const Type* cells = m.types.builder(BuilderKind::VecMerger, std::span(&i32, 1));
    const Symbol *v = m.symbol("v", m.types.vec(i32)), *w = m.symbol("w", m.types.vec(i32));
    const Expr* there = annotate(m, new_builder(m, cells, var(m, v)), AttrKey::InPlace, "true");
    const Expr* added = result(m, merge(m, there, make_struct(m, {int_literal(m, i64, 0), num(2)})));
    std::vector<std::pair<const Symbol*, const Expr*>> lets{{v, vec()}, {w, added}};
    for (int i = 0; i < 100; ++i)
        lets.emplace_back(m.symbol("x", i32), if_(m, bool_literal(m, i % 2 == 0), num(1), num(2)));
    CHECK(wrong(block(m, lets, var(m, w))) == "");
    CHECK(wrong(block(m, lets, var(m, v))) == "`v` is read after its memory is freed or used again");
}

TEST_CASE_FIXTURE(Fixture, "loops give back their own builder and use none from outside") {
    CHECK(wrong(result(m, loop_over(start(), [&](const Expr* b, const Expr*) {
                           return merge(m, start(), result(m, b));
                       }))) == "the function of a loop gives a builder that does not derive from its own");
    const Symbol* outer = m.symbol("outer", merger);
    const Expr* inner =
        loop_over(start(), [&](const Expr* b, const Expr*) { return merge(m, b, result(m, var(m, outer))); });
    CHECK(wrong(let(m, outer, start(), result(m, inner))) ==
          "builder `outer` from outside is used inside a function");
    const Expr* nested = loop_over(start(), [&](const Expr* b, const Expr*) {
        return loop_over(b, [&](const Expr* c, const Expr* x) { return merge(m, c, x); });
    });
    CHECK(wrong(result(m, nested)) == "");
}

TEST_CASE_FIXTURE(Fixture, "functions of the module may hand builders through") {
    const Type* types[] = {merger, i32};
    Function* f = m.function("f", m.types.function(types, merger));
    const Symbol *b = m.symbol("b", merger), *n = m.symbol("n", i32);
    const Expr* args[] = {merge(m, var(m, b), var(m, n)), scalar_op(m, Op::Sub, {var(m, n), num(1)})};
    const Symbol* b2 = m.symbol("b2", merger);
    f->lambda = lambda(m, {b, n},
                       if_(m, scalar_op(m, Op::Eq, {var(m, n), num(0)}), let(m, b2, var(m, b), var(m, b2)),
                           call(m, f, args)));
    auto through = [&](const Expr* c, const Expr* x) {
        const Expr* a[] = {c, x};
        return call(m, f, a);
    };
    CHECK(wrong(result(m, loop_over(start(), through))) == "");
    f->lambda = nullptr;
    CHECK(wrong(result(m, loop_over(start(), through))) == "`f` is called and has no body");
}

TEST_CASE_FIXTURE(Fixture, "effects stand where order is plain") {
    auto effect = [&] { return kernel(m, {"print", false, true}, i32, {}); };
    const Symbol* x = m.symbol("x", i32);
    CHECK(wrong(let(m, x, effect(), var(m, x))) == "");
    CHECK(wrong(if_(m, bool_literal(m, true), effect(), num(1))) == "");
    const std::string nested = "an effect where the order of evaluation is not plain";
    CHECK(wrong(scalar_op(m, Op::Add, {effect(), num(1)})) == nested);
    auto effect_inside = [&](const Expr* b, const Expr*) { return merge(m, b, effect()); };
    CHECK(wrong(result(m, loop_over(start(), effect_inside))) == nested);
    auto effect_let = [&](const Expr* b, const Expr*) {
        const Symbol* y = m.symbol("y", i32);
        return let(m, y, effect(), merge(m, b, var(m, y)));
    };
    CHECK(wrong(result(m, loop_over(start(), effect_let))) == "");
    CHECK(wrong(result(m, annotate(m, loop_over(start(), effect_let), AttrKey::Parallel, "true"))) == nested);
}

TEST_CASE_FIXTURE(Fixture, "means that do not fit") {
    const Type* list = m.types.builder(BuilderKind::Appender, std::span(&i32, 1));
    const Type* pair[] = {i32, i32};
    const Type* table = m.types.builder(BuilderKind::DictMerger, pair);
    const auto always = [&](const Expr* b, const Expr* x) { return merge(m, b, x); };
    const Expr* each = loop_over(new_builder(m, list), always);
    const std::int64_t once[] = {1}, twice[] = {2};
    CHECK(wrong(result(m, annotate(m, each, AttrKey::Appends, once))) == "");
    CHECK(wrong(result(m, annotate(m, each, AttrKey::Appends, twice))) ==
          "each round appends so often as the loop says");

    const auto some = [&](auto&& value, AttrKey key) {
        return wrong(result(m, loop_over(new_builder(m, list), [&](const Expr* b, const Expr* x) {
                                const Expr* c = scalar_op(m, Op::Gt, {x, num(0)});
                                return annotate(m, if_(m, c, merge(m, b, value(x)), b), key, "true");
                            })));
    };
    CHECK(some([](const Expr* x) { return x; }, AttrKey::Always) == "");
    CHECK(some([&](const Expr* x) { return scalar_op(m, Op::Div, {num(1), x}); }, AttrKey::Always) ==
          "what is written in any case is merged on one side of an `if`, and cannot fail");
    CHECK(some([](const Expr* x) { return x; }, AttrKey::Branch) ==
          "a branch asks whether lanes are needed, or what is not in order as numbers are");

    const auto dict = [&] {
        const auto count = [&](const Expr* b, const Expr* x) {
            return merge(m, b, make_struct(m, {x, num(1)}));
        };
        const Expr* d = result(m, loop_over(new_builder(m, table), count));
        return annotate(m, d, AttrKey::Listed, "true");
    };
    const Symbol* d = m.symbol("d", dict()->type);
    CHECK(wrong(let(m, d, dict(), make_struct(m, {to_vec(m, var(m, d)), len(m, var(m, d))}))) == "");
    const Symbol* e = m.symbol("e", dict()->type);
    CHECK(wrong(let(m, e, dict(), lookup(m, var(m, e), num(1)))) ==
          "a dictionary that is only listed has another reader");
    CHECK(wrong(dict()) == "a dictionary that is only listed has another reader");

    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Cost, "0"))) ==
          "loops and sorts have a cost");
    const auto working = [&](const Symbol* says, const char* cost) {
        const Symbol* name[] = {says};
        const Expr* loop = annotate(m, loop_over(start(), always), AttrKey::Work, name);
        return result(m, cost ? annotate(m, loop, AttrKey::Cost, cost) : loop);
    };
    const Symbol *work = m.symbol("work", i64), *narrow = m.symbol("narrow", i32);
    CHECK(wrong(let(m, work, int_literal(m, i64, 1000), working(work, "1000"))) == "");
    CHECK(wrong(working(work, "1000")) == "`work` is not bound");
    CHECK(wrong(let(m, work, int_literal(m, i64, 1000), working(work, nullptr))) ==
          "a number says what a round of a loop costs");
    CHECK(wrong(let(m, narrow, num(1000), working(narrow, "1000"))) ==
          "a number says what a round of a loop costs");
    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Privatise, "64"))) ==
          "what is privatised is a vecmerger with accumulators");
    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Rounds, "8"))) ==
          "rounds are counted for the sake of copies");
    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Groups, "8"))) ==
          "groups are compared in batches");
    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Batch, "4"))) ==
          "batches are of groups");
    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Optimize, "true"))) ==
          "a loop is optimised at once, `later`, or not at all");
    const auto late = [&](const Expr* b, const Expr*) {
        return annotate(m, loop_over(b, always), AttrKey::Optimize, "later");
    };
    CHECK(wrong(result(m, late(start(), nullptr))) == "");
    CHECK(wrong(result(m, loop_over(start(), late))) ==
          "a loop in a loop is optimised with it, but for one that may be short");
    CHECK(wrong(annotate(m, num(1), AttrKey::Function, "optimized")) == "");
    CHECK(wrong(annotate(m, num(1), AttrKey::Function, "quick")) ==
          "a function is `optimized` at once or `later`");
    CHECK(wrong(scalar_op(m, Op::Neg, {annotate(m, num(1), AttrKey::Function, "optimized")})) ==
          "the result of a function's body says how the function is compiled");

    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Tail, "masked"))) ==
          "a loop finishes one over lanes of the same data, all of which merges or none");
    CHECK(wrong(result(m, annotate(m, loop_over(start(), always), AttrKey::Far, "64"))) ==
          "what is far is prefetched, by a key");
    const Expr* early = annotate(m, merge(m, start(), num(1)), AttrKey::Prefetch, "16");
    CHECK(wrong(result(m, early)) == "what is prefetched by a key says from which size on");

    const auto tiles = [&](const Expr* begin) {
        const auto rows = [&](const Expr* b, const Expr*) { return loop_over(b, always); };
        return result(m, annotate(m, loop_over(begin, rows), AttrKey::Tile, "32"));
    };
    const Expr* sized = new_builder(m, list, int_literal(m, i64, 1));
    CHECK(wrong(tiles(annotate(m, sized, AttrKey::Size, "given"))) == "");
    CHECK(wrong(tiles(sized)) ==
          "a loop goes on by tiles if it appends as often as its last loop has rounds");
    const Expr* numbers = make_vec(m, i32, std::array{num(1), num(2)});
    CHECK(wrong(annotate(m, lookup(m, numbers, int_literal(m, i64, 0)), AttrKey::Tile, "true")) == "");
    CHECK(wrong(annotate(m, lookup(m, numbers, int_literal(m, i64, 0)), AttrKey::Tile, "8")) ==
          "look-ups of scalars by tiles say `true`");
    const Expr* places = broadcast(m, int_literal(m, i64, 0), 8);
    const auto strided = [&](const char* by) {
        return wrong(annotate(m, lookup_lanes(m, numbers, places), AttrKey::Apart, by));
    };
    CHECK(strided("-4") == "");
    CHECK(strided("9") == "lanes are looked up at places that lie no more than 8 apart");
    CHECK(strided("0") == strided("9"));
    CHECK(wrong(annotate(m, lookup_lanes(m, numbers, places), AttrKey::Walks, "true")) == "");
    CHECK(wrong(annotate(m, lookup(m, numbers, int_literal(m, i64, 0)), AttrKey::Walks, "true")) ==
          "look-ups of all lanes say `true` if these walk");
    const Expr* mask = broadcast(m, bool_literal(m, true), places->type->lanes);
    CHECK(wrong(lookup_lanes(m, numbers, places, mask)) == "");
    CHECK(wrong(lookup_lanes(m, numbers, places, places)) == "the lanes that look up are lanes of bool");
    CHECK(wrong(annotate(m, lookup_lanes(m, numbers, places, mask), AttrKey::Walks, "true")) ==
          "look-ups of all lanes say `true` if these walk");
    CHECK(wrong(annotate(m, select(m, mask, places, places), AttrKey::Branch, "true")) == "");

    const Type* state[] = {i32};
    const Symbol* s = m.symbol("s", m.types.structure(state));
    const Expr* again = make_struct(m, {var(m, s), literal(m, m.types.boolean(), 0)});
    const Expr* rounds = iterate(m, make_struct(m, {num(1)}), lambda(m, {s}, again));
    CHECK(wrong(annotate(m, rounds, AttrKey::Few, "1")) ==
          "few of the lanes of an `iterate` go on one by one, after some patience");
    CHECK(wrong(annotate(m, rounds, AttrKey::Unread, std::vector<std::int64_t>{0})) ==
          "lanes of an `iterate` that have ended go on with fields of its state, where that is safe");
}

TEST_CASE_FIXTURE(Fixture, "tail calls are the last thing that a function does") {
    Function* f = m.function("f", m.types.function(std::span(&i32, 1), i32));
    const auto tail = [&](std::int64_t n) {
        const Expr* arg = num(n);
        return annotate(m, call(m, f, std::span(&arg, 1)), AttrKey::TailCall, "true");
    };
    const auto wrong_in = [&](auto&& body) {
        const Symbol *x = m.symbol("x", i32), *y = m.symbol("y", i32);
        f->lambda = lambda(m, {x}, body(x, y));
        return wrong(num(1));
    };
    const Expr* holds = literal(m, m.types.boolean(), 1);
    CHECK(wrong_in([&](auto*, auto* y) { return let(m, y, num(1), if_(m, holds, tail(1), var(m, y))); }) ==
          "");
    CHECK(wrong_in([&](auto* x, auto*) { return scalar_op(m, Op::Add, {var(m, x), tail(1)}); }) ==
          "a tail call is not the last thing that its function does");
    CHECK(wrong_in([&](auto*, auto* y) { return let(m, y, tail(1), scalar_op(m, Op::Neg, {var(m, y)})); }) ==
          "a tail call is not the last thing that its function does");
    CHECK(wrong_in([&](auto*, auto*) { return annotate(m, num(1), AttrKey::TailCall, "true"); }) ==
          "calls of functions take the place of their callers");
    f->lambda = lambda(m, {m.symbol("z", i32)}, num(1));
    CHECK(wrong(tail(1)) == "a tail call is not the last thing that its function does");
}

TEST_CASE_FIXTURE(Fixture, "rows that are put side by side are a value like any other") {
    const Type* row = m.types.vec(i32);
    const Expr *one = vec(), *zero = int_literal(m, i64, 0);
    const Expr* rows = opt_lanes(m, make_vec(m, row, std::span(&one, 1)), zero, 4);
    CHECK(wrong(rows) == "");
    CHECK(wrong(get_field(m, rows, 1)) == "");
    const Symbol* group = m.symbol("group", rows->type);
    CHECK(wrong(let(m, group, rows, make_struct(m, {get_field(m, var(m, group), 1), var(m, group)}))) == "");
}
