// W16: as many rounds per element as it takes. On vectors until the last lane has ended, several vectors at once
// where rounds are long chains; and one element after the other.
#include "common.hpp"
#include "simd.hpp"
constexpr size_t GR = 1 << 14;

// rounds of `K` vectors from element i on; step(k, active) does one of vector k and gives which lanes go on
template <int K, class F> static inline void until_all_ended(F step) {
  M on[K]; for (auto &m : on) m = hn::FirstN(dd, VN);
  for (bool any = true; any;) { any = false;
    for (int k = 0; k < K; k++) { on[k] = hn::And(on[k], step(k, on[k])); any |= !hn::AllFalse(dd, on[k]); } }
}

template <int K> static f64 newton(const f64 *p, size_t lo, size_t hi) {
  V all = zero(); size_t i = lo;
  for (; i + K * VN <= hi; i += K * VN) {
    V e[K], s[K]; int round = 0; for (int k = 0; k < K; k++) { e[k] = ld(p + i + k * VN); s[k] = S(.5) * (e[k] + S(1)); }
    until_all_ended<K>([&](int k, M on) { V y = S(.5) * (s[k] + e[k] / s[k]), d = y - s[k]; s[k] = hn::IfThenElse(on, y, s[k]);
      return hn::And(hn::Gt(d * d, S(1e-24)), round++ / K < 50 ? hn::FirstN(dd, VN) : hn::FirstN(dd, 0)); });
    for (int k = 0; k < K; k++) all += s[k]; }
  f64 r = sum(all);
  for (; i < hi; i++) { f64 s = .5 * (p[i] + 1); for (int k = 0;; k++) { f64 y = .5 * (s + p[i] / s), d = y - s; s = y; if (!(d * d > 1e-24 && k < 50)) break; } r += s; }
  return r;
}

template <int K> static i64 mandelbrot(const f64 *re, const f64 *im, size_t lo, size_t hi) {
  VI all = hn::Zero(di); size_t i = lo;
  for (; i + K * VN <= hi; i += K * VN) {
    V a[K], b[K], x[K], y[K]; VI n[K]; int round = 0;
    for (int k = 0; k < K; k++) { x[k] = a[k] = ld(re + i + k * VN); y[k] = b[k] = ld(im + i + k * VN); n[k] = hn::Zero(di); }
    until_all_ended<K>([&](int k, M on) { V u = hn::MulAdd(x[k], x[k], a[k] - y[k] * y[k]), v = hn::MulAdd(S(2) * x[k], y[k], b[k]);
      n[k] = hn::IfThenElse(hn::RebindMask(di, on), n[k] + hn::Set(di, 1), n[k]); x[k] = u; y[k] = v; // what has ended no longer counts
      return hn::And(hn::Lt(hn::MulAdd(u, u, v * v), S(4)), round++ / K < 99 ? hn::FirstN(dd, VN) : hn::FirstN(dd, 0)); });
    for (int k = 0; k < K; k++) all = all + n[k]; }
  i64 r = hn::GetLane(hn::SumOfLanes(di, all));
  for (; i < hi; i++) { f64 x = re[i], y = im[i]; i64 k = 0; for (;;) { f64 u = x * x - y * y + re[i], v = 2 * x * y + im[i]; x = u; y = v; if (!(u * u + v * v < 4 && k++ < 99)) break; } r += k + (k < 100); }
  return r;
}

static i64 counted_down(const i64 *p, size_t lo, size_t hi) {
  i64 all = 0;
  for (size_t i = lo; i < hi; i++) { i64 e = p[i], s = 0; do { s = (s ^ e) * 3; e--; } while (e >= 0); all += s; }
  return all;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("W16.newton")) {
    size_t n = 10000000; auto x = gen<f64>(n, [](size_t i) { return 100 * u01(161, i); });
    bench("W16.newton.1", [&] { return pred<f64>(n, GR, [&](size_t lo, size_t hi) { return newton<1>(x.p, lo, hi); }); });
    bench("W16.newton.4", [&] { return pred<f64>(n, GR, [&](size_t lo, size_t hi) { return newton<4>(x.p, lo, hi); }); });
  }
  if (want("W16.mandelbrot")) {
    size_t n = 1 << 21; auto re = gen<f64>(n, [](size_t i) { return (i & 2047) / 2048. * 3 - 2; });
    auto im = gen<f64>(n, [](size_t i) { return (i >> 11) / 1024. * 2 - 1; });
    bench("W16.mandelbrot.1", [&] { return pred<i64>(n, GR, [&](size_t lo, size_t hi) { return mandelbrot<1>(re.p, im.p, lo, hi); }); });
    bench("W16.mandelbrot.2", [&] { return pred<i64>(n, GR, [&](size_t lo, size_t hi) { return mandelbrot<2>(re.p, im.p, lo, hi); }); });
    bench("W16.mandelbrot.4", [&] { return pred<i64>(n, GR, [&](size_t lo, size_t hi) { return mandelbrot<4>(re.p, im.p, lo, hi); }); });
  }
  if (want("W16.skewed")) {
    size_t n = 2000000; auto v = gen<i64>(n, [](size_t i) { return bnd(162, i, 100) ? 1 : 1000; });
    bench("W16.skewed", [&] { return pred<i64>(n, GR, [&](size_t lo, size_t hi) { return counted_down(v.p, lo, hi); }); });
  }
}
