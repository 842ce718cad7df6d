// Grouping rows whose keys are integers close together: each has a place, where its rows are counted first, and which
// says then where their values go. Nothing is hashed but each key once, for the index of the dictionary.
//
//     keys 7 9 7 8, values a b c d; places from 7 on
//     rows of each place    2 1 1
//     where values go       0 2 3  ->  a c d b, of which 7 has a c, 8 has d, 9 has b
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/groups.h"
#include "runtime/merge.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kBlock = 256;         // rows whose places are found at once
constexpr std::int64_t kLargest = 1 << 18;   // more places had better be ranges, which stay in the cache
constexpr std::int64_t kStripOfKeys = 4096;  // rows until the next look at the least key and the greatest

/// Integers from `first` on that all keys are among; none if `size` is 0.
struct Places {
    std::int64_t first = 0, size = 0;
};

template <class T>
Places places_of(const Columns& rows, std::int64_t most) {
    const auto key = [&](std::int64_t i) { return load<T>(rows.keys + i * rows.key_stride); };
    T least = key(0), greatest = least;
    for (std::int64_t i = 0; i < rows.count;) {
        for (const std::int64_t end = std::min(rows.count, i + kStripOfKeys); i < end; ++i) {
            least = std::min(least, key(i));
            greatest = std::max(greatest, key(i));
        }
        if (std::uint64_t(greatest) - std::uint64_t(least) >= std::uint64_t(most)) return {};
    }
    return {std::int64_t(least), std::int64_t(std::uint64_t(greatest) - std::uint64_t(least)) + 1};
}

class PlaceGrouping {
  public:
    PlaceGrouping(Task* task, const RowType& type, const Columns& rows, Places places, std::int32_t loc)
        : task_(task), type_(type), rows_(rows), places_(places), loc_(loc) {}

    /// Null after recording the failure.
    WeldDict* run() {
        for (const Share& share : shares_of_workers(task_, rows_)) {
            shares_.push_back({share.rows, allocate_array<std::uint32_t>(task_, places_.size, loc_)});
            if (!shares_.back().places) return nullptr;
        }
        const auto of_shares = [&](auto f) {
            return run_parts(task_, std::int64_t(shares_.size()), true, loc_,
                             [&](Task* t, int, std::int64_t s) { return f(t, shares_[std::size_t(s)]); });
        };
        if (of_shares([&](Task* t, const Counted& share) { return count(t, share); })) return nullptr;
        WeldDict* keys = new_table(task_, type_.key, sizeof(WeldVec), alignof(WeldVec), loc_);
        values_ =
            keys ? static_cast<char*>(allocate_array(task_, rows_.count, type_.value->size, loc_)) : nullptr;
        if (!values_ || with_scalar(type_.key->kind, [&]<class T>(T) { return add_keys<T>(keys); }))
            return nullptr;
        if (of_shares([&](Task* t, const Counted& share) { return place(t, share); })) return nullptr;
        for (const Counted& share : shares_) release(task_, share.places);
        return keys;
    }

  private:
    struct Counted {
        Columns rows;
        std::uint32_t* places;  ///< how many rows each has, then where the next value goes
    };

    /// The places of the keys of rows [begin, end), which are at most a block.
    void find_places(const Columns& rows, std::int64_t begin, std::int64_t end, std::uint32_t* to) const {
        with_scalar(type_.key->kind, [&]<class T>(T) {
            const char* key = rows.keys + begin * rows.key_stride;
            for (std::int64_t i = 0; i < end - begin; ++i, key += rows.key_stride)
                to[i] = std::uint32_t(std::uint64_t(load<T>(key)) - std::uint64_t(places_.first));
        });
    }

    std::int32_t count(Task* t, const Counted& share) const {
        const auto clear = [&](std::int64_t lo, std::int64_t hi) {
            std::fill(share.places + lo, share.places + hi, 0);
        };
        const auto count_block = [&](std::int64_t lo, std::int64_t hi) {
            std::uint32_t found[kBlock];
            find_places(share.rows, lo, hi, found);
            for (std::int64_t i = 0; i < hi - lo; ++i) ++share.places[found[i]];
        };
        return in_strips(t, 0, places_.size, loc_, clear) ||
                       in_strips<kBlock>(t, 0, share.rows.count, loc_, count_block)
                   ? kFailed
                   : kOk;
    }

    /// Adds the keys that there are, each with its vector. Of a key the values of one share come after those of the one
    /// before. Status.
    template <class T>
    std::int32_t add_keys(WeldDict* keys) {
        constexpr KeyKind kind = sizeof(T) == 1   ? KeyKind::Plain1
                                 : sizeof(T) == 2 ? KeyKind::Plain2
                                 : sizeof(T) == 4 ? KeyKind::Plain4
                                                  : KeyKind::Plain8;
        std::int64_t at = 0;
        return in_strips(task_, 0, places_.size, loc_, [&](std::int64_t lo, std::int64_t hi) -> std::int32_t {
            for (std::int64_t p = lo; p < hi; ++p) {
                const std::int64_t begin = at;
                for (const Counted& share : shares_) at += std::exchange(share.places[p], std::uint32_t(at));
                if (at == begin) continue;
                const T key = T(std::uint64_t(places_.first) + std::uint64_t(p));
                const std::int64_t number = add_entry<kind>(task_, keys, sought<kind>(keys, &key), loc_);
                if (number < 0) return kFailed;
                vector_of(keys, number) = {values_ + begin * type_.value->size, at - begin};
            }
            return kOk;
        });
    }

    std::int32_t place(Task* t, const Counted& share) const {
        return in_strips<kBlock>(t, 0, share.rows.count, loc_, [&](std::int64_t lo, std::int64_t hi) {
            std::uint32_t found[kBlock];
            find_places(share.rows, lo, hi, found);
            const NumberedRows<std::uint32_t> rows{share.rows.part(lo, hi), found, share.places};
            return place_values(t, rows, {values_, rows_.count}, type_.value->size, loc_);
        });
    }

    Task* task_;
    RowType type_;
    Columns rows_;
    Places places_;
    std::int32_t loc_;
    std::vector<Counted> shares_;
    char* values_ = nullptr;
};

}  // namespace

std::optional<WeldDict*> group_by_places(Task* task, const RowType& type, const Columns& rows,
                                         std::int32_t loc) {
    if (!is_integer(type.key) || rows.count == 0 || rows.count > std::int64_t(UINT32_MAX)) return {};
    const Places places = with_scalar(
        type.key->kind, [&]<class T>(T) { return places_of<T>(rows, std::min(kLargest, 2 * rows.count)); });
    if (!places.size) return {};
    return PlaceGrouping(task, type, rows, places, loc).run();
}

}  // namespace weld::runtime
