// Runs in a context, and builders that go from run to run.
#include "frontend/api/context.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "frontend/api/arguments.h"
#include "runtime/describe.h"
#include "runtime/io/output.h"

namespace weld {

/// Notes what a result points to.
class PointsTo final : public runtime::Outside {
  public:
    void reach(const void* p, bool holds_pointers, bool from_own_memory) override {
        const Hold& hold = holder_.find(p, holds_pointers);
        if (hold && std::exchange(last_[from_own_memory], hold) != hold)
            (from_own_memory ? memory_ : value_).insert(hold);
    }
    Holds take_value() { return std::move(value_); }
    Holds take_memory() { return std::move(memory_); }

  private:
    Holder holder_;
    Holds value_, memory_;
    Hold last_[2];
};

namespace {

using runtime::is_builder;

/// A value that is nothing but builders.
bool is_all_builders(const WeldType* t) {
    if (t->kind != kWeldStruct) return is_builder(t);
    return std::all_of(t->args, t->args + t->num_args, is_all_builders);
}

template <class T>
void add_new(std::vector<T>& list, const T& item) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

/// Adds what a result with builders may point to. These are not looked through each time, so if their
/// elements hold pointers it is all that the run was given.
void add_given(const WeldType* t, const void* at, const Holds& given, Holds* holds) {
    if (t->kind == kWeldStruct) {
        for (std::uint32_t i = 0; i < t->num_args; ++i)
            add_given(t->args[i], static_cast<const char*>(at) + t->offsets[i], given, holds);
    } else if (t->kind == kWeldDict || std::any_of(t->args, t->args + t->num_args,
                                                   [](const WeldType* a) { return a->holds_pointer; })) {
        holds->insert(given.begin(), given.end());
    } else if (t->kind == kWeldVec) {
        const auto* v = static_cast<const WeldVec*>(at);
        if (const Hold hold = v->len ? Holder().find(v->data, false) : nullptr) holds->insert(hold);
    }
}

}  // namespace

static RunReport failed(std::int64_t code, std::string message) {
    RunReport report;
    report.failure = {code, 0, std::move(message)};
    return report;
}

Context::Context(const RunSettings& settings)
    : account_(std::make_shared<runtime::MemoryAccount>(settings.memory_limit ? settings.memory_limit
                                                                              : default_memory_limit())),
      threads_(settings.threads ? settings.threads : default_threads()) {}

/// A run is going on, and can be cancelled.
class Context::Running {
  public:
    explicit Running(Context& context) : context_(context) {
        const std::lock_guard lock(context_.mutex_);
        context_.running_.push_back(&stop_);
    }
    ~Running() {
        const std::lock_guard lock(context_.mutex_);
        std::erase(context_.running_, &stop_);
    }
    Running(const Running&) = delete;

    std::atomic<std::int32_t>* stop() { return &stop_; }

  private:
    Context& context_;
    std::atomic<std::int32_t> stop_ = 0;
};

void Context::cancel() {
    const std::lock_guard lock(mutex_);
    for (std::atomic<std::int32_t>* stop : running_) *stop |= runtime::kCancelled;
}

void Context::set_output(weld_output_t write, void* data) {
    const std::lock_guard lock(mutex_);
    output_ = write;
    output_data_ = data;
}

/// Prints to a function of the host.
class Context::HostOutput final : public runtime::Output {
  public:
    explicit HostOutput(Context& context) {
        const std::lock_guard lock(context.mutex_);
        write_ = context.output_;
        data_ = context.output_data_;
    }
    bool write(std::string_view text) override { return write_(data_, text.data(), text.size()) == 0; }
    runtime::Output* chosen() { return write_ ? this : nullptr; }

  private:
    weld_output_t write_;
    void* data_;
};

RunReport Context::run(const std::shared_ptr<const Program>& program, const void* args,
                       const runtime::RunOptions& options) {
    Arguments given;
    Taken taken;
    if (program->args()->num_args) {
        given = look_at(*program, args);
        if (given.wrong.empty()) given.wrong = take_builders(*program, args, &taken);
        if (!given.wrong.empty()) return failed(kWeldInvalidArgument, given.wrong);
    }
    given.holds.insert(taken.shares.begin(), taken.shares.end());
    given.holds.merge(taken.holds);
    PointsTo points_to;
    free_retired();
    Running running(*this);
    HostOutput output(*this);
    static std::atomic<std::int64_t> runs{0};
    auto result = std::make_unique<RunResult>();
    result->run = runs++;
    runtime::RunOptions run = options;
    run.threads = std::min(threads_, options.threads);
    run.account = account_;
    if (!run.stop) run.stop = running.stop();
    run.adopted = &taken.memory;
    run.outside = given.holds.empty() ? nullptr : &points_to;
    if (!run.output) run.output = output.chosen();
    result->outcome = program->run(args, run);
    if (!result->outcome.ok()) {
        RunReport report;
        report.failure = result->outcome.failure();
        return report;
    }
    result->programs.push_back(program);
    for (const auto& p : taken.programs) add_new(result->programs, p);
    return finish(std::move(result), given.holds, taken.shares, &points_to);
}

RunReport Context::finish(std::unique_ptr<RunResult> run, const Holds& given, const Holds& shares,
                          PointsTo* points_to) {
    auto retire = [context = shared_from_this()](RunResult* r) mutable {  // weak references keep this
        std::exchange(context, nullptr)->retire(std::unique_ptr<RunResult>(r));
    };
    const std::shared_ptr<RunResult> result(run.release(), std::move(retire));
    result->outcome.belong_to(result.get());
    RunReport report{result, nullptr, {}, {}};
    if (!given.empty()) {
        const WeldType* type = result->program().result();
        Holds of_memory = points_to->take_memory();
        if (runtime::any_part(type, is_builder)) {
            result->shares = shares;
            add_given(type, result->outcome.value(), given, &of_memory);
        }
        if (!of_memory.empty()) {
            report.reach = std::make_shared<const Reach>(Reach{result, std::move(of_memory)});
            result->reach = report.reach;
        }
        report.others = points_to->take_value();
    }
    enter_builders(result);
    return report;
}

// ---- builders

/// Finds all first: nothing is taken unless everything can be. Returns what is wrong.
std::string Context::take_builders(const Program& program, const void* args, Taken* taken) {
    const std::vector<BuilderState> states = builders_in(program.args(), args);
    if (states.empty()) return {};
    std::lock_guard lock(mutex_);
    std::set<const void*> wanted;
    for (const BuilderState& state : states) {
        if (state.is_new()) continue;
        const auto at = builders_.find(state.memory());
        std::shared_ptr<RunResult> source = at == builders_.end() ? nullptr : at->second.from.lock();
        std::string wrong;
        if (!source) wrong = "was used before, or no run of this context returned it";
        else if (!is_same_type(at->second.type, state.type))
            wrong = fmt::format("is of the type `{}`, but the program takes `{}`", name_of(at->second.type),
                                name_of(state.type));
        else if (at->second.bytes != state.bytes()) wrong = "was changed since a run returned it";
        else if (!wanted.insert(state.memory()).second) wrong = "stands among the arguments twice";
        if (source && std::ranges::find(taken->sources, source) == taken->sources.end())
            taken->sources.push_back(std::move(source));
        if (!wrong.empty())
            return fmt::format("the builder `{}` {}", name_of_argument(program, state.path), wrong);
    }
    for (const void* memory : wanted) {
        --builders_[memory].from.lock()->live_builders;
        builders_.erase(memory);
    }
    for (const std::shared_ptr<RunResult>& source : taken->sources) take_memory(source, taken);
    return {};
}

/// The memory of a result that nothing but the taken builders is in, or a share in it.
void Context::take_memory(const std::shared_ptr<RunResult>& source, Taken* taken) {
    for (const auto& program : source->programs) add_new(taken->programs, program);
    const std::shared_ptr<const Reach> reach = source->reach.lock();
    // Its value and `sources` hold on to the memory, and the reach; its value and this function to the reach.
    const bool is_shared = source.use_count() > (reach ? 3 : 2) || reach.use_count() > 2;
    taken->shares.insert(source->shares.begin(), source->shares.end());
    if (source->live_builders || is_shared || !is_all_builders(source->program().result()))
        taken->shares.insert(source);
    else taken->memory.push_back(source->outcome.take_blocks());
    if (!reach) return;
    taken->holds.insert(reach->points_to.begin(), reach->points_to.end());
    taken->reaches.push_back(reach);
}

void Context::enter_builders(const std::shared_ptr<RunResult>& result) {
    const auto states = builders_in(result->program().result(), result->outcome.value());
    if (states.empty()) return;
    std::lock_guard lock(mutex_);
    for (const BuilderState& state : states) {
        const LiveBuilder live{result, result.get(), state.type, std::string(state.bytes())};
        if (state.memory() && builders_.insert_or_assign(state.memory(), live).second)
            ++result->live_builders;
    }
}

// ---- memory between runs

/// Freeing a value must not need memory.
void Context::retire(std::unique_ptr<RunResult> result) {
    const Holds shares = std::move(result->shares);  // are let go without the lock
    std::lock_guard lock(mutex_);
    if (result->live_builders)
        std::erase_if(builders_, [&](const auto& live) { return live.second.of == result.get(); });
    try {
        retired_.push_back(std::move(result));
    } catch (const std::bad_alloc&) {}  // then it goes now
}

void Context::free_retired() {
    std::vector<std::unique_ptr<RunResult>> retired;  // is freed without the lock
    std::lock_guard lock(mutex_);
    retired.swap(retired_);
}

void Context::trim() {
    free_retired();
    account_->trim();
}

std::int64_t Context::memory_used() const {
    std::lock_guard lock(mutex_);
    std::int64_t used = account_->used();
    for (const std::unique_ptr<RunResult>& result : retired_) used -= result->outcome.bytes();
    return used;
}

}  // namespace weld
