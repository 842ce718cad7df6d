// Structs, vectors and what is made of both, in and out.
#include <weld/weld.h>
#include <cstdint>

#include "check.h"

template <class T>
struct Vec {
    T* data;
    std::int64_t len;
};

struct Point {
    std::int32_t x, y;
};

struct Args {
    Vec<Point> points;
    Vec<Vec<double>> rows;
    struct {
        std::int8_t sign;
        double scale;
    } by;
};

struct Row {
    double sum;
    std::int64_t len;
};

struct Out {
    Vec<Point> moved;
    Vec<Row> rows;
};

int main() {
    weld_error_t error = weld_error_new();
    weld_conf_t conf = weld_conf_new();
    weld_module_t module = weld_module_compile(
        "type point = {i32, i32};"
        "|points: vec[point], rows: vec[vec[f64]], by: {i8, f64}|"
        "  let moved = map(points, |p: point| {p.$0 + i32(by.$0), p.$1 - i32(by.$0)});"
        "  let sums = map(rows, |r: vec[f64]|"
        "    {result(for(r, merger[f64,+], |b, i, x| merge(b, x * by.$1))), len(r)});"
        "  {moved, sums}",
        conf, error);
    CHECK_GOOD(error);

    Point points[] = {{1, 2}, {3, 4}};
    double numbers[] = {1.5, 2.5, 3.0};
    Vec<double> rows[] = {{numbers, 3}, {numbers, 0}, {numbers + 1, 1}};
    Args args = {{points, 2}, {rows, 3}, {-1, 2.0}};
    weld_context_t context = weld_context_new(conf);
    weld_value_t input = weld_value_new(&args);
    weld_value_t output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    const Out& out = *static_cast<Out*>(weld_value_data(output));
    CHECK(out.moved.len == 2);
    CHECK(out.moved.data[0].x == 0 && out.moved.data[0].y == 3);
    CHECK(out.moved.data[1].x == 2 && out.moved.data[1].y == 5);
    CHECK(out.rows.len == 3);
    CHECK(out.rows.data[0].sum == 14.0 && out.rows.data[0].len == 3);
    CHECK(out.rows.data[1].sum == 0.0 && out.rows.data[1].len == 0);
    CHECK(out.rows.data[2].sum == 5.0 && out.rows.data[2].len == 1);

    // The context that a value is in can be asked for, and is to be freed.
    weld_context_t same = weld_value_context(output);
    CHECK(weld_context_memory_usage(same) == weld_context_memory_usage(context));
    weld_context_free(same);
    weld_context_free(context);
    CHECK(out.moved.data[1].y == 5);
    weld_value_free(output);
    weld_value_free(input);
    weld_module_free(module);
    weld_conf_free(conf);
    weld_error_free(error);
}
