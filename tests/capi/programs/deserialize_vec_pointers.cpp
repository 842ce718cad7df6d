// Bytes that were written elsewhere, of a type that holds vectors in vectors; and bytes that are wrong.
#include <weld/weld.h>
#include <cstdint>
#include <cstring>
#include <string>

#include "check.h"

template <class T>
struct Vec {
    T* data;
    std::int64_t len;
};

/// Appends the bytes of a number.
template <class T>
static void put(std::string& bytes, T number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

int main() {
    std::string bytes;  // {[[1, 2], [], [3]], 7i8}
    put(bytes, std::int64_t(3));
    put(bytes, std::int64_t(2));
    put(bytes, std::int32_t(1));
    put(bytes, std::int32_t(2));
    put(bytes, std::int64_t(0));
    put(bytes, std::int64_t(1));
    put(bytes, std::int32_t(3));
    put(bytes, std::int8_t(7));

    weld_error_t error = weld_error_new();
    weld_conf_t conf = weld_conf_new();
    weld_module_t module =
        weld_module_compile("|b: vec[u8]| deserialize[{vec[vec[i32]],i8}](b)", conf, error);
    CHECK_GOOD(error);
    weld_context_t context = weld_context_new(conf);
    Vec<char> args = {&bytes[0], std::int64_t(bytes.size())};
    weld_value_t input = weld_value_new(&args);
    weld_value_t output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    struct Out {
        Vec<Vec<std::int32_t>> rows;
        std::int8_t n;
    };
    const Out& out = *static_cast<Out*>(weld_value_data(output));
    bytes.assign(bytes.size(), 'x');  // nothing points to the bytes
    CHECK(out.rows.len == 3 && out.n == 7);
    CHECK(out.rows.data[0].len == 2 && out.rows.data[0].data[1] == 2);
    CHECK(out.rows.data[1].len == 0);
    CHECK(out.rows.data[2].len == 1 && out.rows.data[2].data[0] == 3);

    // Counts of 0x7878787878787878 elements, then too few bytes, then one too many.
    CHECK(weld_module_run(module, context, input, error) == nullptr);
    CHECK(weld_error_code(error) == WELD_DESERIALIZATION_ERROR);
    for (std::int64_t len : {std::int64_t(0), std::int64_t(7), std::int64_t(10)}) {
        std::string zeros(10, '\0');
        Vec<char> wrong = {&zeros[0], len};
        weld_value_t bad = weld_value_new(&wrong);
        CHECK(weld_module_run(module, context, bad, error) == nullptr);
        CHECK(weld_error_code(error) == WELD_DESERIALIZATION_ERROR);
        weld_value_free(bad);
    }
    CHECK(out.rows.data[2].data[0] == 3);
    weld_value_free(output);
    weld_value_free(input);
    weld_context_free(context);
    weld_module_free(module);
    weld_conf_free(conf);
    weld_error_free(error);
}
