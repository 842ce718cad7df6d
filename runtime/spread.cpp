// Spreading groups, gathering them, and what happens to keys that are not at their places.
#include "runtime/spread.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/entry.h"
#include "runtime/partitions.h"
#include "runtime/places.h"
#include "weldir/support/round_up.h"

namespace weld::runtime {

/// If places are made anew more often than that until groups are gathered, keys are too many to have slots.
constexpr std::int64_t kMostRenewals = 4;

static bool can_spread(const WeldDict* d, std::int64_t bytes) {
    return d->places && !d->partitions && d->count > 0 &&
           std::int64_t(d->places->mask + 1) <= bytes / d->stride;
}

/// What it takes to make a slot and to gather it is gained by so many rows.
constexpr std::int64_t kRowsForSlot = 16;
/// Of so many rows one may miss, of so many keys one may be new since it was asked last.
constexpr std::int64_t kRowsForMiss = 16, kKeysForNew = 16;

bool should_spread(WeldDict* d, std::int64_t bytes, std::int64_t rows) {
    const std::int64_t added = d->count - std::exchange(d->placing.asked, d->count);
    const bool are_known = d->placing.spread == Placing::Spread::Pays || added <= d->count / kKeysForNew;
    return are_known && d->placing.spread != Placing::Spread::Misses && can_spread(d, bytes) &&
           std::int64_t(d->places->mask + 1) <= rows / kRowsForSlot;
}

static char* slot(const WeldDict* d, const WeldSpread* s, std::uint64_t place) {
    return s->slots + std::int64_t(place) * d->stride;
}

/// Slots for all places of the mask, and their owners: none yet. Status.
static std::int32_t make_slots(Task* task, const WeldDict* d, WeldSpread* s, std::int32_t loc) {
    const auto places = std::int64_t(s->mask + 1);
    const std::int64_t bytes = round_up(places * d->stride, std::int64_t(alignof(std::uint32_t)));
    s->slots =
        static_cast<char*>(allocate_array(task, bytes + places * std::int64_t(sizeof *s->owners), 1, loc));
    if (!s->slots) return kFailed;
    s->owners = reinterpret_cast<std::uint32_t*>(s->slots + bytes);
    std::fill_n(s->owners, places, 0);
    return kOk;
}

static void give_slot(const WeldDict* d, WeldSpread* s, std::uint64_t place, std::int64_t number) {
    std::memcpy(slot(d, s, place), d->entry(number), std::size_t(d->stride));
    s->owners[place] = std::uint32_t(number + 1);
}

/// No key has a slot: of two each has the key that belongs to the other one.
static std::int32_t spread_none(Task* task, const WeldDict* d, WeldSpread* s, std::int32_t loc) {
    constexpr std::uint64_t beyond = 63;
    s->mask = 1;
    s->shift1 = s->shift2 = s->shift3 = beyond;
    s->owners = nullptr;
    s->slots = static_cast<char*>(allocate_array(task, 2, d->stride, loc));
    if (!s->slots) return kFailed;
    std::memset(s->slots, 0, std::size_t(2 * d->stride));
    slot(d, s, 0)[d->key_fields[0].offset] = 1;
    return kOk;
}

static std::int32_t spread_all(Task* task, WeldDict* d, WeldSpread* s, std::int32_t loc) {
    if (s->renewals > kMostRenewals || !can_spread(d, s->most)) return spread_none(task, d, s, loc);
    s->mask = d->places->mask;
    s->shift1 = d->places->shifts[0];
    s->shift2 = d->places->shifts[1];
    s->shift3 = d->places->shifts[2];
    if (make_slots(task, d, s, loc)) return kFailed;
    // The first key has a place, which is no other one.
    for (std::uint64_t p = 0; p <= s->mask; ++p)
        std::memcpy(slot(d, s, p), d->entry(0), std::size_t(d->key_size));
    each_place(d, 0, d->count,
               [&](std::int64_t number, std::uint64_t place) { give_slot(d, s, place, number); });
    return kOk;
}

std::int32_t spread(Task* task, WeldDict* d, WeldSpread* s, std::int64_t bytes, std::int32_t loc) {
    s->most = bytes;
    s->misses = s->renewals = 0;
    return spread_all(task, d, s, loc);
}

/// The values of owners are in the table again, and there are no slots.
static void take_back(Task* task, WeldDict* d, WeldSpread* s) {
    for (std::uint64_t p = 0; s->owners && p <= s->mask; ++p)
        if (const std::uint32_t owner = s->owners[p])
            std::memcpy(d->entry(owner - 1) + d->value_at, slot(d, s, p) + d->value_at,
                        std::size_t(d->value_size));
    release(task, s->slots);
}

void gather(Task* task, WeldDict* d, WeldSpread* s, std::int64_t rows) {
    take_back(task, d, s);
    d->placing.spread = s->misses <= rows / kRowsForMiss ? Placing::Spread::Pays : Placing::Spread::Misses;
}

std::int32_t merge_spread(Task* task, WeldDict* d, WeldSpread* s, const void* key, const void* value,
                          std::int32_t op, std::int32_t loc) {
    ++s->misses;
    const auto merge = [&] { return weld_rt_dict_merge(task, d, key, value, op, loc); };
    if (d->partitions || is_too_large(task, d, op)) {  // its entries may go elsewhere
        take_back(task, d, s);
        return merge() ? kFailed : spread_all(task, d, s, loc);
    }
    const std::int64_t count = d->count, made = d->placing.made;
    if (merge()) return kFailed;
    if (d->placing.made != made) {
        ++s->renewals;
        take_back(task, d, s);
        return spread_all(task, d, s, loc);
    }
    if (d->count == count || !s->owners || !d->places) return kOk;
    each_place(d, count, d->count,
               [&](std::int64_t number, std::uint64_t place) { give_slot(d, s, place, number); });
    return kOk;
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

std::int32_t weld_rt_dict_should_spread(WeldTask*, WeldDict* d, std::int64_t bytes, std::int64_t rows) {
    return should_spread(d, bytes, rows);
}

std::int32_t weld_rt_dict_spread(WeldTask* t, WeldDict* d, WeldSpread* s, std::int64_t bytes,
                                 std::int32_t loc) {
    return spread(task_of(t), d, s, bytes, loc);
}

std::int32_t weld_rt_dict_merge_spread(WeldTask* t, WeldDict* d, WeldSpread* s, const void* key,
                                       const void* value, std::int32_t op, std::int32_t loc) {
    return merge_spread(task_of(t), d, s, key, value, op, loc);
}

std::int32_t weld_rt_dict_gather(WeldTask* t, WeldDict* d, WeldSpread* s, std::int64_t rows) {
    gather(task_of(t), d, s, rows);
    return kOk;
}

}  // extern "C"
