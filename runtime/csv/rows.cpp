// The quotes before each byte are counted for 64 bytes at once: the parity of a bit is the exclusive or of
// all bits below it.
#include "runtime/csv/rows.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weld::runtime {

namespace {

constexpr std::size_t kBlock = 64;

/// Bit i: text[i] is `c`.
std::uint64_t mask_of(const char* text, char c) {
    std::uint64_t mask = 0;
#if defined(__x86_64__)
    const __m128i wanted = _mm_set1_epi8(c);
    for (std::size_t i = 0; i < kBlock; i += sizeof wanted) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + i));
        mask |= std::uint64_t(std::uint32_t(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)))) << i;
    }
#else
    for (std::size_t i = 0; i < kBlock; ++i) mask |= std::uint64_t(text[i] == c) << i;
#endif
    return mask;
}

/// Bit i: whether an odd number of bits up to i is set.
std::uint64_t parities(std::uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
}

/// Ends of lines at `at` + the bits of `ends`: rows begin behind them.
void add(RowScan::Rows& rows, std::size_t at, std::uint64_t ends) {
    if (!ends) return;
    if (rows.count == 0) rows.first = at + std::size_t(std::countr_zero(ends)) + 1;
    rows.count += std::popcount(ends);
}

}  // namespace

RowScan scan_rows(const CsvText& csv, std::size_t begin, std::size_t end) {
    RowScan found;
    const char* text = csv.text().data();
    const auto one = [&](std::size_t at) {
        found.odd_quotes ^= text[at] == '"';
        if (text[at] != '\n' || at + 1 >= end || (!csv.has_empty_rows() && csv.is_end(at + 1))) return;
        add(found.odd_quotes ? found.within : found.outside, at, 1);
    };
    if (text[begin - 1] == '\n') one(begin - 1);
    std::size_t at = begin;
    for (; at + kBlock + 1 <= end && at + kBlock + 2 <= csv.size(); at += kBlock) {
        const std::uint64_t quotes = mask_of(text + at, '"');
        std::uint64_t ends = mask_of(text + at, '\n');
        if (!csv.has_empty_rows() && ends)  // an end of a line follows
            ends &= ~(mask_of(text + at + 1, '\n') |
                      (mask_of(text + at + 1, '\r') & mask_of(text + at + 2, '\n')));
        const std::uint64_t odd =
            (quotes ? parities(quotes) : 0) ^ (found.odd_quotes ? ~std::uint64_t(0) : 0);
        add(found.outside, at, ends & ~odd);
        add(found.within, at, ends & odd);
        found.odd_quotes = odd >> 63;
    }
    for (; at < end; ++at) one(at);
    return found;
}

}  // namespace weld::runtime
