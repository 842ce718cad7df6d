// From a Module to machine code, and from there to a function that can be called. The only header of codegen
// that others include; no LLVM in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/weld_abi.h"
#include "weldir/ir/module.h"
#include "weldir/support/budget.h"
#include "weldir/support/shared_bytes.h"

namespace weld {

/// Runs the program: `args` points to one C struct with the parameters of main in order, `result` to room for
/// its result. Returns a status; on failure `result` holds nothing and the failure is with the task.
using EntryFn = std::int32_t (*)(WeldTask* task, const void* args, void* result);

/// Which instructions code may use, from those of any x86-64 on. Each has those before it.
enum class Cpu : std::uint8_t {
    Sse2,
    Avx2,    ///< and FMA: x86-64-v3
    Avx512,  ///< f, bw, cd, dq, vl: x86-64-v4
    Native,  ///< all that this machine has
};
/// Those that this machine can run code for, `Native` being the last.
std::vector<Cpu> runnable_cpus();
std::string_view name_of(Cpu cpu);  ///< `sse2`

/// For tests: at which allocation there is no memory.
struct HeapProbe {
    std::atomic<std::int64_t> allocations = 0;  ///< of LLVM for this program, in all threads
    std::int64_t fail_at = 0;                   ///< the number of the one that fails; 0: none
};

struct CodeOptions {
    Cpu cpu = Cpu::Native;
    int level = 2;             ///< 0: no LLVM optimisation, fast selection; 1...3
    int threads = 1;           ///< that compile, at most
    Budget* budget = nullptr;  ///< that memory for making code is taken from; if it is closed, none is made
    bool is_for_process = false;  ///< when the process ends, nobody wants what is made
    bool verify = false;          ///< check the LLVM IR, and that LLVM gives its memory back
    HeapProbe* probe = nullptr;
    std::string* llvm_input_text = nullptr;  ///< if set, receives the LLVM IR before optimisation
    std::string* llvm_text = nullptr;        ///< if set, receives the LLVM IR after optimisation
    std::string* asm_text = nullptr;         ///< if set, receives the assembly
};

struct CodeTimes {
    double optimize_ms = 0;  ///< building LLVM IR and its passes
    double emit_ms = 0;      ///< machine code and linking
};

/// Optimised code of some of QuickLoops. It gives the same bits.
struct OptimizedLoops {
    std::vector<std::int64_t> numbers;  ///< WeldLoop::number of each
    SharedBytes object;                 ///< ELF, with their functions and what these call
};

/// What machine code is loaded for.
struct LoadOptions {
    Cpu cpu = Cpu::Native;         ///< and
    int level = 2;                 ///< of the code, also of what is optimised later
    int threads = 1;               ///< that optimise later, at most
    std::int64_t most_memory = 0;  ///< that this may take, each time
    std::function<void(const OptimizedLoops&)>
        keep;  ///< is told what was optimised, by any thread; may be none
};

/// Machine code of one Module in memory. Lives as long as something points to it; needs the Module no longer.
class Code {
  public:
    virtual ~Code() = default;
    EntryFn entry = nullptr;
    std::span<const char> data;  ///< its constants, which results may point into
    WeldTiers* tiers = nullptr;  ///< for runs, if there are loops that may be optimised later
};

/// The name of the main program in machine code.
inline constexpr std::string_view kMainFunction = "weld_main";
/// What the names of user functions begin with in machine code.
inline constexpr std::string_view kUserFunction = "udf.";

/// The address of a runtime entry (runtime/abi/entry.def), vector routine or user function; null if unknown.
using Resolve = std::function<void*(std::string_view name)>;

/// Constants that code refers to by name. The bytes belong to the Module, or to who read the code from a
/// file.
struct CodeData {
    std::string name;
    std::string_view bytes;
};

/// Loops, rounds of iterates and functions whose machine code was made the quick way: slow, but soon there.
struct QuickLoops {
    SharedBytes bitcode;                 ///< of LLVM, of all of them
    std::vector<std::string> functions;  ///< their names, by WeldLoop::number
};

/// Machine code that holds no address of a process, so it may be kept.
struct MachineCode {
    std::vector<SharedBytes> objects;  ///< ELF
    std::vector<CodeData> data;
    std::string generator;                  ///< the file that `generate` lies in
    QuickLoops quick;                       ///< may be none
    std::vector<OptimizedLoops> optimized;  ///< some of these, from runs before
};

enum class GenerateEnd { Good, Failed, NoMemory, OverLimit };

/// Translates a verified Module. `Failed`, with `*error` set, is our bug, never the user's. May be called
/// from several threads.
GenerateEnd generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
                     std::string* error) noexcept;

/// The optimised code of some of QuickLoops. Calls `made` with the object before the process may end.
GenerateEnd optimize_loops(std::string_view bitcode, std::span<const std::string> functions,
                           const CodeOptions& options, const std::function<void(std::string object)>& made,
                           std::string* error) noexcept;

/// Has the process wait at its end for threads in `optimize_loops`, which leave what is for it alone. To be
/// called before there is one, by a thread that the process does not end without.
void wait_for_optimize_loops() noexcept;

/// Brings machine code to memory. Null with `*error` set if a function is unknown. Throws std::bad_alloc.
std::shared_ptr<Code> load(const MachineCode& code, const LoadOptions& options, const Resolve& resolve,
                           std::string* error);

/// What makes code, for who loads libweld.so only when code is needed: weld-cli does.
struct Codegen {
    decltype(&weld::generate) generate;
    decltype(&weld::optimize_loops) optimize_loops;
    decltype(&weld::wait_for_optimize_loops) wait_for_optimize_loops;
};
extern "C" const Codegen weld_codegen;

/// What code that was made here for `cpu` may be run on.
std::string target_identity(Cpu cpu);

}  // namespace weld
