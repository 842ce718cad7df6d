// Every struct type becomes a C++ struct, inner ones first; sizes are asserted, so that a wrong guess does
// not compile.
#include "frontend/cli/header.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "runtime/describe.h"
#include "weldir/ir/type.h"
#include "weldir/support/visible.h"

namespace weld {

namespace {

constexpr std::string_view kPrelude = R"(#pragma once

#include <cstdint>

namespace weld_program {

template <class T>
struct vec {
    T* data;
    std::int64_t size;
};

template <class T, int lanes>
struct alignas(sizeof(T) * lanes > 64 ? 64 : sizeof(T) * lanes) simd {
    T lane[lanes];
};

// Only programs look into these.
template <class Key, class Value>
struct dict {
    void* table;
};

template <class T>
struct appender {
    T* data;
    std::int64_t size;
    std::int64_t capacity;
};
)";

constexpr std::string_view kKeywords[] = {"alignas",      "alignof",
                                          "and",          "asm",
                                          "auto",         "bitand",
                                          "bitor",        "break",
                                          "case",         "catch",
                                          "char",         "class",
                                          "compl",        "const",
                                          "continue",     "default",
                                          "delete",       "do",
                                          "double",       "else",
                                          "enum",         "explicit",
                                          "export",       "extern",
                                          "float",        "friend",
                                          "goto",         "inline",
                                          "int",          "long",
                                          "mutable",      "namespace",
                                          "new",          "not",
                                          "operator",     "or",
                                          "private",      "protected",
                                          "public",       "register",
                                          "return",       "short",
                                          "signed",       "sizeof",
                                          "static",       "struct",
                                          "switch",       "template",
                                          "this",         "throw",
                                          "try",          "typedef",
                                          "typeid",       "typename",
                                          "union",        "unsigned",
                                          "using",        "virtual",
                                          "void",         "volatile",
                                          "while",        "xor",
                                          "requires",     "concept",
                                          "decltype",     "constexpr",
                                          "consteval",    "constinit",
                                          "noexcept",     "nullptr",
                                          "co_await",     "co_return",
                                          "co_yield",     "static_assert",
                                          "thread_local", "wchar_t",
                                          "char8_t",      "char16_t",
                                          "char32_t",     "const_cast",
                                          "dynamic_cast", "reinterpret_cast",
                                          "static_cast",  "and_eq",
                                          "not_eq",       "or_eq",
                                          "xor_eq"};

class HeaderWriter {
  public:
    std::string write(const Program& program, const std::string& name) {
        const std::string result = name_of(program.result());
        std::string input = "struct input_type {\n";
        std::set<std::string> taken;
        for (std::uint32_t i = 0; i < program.args()->num_args; ++i)
            input += fmt::format("    {} {};\n", name_of(program.args()->args[i]),
                                 field_name(program.params()[i]->name, taken));
        input += "};\n" + size_check("input_type", program.args());
        return fmt::format(
            "// Parameters and result of {}.\n{}\n{}{}\nusing return_type = {};\n{}\n}}  // namespace "
            "weld_program\n",
            visible(name), kPrelude, structs_, input, result, size_check("return_type", program.result()));
    }

  private:
    std::string name_of(const WeldType* type) {
        switch (type->kind) {
            case kWeldBool: return "bool";
            case kWeldF32: return "float";
            case kWeldF64: return "double";
            case kWeldSimd:
                return fmt::format("simd<{}, {}>", name_of(type->args[0]), type->size / type->args[0]->size);
            case kWeldVec: return fmt::format("vec<{}>", name_of(type->args[0]));
            case kWeldVecMerger:
            case kWeldVecSetter: return fmt::format("vec<{}>", name_of(type->args[0]));
            case kWeldAppender: return fmt::format("appender<{}>", name_of(type->args[0]));
            case kWeldMerger: return name_of(type->args[0]);
            case kWeldDict:
            case kWeldDictMerger:
                return fmt::format("dict<{}, {}>", name_of(type->args[0]), name_of(type->args[1]));
            case kWeldGroupMerger:
                return fmt::format("dict<{}, {}>", name_of(type->args[0]->args[0]),
                                   name_of(type->args[0]->args[1]));
            case kWeldStruct: return struct_name(type);
            default: break;
        }
        if (runtime::is_builder(type)) return "void*";
        const bool is_signed = weld::is_signed(Scalar(type->kind));
        return fmt::format("std::{}int{}_t", is_signed ? "" : "u", type->size * 8);
    }

    std::string struct_name(const WeldType* type) {
        if (const auto known = names_.find(type); known != names_.end()) return known->second;
        std::string fields;
        for (std::uint32_t i = 0; i < type->num_args; ++i)
            fields += fmt::format("    {} _{};\n", name_of(type->args[i]), i);
        const std::string name = fmt::format("struct{}", names_.size());
        structs_ += fmt::format("struct {} {{\n{}}};\n{}\n", name, fields, size_check(name, type));
        return names_[type] = name;
    }

    /// C++ gives an empty struct a byte, Weld none.
    static std::string size_check(const std::string& name, const WeldType* type) {
        if (type->size == 0) return {};
        return fmt::format("static_assert(sizeof({}) == {} && alignof({}) == {});\n", name, type->size, name,
                           type->align);
    }

    static std::string field_name(std::string_view name, std::set<std::string>& taken) {
        std::string field(name);
        std::ranges::replace(field, '$', '_');
        if (std::ranges::find(kKeywords, field) != std::end(kKeywords)) field += '_';
        while (!taken.insert(field).second) field += '_';
        return field;
    }

    std::map<const WeldType*, std::string> names_;
    std::string structs_;
};

}  // namespace

std::string cpp_header(const Program& program, const std::string& name) {
    return HeaderWriter().write(program, name);
}

}  // namespace weld
