// What is measured: a Weld program, its inputs, and the digest that its result must have.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/text/environment.h"

namespace weld::bench {

/// Inputs in memory: the struct of arguments, and whatever keeps it alive.
struct Inputs {
    std::vector<std::byte> args;  ///< one C struct of the parameters
    std::shared_ptr<void> owner;
};

struct Workload {
    std::string name;     ///< `W5.uni.1e6`: the reference's line starts with it
    std::string program;  ///< file in bench/programs, without its ending
    double expected;      ///< digest, to a relative 1e-9 (see `tolerance`)
    double tolerance;
    std::function<Inputs()> make;
    std::function<double(const void* result)> digest;
    bool is_script = false;                    ///< its result is the struct of its variables, by name
    std::shared_ptr<const Environment> given;  ///< of a script: what it finds; null: nothing
};

const std::vector<Workload>& workloads();
/// D1 to D7, which are among them.
std::vector<Workload> scripts();
/// N1 to N12.
std::vector<Workload> natural();

}  // namespace weld::bench
