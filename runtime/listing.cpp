// Listing dictionaries.
#include "runtime/listing.h"

#include <algorithm>
#include <numeric>

#include "runtime/entry.h"
#include "runtime/few_keys.h"
#include "runtime/order.h"
#include "runtime/parallel.h"
#include "runtime/partitions.h"

namespace weld::runtime {

/// Calls f(slots, count) with the used slots of entries whose first choice is in [begin, end), some at a time. They are
/// there, or behind.
template <class F>
static void each_slot(const WeldDict* d, std::uint64_t begin, std::uint64_t end, const F& f) {
    constexpr std::uint64_t at_once = 128;
    const auto one_by_one = [&](std::uint64_t at, std::uint64_t last) {
        for (; at < last && d->index[at & d->mask]; ++at) {
            const std::uint64_t slot = d->index[at & d->mask], first = first_slot(d, tag_in(slot));
            if (first >= begin && first < end) f(&slot, 1);
        }
        return at;
    };
    // Before the first free slot there are entries of others; behind it none are.
    for (std::uint64_t at = one_by_one(begin, end); at < end; at += at_once) {
        std::uint64_t found[at_once + 1];
        std::int64_t n = 0;
        for (std::uint64_t i = at; i < std::min(end, at + at_once); ++i) {
            found[n] = d->index[i];
            n += found[n] != 0;
        }
        f(found, n);
    }
    one_by_one(end, begin + d->mask + 1);
}

/// The slots of all entries, by tag, and then their numbers.
static std::uint64_t* order_by_tag(Task* task, const WeldDict* d, std::int32_t loc) {
    constexpr std::uint64_t part_slots = 1 << 14, least = 256, most = 1 << 14;
    std::uint64_t* order = allocate_array<std::uint64_t>(task, d->count, loc);
    if (!order) return nullptr;
    // other bits than the first ones put tags in no order
    const std::uint64_t num_parts = d->skip ? 1 : std::clamp((d->mask + 1) / part_slots, least, most);
    const std::uint64_t each = (d->mask + 1) / num_parts;
    const auto in_parts = [&](const auto& f) {
        return run_parts(task, std::int64_t(num_parts), true, loc, [&](Task*, int, std::int64_t i) {
            f(std::size_t(i), std::uint64_t(i) * each, std::uint64_t(i + 1) * each);
            return kOk;
        });
    };
    std::vector<std::int64_t> begins(num_parts + 1, 0);
    if (in_parts([&](std::size_t i, std::uint64_t begin, std::uint64_t end) {
            each_slot(d, begin, end, [&](const std::uint64_t*, std::int64_t n) { begins[i + 1] += n; });
        }))
        return nullptr;
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    const auto list = [&](std::size_t i, std::uint64_t begin, std::uint64_t end) {
        std::uint64_t* to = order + begins[i];
        each_slot(d, begin, end,
                  [&](const std::uint64_t* slots, std::int64_t n) { to = std::copy_n(slots, n, to); });
        const std::span<std::uint64_t> all(order + begins[i], to);
        sort_by_tag(d, all, tag_in, [&](std::uint64_t slot) { return d->entry(number_in(slot)); });
        for (std::uint64_t& slot : all) slot = std::uint64_t(number_in(slot));
    };
    return in_parts(list) ? nullptr : order;
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
    if (d->count <= few_keys() && is_scalar(key)) {
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
