// Choosing how keys make places, and giving entries theirs.
#include "runtime/places.h"

#include <algorithm>
#include <array>
#include <bit>

#include "runtime/merge.h"

namespace weld::runtime {

/// As much memory as an index takes for a key, if there are few: sixteen places of four bytes.
static constexpr int kPlaceBitsForEntry = 4, kMostPlaceBits = 16;
static constexpr std::int64_t kFewestEntries = 4;
/// One of so many keys may be without a place.
static constexpr std::int64_t kPlacedForOther = 8;

static std::uint32_t* slots_of(WeldDict* d) {
    return reinterpret_cast<std::uint32_t*>(const_cast<WeldPlaces*>(d->places + 1));
}

static std::int64_t number_at(const ScalarField& field, const char* key) {
    if (field.kind == kWeldBool) return key[field.offset] != 0;
    return with_scalar(field.kind, [&]<class T>(T) { return std::int64_t(load<T>(key + field.offset)); });
}

static std::uint64_t place_of(const WeldDict* d, std::int64_t number) {
    const char* key = d->entry(number);
    std::uint64_t place = 0;
    for (int k = 0; k < d->num_key_fields; ++k)
        place += std::uint64_t(number_at(d->key_fields[k], key)) << (k ? d->places->shifts[k - 1] : 0);
    return place & d->places->mask;
}

/// Keys are one byte.
static bool are_bytes(const WeldDict* d) {
    return d->num_key_fields == 1 && (d->key_fields[0].kind == kWeldBool ||
                                      d->key_fields[0].kind == kWeldI8 || d->key_fields[0].kind == kWeldU8);
}

/// Gives an entry its place. False: another one has it.
static bool fill_place(WeldDict* d, std::int64_t number) {
    if (are_bytes(d)) {
        const std::int64_t end = (number + 1) * d->stride;
        if (end > std::int64_t(UINT32_MAX)) return false;
        slots_of(d)[place_of(d, number)] = std::uint32_t(end);
        return true;
    }
    if (number == 0) return true;  // free places name the first entry
    const std::uint64_t place = place_of(d, number);
    std::uint32_t& slot = slots_of(d)[place];
    const std::int64_t distance = number * d->stride;
    if (slot || place == place_of(d, 0) || distance > std::int64_t(UINT32_MAX)) return false;
    slot = std::uint32_t(distance);
    return true;
}

static int bits_between(std::int64_t least, std::int64_t greatest) {
    return int(std::bit_width(std::uint64_t(greatest) - std::uint64_t(least)));
}

/// Bits that tell the numbers of field `k` apart.
static int bits_of_all(const WeldDict* d, int k) {
    std::int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (std::int64_t i = 0; i < d->count; ++i) {
        const std::int64_t x = number_at(d->key_fields[k], d->entry(i));
        least = std::min(least, x);
        greatest = std::max(greatest, x);
    }
    return bits_between(least, greatest);
}

/// The same but for a few that are far from the others, in a sample of keys.
static int bits_of_most(const WeldDict* d, int k) {
    constexpr std::int64_t most = 64;
    std::array<std::int64_t, most> sample;
    const std::int64_t n = std::min(most, d->count);
    for (std::int64_t i = 0; i < n; ++i)
        sample[std::size_t(i)] = number_at(d->key_fields[k], d->entry(i * d->count / n));
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

static std::int32_t make_places(Task* task, WeldDict* d, std::int32_t loc) {
    drop_places(task, d);
    d->next_places = 2 * d->count;
    if (d->count > 2 << kMostPlaceBits) return kOk;
    WeldPlaces how{};
    int bits = 8;
    if (!are_bytes(d)) {
        const int most =
            std::min(kMostPlaceBits, int(std::bit_width(std::uint64_t(d->count - 1))) + kPlaceBitsForEntry);
        // One bit more: numbers that follow, in the last field, have places until there are twice as many.
        bits = choose_shifts(d, &how, bits_of_all) + 1;
        if (bits > most) bits = std::min(most, choose_shifts(d, &how, bits_of_most) + 1);
    }
    how.mask = (std::uint64_t(1) << bits) - 1;
    auto* places = static_cast<WeldPlaces*>(allocate_array(task, bytes_of(how), 1, loc));
    if (!places) return kFailed;
    *places = how;
    d->places = places;
    std::fill_n(slots_of(d), how.mask + 1, 0);
    std::int64_t without = 0;
    for (std::int64_t i = 0; i < d->count; ++i) without += !fill_place(d, i);
    if (without > d->count / kPlacedForOther) drop_places(task, d);
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
    d->next_places = kFewestEntries;
}

std::int32_t add_place(Task* task, WeldDict* d, std::int32_t loc) {
    if (d->count >= d->next_places) return make_places(task, d, loc);
    if (!d->places || fill_place(d, d->count - 1)) return kOk;
    // Ranges may have grown. New places must not cost more than the keys that came since the last ones.
    const bool may_pay = d->count >= d->next_places / 8 * 5;
    return may_pay ? make_places(task, d, loc) : kOk;
}

std::int32_t copy_places(Task* task, WeldDict* d, const WeldDict* model, std::int32_t loc) {
    d->next_places = model->next_places;
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
