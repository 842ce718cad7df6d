// The order of keys: sorted by a word of each key with the number of the key behind it, then those whose
// words are equal by their next words (key_words.h). A stable order is unique, so it may be found in any way
// and on any threads. Runs are sorted by Highway's vectorised quicksort, then merged.
#include "runtime/order.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include "runtime/ahead.h"
#include "runtime/counting_sort.h"
#include "runtime/key_words.h"
#include "runtime/merge.h"
#include "runtime/parallel.h"
#include "runtime/sort.h"
#include "runtime/vector_sort.h"

namespace weld::runtime {

namespace {

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

/// Whether there are floats whose order does not tell which they are: -0.0, which equals 0.0, or NaNs.
/// Status.
template <class T>
std::int32_t find_ambiguous(Task* task, const T* in, std::int64_t n, bool* any_found, std::int32_t loc) {
    using Bits = decltype(key_bits(T()));
    constexpr Bits sign = Bits(1) << (sizeof(T) * 8 - 1);
    constexpr Bits infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    std::atomic<bool> found = false;
    const auto look = [&](std::int64_t lo, std::int64_t hi) {
        Bits any = 0;
        for (std::int64_t i = lo; i < hi; ++i) {  // no comparisons: vectors of 16 bytes have few
            const Bits bits = std::bit_cast<Bits>(in[i]), other_sign = bits ^ sign;
            const Bits is_minus_zero = (other_sign - 1) & ~other_sign;  // in the highest bit
            any |= is_minus_zero | (infinity - (bits & ~sign));
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

/// Sorts floats by bits that are in the order of their values.
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
    return restore_ambiguous(task, in, out, n, loc) ? nullptr : out;
}

/// Sorts scalars by themselves. Null after recording the failure.
template <class T>
T* sorted_scalars(Task* task, const T* in, std::int64_t n, std::int32_t loc) {
    if constexpr (sizeof(T) == 1) return sorted_by_counting(task, in, n, loc);
    if constexpr (sizeof(T) == 2)
        if (n >= kWorthCounting) return sorted_by_counting(task, in, n, loc);
    if constexpr (std::is_floating_point_v<T>) {
        bool ambiguous;
        if (find_ambiguous(task, in, n, &ambiguous, loc)) return nullptr;
        if (ambiguous) return sorted_by_bits(task, in, n, loc);
    }
    const auto at = [=](std::int64_t i) {
        __builtin_prefetch(in + i + kBytesAhead / std::int64_t(sizeof(T)));
        return in[i];
    };
    return sorted_numbers<T>(task, n, at, loc);
}

bool less_item(const Item& a, const Item& b) { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; }

/// Keys [begin, end) of those in order so far, whose words before `place` are equal.
struct Tie {
    std::int64_t begin, end;
    WordPlace place;
    std::int64_t size() const { return end - begin; }
};

/// Puts items that hold the numbers of keys in the order of these. `scratch` has room for as many items.
class KeyOrder {
  public:
    KeyOrder(Task* task, const WeldType* key, const char* keys, std::int64_t stride, std::int32_t loc)
        : task_(task), key_(key), keys_(keys), stride_(stride), loc_(loc), words_(key, keys, stride) {}

    const KeyWords& words() const { return words_; }
    /// The first place at which the words of the `n` keys may differ. Status.
    std::int32_t find_place(std::int64_t n, WordPlace* place) const {
        return words_.skip_shared(task_, n, place, loc_, [](std::int64_t i) { return i; });
    }
    /// Sorts items with the words at `place`. The two arrays may be exchanged. Status.
    std::int32_t sort(Item** items, Item** scratch, std::int64_t n, WordPlace place) const;

  private:
    static constexpr std::int64_t kLarge = 1 << 16;  ///< ties that all workers settle, one after the other
    static constexpr std::int64_t kPart = 1 << 15;   ///< items whose ties one worker settles

    std::int32_t sort_by_words(Item** items, Item** scratch, std::int64_t n) const;
    std::int32_t sort_by_keys(Item** items, Item** scratch, std::int64_t n) const;
    std::int32_t settle_ties(Item* items, Item* scratch, const Tie& of, std::vector<Tie>* large) const;
    std::int32_t settle_large(Item* items, Item* scratch, Tie tie, std::vector<Tie>* large) const;
    std::int32_t settle(Task* task, Item* items, Item* scratch, const Tie& tie) const;
    template <class F>
    std::int32_t each_tie(const Item* items, const Tie& of, const F& f) const;

    bool less_key(const Item& a, const Item& b) const {
        return compare_totally(task_, key_, keys_ + std::int64_t(a.lo) * stride_,
                               keys_ + std::int64_t(b.lo) * stride_) < 0;
    }
    static std::int64_t end_of_equal(const Item* items, std::int64_t begin, std::int64_t end) {
        const auto less = [](std::uint64_t word, const Item& i) { return word < i.hi; };
        return std::upper_bound(items + begin, items + end, std::uint64_t(items[begin].hi), less) - items;
    }
    static bool all_equal(const Item* items, std::int64_t n) {
        return std::all_of(items, items + n, [=](const Item& i) { return i.hi == items->hi; });
    }

    Task* task_;
    const WeldType* key_;
    const char* keys_;
    std::int64_t stride_;
    std::int32_t loc_;
    KeyWords words_;
};

std::int32_t KeyOrder::sort_by_words(Item** items, Item** scratch, std::int64_t n) const {
    const std::int64_t width = run_length(task_, n);
    const bool copied = width > kAtOnceBytes / std::int64_t(sizeof(Item));
    if (copied) std::swap(*items, *scratch);
    const auto sort_one = [&, to = *items, from = *scratch](Task* t, int, std::int64_t run) {
        const std::int64_t begin = run * width, end = std::min(begin + width, n);
        if (!copied) return stoppable_sort(t, to + begin, end - begin, loc_);
        const auto at = [=](std::int64_t i) {
            __builtin_prefetch(from + i + kBytesAhead / std::int64_t(sizeof(Item)));
            return from[i];
        };
        return sort_copies(t, to + begin, begin, end, at, loc_);
    };
    if (run_parts(task_, (n + width - 1) / width, true, loc_, sort_one)) return kFailed;
    return merge_all(task_, less_item, n, width, items, scratch, loc_);
}

std::int32_t KeyOrder::sort_by_keys(Item** items, Item** scratch, std::int64_t n) const {
    const std::int64_t width = run_length(task_, n);
    const auto less = [this](const Item& a, const Item& b) { return less_key(a, b); };
    const auto sort_one = [&](Task* t, int, std::int64_t run) {
        const std::int64_t begin = run * width, count = std::min(width, n - begin);
        sort_run(*items + begin, *scratch + begin, count, less, [=] { return t->should_stop(); });
        return t->check_stop(loc_);
    };
    if (run_parts(task_, (n + width - 1) / width, true, loc_, sort_one)) return kFailed;
    return merge_all(task_, less, n, width, items, scratch, loc_);
}

/// Calls f(tie), which gives a status, for the ties among items that are sorted by their words at `of.place`.
template <class F>
std::int32_t KeyOrder::each_tie(const Item* items, const Tie& of, const F& f) const {
    constexpr std::int64_t few = 64;
    for (std::int64_t begin = of.begin, end; begin < of.end; begin = end) {
        const std::uint64_t word = items[begin].hi;
        end = begin + 1;
        while (end < of.end && items[end].hi == word && end - begin < few) ++end;
        if (end - begin == few) end = end_of_equal(items, begin, of.end);
        if (end - begin == 1) continue;
        const WordPlace next = words_.after(of.place, word);
        if (!words_.is_end(next) && f(Tie{begin, end, next})) return kFailed;
    }
    return kOk;
}

/// Settles a tie on one worker. Status.
std::int32_t KeyOrder::settle(Task* task, Item* items, Item* scratch, const Tie& tie) const {
    const auto less = [this](const Item& a, const Item& b) { return less_key(a, b); };
    std::vector<Tie> waiting{tie};
    const auto wait = [&](const Tie& t) { return waiting.push_back(t), kOk; };
    while (!waiting.empty()) {
        Tie now = waiting.back();
        waiting.pop_back();
        if (task->check_stop(loc_)) return kFailed;
        Item* const mine = items + now.begin;
        const auto number = [=](std::int64_t i) { return mine[i].lo; };
        if (words_.is_compared(now.place)) {
            sort_run(mine, scratch + now.begin, now.size(), less, [=] { return task->should_stop(); });
            continue;
        }
        if (words_.skip_shared(task, now.size(), &now.place, loc_, number)) return kFailed;
        words_.read(mine, now.size(), now.place);
        if (!all_equal(mine, now.size()) && stoppable_sort(task, mine, now.size(), loc_)) return kFailed;
        if (each_tie(items, now, wait)) return kFailed;
    }
    return task->check_stop(loc_);
}

/// Settles the ties among items that are sorted by their words at `of.place`, but for large ones. Status.
std::int32_t KeyOrder::settle_ties(Item* items, Item* scratch, const Tie& of, std::vector<Tie>* large) const {
    std::vector<std::int64_t> begins;  // of parts, where no tie is cut; known before workers change words
    for (std::int64_t at = of.begin; at < of.end; at += kPart) {
        const bool cuts = at > of.begin && items[at].hi == items[at - 1].hi;
        begins.push_back(cuts ? end_of_equal(items, at, of.end) : at);
    }
    begins.push_back(of.end);
    std::mutex mutex;
    const auto settle_part = [&](Task* t, int, std::int64_t part) {
        const Tie mine{begins[std::size_t(part)], begins[std::size_t(part) + 1], of.place};
        return each_tie(items, mine, [&](const Tie& tie) {
            if (tie.size() <= kLarge) return settle(t, items, scratch, tie);
            const std::lock_guard lock(mutex);
            large->push_back(tie);
            return kOk;
        });
    };
    return run_parts(task_, std::int64_t(begins.size()) - 1, true, loc_, settle_part);
}

/// Settles a tie on all workers, but for large ties in it. Status.
std::int32_t KeyOrder::settle_large(Item* items, Item* scratch, Tie tie, std::vector<Tie>* large) const {
    const std::int64_t n = tie.size();
    Item* mine = items + tie.begin;
    Item* spare = scratch + tie.begin;
    const bool by_keys = words_.is_compared(tie.place);
    if (by_keys) {
        if (sort_by_keys(&mine, &spare, n)) return kFailed;
    } else {
        const auto number = [=](std::int64_t i) { return mine[i].lo; };
        if (words_.skip_shared(task_, n, &tie.place, loc_, number)) return kFailed;
        const auto read = [&](std::int64_t lo, std::int64_t hi) {
            words_.read(mine + lo, hi - lo, tie.place);
        };
        if (for_pieces(task_, n, kStrip, loc_, read)) return kFailed;
        if (!all_equal(mine, n) && sort_by_words(&mine, &spare, n)) return kFailed;
    }
    if (mine != items + tie.begin) {
        const auto copy_back = [&](std::int64_t lo, std::int64_t hi) {
            std::copy(mine + lo, mine + hi, spare + lo);
        };
        if (for_pieces(task_, n, kStrip, loc_, copy_back)) return kFailed;
    }
    return by_keys ? kOk : settle_ties(items, scratch, tie, large);
}

std::int32_t KeyOrder::sort(Item** items, Item** scratch, std::int64_t n, WordPlace place) const {
    if (sort_by_words(items, scratch, n)) return kFailed;
    if (words_.one_word()) return kOk;
    std::vector<Tie> large;
    if (settle_ties(*items, *scratch, {0, n, place}, &large)) return kFailed;
    while (!large.empty()) {
        const Tie tie = large.back();
        large.pop_back();
        if (settle_large(*items, *scratch, tie, &large)) return kFailed;
    }
    return kOk;
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
    const KeyOrder key_order(task, key, keys, stride, loc);
    const KeyWords& key_words = key_order.words();
    WordPlace place;
    if (key_order.find_place(n, &place)) return nullptr;
    std::mutex mutex;
    std::uint64_t least = ~std::uint64_t(0), greatest = 0;
    const auto fill = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) items[i].lo = std::uint64_t(i);
        key_words.read(items + begin, end - begin, place);
        const auto [low, high] = std::minmax_element(
            items + begin, items + end, [](const Item& a, const Item& b) { return a.hi < b.hi; });
        const std::lock_guard lock(mutex);
        least = std::min<std::uint64_t>(least, low->hi);
        greatest = std::max<std::uint64_t>(greatest, high->hi);
    };
    if (for_pieces(task, n, 1 << 16, loc, fill)) return nullptr;
    const int number_bits = std::bit_width(std::uint64_t(n - 1));
    if (key_words.one_word() && std::bit_width(greatest - least) + number_bits <= 64) {
        // A word and the number fit one, which sorts faster.
        std::uint64_t* words = reinterpret_cast<std::uint64_t*>(scratch);
        std::uint64_t* others = words + n;
        const std::int64_t width = run_length(task, n), runs = (n + width - 1) / width;
        const auto sort_one = [&](Task* t, int, std::int64_t run) {
            const std::int64_t begin = run * width, end = std::min(begin + width, n);
            const auto word = [=](std::int64_t i) {
                __builtin_prefetch(items + i + kBytesAhead / std::int64_t(sizeof(Item)));
                return (items[i].hi - least) << number_bits | items[i].lo;
            };
            return sort_copies(t, words + begin, begin, end, word, loc);
        };
        if (run_parts(task, runs, true, loc, sort_one) ||
            merge_all(task, std::less<std::uint64_t>(), n, width, &words, &others, loc))
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
    if (key_order.sort(&items, &scratch, n, place)) return nullptr;
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
    const KeyOrder key_order(task, key, keys, stride, loc);
    const KeyWords& key_words = key_order.words();
    WordPlace place;
    if (key_order.find_place(n, &place)) return kFailed;
    const std::int64_t width = std::max<std::int64_t>(1 << 14, 4 * limit), parts = (n + width - 1) / width;
    // A key whose word is above this has `limit` keys before it.
    std::atomic<std::uint64_t> bound = ~std::uint64_t(0);
    std::vector<std::vector<Item>> kept(static_cast<std::size_t>(parts));
    const auto keep = [&](std::vector<Item>* items) {
        std::erase_if(*items, [most = bound.load()](const Item& one) { return one.hi > most; });
    };
    const std::int32_t status = run_parts(task, parts, true, loc, [&](Task* t, int, std::int64_t part) {
        const std::int64_t begin = part * width, count = std::min(width, n - begin);
        std::vector<Item> items(static_cast<std::size_t>(count));
        const auto fill = [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) items[std::size_t(i)].lo = std::uint64_t(begin + i);
            key_words.read(items.data() + lo, hi - lo, place);
        };
        if (in_strips(t, 0, count, loc, fill)) return kFailed;
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
            if (key_words.one_word())
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
                    std::int64_t size, std::int64_t stride, std::int32_t loc) {
    constexpr std::int64_t ahead = 32;
    // Sizes that the compiler knows.
    const auto copy = [&](auto bytes, auto step) {
        const auto at = [=](std::uint64_t i) { return data + std::int64_t(i) * step; };
        return for_pieces(task, n, 1 << 14, loc, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) {
                __builtin_prefetch(at(order[std::min(i + ahead, hi - 1)]));
                std::memcpy(out + i * bytes, at(order[i]), std::size_t(bytes));
            }
        });
    };
    const auto one_by_one = [&]<std::int64_t Size>(std::integral_constant<std::int64_t, Size> known) {
        return copy(known, known);
    };
    if (size == stride) switch (size) {
            case 0: return kOk;
            case 4: return one_by_one(std::integral_constant<std::int64_t, 4>());
            case 8: return one_by_one(std::integral_constant<std::int64_t, 8>());
            case 16: return one_by_one(std::integral_constant<std::int64_t, 16>());
        }
    return copy(size, stride);
}

}  // namespace weld::runtime
