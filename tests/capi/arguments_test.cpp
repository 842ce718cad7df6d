// Vectors among the arguments that cannot be right: each is an error that names it, wherever it stands.
#include "api.h"

using namespace test;

namespace {

using Ints = Vec<std::int64_t>;

template <class Args>
void refused(const char* program, const Args& args, const char* part) {
    CAPTURE(program);
    const Context c = context();
    std::string message;
    CHECK(failure(compile(program), c, args, &message) == WELD_INVALID_ARGUMENT);
    CHECK_MESSAGE(message.find(part) != std::string::npos, message);
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

}  // namespace

TEST_CASE("vectors without elements, or of a negative length") {
    std::int64_t seven = 7;
    refused("|a: i64, v: vec[i64]| sum(v)", std::pair<std::int64_t, Ints>{1, {nullptr, 5}},
            "`v` has no elements (NULL), but the length 5");
    refused("|v: vec[i64]| sum(v)", Ints{&seven, -5}, "`v` has the length -5");
    refused("|v: vec[i64]| sum(v)", Ints{nullptr, -5}, "`v` has the length -5");
    refused("|v: vec[i64]| sum(v)", Ints{&seven, INT64_MAX}, "`v` has a length that no memory has");
    refused("|s: {i64,{i64,vec[i64]}}| sum(s.$1.$1)",
            std::tuple<Ints, std::int64_t, std::int64_t>{{nullptr, 1}, 0, 0},
            "`s.$1.$1` has no elements");  // std::tuple lays out from the end
}

TEST_CASE("vectors in vectors") {
    std::int64_t seven = 7;
    std::vector<Ints> inner(1000, Ints{&seven, 1});
    inner[3] = {nullptr, 0};
    inner[4] = {&seven, 0};
    const char* const sums = "|v: vec[vec[i64]]| sum(map(v, |y| sum(y)))";
    const Context c = context();
    CHECK(as<std::int64_t>(run(compile(sums), c, vec(inner))) == 7 * 998);
    inner[999] = {nullptr, 5};
    refused(sums, vec(inner), "`v[999]` has no elements (NULL), but the length 5");
    refused("|v: vec[vec[i64]]| len(v)", vec(inner), "`v[999]`");  // also if the program does not look at it
    inner[17] = {&seven, -1};
    refused(sums, vec(inner), "`v[17]` has the length -1");
    std::vector<Vec<Ints>> outer{{nullptr, 0}, vec(inner)};
    refused("|v: vec[vec[vec[i64]]]| len(v)", vec(outer), "`v[1][17]` has the length -1");
    struct Row {
        std::int8_t a;
        Ints v;
    };
    std::vector<Row> rows{{1, {&seven, 1}}, {2, {nullptr, 1}}};
    refused("|v: vec[{i8,vec[i64]}]| len(v)", vec(rows), "`v[1].$1` has no elements");
}

TEST_CASE("vectors that are not aligned") {
    alignas(64) char bytes[64] = {};
    const auto at = [&](int offset) { return reinterpret_cast<std::int64_t*>(bytes + offset); };
    refused("|v: vec[i64]| sum(v)", Ints{at(1), 2},
            "`v` is not aligned: the address of a `i64` is a multiple of 8");
    refused("|v: vec[f32]| sum(v)", Ints{at(2), 2}, "multiple of 4");
    refused("|v: vec[{i8,i16}]| len(v)", Ints{at(1), 2}, "the address of a `{i8,i16}` is a multiple of 2");
    refused("|v: vec[simd[f64,8]]| len(v)", Ints{at(8), 0 + 1}, "multiple of 64");
    std::vector<Ints> inner{{at(8), 1}, {at(12), 1}};
    refused("|v: vec[vec[i64]]| len(v)", vec(inner), "`v[1]` is not aligned");
    const Context c = context();
    CHECK(as<std::int64_t>(run(compile("|v: vec[i8]| len(v)"), c, Ints{at(3), 2})) == 2);
    CHECK(as<std::int64_t>(run(compile("|v: vec[i64]| len(v)"), c, Ints{at(3), 0})) == 0);
    const Value input(weld_value_new(bytes + 4));
    const Error e = error();
    CHECK_FALSE(Value(weld_module_run(compile("|v: i64| v").get(), c.get(), input.get(), e.get())));
    CHECK(std::string(weld_error_message(e.get())).find("the arguments are not aligned") !=
          std::string::npos);
}
