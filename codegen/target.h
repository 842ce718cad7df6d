// The machine that code is made for, without LLVM.
#pragma once

#include <cstdint>

#include "codegen/engine.h"

namespace weld::codegen {

struct Target {
    Cpu cpu;
    const char* routines;          ///< of runtime/vecmath that code calls: `sse2`, `avx2`, ...
    std::uint32_t register_bytes;  ///< of a vector register
    bool fuses;                    ///< multiplies and adds in one operation
    int least_masked = 1000;       ///< bytes of the smallest lanes that are loaded and stored under masks
    /// Whether `lanes` lanes of `bytes` bytes are. Not eight bytes: LLVM makes sixteen of them, and where it keeps their mask
    /// in memory meanwhile, it writes one byte of that and reads two (19.1, `kmovb` and `kmovw`).
    bool has_masks(std::int64_t bytes, std::int64_t lanes) const {
        return bytes >= least_masked && !(bytes == 1 && lanes == 8);
    }
    bool packs = false;        ///< moves lanes together (AVX-512)
    bool packs_small = false;  ///< also lanes of one and two bytes (VBMI2)
    bool ranges = false;       ///< has the lesser and the greater float in one instruction (AVX-512)
    bool permutes = false;     ///< moves lanes to places that are known at run time (AVX2)
    /// Fetches what follows in memory early by itself, beyond the end of a page too. Of the machine that code
    /// is made on, whatever it is made for.
    bool follows_streams = false;
    /// Loads lanes from places far apart in one instruction in less time than one by one. Of the machine that code
    /// is made on, too.
    bool gathers = true;
};

/// `cpu` is one of runnable_cpus().
const Target& target_of(Cpu cpu);

}  // namespace weld::codegen
