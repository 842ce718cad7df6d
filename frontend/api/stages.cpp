// Values stay where they are: the result of a program is the struct of arguments of the next one.
#include "frontend/api/stages.h"

namespace weld {

bool Stages::run_one(const runtime::RunOptions& options) {
    const void* args = values_.result ? values_.result->outcome.value() : nullptr;
    RunReport report = context_->run(program_, args, options);
    left_ = report.result && program_->after() ? program_->after()->with(report.result->outcome.value())
                                               : nullptr;
    values_ = std::move(report);
    return values_.result != nullptr;
}

StagesEnd Stages::run(const runtime::RunOptions& options,
                      const std::function<std::shared_ptr<const Program>()>& rest) {
    while (run_one(options)) {
        if (!left_ || !left_->goes_on()) return StagesEnd::Good;
        std::shared_ptr<const Program> next = rest();
        if (!next) return StagesEnd::Stopped;
        program_ = std::move(next);
    }
    return StagesEnd::Failed;
}

}  // namespace weld
