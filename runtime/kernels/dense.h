// What the kernels on dense matrices of floats share.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>

#include "runtime/kernels/blas.h"
#include "runtime/kernels/cells.h"
#include "runtime/parallel.h"

namespace weld::runtime {

inline std::int64_t blocks_of(std::int64_t n, std::int64_t each) { return (n + each - 1) / each; }

inline std::int32_t check_shape(Task* task, const WeldCall* call, const Matrix& m) {
    if (check_matrix(task, call, m)) return kFailed;
    if (std::max(m.rows, m.columns) > INT_MAX)
        return fail_call(task, call, "a matrix of {} rows and {} columns is too large for BLAS", m.rows,
                         m.columns);
    return kOk;
}

/// Calls `f` with OpenBLAS for the float that `F`, the first variable of the row, stands for.
template <class Fn>
std::int32_t with_blas(Task* task, const WeldCall* call, const Fn& f) {
    const auto run = [&]<class T>(const Blas<T>* blas) -> std::int32_t {
        return blas ? f(*blas)
                    : fail_call(task, call, "`libopenblas.so.0` is not there; linear algebra needs it");
    };
    return call->types[0]->kind == kWeldF32 ? run(blas<float>()) : run(blas<double>());
}

template <class T>
const T* elements_of(const Matrix& m) {
    return static_cast<const T*>(m.cells.data);
}

template <class T>
std::int32_t zero(Task* task, std::int32_t loc, T* cells, std::int64_t n) {
    return for_pieces(task, n, 1 << 20, loc,
                      [&](std::int64_t lo, std::int64_t hi) { std::fill(cells + lo, cells + hi, T(0)); });
}

/// `to`[j * rows + i] = from[i * columns + j]: turns a matrix by rows into one by columns, and back.
template <class T>
std::int32_t turn(Task* task, std::int32_t loc, const T* from, std::int64_t rows, std::int64_t columns,
                  T* to) {
    constexpr std::int64_t tile = 32;
    return run_parts(task, blocks_of(rows, tile), true, loc, [&](Task* t, int, std::int64_t part) {
        const std::int64_t first = part * tile, last = std::min(rows, first + tile);
        for (std::int64_t j0 = 0; j0 < columns && !t->should_stop(); j0 += tile)
            for (std::int64_t i = first; i < last; ++i)
                for (std::int64_t j = j0; j < std::min(columns, j0 + tile); ++j)
                    to[j * rows + i] = from[i * columns + j];
        return t->check_stop(loc);
    });
}

}  // namespace weld::runtime
