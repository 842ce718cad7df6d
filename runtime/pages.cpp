// The heap of pages: spans of granules for small pages, mappings for large ones, and the map from addresses
// to both.
#include "runtime/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/owners.h"
#include "runtime/poison.h"
#include "weldir/support/round_up.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kGranules = kSpanBytes / kGranule;
constexpr std::int64_t kWords = kGranules / 64;
constexpr std::int64_t kLargestRun = 1 << 20;  // bytes; more gets a mapping
constexpr int kSpanBits = 21, kLeafBits = 14, kRootBits = 13;
constexpr int kFirstGranules = 64;             // of the first span
constexpr std::int64_t kMostMore = 512 << 10;  // bytes, for a last huge page
constexpr int kEmptySpans = 4;                 // that we keep though a run did without them
constexpr std::uint32_t kRunsToWait = 8;       // after which a waiting mapping goes
constexpr std::int64_t kColors = 32, kColorBytes = 128;
/// Sizes of mappings are multiples of this: aarch64 has machines with pages of 64 KiB.
const std::int64_t kMappedGranule = std::max(kGranule, std::int64_t(::sysconf(_SC_PAGESIZE)));

void* map_memory(std::int64_t bytes) {
    void* p = mmap(nullptr, std::size_t(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

/// Memory that begins at a multiple of kSpanBytes.
char* map_aligned(std::int64_t bytes) {
    char* p = static_cast<char*>(map_memory(bytes + kSpanBytes));
    if (!p) return nullptr;
    const std::int64_t before = -reinterpret_cast<std::intptr_t>(p) & (kSpanBytes - 1);
    if (before) munmap(p, std::size_t(before));
    munmap(p + before + bytes, std::size_t(kSpanBytes - before));
    return p + before;
}

}  // namespace

std::int64_t next_bit(const std::uint64_t* bits, std::int64_t i, std::int64_t end) {
    if (i >= end) return end;
    std::int64_t w = i >> 6;
    std::uint64_t word = bits[w] >> (i & 63) << (i & 63);
    while (!word) {
        if (++w << 6 >= end) return end;
        word = bits[w];
    }
    return std::min(end, (w << 6) + std::countr_zero(word));
}

std::int64_t last_bit(const std::uint64_t* bits, std::int64_t i) {
    std::int64_t w = i >> 6;
    std::uint64_t word = bits[w] << (63 - (i & 63)) >> (63 - (i & 63));
    while (!word) {
        if (--w < 0) return -1;
        word = bits[w];
    }
    return (w << 6) + 63 - std::countl_zero(word);
}

/// Up to 2 MiB of address space cut into granules.
struct Span {
    char* base;
    int granules;
    Span* next = nullptr;
    Span* prev = nullptr;
    int longest;  // free run
    std::uint64_t used[kWords];
    std::uint16_t
        first[kGranules];  // granule of the page that a granule belongs to, or kFree; read without lock

    static constexpr std::uint16_t kFree = 0xffff;

    Span(char* at, int count) : base(at), granules(count), longest(count) {
        std::ranges::fill(used, ~std::uint64_t(0));
        std::ranges::fill(first, kFree);
        fill(0, count, false);
    }

    std::int64_t bytes() const { return granules * kGranule; }

    int class_of() const { return std::bit_width(unsigned(longest)) - 1; }

    /// The first run of `count` free granules, or -1; also says how long the longest one is.
    std::int64_t find_run(std::int64_t count, std::int64_t* longest_run) const {
        std::int64_t found = -1, most = 0;
        for (std::int64_t at = 0; at < kGranules;) {
            std::int64_t begin = at;
            while (begin < kGranules && test_bit(used, begin)) {
                const std::uint64_t rest = ~used[begin >> 6] >> (begin & 63);
                begin = rest ? begin + std::countr_zero(rest) : (begin | 63) + 1;
            }
            const std::int64_t end = next_bit(used, begin, kGranules);
            if (found < 0 && end - begin >= count) {
                found = begin;
                begin += count;  // as it will be
            }
            most = std::max(most, end - begin);
            at = end;
        }
        *longest_run = most;
        return found;
    }

    void fill(std::int64_t from, std::int64_t count, bool value) {
        for (std::int64_t g = from; g < from + count; ++g) {
            value ? set_bit(used, g) : clear_bit(used, g);
            first[g] = value ? std::uint16_t(from) : kFree;
        }
    }
};

PageHeap::PageHeap()
    : root_(static_cast<std::atomic<Leaf*>*>(std::calloc(std::size_t(1) << kRootBits, sizeof(void*)))) {}

PageHeap::~PageHeap() {
    trim(0);
    // What is left is still in use by nobody: pages that were never given back have lost their account.
    for (int c = 0; c < kClasses; ++c)
        while (spans_[c]) drop_span(spans_[c]);
    while (full_) drop_span(full_);
    for (std::uintptr_t i = first_leaf_; i < end_of_leaves_; ++i)
        std::free(root_[i].load(std::memory_order_relaxed));
    std::free(root_);
}

/// Notes, and tells others, that the spans of addresses from `address` belong to `what` (0: are not ours any
/// more); false if there is no memory for that.
bool PageHeap::enter(const void* address, std::int64_t bytes, std::uintptr_t what) {
    const char* begin = static_cast<const char*>(address);
    if (what && note(address, bytes, what) && Owners::all().add_heap(begin, begin + bytes, this)) return true;
    Owners::all().remove_heap(begin, begin + bytes);
    return note(address, bytes, 0) && !what;
}

bool PageHeap::note(const void* address, std::int64_t bytes, std::uintptr_t what) {
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(address) >> kSpanBits;
    const std::uintptr_t last =
        (reinterpret_cast<std::uintptr_t>(address) + std::uintptr_t(bytes) - 1) >> kSpanBits;
    if (!root_ || last >> kLeafBits >> kRootBits) return false;
    for (std::uintptr_t l = first >> kLeafBits; l <= last >> kLeafBits; ++l) {
        if (root_[l].load(std::memory_order_relaxed)) continue;
        auto* leaf = static_cast<Leaf*>(std::calloc(std::size_t(1) << kLeafBits, sizeof(Leaf)));
        if (!leaf) return false;
        root_[l].store(leaf, std::memory_order_release);
        first_leaf_ = std::min(first_leaf_, l);
        end_of_leaves_ = std::max(end_of_leaves_, l + 1);
    }
    for (std::uintptr_t i = first; i <= last; ++i) {
        Leaf* leaf = root_[i >> kLeafBits].load(std::memory_order_relaxed);
        leaf[i & ((1 << kLeafBits) - 1)].store(what, std::memory_order_release);
    }
    return true;
}

Page* PageHeap::find(const void* p) const {
    const std::uintptr_t i = reinterpret_cast<std::uintptr_t>(p) >> kSpanBits;
    if (i >> kLeafBits >> kRootBits || !root_) return nullptr;
    const Leaf* leaf = root_[i >> kLeafBits].load(std::memory_order_acquire);
    if (!leaf) return nullptr;
    const std::uintptr_t what = leaf[i & ((1 << kLeafBits) - 1)].load(std::memory_order_acquire);
    if (!what) return nullptr;
    Page* page = reinterpret_cast<Page*>(what - 1);
    if (!(what & 1)) {
        const Span* span = reinterpret_cast<const Span*>(what);
        const std::uint16_t first = span->first[(static_cast<const char*>(p) - span->base) / kGranule];
        if (first == Span::kFree) return nullptr;
        page = reinterpret_cast<Page*>(span->base + first * kGranule);
    }
    return p >= page->begin && p < page->end ? page : nullptr;
}

void PageHeap::link(Span* span) {
    Span*& head = span->longest ? spans_[span->class_of()] : full_;
    span->prev = nullptr;
    span->next = head;
    if (head) head->prev = span;
    head = span;
}

void PageHeap::unlink(Span* span) {
    if (span->next) span->next->prev = span->prev;
    if (span->prev) span->prev->next = span->next;
    else (span->longest ? spans_[span->class_of()] : full_) = span->next;
}

/// The first span of a heap is small, for programs that need little: to clear 2 MiB at once takes as long as
/// forty faults. It stays, and does not count among those that wait.
Span* PageHeap::add_span(std::int64_t run) {
    const bool is_first = !full_ && std::all_of(spans_, spans_ + kClasses, [](Span* s) { return !s; });
    const int granules = is_first && run <= kFirstGranules ? kFirstGranules : int(kGranules);
    const std::int64_t bytes = granules * kGranule;
    char* base = map_aligned(bytes);
    if (!base) return nullptr;
    Span* span = new (std::nothrow) Span(base, granules);
    if (!span || !enter(base, bytes, reinterpret_cast<std::uintptr_t>(span))) {
        munmap(base, std::size_t(bytes));
        delete span;
        return nullptr;
    }
    link(span);
    if (granules < kGranules) return span;
    madvise(base, std::size_t(bytes), MADV_HUGEPAGE);
    ++empty_spans_;
    waiting_ += bytes;
    return span;
}

void PageHeap::drop_span(Span* span) {
    unlink(span);
    enter(span->base, span->bytes(), 0);
    unpoison(span->base, span->bytes());
    munmap(span->base, std::size_t(span->bytes()));
    if (span->longest == kGranules) {
        --empty_spans_;
        waiting_ -= kSpanBytes;
    }
    delete span;
}

Span* PageHeap::span_with_run(std::int64_t granules) {
    for (int c = std::bit_width(unsigned(granules - 1)); c < kClasses; ++c)
        if (spans_[c]) return spans_[c];
    int tries = 8;  // of spans that may have a run that is long enough
    for (Span* s = spans_[std::bit_width(unsigned(granules)) - 1]; s && tries; s = s->next, --tries)
        if (s->longest >= granules) return s;
    return add_span(granules);
}

Page* PageHeap::take_run(std::int64_t granules) {
    const std::lock_guard lock(mutex_);
    Span* span = span_with_run(granules);
    if (!span) return nullptr;
    unlink(span);
    if (span->longest == kGranules) {
        least_empty_ = std::min(least_empty_, --empty_spans_);
        waiting_ -= kSpanBytes;
    }
    std::int64_t longest;
    const std::int64_t at = span->find_run(granules, &longest);
    span->fill(at, granules, true);
    span->longest = int(longest);
    link(span);
    void* memory = span->base + at * kGranule;
    unpoison(memory, granules * kGranule);
    Page* page = new (memory) Page{};
    page->bytes = granules * kGranule;
    page->end = static_cast<char*>(memory) + page->bytes;
    return page;
}

Page* PageHeap::take_small(std::int64_t bytes) {
    Page* page = take_run(bytes / kGranule);
    if (!page) return nullptr;
    std::memset(page->starts(), 0, std::size_t(3 * 8 * page->words()));
    page->begin =
        reinterpret_cast<char*>(round_up(reinterpret_cast<std::intptr_t>(page->marks() + page->words()), 64));
    poison(page->begin, page->end - page->begin);
    return page;
}

std::int64_t PageHeap::bytes_of_single(std::int64_t size) {
    const std::int64_t room = std::int64_t(sizeof(Page)) + size;
    if (room <= kLargestRun) return round_up(room, kGranule);
    return round_up(room + (kColors - 1) * kColorBytes, kMappedGranule);
}

std::int64_t PageHeap::size_in_spans(std::int64_t size) {
    const std::int64_t bytes = bytes_of_single(size);
    return bytes <= kLargestRun ? size : size + round_up(bytes, kSpanBytes) - bytes;
}

Page* PageHeap::take_single(std::int64_t size, std::int64_t room) {
    const std::int64_t bytes = bytes_of_single(size);
    Page* page = bytes > kLargestRun ? take_mapping(bytes, room) : take_run(bytes / kGranule);
    if (!page) return nullptr;
    page->single = true;
    page->begin = reinterpret_cast<char*>(page + 1);
    if (page->mapped) {
        // Vectors that a loop walks side by side should not all begin in the same set of the cache.
        const std::lock_guard lock(mutex_);
        page->begin += (color_++ % kColors) * kColorBytes;
    }
    return page;
}

/// Moves the pages of the machine behind a mapping to one of the same alignment. One mremap takes what was
/// mapped at once, and a mapping may have been put together of what waited: so they go 2 MiB at a time. What
/// cannot be moved since there are too many mappings is copied.
static void move_pages(char* from, char* to, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += kSpanBytes) {
        const auto part = std::size_t(std::min(kSpanBytes, bytes - at));
        if (mremap(from + at, part, part, MREMAP_MAYMOVE | MREMAP_FIXED, to + at) != MAP_FAILED) continue;
        std::memcpy(to + at, from + at, part);
        munmap(from + at, part);
    }
}

/// Makes a page larger elsewhere; null, and nothing has happened, if that cannot be done.
char* PageHeap::move_mapping(char* old, std::int64_t old_bytes, std::int64_t bytes) {
    char* const room = map_aligned(bytes);
    if (!room || !fill_from_waiting(room, round_up(old_bytes, kSpanBytes), bytes)) return nullptr;
    if (!enter(room, bytes, reinterpret_cast<std::uintptr_t>(room) | 1)) {
        munmap(room, std::size_t(bytes));
        return nullptr;
    }
    enter(old, old_bytes, 0);  // before others can map memory where it was
    move_pages(old, room, old_bytes);
    return room;
}

Page* PageHeap::grow_single(Page* page, std::int64_t size) {
    const std::int64_t old_bytes = page->bytes, bytes = bytes_of_single(size);
    if (!page->mapped || bytes <= old_bytes) return nullptr;
    char* const old = reinterpret_cast<char*>(page);
    const std::ptrdiff_t begin = page->begin - old;
    const std::lock_guard lock(mutex_);
    char* now = old;
    const bool stays =
        mappings_.empty() && mremap(old, std::size_t(old_bytes), std::size_t(bytes), 0) != MAP_FAILED;
    if (!stays) now = move_mapping(old, old_bytes, bytes);
    else if (!enter(old, bytes, reinterpret_cast<std::uintptr_t>(page) | 1)) {
        mremap(old, std::size_t(bytes), std::size_t(old_bytes), 0);
        now = nullptr;
    }
    if (!now) return nullptr;
    madvise(now, std::size_t(bytes), MADV_HUGEPAGE);
    page = reinterpret_cast<Page*>(now);
    page->bytes = bytes;
    page->begin = now + begin;
    page->end = now + bytes;
    return page;
}

/// A mapping that waits, at most `room` larger than asked for, and at most a quarter; or, if that is little, kSpanBytes, where
/// there is much more room: what grows from one that small takes less time if it does so in place.
Page* PageHeap::waiting_mapping(std::int64_t bytes, std::int64_t room) {
    const std::lock_guard lock(mutex_);
    const std::int64_t quarter = std::min(bytes / 4, room);
    const std::int64_t most =
        bytes + (bytes < kSpanBytes ? std::max(quarter, std::min(kSpanBytes, room / 16)) : quarter);
    auto best = mappings_.end();
    for (auto m = mappings_.begin(); m != mappings_.end(); ++m)
        if ((*m)->bytes >= bytes && (*m)->bytes <= most)
            if (best == mappings_.end() || (*m)->bytes < (*best)->bytes) best = m;
    if (best == mappings_.end()) return nullptr;
    Page* page = *best;
    mappings_.erase(best);
    waiting_ -= page->bytes;
    return page;
}

Page* PageHeap::take_mapping(std::int64_t bytes, std::int64_t room) {
    if (Page* page = waiting_mapping(bytes, room)) {
        const std::int64_t all = page->bytes;
        page = new (page) Page{};
        page->bytes = all;
        page->mapped = true;
        page->end = reinterpret_cast<char*>(page) + all;
        return page;
    }
    // What is less than 2 MiB at the end has small pages, of which each costs a fault.
    const std::int64_t more = round_up(bytes, kSpanBytes) - bytes;
    if (more <= std::min({kMostMore, bytes / 8, room})) bytes += more;
    char* memory = map_aligned(bytes);
    if (!memory) return nullptr;
    madvise(memory, std::size_t(bytes), MADV_HUGEPAGE);
    if (waiting() >= kSpanBytes) {
        const std::lock_guard lock(mutex_);
        if (!fill_from_waiting(memory, 0, bytes)) return nullptr;
    }
    Page* page = new (memory) Page{};
    page->bytes = bytes;
    page->mapped = true;
    page->begin = page->end = memory + bytes;
    {
        const std::lock_guard lock(mutex_);
        if (!enter(memory, bytes, reinterpret_cast<std::uintptr_t>(page) | 1)) {
            munmap(memory, std::size_t(bytes));
            return nullptr;
        }
    }
    return page;
}

/// Moves what waits, in other sizes, behind the addresses of a new mapping from byte `filled` on: new pages
/// would have to be cleared. False if there are too many mappings; nothing is mapped there then.
bool PageHeap::fill_from_waiting(char* memory, std::int64_t filled, std::int64_t bytes) {
    for (std::size_t i = mappings_.size(); i-- > 0 && bytes - filled >= kSpanBytes;) {
        Page* page = mappings_[i];
        char* const base = reinterpret_cast<char*>(page);
        const std::int64_t all = page->bytes, whole = all / kSpanBytes * kSpanBytes;
        const std::int64_t taken = std::min(whole, (bytes - filled) / kSpanBytes * kSpanBytes);
        const std::int64_t stays = whole - taken;
        if (taken == 0) continue;
        enter(base + stays, all - stays, 0);  // before others can map memory where it was
        if (stays == 0) mappings_.erase(mappings_.begin() + std::ptrdiff_t(i));
        else {
            page->bytes = stays;
            page->begin = page->end = base + stays;
        }
        waiting_ -= all - stays;
        for (std::int64_t at = 0; at < taken; at += kSpanBytes, filled += kSpanBytes) {
            char* const from = base + stays + at;
            if (mremap(from, std::size_t(kSpanBytes), std::size_t(kSpanBytes), MREMAP_MAYMOVE | MREMAP_FIXED,
                       memory + filled) != MAP_FAILED)
                continue;
            munmap(from, std::size_t(all - stays - at));
            munmap(memory, std::size_t(bytes));
            return false;
        }
        if (all > whole) munmap(base + whole, std::size_t(all - whole));
    }
    return true;
}

void PageHeap::drop_mapping(Page* page) {
    enter(page, page->bytes, 0);
    munmap(page, std::size_t(page->bytes));
}

/// Giving memory back must not need any.
static bool has_room_for_one(std::vector<Page*>& list) {
    try {
        if (list.size() == list.capacity()) list.reserve(2 * list.size() + 8);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void PageHeap::give(Page* page, std::int64_t keep) {
    std::unique_lock lock(mutex_);
    if (page->mapped) {
        if (waiting_ + page->bytes > keep || !has_room_for_one(mappings_)) return drop_mapping(page);
        page->age = now_;
        page->begin = page->end;  // `find` sees nothing in it
        waiting_ += page->bytes;
        mappings_.push_back(page);
        return;
    }
    const std::uintptr_t i = reinterpret_cast<std::uintptr_t>(page) >> kSpanBits;
    const Leaf* leaf = root_[i >> kLeafBits].load(std::memory_order_relaxed);
    Span* span = reinterpret_cast<Span*>(leaf[i & ((1 << kLeafBits) - 1)].load(std::memory_order_relaxed));
    const std::int64_t at = (reinterpret_cast<char*>(page) - span->base) / kGranule;
    const std::int64_t count = page->bytes / kGranule;
    poison(page, page->bytes);
    unlink(span);
    span->fill(at, count, false);
    std::int64_t longest;
    span->find_run(kGranules + 1, &longest);
    span->longest = int(longest);
    link(span);
    if (longest < kGranules) return;
    ++empty_spans_;
    waiting_ += kSpanBytes;
    if (empty_spans_ > 1 && waiting_ > keep) drop_span(span);
}

void PageHeap::trim(std::int64_t keep) {
    const std::lock_guard lock(mutex_);
    while (!mappings_.empty() && waiting_ > keep) {
        waiting_ -= mappings_.front()->bytes;
        drop_mapping(mappings_.front());
        mappings_.erase(mappings_.begin());
    }
    Span*& empty = spans_[kClasses - 1];
    while (waiting_ > keep && empty && empty->longest == kGranules) drop_span(empty);
}

void PageHeap::age() {
    const std::lock_guard lock(mutex_);
    ++now_;
    std::erase_if(mappings_, [&](Page* page) {
        if (now_ - page->age <= kRunsToWait) return false;
        waiting_ -= page->bytes;
        drop_mapping(page);
        return true;
    });
    for (; least_empty_ > kEmptySpans && empty_spans_ > kEmptySpans; --least_empty_)
        drop_span(spans_[kClasses - 1]);
    least_empty_ = empty_spans_;
}

}  // namespace weld::runtime
