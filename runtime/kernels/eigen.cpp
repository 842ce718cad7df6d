// Eigenvalues and vectors of symmetric matrices of floats.
//
// Three steps: reflectors make the matrix tridiagonal, A = Q * T * transpose(Q); T is solved by divide and
// conquer (tridiagonal.h); the vectors of T times Q are those of A. Instead of LAPACK's routines for all of
// it there are calls of BLAS on blocks whose sizes depend on the shape alone. So several threads work at it,
// results have the same bits for any number of them, and a run that is to stop does so soon.
//
// Matrices are by columns here, as BLAS has them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/kernels/dense.h"
#include "runtime/kernels/tridiagonal.h"
#include "runtime/memory.h"

namespace weld::runtime {

namespace {

/// Products that are symmetric but for the order of their sums may differ so much, relatively.
template <class T>
constexpr T kRounding = 1000 * std::numeric_limits<T>::epsilon();

/// Finite and equal to its transpose. Status.
template <class T>
std::int32_t check_symmetric(Task* task, const WeldCall* call, const Matrix& a) {
    const T* cells = elements_of<T>(a);
    const std::int64_t n = a.rows;
    return run_parts(task, n, true, call->loc, [&](Task* t, int, std::int64_t i) -> std::int32_t {
        for (std::int64_t j = 0; j <= i; ++j) {
            if (!std::isfinite(cells[i * n + j]))
                return fail_call(t, call, "eigenvalues need finite numbers, found {} at row {}, column {}",
                                 cells[i * n + j], i, j);
            const T here = cells[i * n + j], there = cells[j * n + i];
            const T size = std::max(std::abs(here), std::sqrt(std::abs(cells[i * n + i] * cells[j * n + j])));
            if (here != there && !(std::abs(here - there) <= kRounding<T> * size))
                return fail_call(
                    t, call,
                    "eigenvalues need a symmetric matrix, but row {}, column {} is {} and row {}, "
                    "column {} is {}",
                    i, j, here, j, i, there);
        }
        return t->check_stop(call->loc);
    });
}

/// Makes the symmetric `a`, of which the lower triangle is read and lost, tridiagonal. Column i of `a` then
/// has a vector v below the diagonal, which begins with 1, and the product of all 1 - tau[i] * v *
/// transpose(v) is Q.
template <class T>
class Reduction {
  public:
    static constexpr std::int64_t kPanel = 32;

    /// Numbers that are needed besides.
    static std::int64_t room(std::int64_t n) { return n * (4 * kPanel + 1 + blocks_of(n, kColumns)); }

    Reduction(const Blas<T>& blas, Task* task, std::int32_t loc, std::int64_t n, T* a, T* room)
        : blas_(blas),
          task_(task),
          loc_(loc),
          n_(n),
          a_(a),
          pairs_(room),
          swapped_(pairs_ + 2 * kPanel * n),
          product_(swapped_ + 2 * kPanel * n),
          sums_(product_ + n) {}

    /// The diagonal to `d`, what stands beside it to `e`.
    std::int32_t reduce(T* d, T* e, T* tau) {
        for (std::int64_t j = 0; j < n_ - 1; j += kPanel) {
            const std::int64_t k = std::min(kPanel, n_ - 1 - j);
            for (std::int64_t i = 0; i < k; ++i)
                if (reduce_column(j + i, i, d + j + i, e + j + i, tau + j + i)) return kFailed;
            if (update_rest(j + k, k)) return kFailed;
        }
        d[n_ - 1] = *at(n_ - 1, n_ - 1);
        return kOk;
    }

  private:
    static constexpr std::int64_t kColumns = 256, kRows = 64;  // of a block that is multiplied with a vector
    static constexpr std::int64_t kWhole = 640;                // rows that aren't worth parts
    static constexpr std::int64_t kTile = 256;

    T* at(std::int64_t row, std::int64_t column) const { return a_ + column * n_ + row; }

    /// Reflectors of the panel stand in pairs_, and with each v the w that makes of what is below and to the
    /// right of the panel A - v * transpose(w) - w * transpose(v): v, w, v, w, ... swapped_ has w, v, ...
    std::int32_t reduce_column(std::int64_t c, std::int64_t i, T* d, T* e, T* tau) {
        const int stride = int(n_), step = 1, pairs = int(2 * i);
        const T one = 1, minus_one = -1, none = 0;
        if (i > 0) {
            const int rows = int(n_ - c);
            blas_.gemv("N", &rows, &pairs, &minus_one, pairs_ + c, &stride, swapped_ + c, &stride, &one,
                       at(c, c), &step);
        }
        *d = *at(c, c);
        const std::int64_t first = c + 1;
        const int m = int(n_ - first);
        blas_.larfg(&m, at(first, c), at(std::min(first + 1, n_ - 1), c), &step, tau);
        *e = *at(first, c);
        *at(first, c) = 1;
        T *v = at(first, c), *w = product_ + first;
        if (multiply(first, v, w)) return kFailed;
        if (i > 0) {
            T inner[2 * kPanel];
            blas_.gemv("T", &m, &pairs, &one, pairs_ + first, &stride, v, &step, &none, inner, &step);
            blas_.gemv("N", &m, &pairs, &minus_one, swapped_ + first, &stride, inner, &step, &one, w, &step);
        }
        const T half = T(0.5) * *tau * *tau * blas_.dot(&m, w, &step, v, &step);
        for (std::int64_t r = 0; r < m; ++r) w[r] = *tau * w[r] - half * v[r];
        for (T* to : {pairs_ + 2 * i * n_, swapped_ + (2 * i + 1) * n_}) std::copy(v, v + m, to + first);
        for (T* to : {pairs_ + (2 * i + 1) * n_, swapped_ + 2 * i * n_}) std::copy(w, w + m, to + first);
        return kOk;
    }

    /// w = what is below and to the right of (first, first), times v.
    std::int32_t multiply(std::int64_t first, const T* v, T* w) {
        const std::int64_t m = n_ - first;
        const int stride = int(n_), step = 1;
        const T one = 1, none = 0;
        if (m <= kWhole) {
            const int rows = int(m);
            blas_.symv("L", &rows, &one, at(first, first), &stride, v, &step, &none, w, &step);
            return task_->check_stop(loc_);
        }
        const auto part = [&](Task* t, int, std::int64_t number) -> std::int32_t {
            const std::int64_t lo = number * kColumns, hi = std::min(m, lo + kColumns);
            const int columns = int(hi - lo);
            T* sums = sums_ + number * n_;
            blas_.symv("L", &columns, &one, at(first + lo, first + lo), &stride, v + lo, &step, &none,
                       sums + lo, &step);
            for (std::int64_t r = hi; r < m; r += kRows) {  // in the cache for both products
                if (t->check_stop(loc_)) return kFailed;
                const int rows = int(std::min(kRows, m - r));
                const T* block = at(first + r, first + lo);
                blas_.gemv("N", &rows, &columns, &one, block, &stride, v + lo, &step, &none, sums + r, &step);
                blas_.gemv("T", &rows, &columns, &one, block, &stride, v + r, &step, &one, sums + lo, &step);
            }
            return kOk;
        };
        const std::int64_t parts = blocks_of(m, kColumns);
        if (run_parts(task_, parts, true, loc_, part)) return kFailed;
        std::copy(sums_, sums_ + m, w);
        for (std::int64_t p = 1; p < parts; ++p)
            for (std::int64_t r = p * kColumns; r < m; ++r) w[r] += sums_[p * n_ + r];
        return kOk;
    }

    /// Brings what is below and to the right of (first, first) up to date after a panel of k columns.
    std::int32_t update_rest(std::int64_t first, std::int64_t k) {
        const std::int64_t m = n_ - first, side = blocks_of(m, kTile), tiles = side * (side + 1) / 2;
        return run_parts(task_, tiles, true, loc_, [&](Task*, int, std::int64_t tile) -> std::int32_t {
            std::int64_t i = 0;
            for (; tile > i; ++i) tile -= i + 1;
            const std::int64_t top = first + i * kTile, left = first + tile * kTile;
            const int rows = int(std::min(kTile, n_ - top)), columns = int(std::min(kTile, n_ - left)),
                      stride = int(n_), twice = 2 * stride, count = int(k), pairs = int(2 * k);
            const T one = 1, minus_one = -1;
            if (top == left && n_ <= INT_MAX / 2)
                blas_.syr2k("L", "N", &rows, &count, &minus_one, pairs_ + top, &twice, swapped_ + top, &twice,
                            &one, at(top, top), &stride);
            else
                blas_.gemm("N", "T", &rows, &columns, &pairs, &minus_one, pairs_ + top, &stride,
                           swapped_ + left, &stride, &one, at(top, left), &stride);
            return kOk;
        });
    }

    const Blas<T>& blas_;
    Task* task_;
    const std::int32_t loc_;
    const std::int64_t n_;
    T* const a_;
    T *const pairs_, *const swapped_, *const product_, *const sums_;
};

/// Q, as a reduction left it in `a`, times columns.
template <class T>
class Reflectors {
  public:
    /// Numbers that are needed besides: `t` for one matrix.
    static std::int64_t room(std::int64_t n) { return n * kBlock; }

    Reflectors(const Blas<T>& blas, Task* task, std::int32_t loc, std::int64_t n, T* a, const T* tau, T* t)
        : blas_(blas), task_(task), loc_(loc), n_(n), a_(a), tau_(tau), t_(t) {}

    /// For each block of reflectors the triangle t for which it is 1 - v * t * transpose(v).
    std::int32_t prepare() {
        return run_parts(task_, blocks(), true, loc_, [&](Task* task, int, std::int64_t b) -> std::int32_t {
            const std::int64_t j = b * kBlock, k = width(j);
            for (std::int64_t c = 1; c < k; ++c) std::fill(v(j) + c * n_, v(j) + c * n_ + c, T(0));
            T products[kBlock * kBlock];
            if (times_transposed(task, j, v(j), int(k), products)) return kFailed;
            T* t = t_ + j * kBlock;
            std::fill(t, t + k * kBlock, T(0));
            for (std::int64_t c = 0; c < k; ++c) {
                T* to = t + c * kBlock;
                for (std::int64_t i = 0; i < c; ++i)
                    for (std::int64_t r = 0; r <= i; ++r)
                        to[r] -= tau_[j + c] * t[i * kBlock + r] * products[c * kBlock + i];
                to[c] = tau_[j + c];
            }
            return kOk;
        });
    }

    /// Columns order[0], order[1], ... of `from`, times Q, to `to`.
    std::int32_t apply(const std::vector<int>& order, const T* from, T* to) {
        const std::int64_t parts = blocks_of(n_, kColumns);
        return run_parts(task_, parts, true, loc_, [&](Task* task, int, std::int64_t part) -> std::int32_t {
            const std::int64_t lo = n_ * part / parts, hi = n_ * (part + 1) / parts;
            for (std::int64_t c = lo; c < hi; ++c) {
                if (task->check_stop(loc_)) return kFailed;
                const T* column = from + order[std::size_t(c)] * n_;
                std::copy(column, column + n_, to + c * n_);
            }
            for (std::int64_t b = blocks() - 1; b >= 0; --b)
                if (apply_block(task, b * kBlock, to + lo * n_, int(hi - lo))) return kFailed;
            return kOk;
        });
    }

  private:
    static constexpr std::int64_t kBlock = 64, kColumns = 192;
    static constexpr std::int64_t kRows = 4096;  // that one product has: 100 million operations

    std::int64_t blocks() const { return blocks_of(n_ - 1, kBlock); }
    std::int64_t width(std::int64_t j) const { return std::min(kBlock, n_ - 1 - j); }
    T* v(std::int64_t j) const { return a_ + j * n_ + j + 1; }  // rows from j + 1 on

    /// to = transpose(v) * c, of `columns` columns, the first row of which is row j + 1.
    std::int32_t times_transposed(Task* task, std::int64_t j, const T* c, int columns, T* to) const {
        const int k = int(width(j)), stride = int(n_), stride_to = int(kBlock);
        const T one = 1;
        for (std::int64_t r = 0; r < n_ - 1 - j; r += kRows) {
            if (task->check_stop(loc_)) return kFailed;
            const int rows = int(std::min(kRows, n_ - 1 - j - r));
            const T beta = r > 0 ? 1 : 0;
            blas_.gemm("T", "N", &k, &columns, &rows, &one, v(j) + r, &stride, c + r, &stride, &beta, to,
                       &stride_to);
        }
        return kOk;
    }

    std::int32_t apply_block(Task* task, std::int64_t j, T* c, int columns) const {
        const int k = int(width(j)), stride = int(n_), block = int(kBlock);
        const T one = 1, minus_one = -1, none = 0;
        T products[kBlock * kColumns], factors[kBlock * kColumns];
        if (times_transposed(task, j, c + j + 1, columns, products)) return kFailed;
        blas_.gemm("N", "N", &k, &columns, &k, &one, t_ + j * kBlock, &block, products, &block, &none,
                   factors, &block);
        for (std::int64_t r = 0; r < n_ - 1 - j; r += kRows) {
            if (task->check_stop(loc_)) return kFailed;
            const int rows = int(std::min(kRows, n_ - 1 - j - r));
            blas_.gemm("N", "N", &rows, &columns, &k, &minus_one, v(j) + r, &stride, factors, &block, &one,
                       c + j + 1 + r, &stride);
        }
        return kOk;
    }

    const Blas<T>& blas_;
    Task* task_;
    const std::int32_t loc_;
    const std::int64_t n_;
    T* const a_;
    const T* const tau_;
    T* const t_;
};

/// Turns vectors round so that what comes first of their large components is positive: which sign they have
/// depends on the machine.
template <class T>
std::int32_t choose_signs(Task* task, std::int32_t loc, T* vectors, std::int64_t n) {
    return run_parts(task, n, true, loc, [&](Task* t, int, std::int64_t row) {
        T* const v = vectors + row * n;
        T largest = 0;
        for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(v[i]));
        const T* first = std::find_if(v, v + n, [&](T x) { return std::abs(x) > largest / 2; });
        if (first < v + n && *first < 0) std::transform(v, v + n, v, std::negate<T>());
        return t->check_stop(loc);
    });
}

/// Multiplies the matrix so that squares of its numbers are neither too small nor too large for floats; the
/// factor to `scale`. Status.
template <class T>
std::int32_t scale_matrix(Task* task, std::int32_t loc, std::int64_t n, T* a, T* scale) {
    std::vector<T> largest(std::size_t(n), 0);
    const auto find = [&](Task* t, int, std::int64_t column) {
        const T* cells = a + column * n;
        for (std::int64_t i = column; i < n; ++i)
            largest[std::size_t(column)] = std::max(largest[std::size_t(column)], std::abs(cells[i]));
        return t->check_stop(loc);
    };
    if (run_parts(task, n, true, loc, find)) return kFailed;
    const T norm = *std::max_element(largest.begin(), largest.end());
    const T least = std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
    *scale = norm > 0 && norm < least ? least / norm : norm > 1 / least ? 1 / least / norm : 1;
    if (*scale == 1) return kOk;
    return for_pieces(task, n * n, 1 << 20, loc, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) a[i] *= *scale;
    });
}

struct Eigen {
    WeldVec values, vectors;
};

template <class T>
std::int32_t eigen(const Blas<T>& blas, Task* task, const WeldCall* call, Eigen* to) {
    const auto& matrix = argument<Matrix>(call, 0);
    const std::int32_t loc = call->loc;
    if (check_shape(task, call, matrix)) return kFailed;
    if (matrix.rows != matrix.columns)
        return fail_call(task, call, "eigenvalues need as many rows as columns, found {} x {}", matrix.rows,
                         matrix.columns);
    if (check_symmetric<T>(task, call, matrix)) return kFailed;
    const std::int64_t n = matrix.rows, size = n * n;
    const std::int64_t rest = 2 * n + std::max(Reduction<T>::room(n), n + Reflectors<T>::room(n));
    T* values = allocate_array<T>(task, n, loc);
    T* vectors = values ? allocate_array<T>(task, size, loc) : nullptr;
    T* a = vectors ? allocate_array<T>(task, size, loc) : nullptr;
    T* of_tridiagonal = a ? allocate_array<T>(task, size, loc) : nullptr;
    T* room = of_tridiagonal ? allocate_array<T>(task, size, loc) : nullptr;
    T* numbers = room ? allocate_array<T>(task, rest, loc) : nullptr;
    if (!numbers) return kFailed;
    *to = {{values, n}, {vectors, size}};
    if (n == 0) return kOk;
    if (copy_bytes(task, a, matrix.cells.data, size * std::int64_t(sizeof(T)), loc)) return kFailed;
    T scale, *tau = numbers, *beside = tau + n, *others = beside + n, *diagonal = others;
    if (scale_matrix(task, loc, n, a, &scale) ||
        Reduction<T>(blas, task, loc, n, a, others).reduce(values, beside, tau) ||
        zero(task, loc, of_tridiagonal, size) ||
        tridiagonal_eigen(blas, task, call, n, values, beside, of_tridiagonal, room, vectors))
        return kFailed;
    std::vector<int> order(std::size_t(n), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return values[i] < values[j]; });
    std::copy(values, values + n, diagonal);
    for (std::int64_t i = 0; i < n; ++i) values[i] = diagonal[order[std::size_t(i)]] / scale;
    Reflectors<T> reflectors(blas, task, loc, n, a, tau, others + n);
    if (reflectors.prepare() || reflectors.apply(order, of_tridiagonal, room) ||
        choose_signs(task, loc, room, n) || turn(task, loc, room, n, n, vectors))
        return kFailed;
    for (T* block : {a, of_tridiagonal, room, numbers}) release(task, block);
    return kOk;
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_eigen) {
    return with_blas(task, call,
                     [&](const auto& blas) { return eigen(blas, task, call, static_cast<Eigen*>(result)); });
}
