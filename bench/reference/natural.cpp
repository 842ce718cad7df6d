// N1 to N20 of what bench/natural.cpp runs, in plain loops as one writes them in C, compiled by gcc -O3 -ffast-math; dictionaries are open tables.
// One thread.
#include <cstring>
#include "natural.hpp"

static f64 lookup_rare(const i64 *keys, const f64 *worth, i64 m, const i64 *k, const i32 *x, i32 below, i64 n) {
  Table<i64, f64> t(m);
  for (i64 i = 0; i < m; i++) { if (i + 16 < m) t.ahead(keys[i + 16]); t[keys[i]] += worth[i]; }
  f64 s = 0;
  i64 waiting[64];
  for (i64 i = 0; i < n;) {
    i64 w = 0;
    for (; i < n && w < 64; i++) { waiting[w] = k[i]; w += x[i] < below; }
    for (i64 j = 0; j < w; j++) t.ahead(waiting[j]);
    for (i64 j = 0; j < w; j++) s += t[waiting[j]];
  }
  return s;
}
static i64 merge_rare(const i32 *p, const i64 *q, const f64 *x, f64 below, i64 n) {
  Table<i64, i64> t(1024);
  for (i64 i = 0; i < n; i++) if (x[i] < below) t[q[i] << 32 | u32(p[i])]++;
  i64 s = 0;
  for (auto &e : t.slots) if (e.used) s += (i64(i32(e.key)) + 3 * (e.key >> 32)) * e.value;
  return s;
}
static i64 miss(const i64 *keys, const i64 *worth, i64 m, const i64 *k, i64 n) {
  Table<i64, i64> t(m);
  std::vector<u64> bits(1 << 16);
  for (i64 i = 0; i < m; i++) { t[keys[i]] += worth[i]; u64 h = t.hash(keys[i]); bits[h >> 6 & 65535] |= 1ull << (h & 63); }
  i64 s = 0, hits = 0, waiting[64];
  for (i64 i = 0; i < n;) {
    i64 w = 0;
    for (; i < n && w < 64; i++) { u64 h = t.hash(k[i]); waiting[w] = k[i]; w += bits[h >> 6 & 65535] >> (h & 63) & 1; }
    for (i64 j = 0; j < w; j++) t.ahead(waiting[j]);
    for (i64 j = 0; j < w; j++) { auto &e = t.at(t.hash(waiting[j]), waiting[j]); if (e.used) { s += e.value; hits++; } }
  }
  return s + 1000003 * hits;
}
static i64 filter_by(const i64 *__restrict v, const f32 *__restrict x, f32 below, i64 *__restrict to, i64 n) {
  i64 m = 0;
  for (i64 i = 0; i < n; i++) { to[m] = v[i] * 2; m += x[i] < below; }
  return m;
}
struct Row { i64 a; f64 b; };
static i64 filter_rows(const i64 *__restrict v, const f64 *__restrict y, const i32 *__restrict x, i32 below, Row *__restrict to, i64 n) {
  i64 m = 0;
  for (i64 i = 0; i < n; i++) { to[m] = {v[i] + x[i], y[i] * 0.5}; m += x[i] < below; }
  return m;
}
static f64 means_by(const i32 *k, const f64 *v, i64 n) {
  Table<i32, std::pair<f64, i64>> t(16);
  for (i64 i = 0; i < n; i++) { auto &e = t[k[i]]; e.first += v[i]; e.second++; }
  f64 s = 0;
  for (auto &e : t.slots) if (e.used) s += f64(e.key + 1) * e.value.first / f64(e.value.second);
  return s;
}
static void bisect(const f64 *__restrict v, f64 *__restrict to, i64 n) {
  for (i64 i = 0; i + 16 <= n; i += 16) {
    f64 lo[16], hi[16];
    for (int j = 0; j < 16; j++) lo[j] = 0, hi[j] = 10;
    for (bool more = true; more;) {  // lanes that have ended go on, to the same end
      f64 widest = 0;
      for (int j = 0; j < 16; j++) {
        f64 t = (lo[j] + hi[j]) * 0.5; bool less = t * t * t + t < v[i + j];
        lo[j] = less ? t : lo[j]; hi[j] = less ? hi[j] : t;
        widest = std::max(widest, hi[j] - lo[j]);
      }
      more = widest > 1e-9;
    }
    for (int j = 0; j < 16; j++) to[i + j] = lo[j];
  }
}
static f64 again(const f64 *v, i64 n, i64 rounds) {
  f64 s = 1;
  for (i64 r = 0; r < rounds; r++) {
    f64 t = 0;
    for (i64 i = 0; i < n; i++) t += v[i] * s * 0.25 + v[i] * v[i] * 0.5;
    s = t / 4000 + 0.5;
  }
  return s;
}
static void dots(const f64 *__restrict x, const f64 *__restrict w, f64 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) { f64 s = 0; for (i64 j = 0; j < c; j++) s += x[i * c + j] * w[j]; to[i] = s; }
}
static void softmax(const f64 *__restrict x, f64 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) {
    const f64 *row = x + i * c; f64 *o = to + i * c, most = row[0], s = 0;
    for (i64 j = 0; j < c; j++) most = std::max(most, row[j]);
    for (i64 j = 0; j < c; j++) s += o[j] = exp(row[j] - most);
    for (i64 j = 0; j < c; j++) o[j] /= s;
  }
}
static void argmax(const f64 *__restrict x, i64 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) {
    const f64 *row = x + i * c; i64 best = 0;
    for (i64 j = 1; j < c; j++) if (row[j] > row[best]) best = j;
    to[i] = best;
  }
}
static void standard(const f32 *__restrict x, f32 *__restrict to, i64 r, i64 c) {
  for (i64 i = 0; i < r; i++) {
    const f32 *row = x + i * c; f32 s = 0, q = 0;
    for (i64 j = 0; j < c; j++) s += row[j];
    const f32 mean = s / f32(c);
    for (i64 j = 0; j < c; j++) q += (row[j] - mean) * (row[j] - mean);
    const f32 spread = sqrtf(q / f32(c));
    for (i64 j = 0; j < c; j++) to[i * c + j] = (row[j] - mean) / spread;
  }
}
// columns in pieces that fit the second-level cache, one product at a time
static void gram(const f64 *__restrict x, f64 *__restrict to, i64 c, i64 n) {
  memset(to, 0, size_t(c * c) * 8);
  for (i64 k = 0; k < n; k += 1024) for (i64 i = 0; i < c; i++) for (i64 j = 0; j < c; j++) {
    f64 s = 0;
    for (i64 l = k; l < std::min(n, k + 1024); l++) s += x[i * n + l] * x[j * n + l];
    to[i * c + j] += s;
  }
}
static void sparse(const i64 *starts, const i32 *cols, const f64 *values, const f64 *v, f64 *__restrict to, i64 n) {
  for (i64 i = 0; i < n; i++) { f64 s = 0; for (i64 j = starts[i]; j < starts[i + 1]; j++) s += values[j] * v[cols[j]]; to[i] = s; }
}
static f64 chain(const f64 *v, i64 n) {
  f64 s = 0;
  for (i64 i = 0; i < n; i++) {
    f64 x = v[i];
    f64 y = 1.0 + x * (0.5 + x * (0.25 + x * (0.125 - x * (0.0625 + x * (0.03 - x * (0.015 + x * (0.007 -
      x * (0.003 + x * (0.001 - x * 0.0005)))))))));
    s += y / (1.0 + y * y);
  }
  return s;
}
static void haversine(const f64 *__restrict lat, const f64 *__restrict lon, f64 *__restrict to, i64 n) {
  for (i64 i = 0; i < n; i++) {
    f64 a = lat[i] * 0.017453292519943295, o = lon[i] * 0.017453292519943295;
    f64 s = sin((a - 0.8) * 0.5), t = sin((o - 0.2) * 0.5);
    to[i] = 12742.0 * asin(sqrt(s * s + cos(a) * 0.6967067093471654 * t * t));
  }
}
static i64 random_points(i64 n) {
  i64 m = 0;
  for (i64 i = 0; i < n; i++) {
    u64 a = u64(i) * 11400714819323198485ull, c = (a ^ a >> 32) * 13787848793156543929ull;
    f64 x = f64(i64(c >> 33)) / 2147483648.0, y = f64(i64((c ^ c >> 29) & 2147483647)) / 2147483648.0;
    m += x * x + y * y < 1.0;
  }
  return m;
}
static void clamped(const f32 *__restrict v, f32 *__restrict to, i64 n) {
  to[0] = (v[0] + v[0] + v[1]) / 3;
  for (i64 i = 1; i < n - 1; i++) to[i] = (v[i - 1] + v[i] + v[i + 1]) / 3;
  to[n - 1] = (v[n - 2] + v[n - 1] + v[n - 1]) / 3;
}
static i64 words(const u8 *text, i64 n) {
  i64 m = text[0] > 32;
  for (i64 i = 1; i < n;) {  // counted in bytes that cannot overflow
    u8 few[64] = {};
    for (int k = 0; k < 255 && i + 64 <= n; k++, i += 64) for (int j = 0; j < 64; j++) few[j] += text[i + j] > 32 & text[i + j - 1] <= 32;
    for (int j = 0; j < 64; j++) m += few[j];
    if (i + 64 > n) for (; i < n; i++) m += text[i] > 32 & text[i - 1] <= 32;
  }
  return m;
}
static void grey(const u8 *__restrict rgb, u8 *__restrict to, i64 n) {
  for (i64 i = 0; i < n; i++) to[i] = u8((rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29) >> 8);
}
static i64 count_pairs(const i32 *p, const i32 *q, i64 n) {
  Table<i64, i64> t(4096);
  for (i64 i = 0; i < n; i++) t[i64(q[i]) << 32 | u32(p[i])]++;
  i64 s = 0;
  for (auto &e : t.slots) if (e.used) s += (i64(i32(e.key)) * 5 + (e.key >> 32)) * e.value * e.value;
  return s;
}
static f64 by_remainder(const i64 *k, const f64 *v, i64 n) {
  Table<i64, std::pair<f64, i64>> t(1024);
  for (i64 i = 0; i < n; i++) { auto &e = t[k[i] % 1000]; e.first += v[i]; e.second++; }
  f64 s = 0;
  for (auto &e : t.slots) if (e.used) s += f64(e.key + e.value.second) * e.value.first;
  return s;
}
static f64 by_floats(const f64 *p, const i64 *q, const i64 *v, i64 n) {
  struct Key {
    f64 p; i64 q;
    bool operator==(const Key &o) const { return p == o.p && q == o.q; }
    explicit operator u64() const { u64 b; memcpy(&b, &p, 8); return (b ^ b >> 32) * 0xD1342543DE82EF95ull + u64(q); }
  };
  Table<Key, i64> t(2048);
  for (i64 i = 0; i < n; i++) t[{p[i], q[i]}] += v[i];
  f64 s = 0;
  for (auto &e : t.slots) if (e.used) s += (e.key.p + f64(e.key.q)) * f64(e.value);
  return s;
}
static f64 by_bytes(const u8 *k, const f32 *v, i64 n) {
  f64 sums[256] = {}, s = 0;
  for (i64 i = 0; i < n; i++) sums[k[i]] += v[i];
  for (int i = 0; i < 256; i++) s += f64(i) * sums[i];
  return s;
}
static f64 by_months(const i32 *__restrict days, const f64 *__restrict v, i64 n) {
  Table<i32, f64> t(1024);
  i32 keys[1024];
  for (i64 k = 0; k < n; k += 1024) {
    const i64 m = std::min<i64>(1024, n - k);
    for (i64 i = 0; i < m; i++) {
      i32 z = days[k + i] + 719468, era = z / 146097, day = z - era * 146097;
      i32 year = (day - day / 1460 + day / 36524 - day / 146096) / 365, of_year = day - (365 * year + year / 4 - year / 100);
      i32 shifted = (5 * of_year + 2) / 153, month = shifted < 10 ? shifted + 3 : shifted - 9;
      keys[i] = (era * 400 + year + (month <= 2)) * 12 + month;
    }
    for (i64 i = 0; i < m; i++) t[keys[i]] += v[k + i];
  }
  f64 s = 0;
  for (auto &e : t.slots) if (e.used) s += f64(e.key) * e.value;
  return s;
}
static i64 flatten(const std::vector<std::pair<const i64 *, i64>> &rows, i64 *__restrict to) {
  i64 m = 0;
  for (auto &r : rows) { for (i64 j = 0; j < r.second; j++) to[m + j] = r.first[j] * 2; m += r.second; }
  return m;
}
static void scatter(const f64 *__restrict v, const i64 *__restrict at, f64 *__restrict to, i64 n) {
  memset(to, 0, size_t(n) * 8);
  for (i64 i = 0; i < n; i++) to[at[i]] += v[i];
}
static void count_bytes(const u8 *text, i64 *to, i64 n) {
  u32 few[4][256] = {};
  i64 i = 0;
  for (; i + 4 <= n; i += 4) for (int j = 0; j < 4; j++) few[j][text[i + j]]++;
  for (; i < n; i++) few[0][text[i]]++;
  for (int b = 0; b < 256; b++) to[b] = i64(few[0][b]) + few[1][b] + few[2][b] + few[3][b];
}
static void bins(const f64 *v, i64 *to, i64 n) {
  u32 few[2][1000] = {};
  i64 i = 0;
  for (; i + 2 <= n; i += 2) { few[0][i64(v[i] * 1000)]++; few[1][i64(v[i + 1] * 1000)]++; }
  for (; i < n; i++) few[0][i64(v[i] * 1000)]++;
  for (int b = 0; b < 1000; b++) to[b] = i64(few[0][b]) + few[1][b];
}
static f64 structs(const i64 *k, const f64 *x, const f64 *y, i64 n) {
  f64 total = 0, most = -INFINITY; i64 s = 0;
  for (i64 i = 0; i < n; i++) {
    const bool good = k[i] < 700; const f64 z = x[i] * y[i];
    total += good ? x[i] + z : 0; most = std::max(most, good ? z : -1e300); s += good ? k[i] : 0;
  }
  return total + most + f64(s);
}
static f64 skip(const i32 *day, const f64 *x, const f64 *y, const i64 *z, i64 n) {
  f64 s = 0;
  for (i64 k = 0; k < n; k += 1024) {
    const i64 end = std::min(n, k + 1024); i32 any = 0;
    for (i64 i = k; i < end; i++) any |= u32(day[i] - 1000) < 30;
    if (any) for (i64 i = k; i < end; i++) s += (u32(day[i] - 1000) < 30) & (x[i] > 0.25) & (z[i] < 500) ? x[i] * y[i] : 0;
  }
  return s;
}
static void nearest(const f64 *__restrict ax, const f64 *__restrict ay, const f64 *__restrict bx, const f64 *__restrict by, f64 *__restrict to, i64 n, i64 m) {
  for (i64 i = 0; i < n; i++) {
    f64 least = 1e300;
    for (i64 j = 0; j < m; j++) { f64 dx = ax[i] - bx[j], dy = ay[i] - by[j]; least = std::min(least, dx * dx + dy * dy); }
    to[i] = sqrt(least);
  }
}
static void symmetric(const f64 *__restrict x, f64 *__restrict to, i64 n) {
  const i64 B = 16;
  for (i64 ib = 0; ib < n; ib += B) for (i64 jb = 0; jb < n; jb += B)
    for (i64 i = ib; i < std::min(n, ib + B); i++) for (i64 j = jb; j < std::min(n, jb + B); j++) to[i * n + j] = (x[i * n + j] + x[j * n + i]) * 0.5;
}

template <class T> struct Piece { const T *data; i64 len; };

// Strings as bench/natural.cpp has them.
struct Words {
  Buf<u8> letters; Buf<Piece<u8>> rows; i64 bytes;
  Words(i64 n, u64 stream, u64 least, u64 more) : letters(n * (least + more)), rows(n), bytes(0) {
    for (i64 i = 0; i < n; i++) {
      i64 len = i64(least + bnd(stream, i, more + 1));
      rows.p[i] = {letters.p + bytes, len};
      for (i64 j = 0; j < len; j++, bytes++) letters.p[bytes] = u8(97 + bnd(stream + 1, bytes, 26));
    }
  }
};

// One buffer for all rows, as large as they are together, which is known before.
static i64 map_rows(const Piece<i64> *rows, i64 n, i64 *to, Piece<i64> *made) {
  i64 *t = to;
  for (i64 i = 0; i < n; i++) {
    made[i] = {t, rows[i].len};
    for (i64 j = 0; j < rows[i].len; j++) t[j] = rows[i].data[j] * 2 + 1;
    t += rows[i].len;
  }
  return t - to;
}
static i64 reversed(const Piece<u8> *rows, i64 n, u8 *to, Piece<u8> *made) {
  u8 *t = to;
  for (i64 i = 0; i < n; i++) {
    made[i] = {t, rows[i].len};
    for (i64 j = 0; j < rows[i].len; j++) t[j] = rows[i].data[rows[i].len - 1 - j];
    t += rows[i].len;
  }
  return t - to;
}
static i64 joined(const Piece<u8> *a, const Piece<u8> *b, i64 n, u8 *to, Piece<u8> *made) {
  u8 *t = to;
  for (i64 i = 0; i < n; i++) {
    made[i] = {t, a[i].len + b[i].len};
    memcpy(t, a[i].data, a[i].len); t += a[i].len;
    memcpy(t, b[i].data, b[i].len); t += b[i].len;
  }
  return t - to;
}
static i64 fields(const Piece<u8> *lines, i64 n) {
  i64 sum = 0;
  for (i64 i = 0; i < n; i++) {
    const u8 *p = lines[i].data;
    for (int commas = 0; commas < 2; p++) commas += *p == ',';
    i64 x = 0;
    for (; *p != ','; p++) x = x * 10 + (*p - '0');
    sum += x;
  }
  return sum;
}
static void first(const i32 *k, const f64 *v, i64 n, f64 *to, i64 most) {
  typedef std::pair<f64, i64> E;  // the last one of equal values is the least
  const auto before = [](const E &a, const E &b) { return a.first != b.first ? a.first > b.first : a.second < b.second; };
  std::vector<E> h;
  for (i64 i = 0; i < n; i++) {
    if (i64(h.size()) == most && !(v[i] > h[0].first)) continue;
    if (i64(h.size()) == most) { std::pop_heap(h.begin(), h.end(), before); h.pop_back(); }
    h.push_back({v[i], i}); std::push_heap(h.begin(), h.end(), before);
  }
  std::sort(h.begin(), h.end(), before);
  for (i64 i = 0; i < most; i++) to[i] = k[h[i].second] + h[i].first;
}
static void ring(const f64 *x, f64 *to, i64 n) {
  for (i64 r = 0; r < n; r++) {
    const f64 *up = x + (r + n - 1) % n * n, *row = x + r * n, *down = x + (r + 1) % n * n;
    f64 *t = to + r * n;
    const auto cell = [&](i64 left, i64 c, i64 right) { t[c] = row[c] * 0.6 + (up[c] + down[c] + row[left] + row[right]) * 0.1; };
    cell(n - 1, 0, 1);
    for (i64 c = 1; c < n - 1; c++) cell(c - 1, c, c + 1);
    cell(n - 2, n - 1, 0);
  }
}
static i64 windows(const f32 *x, i64 n, f32 *fours, f32 *to) {
  for (i64 i = 0; i < n / 4; i++) fours[i] = (x[4 * i] + x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3]) * 0.25f;
  const i64 m = n / 4 - 15;
  for (i64 i = 0; i < m; i++) { f32 s = 0; for (i64 j = 0; j < 16; j++) s += fours[i + j]; to[i] = s * 0.0625f; }
  return m;
}
static i64 knapsack(const i64 *w, const i64 *v, i64 n, i64 most) {
  std::vector<i64> d(most + 1);
  for (i64 i = 0; i < n; i++) for (i64 j = most; j >= w[i]; j--) d[j] = std::max(d[j], d[j - w[i]] + v[i]);
  return d[most];
}
static void bags(const Piece<i64> *bags, i64 n, const f32 *rows, i64 width, f32 *to) {
  for (i64 i = 0; i < n; i++) {
    f32 *t = to + i * width;
    for (i64 c = 0; c < width; c++) t[c] = 0;
    for (i64 k = 0; k < bags[i].len; k++) { const f32 *row = rows + bags[i].data[k] * width; for (i64 c = 0; c < width; c++) t[c] += row[c]; }
  }
}
static void interpolate(const f64 *tx, const f64 *ty, i64 n, const f64 *q, f64 *to, i64 many) {
  for (i64 i = 0; i < many; i++) {
    f64 x = q[i];
    if (x <= tx[0]) { to[i] = ty[0]; continue; }
    if (x >= tx[n - 1]) { to[i] = ty[n - 1]; continue; }
    i64 l = 0, h = n - 1;
    while (h - l > 1) { i64 m = (l + h) / 2; if (tx[m] <= x) l = m; else h = m; }
    to[i] = ty[l] + (ty[h] - ty[l]) * (x - tx[l]) / (tx[h] - tx[l]);
  }
}
static void queue(const i64 *off, const i64 *nb, i64 n, i64 *to, i64 *met) {
  for (i64 i = 0; i < n; i++) to[i] = -1;
  i64 first = 0, end = 0;
  to[0] = 0; met[end++] = 0;
  while (first < end) {
    i64 v = met[first++];
    for (i64 k = off[v]; k < off[v + 1]; k++) if (to[nb[k]] < 0) { to[nb[k]] = to[v] + 1; met[end++] = nb[k]; }
  }
}
static void modes(const i64 *x, i64 n, i64 width, i64 *to) {
  for (i64 i = 0; i < n; i++) {
    i64 keys[16], counts[16], some = 0, most = 0;
    for (i64 j = 0; j < width; j++) {
      i64 k = 0;
      while (k < some && keys[k] != x[i * width + j]) k++;
      if (k == some) { keys[some] = x[i * width + j]; counts[some++] = 0; }
      counts[k]++;
    }
    for (i64 k = 1; k < some; k++) if (counts[k] > counts[most] || (counts[k] == counts[most] && keys[k] < keys[most])) most = k;
    to[i] = keys[most];
  }
}
static i64 unite(const i32 *a, const i32 *b, i64 m, i32 *p, i64 n) {
  i64 parts = n;
  for (i64 i = 0; i < n; i++) p[i] = i32(i);
  for (i64 i = 0; i < m; i++) {
    i32 x = a[i], y = b[i];
    while (p[x] != x) { p[x] = p[p[x]]; x = p[x]; }
    while (p[y] != y) { p[y] = p[p[y]]; y = p[y]; }
    if (x != y) { p[x] = y; parts--; }
  }
  return parts;
}
static void lu(const f64 *m, f64 *a, i64 n) {
  memcpy(a, m, n * n * 8);
  for (i64 k = 0; k + 1 < n; k++)
    for (i64 i = k + 1; i < n; i++) {
      const f64 f = a[i * n + k] / a[k * n + k];
      a[i * n + k] = f;
      for (i64 j = k + 1; j < n; j++) a[i * n + j] -= f * a[k * n + j];
    }
}
static void hex(const u8 *x, i64 n, u8 *to) {
  for (i64 i = 0; i < n; i++) {
    const u8 h = x[i] >> 4, l = x[i] & 15;
    to[2 * i] = u8(h < 10 ? h + 48 : h + 87);
    to[2 * i + 1] = u8(l < 10 ? l + 48 : l + 87);
  }
}
static void drawdown(const f64 *x, i64 n, f64 *to) {
  f64 peak = x[0];
  for (i64 i = 0; i < n; i++) { peak = std::max(peak, x[i]); to[i] = (peak - x[i]) / peak; }
}
static f64 sums(const i64 *k, const f64 *v, i64 n) {
  Table<i64, f64> t(16);
  for (i64 i = 0; i < n; i++) t[k[i]] += v[i];
  f64 s = 0;
  for (auto &e : t.slots) if (e.used) s += e.value * f64(e.key % 7 + 1);
  return s;
}
static void cubes(const f64 *x, i64 n, f64 *to) {
  for (i64 i = 0; i < n; i++) {
    f64 s = x[i];
    for (i64 k = 0; k < 60; k++) {
      const f64 y = s - (s * s * s - x[i]) / (3 * s * s), d = y - s;
      if (!(d * d > 1e-24 * y * y)) break;
      s = y;
    }
    to[i] = s;
  }
}
static f64 dimension(const i64 *article, const f64 *price, i64 articles, const i64 *sold, const f64 *amount, i64 n, f64 most) {
  Table<i64, f64> t(16);
  for (i64 i = 0; i < articles; i++) if (price[i] < most) t[article[i]] += price[i];
  f64 s = 0;
  for (i64 i = 0; i < n; i++) { auto &e = t.at(t.hash(u64(sold[i])), sold[i]); if (e.used) s += e.value * amount[i]; }
  return s;
}
static void hours(const i64 *t, i64 n, i64 *to) {
  for (i64 h = 0; h < 24; h++) to[h] = 0;
  for (i64 i = 0; i < n; i++) to[t[i] / 3600 % 24]++;
}
static i64 dilate(const u8 *m, i64 n, i64 w, u8 *to) {
  u8 *const begin = to;
  for (i64 y = 1; y < n / w - 1; y++)
    for (i64 x = 1; x < w - 1; x++) {
      u8 most = 0;
      for (i64 i = y - 1; i < y + 2; i++) for (i64 j = x - 1; j < x + 2; j++) most = std::max(most, m[i * w + j]);
      *to++ = most;
    }
  return to - begin;
}
static f64 filtered(const i64 *k, const i32 *day, const f64 *v, i64 n) {
  Table<i64, f64> t(16);
  for (i64 i = 0; i < n; i++) if (day[i] < 10) t[k[i]] += v[i];
  f64 s = 0;
  for (auto &e : t.slots) if (e.used) s += e.value * f64(e.key % 7 + 1);
  return s;
}
[[gnu::noipa]] static void column_sums(const f64 *m, i64 n, i64 columns, f64 *to) {
  for (i64 j = 0; j < columns; j++) to[j] = 0;
  for (i64 i = 0; i < n / columns; i++) for (i64 j = 0; j < columns; j++) to[j] += m[i * columns + j];
}
static void nearest_five(const f64 *x, const f64 *y, i64 n, const f64 *qx, const f64 *qy, i64 many, f64 *to) {
  for (i64 q = 0; q < many; q++) {
    f64 d[5] = {1e300, 1e300, 1e300, 1e300, 1e300}, s = 0;
    for (i64 i = 0; i < n; i++) {
      const f64 dx = x[i] - qx[q], dy = y[i] - qy[q], z = dx * dx + dy * dy;
      if (z < d[4]) { int j = 4; while (j > 0 && d[j - 1] > z) { d[j] = d[j - 1]; j--; } d[j] = z; }
    }
    for (f64 z : d) s += std::sqrt(z);
    to[q] = s;
  }
}
static void sort_bytes(const u8 *x, i64 n, u8 *to) {
  i64 counts[256] = {0};
  for (i64 i = 0; i < n; i++) counts[x[i]]++;
  for (i64 b = 0; b < 256; b++) { std::memset(to, int(b), size_t(counts[b])); to += counts[b]; }
}
static void bodies(const f64 *x, const f64 *y, const f64 *m, f64 *to, i64 n) {
  for (i64 i = 0; i < n; i++) {
    f64 s = 0;
    for (i64 j = 0; j < n; j++) { f64 dx = x[j] - x[i], dy = y[j] - y[i]; s += m[j] / (dx * dx + dy * dy + 0.01); }
    to[i] = s;
  }
}
static f64 particles(const f64 *x0, const f64 *y0, const f64 *u0, const f64 *v0, i64 n, i64 steps) {
  Buf<f64> x(n), y(n), u(n), v(n);
  memcpy(x.p, x0, n * 8); memcpy(y.p, y0, n * 8); memcpy(u.p, u0, n * 8); memcpy(v.p, v0, n * 8);
  for (i64 s = 0; s < steps; s++)
    for (i64 i = 0; i < n; i++) { x.p[i] += u.p[i] * 0.01; y.p[i] += v.p[i] * 0.01; u.p[i] *= 0.99; v.p[i] -= 0.098; }
  f64 s = 0;
  for (i64 i = 0; i < n; i++) s += x.p[i] + y.p[i];
  return s;
}
static void few(const f64 *x, const f64 *y, const f64 *cx, const f64 *cy, f64 *__restrict to, i64 n, i64 k) {
  const i64 B = 16;
  for (i64 at = 0; at + B <= n; at += B) {
    f64 least[B];
    for (i64 i = 0; i < B; i++) least[i] = 1e300;
    for (i64 j = 0; j < k; j++)
      for (i64 i = 0; i < B; i++) { f64 dx = x[at + i] - cx[j], dy = y[at + i] - cy[j]; least[i] = std::min(least[i], dx * dx + dy * dy); }
    for (i64 i = 0; i < B; i++) to[at + i] = least[i];
  }
}
static void eliminate(const f64 *a, f64 *m, i64 n) {
  memcpy(m, a, n * n * 8);
  for (i64 k = 0; k < n; k++)
    for (i64 r = k + 1; r < n; r++) {
      const f64 q = m[r * n + k] / m[k * n + k];
      for (i64 c = k; c < n; c++) m[r * n + c] -= q * m[k * n + c];
    }
}
static void product(const f64 *x, const f64 *y, f64 *to, i64 n) {
  memset(to, 0, n * n * 8);
  for (i64 i = 0; i < n; i++) for (i64 k = 0; k < n; k++) { f64 e = x[i * n + k]; for (i64 j = 0; j < n; j++) to[i * n + j] += e * y[k * n + j]; }
}
static void cholesky(const f64 *m, f64 *o, i64 n) {
  memcpy(o, m, n * n * 8);
  for (i64 j = 0; j < n; j++) {
    f64 d = o[j * n + j];
    for (i64 k = 0; k < j; k++) d -= o[j * n + k] * o[j * n + k];
    d = std::sqrt(d);
    o[j * n + j] = d;
    for (i64 i = j + 1; i < n; i++) { f64 s = 0; for (i64 k = 0; k < j; k++) s += o[i * n + k] * o[j * n + k]; o[i * n + j] = (o[i * n + j] - s) / d; }
  }
}
static void shuffle(i64 *v, i64 n, i64 r) {
  for (i64 i = 0; i < n; i++) v[i] = i;
  for (i64 k = n - 1; k > 0; k--) { r = i64(u64(r) * 6364136223846793005ull + 1442695040888963407ull); std::swap(v[(u64(r) >> 33 & 1073741823) % u64(k + 1)], v[k]); }
}

static void sieve(i64 n, i32 *to) {
  std::memset(to, 0, sizeof(i32) * n);
  for (i64 p = 2; p * p < n; p++)
    if (!to[p]) for (i64 k = p * p; k < n; k += p) if (!to[k]) to[k] = i32(p);
}
static void first_places(const i64 *x, i64 n, const i64 *sought, i64 m, i64 *to) {
  for (i64 k = 0; k < m; k++) {
    to[k] = -1;
    for (i64 i = 0; i < n; i++) if (x[i] == sought[k]) { to[k] = i; break; }
  }
}
static i64 halves(const u8 *x, i64 n, i64 w, u8 *to) {
  i64 h = n / w, at = 0;
  for (i64 r = 0; r < h / 2; r++)
    for (i64 c = 0; c < w / 2; c++) { const u8 *p = x + 2 * r * w + 2 * c; to[at++] = u8((p[0] + p[1] + p[w] + p[w + 1] + 2) / 4); }
  return at;
}
static void determinants(const f64 *m, i64 n, f64 *to) {
  for (i64 i = 0; i < n; i++, m += 9)
    to[i] = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}
static void buckets(const i64 *bucket, const f64 *v, i64 n, i64 m, f64 *to) {
  struct Sum { f64 all; i64 count; };
  std::vector<Sum> sums(m);
  for (i64 i = 0; i < n; i++) { Sum &s = sums[bucket[i]]; s.all += v[i]; s.count++; }
  for (i64 k = 0; k < m; k++) to[k] = sums[k].count ? sums[k].all / f64(sums[k].count) : 0;
}
static void lists(const i64 *from, const i64 *target, i64 n, i64 m, i64 *to) {
  std::vector<i64> next(m + 1);
  for (i64 i = 0; i < n; i++) next[from[i] + 1]++;
  for (i64 k = 0; k < m; k++) next[k + 1] += next[k];
  for (i64 i = 0; i < n; i++) to[next[from[i]]++] = target[i];
}
int main(int argc, char **argv) {
  init(argc, argv);
  const size_t many = 20'000'000, some = 10'000'000;
  if (want("N1.lookup")) {
    const i64 m = 1'000'000;
    auto keys = gen<i64>(m, [](size_t i) { return i64(sm(301, i) >> 1); }), k = gen<i64>(many, [](size_t i) { return i64(sm(301, bnd(302, i, 1'000'000)) >> 1); });
    auto worth = uniform<f64>(m, 306, 1000); auto x = below<i32>(many, 307, 1000);
    bench("N1.lookup", [&] { return lookup_rare(keys.p, worth.p, m, k.p, x.p, 13, many); });
  }
  if (want("N1.merge")) {
    auto p = below<i32>(many, 308, 300); auto q = below<i64>(many, 309, 500); auto x = uniform<f64>(many, 310, 1);
    bench("N1.merge", [&] { return merge_rare(p.p, q.p, x.p, 0.02, many); });
  }
  if (want("N1.miss")) {
    const i64 m = 300'000;
    auto keys = gen<i64>(m, [](size_t i) { return i64(sm(303, i) >> 1); }), k = gen<i64>(many, [](size_t i) { return i64(sm(303, bnd(305, i, 6'000'000)) >> 1); });
    auto worth = below<i64>(m, 304, 1000);
    bench("N1.miss", [&] { return miss(keys.p, worth.p, m, k.p, many); });
  }
  if (want("N2.million")) {
    auto v = below<i64>(1'000'000, 311, 1000); auto x = uniform<f32>(1'000'000, 312, 1); Buf<i64> to(1'000'001);
    vector("N2.million", to, [&] { return filter_by(v.p, x.p, 0.5f, to.p, 1'000'000); });
  }
  if (want("N2.structs")) {
    auto v = below<i64>(many, 311, 1000); auto y = uniform<f64>(many, 313, 1); auto x = below<i32>(many, 314, 1000); Buf<Row> to(many + 1);
    vector("N2.structs", to, [&] { return filter_rows(v.p, y.p, x.p, 300, to.p, many); }, [](Row e) { return f64(e.a) + e.b; });
  }
  if (want("N3.mean")) {
    auto k = below<i32>(many, 315, 10); auto v = uniform<f64>(many, 316, 100);
    bench("N3.mean", [&] { return means_by(k.p, v.p, many); });
  }
  if (want("N4.bisect")) {
    auto v = uniform<f64>(1'000'000, 317, 1000); Buf<f64> to(v.n);
    vector("N4.bisect", to, [&] { bisect(v.p, to.p, v.n); return i64(v.n); });
  }
  if (want("N5.again")) {
    auto v = uniform<f64>(4000, 318, 1);
    bench("N5.again", [&] { return again(v.p, 4000, 20000); });
  }
  if (want("N6.dots")) {
    auto x = uniform<f64>(many, 319, 1), w = uniform<f64>(8, 320, 1); Buf<f64> to(many / 8);
    vector("N6.dots", to, [&] { dots(x.p, w.p, to.p, many / 8, 8); return i64(many / 8); });
  }
  if (want("N6.softmax")) {
    auto x = uniform<f64>(some, 319, 8); Buf<f64> to(some);
    vector("N6.softmax", to, [&] { softmax(x.p, to.p, some / 1000, 1000); return i64(some); });
  }
  if (want("N6.argmax")) {
    auto x = uniform<f64>(some, 319, 1); Buf<i64> to(some / 100);
    vector("N6.argmax", to, [&] { argmax(x.p, to.p, some / 100, 100); return i64(some / 100); });
  }
  if (want("N6.standard")) {
    auto x = uniform<f32>(some, 319, 1); Buf<f32> to(some);
    vector("N6.standard", to, [&] { standard(x.p, to.p, some / 250, 250); return i64(some); }, [](f32 e) { return e * e; });
  }
  if (want("N6.gram")) {
    auto x = uniform<f64>(64 * 65536, 325, 1); Buf<f64> to(64 * 64);
    vector("N6.gram", to, [&] { gram(x.p, to.p, 64, 65536); return i64(4096); });
  }
  if (want("N6.sparse")) {
    const i64 n = 1'000'000;
    auto starts = sizes_to_ends(n, 321);
    auto cols = below<i32>(starts[n], 322, 100'000); auto values = uniform<f64>(starts[n], 323, 1), v = uniform<f64>(100'000, 324, 1); Buf<f64> to(n);
    vector("N6.sparse", to, [&] { sparse(starts.p, cols.p, values.p, v.p, to.p, n); return n; });
  }
  if (want("N7.chain")) {
    auto v = uniform<f64>(many, 326, 1);
    bench("N7.chain", [&] { return chain(v.p, many); });
  }
  if (want("N7.haversine")) {
    auto lat = uniform<f64>(some / 2, 327, 80), lon = uniform<f64>(some / 2, 328, 90); Buf<f64> to(some / 2);
    vector("N7.haversine", to, [&] { haversine(lat.p, lon.p, to.p, some / 2); return i64(some / 2); });
  }
  if (want("N7.random")) {
    bench("N7.random", [&] {
      i64 n = 100'000'000;
      asm volatile("" : "+r"(n) : : "memory");  // as if it were not known
      i64 m = random_points(n);
      asm volatile("" : "+r"(m) : : "memory");
      return m;
    });
  }
  if (want("N8.clamped")) {
    auto v = uniform<f32>(2 * many, 329, 1); Buf<f32> to(2 * many);
    vector("N8.clamped", to, [&] { clamped(v.p, to.p, 2 * many); return i64(2 * many); });
  }
  if (want("N8.words")) {
    auto text = gen<u8>(100'000'000, [](size_t i) { return u8(bnd(330, i, 6) ? 97 + bnd(331, i, 26) : 32); });
    bench("N8.words", [&] { return words(text.p, 100'000'000); });
  }
  if (want("N8.grey")) {
    auto rgb = below<u8>(60'000'000, 332, 256); Buf<u8> to(many);
    vector("N8.grey", to, [&] { grey(rgb.p, to.p, many); return i64(many); });
  }
  if (want("N9.pairs")) {
    auto p = below<i32>(many, 333, 64), q = below<i32>(many, 334, 64);
    bench("N9.pairs", [&] { return count_pairs(p.p, q.p, many); });
  }
  if (want("N9.remainder")) {
    auto k = below<i64>(many, 335, 1'000'000'000); auto v = uniform<f64>(many, 336, 1);
    bench("N9.remainder", [&] { return by_remainder(k.p, v.p, many); });
  }
  if (want("N9.floats")) {
    auto p = gen<f64>(many, [](size_t i) { return f64(bnd(337, i, 40)) * 0.25; }); auto q = below<i64>(many, 338, 50), v = below<i64>(many, 339, 1000);
    bench("N9.floats", [&] { return by_floats(p.p, q.p, v.p, many); });
  }
  if (want("N9.bytes")) {
    auto k = below<u8>(many, 340, 256); auto v = uniform<f32>(many, 341, 1);
    bench("N9.bytes", [&] { return by_bytes(k.p, v.p, many); });
  }
  if (want("N9.months")) {
    auto days = below<i32>(many, 342, 20000); auto v = uniform<f64>(many, 343, 1);
    bench("N9.months", [&] { return by_months(days.p, v.p, many); });
  }
  if (want("N10.flatten")) {
    const i64 n = 1'000'000;
    auto ends = sizes_to_ends(n, 351);
    auto x = below<i64>(ends[n], 352, 1000); Buf<i64> to(ends[n]);
    std::vector<std::pair<const i64 *, i64>> rows;
    for (i64 i = 0; i < n; i++) rows.push_back({x.p + ends[i], ends[i + 1] - ends[i]});
    vector("N10.flatten", to, [&] { return flatten(rows, to.p); });
  }
  if (want("N10.scatter")) {
    auto v = uniform<f64>(some, 353, 1); auto at = gen<i64>(some, [](size_t i) { return i64(i * 7'368'787u % 10'000'000); }); Buf<f64> to(some);
    vector("N10.scatter", to, [&] { scatter(v.p, at.p, to.p, some); return i64(some); });
  }
  if (want("N10.bytes")) {
    auto text = below<u8>(100'000'000, 354, 256); Buf<i64> to(256);
    vector("N10.bytes", to, [&] { count_bytes(text.p, to.p, 100'000'000); return i64(256); });
  }
  if (want("N10.bins")) {
    auto v = uniform<f64>(2 * many, 355, 1); Buf<i64> to(1000);
    vector("N10.bins", to, [&] { bins(v.p, to.p, 2 * many); return i64(1000); });
  }
  if (want("N11.structs")) {
    auto k = below<i64>(many, 356, 1000); auto x = uniform<f64>(many, 357, 1), y = uniform<f64>(many, 358, 1);
    bench("N11.structs", [&] { return structs(k.p, x.p, y.p, many); });
  }
  if (want("N11.skip")) {
    auto day = gen<i32>(many, [](size_t i) { return i32(i / 10'000); });
    auto x = uniform<f64>(many, 359, 1), y = uniform<f64>(many, 360, 1); auto z = below<i64>(many, 361, 1000);
    bench("N11.skip", [&] { return skip(day.p, x.p, y.p, z.p, many); });
  }
  if (want("N12.nearest")) {
    auto ax = uniform<f64>(20'000, 362, 1), ay = uniform<f64>(20'000, 363, 1), bx = uniform<f64>(5'000, 364, 1), by = uniform<f64>(5'000, 365, 1); Buf<f64> to(20'000);
    vector("N12.nearest", to, [&] { nearest(ax.p, ay.p, bx.p, by.p, to.p, 20'000, 5'000); return i64(20'000); });
  }
  if (want("N12.symmetric")) {
    auto x = uniform<f64>(9'000'000, 366, 1); Buf<f64> to(9'000'000);
    vector("N12.symmetric", to, [&] { symmetric(x.p, to.p, 3000); return i64(9'000'000); });
  }
  if (want("N13.rows")) {
    const i64 n = 1'000'000;
    auto ends = sizes_to_ends(n, 351);
    auto x = below<i64>(ends[n], 352, 1000); Buf<i64> to(ends[n]); Buf<Piece<i64>> rows(n), made(n);
    for (i64 i = 0; i < n; i++) rows.p[i] = {x.p + ends[i], ends[i + 1] - ends[i]};
    vector("N13.rows", to, [&] { return map_rows(rows.p, n, to.p, made.p); });
  }
  if (want("N13.reversed")) {
    const i64 n = 2'000'000;
    Words w(n, 371, 3, 9); Buf<u8> to(w.bytes); Buf<Piece<u8>> made(n);
    vector("N13.reversed", to, [&] { return reversed(w.rows.p, n, to.p, made.p); });
  }
  if (want("N13.joined")) {
    const i64 n = 1'000'000;
    Words a(n, 373, 3, 9), b(n, 375, 3, 9); Buf<u8> to(a.bytes + b.bytes); Buf<Piece<u8>> made(n);
    vector("N13.joined", to, [&] { return joined(a.rows.p, b.rows.p, n, to.p, made.p); });
  }
  if (want("N13.field")) {
    const i64 n = 1'000'000;
    auto text = gen<u8>(n * 24, [](size_t i) {
      u64 at = i % 24;
      if (at == 5 || at == 10 || at == 16) return u8(',');
      return u8(at > 10 && at < 16 ? '0' + bnd(377, i, 10) : 97 + bnd(377, i, 26));
    });
    Buf<Piece<u8>> rows(n);
    for (i64 i = 0; i < n; i++) rows.p[i] = {text.p + 24 * i, 24};
    bench("N13.field", [&] { return fields(rows.p, n); });
  }
  if (want("N14.first")) {
    auto k = below<i32>(some, 367, 1'000'000); auto v = uniform<f64>(some, 368, 1); Buf<f64> to(100);
    vector("N14.first", to, [&] { first(k.p, v.p, some, to.p, 100); return i64(100); });
  }
  if (want("N14.ring")) {
    auto x = uniform<f64>(4'000'000, 369, 1); Buf<f64> to(4'000'000);
    vector("N14.ring", to, [&] { ring(x.p, to.p, 2000); return i64(4'000'000); });
  }
  if (want("N14.windows")) {
    auto x = uniform<f32>(2 * many, 370, 1); Buf<f32> fours(many / 2), to(many / 2 - 15);
    vector("N14.windows", to, [&] { return windows(x.p, 2 * many, fours.p, to.p); });
  }
  if (want("N14.knapsack")) {
    auto w = gen<i64>(100, [](size_t i) { return i64(1 + bnd(379, i, 2000)); }); auto v = below<i64>(100, 380, 1000);
    bench("N14.knapsack", [&] { return knapsack(w.p, v.p, 100, 100'000); });
  }
  if (want("N15.bags")) {
    const i64 n = 200'000, width = 32;
    std::vector<i64> ends(n + 1);
    for (i64 i = 1; i <= n; i++) ends[i] = ends[i - 1] + 1 + i64(bnd(381, i - 1, 10));
    auto ids = below<i64>(ends[n], 382, 5000); auto x = uniform<f32>(5000 * width, 383, 1); Buf<f32> to(n * width); Buf<Piece<i64>> rows(n);
    for (i64 i = 0; i < n; i++) rows.p[i] = {ids.p + ends[i], ends[i + 1] - ends[i]};
    vector("N15.bags", to, [&] { bags(rows.p, n, x.p, width, to.p); return n * width; });
  }
  if (want("N16.bodies")) {
    const i64 n = 4000;
    auto x = uniform<f64>(n, 388, 1), y = uniform<f64>(n, 389, 1), m = uniform<f64>(n, 390, 1); Buf<f64> to(n);
    vector("N16.bodies", to, [&] { bodies(x.p, y.p, m.p, to.p, n); return n; });
  }
  if (want("N16.particles")) {
    const i64 n = 200'000;
    auto x = uniform<f64>(n, 391, 1), y = uniform<f64>(n, 392, 1), u = uniform<f64>(n, 393, 1), v = uniform<f64>(n, 394, 1);
    bench("N16.particles", [&] { return particles(x.p, y.p, u.p, v.p, n, 20); });
  }
  if (want("N16.few")) {
    auto x = uniform<f64>(some, 395, 1), y = uniform<f64>(some, 396, 1), cx = uniform<f64>(8, 397, 1), cy = uniform<f64>(8, 398, 1); Buf<f64> to(some);
    i64 k = 8;
    asm volatile("" : "+r"(k) : : "memory");  // as if it were not known
    vector("N16.few", to, [&] { few(x.p, y.p, cx.p, cy.p, to.p, i64(some), k); return i64(some); });
  }
  if (want("N16.eliminate")) {
    const i64 n = 300;
    auto a = gen<f64>(n * n, [](size_t k) { return u01(399, k) + (k / 300 == k % 300 ? 300 : 0); }); Buf<f64> to(n * n);
    vector("N16.eliminate", to, [&] { eliminate(a.p, to.p, n); return n * n; });
  }
  if (want("N17.interpolate")) {
    auto tx = gen<f64>(1'000, [](size_t i) { return f64(i) + u01(400, i); }); auto ty = uniform<f64>(1'000, 401, 1);
    auto q = gen<f64>(300'000, [](size_t i) { return 1010 * u01(402, i) - 5; }); Buf<f64> to(300'000);
    vector("N17.interpolate", to, [&] { interpolate(tx.p, ty.p, 1'000, q.p, to.p, 300'000); return i64(300'000); });
  }
  if (want("N17.queue")) {
    const i64 n = 100'000;
    auto off = gen<i64>(n + 1, [](size_t i) { return i64(4 * i); }); auto nb = below<i64>(4 * n, 403, n); Buf<i64> to(n), met(n);
    vector("N17.queue", to, [&] { queue(off.p, nb.p, n, to.p, met.p); return n; });
  }
  if (want("N17.modes")) {
    auto x = below<i64>(1'600'000, 404, 12); Buf<i64> to(100'000);
    vector("N17.modes", to, [&] { modes(x.p, 100'000, 16, to.p); return i64(100'000); });
  }
  if (want("N17.bytes")) {
    auto x = below<u8>(4'000'000, 405, 256); Buf<u8> to(4'000'000);
    vector("N17.bytes", to, [&] { sort_bytes(x.p, 4'000'000, to.p); return i64(4'000'000); });
  }
  if (want("N18.unite")) {
    auto a = below<i32>(150'000, 406, 100'000), b = below<i32>(150'000, 407, 100'000); Buf<i32> p(100'000);
    bench("N18.unite", [&] { return f64(unite(a.p, b.p, 150'000, p.p, 100'000)); });
  }
  if (want("N18.lu")) {
    const i64 n = 180;
    auto m = gen<f64>(n * n, [](size_t k) { return u01(408, k) + (k / 180 == k % 180 ? 180 : 0); }); Buf<f64> to(n * n);
    vector("N18.lu", to, [&] { lu(m.p, to.p, n); return n * n; });
  }
  if (want("N18.hex")) {
    auto x = below<u8>(1'500'000, 409, 256); Buf<u8> to(3'000'000);
    vector("N18.hex", to, [&] { hex(x.p, 1'500'000, to.p); return i64(3'000'000); });
  }
  if (want("N18.drawdown")) {
    auto x = gen<f64>(1'000'000, [](size_t i) { return 100 + f64(i) * 1e-4 + u01(410, i); }); Buf<f64> to(1'000'000);
    vector("N18.drawdown", to, [&] { drawdown(x.p, 1'000'000, to.p); return i64(1'000'000); });
  }
  if (want("N18.sums")) {
    auto k = gen<i64>(4'000'000, [](size_t i) { return i64(13 * bnd(411, i, 30'000)); }); auto v = uniform<f64>(4'000'000, 412, 1);
    bench("N18.sums", [&] { return sums(k.p, v.p, 4'000'000); });
  }
  if (want("N18.nearest")) {
    auto x = uniform<f64>(2000, 413, 1), y = uniform<f64>(2000, 414, 1), qx = uniform<f64>(1000, 415, 1), qy = uniform<f64>(1000, 416, 1); Buf<f64> to(1000);
    vector("N18.nearest", to, [&] { nearest_five(x.p, y.p, 2000, qx.p, qy.p, 1000, to.p); return i64(1000); });
  }
  if (want("N19.cubes")) {
    auto x = gen<f64>(1'000'000, [](size_t i) { return 0.01 + 1000 * u01(417, i); }); Buf<f64> to(1'000'000);
    vector("N19.cubes", to, [&] { cubes(x.p, 1'000'000, to.p); return i64(1'000'000); });
  }
  if (want("N19.dimension")) {
    auto article = gen<i64>(100'000, [](size_t i) { return i64(i * 7919 % 100'000 + 1); }); auto price = uniform<f64>(100'000, 418, 1);
    auto sold = gen<i64>(4'000'000, [](size_t i) { return i64(bnd(419, i, 110'000)); }); auto amount = uniform<f64>(4'000'000, 420, 1);
    bench("N19.dimension", [&] { return dimension(article.p, price.p, 100'000, sold.p, amount.p, 4'000'000, 0.5); });
  }
  if (want("N19.hours")) {
    auto t = gen<i64>(4'000'000, [](size_t i) { return i64(bnd(421, i, 1'000'000'000)); }); Buf<i64> to(24);
    vector("N19.hours", to, [&] { hours(t.p, 4'000'000, to.p); return i64(24); });
  }
  if (want("N19.dilate")) {
    auto m = below<u8>(1'500'000, 422, 256); Buf<u8> to(1'500'000);
    vector("N19.dilate", to, [&] { return dilate(m.p, 1'500'000, 1000, to.p); });
  }
  if (want("N19.filtered")) {
    auto k = below<i64>(4'000'000, 423, 100'000); auto day = below<i32>(4'000'000, 424, 100); auto v = uniform<f64>(4'000'000, 425, 1);
    bench("N19.filtered", [&] { return filtered(k.p, day.p, v.p, 4'000'000); });
  }
  if (want("N19.columns")) {
    auto m = uniform<f64>(3'000'000, 426, 1); Buf<f64> to(3);
    vector("N19.columns", to, [&] { column_sums(m.p, 3'000'000, 3, to.p); return i64(3); });
  }
  if (want("N20.sieve")) {
    const i64 n = 1'000'000; Buf<i32> to(n);
    vector("N20.sieve", to, [&] { sieve(n, to.p); return n; });
  }
  if (want("N20.first")) {
    auto x = below<i64>(4'000, 427, 8'000), sought = below<i64>(2'000, 428, 8'000); Buf<i64> to(2'000);
    vector("N20.first", to, [&] { first_places(x.p, 4'000, sought.p, 2'000, to.p); return i64(2'000); });
  }
  if (want("N20.halves")) {
    auto x = below<u8>(1'500'000, 429, 256); Buf<u8> to(375'000);
    vector("N20.halves", to, [&] { return halves(x.p, 1'500'000, 1000, to.p); });
  }
  if (want("N20.determinants")) {
    auto m = uniform<f64>(1'800'000, 430, 1); Buf<f64> to(200'000);
    vector("N20.determinants", to, [&] { determinants(m.p, 200'000, to.p); return i64(200'000); });
  }
  if (want("N20.buckets")) {
    auto bucket = below<i64>(2'000'000, 431, 66'000); auto v = uniform<f64>(2'000'000, 432, 1); Buf<f64> to(66'000);
    vector("N20.buckets", to, [&] { buckets(bucket.p, v.p, 2'000'000, 66'000, to.p); return i64(66'000); });
  }
  if (want("N20.lists")) {
    auto from = below<i64>(1'000'000, 433, 100'000), target = below<i64>(1'000'000, 434, 100'000); Buf<i64> to(1'000'000);
    vector("N20.lists", to, [&] { lists(from.p, target.p, 1'000'000, 100'000, to.p); return i64(1'000'000); });
  }
  if (want("N15.product")) {
    const i64 n = 256;
    auto x = uniform<f64>(n * n, 384, 1), y = uniform<f64>(n * n, 385, 1); Buf<f64> to(n * n);
    vector("N15.product", to, [&] { product(x.p, y.p, to.p, n); return n * n; });
  }
  if (want("N15.cholesky")) {
    const i64 n = 500;
    auto m = gen<f64>(n * n, [](size_t k) { size_t i = k / 500, j = k % 500; return u01(386, std::min(i, j) * 500 + std::max(i, j)) + (i == j ? 500 : 0); });
    Buf<f64> to(n * n);
    vector("N15.cholesky", to, [&] { cholesky(m.p, to.p, n); return n * n; });
  }
  if (want("N15.shuffle")) {
    Buf<i64> to(1'000'000);
    vector("N15.shuffle", to, [&] { shuffle(to.p, 1'000'000, 42); return i64(1'000'000); });
  }
}
