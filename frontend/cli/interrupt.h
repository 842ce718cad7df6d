// Ctrl-C: a run is asked to stop, and given 100 ms for it; anything else ends at once, with exit code 130.
#pragma once

#include <atomic>
#include <cstdint>

namespace weld {

inline constexpr int kInterrupted = 130;  ///< exit code

/// From now on, interrupts are treated so; if `patient`, a run gets all the time that it needs to stop.
void catch_interrupts(bool patient = false);

/// While one exists, an interrupt sets the flag instead of ending the process.
class Interruptible {
  public:
    Interruptible();
    ~Interruptible();
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

    std::atomic<std::int32_t>* stop_flag() const;
    bool interrupted() const { return *stop_flag() != 0; }
};

}  // namespace weld
