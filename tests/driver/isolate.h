// Work in a process of its own, so that a crash or a hang of what is tested is a result like any other.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weld::driver {

struct Isolated {
    std::vector<std::string> reports;  ///< in order
    std::string
        ended_badly;  ///< empty, or `signal 11 (Segmentation fault)`, `no end after 30 s of processor time`
    bool timed_out = false;
};

/// Forks; the child calls `work` on a big stack and may report any number of texts. It is ended when it takes
/// more than so many seconds of processor time, counted anew from each report, or when it does nothing for as
/// long: others that keep the machine busy are not its fault. The parent must not have started threads.
Isolated run_isolated(const std::function<void(const std::function<void(const std::string&)>& report)>& work,
                      int seconds);

}  // namespace weld::driver
