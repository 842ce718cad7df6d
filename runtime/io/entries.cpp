// Sorting keys of any type.
#include "runtime/io/entries.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/cell_types.h"
#include "runtime/hash_table.h"

namespace weld {

template <class T>
static int compare_scalars(const void* a, const void* b) {
    T x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    if (x < y) return -1;
    if (x > y) return 1;
    if (x == y) return 0;
    return int(x != x) - int(y != y);  // NaN comes last
}

/// Of `n` and `m` elements, one after the other; a proper prefix is less.
static int compare_elements(const WeldType* elem, const void* a, std::int64_t n, const void* b,
                            std::int64_t m) {
    for (std::int64_t i = 0; i < std::min(n, m); ++i) {
        const int order = compare_keys(elem, static_cast<const char*>(a) + i * elem->size,
                                       static_cast<const char*>(b) + i * elem->size);
        if (order) return order;
    }
    return int(n > m) - int(n < m);
}

static int compare_fields(const WeldType* type, const void* a, const void* b) {
    for (std::uint32_t i = 0; i < type->num_args; ++i) {
        const std::int64_t at = type->offsets[i];
        const int order =
            compare_keys(type->args[i], static_cast<const char*>(a) + at, static_cast<const char*>(b) + at);
        if (order) return order;
    }
    return 0;
}

int compare_keys(const WeldType* type, const void* a, const void* b) {
    switch (type->kind) {
        case kWeldVec: {
            const auto *x = static_cast<const WeldVec*>(a), *y = static_cast<const WeldVec*>(b);
            return compare_elements(type->args[0], x->data, x->len, y->data, y->len);
        }
        case kWeldSimd: {
            const std::int64_t lanes = type->size / type->args[0]->size;
            return compare_elements(type->args[0], a, lanes, b, lanes);
        }
        case kWeldStruct: return compare_fields(type, a, b);
        default: break;
    }
    return runtime::with_cell(WeldKind(type->kind), [&]<class T>() {
        if constexpr (std::is_arithmetic_v<T>) return compare_scalars<T>(a, b);
        else if constexpr (std::is_same_v<T, runtime::Bool>) return compare_scalars<std::uint8_t>(a, b);
        else return 0;  // not a key
    });
}

DictEntries entries_of(const WeldDict* dict) {
    if (!dict || dict->count == 0) return {};
    return {dict->entries, dict->count, dict->stride, dict->value_at};
}

std::vector<DictEntry> sorted_entries(const WeldType* type, const WeldDict* dict) {
    const DictEntries entries = entries_of(dict);
    std::vector<DictEntry> sorted;
    sorted.reserve(std::size_t(entries.count));
    for (std::int64_t i = 0; i < entries.count; ++i) sorted.push_back({entries.key(i), entries.value(i)});
    std::ranges::sort(sorted, [key = type->args[0]](const DictEntry& a, const DictEntry& b) {
        return compare_keys(key, a.key, b.key) < 0;
    });
    return sorted;
}

}  // namespace weld
