// Functions that test programs call with `cudf[...]`. weld-test exports them.
#pragma once

#include <cstdint>

namespace weld::driver {

/// What `weld_test_note` was called with since the last `reset_notes`: how often, and the sum. Both must be
/// the same for every way to run a program: a user's function is called exactly as often as the program says.
struct Notes {
    std::int64_t calls = 0, sum = 0;
    friend bool operator==(const Notes&, const Notes&) = default;
};
Notes notes();
void reset_notes();

}  // namespace weld::driver
