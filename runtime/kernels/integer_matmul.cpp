// Products of matrices of integers, which wrap around: blocks of rows in parallel, each in strips of terms
// and columns that stay in the cache.
#include <algorithm>
#include <type_traits>

#include "runtime/kernels/cells.h"
#include "runtime/kernels/kernel.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

/// c += a * b for some terms and columns of one row. Unsigned, and as wide as int at least, so that it wraps.
template <class T>
void add_products(const T* a, const T* b, std::int64_t terms, std::int64_t columns, std::int64_t stride,
                  T* c) {
    using Wide = std::common_type_t<T, unsigned>;
    std::int64_t k = 0;
    for (; k + 4 <= terms; k += 4) {
        const Wide a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
        const T *b0 = b + k * stride, *b1 = b0 + stride, *b2 = b1 + stride, *b3 = b2 + stride;
        for (std::int64_t j = 0; j < columns; ++j)
            c[j] = T(c[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j]);
    }
    for (; k < terms; ++k)
        for (std::int64_t j = 0; j < columns; ++j) c[j] = T(c[j] + Wide(a[k]) * b[k * stride + j]);
}

template <class T>
std::int32_t multiply(Task* task, const WeldCall* call, const Matrix& a, const Matrix& b, T* c) {
    constexpr std::int64_t terms = 64, columns = 1024, each_part = 1 << 22;  // products
    const std::int64_t m = a.rows, n = b.columns, depth = a.columns;
    const std::int64_t row_work =
        std::max<std::int64_t>(1, std::min(n, each_part) * std::min(depth, each_part));
    const std::int64_t rows = std::clamp<std::int64_t>(each_part / row_work, 1, std::max<std::int64_t>(m, 1));
    const auto *x = static_cast<const T*>(a.cells.data), *y = static_cast<const T*>(b.cells.data);
    return run_parts(
        task, (m + rows - 1) / rows, true, call->loc, [&](Task* t, int, std::int64_t part) -> std::int32_t {
            const std::int64_t first = part * rows, last = std::min(m, first + rows);
            std::fill(c + first * n, c + last * n, T(0));
            for (std::int64_t k = 0; k < depth; k += terms)
                for (std::int64_t j = 0; j < n; j += columns) {
                    if (t->check_stop(call->loc)) return kFailed;
                    for (std::int64_t i = first; i < last; ++i)
                        add_products(x + i * depth + k, y + k * n + j, std::min(terms, depth - k),
                                     std::min(columns, n - j), n, c + i * n + j);
                }
            return kOk;
        });
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_matmul_integers) {
    const auto &a = argument<Matrix>(call, 0), &b = argument<Matrix>(call, 1);
    if (check_matrix(task, call, a) || check_matrix(task, call, b)) return kFailed;
    if (a.columns != b.rows)
        return fail_call(task, call, "a product of {} x {} and {} x {} is not defined", a.rows, a.columns,
                         b.rows, b.columns);
    std::int64_t size;
    if (__builtin_mul_overflow(a.rows, b.columns, &size))
        return task->fail_memory(call->loc, Shortage::Limit);
    void* cells = allocate_array(task, size, call->types[0]->size, call->loc);
    if (!cells) return kFailed;
    *static_cast<Matrix*>(result) = {{cells, size}, a.rows, b.columns};
    switch (call->types[0]->size) {  // signed ones wrap to the same bits
        case 1: return multiply(task, call, a, b, static_cast<std::uint8_t*>(cells));
        case 2: return multiply(task, call, a, b, static_cast<std::uint16_t*>(cells));
        case 4: return multiply(task, call, a, b, static_cast<std::uint32_t*>(cells));
        default: return multiply(task, call, a, b, static_cast<std::uint64_t*>(cells));
    }
}
