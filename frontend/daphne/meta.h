// What stands beside a data file in `FILE.meta`, as JSON, or is said of a file without in the same form.
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
    ValueType value = ValueType::F64;  ///< of a matrix; unless it is said, that of the first column
    std::optional<std::int64_t> non_zeros;

    bool has_schema() const { return !columns.empty(); }
};

/// Reads the text of a `.meta` file. `delimiter` and `header` are for the readers of files, but have to be
/// right. Nothing, with `*error` saying why, if something is missing or wrong.
std::optional<Meta> read_meta(std::string_view text, std::string* error);

}  // namespace weld::daphne
