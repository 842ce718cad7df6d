// A vector whose first elements lie in itself: for what is nearly always short, and made so often that memory
// from the heap is what it costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

namespace weld {

/// Up to `N` elements need no memory of their own. Iterators are lost whenever it changes or moves.
template <class T, std::uint32_t N>
class SmallVector {
  public:
    SmallVector() = default;
    SmallVector(std::initializer_list<T> all) { append(all.begin(), all.end()); }
    SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
    SmallVector(SmallVector&& other) noexcept { take(other); }
    SmallVector& operator=(const SmallVector& other) {
        if (this == &other) return *this;
        clear();
        append(other.begin(), other.end());
        return *this;
    }
    SmallVector& operator=(SmallVector&& other) noexcept {
        if (this == &other) return *this;
        clear();
        free();
        take(other);
        return *this;
    }
    ~SmallVector() {
        clear();
        free();
    }

    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T& back() { return data_[size_ - 1]; }

    void clear() {
        std::destroy_n(data_, size_);
        size_ = 0;
    }
    void reserve(std::size_t n) {
        if (n > capacity_) grow(std::max<std::size_t>(n, 2 * std::size_t(capacity_)));
    }
    void push_back(T value) {
        reserve(size_ + std::size_t(1));
        std::construct_at(data_ + size_, std::move(value));
        ++size_;
    }
    template <class It>
    void append(It first, It last) {
        reserve(size_ + std::size_t(last - first));
        size_ = std::uint32_t(std::uninitialized_copy(first, last, end()) - data_);
    }
    void erase(T* at) {
        std::move(at + 1, end(), at);
        std::destroy_at(data_ + --size_);
    }

    friend bool operator==(const SmallVector& a, const SmallVector& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

  private:
    T* own() { return reinterpret_cast<T*>(room_); }
    void grow(std::size_t n) {
        T* larger = std::allocator<T>().allocate(n);
        std::uninitialized_move_n(data_, size_, larger);
        std::destroy_n(data_, size_);
        free();
        data_ = larger;
        capacity_ = std::uint32_t(n);
    }
    /// The elements are gone.
    void free() {
        if (data_ != own()) std::allocator<T>().deallocate(data_, capacity_);
        data_ = own();
        capacity_ = N;
    }
    /// There are no elements, and no memory.
    void take(SmallVector& other) {
        if (other.data_ == other.own()) {
            std::uninitialized_move_n(other.data_, other.size_, data_);
            size_ = other.size_;
            other.clear();
            return;
        }
        data_ = std::exchange(other.data_, other.own());
        capacity_ = std::exchange(other.capacity_, N);
        size_ = std::exchange(other.size_, 0);
    }

    T* data_ = own();
    std::uint32_t size_ = 0, capacity_ = N;
    alignas(T) std::byte room_[N * sizeof(T)];
};

}  // namespace weld
