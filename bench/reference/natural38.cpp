// N38 of what bench/natural.cpp runs, in plain loops as one writes them in C++, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>
#include <cmath>

#include "natural.hpp"

static void products(const f64 *x, const f64 *w, i64 rows, i64 width, f64 *__restrict to) {
  for (i64 r = 0; r < rows; r++) { f64 s = 0; for (i64 j = 0; j < width; j++) s += x[r * width + j] * w[j]; to[r] = s; }
}
static void chunks(const f64 *x, i64 n, i64 width, f64 *to) {
  for (i64 from = 0, k = 0; from < n; from += width, k++) {
    const i64 end = std::min(from + width, n);
    f64 s = 0;
    for (i64 i = from; i < end; i++) s += x[i];
    to[k] = s;
  }
}
static void gradient(const f64 *x, const f64 *y, const f64 *w, i64 rows, i64 width, f64 *__restrict to) {
  for (i64 j = 0; j < width; j++) to[j] = 0;
  for (i64 r = 0; r < rows; r++) {
    const f64 *row = x + r * width;
    f64 score = 0;
    for (i64 j = 0; j < width; j++) score += row[j] * w[j];
    const f64 error = 1 / (1 + std::exp(-score)) - y[r];
    for (i64 j = 0; j < width; j++) to[j] += row[j] * error;
  }
}

int main(int argc, char **argv) {
  init(argc, argv);
  volatile i64 twelve = 12, fifty = 50, forty = 40;  // as a program that is given them
  if (want("N38.twelve")) {
    const i64 n = 50'001, width = twelve; auto x = uniform<f64>(n * width, 607, 1), w = uniform<f64>(width, 608, 1); Buf<f64> to(n);
    vector("N38.twelve", to, [&] { products(x.p, w.p, n, width, to.p); return n; });
  }
  if (want("N38.chunks")) {
    const i64 n = 1'000'010, width = fifty, count = (n + width - 1) / width; auto x = uniform<f64>(n, 609, 1); Buf<f64> to(count);
    vector("N38.chunks", to, [&] { chunks(x.p, n, width, to.p); return count; });
  }
  if (want("N38.gradient")) {
    const i64 n = 500'000, width = forty; auto x = uniform<f64>(n * width, 610, 1), y = uniform<f64>(n, 611, 1), w = uniform<f64>(width, 612, 1); Buf<f64> to(width);
    vector("N38.gradient", to, [&] { gradient(x.p, y.p, w.p, n, width, to.p); return width; });
  }
}
