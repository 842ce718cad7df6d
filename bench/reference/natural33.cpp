// N33 of what bench/natural.cpp runs, in plain loops as one writes them in C++, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>

#include "natural.hpp"

static void dots(const f64 *x, i64 n, const f64 *w, i64 width, f64 *to) {
  for (i64 r = 0; r < n; r++, x += width) {
    f64 s = 0;
    for (i64 j = 0; j < width; j++) s += x[j] * w[j];
    to[r] = s;
  }
}
static f64 most(const i64 *k, const f64 *v, i64 n) {
  Table<i64, f64> t(16);
  for (i64 i = 0; i < n; i++) t[k[i]] += v[i];
  f64 all = 0;
  for (auto &e : t.slots) if (e.used) all = std::max(all, e.value);
  return all;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N33.dots")) {
    volatile i64 six = 6; const i64 n = 100'000, width = six; auto x = uniform<f64>(n * width, 560, 1), w = uniform<f64>(width, 561, 1); Buf<f64> to(n);
    vector("N33.dots", to, [&] { dots(x.p, n, w.p, width, to.p); return n; });
  }
  if (want("N33.frequent")) {
    const i64 n = 8'000'000;
    auto k = gen<i64>(n, [](size_t i) { return i64(sm(562, i) & ((u64(2) << bnd(563, i, 20)) - 1)); });
    auto v = below<i64>(n, 564, 1000);
    bench("N33.frequent", [&] { return f64(sums_by_keys(k.p, v.p, n)); });
  }
  if (want("N33.sorted")) {
    const i64 n = 8'000'000;
    auto k = gen<i64>(n, [](size_t i) { return i64(i / 16); }); auto v = uniform<f64>(n, 565, 100);
    bench("N33.sorted", [&] { return most(k.p, v.p, n); });
  }
}
