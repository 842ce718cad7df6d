// N28 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"

static void search(const i64 *v, i64 n, const i64 *q, i64 m, i64 *__restrict to) {
  for (i64 i = 0; i < m; i++) {
    i64 lo = 0, hi = n;
    while (lo < hi) { const i64 h = (lo + hi) / 2; if (v[h] < q[i]) lo = h + 1; else hi = h; }
    to[i] = lo;
  }
}
static void chains(const i32 *next, const i32 *from, i64 m, i64 *__restrict to) {
  for (i64 i = 0; i < m; i++) {
    i32 x = from[i]; i64 k = 0;
    do x = next[x], k++; while ((x & 15) && k < 100);
    to[i] = k;
  }
}
static f64 few(const i32 *day, const i64 *item, const f64 *price, const f64 *rebate, const u8 *offers, i64 n) {
  f64 offered = 0, all = 0;
  for (i64 i = 0; i < n; i++)
    if (day[i] >= 1000 && day[i] < 1030) {
      const f64 paid = price[i] * (1 - rebate[i]);
      if (offers[item[i]]) offered += paid;
      all += paid;
    }
  return offered / all;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N28.search")) {
    const i64 n = 1'000'000, m = 500'000; auto v = gen<i64>(n, [](size_t i) { return i64(3 * i + bnd(500, i, 3)); });
    auto q = below<i64>(m, 501, 3 * n); Buf<i64> to(m);
    vector("N28.search", to, [&] { search(v.p, n, q.p, m, to.p); return m; });
  }
  if (want("N28.chains")) {
    const i64 n = 1'000'000, m = 200'000; auto next = below<i32>(n, 502, n), from = below<i32>(m, 503, n); Buf<i64> to(m);
    vector("N28.chains", to, [&] { chains(next.p, from.p, m, to.p); return m; });
  }
  if (want("N28.few")) {
    const i64 n = 2'000'000; auto day = below<i32>(n, 504, 2400); auto item = below<i64>(n, 505, 1000);
    auto price = uniform<f64>(n, 506, 100), rebate = uniform<f64>(n, 507, 0.1); auto offers = below<u8>(1000, 508, 2);
    bench("N28.few", [&] { return few(day.p, item.p, price.p, rebate.p, offers.p, n); });
  }
}
