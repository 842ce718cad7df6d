// What programs print, and where it goes.
#include "api.h"

#include <thread>

#include <weld/weld.hpp>

using namespace test;

namespace {

const char* const kPrints =
    "|n: i64| let a = cudf[weld_print,{}](\"from\", n); "
    "let s = iterate({n, 0L}, |s| let p = cudf[weld_print,{}](s.$0); {{s.$0 - 1L, s.$1 + s.$0}, s.$0 > 1L}); "
    "let b = cudf[weld_print_text,{}](\"end\"); s.$1";

int append(void* to, const char* text, std::size_t size) {
    static_cast<std::string*>(to)->append(text, size);
    return 0;
}
int refuse(void* left, const char*, std::size_t) { return --*static_cast<int*>(left) < 0 ? -1 : 0; }

}  // namespace

TEST_CASE("a context says where its runs print to") {
    const Context c = context();
    const Module m = compile(kPrints);
    std::string text, other;
    weld_context_set_output(c.get(), append, &text);
    CHECK(as<std::int64_t>(run(m, c, std::int64_t(3))) == 6);
    CHECK(text == "\"from\" 3\n3\n2\n1\nend");
    weld_context_set_output(c.get(), append, &other);
    CHECK(as<std::int64_t>(run(m, c, std::int64_t(1))) == 1);
    CHECK(other == "\"from\" 1\n1\nend");
    CHECK(text.size() == 18);
}

TEST_CASE("a run whose output is refused fails there") {
    const Context c = context();
    const Module m = compile(kPrints);
    int left = 2;
    weld_context_set_output(c.get(), refuse, &left);
    std::string message;
    CHECK(failure(m, c, std::int64_t(3), &message) == WELD_KERNEL_ERROR);
    CHECK(message.find("the output cannot be written") != std::string::npos);
    CHECK(left == -1);
}

TEST_CASE("each context has an output of its own, on several threads") {
    const Module m = compile(kPrints);
    std::string texts[4];
    std::vector<std::thread> threads;
    for (std::string& text : texts)
        threads.emplace_back([&] {
            const Context c = context();
            weld_context_set_output(c.get(), append, &text);
            for (int i = 0; i < 100; ++i) run(m, c, std::int64_t(2));
        });
    for (std::thread& t : threads) t.join();
    std::string expected;
    for (int i = 0; i < 100; ++i) expected += "\"from\" 2\n2\n1\nend";
    for (const std::string& text : texts) CHECK(text == expected);
}

TEST_CASE("weld.hpp: a function takes what is printed") {
    const weld::Module m(kPrints);
    weld::Context first;
    std::string text;
    first.set_output([&](std::string_view more) { text += more; });
    weld::Context c = std::move(first);
    CHECK(*m.run_in<std::int64_t>(c, std::int64_t(1)) == 1);
    CHECK(text == "\"from\" 1\n1\nend");
    c.set_output([](std::string_view) { throw 1; });
    CHECK_THROWS_AS(m.run_in<std::int64_t>(c, std::int64_t(1)), weld::Error);
}
