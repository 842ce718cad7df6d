// weld.compile.dumpCode: the program in files, stage by stage.
#pragma once

#include <map>
#include <string>

#include "frontend/api/config.h"

namespace weld {

/// Collects what a compilation shows of its stages, and writes it to files.
class CodeDump {
  public:
    explicit CodeDump(const ConfigValues& values) : values_(values) {}
    /// Has the stages that are wanted shown to this object, which must live as long as the compilation.
    void watch(CompileOptions* options);
    /// Writes what was shown. Nothing, or why a file could not be written.
    std::string write() const;

  private:
    const ConfigValues& values_;
    std::map<std::string, std::string, std::less<>> texts_;  ///< by stage
};

}  // namespace weld
