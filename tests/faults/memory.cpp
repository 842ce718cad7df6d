// A host of libweld.so in which the n-th allocation fails, for every n (with --all) or for many:
//
//     fault-memory [--all]
//
// Compiles and runs a dozen programs so. What fails says that memory is missing, and nothing else; nothing is
// left allocated; and the same program then compiles and runs as it should.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <weld/weld.h>

#include "faults.h"

namespace {

struct Free {
    void operator()(weld_conf_t h) const { weld_conf_free(h); }
    void operator()(weld_context_t h) const { weld_context_free(h); }
    void operator()(weld_error_t h) const { weld_error_free(h); }
    void operator()(weld_module_t h) const { weld_module_free(h); }
    void operator()(weld_value_t h) const { weld_value_free(h); }
    void operator()(char* text) const { weld_string_free(text); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;
using Module = Owned<WeldModule>;

/// Takes one i64.
struct Program {
    const char* name;
    const char* text;
    std::int64_t argument;
    std::string result = {};
};

std::vector<Program> programs = {
    {"scalar", "|n: i64| n * 3L + 1L", 4},
    {"map",
     "|n: i64| map(result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x))), |x| x * x)", 9},
    {"filter",
     "|n: i64| filter(result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x))), |x| x % 3L == "
     "1L)",
     300'000},
    {"sum", "|n: i64| result(for(rangeiter(0L, n, 1L), merger[f64,+], |b, i, x| merge(b, sin(f64(x)))))",
     200'000},
    {"dictionary",
     "|n: i64| tovec(result(for(rangeiter(0L, n, 1L), dictmerger[i64,i64,+], |b, i, x| merge(b, {x % 7L, "
     "x}))))",
     1000},
    {"large dictionary",
     "|n: i64| len(tovec(result(for(rangeiter(0L, n, 1L), dictmerger[i64,{i64,f64},+], |b, i, x| "
     "merge(b, {x * 7919L % 100003L, {1L, f64(x)}})))))",
     300'000},
    {"groups",
     "|n: i64| sort(tovec(result(for(rangeiter(0L, n, 1L), groupmerger[i64,i64], |b, i, x| merge(b, {x % 5L, "
     "x})))), |a, b| compare(a.$0, b.$0))",
     50'000},
    {"vecmerger",
     "|n: i64| result(for(rangeiter(0L, n, 1L), vecmerger[i64,+]([0L, 0L, 0L, 0L]), |b, i, x| merge(b, {x % "
     "4L, "
     "x})))",
     200'000},
    {"sort",
     "|n: i64| lookup(sort(result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x * 7919L % "
     "10007L))), |a, b| compare(b, a)), n / 2L)",
     100'000},
    {"strings",
     "|n: i64| let d = result(for([\"one\", \"two\", \"three\", \"two\"], dictmerger[vec[i8],i64,+], |b, i, "
     "s| "
     "merge(b, {s, n + i}))); sort(tovec(d), |a, b| compare(a.$0, b.$0))",
     2},
    {"nested",
     "|n: i64| map(result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x))), |x| "
     "result(for(rangeiter(0L, x, 1L), appender[f64], |b, i, y| merge(b, f64(y)))))",
     40},
    {"serialize",
     "|n: i64| let v = result(for(rangeiter(0L, n, 1L), appender[{i64,vec[i64]}], |b, i, x| merge(b, {x, [x, "
     "x]}))); "
     "len(deserialize[vec[{i64,vec[i64]}]](serialize(v)))",
     1000},
    {"iterate", "|n: i64| iterate({0L, [1L, 2L]}, |s| {{s.$0 + 1L, map(s.$1, |x| x + 1L)}, s.$0 < n}).$1",
     50},
    {"many loops", nullptr, 1000},
};

/// Enough loops for several compile threads.
std::string many_loops() {
    std::string text =
        "|n: i64| let v = result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x))); 0L";
    for (int i = 1; i <= 12; ++i) {
        const std::string k = std::to_string(i);
        text += " + result(for(v, merger[i64,+], |b, i, x| if(x > " + k + "L, merge(b, x / " + k + "L * " +
                k + "L % 1001L), b)))";
    }
    return text;
}

// ---- what is tried

const char* where = "";
long at_call = 0;
int failures = 0;

void on_crash(int signal) {
    char text[200];
    const int n = std::snprintf(text, sizeof text, "%s: signal %d after allocation %ld failed\n", where,
                                signal, at_call);
    (void)!::write(STDOUT_FILENO, text, std::size_t(n));
    ::_exit(3);
}

void complain(const std::string& what) {
    std::printf("%s: allocation %ld: %s\n", where, at_call, what.c_str());
    if (++failures == 20) std::exit(1);
}

/// The error of something that failed because memory was missing.
void check_error(WeldError* error) {
    if (weld_error_code(error) != WELD_OUT_OF_MEMORY)
        complain("the code is " + std::to_string(weld_error_code(error)) + ": " + weld_error_message(error));
    const std::string message = weld_error_message(error);
    if (message.find("memory") == message.npos) complain("the message is `" + message + "`");
}

Module compile(const std::string& text, WeldError* error) {
    return Module(weld_module_compile(text.c_str(), nullptr, error));
}

/// Runs `module` in a context of its own; the result as text. Allocates nothing that the library doesn't.
Owned<char> run(WeldModule* module, const std::int64_t& argument, WeldError* error) {
    const Owned<WeldConf> conf(weld_conf_new());
    if (conf) weld_conf_set(conf.get(), "weld.threads", "2");
    const Owned<WeldContext> context(weld_context_new(conf.get()));
    const Owned<WeldValue> input(weld_value_new(&argument));
    if (!conf || !context || !input) return nullptr;
    const Owned<WeldValue> output(weld_module_run(module, context.get(), input.get(), error));
    return Owned<char>(output ? weld_value_to_json(output.get(), error) : nullptr);
}

/// What goes wrong after a program was compiled leaves it among the 64 that the library remembers. Then
/// nothing more is kept.
constexpr int kMostRounds = 200;

/// Calls `work` for as many n as there are, `most` of them; it calls `arm`, after which the n-th allocation
/// fails, and returns whether the library keeps something because it went well.
void try_all(long most, bool on, const std::function<bool(const std::function<void()>& arm)>& work) {
    work([] { fault_arm(FAULT_MEMORY, 0, 0, 0); });
    const long all = fault_disarm();
    const long step = std::max(1L, all / most);
    // the first ones each, and then some
    for (long n = 1; n <= all; n += n < most / 4 ? 1 : step) {
        at_call = n;
        for (int again = 0; again <= kMostRounds; ++again) {
            const long before = fault_bytes_in_use();
            if (work([&] { fault_arm(FAULT_MEMORY, n, on, 0); })) break;
            const long left = fault_bytes_in_use() - before;
            // What is made once in a process is not made again, and of programs only so many are kept.
            if (left <= 0) break;
            if (again == kMostRounds) complain(std::to_string(left) + " bytes are left");
        }
    }
    at_call = 0;
}

void try_compiling(const Program& program, long most, bool on) {
    const Owned<WeldError> error(weld_error_new());
    static long number = 1'000'000;  // so that all texts have the same length
    try_all(most, on, [&](const auto& arm) {
        // what is known already would not be compiled
        const std::string text = "# " + std::to_string(++number) + "\n" + program.text;
        arm();
        const Module module = compile(text, error.get());
        fault_disarm();
        if (!module) return check_error(error.get()), false;
        const Owned<char> result = run(module.get(), program.argument, error.get());
        if (!result || result.get() != program.result) complain("the code gives another result");
        return true;
    });
}

void try_running(const Program& program, long most, bool on) {
    const Owned<WeldError> error(weld_error_new());
    const Module module = compile(program.text, error.get());
    try_all(most, on, [&](const auto& arm) {
        arm();
        const Owned<char> text = run(module.get(), program.argument, error.get());
        fault_disarm();
        if (text && text.get() != program.result) complain(std::string("the result is ") + text.get());
        if (!text && weld_error_code(error.get())) check_error(error.get());
        const Owned<char> again = run(module.get(), program.argument, error.get());
        if (!again || again.get() != program.result) complain("the program does not run any more");
        return false;
    });
}

}  // namespace

int main(int argc, char** argv) {
    const bool every = argc > 1 && !std::strcmp(argv[1], "--all");
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE}) ::signal(signal, on_crash);
    weld_set_log_level(WELD_LOG_LEVEL_OFF);
    const std::string loops = many_loops();
    programs.back().text = loops.c_str();
    for (Program& program : programs) {
        where = program.name;
        const Owned<WeldError> error(weld_error_new());
        const Module module = compile(program.text, error.get());
        if (const auto text = module ? run(module.get(), program.argument, error.get()) : nullptr)
            program.result = text.get();
        if (program.result.empty()) return std::printf("%s: %s\n", where, weld_error_message(error.get())), 1;
    }
    for (Program& program : programs) {
        where = program.name;
        for (const bool on : {false, true}) {
            try_compiling(program, every ? 1 << 30 : 60, on);
            try_running(program, every ? 1 << 30 : 60, on);
        }
        std::printf("%s\n", where);
    }
    std::printf("%d failures\n", failures);
    return failures != 0;
}
