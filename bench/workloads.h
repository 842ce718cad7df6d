// What is measured: a Weld program, its inputs, and the digest that its result must have.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weld::bench {

/// Inputs in memory: the struct of arguments, and whatever keeps it alive.
struct Inputs {
    std::vector<std::byte> args;  ///< one C struct of the parameters
    std::shared_ptr<void> owner;
};

struct Workload {
    std::string name;     ///< `W5.uni.1e6`: the reference's line starts with it
    std::string program;  ///< file in bench/programs, without `.weld`
    double expected;      ///< digest, to a relative 1e-9 (see `tolerance`)
    double tolerance;
    std::function<Inputs()> make;
    std::function<double(const void* result)> digest;
};

const std::vector<Workload>& workloads();

}  // namespace weld::bench
