/* One program, compiled once, run for each line of input: two numbers, whose sum is printed. */
#include <inttypes.h>
#include <weld/weld.h>

#include "check.h"

struct args {
    int64_t a, b;
};

static int64_t add(weld_module_t module, int64_t a, int64_t b) {
    struct args args;
    weld_error_t error = weld_error_new();
    weld_context_t context = weld_context_new(NULL);
    weld_value_t input, output;
    int64_t sum;
    args.a = a;
    args.b = b;
    input = weld_value_new(&args);
    output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    sum = *(int64_t*)weld_value_data(output);
    weld_value_free(output);
    weld_value_free(input);
    weld_context_free(context);
    weld_error_free(error);
    return sum;
}

int main(void) {
    weld_error_t error = weld_error_new();
    weld_conf_t conf = weld_conf_new();
    weld_module_t module = weld_module_compile("|a: i64, b: i64| a + b", conf, error);
    int64_t a, b;
    int lines = 0;
    CHECK_GOOD(error);
    weld_conf_free(conf);
    while (scanf("%" SCNd64 " %" SCNd64, &a, &b) == 2) {
        int64_t sum = add(module, a, b);
        CHECK(sum == (int64_t)((uint64_t)a + (uint64_t)b));
        printf("%" PRId64 "\n", sum);
        ++lines;
    }
    CHECK(lines == 3);
    weld_module_free(module);
    weld_error_free(error);
    return 0;
}
