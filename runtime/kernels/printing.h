// Where kernels print to: the outputs of the run.
#pragma once

#include "runtime/io/output.h"
#include "runtime/io/writer.h"
#include "runtime/kernels/kernel.h"

namespace weld::runtime {

/// An output of the run, until that is to stop.
class TaskOutput final : public Output {
  public:
    explicit TaskOutput(Task* task, bool is_error = false) : task_(task), is_error_(is_error) {}
    bool write(std::string_view text) override { return !task_->should_stop() && chosen().write(text); }

  private:
    Output& chosen() const {
        Output* given = is_error_ ? task_->run->errors : task_->run->output;
        return given ? *given : is_error_ ? standard_error() : standard_output();
    }

    Task* task_;
    bool is_error_;
};

/// Writes what is left, so that it comes before what is printed next. Status.
inline std::int32_t finish_print(Task* task, const WeldCall* call, Writer& out) {
    if (!out.flush()) return kOk;
    return task->check_stop(call->loc) ? kFailed : fail_call(task, call, "the output cannot be written");
}

}  // namespace weld::runtime
