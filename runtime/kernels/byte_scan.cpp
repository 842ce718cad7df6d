// Scanning for pairs of bytes: one loop, compiled for each instruction set.
//
// A byte c is in a range if c - low <= width, all unsigned. A place is marked if its byte is in a range of
// the first set and the next byte, loaded at text + 1, in one of the second.
#include "runtime/kernels/byte_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/abi/processor.h"

namespace weld::runtime {

ByteRanges ByteRanges::covering(const ByteSet& set) {
    std::vector<std::pair<int, int>> ranges;
    for (int c = 0; c < 256; ++c) {
        if (!set[std::size_t(c)]) continue;
        if (!ranges.empty() && ranges.back().second == c - 1) ranges.back().second = c;
        else ranges.emplace_back(c, c);
    }
    auto gap = [&](std::size_t i) { return ranges[i + 1].first - ranges[i].second; };
    while (ranges.size() > kMost) {
        std::size_t closest = 0;
        for (std::size_t i = 1; i + 1 < ranges.size(); ++i)
            if (gap(i) < gap(closest)) closest = i;
        ranges[closest].second = ranges[closest + 1].second;
        ranges.erase(ranges.begin() + std::ptrdiff_t(closest) + 1);
    }
    ByteRanges all;
    for (std::size_t i = 0; i < kMost; ++i) {
        const auto [low, high] = ranges[i < ranges.size() ? i : 0];
        all.low[i] = std::uint8_t(low);
        all.width[i] = std::uint8_t(high - low);
    }
    return all;
}

namespace {

constexpr std::size_t kBlock = PairScan::kBlock;
/// What is read is asked for so many bytes before: memory works on while places are looked at. Where the processor does
/// that by itself, what is asked for is there (`contains` takes 0.8 of the time so on a Zen 4).
const std::size_t kAhead = follows_streams() ? 0 : 4096;

/// The sign of a number or of a step between two that are not negative, which cannot overflow.
[[gnu::always_inline]] inline bool ascends_loop(const std::int64_t* offsets, std::size_t count) {
    std::uint64_t signs = std::uint64_t(offsets[count]);
    const auto step = [&](std::size_t i) {
        return std::uint64_t(offsets[i]) | (std::uint64_t(offsets[i + 1]) - std::uint64_t(offsets[i]));
    };
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        for (std::size_t line = 0; line < 32; line += 8) __builtin_prefetch(offsets + i + line + kAhead / 8);
        for (std::size_t k = 0; k < 32; ++k) signs |= step(i + k);
    }
    for (; i < count; ++i) signs |= step(i);
    return std::int64_t(signs) >= 0;
}
bool plain_ascends(const std::int64_t* offsets, std::size_t count) { return ascends_loop(offsets, count); }

/// One byte after the other, for machines of which nothing is known.
template <int Ranges>
std::uint64_t plain_scan(const ByteRanges& first, const ByteRanges& second, const std::uint8_t* text,
                         std::size_t blocks, std::uint64_t* marks) {
    auto in = [](const ByteRanges& r, std::uint8_t c) {
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < Ranges; ++i) any |= std::uint8_t(c - r.low[i]) <= r.width[i];
        return any;
    };
    std::uint64_t marked = 0;
    for (std::size_t block = 0; block < blocks; ++block, text += kBlock) {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < kBlock; ++i) bits |= (in(first, text[i]) & in(second, text[i + 1])) << i;
        marks[block] = bits;
        marked |= std::uint64_t(bits != 0) << block;
    }
    return marked;
}

#if defined(__x86_64__)

// Vectors of an instruction set: `in` gives a bit for each byte of V that is in [low, low + width].
#define WELD_SCAN(name, isa, V, bytes, load, broadcast, in)                                            \
    template <int Ranges>                                                                              \
    __attribute__((target(isa))) std::uint64_t name(const ByteRanges& first, const ByteRanges& second, \
                                                    const std::uint8_t* text, std::size_t blocks,      \
                                                    std::uint64_t* marks) {                            \
        V low[2][Ranges], width[2][Ranges];                                                            \
        std::uint64_t marked = 0;                                                                      \
        for (std::size_t r = 0; r < Ranges; ++r) {                                                     \
            low[0][r] = broadcast(char(first.low[r]));                                                 \
            width[0][r] = broadcast(char(first.width[r]));                                             \
            low[1][r] = broadcast(char(second.low[r]));                                                \
            width[1][r] = broadcast(char(second.width[r]));                                            \
        }                                                                                              \
        for (std::size_t block = 0; block < blocks; ++block, text += kBlock) {                         \
            std::uint64_t bits = 0;                                                                    \
            for (std::size_t part = 0; part < kBlock / (bytes); ++part) {                              \
                std::uint64_t pair[2] = {0, 0};                                                        \
                for (std::size_t k = 0; k < 2; ++k) {                                                  \
                    const V x = load(reinterpret_cast<const V*>(text + part * (bytes) + k));           \
                    for (std::size_t r = 0; r < Ranges; ++r) pair[k] |= in(x, low[k][r], width[k][r]); \
                }                                                                                      \
                bits |= (pair[0] & pair[1]) << (part * (bytes) % kBlock);                              \
            }                                                                                          \
            marks[block] = bits;                                                                       \
            marked |= std::uint64_t(bits != 0) << block;                                               \
            __builtin_prefetch(text + kAhead);                                                         \
        }                                                                                              \
        return marked;                                                                                 \
    }

#define WELD_IN_SSE2(x, low, width) \
    std::uint32_t(                  \
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(_mm_sub_epi8(x, low), width), _mm_sub_epi8(x, low))))
#define WELD_IN_AVX2(x, low, width)     \
    std::uint32_t(_mm256_movemask_epi8( \
        _mm256_cmpeq_epi8(_mm256_min_epu8(_mm256_sub_epi8(x, low), width), _mm256_sub_epi8(x, low))))
#define WELD_IN_AVX512(x, low, width) std::uint64_t(_mm512_cmple_epu8_mask(_mm512_sub_epi8(x, low), width))

WELD_SCAN(sse2_scan, "sse2", __m128i, 16, _mm_loadu_si128, _mm_set1_epi8, WELD_IN_SSE2)
WELD_SCAN(avx2_scan, "avx2", __m256i, 32, _mm256_loadu_si256, _mm256_set1_epi8, WELD_IN_AVX2)
WELD_SCAN(avx512_scan, "avx512f,avx512bw", __m512i, 64, _mm512_loadu_si512, _mm512_set1_epi8, WELD_IN_AVX512)

__attribute__((target("avx2"))) bool avx2_ascends(const std::int64_t* offsets, std::size_t count) {
    return ascends_loop(offsets, count);
}
__attribute__((target("avx512f"))) bool avx512_ascends(const std::int64_t* offsets, std::size_t count) {
    return ascends_loop(offsets, count);
}

#endif

}  // namespace

std::span<const ScanForms> scan_forms() {
    static const std::vector<ScanForms> all = [] {
        constexpr int kMost = ByteRanges::kMost;
        std::vector<ScanForms> found;
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512bw"))
            found.push_back({"avx512", avx512_scan<1>, avx512_scan<kMost>, avx512_ascends});
        if (__builtin_cpu_supports("avx2"))
            found.push_back({"avx2", avx2_scan<1>, avx2_scan<kMost>, avx2_ascends});
        found.push_back({"sse2", sse2_scan<1>, sse2_scan<kMost>, plain_ascends});
#endif
        found.push_back({"plain", plain_scan<1>, plain_scan<kMost>, plain_ascends});
        return found;
    }();
    return all;
}

PairScan::PairScan(const ByteSet& first, const ByteSet& second, const ScanForms& forms)
    : first_(ByteRanges::covering(first)), second_(ByteRanges::covering(second)) {
    auto is_one = [](const ByteRanges& r) {
        for (std::size_t i = 1; i < ByteRanges::kMost; ++i)
            if (r.low[i] != r.low[0] || r.width[i] != r.width[0]) return false;
        return true;
    };
    run_ = is_one(first_) && is_one(second_) ? forms.one : forms.all;
}

PairScan::PairScan(std::uint8_t first, std::optional<std::uint8_t> second) : run_(scan_forms()[0].one) {
    first_.low.fill(first);
    second_.low.fill(second.value_or(0));
    second_.width.fill(second ? 0 : 255);
}

#if defined(__x86_64__)

constexpr std::size_t kPlaces = 16;  // of a text, looked at together

/// The places among those from `at` on, of which there are `left`, where the first and the last byte of a text of `size`
/// bytes are.
static std::uint32_t ends_at(const char* at, std::size_t left, std::size_t size, __m128i first,
                             __m128i last) {
    const auto are = [](const char* from, __m128i byte) {
        return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), byte);
    };
    const auto places = std::uint32_t(_mm_movemask_epi8(are(at, first) & are(at + size - 1, last)));
    return places & ((1U << std::min(left, kPlaces)) - 1);
}

/// `what` is at one of the `left` places from `at` on. By itself: what is called here would keep vectors in memory there.
[[gnu::noinline]] static bool holds_from(const char* at, std::size_t left, std::string_view what) {
    const __m128i first = _mm_set1_epi8(what.front()), last = _mm_set1_epi8(what.back());
    for (;; at += kPlaces, left -= kPlaces) {
        for (auto places = ends_at(at, left, what.size(), first, last); places; places &= places - 1)
            if (std::memcmp(at + std::countr_zero(places), what.data(), what.size()) == 0) return true;
        if (left <= kPlaces) return false;
    }
}

#endif

bool short_text_holds(std::string_view text, std::string_view what, [[maybe_unused]] const char* readable) {
    const std::size_t size = what.size();
    if (text.size() < size) return false;
#if defined(__x86_64__)
    if (readable - (text.data() + text.size()) >= std::ptrdiff_t(kPlaces)) {
        const __m128i first = _mm_set1_epi8(what.front()), last = _mm_set1_epi8(what.back());
        const char* at = text.data();
        for (std::size_t left = text.size() - size + 1;; at += kPlaces, left -= kPlaces) {
            if (ends_at(at, left, size, first, last)) return holds_from(at, left, what);
            if (left <= kPlaces) return false;
        }
    }
#endif
    return text.find(what) != text.npos;
}

}  // namespace weld::runtime
