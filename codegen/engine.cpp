// Module -> LLVM modules -> machine code.
//
// Code that runs once is compiled the quick way; loops, and functions that are called often, are optimised.
// That takes LLVM some twenty microseconds an instruction. So where there is much of it, loops that say so
// (`optimize:later`) are compiled the quick way at first, and those that get much to do are optimised then
// (QuickLoops, codegen/load.cpp).
// What is compiled now is shared out to threads.
#include "codegen/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#include <dlfcn.h>

#include "codegen/code_module.h"
#include "codegen/emit.h"
#include "codegen/heap.h"
#include "weldir/support/deep_stack.h"

namespace weld {

using codegen::CodeModule;
using codegen::Functions;
using codegen::FunctionSet;
using codegen::give_out;

namespace {

double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// ---- what each thread compiles

/// Instructions that are worth a thread: they take some ten milliseconds to optimise.
constexpr std::size_t kWorthAThread = 500;

/// Functions that are compiled together.
struct Share {
    std::size_t work = 0;
    Functions functions;
};

std::size_t instructions(const Functions& functions) {
    std::size_t n = 0;
    for (const llvm::Function* f : functions) n += f->getInstructionCount();
    return n;
}

/// Deals out `functions` so that each of `n` shares has a like amount of work.
std::vector<Share> dealt_out(const Functions& functions, std::size_t n) {
    std::vector<std::pair<std::size_t, llvm::Function*>> all;
    for (llvm::Function* f : functions) all.emplace_back(f->getInstructionCount(), f);
    std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.first; });
    std::vector<Share> shares(n);
    for (const auto& [work, f] : all) {
        Share& least = *std::ranges::min_element(shares, {}, &Share::work);
        least.work += work;
        least.functions.push_back(f);
    }
    return shares;
}

Functions defined_in(llvm::Module& module) {
    Functions all;
    for (llvm::Function& f : module)
        if (!f.isDeclaration()) all.push_back(&f);
    return all;
}

// ---- the work of each thread, in a heap of its own

/// What a thread made, or why it did not.
struct Outcome {
    GenerateEnd end = GenerateEnd::Good;
    std::vector<std::string> objects;  ///< some may be empty
    std::string error;

    /// Nothing is thrown: there is nobody to catch it on a thread of its own.
    template <class Work>
    void run(const CodeOptions& options, const Work& work) noexcept {
        try {
            codegen::Heap heap(*options.budget, options.probe);
            const codegen::WorkEnd ended = heap.run([&] {
                std::string why;
                if (work(&why)) return;
                end = GenerateEnd::Failed;
                give_out(&error, why);
            });
            if (ended == codegen::WorkEnd::NoMemory) end = GenerateEnd::NoMemory;
            if (ended == codegen::WorkEnd::OverBudget) end = GenerateEnd::OverLimit;
            if (ended == codegen::WorkEnd::LlvmFailed) fail(heap.llvm_message());
            if (ended == codegen::WorkEnd::Good && options.verify && !heap.is_empty())
                fail("LLVM holds on to memory of the program");
        } catch (const std::bad_alloc&) {
            end = GenerateEnd::NoMemory;
        }
    }

  private:
    void fail(const char* why) {
        end = GenerateEnd::Failed;
        error += why;
    }
};

/// Functions that another thread may compile, or this one when it has time.
struct Task {
    std::vector<std::string> functions;
    int level = 0;
    Outcome outcome;

    Task(const Share& share, int level) : level(level), outcome{.objects = {{}}} {
        for (const llvm::Function* f : share.functions) functions.push_back(f->getName().str());
    }
    void compile(const CodeOptions& options, std::string_view bitcode) {
        outcome.run(options, [&](std::string* why) {
            llvm::LLVMContext context;
            context.setDiscardValueNames(true);
            CodeModule part{.cpu = options.cpu, .level = level};
            return part.read(bitcode, functions, context, why) && part.optimize(options, why) &&
                   part.emit(&outcome.objects[0], why);
        });
    }
};

class Generator {
  public:
    Generator(const Module& m, const CodeOptions& options) : module_(m), options_(options) {}

    GenerateEnd run(MachineCode* code, CodeTimes* times, std::string* error) {
        const double begin = now_ms();
        own_.objects.resize(2);
        own_.run(options_, [this](std::string* why) { return compile(why); });
        work();
        threads_.clear();  // all are done
        for (Task& task : tasks_) add(task.outcome);
        *error += own_.error;
        if (own_.end != GenerateEnd::Good) return own_.end;
        for (std::string& object : own_.objects)
            if (!object.empty()) code->objects.emplace_back(std::move(object));
        code->data = std::move(data_);
        if (!quick_loops_.empty()) code->quick = {SharedBytes(std::move(bitcode_)), std::move(quick_loops_)};
        if (Dl_info info; ::dladdr(reinterpret_cast<void*>(&generate), &info))
            code->generator = info.dli_fname;
        if (times) *times = {optimized_ - begin, now_ms() - optimized_};
        return GenerateEnd::Good;
    }

  private:
    /// What this thread does in any case.
    bool compile(std::string* why) {
        llvm::LLVMContext context;
        context.setDiscardValueNames(!is_shown());  // of blocks: nobody else reads them
        CodeModule once{.cpu = options_.cpu, .level = 0}, loops{.cpu = options_.cpu, .level = options_.level};
        if (!once.make("once", context, why) || !loops.make("loops", context, why)) return false;
        const Constants constants(module_);
        codegen::Unit loop_unit(module_, constants, options_, *loops.module);
        codegen::Unit(module_, constants, options_, *once.module, &loop_unit).emit_program();

        codegen::keep_only(*loops.module, hand_out(*once.module, *loops.module, loop_unit.marked));
        if (!once.optimize(options_, why) || !loops.optimize(options_, why)) return false;
        optimized_ = now_ms();
        codegen::Heap::outside([&] {
            for (const PackedVec v : constants.packed())
                data_.push_back({codegen::name_of_packed(v), v.bytes()});
        });
        return once.emit(&own_.objects[0], why) && loops.emit(&own_.objects[1], why);
    }

    bool is_shown() const { return options_.llvm_input_text || options_.llvm_text || options_.asm_text; }

    /// Decides what is compiled the quick way, and what by other threads, which begin at once. Gives the
    /// functions of `loops` that this thread is left with.
    FunctionSet hand_out(llvm::Module& once, llvm::Module& loops, const Functions& marked) {
        Functions optimised = defined_in(loops), quick;
        if (is_shown()) return {optimised.begin(), optimised.end()};
        if (!marked.empty() && options_.level > 0) {
            const FunctionSet now = codegen::reached(needed_by(once, loops)), late = codegen::reached(marked);
            for (llvm::Function* f : std::exchange(optimised, {}))
                (late.count(f) && !now.count(f) ? quick : optimised).push_back(f);
        }
        const auto threads = std::size_t(std::max(1, options_.threads));
        std::vector<Share> shares = dealt_out(
            optimised, std::clamp<std::size_t>(instructions(optimised) / kWorthAThread, 1, threads));
        const Share mine = std::move(shares[0]);
        shares.erase(shares.begin());
        const std::vector<Share> quick_shares = dealt_out(quick, quick.empty() ? 0 : 2 * threads);
        if (shares.empty() && quick.empty()) return {optimised.begin(), optimised.end()};
        const std::string bitcode = codegen::bitcode_of(loops);
        codegen::Heap::outside([&] {
            bitcode_ = bitcode;
            if (!quick.empty())
                for (const llvm::Function* f : marked) quick_loops_.push_back(f->getName().str());
            for (const Share& share : shares) tasks_.emplace_back(share, options_.level);
            for (const Share& share : quick_shares) tasks_.emplace_back(share, 0);
            threads_.reserve(threads);
            while (threads_.size() + 1 < threads && threads_.size() < tasks_.size())
                threads_.emplace_back([this] { work(); });
        });
        return {mine.functions.begin(), mine.functions.end()};
    }

    /// The functions of `loops` that code which runs once calls itself, but for marked loops.
    static Functions needed_by(llvm::Module& once, llvm::Module& loops) {
        Functions all;
        for (llvm::Function& f : loops) {
            const llvm::Function* there = once.getFunction(f.getName());
            const bool is_called =
                f.getName() == llvm::StringRef(kMainFunction) || (there && there->isDeclaration());
            if (!f.isDeclaration() && is_called && codegen::loop_number(f) < 0) all.push_back(&f);
        }
        return all;
    }

    /// Compiles what nobody has begun with.
    void work() {
        for (std::size_t i; (i = next_task_++) < tasks_.size();) tasks_[i].compile(options_, bitcode_);
    }

    void add(Outcome& other) {
        if (own_.end == GenerateEnd::Good) own_.end = other.end;
        own_.error += other.error;
        for (std::string& object : other.objects) own_.objects.push_back(std::move(object));
    }

    const Module& module_;
    const CodeOptions& options_;
    Outcome own_;
    std::vector<CodeData> data_;
    double optimized_ = 0;
    std::string bitcode_;  ///< of the loops
    std::vector<std::string> quick_loops_;
    std::deque<Task> tasks_;
    std::atomic<std::size_t> next_task_ = 0;
    std::vector<DeepThread> threads_;  ///< end before what they work on
};

/// Those that compile while the process ends are waited for: LLVM's own data go with the process.
class AtWork {
  public:
    explicit AtWork(const CodeOptions& options) : options_(options) {
        const std::lock_guard lock(state().mutex);
        may_begin_ = !state().ends;
        if (may_begin_) state().all.push_back(this);
    }
    ~AtWork() {
        const std::lock_guard lock(state().mutex);
        std::erase(state().all, this);
        state().changed.notify_all();
    }
    AtWork(const AtWork&) = delete;
    bool may_begin() const { return may_begin_; }
    /// What LLVM made when it was loaded goes later; what it makes while it works stays (heap.h).
    static void wait_at_end() {
        static const struct Wait {
            ~Wait() {
                std::unique_lock lock(state().mutex);
                state().ends = true;
                for (const AtWork* one : state().all)
                    if (one->options_.is_for_process) one->options_.budget->close();
                state().changed.wait(lock, [] { return state().all.empty(); });
            }
        } wait;
    }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<const AtWork*> all;
        bool ends = false;
    };
    static State& state() {
        static State& all = *new State;  // outlives what waits for it
        return all;
    }
    const CodeOptions& options_;
    bool may_begin_;
};

}  // namespace

GenerateEnd generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
                     std::string* error) noexcept {
    try {
        return Generator(m, options).run(code, times, error);
    } catch (const std::bad_alloc&) {
        return GenerateEnd::NoMemory;
    }
}

GenerateEnd optimize_loops(std::string_view bitcode, std::span<const std::string> functions,
                           const CodeOptions& options, const std::function<void(std::string object)>& made,
                           std::string* error) noexcept {
    try {
        const AtWork here(options);
        if (!here.may_begin()) return GenerateEnd::Failed;
        Outcome outcome{.objects = {{}}};
        outcome.run(options, [&](std::string* why) {
            llvm::LLVMContext context;
            context.setDiscardValueNames(true);
            CodeModule part{.cpu = options.cpu, .level = options.level};
            return part.read_loops(bitcode, functions, context, why) && part.optimize(options, why) &&
                   part.emit(&outcome.objects[0], why);
        });
        *error = std::move(outcome.error);
        if (outcome.end == GenerateEnd::Good) made(std::move(outcome.objects[0]));
        return outcome.end;
    } catch (const std::bad_alloc&) {
        return GenerateEnd::NoMemory;
    }
}

void wait_for_optimize_loops() noexcept { AtWork::wait_at_end(); }

extern "C" const Codegen weld_codegen = {&generate, &optimize_loops, &wait_for_optimize_loops};

}  // namespace weld
