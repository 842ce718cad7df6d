// A linker for the objects that code is made of, and no others.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "codegen/code_memory.h"
#include "codegen/engine.h"

namespace weld {

/// Code in memory, ready to be called.
struct LinkedCode {
    std::optional<CodeMemory> memory;
    std::span<const char> data;                      ///< its constants
    std::unordered_map<std::string, void*> symbols;  ///< what it defines, by name
};

/// Brings objects to memory, with `data`, which are in none of them. Null with `*error` set if `resolve` does
/// not know a symbol that none of them defines. Throws std::bad_alloc.
std::unique_ptr<LinkedCode> link(std::span<const SharedBytes> objects, std::span<const CodeData> data,
                                 const Resolve& resolve, std::string* error);

}  // namespace weld
