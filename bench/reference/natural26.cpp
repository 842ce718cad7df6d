// N26 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"
#include <cmath>

static f64 loss(const f64 *x, const f64 *w, i64 rows) {
  f64 s = 0;
  for (i64 r = 0; r < rows; r++, x += 16) {
    f64 z = 0;
    for (int j = 0; j < 16; j++) z += x[j] * w[j];
    s += std::log(1 + std::exp(z - 4));
  }
  return s;
}
static void cosines(const f32 *m, const f32 *q, i64 rows, f32 *__restrict to) {
  f32 norm = 0;
  for (int j = 0; j < 64; j++) norm += q[j] * q[j];
  norm = std::sqrt(norm);
  for (i64 r = 0; r < rows; r++, m += 64) {
    f32 s = 0, t = 0;
    for (int j = 0; j < 64; j++) s += m[j] * q[j], t += m[j] * m[j];
    to[r] = s / (std::sqrt(t) * norm);
  }
}
static i64 sixteen(const i32 *v, i64 n, i64 rounds) {
  Buf<i32> more(n); i64 s = 0;
  for (i64 r = 0; r < rounds; r++) {
    const i32 least = i32(r & 1023); i64 k = 0;
    for (i64 i = 0; i < n; i++) more[k] = v[i], k += v[i] > least;
    s += k + more[k / 2];
  }
  return s;
}
static i64 found(const i64 *keys, i64 n, const i64 *rows, i64 count) {
  Table<i64, i64> values(n); i64 s = 0;
  for (i64 i = 0; i < n; i++) values[keys[i]] += i;
  for (i64 i = 0; i < count; i++) { auto &slot = values.at(values.hash(u64(rows[i])), rows[i]); if (slot.used) s += slot.value; }
  return s;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N26.loss")) {
    const i64 n = 300'000; auto x = uniform<f64>(16 * n, 482, 1), w = uniform<f64>(16, 483, 1); Buf<f64> to(1);
    vector("N26.loss", to, [&] { to[0] = loss(x.p, w.p, n); return i64(1); });
  }
  if (want("N26.cosines")) {
    const i64 n = 20'000; auto m = uniform<f32>(64 * n, 484, 1), q = uniform<f32>(64, 485, 1); Buf<f32> to(n);
    vector("N26.cosines", to, [&] { cosines(m.p, q.p, n, to.p); return n; });
  }
  if (want("N26.sixteen")) {
    const i64 n = 16, rounds = 100'000; auto v = gen<i32>(n, [](size_t i) { return i32(500 + bnd(486, i, 10000)); }); Buf<i64> to(1);
    vector("N26.sixteen", to, [&] { to[0] = sixteen(v.p, n, rounds); return i64(1); });
  }
  if (want("N26.found")) {
    const i64 n = 20'000, count = 4'000'000; auto keys = gen<i64>(n, [](size_t i) { return i64(sm(487, i) >> 1); }); Buf<i64> to(1);
    auto rows = gen<i64>(count, [](size_t i) { return i64(sm(487, bnd(488, i, 20'000)) >> 1); });
    vector("N26.found", to, [&] { to[0] = found(keys.p, n, rows.p, count); return i64(1); });
  }
}
