// N29 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"

static void gray(const u8 *p, i64 n, u8 *__restrict to) {
  for (i64 i = 0; i < n; i++) to[i] = (p[3 * i] * 77 + p[3 * i + 1] * 150 + p[3 * i + 2] * 29) >> 8;
}
static void blend(const u8 *p, const u8 *q, i32 a, i64 n, u8 *__restrict to) {
  for (i64 i = 0; i < n; i++) to[i] = (p[i] * a + q[i] * (256 - a)) >> 8;
}
static void smooth(const u8 *p, i64 n, u8 *__restrict to) {
  for (i64 i = 1; i < n - 1; i++) to[i - 1] = (p[i - 1] + 2 * p[i] + p[i + 1]) >> 2;
}
static void first(const f64 *x, i64 n, const i64 *from, i64 m, f64 least, i64 *__restrict to) {
  for (i64 k = 0; k < m; k++) {
    i64 i = from[k];
    while (i < n && x[i] < least) i++;
    to[k] = i;
  }
}

int main(int argc, char **argv) {
  init(argc, argv);
  const i64 n = 3'000'000;
  Buf<u8> to(n);
  if (want("N29.gray")) {
    auto p = below<u8>(n, 510, 256);
    vector("N29.gray", to, [&] { gray(p.p, n / 3, to.p); return n / 3; });
  }
  if (want("N29.blend")) {
    auto p = below<u8>(n, 511, 256), q = below<u8>(n, 512, 256);
    vector("N29.blend", to, [&] { blend(p.p, q.p, 100, n, to.p); return n; });
  }
  if (want("N29.smooth")) {
    auto p = below<u8>(n, 513, 256);
    vector("N29.smooth", to, [&] { smooth(p.p, n, to.p); return n - 2; });
  }
  if (want("N29.first")) {
    const i64 m = 1000; auto x = uniform<f64>(1'000'000, 514, 1); auto from = below<i64>(m, 515, 900'000); Buf<i64> ends(m);
    vector("N29.first", ends, [&] { first(x.p, 1'000'000, from.p, m, 0.9995, ends.p); return m; });
  }
}
