// The values of a dictionary by its keys, where these are integers of a range that is not much larger: found by a
// subtraction.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/hash_table.h"
#include "runtime/kernels/kernel.h"
#include "runtime/memory.h"
#include "runtime/merge.h"
#include "runtime/parallel.h"

namespace {

using namespace weld::runtime;

constexpr std::int64_t kPlacesForRound = 4;  ///< so many places at most are made for each look-up
constexpr std::int64_t kPlacesForKey = 4;    ///< and for each key, if there may be gaps
constexpr std::int64_t kPart = 1 << 16;
constexpr int kWordBits = 32;

/// Integers from `first` on that all keys are among.
struct Range {
    std::int64_t first, size;
};

/// The field `number` of the values of a dictionary, or the value itself.
struct Field {
    const WeldType* type;
    std::int64_t at;
};

Field field_of(const WeldType* value, std::int64_t number) {
    if (value->kind != kWeldStruct) return {value, 0};
    if (number < 0 || number >= std::int64_t(value->num_args)) return {};
    return {value->args[number], value->offsets[number]};
}

/// The range of the keys; of size 0 if it has more than `most` integers.
template <class K>
Range range_of(const WeldDict* d, std::int64_t most) {
    std::int64_t least = std::int64_t(load<K>(d->entry(0))), greatest = least;
    for (std::int64_t i = 1; i < d->count; ++i) {
        const auto key = std::int64_t(load<K>(d->entry(i)));
        least = std::min(least, key);
        greatest = std::max(greatest, key);
        if (std::uint64_t(greatest) - std::uint64_t(least) >= std::uint64_t(most)) return {};
    }
    return {least, greatest - least + 1};
}

/// Calls `use(K, d, range)` for a dictionary with keys of type K, if they are worth having places.
template <class F>
std::int32_t with_range(const WeldCall* call, bool gaps, const F& use) {
    const WeldType* type = call->types[0];
    if (type->kind != kWeldDict || !is_integer(type->args[0])) return kOk;
    const auto* d = argument<const WeldDict*>(call, 0);
    const auto rounds = argument<std::int64_t>(call, 1);
    if (!d || !d->count || rounds < d->count / kPlacesForRound) return kOk;  // too few to look at all keys
    return with_scalar(type->args[0]->kind, [&]<class K>(K key) -> std::int32_t {
        if constexpr (std::is_integral_v<K>) {
            const Range range = range_of<K>(d, gaps ? kPlacesForKey * d->count : d->count);
            if (range.size && rounds >= range.size / kPlacesForRound) return use(key, d, range);
        }
        return kOk;
    });
}

template <class K>
std::int32_t put_in_order(Task* task, const WeldDict* d, const Field& field, const Range& range,
                          std::int32_t loc, WeldVec* to) {
    const std::int64_t size = field.type->size, at = d->value_at + field.at;
    // With the bits. Where memory is short, the dictionary does as well.
    if (!has_room(task, range.size * (size + 1))) return kOk;
    char* values = static_cast<char*>(allocate_array(task, range.size, size, loc));
    if (!values) return kFailed;
    *to = {values, range.size};
    if (range.size > d->count) std::memset(values, 0, std::size_t(range.size * size));
    return run_parts(task, (d->count + kPart - 1) / kPart, true, loc, [&](Task*, int, std::int64_t part) {
        with_scalar(field.type->kind, [&]<class V>(V) {
            for (std::int64_t i = part * kPart; i < std::min(d->count, (part + 1) * kPart); ++i) {
                const char* entry = d->entry(i);
                const std::int64_t place = std::int64_t(load<K>(entry)) - range.first;
                std::memcpy(values + place * std::int64_t(sizeof(V)), entry + at, sizeof(V));
            }
        });
        return kOk;
    });
}

template <class K>
std::int32_t set_bits(Task* task, const WeldDict* d, const Range& range, std::int32_t loc, WeldVec* to) {
    const std::int64_t words = (range.size + kWordBits - 1) / kWordBits;
    auto* bits = allocate_array<std::uint32_t>(task, words, loc);
    if (!bits) return kFailed;
    *to = {bits, words};
    std::fill_n(bits, words, 0);
    return in_strips(task, 0, d->count, loc, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) {
            const std::int64_t place = std::int64_t(load<K>(d->entry(i))) - range.first;
            bits[place / kWordBits] |= std::uint32_t(1) << (place % kWordBits);
        }
    });
}

}  // namespace

WELD_KERNEL_BODY(weld_kernel_dense_values) {
    struct ByKey {
        std::int64_t first;
        WeldVec values;
    }* to = static_cast<ByKey*>(result);
    *to = {0, {nullptr, 0}};
    const bool gaps = argument<std::uint8_t>(call, 3) != 0;
    return with_range(call, gaps, [&]<class K>(K, const WeldDict* d, const Range& range) -> std::int32_t {
        const Field field = field_of(call->types[0]->args[1], argument<std::int64_t>(call, 2));
        if (!field.type || field.type->kind != call->types[1]->kind) return kOk;
        to->first = range.first;
        return put_in_order<K>(task, d, field, range, call->loc, &to->values);
    });
}

WELD_KERNEL_BODY(weld_kernel_dense_keys) {
    auto* to = static_cast<WeldVec*>(result);
    *to = {nullptr, 0};
    return with_range(call, true, [&]<class K>(K, const WeldDict* d, const Range& range) {
        return set_bits<K>(task, d, range, call->loc, to);
    });
}
