// What stands beside a data file in `FILE.meta`, as JSON, and what can be guessed of a CSV file without.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/daphne/types.h"

namespace weld::daphne {

struct Meta {
    std::int64_t rows = -1;       ///< -1: as many as there are
    std::vector<Column> columns;  ///< of a schema; else all of `value`, without labels
    std::int64_t num_columns = 0;
    ValueType value = ValueType::F64;  ///< of a matrix; of a schema, that of the first column
    std::optional<std::int64_t> non_zeros;
    char delimiter = ',';
    bool has_header = false;

    bool has_schema() const { return !columns.empty(); }
};

/// Reads the text of a `.meta` file. Nothing, with `*error` saying why, if something is missing or wrong.
std::optional<Meta> read_meta(std::string_view text, std::string* error);

/// Guesses from the first bytes of a CSV file: the delimiter (`,`, `;`, tab or `|`), whether the first row
/// has names, and for each column si64, f64 or str. `is_whole`: there are no more bytes. Nothing if there is
/// no row.
std::optional<Meta> sniff_csv(std::string_view text, bool is_whole);

}  // namespace weld::daphne
