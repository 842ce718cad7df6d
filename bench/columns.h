// Input columns: the counter-based generator of the workloads, and memory in large pages as any engine would
// have it.
#pragma once

#include <sys/mman.h>
#include <tbb/parallel_for.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "bench/workloads.h"
#include "runtime/abi/weld_abi.h"

namespace weld::bench {

/// Item `i` of stream `s`: 64 random bits.
inline std::uint64_t sm(std::uint64_t s, std::uint64_t i) {
    std::uint64_t z = s * 0xD1342543DE82EF95u + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
/// Uniform in [0, 1) / in [0, n) / Zipf with exponent 1 over [0, n).
inline double u01(std::uint64_t s, std::uint64_t i) { return double(sm(s, i) >> 11) * 0x1p-53; }
inline std::uint64_t bnd(std::uint64_t s, std::uint64_t i, std::uint64_t n) {
    return ((sm(s, i) >> 32) * n) >> 32;
}
inline std::uint64_t zipf(std::uint64_t s, std::uint64_t i, std::uint64_t n) {
    const auto octaves = std::uint64_t(std::bit_width(n));
    for (std::uint64_t t = 0;; ++t) {
        const std::uint64_t r = sm(s + 1000 * t, i);
        const std::uint64_t b = ((r >> 32) * octaves) >> 32;
        const std::uint64_t k = (std::uint64_t(1) << b | (r & ((std::uint64_t(1) << b) - 1))) - 1;
        if (k < n) return k;
    }
}

/// A column of n elements.
template <class T>
class Column {
  public:
    template <class F>
    Column(std::size_t n, F item) : size_(n) {
        constexpr std::size_t page = std::size_t(2) << 20;
        bytes_ = (n * sizeof(T) + 2 * page - 1) / page * page;
        void* room = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED) std::abort();
        madvise(room, bytes_, MADV_HUGEPAGE);
        data_ = static_cast<T*>(room);
        tbb::parallel_for(std::size_t(0), (n + 65535) / 65536, [&](std::size_t part) {
            const std::size_t end = std::min(n, (part + 1) * 65536);
            for (std::size_t i = part * 65536; i < end; ++i) data_[i] = T(item(i));
        });
    }
    Column(Column&& other) noexcept { swap(other); }
    Column& operator=(Column&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Column() {
        if (data_) munmap(data_, bytes_);
    }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }
    T operator[](std::size_t i) const { return data_[i]; }
    WeldVec vec() const { return {data_, std::int64_t(size_)}; }

  private:
    void swap(Column& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(bytes_, other.bytes_);
    }
    T* data_ = nullptr;
    std::size_t size_ = 0, bytes_ = 0;
};

/// The rows of a matrix as a vec[vec[T]].
template <class T>
Column<WeldVec> rows(const Column<T>& all, std::size_t width) {
    return {all.size() / width,
            [&](std::size_t i) { return WeldVec{all.data() + i * width, std::int64_t(width)}; }};
}

/// Arguments from a C struct whose vectors point into `columns`.
template <class Args, class... Columns>
Inputs inputs(const Args& args, Columns&&... columns) {
    Inputs in;
    in.args.resize(sizeof args);
    std::memcpy(in.args.data(), &args, sizeof args);
    in.owner = std::make_shared<std::tuple<std::decay_t<Columns>...>>(std::forward<Columns>(columns)...);
    return in;
}

}  // namespace weld::bench
