// N37 of what bench/natural.cpp runs, in plain loops as one writes them in C++, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>
#include <vector>

#include "natural.hpp"

static f64 pairs(const i32 *a, const i32 *c, const f64 *x, i64 n) {
  struct Group { f64 sum = 0; i64 count = 0; };
  std::vector<Group> groups(16);
  for (i64 i = 0; i < n; i++) { Group &g = groups[a[i] * 4 + c[i]]; g.sum += x[i]; g.count++; }
  f64 all = 0;
  for (i32 k = 0; k < 16; k++) if (groups[k].count) all += groups[k].sum / f64(groups[k].count) * f64(k / 4 * 5 + k % 4);
  return all;
}
static f64 extremes(const int8_t *a, const int8_t *c, const int16_t *x, i64 n) {
  struct Group { i64 sum = 0; int16_t least = 32767, greatest = -32768; };
  std::vector<Group> groups(65536);
  for (i64 i = 0; i < n; i++) {
    Group &g = groups[u8(a[i]) * 256 + u8(c[i])];
    g.sum += x[i]; g.least = std::min(g.least, x[i]); g.greatest = std::max(g.greatest, x[i]);
  }
  f64 all = 0;
  for (i64 k = 0; k < 65536; k++)
    if (groups[k].greatest >= groups[k].least)
      all += f64(groups[k].sum) / 1000 + f64(i64(groups[k].least) * 3 + groups[k].greatest) * f64(k / 256 * 7 + k % 256);
  return all;
}
static void cumulated(const f64 *m, i64 rows, i64 columns, f64 *to) {
  for (i64 i = 0; i < rows; i++) { f64 s = 0; for (i64 j = 0; j < columns; j++) to[i * columns + j] = s += m[i * columns + j]; }
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N37.pairs")) {
    const i64 n = 2'000'000; auto a = below<i32>(n, 600, 4), c = below<i32>(n, 601, 3); auto x = uniform<f64>(n, 602, 1);
    bench("N37.pairs", [&] { return pairs(a.p, c.p, x.p, n); });
  }
  if (want("N37.extremes")) {
    const i64 n = 2'000'000; auto a = below<int8_t>(n, 603, 3), c = below<int8_t>(n, 604, 7); auto x = below<int16_t>(n, 605, 1000);
    bench("N37.extremes", [&] { return extremes(a.p, c.p, x.p, n); });
  }
  if (want("N37.cumulated")) {
    const i64 rows = 30'000, columns = 20; auto m = uniform<f64>(rows * columns, 606, 1); Buf<f64> to(rows * columns);
    vector("N37.cumulated", to, [&] { cumulated(m.p, rows, columns, to.p); return rows * columns; });
  }
}
