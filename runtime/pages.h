// Pages: the pieces of memory that regions are made of, and the heap that hands them out.
//
// A page is a multiple of 4 KiB and holds either many small blocks or one large block. Pages up to 1 MiB are
// cut from spans of 2 MiB, larger ones are mappings of their own that begin at 2 MiB. Both use huge pages, but
// for the first span, which is of 256 KiB.
// `find` tells in two loads and without a lock which page an address lies in, or that it is none of ours:
// that is what makes tracing and freeing cheap when pointers may come from anywhere (inputs, slices, buffers
// of user functions).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/abi/weld_abi.h"

namespace weld::runtime {

constexpr std::int64_t kGranule = 4096;           ///< sizes of pages are multiples of this
constexpr std::int64_t kUnit = 16;                ///< sizes of small blocks are multiples of this
constexpr std::int64_t kLargestPage = 256 << 10;  ///< of small blocks
constexpr std::int64_t kSpanBytes = 2 << 20;

/// The beginning of a page. In a page of small blocks two bits per unit follow that tell where blocks begin
/// and end, and one that a collection marks the beginnings of live blocks with.
struct alignas(64) Page {
    WeldRegion* owner;  ///< null when it belongs to a value instead of a running task
    Page* next;         ///< among the owner's pages
    Page* prev;
    char* begin;  ///< of the room for blocks
    char* end;
    std::int64_t bytes;  ///< of all
    bool single;         ///< one block, at `begin`
    bool marked;         ///< `single`: the block is live
    bool mapped;         ///< a mapping of its own
    std::uint8_t lane;   ///< of the region, for small blocks
    std::uint32_t age;   ///< when it was last used, for pages that wait to be used again
    const void* value;   ///< that it belongs to, if it has no owner and this was told (RunMemory::belong_to)

    std::int64_t words() const { return bytes / kUnit / 64; }
    std::uint64_t* starts() { return reinterpret_cast<std::uint64_t*>(this + 1); }
    std::uint64_t* ends() { return starts() + words(); }
    std::uint64_t* marks() { return ends() + words(); }
    std::int64_t unit_of(const void* p) const {
        return (static_cast<const char*>(p) - reinterpret_cast<const char*>(this)) / kUnit;
    }
    char* address_of(std::int64_t unit) { return reinterpret_cast<char*>(this) + unit * kUnit; }
};

inline bool test_bit(const std::uint64_t* bits, std::int64_t i) { return bits[i >> 6] >> (i & 63) & 1; }
inline void set_bit(std::uint64_t* bits, std::int64_t i) { bits[i >> 6] |= std::uint64_t(1) << (i & 63); }
inline void clear_bit(std::uint64_t* bits, std::int64_t i) {
    bits[i >> 6] &= ~(std::uint64_t(1) << (i & 63));
}
/// The first set bit at or after `i`, or `end`.
std::int64_t next_bit(const std::uint64_t* bits, std::int64_t i, std::int64_t end);
/// The last set bit at or before `i`, or -1.
std::int64_t last_bit(const std::uint64_t* bits, std::int64_t i);

struct Span;

/// Hands out pages and takes them back; keeps some that were given back for the next taker. Thread-safe.
class PageHeap {
  public:
    PageHeap();
    ~PageHeap();
    PageHeap(const PageHeap&) = delete;
    PageHeap& operator=(const PageHeap&) = delete;

    /// A page with room for small blocks; `bytes` is a multiple of kGranule up to kLargestPage. Null: no
    /// memory.
    Page* take_small(std::int64_t bytes);
    /// A page for one block of `size` bytes, aligned to 64, up to `room` bytes larger than need be. Null: no
    /// memory.
    Page* take_single(std::int64_t size, std::int64_t room);
    /// Makes the page of a single block larger, so that `size` bytes have room: the block may move, the pages
    /// of the machine behind it are not copied. Null, and nothing has happened: not a mapping, or no memory.
    Page* grow_single(Page* page, std::int64_t size);
    /// The least that take_single takes.
    static std::int64_t bytes_of_single(std::int64_t size);
    /// How large a block that is to grow may be made at once: to the end of its last 2 MiB if it has a
    /// mapping, so that no more than its own huge pages is ever touched. (4 KiB past a huge page would leave
    /// small pages there, each of which costs a fault when the block grows.)
    static std::int64_t size_in_spans(std::int64_t size);
    /// Takes a page back; keeps no more than `keep` bytes waiting in all.
    void give(Page* page, std::int64_t keep);
    /// The page that `p` lies in, or null.
    Page* find(const void* p) const;
    /// Gives memory that waits back to the machine until at most `keep` bytes do.
    void trim(std::int64_t keep);
    /// Called at the end of a run: memory that has waited through several runs goes back to the machine.
    void age();
    /// Bytes that wait to be used again.
    std::int64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

  private:
    using Leaf = std::atomic<std::uintptr_t>;
    static constexpr int kClasses = 10;

    Page* take_run(std::int64_t granules);
    Span* span_with_run(std::int64_t granules);
    Span* add_span(std::int64_t run);
    void drop_span(Span* span);
    void link(Span* span);
    void unlink(Span* span);
    Page* take_mapping(std::int64_t bytes, std::int64_t room);
    Page* waiting_mapping(std::int64_t bytes, std::int64_t room);
    char* move_mapping(char* old, std::int64_t old_bytes, std::int64_t bytes);
    bool fill_from_waiting(char* memory, std::int64_t filled, std::int64_t bytes);
    void drop_mapping(Page* page);
    bool enter(const void* address, std::int64_t bytes, std::uintptr_t what);
    bool note(const void* address, std::int64_t bytes, std::uintptr_t what);

    mutable std::mutex mutex_;
    std::atomic<Leaf*>*
        root_;  ///< address >> 35, then address >> 21: a Span*, or a mapped Page* with bit 0 set
    std::uintptr_t first_leaf_ = std::uintptr_t(-1), end_of_leaves_ = 0;  ///< others of the root are null
    Span* spans_[kClasses] = {};  ///< by the logarithm of their longest free run
    Span* full_ = nullptr;
    std::vector<Page*> mappings_;  ///< that wait
    int empty_spans_ = 0;
    int least_empty_ = 0;  ///< since the last call of `age`: so many were not needed
    std::uint32_t now_ = 0;
    std::uint32_t color_ = 0;
    std::atomic<std::int64_t> waiting_{0};
};

}  // namespace weld::runtime
