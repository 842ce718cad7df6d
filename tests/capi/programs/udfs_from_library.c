/* A function of a shared library, whose path is the argument. */
#include <weld/weld.h>

#include "check.h"

int main(int argc, char** argv) {
    weld_error_t error = weld_error_new();
    weld_module_t module;
    weld_context_t context;
    weld_value_t input, output;
    int64_t x = 9;
    CHECK(argc == 2);

    module = weld_module_compile("|x: i64| cudf[library_square,i64](x)", NULL, error);
    CHECK(module == NULL);
    CHECK(weld_error_code(error) == WELD_COMPILE_ERROR);

    weld_load_library(argv[1], error);
    CHECK_GOOD(error);
    module = weld_module_compile("|x: i64| cudf[library_square,i64](x)", NULL, error);
    CHECK_GOOD(error);
    context = weld_context_new(NULL);
    input = weld_value_new(&x);
    output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    CHECK(*(int64_t*)weld_value_data(output) == 81);
    weld_value_free(output);
    weld_value_free(input);
    weld_context_free(context);
    weld_module_free(module);
    weld_error_free(error);
    return 0;
}
