// Compiling and running through frontend/api, and taking results apart.
#include "tests/driver/compiled.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/ranges.h>
#include <tbb/global_control.h>

#include "runtime/hash_table.h"
#include "runtime/io/output.h"
#include "tests/interp/memory.h"

namespace weld::driver {

std::string Config::name() const {
    std::string s = "-O" + std::to_string(level);
    if (passes) s += fmt::format(" --passes {}", fmt::join(*passes, ","));
    if (cpu != Cpu::Native) s += fmt::format(" for {}", name_of(cpu));
    if (quick) s += ", loops first quick, then optimised";
    return s;
}

Compiled::Compiled(const std::string& text, const Config& config) {
    CompileOptions options;
    options.name = "test";
    options.level = config.level;
    options.passes = config.passes;
    options.cpu = config.cpu;
    options.verify = true;
    options.most_optimised = config.quick ? 0 : PassOptions::kAllAtOnce;
    if (config.quick && options.passes) options.passes->push_back("tiers");
    CompileReport report;
    program_ = compile(text, options, &report);
    if (!program_) error = report.diagnostics.empty() ? "it was rejected without a word" : report.diagnostics;
}

void Compiled::optimise() const {
    WeldTiers* tiers = program_->tiers();
    for (std::int64_t i = 0; tiers && i < tiers->size; ++i)
        while (tiers->optimise(tiers, i, 1000)) {}
}

static void entries_of(const Type*, const void* dict,
                       const std::function<void(const void*, const void*)>& entry) {
    const auto* d = static_cast<const WeldDict*>(dict);
    for (std::int64_t i = 0; i < d->count; ++i) entry(d->entry(i), d->entry(i) + d->value_at);
}

struct Printed final : runtime::Output {
    std::string text;
    bool write(std::string_view more) override { return text += more, true; }
};

/// Cancels a run that has not ended after some seconds.
class Alarm {
  public:
    Alarm(std::atomic<std::int32_t>& stop, int seconds)
        : thread_([this, &stop, seconds](std::stop_token ended) {
              std::unique_lock lock(mutex_);
              if (!wake_.wait_for(lock, ended, std::chrono::seconds(seconds), [] { return false; }) &&
                  !ended.stop_requested())
                  stop = runtime::kCancelled;
          }) {}

  private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;
};

Ran Compiled::run(std::span<const interp::Value> args, int threads, int most_seconds) const {
    using tbb::global_control;  // as many threads as asked for, on however few cores
    static const global_control real_threads(global_control::max_allowed_parallelism, 16);
    Ran ran;
    interp::Memory memory;
    std::vector<const Type*> types;
    for (const Symbol* p : program_->params()) types.push_back(p->type);
    const void* arguments = interp::store_arguments(types, args, memory);
    runtime::RunOptions options;
    options.threads = threads;
    Printed printed;
    options.output = options.errors = &printed;
    std::atomic<std::int32_t> stop = 0;
    options.stop = &stop;
    std::optional<Alarm> alarm;
    if (most_seconds) alarm.emplace(stop, most_seconds);
    const RunOutcome out = program_->run(arguments, options);
    ran.done = out.ok();
    ran.output = std::move(printed.text);
    if (ran.done) {
        ran.value = interp::load(program_->result_type(), out.value(), entries_of);
        return ran;
    }
    const Position at = program_->position(out.failure());
    ran.code = int(out.failure().code);
    ran.line = at.line;
    ran.column = at.column;
    ran.message = program_->describe(out.failure());
    return ran;
}

}  // namespace weld::driver
