// N24 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include "natural.hpp"

static f64 spends(const i32 *customer, const f64 *amount, i64 n, i64 customers, i64 *often, f64 *most) {
  std::fill(often, often + customers, 0); std::fill(most, most + customers, 0);
  for (i64 i = 0; i < n; i++) { i32 c = customer[i]; often[c]++; most[c] = std::max(most[c], amount[i]); }
  f64 s = 0;
  for (i64 c = 0; c < customers; c++) s += often[c] * most[c];
  return s;
}
static void dates(const i32 *__restrict days, i64 n, u8 *__restrict to) {
  for (i64 i = 0; i < n; i++, to += 10) {
    i32 x = days[i], y = x / 372, r = x % 372, m = r / 31 + 1, d = r % 31 + 1;
    to[0] = u8(y / 1000 + 48); to[1] = u8(y / 100 % 10 + 48); to[2] = u8(y / 10 % 10 + 48); to[3] = u8(y % 10 + 48); to[4] = '-';
    to[5] = u8(m / 10 + 48); to[6] = u8(m % 10 + 48); to[7] = '-'; to[8] = u8(d / 10 + 48); to[9] = u8(d % 10 + 48);
  }
}
static void shares(const f32 *__restrict places, i64 n, const f32 *__restrict choices, i64 k, f32 *__restrict to) {
  for (i64 i = 0; i < n; i++, to += k) {
    f32 all = 0;
    for (i64 j = 0; j < k; j++) { to[j] = std::exp(choices[j] * places[i]); all += to[j]; }
    for (i64 j = 0; j < k; j++) to[j] /= all;
  }
}
static void features(const i64 *starts, const i32 *columns, const f64 *values, const f64 *features, f64 *__restrict to, i64 n) {
  for (i64 r = 0; r < n; r++) {
    f64 s[8] = {0};
    for (i64 k = starts[r]; k < starts[r + 1]; k++) for (i64 j = 0; j < 8; j++) s[j] += values[k] * features[columns[k] * 8 + j];
    for (i64 j = 0; j < 8; j++) to[r * 8 + j] = s[j];
  }
}
static void field(const u8 *__restrict a, const u8 *__restrict b, i64 n, u8 *__restrict to) {
  for (i64 i = 0; i < n; i++) {
    u8 x = a[i], y = b[i], p = 0;
    for (int k = 0; k < 8; k++) { p ^= y & 1 ? x : 0; x = u8(x << 1) ^ (x & 128 ? 27 : 0); y >>= 1; }
    to[i] = p;
  }
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N24.spends")) {
    const i64 n = 4'000'000, customers = 60'000; auto customer = below<i32>(n, 466, customers); auto amount = uniform<f64>(n, 467, 100);
    Buf<i64> often(customers); Buf<f64> most(customers), to(1);
    vector("N24.spends", to, [&] { to[0] = spends(customer.p, amount.p, n, customers, often.p, most.p); return i64(1); });
  }
  if (want("N24.dates")) {
    const i64 n = 1'000'000; auto days = below<i32>(n, 468, 3'720'000); Buf<u8> to(10 * n);
    vector("N24.dates", to, [&] { dates(days.p, n, to.p); return 10 * n; });
  }
  if (want("N24.shares")) {
    const i64 n = 200'000, k = 12; auto places = uniform<f32>(n, 469, 2), choices = uniform<f32>(k, 470, 1); Buf<f32> to(n * k);
    vector("N24.shares", to, [&] { shares(places.p, n, choices.p, k, to.p); return n * k; });
  }
  if (want("N24.features")) {
    const i64 n = 100'000; auto starts = sizes_to_ends(n, 471);
    auto columns = below<i32>(starts[n], 472, 10'000); auto values = uniform<f64>(starts[n], 473, 1), all = uniform<f64>(80'000, 474, 1); Buf<f64> to(8 * n);
    vector("N24.features", to, [&] { features(starts.p, columns.p, values.p, all.p, to.p, n); return 8 * n; });
  }
  if (want("N24.field")) {
    const i64 n = 4'000'000; auto a = below<u8>(n, 475, 256), b = below<u8>(n, 476, 256); Buf<u8> to(n);
    vector("N24.field", to, [&] { field(a.p, b.p, n, to.p); return n; });
  }
}
