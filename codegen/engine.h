// From a Module to a function that can be called. The only header of codegen that others include; no LLVM in
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/abi/weld_abi.h"
#include "weldir/ir/module.h"

namespace weld {

/// Runs the program: `args` points to one C struct with the parameters of main in order, `result` to room for
/// its result. Returns a status; on failure `result` holds nothing and the failure is with the task.
using EntryFn = std::int32_t (*)(WeldTask* task, const void* args, void* result);

struct CodeOptions {
    int level = 2;              ///< 0: no LLVM optimisation, fast selection; 1...3
    bool bounds_checks = true;  ///< checks of lookups, slices, iterators, zips, vecmerger indices
    std::string* llvm_input_text = nullptr;  ///< if set, receives the LLVM IR before optimisation
    std::string* llvm_text = nullptr;        ///< if set, receives the LLVM IR after optimisation
    std::string* asm_text = nullptr;         ///< if set, receives the assembly
};

struct CodeTimes {
    double optimize_ms = 0;  ///< building LLVM IR and its passes
    double emit_ms = 0;      ///< machine code and linking
};

/// Compiled code of one Module. Lives as long as something points to it; needs the Module no longer.
class Code {
  public:
    virtual ~Code() = default;
    EntryFn entry = nullptr;
};

/// The address of a runtime entry (runtime/abi/entry.def), vector routine or user function; null if unknown.
using Resolve = std::function<void*(std::string_view name)>;

/// Translates a verified Module. Null with `*error` set if that fails, which is our bug or the machine's,
/// never the user's. May be called from several threads.
std::shared_ptr<Code> generate(const Module& m, const CodeOptions& options, const Resolve& resolve,
                               CodeTimes* times, std::string* error);

/// `generate`, for who loads libweld.so only when code is needed: weld-cli does.
extern "C" decltype(&generate) const weld_codegen_generate;

/// Bytes of a vector register of this machine: 64, 32 or 16. Starts no LLVM.
std::uint32_t target_simd_bytes();
/// AVX-512 that can move lanes of one and two bytes together (VBMI2).
bool target_moves_small_lanes();

}  // namespace weld
