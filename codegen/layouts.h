// Fields of structs that emitted code shares with the runtime: `e.load(fields::Task::debt, task)`. Their rows stand in
// runtime/abi/layouts.h; a row that is not as the struct has it does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "runtime/abi/layouts.h"
#include "runtime/abi/weld_abi.h"

namespace weld::codegen {

/// A field of a struct.
struct Field {
    std::int64_t offset;
    char letter;  ///< its type: see runtime/abi/layouts.h
    constexpr std::int64_t size() const { return letter == 'b' ? 1 : letter == 'i' ? 4 : 8; }
};

/// A field of C++ type T is what `letter` says.
template <class T>
constexpr bool is_of_type(char letter) {
    if (letter == 'p') return std::is_pointer_v<T>;
    return std::is_integral_v<T> && sizeof(T) == (letter == 'b' ? 1 : letter == 'i' ? 4 : 8);
}

/// `rows` are all of a struct of `size` bytes, in order, without gaps.
constexpr bool is_whole(std::span<const Field> rows, std::size_t size) {
    std::int64_t at = 0;
    for (const Field& f : rows) {
        if (f.offset != at) return false;
        at += f.size();
    }
    return at == std::int64_t(size);
}

#define WELD_DECLARE(of, name, letter)                           \
    static_assert(is_of_type<decltype(::of::name)>(#letter[0])); \
    inline constexpr Field name = {offsetof(::of, name), #letter[0]};
#define WELD_LIST(of, name, letter) {offsetof(::of, name), #letter[0]},
#define WELD_WHOLE(of, ROWS)                           \
    ROWS(WELD_DECLARE)                                 \
    inline constexpr Field kAll[] = {ROWS(WELD_LIST)}; \
    static_assert(is_whole(kAll, sizeof(::of)));

namespace fields {
namespace Vec {
WELD_WHOLE(WeldVec, WELD_VEC_FIELDS)
}
namespace Appender {
WELD_WHOLE(WeldAppender, WELD_APPENDER_FIELDS)
}
namespace Table {
WELD_WHOLE(WeldTable, WELD_TABLE_FIELDS)
}
namespace RowBuffer {
WELD_WHOLE(WeldRowBuffer, WELD_ROW_BUFFER_FIELDS)
}
namespace Spread {
WELD_WHOLE(WeldSpread, WELD_SPREAD_FIELDS)
}
namespace HeldKeys {
WELD_WHOLE(WeldHeldKeys, WELD_HELD_KEYS_FIELDS)
}
namespace Type {
WELD_WHOLE(WeldType, WELD_TYPE_FIELDS)
}
namespace Loop {
WELD_WHOLE(WeldLoop, WELD_LOOP_FIELDS)
}
namespace Call {
WELD_WHOLE(WeldCall, WELD_CALL_FIELDS)
}
namespace Task {
WELD_TASK_FIELDS(WELD_DECLARE)
}
namespace TopK {
WELD_TOPK_FIELDS(WELD_DECLARE)
}
}  // namespace fields

#undef WELD_DECLARE
#undef WELD_LIST
#undef WELD_WHOLE

}  // namespace weld::codegen
