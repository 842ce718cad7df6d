// Strings: which of them contain a text, or a match of a regular expression.
//
// Strings are `{offsets, bytes}`, string i being bytes [offsets[i], offsets[i + 1]), or a vector of vectors
// of i8. Offsets that descend or lie outside of the bytes are a failure, as is a pattern that RE2 does not
// take; texts and patterns are bytes, and patterns see them as UTF-8. Results depend on nothing but the
// arguments.
//
// With offsets, the bytes are scanned as one text for two in a row that something may begin with
// (byte_scan.h); only these places are mapped to strings and looked at. So the cost is that of reading
// memory, unless there are many such places.
#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "runtime/kernels/byte_scan.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/search_dfa.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"
#include "runtime/poison.h"

namespace weld::runtime {

namespace {

using Byte = std::uint8_t;

// ---- what is looked for
//
// A finder says whether a text holds what is looked for: `search`. If it has a `scan`, that marks all places
// where it may begin, and `check` looks at one of them: is it there, or where may the next one be. Both give
// up when the run is to stop; that isn't looked at in texts up to kLongText. In texts of up to `kShort` bytes it
// takes less to search than to begin a scan.

constexpr std::ptrdiff_t kLongText = 1 << 20;

/// What may be read behind a text: up to the end of the page, that is there whole.
const Byte* readable_behind(const Byte* end) {
#if defined(WELD_POISONING) || defined(__SANITIZE_THREAD__)
    return end;
#else
    constexpr std::uintptr_t kPage = 4096;
    return end + (-reinterpret_cast<std::uintptr_t>(end) & (kPage - 1));
#endif
}

/// See short_text_holds.
bool holds(const Byte* begin, const Byte* end, std::string_view what) {
    return short_text_holds({reinterpret_cast<const char*>(begin), std::size_t(end - begin)}, what,
                            reinterpret_cast<const char*>(readable_behind(end)));
}

/// Every text has it, or none.
struct Always {
    static constexpr std::size_t kShort = 0;
    bool found;
    static constexpr const PairScan* scan() { return nullptr; }
    bool search(const Task*, const Byte*, const Byte*) const { return found; }
    bool check(const Task*, const Byte*, const Byte*, const Byte**) const { return found; }
};

/// A text that is not empty.
class Needle {
  public:
    static constexpr std::size_t kShort = 256;
    explicit Needle(std::string_view text) : text_(text), scan_(Byte(text[0]), second(text)) {}

    const PairScan* scan() const { return &scan_; }
    bool search(const Task* task, const Byte* begin, const Byte* end) const {
        const std::ptrdiff_t size = std::ptrdiff_t(text_.size()), piece = std::max(kLongText, 4 * size);
        for (; end - begin > piece; begin += piece - (size - 1))
            if (task->should_stop() || is_in(begin, begin + piece)) return !task->should_stop();
        return is_in(begin, end);
    }
    bool check(const Task* task, const Byte* at, const Byte* end, const Byte** next) const {
        *next = at + 1;
        if (std::size_t(end - at) < text_.size()) return false;
        if (text_.size() <= 2) return true;  // marked for both bytes
        if (std::memcmp(at, text_.data(), std::min(text_.size(), kCompared)) != 0) return false;
        if (text_.size() <= kCompared) return true;
        *next = end;  // comparing long texts at place after place could take their product; memmem does not
        return search(task, at, end);
    }

  private:
    bool is_in(const Byte* begin, const Byte* end) const {
        const auto size = std::size_t(end - begin);
        if (size <= kShort) return holds(begin, end, text_);
        return size >= text_.size() && memmem(begin, size, text_.data(), text_.size()) != nullptr;
    }

    static constexpr std::size_t kCompared = 64;
    static std::optional<Byte> second(std::string_view text) {
        return text.size() > 1 ? std::optional(Byte(text[1])) : std::nullopt;
    }

    std::string_view text_;
    PairScan scan_;
};

/// A match of a plain pattern.
class Automaton {
  public:
    static constexpr std::size_t kShort = 16;
    explicit Automaton(SearchDfa dfa) : dfa_(std::move(dfa)) {
        const ByteSet first = dfa_.first_bytes(), second = dfa_.second_bytes();
        const std::size_t pairs = first.count() * second.count();
        if (pairs > 0 && pairs <= kMostPairs) scan_.emplace(first, second);
    }

    const PairScan* scan() const { return scan_ ? &*scan_ : nullptr; }
    bool search(const Task* task, const Byte* begin, const Byte* end) const {
        for (const Byte* next = begin; next < end;) {
            if (next - begin > kLongText) {
                if (task->should_stop()) return false;
                begin = next;
            }
            if (check(task, next, end, &next)) return true;
        }
        return false;
    }
    bool check(const Task* task, const Byte* at, const Byte* end, const Byte** next) const {
        std::uint8_t state = SearchDfa::kStart;
        do {
            state = dfa_.follow(state, at, end - at > kLongText ? at + kLongText : end);
        } while (state > SearchDfa::kAccept && at < end && !task->should_stop());
        *next = at;
        return state == SearchDfa::kAccept;
    }

  private:
    static constexpr std::size_t kMostPairs = 65536 / 16;  // more of them are no help

    SearchDfa dfa_;
    std::optional<PairScan> scan_;
};

/// A match of any pattern. RE2 is not to be stopped: it goes through a text at once.
struct Regex {
    static constexpr std::size_t kShort = 0;
    const RE2& pattern;
    static constexpr const PairScan* scan() { return nullptr; }
    bool search(const Task*, const Byte* begin, const Byte* end) const {
        const auto size = std::size_t(end - begin);
        const re2::StringPiece text(reinterpret_cast<const char*>(begin), size);
        return pattern.Match(text, 0, size, RE2::UNANCHORED, nullptr, 0);
    }
    bool check(const Task* task, const Byte* at, const Byte* end, const Byte**) const {
        return search(task, at, end);
    }
};

/// Calls `use` with a finder of `text`.
template <class F>
std::int32_t with_needle(std::string_view text, const F& use) {
    return text.empty() ? use(Always{true}) : use(Needle(text));
}

/// Calls `use` with a finder of matches of `pattern`; fails if it is none.
template <class F>
std::int32_t with_pattern(Task* task, std::string_view pattern, std::int32_t loc, const F& use) {
    RE2::Options options;
    options.set_log_errors(false);
    const RE2 re(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (!re.ok())
        return task->fail(kWeldKernelError, loc,
                          fmt::format("a regular expression is wrong: {}", re.error()));
    std::optional<SearchDfa> dfa = SearchDfa::make(pattern);
    if (!dfa) return use(Regex{re});
    return dfa->matches_empty() ? use(Always{true}) : use(Automaton(std::move(*dfa)));
}

// ---- where it is looked for

/// Calls `candidate(place)` for the marked places in [begin, end), in order, until it gives true or the run
/// is to stop. Bytes up to `readable` may be read.
template <class F>
bool any_candidate(const Task* task, const PairScan& scan, const Byte* begin, const Byte* end,
                   const Byte* readable, const F& candidate) {
    constexpr std::size_t kBlock = PairScan::kBlock, kBlocks = 32;
    std::uint64_t marks[kBlocks];
    while (begin < end && !task->should_stop()) {
        const auto left = std::size_t(end - begin), can_read = std::size_t(readable - begin);
        const std::size_t blocks = std::min(kBlocks, (left + kBlock - 1) / kBlock);
        const std::size_t whole = std::min(blocks, (can_read - 1) / kBlock);
        std::uint64_t marked = scan.mark(begin, whole, marks);
        if (whole < blocks) {
            Byte rest[kBlock + 1] = {};
            std::memcpy(rest, begin + whole * kBlock, can_read - whole * kBlock);
            marked |= scan.mark(rest, 1, marks + whole) << whole;
        }
        if (blocks * kBlock > left) marks[blocks - 1] &= ~std::uint64_t(0) >> (blocks * kBlock - left);
        for (; marked; marked &= marked - 1) {
            const auto b = std::size_t(std::countr_zero(marked));
            for (std::uint64_t bits = marks[b]; bits; bits &= bits - 1)
                if (candidate(begin + b * kBlock + std::size_t(std::countr_zero(bits)))) return true;
        }
        begin += std::min(left, blocks * kBlock);
    }
    return false;
}

template <class Finder>
bool found_in(const Task* task, const Finder& finder, const WeldVec& text) {
    const Byte *begin = static_cast<const Byte*>(text.data), *end = begin + text.len, *next = begin;
    const PairScan* scan = finder.scan();
    if (!scan || std::size_t(text.len) <= Finder::kShort) return finder.search(task, begin, end);
    return any_candidate(task, *scan, begin, end, readable_behind(end),
                         [&](const Byte* at) { return at >= next && finder.check(task, at, end, &next); });
}

struct Flat {
    WeldVec offsets, bytes;

    std::int64_t size() const { return std::max<std::int64_t>(0, offsets.len - 1); }
    const std::int64_t* ends() const { return static_cast<const std::int64_t*>(offsets.data); }
    const Byte* text() const { return static_cast<const Byte*>(bytes.data); }
};

/// Fails unless strings [lo, hi) lie in the bytes.
std::int32_t check_offsets(Task* task, const Flat& s, std::int64_t lo, std::int64_t hi, std::int32_t loc) {
    const std::int64_t* at = s.ends();
    if (ascends(at + lo, std::size_t(hi - lo)) && at[hi] <= s.bytes.len) return kOk;
    std::string what;
    for (std::int64_t i = lo; i <= hi && what.empty(); ++i) {
        if (at[i] < 0) what = "it is negative";
        else if (i > lo && at[i] < at[i - 1]) what = fmt::format("the one before is {}", at[i - 1]);
        else if (at[i] > s.bytes.len) what = fmt::format("there are {} bytes", s.bytes.len);
        if (!what.empty()) what = fmt::format("offset {} of strings is {}, and {}", i, at[i], what);
    }
    return task->fail(kWeldKernelError, loc, what);
}

/// The string of [i, hi) that byte `where` is in. Places ascend, and few are there: most strings are skipped
/// by 64, and a count of the others takes no jump that is hard to foretell.
std::int64_t string_at(const std::int64_t* at, std::int64_t i, std::int64_t hi, std::int64_t where) {
    const auto skip = [&](auto each, int most) {
        std::int64_t skipped = 0;
        for (int k = 1; k <= most; ++k) skipped += at[i + k * each] <= where ? each : 0;
        i += skipped;
    };
    while (i + 64 <= hi && at[i + 64] <= where) i += 64;
    if (i + 64 <= hi) {
        skip(std::integral_constant<std::int64_t, 8>(), 7);
        skip(std::integral_constant<std::int64_t, 1>(), 7);
    } else {
        while (i + 1 < hi && at[i + 1] <= where) ++i;
    }
    return i;
}

/// Sets found[i] for the strings in [lo, hi), whose offsets are right.
template <class Finder>
void find_in(const Task* task, const Finder& finder, const Flat& s, std::int64_t lo, std::int64_t hi,
             bool* found) {
    const std::int64_t* at = s.ends();
    const Byte* text = s.text();
    const PairScan* scan = finder.scan();
    if (!scan) {
        for (std::int64_t i = lo; i < hi; ++i) found[i] = finder.search(task, text + at[i], text + at[i + 1]);
        return;
    }
    std::memset(found + lo, 0, std::size_t(hi - lo));
    std::int64_t i = lo;
    const Byte* next = text;
    any_candidate(task, *scan, text + at[lo], text + at[hi], text + s.bytes.len, [&](const Byte* place) {
        if (place < next) return false;
        const std::int64_t where = place - text;
        i = string_at(at, i, hi, where);
        const Byte* end = text + at[i + 1];
        found[i] = finder.check(task, place, end, &next);
        if (found[i]) next = end;
        return false;
    });
}

/// Calls `work(task, lo, hi)` for parts of n strings with `bytes` bytes together.
template <class F>
std::int32_t in_parts(Task* task, std::int64_t n, std::int64_t bytes, std::int32_t loc, const F& work) {
    constexpr std::int64_t kPart = 1 << 19;
    if (n == 0) return kOk;
    const std::int64_t each = std::clamp<std::int64_t>(kPart / (bytes / n + 8), 1, n);
    return run_parts(task, (n + each - 1) / each, true, loc, [&](Task* t, int, std::int64_t part) {
        return work(t, part * each, std::min(n, (part + 1) * each));
    });
}

template <class Finder>
std::int32_t find_flat(Task* task, const Finder& finder, const Flat& s, WeldVec* result, std::int32_t loc) {
    const std::int64_t n = s.size();
    bool* found = allocate_array<bool>(task, n, loc);
    if (!found) return kFailed;
    *result = {found, n};
    return in_parts(task, n, s.bytes.len, loc,
                    [&](Task* t, std::int64_t lo, std::int64_t hi) -> std::int32_t {
                        // offsets that were checked are still in the cache when strings are looked for
                        const std::int64_t step = std::max<std::int64_t>(1, (hi - lo) / 128);
                        for (std::int64_t end; lo < hi; lo = end) {
                            end = std::min(hi, lo + step);
                            if (check_offsets(t, s, lo, end, loc)) return kFailed;
                            find_in(t, finder, s, lo, end, found);
                        }
                        return t->check_stop(loc);
                    });
}

template <class Finder>
std::int32_t find_nested(Task* task, const Finder& finder, const WeldVec& strings, WeldVec* result,
                         std::int32_t loc) {
    const std::int64_t n = strings.len;
    bool* found = allocate_array<bool>(task, n, loc);
    if (!found) return kFailed;
    *result = {found, n};
    const auto* texts = static_cast<const WeldVec*>(strings.data);
    std::int64_t bytes = 0;
    const auto count = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) bytes += texts[i].len;
    };
    if (in_strips(task, 0, n, loc, count)) return kFailed;
    return in_parts(task, n, bytes, loc, [&](Task* t, std::int64_t lo, std::int64_t hi) -> std::int32_t {
        for (std::int64_t i = lo; i < hi; ++i) found[i] = found_in(t, finder, texts[i]);
        return t->check_stop(loc);
    });
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_contains_flat) {
    return with_needle(text_of(argument<WeldVec>(call, 1)), [&](const auto& finder) {
        return find_flat(task, finder, argument<Flat>(call, 0), static_cast<WeldVec*>(result), call->loc);
    });
}

WELD_KERNEL_BODY(weld_kernel_contains_nested) {
    return with_needle(text_of(argument<WeldVec>(call, 1)), [&](const auto& finder) {
        return find_nested(task, finder, argument<WeldVec>(call, 0), static_cast<WeldVec*>(result),
                           call->loc);
    });
}

WELD_KERNEL_BODY(weld_kernel_contains) {
    const auto& text = argument<WeldVec>(call, 0);
    const std::string_view what = text_of(argument<WeldVec>(call, 1));
    auto& found = *static_cast<bool*>(result);
    if (!what.empty() && std::size_t(text.len) <= Needle::kShort) {
        const auto* begin = static_cast<const Byte*>(text.data);
        found = holds(begin, begin + text.len, what);
        return kOk;
    }
    return with_needle(what, [&](const auto& finder) {
        found = found_in(task, finder, text);
        return task->check_stop(call->loc);
    });
}

WELD_KERNEL_BODY(weld_kernel_matches_flat) {
    return with_pattern(task, text_of(argument<WeldVec>(call, 1)), call->loc, [&](const auto& finder) {
        return find_flat(task, finder, argument<Flat>(call, 0), static_cast<WeldVec*>(result), call->loc);
    });
}

WELD_KERNEL_BODY(weld_kernel_matches_nested) {
    return with_pattern(task, text_of(argument<WeldVec>(call, 1)), call->loc, [&](const auto& finder) {
        return find_nested(task, finder, argument<WeldVec>(call, 0), static_cast<WeldVec*>(result),
                           call->loc);
    });
}
