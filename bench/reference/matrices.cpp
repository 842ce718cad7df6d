// S1 to S12: matrices row by row, and windows, in plain loops as one writes them in C, compiled by gcc -O3. One thread.
#include "common.hpp"

static void add_row(const f64 *__restrict x, const f64 *__restrict row, f64 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) for (i64 j = 0; j < c; j++) to[i * c + j] = x[i * c + j] + row[j];
}
static void add_column(const f64 *__restrict x, const f64 *__restrict col, f64 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) for (i64 j = 0; j < c; j++) to[i * c + j] = x[i * c + j] + col[i];
}
static void outer(const f64 *__restrict col, const f64 *__restrict row, f64 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) for (i64 j = 0; j < c; j++) to[i * c + j] = col[i] * row[j];
}
// in blocks that fit the first-level cache
static void transpose(const f64 *__restrict x, f64 *__restrict to, i64 r, i64 c) {
  const i64 B = 16;
  for (i64 jb = 0; jb < c; jb += B) for (i64 ib = 0; ib < r; ib += B)
    for (i64 j = jb; j < std::min(c, jb + B); j++) for (i64 i = ib; i < std::min(r, ib + B); i++) to[j * r + i] = x[i * c + j];
}
static void column_sums(const f64 *__restrict x, f64 *__restrict to, i64 r, i64 c) {
  memset(to, 0, size_t(c) * 8);
  for (i64 i = 0; i < r; i++) for (i64 j = 0; j < c; j++) to[j] += x[i * c + j];
}

// each element and its four neighbours, those at the ends counted as their own neighbours
static void neighbours(const f64 *__restrict x, f64 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) {
    const f64 *at = x + i * c, *up = i ? at - c : at, *down = i < r - 1 ? at + c : at;
    auto one = [&](i64 j, i64 left, i64 right) { to[i * c + j] = up[j] + down[j] + at[left] + at[right] - 4 * at[j]; };
    one(0, 0, std::min<i64>(1, c - 1));
    for (i64 j = 1; j < c - 1; j++) one(j, j - 1, j + 1);
    if (c > 1) one(c - 1, c - 2, c - 1);
  }
}

// means of windows of 2 k + 1 rows and columns, for each row of them all at once
static void windows(const f64 *__restrict x, f64 *__restrict to, i64 r, i64 c, i64 k) {
  const i64 wide = c - 2 * k;
  const f64 n = f64((2 * k + 1) * (2 * k + 1));
  for (i64 i = k; i < r - k; i++) {
    f64 *sums = to + (i - k) * wide;
    memset(sums, 0, size_t(wide) * 8);
    for (i64 di = -k; di <= k; di++) for (i64 dj = 0; dj <= 2 * k; dj++) {
      const f64 *from = x + (i + di) * c + dj;
      for (i64 j = 0; j < wide; j++) sums[j] += from[j];
    }
    for (i64 j = 0; j < wide; j++) sums[j] /= n;
  }
}

static void means(const f64 *__restrict x, f64 *__restrict to, i64 n, i64 w) {
  for (i64 i = 0; i < n - w + 1; i++) {
    f64 s = 0;
    for (i64 j = 0; j < w; j++) s += x[i + j];
    to[i] = s / f64(w);
  }
}
static void weighted(const f64 *__restrict x, const f64 *__restrict by, f64 *__restrict to, i64 n, i64 w) {
  for (i64 i = 0; i < n - w; i++) {
    f64 s = 0;
    for (i64 j = 0; j < w; j++) s += x[i + j] * by[j];
    to[i] = s;
  }
}
static void distances(const f64 *__restrict x, f64 *__restrict to, i64 n) {
  for (i64 i = 0; i < n; i++) for (i64 j = 0; j < n; j++) {
    const f64 a = x[3 * i] - x[3 * j], b = x[3 * i + 1] - x[3 * j + 1], d = x[3 * i + 2] - x[3 * j + 2];
    to[i * n + j] = sqrt(a * a + b * b + d * d);
  }
}
// rows of the result from rows of the second matrix
static void product(const f64 *__restrict x, f64 *__restrict to, i64 n) {
  memset(to, 0, size_t(n * n) * 8);
  for (i64 i = 0; i < n; i++) for (i64 l = 0; l < n; l++) {
    const f64 a = x[i * n + l];
    for (i64 j = 0; j < n; j++) to[i * n + j] += a * x[l * n + j];
  }
}
static void products_of_columns(const f64 *__restrict x, f64 *__restrict to, i64 r, i64 c) {
  memset(to, 0, size_t(c * c) * 8);
  for (i64 l = 0; l < r; l++) for (i64 i = 0; i < c; i++) {
    const f64 a = x[l * c + i];
    for (i64 j = 0; j < c; j++) to[i * c + j] += a * x[l * c + j];
  }
}

int main(int argc, char **argv) {
  init(argc, argv);
  for (i64 n : {2048, 4096}) {
    const std::string size = "." + std::to_string(n);
    auto any = [&](const char *name) { return want(name + size); };
    bool none = true;
    for (int k = 1; k <= 12; k++) none &= !any(("S" + std::to_string(k)).c_str());
    if (none) continue;
    auto x = gen<f64>(n * n, [](size_t i) { return u01(201, i) - 0.5; }), row = gen<f64>(n, [](size_t i) { return u01(202, i) - 0.5; }),
         col = gen<f64>(n, [](size_t i) { return u01(203, i) - 0.5; });
    Buf<f64> to(n * n);
    i64 m = n * n;
    auto time = [&](const char *name, auto f) {  // the checksum is no part of it
      if (!wantx(name + size)) return;
      bench(name + size, [&] { f(); keep(to.p); return 0.0; });
      f64 s = 0;
      for (i64 i = 0; i < m; i++) s += to[i] * f64(i % 7 + 1);
      printf("   %s%s chk %.12g\n", name, size.c_str(), s);
    };
    time("S1", [&] { add_row(x.p, row.p, to.p, n, n); });
    time("S2", [&] { add_column(x.p, col.p, to.p, n, n); });
    time("S3", [&] { outer(col.p, row.p, to.p, n, n); });
    time("S4", [&] { transpose(x.p, to.p, n, n); });
    time("S6", [&] { neighbours(x.p, to.p, n, n); });
    const i64 k = n / 1024;
    m = (n - 2 * k) * (n - 2 * k);
    time("S7", [&] { windows(x.p, to.p, n, n, k); });
    m = n * n - n / 256 + 1;
    time("S8", [&] { means(x.p, to.p, n * n, n / 256); });
    m = n * n - n / 64;
    time("S9", [&] { weighted(x.p, row.p, to.p, n * n, n / 64); });
    m = n * n;
    time("S10", [&] { distances(x.p, to.p, n); });
    m = (n / 4) * (n / 4);
    time("S11", [&] { product(x.p, to.p, n / 4); });
    m = 32 * 32;
    time("S12", [&] { products_of_columns(x.p, to.p, n * n / 32, 32); });
    m = n;
    time("S5", [&] { column_sums(x.p, to.p, n, n); });
  }
}
