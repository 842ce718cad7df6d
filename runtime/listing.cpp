// Listing dictionaries.
#include "runtime/listing.h"

#include <algorithm>
#include <numeric>

#include "runtime/entry.h"
#include "runtime/order.h"
#include "runtime/parallel.h"
#include "runtime/partitions.h"

namespace weld::runtime {

/// The entries that the slots [begin, end) of the index are the first choice of, in order. They are there, or
/// behind.
static std::vector<Tagged<std::int64_t>> entries_of(const WeldDict* d, std::uint64_t begin,
                                                    std::uint64_t end) {
    std::vector<Tagged<std::int64_t>> all;
    for (std::uint64_t at = begin; at <= begin + d->mask; ++at) {
        const std::uint64_t slot = d->index[at & d->mask];
        if (!slot && at >= end) break;
        if (!slot) continue;
        const std::uint64_t first = first_slot(d, tag_in(slot));
        if (first >= begin && first < end) all.emplace_back(tag_in(slot), number_in(slot));
    }
    sort_by_tag(d, all, [&](std::int64_t number) { return d->entry(number); });
    return all;
}

static std::uint64_t* order_by_tag(Task* task, const WeldDict* d, std::int32_t loc) {
    constexpr std::uint64_t part_slots = 1 << 14, least = 256, most = 1 << 14;
    std::uint64_t* order = allocate_array<std::uint64_t>(task, d->count, loc);
    if (!order) return nullptr;
    // other bits than the first ones put tags in no order
    const std::uint64_t num_parts = d->skip ? 1 : std::clamp((d->mask + 1) / part_slots, least, most);
    const std::uint64_t each = (d->mask + 1) / num_parts;
    std::vector<std::vector<Tagged<std::int64_t>>> parts(num_parts);
    const auto list = [&](Task*, int, std::int64_t i) {
        parts[std::size_t(i)] = entries_of(d, std::uint64_t(i) * each, std::uint64_t(i + 1) * each);
        return kOk;
    };
    if (run_parts(task, std::int64_t(num_parts), true, loc, list)) return nullptr;
    std::uint64_t* to = order;
    for (const auto& part : parts) {
        if (task->check_stop(loc)) return nullptr;
        for (const auto& [tag, number] : part) *to++ = std::uint64_t(number);
    }
    return order;
}

/// Puts the entries of a table that was cut, though it has few, in the order of one that was not.
static std::int32_t order_by_key(Task* task, const WeldDict* d, const WeldType* key, WeldVec* entries,
                                 std::int32_t loc) {
    char* const data = static_cast<char*>(entries->data);
    std::uint64_t* order = stable_order(task, key, data, d->stride, entries->len, loc);
    char* ordered = order ? static_cast<char*>(allocate_array(task, entries->len, d->stride, loc)) : nullptr;
    if (!ordered || gather(task, ordered, data, order, entries->len, d->stride, d->stride, loc))
        return kFailed;
    release(task, order);
    release(task, data);
    entries->data = ordered;
    return kOk;
}

std::uint64_t* order_of_entries(Task* task, const WeldDict* d, const WeldType* key, std::int32_t loc) {
    return d->count > kMostInKeyOrder && d->kind != KeyKind::Any
               ? order_by_tag(task, d, loc)
               : stable_order(task, key, d->entries, d->stride, d->count, loc);
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" std::int32_t weld_rt_dict_entries(WeldTask* t, const WeldDict* d, const WeldType* pair,
                                             WeldVec* out, std::int32_t loc) {
    Task* task = task_of(t);
    *out = {nullptr, 0};
    const WeldType* key = pair->args[0];
    if (d && d->partitions) {
        if (list_partitions(task, d, out, loc)) return kFailed;
        return out->len <= kMostInKeyOrder ? order_by_key(task, d, key, out, loc) : kOk;
    }
    if (!d || !d->count) return kOk;
    char* data = static_cast<char*>(allocate_array(task, d->count, d->pair_size, loc));
    if (!data) return kFailed;
    if (d->count <= kFewKeys && is_scalar(key)) {
        copy_few_in_order(key, d->entries, d->stride, d->count, data, d->entries, d->pair_size, d->stride);
        *out = {data, d->count};
        return kOk;
    }
    std::uint64_t* order = order_of_entries(task, d, key, loc);
    if (!order) return kFailed;
    if (gather(task, data, d->entries, order, d->count, d->pair_size, d->stride, loc)) return kFailed;
    release(task, order);
    *out = {data, d->count};
    return kOk;
}
