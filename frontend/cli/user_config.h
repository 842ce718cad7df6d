// The file of `--config`: DAPHNE's settings, of which few mean something here.
#pragma once

#include <optional>
#include <string>

#include "frontend/text/import_paths.h"

namespace weld {

struct UserConfig {
    ImportPaths imports;
    std::optional<int> threads;
    std::optional<double> sparsity_threshold;
};

/// Reads the file; none is as good as an empty one. Nothing, or what is wrong with it.
std::string read_user_config(const std::string& path, UserConfig* config);

}  // namespace weld
