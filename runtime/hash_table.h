// Dictionaries: also the states of dictmerger and groupmerger.
#pragma once

#include <cstdint>

#include "runtime/abi/weld_abi.h"

struct WeldDict {
    const WeldType* key;
    const WeldType* value;
    std::int64_t count;     ///< entries
    std::int64_t capacity;  ///< entries that `entries` has room for
    char* entries;          ///< {key, value} in the order of insertion
};
