// Relational operations, which no script can call: how nodes are made of them, and the Weld text of each.
#include "frontend/daphne/relations.h"

#include <algorithm>
#include <cmath>

#include "frontend/daphne/lower.h"

namespace weld::daphne {

static void lower_same(Lowering& l, const GraphNode& n);
static void lower_join(Lowering& l, const GraphNode& n);
static void lower_members(Lowering& l, const GraphNode& n);
static void lower_group(Lowering& l, const GraphNode& n);
static void lower_extreme_text(Lowering& l, const GraphNode& n);

// Operations that no script can call: arguments are columns, and what else there is stands in
// GraphNode::text.
static constexpr Builtin kRelabel = {"(relabel)", "", nullptr, lower_same, ""};
static constexpr Builtin kJoin = {"(join)", "", nullptr, lower_join, ""};
static constexpr Builtin kLeftJoin = {"(left join)", "", nullptr, lower_join, "left"};
static constexpr Builtin kFullJoin = {"(full join)", "", nullptr, lower_join, "full"};
static constexpr Builtin kMembers = {"(members)", "", nullptr, lower_members, ""};
static constexpr Builtin kGroup = {"(group)", "", nullptr, lower_group, ""};
static constexpr Builtin kLeastText = {"(least text)", "", nullptr, lower_extreme_text, "<"};
static constexpr Builtin kGreatestText = {"(greatest text)", "", nullptr, lower_extreme_text, ">"};

static Dim count_dim(std::size_t n) { return {std::int64_t(n), 0}; }

static GraphNode* node_of(Checker& checker, const Builtin& builtin, std::vector<Value*> args, Loc loc) {
    GraphNode* node = checker.emit(GraphNode::Builtin, loc, std::move(args));
    node->builtin = &builtin;
    return node;
}

// ---- making nodes

Value* call_of(Checker& checker, std::string_view name, std::vector<Value*> args, Loc loc) {
    const Builtin& builtin = *find_builtin(name);
    const std::size_t params = builtin.params.ends_with("...")
                                   ? args.size()
                                   : std::size_t(std::ranges::count(builtin.params, ',')) + 1;
    args.resize(std::max(args.size(), params));
    Call call{checker, builtin, loc, std::move(args), {}, {}, nullptr, {}};
    call.locs.assign(call.args.size(), loc);
    call.nodes.resize(call.args.size());
    return builtin.rule(call) ? call.results[0] : nullptr;
}

Value* column_of(Checker& checker, Value* frame, std::size_t i, Loc loc) {
    GraphNode* node = checker.emit(GraphNode::Extract, loc, {frame});
    node->takes_columns = true;
    node->columns.kind = Index::One;
    node->columns_taken = {int(i)};
    Type type = Type::frame();
    type.columns = {frame->type.columns[i]};
    Value* one = checker.give(node, type, frame->rows, count_dim(1));
    return checker.convert(one, Type::matrix(type.columns[0].value), loc);
}

std::vector<Value*> columns_of(Checker& checker, Value* frame, Loc loc) {
    std::vector<Value*> all;
    for (std::size_t i = 0; i < frame->type.columns.size(); ++i)
        all.push_back(column_of(checker, frame, i, loc));
    return all;
}

Value* relabelled(Checker& checker, Value* frame, const std::vector<std::string>& labels, Loc loc) {
    Type type = frame->type;
    for (std::size_t i = 0; i < labels.size(); ++i) type.columns[i].label = labels[i];
    return checker.give(node_of(checker, kRelabel, {frame}, loc), type, frame->rows, frame->columns);
}

std::vector<std::string> prefixed(const Value* frame, std::string_view table) {
    std::vector<std::string> labels;
    for (const Column& c : frame->type.columns)
        labels.push_back(fmt::format("{}.{}", table, c.label.substr(c.label.find('.') + 1)));
    return labels;
}

Value* filtered(Checker& checker, Value* frame, Value* bits, Loc loc) {
    GraphNode* node =
        checker.emit(GraphNode::Filter, loc, {frame, checker.to_value_type(bits, ValueType::Bool, loc)});
    node->rows.kind = Index::One;
    node->rows.first = 1;
    return checker.give(node, frame->type, checker.graph().fresh_dim(), frame->columns);
}

bool match_types(Checker& checker, Value*& left, Value*& right, Loc loc) {
    const ValueType l = left->type.value, r = right->type.value;
    if ((l == ValueType::Str) != (r == ValueType::Str))
        return checker.error(loc, "keys of {} cannot be compared with keys of {}", name_of(l), name_of(r)),
               false;
    left = checker.to_value_type(left, std::max(l, r), loc);
    right = checker.to_value_type(right, std::max(l, r), loc);
    return true;
}

static std::vector<Value*> both(const std::vector<Value*>& left, const std::vector<Value*>& right) {
    std::vector<Value*> all = left;
    all.insert(all.end(), right.begin(), right.end());
    return all;
}

Value* joined(Checker& checker, Value* lhs, Value* rhs, const std::vector<Value*>& left,
              const std::vector<Value*>& right, Loc loc, Unmatched kept) {
    Type type = lhs->type;
    for (const Column& c : rhs->type.columns) {
        if (std::ranges::find(type.columns, c.label, &Column::label) != type.columns.end())
            return checker.error(
                loc, "both frames have a column `{}`; `setColLabelsPrefix` makes labels differ", c.label);
        type.columns.push_back(c);
    }
    const Dim rows = left.empty() ? checker.product(lhs->rows, rhs->rows) : checker.graph().fresh_dim();
    GraphNode* node = node_of(checker,
                              kept == Unmatched::None   ? kJoin
                              : kept == Unmatched::Left ? kLeftJoin
                                                        : kFullJoin,
                              both({lhs, rhs}, both(left, right)), loc);
    return checker.give(node, type, rows, count_dim(type.columns.size()));
}

Value* members(Checker& checker, const std::vector<Value*>& left, const std::vector<Value*>& right, Loc loc) {
    return checker.give(node_of(checker, kMembers, both(left, right), loc), Type::matrix(ValueType::Bool),
                        left[0]->rows, count_dim(1));
}

Value* as_aggregated(Checker& checker, Aggregated::What what, Value* column, Loc loc) {
    if (what == Aggregated::Count) return column;
    if (column->type.value == ValueType::Str) {
        if (what == Aggregated::Min || what == Aggregated::Max) return column;
        return checker.error(loc, "only numbers are added; strings can be compared and counted");
    }
    if (what == Aggregated::Mean) return checker.to_value_type(column, ValueType::F64, loc);
    return column->type.value == ValueType::Bool ? checker.to_value_type(column, ValueType::Si64, loc)
                                                 : column;
}

Value* grouped(Checker& checker, const std::vector<Value*>& keys, const std::vector<std::string>& labels,
               const std::vector<Aggregated>& aggregated, Loc loc) {
    std::vector<Value*> args = keys;
    Type type = Type::frame();
    for (std::size_t i = 0; i < keys.size(); ++i) type.columns.push_back({labels[i], keys[i]->type.value});
    std::string text;
    for (const Aggregated& a : aggregated) {
        Value* column = as_aggregated(checker, a.what, a.column, loc);
        if (!column) return nullptr;
        args.push_back(column);
        text += char(a.what);
        type.columns.push_back({a.label, a.what == Aggregated::Count ? ValueType::Si64 : column->type.value});
    }
    GraphNode* node = node_of(checker, kGroup, args, loc);
    node->text = text;
    return checker.give(node, type, checker.graph().fresh_dim(), count_dim(type.columns.size()));
}

Value* extreme_text(Checker& checker, Aggregated::What what, Value* column, Loc loc) {
    GraphNode* node = node_of(checker, what == Aggregated::Min ? kLeastText : kGreatestText, {column}, loc);
    return checker.give(node, Type::scalar(ValueType::Str));
}

// ---- Weld of them

static void lower_same(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], "x", {{"x", n.args[0]}}, n.loc);
}

/// The vectors of columns `x0.$0`, … as data of one loop: elements are keys, structs if there are several.
static std::string data_of(std::size_t from, std::size_t to) {
    std::string all;
    for (std::size_t i = from; i < to; ++i) all += fmt::format("{}x{}.$0", i > from ? ", " : "", i);
    return to - from == 1 ? all : "zip(" + all + ")";
}
static std::string key_type(const GraphNode& n, std::size_t from, std::size_t to) {
    std::string all;
    for (std::size_t i = from; i < to; ++i)
        all += fmt::format("{}{}", i > from ? "," : "", weld_name(n.args[i]->type.value));
    return to - from == 1 ? all : "{" + all + "}";
}
static std::vector<Lowering::Named> named(const GraphNode& n) {
    std::vector<Lowering::Named> args;
    for (std::size_t i = 0; i < n.args.size(); ++i) args.push_back({fmt::format("x{}", i), n.args[i]});
    return args;
}

/// The numbers of the rows that a join takes from both sides, `left` and `right`; -1 where there is none.
static std::string matched_rows(const GraphNode& n) {
    const std::size_t end = n.args.size(), middle = 2 + (end - 2) / 2;
    const std::string keys = key_type(n, middle, end), lefts = data_of(2, middle),
                      rights = data_of(middle, end);
    const bool keeps_left = !n.builtin->code.empty(), keeps_right = n.builtin->code == "full";
    std::string text = fmt::format(
        "let places = result(for({0}, groupmerger[{1},i64], |d, i, e| merge(d, {{e, i}}))); "
        "let pairs = for({2}, {{appender[i64], appender[i64]}}, |b, i, e| let found = optlookup(places, e); "
        "if(found.$0, for(found.$1, b, |b2, j, at| {{merge(b2.$0, i), merge(b2.$1, at)}}), {3})); ",
        rights, keys, lefts, keeps_left ? "{merge(b.$0, i), merge(b.$1, -1L)}" : "b");
    if (keeps_right)
        text += fmt::format(
            "let there = result(for({0}, dictmerger[{1},i64,+], |d, i, e| merge(d, {{e, 1L}}))); "
            "let all = for({2}, pairs, |b, i, e| if(keyexists(there, e), b, {{merge(b.$0, -1L), merge(b.$1, "
            "i)}})); ",
            lefts, keys, rights);
    const char* made = keeps_right ? "all" : "pairs";
    return text +
           fmt::format("let left = result({0}.$0); let right = result({0}.$1); let n = len(left); ", made);
}

/// What stands where an outer join finds no row.
static std::string missing(ValueType v) {
    if (v == ValueType::Str) return "[]: vec[i8]";
    if (v == ValueType::Bool) return "false";
    return fmt::format("{}({})", weld_name(v), is_float(v) ? "nan" : "0");
}

static void lower_join(Lowering& l, const GraphNode& n) {
    const bool every = n.args.size() == 2;
    const std::string lets =
        every ? fmt::format("let m = {}; let n = {} * m; ", Lowering::rows("x1", n.args[1]),
                            Lowering::rows("x0", n.args[0]))
              : matched_rows(n);
    std::string columns;
    for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t i = 0; i < n.args[side]->type.columns.size(); ++i) {
            const std::string data = fmt::format("x{}.$0.${}", side, i);
            const char* rows = side ? "right" : "left";
            columns += columns.empty() ? "" : ", ";
            if (every)
                columns += fmt::format(
                    "result(for(rangeiter(0L, n, 1L), appender, |o, k, _| merge(o, lookup({}, k {} m))))",
                    data, side ? '%' : '/');
            else if (n.builtin->code == "full" || (side && n.builtin->code == "left"))
                columns += fmt::format("map({}, |p| if(p < 0L, {}, lookup({}, p)))", rows,
                                       missing(n.args[side]->type.columns[i].value), data);
            else columns += fmt::format("taken({}, {})", data, rows);
        }
    Value nan;
    nan.type = Type::scalar(ValueType::F64);
    nan.constant = {.value = ValueType::F64, .integer = 0, .number = std::nan(""), .text = {}};
    std::vector<Lowering::Named> args = named(n);
    args.push_back({"nan", &nan});
    l.define(n.results[0], fmt::format("{}{{{{{}}}, n}}", lets, columns), args, n.loc);
}

static void lower_members(Lowering& l, const GraphNode& n) {
    const std::size_t end = n.args.size(), middle = end / 2;
    l.define(n.results[0],
             fmt::format("let there = result(for({}, dictmerger[{},i64,+], |d, i, e| merge(d, {{e, 1L}}))); "
                         "{{result(for({}, appender, |o, i, e| merge(o, keyexists(there, e)))), {}, 1L}}",
                         data_of(middle, end), key_type(n, middle, end), data_of(0, middle),
                         Lowering::rows("x0", n.args[0])),
             named(n), n.loc);
}

/// Of the strings `data` in the places `rows`; an empty one if there are none.
static std::string extreme_text(std::string_view op, std::string_view data, std::string_view rows) {
    return fmt::format("extreme_text({}, {}, |a, b| {} {} 0)", data, rows,
                       comparison(ValueType::Str, "a", "b"), op);
}

static void lower_extreme_text(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], extreme_text(n.builtin->code, "x.$0", "counted(len(x.$0))"), {{"x", n.args[0]}},
             n.loc);
}

/// The order of groups `p` and `q`, by their keys.
static std::string order_of_groups(const GraphNode& n, std::size_t keys) {
    const auto one = [&](std::size_t i, std::string_view field) {
        return comparison(n.args[i]->type.value, fmt::format("p.$0{}", field), fmt::format("q.$0{}", field));
    };
    if (keys == 1) return one(0, "");
    std::string order = one(keys - 1, fmt::format(".${}", keys - 1));
    for (std::size_t i = keys - 1; i-- > 0;)
        order = fmt::format("(let c = {}; if(c != 0, c, {}))", one(i, fmt::format(".${}", i)), order);
    return order;
}

static void lower_group(Lowering& l, const GraphNode& n) {
    const std::size_t keys = n.args.size() - n.text.size();
    const bool alone = n.args.size() == 1;
    std::string key, columns;
    bool has_texts = false;
    for (std::size_t i = 0; i < keys; ++i) {
        has_texts |= n.args[i]->type.value == ValueType::Str;
        key += fmt::format("{}e.${}", i ? ", " : "", i);
        columns +=
            fmt::format("{}map(groups, |g| g.$0{})", i ? ", " : "", keys > 1 ? fmt::format(".${}", i) : "");
    }
    if (alone) key = "e";
    else if (keys > 1) key = "{" + key + "}";
    struct Table {
        const char* op;
        std::string types, values;
        int fields = 0;
        int add(std::string_view type, std::string_view value) {
            types += fmt::format("{}{}", fields ? "," : "", type);
            values += fmt::format("{}{}", fields ? ", " : "", value);
            return fields++;
        }
    };
    Table tables[] = {{"+", {}, {}}, {"min", {}, {}}, {"max", {}, {}}};
    tables[0].add("i64", "1L");
    bool wants_rows = false;
    for (std::size_t i = 0; i < n.text.size(); ++i) {
        const std::string_view t = weld_name(n.args[keys + i]->type.value);
        const std::string cell = fmt::format("e.${}", keys + i);
        const bool is_extreme = n.text[i] == Aggregated::Min || n.text[i] == Aggregated::Max;
        if (is_extreme && n.args[keys + i]->type.value == ValueType::Str) {
            columns += fmt::format(
                ", map(groups, |g| let at = lookup(rows_of, g.$0); {})",
                extreme_text(std::string_view(&n.text[i], 1), fmt::format("x{}.$0", keys + i), "at"));
            wants_rows = true;
            continue;
        }
        switch (n.text[i]) {
            case Aggregated::Count: columns += ", map(groups, |g| g.$1.$0)"; break;
            case Aggregated::Sum:
                columns += fmt::format(", map(groups, |g| g.$1.${})", tables[0].add(t, cell));
                break;
            case Aggregated::Mean:
                columns += fmt::format(", map(groups, |g| g.$1.${} / f64(g.$1.$0))", tables[0].add(t, cell));
                break;
            case Aggregated::Min:
                columns += fmt::format(", map(groups, |g| lookup(table1, g.$0).${})", tables[1].add(t, cell));
                break;
            case Aggregated::Max:
                columns += fmt::format(", map(groups, |g| lookup(table2, g.$0).${})", tables[2].add(t, cell));
                break;
        }
    }
    std::string builders, merges, results;
    int made = 0;
    for (int i = 0; i < 3; ++i) {
        const Table& t = tables[i];
        if (!t.fields) continue;
        builders +=
            fmt::format("{}dictmerger[{},{{{}}},{}]", made ? ", " : "", key_type(n, 0, keys), t.types, t.op);
        merges += fmt::format("{}merge(b.${}, {{{}, {{{}}}}})", made ? ", " : "", made, key, t.values);
        results += fmt::format("let table{} = result(made.${}); ", i, made++);
    }
    if (wants_rows) {
        builders += fmt::format(", groupmerger[{},i64]", key_type(n, 0, keys));
        merges += fmt::format(", merge(b.${}, {{{}, i}})", made, key);
        results += fmt::format("let rows_of = result(made.${}); ", made);
    }
    l.define(n.results[0],
             fmt::format("let made = for({}, {{{}}}, |b, i, e| {{{}}}); {}let groups = sort(tovec(table0), "
                         "{}); {{{{{}}}, len(groups)}}",
                         data_of(0, n.args.size()), builders, merges, results,
                         has_texts ? "|p, q| " + order_of_groups(n, keys) : "|g| g.$0", columns),
             named(n), n.loc);
}

}  // namespace weld::daphne
