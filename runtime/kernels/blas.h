// OpenBLAS: the few routines of it that are called, by the interface of Fortran (matrices by columns).
//
// It is loaded when the first of them is wanted, or when a program that was kept calls them, since that takes
// some ms, and set to one thread: what is worth several is cut into blocks by us. (A host that computes with
// the same library itself gets one thread there, too.)
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
    /// y = alpha * a * x + beta * y for symmetric `a`, of which one triangle is read.
    void (*symv)(const char* uplo, const int* n, const T* alpha, const T* a, const int* lda, const T* x,
                 const int* incx, const T* beta, T* y, const int* incy);
    /// One triangle of c = alpha * (a * transpose(b) + b * transpose(a)) + beta * c; `op` is "N".
    void (*syr2k)(const char* uplo, const char* op, const int* n, const int* k, const T* alpha, const T* a,
                  const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc);
    T (*dot)(const int* n, const T* x, const int* incx, const T* y, const int* incy);
    /// x, y = c * x + s * y, c * y - s * x
    void (*rot)(const int* n, T* x, const int* incx, T* y, const int* incy, const T* c, const T* s);
    /// Finds tau and v, which begins with 1, so that 1 - tau * v * transpose(v) maps (alpha, x) to a multiple
    /// of the first unit vector, which replaces alpha; the rest of v replaces x.
    void (*larfg)(const int* n, T* alpha, T* x, const int* incx, T* tau);
    /// Eigenvalues of a tridiagonal matrix, which replace its diagonal `d`, ascending, and vectors, `z`, if
    /// `job` is "I". `e` is beside the diagonal, and is lost. `work` has room for 2 * n numbers.
    void (*steqr)(const char* job, const int* n, T* d, T* e, T* z, const int* ldz, T* work, int* info);
    /// The root `i` (from 1) of 1 + rho * sum(z[j]^2 / (d[j] - x)), and all d[j] - x, for ascending `d` and
    /// `z` of length 1. (For n = 2, `delta` gets a vector instead.)
    void (*laed4)(const int* n, const int* i, const T* d, const T* z, T* delta, const T* rho, T* root,
                  int* info);
};

/// Null if there is no OpenBLAS. T: float, double.
template <class T>
const Blas<T>* blas();

/// Loads it on another thread, unless that was begun before. `blas` waits for that.
void begin_to_load_blas();

}  // namespace weld::runtime
