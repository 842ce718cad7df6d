// The standard output of the process.
#include "runtime/io/output.h"

#include <cstdio>

namespace weld::runtime {

namespace {

class StandardOutput final : public Output {
  public:
    bool write(std::string_view text) override {
        return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    }
};

}  // namespace

Output& standard_output() {
    static StandardOutput output;
    return output;
}

}  // namespace weld::runtime
