// The state of a groupmerger: a table of its keys, and a log of (number of the key, value) in the order of
// merging.
#pragma once

#include <cstdint>

namespace weld::runtime {

struct GroupSegment {
    GroupSegment* next;
    std::int64_t count;
    std::int64_t capacity;
    std::uint32_t* numbers;  ///< of the entries of the table
    char* values;
};

struct GroupLog {
    GroupSegment* first;
    GroupSegment* last;
    std::int64_t count;
    std::int64_t value_size;
};

}  // namespace weld::runtime
