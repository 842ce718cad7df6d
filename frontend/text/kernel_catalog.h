// Kernels of the user that hints in scripts may name (`sum::mySum(X)`), as catalogs list them.
#pragma once

#include <string>
#include <vector>

namespace weld {

struct KernelCatalog {
    struct Kernel {
        std::string operation;  ///< as DAPHNE calls it: `sumAll`, `ewAdd`
        std::string name;       ///< of the function
    };
    std::vector<Kernel> kernels;
};

}  // namespace weld
