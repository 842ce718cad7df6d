// Running program files with `#@` lines (test_file.h).
#pragma once

#include <string>
#include <vector>

namespace weld::driver {

struct FileReport {
    int checks = 0;
    std::vector<std::string> failures;  ///< `FILE:LINE: what is wrong`
};

/// All checks of one file. `bless`: writes the `#@ after:` blocks anew instead of comparing them.
FileReport run_file(const std::string& path, bool bless);

}  // namespace weld::driver
