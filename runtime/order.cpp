// The order of keys: 64 bits per key that compare as the keys do, sorted with the number of the key behind
// them; the rest of a key is looked at only where those bits are equal. A stable order is unique, so it may
// be found in any way and on any threads. Runs are sorted by Highway's vectorised quicksort, then merged.
#include "runtime/order.h"

#include <dlfcn.h>
#include <hwy/contrib/sort/vqsort.h>

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

namespace weld::runtime {

namespace {

/// The first 64 bits of a key (hi) and its number (lo).
using Item = hwy::uint128_t;

/// The name of `hwy::Sorter::operator()(T*, std::size_t, hwy::SortAscending) const`.
template <class T>
constexpr const char* kSorter = nullptr;
template <>
constexpr const char* kSorter<std::uint16_t> = "_ZNK3hwy6SorterclEPtmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::uint32_t> = "_ZNK3hwy6SorterclEPjmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::uint64_t> = "_ZNK3hwy6SorterclEPmmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::int16_t> = "_ZNK3hwy6SorterclEPsmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::int32_t> = "_ZNK3hwy6SorterclEPimNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::int64_t> = "_ZNK3hwy6SorterclEPlmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<float> = "_ZNK3hwy6SorterclEPfmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<double> = "_ZNK3hwy6SorterclEPdmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<Item> = "_ZNK3hwy6SorterclEPNS_9uint128_tEmNS_13SortAscendingE";

void* find_sorter(const char* name) {
    static void* const library = ::dlopen("libhwy_contrib.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? ::dlsym(library, name) : nullptr;
}

/// Sorts with Highway. That is loaded when there is enough to sort: it measures the clock for 3 ms then.
template <class T>
void vector_sort(T* data, std::int64_t n) {
    constexpr std::int64_t few = 100, worth_loading = 50'000;
    static std::atomic<std::int64_t> sorted = 0;  // elements until now
    if (n <= few || sorted.fetch_add(n, std::memory_order_relaxed) < worth_loading - n)
        return std::sort(data, data + n);
    using Sorter = void (*)(const void* self, T*, std::size_t, hwy::SortAscending);
    static const void* const self =
        nullptr;  // a Sorter consists of a pointer to memory that it does not need
    static const auto sort = reinterpret_cast<Sorter>(find_sorter(kSorter<T>));
    if (sort) return sort(&self, data, std::size_t(n), {});
    std::sort(data, data + n);
}

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
    Ordering(const WeldType* key, const char* keys, std::int64_t stride)
        : key_(key), keys_(keys), stride_(stride), width_(key_width(key)) {}

    bool operator()(const Item& a, const Item& b) const {
        if (a.hi != b.hi) return a.hi < b.hi;
        return !prefix_decides() && whole_less(a, b);
    }
    bool prefix_decides() const { return width_ <= 64; }

    void fill(Item* items, std::int64_t from, std::int64_t to) const;
    void sort(Item* items, Item* scratch, std::int64_t n) const;

  private:
    bool whole_less(const Item& a, const Item& b) const {
        return compare_totally(key_, keys_ + std::int64_t(a.lo) * stride_,
                               keys_ + std::int64_t(b.lo) * stride_) < 0;
    }
    void settle_ties(Item* items, Item* scratch, std::int64_t n) const;

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

void Ordering::settle_ties(Item* items, Item* scratch, std::int64_t n) const {
    for (std::int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && items[end].hi == items[begin].hi;) ++end;
        if (end - begin < 2) continue;
        sort_run(items + begin, scratch + begin, end - begin,
                 [this](const Item& a, const Item& b) { return whole_less(a, b); });
    }
}

void Ordering::sort(Item* items, Item* scratch, std::int64_t n) const {
    constexpr std::int64_t few = 100;
    if (n <= few) return sort_run(items, scratch, n, *this);
    vector_sort(items, n);
    if (!prefix_decides()) settle_ties(items, scratch, n);
}

/// The length of the runs that are sorted by themselves: about one run for each worker.
std::int64_t run_length(Task* task, std::int64_t n) {
    constexpr std::int64_t least = 1 << 16;
    const std::int64_t runs =
        std::min<std::int64_t>(std::max<std::int64_t>(1, n / least), workers_for(task, INT64_MAX, true));
    return (n + runs - 1) / runs;
}

/// Merges the sorted runs of `width` items, in parallel; the two may be exchanged.
template <class T, class Less>
void merge_all(Task* task, const Less& less, std::int64_t n, std::int64_t width, T** items, T** scratch) {
    constexpr std::int64_t piece_size = 1 << 15;
    for (; width < n; width *= 2, std::swap(*items, *scratch)) {
        std::vector<Piece> pieces;
        std::vector<std::int64_t> begins;
        auto runs_at = [&](std::int64_t begin) {
            return TwoRuns<T>{*items + begin, std::min(width, n - begin), std::min(2 * width, n - begin)};
        };
        for (std::int64_t begin = 0; begin < n; begin += 2 * width) {
            cut(runs_at(begin), piece_size, &pieces, less);
            begins.resize(pieces.size(), begin);
        }
        run_all(task, std::int64_t(pieces.size()), [&](Task*, std::int64_t i) {
            const std::int64_t begin = begins[std::size_t(i)];
            merge_piece(runs_at(begin), pieces[std::size_t(i)], *scratch + begin, less);
        });
    }
}

/// Sorts numbers of one byte by counting them.
void sort_numbers(std::uint8_t* data, std::int64_t n) {
    std::array<std::int64_t, 256> counts = {};
    for (std::int64_t i = 0; i < n; ++i) ++counts[data[i]];
    for (unsigned b = 0; b < 256; ++b) data = std::fill_n(data, counts[b], std::uint8_t(b));
}

template <class T>
void sort_numbers(T* data, std::int64_t n) {
    vector_sort(data, n);
}

/// The numbers at(0) ... at(n - 1), sorted. Null after recording the failure.
template <class T, class At>
T* sorted_numbers(Task* task, std::int64_t n, const At& at, std::int32_t loc) {
    const std::int64_t width = run_length(task, n);
    T* numbers = allocate_array<T>(task, n, loc);
    T* scratch = numbers && width < n ? allocate_array<T>(task, n, loc) : nullptr;
    if (!numbers || (width < n && !scratch)) return nullptr;
    const std::int32_t status =
        run_parts(task, (n + width - 1) / width, true, loc, [&](Task*, int, std::int64_t run) {
            const std::int64_t begin = run * width, end = std::min(begin + width, n);
            for (std::int64_t i = begin; i < end; ++i) numbers[i] = at(i);
            sort_numbers(numbers + begin, end - begin);
            return kOk;
        });
    if (status) return nullptr;
    merge_all(task, std::less<T>(), n, width, &numbers, &scratch);
    if (scratch) release(task, scratch);
    return numbers;
}

/// There are floats whose order does not tell which they are: -0.0, which equals 0.0, or NaNs.
template <class T>
bool any_ambiguous(Task* task, const T* in, std::int64_t n) {
    using Bits = decltype(key_bits(T()));
    const Bits minus_zero = std::bit_cast<Bits>(T(-0.0));
    std::atomic<bool> found = false;
    for_pieces(task, n, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
        bool any = false;
        for (std::int64_t i = lo; i < hi; ++i)
            any |= (in[i] != in[i]) | (std::bit_cast<Bits>(in[i]) == minus_zero);
        if (any) found = true;
    });
    return found;
}

/// Puts the zeros and NaNs of `in` where `sorted` has zeros and NaNs, in the order of `in`.
template <class T>
void restore_ambiguous(const T* in, T* sorted, std::int64_t n) {
    T* zero = std::partition_point(sorted, sorted + n, [](T x) { return x < 0; });
    T* nan = std::partition_point(zero, sorted + n, [](T x) { return x == x; });
    for (std::int64_t i = 0; i < n; ++i)
        if (in[i] != in[i]) *nan++ = in[i];
        else if (in[i] == 0) *zero++ = in[i];
}

/// Sorts scalars by bits that are in the order of their values.
template <class T>
T* sorted_by_bits(Task* task, const T* in, std::int64_t n, std::int32_t loc) {
    using Bits = decltype(ordered_bits(T()));
    Bits* bits = sorted_numbers<Bits>(task, n, [&](std::int64_t i) { return ordered_bits(in[i]); }, loc);
    if (!bits) return nullptr;
    T* out = reinterpret_cast<T*>(bits);
    for_pieces(task, n, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) {
            const T x = from_ordered_bits<T>(load<Bits>(bits + i));
            std::memcpy(out + i, &x, sizeof x);
        }
    });
    if constexpr (std::is_floating_point_v<T>) restore_ambiguous(in, out, n);
    return out;
}

/// Sorts scalars by themselves. Null after recording the failure.
template <class T>
T* sorted_scalars(Task* task, const T* in, std::int64_t n, std::int32_t loc) {
    if constexpr (sizeof(T) == 1) return sorted_by_bits(task, in, n, loc);
    if constexpr (std::is_floating_point_v<T>)
        if (any_ambiguous(task, in, n)) return sorted_by_bits(task, in, n, loc);
    return sorted_numbers<T>(task, n, [&](std::int64_t i) { return in[i]; }, loc);
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
    const Ordering ordering(key, keys, stride);
    const std::int64_t width = run_length(task, n), runs = (n + width - 1) / width;
    std::mutex mutex;
    std::uint64_t least = ~std::uint64_t(0), greatest = 0;
    std::int32_t status = run_parts(task, runs, true, loc, [&](Task*, int, std::int64_t run) {
        const std::int64_t begin = run * width, end = std::min(begin + width, n);
        ordering.fill(items, begin, end);
        const auto [low, high] = std::minmax_element(
            items + begin, items + end, [](const Item& a, const Item& b) { return a.hi < b.hi; });
        const std::lock_guard lock(mutex);
        least = std::min<std::uint64_t>(least, low->hi);
        greatest = std::max<std::uint64_t>(greatest, high->hi);
        return kOk;
    });
    if (status) return nullptr;
    const int number_bits = std::bit_width(std::uint64_t(n - 1));
    if (ordering.prefix_decides() && std::bit_width(greatest - least) + number_bits <= 64) {
        // A prefix and the number fit one word, which sorts faster.
        std::uint64_t* words = reinterpret_cast<std::uint64_t*>(scratch);
        std::uint64_t* others = words + n;
        status = run_parts(task, runs, true, loc, [&](Task*, int, std::int64_t run) {
            const std::int64_t begin = run * width, end = std::min(begin + width, n);
            for (std::int64_t i = begin; i < end; ++i)
                words[i] = (items[i].hi - least) << number_bits | items[i].lo;
            vector_sort(words + begin, end - begin);
            return kOk;
        });
        if (status) return nullptr;
        merge_all(task, std::less<std::uint64_t>(), n, width, &words, &others);
        const std::uint64_t mask = (std::uint64_t(1) << number_bits) - 1;
        std::uint64_t* order = reinterpret_cast<std::uint64_t*>(items);
        for_pieces(task, n, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) order[i] = words[i] & mask;
        });
        release(task, scratch);
        return order;
    }
    status = run_parts(task, runs, true, loc, [&](Task*, int, std::int64_t run) {
        const std::int64_t begin = run * width, end = std::min(begin + width, n);
        ordering.sort(items + begin, scratch + begin, end - begin);
        return kOk;
    });
    if (status) return nullptr;
    merge_all(task, ordering, n, width, &items, &scratch);
    std::uint64_t* order = reinterpret_cast<std::uint64_t*>(scratch);
    for_pieces(task, n, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) order[i] = items[i].lo;
    });
    release(task, items);
    return order;
}

std::int32_t find_first(Task* task, const WeldType* key, const char* keys, std::int64_t stride,
                        std::int64_t n, std::int64_t limit, std::vector<std::uint64_t>* found,
                        std::int32_t loc) {
    const Ordering ordering(key, keys, stride);
    const std::int64_t width = std::max<std::int64_t>(1 << 14, 4 * limit), parts = (n + width - 1) / width;
    // What has more than this in its first 64 bits has `limit` keys before it.
    std::atomic<std::uint64_t> bound = ~std::uint64_t(0);
    std::vector<std::vector<Item>> kept(static_cast<std::size_t>(parts));
    const auto keep = [&](std::vector<Item>* items) {
        std::erase_if(*items, [most = bound.load()](const Item& one) { return one.hi > most; });
    };
    const std::int32_t status = run_parts(task, parts, true, loc, [&](Task*, int, std::int64_t part) {
        const std::int64_t begin = part * width, count = std::min(width, n - begin);
        std::vector<Item> items(static_cast<std::size_t>(count));
        ordering.fill(items.data() - begin, begin, begin + count);
        keep(&items);
        if (std::int64_t(items.size()) > limit) {
            std::vector<std::uint64_t> bits;
            for (const Item& one : items) bits.push_back(one.hi);
            std::nth_element(bits.begin(), bits.begin() + (limit - 1), bits.end());
            const std::uint64_t most = bits[std::size_t(limit - 1)];
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

void gather(Task* task, char* out, const char* data, const std::uint64_t* order, std::int64_t n,
            std::int64_t size) {
    auto copy = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
        for_pieces(task, n, 1 << 14, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i)
                std::memcpy(out + i * std::int64_t(Size), data + std::int64_t(order[i] * Size), Size);
        });
    };
    switch (size) {
        case 0: return;
        case 4: return copy(std::integral_constant<std::size_t, 4>());
        case 8: return copy(std::integral_constant<std::size_t, 8>());
        case 16: return copy(std::integral_constant<std::size_t, 16>());
    }
    for_pieces(task, n, 1 << 14, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i)
            std::memcpy(out + i * size, data + std::int64_t(order[i]) * size, std::size_t(size));
    });
}

}  // namespace weld::runtime
