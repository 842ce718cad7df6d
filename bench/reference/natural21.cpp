// N21 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math. One thread.
#include <algorithm>
#include "natural.hpp"

static void above(const i32 *v, i64 n, i64 *stack, i64 *to) {
  i64 top = 0;
  for (i64 i = 0; i < n; i++) {
    while (top > 0 && v[stack[top - 1]] <= v[i]) top--;
    to[i] = top > 0 ? stack[top - 1] : -1;
    stack[top++] = i;
  }
}
static i64 peaks(const f32 *m, i64 h, i64 w) {
  i64 found = 0;
  for (i64 y = 1; y < h - 1; y++) {
    const f32 *r = m + y * w;
    for (i64 x = 1; x < w - 1; x++) found += r[x] > r[x - w] && r[x] > r[x + w] && r[x] > r[x - 1] && r[x] > r[x + 1];
  }
  return found;
}
static i64 spreads(const i32 *minute, const f32 *t, i64 n, f64 *to) {
  struct Minute { f32 low = 1e30f, high = -1e30f; f64 sum = 0; i64 count = 0; };
  Table<i32, Minute> minutes(64);
  for (i64 i = 0; i < n; i++) {
    Minute &m = minutes[minute[i]];
    m.low = std::min(m.low, t[i]), m.high = std::max(m.high, t[i]), m.sum += t[i], m.count++;
  }
  std::vector<std::pair<i32, Minute>> all;
  for (auto &s : minutes.slots) if (s.used) all.emplace_back(s.key, s.value);
  std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.first < b.first; });
  for (size_t k = 0; k < all.size(); k++) { const Minute &m = all[k].second; to[k] = f64(m.high) - f64(m.low) + m.sum / m.count; }
  return i64(all.size());
}
static void medians(const f32 *__restrict v, i64 n, f32 *__restrict to) {
  for (i64 i = 0; i < n; i++) {
    f32 a = v[i], b = v[i + 1], c = v[i + 2], d = v[i + 3], e = v[i + 4];
    f32 low = std::max(std::min(a, b), std::min(c, d)), high = std::min(std::max(a, b), std::max(c, d));
    to[i] = std::max(std::min(low, high), std::min(std::max(low, high), e));
  }
}
static void least(const i64 *place, const f64 *v, i64 n, i64 places, f64 *to) {
  std::fill(to, to + places, 1e9);
  for (i64 i = 0; i < n; i++) to[place[i]] = std::min(to[place[i]], v[i]);
}
static f64 weights(const i64 *place, const f64 *v, i64 n, const f64 *weight) {
  f64 sum = 0;
  for (i64 i = 0; i < n; i++) sum += v[i] * weight[place[i]];
  return sum;
}

int main(int argc, char **argv) {
  init(argc, argv);
  if (want("N21.above")) {
    const i64 n = 1'000'000; auto v = below<i32>(n, 435, 1'000'000); Buf<i64> stack(n), to(n);
    vector("N21.above", to, [&] { above(v.p, n, stack.p, to.p); return n; });
  }
  if (want("N21.peaks")) {
    auto m = uniform<f32>(2'000'000, 436, 1);
    bench("N21.peaks", [&] { return peaks(m.p, 2000, 1000); });
  }
  if (want("N21.spreads")) {
    const i64 n = 4'000'000; auto minute = below<i32>(n, 437, 1440); auto t = uniform<f32>(n, 438, 40); Buf<f64> to(1440);
    vector("N21.spreads", to, [&] { return spreads(minute.p, t.p, n, to.p); });
  }
  if (want("N21.medians")) {
    const i64 n = 1'000'000; auto v = uniform<f32>(n, 439, 100); Buf<f32> to(n);
    vector("N21.medians", to, [&] { medians(v.p, n - 4, to.p); return n - 4; });
  }
  if (want("N21.least")) {
    const i64 n = 4'000'000; auto place = below<i64>(n, 440, 20'000); auto v = uniform<f64>(n, 441, 1'000'000); Buf<f64> to(20'000);
    vector("N21.least", to, [&] { least(place.p, v.p, n, 20'000, to.p); return i64(20'000); });
  }
  if (want("N21.weights")) {
    const i64 n = 8'000'000; auto place = below<i64>(n, 442, 500'000); auto v = uniform<f64>(n, 443, 1), weight = uniform<f64>(500'000, 444, 1);
    bench("N21.weights", [&] { return weights(place.p, v.p, n, weight.p); });
  }
}
