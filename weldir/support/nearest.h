// "Did you mean": the known name that a misspelt one is closest to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace weld {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`; `limit + 1` if more
/// than `limit`.
inline std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
    if (a.size() > b.size()) std::swap(a, b);
    if (b.size() - a.size() > limit) return limit + 1;
    std::vector<std::size_t> before(a.size() + 1), above(a.size() + 1), row(a.size() + 1);
    for (std::size_t i = 0; i <= a.size(); ++i) above[i] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
        row[0] = j;
        for (std::size_t i = 1; i <= a.size(); ++i) {
            row[i] = std::min({above[i] + 1, row[i - 1] + 1, above[i - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[i] = std::min(row[i], before[i - 2] + 1);
        }
        before.swap(above);
        above.swap(row);
    }
    return std::min(above[a.size()], limit + 1);
}

/// Looks for the candidate nearest to `name`; the first of equally near ones. Offer candidates with
/// `consider`.
class Nearest {
  public:
    explicit Nearest(std::string_view name)
        : name_(name), distance_(std::max<std::size_t>(name.size() / 3, 1) + 1) {}

    void consider(std::string_view candidate) {
        if (name_.size() > kLongest || candidate.empty() || distance_ == 0) return;
        const std::size_t distance = edit_distance(name_, candidate, distance_ - 1);
        if (distance >= distance_ || distance >= candidate.size() || distance >= name_.size()) return;
        distance_ = distance;
        best_ = candidate;
    }
    /// Empty if none is near.
    std::string_view best() const { return best_; }

  private:
    static constexpr std::size_t kLongest = 64;  // longer names are not worth the time
    std::string_view name_;
    std::size_t distance_;  // of the best so far: a better one must be below
    std::string_view best_;
};

}  // namespace weld
