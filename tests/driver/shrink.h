// Making a failing program small.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/interp/value.h"

namespace weld::driver {

/// A program with arguments.
struct Sample {
    std::string text;
    std::vector<interp::Value> args;
};

/// A sample for which `fails` still holds, as small as `attempts` calls of it can make it.
Sample shrink(const Sample& sample, const std::function<bool(const Sample&)>& fails, int attempts);

}  // namespace weld::driver
