// N25 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"

static void largest(const f32 *m, i64 rows, i64 *__restrict to) {
  for (i64 r = 0; r < rows; r++, m += 32) {
    i64 best = 0;
    for (i64 j = 1; j < 32; j++) if (m[j] > m[best]) best = j;
    to[r] = best;
  }
}
static i64 minutes(const i32 *m, i64 n, const i32 *events, i64 count) {
  Table<i64, i64> known(n); i64 s = 0;
  for (i64 i = 0; i < n; i++) known[m[i] * i64(60)] += i64(m[i]) * m[i];
  for (i64 i = 0; i < count; i++) s += known[events[i] * i64(60)];
  return s;
}
static void taps(const f32 *__restrict x, const f32 *__restrict w, i64 n, f32 *__restrict to) {
  for (i64 i = 0; i < n - 8; i++) { f32 s = 0; for (int j = 0; j < 9; j++) s += w[j] * x[i + j]; to[i] = s; }
}
static i64 numbers(const u8 *t, i64 n, i64 *to) {
  i64 k = 0, s = 0;
  for (i64 i = 0; i < n; i++) if (t[i] > 11) to[k++] = s, s = 0; else s = (s * 12 + t[i]) & 1048575;
  return k;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N25.largest")) {
    const i64 n = 100'000; auto m = uniform<f32>(32 * n, 477, 1); Buf<i64> to(n);
    vector("N25.largest", to, [&] { largest(m.p, n, to.p); return n; });
  }
  if (want("N25.minutes")) {
    const i64 n = 720, count = 4'000'000; Buf<i32> m(n); for (i64 i = 0; i < n; i++) m[i] = i32(i); auto events = below<i32>(count, 478, n); Buf<i64> to(1);
    vector("N25.minutes", to, [&] { to[0] = minutes(m.p, n, events.p, count); return i64(1); });
  }
  if (want("N25.taps")) {
    const i64 n = 2'000'000; auto x = uniform<f32>(n, 479, 1), w = uniform<f32>(9, 480, 1); Buf<f32> to(n);
    vector("N25.taps", to, [&] { taps(x.p, w.p, n, to.p); return n - 8; });
  }
  if (want("N25.numbers")) {
    const i64 n = 4'000'000; auto t = below<u8>(n, 481, 16); Buf<i64> to(n);
    vector("N25.numbers", to, [&] { return numbers(t.p, n, to.p); });
  }
}
