// What a table of separated values holds, by its first rows: delimiter, names, types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/weld_abi.h"

namespace weld::runtime {

struct CsvSketch {
    struct Column {
        std::string label;
        WeldKind cell;  ///< i64, u64, f64, or vec: a string
    };
    char delimiter = ',';
    bool has_header = false;
    std::vector<Column> columns;

    /// The type of all cells in one matrix.
    WeldKind cell() const;
};

/// A text without the empty lines at its end.
std::string_view without_last_lines(std::string_view text);

/// What the first rows of a text say. `is_whole`: the text is all there is; else its last line may be cut
/// off. False if more has to be seen: less than two rows are whole. A text without rows gives no columns.
///
/// - The delimiter is that of `,` `;` tab `|` by which all rows have the same number of fields, and most of
///   them; a comma if all have one field.
/// - A column of whole numbers that fit is i64, or u64 if one is too large and none negative; one of other
///   numbers, or with empty fields among numbers, or of empty fields alone, is f64; all else are strings.
/// - The first row has names if all its fields are empty, not numbers, or quoted where no field below is;
///   and some column below it has numbers. Blanks around a name do not count, unless it is quoted; columns
///   without a name are called `col_0`, `col_1`, ... by their place.
bool sniff_csv(std::string_view text, bool is_whole, CsvSketch* sketch);

}  // namespace weld::runtime
