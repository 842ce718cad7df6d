// The standard outputs of the process.
#include "runtime/io/output.h"

#include <cstdio>

namespace weld::runtime {

namespace {

class FileOutput final : public Output {
  public:
    explicit FileOutput(std::FILE* file) : file_(file) {}
    bool write(std::string_view text) override {
        return std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0;
    }

  private:
    std::FILE* file_;
};

}  // namespace

Output& standard_output() {
    static FileOutput output(stdout);
    return output;
}

Output& standard_error() {
    static FileOutput output(stderr);
    return output;
}

}  // namespace weld::runtime
