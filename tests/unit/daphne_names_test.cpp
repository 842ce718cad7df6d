// The variables of a script go back to what they were, and the walk of a script is linear in their number.
#include <chrono>

#include "doctest/doctest.h"
#include "frontend/daphne/daphne.h"
#include "frontend/daphne/names.h"
#include "weldir/ir/module.h"

using namespace weld;
using daphne::Names;

namespace {

daphne::Value* value(std::uintptr_t i) { return reinterpret_cast<daphne::Value*>(i); }

}  // namespace

TEST_CASE("variables go back to what they were at a mark, through blocks that were closed") {
    Names names;
    names.declare("a", {value(1)});
    names.open();
    names.declare("b", {value(2)});
    const Names::Mark mark = names.mark();
    names.set("a", value(3));
    names.declare("c", {value(4)});
    names.close_to(1);
    names.open();
    names.declare("b", {value(5), true});
    names.open();
    names.set("b", value(6));
    CHECK(names.find("a")->value == value(3));
    CHECK(names.find("b")->value == value(6));
    CHECK(names.find("b")->read_only);
    CHECK(names.find("c") == nullptr);
    names.undo(mark);
    CHECK(names.depth() == 2);
    CHECK(names.find("a")->value == value(1));
    CHECK(names.find("b")->value == value(2));
    CHECK(!names.find("b")->read_only);
    CHECK(names.find("c") == nullptr);
}

TEST_CASE("what has changed since a mark is what was there at it") {
    Names names;
    names.declare("a", {value(1)});
    names.declare("b", {value(2)});
    const Names::Mark mark = names.mark();
    names.open();
    names.declare("a", {value(3)});
    names.set("a", value(4));
    names.set("b", value(5));
    names.set("b", value(6));
    names.close_to(1);
    const auto changed = names.changed_since(mark);
    REQUIRE(changed.size() == 1);
    CHECK(changed.begin()->first.name == "b");
    CHECK(changed.begin()->second == value(6));
    CHECK(names.value_at({0, "a"}) == value(1));
}

TEST_CASE("scripts of many variables, branches and loops are read in time linear in them") {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += "v" + std::to_string(i) + " = " + std::to_string(i) + ";\n";
    for (int i = 0; i < 3000; ++i) {
        const std::string v = "v" + std::to_string(i);
        text += "if (" + v + " > 3) " + v + " = 2; while (" + v + " > 9) " + v + " = 1;\n";
    }
    Module m;
    Diagnostics diagnostics;
    std::shared_ptr<const Environment> after;
    const auto start = std::clock();
    CHECK(read_daphne(m, "many", text, {.after = &after, .is_entry = true}, diagnostics));
    CHECK(double(std::clock() - start) / CLOCKS_PER_SEC < 10);  // 0.5; it was two minutes
}
