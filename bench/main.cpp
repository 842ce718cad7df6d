// weld-bench --list | PROGRAMS [--threads N] [--reps N] [--passes LIST] [--cpu CPU] [NAME...]: runs workloads
// over columns in memory.
//
// Prints for each: `NAME median S min S cpu S T<threads> compile MS peak BYTES chk DIGEST ok|WRONG`. A name
// stands for all workloads that begin with it (whole dotted parts). Freeing the result of a run is timed with
// the next one.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "bench/workloads.h"
#include "frontend/api/compile.h"

using namespace weld;

static double wall() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static double cpu() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
static double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

struct Settings {
    std::string programs;
    int threads = 2;
    int reps = 7;
    std::optional<std::vector<std::string>> passes;
    Cpu cpu = Cpu::Native;
    std::vector<std::string> names;
};

static bool wanted(const Settings& s, const std::string& name) {
    if (s.names.empty()) return true;
    return std::any_of(s.names.begin(), s.names.end(), [&](const std::string& n) {
        return name.rfind(n, 0) == 0 && (name.size() == n.size() || !std::isalnum(name[n.size()]));
    });
}

static bool run(const Settings& s, const bench::Workload& w) {
    const std::string path = s.programs + "/" + w.program + (w.is_script ? ".daphne" : ".weld");
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    CompileOptions options;
    options.name = path;
    options.passes = s.passes;
    options.cpu = s.cpu;
    options.language = w.is_script ? "daphne" : "weld";
    options.is_entry = w.is_script;
    options.before = w.given;
    CompileReport report;
    const double begin = wall();
    const auto program = compile(text.str(), options, &report);
    const double compiled = wall();
    if (!program) {
        std::fputs(report.diagnostics.c_str(), stderr);
        return false;
    }
    const bench::Inputs in = w.make();
    runtime::RunOptions how;
    how.threads = s.threads;
    how.account = std::make_shared<runtime::MemoryAccount>();
    std::vector<double> times, cpus;
    std::optional<RunOutcome> last;
    const double start = wall();
    // what takes microseconds goes on until its loops have been optimised
    for (int rep = 0; rep <= s.reps || wall() - start < 0.1; ++rep) {
        const double t = wall(), c = cpu();
        last.reset();
        last.emplace(program->run(in.args.data(), how));
        if (rep > 0) {
            times.push_back(wall() - t);
            cpus.push_back(cpu() - c);
        }
        if (!last->ok()) {
            std::fputs(program->describe(last->failure()).c_str(), stderr);
            return false;
        }
        if (rep >= 2 && wall() - start > 12) break;
    }
    const double digest = w.digest(last->value());
    const bool ok = std::abs(digest - w.expected) <= w.tolerance * std::abs(w.expected);
    std::printf("%-18s median %.6f min %.6f cpu %.6f T%d compile %.2f peak %lld chk %.17g %s\n",
                w.name.c_str(), median(times), *std::min_element(times.begin(), times.end()), median(cpus),
                s.threads, 1000 * (compiled - begin), static_cast<long long>(how.account->peak()), digest,
                ok ? "ok" : "WRONG");
    std::fflush(stdout);
    return ok;
}

static std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> all;
    std::stringstream in(list);
    for (std::string one; std::getline(in, one, ',');) all.push_back(one);
    return all;
}

/// By its name; false if this machine cannot run code for it.
static bool find_cpu(const std::string& name, Cpu* cpu) {
    for (Cpu one : runnable_cpus())
        if (name == name_of(one)) return *cpu = one, true;
    return false;
}

int main(int argc, char** argv) {
    Settings s;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        const bool more = i + 1 < argc;
        if (a == "--threads" && more) s.threads = std::atoi(argv[++i]);
        else if (a == "--reps" && more) s.reps = std::atoi(argv[++i]);
        else if (a == "--passes" && more) s.passes = split(argv[++i]);
        else if (a == "--cpu" && more) {
            if (!find_cpu(argv[++i], &s.cpu))
                return std::fprintf(stderr, "weld-bench: this machine has no %s\n", argv[i]), 2;
        } else if (a == "--list") {
            for (const bench::Workload& w : bench::workloads()) std::puts(w.name.c_str());
            return 0;
        } else if (s.programs.empty()) s.programs = a;
        else s.names.push_back(a);
    }
    if (!std::filesystem::is_directory(s.programs))
        return std::fprintf(stderr,
                            "usage: weld-bench FOLDER_OF_PROGRAMS [WORKLOAD...] [--threads N] [--reps N] "
                            "[--passes LIST] [--cpu CPU]\n       weld-bench --list\n"),
               2;
    bool ok = true;
    for (const bench::Workload& w : bench::workloads())
        if (wanted(s, w.name)) ok &= run(s, w);
    return ok ? 0 : 1;
}
