// What a file with a matrix or a frame holds, known before it is read: by its `.meta`, or, if it has none, by
// its first bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weld::runtime {

struct TableDescription {
    /// JSON: what stands in the `.meta`, or what would. Equal texts say the same.
    std::string text;
    bool is_sniffed = false;  ///< there is no `.meta`
    char delimiter = ',';     ///< of a CSV file
    bool has_header = false;
};

/// Describes the file at `path`, by its `.meta` alone unless `may_sniff`. False with `*error` saying what is
/// wrong with which file.
bool describe_table(const std::string& path, bool may_sniff, TableDescription* description,
                    std::string* error);

/// The same, where it may be sniffed, for a file whose bytes are there already.
bool describe_table(const std::string& path, std::string_view bytes, TableDescription* description,
                    std::string* error);

/// What the first line of a Matrix Market file, or the header of a binary one, says: `text` alone. `bytes`
/// are the first ones; false with `*error` if they are not as they should be.
bool describe_matrix_market(std::string_view bytes, std::string* text, std::string* error);
bool describe_binary_table(std::string_view bytes, std::string* text, std::string* error);

struct LabelledType {
    std::string_view label, value_type;
};

/// A description of one type for all cells; of few cells that are not zero; of a type for each column.
std::string describe_matrix(std::int64_t rows, std::int64_t columns, std::string_view value_type);
std::string describe_sparse(std::int64_t rows, std::int64_t columns, std::string_view value_type,
                            std::int64_t non_zeros);
std::string describe_frame(std::int64_t rows, const std::vector<LabelledType>& columns);

}  // namespace weld::runtime
