// OpenBLAS: the few routines of it that are called, by the interface of Fortran (matrices by columns).
//
// It is loaded when the first of them is wanted, since that takes some ms, and set to one thread: what is
// worth several is cut into blocks by us. (A host that computes with the same library itself gets one thread
// there, too.)
#pragma once

namespace weld::runtime {

template <class T>
struct Blas {
    /// c = alpha * op(a) * op(b) + beta * c; op: "N" as it is, "T" transposed.
    void (*gemm)(const char* op_a, const char* op_b, const int* m, const int* n, const int* k, const T* alpha,
                 const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc);
    /// y = alpha * op(a) * x + beta * y
    void (*gemv)(const char* op, const int* m, const int* n, const T* alpha, const T* a, const int* lda,
                 const T* x, const int* incx, const T* beta, T* y, const int* incy);
    /// Solves op(a) * x = alpha * b for triangular `a`; x replaces b.
    void (*trsm)(const char* side, const char* uplo, const char* op, const char* diag, const int* m,
                 const int* n, const T* alpha, const T* a, const int* lda, T* b, const int* ldb);
    /// Makes the factors L and U of `a` in its place; `pivots` (from 1) says with which row each was
    /// exchanged.
    void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
    /// Exchanges the rows `first` ... `last` (from 1) of `a` as `pivots` says.
    void (*laswp)(const int* n, T* a, const int* lda, const int* first, const int* last, const int* pivots,
                  const int* step);
    /// Eigenvalues of the symmetric `a` to `w`, ascending; the vectors take the place of `a`, by columns.
    void (*syevd)(const char* job, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,
                  const int* work_size, int* int_work, const int* int_work_size, int* info);
};

/// Null if there is no OpenBLAS. T: float, double.
template <class T>
const Blas<T>* blas();

}  // namespace weld::runtime
