// What scripts leave, as text.
#include <doctest/doctest.h>

#include "frontend/daphne/environment.h"

using namespace weld::daphne;

TEST_CASE("an environment is read from its text as it was") {
    ScriptEnvironment left;
    left.variables.push_back({.name = "F",
                              .is_view = true,
                              .type = Type::frame({{"a label", ValueType::Str}, {"", ValueType::Ui8}}),
                              .rows = 3,
                              .columns = 2});
    left.variables.push_back({.name = "x", .type = Type::scalar(ValueType::F64), .is_wanted = true});
    left.variables.back().constant =
        Constant{.value = ValueType::F64, .integer = -1, .number = -0.0, .text = "12 4:"};
    left.definitions = {"def f(x) { return x; }", ""};
    left.blocks = {{.next = 7, .call = {}, .function = {}},
                   {.is_second = true, .keeps_constants = true, .call = "1:2", .function = "3:4"}};
    left.variables.back().block = 1;
    left.has_rest = true;
    const std::string text = left.text();
    const auto read = read_environment(text);
    REQUIRE(read);
    CHECK(read->text() == text);
    CHECK(read->goes_on());
    const auto& again = static_cast<const ScriptEnvironment&>(*read);
    REQUIRE(again.variables.size() == 2);
    CHECK(again.variables[0].type == left.variables[0].type);
    CHECK(again.variables[0].is_view);
    CHECK(again.variables[1].constant == left.variables[1].constant);
    CHECK(again.variables[1].rows == -1);
    CHECK(again.variables[1].is_wanted);
    CHECK(again.variables[1].block == 1);
    CHECK(again.definitions == left.definitions);
    REQUIRE(again.blocks.size() == 2);
    CHECK(again.blocks[0].next == 7);
    CHECK(again.blocks[1].is_second);
    CHECK(again.blocks[1].keeps_constants);
    CHECK(again.blocks[1].call == "1:2");
    CHECK(again.blocks[1].function == "3:4");
    for (std::size_t n = 0; n < text.size(); ++n) CHECK_FALSE(read_environment(text.substr(0, n)));
    CHECK_FALSE(read_environment(text + "1"));
}

TEST_CASE("of what the rest does not ask for only the type is known") {
    ScriptEnvironment left;
    for (const bool wanted : {false, true})
        left.variables.push_back({.name = "n", .type = Type::scalar(ValueType::Si64), .is_wanted = wanted});
    const std::int64_t first[] = {1, 5}, second[] = {2, 5}, third[] = {1, 6};
    const std::string text = left.with(first)->text();
    CHECK(left.with(second)->text() == text);
    CHECK(left.with(third)->text() != text);
}
