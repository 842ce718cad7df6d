// Grouping: a dictionary of vectors with the values of each key, in the order of rows (groups.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "runtime/hash_table.h"
#include "runtime/parallel.h"
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

// ---- ways to group: for keys that are integers close together (group_places.cpp), and for many keys (group_ranges.cpp)

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

/// Nothing if the keys are no such integers. Null after recording the failure.
std::optional<WeldDict*> group_by_places(Task* task, const RowType& type, const Columns& rows,
                                         std::int32_t loc);
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

/// With the numbers of their keys, and where the next value of each key goes.
template <class Place>
struct NumberedRows {
    Columns rows;
    const std::uint32_t* numbers;
    Place* next;
};
template <std::int64_t Size, class Place>
std::int32_t place_sized(Task* task, const NumberedRows<Place>& share, const WeldVec& to,
                         std::int64_t value_size, std::int32_t loc) {
    const auto place = [&](std::int64_t lo, std::int64_t hi) {
        // Names of their own: what is written could be the others.
        const std::int64_t size = Size ? Size : value_size, stride = share.rows.value_stride;
        const std::uint32_t* const numbers = share.numbers;
        Place* const next = share.next;
        char* const all = static_cast<char*>(to.data);
        const char* value = share.rows.values + lo * stride;
        for (std::int64_t i = lo; i < hi; ++i, value += stride)
            std::memcpy(all + std::int64_t(next[numbers[i]]++) * size, value, std::size_t(size));
    };
    return in_strips_of_new_pages(task, share.rows.count, to.len * value_size, loc, place);
}
/// Writes the values to their places among those in `to`. Status.
template <class Place>
std::int32_t place_values(Task* task, const NumberedRows<Place>& share, const WeldVec& to,
                          std::int64_t value_size, std::int32_t loc) {
    switch (value_size) {
        case 1: return place_sized<1>(task, share, to, value_size, loc);
        case 4: return place_sized<4>(task, share, to, value_size, loc);
        case 8: return place_sized<8>(task, share, to, value_size, loc);
        case 16: return place_sized<16>(task, share, to, value_size, loc);
        default: return place_sized<0>(task, share, to, value_size, loc);
    }
}

}  // namespace weld::runtime
