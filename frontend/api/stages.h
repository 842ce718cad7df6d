// Programs in parts (Program::after): one after the other, each beginning with what the one before has left.
//
//     Stages stages(context, program);
//     while (stages.run(options) && stages.goes_on()) {
//         options.before = stages.left();
//         program = compile(text, options, &report);
//         if (!program) return complain(report.diagnostics);
//         stages.go_on(program);
//     }
//     if (!stages.report().result) return complain(stages.program().describe(stages.report().failure));
#pragma once

#include <memory>
#include <utility>

#include "frontend/api/context.h"

namespace weld {

/// One run of a program that may be in parts.
class Stages {
  public:
    /// `given` is what the program takes, if another one has left it.
    Stages(std::shared_ptr<Context> context, std::shared_ptr<const Program> first, RunReport given = {})
        : context_(std::move(context)), program_(std::move(first)), values_(std::move(given)) {}

    /// False if it fails.
    bool run(const runtime::RunOptions& options);
    /// The text does not end where the program does.
    bool goes_on() const { return left_ && left_->goes_on(); }
    void go_on(std::shared_ptr<const Program> rest);

    const Program& program() const { return *program_; }
    /// What the program has left; null if it leaves nothing.
    const std::shared_ptr<const Environment>& left() const { return left_; }
    /// Of the program that ran last.
    const RunReport& report() const { return values_; }
    RunReport take_report() { return std::move(values_); }

  private:
    std::shared_ptr<Context> context_;
    std::shared_ptr<const Program> program_;
    RunReport values_;
    std::shared_ptr<const Environment> left_;
};

}  // namespace weld
