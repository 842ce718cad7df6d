// A small automaton that says whether a text contains a match of a regular expression.
//
// It exists for speed alone: RE2 decides what a pattern means, and stays in charge of every pattern that is
// not plain (see `make`). Calling RE2 takes some 100 ns; this is looked at as soon as two bytes could begin
// a match, which may be every few bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/kernels/byte_scan.h"

namespace weld::runtime {

class SearchDfa {
  public:
    /// The automaton of a pattern that RE2 accepts, as UTF-8; nothing if the pattern has assertions, flags,
    /// classes with letters beyond ASCII, or more parts or states than is worthwhile.
    static std::optional<SearchDfa> make(std::string_view pattern);

    static constexpr std::uint8_t kStart = 0;   ///< no match has begun
    static constexpr std::uint8_t kAccept = 1;  ///< a match was seen

    bool matches_empty() const { return matches_empty_; }
    std::uint8_t next(std::uint8_t state, std::uint8_t byte) const { return next_[state][byte]; }

    /// Goes on from `at` until a match ends, or the text, or no match is under way; gives the state. Moves
    /// `at` behind the last byte that it has seen.
    std::uint8_t follow(std::uint8_t state, const std::uint8_t*& at, const std::uint8_t* end) const {
        while (at < end) {
            state = next_[state][*at++];
            if (state <= kAccept) break;
        }
        return state;
    }

    /// The bytes that a match may begin with, and those that may come next if a match has two bytes or more;
    /// all bytes if it may have only one.
    ByteSet first_bytes() const;
    ByteSet second_bytes() const;

  private:
    SearchDfa() = default;

    std::vector<std::array<std::uint8_t, 256>> next_;
    bool matches_empty_ = false;
};

}  // namespace weld::runtime
