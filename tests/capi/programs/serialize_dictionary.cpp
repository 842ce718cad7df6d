// A dictionary as bytes - a count, then keys and values without gaps - and back.
#include <weld/weld.h>
#include <cstdint>
#include <cstring>
#include <map>

#include "check.h"

template <class T>
struct Vec {
    T* data;
    std::int64_t len;
};

static weld_value_t run(const char* code, weld_context_t context, const void* args) {
    weld_error_t error = weld_error_new();
    weld_module_t module = weld_module_compile(code, nullptr, error);
    CHECK_GOOD(error);
    weld_value_t input = weld_value_new(args);
    weld_value_t output = weld_module_run(module, context, input, error);
    CHECK_GOOD(error);
    weld_value_free(input);
    weld_module_free(module);
    weld_error_free(error);
    return output;
}

int main() {
    std::int32_t keys[] = {4, 8, 4, 15, 8, 4};
    Vec<std::int32_t> args = {keys, 6};
    weld_context_t context = weld_context_new(nullptr);
    weld_value_t serialized =
        run("|v: vec[i32]| serialize(result(for(v, dictmerger[i32,i64,+], |b, i, k| merge(b, {k, 1L}))))",
            context, &args);
    const Vec<std::uint8_t> bytes = *static_cast<Vec<std::uint8_t>*>(weld_value_data(serialized));
    CHECK(bytes.len == 8 + 3 * (4 + 8));
    std::int64_t count;
    std::memcpy(&count, bytes.data, 8);
    CHECK(count == 3);
    std::map<std::int32_t, std::int64_t> counts;
    for (std::int64_t i = 0; i < count; ++i) {
        std::int32_t key;
        std::memcpy(&key, bytes.data + 8 + 12 * i, 4);
        std::memcpy(&counts[key], bytes.data + 12 + 12 * i, 8);
    }
    CHECK(counts.size() == 3 && counts[4] == 3 && counts[8] == 2 && counts[15] == 1);

    weld_value_t back = run("|b: vec[u8]| deserialize[dict[i32,i64]](b)", context, &bytes);
    struct Pair {
        std::int32_t key;
        std::int64_t value;
    };
    weld_value_t pairs =
        run("|d: dict[i32,i64]| sort(tovec(d), |x, y| compare(x.$0, y.$0))", context, weld_value_data(back));
    const Vec<Pair>& sorted = *static_cast<Vec<Pair>*>(weld_value_data(pairs));
    CHECK(sorted.len == 3);
    CHECK(sorted.data[0].key == 4 && sorted.data[0].value == 3);
    CHECK(sorted.data[2].key == 15 && sorted.data[2].value == 1);
    weld_value_free(pairs);
    weld_value_free(back);
    weld_value_free(serialized);
    weld_context_free(context);
}
