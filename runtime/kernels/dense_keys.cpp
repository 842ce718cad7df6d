// The values of a dictionary in the order of its keys, where these are all integers of a range: found by a subtraction.
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

constexpr std::int64_t kKeysForRound = 4;  ///< so many keys at most are put in order for each look-up
constexpr std::int64_t kPart = 1 << 16;

/// {i64,vec[S]}: the least key, and the values from there on; no values if there are gaps.
struct ByKey {
    std::int64_t first;
    WeldVec values;
};

bool is_integer(const WeldType* t) {
    switch (t->kind) {
        case kWeldI8:
        case kWeldI16:
        case kWeldI32:
        case kWeldI64:
        case kWeldU8:
        case kWeldU16:
        case kWeldU32:
        case kWeldU64: return true;
        default: return false;
    }
}

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

/// The least key, if all keys are those from there on: there are as many as the greatest says.
template <class K>
bool are_dense(const WeldDict* d, std::int64_t* first) {
    std::int64_t least = std::int64_t(load<K>(d->entry(0))), greatest = least;
    for (std::int64_t i = 1; i < d->count; ++i) {
        const auto key = std::int64_t(load<K>(d->entry(i)));
        least = std::min(least, key);
        greatest = std::max(greatest, key);
        if (std::uint64_t(greatest) - std::uint64_t(least) >= std::uint64_t(d->count)) return false;
    }
    *first = least;
    return true;
}

template <class K>
std::int32_t put_in_order(Task* task, const WeldDict* d, const Field& field, std::int32_t loc, ByKey* to) {
    std::int64_t first;
    if (!are_dense<K>(d, &first)) return kOk;
    const std::int64_t n = d->count, size = field.type->size;
    char* values = static_cast<char*>(allocate_array(task, n, size, loc));
    if (!values) return kFailed;
    *to = {first, {values, n}};
    const std::int64_t at = d->value_at + field.at;
    return run_parts(task, (n + kPart - 1) / kPart, true, loc, [&](Task*, int, std::int64_t part) {
        with_scalar(field.type->kind, [&]<class V>(V) {
            for (std::int64_t i = part * kPart; i < std::min(n, (part + 1) * kPart); ++i) {
                const char* entry = d->entry(i);
                std::memcpy(values + (std::int64_t(load<K>(entry)) - first) * std::int64_t(sizeof(V)),
                            entry + at, sizeof(V));
            }
        });
        return kOk;
    });
}

}  // namespace

WELD_KERNEL_BODY(weld_kernel_dense_values) {
    ByKey* to = static_cast<ByKey*>(result);
    *to = {0, {nullptr, 0}};
    const WeldType* type = call->types[0];
    if (type->kind != kWeldDict || !is_integer(type->args[0])) return kOk;
    const Field field = field_of(type->args[1], argument<std::int64_t>(call, 2));
    const auto* d = argument<const WeldDict*>(call, 0);
    const std::int64_t rounds = argument<std::int64_t>(call, 1);
    if (!field.type || field.type->kind != call->types[1]->kind || !d || !d->count ||
        rounds < d->count / kKeysForRound)
        return kOk;
    return with_scalar(type->args[0]->kind, [&]<class K>(K) -> std::int32_t {
        if constexpr (std::is_integral_v<K>) return put_in_order<K>(task, d, field, call->loc, to);
        return kOk;
    });
}
