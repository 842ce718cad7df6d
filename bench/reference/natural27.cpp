// N27 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"
#include <string_view>

static void covariances(const f64 *m, i64 n, f64 *__restrict to) {
  constexpr int w = 16; f64 means[w] = {}, t[w];
  for (i64 r = 0; r < n; r++) for (int j = 0; j < w; j++) means[j] += m[r * w + j];
  for (f64 &x : means) x /= n;
  for (int k = 0; k < w * w; k++) to[k] = 0;
  for (i64 r = 0; r < n; r++, m += w) {
    for (int j = 0; j < w; j++) t[j] = m[j] - means[j];
    for (int p = 0; p < w; p++) for (int q = 0; q < w; q++) to[p * w + q] += t[p] * t[q];
  }
  for (int k = 0; k < w * w; k++) to[k] /= n;
}
static void bits(const i64 *v, i64 n, i64 *__restrict to) {
  for (i64 i = 0; i < n; i++) { i64 k = 0; for (u64 x = u64(v[i]); x; x &= x - 1) k++; to[i] = k; }
}
static i64 within(const i64 *ends, const u8 *letters, i64 n) {
  i64 sum = 0;
  for (i64 i = 0; i < n; i++) {
    const std::string_view word(reinterpret_cast<const char *>(letters) + ends[i], size_t(ends[i + 1] - ends[i]));
    if (word.find("abc") != word.npos) sum += i64(word.size());
  }
  return sum;
}
static void running(const i32 *v, i64 n, i64 *__restrict to) {
  i64 s = 0;
  for (i64 i = 0; i < n; i++) s += v[i], to[i] = s;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N27.covariances")) {
    const i64 n = 200'000; auto m = uniform<f64>(16 * n, 489, 1); Buf<f64> to(256);
    vector("N27.covariances", to, [&] { covariances(m.p, n, to.p); return i64(256); });
  }
  if (want("N27.bits")) {
    const i64 n = 2'000'000; auto v = gen<i64>(n, [](size_t i) { return i64(sm(490, i)); }); Buf<i64> to(n);
    vector("N27.bits", to, [&] { bits(v.p, n, to.p); return n; });
  }
  if (want("N27.within")) {
    const i64 n = 1'000'000; auto ends = gen<i64>(n + 1, [](size_t i) { return i ? i64(3 + bnd(491, i - 1, 10)) : 0; });
    for (i64 i = 1; i <= n; i++) ends[i] += ends[i - 1];
    auto letters = gen<u8>(ends[n], [](size_t i) { return u8(97 + bnd(492, i, 26)); }); Buf<i64> to(1);
    vector("N27.within", to, [&] { to[0] = within(ends.p, letters.p, n); return i64(1); });
  }
  if (want("N27.running")) {
    const i64 n = 2'000'000; auto v = below<i32>(n, 493, 1000); Buf<i64> to(n);
    vector("N27.running", to, [&] { running(v.p, n, to.p); return n; });
  }
}
