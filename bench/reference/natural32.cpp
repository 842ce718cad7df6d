// N32 of what bench/natural.cpp runs, in plain loops as one writes them in C++, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>
#include <functional>

#include "natural.hpp"

static void middles(const f64 *x, i64 n, i64 width, f64 *to) {
  std::vector<f64> row(width);
  for (i64 r = 0; r < n; r++, x += width) {
    std::copy(x, x + width, row.begin());
    std::nth_element(row.begin(), row.begin() + width / 2, row.end());
    to[r] = row[width / 2];
  }
}
static void greatest(const f64 *x, i64 n, i64 width, f64 *to) {
  for (i64 r = 0; r < n; r++, x += width, to += 5) std::partial_sort_copy(x, x + width, to, to + 5, std::greater<f64>());
}
static void product(const f64 *x, const f64 *y, i64 n, f64 *__restrict to) {
  std::fill(to, to + n * n, 0);
  for (i64 i = 0; i < n; i++)
    for (i64 k = 0; k < n; k++)
      for (i64 j = 0; j < n; j++) to[i * n + j] += x[i * n + k] * y[k * n + j];
}
static i64 looked_up(const i64 *k, const i64 *v, i64 n, const i64 *sought, i64 m) {
  Table<i64, i64> t(n);
  for (i64 i = 0; i < n; i++) t[k[i]] += v[i];
  i64 sum = 0;
  for (i64 i = 0; i < m; i++) sum += t[sought[i]];
  return sum;
}

int main(int argc, char **argv) {
  init(argc, argv);
  volatile i64 twenty_five = 25, forty = 40;
  constexpr i64 step = 1'037'389;
  if (want("N32.middles")) {
    const i64 n = 60'000; auto x = uniform<f64>(25 * n, 550, 1); Buf<f64> to(n);
    vector("N32.middles", to, [&] { middles(x.p, n, twenty_five, to.p); return n; });
  }
  if (want("N32.greatest")) {
    const i64 n = 30'000; auto x = uniform<f64>(40 * n, 551, 1); Buf<f64> to(5 * n);
    vector("N32.greatest", to, [&] { greatest(x.p, n, forty, to.p); return 5 * n; });
  }
  if (want("N32.falling")) {
    const i64 n = 1'000'000; auto x = below<i64>(n, 552, u64(1) << 40); Buf<i64> to(n);
    vector("N32.falling", to, [&] { std::copy(x.p, x.p + n, to.p); std::sort(to.p, to.p + n, std::greater<i64>()); return n; });
  }
  if (want("N32.product")) {
    volatile i64 n = 512; auto x = uniform<f64>(n * n, 557, 1), y = uniform<f64>(n * n, 558, 1); Buf<f64> to(n * n);
    vector("N32.product", to, [&] { product(x.p, y.p, n, to.p); return n * n; });
  }
  if (want("N32.steps")) {
    const i64 n = 1'000'000, m = 5'000'000;
    auto k = gen<i64>(n, [](size_t i) { return i64(i) * step; });
    auto v = below<i64>(n, 553, 1000), sought = gen<i64>(m, [](size_t i) { return i64(bnd(554, i, 1'000'000)) * step; });
    bench("N32.steps", [&] { return f64(looked_up(k.p, v.p, n, sought.p, m)); });
  }
  if (want("N32.sums")) {
    const i64 n = 5'000'000;
    auto k = gen<i64>(n, [](size_t i) { return i64(bnd(555, i, 300'000)) * step; });
    auto v = below<i64>(n, 556, 1000);
    bench("N32.sums", [&] { return f64(sums_by_keys(k.p, v.p, n)); });
  }
}
