// `--header`: a program's parameters and result as C++ structs.
#pragma once

#include <string>

#include "frontend/api/compile.h"

namespace weld {

/// A C++ header with `input_type`, the struct of the parameters, and `return_type`; `name` is of the program.
std::string cpp_header(const Program& program, const std::string& name);

}  // namespace weld
