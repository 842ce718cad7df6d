// Work in a process of its own, so that a crash or a hang of what is tested is a result like any other.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weld::driver {

struct Isolated {
    std::vector<std::string> reports;  ///< in order
    std::string ended_badly;           ///< empty, or `signal 11 (Segmentation fault)`, `no end after 30 s`
    bool timed_out = false;
};

/// Forks; the child calls `work` on a big stack and may report any number of texts; waits for it at most so
/// long. The parent must not have started threads.
Isolated run_isolated(const std::function<void(const std::function<void(const std::string&)>& report)>& work,
                      int seconds);

}  // namespace weld::driver
