// The files of `--kernel-ext`: JSON that lists kernels of the user.
#pragma once

#include <string>
#include <string_view>

#include "frontend/text/kernel_catalog.h"

namespace weld {

/// The file in `FILE` or `FILE:PRIORITY`, what `--kernel-ext` is given. Nothing, or what is wrong with it.
std::string read_kernel_extension(std::string_view text, std::string* path);

/// Adds the kernels of a catalog whose text this is. Nothing, or what is wrong with it.
std::string read_kernel_catalog(std::string_view text, KernelCatalog* catalog);

}  // namespace weld
