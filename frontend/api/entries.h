// The entries of dictionaries in memory, in the order of their keys.
#pragma once

#include <vector>

#include "runtime/abi/weld_abi.h"

namespace weld {

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
