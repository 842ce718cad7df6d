// Arrow arrays in and out, made by hand as the specification has them.
#include <weld/arrow.h>

#include <cstring>

#include "api.h"

using namespace test;

namespace {

int released = 0;

/// An array whose buffers belong to the test.
struct Array {
    std::vector<const void*> buffers;
    std::vector<ArrowArray*> children;
    std::vector<ArrowSchema*> fields;
    ArrowArray array{};
    ArrowSchema schema{};

    Array(const char* format, std::int64_t length, std::vector<const void*> b, std::int64_t offset = 0,
          std::int64_t nulls = 0, std::vector<Array*> parts = {})
        : buffers(std::move(b)) {
        for (Array* part : parts) {
            children.push_back(&part->array);
            fields.push_back(&part->schema);
        }
        array.length = length;
        array.null_count = nulls;
        array.offset = offset;
        array.n_buffers = std::int64_t(buffers.size());
        array.buffers = buffers.data();
        array.n_children = std::int64_t(children.size());
        array.children = children.data();
        array.release = [](ArrowArray* a) {
            ++released;
            a->release = nullptr;
        };
        schema.format = format;
        schema.n_children = std::int64_t(fields.size());
        schema.children = fields.data();
        schema.release = [](ArrowSchema* s) { s->release = nullptr; };
    }
};

Value arguments(const Module& m, std::vector<Array*> arrays, std::string* why = nullptr) {
    std::vector<ArrowArray*> a;
    std::vector<const ArrowSchema*> s;
    for (Array* array : arrays) {
        a.push_back(&array->array);
        s.push_back(&array->schema);
    }
    const Error e = error();
    Value v(weld_value_from_arrow(m.get(), a.data(), s.data(), std::int64_t(a.size()), e.get()));
    CHECK(weld_error_code(e.get()) == (v ? WELD_SUCCESS : WELD_INVALID_ARGUMENT));
    if (why) *why = weld_error_summary(e.get());
    return v;
}

/// What the program gives for these arrays, as JSON.
std::string result_of(const char* code, std::vector<Array*> arrays) {
    const Module m = compile(code);
    std::string why;
    const Value input = arguments(m, arrays, &why);
    REQUIRE_MESSAGE(input, why);
    const Error e = error();
    const Context c = context();
    const Value out(weld_module_run(m.get(), c.get(), input.get(), e.get()));
    REQUIRE_MESSAGE(out, weld_error_message(e.get()));
    return json(out);
}

const std::int32_t kInts[] = {1, 2, 3, 4, 5};
const double kDoubles[] = {0.5, 1.5, 2.5, 3.5, 4.5};
const std::int32_t kOffsets[] = {0, 3, 3, 8};
const std::int64_t kLongOffsets[] = {0, 3, 3, 8};
const char kBytes[] = "AdaGrace";

}  // namespace

TEST_CASE("primitive arrays are read where they are, and released with the value") {
    Array ints("i", 3, {nullptr, kInts}, 1);
    const Module m = compile("|v: vec[i32]| slice(v, 1L, 2L)");
    released = 0;
    {
        const Value input = arguments(m, {&ints});
        REQUIRE(input);
        CHECK((ints.array.release == nullptr));
        const Error e = error();
        const Context c = context();
        const Value out(weld_module_run(m.get(), c.get(), input.get(), e.get()));
        REQUIRE(out);
        CHECK(as<Vec<std::int32_t>>(out).data == kInts + 2);
        CHECK(released == 0);
    }
    CHECK(released == 1);
}

TEST_CASE("arrays of all kinds") {
    Array doubles("g", 5, {nullptr, kDoubles});
    CHECK(result_of("|v: vec[f64]| sum(v)", {&doubles}) == "12.5");
    const std::uint8_t bits[] = {0b10110100, 0b1};
    Array bools("b", 6, {nullptr, bits}, 2);
    CHECK(result_of("|v: vec[bool]| v", {&bools}) == "[true, false, true, true, false, true]");
    Array dates("tdD", 2, {nullptr, kInts});
    CHECK(result_of("|v: vec[i32]| v", {&dates}) == "[1, 2]");
    Array times("tsu:UTC", 2, {nullptr, kLongOffsets});
    CHECK(result_of("|v: vec[i64]| v", {&times}) == "[0, 3]");
    Array empty("l", 0, {nullptr, nullptr});
    CHECK(result_of("|v: vec[i64]| len(v)", {&empty}) == "0");
    Array all_valid("i", 3, {"\xff", kInts}, 0, -1);
    CHECK(result_of("|v: vec[i32]| v", {&all_valid}) == "[1, 2, 3]");
    alignas(8) char odd[25];
    std::memcpy(odd + 1, kDoubles, 24);
    Array unaligned("g", 3, {nullptr, odd + 1});
    CHECK(result_of("|v: vec[f64]| v", {&unaligned}) == "[0.5, 1.5, 2.5]");
}

TEST_CASE("strings") {
    for (const char* format : {"u", "U"}) {
        const void* offsets = *format == 'u' ? static_cast<const void*>(kOffsets) : kLongOffsets;
        Array a(format, 3, {nullptr, offsets, kBytes});
        CHECK(result_of("|v: vec[vec[i8]]| map(v, |s| len(s))", {&a}) == "[3, 0, 5]");
        Array b(format, 2, {nullptr, offsets, kBytes}, 1);
        CHECK(result_of("|s: {vec[i64],vec[u8]}| {s.$0, len(s.$1)}", {&b}) == "[[3, 3, 8], 8]");
        Array c(format, 2, {nullptr, offsets, kBytes}, 1);
        CHECK(result_of("|v: vec[vec[u8]]| lookup(v, 1L)", {&c}) == "[71, 114, 97, 99, 101]");
    }
    Array narrow("z", 3, {nullptr, kOffsets, kBytes});
    CHECK(result_of("|s: {vec[i32],vec[u8]}| s.$0", {&narrow}) == "[0, 3, 3, 8]");
    Array none("u", 0, {nullptr, nullptr, nullptr});
    CHECK(result_of("|s: {vec[i64],vec[u8]}| {s.$0, len(s.$1)}", {&none}) == "[[0], 0]");
}

TEST_CASE("a record batch is a struct of columns") {
    Array ints("i", 5, {nullptr, kInts}), doubles("g", 4, {nullptr, kDoubles}, 1);
    Array batch("+s", 3, {nullptr}, 1, 0, {&ints, &doubles});
    CHECK(result_of("|t: {vec[i32],vec[f64]}| t", {&batch}) == "[[2, 3, 4], [2.5, 3.5, 4.5]]");
}

TEST_CASE("what does not fit is refused, and stays the caller's") {
    const Module m = compile("|v: vec[i32]| len(v)");
    const auto refused = [&](Array& a, const char* part) {
        std::string why;
        CHECK_FALSE(arguments(m, {&a}, &why));
        CHECK_MESSAGE(why.find(part) != std::string::npos, why);
        CHECK((a.array.release != nullptr));
    };
    Array wide("l", 2, {nullptr, kLongOffsets});
    refused(wide, "no `vec[i32]`");
    Array nulls("i", 3, {"\x05", kInts}, 0, 1);
    refused(nulls, "null, at 1");
    Array unknown("vu", 3, {nullptr, kInts});
    refused(unknown, "`vu`");
    Array text("u", 3, {nullptr, kOffsets, kBytes});
    refused(text, "`u`");
    Array dictionary("i", 3, {nullptr, kInts});
    dictionary.schema.dictionary = &wide.schema;
    refused(dictionary, "dictionary");
    Array lacking("i", 3, {nullptr});
    refused(lacking, "buffer");
    Array negative("i", -3, {nullptr, kInts});
    refused(negative, "negative");
    const std::int32_t wrong_offsets[] = {0, 5, 3};
    Array disordered("u", 2, {nullptr, wrong_offsets, kBytes});
    std::string why;
    CHECK_FALSE(arguments(compile("|v: vec[vec[i8]]| len(v)"), {&disordered}, &why));
    CHECK(why.find("order") != std::string::npos);
    CHECK_FALSE(arguments(m, {}, &why));
    Array two("i", 3, {nullptr, kInts});
    CHECK_FALSE(arguments(m, {&two, &two}, &why));
    CHECK_FALSE(Value(weld_value_from_arrow(nullptr, nullptr, nullptr, 0, nullptr)));
}

TEST_CASE("results become arrays, which outlive the value") {
    const auto export_of = [](const char* code, ArrowArray* array, ArrowSchema* schema) {
        const Context c = context();
        const Value out = run(compile(code), c);
        const Error e = error();
        const std::uint64_t status = weld_value_to_arrow(out.get(), array, schema, e.get());
        CHECK(status == weld_error_code(e.get()));
        return status;
    };
    ArrowArray a;
    ArrowSchema s;
    REQUIRE(export_of("map([1L, 2L, 3L], |x| f64(x) / 2.0)", &a, &s) == WELD_SUCCESS);
    CHECK(std::string(s.format) == "g");
    CHECK(a.length == 3);
    CHECK(a.null_count == 0);
    CHECK(a.n_buffers == 2);
    CHECK(a.buffers[0] == nullptr);
    CHECK(static_cast<const double*>(a.buffers[1])[2] == 1.5);
    a.release(&a);
    s.release(&s);
    CHECK((a.release == nullptr));
    CHECK((s.release == nullptr));

    REQUIRE(export_of("{[true, false, true], [\"Ada\", \"\", \"Gr\u00fc\u00dfe\"]}", &a, &s) == WELD_SUCCESS);
    CHECK(std::string(s.format) == "+s");
    REQUIRE(a.n_children == 2);
    CHECK(std::string(s.children[0]->format) == "b");
    CHECK(std::string(s.children[1]->format) == "U");
    CHECK(std::string(s.children[1]->name) == "1");
    CHECK(*static_cast<const std::uint8_t*>(a.children[0]->buffers[1]) == 0b101);
    const auto* offsets = static_cast<const std::int64_t*>(a.children[1]->buffers[1]);
    CHECK(offsets[3] == 10);
    CHECK(std::string(static_cast<const char*>(a.children[1]->buffers[2]), 10) == "AdaGr\u00fc\u00dfe");
    a.release(&a);
    s.release(&s);

    REQUIRE(export_of("{[0L, 1L, 3L], [97u8, 98u8, 99u8]}", &a, &s) == WELD_SUCCESS);
    CHECK(std::string(s.format) == "U");
    CHECK(a.length == 2);
    CHECK(static_cast<const char*>(a.buffers[2])[2] == 'c');
    a.release(&a);
    s.release(&s);

    for (const char* code :
         {"1", "[{}]", "{}", "{[{}], [1]}", "{[1, 2], [3]}", "{[2L, 1L], [97u8]}", "{[0L, 9L], [97u8]}",
          "[[1], [2]]", "\"x\\xff\" == \"\"", "[\"\\xff\"]", "appender[i32]"})
        CHECK_MESSAGE(export_of(code, &a, &s) == WELD_INVALID_ARGUMENT, code);
    CHECK(weld_value_to_arrow(nullptr, &a, &s, nullptr) == WELD_INVALID_ARGUMENT);
}

TEST_CASE("there and back") {
    Array text("U", 3, {nullptr, kLongOffsets, kBytes});
    const Module m = compile("|v: vec[vec[i8]]| v");
    const Value input = arguments(m, {&text});
    const Error e = error();
    const Context c = context();
    const Value out(weld_module_run(m.get(), c.get(), input.get(), e.get()));
    ArrowArray a;
    ArrowSchema s;
    REQUIRE(weld_value_to_arrow(out.get(), &a, &s, e.get()) == WELD_SUCCESS);
    CHECK(std::memcmp(a.buffers[1], kLongOffsets, sizeof kLongOffsets) == 0);
    CHECK(std::memcmp(a.buffers[2], kBytes, 8) == 0);
    a.release(&a);
    s.release(&s);
}
