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

/// Times one run. Room for its times is made before it: what a run has written is not undone for want of
/// memory behind it.
class RunTimer {
  public:
    explicit RunTimer(RunTimes& times) : times_(times) {
        times_.run_ms.push_back(0);
        times_.cpu_ms.push_back(0);
        start_ms_ = wall_ms();
        start_cpu_ms_ = process_ms();
    }
    void stop() {
        times_.cpu_ms.back() = process_ms() - start_cpu_ms_;
        times_.run_ms.back() = wall_ms() - start_ms_;
    }

  private:
    RunTimes& times_;
    double start_ms_, start_cpu_ms_;
};

}  // namespace weld
