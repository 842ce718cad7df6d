// The steps of a command; each gives an exit code, kRan to go on.
#include "frontend/cli/command.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/api/dump.h"
#include "frontend/api/languages.h"
#include "frontend/api/load_text.h"
#include "frontend/api/stages.h"
#include "frontend/cli/files.h"
#include "frontend/cli/header.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/kernel_catalog.h"
#include "frontend/cli/progress.h"
#include "frontend/cli/read_value.h"
#include "frontend/cli/timing.h"
#include "frontend/cli/user_config.h"
#include "runtime/io/print_value.h"
#include "weldir/passes/pass.h"
#include "weldir/support/deep_stack.h"
#include "weldir/support/diag.h"
#include "weldir/support/source.h"
#include "weldir/support/visible.h"

namespace weld {

static void complain(std::string_view text) {
    Writer err(STDERR_FILENO);
    err.put(visible_lines(text));
    err.flush();
}

int out_of_memory() noexcept {
    constexpr std::string_view text = "error: not enough memory\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    return kFailed;
}

int wrong_usage(const std::string& what) {
    complain(fmt::format("weld-cli: error: {}\n", visible(what)));
    return kWrongUsage;
}

/// Writes what `out` still holds.
static int interrupted() {
    complain("weld-cli: interrupted\n");
    return kInterrupted;
}

static int finish(Writer& out) {
    const int error = out.flush();
    if (!error) return kRan;
    if (error == ECANCELED) return interrupted();
    complain(fmt::format("error: cannot write the result: {}\n", std::strerror(error)));
    return kFailed;
}

int print_text(std::string_view text) {
    Writer out(STDOUT_FILENO);
    out.put(text);
    return finish(out);
}

// ---- settings

static std::string unknown_key(const std::string& key) {
    const std::string_view near = Config::nearest(key);
    const std::string hint = near.empty() ? "" : fmt::format("; did you mean `{}`?", near);
    return fmt::format("--set: there is no key `{}`{}", key, hint);
}

int Settings::apply(const Options& options) {
    Config config;
    for (const auto& [key, value] : options.set) {
        if (!Config::knows(key)) return wrong_usage(unknown_key(key));
        config.set(key, value);
    }
    if (options.passes) config.set("weld.optimization.passes", *options.passes);
    RunSettings run;
    if (const std::string error = config.apply(&compile, &run); !error.empty()) return wrong_usage(error);
    config.read(&values);
    if (options.level) compile.level = *options.level;
    UserConfig scripts;
    if (const std::string error = read_user_config(options.user_config, &scripts); !error.empty()) {
        complain(fmt::format("weld-cli: error: {}: {}\n", options.user_config, error));
        return kRejected;
    }
    compile.import_paths = std::move(scripts.imports);
    for (const std::string& path : options.kernel_catalogs) {
        std::string text, error;
        if (!load_text(path, &text, &error))
            return wrong_usage(fmt::format("--kernel-ext: cannot read `{}`: {}", visible(path), error));
        error = read_kernel_catalog(text, &compile.kernel_catalog);
        if (error.empty()) continue;
        complain(fmt::format("weld-cli: error: {}: {}\n", visible(path), error));
        return kRejected;
    }
    threads = options.threads   ? *options.threads
              : run.threads     ? run.threads
              : scripts.threads ? *scripts.threads
                                : default_threads();
    compile.threads = threads;
    const std::int64_t limit = options.memory_limit ? *options.memory_limit
                               : run.memory_limit   ? run.memory_limit
                                                    : default_memory_limit();
    compile.memory_limit = limit;
    account = std::make_shared<runtime::MemoryAccount>(limit);
    compile.verify |= options.verify;
    compile.libraries = libraries;
    compile.select_matrix_repr |= options.select_matrix_repr;
    compile.script_args.insert(compile.script_args.end(), options.script_args.begin(),
                               options.script_args.end());
    if (scripts.sparsity_threshold) compile.sparsity_threshold = *scripts.sparsity_threshold;
    for (const std::string& path : options.libraries)
        if (std::string error; !libraries->load(path, &error))
            return wrong_usage(fmt::format("--lib: {}", error));
    if (!options.cache.empty()) {
        std::error_code failed;
        const mode_t mask = ::umask(077);  // what others may write in is not used
        std::filesystem::create_directories(options.cache, failed);
        ::umask(mask);
        if (failed)
            return wrong_usage(fmt::format("--cache: no folder `{}`: {}", options.cache, failed.message()));
    }
    compile.cache = options.cache;
    if (const int code = choose_language(options)) return code;
    return choose_stages(options);
}

/// The one that is asked for, or that of the file.
int Settings::choose_language(const Options& options) {
    const bool is_file = options.source != Source::Text && options.source != Source::StandardInput;
    if (!options.language.empty()) compile.language = options.language;
    else if (const auto language = language_of_file(options.program); is_file && !language.empty())
        compile.language = language;
    if (find_language(compile.language)) return kRan;
    return wrong_usage(fmt::format("--lang: `{}` is none of {}", compile.language, all_languages()));
}

int Settings::choose_stages(const Options& options) {
    if (!options.explain) return kRan;
    constexpr std::string_view all[] = {"parsed", "typed", "properties", "optimized", "vectorized"};
    compile.explained.assign(std::begin(all), std::end(all));
    if (!options.stages.empty()) compile.explained = options.stages;
    for (std::string& stage : compile.explained) {
        stage = find_language(compile.language)->stage(stage);
        const bool known =
            std::ranges::find(all, stage) != std::end(all) || stage == "llvm" || stage == "asm";
        if (!known && !find_pass(stage))
            return wrong_usage(fmt::format("--explain: there is no stage or pass `{}`", stage));
    }
    compile.explain = [](std::string_view stage, std::string_view text) {
        complain(fmt::format("# after {}\n{}{}\n", stage, text, text.ends_with('\n') ? "" : "\n"));
    };
    return kRan;
}

// ---- one program

namespace {

/// What a program prints: written at once, so that it stands before its result and among messages where it
/// was printed.
class PrintOutput final : public runtime::Output {
  public:
    explicit PrintOutput(int fd) : out_(fd, Interruptible::stop_flag()) {}
    bool write(std::string_view text) override {
        out_.put(text);
        return out_.flush() == 0;
    }

  private:
    Writer out_;
};

class Command {
  public:
    Command(const Options& options, Settings& settings) : options_(options), settings_(settings) {
        memory_.options.threads = settings_.threads;
        memory_.options.account = settings_.account;
    }

    int execute() {
        const int code = read_program();
        return code ? code : execute(std::move(text_));
    }

    int execute(std::string text) {
        text_ = std::move(text);
        left_ = settings_.left;
        const int code = compile_program();
        return code ? code : answer();
    }

  private:
    int read_program() {
        CompileOptions& compile = settings_.compile;
        if (options_.source == Source::Text) {
            text_ = options_.program;
            return kRan;
        }
        const bool input = options_.source == Source::StandardInput;
        compile.name = input ? "<stdin>" : options_.program;
        std::string_view bytes;
        std::string error;
        constexpr std::size_t most = kLongestText + 1;  // so that its compiler can say that it is too long
        try {
            if (!(input ? memory_.read(STDIN_FILENO, &bytes, &error, most)
                        : memory_.open(options_.program, &bytes, &error, most)))
                return wrong_usage(fmt::format(
                    "cannot read {}: {}", input ? "standard input" : "`" + options_.program + "`", error));
        } catch (const runtime::Failure& failure) {
            return fail(fmt::format("error: {}\n", failure.message));
        }
        text_ = bytes;
        return kRan;
    }

    int compile_program() {
        CompileOptions options = settings_.compile;
        options.only_check = options_.task != Task::Run;
        options.warnings = !options_.json;
        if (language().arguments == ArgumentStyle::Named)
            options.script_args.insert(options.script_args.end(), options_.args.begin(), options_.args.end());
        else if (!options.script_args.empty())
            return wrong_usage("--args: only scripts have arguments with names");
        options.before = left_.names;
        options.may_end_early = language().session == SessionStyle::Values;
        CodeDump dump(settings_.values);
        show_to(dump, &options);
        CompileReport report;
        program_ = compile(text_, options, &report);
        complain(report.diagnostics);
        if (settings_.values.dump_code.value_or(false)) complain(dump.write());
        times_ = report.times;
        return program_ ? kRan : report.out_of_memory ? kFailed : kRejected;
    }

    /// Has stages shown to `dump` as well, as far as it wants them.
    static void show_to(CodeDump& dump, CompileOptions* options) {
        CompileOptions dumped;
        dump.watch(&dumped);
        if (dumped.explained.empty()) return;
        options->explain = [shown = options->explained, show = options->explain, kept = dumped.explained,
                            keep = dumped.explain](std::string_view stage, std::string_view text) {
            if (std::ranges::find(shown, stage) != shown.end()) show(stage, text);
            if (std::ranges::find(kept, stage) != kept.end()) keep(stage, text);
        };
        options->explained.insert(options->explained.end(), dumped.explained.begin(), dumped.explained.end());
    }

    const Language& language() const { return *find_language(settings_.compile.language); }

    int answer() {
        switch (options_.task) {
            case Task::Type: return print_text(result_type() + '\n');
            case Task::Header: return print_text(cpp_header(*program_, settings_.compile.name));
            case Task::Run: return run();
            default: return report_times();
        }
    }

    /// As one would write it: `simd[T]` for what this machine works on at once.
    std::string result_type() const {
        std::string text = program_->result_type()->str();
        for (int i = 0; i < kNumScalars; ++i) {
            const Scalar s = Scalar(i);
            const std::string lanes = fmt::format("simd[{},{}]", name_of(s), default_lanes(s));
            for (std::size_t at; (at = text.find(lanes)) != text.npos;)
                text.replace(at, lanes.size(), fmt::format("simd[{}]", name_of(s)));
        }
        return text;
    }

    // ---- running

    int run() {
        int (Command::* const steps[])() = {&Command::check_result, &Command::read_arguments,
                                            &Command::run_program, &Command::deliver, &Command::report_times};
        for (auto step : steps)
            if (const int code = (this->*step)()) return code;
        return kRan;
    }

    int check_result() {
        if (program_->result_type()->holds_builder) {
            Diagnostics diagnostics;
            const Expr* body = program_->module().main->as<Lambda>().body();
            diagnostics.error(body->loc, "the result is a `{}`; take the `result` of its builders",
                              program_->result_type()->str());
            complain(diagnostics.draw(program_->module().sources));
            return kRejected;
        }
        if (options_.out.empty()) return kRan;
        if (language().results == ResultStyle::Prints)
            return wrong_usage("--out: a script has no result; it writes what it says itself");
        const std::string error = ResultFile(options_.out).check(program_->result());
        return error.empty() ? kRan : wrong_usage("--out: " + error);
    }

    int read_arguments() {
        if (language().arguments == ArgumentStyle::Named) return kRan;  // they were needed to compile
        const auto params = program_->params();
        if (options_.args.size() != params.size())
            return wrong_usage(fmt::format("the program takes {} argument{}, {} given", params.size(),
                                           params.size() == 1 ? "" : "s", options_.args.size()));
        const WeldType* type = program_->args();
        args_ = memory_.arena.allocate(std::size_t(type->size) + 1, std::size_t(type->align));
        for (std::size_t i = 0; i < params.size(); ++i) {
            void* to = static_cast<char*>(args_) + type->offsets[i];
            std::string error;
            try {
                error = read_argument(options_.args[i], params[i]->name, type->args[i], to);
            } catch (const runtime::Failure& failure) {
                return fail(fmt::format("error: {}\n", failure.message));
            }
            if (!error.empty())
                return wrong_usage(fmt::format("argument {}, `{}`: {}", i + 1, params[i]->name, error));
        }
        return kRan;
    }

    std::string read_argument(const std::string& text, std::string_view param, const WeldType* type,
                              void* to) {
        if (std::string why = no_literals_of(type); !why.empty()) return why;
        return text.starts_with('@') ? read_file(text.substr(1), param, type, memory_, to)
                                     : read_literal(text, type, memory_.arena, to);
    }

    int run_program() {
        const Interruptible interruptible;
        const bool prints_result = language().results == ResultStyle::Value;
        PrintOutput printed(options_.json && prints_result ? STDERR_FILENO : STDOUT_FILENO);
        PrintOutput errors(STDERR_FILENO);
        ProgressBar bar(options_.progress.value_or(::isatty(STDERR_FILENO)));
        runtime::RunOptions run;
        run.progress = bar.watched();
        run.threads = settings_.threads;
        run.account = settings_.account;
        run.stop = Interruptible::stop_flag();
        run.output = &printed;
        run.errors = &errors;
        if (program_->after()) return run_in_parts(run);
        for (std::int64_t i = 0; i < options_.repeat; ++i) {
            RunTimer timer(run_times_);
            outcome_ = {};  // freeing the result before belongs to the run
            outcome_ = program_->run(args_, run);
            timer.stop();
            if (Interruptible::interrupted()) return interrupted();
            if (!outcome_.ok()) return fail(program_->describe(outcome_.failure()));
        }
        return kRan;
    }

    /// Programs that go on: each begins with what the one before has left. The last one leaves it to the next
    /// entry of a session, if all have come to their ends.
    int run_in_parts(const runtime::RunOptions& options) {
        if (!left_.context)
            left_.context = std::make_shared<Context>(
                RunSettings{.threads = settings_.threads, .memory_limit = settings_.compile.memory_limit});
        Stages stages(left_.context, program_, std::move(left_.values));
        std::optional<RunTimer> timer(run_times_);
        const StagesEnd end = stages.run(options, [&]() -> std::shared_ptr<const Program> {
            timer->stop();
            left_.names = stages.left();
            if (Interruptible::interrupted() || compile_program()) return nullptr;
            timer.emplace(run_times_);
            return program_;
        });
        if (end != StagesEnd::Stopped) timer->stop();
        if (Interruptible::interrupted()) return interrupted();
        if (end == StagesEnd::Stopped) return kFailed;  // the script has begun
        if (end == StagesEnd::Failed) return fail(program_->describe(stages.report().failure));
        if (!stages.left()) return kRan;  // the end of a script
        left_.names = stages.left();
        left_.values = stages.take_report();
        settings_.left = std::move(left_);
        return kRan;
    }

    /// `drawing` may begin with the place; a line that begins with `error: ` always follows.
    int fail(const std::string& drawing) {
        complain(drawing);
        if (!drawing.starts_with("error: ")) complain("error: the program failed while it ran\n");
        return kFailed;
    }

    int deliver() {
        if (!options_.out.empty()) {
            const std::string error = ResultFile(options_.out).write(program_->result(), outcome_.value());
            if (error.empty()) return kRan;
            return Interruptible::interrupted() ? interrupted() : fail(fmt::format("error: {}\n", error));
        }
        if (options_.quiet || language().results == ResultStyle::Prints) return kRan;
        Writer out(STDOUT_FILENO, Interruptible::stop_flag());
        const PrintStyle style{options_.json, !options_.json && ::isatty(STDOUT_FILENO)};
        print_value(program_->result(), outcome_.value(), style, out);
        out.put('\n');
        return finish(out);
    }

    int report_times() {
        if (options_.timing == Timing::None) return kRan;
        run_times_.threads = settings_.threads;
        const auto& context = settings_.left.context;
        run_times_.peak_bytes = context ? context->memory_peak() : settings_.account->peak();
        complain(options_.timing == Timing::Json ? timing_json(times_, run_times_)
                                                 : timing_table(times_, run_times_));
        return kRan;
    }

    const Options& options_;
    Settings& settings_;
    ArgumentMemory memory_;
    std::string text_;
    Settings::Left left_;
    std::shared_ptr<const Program> program_;
    CompileTimes times_;
    void* args_ = nullptr;
    RunOutcome outcome_;
    RunTimes run_times_;
};

}  // namespace

/// `work` on a deep stack; types and values of users may be deep.
template <class Work>
static int guarded(const Work& work) {
    int code = kFailed;
    on_deep_stack([&] {
        try {
            code = work();
        } catch (const std::bad_alloc&) {
            code = out_of_memory();
        }
    });
    return code;
}

int run_command(const Options& options) {
    return guarded([&] {
        Settings settings;
        const int code = settings.apply(options);
        return code ? code : Command(options, settings).execute();
    });
}

int run_program(const Options& options, Settings& settings, std::string text) {
    const Interruptible interruptible;
    return guarded([&] { return Command(options, settings).execute(std::move(text)); });
}

}  // namespace weld
