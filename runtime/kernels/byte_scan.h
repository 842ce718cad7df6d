// Where in a text two bytes in a row may be the beginning of what is looked for: 64 places at a time. And
// whether offsets ascend. In the vectors of the machine. And whether a short text holds another.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weld::runtime {

using ByteSet = std::bitset<256>;

/// A few ranges of bytes that cover a set. Byte `c` is in range `i` if c - low[i] <= width[i] (as bytes).
struct ByteRanges {
    static constexpr int kMost = 3;
    std::array<std::uint8_t, kMost> low{}, width{};  ///< unused ones repeat the first

    /// Cover `set`, which is not empty, and few bytes besides.
    static ByteRanges covering(const ByteSet& set);
};

using ScanFn = std::uint64_t(const ByteRanges& first, const ByteRanges& second, const std::uint8_t* text,
                             std::size_t blocks, std::uint64_t* marks);

/// What is compiled for each instruction set.
struct ScanForms {
    const char* isa;
    ScanFn *one, *all;  ///< PairScan::mark for one range in each set, and for all of them
    bool (*ascends)(const std::int64_t* offsets, std::size_t count);
};
/// Those that this machine can run, the best first.
std::span<const ScanForms> scan_forms();

/// Marks the places of a text whose byte is in one set and the byte after it in another. What it marks beside
/// (sets become ranges) is for the caller to look at.
class PairScan {
  public:
    /// Neither set is empty.
    PairScan(const ByteSet& first, const ByteSet& second, const ScanForms& forms = scan_forms()[0]);
    /// The same of one byte each, or any second one: made in a few instructions, for a text that is short itself.
    PairScan(std::uint8_t first, std::optional<std::uint8_t> second);

    static constexpr std::size_t kBlock = 64;
    /// Bit `i` of `marks[i / 64]`: text[i] and text[i + 1] are a pair. Reads the 64 * `blocks` + 1 bytes at
    /// `text`, of up to 64 blocks. Bit `b` of what it gives: there is one in block `b`.
    std::uint64_t mark(const std::uint8_t* text, std::size_t blocks, std::uint64_t* marks) const {
        return run_(first_, second_, text, blocks, marks);
    }

  private:
    ByteRanges first_, second_;
    ScanFn* run_;
};

/// 0 <= offsets[0] <= offsets[1] <= ... <= offsets[count].
inline bool ascends(const std::int64_t* offsets, std::size_t count) {
    return scan_forms()[0].ascends(offsets, count);
}

/// Whether `text` holds `what`, which is not empty. For short texts: nothing is prepared, and at worst `what` is
/// compared at each place. Bytes up to `readable` may be read.
bool short_text_holds(std::string_view text, std::string_view what, const char* readable);

}  // namespace weld::runtime
