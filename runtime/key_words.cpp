// Keys as words.
#include "runtime/key_words.h"

#include <algorithm>

#include "runtime/ahead.h"
#include "runtime/merge.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kBytesOfWord = 7;
constexpr std::uint64_t kMoreFollow = kBytesOfWord + 1;

/// Puts scalars into a word, the first ones on top.
struct Packed {
    std::uint64_t bits = 0;
    int room = 64;

    void add(int kind, const char* scalar) {
        if (kind == kWeldBool) return add_bits(*scalar != 0, 8);
        with_scalar(kind, [&]<class T>(T) { add_bits(ordered_bits(load<T>(scalar)), int(sizeof(T) * 8)); });
    }
    void add_bits(std::uint64_t value, int width) {
        if (width > room) {
            value >>= width - room;
            width = room;
        }
        if (!width) return;
        room -= width;
        bits |= value << room;
    }
    /// False where what comes behind has no place: the room is used up, or a vector ends.
    bool add_any(const WeldType* t, const char* value) {
        if (t->kind == kWeldVec) {
            const WeldVec v = load<WeldVec>(value);
            const char* elem = static_cast<const char*>(v.data);
            const std::int64_t size = t->args[0]->size;
            for (std::int64_t i = 0; size && i < v.len; ++i)
                if (!add_any(t->args[0], elem + i * size)) break;
            return false;
        }
        if (t->kind == kWeldStruct) {
            for (std::uint32_t i = 0; i < t->num_args; ++i)
                if (!add_any(t->args[i], value + t->offsets[i])) return false;
        } else {
            for_each_scalar(t, 0, [&](const WeldType* s, std::int64_t at) { add(s->kind, value + at); });
        }
        return room > 0;
    }
};

/// The word of the `left` bytes at `p`; reads no others.
template <bool IsSigned>
std::uint64_t word_of_bytes(const char* p, std::int64_t left) {
    std::uint64_t x = 0;
    if (left >= 4) {
        const std::int64_t last = std::min<std::int64_t>(left, 8) - 4;
        x = load<std::uint32_t>(p) | std::uint64_t(load<std::uint32_t>(p + last)) << (8 * last);
    } else if (left > 0) {
        const auto byte = [=](std::int64_t i) { return std::uint64_t(std::uint8_t(p[i])) << (8 * i); };
        x = byte(0) | byte(left / 2) | byte(left - 1);
    } else {
        return 0;
    }
    if constexpr (IsSigned) {
        constexpr std::uint64_t signs = 0x8080808080808080;
        x ^= left < 8 ? signs >> (64 - 8 * left) : signs;
    }
    constexpr std::uint64_t count = 0xff;
    return (__builtin_bswap64(x) & ~count) | std::min<std::uint64_t>(std::uint64_t(left), kMoreFollow);
}

}  // namespace

KeyWords::KeyWords(const WeldType* key, const char* keys, std::int64_t stride)
    : keys_(keys), stride_(stride) {
    add(key, 0);
}

void KeyWords::add(const WeldType* t, std::int64_t offset) {
    if (!parts_.empty() && parts_.back().kind == Kind::Other) return;
    if (t->kind == kWeldStruct) {
        for (std::uint32_t i = 0; i < t->num_args; ++i) add(t->args[i], offset + t->offsets[i]);
    } else if (t->kind == kWeldVec) {
        const bool is_string = t->args[0]->kind == kWeldU8 || t->args[0]->kind == kWeldI8;
        parts_.push_back(
            {.kind = is_string ? Kind::Bytes : Kind::Other, .type = t, .offset = offset, .scalars = {}});
    } else {
        for_each_scalar(t, offset, [&](const WeldType* s, std::int64_t at) { add_scalar(s, at); });
    }
}

void KeyWords::add_scalar(const WeldType* t, std::int64_t offset) {
    const int width = int(8 * t->size);
    if (parts_.empty() || parts_.back().kind != Kind::Scalars || parts_.back().width + width > 64)
        parts_.push_back({.kind = Kind::Scalars, .type = t, .offset = offset, .scalars = {}});
    parts_.back().width += width;
    parts_.back().scalars.push_back({t->kind, std::int32_t(offset)});
}

void KeyWords::read(Item* items, std::int64_t n, WordPlace place) const {
    if (is_end(place)) {  // of keys without parts
        for (std::int64_t i = 0; i < n; ++i) items[i].hi = 0;
        return;
    }
    const Part& part = parts_[place.part];
    switch (part.kind) {
        case Kind::Scalars: return read_scalars(part, items, n);
        case Kind::Bytes:
            return part.type->args[0]->kind == kWeldI8 ? read_bytes<true>(part, items, n, place.byte)
                                                       : read_bytes<false>(part, items, n, place.byte);
        case Kind::Other: break;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        Packed word;
        word.add_any(part.type, key(items[i].lo) + part.offset);
        items[i].hi = word.bits;
    }
}

/// Strings are behind two pointers: both are asked for early.
template <bool IsSigned>
void KeyWords::read_bytes(const Part& part, Item* items, std::int64_t n, std::int64_t byte) const {
    constexpr std::int64_t ahead = 16;
    for (std::int64_t i = 0; i < n; ++i) {
        if (i + 2 * ahead < n) __builtin_prefetch(key(items[i + 2 * ahead].lo) + part.offset);
        if (i + ahead < n)
            __builtin_prefetch(static_cast<const char*>(string(part, items[i + ahead].lo).data) + byte);
        const WeldVec s = string(part, items[i].lo);
        items[i].hi = word_of_bytes<IsSigned>(static_cast<const char*>(s.data) + byte, s.len - byte);
    }
}

void KeyWords::read_scalars(const Part& part, Item* items, std::int64_t n) const {
    if (part.scalars.size() == 1 && part.scalars[0].kind != kWeldBool) {
        with_scalar(part.scalars[0].kind, [&]<class T>(T) {
            for (std::int64_t i = 0; i < n; ++i) {
                const char* const at = key(items[i].lo) + part.offset;
                __builtin_prefetch(at + kBytesAhead);  // mostly they lie one behind the other
                items[i].hi = ordered_bits(load<T>(at));
            }
        });
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        Packed word;
        for (const ScalarField& s : part.scalars) word.add(s.kind, key(items[i].lo) + s.offset);
        items[i].hi = word.bits >> word.room;
    }
}

WordPlace KeyWords::after(WordPlace place, std::uint64_t word) const {
    switch (parts_[place.part].kind) {
        case Kind::Scalars: break;
        case Kind::Bytes:
            if ((word & 0xff) == kMoreFollow) return {place.part, place.byte + kBytesOfWord};
            break;
        case Kind::Other: return {place.part, 1};
    }
    return {place.part + 1, 0};
}

std::int64_t KeyWords::shared_bytes(const WeldVec& a, const WeldVec& b, std::int64_t from) {
    const std::int64_t most = std::min({a.len - from, b.len - from, kMostShared});
    const char* p = static_cast<const char*>(a.data) + from;
    const char* q = static_cast<const char*>(b.data) + from;
    std::int64_t i = 0;
    for (; i + 8 <= most; i += 8)
        if (const std::uint64_t differ = load<std::uint64_t>(p + i) ^ load<std::uint64_t>(q + i))
            return i + std::countr_zero(differ) / 8;
    while (i < most && p[i] == q[i]) ++i;
    return i;
}

}  // namespace weld::runtime
