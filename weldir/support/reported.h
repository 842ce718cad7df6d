// What a step of the compiler gives back: a value, or a failure that has been reported already.
#pragma once

#include <optional>
#include <utility>

namespace weld {

struct Failed {};

/// A `T`, or nothing because Diagnostics already says what went wrong.
template <class T>
class [[nodiscard]] Reported {
  public:
    Reported(T value) : value_(std::move(value)) {}
    Reported(Failed) {}

    explicit operator bool() const { return value_.has_value(); }
    T& operator*() & { return *value_; }
    const T& operator*() const& { return *value_; }
    T&& operator*() && { return std::move(*value_); }
    T* operator->() { return &*value_; }
    const T* operator->() const { return &*value_; }

  private:
    std::optional<T> value_;
};

}  // namespace weld
