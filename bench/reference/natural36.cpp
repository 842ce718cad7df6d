// N36 of what bench/natural.cpp runs, in plain loops as one writes them in C++, compiled by gcc -O3 -ffast-math. One thread.
#include <cmath>
#include <vector>

#include "natural.hpp"

static f64 remainders(const i32 *k, const f64 *v, i64 n, i32 by) {
  std::vector<f64> sums(by); std::vector<i64> counts(by);
  for (i64 i = 0; i < n; i++) { sums[k[i] % by] += v[i]; counts[k[i] % by]++; }
  f64 all = 0;
  for (i32 r = 0; r < by; r++) if (counts[r]) all += f64(r + 1) * sums[r] / f64(counts[r]);
  return all;
}
static void sparse(const i64 *ends, const i32 *others, const f64 *v, i64 n, f64 *to) {
  for (i64 i = 0; i < n; i++) { f64 s = 0; for (i64 j = ends[i]; j < ends[i + 1]; j++) s += v[others[j]]; to[i] = s; }
}
static void polar(const f64 *p, i64 n, f64 *to) {
  for (i64 i = 0; i < n; i++) {
    const f64 x = p[2 * i], y = p[2 * i + 1];
    to[2 * i] = std::sqrt(x * x + y * y); to[2 * i + 1] = std::atan(y / (x + 1.0));
  }
}
static i64 ordered(const i64 *v, i64 n) {
  for (i64 i = 1; i < n; i++) if (v[i - 1] > v[i]) return -(i + 1);
  return n;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N36.remainders")) {
    volatile i32 seven = 7; const i64 n = 3'000'000; const i32 by = seven;
    auto k = below<i32>(n, 590, 1'000'000); auto v = uniform<f64>(n, 591, 1);
    bench("N36.remainders", [&] { return remainders(k.p, v.p, n, by); });
  }
  if (want("N36.sparse")) {
    const i64 n = 30'000; auto ends = gen<i64>(n + 1, [](size_t i) { return i64(10 * i); }); auto others = below<i32>(10 * n, 592, n);
    auto v = uniform<f64>(n, 593, 1); Buf<f64> to(n);
    vector("N36.sparse", to, [&] { sparse(ends.p, others.p, v.p, n, to.p); return n; });
  }
  if (want("N36.polar")) {
    const i64 n = 100'000; auto p = uniform<f64>(2 * n, 594, 1); Buf<f64> to(2 * n);
    vector("N36.polar", to, [&] { polar(p.p, n, to.p); return 2 * n; });
  }
  if (want("N36.ordered")) {
    const i64 n = 1'000'000; auto v = gen<i64>(n, [](size_t i) { return i64(i + bnd(595, i, 2)); });
    bench("N36.ordered", [&] { return f64(ordered(v.p, n)); });
  }
}
