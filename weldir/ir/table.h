// What a pass notes about nodes or symbols: a table by their numbers, which are dense where a program was
// made at one go. Programs are large and passes are many, so looking up must not cost a hash and a cache
// miss.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <vector>

namespace weld {

/// From `Key*` (Expr or Symbol, by its `id`) to T. Memory follows the entries, in pages. Entries don't move.
template <class Key, class T>
class Table {
  public:
    /// Null if there is no entry.
    T* find(const Key* key) {
        Page* page = page_of(key);
        return page && page->known[key->id % kEntries] ? &page->entries[key->id % kEntries] : nullptr;
    }
    const T* find(const Key* key) const { return const_cast<Table*>(this)->find(key); }
    bool contains(const Key* key) const { return find(key) != nullptr; }

    /// The entry, made if there is none.
    T& operator[](const Key* key) {
        if (key->id / kEntries >= pages_.size()) pages_.resize(key->id / kEntries + 1);
        std::unique_ptr<Page>& page = pages_[key->id / kEntries];
        if (!page) page = std::make_unique<Page>();
        page->known[key->id % kEntries] = true;
        return page->entries[key->id % kEntries];
    }

  private:
    static constexpr std::size_t kEntries = 64;
    struct Page {
        std::bitset<kEntries> known;
        T entries[kEntries] = {};
    };

    Page* page_of(const Key* key) const {
        return key->id / kEntries < pages_.size() ? pages_[key->id / kEntries].get() : nullptr;
    }

    std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace weld
