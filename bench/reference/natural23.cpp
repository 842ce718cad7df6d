// N23 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>
#include "natural.hpp"

static void heat(const f32 *__restrict t, const f32 *__restrict h, i64 n, f32 *__restrict to) {
  for (i64 i = 0; i < n; i++) {
    f32 f = t[i] * 1.8f + 32, r = h[i], felt = .5f * (f + 61 + (f - 68) * 1.2f + r * .094f);
    if ((felt + f) * .5f >= 80) {
      f32 y = 2.04901523f * f + 10.14333127f * r - 42.379f - .22475541f * f * r - .00683783f * f * f - .05481717f * r * r +
              .00122874f * f * f * r + .00085282f * f * r * r - .00000199f * f * f * r * r;
      if (r < 13 && f <= 112) y -= (13 - r) * .25f * std::sqrt((17 - std::fabs(f - 95)) / 17);
      else if (r > 85 && f <= 87) y += (r - 85) * (87 - f) * .02f;
      felt = y;
    }
    to[i] = (felt - 32) / 1.8f;
  }
}
static f64 picks(const i32 *item, const f32 *chance, const f64 *price, i64 n) {
  f64 s = 0;
  for (i64 i = 0; i < n; i++) if (chance[i] < .5f) s += price[item[i]];
  return s;
}
static void ratios(const i32 *__restrict a, const i32 *__restrict b, i64 n, i32 *__restrict to) {
  for (i64 i = 0; i < n; i++) to[i] = b[i] ? a[i] / b[i] : -1;
}
static void decays(const f64 *__restrict t, i64 n, f64 *__restrict to) {
  for (i64 i = 0; i < n; i++) to[i] = std::exp(-t[i]) - std::exp(-3 * t[i]);
}
static void nine(const f32 *__restrict v, i64 n, f32 *__restrict to) {
  for (i64 i = 0; i < n - 8; i++) {
    f32 s = 0;
    for (i64 k = 0; k < 9; k++) s += v[i + k];
    to[i] = s;
  }
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N23.heat")) {
    const i64 n = 1'000'000; auto t = uniform<f32>(n, 456, 45), h = uniform<f32>(n, 457, 100); Buf<f32> to(n);
    vector("N23.heat", to, [&] { heat(t.p, h.p, n, to.p); return n; });
  }
  if (want("N23.picks")) {
    const i64 n = 2'000'000; auto item = below<i32>(n, 458, 4000); auto chance = uniform<f32>(n, 459, 1); auto price = uniform<f64>(4000, 460, 100); Buf<f64> to(1);
    vector("N23.picks", to, [&] { to[0] = picks(item.p, chance.p, price.p, n); return i64(1); });
  }
  if (want("N23.ratios")) {
    const i64 n = 2'000'000; auto a = below<i32>(n, 461, 1'000'000'000), b = below<i32>(n, 462, 1000); Buf<i32> to(n);
    vector("N23.ratios", to, [&] { ratios(a.p, b.p, n, to.p); return n; });
  }
  if (want("N23.decays")) {
    const i64 n = 1'000'000; auto t = uniform<f64>(n, 463, 5); Buf<f64> to(n);
    vector("N23.decays", to, [&] { decays(t.p, n, to.p); return n; });
  }
  if (want("N23.nine")) {
    const i64 n = 2'000'000; auto v = uniform<f32>(n, 464, 1); Buf<f32> to(n);
    vector("N23.nine", to, [&] { nine(v.p, n, to.p); return n - 8; });
  }
  if (want("N23.order")) {
    const i64 n = 1'000'000; auto v = below<i32>(n, 465, 2'000'000'000); Buf<i32> to(n);
    vector("N23.order", to, [&] { std::copy(v.p, v.p + n, to.p); std::sort(to.p, to.p + n); return n; });
  }
}
