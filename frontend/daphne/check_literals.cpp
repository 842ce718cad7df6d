// Literals of data: matrices, and frames by columns and by rows.
#include <algorithm>

#include "frontend/daphne/check.h"
#include "frontend/daphne/fold.h"

namespace weld::daphne {

Value* Checker::literal_matrix(const Node* n) {
    std::vector<Value*> cells;
    ValueType value = ValueType::Bool;
    bool good = !n->args.empty();
    if (!good) error(n->start, "a matrix literal has at least one element");
    for (const Node* a : n->args) {
        Value* v = expression(a);
        if (v && !v->type.is_scalar())
            v = error(a->start, "the elements of a matrix are scalars, found {}", str(v->type));
        good &= v != nullptr;
        if (v) value = std::max(value, v->type.value);
        cells.push_back(v);
    }
    Value* dims[2] = {nullptr, nullptr};
    const Node* written[2] = {n->rows.first, n->columns.first};
    for (int i = 0; i < 2; ++i) {
        if (!written[i]) continue;
        Value* v = expression(written[i]);
        if (v && (!v->type.is_scalar() || v->type.value == ValueType::Str))
            v = error(written[i]->start, "a number of rows or columns is needed here, found {}",
                      str(v->type));
        good &= v != nullptr;
        dims[i] = to_scalar(v, ValueType::Si64, written[i]->start);
    }
    if (!good) return nullptr;
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = to_scalar(cells[i], value, n->args[i]->start);
    const auto count = std::int64_t(cells.size());
    Dim rows = dims[0] ? dim_of(dims[0]) : Dim{-1, 0}, columns = dims[1] ? dim_of(dims[1]) : Dim{-1, 0};
    if (!dims[0] && !dims[1]) rows = {count, 0}, columns = {1, 0};
    else if (!dims[0])
        rows = columns.known() && columns.number ? Dim{count / columns.number, 0} : graph_.fresh_dim();
    else if (!dims[1])
        columns = rows.known() && rows.number ? Dim{count / rows.number, 0} : graph_.fresh_dim();
    if (const Dim all = product(rows, columns); all.known() && all.number != count)
        violated(n->start, "{} elements cannot fill a matrix of {} x {}", count, str(rows), str(columns));
    GraphNode* node = emit(GraphNode::Matrix, n->start, cells);
    node->rows.first = dims[0] ? int(node->args.size()) : -1;
    if (dims[0]) node->args.push_back(dims[0]);
    node->columns.first = dims[1] ? int(node->args.size()) : -1;
    if (dims[1]) node->args.push_back(dims[1]);
    node->cells = cells.size();
    Value* out = give(node, Type::matrix(value), rows, columns);
    std::size_t zeros = 0;
    bool known = value != ValueType::Str;
    for (Value* v : cells) {
        if (!v->constant) known = false;
        else zeros += is_float(value) ? v->constant->number == 0 : v->constant->integer == 0;
    }
    if (known) out->sparsity = double(cells.size() - zeros) / double(cells.size());
    return out;
}

Value* Checker::make_frame(const std::vector<Value*>& columns, const std::vector<std::string>& labels,
                           Loc loc) {
    Type type = Type::frame();
    Dim rows{-1, 0};
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (std::ranges::find(type.columns, labels[i], &Column::label) != type.columns.end())
            violated(loc, "a frame cannot have two columns `{}`", labels[i]);
        type.columns.push_back({labels[i], columns[i]->type.value});
        if (differ(columns[i]->columns, {1, 0}))
            violated(loc, "a column of a frame is a matrix of one column, found {}", shape(columns[i]));
        if (i == 0) rows = columns[i]->rows;
        else if (differ(rows, columns[i]->rows))
            violated(loc, "the columns of a frame have equally many rows; found {} and {}", rows.number,
                     columns[i]->rows.number);
        else if (!rows.known()) rows = columns[i]->rows;
    }
    return give(emit(GraphNode::Frame, loc, columns), type, rows, {std::int64_t(columns.size()), 0});
}

Value* Checker::literal_frame(const Node* n) {
    std::vector<Value*> columns;
    std::vector<std::string> labels;
    bool good = true;
    if (n->args.empty()) return error(n->start, "a frame has at least one column");
    for (std::size_t i = 0; i + 1 < n->args.size(); i += 2) {
        Value* label = expression(n->args[i]);
        Value* column = expression(n->args[i + 1]);
        if (label && !label->type.is_string())
            label = error(n->args[i]->start, "a label is a string, found {}", str(label->type));
        else if (label && !label->constant)
            label = unknown(n->args[i]->start, "a label has to be known before the run");
        if (column && !column->type.is_matrix())
            column = error(n->args[i + 1]->start, "a column is a matrix of one column, found {}",
                           str(column->type));
        if (!label || !column) {
            good = false;
            continue;
        }
        labels.push_back(label->constant->text);
        columns.push_back(column);
    }
    return good ? make_frame(columns, labels, n->start) : nullptr;
}

Value* Checker::literal_frame_of_rows(const Node* n) {
    std::vector<std::string> labels;
    std::vector<std::vector<Value*>> columns;
    bool good = true;
    for (const Node* a : n->args[0]->args) {
        Value* label = expression(a);
        if (label && !label->type.is_string())
            label = error(a->start, "a label is a string, found {}", str(label->type));
        else if (label && !label->constant)
            label = unknown(a->start, "a label has to be known before the run");
        good &= label != nullptr;
        labels.push_back(label ? label->constant->text : "");
    }
    columns.resize(labels.size());
    for (const Node* row : n->args.subspan(1)) {
        if (row->args.size() != labels.size()) {
            error(row->start, "this row has {} cells, but there are {} labels", row->args.size(),
                  labels.size());
            good = false;
            continue;
        }
        for (std::size_t i = 0; i < labels.size(); ++i) {
            Value* v = expression(row->args[i]);
            if (v && !v->type.is_scalar())
                v = error(row->args[i]->start, "the cells of a row are scalars, found {}", str(v->type));
            else if (v && v->type.value == ValueType::Str)
                v = error(row->args[i]->start,
                          "rows hold numbers; write strings by columns, `{{\"label\": [\"text\", …]}}`");
            good &= v != nullptr;
            columns[i].push_back(v);
        }
    }
    if (!good) return nullptr;
    std::vector<Value*> matrices;
    for (std::vector<Value*>& cells : columns) {
        ValueType value = ValueType::Bool;
        for (Value* v : cells) value = std::max(value, v->type.value);
        for (Value*& v : cells) v = to_scalar(v, value, n->start);
        GraphNode* node = emit(GraphNode::Matrix, n->start, cells);
        node->cells = cells.size();
        matrices.push_back(give(node, Type::matrix(value), {std::int64_t(cells.size()), 0}, {1, 0}));
    }
    return make_frame(matrices, labels, n->start);
}

}  // namespace weld::daphne
