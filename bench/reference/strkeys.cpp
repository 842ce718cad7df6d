// W17: strings as keys: sums, look-ups, groups and sorts. Strings are {pointer, length} into one array of bytes.
#include "common.hpp"
#include <hwy/contrib/sort/vqsort.h>
#include <memory>
#include <tbb/parallel_sort.h>
struct Str { const u8 *p; i64 n; };
struct Texts { Buf<u8> bytes; Buf<Str> s; };
static const char AB[] = "abcdefghijklmnopqrstuvwxyz012345";
// Text number `id` has lo + bnd(171, id, span) characters after `before`.
static Texts texts(size_t n, const char *before, u64 lo, u64 span, const std::function<u64(size_t)> &id) {
  Texts t; size_t pl = strlen(before); Buf<i64> off(n + 1); off[0] = 0;
  for (size_t i = 0; i < n; i++) off[i + 1] = off[i] + (i64)(pl + lo + bnd(171, id(i), span));
  t.bytes.alloc(off[n] + 64); t.s.alloc(n);
  pfor(n, 1 << 14, [&](size_t b, size_t e) { for (size_t i = b; i < e; i++) { u8 *p = t.bytes.p + off[i]; u64 k = id(i); size_t l = off[i + 1] - off[i]; memcpy(p, before, pl);
    for (size_t j = pl; j < l; j++) p[j] = AB[sm(172, k * 256 + j) >> 59]; t.s[i] = {p, (i64)l}; } });
  return t;
}
static inline u64 mum(u64 a, u64 b) { unsigned __int128 r = (unsigned __int128)a * b; return (u64)r ^ (u64)(r >> 64); }
// 12 bytes inside: a = length | first 4 bytes << 32, b = the next 8, or the pointer of a longer one. Arrays have 64 bytes more than they need.
struct Key { u64 a, b; };
static inline u64 low(u64 x, u64 bytes) { return _bzhi_u64(x, (u32)bytes * 8); }
static inline u64 w8(const u8 *p) { u64 x; memcpy(&x, p, 8); return x; }
static inline Key key_of(Str s, u64 *h) {
  if (s.n <= 12) { u64 x = w8(s.p), y = w8(s.p + 4); u64 f = s.n < 4 ? low(x, s.n) : x & 0xffffffff, r = s.n <= 4 ? 0 : low(y, s.n - 4);
    u64 a = (u64)s.n | f << 32; *h = mum(a ^ 0xa0761d6478bd642full, r ^ 0xe7037ed1a0b428dbull); return {a, r}; }
  u64 a = (u64)s.n | (w8(s.p) & 0xffffffff) << 32, g = a; const u8 *p = s.p; i64 l = s.n;
  for (; l > 16; l -= 16, p += 16) g = mum(w8(p) ^ g ^ 0xa0761d6478bd642full, w8(p + 8) ^ 0xe7037ed1a0b428dbull);
  p += l - 16; if (s.n < 16) { g = mum(w8(s.p) ^ g ^ 0xa0761d6478bd642full, w8(s.p + s.n - 8) ^ 0xe7037ed1a0b428dbull); }
  else g = mum(w8(p) ^ g ^ 0xa0761d6478bd642full, w8(p + 8) ^ 0xe7037ed1a0b428dbull);
  *h = g; return {a, (u64)s.p};
}
static inline bool same(const u8 *x, const u8 *y, i64 n) { for (; n > 16; n -= 16, x += 16, y += 16) if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)x), _mm_loadu_si128((const __m128i *)y))) != 0xffff) return false; x += n - 16, y += n - 16;
  return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)x), _mm_loadu_si128((const __m128i *)y))) == 0xffff; }
static inline bool eq(const Key &k, u64 a, u64 b) { if (k.a != a) return false; if (k.b == b) return true; u32 n = (u32)a; if (n <= 12) return false; return n < 16 ? !memcmp((const u8 *)k.b, (const u8 *)b, n) : same((const u8 *)k.b, (const u8 *)b, n); }
struct Slot { Key k; i64 v; u64 h; }; // h: the hash, 0: free
struct Table { Buf<Slot> s; u64 mask = 0, cnt = 0; int sh = 0;
  void init(int bits) { mask = (1ull << bits) - 1; sh = 64 - bits; s = Buf<Slot>(mask + 1); cnt = 0; }
  void grow() { Buf<Slot> o = std::move(s); u64 om = mask; init(64 - sh + 2); for (u64 i = 0; i <= om; i++) if (o.p[i].h) { u64 j = o.p[i].h >> sh; while (s.p[j].h) j = (j + 1) & mask; s.p[j] = o.p[i]; cnt++; } }
  inline Slot *find(const Key &k, u64 h) { for (u64 i = h >> sh;; i = (i + 1) & mask) { Slot &q = s.p[i]; if (q.h == h && eq(q.k, k.a, k.b)) return &q; if (!q.h) return nullptr; } }
  inline void add(const Key &k, u64 h, i64 v) { for (u64 i = h >> sh;; i = (i + 1) & mask) { Slot &q = s.p[i]; if (q.h == h && __builtin_expect(eq(q.k, k.a, k.b), 1)) { q.v += v; return; }
      if (!q.h) { q = {k, v, h}; if (++cnt * 2 > mask) grow(); return; } } } };
constexpr size_t B = 128;
template <class F> static void blocks(const Str *s, size_t lo, size_t hi, Table &t, const F &f) { // hashes and slots of a block first
  for (size_t b = lo; b < hi; b += B) { size_t e = std::min(hi, b + B); Key k[B]; u64 h[B];
    for (size_t i = b; i < e; i++) { u64 x; k[i - b] = key_of(s[i], &x); h[i - b] = x | 1; __builtin_prefetch(&t.s.p[h[i - b] >> t.sh]); }
    for (size_t i = b; i < e; i++) f(i, k[i - b], h[i - b]); } }
static Table sums(const Str *s, const i64 *v, size_t n, bool block) {
  std::vector<std::unique_ptr<Table>> tb(g_T); std::atomic<size_t> next{0};
  pstatic(g_T, [&](int t) { tb[t] = std::make_unique<Table>(); Table &T = *tb[t]; T.init(10);
    for (;;) { size_t lo = next.fetch_add(1 << 16); if (lo >= n) break; size_t hi = std::min(n, lo + (1 << 16));
      if (block) blocks(s, lo, hi, T, [&](size_t i, const Key &k, u64 h) { T.add(k, h, v[i]); });
      else for (size_t i = lo; i < hi; i++) { u64 h; Key k = key_of(s[i], &h); T.add(k, h | 1, v[i]); } } });
  for (int t = 1; t < g_T; t++) for (u64 i = 0; i <= tb[t]->mask; i++) { Slot &q = tb[t]->s.p[i]; if (q.h) tb[0]->add(q.k, q.h, q.v); }
  return std::move(*tb[0]);
}
static const u8 *data(const Key &k) { return (u32)k.a <= 12 ? nullptr : (const u8 *)k.b; }
static u64 mark(const u8 *p, i64 n) { return n ? p[0] + 256 * (u64)p[n - 1] + 65536 * (u64)n : 0; }
static u64 mark(const Key &k) { i64 n = (u32)k.a; if (data(k)) return mark(data(k), n); u8 b[12]; u32 f = (u32)(k.a >> 32); memcpy(b, &f, 4); memcpy(b + 4, &k.b, 8); return mark(b, n); }
static i64 digest(const Table &t) { u64 r = 1000003 * t.cnt; for (u64 i = 0; i <= t.mask; i++) if (t.s.p[i].h) r += mark(t.s.p[i].k) * (u64)t.s.p[i].v; return (i64)r; }
// the result is digested in the first run only
template <class F, class D> static void once(const std::string &name, const F &f, const D &digest) { bool known = false; i64 chk = 0; bench(name, [&] { auto r = f(); if (!known) chk = digest(r), known = true; return chk; }); }
struct Item { u64 hi; const Str *s; };
static inline u64 head(Str s, i64 from) { if (s.n - from <= 0) return 0; u64 x = w8(s.p + from); i64 l = s.n - from; return __builtin_bswap64(l >= 8 ? x : low(x, l)); }
static bool less(Str a, Str b) { int c = memcmp(a.p, b.p, std::min(a.n, b.n)); return c ? c < 0 : a.n < b.n; }
int main(int argc, char **argv) {
  init(argc, argv); if (!want("W17")) return 0;
  struct Kind { const char *name; size_t n; u64 keys, lo, span; };
  for (const Kind &k : {Kind{"few", 10000000, 300, 3, 10}, Kind{"mixed", 10000000, 300, 2, 30}, Kind{"many", 5000000, 1000000, 4, 13}, Kind{"long", 2000000, 100000, 20, 81}}) {
    auto v = gen<i64>(k.n, [](size_t i) { return (i64)bnd(174, i, 1000); }); auto id = [&](size_t i) { return bnd(173, i, k.keys); };
    std::string N = std::string("W17.sum.") + k.name, G = std::string("W17.group.") + k.name;
    if (!want(N) && !want(G) && !(want("W17.pairs") && k.keys == 300)) continue;
    Texts t = texts(k.n, "", k.lo, k.span, id);
    once(N + ".plain", [&] { return sums(t.s.p, v.p, k.n, false); }, digest);
    once(N + ".blocks", [&] { return sums(t.s.p, v.p, k.n, true); }, digest);
    struct Groups { std::vector<Str> keys; Buf<i64> ends; Buf<i64> values; };
    auto group = [&] { // numbers of the keys, then a place for each value; threads have rows and counts of their own
      struct Part { Table t; std::vector<Str> keys; std::vector<i64> counts; }; std::vector<std::unique_ptr<Part>> ps(g_T); Buf<u32> num(k.n); size_t per = (k.n + g_T - 1) / g_T;
      pstatic(g_T, [&](int th) { ps[th] = std::make_unique<Part>(); Part &p = *ps[th]; p.t.init(10); size_t lo = th * per, hi = std::min(k.n, lo + per);
        blocks(t.s.p, lo, hi, p.t, [&](size_t i, const Key &key, u64 h) { Slot *q = p.t.find(key, h); i64 m; if (q) m = q->v; else { m = (i64)p.keys.size(); p.t.add(key, h, m); p.keys.push_back(t.s[i]); p.counts.push_back(0); } num[i] = (u32)m; p.counts[m]++; }); });
      Groups g; Part &P = *ps[0]; std::vector<std::vector<u32>> map(g_T);
      for (int th = 1; th < g_T; th++) { Part &p = *ps[th]; for (size_t m = 0; m < p.keys.size(); m++) { u64 h; Key key = key_of(p.keys[m], &h); Slot *q = P.t.find(key, h | 1); i64 a; if (q) a = q->v; else { a = (i64)P.keys.size(); P.t.add(key, h | 1, a); P.keys.push_back(p.keys[m]); P.counts.push_back(0); } map[th].push_back((u32)a); } }
      size_t K = P.keys.size(); std::vector<std::vector<i64>> at(g_T, std::vector<i64>(K, 0)); for (size_t m = 0; m < P.counts.size(); m++) at[0][m] = P.counts[m];
      for (int th = 1; th < g_T; th++) for (size_t m = 0; m < map[th].size(); m++) at[th][map[th][m]] = ps[th]->counts[m];
      g.ends.alloc(K); i64 sum = 0; for (size_t m = 0; m < K; m++) { for (int th = 0; th < g_T; th++) { i64 c = at[th][m]; at[th][m] = sum; sum += c; } g.ends[m] = sum; }
      g.values.alloc(k.n); pstatic(g_T, [&](int th) { size_t lo = th * per, hi = std::min(k.n, lo + per); auto &a = at[th]; auto *mp = map[th].data(); for (size_t i = lo; i < hi; i++) { u32 m = num[i]; g.values[a[th ? mp[m] : m]++] = v[i]; } });
      g.keys = std::move(P.keys); return g; };
    once(G, group, [&](const Groups &g) { u64 r = 1000003 * g.keys.size(); i64 b = 0; for (size_t m = 0; m < g.keys.size(); m++) { u64 s = 0; for (i64 i = b; i < g.ends[m]; i++) s += (u64)g.values[i] * (u64)(i - b + 1); b = g.ends[m]; r += mark(g.keys[m].p, g.keys[m].n) * s; } return (i64)r; });
    if (want("W17.pairs") && k.keys == 300) { std::string N = std::string("W17.pairs.") + k.name;
      auto m = gen<i32>(k.n, [](size_t i) { return (i32)bnd(175, i, 16); });
      struct Wide { Key k; u64 m, h; i64 v; }; struct Result { Buf<Wide> s; size_t cnt; };
      once(N, [&] { int bits = 15, sh = 64 - bits; u64 mask = (1ull << bits) - 1; std::vector<Buf<Wide>> tb(g_T); std::vector<size_t> cnt(g_T, 0); std::atomic<size_t> next{0};
        auto add = [&](Buf<Wide> &s, size_t &c, const Key &key, u64 mm, u64 h, i64 x) { for (u64 i = h >> sh;; i = (i + 1) & mask) { Wide &q = s.p[i]; if (q.h == h && q.m == mm && eq(q.k, key.a, key.b)) { q.v += x; return; } if (!q.h) { q = {key, mm, h, x}; c++; return; } } };
        pstatic(g_T, [&](int th) { tb[th].alloc(mask + 1); for (;;) { size_t lo = next.fetch_add(1 << 16); if (lo >= k.n) break; size_t hi = std::min(k.n, lo + (1 << 16)); for (size_t i = lo; i < hi; i++) { u64 h; Key key = key_of(t.s[i], &h); u64 mm = (u32)m[i]; add(tb[th], cnt[th], key, mm, mum(h ^ mm, 0x8ebc6af09c88c6e3ull) | 1, v[i]); } } });
        for (int th = 1; th < g_T; th++) for (u64 i = 0; i <= mask; i++) if (Wide &q = tb[th].p[i]; q.h) add(tb[0], cnt[0], q.k, q.m, q.h, q.v);
        return Result{std::move(tb[0]), cnt[0]}; },
        [&](const Result &r) { u64 d = 1000003 * r.cnt; for (u64 i = 0; i < 1 << 15; i++) if (Wide &q = r.s.p[i]; q.h) d += (mark(q.k) + q.m) * (u64)q.v; return (i64)d; }); }
  }
  for (size_t keys : {1000ul, 1000000ul}) { std::string N = keys == 1000 ? "W17.find.1e3" : "W17.find.1e6"; if (!want(N)) continue;
    size_t np = 10000000; Texts t = texts(keys, "", 4, 13, [](size_t i) { return i; }), p = texts(np, "", 4, 13, [&](size_t j) { return bnd(176, j, 2 * keys); });
    Table T; T.init(keys == 1000 ? 11 : 21); for (size_t i = 0; i < keys; i++) { u64 h; Key k = key_of(t.s[i], &h); T.add(k, h | 1, (i64)i); }
    auto sum = [&](bool block) { return pred<i64>(np, 1 << 15, [&](size_t lo, size_t hi) { i64 s = 0, c = 0; auto one = [&](size_t, const Key &k, u64 h) { if (Slot *q = T.find(k, h)) s += q->v, c++; };
        if (block) blocks(p.s.p, lo, hi, T, one); else for (size_t i = lo; i < hi; i++) { u64 h; Key k = key_of(p.s[i], &h); one(i, k, h | 1); } return s + 1000003 * c; }); };
    bench(N + ".plain", [&] { return sum(false); }); bench(N + ".blocks", [&] { return sum(true); }); }
  struct Order { const char *name, *before; size_t n; u64 keys, lo, span; };
  for (const Order &o : {Order{"short", "", 2000000, 1ull << 40, 4, 9}, Order{"url", "https://www.example.org/", 1000000, 1ull << 40, 4, 20}, Order{"words", "", 2000000, 300, 3, 10}}) {
    std::string N = std::string("W17.sort.") + o.name; if (!want(N)) continue; size_t n = o.n;
    Texts t = texts(n, o.before, o.lo, o.span, [&](size_t i) { return o.keys >> 32 ? i : bnd(177, i, o.keys); });
    auto digest = [&](const Buf<Str> &r) { u64 d = 0; for (size_t i = 0; i < n; i += 1000) d += mark(r[i].p, r[i].n) * (i + 1); return (i64)d; };
    auto skip = [&] { i64 c = t.s[0].n; for (size_t i = 1; i < n; i++) { i64 l = std::min(c, t.s[i].n), j = 0; while (j + 8 <= l && w8(t.s[0].p + j) == w8(t.s[i].p + j)) j += 8; while (j < l && t.s[0].p[j] == t.s[i].p[j]) j++; c = j; } return c; };
    auto fill = [&](auto *x, i64 c) { pfor(n, 1 << 15, [&](size_t lo, size_t hi) { for (size_t i = lo; i < hi; i++) x[i] = {head(t.s[i], c), &t.s[i]}; }); };
    auto by = [](const Item &a, const Item &b) { return a.hi != b.hi ? a.hi < b.hi : less(*a.s, *b.s); };
    once(N + ".std", [&] { Buf<Item> x(n); fill(x.p, skip()); if (g_T == 1) std::sort(x.p, x.p + n, by); else tbb::parallel_sort(x.p, x.p + n, by); Buf<Str> r(n); for (size_t i = 0; i < n; i++) r[i] = *x[i].s; return r; }, digest);
    once(N + ".vq", [&] { Buf<hwy::uint128_t> x(n); i64 c = skip(); pfor(n, 1 << 15, [&](size_t lo, size_t hi) { for (size_t i = lo; i < hi; i++) x[i] = {(u64)i, head(t.s[i], c)}; });
      auto sort = [&](hwy::uint128_t *b, hwy::uint128_t *e) { hwy::Sorter()(b, size_t(e - b), hwy::SortAscending()); for (auto *i = b; i < e;) { auto *j = i + 1; while (j < e && j->hi == i->hi) j++; if (j - i > 1) std::sort(i, j, [&](const auto &p, const auto &q) { return less(t.s[p.lo], t.s[q.lo]); }); i = j; } };
      if (g_T == 1) sort(x.p, x.p + n); else { tbb::parallel_invoke([&] { sort(x.p, x.p + n / 2); }, [&] { sort(x.p + n / 2, x.p + n); }); std::inplace_merge(x.p, x.p + n / 2, x.p + n, [&](const auto &p, const auto &q) { return p.hi != q.hi ? p.hi < q.hi : less(t.s[p.lo], t.s[q.lo]); }); }
      Buf<Str> r(n); for (size_t i = 0; i < n; i++) { if (i + 16 < n) __builtin_prefetch(&t.s[x[i + 16].lo]); r[i] = t.s[x[i].lo]; } return r; }, digest);
    once(N + ".radix", [&] { // MSD by bytes on items of 16, down to short runs
      Buf<Item> x(n), y(n); fill(x.p, skip());
      std::function<void(Item *, Item *, size_t, int)> go = [&](Item *a, Item *b, size_t m, int shift) { if (m < 64 || shift < 0) { std::sort(a, a + m, by); return; } size_t c[257] = {}; for (size_t i = 0; i < m; i++) c[(a[i].hi >> shift & 255) + 1]++; 
        for (int k = 0; k < 256; k++) if (c[k + 1] == m) return go(a, b, m, shift - 8); 
        for (int k = 0; k < 256; k++) c[k + 1] += c[k]; size_t at[256]; memcpy(at, c, sizeof at); for (size_t i = 0; i < m; i++) b[at[a[i].hi >> shift & 255]++] = a[i]; memcpy(a, b, m * sizeof(Item));
        auto one = [&](int k) { if (c[k + 1] - c[k] > 1) go(a + c[k], b + c[k], c[k + 1] - c[k], shift - 8); }; if (shift == 56 && g_T > 1) tbb::parallel_for(0, 256, one); else for (int k = 0; k < 256; k++) one(k); };
      go(x.p, y.p, n, 56); Buf<Str> r(n); for (size_t i = 0; i < n; i++) { if (i + 16 < n) __builtin_prefetch(x[i + 16].s); r[i] = *x[i].s; } return r; }, digest);
  }
}
