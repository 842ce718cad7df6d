// What operations of scripts become. It is text, too: wrong text is an error that is reported.
#include <doctest/doctest.h>

#include "frontend/daphne/daphne.h"
#include "frontend/daphne/lower.h"
#include "weldir/ir/module.h"
#include "weldir/ir/print.h"

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

TEST_CASE("products known to be small are loops, others are kernels") {
    const auto is_loop = [](const std::string& left, const std::string& right) {
        Module m;
        Diagnostics diagnostics;
        REQUIRE(read_daphne(m, "script", "print(" + left + " @ " + right + ");", {}, diagnostics));
        const std::string text = print(m);
        CHECK((text.find("cudf[weld_syrk") != std::string::npos ||
               text.find("cudf[weld_matmul") != std::string::npos) !=
              (text.find("for(") != std::string::npos));
        return text.find("for(") != std::string::npos;
    };
    const auto matrix = [](std::int64_t rows, std::int64_t columns) {
        return "rand(" + std::to_string(rows) + ", " + std::to_string(columns) + ", 0.0, 1.0, 1.0, 1)";
    };
    CHECK(is_loop(matrix(4, 4), matrix(4, 4)));
    CHECK(is_loop(matrix(1, 64), matrix(64, 1)));
    CHECK(is_loop(matrix(0, 3), matrix(3, 2)));
    CHECK(!is_loop(matrix(4, 4), matrix(4, 5)));
    CHECK(!is_loop(matrix(1, 65), matrix(65, 1)));
    CHECK(!is_loop(matrix(1, 2147483648), matrix(2147483648, 1)));
}
