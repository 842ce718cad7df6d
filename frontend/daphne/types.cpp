// Names of types, for messages and for what scripts print, and which types agree.
#include "frontend/daphne/types.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weld::daphne {

std::string_view name_of(ValueType v) {
    switch (v) {
        case ValueType::Bool: return "bool";
        case ValueType::Si8: return "si8";
        case ValueType::Ui8: return "ui8";
        case ValueType::Si32: return "si32";
        case ValueType::Ui32: return "ui32";
        case ValueType::Size: return "size";
        case ValueType::Si64: return "si64";
        case ValueType::Ui64: return "ui64";
        case ValueType::F32: return "f32";
        case ValueType::F64: return "f64";
        case ValueType::Str: return "str";
    }
    return {};
}

std::optional<ValueType> value_type_named(std::string_view name) {
    for (int v = 0; v <= int(ValueType::Str); ++v)
        if (name_of(ValueType(v)) == name) return ValueType(v);
    return std::nullopt;
}

std::string_view printed_name(ValueType v) {
    switch (v) {
        case ValueType::Bool: return "bool";
        case ValueType::Si8: return "int8_t";
        case ValueType::Ui8: return "uint8_t";
        case ValueType::Si32: return "int32_t";
        case ValueType::Ui32: return "uint32_t";
        case ValueType::Size: return "uint64_t";
        case ValueType::Si64: return "int64_t";
        case ValueType::Ui64: return "uint64_t";
        case ValueType::F32: return "float";
        case ValueType::F64: return "double";
        case ValueType::Str: return "std::string";
    }
    return {};
}

bool have_same_cells(const Type& a, const Type& b) {
    return a.data == b.data && a.value == b.value &&
           std::ranges::equal(a.columns, b.columns, {}, &Column::value, &Column::value);
}

std::string str_of_cells(const Type& t) {
    std::string text = str(t);
    if (!t.is_frame()) return text;
    const char* between = " of (";
    for (const Column& c : t.columns) text += std::exchange(between, ", "), text += name_of(c.value);
    return text + ')';
}

std::string str(const Type& t) {
    switch (t.data) {
        case DataType::Scalar: return fmt::format("scalar of {}", name_of(t.value));
        case DataType::Matrix: return fmt::format("matrix<{}>", name_of(t.value));
        case DataType::Frame: return "frame";
        case DataType::List: return fmt::format("list of matrix<{}>", name_of(t.value));
    }
    return {};
}

}  // namespace weld::daphne
