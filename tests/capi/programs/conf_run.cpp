// As programs for Weld 0.2 are written: a run takes a configuration, its memory belongs to the value, and
// there is no context.
#include <weld/weld.h>
#include <cstdint>

#include "check.h"

struct Vec {
    std::int64_t* data;
    std::int64_t len;
};

int main() {
    weld_set_log_level(WELD_LOG_LEVEL_OFF);
    weld_error_t e = weld_error_new();
    weld_conf_t conf = weld_conf_new();
    weld_conf_set(conf, "weld.compile.multithreadSupport", "true");
    weld_module_t m = weld_module_compile("|v: vec[i64]| map(v, |x| x + 1L)", conf, e);
    weld_conf_free(conf);
    if (weld_error_code(e)) {
        const char* err = weld_error_message(e);
        printf("Error message: %s\n", err);
        return 1;
    }
    std::int64_t numbers[1000];
    for (int i = 0; i < 1000; ++i) numbers[i] = i;
    Vec args = {numbers, 1000};
    weld_value_t arg = weld_value_new(&args);
    CHECK(weld_value_run(arg) == -1);
    CHECK(weld_value_memory_usage(arg) == -1);

    conf = weld_conf_new();
    weld_conf_set(conf, "weld.threads", "4");
    weld_conf_set(conf, "weld.memory.limit", "10000000");
    weld_value_t a = weld_module_run(m, conf, arg, e);
    CHECK_GOOD(e);
    weld_value_t b = weld_module_run(m, conf, arg, e);
    CHECK_GOOD(e);
    CHECK(weld_value_run(a) >= 0);
    CHECK(weld_value_run(b) != weld_value_run(a));
    CHECK(weld_value_memory_usage(a) >= 8000);
    weld_value_free(a);
    const Vec* out = static_cast<Vec*>(weld_value_data(b));
    CHECK(out->len == 1000);
    for (int i = 0; i < 1000; ++i) CHECK(out->data[i] == i + 1);
    weld_value_free(b);

    weld_conf_set(conf, "weld.memory.limit", "4000");
    CHECK(weld_module_run(m, conf, arg, e) == nullptr);
    CHECK(weld_error_code(e) == WELD_OUT_OF_MEMORY);
    weld_conf_set(conf, "weld.threads", "none");
    CHECK(weld_module_run(m, conf, arg, e) == nullptr);
    CHECK(weld_error_code(e) == WELD_CONFIGURATION_ERROR);
    CHECK(weld_conf_free(conf) == nullptr);
    weld_value_free(arg);
    weld_module_free(m);
    weld_error_free(e);
}
