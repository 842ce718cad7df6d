// Eigenvalues: what they are by definition, and as LAPACK finds them in one call.
#include <dlfcn.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "frontend/api/compile.h"

using namespace weld;

namespace {

struct Matrix {
    WeldVec cells;
    std::int64_t rows, columns;
};
struct Eigen {
    WeldVec values, vectors;
};

template <class T>
const auto& program() {
    static const auto compiled = [] {
        CompileReport report;
        const std::string t = sizeof(T) == 4 ? "f32" : "f64";
        return compile("|m: {vec[" + t + "],i64,i64}| cudf[weld_eigen,{vec[" + t + "],vec[" + t + "]}](m)",
                       {}, &report);
    }();
    return compiled;
}

template <class T>
RunOutcome eigen(std::vector<T>& cells, std::int64_t rows, std::int64_t columns, int threads = 2,
                 std::atomic<std::int32_t>* stop = nullptr) {
    static const tbb::global_control real_threads(tbb::global_control::max_allowed_parallelism, 16);
    REQUIRE(program<T>());
    const Matrix args{{cells.data(), std::int64_t(cells.size())}, rows, columns};
    return program<T>()->run(&args, {.threads = threads, .stop = stop});
}

template <class T>
struct Found {
    std::vector<T> values, vectors;
};

template <class T>
Found<T> found(std::vector<T> a, std::int64_t n, int threads) {
    const RunOutcome outcome = eigen(a, n, n, threads);
    REQUIRE(outcome.ok());
    const auto* e = static_cast<const Eigen*>(outcome.value());
    REQUIRE(e->values.len == n);
    REQUIRE(e->vectors.len == n * n);
    const auto *w = static_cast<const T*>(e->values.data), *v = static_cast<const T*>(e->vectors.data);
    return {{w, w + n}, {v, v + n * n}};
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || !std::memcmp(a.data(), b.data(), a.size() * sizeof(T)));
}

/// What one call of LAPACK finds.
std::vector<double> by_lapack(std::vector<double> a, int n) {
    using Syevd = void(const char*, const char*, const int*, double*, const int*, double*, double*,
                       const int*, int*, const int*, int*);
    void* library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    auto* syevd = reinterpret_cast<Syevd*>(::dlsym(library, "dsyevd_"));
    const bool is_there = syevd;
    REQUIRE(is_there);
    const int size = 2 * n + 1, int_size = 1;
    std::vector<double> values(std::size_t(n), 0), work(std::size_t(size), 0);
    int int_work = 0, info = 0;
    if (n > 0)
        syevd("N", "L", &n, a.data(), &n, values.data(), work.data(), &size, &int_work, &int_size, &info);
    REQUIRE(info == 0);
    return values;
}

/// a[i][j] for i >= j; the rest is its mirror image.
using Cell = std::function<double(std::int64_t, std::int64_t)>;

template <class T>
std::vector<T> symmetric(std::int64_t n, const Cell& cell) {
    std::vector<T> a(std::size_t(n * n));
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j)
            a[std::size_t(i * n + j)] = a[std::size_t(j * n + i)] = T(cell(i, j));
    return a;
}

/// All in units of the largest number: what can be expected is relative to that.
template <class T>
void check(const std::vector<T>& a, std::int64_t n) {
    const Found<T> e = found(a, n, 2);
    double norm = 0;
    for (const T x : a) norm = std::max(norm, std::abs(double(x)));
    if (norm == 0) norm = 1;
    std::vector<double> unit(a.size()), w(e.values.size()), across(a.size());  // across: a vector a row
    for (std::size_t i = 0; i < a.size(); ++i) unit[i] = double(a[i]) / norm;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = double(e.values[i]) / norm;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            across[std::size_t(j * n + i)] = double(e.vectors[std::size_t(i * n + j)]);
    const double slack = 20 * double(n + 1) * double(std::numeric_limits<T>::epsilon());
    double worst = 0, worst_angle = 0, worst_value = 0;
    const auto dot = [n](const double* x, const double* y) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += x[k] * y[k];
        return sum;
    };
    for (std::int64_t j = 0; j < n; ++j) {
        const double* v = &across[std::size_t(j * n)];
        for (std::int64_t i = 0; i < n; ++i) {
            worst = std::max(worst, std::abs(dot(&unit[std::size_t(i * n)], v) - w[std::size_t(j)] * v[i]));
            worst_angle = std::max(worst_angle, std::abs(dot(&across[std::size_t(i * n)], v) - (i == j)));
        }
    }
    const std::vector<double> expected = by_lapack(unit, int(n));
    for (std::size_t i = 0; i < w.size(); ++i)
        worst_value = std::max(worst_value, std::abs(w[i] - expected[i]));
    CHECK(std::is_sorted(e.values.begin(), e.values.end()));
    CHECK(worst <= slack);
    CHECK(worst_angle <= slack);
    CHECK(worst_value <= slack);
    for (std::int64_t j = 0; j < n; ++j) {  // the first large component is positive
        const double* v = &across[std::size_t(j * n)];
        double largest = 0;
        for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(v[i]));
        CHECK(*std::find_if(v, v + n, [&](double x) { return std::abs(x) > largest / 2; }) > 0);
    }
}

double random_at(std::int64_t i, std::int64_t j) {
    const std::uint64_t mixed = (std::uint64_t(i) * 1'000'003 + std::uint64_t(j) + 1) * 0x9e3779b97f4a7c15;
    return double(mixed >> 40) / double(1 << 23) - 1;
}

/// Matrices of n rows that are hard for one reason or another.
std::vector<std::pair<const char*, Cell>> kinds(std::int64_t n) {
    const auto diagonal = [](auto f) {
        return [f](std::int64_t i, std::int64_t j) { return i == j ? f(i) : 0; };
    };
    const auto tridiagonal = [](auto f, double beside) {
        return [f, beside](std::int64_t i, std::int64_t j) {
            return i == j ? double(f(i)) : i == j + 1 ? beside : 0;
        };
    };
    return {
        {"random", random_at},
        {"zeros", diagonal([](std::int64_t) { return 0.0; })},
        {"identity", diagonal([](std::int64_t) { return 1.0; })},
        {"diagonal", diagonal([](std::int64_t i) { return double(i * 7 % 11) - 5; })},
        {"ones", [](std::int64_t, std::int64_t) { return 1.0; }},
        {"rank one", [](std::int64_t i, std::int64_t j) { return double((i % 5 - 2) * (j % 5 - 2)); }},
        {"two values", [n](std::int64_t i, std::int64_t j) { return double(i == j) - 2.0 / double(n); }},
        {"clustered", [](std::int64_t i, std::int64_t j) { return (i == j) + 1e-10 * random_at(i, j); }},
        {"Laplace", tridiagonal([](std::int64_t) { return 2.0; }, -1.0)},
        {"Wilkinson", tridiagonal([n](std::int64_t i) { return std::abs(double(2 * i - n + 1)) / 2; }, 1.0)},
        {"glued Wilkinson",
         [](std::int64_t i, std::int64_t j) {
             return i == j ? std::abs(double(i % 21 - 10)) : i == j + 1 ? (i % 21 ? 1.0 : 1e-8) : 0;
         }},
        {"arrow", [n](std::int64_t i, std::int64_t j) { return i == j       ? double(i)
                                                               : i == n - 1 ? 1.0
                                                                            : 0; }},
    };
}

/// From `low` to `high` along the diagonal, powers of ten.
Cell graded(std::int64_t n, double low, double high) {
    return [=](std::int64_t i, std::int64_t j) {
        return std::pow(10, low + (high - low) * double(i + j) / double(2 * n)) *
               (i == j ? 2 : random_at(i, j));
    };
}

}  // namespace

TEST_CASE("eigenvalues and vectors are what the words mean, of any small matrix") {
    for (std::int64_t n = 0; n <= 70; ++n) {
        CAPTURE(n);
        check(symmetric<double>(n, random_at), n);
        check(symmetric<float>(n, random_at), n);
    }
    for (const std::int64_t n : {1, 2, 3, 31, 33, 64, 65, 70})
        for (const auto& [name, cell] : kinds(n)) {
            CAPTURE(n);
            CAPTURE(name);
            check(symmetric<double>(n, cell), n);
            check(symmetric<float>(n, cell), n);
        }
}

TEST_CASE("eigenvalues and vectors of larger matrices, in parts") {
    for (const std::int64_t n : {100, 257})
        for (const auto& [name, cell] : kinds(n)) {
            CAPTURE(n);
            CAPTURE(name);
            check(symmetric<double>(n, cell), n);
            check(symmetric<float>(n, cell), n);
        }
    for (const auto& [name, cell] : kinds(500))
        if (name == std::string("random") || name == std::string("glued Wilkinson")) {
            CAPTURE(name);
            check(symmetric<double>(500, cell), 500);
        }
    check(symmetric<double>(750, random_at), 750);  // products with vectors are cut, too
}

TEST_CASE("eigenvalues of very small, very large and graded numbers") {
    for (const std::int64_t n : {5, 40, 100}) {
        CAPTURE(n);
        for (const double size : {1e-300, 1e-200, 1e-150, 1e150, 1e200, 1e300})
            check(symmetric<double>(n, [&](auto i, auto j) { return size * random_at(i, j); }), n);
        for (const double size : {1e-35, 1e-20, 1e20, 1e35})
            check(symmetric<float>(n, [&](auto i, auto j) { return size * random_at(i, j); }), n);
        check(symmetric<double>(n, graded(n, -200, 200)), n);
        check(symmetric<double>(n, graded(n, 200, -200)), n);
        check(symmetric<double>(n, graded(n, -10, 10)), n);
        check(symmetric<float>(n, graded(n, -30, 30)), n);
    }
}

TEST_CASE("eigenvalues and vectors have the same bits on any number of threads") {
    const auto check_bits = [](const auto& a, std::int64_t n) {
        const auto one = found(a, n, 1);
        for (const int threads : {2, 4}) {
            const auto several = found(a, n, threads);
            CHECK(same_bits(one.values, several.values));
            CHECK(same_bits(one.vectors, several.vectors));
        }
    };
    for (const std::int64_t n : {33, 300, 700}) {
        check_bits(symmetric<double>(n, random_at), n);
        check_bits(symmetric<float>(n, random_at), n);
    }
    check_bits(symmetric<double>(400, graded(400, -5, 5)), 400);
}

TEST_CASE("the search for eigenvalues stops wherever it is") {
    // Moments spread over the whole work, in time of processors, since others may have them. How long it goes
    // on is measured by the whole, since the machine may be slow; bench/latency.cpp measures it in ms.
    constexpr std::int64_t n = 800;
    std::vector<double> a = symmetric<double>(n, random_at);
    std::clock_t whole = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 2; ++i) {
        const std::clock_t begin = std::clock();
        REQUIRE(eigen(a, n, n, 1).ok());
        whole = std::min(whole, std::clock() - begin);
    }
    for (const int threads : {1, 4}) {
        std::vector<std::clock_t> late;
        int stopped = 0;
        for (int moment = 0; moment < 12; ++moment) {
            std::atomic<std::int32_t> stop = 0;
            std::clock_t cancelled = 0;
            const std::clock_t begin = std::clock();
            std::thread canceller([&] {
                while (std::clock() - begin < whole * moment / 16)
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
                cancelled = std::clock();
                stop = runtime::kCancelled;
            });
            const RunOutcome outcome = eigen(a, n, n, threads, &stop);
            const std::clock_t end = std::clock();
            canceller.join();
            if (outcome.ok()) continue;  // it was too late
            CHECK(outcome.failure().code == kWeldCancelled);
            ++stopped;
            late.push_back(end - cancelled);
        }
        CHECK(stopped >= 4);
        std::sort(late.begin(), late.end());
        CHECK(late[late.size() / 2] < whole / 4);
    }
}

TEST_CASE("matrices without real eigenvalues are told from others") {
    const auto failure = [](std::vector<double> cells, std::int64_t rows, std::int64_t columns) {
        const RunOutcome outcome = eigen(cells, rows, columns);
        CHECK(!outcome.ok());
        return outcome.ok() ? "" : outcome.failure().message;
    };
    CHECK(failure({1, 2}, 1, 2) == "eigenvalues need as many rows as columns, found 1 x 2");
    CHECK(failure({1, 2, 3, 4}, 2, 2) ==
          "eigenvalues need a symmetric matrix, but row 1, column 0 is 3 and row 0, column 1 is 2");
    CHECK(failure({1, 2, 2, NAN}, 2, 2) == "eigenvalues need finite numbers, found nan at row 1, column 1");
    CHECK(failure({1}, 2, 2) == "a matrix of 2 rows and 2 columns cannot have 1 elements");
}
