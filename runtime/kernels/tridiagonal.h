// Eigenvalues and vectors of symmetric tridiagonal matrices.
#pragma once

#include <cstdint>

#include "runtime/kernels/blas.h"
#include "runtime/kernels/kernel.h"

namespace weld::runtime {

/// Replaces the diagonal `d` by the eigenvalues, in no particular order, and `q`, n * n zeros, by vectors, by
/// columns; `e` is what stands beside the diagonal, and is lost. `room` and `more_room` have room for n * n
/// numbers. Can be stopped every few ms. Status.
template <class T>
std::int32_t tridiagonal_eigen(const Blas<T>& blas, Task* task, const WeldCall* call, std::int64_t n, T* d,
                               T* e, T* q, T* room, T* more_room);

/// c = a * b, by columns, in blocks. Status.
template <class T>
std::int32_t multiply(const Blas<T>& blas, Task* task, std::int32_t loc, std::int64_t m, std::int64_t n,
                      std::int64_t k, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                      std::int64_t ldc);

}  // namespace weld::runtime
