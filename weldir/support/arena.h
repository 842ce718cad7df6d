// Bump allocation: everything that a Module owns lives in one Arena and goes with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weldir/support/budget.h"

namespace weld {

/// Memory that is handed out piece by piece and returned all at once. Destructors do not run.
class Arena {
  public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { set_budget(nullptr); }

    /// What the arena holds counts against `budget` as long as this is set; null: none.
    void set_budget(Budget* budget) {
        if (budget && !budget->take(std::int64_t(taken_))) throw OverBudget();
        if (budget_) budget_->give(std::int64_t(taken_));
        budget_ = budget;
    }
    Budget* budget() const { return budget_; }

    void* allocate(std::size_t bytes, std::size_t align) {
        std::uintptr_t at = (next_ + align - 1) & ~(std::uintptr_t(align) - 1);
        if (at + bytes > end_) {
            add_block(bytes + align);
            at = (next_ + align - 1) & ~(std::uintptr_t(align) - 1);
        }
        next_ = at + bytes;
        return reinterpret_cast<void*>(at);
    }

    template <class T, class... Args>
    T* make(Args&&... args) {
        static_assert(std::is_trivially_destructible_v<T>);
        return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
    }

    /// A copy of `items` that lives as long as the arena.
    template <class T>
    std::span<T> copy(std::span<const T> items) {
        static_assert(std::is_trivially_copyable_v<T>);
        if (items.empty()) return {};
        T* to = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
        std::memcpy(static_cast<void*>(to), items.data(), items.size_bytes());
        return {to, items.size()};
    }

    std::string_view copy(std::string_view text) {
        std::span<char> to = copy(std::span<const char>(text.data(), text.size()));
        return {to.data(), to.size()};
    }

  private:
    void add_block(std::size_t at_least) {
        // a block takes what all before it did: of small programs there may be very many
        const std::size_t bytes =
            std::max(at_least, std::clamp(taken_, std::size_t(1) << 10, std::size_t(256) << 10));
        if (budget_ && !budget_->take(std::int64_t(bytes))) throw OverBudget();
        taken_ += bytes;
        blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
        next_ = reinterpret_cast<std::uintptr_t>(blocks_.back().get());
        end_ = next_ + bytes;
    }

    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::uintptr_t next_ = 0;
    std::uintptr_t end_ = 0;
    std::size_t taken_ = 0;
    Budget* budget_ = nullptr;
};

}  // namespace weld
