// The order of keys: 64 bits per key that compare as the keys do, sorted by digits; the rest of a key is
// looked at only where those bits are equal. A stable order is unique, so it may be found in any way and on
// any threads.
#include "runtime/order.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/hash_table.h"
#include "runtime/keys.h"
#include "runtime/merge.h"
#include "runtime/parallel.h"
#include "runtime/sort.h"

namespace weld::runtime {

namespace {

struct Item {
    std::uint64_t prefix;
    std::uint64_t number;
};

/// Bits of a value, the most significant ones first, that compare as unsigned numbers as the values do.
template <class T>
std::uint64_t ordered_bits(T x) {
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
        : key_(key), keys_(keys), stride_(stride), prefix_decides_(key_width(key) <= 64) {}

    bool operator()(const Item& a, const Item& b) const {
        if (a.prefix != b.prefix) return a.prefix < b.prefix;
        return !prefix_decides_ && whole_less(a, b);
    }

    void fill(Item* items, std::int64_t from, std::int64_t to) const;
    void sort(Item* items, Item* scratch, std::int64_t n) const;

  private:
    bool whole_less(const Item& a, const Item& b) const {
        return compare_totally(key_, keys_ + std::int64_t(a.number) * stride_,
                               keys_ + std::int64_t(b.number) * stride_) < 0;
    }
    void settle_ties(Item* items, Item* scratch, std::int64_t n) const;

    const WeldType* key_;
    const char* keys_;
    std::int64_t stride_;
    bool prefix_decides_;
};

void Ordering::fill(Item* items, std::int64_t from, std::int64_t to) const {
    if (is_scalar(key_) && key_->kind != kWeldBool) {
        with_scalar(key_->kind, [&]<class T>(T) {
            for (std::int64_t i = from; i < to; ++i)
                items[i] = {ordered_bits(load<T>(keys_ + i * stride_)), std::uint64_t(i)};
        });
        return;
    }
    for (std::int64_t i = from; i < to; ++i) {
        Prefix prefix;
        prefix.add(key_, keys_ + i * stride_);
        items[i] = {prefix.bits, std::uint64_t(i)};
    }
}

/// Sorts by `width` bits of the prefix from bit `shift`, from `from` to `to`.
void sort_by_digit(const Item* from, Item* to, std::int64_t n, int shift, int width) {
    std::int64_t place[1 << 11] = {};
    const std::uint64_t mask = (std::uint64_t(1) << width) - 1;
    for (std::int64_t i = 0; i < n; ++i) ++place[from[i].prefix >> shift & mask];
    std::int64_t sum = 0;
    for (std::uint64_t d = 0; d <= mask; ++d) sum += std::exchange(place[d], sum);
    for (std::int64_t i = 0; i < n; ++i) to[place[from[i].prefix >> shift & mask]++] = from[i];
}

/// Sorts by prefix, looking only at the bits that differ.
void sort_by_prefix(Item* items, Item* scratch, std::int64_t n) {
    std::uint64_t differ = 0;
    bool sorted = true;
    for (std::int64_t i = 1; i < n; ++i) {
        differ |= items[i].prefix ^ items[0].prefix;
        sorted &= items[i - 1].prefix <= items[i].prefix;
    }
    if (sorted) return;
    const int low = std::countr_zero(differ), high = 64 - std::countl_zero(differ);
    const int widest = n < 1 << 14 ? 8 : 11;
    const int digits = (high - low + widest - 1) / widest, width = (high - low + digits - 1) / digits;
    Item* from = items;
    Item* to = scratch;
    for (int d = 0; d < digits; ++d, std::swap(from, to)) {
        const int shift = low + d * width;
        sort_by_digit(from, to, n, shift, std::min(width, 64 - shift));
    }
    if (from != items) std::copy(from, from + n, items);
}

void Ordering::settle_ties(Item* items, Item* scratch, std::int64_t n) const {
    for (std::int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && items[end].prefix == items[begin].prefix;) ++end;
        if (end - begin < 2) continue;
        sort_run(items + begin, scratch + begin, end - begin,
                 [this](const Item& a, const Item& b) { return whole_less(a, b); });
    }
}

void Ordering::sort(Item* items, Item* scratch, std::int64_t n) const {
    constexpr std::int64_t few = 100;
    if (n <= few) return sort_run(items, scratch, n, *this);
    sort_by_prefix(items, scratch, n);
    if (!prefix_decides_) settle_ties(items, scratch, n);
}

/// Merges the sorted runs of `width` items, in parallel; the two may be exchanged.
void merge_all(Task* task, const Ordering& ordering, std::int64_t n, std::int64_t width, Item** items,
               Item** scratch) {
    constexpr std::int64_t piece_size = 1 << 15;
    for (; width < n; width *= 2, std::swap(*items, *scratch)) {
        std::vector<Piece> pieces;
        std::vector<std::int64_t> begins;
        auto runs_at = [&](std::int64_t begin) {
            return TwoRuns<Item>{*items + begin, std::min(width, n - begin), std::min(2 * width, n - begin)};
        };
        for (std::int64_t begin = 0; begin < n; begin += 2 * width) {
            cut(runs_at(begin), piece_size, &pieces, ordering);
            begins.resize(pieces.size(), begin);
        }
        run_all(task, std::int64_t(pieces.size()), [&](Task*, std::int64_t i) {
            const std::int64_t begin = begins[std::size_t(i)];
            merge_piece(runs_at(begin), pieces[std::size_t(i)], *scratch + begin, ordering);
        });
    }
}

}  // namespace

std::uint64_t* stable_order(Task* task, const WeldType* key, const char* keys, std::int64_t stride,
                            std::int64_t n, std::int32_t loc) {
    constexpr std::int64_t least_run = 1 << 16;
    Item* items = allocate_array<Item>(task, n, loc);
    Item* scratch = items ? allocate_array<Item>(task, n, loc) : nullptr;
    if (!scratch) return nullptr;
    const Ordering ordering(key, keys, stride);
    const std::int64_t runs =
        std::min<std::int64_t>(std::max<std::int64_t>(1, n / least_run), workers_for(task, INT64_MAX, true));
    const std::int64_t width = (n + runs - 1) / runs;
    const std::int32_t status =
        run_parts(task, (n + width - 1) / width, true, loc, [&](Task*, int, std::int64_t run) {
            const std::int64_t begin = run * width, end = std::min(begin + width, n);
            ordering.fill(items, begin, end);
            ordering.sort(items + begin, scratch + begin, end - begin);
            return kOk;
        });
    if (status) return nullptr;
    merge_all(task, ordering, n, width, &items, &scratch);
    std::uint64_t* order = reinterpret_cast<std::uint64_t*>(scratch);
    for_pieces(task, n, 1 << 16, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) order[i] = items[i].number;
    });
    release(task, items);
    return order;
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

std::uint64_t* order_of_entries(Task* task, const WeldDict* d, const WeldType* key, std::int32_t loc) {
    return stable_order(task, key, d->entries, d->stride, d->count, loc);
}

}  // namespace weld::runtime
