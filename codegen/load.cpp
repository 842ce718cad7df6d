// Machine code -> a program that can be run, and its loops that are optimised while it runs.
//
// Threads, started when a loop turns out to be worth it, optimise that loop and those that follow it in the
// program: where one has much to do, the next ones often have, too. They end when there is nothing left to
// do. Starts no LLVM before that, so code that was kept on disk runs a millisecond after it was read.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "codegen/engine.h"
#include "codegen/link.h"
#include "weldir/support/deep_stack.h"

namespace weld {

namespace {

/// Loops after one that is worth it that are optimised along with it, and how many of them at once.
constexpr std::int64_t kAhead = 8, kAtOnce = 2;
/// WeldTiers::worth, in ps: less if what is made is kept, since later runs have it, too, and where there is
/// little to make.
constexpr std::int64_t kWorth = 300'000'000, kSoonWorth = 30'000'000;
constexpr std::size_t kFewLoops = 8;

class Tiers final : public WeldTiers {
  public:
    /// `program`: the quick code.
    Tiers(const MachineCode& code, const LoadOptions& options, const Resolve& resolve,
          const LinkedCode& program)
        : loops_(code.quick),
          options_(options),
          resolve_(resolve),
          program_(program),
          optimised_(std::make_unique<std::atomic<WeldLoopFn>[]>(loops_.functions.size())),
          work_(std::make_unique<std::atomic<std::int64_t>[]>(loops_.functions.size())),
          states_(loops_.functions.size(), State::Quick) {
        for (const OptimizedLoops& some : code.optimized) {
            put_in_place(some);
            for (std::int64_t number : some.numbers) states_[std::size_t(number)] = State::Done;
        }
        size = std::int64_t(loops_.functions.size());
        WeldTiers::optimised = optimised_.get();
        WeldTiers::work = work_.get();
        worth = options_.keep || loops_.functions.size() <= kFewLoops ? kSoonWorth : kWorth;
        WeldTiers::optimise = [](WeldTiers* tiers, std::int64_t number, std::int32_t milliseconds) {
            return std::int32_t(static_cast<Tiers*>(tiers)->ask_for(number, milliseconds));
        };
    }

    ~Tiers() {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        if (is_unwanted())
            for (Budget* budget : budgets_) budget->close();
    }

  private:
    enum class State : std::uint8_t { Quick, Waiting, Done };

    /// See WeldTiers::optimise.
    bool ask_for(std::int64_t number, std::int32_t milliseconds) noexcept {
        State& state = states_[std::size_t(number)];
        std::unique_lock lock(mutex_);
        try {
            if (state == State::Quick) {
                open_.push_back(number);
                state = State::Waiting;
                next_ = number + 1;
                last_ = std::min(number + kAhead, size - 1);
                if (working_ == 0) threads_.clear();  // they have ended
                // `working_` counts only those that still work, so there are never more threads than allowed, nor
                // than there is work for: each takes address space that the run may need.
                for (auto missing = std::min<std::int64_t>(options_.threads, num_tasks()) - working_;
                     missing > 0; --missing)
                    start_thread(lock);
            }
        } catch (const std::bad_alloc&) {
            if (!lock) lock.lock();
            state = State::Done;
        }
        // To wait for no time at all would put the thread to sleep, for as long as timers may be late.
        if (milliseconds > 0)
            changed_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                              [&] { return state == State::Done; });
        return state != State::Done;
    }

    /// Gives the lock up meanwhile. If no thread can be started, the work is done here.
    void start_thread(std::unique_lock<std::mutex>& lock) {
        threads_.reserve(threads_.size() + std::size_t(options_.threads));
        ++working_;
        lock.unlock();
        std::optional<DeepThread> thread;
        try {
            wait_for_optimize_loops();
            thread.emplace([this] { work(); });
        } catch (const std::bad_alloc&) {
            const std::lock_guard again(mutex_);
            --working_;
            throw;
        }
        lock.lock();
        threads_.push_back(std::move(*thread));
    }

    /// What a thread does.
    void work() {
        std::unique_lock lock(mutex_);
        while (!ends_) {
            const Batch batch = next();
            if (batch.all().empty()) break;
            lock.unlock();
            make(batch.all());
            lock.lock();
            for (std::int64_t number : batch.all()) states_[std::size_t(number)] = State::Done;
            changed_.notify_all();
        }
        --working_;
    }

    /// How often `next` would give something.
    std::int64_t num_tasks() const {
        std::int64_t ahead = 0;
        for (std::int64_t k = next_; k <= last_; ++k) ahead += states_[std::size_t(k)] == State::Quick;
        return std::int64_t(open_.size()) + (ahead + kAtOnce - 1) / kAtOnce;
    }

    /// Loops that are optimised together. Takes no memory: nobody on a thread of its own would catch what that throws.
    struct Batch {
        std::array<std::int64_t, kAtOnce> numbers;
        std::size_t size = 0;
        std::span<const std::int64_t> all() const { return {numbers.data(), size}; }
    };

    /// What somebody waits for comes first, by itself.
    Batch next() {
        Batch batch;
        if (!open_.empty()) {
            batch.numbers[batch.size++] = open_.front();
            open_.pop_front();
            return batch;
        }
        for (; next_ <= last_ && batch.size < batch.numbers.size(); ++next_)
            if (State& state = states_[std::size_t(next_)]; state == State::Quick) {
                batch.numbers[batch.size++] = next_;
                state = State::Waiting;
            }
        return batch;
    }

    /// The memory that a thread may take, closed if what it makes is not wanted any more.
    class Allowance {
      public:
        explicit Allowance(Tiers& tiers) : tiers_(tiers), budget_(tiers.options_.most_memory) {
            const std::lock_guard lock(tiers_.mutex_);
            tiers_.budgets_.push_back(&budget_);
            if (tiers_.is_unwanted()) budget_.close();
        }
        ~Allowance() {
            const std::lock_guard lock(tiers_.mutex_);
            std::erase(tiers_.budgets_, &budget_);
        }
        Allowance(const Allowance&) = delete;
        Budget* budget() { return &budget_; }

      private:
        Tiers& tiers_;
        Budget budget_;
    };

    bool is_unwanted() const { return ends_ && !options_.keep; }

    /// If memory or anything else is missing, the quick code remains.
    void make(std::span<const std::int64_t> some) noexcept {
        try {
            Allowance allowance(*this);
            const CodeOptions options{.cpu = options_.cpu,
                                      .level = options_.level,
                                      .budget = allowance.budget(),
                                      .is_for_process = !options_.keep};
            std::vector<std::string> functions;
            for (std::int64_t number : some) functions.push_back(loops_.functions[std::size_t(number)]);
            std::string error;
            const auto made = [&](std::string object) {
                const OptimizedLoops loops{{some.begin(), some.end()}, SharedBytes(std::move(object))};
                put_in_place(loops);
                if (options_.keep) options_.keep(loops);
            };
            optimize_loops(loops_.bitcode, functions, options, made, &error);
        } catch (const std::bad_alloc&) {}
    }

    /// From now on these are called.
    void put_in_place(const OptimizedLoops& some) noexcept {
        try {
            std::string error;
            const Resolve resolve = [this](std::string_view name) {
                const auto known = program_.symbols.find(std::string(name));
                return known != program_.symbols.end() ? known->second : resolve_(name);
            };
            auto code = link({&some.object, 1}, {}, resolve, &error);
            if (!code) return;
            const std::lock_guard lock(mutex_);
            const LinkedCode& made = *codes_.emplace_back(std::move(code));
            for (std::int64_t number : some.numbers)
                optimised_[std::size_t(number)].store(
                    reinterpret_cast<WeldLoopFn>(made.symbols.at(loops_.functions[std::size_t(number)])),
                    std::memory_order_release);
        } catch (const std::bad_alloc&) {}
    }

    const QuickLoops loops_;
    const LoadOptions options_;
    const Resolve resolve_;
    const LinkedCode& program_;
    std::unique_ptr<std::atomic<WeldLoopFn>[]> optimised_;
    std::unique_ptr<std::atomic<std::int64_t>[]> work_;

    std::mutex mutex_;  ///< of what follows
    std::condition_variable changed_;
    std::vector<State> states_;
    std::vector<std::unique_ptr<LinkedCode>> codes_;
    std::deque<std::int64_t> open_;      ///< that somebody asked for
    std::int64_t next_ = 0, last_ = -1;  ///< that nobody did
    std::vector<Budget*> budgets_;       ///< of those who work
    bool ends_ = false;
    int working_ = 0;                  ///< threads
    std::vector<DeepThread> threads_;  ///< end before all else
};

struct LoadedCode final : Code {
    std::unique_ptr<LinkedCode> linked;
    std::optional<Tiers> own_tiers;
};

}  // namespace

std::shared_ptr<Code> load(const MachineCode& machine_code, const LoadOptions& options,
                           const Resolve& resolve, std::string* error) {
    auto code = std::make_shared<LoadedCode>();
    code->linked = link(machine_code.objects, machine_code.data, resolve, error);
    if (!code->linked) return nullptr;
    code->entry = reinterpret_cast<EntryFn>(code->linked->symbols.at(std::string(kMainFunction)));
    code->data = code->linked->data;
    if (machine_code.quick.functions.empty()) code->linked->symbols = {};  // and its memory
    else code->tiers = &code->own_tiers.emplace(machine_code, options, resolve, *code->linked);
    return code;
}

}  // namespace weld
