// Values in the layout of C that compiled programs and user functions see (weldir/ir/layout.h,
// runtime/abi/weld_abi.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tests/interp/value.h"

namespace weld::interp {

/// Owns what stored values point to.
class Memory {
  public:
    /// Zeroed, aligned to 64 bytes.
    void* allocate(std::size_t bytes);

  private:
    struct Free {
        void operator()(void* p) const;
    };
    std::vector<std::unique_ptr<void, Free>> blocks_;
};

/// Hands each entry of a dictionary in memory (`dict` is what a field of that type holds) to `entry`, as
/// pointers to key and value.
using DictEntries = std::function<void(const Type* type, const void* dict,
                                       const std::function<void(const void*, const void*)>& entry)>;

/// Dictionaries and builders cannot be stored; false then.
bool store(const Type* type, const Value& v, void* at, Memory& memory);

/// All parameters of a program as one struct.
void* store_arguments(std::span<const Type* const> types, std::span<const Value> values, Memory& memory);

/// `entries` is needed for types with dictionaries in them only. Builders are loaded as their results,
/// appenders only.
Value load(const Type* type, const void* at, const DictEntries& entries = {});

}  // namespace weld::interp
