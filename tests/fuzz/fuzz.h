// What the fuzz targets share. Each is one file with LLVMFuzzerTestOneInput; libFuzzer drives it (the preset
// `fuzz`), or replay.cpp, which only repeats a corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace weld::fuzz {

/// Ends the process if `wrong` says something.
inline void demand_nothing(const std::string& wrong) {
    if (wrong.empty()) return;
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
}

}  // namespace weld::fuzz
