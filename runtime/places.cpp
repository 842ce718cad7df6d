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
static constexpr std::int64_t kAtOnce = 64;  ///< entries whose places are found together
/// One of so many keys may be without a place.
static constexpr std::int64_t kPlacedForOther = 8;

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

/// Gives all entries their places. How many of these others have.
static std::int64_t fill_places(WeldDict* d) {
    std::array<std::uint64_t, kAtOnce> places;
    find_places(d, 0, 1, &d->placing.first);
    std::int64_t without = 0;
    for (std::int64_t lo = 0; lo < d->count; lo += kAtOnce) {
        const std::int64_t hi = std::min(d->count, lo + kAtOnce);
        find_places(d, lo, hi, places.data());
        for (std::int64_t i = lo; i < hi; ++i) without += !fill_place(d, i, places[std::size_t(i - lo)]);
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

/// Keys of one field get their places as they are added.
static void note_next_place(WeldDict* d) {
    d->placing.next = d->num_key_fields > 1 ? d->count + 1 : d->placing.anew;
}

std::int32_t make_places(Task* task, WeldDict* d, std::int32_t loc) {
    drop_places(task, d);
    ++d->placing.made;
    d->placing.anew = d->placing.wider = d->placing.next = 2 * d->count;
    if (d->count > 2 << kMostPlaceBits) return kOk;
    WeldPlaces how{};
    int bits = 8;
    if (!has_place_for_all(d)) {
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
    std::fill_n(slots_of(d->places), how.mask + 1, 0);
    if (fill_places(d) > d->count / kPlacedForOther) drop_places(task, d);
    if (d->places) note_next_place(d);
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
    d->placing.anew = d->placing.next = kFewestEntries;
}

void each_place(const WeldDict* d, std::int64_t lo, std::int64_t hi,
                const std::function<void(std::int64_t, std::uint64_t)>& f) {
    const bool all = has_place_for_all(d);
    std::array<std::uint64_t, kAtOnce> places;
    for (std::int64_t from = lo; from < hi; from += kAtOnce) {
        const std::int64_t to = std::min(hi, from + kAtOnce);
        find_places(d, from, to, places.data());
        for (std::int64_t i = from; i < to; ++i) {
            const std::uint64_t place = places[std::size_t(i - from)];
            const std::int64_t distance = std::int64_t(slots_of(d->places)[place]) - (all ? d->stride : 0);
            if (distance == i * d->stride && (i > 0 || all || place == d->placing.first)) f(i, place);
        }
    }
}

std::int32_t add_place(Task* task, WeldDict* d, std::int32_t loc) {
    if (!d->places || d->count >= d->placing.anew) return make_places(task, d, loc);
    note_next_place(d);
    std::uint64_t place;
    find_places(d, d->count - 1, d->count, &place);
    const bool has_one = fill_place(d, d->count - 1, place);
    return !has_one && d->count >= d->placing.wider ? make_places(task, d, loc) : kOk;
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
