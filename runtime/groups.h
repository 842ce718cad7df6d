// Grouping: a dictionary of vectors with the values of each key, in the order of rows (groups.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/hash_table.h"
#include "weldir/support/round_up.h"

namespace weld::runtime {

/// Rows {key, value} in one array.
struct RowType {
    const WeldType* key;
    const WeldType* value;
    std::int64_t value_at;
    std::int64_t size;

    RowType(const WeldType* k, const WeldType* v)
        : key(k),
          value(v),
          value_at(round_up(k->size, v->align)),
          size(round_up(value_at + v->size, std::max(k->align, v->align))) {}
};

/// The dictionary of an array of rows, which lose their meaning. Null after recording the failure.
WeldDict* group_rows(Task* task, const RowType& type, char* rows, std::int64_t count, std::int32_t loc);
/// The same of keys, whose bytes are canonical, and values in arrays of their own, which are only read.
WeldDict* group_columns(Task* task, const WeldType* key, const WeldType* value, const void* keys,
                        const void* values, std::int64_t count, std::int32_t loc);

// ---- for rows of many keys (group_ranges.cpp)

/// Keys and values, each so many bytes behind the one before.
struct Columns {
    const char* keys;
    const char* values;
    std::int64_t key_stride;
    std::int64_t value_stride;
    std::int64_t count;

    Columns part(std::int64_t begin, std::int64_t end) const {
        return {keys + begin * key_stride, values + begin * value_stride, key_stride, value_stride,
                end - begin};
    }
};

/// Rows of one worker.
struct Share {
    std::int64_t first;
    Columns rows;
};
std::vector<Share> shares_of_workers(const Task* task, const Columns& rows);

/// Null after recording the failure. `owned`: what the rows are in, which is released early, or null.
WeldDict* group_by_ranges(Task* task, const RowType& type, const Columns& rows, char* owned,
                          std::int32_t loc);

/// The vector of a key, behind which there is room for it in the table.
inline WeldVec& vector_of(const WeldDict* keys, std::int64_t number) {
    return *reinterpret_cast<WeldVec*>(keys->entry(number) + keys->value_at);
}

/// Finds the numbers of rows' keys in `keys`, to which it adds those that are new, and stops when there are
/// more than `most`. How often a key was found is the length of its vector. `tags`: those of their keys, if
/// they are known; such rows lie in the order of their hash. Status.
std::int32_t number_rows(Task* task, WeldDict* keys, const Columns& rows, const std::uint32_t* tags,
                         std::int64_t most, std::uint32_t* numbers, std::int32_t loc);

/// With the numbers of their keys in a table, and where the next value of each key goes.
struct NumberedRows {
    Columns rows;
    const std::uint32_t* numbers;
    std::int64_t* next;
};
/// Writes the values to their places among those at `to`. Status.
std::int32_t place_values(Task* task, const NumberedRows& share, std::int64_t value_size, char* to,
                          std::int32_t loc);

}  // namespace weld::runtime
