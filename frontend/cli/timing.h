// How long everything took, as a table or a line of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/api/compile.h"

namespace weld {

struct RunTimes {
    std::vector<double> run_ms;
    std::vector<double> cpu_ms;  ///< of the process
    std::int64_t peak_bytes = 0;
    int threads = 0;
};

std::string timing_table(const CompileTimes& compile, const RunTimes& run);
std::string timing_json(const CompileTimes& compile, const RunTimes& run);

/// Milliseconds of the wall clock and of the process.
double wall_ms();
double process_ms();

}  // namespace weld
