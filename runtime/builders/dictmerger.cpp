// dictmerger[K,V,op]: a table. Pieces are tables: one per worker where merging is exact, else one per chunk.
// The first of equal keys stays, which matters for floats in vectors in keys (0.0 and -0.0 are one): those
// keys are cut by chunks, too. Where a chunk has many keys, rows go into one table in their order instead, or wait to
// do so. Large tables are cut into partitions (runtime/partitions.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/builders/pieces.h"
#include "runtime/entry.h"
#include "runtime/hash_table.h"
#include "runtime/merge.h"
#include "runtime/partitions.h"
#include "runtime/places.h"

namespace weld::runtime {

static bool seamless(const WeldType* type) { return merges_exactly(type->args[1], type->op); }

static Cut cut(const WeldType* type, const void*, CutQuestion* question) {
    const auto shows_order = [](const WeldType* t) { return t->kind == kWeldVec && holds_float(t); };
    if (seamless(type) && !any_part(type->args[0], shows_order)) return Cut::Worker;
    question->chunks = table_chunks(*question, 1'600'000'000);
    return Cut::Chunk;
}

static std::int32_t start(Task* task, const WeldType* type, const void*, void* piece, std::int32_t loc) {
    WeldDict* d = weld_rt_dict_new(task, type->args[0], type->args[1], loc);
    *static_cast<WeldDict**>(piece) = d;
    return d ? kOk : kFailed;
}

static std::int32_t start_with_keys(Task* task, const WeldType* type, const void* known, void* piece,
                                    std::int32_t loc) {
    if (start(task, type, nullptr, piece, loc)) return kFailed;
    const WeldDict* keys = *static_cast<WeldDict* const*>(known);
    return begin_with_keys(task, *static_cast<WeldDict**>(piece), keys, type->op, loc);
}

static std::int32_t note_keys(Task* task, const WeldType* type, const void* piece, void* known,
                              std::int32_t loc) {
    if (start_with_keys(task, type, piece, known, loc)) return kFailed;
    return own_index(task, *static_cast<WeldDict**>(known), loc);
}

static void forget_keys(Task* task, void* known) { release_table(task, *static_cast<WeldDict**>(known)); }

static std::int32_t combine(Task* task, const WeldType* type, void* state, std::span<void* const> pieces,
                            std::int32_t loc) {
    WeldDict*& whole = *static_cast<WeldDict**>(state);
    std::vector<WeldDict*> parts;
    const auto holds_any = [](const WeldDict* d) { return d->count || d->partitions; };
    if (holds_any(whole)) parts.push_back(whole);
    for (void* piece : pieces) {
        WeldDict* d = *static_cast<WeldDict**>(piece);
        holds_any(d) ? parts.push_back(d) : release_table(task, d);
    }
    if (parts.empty()) return kOk;
    if (!holds_any(whole)) release_table(task, whole);
    whole = merge_tables(task, {parts.data(), std::int64_t(parts.size()), type->op}, loc);
    return whole ? kOk : kFailed;
}

static bool should_combine(const Task* task, const void* whole, std::span<void* const> pieces) {
    std::vector<WeldDict*> tables;
    for (void* piece : pieces) tables.push_back(*static_cast<WeldDict**>(piece));
    return should_merge(task, *static_cast<WeldDict* const*>(whole), tables);
}

static std::int32_t settle(Task* task, void* state, std::int32_t loc) {
    return end_trial(task, *static_cast<WeldDict**>(state), loc);
}

static std::int64_t num_keys(const void* state) {
    const WeldDict* d = *static_cast<WeldDict* const*>(state);
    return d->partitions ? INT64_MAX : d->count;
}

/// Chunks that go without keys in registers after one that met too many at once.
constexpr std::int64_t kCrowdedChunks = 16;

// What it costs that chunks fill tables of their own, and what it costs that they don't (ns).
constexpr double kKeyOfPiece = 70;  // for each key that the first did not meet: added, and merged in the end
constexpr double kLargeKeyOfPiece = 200;  // that is no word or two
constexpr double kKnownKey = 14;          // for each that it did: it is copied, and merged
constexpr double kRoundInOrder = 0.5;     // workers wait for one another,
constexpr double kMergeInOrder = 1.25;    // or rows for the chunks before theirs
constexpr double kLargeMergeInOrder = 5;

/// Whether tables for all chunks would have too many keys. Keys that are drawn from some number of them become fewer
/// from half to half by one factor; it tells how many there will be, and how many rows they were drawn for.
static bool goes_in_order(const void* state, const FirstLook& look) {
    const WeldDict* d = *static_cast<WeldDict* const*>(state);
    if (look.all == INT64_MAX) return true;
    if (!look.half) return false;
    const double factor = std::min(1.0, double(look.all - look.half) / double(look.half));
    double keys = 0, found = double(look.half);
    for (std::int64_t i = 0; i < look.halves; ++i, found *= factor) keys += found;
    const auto rounds = double(look.iterations);
    // Of all that there are the first chunk has met so many parts.
    const double met = 1 - factor * factor, added = keys * (1 - met);
    const double copied = double(look.all) * kKnownKey;
    if (!can_partition(d))
        return copied + added * kLargeKeyOfPiece > rounds * (double(look.cost) / 2000 + kLargeMergeInOrder);
    // log(factor) / (factor - 1), nearly; and the same on every machine.
    const double rows_per_key = 3 / (2 * std::sqrt(factor) + (1 + factor) / 2);
    const double merges = std::min(double(look.half) * rows_per_key * double(look.halves), rounds);
    return copied + added * kKeyOfPiece > rounds * kRoundInOrder + merges * kMergeInOrder;
}

static std::int32_t start_waiting(Task* task, const WeldType* type, void* piece, std::int32_t loc) {
    if (start(task, type, nullptr, piece, loc)) return kFailed;
    return let_wait(task, *static_cast<WeldDict**>(piece), type->op, loc);
}

static Waiting waiting(const void* state) {
    const WeldDict* d = *static_cast<WeldDict* const*>(state);
    if (d->partitions) return Waiting::Always;
    return can_partition(d) ? Waiting::OfMany : Waiting::Never;
}

static void reach(Tracer& tracer, const WeldType* type, const void* state) {
    tracer.dict(type, *static_cast<WeldDict* const*>(state));
}

const BuilderPieces kDictMergerPieces{.cut = cut,
                                      .start = start,
                                      .combine = combine,
                                      .seamless = seamless,
                                      .reach = reach,
                                      .should_combine = should_combine,
                                      .settle = settle,
                                      .num_keys = num_keys,
                                      .goes_in_order = goes_in_order,
                                      .note_keys = note_keys,
                                      .start_with_keys = start_with_keys,
                                      .forget_keys = forget_keys,
                                      .start_waiting = start_waiting,
                                      .waiting = waiting};

template <KeyKind K>
static std::int32_t merge(Task* task, WeldDict* d, const void* key, const void* value, std::int32_t op,
                          std::int32_t loc) {
    KeyRoom room;
    const Sought s = sought<K>(d, canonical_key(d, key, &room));
    if (d->partitions) return add_row(task, d, s.key, value, s.tag, loc);
    std::int64_t number = find_entry<K>(d, s);
    if (number >= 0) {
        char* const into = d->entry(number) + d->value_at;
        const char* const from = static_cast<const char*>(value);
        merge_fields(d, op, &into, &from, 1);
        return kOk;
    }
    if (is_too_large(task, d, op))
        return begin_trial(task, d, op, loc) ? kFailed : add_row(task, d, s.key, value, s.tag, loc);
    number = add_entry<K>(task, d, s, loc);
    if (number < 0) return kFailed;
    char* const into = d->entry(number) + d->value_at;
    if (d->value_size == 8) std::memcpy(into, value, 8);
    else std::memcpy(into, value, std::size_t(d->value_size));
    return kOk;
}

/// Merges lane `lane` of values that are lanes field by field.
static std::int32_t merge_lane(Task* task, WeldDict* d, const char* key, const char* values,
                               std::int64_t lanes, std::int64_t lane, std::int32_t op, std::int32_t loc) {
    std::array<char, 256> value;  // a few scalars
    for (const ScalarField& field : d->fields()) {
        const std::int64_t size = with_scalar(field.kind, [](auto x) { return std::int64_t(sizeof x); });
        std::memcpy(value.data() + field.offset, values + lane * size, std::size_t(size));
        values += lanes * size;
    }
    return weld_rt_dict_merge(task, d, key, value.data(), op, loc);
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

WeldDict* weld_rt_dict_new(WeldTask* t, const WeldType* key, const WeldType* value, std::int32_t loc) {
    Task* task = task_of(t);
    WeldDict* d = new_table(task, key, value->size, value->align, loc);
    if (d) describe_places(d, key);
    return d && !describe_values(task, d, value, loc) ? d : nullptr;
}

std::int32_t weld_rt_dict_merge(WeldTask* t, WeldDict* d, const void* key, const void* value, std::int32_t op,
                                std::int32_t loc) {
    return with_key_kind(d->kind,
                         [&](auto kind) { return merge<kind()>(task_of(t), d, key, value, op, loc); });
}

std::int32_t weld_rt_dict_hold(WeldTask* t, WeldDict* d, WeldHeldKeys* held, const void* keys,
                               const void* values, std::int64_t lanes, std::int64_t mask, std::int32_t op,
                               std::int32_t loc) {
    const auto size = std::size_t(d->key_size);
    const bool is_first = held->held == 0;
    char* const known = reinterpret_cast<char*>(held + 1);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if (!(std::uint64_t(mask) >> lane & 1)) continue;
        const char* key = static_cast<const char*>(keys) + std::size_t(lane) * size;
        if (merge_lane(task_of(t), d, key, static_cast<const char*>(values), lanes, lane, op, loc))
            return kFailed;
        const auto end = std::min(held->held, held->most);
        bool is_new = true;
        for (std::int64_t k = 0; k < end; ++k)
            is_new &= std::memcmp(known + std::size_t(k) * size, key, size) != 0;
        if (!is_new) continue;
        // Places that are free repeat the last key.
        for (std::int64_t k = end; k < held->most; ++k) std::memcpy(known + std::size_t(k) * size, key, size);
        held->held = end + 1;
    }
    if (is_first && held->held > held->most) d->crowded = kCrowdedChunks;
    return kOk;
}

std::int32_t weld_rt_dict_release(WeldTask* t, WeldDict* d, WeldHeldKeys* held, const void* values,
                                  std::int64_t lanes, std::int64_t bytes, std::int32_t op, std::int32_t loc) {
    const char* const keys = reinterpret_cast<const char*>(held + 1);
    const auto end = std::min(held->held, held->most);
    if (end == 0 && d->crowded > 0) --d->crowded;
    for (std::int64_t k = 0; k < end; ++k)
        for (std::int64_t lane = 0; lane < lanes; ++lane)
            if (merge_lane(task_of(t), d, keys + k * d->key_size,
                           static_cast<const char*>(values) + k * bytes, lanes, lane, op, loc))
                return kFailed;
    return kOk;
}

void weld_rt_dict_free(WeldTask* t, WeldDict* d) noexcept {
    if (d) release_table(task_of(t), d);
}

WeldDict* weld_rt_dict_result(WeldTask* t, WeldDict* d, std::int32_t loc) {
    if (join_partitions(task_of(t), d, loc)) return nullptr;
    spread_if_crowded(d);
    return d;
}

void weld_rt_dict_of_few(WeldTask*, WeldDict* d) { expect_few(d); }

std::int32_t weld_rt_dict_settle(WeldTask* t, WeldDict* d, std::int32_t loc) {
    return settle_partitions(task_of(t), d, loc);
}
}
