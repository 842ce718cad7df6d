// Random programs, checked in every way there is.
#pragma once

#include <cstdint>
#include <string>

namespace weld::driver {

struct FuzzOptions {
    std::uint64_t seed = 1;
    int programs = 100;
    std::string out = ".";        ///< where failing programs are written
    int most_failures = 5;        ///< stops after so many
    bool only_interpret = false;  ///< printing, reading and passes, without compiled code
};

/// The number of failures. Says on standard output what it finds.
int fuzz(const FuzzOptions& options);

}  // namespace weld::driver
