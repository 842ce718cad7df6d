// Bytes that several may hold: parts of a file that was read, or a string.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weld {

/// What the bytes lie in lives as long as somebody holds a part of it.
class SharedBytes {
  public:
    SharedBytes() = default;
    explicit SharedBytes(std::string own) {
        const auto all = std::make_shared<const std::string>(std::move(own));
        *this = {all, *all};
    }
    /// `bytes` lie in what `owner` holds.
    SharedBytes(std::shared_ptr<const void> owner, std::string_view bytes)
        : owner_(std::move(owner)), bytes_(bytes) {}

    /// `part` of these bytes.
    SharedBytes part(std::string_view part) const { return {owner_, part}; }
    operator std::string_view() const { return bytes_; }

  private:
    std::shared_ptr<const void> owner_;
    std::string_view bytes_;
};

}  // namespace weld
