// Handles that are none: NULL, freed, of another kind, garbage.
#include "api.h"

using namespace test;

namespace {

/// Calls every function with `h` for each of its handles.
void use(void* h) {
    const Error e = error();
    CHECK(weld_conf_get(static_cast<weld_conf_t>(h), "weld.threads") == nullptr);
    weld_conf_set(static_cast<weld_conf_t>(h), "weld.threads", "1");
    weld_conf_free(static_cast<weld_conf_t>(h));

    const auto context = static_cast<weld_context_t>(h);
    CHECK(weld_context_memory_usage(context) == 0);
    CHECK(weld_context_memory_peak(context) == 0);
    CHECK(weld_context_memory_limit(context) == 0);
    weld_context_trim(context);
    weld_context_cancel(context);
    weld_context_free(context);

    const auto value = static_cast<weld_value_t>(h);
    CHECK(weld_value_data(value) == nullptr);
    CHECK(weld_value_context(value) == nullptr);
    CHECK(weld_value_run(value) == -1);
    CHECK(weld_value_memory_usage(value) == -1);
    CHECK(weld_value_type(value) == nullptr);
    CHECK(weld_value_to_json(value, e.get()) == nullptr);
    CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
    weld_value_free(value);

    const auto module = static_cast<weld_module_t>(h);
    CHECK(weld_module_num_params(module) == -1);
    CHECK(weld_module_param_name(module, 0) == nullptr);
    CHECK(weld_module_param_type(module, 0) == nullptr);
    CHECK(weld_module_param_offset(module, 0) == -1);
    CHECK(weld_module_params_size(module) == -1);
    CHECK(weld_module_return_type(module) == nullptr);
    CHECK(weld_module_return_size(module) == -1);
    CHECK(weld_module_warnings(module) == nullptr);
    CHECK(weld_module_run(module, h, value, e.get()) == nullptr);
    CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
    weld_module_free(module);

    const auto bad = static_cast<weld_error_t>(h);
    CHECK(weld_error_code(bad) == WELD_INVALID_ARGUMENT);
    CHECK(std::string(weld_error_message(bad)) != "");
    CHECK(weld_error_line(bad) == 0);
    CHECK(weld_error_column(bad) == 0);
    weld_error_free(bad);
}

}  // namespace

TEST_CASE("NULL") {
    use(nullptr);
    const Error e = error();
    CHECK(weld_module_compile(nullptr, nullptr, e.get()) == nullptr);
    CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
    weld_load_library(nullptr, e.get());
    CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
    const Conf c = conf();
    weld_conf_set(c.get(), nullptr, "1");
    weld_conf_set(c.get(), "weld.threads", nullptr);
    CHECK(weld_conf_get(c.get(), nullptr) == nullptr);
    CHECK(weld_conf_get(c.get(), "weld.threads") == nullptr);
    weld_string_free(nullptr);
}

TEST_CASE("an error is not needed") {
    const Module m(weld_module_compile("1 + 1", nullptr, nullptr));
    REQUIRE(m);
    const Context c = context();
    const Value out(weld_module_run(m.get(), c.get(), nullptr, nullptr));
    REQUIRE(out);
    CHECK(as<std::int32_t>(out) == 2);
    CHECK(weld_module_compile("1 +", nullptr, nullptr) == nullptr);
    CHECK(weld_module_run(m.get(), nullptr, nullptr, nullptr) == nullptr);
}

TEST_CASE("what is no handle") {
    std::uint64_t garbage[4] = {1, 2, 3, 4};
    use(garbage);
    use(reinterpret_cast<void*>(std::uintptr_t(16)));
    use(reinterpret_cast<void*>(~std::uintptr_t(0)));
}

TEST_CASE("freed handles") {
    weld_conf_t c = weld_conf_new();
    weld_conf_free(c);
    use(c);
    weld_context_t context = weld_context_new(nullptr);
    weld_context_free(context);
    use(context);
    weld_value_t v = weld_value_new(&context);
    weld_value_free(v);
    use(v);
    weld_error_t e = weld_error_new();
    weld_error_free(e);
    use(e);
    weld_module_t m = weld_module_compile("1", nullptr, nullptr);
    weld_module_free(m);
    use(m);
}

TEST_CASE("handles of another kind") {
    const Module m = compile("|x: i32| x");
    const Context c = context();
    const Error e = error();
    const int x = 1;
    const Value v(weld_value_new(&x));
    const auto fails = [&](void* module, void* context, void* value) {
        CHECK(weld_module_run(static_cast<weld_module_t>(module), context, static_cast<weld_value_t>(value),
                              e.get()) == nullptr);
        CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
    };
    fails(c.get(), c.get(), v.get());
    fails(m.get(), m.get(), v.get());
    fails(m.get(), v.get(), v.get());
    fails(m.get(), c.get(), c.get());
    fails(m.get(), c.get(), nullptr);
    const Value nothing(weld_value_new(nullptr));
    fails(m.get(), c.get(), nothing.get());
    CHECK(weld_module_compile("1", reinterpret_cast<weld_conf_t>(c.get()), e.get()) == nullptr);
    CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
}
