// weld-cli: runs programs. The contract is in docs/cli.md.
#include <csignal>
#include <new>

#include <unistd.h>

#include "frontend/cli/command.h"
#include "frontend/cli/interactive.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/mapped_file.h"
#include "frontend/cli/options.h"

namespace weld {

static int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // writing to a pipe that nobody reads is an error like others,
    std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that may not become larger
    Options options;
    if (const std::string error = parse_options(argc, argv, &options); !error.empty())
        return wrong_usage(error);
    if (options.task == Task::Version) return print_text("weld-cli " WELD_VERSION "\n");
    if (options.task == Task::Help) return print_text(help_text());
    catch_interrupts();
    catch_bus_errors();
    if (options.source != Source::None) return run_command(options);
    if (options.task != Task::Run || !::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO))
        return wrong_usage("no program given; `weld-cli --help` tells how");
    catch_interrupts(true);
    return run_interactive(options);
}

}  // namespace weld

int main(int argc, char** argv) {
    try {
        return weld::main(argc, argv);
    } catch (const std::bad_alloc&) {
        return weld::out_of_memory();
    }
}
