/* A vector as bytes, and back: a count of 64 bits, then the elements. */
#include <string.h>
#include <weld/weld.h>

#include "check.h"

struct bytes {
    uint8_t* data;
    int64_t len;
};
struct numbers {
    int32_t* data;
    int64_t len;
};

static weld_value_t run(const char* code, weld_context_t context, const void* args) {
    weld_error_t error = weld_error_new();
    weld_module_t module = weld_module_compile(code, NULL, error);
    weld_value_t input, output;
    CHECK_GOOD(error);
    input = weld_value_new(args);
    output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    weld_value_free(input);
    weld_module_free(module);
    weld_error_free(error);
    return output;
}

int main(void) {
    int32_t elements[5] = {1, -2, 3, 1000000, 5};
    const int64_t five = 5;
    struct numbers v;
    weld_context_t context = weld_context_new(NULL);
    weld_value_t serialized, back;
    const struct bytes* bytes;
    const struct numbers* numbers;
    v.data = elements;
    v.len = 5;
    serialized = run("|v: vec[i32]| serialize(v)", context, &v);
    bytes = (const struct bytes*)weld_value_data(serialized);
    CHECK(bytes->len == 8 + 5 * 4);
    CHECK(memcmp(bytes->data, &five, 8) == 0);
    CHECK(memcmp(bytes->data + 8, elements, sizeof elements) == 0);
    back = run("|b: vec[u8]| deserialize[vec[i32]](b)", context, bytes);
    numbers = (const struct numbers*)weld_value_data(back);
    CHECK(numbers->len == 5);
    CHECK(memcmp(numbers->data, elements, sizeof elements) == 0);
    weld_value_free(back);
    weld_value_free(serialized);
    weld_context_free(context);
    return 0;
}
