// The workloads that are scripts of DaphneDSL. They begin with a matrix `X` of 4096 x 4096 as with a variable
// that an entry of a session before has left.
#include <cstring>

#include "bench/columns.h"
#include "bench/workloads.h"
#include "frontend/daphne/environment.h"

namespace weld::bench {

namespace {

constexpr std::int64_t kSize = 4096;

struct Matrix {
    WeldVec data;
    std::int64_t rows, columns;
};

std::shared_ptr<const Environment> with_matrix() {
    auto given = std::make_shared<daphne::ScriptEnvironment>();
    given->variables.push_back(
        {.name = "X", .type = daphne::Type::matrix(daphne::ValueType::F64), .rows = kSize, .columns = kSize});
    return given;
}

Inputs matrix() {
    Column<double> x(std::size_t(kSize * kSize), [](std::size_t i) { return u01(201, i) - 0.5; });
    const Matrix args{x.vec(), kSize, kSize};
    return inputs(args, std::move(x));
}

Inputs nothing() { return {}; }

template <class T>
T at(const void* result, std::size_t offset) {
    T value;
    std::memcpy(&value, static_cast<const char*>(result) + offset, sizeof value);
    return value;
}

/// The matrix that stands in the result behind another one.
template <class T>
double second_matrix(const void* result) {
    const auto m = at<Matrix>(result, sizeof(Matrix));
    const T* cells = static_cast<const T*>(m.data.data);
    double sum = 0;
    for (std::int64_t i = 0; i < m.data.len; ++i) sum += double(cells[i]) * double(i % 7 + 1);
    return sum;
}

}  // namespace

std::vector<Workload> scripts() {
    const auto second = second_matrix<double>;
    std::vector<Workload> all = {
        {"D1", "D1", 67105483.6019, 1e-9, matrix, second},
        // the sum is zero, but for rounding
        {"D2", "D2", 1, 1e-6, matrix, [](const void* r) { return 1 + at<double>(r, sizeof(Matrix)); }},
        {"D3.kmeans", "D3.kmeans", -36.3282390726, 1e-9, matrix, second},
        {"D5.while", "D5.while", 33521660.8523, 1e-9, matrix, second},
        {"D6.cells", "D6.cells", 33503495997800, 1e-9, matrix, second_matrix<std::int64_t>},
        {"D6.rows", "D6.rows", -2597.62066442, 1e-9, matrix, second}};
    for (Workload& w : all) w.given = with_matrix();
    const auto integer = [](std::size_t offset) {
        return [offset](const void* r) { return double(at<std::int64_t>(r, offset)); };
    };
    all.push_back({"D4.scalar", "D4.scalar", 107371155906319744, 0, nothing, integer(8)});
    all.push_back({"D4.branch", "D4.branch", 131434424, 0, nothing, integer(0)});
    all.push_back({"D7.small", "D7.small", 6, 1e-9, nothing, second});
    for (Workload& w : all) w.is_script = true;
    return all;
}

}  // namespace weld::bench
