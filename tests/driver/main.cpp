// weld-test: programs as tests.
//
//     weld-test [--bless] FILE|FOLDER...             program files with `#@` lines (test_file.h)
//     weld-test --random N [--seed S] [--out FOLDER] [--interpret]
//                                                    N random programs, interpreted and compiled
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "frontend/api/languages.h"
#include "runtime/memory.h"
#include "runtime/poison.h"
#include "tests/driver/fuzz.h"
#include "tests/driver/isolate.h"
#include "tests/driver/run_files.h"

using namespace weld::driver;

namespace {

struct Arguments {
    bool bless = false, is_random = false;
    FuzzOptions fuzz;
    std::vector<std::string> files;
    std::string error;
};

Arguments read_arguments(int argc, char** argv) {
    Arguments a;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        auto value = [&]() -> std::string {
            if (i + 1 < argc) return argv[++i];
            a.error = word + " wants a value";
            return "0";
        };
        if (word == "--bless") a.bless = true;
        else if (word == "--random") a.is_random = true, a.fuzz.programs = std::atoi(value().c_str());
        else if (word == "--seed") a.fuzz.seed = std::strtoull(value().c_str(), nullptr, 10);
        else if (word == "--out") a.fuzz.out = value();
        else if (word == "--interpret") a.fuzz.only_interpret = true;
        else if (word[0] == '-') a.error = "there is no option " + word;
        else a.files.push_back(word);
    }
    if (a.files.empty() && !a.is_random) a.error = "what shall be tested?";
    return a;
}

/// Folders stand for the programs below them.
std::vector<std::string> files_in(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        if (!std::filesystem::is_directory(path)) {
            files.push_back(path);
            continue;
        }
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
            if (!weld::language_of_file(entry.path().string()).empty())
                files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

int run_files(const std::vector<std::string>& paths, bool bless) {
    std::size_t failures = 0, checks = 0;
    const std::vector<std::string> files = files_in(paths);
    for (const std::string& path : files) {
        const Isolated out = run_isolated(
            [&](const auto& report) {
                const FileReport r = run_file(path, bless);
                report(std::to_string(r.checks));
                for (const std::string& f : r.failures) report(f);
            },
            300);
        for (std::size_t i = 0; i < out.reports.size(); ++i) {
            if (i == 0) checks += std::size_t(std::atoi(out.reports[0].c_str()));
            else fmt::print("{}\n", out.reports[i]), ++failures;
        }
        if (!out.ended_badly.empty()) fmt::print("{}: {}\n", path, out.ended_badly), ++failures;
    }
    fmt::print("{} files, {} checks, {} failures\n", files.size(), checks, failures);
    return failures ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments a = read_arguments(argc, argv);
    if (!a.error.empty()) {
        fmt::print(stderr, "weld-test: {}\n", a.error);
        return 2;
    }
    weld::runtime::overwrite_freed = true;
    weld::runtime::least_allowance = 256;
    int status = 0;
    if (!a.files.empty()) status = run_files(a.files, a.bless);
    if (a.is_random && fuzz(a.fuzz) > 0) status = 1;
    return status;
}
