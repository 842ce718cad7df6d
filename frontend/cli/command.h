// Doing what the command line says, with the exit code that comes out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "frontend/api/compile.h"
#include "frontend/api/config.h"
#include "frontend/api/context.h"
#include "frontend/cli/options.h"

namespace weld {

enum ExitCode : int { kRan = 0, kRejected = 1, kWrongUsage = 2, kFailed = 3 };

/// Prints `weld-cli: error: ...`; gives kWrongUsage.
int wrong_usage(const std::string& what);

/// Says that there is no memory, for which it needs none; gives kFailed.
int out_of_memory() noexcept;

/// Writes to standard output. kRan, or kFailed after a message.
int print_text(std::string_view text);

/// What options say about compiling and running, for any number of programs.
class Settings {
  public:
    /// kRan, or an exit code after a message.
    int apply(const Options& options);
    /// Only what `--explain` says of programs of `compile.language`.
    int choose_stages(const Options& options);

    CompileOptions compile;
    ConfigValues values;  ///< of `--set`
    int threads = 1;
    std::shared_ptr<runtime::MemoryAccount> account;
    std::shared_ptr<Libraries> libraries = std::make_shared<Libraries>();
    /// What programs have left for the next one, for languages with SessionStyle::Values.
    struct Left {
        std::shared_ptr<const Environment> names;
        RunReport values;
        std::shared_ptr<Context> context;  ///< whose memory these are
    };
    Left left;

  private:
    int choose_language(const Options& options);
};

/// Runs the program of `options`, or does with it what they say.
int run_command(const Options& options);
/// The same with this text as the program.
int run_program(const Options& options, Settings& settings, std::string text);

}  // namespace weld
