// What aggregates of dense and sparse matrices have in common: texts.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weld::daphne {

/// The sum of what `data` (text after `for(`) has, or of what `cell` says of each element `a`.
std::string total(std::string_view data, std::string_view t, std::string_view cell = "a");
/// The same in text: sums are made as `sum` says, in the place of `total`.
using Sum = std::function<std::string(std::string_view data, std::string_view t, std::string_view cell)>;

/// What `kind` gives of the cells that `data` (text after `for(`) has, of which there are `count`,
/// the first one `first`.
std::string folded(std::string_view kind, std::string_view data, std::string_view first,
                   std::string_view count, std::string_view t, const Sum& sum = total);

/// Where cells go when columns are aggregated, or groups of rows: how many bins there are, that of cell `k`,
/// and how many cells come to bin `p`.
struct Bins {
    std::string_view size, of_cell, count;
};
/// Lets that end with `cells`: what `kind` gives of the cells `x.$0` that go to each bin.
std::string into_bins(std::string_view kind, std::string_view t, const Bins& bins);

}  // namespace weld::daphne
