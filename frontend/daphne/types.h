// Types of DaphneDSL: what a value is, and of what its cells are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weld::daphne {

/// Of a cell. Later ones are more general: of two, an operation takes the later one.
enum class ValueType : std::uint8_t { Bool, Si8, Ui8, Si32, Ui32, Size, Si64, Ui64, F32, F64, Str };

enum class DataType : std::uint8_t { Scalar, Matrix, Frame, List };

/// A column of a frame.
struct Column {
    std::string label;
    ValueType value = ValueType::F64;
    friend bool operator==(const Column&, const Column&) = default;
};

/// What is known of a value whatever the data are.
struct Type {
    DataType data = DataType::Scalar;
    ValueType value =
        ValueType::F64;           ///< of the cells; of a list, of the cells of its matrices; not of frames
    std::vector<Column> columns;  ///< of a frame
    bool is_sparse = false;       ///< of a matrix: it is stored as the cells that are not zero
    friend bool operator==(const Type&, const Type&) = default;

    static Type scalar(ValueType v) { return {DataType::Scalar, v, {}}; }
    static Type matrix(ValueType v) { return {DataType::Matrix, v, {}}; }
    static Type list(ValueType v) { return {DataType::List, v, {}}; }
    static Type frame(std::vector<Column> columns = {}) {
        return {DataType::Frame, ValueType::F64, std::move(columns)};
    }

    bool is_scalar() const { return data == DataType::Scalar; }
    bool is_matrix() const { return data == DataType::Matrix; }
    bool is_frame() const { return data == DataType::Frame; }
    bool is_list() const { return data == DataType::List; }
    bool is_string() const { return is_scalar() && value == ValueType::Str; }
};

/// The same types but for the labels of frames.
bool have_same_cells(const Type& a, const Type& b);

constexpr bool is_float(ValueType v) { return v == ValueType::F32 || v == ValueType::F64; }
constexpr bool is_integer(ValueType v) { return v != ValueType::Bool && v < ValueType::F32; }
constexpr bool is_unsigned(ValueType v) {
    return v == ValueType::Ui8 || v == ValueType::Ui32 || v == ValueType::Size || v == ValueType::Ui64;
}

/// As scripts write it: `f64`, `size` for what `nrow` gives.
std::string_view name_of(ValueType v);
/// The type of that name, if there is one.
std::optional<ValueType> value_type_named(std::string_view name);
/// As it is printed with data: `double`, `uint64_t`, `std::string`.
std::string_view printed_name(ValueType v);
/// For messages: `matrix<f64>`, `scalar of si64`, `frame`.
std::string str(const Type& t);
std::string str_of_cells(const Type& t);  ///< of a frame with the types of its columns

}  // namespace weld::daphne
