// Keys of dictionaries: equality and hash. Floats: 0.0 and -0.0 are one key, 0.0 in tables, and all NaNs are
// one. Vectors count by content. The usual kinds of key have functions of their own, chosen once per table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "runtime/abi/weld_abi.h"
#include "runtime/describe.h"

namespace weld::runtime {

enum class KeyKind : std::uint8_t {
    Plain1,
    Plain2,
    Plain4,
    Plain8,
    Plain12,
    Plain16,  // scalars and structs of them, as canonical_key makes them: equal keys have equal bytes
    Bytes,    // a vector of plain elements
    Any
};

/// Equal values have equal bytes, input from users included (where a bool may be any byte).
inline bool bytes_decide(const WeldType* t) {
    return t->plain && !any_part(t, [](const WeldType* p) { return p->kind == kWeldBool; });
}

KeyKind key_kind(const WeldType* key);
/// Makes the key at `at` one as tables have it: 0.0 for both zeros, one NaN, 1 for true, zeros for padding;
/// what is inside of vectors stays as it is. Emitted code makes such keys by itself.
void make_canonical(const WeldType* key, char* at);
/// Calls f(offset) for the bytes of a key that are padding.
void each_padding(const WeldType* key, std::int64_t offset, const std::function<void(std::int64_t)>& f);
/// Hash and equality of such keys need their type: they may point at more than their own bytes.
constexpr bool reads_type(KeyKind k) { return k == KeyKind::Bytes || k == KeyKind::Any; }

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return std::uint64_t(product) ^ std::uint64_t(product >> 64);
}

constexpr std::uint64_t kMixCount = kWeldMixCount, kMixBytes = kWeldMixBytes;

template <class T>
T load(const void* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

constexpr std::int64_t kHeadBytes = kWeldHeadBytes;

/// The first bytes of a string, up to kHeadBytes, as two words: strings of one length, if that is not more,
/// are equal if their heads are. Emitted code makes them by itself.
struct Head {
    std::uint64_t a, b;
    bool operator==(const Head&) const = default;
};

/// Reads nothing else. From four bytes on: four of the first eight or so on top of what follows them, and the
/// last likewise; the fewer there are, the more often they are in it.
inline Head head_of(const void* data, std::int64_t count) {
    const char* p = static_cast<const char*>(data);
    if (count < kWeldFewestInWords) {
        const auto byte = [=](std::int64_t i) { return std::uint64_t(std::uint8_t(p[i])) << (8 * i); };
        return {count > 0 ? byte(0) | byte(count / 2) | byte(count - 1) : 0, 0};
    }
    count = std::min(count, kHeadBytes);
    const std::int64_t by = count >> 3 << 2;
    const char* last = p + count - 4;
    const auto half = [](const char* at) { return std::uint64_t(load<std::uint32_t>(at)); };
    return {half(p) << 32 | half(p + by), half(last) << 32 | half(last - by)};
}

/// Sixteen bytes as words.
inline Head words_at(const char* p) { return {load<std::uint64_t>(p), load<std::uint64_t>(p + 8)}; }

/// `head` is that of these bytes. Of more, sixteen go into each multiplication; the last ones overlap what
/// came before.
inline std::uint64_t hash_bytes(const Head& head, const void* data, std::int64_t count) {
    const char* p = static_cast<const char*>(data);
    std::uint64_t h = mix(head.a ^ std::uint64_t(count) * kMixCount, head.b ^ kMixBytes);
    if (count <= kHeadBytes) return h;
    const auto add = [&](std::int64_t at) {
        const auto [a, b] = words_at(p + at);
        h = mix(a ^ h, b ^ kMixBytes);
    };
    for (std::int64_t at = kHeadBytes; at < count - kHeadBytes; at += kHeadBytes) add(at);
    add(count - kHeadBytes);
    return h;
}
inline std::uint64_t hash_bytes(const void* data, std::int64_t count) {
    return hash_bytes(head_of(data, count), data, count);
}

inline bool equal_bytes(const void* a, const void* b, std::int64_t count) {
    if (count <= kHeadBytes) return head_of(a, count) == head_of(b, count);
    const auto *p = static_cast<const char*>(a), *q = static_cast<const char*>(b);
    for (std::int64_t at = 0; at < count - kHeadBytes; at += kHeadBytes)
        if (words_at(p + at) != words_at(q + at)) return false;
    return words_at(p + count - kHeadBytes) == words_at(q + count - kHeadBytes);
}
/// Of strings with the same head.
inline bool equal_rests(const void* a, const void* b, std::int64_t count) {
    if (count <= kHeadBytes) return true;
    const auto *p = static_cast<const char*>(a), *q = static_cast<const char*>(b);
    if (count > 2 * kHeadBytes) return equal_bytes(p + kHeadBytes, q + kHeadBytes, count - kHeadBytes);
    return words_at(p + count - kHeadBytes) == words_at(q + count - kHeadBytes);
}

/// The bits of a float as a key.
template <class F>
auto key_bits(F x) {
    using Bits = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
    if (x == 0) return Bits(0);
    return std::bit_cast<Bits>(x != x ? std::numeric_limits<F>::quiet_NaN() : x);
}

/// Goes on from the hash `h` of what came before. Tables use the upper half, which all bits of `x` have
/// reached. With this factor numbers that follow one another, multiples and shifted numbers spread evenly:
/// nearly every one gets a slot of its own.
inline std::uint64_t hash_step(std::uint64_t h, std::uint64_t x) {
    return (std::rotl(h, kWeldHashRotation) + x) * kWeldHashFactor;
}
inline std::uint64_t hash_word(std::uint64_t x) { return hash_step(0, x); }
std::uint64_t hash_any(const WeldType* t, const void* key);
bool equal_any(const WeldType* t, const void* a, const void* b);

template <KeyKind K>
std::uint64_t hash_key(const WeldType* t, const void* key) {
    if constexpr (K == KeyKind::Plain1) return hash_word(load<std::uint8_t>(key));
    if constexpr (K == KeyKind::Plain2) return hash_word(load<std::uint16_t>(key));
    if constexpr (K == KeyKind::Plain4) return hash_word(load<std::uint32_t>(key));
    if constexpr (K == KeyKind::Plain8) return hash_word(load<std::uint64_t>(key));
    if constexpr (K == KeyKind::Plain12)
        return hash_step(hash_word(load<std::uint64_t>(key)),
                         load<std::uint32_t>(static_cast<const char*>(key) + 8));
    if constexpr (K == KeyKind::Plain16) {
        const char* words = static_cast<const char*>(key);
        return hash_step(hash_word(load<std::uint64_t>(words)), load<std::uint64_t>(words + 8));
    }
    if constexpr (K == KeyKind::Bytes) {
        const WeldVec v = load<WeldVec>(key);
        return hash_bytes(v.data, v.len * t->args[0]->size);
    }
    return hash_any(t, key);
}

template <KeyKind K>
bool equal_keys(const WeldType* t, const void* a, const void* b) {
    if constexpr (K == KeyKind::Plain1) return load<std::uint8_t>(a) == load<std::uint8_t>(b);
    if constexpr (K == KeyKind::Plain2) return load<std::uint16_t>(a) == load<std::uint16_t>(b);
    if constexpr (K == KeyKind::Plain4) return load<std::uint32_t>(a) == load<std::uint32_t>(b);
    if constexpr (K == KeyKind::Plain8) return load<std::uint64_t>(a) == load<std::uint64_t>(b);
    if constexpr (K == KeyKind::Plain12) return std::memcmp(a, b, 12) == 0;
    if constexpr (K == KeyKind::Plain16) return std::memcmp(a, b, 16) == 0;
    return equal_any(t, a, b);
}

/// Calls `f` with the kind as a constant.
template <class F>
decltype(auto) with_key_kind(KeyKind kind, const F& f) {
    using enum KeyKind;
    switch (kind) {
        case Plain1: return f(std::integral_constant<KeyKind, Plain1>());
        case Plain2: return f(std::integral_constant<KeyKind, Plain2>());
        case Plain4: return f(std::integral_constant<KeyKind, Plain4>());
        case Plain8: return f(std::integral_constant<KeyKind, Plain8>());
        case Plain12: return f(std::integral_constant<KeyKind, Plain12>());
        case Plain16: return f(std::integral_constant<KeyKind, Plain16>());
        case Bytes: return f(std::integral_constant<KeyKind, Bytes>());
        case Any: break;
    }
    return f(std::integral_constant<KeyKind, Any>());
}

}  // namespace weld::runtime
