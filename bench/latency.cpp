// weld-latency [--threads N] [--scale X] [NAME...]: how long runs go on after they are cancelled.
//
// Each program is run and cancelled at many moments, spread over the time that it takes or, if it goes on for
// ever, over half a second. Prints for each how long the latest return took, in time and in time of the
// processors. A name stands for all programs that begin with it. Larger `--scale`: more data. The bar is 50
// ms on an idle machine.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <weld/weld.h>

namespace {

struct Case {
    const char* name;
    double n;  ///< the argument; infinite loops take what would last for hours
    bool endless;
    const char* program;
};

#define WELD_NUMBERS \
    "let v = result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x * 7919L % 1000003L))); "
#define WELD_FLOATS                                                                               \
    "let v = result(for(rangeiter(0L, n, 1L), appender[f64], |b, i, x| merge(b, f64(x * 7919L % " \
    "1000003L)))); "
#define WELD_PAIRS                                                                                   \
    "let v = result(for(rangeiter(0L, n, 1L), appender[{i64,f64}], |b, i, x| merge(b, {x * 7919L % " \
    "1000003L, f64(x)}))); "
#define WELD_NESTED                                                                                 \
    "let v = result(for(rangeiter(0L, n, 1L), appender[vec[i64]], |b, i, x| merge(b, [x * 7919L % " \
    "1000003L, x]))); "
#define WELD_BYTES                                                                                       \
    "let t = result(for(rangeiter(0L, n, 1L), appender[i8], |b, i, x| merge(b, i8(97L + (x * x / 7L) % " \
    "20L)))); "
#define WELD_SQUARE                                                                                        \
    "let v = result(for(rangeiter(0L, n * n, 1L), appender[f64], |b, i, x| merge(b, f64((x ^ (x / 7L)) * " \
    "7919L % 10007L)))); "
#define WELD_DICT(keys)                                                                                     \
    "let d = result(for(rangeiter(0L, n, 1L), dictmerger[i64,i64,+], |b, i, x| merge(b, {x * 7919L % " keys \
    ", x}))); "

const Case cases[] = {
    // loops
    {"loop.merger", 1e12, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[f64,+], |b,i,x| merge(b, sin(f64(x)))))"},
    {"loop.merger.lanes", 1e13, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[i64,+], |b,i,x| merge(b, x ^ 5L)))"},
    {"loop.merger.serial", 1e12, true,
     "|n:i64| result(@(parallel:false) for(rangeiter(0L,n,1L), merger[f64,+], |b,i,x| merge(b, f64(x))))"},
    {"loop.merger.filter", 1e12, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[i64,max], |b,i,x| if(x % 7L == 3L, merge(b, x), b)))"},
    {"loop.merger.vec", 4e8, false,
     "|n:i64| " WELD_FLOATS "result(for(v, merger[f64,+], |b,i,x| merge(b, x * 2.0 + 1.0)))"},
    {"loop.merger.zip", 2e8, false,
     "|n:i64| " WELD_FLOATS "result(for(zip(v, v), merger[f64,+], |b,i,x| merge(b, x.$0 * x.$1)))"},
    {"loop.structs", 1e12, true,
     "|n:i64| let s = for(rangeiter(0L,n,1L), {merger[f64,+], merger[i64,max], "
     "vecmerger[i64,+]([0L,0L,0L,0L])}, |b,i,x| {merge(b.$0, f64(x)), merge(b.$1, x), merge(b.$2, {x & 3L, "
     "1L})}); {result(s.$0), result(s.$1), result(s.$2)}"},
    {"loop.appender", 4e8, false,
     "|n:i64| len(result(for(rangeiter(0L,n,1L), appender[i64], |b,i,x| merge(b, x))))"},
    {"loop.appender.filter", 4e8, false,
     "|n:i64| len(result(for(rangeiter(0L,n,1L), appender[i64], |b,i,x| if(x % 3L != 1L, merge(b, x), b))))"},
    {"loop.vecmerger.small", 1e11, true,
     "|n:i64| let z = result(for(rangeiter(0L,100L,1L), appender[i64], |b,i,x| merge(b,0L))); "
     "result(for(rangeiter(0L,n,1L), vecmerger[i64,+](z), |b,i,x| merge(b, {x % 100L, x})))"},
    {"loop.vecmerger.float", 1e11, true,
     "|n:i64| let z = result(for(rangeiter(0L,100L,1L), appender[f64], |b,i,x| merge(b,0.0))); "
     "result(for(rangeiter(0L,n,1L), vecmerger[f64,+](z), |b,i,x| merge(b, {x % 100L, 1.5})))"},
    {"loop.vecmerger.large", 1e8, false,
     "|n:i64| " WELD_NUMBERS "len(result(for(v, vecmerger[i64,+](v), |b,i,x| merge(b, {x, 1L}))))"},
    {"loop.vecmerger.counts", 3e8, false,
     "|n:i64| let z = result(for(rangeiter(0L,20000000L,1L), appender[i64], |b,i,x| merge(b,0L))); "
     "len(result(for(rangeiter(0L,n,1L), vecmerger[i64,+](z), |b,i,x| merge(b, {x * 7919L % 20000000L, "
     "1L}))))"},
    {"loop.dictmerger.few", 1e11, true, "|n:i64| " WELD_DICT("100L") "len(d)"},
    {"loop.dictmerger.many", 6e7, false, "|n:i64| " WELD_DICT("20000003L") "len(tovec(d))"},
    {"loop.dictmerger.float", 6e7, false,
     "|n:i64| len(tovec(result(for(rangeiter(0L, n, 1L), dictmerger[i64,f64,+], |b, i, x| merge(b, {x * "
     "7919L % 5000011L, 1.5})))))"},
    {"loop.dictmerger.groups", 1e11, true,
     "|n:i64| result(for(rangeiter(0L, n, 1L), dictmerger[i64,f64,+], |b, i, x| merge(b, {x & 3L, "
     "f64(x)})))"},
    {"loop.groupmerger.few", 8e7, false,
     "|n:i64| len(result(for(rangeiter(0L, n, 1L), groupmerger[i64,i64], |b, i, x| merge(b, {x % 100L, "
     "x}))))"},
    {"loop.groupmerger.many", 4e7, false,
     "|n:i64| len(result(for(rangeiter(0L, n, 1L), groupmerger[i64,i64], |b, i, x| merge(b, {x * 7919L % "
     "5000011L, x}))))"},
    {"loop.groupmerger.wide", 2e7, false,
     "|n:i64| len(result(for(rangeiter(0L, n, 1L), groupmerger[i64,{i64,i64}], |b, i, x| merge(b, {x * 7919L "
     "% 5000011L, {x, x}}))))"},
    {"loop.topk", 1e11, true,
     "|n:i64| result(for(rangeiter(0L, n, 1L), topk[i64](1000L), |b, i, x| merge(b, n - x)))"},
    {"loop.nested", 1e6, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[f64,+], |b,i,x| merge(b, result(for(rangeiter(0L,n,1L), "
     "merger[f64,+], |c,j,y| merge(c, sqrt(f64(x ^ y))))))))"},
    {"loop.nested.long", 1e12, true,
     "|n:i64| result(for([1L,2L,3L], merger[i64,+], |b,i,x| merge(b, result(for(rangeiter(0L,n,1L), "
     "merger[i64,+], |c,j,y| merge(c, x ^ y))))))"},
    {"loop.nested.state", 1e6, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[f64,+], |b,i,x| for(rangeiter(0L,n,1L), b, |c,j,y| "
     "merge(c, f64(x ^ y)))))"},
    {"loop.nested.short", 1e11, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[i64,+], |b,i,x| for(rangeiter(0L,3L,1L), b, |c,j,y| "
     "merge(c, x ^ y))))"},
    {"loop.ragged", 3e7, false,
     "|n:i64| " WELD_NESTED "result(for(v, merger[i64,+], |b,i,x| for(x, b, |c,j,y| merge(c, y))))"},
    {"loop.allocating", 1e11, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[i64,+], |b,i,x| merge(b, len(result(for(rangeiter(0L, x "
     "& 63L, 1L), appender[i64], |c,j,y| merge(c, y)))))))"},
    {"loop.lookups", 1e9, false,
     "|n:i64| let d = result(for(rangeiter(0L, 10000000L, 1L), dictmerger[i64,i64,+], |b, i, x| merge(b, {x, "
     "x}))); result(for(rangeiter(0L,n,1L), merger[i64,+], |b,i,x| merge(b, lookup(d, x * 7919L % "
     "10000000L))))"},
    {"loop.sorts", 1e11, true,
     "|n:i64| result(for(rangeiter(0L,n,1L), merger[i64,+], |b,i,x| merge(b, "
     "lookup(sort(result(for(rangeiter(0L, 1000L, 1L), appender[i64], |c,j,y| merge(c, y * 7919L % 1000L + "
     "x))), |k| k), x % 7L))))"},
    {"iterate", 1, true, "|n:i64| iterate(0L, |x| {x + n & 255L, x >= 0L})"},
    {"iterate.loop", 1e9, true,
     "|n:i64| iterate(0L, |x| {result(for(rangeiter(0L,n,1L), merger[i64,+], |b,i,y| merge(b, x ^ y))), "
     "true})"},
    {"iterate.vector", 1e7, true,
     "|n:i64| len(iterate(result(for(rangeiter(0L,n,1L), appender[i64], |b,i,x| merge(b,x))), |v| {map(v, "
     "|x| x + 1L), true}))"},
    {"recursion", 90, true,
     "def fib(k: i64): i64 = if(k < 2L, k, fib(k - 1L) + fib(k - 2L)); |n:i64| fib(n)"},
    // sorting
    {"sort.i64", 3e7, false, "|n:i64| " WELD_NUMBERS "lookup(sort(v, |x| x), n / 2L)"},
    {"sort.f64", 1e8, false, "|n:i64| " WELD_FLOATS "lookup(sort(v, |x| x), n / 2L)"},
    {"sort.f64.zeros", 3e7, false,
     "|n:i64| " WELD_FLOATS "let w = map(v, |x| x * (-1.0)); lookup(sort(w, |x| x), n / 2L)"},
    {"sort.i8", 4e8, false, "|n:i64| " WELD_BYTES "lookup(sort(t, |x| x), n / 2L)"},
    {"sort.computed", 3e7, false, "|n:i64| " WELD_NUMBERS "lookup(sort(v, |x| sin(f64(x))), n / 2L)"},
    {"sort.struct", 3e7, false, "|n:i64| " WELD_PAIRS "lookup(sort(v, |x| x.$0), n / 2L).$0"},
    {"sort.pair", 2e7, false, "|n:i64| " WELD_PAIRS "lookup(sort(v, |x| {x.$0, x.$1}), n / 2L).$0"},
    {"sort.vec", 1e7, false, "|n:i64| " WELD_NESTED "len(lookup(sort(v, |x| x), n / 2L))"},
    {"sort.ties", 1e7, false,
     "|n:i64| let v = result(for(rangeiter(0L, n, 1L), appender[vec[i64]], |b, i, x| merge(b, [1L, x * 7919L "
     "% 1000003L]))); len(lookup(sort(v, |x| x), n / 2L))"},
    {"sort.compared", 1e7, false, "|n:i64| " WELD_NUMBERS "lookup(sort(v, |x, y| compare(x, y)), n / 2L)"},
    {"sort.compared.large", 5e6, false,
     "|n:i64| let v = result(for(rangeiter(0L, n, 1L), appender[{i64,i64,i64}], |b, i, x| merge(b, {x * "
     "7919L % 1000003L, x, x}))); lookup(sort(v, |x, y| compare(x.$0, y.$0)), n / 2L).$0"},
    {"sort.first", 1e8, false, "|n:i64| " WELD_FLOATS "slice(sort(v, |x| x), 0L, 10L)"},
    {"sort.first.many", 1e8, false, "|n:i64| " WELD_FLOATS "len(slice(sort(v, |x| x), 0L, n / 20L))"},
    // dictionaries and bytes
    {"dict.tovec", 2e7, false, "|n:i64| " WELD_DICT("20000003L") "len(tovec(d)) + len(d)"},
    {"dict.strings", 1e7, false,
     "|n:i64| " WELD_NESTED
     "len(tovec(result(for(v, dictmerger[vec[i64],i64,+], |b, i, x| merge(b, {x, 1L})))))"},
    {"serialize", 1e8, false, "|n:i64| " WELD_NUMBERS "len(serialize(v))"},
    {"serialize.f64", 1e8, false,
     "|n:i64| " WELD_FLOATS "let w: vec[f64] = deserialize[vec[f64]](serialize(v)); len(w)"},
    {"serialize.nested", 3e7, false, "|n:i64| " WELD_NESTED "len(deserialize[vec[vec[i64]]](serialize(v)))"},
    {"serialize.dict", 2e7, false,
     "|n:i64| " WELD_DICT("20000003L") "len(deserialize[dict[i64,i64]](serialize(d)))"},
    {"compare", 1e8, false, "|n:i64| " WELD_FLOATS "let w = map(v, |x| x + 0.0); v == w"},
    // kernels
    {"kernel.contains", 1e9, false, "|n:i64| " WELD_BYTES "cudf[weld_contains,bool](t, \"zzzz\")"},
    {"kernel.contains.long", 1e9, false,
     "|n:i64| " WELD_BYTES "cudf[weld_contains,bool](t, "
     "\"abcdefghijklmnopabcdefghijklmnopabcdefghijklmnopabcdefghijklmnopabcdefghijklmnopz\")"},
    {"kernel.contains.nested", 3e7, false,
     "|n:i64| let v = result(for(rangeiter(0L, n, 1L), appender[vec[i8]], |b, i, x| merge(b, [i8(97L + x % "
     "20L), i8(97L + x * 7L % 20L)]))); len(cudf[weld_contains,vec[bool]](v, \"zz\"))"},
    {"kernel.matches.nested", 3e7, false,
     "|n:i64| let v = result(for(rangeiter(0L, n, 1L), appender[vec[i8]], |b, i, x| merge(b, [i8(97L + x % "
     "20L), i8(97L + x * 7L % 20L)]))); len(cudf[weld_matches,vec[bool]](v, \"a.*zz$\"))"},
    {"kernel.matches.one", 3e8, false,
     "|n:i64| " WELD_BYTES "len(cudf[weld_matches,vec[bool]]([t], \"a.*zz\"))"},
    {"kernel.text", 1e9, false,
     "|n:i64| " WELD_BYTES "let u = cudf[weld_upper,vec[i8]](t); len(cudf[weld_concat,vec[i8]](t, u)) + "
     "cudf[weld_compare,i64](u, u)"},
    {"kernel.format", 2e7, false, "|n:i64| " WELD_FLOATS "len(cudf[weld_format,vec[i8]](v))"},
    {"kernel.random", 3e8, false, "|n:i64| len(cudf[weld_random,vec[f64]](0.0, 1.0, n, 1L, 0.5, 7L))"},
    {"kernel.random.sparse", 3e7, false,
     "|n:i64| let m = cudf[weld_random_csr,{vec[f64],i64,i64,vec[i64],vec[i64]}](0.0, 1.0, 1L, n, 0.9, 7L); "
     "len(m.$0)"},
    {"kernel.random.sparse.rows", 1e8, false,
     "|n:i64| let m = cudf[weld_random_csr,{vec[f64],i64,i64,vec[i64],vec[i64]}](0.0, 1.0, n, 2L, 0.1, 7L); "
     "len(m.$0)"},
    {"kernel.sample", 1e8, false, "|n:i64| len(cudf[weld_sample,vec[i64]](n, n, false, 7L))"},
    {"kernel.sample.drawn", 3e7, false, "|n:i64| len(cudf[weld_sample,vec[f64]](2.0, n, false, 7L))"},
    {"kernel.matmul", 4000, false,
     "|n:i64| " WELD_SQUARE "len(cudf[weld_matmul,{vec[f64],i64,i64}]({v, n, n}, {v, n, n}).$0)"},
    {"kernel.matmul.integers", 2500, false,
     "|n:i64| " WELD_SQUARE
     "let w = map(v, |x| i64(x)); len(cudf[weld_matmul,{vec[i64],i64,i64}]({w, n, n}, {w, n, n}).$0)"},
    {"kernel.matmul.empty", 30000, false,
     "|n:i64| let e = []: vec[f64]; len(cudf[weld_matmul,{vec[f64],i64,i64}]({e, n, 0L}, {e, 0L, n}).$0)"},
    {"kernel.syrk", 4000, false,
     "|n:i64| " WELD_SQUARE "len(cudf[weld_syrk,{vec[f64],i64,i64}]({v, n, n}).$0)"},
    {"kernel.gemv", 2e4, false,
     "|n:i64| " WELD_SQUARE "len(cudf[weld_gemv,vec[f64]]({v, n, n}, slice(v, 0L, n)))"},
    {"kernel.solve", 5000, false,
     "|n:i64| " WELD_SQUARE "len(cudf[weld_solve,vec[f64]]({v, n, n}, slice(v, 0L, n)))"},
    // results
    {"kernel.eigen", 4000, false,
     "|n:i64| " WELD_SQUARE "let s = cudf[weld_syrk,{vec[f64],i64,i64}]({v, n, n}); "
     "len(cudf[weld_eigen,{vec[f64],vec[f64]}](s).$0)"},
    {"result.nested", 3e7, false, "|n:i64| " WELD_NESTED "v"},
};

using Clock = std::chrono::steady_clock;
double cpu_ms() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}
double ms_since(Clock::time_point t) {
    return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

struct Run {
    double ms;      ///< from the cancel to the return, or all of it
    double cpu_ms;  ///< the processors' part of it
    bool stopped;   ///< by the cancel
};

/// Runs `module`; cancels after `ms`, unless that is negative.
Run run(weld_module_t module, weld_conf_t conf, std::int64_t n, double cancel_ms) {
    weld_context_t context = weld_context_new(conf);
    weld_error_t error = weld_error_new();
    weld_value_t input = weld_value_new(&n), output = nullptr;
    std::promise<void> began, ended;
    const auto begin = Clock::now();
    std::thread runner([&] {
        began.set_value();
        output = weld_module_run(module, context, input, error);
        ended.set_value();
    });
    began.get_future().wait();
    auto end = ended.get_future();
    Run result{0, 0, false};
    if (cancel_ms < 0) {
        end.wait();
        result.ms = ms_since(begin);
    } else if (end.wait_for(std::chrono::duration<double, std::milli>(cancel_ms)) ==
               std::future_status::timeout) {
        const auto cancelled = Clock::now();
        const double cpu = cpu_ms();
        weld_context_cancel(context);
        end.wait();
        result = {ms_since(cancelled), cpu_ms() - cpu, false};
    }
    runner.join();
    result.stopped = weld_error_code(error) == WELD_CANCELLED;
    if (!output && !result.stopped) std::printf("%s\n", weld_error_message(error));
    if (output) weld_value_free(output);
    weld_value_free(input);
    weld_error_free(error);
    weld_context_free(context);
    return result;
}

bool measure(const Case& c, weld_conf_t conf, double scale) {
    weld_error_t error = weld_error_new();
    weld_module_t module = weld_module_compile(c.program, nullptr, error);
    if (!module) {
        std::printf("%s: %s\n", c.name, weld_error_message(error));
        return false;
    }
    constexpr int moments = 15;
    const auto n = std::int64_t(c.endless ? c.n : c.n * scale);
    const double all = c.endless ? 500 : run(module, conf, n, -1).ms;
    double worst = 0, worst_cpu = 0, sum = 0;
    int runs = 0;
    for (int k = 1; k <= moments; ++k) {
        const Run r = run(module, conf, n, all * k / (moments + 1));
        if (!r.stopped) continue;
        ++runs;
        sum += r.ms;
        worst = std::max(worst, r.ms);
        worst_cpu = std::max(worst_cpu, r.cpu_ms);
    }
    std::printf("%-24s runs %2d of %6.0f ms  worst %7.1f ms  cpu %7.1f ms  mean %7.1f ms\n", c.name, runs,
                all, worst, worst_cpu, sum / std::max(1, runs));
    std::fflush(stdout);
    weld_module_free(module);
    weld_error_free(error);
    return runs > 0;
}

}  // namespace

int main(int argc, char** argv) {
    weld_conf_t conf = weld_conf_new();
    double scale = 1;
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--threads") && i + 1 < argc)
            weld_conf_set(conf, "weld.threads", argv[++i]);
        else if (!std::strcmp(argv[i], "--scale") && i + 1 < argc) scale = std::atof(argv[++i]);
        else names.emplace_back(argv[i]);
    }
    bool good = true;
    for (const Case& c : cases) {
        const bool wanted = names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
                                return std::string_view(c.name).starts_with(name);
                            });
        if (wanted) good &= measure(c, conf, scale);
    }
    weld_conf_free(conf);
    return good ? 0 : 1;
}
