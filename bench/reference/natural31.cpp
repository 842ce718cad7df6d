// N31 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"

// Widths and strides are parameters, as they are in the programs.
static void units(const f64 *x, i64 n, i64 width, f64 *__restrict to) {
  for (i64 r = 0; r < n; r++, x += width, to += width) {
    f64 s = 0;
    for (i64 j = 0; j < width; j++) s += x[j] * x[j];
    s = std::sqrt(s);
    for (i64 j = 0; j < width; j++) to[j] = x[j] / s;
  }
}
static void points(const f64 *x, const f64 *m, i64 n, i64 height, i64 width, f64 *__restrict to) {
  for (i64 r = 0; r < n; r++, x += width)
    for (i64 k = 0; k < height; k++) {
      f64 s = 0;
      for (i64 j = 0; j < width; j++) s += m[k * width + j] * x[j];
      *to++ = s;
    }
}
static void powers(const f64 *x, i64 n, f64 *__restrict to) {
  for (i64 i = 0; i < n; i++) to[3 * i] = x[i], to[3 * i + 1] = x[i] * x[i], to[3 * i + 2] = x[i] * x[i] * x[i];
}
static void turned(const f64 *x, i64 h, i64 w, i64 down, i64 right, f64 *__restrict to) {
  for (i64 i = 0; i < h; i++)
    for (i64 j = 0; j < w; j++) to[i * w + j] = 2 * x[i * down + j * right];
}
static void parts(const f64 *x, const f64 *y, i64 h, i64 w, i64 stride, f64 *__restrict to) {
  for (i64 i = 0; i < h; i++)
    for (i64 j = 0; j < w; j++) to[i * w + j] = x[1 + i * stride + j] + y[stride + i * stride + j];
}

int main(int argc, char **argv) {
  init(argc, argv);
  volatile i64 one = 1, three = 3, four = 4, thousand = 1000;
  if (want("N31.units")) {
    const i64 n = 200'000; auto x = uniform<f64>(3 * n, 540, 1); Buf<f64> to(3 * n);
    vector("N31.units", to, [&] { units(x.p, n, three, to.p); return 3 * n; });
  }
  if (want("N31.points")) {
    const i64 n = 100'000; auto x = uniform<f64>(4 * n, 541, 1), m = uniform<f64>(16, 542, 1); Buf<f64> to(4 * n);
    vector("N31.points", to, [&] { points(x.p, m.p, n, four, four, to.p); return 4 * n; });
  }
  if (want("N31.powers")) {
    const i64 n = 200'000; auto x = uniform<f64>(n, 543, 1); Buf<f64> to(3 * n);
    vector("N31.powers", to, [&] { powers(x.p, n, to.p); return 3 * n; });
  }
  if (want("N31.turned")) {
    const i64 n = 1'000'000; auto x = uniform<f64>(n, 544, 1); Buf<f64> to(n);
    vector("N31.turned", to, [&] { turned(x.p, thousand, thousand, one, thousand, to.p); return n; });
  }
  if (want("N31.parts")) {
    const i64 n = 1'000'000; auto x = uniform<f64>(n, 545, 1), y = uniform<f64>(n, 546, 1); Buf<f64> to(n);
    vector("N31.parts", to, [&] { parts(x.p, y.p, 999, 998, thousand, to.p); return i64(999 * 998); });
  }
}
