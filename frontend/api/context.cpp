// Runs in a context, and builders that go from run to run.
#include "frontend/api/context.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weld {

namespace {

bool is_builder(const WeldType* t) { return t->kind >= kWeldAppender; }

/// Calls `f(type, address)` for each builder in a value; they stand alone or in structs.
template <class F>
void for_each_builder(const WeldType* t, const void* at, const F& f) {
    if (is_builder(t)) return f(t, at);
    if (t->kind != kWeldStruct) return;
    for (std::uint32_t i = 0; i < t->num_args; ++i)
        for_each_builder(t->args[i], static_cast<const char*>(at) + t->offsets[i], f);
}

/// A value that is nothing but builders.
bool is_all_builders(const WeldType* t) {
    if (t->kind != kWeldStruct) return is_builder(t);
    return std::all_of(t->args, t->args + t->num_args, is_all_builders);
}

/// The memory that a builder's state lies in, which tells it from others; null if it has none as yet.
const void* memory_of_builder(const WeldType* t, const void* at) {
    switch (t->kind) {
        case kWeldAppender: {
            const auto* a = static_cast<const WeldAppender*>(at);
            return a->capacity > 0 ? a->data : nullptr;
        }
        case kWeldVecMerger: {
            const auto* v = static_cast<const WeldVec*>(at);
            return v->len > 0 ? v->data : nullptr;
        }
        case kWeldDictMerger: return *static_cast<WeldDict* const*>(at);
        case kWeldGroupMerger: return *static_cast<WeldAppender* const*>(at);
        default: return nullptr;  // a merger is its value
    }
}

template <class T>
void add_new(std::vector<T>& list, const T& item) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(item);
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

RunReport Context::run(const std::shared_ptr<const Program>& program, const void* args, int most_threads) {
    Taken taken;
    if (!take_builders(program->args(), args, &taken))
        return failed(kWeldInvalidArgument,
                      "a builder among the arguments was used before, or no run of "
                      "this context returned it");
    begin_run();
    static std::atomic<std::int64_t> runs{0};
    auto result = std::make_shared<RunResult>();
    result->run = runs++;
    result->outcome = program->run(args, {.threads = std::min(threads_, most_threads),
                                          .account = account_,
                                          .stop = &stop_,
                                          .adopted = &taken.memory});
    end_run();
    if (!result->outcome.ok()) {
        give_up(taken);
        RunReport report;
        report.failure = result->outcome.failure();
        return report;
    }
    result->programs.push_back(program);
    for (const auto& p : taken.programs) add_new(result->programs, p);
    result->kept = std::move(taken.kept);
    enter_builders(result);
    return {std::move(result), {}};
}

// ---- builders

/// Finds all first: nothing is taken unless everything can be.
bool Context::take_builders(const WeldType* type, const void* args, Taken* taken) {
    std::vector<const void*> wanted;
    if (args)
        for_each_builder(type, args, [&](const WeldType* t, const void* at) {
            if (const void* memory = memory_of_builder(t, at)) wanted.push_back(memory);
        });
    if (wanted.empty()) return true;
    std::ranges::sort(wanted);
    if (std::ranges::adjacent_find(wanted) != wanted.end()) return false;

    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<RunResult>> sources;
    for (const void* memory : wanted) {
        const auto at = builders_.find(memory);
        if (at == builders_.end() || at->second.expired()) return false;
        add_new(sources, at->second.lock());
    }
    for (const void* memory : wanted) {
        --builders_[memory].lock()->live_builders;
        builders_.erase(memory);
    }
    for (const std::shared_ptr<RunResult>& source : sources) take_memory(source, taken);
    return true;
}

/// The memory of a result that nothing but the taken builders is in, or a share in it.
void Context::take_memory(const std::shared_ptr<RunResult>& source, Taken* taken) {
    for (const auto& program : source->programs) add_new(taken->programs, program);
    std::vector<std::shared_ptr<RunResult>> kept = source->kept;
    if (!source->live_builders && !source->is_kept && is_all_builders(source->program().result())) {
        taken->memory.push_back(source->outcome.take_blocks());
    } else {
        source->is_kept = true;
        kept.push_back(source);
    }
    for (const std::shared_ptr<RunResult>& k : kept) {
        if (std::ranges::find(taken->kept, k) != taken->kept.end()) continue;
        taken->kept.push_back(k);
        ++k->users;
    }
}

/// After a run that failed: what it took over is lost.
void Context::give_up(const Taken& taken) {
    std::lock_guard lock(mutex_);
    for (const std::shared_ptr<RunResult>& kept : taken.kept) drop_user(*kept);
}

void Context::enter_builders(const std::shared_ptr<RunResult>& result) {
    std::lock_guard lock(mutex_);
    for_each_builder(result->program().result(), result->outcome.value(),
                     [&](const WeldType* t, const void* at) {
                         const void* memory = memory_of_builder(t, at);
                         if (memory && builders_.insert_or_assign(memory, result).second)
                             ++result->live_builders;
                     });
}

// ---- memory between runs

void Context::retire(const std::shared_ptr<RunResult>& result) {
    std::lock_guard lock(mutex_);
    for_each_builder(result->program().result(), result->outcome.value(),
                     [&](const WeldType* t, const void* at) {
                         const auto found = builders_.find(memory_of_builder(t, at));
                         if (found != builders_.end() && found->second.lock() == result)
                             builders_.erase(found);
                     });
    drop_user(*result);
    if (result->users == 0) retired_.push_back(result);
}

/// Those that it keeps are freed with it, unless they have other users.
void Context::drop_user(RunResult& result) {
    if (--result.users > 0) return;
    for (const std::shared_ptr<RunResult>& kept : result.kept) drop_user(*kept);
}

void Context::trim() {
    {
        std::vector<std::shared_ptr<RunResult>> retired;  // is freed without the lock
        std::lock_guard lock(mutex_);
        retired.swap(retired_);
    }
    account_->trim();
}

/// Adds a result without users, and those that it keeps and nobody uses either.
static void collect_unused(const RunResult& result, std::set<const RunResult*>* unused) {
    if (result.users > 0 || !unused->insert(&result).second) return;
    for (const std::shared_ptr<RunResult>& kept : result.kept) collect_unused(*kept, unused);
}

std::int64_t Context::memory_used() const {
    std::lock_guard lock(mutex_);
    std::set<const RunResult*> waiting;
    for (const std::shared_ptr<RunResult>& result : retired_) collect_unused(*result, &waiting);
    std::int64_t used = account_->used();
    for (const RunResult* result : waiting) used -= result->outcome.bytes();
    return used;
}

void Context::begin_run() {
    std::vector<std::shared_ptr<RunResult>> retired;
    std::lock_guard lock(mutex_);
    retired.swap(retired_);
    if (running_++ == 0) stop_ = 0;
}

void Context::end_run() {
    std::lock_guard lock(mutex_);
    --running_;
}

}  // namespace weld
