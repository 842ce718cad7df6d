// A filter of bits for the keys of a dictionary: a Bloom filter with one hash, the tag that the index keeps.
#include <cstdint>

#include "runtime/hash_table.h"
#include "runtime/kernels/kernel.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"

namespace {

using namespace weld::runtime;

/// For how many slots of an index bits are made: those of smaller ones are in the cache themselves, the bits of
/// larger ones are not.
constexpr int kFewestIndexBits = 15, kMostIndexBits = 25;
constexpr int kBitsForSlot = 2;  ///< the logarithm
constexpr int kWordBits = 6;
/// Behind the words a loop keeps from one chunk to the next for how many blocks it does not ask (codegen/rounds.cpp).
constexpr std::int64_t kMoreWords = 2;

/// {vec[u64],i64}: bit `tag >> shift` is set for every key.
struct KeyBits {
    WeldVec words;
    std::int64_t shift;
};

/// Whether as many rounds as there are slots to walk over are to ask.
bool pays(const WeldDict* d, std::int64_t rounds) {
    return d->bits >= kFewestIndexBits && d->bits <= kMostIndexBits && rounds >= std::int64_t(1) << d->bits;
}

std::int32_t make_bits(Task* task, const WeldDict* d, std::int64_t rounds, std::int32_t loc, KeyBits* to) {
    const bool has_bits = d && d->count && pays(d, rounds);
    const int log = has_bits ? d->bits + kBitsForSlot : kWordBits;
    const std::int64_t count = std::int64_t(1) << (log - kWordBits);
    auto* words = allocate_array<std::uint64_t>(task, count + kMoreWords, loc);
    if (!words) return kFailed;
    *to = {{words, count}, kWeldTagBits - log};
    std::fill_n(words, count, has_bits ? 0 : ~std::uint64_t(0));
    std::fill_n(words + count, kMoreWords, 0);
    if (!has_bits) return kOk;
    return in_strips(task, 0, std::int64_t(d->mask) + 1, loc, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) {
            const std::uint64_t slot = d->index[i];
            const std::uint32_t at = tag_in(slot) >> to->shift;
            words[at >> kWordBits] |= std::uint64_t(slot != 0) << (at % (1 << kWordBits));
        }
    });
}

}  // namespace

WELD_KERNEL_BODY(weld_kernel_key_bits) {
    const bool is_dict = call->types[0]->kind == kWeldDict;
    const WeldDict* d = is_dict ? argument<WeldDict*>(call, 0) : nullptr;
    return make_bits(task, d, argument<std::int64_t>(call, 1), call->loc, static_cast<KeyBits*>(result));
}
