// A function of this program, called for each element. The program has to export it.
#include <weld/weld.h>
#include <cstdint>

#include "check.h"

struct Vec {
    std::int64_t* data;
    std::int64_t len;
};

extern "C" void add_all(Vec* v, std::int64_t* n, std::int64_t* result) {
    *result = *n;
    for (std::int64_t i = 0; i < v->len; ++i) *result += v->data[i];
}

int main() {
    weld_error_t error = weld_error_new();
    weld_conf_t conf = weld_conf_new();
    weld_module_t module =
        weld_module_compile("|v: vec[i64]| map(v, |x| cudf[add_all,i64](v, x * 10L))", conf, error);
    CHECK_GOOD(error);
    std::int64_t numbers[] = {1, 2, 3};
    Vec args = {numbers, 3};
    weld_context_t context = weld_context_new(conf);
    weld_value_t input = weld_value_new(&args);
    weld_value_t output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    const Vec& out = *static_cast<Vec*>(weld_value_data(output));
    CHECK(out.len == 3);
    CHECK(out.data[0] == 16 && out.data[1] == 26 && out.data[2] == 36);
    weld_value_free(output);
    weld_value_free(input);
    weld_context_free(context);
    weld_module_free(module);
    weld_conf_free(conf);
    weld_error_free(error);
}
