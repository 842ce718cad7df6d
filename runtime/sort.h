// Merging: the parts of a stable merge sort that do not care what is sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weld::runtime {

/// Two sorted runs that lie one after the other.
template <class Item>
struct TwoRuns {
    const Item* items;
    std::int64_t first;  ///< length of the first run
    std::int64_t all;    ///< of both
};

/// How many of the first `k` items of the merged runs come from the first run.
template <class Item, class Less>
std::int64_t taken_from_first(const TwoRuns<Item>& runs, std::int64_t k, const Less& less) {
    const Item* a = runs.items;
    const Item* b = runs.items + runs.first;
    std::int64_t lo = std::max<std::int64_t>(0, k - (runs.all - runs.first)), hi = std::min(k, runs.first);
    while (lo < hi) {
        const std::int64_t mid = (lo + hi) / 2;
        if (less(b[k - mid - 1], a[mid])) hi = mid;
        else lo = mid + 1;
    }
    return lo;
}

/// A piece of merged runs: items [lo, hi), of which those in [first_lo, first_hi) come from the first run.
struct Piece {
    std::int64_t lo, hi, first_lo, first_hi;
};

/// Cuts the merged runs into pieces of `size` items. A comparison that contradicts itself may make borders
/// cross; they are moved so that every item still lies in one piece.
template <class Item, class Less>
void cut(const TwoRuns<Item>& runs, std::int64_t size, std::vector<Piece>* pieces, const Less& less) {
    Piece piece{0, 0, 0, 0};
    while (piece.hi < runs.all) {
        piece.lo = piece.hi;
        piece.first_lo = piece.first_hi;
        piece.hi = runs.all - piece.lo < 2 * size ? runs.all : piece.lo + size;
        piece.first_hi = std::clamp(taken_from_first(runs, piece.hi, less), piece.first_lo,
                                    std::min(runs.first, piece.first_lo + piece.hi - piece.lo));
        pieces->push_back(piece);
    }
}

/// Writes a piece of the merged runs to `out`, which has room for all.
template <class Item, class Less>
void merge_piece(const TwoRuns<Item>& runs, const Piece& piece, Item* out, const Less& less) {
    const Item* a = runs.items + piece.first_lo;
    const Item* a_end = runs.items + piece.first_hi;
    const Item* b = runs.items + runs.first + (piece.lo - piece.first_lo);
    const Item* b_end = runs.items + runs.first + (piece.hi - piece.first_hi);
    Item* to = out + piece.lo;
    while (a < a_end && b < b_end) {
        const bool second = less(*b, *a);  // no branch: it could not be predicted
        *to++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    std::copy(b, b_end, std::copy(a, a_end, to));
}

/// Items that are merged at a time.
constexpr std::int64_t kPieceItems = 1 << 15;

/// Merges two sorted runs to `out`, as long as `stops()`, which is asked now and then, is false.
template <class Item, class Less, class Stops>
void merge_two(const TwoRuns<Item>& runs, Item* out, const Less& less, const Stops& stops) {
    if (runs.all < 2 * kPieceItems) return merge_piece(runs, {0, runs.all, 0, runs.first}, out, less);
    std::vector<Piece> pieces;
    cut(runs, kPieceItems, &pieces, less);
    for (const Piece& piece : pieces) {
        if (stops()) return;
        merge_piece(runs, piece, out, less);
    }
}

/// Copies `n` items, as long as `stops()`, which is asked now and then, is false.
template <class Item, class Stops>
void copy_items(const Item* from, std::int64_t n, Item* to, const Stops& stops) {
    for (std::int64_t begin = 0; begin < n && !stops(); begin += kPieceItems)
        std::copy(from + begin, from + std::min(begin + kPieceItems, n), to + begin);
}

/// Sorts `n` items by merging in place of `items`, using `scratch`. Leaves some undone if `stops()`.
template <class Item, class Less, class Stops>
void sort_run(Item* items, Item* scratch, std::int64_t n, const Less& less, const Stops& stops) {
    constexpr std::int64_t few = 12;
    for (std::int64_t begin = 0; begin < n; begin += few) {
        if (stops()) return;
        for (std::int64_t i = begin + 1, end = std::min(begin + few, n); i < end; ++i) {
            const Item x = items[i];
            std::int64_t at = i;
            for (; at > begin && less(x, items[at - 1]); --at) items[at] = items[at - 1];
            items[at] = x;
        }
    }
    Item* from = items;
    Item* to = scratch;
    for (std::int64_t width = few; width < n; width *= 2, std::swap(from, to))
        for (std::int64_t begin = 0; begin < n; begin += 2 * width) {
            if (stops()) return;
            const std::int64_t size = std::min(2 * width, n - begin), first = std::min(width, size);
            const TwoRuns<Item> runs{from + begin, first, size};
            if (first == size || !less(from[begin + first], from[begin + first - 1]))
                copy_items(from + begin, size, to + begin, stops);
            else merge_two(runs, to + begin, less, stops);
        }
    if (from != items) copy_items(from, n, items, stops);
}

}  // namespace weld::runtime
