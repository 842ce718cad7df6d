// N30 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"

// Widths are parameters, as they are in the programs.
static void norms(const f64 *x, i64 n, i64 width, f64 *__restrict to) {
  for (i64 r = 0; r < n; r++, x += width) {
    f64 s = 0;
    for (i64 j = 0; j < width; j++) s += x[j] * x[j];
    to[r] = std::sqrt(s);
  }
}
static void scores(const f64 *x, const f64 *w, i64 n, i64 width, f64 *__restrict to) {
  for (i64 r = 0; r < n; r++, x += width) {
    f64 s = 0;
    for (i64 j = 0; j < width; j++) s += x[j] * w[j];
    to[r] = s;
  }
}
static void spans(const f32 *x, i64 n, i64 width, f32 *__restrict to) {
  for (i64 r = 0; r < n; r++, x += width) {
    f32 most = x[0], least = x[0];
    for (i64 j = 1; j < width; j++) most = std::max(most, x[j]), least = std::min(least, x[j]);
    to[r] = most - least;
  }
}
static i64 near(const f64 *x, const f64 *p, i64 n, i64 width, i64 *__restrict to) {
  i64 found = 0;
  for (i64 r = 0; r < n; r++, x += width) {
    f64 s = 0;
    for (i64 j = 0; j < width; j++) s += (x[j] - p[j]) * (x[j] - p[j]);
    if (s < 0.2) to[found++] = r;
  }
  return found;
}

int main(int argc, char **argv) {
  init(argc, argv);
  volatile i64 three = 3, ten = 10, eight = 8, four = 4;
  if (want("N30.norms")) {
    const i64 n = 200'000; auto x = uniform<f64>(3 * n, 520, 1); Buf<f64> to(n);
    vector("N30.norms", to, [&] { norms(x.p, n, three, to.p); return n; });
  }
  if (want("N30.scores")) {
    const i64 n = 60'000; auto x = uniform<f64>(10 * n, 521, 1), w = uniform<f64>(10, 522, 1); Buf<f64> to(n);
    vector("N30.scores", to, [&] { scores(x.p, w.p, n, ten, to.p); return n; });
  }
  if (want("N30.spans")) {
    const i64 n = 100'000; auto x = uniform<f32>(8 * n, 523, 1); Buf<f32> to(n);
    vector("N30.spans", to, [&] { spans(x.p, n, eight, to.p); return n; });
  }
  if (want("N30.near")) {
    const i64 n = 150'000; auto x = uniform<f64>(4 * n, 524, 1), p = uniform<f64>(4, 525, 1); Buf<i64> to(n);
    vector("N30.near", to, [&] { return near(x.p, p.p, n, four, to.p); });
  }
}
