// How much memory compiling a program may take.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

namespace weld {

/// Bytes that may still be allocated. Thread-safe.
class Budget {
  public:
    explicit Budget(std::int64_t bytes) : left_(bytes) {}
    /// False, and nothing is taken, if there is less.
    bool take(std::int64_t bytes) {
        if (left_.fetch_sub(bytes, std::memory_order_relaxed) >= bytes) return true;
        give(bytes);
        return false;
    }
    void give(std::int64_t bytes) { left_.fetch_add(bytes, std::memory_order_relaxed); }

    /// Nobody wants any more what it is for: the work that takes from it is left at its next allocation.
    void close() { closed_.store(true, std::memory_order_relaxed); }
    bool is_closed() const { return closed_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::int64_t> left_;
    std::atomic<bool> closed_ = false;
};

/// Is thrown when a budget has no more; caught where a lack of memory is.
struct OverBudget : std::bad_alloc {
    const char* what() const noexcept override { return "memory limit exceeded"; }
};

}  // namespace weld
