// Queries as nodes of the graph: a frame goes from clause to clause, its labels `view.column` all the way.
#include <algorithm>

#include "frontend/daphne/fold.h"
#include "frontend/daphne/relations.h"
#include "frontend/daphne/sql.h"

namespace weld::daphne {

namespace {

class Planner {
  public:
    Planner(Checker& checker, SqlQuery& query, Loc loc) : c_(checker), q_(query), loc_(loc) {}

    Value* run() {
        for (std::size_t i = 0; i < q_.sources.size(); ++i)
            if (!add_source(q_.sources[i], i == 0)) return nullptr;
        for (const auto& e : q_.where)
            if (e && !keep(*e)) return nullptr;
        if (!expand()) return nullptr;
        if (!group()) return nullptr;
        if (q_.having && !keep(*q_.having)) return nullptr;
        if (!q_.distinct || is_grouped_) return order(table_) ? project() : nullptr;
        table_ = project();
        if (!table_) return nullptr;
        std::vector<std::string> labels;
        for (const Column& one : table_->type.columns) labels.push_back(one.label);
        table_ = grouped(c_, columns_of(c_, table_, loc_), labels, {}, loc_);
        return table_ && order(table_) ? table_ : nullptr;
    }

  private:
    std::nullptr_t wrong(std::size_t at, std::string_view message) {
        return c_.error(loc_, "in the query, at character {}: {}", at + 1, message);
    }

    // ---- FROM

    bool add_source(const SqlSource& s, bool is_first) {
        const auto view = c_.effects.views.find(s.view);
        if (view == c_.effects.views.end()) {
            if (!c_.effects.registered_others) wrong(s.at, fmt::format("there is no view `{}`", s.view));
            return false;
        }
        if (std::ranges::find(aliases_, s.alias) != aliases_.end())
            return wrong(s.at, fmt::format("`{}` is there already; give it another name, `{} AS …`", s.alias,
                                           s.view)),
                   false;
        aliases_.push_back(s.alias);
        Value* frame = relabelled(c_, view->second, prefixed(view->second, s.alias), loc_);
        if (is_first) {
            table_ = frame;
            return true;
        }
        // Equalities of the two sides are keys. They may as well stand in WHERE: it keeps the order.
        std::vector<Value*> left, right;
        std::vector<const SqlExpr*> rest;
        for (const auto& e : s.on) {
            const int found = key(*e, frame, left, right);
            if (found < 0) return false;
            if (!found) rest.push_back(e.get());
        }
        for (auto& e : q_.where) {
            if (!e) continue;
            const int found = key(*e, frame, left, right);
            if (found < 0) return false;
            if (found) e.reset();
        }
        table_ = joined(c_, table_, frame, left, right, loc_);
        if (!table_) return false;
        return std::ranges::all_of(rest, [&](const SqlExpr* e) { return keep(*e); });
    }

    /// 1 if `e` says that something of the left side equals something of `frame`: these are further keys
    /// then.
    int key(const SqlExpr& e, Value* frame, std::vector<Value*>& left, std::vector<Value*>& right) {
        if (e.kind != SqlExpr::Binary || e.op != Operator::Eq) return 0;
        const SqlExpr *a = e.args[0].get(), *b = e.args[1].get();
        if (a->kind != SqlExpr::Column || b->kind != SqlExpr::Column) return 0;
        if (numbers_of(*a, frame).size() == 1 && numbers_of(*a, table_).empty()) std::swap(a, b);
        const auto in_left = numbers_of(*a, table_), in_right = numbers_of(*b, frame);
        if (in_left.size() != 1 || in_right.size() != 1 || !numbers_of(*a, frame).empty() ||
            !numbers_of(*b, table_).empty())
            return 0;
        left.push_back(column_of(c_, table_, in_left[0], loc_));
        right.push_back(column_of(c_, frame, in_right[0], loc_));
        return match_types(c_, left.back(), right.back(), loc_) ? 1 : -1;
    }

    // ---- columns

    static std::vector<std::size_t> numbers_of(const SqlExpr& e, const Value* frame) {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < frame->type.columns.size(); ++i) {
            const std::string_view label = frame->type.columns[i].label;
            const std::size_t dot = label.find('.');
            if (e.table.empty() ? label == e.text || (dot != label.npos && label.substr(dot + 1) == e.text)
                                : label == e.table + "." + e.text)
                found.push_back(i);
        }
        return found;
    }

    /// -1 after an error.
    int number_of(const SqlExpr& e, const Value* frame) {
        const std::vector<std::size_t> found = numbers_of(e, frame);
        if (found.size() == 1) return int(found[0]);
        if (found.size() > 1) return wrong(e.at, fmt::format("several views have a column `{}`", e.text)), -1;
        if (ungrouped_ && !numbers_of(e, ungrouped_).empty())
            return wrong(e.at,
                         fmt::format(
                             "`{}` is none of the columns in GROUP BY; it has several values in a group",
                             e.source)),
                   -1;
        if (!e.table.empty() && std::ranges::find(aliases_, e.table) == aliases_.end())
            return wrong(e.at, fmt::format("there is no view `{}` in FROM", e.table)), -1;
        return wrong(e.at, fmt::format("there is no column `{}`", e.source)), -1;
    }

    Value* column(const SqlExpr& e) {
        const int at = number_of(e, table_);
        return at < 0 ? nullptr : column_of(c_, table_, std::size_t(at), loc_);
    }

    /// A scalar as a column of the table.
    Value* spread(Value* v) {
        if (!v || v->type.is_matrix()) return v;
        if (has_one_row_) return c_.convert(v, Type::matrix(v->type.value), loc_);
        Value* rows = call_of(c_, "nrow", {table_}, loc_);
        Value* filled = call_of(c_, "fill", {v, rows, c_.constant(integer_constant(1), loc_)}, loc_);
        if (filled) filled->rows = table_->rows;
        return filled;
    }

    // ---- expressions: scalars if no column is in them

    Value* value(const SqlExpr& e) {
        switch (e.kind) {
            case SqlExpr::Integer: return c_.constant(integer_constant(e.integer), loc_);
            case SqlExpr::Number:
                return c_.constant({.value = ValueType::F64, .integer = 0, .number = e.number, .text = {}},
                                   loc_);
            case SqlExpr::Text:
                return c_.constant({.value = ValueType::Str, .integer = 0, .number = 0, .text = e.text},
                                   loc_);
            case SqlExpr::Column: return column(e);
            case SqlExpr::Aggregate: return aggregate(e);
            case SqlExpr::Between: return between(e);
            case SqlExpr::Binary: break;
        }
        Value* a = value(*e.args[0]);
        Value* b = value(*e.args[1]);
        return a && b ? operate(e.op, a, b, e.at) : nullptr;
    }

    Value* operate(Operator op, Value* a, Value* b, std::size_t at) {
        const bool texts = a->type.value == ValueType::Str && b->type.value == ValueType::Str;
        if ((a->type.value == ValueType::Str || b->type.value == ValueType::Str) &&
            !(texts && is_comparison(op)))
            return wrong(
                at, texts ? "this takes numbers, found strings" : "a number and a string do not go together");
        return c_.operate(op, a, b, loc_);
    }

    Value* between(const SqlExpr& e) {
        Value *of = value(*e.args[0]), *a = value(*e.args[1]), *b = value(*e.args[2]);
        if (!of || !a || !b) return nullptr;
        auto inside = [&](Value* low, Value* high) -> Value* {
            Value* above = operate(Operator::Ge, of, low, e.at);
            Value* below = above ? operate(Operator::Le, of, high, e.at) : nullptr;
            return below ? operate(Operator::And, above, below, e.at) : nullptr;
        };
        Value* in_order = operate(Operator::Le, a, b, e.at);
        if (!in_order) return nullptr;
        if (in_order->constant)
            return in_order->constant->integer || in_order->constant->number != 0 ? inside(a, b)
                                                                                  : inside(b, a);
        Value *one = inside(a, b), *other = inside(b, a);
        return one && other ? operate(Operator::Or, one, other, e.at) : nullptr;
    }

    /// Leaves the rows for which `e` holds.
    bool keep(const SqlExpr& e) {
        Value* bits = value(e);
        if (bits && bits->type.value == ValueType::Str)
            bits = wrong(e.at, "a condition is needed here, found a string");
        bits = spread(bits);
        if (!bits) return false;
        table_ = filtered(c_, table_, bits, loc_);
        return true;
    }

    // ---- GROUP BY

    /// `*` as columns.
    bool expand() {
        std::vector<SqlItem> all;
        for (SqlItem& item : q_.items) {
            if (item.value) {
                all.push_back(std::move(item));
                continue;
            }
            if (!item.table.empty() && std::ranges::find(aliases_, item.table) == aliases_.end())
                return wrong(item.at, fmt::format("there is no view `{}` in FROM", item.table)), false;
            for (const Column& one : table_->type.columns) {
                const std::size_t dot = one.label.find('.');
                if (!item.table.empty() && one.label.substr(0, dot) != item.table) continue;
                SqlItem made;
                made.at = item.at;
                made.value = std::make_unique<SqlExpr>();
                made.value->kind = SqlExpr::Column;
                made.value->at = item.at;
                made.value->source = one.label;
                made.value->table = one.label.substr(0, dot);
                made.value->text = one.label.substr(dot + 1);
                all.push_back(std::move(made));
            }
        }
        q_.items = std::move(all);
        return true;
    }

    static void collect(const SqlExpr& e, std::vector<const SqlExpr*>& aggregates) {
        if (e.kind == SqlExpr::Aggregate) return aggregates.push_back(&e);
        for (const auto& a : e.args) collect(*a, aggregates);
    }

    bool group() {
        std::vector<const SqlExpr*> aggregates;
        for (const SqlItem& item : q_.items) collect(*item.value, aggregates);
        if (q_.having) collect(*q_.having, aggregates);
        if (q_.group_by.empty() && aggregates.empty()) return true;
        if (q_.distinct && !q_.group_by.empty() && !aggregates.empty())
            return wrong(aggregates[0]->at, "DISTINCT cannot stand with both GROUP BY and aggregates"), false;
        std::vector<Aggregated> made;
        for (const SqlExpr* e : aggregates)
            if (!prepare(*e, made)) return false;
        std::vector<Value*> keys;
        std::vector<std::string> labels;
        for (const auto& e : q_.group_by) {
            const int at = number_of(*e, table_);
            if (at < 0) return false;
            const std::string& label = table_->type.columns[std::size_t(at)].label;
            if (std::ranges::find(labels, label) != labels.end()) continue;
            labels.push_back(label);
            keys.push_back(column_of(c_, table_, std::size_t(at), loc_));
        }
        ungrouped_ = table_;
        is_grouped_ = true;
        has_one_row_ = keys.empty();
        table_ = keys.empty() ? one_row(made) : grouped(c_, keys, labels, made, loc_);
        return table_ != nullptr;
    }

    bool prepare(const SqlExpr& e, std::vector<Aggregated>& made) {
        if (std::ranges::find(made, e.source, &Aggregated::label) != made.end()) return true;
        const auto what = e.text == "SUM"   ? Aggregated::Sum
                          : e.text == "AVG" ? Aggregated::Mean
                          : e.text == "MIN" ? Aggregated::Min
                          : e.text == "MAX" ? Aggregated::Max
                                            : Aggregated::Count;
        Value* of = e.args.empty() ? c_.constant(integer_constant(1), loc_) : value(*e.args[0]);
        of = spread(of);
        if (of && of->type.value == ValueType::Str && (what == Aggregated::Sum || what == Aggregated::Mean))
            of = wrong(e.at, fmt::format("{} takes numbers, found strings", e.text));
        if (of) made.push_back({what, of, e.source});
        return of != nullptr;
    }

    /// What is aggregated of all rows.
    Value* one_row(const std::vector<Aggregated>& made) {
        std::vector<Value*> columns;
        std::vector<std::string> labels;
        for (const Aggregated& a : made) {
            Value* of = as_aggregated(c_, a.what, a.column, loc_);
            Value* all = nullptr;
            if (of->type.value == ValueType::Str && a.what != Aggregated::Count) {
                columns.push_back(spread(extreme_text(c_, a.what, of, loc_)));
                labels.push_back(a.label);
                continue;
            }
            switch (a.what) {
                case Aggregated::Sum: all = call_of(c_, "sum", {of}, loc_); break;
                case Aggregated::Mean: all = call_of(c_, "mean", {of}, loc_); break;
                case Aggregated::Min: all = call_of(c_, "aggMin", {of}, loc_); break;
                case Aggregated::Max: all = call_of(c_, "aggMax", {of}, loc_); break;
                case Aggregated::Count:
                    all = c_.to_scalar(call_of(c_, "nrow", {of}, loc_), ValueType::Si64, loc_);
                    break;
            }
            if (!all) return nullptr;
            columns.push_back(spread(all));
            labels.push_back(a.label);
        }
        return c_.make_frame(columns, labels, loc_);
    }

    Value* aggregate(const SqlExpr& e) {
        const auto& all = table_->type.columns;
        const auto at = is_grouped_ ? std::ranges::find(all, e.source, &Column::label) : all.end();
        if (at == all.end())
            return wrong(e.at, "aggregates stand in SELECT and HAVING, and not in one another");
        return column_of(c_, table_, std::size_t(at - all.begin()), loc_);
    }

    // ---- ORDER BY, SELECT

    bool order(Value*& frame) {
        if (q_.order_by.empty()) return true;
        std::vector<Value*> args = {frame};
        auto bit = [&](bool b) { return c_.constant(integer_constant(b, ValueType::Bool), loc_); };
        for (const SqlOrder& o : q_.order_by) {
            const int at = number_of(*o.column, frame);
            if (at < 0) return false;
            args.push_back(c_.constant(integer_constant(at), loc_));
        }
        for (const SqlOrder& o : q_.order_by) args.push_back(bit(o.ascending));
        args.push_back(bit(false));
        frame = call_of(c_, "order", args, loc_);
        return frame != nullptr;
    }

    Value* project() {
        std::vector<Value*> columns;
        std::vector<std::string> labels;
        for (const SqlItem& item : q_.items) {
            const SqlExpr& e = *item.value;
            Value* v = spread(value(e));
            if (!v) return nullptr;
            columns.push_back(v);
            labels.push_back(!item.alias.empty() ? item.alias
                             : e.kind == SqlExpr::Column
                                 ? table_->type.columns[numbers_of(e, table_)[0]].label
                                 : e.source);
        }
        return c_.make_frame(columns, labels, loc_);
    }

    Checker& c_;
    SqlQuery& q_;
    Loc loc_;
    std::vector<std::string> aliases_;
    Value* table_ = nullptr;
    const Value* ungrouped_ = nullptr;  ///< the table before GROUP BY
    bool is_grouped_ = false, has_one_row_ = false;
};

}  // namespace

Value* sql_result(Checker& checker, std::string_view text, Loc loc) {
    SqlQuery query;
    SqlError error;
    if (!parse_sql(text, &query, &error))
        return checker.error(loc, "in the query, at character {}: {}", error.at + 1, error.message);
    return Planner(checker, query, loc).run();
}

}  // namespace weld::daphne
