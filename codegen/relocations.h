// What a linker does at the places of code that hold addresses, for the machine that this runs on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weld::relocations {

constexpr std::size_t kStubBytes = 16, kSlotBytes = 8;

/// Code loads the address from a slot, whose place it wants.
bool needs_slot(std::uint32_t type);
/// A call or jump that does not reach `distance` bytes: it wants a stub.
bool needs_stub(std::uint32_t type, std::int64_t distance);
/// Writes a jump to `target` that reaches everywhere.
void write_stub(char* stub, char* target);
/// Writes `value` (an address, with what is to be added to it) to what lies at `at`. Null, or what is wrong.
const char* patch(char* at, std::uint32_t type, char* value);

}  // namespace weld::relocations
