// Programs in parts (Program::after): one after the other, each beginning with what the one before has left.
//
//     Stages stages(context, program);
//     const StagesEnd end = stages.run(options, [&] {
//         rest.before = stages.left();
//         return compile(text, rest, &report);
//     });
//     if (end == StagesEnd::Failed) complain(stages.program().describe(stages.report().failure));
//     if (end == StagesEnd::Stopped) complain(report.diagnostics);
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "frontend/api/context.h"

namespace weld {

enum class StagesEnd {
    Good,
    Failed,   ///< the program that ran last
    Stopped,  ///< there was no program for the rest
};

/// One run of a program that may be in parts.
class Stages {
  public:
    /// `given` is what the program takes, if another one has left it.
    Stages(std::shared_ptr<Context> context, std::shared_ptr<const Program> first, RunReport given = {})
        : context_(std::move(context)), program_(std::move(first)), values_(std::move(given)) {}

    /// Runs the program, and what it goes on in: `rest` compiles that from what is `left`; if it gives null,
    /// nothing else is run.
    StagesEnd run(const runtime::RunOptions& options,
                  const std::function<std::shared_ptr<const Program>()>& rest);

    const Program& program() const { return *program_; }
    /// What the program has left; null if it leaves nothing.
    const std::shared_ptr<const Environment>& left() const { return left_; }
    /// Of the program that ran last.
    const RunReport& report() const { return values_; }
    RunReport take_report() { return std::move(values_); }

  private:
    bool run_one(const runtime::RunOptions& options);

    std::shared_ptr<Context> context_;
    std::shared_ptr<const Program> program_;
    RunReport values_;
    std::shared_ptr<const Environment> left_;
};

}  // namespace weld
