// One run of a program: what it is told, what it leaves behind, and how it failed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/weld_abi.h"
#include "runtime/memory.h"

namespace weld::runtime {

/// The first thing that went wrong, in the order of the program.
struct Failure {
    std::int64_t code = kWeldSuccess;  ///< WeldErrno
    std::int32_t loc = 0;
    std::string message;  ///< "index 7 is out of bounds for a vector of length 3"
};

/// Memory that a finished run left behind: what its result points into. Freed with the object.
class RunMemory {
  public:
    RunMemory() = default;
    RunMemory(RunMemory&& other) noexcept { swap(other); }
    RunMemory& operator=(RunMemory&& other) noexcept {
        swap(other);
        return *this;
    }
    ~RunMemory();

    /// Says whose it is: Owners then finds `value` by an address in it.
    void belong_to(const void* value);

    /// What the account counts for it.
    std::int64_t bytes() const { return bytes_; }

  private:
    friend class RunMemoryAccess;
    void swap(RunMemory& other) noexcept;

    std::shared_ptr<MemoryAccount> account_;
    Page* pages_ = nullptr;
    std::int64_t bytes_ = 0;
    std::unique_ptr<WeldRegion>
        region_;  ///< where a later run can go on, if there is something to go on with
};

/// How far the outermost loop that runs now has come. Written by the run, read by another thread.
struct LoopProgress {
    std::atomic<std::int64_t> loops{0};   ///< that have begun so far
    std::atomic<std::int64_t> chunks{0};  ///< of the loop; 0: none runs
    std::atomic<std::int64_t> done{0};    ///< chunks
};

class Output;

/// Is told where a result points to outside of its own memory.
class Outside {
  public:
    /// `p` is where elements begin, or a dictionary, that hold pointers themselves or not. The pointer stands
    /// in memory of the result, or else in the result itself or in what it points to outside.
    virtual void reach(const void* p, bool holds_pointers, bool from_own_memory) = 0;

  protected:
    ~Outside() = default;
};

/// Bits of the word that has the tasks of a run look up.
enum StopBit : std::int32_t {
    kCancelled = 1,   ///< all stop
    kPartFailed = 2,  ///< of a loop: its later parts stop. Set by the run itself
};

struct RunOptions {
    int threads = 1;
    std::shared_ptr<MemoryAccount> account;     ///< null: an account of its own without limit
    std::atomic<std::int32_t>* stop = nullptr;  ///< set kCancelled in it to cancel the run
    /// Memory of the same account, of results that hold builders: the run takes it over and goes on in it.
    /// Afterwards or some runs later, what the result does not reach is freed.
    std::vector<RunMemory>* adopted = nullptr;
    Outside* outside = nullptr;        ///< if not null, and no builder is in the result
    LoopProgress* progress = nullptr;  ///< kept up to date if not null
    WeldTiers* tiers = nullptr;        ///< of the program; null: its loops have the code that they have
    Output* output = nullptr;          ///< takes what the program prints; null: the standard output
    Output* errors = nullptr;          ///< takes what it prints as errors; null: the standard error
    bool serialize_header = false;     ///< bytes of values begin with magic, version and a hash of the type
};

/// As weld::EntryFn.
using EntryFn = std::int32_t (*)(WeldTask* task, const void* args, void* result);

/// Runs `entry`. True: `result` is filled and `blocks` holds the memory it points into, as far as that is not
/// the arguments'. False: all memory is freed and `failure` says why. Types that a dictionary in the result
/// was made with must live as long as it.
bool execute(EntryFn entry, const void* args, void* result, const WeldType* result_type,
             const RunOptions& options, RunMemory* blocks, Failure* failure);

/// The address of a function of runtime/abi/entry.def or kernels.def, by name; null if there is none.
void* entry_address(std::string_view name);

/// Begins, on another thread, what takes long before the first call of one of these functions of
/// runtime/abi/kernels.def.
void prepare_kernels(std::span<const std::string> kernels);

}  // namespace weld::runtime
