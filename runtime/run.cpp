// A run: its tasks, its failure, and the table of functions that emitted code may call.
#include "runtime/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/describe.h"
#include "runtime/entry.h"
#include "runtime/kernels/blas.h"
#include "runtime/kernels/kernel.h"
#include "runtime/parallel.h"
#include "runtime/stack.h"
#include "runtime/task.h"
#include "weldir/support/visible.h"

namespace weld::runtime {

Task::Task(WeldRun* r, std::atomic<std::int32_t>* stop_flag) {
    stop = stop_flag;
    run = r;
    region = nullptr;
    debt = 0;
    stack_end = end_of_stack();
    close_slabs(this);
    enter_region(this, &first);
}

Task::~Task() {
    free_pages(&account(), given);
    for (Region* r = region; r; r = r->outer) free_pages(&account(), r->pages);
    for (Region* r = region; r->outer;) {
        Region* inner = std::exchange(r, r->outer);
        if (inner->pooled) delete inner;
    }
    while (spare_regions) delete std::exchange(spare_regions, spare_regions->outer);
}

std::int32_t Task::fail(std::int64_t code, std::int32_t loc, std::string message) {
    if (!failed()) failure = {code, loc, std::move(message)};
    return kFailed;
}

std::string in_words(std::int64_t bytes) {
    constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    while (u < 4 && bytes >= 1024 && bytes % 1024 == 0) bytes /= 1024, ++u;
    return fmt::format("{} {}", bytes, units[u]);
}

std::string over_limit(std::int64_t limit) {
    return fmt::format("memory limit of {} exceeded", in_words(limit));
}

std::int32_t Task::fail_memory(std::int32_t loc, Shortage why) noexcept {
    if (failed()) return kFailed;
    failure.code = kWeldOutOfMemory;
    failure.loc = loc;
    const std::int64_t limit = account().limit();
    try {
        failure.message = why == Shortage::Machine || limit == MemoryAccount::kUnlimited
                              ? "the machine has no more memory"
                              : over_limit(limit);
    } catch (const std::bad_alloc&) {
        failure.message = "out of memory";  // so short that a string has it in itself
    }
    return kFailed;
}

// ---- what is left behind ----------------------------------------------------------------------------------

void RunMemory::swap(RunMemory& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(pages_, other.pages_);
    std::swap(bytes_, other.bytes_);
    std::swap(region_, other.region_);
}

void RunMemory::belong_to(const void* value) {
    for (Page* page = pages_; page; page = page->next) page->value = value;
}

RunMemory::~RunMemory() {
    if (account_) free_pages(account_.get(), pages_);
}

class RunMemoryAccess {
  public:
    /// Moves the memory of a task that has ended well to `blocks`.
    static void take(Task* task, bool goes_on, RunMemory* blocks) {
        RunMemory taken;
        Region region;
        rest_region(task, &region);
        taken.account_ = task->run->account;
        taken.bytes_ = region.page_bytes;
        taken.pages_ = region.pages;
        if (goes_on) taken.region_ = std::make_unique<Region>(region);
        *blocks = std::move(taken);
    }
    /// The other way round.
    static void give(RunMemory&& blocks, Task* task) {
        if (blocks.region_) resume_region(task, blocks.region_.get());
        blocks.pages_ = nullptr;
        blocks.bytes_ = 0;
        blocks.region_.reset();
    }
};

bool execute(EntryFn entry, const void* args, void* result, const WeldType* result_type,
             const RunOptions& options, RunMemory* blocks, Failure* failure) {
    WeldRun run;
    run.account = options.account ? options.account : std::make_shared<MemoryAccount>();
    run.threads = std::max(1, options.threads);
    run.serialize_header = options.serialize_header;
    run.progress = options.progress;
    run.tiers = options.tiers;
    run.is_repeated = run.tiers && run.tiers->runs.fetch_add(1, std::memory_order_relaxed) > 0;
    run.output = options.output;
    run.errors = options.errors;
    const bool goes_on = any_part(result_type, is_builder);
    bool good;
    {
        Task task(&run, options.stop ? options.stop : &run.stop);
        if (options.adopted)
            for (RunMemory& adopted : *options.adopted) RunMemoryAccess::give(std::move(adopted), &task);
        good = entry(&task, args, result) == kOk;
        if (good) {
            while (task.region->outer) exit_region(&task, task.region);
            // A builder that goes from run to run is not looked through each time.
            if (!goes_on) task.outside = options.outside;
            const bool is_due =
                goes_on ? task.debt > 0 : task.outside || holds_garbage(&task, result, result_type);
            if (is_due) weld_rt_collect(&task, result, result_type);
            good = task.check_stop(0) == kOk;  // collecting may have given up
        } else if (!task.failed()) {
            task.fail(kWeldUnknown, 0, "the program failed");
        }
        if (good) RunMemoryAccess::take(&task, goes_on, blocks);
        *failure = std::move(task.failure);
    }
    run.account->end_of_run();
    return good;
}

// ---- entries ----------------------------------------------------------------------------------------------

/// The place of a call, the last parameter of most entries.
template <class... Parameters>
static std::int32_t place_in(Parameters... all) {
    const std::tuple parameters(all...);
    const auto last = std::get<sizeof...(all) - 1>(parameters);
    if constexpr (std::is_same_v<decltype(last), const std::int32_t>) return last;
    else return 0;
}

/// Calls `entry`, and makes a failure of what it throws.
template <auto entry, class Result, class... Parameters>
static Result guarded_entry(WeldTask* task, Parameters... parameters) noexcept {
    try {
        return entry(task, parameters...);
    } catch (...) {
        const std::int32_t status = task_of(task)->fail_memory(place_in(parameters...), Shortage::Machine);
        if constexpr (std::is_pointer_v<Result>) return nullptr;
        else if constexpr (std::is_same_v<Result, std::int64_t>) return -1;
        else if constexpr (!std::is_void_v<Result>) return status;
    }
}

template <auto entry, class Result, class... Parameters>
static void* address_of(Result (*)(WeldTask*, Parameters...)) {
    return reinterpret_cast<void*>(&guarded_entry<entry, Result, Parameters...>);
}
template <auto entry, class Result, class... Parameters>
static void* address_of(Result (*)(Parameters...) noexcept) {
    return reinterpret_cast<void*>(entry);
}

void* entry_address(std::string_view name) {
    struct Entry {
        std::string_view name;
        void* address;
    };
    static const Entry entries[] = {
#define WELD_ENTRY(name, result, parameters) {#name, address_of<&name>(&name)},
#include "runtime/abi/entry.def"
#define WELD_KERNEL(symbol, name, effect, fails, fresh, params, result) \
    {#symbol, reinterpret_cast<void*>(&symbol)},
#include "runtime/abi/kernels.def"
    };
    for (const Entry& e : entries)
        if (e.name == name) return e.address;
    return nullptr;
}

void prepare_kernels(std::span<const std::string> kernels) {
    static constexpr std::string_view callers_of_blas[] = {
#define WELD_KERNEL_CALLS_BLAS(symbol) #symbol,
#include "runtime/abi/kernels.def"
    };
    if (std::ranges::find_first_of(kernels, callers_of_blas) != kernels.end()) begin_to_load_blas();
}

static std::string bounds_message(std::int64_t index, std::int64_t len) {
    return fmt::format("index {} is out of bounds for a vector of length {}", index, len);
}

static std::string message_of(std::int32_t code, std::int64_t a, std::int64_t b) {
    switch (code) {
        case kWeldArrayOutOfBounds:
            return b < 0 ? fmt::format("the size of a slice cannot be {}", b) : bounds_message(a, b);
        case kWeldMismatchedZipSize:
            return fmt::format("zipped iterators have different lengths: {} and {}", a, b);
        case kWeldKeyNotFound: return "key not found in dictionary";
        case kWeldAssertionError: return "assertion failed";
        case kWeldDivisionByZero: return "division by zero";
        case kWeldCancelled: return "cancelled";
        case kWeldStackOverflow: return "the recursion is too deep for the stack";
        case kWeldDeserializationError: return "the bytes to deserialize are not a value of this type";
        default: return fmt::format("the program failed with code {}", code);
    }
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

void weld_rt_fail_at(WeldTask* t, std::int32_t code, std::int32_t loc, std::int64_t a, std::int64_t b) {
    Task* task = task_of(t);
    if (code == kWeldOutOfMemory) task->fail_memory(loc, Shortage::Limit);  // sizes beyond all numbers
    else if (!task->failed()) task->fail(code, loc, message_of(code, a, b));
}

std::int32_t weld_rt_fail_assert(WeldTask* t, const void* text, std::int64_t len, std::int32_t loc) {
    constexpr std::int64_t most = 1000;
    Task* task = task_of(t);
    if (len <= 0) return task->fail(kWeldAssertionError, loc, message_of(kWeldAssertionError, 0, 0));
    std::string said(static_cast<const char*>(text), std::size_t(std::min(len, most)));
    return task->fail(kWeldAssertionError, loc, weld::visible(said) + (len > most ? "..." : ""));
}

void weld_rt_fail_bounds(WeldTask* t, std::int32_t loc, std::int64_t start, std::int64_t end,
                         std::int64_t stride, std::int64_t len) {
    const bool range = len < 0;
    const char* rule = stride < 1                              ? "stride >= 1"
                       : !range && start < 0                   ? "start >= 0"
                       : start > end                           ? "start <= end"
                       : !range && end > len                   ? "end <= length"
                       : (__int128(end) - start) % stride != 0 ? "end - start is a multiple of stride"
                                                               : "fewer than 2^63 iterations";
    task_of(t)->fail(
        kWeldBadIteratorLength, loc,
        fmt::format("iterator bounds are wrong: start {}, end {}, stride {}{}; the rule is {}", start, end,
                    stride, range ? "" : fmt::format(" over a vector of length {}", len), rule));
}

std::int32_t weld_rt_stopped(WeldTask* task, std::int32_t loc) noexcept {
    return task_of(task)->check_stop(loc);
}

std::int32_t weld_rt_deeper(WeldTask* task, WeldFunctionFn function, const void* args, void* result,
                            std::int32_t loc) {
    const char* const before = task->stack_end;
    std::int32_t status = kFailed;
    const bool called = on_more_stack(task_of(task)->account().limit() / 4, [&](const char* end) {
        task->stack_end = end;
        status = function(task, args, result);
    });
    task->stack_end = before;
    return called ? status
                  : task_of(task)->fail(kWeldStackOverflow, loc, "the recursion is too deep for the stack");
}
}
