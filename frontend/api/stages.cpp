// Values stay where they are: the result of a program is the struct of arguments of the next one.
#include "frontend/api/stages.h"

namespace weld {

bool Stages::run(const runtime::RunOptions& options) {
    const void* args = values_.result ? values_.result->outcome.value() : nullptr;
    RunReport report = context_->run(program_, args, options);
    left_ = report.result && program_->after() ? program_->after()->with(report.result->outcome.value())
                                               : nullptr;
    values_ = std::move(report);
    return values_.result != nullptr;
}

void Stages::go_on(std::shared_ptr<const Program> rest) { program_ = std::move(rest); }

}  // namespace weld
