// Random numbers that are the same everywhere for a seed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weld::driver {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {  // splitmix64
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return std::size_t(next() % n); }
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + std::int64_t(below(std::size_t(high - low + 1)));
    }
    bool percent(int p) { return int(below(100)) < p; }

  private:
    std::uint64_t state_;
};

}  // namespace weld::driver
