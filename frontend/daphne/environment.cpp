// Reading what is known of values from the struct that holds them, laid out as in C (lower.h says what they
// are).
#include "frontend/daphne/environment.h"

#include <algorithm>
#include <cstring>

namespace weld::daphne {

namespace {

struct Layout {
    std::int64_t size, align;
};

constexpr Layout kVector = {16, 8};

Layout layout_of_cell(ValueType v) {
    switch (v) {
        case ValueType::Bool:
        case ValueType::Si8:
        case ValueType::Ui8: return {1, 1};
        case ValueType::Si32:
        case ValueType::Ui32:
        case ValueType::F32: return {4, 4};
        case ValueType::Str: return kVector;
        default: return {8, 8};
    }
}

Layout layout_of(const Type& t) {
    switch (t.data) {
        case DataType::Scalar: return layout_of_cell(t.value);
        case DataType::Matrix: return {kVector.size * (t.is_sparse ? 3 : 1) + 16, 8};
        case DataType::Frame: return {kVector.size * std::int64_t(t.columns.size()) + 8, 8};
        case DataType::List: break;
    }
    return kVector;
}

template <class T>
T read(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

Constant read_scalar(ValueType v, const char* at) {
    Constant c{.value = v};
    switch (v) {
        case ValueType::Bool: c.integer = read<std::uint8_t>(at) != 0; break;
        case ValueType::Si8: c.integer = read<std::int8_t>(at); break;
        case ValueType::Ui8: c.integer = read<std::uint8_t>(at); break;
        case ValueType::Si32: c.integer = read<std::int32_t>(at); break;
        case ValueType::Ui32: c.integer = read<std::uint32_t>(at); break;
        case ValueType::Size:
        case ValueType::Si64:
        case ValueType::Ui64: c.integer = read<std::int64_t>(at); break;
        case ValueType::F32: c.number = read<float>(at); break;
        case ValueType::F64: c.number = read<double>(at); break;
        case ValueType::Str: {
            const auto length = read<std::int64_t>(at + 8);
            if (length) c.text.assign(read<const char*>(at), std::size_t(length));
            break;
        }
    }
    return c;
}

void learn(LeftVariable& v, const char* at) {
    switch (v.type.data) {
        case DataType::Scalar: v.constant = read_scalar(v.type.value, at); break;
        case DataType::Matrix:
            v.rows = read<std::int64_t>(at + kVector.size);
            v.columns = read<std::int64_t>(at + kVector.size + 8);
            v.cells.clear();
            for (std::int64_t i = 0; has_wanted_cells(v.name) && i < v.rows * v.columns; ++i)
                v.cells.push_back(read_scalar(v.type.value, read<const char*>(at) + 8 * i));
            break;
        case DataType::Frame:
            v.rows = read<std::int64_t>(at + kVector.size * std::int64_t(v.type.columns.size()));
            v.columns = std::int64_t(v.type.columns.size());
            break;
        case DataType::List: break;
    }
}

}  // namespace

std::shared_ptr<const Environment> ScriptEnvironment::with(const void* values) const {
    auto known = std::make_shared<ScriptEnvironment>(*this);
    std::int64_t at = 0;
    for (LeftVariable& v : known->variables) {
        const Layout layout = layout_of(v.type);
        at = (at + layout.align - 1) / layout.align * layout.align;
        if (v.is_wanted) learn(v, static_cast<const char*>(values) + at);
        at += layout.size;
    }
    return known;
}

void add_definition(std::vector<std::string>& definitions, std::string text) {
    const auto head = [](std::string_view t) { return t.substr(0, t.find('{')); };
    std::erase_if(definitions, [&](const std::string& other) { return head(other) == head(text); });
    definitions.push_back(std::move(text));
}

}  // namespace weld::daphne
