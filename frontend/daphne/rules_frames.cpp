// Relational built-in functions: made of the operations in relations.h.
#include <algorithm>

#include "frontend/daphne/fold.h"
#include "frontend/daphne/relations.h"
#include "frontend/daphne/rules.h"
#include "frontend/daphne/sql.h"

namespace weld::daphne {

/// The number of the column that argument `i` names.
static std::optional<std::size_t> column_named(Call& c, const Value* frame, std::size_t i) {
    const auto label = c.known_text(i);
    if (!label) return std::nullopt;
    const auto at = std::ranges::find(frame->type.columns, *label, &Column::label);
    if (at != frame->type.columns.end()) return std::size_t(at - frame->type.columns.begin());
    c.wrong(i, "the frame has no column `{}`", *label);
    return std::nullopt;
}

static bool done(Call& c, std::vector<Value*> results) {
    c.results = std::move(results);
    return std::ranges::find(c.results, nullptr) == c.results.end();
}

// ---- labels

bool rule_set_labels(Call& c) {
    if (c.size() == 0 || !c.want_frame(0))
        return c.size() > 0 ? false : c.wrong(0, "`setColLabels` takes a frame and its labels");
    const std::size_t columns = c[0]->type.columns.size();
    if (c.size() - 1 != columns)
        return c.wrong(0, "{} columns need as many labels, found {}", columns, c.size() - 1);
    std::vector<std::string> labels;
    for (std::size_t i = 1; i < c.size(); ++i) {
        const auto label = c.known_text(i);
        if (!label) return false;
        if (std::ranges::find(labels, *label) != labels.end())
            return c.wrong(i, "a frame cannot have two columns `{}`", *label);
        labels.push_back(*label);
    }
    return done(c, {relabelled(c.checker, c[0], labels, c.loc)});
}

bool rule_prefix_labels(Call& c) {
    if (!c.want_frame(0)) return false;
    const auto prefix = c.known_text(1);
    if (!prefix) return false;
    const std::vector<std::string> labels = prefixed(c[0], *prefix);
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (std::find(labels.begin(), labels.begin() + std::ptrdiff_t(i), labels[i]) !=
            labels.begin() + std::ptrdiff_t(i))
            return c.wrong(0, "a frame cannot have two columns `{}`", labels[i]);
    return done(c, {relabelled(c.checker, c[0], labels, c.loc)});
}

// ---- groups

bool rule_group_sum(Call& c) {
    if (c.size() < 3)
        return c.wrong(0, "`groupSum` takes a frame, labels of keys, and the label of what is summed");
    if (!c.want_frame(0)) return false;
    std::vector<Value*> keys;
    std::vector<std::string> labels;
    for (std::size_t i = 1; i < c.size(); ++i) {
        const auto at = column_named(c, c[0], i);
        if (!at) return false;
        keys.push_back(column_of(c.checker, c[0], *at, c.loc));
        labels.push_back(c[0]->type.columns[*at].label);
    }
    const Aggregated sum{Aggregated::Sum, keys.back(), "SUM(" + labels.back() + ")"};
    keys.pop_back(), labels.pop_back();
    return done(c, {grouped(c.checker, keys, labels, {sum}, c.loc)});
}

// ---- joins

/// The columns that `lhsOn`, `rhsOn` name, as cells of one type.
struct Keys {
    std::size_t left_at, right_at;
    Value *left, *right;
};
static std::optional<Keys> keys_of(Call& c) {
    if (!c.want_frame(0) || !c.want_frame(1)) return std::nullopt;
    const auto left = column_named(c, c[0], 2), right = column_named(c, c[1], 3);
    if (!left || !right || (c.has(4) && c.param(4) == "numRowRes" && !c.want_integer(4))) return std::nullopt;
    Keys keys{*left, *right, column_of(c.checker, c[0], *left, c.loc),
              column_of(c.checker, c[1], *right, c.loc)};
    if (!match_types(c.checker, keys.left, keys.right, c.loc)) return std::nullopt;
    return keys;
}

bool rule_inner_join(Call& c) {
    const auto keys = keys_of(c);
    return keys && done(c, {joined(c.checker, c[0], c[1], {keys->left}, {keys->right}, c.loc)});
}

bool rule_cartesian(Call& c) {
    if (!c.want_frame(0) || !c.want_frame(1)) return false;
    return done(c, {joined(c.checker, c[0], c[1], {}, {}, c.loc)});
}

/// The numbers of the rows for which `bits` say so.
static Value* numbers_of(Call& c, Value* bits, Dim rows) {
    c.args = {bits};
    return c.give(Type::matrix(ValueType::Size), rows, {1, 0});
}

static Value* one_column(Call& c, Value* frame, std::size_t i) {
    return c.checker.make_frame({column_of(c.checker, frame, i, c.loc)}, {frame->type.columns[i].label},
                                c.loc);
}

bool rule_semi_join(Call& c) {
    const auto keys = keys_of(c);
    if (!keys) return false;
    Value* bits = members(c.checker, {keys->left}, {keys->right}, c.loc);
    Value* found = filtered(c.checker, one_column(c, c[0], keys->left_at), bits, c.loc);
    return done(c, {found, numbers_of(c, bits, found->rows)});
}

bool rule_group_join(Call& c) {
    const auto keys = keys_of(c);
    if (!keys) return false;
    const auto sum_at = column_named(c, c[1], 4);
    if (!sum_at) return false;
    const std::string label = "SUM(" + c[1]->type.columns[*sum_at].label + ")";
    Value* sums = grouped(c.checker, {keys->right}, {""},
                          {{Aggregated::Sum, column_of(c.checker, c[1], *sum_at, c.loc), label}}, c.loc);
    if (!sums) return false;
    Value* bits = members(c.checker, {keys->left}, {keys->right}, c.loc);
    Value* both = joined(c.checker, one_column(c, c[0], keys->left_at), sums, {keys->left},
                         {column_of(c.checker, sums, 0, c.loc)}, c.loc);
    if (!both) return false;
    Value* result =
        c.checker.make_frame({column_of(c.checker, both, 0, c.loc), column_of(c.checker, both, 2, c.loc)},
                             {c[0]->type.columns[keys->left_at].label, label}, c.loc);
    return done(c, {result, numbers_of(c, bits, result->rows)});
}

/// Labels of the left keys, then of as many right ones: columns of each side, of the same types.
struct KeyLists {
    std::vector<Value*> left, right;
};
static std::optional<KeyLists> key_lists_of(Call& c) {
    if (c.size() < 4 || c.size() % 2) {
        c.wrong(0, "`{}` takes two frames, labels of the left one and as many of the right one",
                c.builtin.name);
        return std::nullopt;
    }
    if (!c.want_frame(0) || !c.want_frame(1)) return std::nullopt;
    KeyLists keys;
    const std::size_t count = (c.size() - 2) / 2;
    for (std::size_t i = 2; i < 2 + count; ++i) {
        const auto left = column_named(c, c[0], i), right = column_named(c, c[1], i + count);
        if (!left || !right) return std::nullopt;
        keys.left.push_back(column_of(c.checker, c[0], *left, c.loc));
        keys.right.push_back(column_of(c.checker, c[1], *right, c.loc));
        if (!match_types(c.checker, keys.left.back(), keys.right.back(), c.loc)) return std::nullopt;
    }
    return keys;
}

static Value* negated(Call& c, Value* bits) {
    Value* no = c.checker.constant(integer_constant(0, ValueType::Bool), c.loc);
    return c.checker.operate(Operator::Eq, bits, no, c.loc);
}

/// The left rows whose key does not occur on the right.
bool rule_anti_join(Call& c) {
    const auto keys = key_lists_of(c);
    if (!keys) return false;
    Value* bits = members(c.checker, keys->left, keys->right, c.loc);
    return done(c, {filtered(c.checker, c[0], negated(c, bits), c.loc)});
}

bool rule_outer_join(Call& c) {
    const auto keys = key_lists_of(c);
    const Unmatched kept = c.builtin.name == "leftOuterJoin" ? Unmatched::Left : Unmatched::Both;
    return keys && done(c, {joined(c.checker, c[0], c[1], keys->left, keys->right, c.loc, kept)});
}

// ---- sets of rows

static bool want_same_columns(Call& c) {
    if (!c.want_frame(0) || !c.want_frame(1)) return false;
    if (std::ranges::equal(c[0]->type.columns, c[1]->type.columns, {}, &Column::value, &Column::value))
        return true;
    return c.wrong(1, "`{}` takes frames whose columns have the same types", c.builtin.name);
}

static std::vector<std::string> labels_of(const Value* frame) {
    std::vector<std::string> labels;
    for (const Column& one : frame->type.columns) labels.push_back(one.label);
    return labels;
}

static Value* distinct(Call& c, Value* frame) {
    return grouped(c.checker, columns_of(c.checker, frame, c.loc), labels_of(frame), {}, c.loc);
}

/// Rows of both, each once, ascending.
bool rule_merge(Call& c) {
    if (!want_same_columns(c)) return false;
    Value* all =
        call_of(c.checker, "rbind", {c[0], relabelled(c.checker, c[1], labels_of(c[0]), c.loc)}, c.loc);
    return all && done(c, {distinct(c, all)});
}

/// Rows of the left frame that are in the right one, or (`except`) are not, each once, ascending.
bool rule_set_of_rows(Call& c) {
    if (!want_same_columns(c)) return false;
    Value* left = distinct(c, c[0]);
    Value* bits =
        members(c.checker, columns_of(c.checker, left, c.loc), columns_of(c.checker, c[1], c.loc), c.loc);
    if (c.builtin.name == "except") bits = negated(c, bits);
    return done(c, {filtered(c.checker, left, bits, c.loc)});
}

// ---- SQL

/// The view is there in what follows in the same branch, round of a loop, or function.
bool rule_register_view(Call& c) {
    if (!c.want_frame(1)) return false;
    const auto name = c.known_text(0);
    if (!name) {
        c.checker.effects.registered_others = true;
        return false;
    }
    if (!c.checker.effects.views.emplace(*name, c[1]).second)
        return c.wrong(0, "there is a view `{}` already", *name);
    return true;
}

bool rule_sql(Call& c) {
    const auto query = c.known_text(0);
    if (!query) return false;
    return done(c, {sql_result(c.checker, *query, c.loc)});
}

}  // namespace weld::daphne
