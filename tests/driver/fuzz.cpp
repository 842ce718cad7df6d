// Programs are made and checked in batches, each in a process of its own; what fails is shrunk and written to
// a file that fails again.
#include "tests/driver/fuzz.h"

#include <algorithm>
#include <cctype>
#include <fstream>

#include <fmt/format.h>

#include "tests/driver/check.h"
#include "tests/driver/generate.h"
#include "tests/driver/isolate.h"
#include "tests/driver/shrink.h"
#include "tests/driver/test_file.h"
#include "tests/interp/text.h"
#include "weldir/ir/print.h"

namespace weld::driver {

static constexpr int kBatch = 20;
static constexpr int kSeconds = 300;  // of processor time, for one program

static interp::Options limits() {
    interp::Options o = interpreter_options();
    o.max_steps = 3'000'000;
    return o;
}

static Sample sample_of(std::uint64_t seed) {
    Random random(seed);
    Module m;
    GenerateOptions options;
    options.size = 20 + int(random.below(120));
    generate(m, random, options);
    return {print(m), random_arguments(m, random)};
}

/// The word for a program that is too long to be interpreted, so that there is nothing to compare.
static const std::string kTooLong = "too long";

static bool is_too_long(const Sample& s) {
    const Text read(s.text);
    return read.ok() && interp::run(read.module, s.args, limits()).kind == interp::Outcome::GaveUp;
}

static std::string check_sample(const Sample& s, std::uint64_t seed, bool only_interpret) {
    if (is_too_long(s)) return kTooLong;
    PassOptions passes;
    passes.level = 3;
    const std::string wrong = check_passes(s.text, s.args, passes, limits());
    return wrong.empty() && !only_interpret ? check_everything(s.text, s.args, limits(), some_configs(seed))
                                            : wrong;
}

/// What a failure is called, so that shrinking does not slip to another: without numbers, places, and its
/// tail.
static std::string kind_of(const std::string& message) {
    std::string kind;
    for (char c : message.substr(0, message.find('\n')))
        if (std::isalpha(static_cast<unsigned char>(c)) || c == ' ') kind += c;
    return kind.substr(0, 24);
}

static std::string check_isolated(const Sample& s, std::uint64_t seed, bool only_interpret) {
    const Isolated out =
        run_isolated([&](const auto& report) { report(check_sample(s, seed, only_interpret)); }, kSeconds);
    if (!out.ended_badly.empty()) return out.ended_badly;
    return out.reports.empty() ? "no word" : out.reports[0];
}

static void write_failure(const std::string& path, const Sample& s, const std::string& message) {
    std::ofstream out(path);
    out << "# " << message.substr(0, message.find('\n')) << '\n' << s.text;
    interp::on_big_stack([&] {
        const Text read(s.text);
        if (!read.ok()) return;
        const Module& m = read.module;
        std::string args;
        for (std::size_t i = 0; i < s.args.size(); ++i)
            args += (i ? ", " : "") + interp::to_text(m.main->type->params()[i], s.args[i]);
        const interp::Outcome outcome = interp::run(m, s.args, limits());
        if (outcome.kind == interp::Outcome::Done)
            out << "#@ call: " << args << " => " << interp::to_text(m.main->type->result(), outcome.value)
                << '\n';
        if (outcome.kind == interp::Outcome::Failed) {
            const Position at = m.sources.position(outcome.loc);  // one line further down in the file
            out << fmt::format("#@ fails: {} => {} {}:{}\n", args, name_of_code(outcome.code), at.line + 1,
                               at.column);
        }
    });
}

static void report_failure(std::uint64_t seed, const std::string& message, const FuzzOptions& options,
                           bool may_shrink = true) {
    Sample s;
    interp::on_big_stack([&] { s = sample_of(seed); });
    fmt::print("seed {}: {}\n", seed, message.substr(0, 2000));
    const std::string path = fmt::format("{}/failing-{}.weld", options.out, seed);
    write_failure(path, s, message);  // shrinking may take long
    if (!may_shrink) return;
    const std::string kind = kind_of(message);
    std::string last = message;
    interp::on_big_stack([&] {
        s = shrink(
            s,
            [&](const Sample& candidate) {
                const std::string wrong = check_isolated(candidate, seed, options.only_interpret);
                if (kind_of(wrong) != kind) return false;
                last = wrong;
                return true;
            },
            300);
    });
    write_failure(path, s, last);
    fmt::print("{}\n  {}\n{}\n", path, last.substr(0, 2000), s.text);
    std::fflush(stdout);
}

int fuzz(const FuzzOptions& options) {
    int failures = 0, too_long = 0;
    const std::uint64_t end = options.seed + std::uint64_t(options.programs);
    std::uint64_t seed = options.seed;
    while (seed < end && failures < options.most_failures) {
        const std::uint64_t stop = std::min(end, seed + kBatch);
        const Isolated out = run_isolated(
            [&](const auto& report) {
                for (std::uint64_t s = seed; s < stop; ++s)
                    report(check_sample(sample_of(s), s, options.only_interpret));
            },
            kSeconds);
        for (const std::string& wrong : out.reports) {
            if (wrong == kTooLong) ++too_long;
            else if (!wrong.empty()) {
                report_failure(seed, wrong, options);
                ++failures;
            }
            ++seed;
        }
        if (!out.ended_badly.empty()) {
            report_failure(seed++, out.ended_badly, options,
                           !out.timed_out);  // every attempt would take as long
            ++failures;
        }
    }
    fmt::print("{} programs, {} failures, {} too long to be interpreted\n", seed - options.seed, failures,
               too_long);
    return failures;
}

}  // namespace weld::driver
