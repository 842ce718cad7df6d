// Ctrl-C: a run is asked to stop, and given 50 ms for it; anything else ends at once, with exit code 130. In
// the interactive mode all that is done for an input stops, and the next is asked for.
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

    static std::atomic<std::int32_t>* stop_flag();  ///< RunOptions::stop; 0 while none exists
    static bool interrupted();

  private:
    bool inside_another_;
};

}  // namespace weld
