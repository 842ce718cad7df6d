// Random programs: well-typed, they verify, and they end; some of them fail while running.
#pragma once

#include <vector>

#include "tests/driver/random.h"
#include "tests/interp/value.h"
#include "weldir/ir/module.h"

namespace weld::driver {

struct GenerateOptions {
    int size = 80;                  ///< about so many nodes
    bool math = true;               ///< exp, sin, ...: only if the interpreter has the runtime's routines
    bool functions = true;          ///< module functions
    bool functions_of_test = true;  ///< `cudf`: see functions.h
    bool failures = true;           ///< divisions, lookups and iterators that may fail
};

/// Fills an empty module with a program.
void generate(Module& m, Random& random, const GenerateOptions& options);

/// Arguments for the main program. Some vectors are empty, few are long enough to be cut into chunks.
std::vector<interp::Value> random_arguments(const Module& m, Random& random);

}  // namespace weld::driver
