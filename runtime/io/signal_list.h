// A list of texts that a signal handler may walk at any time, from any thread.
//
// Entries are never freed: a handler may be looking at one while it is taken out. They are few, one per file
// of the command line.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

namespace weld {

template <class T>
class SignalList {
  public:
    struct Entry {
        T value;
        std::atomic<bool> there = true;
        Entry* next = nullptr;
    };

    Entry* add(T value) {
        auto* entry = new Entry{std::move(value)};
        entry->next = first_.load();
        while (!first_.compare_exchange_weak(entry->next, entry)) {}
        return entry;
    }
    static void remove(Entry* entry) { entry->there = false; }

    /// `visit(value)` for each that is there. Does nothing else that a handler may not do.
    template <class Visit>
    void each(const Visit& visit) const {
        for (const Entry* e = first_.load(); e; e = e->next)
            if (e->there) visit(e->value);
    }

  private:
    std::atomic<Entry*> first_ = nullptr;
};

}  // namespace weld
