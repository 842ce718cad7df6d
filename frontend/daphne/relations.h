// Relations as nodes of the graph: what SQL and the built-in functions of frames are made of.
#pragma once

#include <string>
#include <vector>

#include "frontend/daphne/check.h"

namespace weld::daphne {

/// What a call of the built-in function `name` gives first; null after an error.
Value* call_of(Checker& checker, std::string_view name, std::vector<Value*> args, Loc loc);

/// A column of a frame as a matrix.
Value* column_of(Checker& checker, Value* frame, std::size_t i, Loc loc);
std::vector<Value*> columns_of(Checker& checker, Value* frame, Loc loc);
/// The frame with other labels.
Value* relabelled(Checker& checker, Value* frame, const std::vector<std::string>& labels, Loc loc);
/// `table.label` for each label, whatever stood before the dot.
std::vector<std::string> prefixed(const Value* frame, std::string_view table);
/// The rows for which a column of truth values says so.
Value* filtered(Checker& checker, Value* frame, Value* bits, Loc loc);
/// Of cells of which there are keys, both sides as the more general type; false after an error.
bool match_types(Checker& checker, Value*& left, Value*& right, Loc loc);
/// The rows without a partner that a join keeps. What is missing beside them is NaN, 0, or an empty string.
enum class Unmatched { None, Left, Both };
/// Rows of `lhs` with rows of `rhs` where the keys are equal, in the order of the left ones, then of the
/// right ones; then the right ones without a partner, if these are kept.
Value* joined(Checker& checker, Value* lhs, Value* rhs, const std::vector<Value*>& left,
              const std::vector<Value*>& right, Loc loc, Unmatched kept = Unmatched::None);
/// Whether each left key occurs among the right ones: a column of truth values.
Value* members(Checker& checker, const std::vector<Value*>& left, const std::vector<Value*>& right, Loc loc);

/// A column of a grouping: `what` of the cells in each group.
struct Aggregated {
    enum What : char { Sum = '+', Count = '#', Mean = '/', Min = '<', Max = '>' };
    What what;
    Value* column;
    std::string label;
};
/// One row for each key that occurs, ascending: keys, then what is aggregated.
Value* grouped(Checker& checker, const std::vector<Value*>& keys, const std::vector<std::string>& labels,
               const std::vector<Aggregated>& aggregated, Loc loc);
/// The column as the type that is aggregated; null after an error.
Value* as_aggregated(Checker& checker, Aggregated::What what, Value* column, Loc loc);
/// The first (`Min`) or last (`Max`) of the strings in a column; an empty one if there are none.
Value* extreme_text(Checker& checker, Aggregated::What what, Value* column, Loc loc);

}  // namespace weld::daphne
