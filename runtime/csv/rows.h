// Where rows begin, by ends of lines outside of quotes: 64 bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/csv/text.h"

namespace weld::runtime {

/// The rows that begin in a part of a text, if the part itself begins outside of quotes, or within some.
struct RowScan {
    struct Rows {
        std::int64_t count = 0;
        std::size_t first = 0;  ///< where the first one begins
    };
    Rows outside, within;
    bool odd_quotes = false;  ///< the part has an odd number of them: the next one begins the other way round
};

/// Rows after ends of lines at [begin - 1, end - 1). `begin` > 0.
RowScan scan_rows(const CsvText& text, std::size_t begin, std::size_t end);

}  // namespace weld::runtime
