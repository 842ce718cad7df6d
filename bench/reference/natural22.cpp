// N22 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>
#include "natural.hpp"

static void swaps(f64 *m, i64 n) {
  for (i64 k = 0; k < 20 * n; k++) {
    f64 *a = m + k % n * n, *c = m + (k * 7 + 3) % n * n;
    for (i64 i = 0; i < n; i++) std::swap(a[i], c[i]);
  }
}
static void hex(const u32 *__restrict v, i64 n, u8 *__restrict to) {
  for (i64 i = 0; i < n; i++)
    for (i64 k = 0; k < 8; k++) { u8 d = v[i] >> (28 - 4 * k) & 15; to[8 * i + k] = d < 10 ? d + 48 : d + 87; }
}
static void letters(const u8 *text, i64 n, i64 *to) {
  std::fill(to, to + 26, 0);
  for (i64 i = 0; i < n; i++) { u8 l = text[i] | 32; if (l >= 97 && l <= 122) to[l - 97]++; }
}
static void scores(const i32 *g, const f64 *x, i64 n, f64 *__restrict to) {
  struct Group { f64 sum = 0, squares = 0, count = 0; };
  Table<i32, Group> groups(1024);
  for (i64 i = 0; i < n; i++) { Group &s = groups[g[i]]; s.sum += x[i], s.squares += x[i] * x[i], s.count++; }
  for (i64 i = 0; i < n; i++) {
    const Group &s = groups[g[i]];
    f64 m = s.sum / s.count;
    to[i] = (x[i] - m) / std::sqrt(s.squares / s.count - m * m);
  }
}
static void buckets(const i64 *k, i64 n, i64 all, i64 *to) {
  std::fill(to, to + all, 0);
  for (i64 i = 0; i < n; i++) to[k[i] % all]++;
}
static i64 cases(const signed char *month, const signed char *kind, const f64 *v, i64 n, f64 *to) {
  f64 s[12][3] = {};
  for (i64 i = 0; i < n; i++) {
    f64 *m = s[month[i]];
    m[0] += kind[i] == 0 ? v[i] : 0, m[1] += kind[i] == 1 ? v[i] : 0, m[2] += kind[i] >= 2 ? v[i] : 0;
  }
  for (i64 k = 0; k < 12; k++) to[k] = s[k][0] + 2 * s[k][1] + 3 * s[k][2];
  return 12;
}
static void cells(const f64 *x, const f64 *y, i64 n, i64 w, i64 *to) {
  std::fill(to, to + w * w, 0);
  for (i64 i = 0; i < n; i++) {
    i64 u = i64(x[i] * .05 * w) - 1, v = i64(y[i] * .05 * w) - 1;
    if (u >= 0 && u < w && v >= 0 && v < w) to[v * w + u]++;
  }
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N22.swaps")) {
    const i64 n = 400; auto m = uniform<f64>(n * n, 445, 1); Buf<f64> to(n * n);
    vector("N22.swaps", to, [&] { std::copy(m.p, m.p + n * n, to.p); swaps(to.p, n); return n * n; });
  }
  if (want("N22.hex")) {
    const i64 n = 1'000'000; auto v = below<u32>(n, 446, 1ull << 32); Buf<u8> to(8 * n);
    vector("N22.hex", to, [&] { hex(v.p, n, to.p); return 8 * n; });
  }
  if (want("N22.letters")) {
    const i64 n = 4'000'000; auto text = below<u8>(n, 447, 128); Buf<i64> to(26);
    vector("N22.letters", to, [&] { letters(text.p, n, to.p); return i64(26); });
  }
  if (want("N22.scores")) {
    const i64 n = 2'000'000; auto g = below<i32>(n, 448, 500); auto x = uniform<f64>(n, 449, 100); Buf<f64> to(n);
    vector("N22.scores", to, [&] { scores(g.p, x.p, n, to.p); return n; });
  }
  if (want("N22.buckets")) {
    const i64 n = 4'000'000; auto k = below<i64>(n, 450, 1'000'000'000'000); Buf<i64> to(1000);
    volatile i64 thousand = 1000; const i64 all = thousand;  // no constant, by which would be divided by multiplying
    vector("N22.buckets", to, [&] { buckets(k.p, n, all, to.p); return all; });
  }
  if (want("N22.cases")) {
    const i64 n = 4'000'000; auto month = below<signed char>(n, 451, 12), kind = below<signed char>(n, 452, 4);
    auto v = uniform<f64>(n, 453, 100); Buf<f64> to(12);
    vector("N22.cases", to, [&] { return cases(month.p, kind.p, v.p, n, to.p); });
  }
  if (want("N22.cells")) {
    const i64 n = 2'000'000; auto x = uniform<f64>(n, 454, 24), y = uniform<f64>(n, 455, 24); Buf<i64> to(64 * 64);
    vector("N22.cells", to, [&] { cells(x.p, y.p, n, 64, to.p); return i64(64 * 64); });
  }
}
