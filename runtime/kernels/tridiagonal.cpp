// Eigenvalues and vectors of symmetric tridiagonal matrices, by divide and conquer.
//
// But for one number beside the diagonal, beta, a tridiagonal matrix is two smaller ones, which are solved
// first:
//
//     T = (T1 0; 0 T2) + beta * u * transpose(u) = Q * (D + rho * z * transpose(z)) * transpose(Q)
//
// where D has the eigenvalues of T1 and T2, Q their vectors, and z is the last row of Q1 and the first of Q2.
// Where z is as good as 0, or two values of D as good as equal (then a rotation makes z 0 for one of them),
// value and vector of D stay as they are. For the others, eigenvalues are the roots of the secular equation
// 1 + rho * sum(z[j]^2 / (D[j] - x)) = 0, and vectors are Q times z[j] / (D[j] - x). With the z for which the
// roots found are exact, rather than the given one, these are orthogonal (Gu and Eisenstat).
//
// All is cut by size alone, so results have the same bits for any number of threads.
#include "runtime/kernels/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/kernels/dense.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kLeaf = 32;  // rows that one call of LAPACK solves

template <class T>
constexpr T kRelative = std::numeric_limits<T>::epsilon() / 2;

std::int32_t no_convergence(Task* task, const WeldCall* call) {
    return fail_call(task, call, "the eigenvalues do not converge");
}

/// What all steps share: a matrix of n rows, and room for as much.
template <class T>
struct Space {
    const Blas<T>& blas;
    const WeldCall* call;
    std::int64_t n;
    T *d, *e, *q, *room, *more_room;
    std::vector<int> order, sorted, kept, place;
    std::vector<T> z, poles, weights, roots;

    Space(const Blas<T>& b, const WeldCall* c, std::int64_t rows, T* diagonal, T* beside, T* vectors, T* r,
          T* m)
        : blas(b), call(c), n(rows), d(diagonal), e(beside), q(vectors), room(r), more_room(m) {
        for (auto* v : {&order, &sorted, &kept, &place}) v->resize(std::size_t(n));
        for (auto* v : {&z, &poles, &weights, &roots}) v->resize(std::size_t(n));
    }
};

/// Two neighbours of `n1` and `n - n1` rows, from row `lo` on, become one. Columns are counted from `lo`.
template <class T>
class Merge {
  public:
    Merge(Space<T>& s, Task* task, std::int64_t lo, std::int64_t n1, std::int64_t n)
        : blas_(s.blas),
          task_(task),
          call_(s.call),
          loc_(s.call->loc),
          n1_(n1),
          n_(n),
          stride_(s.n),
          d_(s.d + lo),
          q_(s.q + lo * s.n + lo),
          copied_(s.room + lo * s.n),
          small_(s.more_room + lo * s.n),
          order_(s.order.data() + lo),
          sorted_(s.sorted.data() + lo),
          kept_(s.kept.data() + lo),
          place_(s.place.data() + lo),
          z_(s.z.data() + lo),
          poles_(s.poles.data() + lo),
          weights_(s.weights.data() + lo),
          roots_(s.roots.data() + lo),
          rows_(std::size_t(n)) {}

    std::int32_t merge(T beta) {
        find_z(beta);
        if (deflate()) return kFailed;
        if (k_ == 0) {
            std::copy(sorted_, sorted_ + n_, order_);
            return kOk;
        }
        group();
        if (copy_columns() || solve() || make_vectors() || multiply_vectors()) return kFailed;
        put_in_order();
        return kOk;
    }

  private:
    /// The rows where a column is not 0.
    enum class Rows : std::uint8_t { Upper, Both, Lower };

    T* column(std::int64_t j) const { return q_ + j * stride_; }
    T* small(std::int64_t j) const { return small_ + j * k_; }

    /// z, of length 1, and rho > 0; columns by ascending value.
    void find_z(T beta) {
        const T scale = std::sqrt(T(0.5)), sign = beta < 0 ? -scale : scale;
        rho_ = std::abs(2 * beta);
        for (std::int64_t j = 0; j < n_; ++j)
            z_[j] = j < n1_ ? column(j)[n1_ - 1] * scale : column(j)[n1_] * sign;
        for (std::int64_t j = n1_; j < n_; ++j) order_[j] += int(n1_);
        std::merge(order_, order_ + n1_, order_ + n1_, order_ + n_, sorted_,
                   [&](int a, int b) { return d_[a] < d_[b]; });
        for (std::int64_t j = 0; j < n_; ++j) rows_[std::size_t(j)] = j < n1_ ? Rows::Upper : Rows::Lower;
    }

    /// Finds the columns that change, kept_[0...k_-1] by ascending value, and those that don't, behind them.
    std::int32_t deflate() {
        T largest = 0, largest_z = 0;
        for (std::int64_t j = 0; j < n_; ++j) {
            largest = std::max(largest, std::abs(d_[j]));
            largest_z = std::max(largest_z, std::abs(z_[j]));
        }
        const T tolerance = 8 * kRelative<T> * std::max(largest, largest_z);
        k_ = 0;
        if (rho_ * largest_z <= tolerance) return kOk;
        std::int64_t end = n_, rotations = 0;
        int last = -1;  // a column that changes unless it is as good as equal to the next
        for (std::int64_t i = 0; i < n_; ++i) {
            const int j = sorted_[i];
            if (rho_ * std::abs(z_[j]) <= tolerance) {
                kept_[--end] = j;
                continue;
            }
            if (last >= 0 && are_equal(last, j, tolerance)) {
                if (rotations++ % kRotations == 0 && task_->check_stop(loc_)) return kFailed;
                rotate(last, j);
                kept_[--end] = last;
            } else if (last >= 0) {
                keep(last);
            }
            last = j;
        }
        if (last >= 0) keep(last);
        return kOk;
    }

    void keep(int j) {
        poles_[k_] = d_[j];
        weights_[k_] = z_[j];
        kept_[k_++] = j;
    }

    /// A rotation that makes z 0 for the first hardly changes anything else.
    bool are_equal(int a, int b, T tolerance) const {
        const T length = std::hypot(z_[a], z_[b]);
        return std::abs((d_[b] - d_[a]) * (z_[b] / length) * (z_[a] / length)) <= tolerance;
    }

    void rotate(int a, int b) {
        const T length = std::hypot(z_[a], z_[b]), c = z_[b] / length, s = -z_[a] / length;
        z_[b] = length;
        z_[a] = 0;
        Rows &of_a = rows_[std::size_t(a)], &of_b = rows_[std::size_t(b)];
        if (of_a != of_b) of_a = of_b = Rows::Both;
        const std::int64_t first = of_b == Rows::Lower ? n1_ : 0;
        const int count = int((of_b == Rows::Upper ? n1_ : n_) - first), step = 1;
        blas_.rot(&count, column(a) + first, &step, column(b) + first, &step, &c, &s);
        const T at_a = d_[a], at_b = d_[b];
        d_[a] = at_a * (c * c) + at_b * (s * s);
        d_[b] = at_a * (s * s) + at_b * (c * c);
    }

    /// place_: the columns that change, those with upper rows alone first and those with lower ones last, so
    /// that products need not multiply with zeros.
    void group() {
        std::fill_n(counts_, 3, 0);
        for (std::int64_t i = 0; i < k_; ++i) ++counts_[int(rows_[std::size_t(kept_[i])])];
        std::int64_t next[3] = {0, counts_[0], counts_[0] + counts_[1]};
        for (std::int64_t i = 0; i < k_; ++i) place_[next[int(rows_[std::size_t(kept_[i])])]++] = int(i);
    }

    std::int64_t with_upper() const { return counts_[0] + counts_[1]; }
    std::int64_t with_lower() const { return counts_[1] + counts_[2]; }
    T* copied_lower() const { return copied_ + n1_ * with_upper(); }
    T* copied_whole() const { return copied_lower() + (n_ - n1_) * with_lower(); }

    /// Calls f(column) for each of `count` columns, on each of which there is `work` to do, in parts.
    template <class F>
    std::int32_t for_columns(std::int64_t count, std::int64_t work, const F& f) {
        const std::int64_t each = std::max<std::int64_t>(1, kWork / std::max<std::int64_t>(1, work));
        return run_parts(task_, blocks_of(count, each), true, loc_,
                         [&](Task*, int, std::int64_t part) -> std::int32_t {
                             const std::int64_t last = std::min(count, (part + 1) * each);
                             for (std::int64_t j = part * each; j < last; ++j)
                                 if (f(j)) return kFailed;
                             return kOk;
                         });
    }

    std::int32_t copy_columns() {
        return for_columns(n_, n_, [&](std::int64_t p) -> std::int32_t {
            const T* from = column(kept_[p < k_ ? place_[p] : p]);
            if (p < with_upper()) std::copy(from, from + n1_, copied_ + p * n1_);
            if (p >= counts_[0] && p < k_)
                std::copy(from + n1_, from + n_, copied_lower() + (p - counts_[0]) * (n_ - n1_));
            if (p >= k_) std::copy(from, from + n_, copied_whole() + (p - k_) * n_);
            return kOk;
        });
    }

    /// The roots, and poles minus roots into small_.
    std::int32_t solve() {
        return for_columns(k_, 32 * k_, [&](std::int64_t j) -> std::int32_t {
            const int k = int(k_), which = int(j) + 1;
            int info = 0;
            blas_.laed4(&k, &which, poles_, weights_, small(j), &rho_, roots_ + j, &info);
            return info ? no_convergence(task_, call_) : kOk;
        });
    }

    /// The z that has these roots takes the place of z_. LAPACK gives vectors for up to two roots.
    std::int32_t find_exact_z() {
        constexpr std::int64_t strip = 128;
        return run_parts(task_, blocks_of(k_, strip), true, loc_,
                         [&](Task* t, int, std::int64_t part) -> std::int32_t {
                             const std::int64_t lo = part * strip, hi = std::min(k_, lo + strip);
                             for (std::int64_t i = lo; i < hi; ++i) z_[i] = small(i)[i];
                             for (std::int64_t j = 0; j < k_; ++j) {
                                 if (j % 1024 == 0 && t->check_stop(loc_)) return kFailed;
                                 const auto times = [&](std::int64_t from, std::int64_t to) {
                                     for (std::int64_t i = from; i < to; ++i)
                                         z_[i] *= small(j)[i] / (poles_[i] - poles_[j]);
                                 };
                                 times(lo, std::clamp(j, lo, hi));
                                 times(std::clamp(j + 1, lo, hi), hi);
                             }
                             for (std::int64_t i = lo; i < hi; ++i)
                                 z_[i] = std::copysign(std::sqrt(-z_[i]), weights_[i]);
                             return kOk;
                         });
    }

    /// Vectors in terms of the columns as they are placed, into small_.
    std::int32_t make_vectors() {
        if (k_ == 1) *small(0) = 1;
        if (k_ > 2 && find_exact_z()) return kFailed;
        return for_columns(k_, 4 * k_, [&](std::int64_t j) -> std::int32_t {
            T* v = small(j);
            std::vector<T> found(v, v + k_);
            if (k_ > 2) {
                for (std::int64_t i = 0; i < k_; ++i) found[std::size_t(i)] = z_[i] / v[i];
                const int k = int(k_), step = 1;
                const T length = std::sqrt(blas_.dot(&k, found.data(), &step, found.data(), &step));
                for (T& x : found) x /= length;
            }
            for (std::int64_t p = 0; p < k_; ++p) v[p] = found[std::size_t(place_[p])];
            return kOk;
        });
    }

    std::int32_t multiply_vectors() {
        const std::int64_t n2 = n_ - n1_;
        if (multiply(blas_, task_, loc_, n1_, k_, with_upper(), copied_, n1_, small_, k_, q_, stride_) ||
            multiply(blas_, task_, loc_, n2, k_, with_lower(), copied_lower(), n2, small_ + counts_[0], k_,
                     q_ + n1_, stride_))
            return kFailed;
        return for_columns(n_ - k_, n_, [&](std::int64_t j) -> std::int32_t {
            const T* from = copied_whole() + j * n_;
            std::copy(from, from + n_, column(k_ + j));
            return kOk;
        });
    }

    void put_in_order() {
        for (std::int64_t j = k_; j < n_; ++j) roots_[j] = d_[kept_[j]];
        std::copy(roots_, roots_ + n_, d_);
        std::iota(sorted_, sorted_ + n_, 0);
        const auto less = [&](int a, int b) { return d_[a] < d_[b] || (d_[a] == d_[b] && a < b); };
        std::sort(sorted_ + k_, sorted_ + n_, less);
        std::merge(sorted_, sorted_ + k_, sorted_ + k_, sorted_ + n_, order_, less);
    }

    static constexpr std::int64_t kWork = 1 << 17, kRotations = 16;

    const Blas<T>& blas_;
    Task* const task_;
    const WeldCall* const call_;
    const std::int32_t loc_;
    const std::int64_t n1_, n_, stride_;
    T *const d_, *const q_, *const copied_, *const small_;
    int *const order_, *const sorted_, *const kept_, *const place_;
    T *const z_, *const poles_, *const weights_, *const roots_;
    std::vector<Rows> rows_;
    T rho_ = 0;
    std::int64_t k_ = 0;           // columns that change
    std::int64_t counts_[3] = {};  // of them, by Rows
};

/// Rows lo ... lo + n - 1, of which none stands alone. order: columns by ascending value.
template <class T>
std::int32_t solve(Space<T>& s, Task* task, std::int64_t lo, std::int64_t n) {
    if (n <= kLeaf) {
        if (task->check_stop(s.call->loc)) return kFailed;
        const int rows = int(n), stride = int(s.n);
        T work[2 * kLeaf];
        int info = 0;
        s.blas.steqr("I", &rows, s.d + lo, s.e + lo, s.q + lo * s.n + lo, &stride, work, &info);
        std::iota(s.order.data() + lo, s.order.data() + lo + n, 0);
        return info ? no_convergence(task, s.call) : kOk;
    }
    constexpr std::int64_t worth_a_thread = 256;
    const std::int64_t n1 = n / 2;
    const T beta = s.e[lo + n1 - 1];
    s.d[lo + n1 - 1] -= std::abs(beta);
    s.d[lo + n1] -= std::abs(beta);
    if (run_parts(task, 2, n > worth_a_thread, s.call->loc, [&](Task* t, int, std::int64_t part) {
            return part ? solve(s, t, lo + n1, n - n1) : solve(s, t, lo, n1);
        }))
        return kFailed;
    return Merge<T>(s, task, lo, n1, n).merge(beta);
}

/// The same with the largest number being 1, as tolerances want it.
template <class T>
std::int32_t solve_scaled(Space<T>& s, Task* task, std::int64_t lo, std::int64_t n) {
    if (n <= kLeaf) return solve(s, task, lo, n);
    T norm = 0;
    for (std::int64_t i = lo; i < lo + n; ++i)
        norm = std::max({norm, std::abs(s.d[i]), i < lo + n - 1 ? std::abs(s.e[i]) : T(0)});
    for (std::int64_t i = lo; i < lo + n; ++i) {
        s.d[i] /= norm;
        if (i < lo + n - 1) s.e[i] /= norm;
    }
    if (solve(s, task, lo, n)) return kFailed;
    for (std::int64_t i = lo; i < lo + n; ++i) s.d[i] *= norm;
    return kOk;
}

}  // namespace

template <class T>
std::int32_t multiply(const Blas<T>& blas, Task* task, std::int32_t loc, std::int64_t m, std::int64_t n,
                      std::int64_t k, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                      std::int64_t ldc) {
    constexpr std::int64_t block = 384, depth = 1024;  // 300 million operations: less than 10 ms
    const std::int64_t down = blocks_of(m, block), across = blocks_of(n, block);
    return run_parts(task, down * across, true, loc, [&](Task* t, int, std::int64_t part) -> std::int32_t {
        const std::int64_t top = m * (part % down) / down, bottom = m * (part % down + 1) / down,
                           left = n * (part / down) / across, right = n * (part / down + 1) / across;
        const int rows = int(bottom - top), columns = int(right - left), stride_a = int(lda),
                  stride_b = int(ldb), stride_c = int(ldc);
        const T one = 1;
        std::int64_t from = 0;
        do {  // once for k = 0, too
            if (t->check_stop(loc)) return kFailed;
            const int terms = int(std::min(depth, k - from));
            const T beta = from > 0 ? 1 : 0;
            blas.gemm("N", "N", &rows, &columns, &terms, &one, a + from * lda + top, &stride_a,
                      b + left * ldb + from, &stride_b, &beta, c + left * ldc + top, &stride_c);
            from += depth;
        } while (from < k);
        return kOk;
    });
}

template <class T>
std::int32_t tridiagonal_eigen(const Blas<T>& blas, Task* task, const WeldCall* call, std::int64_t n, T* d,
                               T* e, T* q, T* room, T* more_room) {
    Space<T> space(blas, call, n, d, e, q, room, more_room);
    std::vector<std::int64_t> begins;  // of parts between which there are zeros, but for rounding
    for (std::int64_t i = 0; i < n; ++i)
        if (i == 0 ||
            !(std::abs(e[i - 1]) > kRelative<T> * std::sqrt(std::abs(d[i - 1])) * std::sqrt(std::abs(d[i]))))
            begins.push_back(i);
    begins.push_back(n);
    return run_parts(task, std::int64_t(begins.size()) - 1, true, call->loc,
                     [&](Task* t, int, std::int64_t part) {
                         const std::int64_t lo = begins[std::size_t(part)];
                         return solve_scaled(space, t, lo, begins[std::size_t(part) + 1] - lo);
                     });
}

template std::int32_t tridiagonal_eigen(const Blas<float>&, Task*, const WeldCall*, std::int64_t, float*,
                                        float*, float*, float*, float*);
template std::int32_t tridiagonal_eigen(const Blas<double>&, Task*, const WeldCall*, std::int64_t, double*,
                                        double*, double*, double*, double*);

}  // namespace weld::runtime
