// D1 to D7: what the scripts of DaphneDSL compute, in plain loops as one writes them in C, by gcc -O3 -ffast-math, rows shared
// out to threads. Products of matrices are OpenBLAS's.
#include "common.hpp"
extern "C" {
void openblas_set_num_threads(int);
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
}

static const i64 N = 4096, K = 16;
typedef std::vector<f64> Vec;

template <class F> static void rows(F f) { pfor(N, 64, [&](size_t lo, size_t hi) { f(i64(lo), i64(hi)); }); }

// what f adds up for rows lo to hi, in n sums of each thread
template <class F> static Vec sums(i64 n, F f) {
  tbb::enumerable_thread_specific<Vec> parts([&] { return Vec(size_t(n)); });
  rows([&](i64 lo, i64 hi) { f(lo, hi, parts.local().data()); });
  Vec all(static_cast<size_t>(n));
  for (auto &p : parts) for (i64 j = 0; j < n; j++) all[j] += p[j];
  return all;
}

static f64 standardised(const f64 *__restrict x) {
  Vec mean = sums(N, [&](i64 lo, i64 hi, f64 *__restrict s) { for (i64 i = lo; i < hi; i++) for (i64 j = 0; j < N; j++) s[j] += x[i * N + j]; });
  for (f64 &m : mean) m /= N;
  const f64 *__restrict m = mean.data();
  Vec dev = sums(N, [&](i64 lo, i64 hi, f64 *__restrict s) { for (i64 i = lo; i < hi; i++) for (i64 j = 0; j < N; j++) { f64 d = x[i * N + j] - m[j]; s[j] += d * d; } });
  for (f64 &d : dev) d = 1 / std::sqrt(d / N);
  const f64 *__restrict v = dev.data();
  return sums(1, [&](i64 lo, i64 hi, f64 *s) { f64 a = 0; for (i64 i = lo; i < hi; i++) for (i64 j = 0; j < N; j++) a += (x[i * N + j] - m[j]) * v[j]; *s += a; })[0];
}

// each row to the nearest of the first K rows; their means
static void kmeans(const f64 *x, f64 *__restrict to) {
  static Vec d(N * K), p(N * K);
  cblas_dgemm(101, 111, 112, N, K, N, 1, x, N, x, N, 0, d.data(), K);
  f64 c2[K];
  for (i64 k = 0; k < K; k++) { f64 s = 0; for (i64 j = 0; j < N; j++) s += x[k * N + j] * x[k * N + j]; c2[k] = s; }
  f64 n[K] = {};
  for (i64 i = 0; i < N; i++) {
    f64 a[K], least = INFINITY, count = 0;
    for (i64 k = 0; k < K; k++) { a[k] = d[i * K + k] * -2.0 + c2[k]; least = std::min(least, a[k]); }
    for (i64 k = 0; k < K; k++) count += a[k] <= least;
    for (i64 k = 0; k < K; k++) { f64 w = f64(a[k] <= least) / count; p[i * K + k] = w; n[k] += w; }
  }
  cblas_dgemm(101, 112, 111, K, N, N, 1, p.data(), K, x, N, 0, to, N);
  for (i64 k = 0; k < K; k++) for (i64 j = 0; j < N; j++) to[k * N + j] /= n[k];
}

static void smooth(const f64 *x, f64 *to) {
  for (int i = 0; i < 10; i++) {
    const f64 *from = i ? to : x;
    f64 e = sums(1, [&](i64 lo, i64 hi, f64 *s) { f64 a = 0; for (i64 j = lo * N; j < hi * N; j++) { f64 y = from[j] * 0.5 + 0.25; to[j] = y; a += y * y; } *s += a; })[0];
    if (!(e > 0)) break;
  }
}

static void paths(i64 *z) {
  std::fill(z, z + N * N, 1);
  for (i64 i = 1; i < N; i++) for (i64 j = 1; j < N; j++) z[i * N + j] = (z[(i - 1) * N + j] + z[i * N + j - 1]) % 1000003;
}

static void decays(const f64 *__restrict x, f64 *z) {
  std::fill(z, z + N * N, 0.0);
  for (i64 i = 1; i < N; i++) for (i64 j = 0; j < N; j++) z[i * N + j] = z[(i - 1) * N + j] * 0.5 + x[i * N + j];
}

static void small(f64 *y) {
  static const f64 A[9] = {0.1, 0.2, 0.3, 0.2, 0.1, 0.3, 0.1, 0.1, 0.4};
  f64 a[9], v[3] = {1, 2, 3};
  std::copy(A, A + 9, a); keep(a);
  for (int r = 0; r < 100000; r++) {
    f64 w[3], most = 1;
    for (int i = 0; i < 3; i++) { w[i] = a[3 * i] * v[0] + a[3 * i + 1] * v[1] + a[3 * i + 2] * v[2] + 1; }
    most = std::max(most, std::max(w[0], std::max(w[1], w[2])));
    for (int i = 0; i < 3; i++) v[i] = w[i] / most;
  }
  std::copy(v, v + 3, y);
}

static i64 chain() {
  i64 a = 1, s = 0;
  for (i64 i = 1; i <= 100000000; i++) { a = (a * 1103515245 + 12345) % 2147483648; s += a; }
  return s;
}
static i64 steps() {
  i64 s = 0;
  for (i64 i = 1; i <= 1000000; i++) for (i64 a = i; a != 1; s++) { if (a % 2 == 0) a = a / 2; else a = 3 * a + 1; }
  return s;
}

int main(int argc, char **argv) {
  init(argc, argv);
  openblas_set_num_threads(g_T);
  auto time = [&](const char *name, auto f, auto *p, i64 n) {  // the checksum is no part of it
    if (!wantx(name)) return;
    bench(name, [&] { f(); keep(p); return 0.0; });
    f64 s = 0;
    for (i64 i = 0; i < n; i++) s += f64(p[i]) * f64(i % 7 + 1);
    printf("   %s chk %.12g\n", name, s);
  };
  if (want("D1") || want("D2") || want("D3") || want("D5") || want("D6")) {
    auto x = gen<f64>(N * N, [](size_t i) { return u01(201, i) - 0.5; });
    Buf<f64> y(N * N);
    Buf<i64> z(N * N);
    time("D1", [&] { rows([&](i64 lo, i64 hi) { for (i64 i = lo * N; i < hi * N; i++) y.p[i] = x.p[i] * 2.0 + 1.0; }); }, y.p, N * N);
    bench("D2", [&] { return standardised(x.p); });
    time("D3.kmeans", [&] { kmeans(x.p, y.p); }, y.p, K * N);
    time("D5.while", [&] { smooth(x.p, y.p); }, y.p, N * N);
    time("D6.cells", [&] { paths(z.p); }, z.p, N * N);
    time("D6.rows", [&] { decays(x.p, y.p); }, y.p, N * N);
  }
  bench("D4.scalar", chain);
  bench("D4.branch", steps);
  f64 v[3];
  time("D7.small", [&] { small(v); }, v, 3);
}
