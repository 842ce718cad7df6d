// Adds a number to each element of a vector, and says how long that took.
#include <weld/weld.h>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "check.h"

struct Vec {
    std::int32_t* data;
    std::int64_t len;
};

struct Args {
    Vec v;
    std::int32_t a;
};

static double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char** argv) {
    std::vector<std::int32_t> numbers(argc > 1 ? std::size_t(std::atol(argv[1])) : 1000000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::int32_t(i);
    weld_error_t error = weld_error_new();
    weld_conf_t conf = weld_conf_new();
    weld_conf_set(conf, "weld.memory.limit", "100000000000");
    double begin = seconds();
    weld_module_t module = weld_module_compile(
        "|v: vec[i32], a: i32| result(for(v, appender[i32], |b, i, e| merge(b, e + a)))", conf, error);
    CHECK_GOOD(error);
    printf("compile: %.3f ms\n", 1000 * (seconds() - begin));
    Args args = {{numbers.data(), std::int64_t(numbers.size())}, 7};
    weld_context_t context = weld_context_new(conf);
    weld_value_t input = weld_value_new(&args);
    begin = seconds();
    weld_value_t output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    printf("run: %.3f ms\n", 1000 * (seconds() - begin));
    const Vec& out = *static_cast<Vec*>(weld_value_data(output));
    CHECK(out.len == args.v.len);
    for (std::int64_t i = 0; i < out.len; ++i) CHECK(out.data[i] == std::int32_t(i) + 7);
    weld_value_free(output);
    weld_value_free(input);
    weld_context_free(context);
    weld_module_free(module);
    weld_conf_free(conf);
    weld_error_free(error);
}
