// The order of passes; see pipeline.cpp.
#pragma once

#include <span>
#include <string_view>

namespace weld {

/// Some passes in a row.
struct Stage {
    std::string_view name;  ///< reported when it is done (`optimized`), or empty
    bool repeats;           ///< again, at most kMaxRounds times, over the functions that changed
    std::span<const std::string_view> passes;
};
inline constexpr int kMaxRounds = 3;

std::span<const Stage> pipeline();

/// Passes of Weld 0.4, and the passes here that do their work (none where the IR leaves nothing to do).
struct OldName {
    std::string_view name;
    std::span<const std::string_view> passes;
};
std::span<const OldName> old_names();

}  // namespace weld
