// The order of keys: 64 bits per key that compare as the keys do, sorted with the number of the key behind
// them; the rest of a key is looked at only where those bits are equal. A stable order is unique, so it may
// be found in any way and on any threads. Runs are sorted by Highway's vectorised quicksort, then merged.
#include "runtime/order.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

#include "runtime/hash_table.h"
#include "runtime/keys.h"
#include "runtime/merge.h"
#include "runtime/parallel.h"
#include "runtime/sort.h"
#include "runtime/vector_sort.h"

namespace weld::runtime {

namespace {

/// The first 64 bits of a key (hi) and its number (lo).
using Item = hwy::uint128_t;

/// Bits of a value, the most significant ones first, that compare as unsigned numbers as the values do.
template <class T>
auto ordered_bits(T x) {
    if constexpr (std::is_floating_point_v<T>) {
        using Bits = decltype(key_bits(x));
        constexpr Bits sign = Bits(1) << (sizeof(T) * 8 - 1);
        const Bits bits = key_bits(x);  // one zero, one NaN, which is above infinity
        return bits & sign ? Bits(~bits) : Bits(bits | sign);
    } else if constexpr (std::is_signed_v<T>) {
        using Bits = std::make_unsigned_t<T>;
        return Bits(Bits(x) ^ Bits(Bits(1) << (sizeof(T) * 8 - 1)));
    } else {
        return x;
    }
}

/// The value whose ordered_bits these are.
template <class T, class Bits>
T from_ordered_bits(Bits bits) {
    constexpr Bits sign = Bits(Bits(1) << (sizeof(T) * 8 - 1));
    if constexpr (std::is_floating_point_v<T>)
        return std::bit_cast<T>(bits & sign ? Bits(bits ^ sign) : Bits(~bits));
    else return T(std::is_signed_v<T> ? Bits(bits ^ sign) : bits);
}

/// Collects the first 64 bits of a key.
struct Prefix {
    std::uint64_t bits = 0;
    int room = 64;

    void add(std::uint64_t value, int width) {
        if (width > room) {
            value >>= width - room;
            width = room;
        }
        if (!width) return;
        room -= width;
        bits |= value << room;
    }

    /// False when nothing after this may be added: the room is used up, or where the next part lies in the
    /// bits would depend on the value.
    bool add(const WeldType* t, const char* key) {
        switch (t->kind) {
            case kWeldStruct:
                for (std::uint32_t i = 0; i < t->num_args; ++i)
                    if (!add(t->args[i], key + t->offsets[i])) return false;
                return room > 0;
            case kWeldSimd: return add_elements(t->args[0], key, lanes_of(t));
            case kWeldVec: {
                const WeldVec v = load<WeldVec>(key);
                add_elements(t->args[0], static_cast<const char*>(v.data), v.len);
                return false;
            }
            case kWeldBool: add(*key != 0, 8); return room > 0;
            default:
                with_scalar(t->kind,
                            [&]<class T>(T) { add(ordered_bits(load<T>(key)), int(sizeof(T) * 8)); });
                return room > 0;
        }
    }

    bool add_elements(const WeldType* elem, const char* data, std::int64_t count) {
        for (std::int64_t i = 0; elem->size && i < count; ++i)
            if (!add(elem, data + i * elem->size)) return false;
        return room > 0;
    }
};

/// Bits of the scalars in a key, or more than 64 if it has parts of varying length.
std::int64_t key_width(const WeldType* t) {
    if (is_scalar(t)) return t->size * 8;
    if (t->kind == kWeldSimd) return lanes_of(t) * t->args[0]->size * 8;
    if (t->kind != kWeldStruct) return 65;
    std::int64_t width = 0;
    for (std::uint32_t i = 0; i < t->num_args && width <= 64; ++i) width += key_width(t->args[i]);
    return width;
}

class Ordering {
  public:
    Ordering(const Task* task, const WeldType* key, const char* keys, std::int64_t stride)
        : task_(task), key_(key), keys_(keys), stride_(stride), width_(key_width(key)) {}

    bool operator()(const Item& a, const Item& b) const {
        if (a.hi != b.hi) return a.hi < b.hi;
        return !prefix_decides() && whole_less(a, b);
    }
    bool prefix_decides() const { return width_ <= 64; }

    void fill(Item* items, std::int64_t from, std::int64_t to) const;
    std::int32_t sort(Task* task, Item* items, Item* scratch, std::int64_t n, std::int32_t loc) const;
    /// Sorts items with equal bits, which lie side by side. Status.
    std::int32_t settle_ties(Task* task, Item* items, Item* scratch, std::int64_t n, std::int32_t loc) const;

  private:
    bool whole_less(const Item& a, const Item& b) const {
        return compare_totally(task_, key_, keys_ + std::int64_t(a.lo) * stride_,
                               keys_ + std::int64_t(b.lo) * stride_) < 0;
    }

    const Task* task_;
    const WeldType* key_;
    const char* keys_;
    std::int64_t stride_;
    std::int64_t width_;  // bits of a key
};

void Ordering::fill(Item* items, std::int64_t from, std::int64_t to) const {
    if (is_scalar(key_) && key_->kind != kWeldBool) {
        with_scalar(key_->kind, [&]<class T>(T) {
            for (std::int64_t i = from; i < to; ++i)
                items[i] = {std::uint64_t(i), ordered_bits(load<T>(keys_ + i * stride_))};
        });
        return;
    }
    for (std::int64_t i = from; i < to; ++i) {
        Prefix prefix;
        prefix.add(key_, keys_ + i * stride_);
        items[i] = {std::uint64_t(i), width_ > 0 && width_ < 64 ? prefix.bits >> (64 - width_) : prefix.bits};
    }
}

std::int32_t Ordering::settle_ties(Task* task, Item* items, Item* scratch, std::int64_t n,
                                   std::int32_t loc) const {
    if (prefix_decides()) return kOk;
    const auto less = [this](const Item& a, const Item& b) { return whole_less(a, b); };
    std::int64_t begin = 0;  // of the ties that have not been settled
    const auto settle = [&](std::int64_t end) {
        if (end - begin > 1)
            sort_run(items + begin, scratch + begin, end - begin, less, [=] { return task->should_stop(); });
        begin = end;
    };
    const auto find_ties = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i)
            if (items[i].hi != items[begin].hi) settle(i);
    };
    if (in_strips(task, 0, n, loc, find_ties)) return kFailed;
    settle(n);
    return task->check_stop(loc);
}

std::int32_t Ordering::sort(Task* task, Item* items, Item* scratch, std::int64_t n, std::int32_t loc) const {
    constexpr std::int64_t few = 100;
    if (n <= few) {
        sort_run(items, scratch, n, *this, [=] { return task->should_stop(); });
        return task->check_stop(loc);
    }
    return stoppable_sort(task, items, n, loc) ? kFailed : settle_ties(task, items, scratch, n, loc);
}

/// The length of the runs that are sorted by themselves: about one run for each worker.
std::int64_t run_length(Task* task, std::int64_t n) {
    constexpr std::int64_t least = 1 << 16;
    const std::int64_t runs =
        std::min<std::int64_t>(std::max<std::int64_t>(1, n / least), workers_for(task, INT64_MAX, true));
    return (n + runs - 1) / runs;
}

/// Merges the sorted runs of `width` items, in parallel; the two may be exchanged. Status.
template <class T, class Less>
std::int32_t merge_all(Task* task, const Less& less, std::int64_t n, std::int64_t width, T** items,
                       T** scratch, std::int32_t loc) {
    for (; width < n; width *= 2, std::swap(*items, *scratch)) {
        std::vector<Piece> pieces;
        std::vector<std::int64_t> begins;
        auto runs_at = [&](std::int64_t begin) {
            return TwoRuns<T>{*items + begin, std::min(width, n - begin), std::min(2 * width, n - begin)};
        };
        for (std::int64_t begin = 0; begin < n; begin += 2 * width) {
            cut(runs_at(begin), kPieceItems, &pieces, less);
            begins.resize(pieces.size(), begin);
        }
        const auto merge = [&](Task*, int, std::int64_t i) {
            const std::int64_t begin = begins[std::size_t(i)];
            merge_piece(runs_at(begin), pieces[std::size_t(i)], *scratch + begin, less);
            return kOk;
        };
        if (run_parts(task, std::int64_t(pieces.size()), true, loc, merge)) return kFailed;
    }
    return kOk;
}

/// The same for numbers of one byte, by counting them.
template <class At>
std::int32_t sort_copies(Task* task, std::uint8_t* data, std::int64_t begin, std::int64_t end, const At& at,
                         std::int32_t loc) {
    std::array<std::int64_t, 256> counts = {};
    const auto count = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) ++counts[at(i)];
    };
    if (in_strips(task, begin, end, loc, count)) return kFailed;
    for (unsigned b = 0; b < 256; ++b) {
        const auto write = [&](std::int64_t lo, std::int64_t hi) { std::fill(data + lo, data + hi, b); };
        if (in_strips(task, 0, counts[b], loc, write)) return kFailed;
        data += counts[b];
    }
    return kOk;
}

/// The numbers at(0) ... at(n - 1), sorted. Null after recording the failure.
template <class T, class At>
T* sorted_numbers(Task* task, std::int64_t n, const At& at, std::int32_t loc) {
    const std::int64_t width = run_length(task, n);
    T* numbers = allocate_array<T>(task, n, loc);
    T* scratch = numbers && width < n ? allocate_array<T>(task, n, loc) : nullptr;
    if (!numbers || (width < n && !scratch)) return nullptr;
    const std::int32_t status =
        run_parts(task, (n + width - 1) / width, true, loc, [&](Task* t, int, std::int64_t run) {
            const std::int64_t begin = run * width, end = std::min(begin + width, n);
            return sort_copies(t, numbers + begin, begin, end, at, loc);
        });
    if (status || merge_all(task, std::less<T>(), n, width, &numbers, &scratch, loc)) return nullptr;
    if (scratch) release(task, scratch);
    return numbers;
}

/// Bytes that are asked for early where memory is read once: the processor does so up to the end of a page.
constexpr std::int64_t kAhead = 2048;

/// Whether there are floats whose order does not tell which they are: -0.0, which equals 0.0, or NaNs.
/// Status.
template <class T>
std::int32_t find_ambiguous(Task* task, const T* in, std::int64_t n, bool* any_found, std::int32_t loc) {
    using Bits = decltype(key_bits(T()));
    constexpr Bits sign = Bits(1) << (sizeof(T) * 8 - 1);
    std::atomic<bool> found = false;
    const auto look = [&](std::int64_t lo, std::int64_t hi) {
        Bits any = 0;
        for (std::int64_t i = lo; i < hi; ++i) {
            __builtin_prefetch(in + i + kAhead / std::int64_t(sizeof(T)));
            any |= (-Bits(in[i] == 0) & std::bit_cast<Bits>(in[i])) | (-Bits(in[i] != in[i]) & sign);
        }
        if (any & sign) found = true;
    };
    const std::int32_t status = for_pieces(task, n, 1 << 16, loc, look);
    *any_found = found;
    return status;
}

/// Puts the zeros and NaNs of `in` where `sorted` has zeros and NaNs, in the order of `in`.
/// Status.
template <class T>
std::int32_t restore_ambiguous(Task* task, const T* in, T* sorted, std::int64_t n, std::int32_t loc) {
    T* zero = std::partition_point(sorted, sorted + n, [](T x) { return x < 0; });
    T* nan = std::partition_point(zero, sorted + n, [](T x) { return x == x; });
    return in_strips(task, 0, n, loc, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i)
            if (in[i] != in[i]) *nan++ = in[i];
            else if (in[i] == 0) *zero++ = in[i];
    });
}

/// Sorts scalars by bits that are in the order of their values.
template <class T>
T* sorted_by_bits(Task* task, const T* in, std::int64_t n, std::int32_t loc) {
    using Bits = decltype(ordered_bits(T()));
    Bits* bits = sorted_numbers<Bits>(task, n, [&](std::int64_t i) { return ordered_bits(in[i]); }, loc);
    if (!bits) return nullptr;
    T* out = reinterpret_cast<T*>(bits);
    const auto to_values = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) {
            const T x = from_ordered_bits<T>(load<Bits>(bits + i));
            std::memcpy(out + i, &x, sizeof x);
        }
    };
    if (for_pieces(task, n, 1 << 16, loc, to_values)) return nullptr;
    if constexpr (std::is_floating_point_v<T>)
        if (restore_ambiguous(task, in, out, n, loc)) return nullptr;
    return out;
}

/// Sorts scalars by themselves. Null after recording the failure.
template <class T>
T* sorted_scalars(Task* task, const T* in, std::int64_t n, std::int32_t loc) {
    if constexpr (sizeof(T) == 1) return sorted_by_bits(task, in, n, loc);
    if constexpr (std::is_floating_point_v<T>) {
        bool ambiguous;
        if (find_ambiguous(task, in, n, &ambiguous, loc)) return nullptr;
        if (ambiguous) return sorted_by_bits(task, in, n, loc);
    }
    const auto at = [=](std::int64_t i) {
        __builtin_prefetch(in + i + kAhead / std::int64_t(sizeof(T)));
        return in[i];
    };
    return sorted_numbers<T>(task, n, at, loc);
}

}  // namespace

void* sorted_by_value(Task* task, const WeldType* t, const void* in, std::int64_t n, std::int32_t loc) {
    return with_scalar(t->kind, [&]<class T>(T) -> void* {
        return sorted_scalars(task, static_cast<const T*>(in), n, loc);
    });
}

std::uint64_t* stable_order(Task* task, const WeldType* key, const char* keys, std::int64_t stride,
                            std::int64_t n, std::int32_t loc) {
    Item* items = allocate_array<Item>(task, n, loc);
    Item* scratch = items ? allocate_array<Item>(task, n, loc) : nullptr;
    if (!scratch) return nullptr;
    const Ordering ordering(task, key, keys, stride);
    const std::int64_t width = run_length(task, n), runs = (n + width - 1) / width;
    std::mutex mutex;
    std::uint64_t least = ~std::uint64_t(0), greatest = 0;
    std::int32_t status = for_pieces(task, n, 1 << 16, loc, [&](std::int64_t begin, std::int64_t end) {
        ordering.fill(items, begin, end);
        const auto [low, high] = std::minmax_element(
            items + begin, items + end, [](const Item& a, const Item& b) { return a.hi < b.hi; });
        const std::lock_guard lock(mutex);
        least = std::min<std::uint64_t>(least, low->hi);
        greatest = std::max<std::uint64_t>(greatest, high->hi);
    });
    if (status) return nullptr;
    const int number_bits = std::bit_width(std::uint64_t(n - 1));
    if (ordering.prefix_decides() && std::bit_width(greatest - least) + number_bits <= 64) {
        // A prefix and the number fit one word, which sorts faster.
        std::uint64_t* words = reinterpret_cast<std::uint64_t*>(scratch);
        std::uint64_t* others = words + n;
        status = run_parts(task, runs, true, loc, [&](Task* t, int, std::int64_t run) {
            const std::int64_t begin = run * width, end = std::min(begin + width, n);
            const auto word = [=](std::int64_t i) {
                __builtin_prefetch(items + i + kAhead / std::int64_t(sizeof(Item)));
                return (items[i].hi - least) << number_bits | items[i].lo;
            };
            return sort_copies(t, words + begin, begin, end, word, loc);
        });
        if (status || merge_all(task, std::less<std::uint64_t>(), n, width, &words, &others, loc))
            return nullptr;
        const std::uint64_t mask = (std::uint64_t(1) << number_bits) - 1;
        std::uint64_t* order = reinterpret_cast<std::uint64_t*>(items);
        const auto number = [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) order[i] = words[i] & mask;
        };
        if (for_pieces(task, n, 1 << 16, loc, number)) return nullptr;
        release(task, scratch);
        return order;
    }
    const bool copied = width > kAtOnceBytes / std::int64_t(sizeof(Item));
    if (copied) std::swap(items, scratch);
    status = run_parts(task, runs, true, loc, [&](Task* t, int, std::int64_t run) -> std::int32_t {
        const std::int64_t begin = run * width, end = std::min(begin + width, n);
        if (!copied) return ordering.sort(t, items + begin, scratch + begin, end - begin, loc);
        const auto at = [=](std::int64_t i) {
            __builtin_prefetch(scratch + i + kAhead / std::int64_t(sizeof(Item)));
            return scratch[i];
        };
        if (sort_copies(t, items + begin, begin, end, at, loc)) return kFailed;
        return ordering.settle_ties(t, items + begin, scratch + begin, end - begin, loc);
    });
    if (status || merge_all(task, ordering, n, width, &items, &scratch, loc)) return nullptr;
    std::uint64_t* order = reinterpret_cast<std::uint64_t*>(scratch);
    const auto number = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) order[i] = items[i].lo;
    };
    if (for_pieces(task, n, 1 << 16, loc, number)) return nullptr;
    release(task, items);
    return order;
}

std::int32_t find_first(Task* task, const WeldType* key, const char* keys, std::int64_t stride,
                        std::int64_t n, std::int64_t limit, std::vector<std::uint64_t>* found,
                        std::int32_t loc) {
    const Ordering ordering(task, key, keys, stride);
    const std::int64_t width = std::max<std::int64_t>(1 << 14, 4 * limit), parts = (n + width - 1) / width;
    // What has more than this in its first 64 bits has `limit` keys before it.
    std::atomic<std::uint64_t> bound = ~std::uint64_t(0);
    std::vector<std::vector<Item>> kept(static_cast<std::size_t>(parts));
    const auto keep = [&](std::vector<Item>* items) {
        std::erase_if(*items, [most = bound.load()](const Item& one) { return one.hi > most; });
    };
    const std::int32_t status = run_parts(task, parts, true, loc, [&](Task* t, int, std::int64_t part) {
        const std::int64_t begin = part * width, count = std::min(width, n - begin);
        std::vector<Item> items(static_cast<std::size_t>(count));
        const auto fill = [&](std::int64_t lo, std::int64_t hi) {
            ordering.fill(items.data() - begin, lo, hi);
        };
        if (in_strips(t, begin, begin + count, loc, fill)) return kFailed;
        keep(&items);
        if (std::int64_t(items.size()) > limit) {
            std::vector<std::uint64_t> bits;
            for (const Item& one : items) bits.push_back(one.hi);
            std::uint64_t most;
            if (find_nth(t, bits.data(), std::int64_t(bits.size()), limit - 1, &most, loc)) return kFailed;
            for (std::uint64_t now = bound; most < now && !bound.compare_exchange_weak(now, most);) {}
            keep(&items);
            // Of those that are equal the first ones come first.
            std::int64_t equal = limit - std::count_if(items.begin(), items.end(),
                                                       [&](const Item& one) { return one.hi < most; });
            if (ordering.prefix_decides())
                std::erase_if(items, [&](const Item& one) { return one.hi == most && equal-- <= 0; });
        }
        kept[std::size_t(part)] = std::vector<Item>(items.begin(), items.end());
        return kOk;
    });
    if (status) return status;
    for (std::vector<Item>& items : kept) {
        keep(&items);
        for (const Item& one : items) found->push_back(one.lo);
    }
    return kOk;
}

std::int32_t gather(Task* task, char* out, const char* data, const std::uint64_t* order, std::int64_t n,
                    std::int64_t size, std::int32_t loc) {
    constexpr std::int64_t ahead = 32;
    auto copy = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
        return for_pieces(task, n, 1 << 14, loc, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) {
                __builtin_prefetch(data + std::int64_t(order[std::min(i + ahead, hi - 1)] * Size));
                std::memcpy(out + i * std::int64_t(Size), data + std::int64_t(order[i] * Size), Size);
            }
        });
    };
    switch (size) {
        case 0: return kOk;
        case 4: return copy(std::integral_constant<std::size_t, 4>());
        case 8: return copy(std::integral_constant<std::size_t, 8>());
        case 16: return copy(std::integral_constant<std::size_t, 16>());
    }
    return for_pieces(task, n, 1 << 14, loc, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i)
            std::memcpy(out + i * size, data + std::int64_t(order[i]) * size, std::size_t(size));
    });
}

}  // namespace weld::runtime
