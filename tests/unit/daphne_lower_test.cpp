// What operations of scripts are made of is text, too: wrong text is an error that is reported.
#include <doctest/doctest.h>

#include "frontend/daphne/lower.h"
#include "weldir/ir/module.h"

using namespace weld;
using namespace weld::daphne;

TEST_CASE("wrong Weld text of an operation is reported, and what is made of its value goes on") {
    Module m;
    Graph graph;
    Diagnostics diagnostics;
    Lowering lowering(m, graph, diagnostics);
    Value* x = graph.value(daphne::Type::scalar(ValueType::F64));
    Value* y = graph.value(daphne::Type::matrix(ValueType::Str));
    lowering.define(x, "no_such_macro(1.0)", {}, {});
    CHECK(diagnostics.num_errors() == 1);
    lowering.define({x, y}, "{1.0, ", {{"a", x}}, {});
    lowering.define(y, "a + 1L", {{"a", x}}, {});
    CHECK(diagnostics.num_errors() == 3);
    CHECK(diagnostics.all()[0].message.find("internal error: ") == 0);
    CHECK(diagnostics.all()[0].message.find("no_such_macro") != std::string::npos);
    CHECK(lowering.value(x)->type == m.types.scalar(Scalar::F64));
    CHECK(lowering.value(y)->type->is_struct());
}
