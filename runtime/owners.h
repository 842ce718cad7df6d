// What the memory of this process belongs to, as far as it is the library's: so that who points into it can
// hold on to it. Pages of heaps say themselves which value they belong to (Page::value); all else, such as
// constants of programs and memory that others lent, is entered with its owner.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

namespace weld::runtime {

class PageHeap;

/// What is known of an address. Nothing known: neither `value` nor `owner`.
struct Owner {
    const void* value = nullptr;  ///< RunMemory::belong_to
    std::shared_ptr<const void> owner;
    const char* begin = nullptr;  ///< the same is known of all addresses in [begin, end)
    const char* end = nullptr;

    bool known() const { return value || owner; }
    bool covers(const void* p) const { return p >= begin && p < end; }
};

/// Thread-safe.
class Owners {
  public:
    /// Those of the process. Never destroyed.
    static Owners& all();

    Owner find(const void* p) const;

    /// Ranges may overlap: what lies in several belongs to all of them. `owner` points to `id`.
    /// Throws std::bad_alloc.
    void add(std::span<const char> range, const void* id, const std::weak_ptr<const void>& owner);
    void remove(std::span<const char> range, const void* id) noexcept;

    /// For heaps. False: no memory.
    bool add_heap(const char* begin, const char* end, const PageHeap* heap) noexcept;
    /// The range may be the end, or a part, of one that was added.
    void remove_heap(const char* begin, const char* end) noexcept;

  private:
    struct Entry {
        const void* id;
        std::weak_ptr<const void> owner;
    };
    struct Span {
        const char* end;
        const PageHeap* heap;
    };
    using Edges = std::map<const char*, std::vector<Entry>>;

    Edges::iterator edge_at(const char* p);
    void find_in_ranges(const void* p, Owner* found) const;

    mutable std::shared_mutex mutex_;
    std::map<const char*, Span> heaps_;  ///< by their beginning
    Edges edges_;                        ///< what is entered from there on, until the next edge
};

/// `p` is nobody's, as is the one place where vectors of no elements lie.
inline bool is_nowhere(const void* p) { return !Owners::all().find(p).known(); }

}  // namespace weld::runtime
