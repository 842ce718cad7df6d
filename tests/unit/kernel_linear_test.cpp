// Eigenvalues: what they are by definition, on programs as users write them.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
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
RunOutcome eigen(std::vector<T>& cells, std::int64_t rows, std::int64_t columns) {
    CompileReport report;
    const std::string t = sizeof(T) == 4 ? "f32" : "f64";
    const auto program = compile(
        "|m: {vec[" + t + "],i64,i64}| cudf[weld_eigen,{vec[" + t + "],vec[" + t + "]}](m)", {}, &report);
    REQUIRE(program);
    const Matrix args{{cells.data(), std::int64_t(cells.size())}, rows, columns};
    return program->run(&args, {.threads = 2});
}

template <class T>
void check_definition(std::int64_t n, double slack) {
    std::mt19937 random(5);
    std::vector<T> a(std::size_t(n * n));
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j <= i; ++j)
            a[std::size_t(i * n + j)] = a[std::size_t(j * n + i)] = T(random() % 1000) / 100 - 5;
    const RunOutcome outcome = eigen(a, n, n);
    REQUIRE(outcome.ok());
    const auto* found = static_cast<const Eigen*>(outcome.value());
    REQUIRE(found->values.len == n);
    REQUIRE(found->vectors.len == n * n);
    const auto *w = static_cast<const T*>(found->values.data),
               *v = static_cast<const T*>(found->vectors.data);
    CHECK(std::is_sorted(w, w + n));
    double worst = 0, worst_length = 0;
    for (std::int64_t j = 0; j < n; ++j) {
        double length = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            double sum = 0;
            for (std::int64_t k = 0; k < n; ++k) sum += double(a[std::size_t(i * n + k)]) * v[k * n + j];
            worst = std::max(worst, std::abs(sum - double(w[j]) * v[i * n + j]));
            length += double(v[i * n + j]) * v[i * n + j];
        }
        worst_length = std::max(worst_length, std::abs(length - 1));
    }
    CHECK(worst < slack);
    CHECK(worst_length < slack);
}

}  // namespace

TEST_CASE("eigenvalues and vectors are what the words mean") {
    for (const std::int64_t n : {1, 2, 3, 40, 150}) {
        check_definition<double>(n, 1e-9);
        check_definition<float>(n, 2e-2);
    }
    std::vector<double> none;
    CHECK(eigen(none, 0, 0).ok());
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
