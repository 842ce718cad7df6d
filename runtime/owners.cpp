// Ranges of addresses and their owners.
#include "runtime/owners.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/pages.h"

namespace weld::runtime {

Owners& Owners::all() {
    // Never destroyed, since values may be freed at the very end; takes no memory, since there may be none.
    alignas(Owners) static char room[sizeof(Owners)];
    static Owners& owners = *new (room) Owners;
    return owners;
}

static const char* highest() {
    return reinterpret_cast<const char*>(std::numeric_limits<std::uintptr_t>::max());
}

Owner Owners::find(const void* at) const {
    const char* p = static_cast<const char*>(at);
    const std::shared_lock lock(mutex_);
    Owner found{.begin = nullptr, .end = highest()};
    const auto next = heaps_.upper_bound(p);
    if (next != heaps_.end()) found.end = next->first;
    if (next != heaps_.begin()) {
        const auto& [begin, span] = *std::prev(next);
        found.begin = std::min(p, span.end);
        if (p < span.end) {
            const Page* page = span.heap->find(p);
            if (page && !page->owner && page->value)
                return {.value = page->value, .begin = page->begin, .end = page->end};
            found.begin = p, found.end = p + 1;
        }
    }
    find_in_ranges(p, &found);
    return found;
}

void Owners::find_in_ranges(const void* at, Owner* found) const {
    const char* p = static_cast<const char*>(at);
    const auto next = edges_.upper_bound(p);
    if (next != edges_.end()) found->end = std::min(found->end, next->first);
    if (next == edges_.begin()) return;
    const auto& [begin, entries] = *std::prev(next);
    found->begin = std::max(found->begin, begin);
    std::vector<std::shared_ptr<const void>> owners;
    for (const Entry& entry : entries)
        if (auto owner = entry.owner.lock()) owners.push_back(std::move(owner));
    if (owners.size() == 1) found->owner = std::move(owners.front());
    else if (!owners.empty())
        found->owner = std::make_shared<std::vector<std::shared_ptr<const void>>>(std::move(owners));
}

Owners::Edges::iterator Owners::edge_at(const char* p) {
    const auto next = edges_.lower_bound(p);
    if (next != edges_.end() && next->first == p) return next;
    return edges_.emplace_hint(next, p,
                               next == edges_.begin() ? std::vector<Entry>() : std::prev(next)->second);
}

void Owners::add(std::span<const char> range, const void* id, const std::weak_ptr<const void>& owner) {
    if (range.empty()) return;
    const std::lock_guard lock(mutex_);
    const auto end = edge_at(range.data() + range.size());
    for (auto edge = edge_at(range.data()); edge != end; ++edge) edge->second.push_back({id, owner});
}

void Owners::remove(std::span<const char> range, const void* id) noexcept {
    if (range.empty()) return;
    const std::lock_guard lock(mutex_);
    const char* const end = range.data() + range.size();
    for (auto edge = edges_.find(range.data()); edge != edges_.end() && edge->first <= end;) {
        std::vector<Entry>& entries = edge->second;
        const auto entry = std::ranges::find(entries, id, &Entry::id);
        if (edge->first < end && entry != entries.end()) entries.erase(entry);
        const bool is_first = edge == edges_.begin();
        const bool says_nothing =
            is_first ? entries.empty()
                     : std::ranges::equal(entries, std::prev(edge)->second, {}, &Entry::id, &Entry::id);
        edge = says_nothing ? edges_.erase(edge) : std::next(edge);
    }
}

bool Owners::add_heap(const char* begin, const char* end, const PageHeap* heap) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        heaps_[begin] = {end, heap};
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void Owners::remove_heap(const char* begin, const char* end) noexcept {
    const std::lock_guard lock(mutex_);
    auto span = heaps_.lower_bound(begin);
    if (span != heaps_.begin()) {  // one that begins before
        Span& before = std::prev(span)->second;
        before.end = std::min(before.end, begin);
    }
    while (span != heaps_.end() && span->first < end) span = heaps_.erase(span);
}

}  // namespace weld::runtime
