// N35 of what bench/natural.cpp runs, in plain loops as one writes them in C++, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>
#include <cmath>
#include <vector>

#include "natural.hpp"

static void prices(const f64 *strike, i64 count, i64 n, f64 *to) {
  const f64 up = 1.01, p = 0.503, step = 0.9999;
  std::vector<f64> v(n + 1);
  for (i64 i = 0; i < count; i++) {
    for (i64 j = 0; j <= n; j++) v[j] = std::max(100.0 * std::pow(up, f64(2 * j - n)) - strike[i], 0.0);
    for (i64 m = n; m > 0; m--)
      for (i64 j = 0; j < m; j++) v[j] = step * (p * v[j + 1] + (1 - p) * v[j]);
    to[i] = v[0];
  }
}
static f64 trades(const f64 *p, i64 n, i64 k) {
  std::vector<f64> hold(k + 1, -1e9), cash(k + 1);
  for (i64 i = 0; i < n; i++)
    for (i64 j = k; j >= 1; j--) {
      const f64 held = std::max(hold[j], cash[j - 1] - p[i]);
      cash[j] = std::max(cash[j], held + p[i]);
      hold[j] = held;
    }
  return cash[k];
}
static i64 edits(const u8 *a, i64 m, const u8 *b, i64 n) {
  std::vector<i32> above(n + 1), row(n + 1);
  for (i64 j = 0; j <= n; j++) above[j] = j;
  for (i64 i = 0; i < m; i++) {
    row[0] = i + 1;
    for (i64 j = 0; j < n; j++)
      row[j + 1] = std::min(std::min(row[j] + 1, above[j + 1] + 1), above[j] + (a[i] != b[j]));
    std::swap(above, row);
  }
  return above[n];
}
static i64 paths(const i64 *cost, i64 rows, i64 w) {
  std::vector<i64> above(cost, cost + w), row(w);
  for (i64 y = 1; y < rows; y++) {
    for (i64 j = 0; j < w; j++) {
      i64 least = above[j];
      if (j > 0) least = std::min(least, above[j - 1]);
      if (j < w - 1) least = std::min(least, above[j + 1]);
      row[j] = cost[y * w + j] + least;
    }
    above.swap(row);
  }
  return *std::min_element(above.begin(), above.end());
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N35.prices")) {
    volatile i64 steps = 200; const i64 count = 500, n = steps; auto k = gen<f64>(count, [](size_t i) { return 75 + 50 * u01(580, i); }); Buf<f64> to(count);
    vector("N35.prices", to, [&] { prices(k.p, count, n, to.p); return count; });
  }
  if (want("N35.trades")) {
    volatile i64 twenty = 20; const i64 n = 20'000, k = twenty; auto p = uniform<f64>(n, 581, 1);
    bench("N35.trades", [&] { return trades(p.p, n, k); });
  }
  if (want("N35.edits")) {
    const i64 m = 1'500, n = 1'000; auto a = below<u8>(m, 582, 4), b = below<u8>(n, 583, 4);
    bench("N35.edits", [&] { return f64(edits(a.p, m, b.p, n)); });
  }
  if (want("N35.paths")) {
    volatile i64 width = 500; const i64 rows = 1'000, w = width; auto cost = below<i64>(rows * w, 584, 100);
    bench("N35.paths", [&] { return f64(paths(cost.p, rows, w)); });
  }
}
