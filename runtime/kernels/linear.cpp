// Linear algebra on dense matrices, which are {elements by rows, number of rows, number of columns}.
//
// The work is cut into tiles whose sizes depend on the shapes alone; each is one call of OpenBLAS on one
// thread, of some ms. So results have the same bits for any number of threads, and a run that is to stop does
// so soon.
//
// BLAS has matrices by columns. A matrix by rows is its transpose by columns, so a product c = a * b is asked
// for as transpose(c) = transpose(b) * transpose(a).
#include <algorithm>
#include <vector>

#include "runtime/kernels/dense.h"
#include "runtime/memory.h"

namespace weld::runtime {

namespace {

template <class T>
T* new_matrix(Task* task, const WeldCall* call, std::int64_t rows, std::int64_t columns, Matrix* to) {
    std::int64_t size;
    if (__builtin_mul_overflow(rows, columns, &size)) {
        task->fail_memory(call->loc, Shortage::Limit);
        return nullptr;
    }
    T* elements = allocate_array<T>(task, size, call->loc);
    *to = {{elements, size}, rows, columns};
    return elements;
}

// ---- products

/// A matrix by rows, or what its transpose is.
template <class T>
struct Operand {
    const T* data;
    std::int64_t stride;  ///< from one row of what is stored to the next
    bool transposed;

    const T* at(std::int64_t row, std::int64_t column) const {
        return data + (transposed ? column * stride + row : row * stride + column);
    }
    const char* op() const { return transposed ? "T" : "N"; }
};

/// c = a * b, of n columns each row; c has m rows. `is_symmetric`: only tiles on and below the diagonal are
/// computed, and then mirrored.
template <class T>
class Product {
  public:
    Product(const Blas<T>& blas, Operand<T> a, Operand<T> b, T* c, std::int64_t m, std::int64_t n,
            std::int64_t k, bool is_symmetric)
        : blas_(blas), a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), is_symmetric_(is_symmetric) {}

    std::int32_t compute(Task* task, std::int32_t loc) {
        if (m_ == 0 || n_ == 0) return kOk;
        if (k_ == 0) return zero(task, loc, c_, m_ * n_);
        list_tiles();
        // Few tiles of long sums: these are cut, too, and the pieces added up in order.
        const auto tiles = std::int64_t(tiles_.size());
        const std::int64_t slices =
            std::clamp<std::int64_t>(std::min(kMostParts / tiles, k_ / kSlice), 1, kMostParts);
        std::vector<T*> sums(std::size_t(tiles * (slices - 1)));
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] = allocate_array<T>(task, kTile * kTile, loc);
            if (!sums[i]) return kFailed;
        }
        const auto part = [&](Task* t, int, std::int64_t number) -> std::int32_t {
            const Tile& tile = tiles_[std::size_t(number / slices)];
            const std::int64_t slice = number % slices;
            T* to = slice ? sums[std::size_t(number / slices * (slices - 1) + slice - 1)] : at(tile);
            const std::int64_t stride = slice ? tile.columns : n_;
            return sum(t, loc, tile, to, stride, k_ * slice / slices, k_ * (slice + 1) / slices);
        };
        if (run_parts(task, tiles * slices, true, loc, part)) return kFailed;
        const auto add = [&](Task*, int, std::int64_t b) -> std::int32_t {
            for (std::int64_t s = 0; s < slices - 1; ++s)
                add_to(tiles_[std::size_t(b)], sums[std::size_t(b * (slices - 1) + s)]);
            if (is_symmetric_) mirror(tiles_[std::size_t(b)]);
            return kOk;
        };
        if ((slices > 1 || is_symmetric_) && run_parts(task, tiles, true, loc, add)) return kFailed;
        for (T* s : sums) release(task, s);
        return kOk;
    }

  private:
    struct Tile {
        std::int64_t row, column, rows, columns;
    };
    static constexpr std::int64_t kTile = 384;     // rows and columns of a tile of the result
    static constexpr std::int64_t kDepth = 2048;   // terms that one call adds up: 2 * 384 * 384 * 2048 flops
    static constexpr std::int64_t kSlice = 16384;  // terms that are worth a part of their own
    static constexpr std::int64_t kMostParts = 64;

    void list_tiles() {
        for (std::int64_t i = 0; i < m_; i += kTile)
            for (std::int64_t j = 0; j < (is_symmetric_ ? i + 1 : n_); j += kTile)
                tiles_.push_back({i, j, std::min(kTile, m_ - i), std::min(kTile, n_ - j)});
    }

    T* at(const Tile& b) const { return c_ + b.row * n_ + b.column; }

    /// The tile of c, of the terms from `begin` to `end`.
    std::int32_t sum(Task* task, std::int32_t loc, const Tile& b, T* to, std::int64_t stride,
                     std::int64_t begin, std::int64_t end) const {
        const int rows = int(b.rows), columns = int(b.columns), lda = int(a_.stride), ldb = int(b_.stride),
                  ldc = int(stride);
        const T one = 1;
        for (std::int64_t k = begin; k < end; k += kDepth) {
            if (task->check_stop(loc)) return kFailed;
            const int depth = int(std::min(kDepth, end - k));
            const T beta = k > begin ? 1 : 0;
            blas_.gemm(b_.op(), a_.op(), &columns, &rows, &depth, &one, b_.at(k, b.column), &ldb,
                       a_.at(b.row, k), &lda, &beta, to, &ldc);
        }
        return kOk;
    }

    void add_to(const Tile& b, const T* sums) const {
        for (std::int64_t i = 0; i < b.rows; ++i)
            for (std::int64_t j = 0; j < b.columns; ++j) at(b)[i * n_ + j] += sums[i * b.columns + j];
    }

    void mirror(const Tile& b) const {
        for (std::int64_t i = b.row; i < b.row + b.rows; ++i)
            for (std::int64_t j = b.column; j < std::min(i, b.column + b.columns); ++j)
                c_[j * n_ + i] = c_[i * n_ + j];
    }

    const Blas<T>& blas_;
    const Operand<T> a_, b_;
    T* const c_;
    const std::int64_t m_, n_, k_;
    const bool is_symmetric_;
    std::vector<Tile> tiles_;
};

/// BLAS wants a stride of at least 1.
std::int64_t stride_of(const Matrix& m) { return std::max<std::int64_t>(1, m.columns); }

template <class T>
std::int32_t matmul(const Blas<T>& blas, Task* task, const WeldCall* call, Matrix* to) {
    const auto &a = argument<Matrix>(call, 0), &b = argument<Matrix>(call, 1);
    if (check_shape(task, call, a) || check_shape(task, call, b)) return kFailed;
    if (a.columns != b.rows)
        return fail_call(task, call, "a product of {} x {} and {} x {} is not defined", a.rows, a.columns,
                         b.rows, b.columns);
    T* c = new_matrix<T>(task, call, a.rows, b.columns, to);
    if (!c) return kFailed;
    const Operand<T> left = {elements_of<T>(a), stride_of(a), false},
                     right = {elements_of<T>(b), stride_of(b), false};
    return Product<T>(blas, left, right, c, a.rows, b.columns, a.columns, false).compute(task, call->loc);
}

template <class T>
std::int32_t syrk(const Blas<T>& blas, Task* task, const WeldCall* call, Matrix* to) {
    const auto& a = argument<Matrix>(call, 0);
    if (check_shape(task, call, a)) return kFailed;
    T* c = new_matrix<T>(task, call, a.columns, a.columns, to);
    if (!c) return kFailed;
    const Operand<T> left = {elements_of<T>(a), stride_of(a), true},
                     right = {elements_of<T>(a), stride_of(a), false};
    return Product<T>(blas, left, right, c, a.columns, a.columns, a.rows, true).compute(task, call->loc);
}

template <class T>
std::int32_t gemv(const Blas<T>& blas, Task* task, const WeldCall* call, WeldVec* to) {
    const auto& a = argument<Matrix>(call, 0);
    const auto& x = argument<WeldVec>(call, 1);
    if (check_shape(task, call, a)) return kFailed;
    if (a.columns != x.len)
        return fail_call(task, call, "a product of {} x {} and a vector of {} is not defined", a.rows,
                         a.columns, x.len);
    T* y = allocate_array<T>(task, a.rows, call->loc);
    if (!y) return kFailed;
    *to = {y, a.rows};
    if (zero(task, call->loc, y, a.rows)) return kFailed;
    if (a.columns == 0) return kOk;
    constexpr std::int64_t each = 1 << 19;  // elements of the matrix
    const std::int64_t width = std::min(a.columns, each), rows = std::max<std::int64_t>(1, each / width);
    return run_parts(task, blocks_of(a.rows, rows), true, call->loc,
                     [&](Task* t, int, std::int64_t part) -> std::int32_t {
                         const std::int64_t row = part * rows;
                         const int m = int(std::min(rows, a.rows - row)), lda = int(a.columns), step = 1;
                         const T one = 1;
                         for (std::int64_t j = 0; j < a.columns; j += width) {
                             if (t->check_stop(call->loc)) return kFailed;
                             const int n = int(std::min(width, a.columns - j));
                             blas.gemv("T", &n, &m, &one, elements_of<T>(a) + row * a.columns + j, &lda,
                                       static_cast<const T*>(x.data) + j, &step, &one, y + row, &step);
                         }
                         return kOk;
                     });
}

// ---- equations

/// a * x = b by LU factors with pivots: panels of some columns are factored one after the other, and all
/// columns to the right of a panel are brought up to date in parallel. Matrices are by columns here.
template <class T>
class Equations {
  public:
    Equations(const Blas<T>& blas, Task* task, const WeldCall* call, T* a, std::int64_t n)
        : blas_(blas), task_(task), call_(call), a_(a), n_(n), pivots_(std::size_t(n)) {}

    std::int32_t factor() {
        for (std::int64_t j = 0; j < n_; j += kPanel) {
            if (task_->check_stop(call_->loc)) return kFailed;
            const int rows = int(n_ - j), columns = width(j), lda = stride();
            int info = 0;
            blas_.getrf(&rows, &columns, at(j, j), &lda, &pivots_[std::size_t(j)], &info);
            if (info > 0)
                return fail_call(task_, call_, "the matrix is singular: row {} depends on others",
                                 j + info - 1);
            const std::int64_t right = j + columns;
            if (in_columns(n_ - right, [&](std::int64_t from, std::int64_t count) {
                    update(j, at(j, right + from), int(count));
                }))
                return kFailed;
        }
        return kOk;
    }

    /// Replaces the columns of b by those of x.
    std::int32_t solve(T* b, std::int64_t columns) {
        for (std::int64_t j = 0; j < n_; j += kPanel)
            if (in_columns(columns, [&](std::int64_t from, std::int64_t count) {
                    update(j, b + from * n_ + j, int(count));
                }))
                return kFailed;
        for (std::int64_t j = (n_ - 1) / kPanel * kPanel; j >= 0; j -= kPanel)
            if (in_columns(columns, [&](std::int64_t from, std::int64_t count) {
                    back(j, b + from * n_, int(count));
                }))
                return kFailed;
        return kOk;
    }

  private:
    static constexpr std::int64_t kPanel = 128, kColumns = 256;

    T* at(std::int64_t row, std::int64_t column) const { return a_ + column * n_ + row; }
    int width(std::int64_t j) const { return int(std::min(kPanel, n_ - j)); }
    int stride() const { return int(n_); }

    template <class F>
    std::int32_t in_columns(std::int64_t columns, const F& f) {
        return run_parts(task_, blocks_of(columns, kColumns), true, call_->loc,
                         [&](Task* t, int, std::int64_t part) {
                             f(part * kColumns, std::min(kColumns, columns - part * kColumns));
                             return t->check_stop(call_->loc);
                         });
    }

    /// Applies the panel at `j` to columns of which `c` is row `j`.
    void update(std::int64_t j, T* c, int count) const {
        const int k = width(j), below = int(n_ - j) - k, ld = stride(), first = 1, step = 1;
        const T one = 1, minus_one = -1;
        blas_.laswp(&count, c, &ld, &first, &k, &pivots_[std::size_t(j)], &step);
        blas_.trsm("L", "L", "N", "U", &k, &count, &one, at(j, j), &ld, c, &ld);
        if (below > 0)
            blas_.gemm("N", "N", &below, &count, &k, &minus_one, at(j + k, j), &ld, c, &ld, &one, c + k, &ld);
    }

    /// Solves for rows `j` and on, and takes what they contribute out of those above.
    void back(std::int64_t j, T* b, int count) const {
        const int k = width(j), above = int(j), ld = stride();
        const T one = 1, minus_one = -1;
        blas_.trsm("L", "U", "N", "N", &k, &count, &one, at(j, j), &ld, b + j, &ld);
        if (above > 0)
            blas_.gemm("N", "N", &above, &count, &k, &minus_one, at(0, j), &ld, b + j, &ld, &one, b, &ld);
    }

    const Blas<T>& blas_;
    Task* task_;
    const WeldCall* call_;
    T* const a_;
    const std::int64_t n_;
    std::vector<int> pivots_;
};

/// x into `to`, by rows as b is.
template <class T>
std::int32_t solve(const Blas<T>& blas, Task* task, const WeldCall* call, const Matrix& b, T* to) {
    const auto& a = argument<Matrix>(call, 0);
    const std::int64_t n = a.rows;
    if (n == 0 || b.columns == 0) return kOk;
    T* factors = allocate_array<T>(task, n * n, call->loc);
    T* x = factors ? allocate_array<T>(task, b.cells.len, call->loc) : nullptr;
    if (!x || turn(task, call->loc, elements_of<T>(a), n, n, factors) ||
        turn(task, call->loc, elements_of<T>(b), n, b.columns, x))
        return kFailed;
    Equations<T> equations(blas, task, call, factors, n);
    if (equations.factor() || equations.solve(x, b.columns) || turn(task, call->loc, x, b.columns, n, to))
        return kFailed;
    release(task, factors);
    release(task, x);
    return kOk;
}

std::int32_t check_equations(Task* task, const WeldCall* call, std::int64_t rows_of_b) {
    const auto& a = argument<Matrix>(call, 0);
    if (check_shape(task, call, a)) return kFailed;
    if (a.rows != a.columns)
        return fail_call(task, call, "equations need as many rows as columns, found {} x {}", a.rows,
                         a.columns);
    if (a.rows != rows_of_b)
        return fail_call(task, call, "{} equations have {} right sides", a.rows, rows_of_b);
    return kOk;
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_matmul) {
    return with_blas(
        task, call, [&](const auto& blas) { return matmul(blas, task, call, static_cast<Matrix*>(result)); });
}

WELD_KERNEL_BODY(weld_kernel_syrk) {
    return with_blas(task, call,
                     [&](const auto& blas) { return syrk(blas, task, call, static_cast<Matrix*>(result)); });
}

WELD_KERNEL_BODY(weld_kernel_gemv) {
    return with_blas(task, call,
                     [&](const auto& blas) { return gemv(blas, task, call, static_cast<WeldVec*>(result)); });
}

WELD_KERNEL_BODY(weld_kernel_solve) {
    const auto& b = argument<Matrix>(call, 1);
    if (check_shape(task, call, b) || check_equations(task, call, b.rows)) return kFailed;
    return with_blas(task, call, [&]<class T>(const Blas<T>& blas) {
        T* x = new_matrix<T>(task, call, b.rows, b.columns, static_cast<Matrix*>(result));
        return x ? solve(blas, task, call, b, x) : kFailed;
    });
}

WELD_KERNEL_BODY(weld_kernel_solve_one) {
    const auto& b = argument<WeldVec>(call, 1);
    if (check_equations(task, call, b.len)) return kFailed;
    return with_blas(task, call, [&]<class T>(const Blas<T>& blas) -> std::int32_t {
        Matrix x;
        T* to = new_matrix<T>(task, call, b.len, 1, &x);
        *static_cast<WeldVec*>(result) = x.cells;
        return to ? solve(blas, task, call, {b, b.len, 1}, to) : kFailed;
    });
}
