// What the references of natural programs share: data, an open table, digests of columns.
#pragma once
#include "common.hpp"

typedef float f32;

// A table of keys that lie beside their values; `none` is no key.
template <class K, class V> struct Table {
  struct Slot { K key; V value; bool used; };
  std::vector<Slot> slots; u64 mask, n = 0;
  explicit Table(u64 entries) { u64 s = 16; while (s < 2 * entries) s *= 2; slots.resize(s); mask = s - 1; }
  static u64 hash(u64 k) { k *= 0x9E3779B97F4A7C15ull; return k ^ k >> 32; }
  Slot &at(u64 h, K key) {
    u64 i = h & mask;
    while (slots[i].used && !(slots[i].key == key)) i = (i + 1) & mask;
    return slots[i];
  }
  void grow() {
    std::vector<Slot> old(slots.size() * 2); old.swap(slots); mask = slots.size() - 1;
    for (auto &s : old) if (s.used) { u64 i = hash(u64(s.key)) & mask; while (slots[i].used) i = (i + 1) & mask; slots[i] = s; }
  }
  V &operator[](K key) {
    Slot *s = &at(hash(u64(key)), key);
    if (!s->used) {
      if (2 * ++n > mask) { grow(); s = &at(hash(u64(key)), key); }
      s->used = true; s->key = key;
    }
    return s->value;
  }
  void ahead(K key) { __builtin_prefetch(&slots[hash(u64(key)) & mask]); }
};

// Sums by keys, and a digest of them.
inline i64 sums_by_keys(const i64 *k, const i64 *v, i64 n) {
  Table<i64, i64> t(16);
  for (i64 i = 0; i < n; i++) t[k[i]] += v[i];
  i64 sum = 0;
  for (auto &e : t.slots) if (e.used) sum += e.key % 1000 * e.value;
  return sum;
}

template <class T> Buf<T> below(size_t size, u64 stream, u64 n) { return gen<T>(size, [=](size_t i) { return T(bnd(stream, i, n)); }); }
template <class T> Buf<T> uniform(size_t size, u64 stream, f64 n) { return gen<T>(size, [=](size_t i) { return T(n * u01(stream, i)); }); }
// Where pieces of up to 20 elements end; 0 before the first.
inline Buf<i64> sizes_to_ends(size_t n, u64 stream) {
  auto ends = gen<i64>(n + 1, [=](size_t i) { return i64(i ? bnd(stream, i - 1, 21) : 0); });
  for (size_t i = 1; i <= n; i++) ends[i] += ends[i - 1];
  return ends;
}
// f gives how many elements `to` has then
template <class T> static void vector(const char *name, Buf<T> &to, auto f, auto value) {
  i64 m = 0;
  bench(name, [&] { m = f(); keep(to.p); return 0.0; });
  f64 s = 0;
  for (i64 i = 0; i < m; i++) s += f64(value(to[i])) * f64(i % 7 + 1);
  printf("   %s chk %.12g\n", name, s);
}
template <class T> static void vector(const char *name, Buf<T> &to, auto f) { vector(name, to, f, [](T e) { return e; }); }
