// Grouping. First each row gets the number of its key; then the values of each number go to their places in
// one vector, of which the dictionary holds slices. So values keep their order, and no key has a vector that
// grows. Rows are cut into shares of workers: those of a share, which has a table of its own, come after
// those of the share before. Keys that are integers close together have places instead of numbers
// (group_places.cpp), and rows of many keys are put in order first (group_ranges.cpp).
#include "runtime/groups.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/merge.h"
#include "runtime/parallel.h"

namespace weld::runtime {

// ---- numbers of keys

namespace {

/// Looks for the keys of rows.
template <KeyKind K>
class Numberer {
  public:
    Numberer(Task* task, WeldDict* keys, const Columns& rows, const std::uint32_t* tags, std::int64_t most,
             std::uint32_t* numbers, std::int32_t loc)
        : task_(task), keys_(keys), rows_(rows), tags_(tags), most_(most), numbers_(numbers), loc_(loc) {}

    std::int32_t run() {
        return in_strips(task_, 0, rows_.count, loc_, [&](std::int64_t lo, std::int64_t hi) -> std::int32_t {
            for (std::int64_t i = lo; i < hi && !too_many_;) {
                const std::int64_t end = std::min(hi, i + kBlock);
                if (keys_->bits < kLargeBits ? one_by_one(i, end) : in_block(i, end)) return kFailed;
                i = end;
            }
            return kOk;
        });
    }

  private:
    static constexpr std::int64_t kBlock = 64;
    static constexpr std::int64_t kAhead = 16;  ///< rows whose strings are asked for
    static constexpr int kLargeBits = 18;       ///< of an index that had better be asked for early

    const char* key(std::int64_t i) const { return rows_.keys + i * rows_.key_stride; }

    void ask_for_string(std::int64_t i) const {
        if constexpr (K != KeyKind::Bytes) return;
        const WeldVec v = load<WeldVec>(key(std::min(i + kAhead, rows_.count - 1)));
        __builtin_prefetch(v.data);
        // In the order of their hash strings lie anywhere.
        if (tags_) __builtin_prefetch(static_cast<const char*>(v.data) + bytes_of(keys_, v));
    }
    [[gnu::always_inline]] Sought key_of(std::int64_t i) const {
        return tags_ ? sought<K>(keys_, key(i), tags_[i]) : sought<K>(keys_, key(i));
    }

    /// Of the entry that the first slot for the key names, if its tag is the key's; else null.
    const char* candidate(std::uint32_t tag) const {
        const std::uint64_t slot = keys_->index[first_slot(keys_, tag)];
        return slot && tag_in(slot) == tag ? keys_->entry(number_in(slot)) : nullptr;
    }

    /// Counts the row for its key.
    std::int32_t count(std::int64_t i, const Sought& s) {
        bool added;
        const std::int64_t number = find_or_add<K>(task_, keys_, s, &added, loc_);
        if (number < 0) return kFailed;
        WeldVec& values = vector_of(keys_, number);
        if (added) values = {nullptr, 0};
        ++values.len;
        numbers_[i] = std::uint32_t(number);
        too_many_ = added && keys_->count > most_;
        return kOk;
    }

    std::int32_t one_by_one(std::int64_t i, std::int64_t end) {
        for (; i < end && !too_many_; ++i) {
            ask_for_string(i);
            if (count(i, key_of(i))) return kFailed;
        }
        return kOk;
    }

    /// Slots, then entries, then strings are asked for before they are needed.
    std::int32_t in_block(std::int64_t begin, std::int64_t end) {
        std::array<Sought, kBlock> all;
        std::array<const char*, kBlock> entries;
        const auto n = std::size_t(end - begin);
        for (std::size_t k = 0; k < n; ++k) {
            ask_for_string(begin + std::int64_t(k));
            all[k] = key_of(begin + std::int64_t(k));
            __builtin_prefetch(keys_->index + first_slot(keys_, all[k].tag));
        }
        for (std::size_t k = 0; k < n; ++k) {
            entries[k] = candidate(all[k].tag);
            if (!entries[k]) continue;
            __builtin_prefetch(entries[k]);
            __builtin_prefetch(entries[k] + keys_->stride - 1);
        }
        if constexpr (K == KeyKind::Bytes)
            for (std::size_t k = 0; k < n; ++k) {
                if (!entries[k]) continue;
                const WeldVec v = load<WeldVec>(entries[k]);
                const std::int64_t bytes = bytes_of(keys_, v);
                if (bytes <= kHeadBytes) continue;
                __builtin_prefetch(static_cast<const char*>(v.data) + kHeadBytes);
                __builtin_prefetch(static_cast<const char*>(v.data) + bytes - 1);
            }
        for (std::size_t k = 0; k < n && !too_many_; ++k)
            if (count(begin + std::int64_t(k), all[k])) return kFailed;
        return kOk;
    }

    Task* task_;
    WeldDict* keys_;
    Columns rows_;
    const std::uint32_t* tags_;
    std::int64_t most_;
    std::uint32_t* numbers_;
    std::int32_t loc_;
    bool too_many_ = false;
};

}  // namespace

std::int32_t number_rows(Task* task, WeldDict* keys, const Columns& rows, const std::uint32_t* tags,
                         std::int64_t most, std::uint32_t* numbers, std::int32_t loc) {
    return with_key_kind(keys->kind, [&](auto kind) {
        return Numberer<kind()>(task, keys, rows, tags, most, numbers, loc).run();
    });
}

// ---- shares

static constexpr std::int64_t kShareRows = 1 << 16;  ///< worth a worker

std::vector<Share> shares_of_workers(const Task* task, const Columns& rows) {
    const std::int64_t count =
        std::clamp<std::int64_t>(rows.count / kShareRows, 1, workers_for(task, INT64_MAX, true));
    std::vector<Share> all;
    for (std::int64_t s = 0, at = 0; s < count; ++s) {
        const auto end = std::int64_t(static_cast<__int128>(rows.count) * (s + 1) / count);
        all.push_back({at, rows.part(at, end)});
        at = end;
    }
    return all;
}

namespace {

/// Keys of a share, beyond which rows are put in order. Keys that point at strings take longer to put in
/// order than to look for, but the tables of shares become one key by key.
constexpr std::int64_t kMostKeys = 1 << 14, kMostPointing = 1 << 17;

class Grouping {
  public:
    Grouping(Task* task, const RowType& type, const Columns& rows, std::int32_t loc)
        : task_(task), type_(type), rows_(rows), loc_(loc) {}

    /// Sets `*many`, and has done nothing, if there are too many keys. Null then, or after recording a
    /// failure.
    WeldDict* run(bool* many) {
        if (number_shares()) return nullptr;
        *many = std::ranges::any_of(shares_, [&](const Numbered& s) { return s.keys->count > most_; });
        if (!*many) return join_keys() ? nullptr : with_vectors();
        release(task_, numbers_);
        for (const Numbered& s : shares_) release_table(task_, s.keys);
        return nullptr;
    }

  private:
    struct Numbered {
        Columns rows;
        std::uint32_t* numbers;
        WeldDict* keys = nullptr;           ///< each with room for its vector
        std::vector<std::uint32_t> in_all;  ///< numbers that its keys have among those of all shares
        std::int64_t* next = nullptr;       ///< by those: how many values, then where the next one goes
    };

    std::int32_t number_shares() {
        numbers_ = allocate_array<std::uint32_t>(task_, rows_.count, loc_);
        if (!numbers_) return kFailed;
        for (const auto& [first, rows] : shares_of_workers(task_, rows_))
            shares_.push_back({rows, numbers_ + first});
        const auto count = std::int64_t(shares_.size());
        const bool points = reads_type(key_kind(type_.key));
        most_ = !points ? kMostKeys : count == 1 ? kMostEntries : kMostPointing;
        return run_parts(task_, count, true, loc_, [&](Task* t, int, std::int64_t s) -> std::int32_t {
            Numbered& share = shares_[std::size_t(s)];
            share.keys = new_table(t, type_.key, sizeof(WeldVec), alignof(WeldVec), loc_);
            if (!share.keys) return kFailed;
            return number_rows(t, share.keys, share.rows, nullptr, most_, share.numbers, loc_);
        });
    }

    /// All keys in the table of the first share, and what the shares have counted, by numbers there. Status.
    std::int32_t join_keys() {
        WeldDict* all = shares_.front().keys;
        for (Numbered& share : shares_) {
            share.in_all.resize(std::size_t(share.keys->count));
            if (share.keys == all) std::iota(share.in_all.begin(), share.in_all.end(), 0U);
            else if (with_key_kind(all->kind, [&](auto kind) { return add_keys<kind()>(&share); }))
                return kFailed;
        }
        for (Numbered& share : shares_) {
            share.next = allocate_array<std::int64_t>(task_, all->count, loc_);
            if (!share.next) return kFailed;
            const auto clear = [&](std::int64_t lo, std::int64_t hi) {
                std::fill(share.next + lo, share.next + hi, 0);
            };
            const auto count = [&](std::int64_t lo, std::int64_t hi) {
                for (std::int64_t k = lo; k < hi; ++k)
                    share.next[share.in_all[std::size_t(k)]] = vector_of(share.keys, k).len;
            };
            if (in_strips(task_, 0, all->count, loc_, clear)) return kFailed;
            if (in_strips(task_, 0, std::int64_t(share.in_all.size()), loc_, count)) return kFailed;
            if (share.keys != all) release_table(task_, share.keys);
        }
        return kOk;
    }
    template <KeyKind K>
    std::int32_t add_keys(Numbered* share) {
        WeldDict* all = shares_.front().keys;
        const auto add = [&](std::int64_t lo, std::int64_t hi) -> std::int32_t {
            for (std::int64_t k = lo; k < hi; ++k) {
                bool added;
                const Sought s = sought_of_entry<K>(share->keys, share->keys->entry(k));
                const std::int64_t number = find_or_add<K>(task_, all, s, &added, loc_);
                if (number < 0) return kFailed;
                share->in_all[std::size_t(k)] = std::uint32_t(number);
            }
            return kOk;
        };
        return in_strips(task_, 0, share->keys->count, loc_, add);
    }

    /// Of a key the values of one share come after those of the one before.
    WeldDict* with_vectors() {
        WeldDict* all = shares_.front().keys;
        const std::int64_t size = type_.value->size;
        char* values = static_cast<char*>(allocate_array(task_, rows_.count, size, loc_));
        if (!values) return nullptr;
        std::int64_t place = 0;
        const auto cut = [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t k = lo; k < hi; ++k) {
                const std::int64_t begin = place;
                for (Numbered& share : shares_) place += std::exchange(share.next[k], place);
                vector_of(all, k) = {values + begin * size, place - begin};
            }
        };
        if (in_strips(task_, 0, all->count, loc_, cut)) return nullptr;
        const auto fill = [&](Task* t, int, std::int64_t s) -> std::int32_t {
            const Numbered& share = shares_[std::size_t(s)];
            if (s > 0) {
                const auto rename = [&](std::int64_t lo, std::int64_t hi) {
                    for (std::int64_t i = lo; i < hi; ++i) share.numbers[i] = share.in_all[share.numbers[i]];
                };
                if (in_strips(t, 0, share.rows.count, loc_, rename)) return kFailed;
            }
            return place_values(t, NumberedRows{share.rows, share.numbers, share.next}, {values, rows_.count},
                                size, loc_);
        };
        if (run_parts(task_, std::int64_t(shares_.size()), true, loc_, fill)) return nullptr;
        for (const Numbered& share : shares_) release(task_, share.next);
        release(task_, numbers_);
        return all;
    }

    Task* task_;
    RowType type_;
    Columns rows_;
    std::int32_t loc_;
    std::vector<Numbered> shares_;
    std::uint32_t* numbers_ = nullptr;
    std::int64_t most_ = 0;  ///< keys of a share
};

/// The keys of rows are canonical but for the bytes that no field has. Status.
std::int32_t clear_padding(Task* task, const RowType& type, char* rows, std::int64_t count,
                           std::int32_t loc) {
    if (reads_type(key_kind(type.key))) return kOk;
    std::vector<std::int64_t> bytes;
    each_padding(type.key, 0, [&](std::int64_t at) { bytes.push_back(at); });
    if (bytes.empty()) return kOk;
    return for_pieces(task, count, kShareRows, loc, [&](std::int64_t lo, std::int64_t hi) {
        for (char *row = rows + lo * type.size, *end = rows + hi * type.size; row < end; row += type.size)
            for (const std::int64_t at : bytes) row[at] = 0;
    });
}

/// `owned`: what the rows are in, which is released when they are not read any more, or null.
WeldDict* group(Task* task, const RowType& type, const Columns& rows, char* owned, std::int32_t loc) {
    bool many = false;
    const std::optional<WeldDict*> by_places = group_by_places(task, type, rows, loc);
    WeldDict* dict = by_places ? *by_places : Grouping(task, type, rows, loc).run(&many);
    if (many) return group_by_ranges(task, type, rows, owned, loc);
    if (dict && owned) release(task, owned);
    return dict;
}

}  // namespace

WeldDict* group_rows(Task* task, const RowType& type, char* rows, std::int64_t count, std::int32_t loc) {
    if (clear_padding(task, type, rows, count, loc)) return nullptr;
    const Columns columns{rows, count ? rows + type.value_at : rows, type.size, type.size, count};
    return group(task, type, columns, rows, loc);
}

WeldDict* group_columns(Task* task, const WeldType* key, const WeldType* value, const void* keys,
                        const void* values, std::int64_t count, std::int32_t loc) {
    const RowType type(key, value);
    const Columns columns{static_cast<const char*>(keys), static_cast<const char*>(values), key->size,
                          value->size, count};
    return group(task, type, columns, nullptr, loc);
}

}  // namespace weld::runtime
