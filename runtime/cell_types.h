// The C++ types of scalars and strings, for what is written once for all of them.
#pragma once

#include <cstdint>

#include "runtime/abi/weld_abi.h"

namespace weld::runtime {

/// A bool in memory: any byte but 0 is true.
struct Bool {
    std::uint8_t byte;
    operator int() const { return byte != 0; }
};

/// Calls `f` with the C++ type of `kind`: f.template operator()<T>(). WeldVec is a string, and every other
/// kind.
template <class F>
auto with_cell(WeldKind kind, const F& f) {
    switch (kind) {
        case kWeldBool: return f.template operator()<Bool>();
        case kWeldI8: return f.template operator()<std::int8_t>();
        case kWeldI16: return f.template operator()<std::int16_t>();
        case kWeldI32: return f.template operator()<std::int32_t>();
        case kWeldI64: return f.template operator()<std::int64_t>();
        case kWeldU8: return f.template operator()<std::uint8_t>();
        case kWeldU16: return f.template operator()<std::uint16_t>();
        case kWeldU32: return f.template operator()<std::uint32_t>();
        case kWeldU64: return f.template operator()<std::uint64_t>();
        case kWeldF32: return f.template operator()<float>();
        case kWeldF64: return f.template operator()<double>();
        default: return f.template operator()<WeldVec>();
    }
}
template <class F>
auto with_cell(const WeldType* type, const F& f) {
    return with_cell(WeldKind(type->kind), f);
}

}  // namespace weld::runtime
