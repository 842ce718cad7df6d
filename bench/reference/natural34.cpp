// N34 of what bench/natural.cpp runs, in plain loops as one writes them in C++, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>

#include "natural.hpp"

static void colours(const f32 *r, const f32 *g, const f32 *b, i64 n, const f32 *palette, i64 count, f32 *to) {
  for (i64 i = 0; i < n; i++) {
    f32 least = 3e38f;
    for (i64 c = 0; c < count; c++) {
      const f32 x = r[i] - palette[3 * c], y = g[i] - palette[3 * c + 1], z = b[i] - palette[3 * c + 2];
      least = std::min(least, x * x + y * y + z * z);
    }
    to[i] = least;
  }
}
static void nearest(const f64 *x, i64 n, const f64 *centres, i64 count, i64 width, i64 *to) {
  for (i64 i = 0; i < n; i++) {
    f64 least = 1e300;
    for (i64 c = 0; c < count; c++) {
      f64 d = 0;
      for (i64 j = 0; j < width; j++) { const f64 t = x[i * width + j] - centres[c * width + j]; d += t * t; }
      if (d < least) { least = d; to[i] = c; }
    }
  }
}
static void means(const f64 *x, i64 n, i64 width, f64 *to) {
  for (i64 r = 0; r < n; r++, x += width) {
    f64 s = 0;
    for (i64 j = 0; j < width; j++) s += x[j];
    to[r] = s / f64(width);
  }
}
static i64 touching(const f64 *c, i64 n) {
  i64 all = 0;
  for (i64 i = 0; i < n; i++)
    for (i64 j = i + 1; j < n; j++) {
      const f64 x = c[3 * i] - c[3 * j], y = c[3 * i + 1] - c[3 * j + 1], r = c[3 * i + 2] + c[3 * j + 2];
      all += x * x + y * y < r * r;
    }
  return all;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N34.colours")) {
    const i64 n = 300'000, count = 16; auto r = uniform<f32>(n, 570, 1), g = uniform<f32>(n, 571, 1), b = uniform<f32>(n, 572, 1), p = uniform<f32>(3 * count, 573, 1); Buf<f32> to(n);
    vector("N34.colours", to, [&] { colours(r.p, g.p, b.p, n, p.p, count, to.p); return n; });
  }
  if (want("N34.nearest")) {
    volatile i64 sixteen = 16; const i64 n = 100'000, width = sixteen, count = sixteen; auto x = uniform<f64>(n * width, 574, 1), c = uniform<f64>(count * width, 575, 1); Buf<i64> to(n);
    vector("N34.nearest", to, [&] { nearest(x.p, n, c.p, count, width, to.p); return n; });
  }
  if (want("N34.means")) {
    volatile i64 twenty = 20; const i64 n = 40'000, width = twenty; auto x = uniform<f64>(n * width, 576, 1); Buf<f64> to(n);
    vector("N34.means", to, [&] { means(x.p, n, width, to.p); return n; });
  }
  if (want("N34.touching")) {
    const i64 n = 1'500; auto c = gen<f64>(3 * n, [](size_t i) { return u01(577, i) * (i % 3 == 2 ? 0.02 : 1); });
    bench("N34.touching", [&] { return f64(touching(c.p, n)); });
  }
}
