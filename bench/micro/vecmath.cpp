// Nanoseconds per element of the vector routines on 4096 elements in cache, called through their addresses as
// emitted code does; beside them the C library's scalar functions. Arguments: the functions to measure, or
// nothing for all.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/vecmath/vecmath.h"

namespace {

constexpr std::size_t kElements = 4096;
constexpr double kExponent = 1.7;

struct Bench {
    std::string_view op;
    double lo, hi;
    double (*scalar)(double);
};
const Bench kBenches[] = {
    {"exp", -10, 10, std::exp},
    {"log", 1e-3, 100, std::log},
    {"pow", 1e-3, 100, [](double x) { return std::pow(x, kExponent); }},
    {"erf", -3, 3, std::erf},
    {"sin", -10, 10, std::sin},
    {"cos", -10, 10, std::cos},
    {"tan", -10, 10, std::tan},
    {"asin", -1, 1, std::asin},
    {"acos", -1, 1, std::acos},
    {"atan", -5, 5, std::atan},
    {"sinh", -3, 3, std::sinh},
    {"cosh", -3, 3, std::cosh},
    {"tanh", -3, 3, std::tanh},
};

/// The shortest of many runs, in nanoseconds per element.
template <class F>
double time_of(F run) {
    using Clock = std::chrono::steady_clock;
    double best = 1e300;
    for (int i = 0; i < 500; i++) {
        auto start = Clock::now();
        run();
        std::chrono::duration<double, std::nano> t = Clock::now() - start;
        best = std::min(best, t.count());
    }
    return best / kElements;
}

template <class T>
void measure(const Bench& b, const std::vector<double>& arguments) {
    const std::vector<T> x(arguments.begin(), arguments.end()), y(kElements, T(kExponent));
    std::vector<T> out(kElements);
    std::printf("%-5s %s ", b.op.data(), sizeof(T) == 8 ? "f64" : "f32");
    for (const char* isa : weld::vecmath_isas()) {
        double ns =
            time_of([&] { weld::vecmath_array(b.op, isa, x.data(), y.data(), out.data(), kElements); });
        std::printf("  %s %6.2f", isa, ns);
    }
    if constexpr (sizeof(T) == 8) {
        double ns = time_of([&] { std::transform(x.begin(), x.end(), out.begin(), b.scalar); });
        std::printf("  libm %6.2f", ns);
    }
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    std::printf("ns per element\n");
    for (const Bench& b : kBenches) {
        bool chosen = argc == 1 || std::find(argv + 1, argv + argc, b.op) != argv + argc;
        if (!chosen) continue;
        std::mt19937_64 random(1);
        std::uniform_real_distribution<double> uniform(b.lo, b.hi);
        std::vector<double> x(kElements);
        for (double& e : x) e = uniform(random);
        measure<double>(b, x);
        measure<float>(b, x);
    }
}
