// Results, builders and exported arrays keep what they point into, as far as it is the library's: other
// results, arrays that were imported, constants of programs. Memory of the caller is copied where an array
// has to own it.
#include <weld/arrow.h>

#include <cstring>

#include "api.h"

using namespace test;

namespace {

using Ints = Vec<std::int64_t>;
using Strings = Vec<Vec<std::int8_t>>;

std::string text(const Vec<std::int8_t>& s) {
    return {reinterpret_cast<const char*>(s.data), std::size_t(s.len)};
}

/// Takes the memory of freed values for something else.
void use_again(const Context& c) {
    run(compile("|n: i64| result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, -7L)))"), c,
        std::int64_t(20'000));
    weld_context_trim(c.get());
}

/// Memory that somebody lends by Arrow; with its release it goes, in fact.
struct Lent {
    std::vector<std::vector<char>> memory;
    std::vector<const void*> buffers{nullptr};
    ArrowArray array{};
    ArrowSchema schema{};
    int released = 0;

    Lent(const char* format, std::int64_t length) {
        array.length = length;
        array.private_data = this;
        array.release = [](ArrowArray* a) {
            auto* lent = static_cast<Lent*>(a->private_data);
            for (auto& m : lent->memory) std::vector<char>(m.size(), 'x').swap(m);
            ++lent->released;
            a->release = nullptr;
        };
        schema.format = format;
        schema.release = [](ArrowSchema* s) { s->release = nullptr; };
    }
    template <class T>
    void add(const std::vector<T>& values) {
        const char* bytes = reinterpret_cast<const char*>(values.data());
        memory.emplace_back(bytes, bytes + values.size() * sizeof(T));
        buffers.push_back(memory.back().data());
        array.n_buffers = std::int64_t(buffers.size());
        array.buffers = buffers.data();
    }
    Value value(const Module& m) {
        ArrowArray* arrays[] = {&array};
        const ArrowSchema* schemas[] = {&schema};
        const Error e = error();
        Value v(weld_value_from_arrow(m.get(), arrays, schemas, 1, e.get()));
        REQUIRE_MESSAGE(v, weld_error_message(e.get()));
        return v;
    }
};

struct LentInts : Lent {
    explicit LentInts(std::vector<std::int64_t> numbers) : Lent("l", std::int64_t(numbers.size())) {
        add(numbers);
    }
};
struct LentStrings : Lent {
    LentStrings() : Lent("U", 3) {
        add<std::int64_t>({0, 3, 3, 8});
        add<char>({'A', 'd', 'a', 'G', 'r', 'a', 'c', 'e'});
    }
};

Value run_on(const Module& m, const Context& c, const Value& input) {
    const Error e = error();
    Value out(weld_module_run(m.get(), c.get(), input.get(), e.get()));
    REQUIRE_MESSAGE(out, weld_error_message(e.get()));
    return out;
}

struct Exported {
    ArrowArray array{};
    ArrowSchema schema{};
    explicit Exported(const Value& v) {
        const Error e = error();
        REQUIRE_MESSAGE(weld_value_to_arrow(v.get(), &array, &schema, e.get()) == WELD_SUCCESS,
                        weld_error_message(e.get()));
    }
    Exported(const Exported&) = delete;
    ~Exported() {
        if (array.release) array.release(&array);
        if (schema.release) schema.release(&schema);
    }
    std::vector<std::int64_t> ints() const {
        const auto* data = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
        return {data, data + array.length};
    }
};

}  // namespace

TEST_CASE("a result keeps the result that it points into") {
    const Context c = context(), other = context();
    const Module make =
        compile("|n: i64| result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x)))");
    const Module part = compile("|v: vec[i64]| slice(v, 2L, 3L)");
    for (const Context* second : {&c, &other}) {
        Value first = run(make, c, std::int64_t(1000));
        Value out;
        SUBCASE("by the value's own memory") {
            out = run_on(part, *second, Value(weld_value_new(weld_value_data(first.get()))));
        }
        SUBCASE("by a struct of the caller") { out = run(part, *second, as<Ints>(first)); }
        SUBCASE("through a third") {
            Value between = run(compile("|v: vec[i64]| {v, 1}"), *second, as<Ints>(first));
            first.reset();
            out = run(part, c, as<Ints>(between));
        }
        first.reset();
        use_again(c);
        use_again(other);
        CHECK(elements(as<Ints>(out)) == std::vector<std::int64_t>{2, 3, 4});
        CHECK(weld_context_memory_usage(c.get()) > 0);
        out.reset();
        CHECK(weld_context_memory_usage(c.get()) == 0);
        CHECK(weld_context_memory_usage(other.get()) == 0);
    }
}

TEST_CASE("results of runs that each had a configuration instead of a context") {
    const Conf conf = test::conf();
    const Module make = compile("map([1L, 2L, 3L], |x| x * 10L)"), same = compile("|v: vec[i64]| v");
    Value v(weld_module_run(make.get(), conf.get(), nullptr, nullptr));
    for (int i = 0; i < 5; ++i) {
        const Value input(weld_value_new(weld_value_data(v.get())));
        Value next(weld_module_run(same.get(), conf.get(), input.get(), nullptr));
        REQUIRE(next);
        v = std::move(next);
    }
    CHECK(elements(as<Ints>(v)) == std::vector<std::int64_t>{10, 20, 30});
}

TEST_CASE("what a result does not point into is let go") {
    const Context c = context();
    const Module step = compile("|v: vec[i64]| map(v, |x| x + 1L)");
    // of the first field each result takes over the second of the one before
    const Module two = compile("|a: vec[i64], b: vec[i64]| {b, map(zip(a, b), |p| p.$0 + p.$1)}");
    const Module nested = compile("|a: vec[vec[i64]], b: vec[vec[i64]]| {b, map(a, |v| map(v, |x| x + 1L))}");
    // the window moves on: its vectors are those of results before, but one
    const Module window = compile(
        "|v: vec[vec[i64]], n: i64| result(for(slice(v, 0L, 3L), for([n], appender[vec[i64]], |b, i, x| "
        "merge(b, result(for(rangeiter(0L, 1000L, 1L), appender[i64], |b, i, y| merge(b, x + y))))), |b, i, "
        "x| merge(b, x)))");
    struct Two {
        Ints a, b;
    };
    std::vector<std::int64_t> some(1000, 1);
    std::int64_t most = 0;
    Value v;
    SUBCASE("a new vector each time") {
        v = run(step, c, vec(some));
        for (int i = 0; i < 300; ++i) {
            v = run(step, c, as<Ints>(v));
            most = std::max(most, weld_context_memory_usage(c.get()));
        }
        CHECK(as<Ints>(v).data[999] == 302);
    }
    SUBCASE("one new of two") {
        v = run(two, c, Two{vec(some), vec(some)});
        for (int i = 0; i < 80; ++i) {
            v = run(two, c, as<Two>(v));
            most = std::max(most, weld_context_memory_usage(c.get()));
        }
        CHECK(as<Two>(v).a.data[5] == 61305790721611591);  // Fibonacci
    }
    SUBCASE("one new of two with vectors in it") {
        Vec<Ints> outer{nullptr, 1};
        Ints inner = vec(some);
        outer.data = &inner;
        struct {
            Vec<Ints> a, b;
        } args{outer, outer};
        v = run(nested, c, args);
        for (int i = 0; i < 300; ++i) {
            v = run(nested, c, as<decltype(args)>(v));
            most = std::max(most, weld_context_memory_usage(c.get()));
        }
        CHECK(as<decltype(args)>(v).b.data[0].data[7] == 151 + 1);
    }
    SUBCASE("a window") {
        std::vector<Ints> all(4, vec(some));
        struct {
            Vec<Ints> v;
            std::int64_t n;
        } args{{all.data(), 4}, 0};
        v = run(window, c, args);
        for (args.n = 1; args.n < 300; ++args.n) {
            args.v = as<Vec<Ints>>(v);
            v = run(window, c, args);
            most = std::max(most, weld_context_memory_usage(c.get()));
        }
        REQUIRE(as<Vec<Ints>>(v).len == 4);
        for (int i = 0; i < 4; ++i) CHECK(as<Vec<Ints>>(v).data[i].data[999] > 999);
    }
    CHECK(most < 400'000);
    v.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("vectors in vectors, structs and dictionaries keep what is theirs") {
    const Context c = context(), other = context();
    Value strings =
        run(compile("|n: i64| result(for(rangeiter(0L, n, 1L), appender[vec[i8]], |b, i, x| merge(b, "
                    "result(for(rangeiter(0L, 5L, 1L), appender[i8], |b, i, y| merge(b, i8(97L + x)))))))"),
            c, std::int64_t(20));
    Value out;
    const char* expected = "";
    SUBCASE("some of them") {
        out = run(compile("|v: vec[vec[i8]]| filter(v, |s| lookup(s, 0L) > 113c)"), other,
                  as<Strings>(strings));
        expected = R"([[114, 114, 114, 114, 114], [115, 115, 115, 115, 115], [116, 116, 116, 116, 116]])";
    }
    SUBCASE("in structs") {
        out = run(compile("|v: vec[vec[i8]]| [{1, {lookup(v, 0L), 2}}, {3, {lookup(v, 1L), 4}}]"), other,
                  as<Strings>(strings));
        expected = R"([[1, [[97, 97, 97, 97, 97], 2]], [3, [[98, 98, 98, 98, 98], 4]]])";
    }
    SUBCASE("as keys and values") {
        out = run(
            compile("|v: vec[vec[i8]]| result(for(slice(v, 2L, 2L), groupmerger[vec[i8],vec[i8]], |b, i, s| "
                    "merge(b, {s, s})))"),
            other, as<Strings>(strings));
        expected =
            R"([[[99, 99, 99, 99, 99], [[99, 99, 99, 99, 99]]], [[100, 100, 100, 100, 100], [[100, 100, 100, 100, 100]]]])";
    }
    SUBCASE("all, in a vector of the caller") {
        std::vector<Vec<std::int8_t>> own(as<Strings>(strings).data, as<Strings>(strings).data + 2);
        out = run(compile("|v: vec[vec[i8]]| map(v, |s| slice(s, 1L, 1L))"), other,
                  Strings{own.data(), std::int64_t(own.size())});
        expected = "[[97], [98]]";
    }
    SUBCASE("from a dictionary") {
        Value dict = run(
            compile(
                "|v: vec[vec[i8]]| result(for(v, dictmerger[i64,i64,+], |b, i, s| merge(b, {i, len(s)})))"),
            c, as<Strings>(strings));
        out = run(compile("|d: dict[i64,i64]| {d, len(d)}"), other, as<void*>(dict));
        dict.reset();
        use_again(c);
        weld_dict_t d = as<weld_dict_t>(out);
        CHECK(weld_dict_size(d) == 20);
        const std::int64_t key = 19;
        CHECK(*static_cast<const std::int64_t*>(weld_dict_find(d, &key)) == 5);
    }
    strings.reset();
    use_again(c);
    use_again(other);
    if (*expected) CHECK(json(out) == expected);
    out.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("constants of a program outlive it in results of others") {
    const Context c = context();
    Value first = run(compile("[\"Ada\", \"Grace\"]"), c);
    Value second = run(compile("|v: vec[vec[i8]]| {lookup(v, 1L), v}"), c, as<Strings>(first));
    Value third = run(compile("|s: vec[i8]| slice(s, 1L, 3L)"), c, as<Vec<std::int8_t>>(second));
    first.reset();
    second.reset();
    for (int i = 0; i < 200; ++i)
        compile("|x: i64| x - " + std::to_string(i) + "L");  // nothing is kept by chance
    use_again(c);
    CHECK(text(as<Vec<std::int8_t>>(third)) == "rac");
}

TEST_CASE("an imported array lives as long as what points into it") {
    const Context c = context();
    const Module part = compile("|v: vec[i64]| slice(v, 1L, 2L)"), sum = compile("|v: vec[i64]| sum(v)");
    LentInts lent({1, 2, 3, 4});
    Value input = lent.value(part);
    SUBCASE("a result") {
        Value out = run_on(part, c, input);
        input.reset();
        CHECK(lent.released == 0);
        CHECK(elements(as<Ints>(out)) == std::vector<std::int64_t>{2, 3});
        out.reset();
    }
    SUBCASE("a result of a result") {
        Value out = run_on(part, c, input);
        input.reset();
        Value again = run(part, c, as<Ints>(out));
        out.reset();
        CHECK(lent.released == 0);
        CHECK(elements(as<Ints>(again)) == std::vector<std::int64_t>{3});
        again.reset();
    }
    SUBCASE("one of several arguments, which the caller put together") {
        struct {
            Ints v;
            std::int64_t k;
        } args{*static_cast<Ints*>(weld_value_data(input.get())), 3};
        Value out = run(compile("|v: vec[i64], k: i64| {v, k}"), c, args);
        input.reset();
        CHECK(lent.released == 0);
        CHECK(as<decltype(args)>(out).v.data[3] == 4);
        out.reset();
    }
    SUBCASE("but no longer") {
        const Value out = run_on(sum, c, input);
        input.reset();
        CHECK(lent.released == 1);
        CHECK(as<std::int64_t>(out) == 10);
    }
    SUBCASE("a builder") {
        Value state = run_on(compile("|v: vec[i64]| merge(appender[vec[i64]], v)"), c, input);
        input.reset();
        CHECK(lent.released == 0);
        struct {
            void* data;
            std::int64_t size, capacity;
        } bytes = as<decltype(bytes)>(state);
        Value out = run(compile("|b: appender[vec[i64]]| result(merge(b, [9L]))"), c, bytes);
        state.reset();
        use_again(c);
        CHECK(json(out) == "[[1, 2, 3, 4], [9]]");
        CHECK(lent.released == 0);
        out.reset();
    }
    SUBCASE("of a builder that holds numbers it is free") {
        Value state = run_on(
            compile("|v: vec[i64]| for(v, dictmerger[i64,i64,+], |b, i, x| merge(b, {x, x}))"), c, input);
        input.reset();
        CHECK(lent.released == 1);
        CHECK(json(run(compile("|b: dictmerger[i64,i64,+]| result(b)"), c, as<void*>(state))) ==
              "[[1, 1], [2, 2], [3, 3], [4, 4]]");
    }
    CHECK(lent.released == 1);
}

TEST_CASE("imported strings") {
    const Context c = context();
    const Module m = compile("|v: vec[vec[i8]]| filter(v, |s| len(s) > 0L)");
    LentStrings lent;
    Value input = lent.value(m);
    Value out = run_on(m, c, input);
    input.reset();
    REQUIRE(as<Strings>(out).len == 2);
    CHECK(text(as<Strings>(out).data[1]) == "Grace");
    CHECK(lent.released == 0);
    out.reset();
    CHECK(lent.released == 1);
}

TEST_CASE("two imports of one memory") {
    const Context c = context();
    const Module part = compile("|v: vec[i64]| slice(v, 1L, 2L)");
    LentInts lent({1, 2, 3, 4}), again({});
    again.buffers[1] = lent.buffers[1];
    again.array.length = 4;
    Value one = lent.value(part), two = again.value(part);
    Value out = run_on(part, c, two);
    one.reset();
    two.reset();
    CHECK(lent.released == 0);
    CHECK(again.released == 0);
    CHECK(elements(as<Ints>(out)) == std::vector<std::int64_t>{2, 3});
    out.reset();
    CHECK(lent.released == 1);
    CHECK(again.released == 1);
}

TEST_CASE("an exported array owns all of its memory, in whatever order things are freed") {
    Context c = context();
    const Module same = compile("|v: vec[i64]| v");
    SUBCASE("of an import") {
        LentInts lent({1, 2, 3});
        Value input = lent.value(same);
        Value out = run_on(same, c, input);
        {
            Exported first(out), second(out);
            CHECK(first.array.buffers[1] == lent.buffers[1]);  // not copied
            SUBCASE("values first") { out.reset(), input.reset(); }
            SUBCASE("input first") { input.reset(), out.reset(); }
            SUBCASE("an export first") {
                first.array.release(&first.array);
                out.reset(), input.reset();
            }
            SUBCASE("values last") {}
            c.reset();
            CHECK(lent.released == 0);
            CHECK(second.ints() == std::vector<std::int64_t>{1, 2, 3});
        }
        out.reset(), input.reset();
        CHECK(lent.released == 1);
    }
    SUBCASE("of the caller") {
        auto numbers = std::make_unique<std::vector<std::int64_t>>(1000, 5);
        Value out = run(compile("|v: vec[i64]| {slice(v, 1L, 2L), map(slice(v, 0L, 2L), |x| x + 1L)}"), c,
                        vec(*numbers));
        Exported exported(out);
        out.reset();
        numbers.reset();
        c.reset();
        REQUIRE(exported.array.n_children == 2);
        const auto* given = static_cast<const std::int64_t*>(exported.array.children[0]->buffers[1]);
        const auto* made = static_cast<const std::int64_t*>(exported.array.children[1]->buffers[1]);
        CHECK((given[0] == 5 && given[1] == 5 && made[0] == 6 && made[1] == 6));
    }
    SUBCASE("of a result, and given back as an argument") {
        Value first = run(compile("map([1L, 2L, 3L], |x| x * x)"), c);
        Exported exported(first);
        const void* const memory = exported.array.buffers[1];
        first.reset();
        use_again(c);
        ArrowArray* arrays[] = {&exported.array};
        const ArrowSchema* schemas[] = {&exported.schema};
        Value input(weld_value_from_arrow(same.get(), arrays, schemas, 1, nullptr));
        REQUIRE(input);
        Value out = run_on(same, c, input);
        input.reset();
        use_again(c);
        CHECK((as<Ints>(out).data == memory));
        CHECK(elements(as<Ints>(out)) == std::vector<std::int64_t>{1, 4, 9});
        out.reset();
        CHECK(weld_context_memory_usage(c.get()) == 0);
    }
    SUBCASE("of a constant, of bytes and of nothing") {
        auto bytes = std::make_unique<std::vector<std::uint8_t>>(std::vector<std::uint8_t>{'a', 'b', 'c'});
        struct {
            Vec<std::uint8_t> bytes;
            Ints none;
        } args{vec(*bytes), {nullptr, 0}};
        Value out = run(
            compile("|b: vec[u8], n: vec[i64]| {{[0L, 1L, 3L], b}, {slice(n, 0L, 0L), slice(b, 1L, 0L)}}"), c,
            args);
        std::string why;
        const Error e = error();
        ArrowArray a;
        ArrowSchema s;
        CHECK(weld_value_to_arrow(out.get(), &a, &s, e.get()) == WELD_INVALID_ARGUMENT);  // not of one length
        out = run(compile("|b: vec[u8], n: vec[i64]| {[0L, 1L, 3L], b}"), c, args);
        Value empty = run(compile("|b: vec[u8], n: vec[i64]| {n, b}"), c, args);
        Exported strings(out), none(empty), nothing(run(compile("|b: vec[u8], n: vec[i64]| n"), c, args));
        out.reset(), empty.reset(), c.reset(), bytes.reset();
        CHECK(static_cast<const std::int64_t*>(strings.array.buffers[1])[2] == 3);
        CHECK(std::string(static_cast<const char*>(strings.array.buffers[2]), 3) == "abc");
        CHECK(none.array.length == 0);
        CHECK(static_cast<const std::int64_t*>(none.array.buffers[1])[0] == 0);
        CHECK(nothing.array.length == 0);
        CHECK((nothing.array.buffers[1] != nullptr));
    }
}
