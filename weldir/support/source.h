// Program texts, and places in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weld {

/// A place in one of the texts of a `Sources`; 0 is "no place" (a node that a pass made).
struct Loc {
    std::uint32_t offset = 0;
    explicit operator bool() const { return offset != 0; }
    friend bool operator==(Loc, Loc) = default;
    friend auto operator<=>(Loc, Loc) = default;
};

inline constexpr std::size_t kLongestText = std::size_t(1) << 30;  ///< places are 32 bits wide

/// A place as people read it. Line and column count from 1; a column is a code point (an invalid byte
/// and a tab are one each).
struct Position {
    std::string_view file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

/// The texts that a program came from. Append-only; texts never move, so views of them stay good.
class Sources {
  public:
    Sources();
    Sources(Sources&&) noexcept;
    Sources& operator=(Sources&&) noexcept;
    ~Sources();

    /// Adds a text; the Loc of byte `i` of it is `{result.offset + i}` (one past the end is valid too).
    /// `internal` texts (standard macros) are never shown to users.
    /// A byte order mark is no part of the text. Total text is limited to 2 GiB: the caller rejects more.
    Loc add(std::string name, std::string text, bool internal = false);

    bool internal(Loc loc) const;
    std::string_view text(Loc loc) const;  ///< the whole text that `loc` lies in
    Position position(Loc loc) const;      ///< {"", 0, 0} for no place
    std::string_view line(Loc loc) const;  ///< the line of `loc`, without its end

  private:
    struct File;
    const File* file_of(Loc loc) const;
    std::vector<std::unique_ptr<File>> files_;
    std::uint32_t next_ = 1;
};

}  // namespace weld
