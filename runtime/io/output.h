// Where what a program prints goes.
#pragma once

#include <string_view>

namespace weld::runtime {

class Output {
  public:
    /// Takes the next piece of text. False: it cannot, and the program fails. One run calls it on one thread
    /// at a time, in the order of the program.
    virtual bool write(std::string_view text) = 0;

  protected:
    ~Output() = default;
};

/// The standard output of the process, by <cstdio>, so that it comes in order with what else the process
/// prints.
Output& standard_output();
/// Its standard error, likewise.
Output& standard_error();

}  // namespace weld::runtime
