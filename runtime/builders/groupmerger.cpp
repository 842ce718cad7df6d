// groupmerger[K,V]: keys get numbers, values go to a log; `result` counts the values of each key and places
// them in one vector, of which the dictionary holds slices. So no key has a vector that grows, and values
// keep their order.
//
// Pieces are one per chunk: their keys are merged and their logs, renumbered, follow one another.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/builders/group_log.h"
#include "runtime/builders/parts.h"
#include "runtime/entry.h"
#include "runtime/hash_table.h"
#include "runtime/parallel.h"

namespace weld::runtime {

static constexpr std::int64_t kFirstSegment = 32, kLargestSegment = 1 << 16;  // values

static Cut cut(const WeldType*, const void*, CutQuestion* question) {
    question->chunks = table_chunks(*question, 1'600'000'000);
    return Cut::Chunk;
}

static bool seamless(const WeldType*) { return true; }

static std::int32_t start(Task* task, const WeldType* type, const void*, void* piece, std::int32_t loc) {
    WeldDict* d = weld_rt_group_new(task, type->args[0], type->args[1], loc);
    *static_cast<WeldDict**>(piece) = d;
    return d ? kOk : kFailed;
}

// ---- the log ----------------------------------------------------------------------------------------------

static std::int32_t add_segment(Task* task, GroupLog* log, std::int32_t loc) {
    GroupSegment* s = allocate_array<GroupSegment>(task, 1, loc);
    if (!s) return kFailed;
    const std::int64_t capacity = std::clamp(log->count, kFirstSegment, kLargestSegment);
    *s = {nullptr, 0, capacity, nullptr, nullptr};
    s->numbers = allocate_array<std::uint32_t>(task, capacity, loc);
    s->values =
        s->numbers ? static_cast<char*>(allocate_array(task, capacity, log->value_size, loc)) : nullptr;
    if (!s->values) return kFailed;
    (log->last ? log->last->next : log->first) = s;
    log->last = s;
    return kOk;
}

static void release_log(Task* task, GroupLog* log) {
    for (GroupSegment *s = log->first, *next; s; s = next) {
        next = s->next;
        release(task, s->numbers);
        release(task, s->values);
        release(task, s);
    }
    release(task, log);
}

static std::vector<GroupSegment*> segments_of(const GroupLog* log) {
    std::vector<GroupSegment*> all;
    for (GroupSegment* s = log->first; s; s = s->next) all.push_back(s);
    return all;
}

// ---- combining --------------------------------------------------------------------------------------------

/// Gives the values in logs the new numbers of their keys.
static void renumber(Task* task, std::span<GroupLog* const> logs, std::span<std::uint32_t* const> numbers) {
    struct Work {
        GroupSegment* segment;
        const std::uint32_t* numbers;
    };
    std::vector<Work> works;
    for (std::size_t p = 0; p < logs.size(); ++p)
        for (GroupSegment* s : segments_of(logs[p])) works.push_back({s, numbers[p]});
    for_pieces(task, std::int64_t(works.size()), 4, [&](std::int64_t lo, std::int64_t hi) {
        for (const Work& work : std::span(works).subspan(std::size_t(lo), std::size_t(hi - lo)))
            for (std::int64_t i = 0; i < work.segment->count; ++i)
                work.segment->numbers[i] = work.numbers[work.segment->numbers[i]];
    });
}

static void append_log(Task* task, GroupLog* log, GroupLog* more) {
    if (more->first) {
        (log->last ? log->last->next : log->first) = more->first;
        log->last = more->last;
        log->count += more->count;
    }
    release(task, more);
}

static std::int32_t combine(Task* task, const WeldType*, void* state, std::span<void* const> pieces,
                            std::int32_t loc) {
    WeldDict*& whole = *static_cast<WeldDict**>(state);
    std::vector<WeldDict*> parts{whole};
    for (void* piece : pieces) parts.push_back(*static_cast<WeldDict**>(piece));
    std::vector<std::uint32_t*> numbers;
    std::vector<GroupLog*> logs;
    for (const WeldDict* d : parts) {
        logs.push_back(d->log);
        numbers.push_back(allocate_array<std::uint32_t>(task, d->count, loc));
        if (!numbers.back()) return kFailed;
    }
    const TableMerge merge{parts.data(), std::int64_t(parts.size()), -1, numbers.data()};
    whole = merge_tables(task, merge, loc);
    if (!whole) return kFailed;
    renumber(task, logs, numbers);
    whole->log = logs[0];
    for (GroupLog* log : std::span(logs).subspan(1)) append_log(task, logs[0], log);
    for (std::uint32_t* n : numbers) release(task, n);
    return kOk;
}

const BuilderParts groupmerger_parts{cut, start, combine, seamless};

// ---- merging ----------------------------------------------------------------------------------------------

template <KeyKind K>
static std::int32_t merge(Task* task, WeldDict* d, const void* key, const void* value, std::int32_t loc) {
    bool added;
    const std::int64_t number = find_or_add<K>(task, d, key, tag_of(hash_key<K>(d->key, key)), &added, loc);
    if (number < 0) return kFailed;
    GroupLog* log = d->log;
    if (!log->last || log->last->count == log->last->capacity)
        if (add_segment(task, log, loc)) return kFailed;
    GroupSegment* s = log->last;
    s->numbers[s->count] = std::uint32_t(number);
    std::memcpy(s->values + s->count * log->value_size, value, std::size_t(log->value_size));
    ++s->count;
    ++log->count;
    return kOk;
}

// ---- the result -------------------------------------------------------------------------------------------

/// Places the values of a log by key. The log is cut into shares that count and place for themselves: the
/// second share places a key's values after those of the first one.
class Placement {
  public:
    Placement(Task* task, const WeldDict* d, std::int32_t loc)
        : task_(task), d_(d), log_(*d->log), loc_(loc) {
        const std::vector<GroupSegment*> all = segments_of(d->log);
        const std::int64_t shares = std::clamp<std::int64_t>(log_.count / (d->count + kLargestSegment), 1,
                                                             workers_for(task, INT64_MAX, true));
        const std::size_t each = (all.size() + std::size_t(shares) - 1) / std::size_t(shares);
        for (std::size_t i = 0; i < all.size(); i += each)
            shares_.emplace_back(all.begin() + std::ptrdiff_t(i),
                                 all.begin() + std::ptrdiff_t(std::min(i + each, all.size())));
    }

    /// Fills vectors[i * stride] with the values of key i. Status.
    std::int32_t run(char* vectors, std::int64_t stride) {
        const std::int64_t places = d_->count * std::int64_t(shares_.size());
        next_ = allocate_array<std::int64_t>(task_, places, loc_);
        values_ =
            next_ ? static_cast<char*>(allocate_array(task_, log_.count, log_.value_size, loc_)) : nullptr;
        if (!values_) return kFailed;
        std::memset(next_, 0, sizeof(std::int64_t) * std::size_t(places));
        run_all(task_, std::int64_t(shares_.size()), [this](Task*, std::int64_t share) { count(share); });
        make_vectors(vectors, stride);
        run_all(task_, std::int64_t(shares_.size()), [this](Task*, std::int64_t share) { place(share); });
        release(task_, next_);
        return kOk;
    }

  private:
    void count(std::int64_t share) {
        std::int64_t* counts = next_ + share * d_->count;
        for (const GroupSegment* s : shares_[std::size_t(share)])
            for (std::int64_t i = 0; i < s->count; ++i) ++counts[s->numbers[i]];
    }

    void make_vectors(char* vectors, std::int64_t stride) {
        std::int64_t at = 0;
        for (std::int64_t key = 0; key < d_->count; ++key) {
            const std::int64_t begin = at;
            for (std::size_t share = 0; share < shares_.size(); ++share)
                at += std::exchange(next_[std::int64_t(share) * d_->count + key], at);
            const WeldVec v{values_ + begin * log_.value_size, at - begin};
            std::memcpy(vectors + key * stride, &v, sizeof v);
        }
    }

    template <std::int64_t Size>
    void place_sized(std::int64_t share) {
        const std::int64_t size = Size ? Size : log_.value_size;
        std::int64_t* next = next_ + share * d_->count;
        for (const GroupSegment* s : shares_[std::size_t(share)])
            for (std::int64_t i = 0; i < s->count; ++i)
                std::memcpy(values_ + next[s->numbers[i]]++ * size, s->values + i * size, std::size_t(size));
    }
    void place(std::int64_t share) {
        switch (log_.value_size) {
            case 4: return place_sized<4>(share);
            case 8: return place_sized<8>(share);
            case 16: return place_sized<16>(share);
            default: return place_sized<0>(share);
        }
    }

    Task* task_;
    const WeldDict* d_;
    const GroupLog& log_;
    std::int32_t loc_;
    std::vector<std::vector<GroupSegment*>> shares_;
    std::int64_t* next_ = nullptr;  // per share and key: how many values, then where the next one goes
    char* values_ = nullptr;
};

/// Turns the table of keys into a dictionary of key -> vec[value], whose index it goes on with.
static std::int32_t group(Task* task, WeldDict* d, std::int32_t loc) {
    constexpr std::int64_t align = alignof(WeldVec);
    const std::int64_t value_at = round_up(d->key_size, align);
    const std::int64_t stride =
        round_up(value_at + std::int64_t(sizeof(WeldVec)), std::max(align, d->key_align));
    char* entries = static_cast<char*>(allocate_array(task, d->count, stride, loc));
    if (!entries || Placement(task, d, loc).run(entries + value_at, stride)) return kFailed;
    for (std::int64_t i = 0; i < d->count; ++i)
        std::memcpy(entries + i * stride, d->entry(i), std::size_t(d->key_size));
    release(task, d->entries);
    release_log(task, d->log);
    d->log = nullptr;
    d->entries = entries;
    d->capacity = d->count;
    d->stride = stride;
    d->value_at = value_at;
    d->value_size = sizeof(WeldVec);
    return kOk;
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

WeldDict* weld_rt_group_new(WeldTask* t, const WeldType* key, const WeldType* value,
                            std::int32_t loc) noexcept {
    Task* task = task_of(t);
    WeldDict* d = new_table(task, key, 0, 1, loc);
    if (!d || !(d->log = allocate_array<GroupLog>(task, 1, loc))) return nullptr;
    *d->log = {nullptr, nullptr, 0, value->size};
    return d;
}

std::int32_t weld_rt_group_merge(WeldTask* t, WeldDict* d, const void* key, const void* value,
                                 std::int32_t loc) noexcept {
    return with_key_kind(d->kind, [&](auto kind) { return merge<kind()>(task_of(t), d, key, value, loc); });
}

WeldDict* weld_rt_group_result(WeldTask* t, WeldDict* d, std::int32_t loc) noexcept {
    return group(task_of(t), d, loc) ? nullptr : d;
}
}
