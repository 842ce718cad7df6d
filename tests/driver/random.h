// Random numbers that are the same everywhere for a seed; or choices that bytes make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weld::driver {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    /// One byte for each small choice, so that a changed byte changes one choice; zeros when they are used
    /// up.
    explicit Random(std::span<const std::uint8_t> bytes) : bytes_(bytes), from_bytes_(true) {}

    std::uint64_t next() {
        if (from_bytes_) return take(8);
        // splitmix64
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return std::size_t((from_bytes_ && n <= 256 ? take(1) : next()) % n); }
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + std::int64_t(below(std::size_t(high - low + 1)));
    }
    bool percent(int p) { return int(below(100)) < p; }

  private:
    std::uint64_t take(std::size_t count) {
        std::uint64_t bits = 0;
        for (; count > 0 && !bytes_.empty(); --count, bytes_ = bytes_.subspan(1))
            bits = bits << 8 | bytes_[0];
        return bits;
    }

    std::uint64_t state_ = 0;
    std::span<const std::uint8_t> bytes_;
    bool from_bytes_ = false;
};

}  // namespace weld::driver
