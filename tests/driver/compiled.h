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
    std::string name() const;                        ///< `-O2`, `-O2 passes fold,cse`
};

/// A program, compiled.
class Compiled {
  public:
    /// `error` is set if the program is rejected or a pass broke it.
    Compiled(const std::string& text, const Config& config);

    std::string error;
    Ran run(std::span<const interp::Value> args, int threads) const;

  private:
    std::shared_ptr<const Program> program_;
};

}  // namespace weld::driver
