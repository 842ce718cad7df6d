// What number and string tokens mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weldir/ir/type.h"

namespace weld::front {

/// A number token, read. `error` is empty if it is one.
struct Number {
    Scalar scalar = Scalar::I32;
    std::uint64_t bits = 0;  ///< as Attr::bits
    std::string error;
};

/// Reads `12`, `0x1fL`, `1e-3f`, `7u8`, ...; `negative`: a `-` stands before it and belongs to it.
Number read_number(std::string_view token, bool negative);

/// All 64 bits of an integer token, whatever its suffix says: for `bits[T](...)`.
bool read_bits(std::string_view token, std::uint64_t* bits);

/// The bytes of a string token, with its quotes. `bad` is set to the offset in the token of an unknown
/// escape, or npos.
std::string read_string(std::string_view token, std::size_t* bad);

}  // namespace weld::front
