// The compiled side of every comparison: the natural way through frontend/api.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/api/compile.h"
#include "tests/driver/interpreted.h"

namespace weld::driver {

/// One way to compile a program.
struct Config {
    int level = 2;
    std::optional<std::vector<std::string>> passes;  ///< instead of those of the level
    Cpu cpu = Cpu::Native;
    bool quick = false;        ///< loops are compiled the quick way at first
    std::string name() const;  ///< `-O2`, `-O2 --passes fold,cse for avx2`
    /// Programs have to agree in every bit: they differ in the width of registers at most.
    bool same_bits(const Config& other) const {
        const bool fuses = cpu != Cpu::Sse2, other_fuses = other.cpu != Cpu::Sse2;
        return level == other.level && passes == other.passes && fuses == other_fuses;
    }
};

/// A program, compiled.
class Compiled {
  public:
    /// `error` is set if the program is rejected or a pass broke it.
    Compiled(const std::string& text, const Config& config);

    std::string error;
    /// A run that lasts longer than `most_seconds` is cancelled; 0: none is.
    Ran run(std::span<const interp::Value> args, int threads, int most_seconds = 0) const;
    /// Has all loops optimised that are not.
    void optimise() const;

  private:
    std::shared_ptr<const Program> program_;
};

}  // namespace weld::driver
