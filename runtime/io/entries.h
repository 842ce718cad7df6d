// The entries of dictionaries in memory: where they are, and in the order of their keys.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/abi/weld_abi.h"

namespace weld {

/// Where the entries of a dictionary lie in memory.
struct DictEntries {
    const char* first = nullptr;
    std::int64_t count = 0;
    std::int64_t stride = 0;    ///< bytes from one entry to the next
    std::int64_t value_at = 0;  ///< bytes from an entry's key to its value

    const void* key(std::int64_t i) const { return first + i * stride; }
    const void* value(std::int64_t i) const { return first + i * stride + value_at; }
};
/// NULL is a dictionary without entries.
DictEntries entries_of(const WeldDict* dict);

struct DictEntry {
    const void* key;
    const void* value;
};

/// All entries of `dict` (NULL: none), whose type is `type`, ascending by key. They point into the
/// dictionary.
std::vector<DictEntry> sorted_entries(const WeldType* type, const WeldDict* dict);

/// A total order of keys: as numbers, NaN last; vectors and structs element by element. Below, at, above 0.
int compare_keys(const WeldType* type, const void* a, const void* b);

}  // namespace weld
