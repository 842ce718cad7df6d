// Sorting: by a comparison of emitted code, and by keys whose order we know.
//
// Both are stable merge sorts over runs that depend on the number of elements alone, so that even with a
// comparison that contradicts itself the result is a permutation, and the same for any number of threads.
// Keys become 64 bits in the same order (order.cpp); whole keys are compared only where those bits are equal.
#include "runtime/sort.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/describe.h"
#include "runtime/entry.h"
#include "runtime/few_keys.h"
#include "runtime/order.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

/// Asks emitted code for the order of two values. After a failure everything is equal, so that sorting ends
/// soon.
class Comparison {
  public:
    Comparison(Task* task, WeldCompareFn compare, const void* captures, std::int32_t loc)
        : task_(task), compare_(compare), captures_(captures), loc_(loc) {
        enter_region(task, &region_);
    }
    ~Comparison() {
        clear_region(task_);
        exit_region(task_, &region_);
    }
    Comparison(const Comparison&) = delete;

    bool less(const void* a, const void* b) {
        if (status_) return false;
        std::int32_t order = 0;
        status_ = compare_(task_, captures_, a, b, &order);
        if (task_->debt > 0) clear_region(task_);  // nothing that a comparison makes outlives it
        if (!status_) status_ = task_->check_stop(loc_);
        return order < 0 && !status_;
    }
    std::int32_t status() const { return status_; }

  private:
    Task* task_;
    WeldCompareFn compare_;
    const void* captures_;
    std::int32_t loc_;
    std::int32_t status_ = kOk;
    Region region_;
};

/// An element that is moved as it is.
template <int Size>
struct alignas(Size < 16 ? Size : 16) Moved {
    char bytes[Size];
    const void* address() const { return bytes; }
};

/// An element that stays where it is until the end.
struct Referred {
    const char* at;
    const void* address() const { return at; }
};

template <class Item>
struct ByComparison {
    Comparison* comparison;
    bool operator()(const Item& a, const Item& b) const { return comparison->less(a.address(), b.address()); }
};

/// Sorts the items of a vector by parts: runs, then merges of neighbouring runs, each cut into pieces.
template <class Item>
class MergeSort {
  public:
    MergeSort(Task* task, std::int64_t n, WeldCompareFn compare, const void* captures, std::int32_t loc)
        : task_(task), n_(n), compare_(compare), captures_(captures), loc_(loc) {}

    /// Sorts `*items`, using `*scratch`; may exchange the two. Status.
    std::int32_t sort(Item** items, Item** scratch) {
        std::int64_t width = kRun;
        std::int32_t status =
            run_parts(task_, (n_ + kRun - 1) / kRun, true, loc_, [&](Task* t, int, std::int64_t run) {
                Comparison comparison(t, compare_, captures_, loc_);
                const std::int64_t begin = run * kRun, count = std::min(kRun, n_ - begin);
                sort_run(*items + begin, *scratch + begin, count, ByComparison<Item>{&comparison},
                         [&] { return comparison.status() != kOk; });
                return comparison.status();
            });
        for (; !status && width < n_; width *= 2) {
            status = merge_runs(*items, *scratch, width);
            std::swap(*items, *scratch);
        }
        return status;
    }

  private:
    static constexpr std::int64_t kRun = 1 << 14;

    /// Merges pairs of runs of `width` items from `from` to `to`.
    std::int32_t merge_runs(const Item* from, Item* to, std::int64_t width) {
        std::vector<Piece> pieces;
        std::vector<std::int64_t> pair_of;
        {
            Comparison comparison(task_, compare_, captures_, loc_);
            for (std::int64_t begin = 0; begin < n_; begin += 2 * width) {
                cut(runs_at(from, begin, width), kPieceItems, &pieces, ByComparison<Item>{&comparison});
                pair_of.resize(pieces.size(), begin);
            }
            if (comparison.status()) return comparison.status();
        }
        return run_parts(task_, std::int64_t(pieces.size()), true, loc_, [&](Task* t, int, std::int64_t i) {
            Comparison comparison(t, compare_, captures_, loc_);
            const std::int64_t begin = pair_of[std::size_t(i)];
            merge_piece(runs_at(from, begin, width), pieces[std::size_t(i)], to + begin,
                        ByComparison<Item>{&comparison});
            return comparison.status();
        });
    }

    TwoRuns<Item> runs_at(const Item* from, std::int64_t begin, std::int64_t width) const {
        return {from + begin, std::min(width, n_ - begin), std::min(2 * width, n_ - begin)};
    }

    Task* task_;
    std::int64_t n_;
    WeldCompareFn compare_;
    const void* captures_;
    std::int32_t loc_;
};

template <class Item>
std::int32_t sort_moved(Task* task, const WeldVec* in, WeldCompareFn compare, const void* captures,
                        WeldVec* out, std::int32_t loc) {
    Item* items = allocate_array<Item>(task, in->len, loc);
    Item* scratch = items ? allocate_array<Item>(task, in->len, loc) : nullptr;
    if (!scratch) return kFailed;
    if (copy_bytes(task, items, in->data, std::int64_t(sizeof(Item)) * in->len, loc)) return kFailed;
    const std::int32_t status = MergeSort<Item>(task, in->len, compare, captures, loc).sort(&items, &scratch);
    release(task, scratch);
    *out = {items, in->len};
    return status;
}

std::int32_t sort_referred(Task* task, const WeldVec* in, std::int64_t size, WeldCompareFn compare,
                           const void* captures, WeldVec* out, std::int32_t loc) {
    const char* data = static_cast<const char*>(in->data);
    char* sorted = static_cast<char*>(allocate_array(task, in->len, size, loc));
    Referred* items = sorted ? allocate_array<Referred>(task, in->len, loc) : nullptr;
    Referred* scratch = items ? allocate_array<Referred>(task, in->len, loc) : nullptr;
    if (!scratch) return kFailed;
    const auto refer = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) items[i].at = data + i * size;
    };
    if (for_pieces(task, in->len, 1 << 14, loc, refer)) return kFailed;
    if (MergeSort<Referred>(task, in->len, compare, captures, loc).sort(&items, &scratch)) return kFailed;
    const auto move = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) std::memcpy(sorted + i * size, items[i].at, std::size_t(size));
    };
    if (for_pieces(task, in->len, 1 << 14, loc, move)) return kFailed;
    release(task, items);
    release(task, scratch);
    *out = {sorted, in->len};
    return kOk;
}

/// The first `limit` elements in the order of their keys.
std::int32_t sort_first(Task* task, const WeldVec* in, const WeldType* elem, const char* keys,
                        const WeldType* key, WeldVec* out, std::int64_t limit, std::int32_t loc) {
    std::vector<std::uint64_t> found;
    if (find_first(task, key, keys, key->size, in->len, limit, &found, loc)) return kFailed;
    const auto count = std::int64_t(found.size());
    char* theirs = static_cast<char*>(allocate_array(task, count, key->size, loc));
    char* sorted = theirs ? static_cast<char*>(allocate_array(task, limit, elem->size, loc)) : nullptr;
    if (!sorted) return kFailed;
    if (gather(task, theirs, keys, found.data(), count, key->size, loc)) return kFailed;
    std::uint64_t* order = stable_order(task, key, theirs, key->size, count, loc);
    if (!order) return kFailed;
    const auto renumber = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) order[i] = found[std::size_t(order[i])];
    };
    if (in_strips(task, 0, limit, loc, renumber)) return kFailed;
    if (gather(task, sorted, static_cast<const char*>(in->data), order, limit, elem->size, loc))
        return kFailed;
    release(task, order);
    release(task, theirs);
    *out = {sorted, limit};
    return kOk;
}

std::int32_t sort_few(Task* task, const WeldVec* in, const WeldType* elem, const WeldVec* keys,
                      const WeldType* key, WeldVec* out, std::int32_t loc) {
    char* sorted = static_cast<char*>(allocate_array(task, in->len, elem->size, loc));
    if (!sorted) return kFailed;
    copy_few_in_order(key, static_cast<const char*>(keys->data), key->size, in->len, sorted,
                      static_cast<const char*>(in->data), elem->size, elem->size);
    *out = {sorted, in->len};
    return kOk;
}

/// The first element in the order of scalar keys.
std::int32_t first_of_all(Task* task, const WeldVec* in, const WeldType* elem, const WeldVec* keys,
                          const WeldType* key, WeldVec* out, std::int32_t loc) {
    char* first = static_cast<char*>(allocate_array(task, 1, elem->size, loc));
    if (!first) return kFailed;
    const std::int64_t place = place_of_least(key, static_cast<const char*>(keys->data), key->size, in->len);
    std::memcpy(first, static_cast<const char*>(in->data) + place * elem->size, std::size_t(elem->size));
    *out = {first, 1};
    return kOk;
}

std::int32_t sort_all(Task* task, const WeldVec* in, const WeldType* elem, const WeldVec* keys,
                      const WeldType* key, WeldVec* out, std::int32_t loc) {
    if (in->len <= few_keys() && is_scalar(key)) return sort_few(task, in, elem, keys, key, out, loc);
    if (keys->data == in->data && is_scalar(elem) && elem->kind != kWeldBool) {
        void* sorted = sorted_by_value(task, elem, in->data, in->len, loc);
        *out = {sorted, sorted ? in->len : 0};
        return sorted ? kOk : kFailed;
    }
    char* sorted = static_cast<char*>(allocate_array(task, in->len, elem->size, loc));
    if (!sorted) return kFailed;
    const char* data = static_cast<const char*>(keys->data);
    std::uint64_t* order = stable_order(task, key, data, key->size, in->len, loc);
    if (!order) return kFailed;
    if (gather(task, sorted, static_cast<const char*>(in->data), order, in->len, elem->size, loc))
        return kFailed;
    release(task, order);
    *out = {sorted, in->len};
    return kOk;
}

/// Sorts all by a comparison.
std::int32_t sort_compared(Task* task, const WeldVec* in, const WeldType* elem, WeldCompareFn compare,
                           const void* captures, WeldVec* out, std::int32_t loc) {
    const bool movable = elem->align <= 16;
    if (movable && elem->size == 1) return sort_moved<Moved<1>>(task, in, compare, captures, out, loc);
    if (movable && elem->size == 2) return sort_moved<Moved<2>>(task, in, compare, captures, out, loc);
    if (movable && elem->size == 4) return sort_moved<Moved<4>>(task, in, compare, captures, out, loc);
    if (movable && elem->size == 8) return sort_moved<Moved<8>>(task, in, compare, captures, out, loc);
    if (movable && elem->size == 16) return sort_moved<Moved<16>>(task, in, compare, captures, out, loc);
    return sort_referred(task, in, elem->size, compare, captures, out, loc);
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

std::int32_t weld_rt_sort(WeldTask* t, const WeldVec* in, const WeldType* elem, WeldCompareFn compare,
                          const void* captures, WeldVec* out, std::int64_t limit, std::int32_t loc) {
    *out = {nullptr, 0};
    if (in->len <= 0 || limit == 0) return kOk;
    if (sort_compared(task_of(t), in, elem, compare, captures, out, loc)) return kFailed;
    if (limit > 0) out->len = std::min(out->len, limit);
    return kOk;
}

std::int32_t weld_rt_sort_keys(WeldTask* t, const WeldVec* in, const WeldType* elem, const WeldVec* keys,
                               const WeldType* key, WeldVec* out, std::int64_t limit, std::int32_t loc) {
    constexpr std::int64_t few = 16;         // times the limit: not worth looking for the first ones
    constexpr std::int64_t short_one = 512;  // is sorted sooner than looked through
    Task* task = task_of(t);
    *out = {nullptr, 0};
    if (in->len <= 0 || limit == 0) return kOk;
    if (limit > 0 && limit < in->len / few && in->len > short_one)
        return sort_first(task, in, elem, static_cast<const char*>(keys->data), key, out, limit, loc);
    if (limit == 1 && is_scalar(key) && in->len <= short_one)
        return first_of_all(task, in, elem, keys, key, out, loc);
    if (sort_all(task, in, elem, keys, key, out, loc)) return kFailed;
    if (limit > 0) out->len = std::min(out->len, limit);
    return kOk;
}
}
