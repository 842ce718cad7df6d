// Keys as words: numbers of 64 bits that, one after the other, compare as the keys do.
//
//     {vec[u8], i32, i32}, the key {"strings as keys", 7, -1}:
//
//     part 0, byte 0     "strings", 8: more bytes follow
//     part 0, byte 7     " as key", 8
//     part 0, byte 14    "s", 1: the string has one more byte, and ends
//     part 1             7 and -1 in one word
//
// A word of bytes has seven of them, zeros behind the end of the string, and below them how many there were.
// Keys whose words have been equal so far have their next word at the same place.
#pragma once

#include <hwy/base.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/hash_table.h"
#include "runtime/keys.h"
#include "runtime/parallel.h"

namespace weld::runtime {

/// A word of a key (hi) and the number of the key (lo).
using Item = hwy::uint128_t;

/// Bits of a value, the most significant ones first, that compare as unsigned numbers as the values do.
template <class T>
auto ordered_bits(T x) {
    if constexpr (std::is_floating_point_v<T>) {
        using Bits = decltype(key_bits(x));
        constexpr Bits sign = Bits(1) << (sizeof(T) * 8 - 1);
        const Bits bits = key_bits(x);  // one zero, one NaN, which is above infinity
        return bits & sign ? Bits(~bits) : Bits(bits | sign);
    } else if constexpr (std::is_signed_v<T>) {
        using Bits = std::make_unsigned_t<T>;
        return Bits(Bits(x) ^ Bits(Bits(1) << (sizeof(T) * 8 - 1)));
    } else {
        return x;
    }
}

/// The value whose ordered_bits these are.
template <class T, class Bits>
T from_ordered_bits(Bits bits) {
    constexpr Bits sign = Bits(Bits(1) << (sizeof(T) * 8 - 1));
    if constexpr (std::is_floating_point_v<T>)
        return std::bit_cast<T>(bits & sign ? Bits(bits ^ sign) : Bits(~bits));
    else return T(std::is_signed_v<T> ? Bits(bits ^ sign) : bits);
}

/// Where in a key a word stands.
struct WordPlace {
    std::size_t part = 0;
    std::int64_t byte = 0;  ///< of a string
};

class KeyWords {
  public:
    /// `keys` lie `stride` bytes apart.
    KeyWords(const WeldType* key, const char* keys, std::int64_t stride);

    /// Writes to items[i].hi, of `n` items, the word at `place` of key items[i].lo.
    void read(Item* items, std::int64_t n, WordPlace place) const;
    /// Whether all that a key has is one word.
    bool one_word() const {
        return parts_.empty() || (parts_.size() == 1 && parts_[0].kind == Kind::Scalars);
    }

    /// Keys with the same `word` at `place` go on there.
    WordPlace after(WordPlace place, std::uint64_t word) const;
    /// Nothing is left that could differ.
    bool is_end(WordPlace place) const { return place.part == parts_.size(); }
    /// What is left has no words: such keys are to be compared.
    bool is_compared(WordPlace place) const {
        return parts_[place.part].kind == Kind::Other && place.byte > 0;
    }

    /// Moves `*place` over bytes that all of `n` keys share, of which number(i) are the numbers. Status.
    template <class Number>
    std::int32_t skip_shared(Task* task, std::int64_t n, WordPlace* place, std::int32_t loc,
                             const Number& number) const;

  private:
    enum class Kind : std::uint8_t {
        Scalars,  ///< as many as fit one word
        Bytes,    ///< a string of u8 or i8
        Other     ///< a vector of something else: one word, then whole keys are compared
    };
    struct Part {
        Kind kind;
        int width = 0;  ///< bits of the scalars
        const WeldType* type;
        std::int64_t offset;
        std::vector<ScalarField> scalars;
    };
    void add(const WeldType* t, std::int64_t offset);
    void add_scalar(const WeldType* t, std::int64_t offset);
    template <bool IsSigned>
    void read_bytes(const Part& part, Item* items, std::int64_t n, std::int64_t byte) const;
    void read_scalars(const Part& part, Item* items, std::int64_t n) const;

    const char* key(std::uint64_t number) const { return keys_ + std::int64_t(number) * stride_; }
    WeldVec string(const Part& part, std::uint64_t number) const {
        return load<WeldVec>(key(number) + part.offset);
    }
    /// Bytes from `from` on that the strings share, up to kMostShared.
    static std::int64_t shared_bytes(const WeldVec& a, const WeldVec& b, std::int64_t from);

    static constexpr std::int64_t kMostShared = 1 << 11;  ///< for a strip of keys, a few ms

    const char* keys_;
    std::int64_t stride_;
    std::vector<Part> parts_;
};

template <class Number>
std::int32_t KeyWords::skip_shared(Task* task, std::int64_t n, WordPlace* place, std::int32_t loc,
                                   const Number& number) const {
    constexpr std::int64_t some = 16, worth_it = 7;
    if (is_end(*place) || parts_[place->part].kind != Kind::Bytes || n < 2) return kOk;
    const Part& part = parts_[place->part];
    const WeldVec first = string(part, number(0));
    const auto shared = [&](std::int64_t i) {
        return shared_bytes(first, string(part, number(i)), place->byte);
    };
    std::int64_t least = kMostShared;
    for (std::int64_t k = 1; k <= std::min(some, n - 1); ++k)
        least = std::min(least, shared(n <= some ? k : (n - 1) / some * k));
    if (least < worth_it) return kOk;
    std::atomic<std::int64_t> all = least;
    const auto look = [&](std::int64_t lo, std::int64_t hi) {
        std::int64_t mine = all;
        for (std::int64_t i = lo; i < hi; ++i) mine = std::min(mine, shared(i));
        for (std::int64_t now = all; mine < now && !all.compare_exchange_weak(now, mine);) {}
    };
    if (n > some && for_pieces(task, n, 1 << 14, loc, look)) return kFailed;
    place->byte += all;
    return kOk;
}

}  // namespace weld::runtime
