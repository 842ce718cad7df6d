// Choosing how keys make places, and giving entries theirs.
#include "runtime/places.h"

#include <algorithm>
#include <array>
#include <bit>

#include "runtime/merge.h"

namespace weld::runtime {

/// As much memory as an index takes for a key, if there are few: sixteen places of four bytes.
static constexpr int kPlaceBitsForEntry = 4, kMostPlaceBits = 20;
static constexpr std::int64_t kFewestEntries = 4;
/// One of so many keys may be without a place.
static constexpr std::int64_t kPlacedForOther = 8;
/// One of so many keys, but not too many, may wait until others are given places with it.
static constexpr std::int64_t kPlacedForWaiting = 64, kMostWaiting = 16;

static std::uint32_t* slots_of(WeldDict* d) {
    return reinterpret_cast<std::uint32_t*>(const_cast<WeldPlaces*>(d->places + 1));
}

/// Calls `f` with the number in field `k` of each key of the entries [lo, hi), in order.
template <class F>
static void each_number(const WeldDict* d, int k, std::int64_t lo, std::int64_t hi, const F& f) {
    const ScalarField& field = d->key_fields[k];
    const char* key = d->entry(lo) + field.offset;
    with_scalar(field.kind, [&]<class T>(T) {
        for (std::int64_t i = lo; i < hi; ++i, key += d->stride) f(std::int64_t(load<T>(key)));
    });
}

/// The places of the entries [lo, hi).
static void find_places(const WeldDict* d, std::int64_t lo, std::int64_t hi, std::uint64_t* places) {
    std::fill_n(places, hi - lo, 0);
    for (int k = 0; k < d->num_key_fields; ++k) {
        const std::uint64_t shift = k ? d->places->shifts[k - 1] : 0;
        std::uint64_t* place = places;
        each_number(d, k, lo, hi, [&](std::int64_t x) { *place++ += std::uint64_t(x) << shift; });
    }
    for (std::int64_t i = 0; i < hi - lo; ++i) places[i] &= d->places->mask;
}

/// Keys are one byte.
static bool are_bytes(const WeldDict* d) {
    return d->num_key_fields == 1 && (d->key_fields[0].kind == kWeldBool ||
                                      d->key_fields[0].kind == kWeldI8 || d->key_fields[0].kind == kWeldU8);
}

/// Gives the entries [lo, hi) their places. How many of these others have.
static std::int64_t fill_places(WeldDict* d, std::int64_t lo, std::int64_t hi) {
    constexpr std::int64_t kAtOnce = 64;
    std::array<std::uint64_t, kAtOnce> places;
    std::uint32_t* const slots = slots_of(d);
    const bool bytes = are_bytes(d);
    std::int64_t without = 0;
    for (; lo < hi; lo += kAtOnce) {
        const std::int64_t end = std::min(hi, lo + kAtOnce);
        find_places(d, lo, end, places.data());
        if (lo == 0) d->placing.first = places[0];
        for (std::int64_t i = lo; i < end; ++i) {
            const std::uint64_t place = places[std::size_t(i - lo)];
            const std::int64_t distance = (bytes ? i + 1 : i) * d->stride;
            // free places name the first entry, but where each byte has its own
            const bool is_taken = !bytes && (slots[place] || place == d->placing.first);
            if (is_taken || distance > std::int64_t(UINT32_MAX)) without += i > 0;
            else slots[place] = std::uint32_t(distance);
        }
    }
    return without;
}

static int bits_between(std::int64_t least, std::int64_t greatest) {
    return int(std::bit_width(std::uint64_t(greatest) - std::uint64_t(least)));
}

/// Bits that tell the numbers of field `k` apart.
static int bits_of_all(const WeldDict* d, int k) {
    std::int64_t least = INT64_MAX, greatest = INT64_MIN;
    each_number(d, k, 0, d->count, [&](std::int64_t x) {
        least = std::min(least, x);
        greatest = std::max(greatest, x);
    });
    return bits_between(least, greatest);
}

/// The same but for a few that are far from the others, in a sample of keys.
static int bits_of_most(const WeldDict* d, int k) {
    constexpr std::int64_t most = 64;
    std::array<std::int64_t, most> sample;
    const std::int64_t n = std::min(most, d->count);
    for (std::int64_t i = 0; i < n; ++i)
        each_number(d, k, i * d->count / n, i * d->count / n + 1,
                    [&](std::int64_t x) { sample[std::size_t(i)] = x; });
    std::sort(sample.begin(), sample.begin() + n);
    const std::int64_t few = n / 16;
    return bits_between(sample[std::size_t(few)], sample[std::size_t(n - 1 - few)]);
}

/// Chooses shifts. Bits of places.
static int choose_shifts(const WeldDict* d, WeldPlaces* how, int (*bits_of_field)(const WeldDict*, int)) {
    int bits = 0;
    for (int k = 0; k < d->num_key_fields; ++k) {
        if (k) how->shifts[k - 1] = std::uint64_t(std::min(bits, 63));
        bits += bits_of_field(d, k);
    }
    return bits;
}

/// Bytes of places and of how they are made.
static std::int64_t bytes_of(const WeldPlaces& how) {
    return std::int64_t(sizeof how + sizeof(std::uint32_t) * (how.mask + 1));
}

/// Entries up to the last have been given their places, where there are any.
static void note_placed(WeldDict* d) {
    const std::int64_t more = std::clamp<std::int64_t>(d->count / kPlacedForWaiting, 1, kMostWaiting);
    d->placing.done = d->count;
    d->placing.more = d->places ? std::min(d->placing.anew, d->count + more) : d->placing.anew;
}

static std::int32_t make_places(Task* task, WeldDict* d, std::int32_t loc) {
    drop_places(task, d);
    d->placing.anew = d->placing.wider = d->placing.more = 2 * d->count;
    if (d->count > 2 << kMostPlaceBits) return kOk;
    WeldPlaces how{};
    int bits = 8;
    if (!are_bytes(d)) {
        const int most =
            std::min(kMostPlaceBits, int(std::bit_width(std::uint64_t(d->count - 1))) + kPlaceBitsForEntry);
        // One bit more: numbers that follow, in the last field, have places until there are twice as many.
        bits = choose_shifts(d, &how, bits_of_all) + 1;
        // If ranges grow, new places may pay, but must not cost more than the keys that came since.
        if (bits <= most) d->placing.wider = d->placing.anew / 8 * 5;
        else bits = std::min(most, choose_shifts(d, &how, bits_of_most) + 1);
    }
    how.mask = (std::uint64_t(1) << bits) - 1;
    auto* places = static_cast<WeldPlaces*>(allocate_array(task, bytes_of(how), 1, loc));
    if (!places) return kFailed;
    *places = how;
    d->places = places;
    std::fill_n(slots_of(d), how.mask + 1, 0);
    if (fill_places(d, 0, d->count) > d->count / kPlacedForOther) drop_places(task, d);
    note_placed(d);
    return kOk;
}

void describe_places(WeldDict* d, const WeldType* key) {
    const bool is_integral = !any_part(
        key, [](const WeldType* t) { return is_float(t) || !(is_scalar(t) || t->kind == kWeldStruct); });
    if (!is_integral) return;
    std::int32_t count = 0;
    for_each_scalar(key, 0, [&](const WeldType*, std::int64_t) { ++count; });
    if (count > kWeldMostKeyFields) return;
    for_each_scalar(key, 0, [&](const WeldType* t, std::int64_t at) {
        d->key_fields[d->num_key_fields++] = {t->kind, std::int32_t(at)};
    });
    d->placing.anew = d->placing.more = kFewestEntries;
}

std::int32_t add_places(Task* task, WeldDict* d, std::int32_t loc) {
    if (d->count >= d->placing.anew) return make_places(task, d, loc);
    const bool all = !d->places || !fill_places(d, d->placing.done, d->count);
    note_placed(d);
    return !all && d->count >= d->placing.wider ? make_places(task, d, loc) : kOk;
}

std::int32_t copy_places(Task* task, WeldDict* d, const WeldDict* model, std::int32_t loc) {
    d->placing = model->placing;
    if (!model->places) return kOk;
    const std::int64_t bytes = bytes_of(*model->places);
    auto* places = static_cast<WeldPlaces*>(allocate_array(task, bytes, 1, loc));
    if (!places) return kFailed;
    std::memcpy(places, model->places, std::size_t(bytes));
    d->places = places;
    return kOk;
}

void drop_places(Task* task, WeldDict* d) {
    if (d->places) release(task, const_cast<WeldPlaces*>(d->places));
    d->places = nullptr;
}

}  // namespace weld::runtime
