// Making graphs, and showing them.
#include "frontend/daphne/graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/daphne/builtins.h"

namespace weld::daphne {

Value* Graph::value(const Type& type) {
    values_.emplace_back();
    values_.back().id = std::uint32_t(values_.size());
    values_.back().type = type;
    return &values_.back();
}

Value* Graph::like(const Value& known) {
    Value* v = value(known.type);
    const std::uint32_t id = v->id;
    *v = known;
    v->id = id;
    v->maker = nullptr;
    return v;
}

std::string str(Dim d) { return d.known() ? std::to_string(d.number) : "?"; }
std::string shape(const Value* v) { return str(v->rows) + " x " + str(v->columns); }

GraphNode* Graph::node(GraphNode::Kind kind, Loc loc) {
    nodes_.emplace_back();
    nodes_.back().kind = kind;
    nodes_.back().loc = loc;
    return &nodes_.back();
}

namespace {

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n') out += "\\n";
        else out += c;
    }
    return out + '"';
}

std::string str(const Constant& c) {
    if (c.value == ValueType::Str) return quoted(c.text);
    if (c.value == ValueType::Bool) return c.integer ? "true" : "false";
    if (is_float(c.value)) return fmt::format("{}", c.number);
    if (is_unsigned(c.value)) return fmt::format("{}", std::uint64_t(c.integer));
    return fmt::format("{}", c.integer);
}

/// The type with all that is known of the value: `matrix<2x3 f64 sparsity 0.1>`.
std::string str(const Value& v) {
    if (v.type.is_scalar()) return std::string(name_of(v.type.value));
    if (v.type.is_list()) return fmt::format("list<{}>", name_of(v.type.value));
    std::string out =
        fmt::format("{}<{}x{}", v.type.is_frame() ? "frame" : "matrix", str(v.rows), str(v.columns));
    if (v.type.is_matrix()) out += fmt::format(" {}", name_of(v.type.value));
    else
        for (std::size_t i = 0; i < v.type.columns.size(); ++i)
            out += fmt::format("{} {}: {}", i ? "," : "", quoted(v.type.columns[i].label),
                               name_of(v.type.columns[i].value));
    if (v.sparsity >= 0) out += fmt::format(" sparsity {}", v.sparsity);
    if (v.symmetric) out += " symmetric";
    if (v.type.is_sparse) out += " csr";
    return out + '>';
}

class Printer {
  public:
    std::string out;

    void print(const Body& r, int depth) {
        for (const GraphNode* n : r.nodes) node(*n, depth);
        if (!r.results.empty()) line(depth, "gives " + list(r.results));
    }

    void function(const GraphFunction& f) {
        std::string params;
        for (const Value* p : f.body.params)
            params += fmt::format("{}%{}: {}", params.empty() ? "" : ", ", p->id, str(*p));
        line(0, fmt::format("def {}({})", f.name, params));
        print(f.body, 1);
    }

  private:
    static std::string list(const std::vector<Value*>& values) {
        std::string all;
        for (const Value* v : values) all += fmt::format("{}{}", all.empty() ? "" : ", ", name(v));
        return all;
    }
    static std::string name(const Value* v) {
        if (!v) return "_";
        return v->constant ? str(*v->constant) : fmt::format("%{}", v->id);
    }
    void line(int depth, const std::string& text) {
        out += std::string(std::size_t(depth) * 2, ' ') + text + '\n';
    }

    static std::string subscript(const GraphNode& n, const GraphNode::Subscript& p) {
        auto at = [&](int i) { return i < 0 ? std::string() : name(n.args[std::size_t(i)]); };
        if (p.kind == Index::All) return "";
        return p.kind == Index::One ? at(p.first) : at(p.first) + ":" + at(p.last);
    }

    static std::string what(const GraphNode& n) {
        switch (n.kind) {
            case GraphNode::Constant: return "constant";
            case GraphNode::Builtin: return std::string(n.builtin->name) + " " + list(n.args);
            case GraphNode::Operator: return fmt::format("{} {}", text_of(n.op), list(n.args));
            case GraphNode::Convert: return "convert " + list(n.args);
            case GraphNode::Matrix: return fmt::format("[{}]", list(n.args));
            case GraphNode::Frame: return fmt::format("{{{}}}", list(n.args));
            case GraphNode::Extract:
                return fmt::format("{}[{}, {}]", name(n.args[0]), subscript(n, n.rows),
                                   subscript(n, n.columns));
            case GraphNode::Filter:
                return fmt::format("{}[[{}, {}]]", name(n.args[0]), subscript(n, n.rows),
                                   subscript(n, n.columns));
            case GraphNode::Insert:
                return fmt::format("{}[{}, {}] = {}", name(n.args[0]), subscript(n, n.rows),
                                   subscript(n, n.columns), name(n.args[1]));
            case GraphNode::Select: return "select " + list(n.args);
            case GraphNode::If: return "if " + list(n.args);
            case GraphNode::Loop: return "while, from " + list(n.args);
            case GraphNode::Repeat: return "for, from " + list(n.args);
            case GraphNode::Call: return fmt::format("{}({})", n.function->name, list(n.args));
            case GraphNode::Map: return fmt::format("map {} {}", n.function->name, list(n.args));
        }
        return "";
    }

    void node(const GraphNode& n, int depth) {
        if (n.kind == GraphNode::Constant) return;  // shown where it is used
        std::string made;
        for (const Value* v : n.results)
            made += fmt::format("{}%{}: {}", made.empty() ? "" : ", ", v->id, str(*v));
        line(depth, (made.empty() ? "" : made + " = ") + what(n));
        for (std::size_t i = 0; i < n.bodies.size(); ++i) {
            const Body& r = n.bodies[i];
            std::string params;
            for (const Value* p : r.params)
                params += fmt::format("{}%{}: {}", params.empty() ? "" : ", ", p->id, str(*p));
            line(depth, fmt::format("{} {}",
                                    n.kind == GraphNode::If     ? (i ? "else" : "then")
                                    : n.bodies.size() > 1 && !i ? "condition"
                                                                : "do",
                                    params));
            print(r, depth + 1);
        }
    }
};

}  // namespace

std::string print_graph(const Graph& graph) {
    Printer p;
    for (const GraphFunction& f : graph.functions)
        if (!f.is_wrong) p.function(f);
    p.print(graph.main, 0);
    return p.out;
}

static bool are_same(const GraphNode::Subscript& a, const GraphNode::Subscript& b) {
    return a.kind == b.kind && a.first == b.first && a.last == b.last;
}

/// It gives the same for the same arguments.
static bool is_pure(const GraphNode& n) {
    switch (n.kind) {
        case GraphNode::Operator:
        case GraphNode::Convert:
        case GraphNode::Matrix:
        case GraphNode::Extract:
        case GraphNode::Filter:
        case GraphNode::Select: return true;
        case GraphNode::Builtin: {
            constexpr std::string_view others[] = {"rand",       "sample",    "now",
                                                   "readMatrix", "readFrame", "readCsv"};
            return std::ranges::find(others, n.builtin->name) == std::end(others) && n.text.empty();
        }
        default: return false;
    }
}

bool are_same(const Value* a, const Value* b, int most_nodes) {
    if (a == b) return true;
    if (a->type != b->type) return false;
    if (a->constant || b->constant) return a->constant == b->constant;
    const GraphNode *m = a->maker, *n = b->maker;
    if (!m || !n || most_nodes == 0 || m->kind != n->kind || !is_pure(*m) || !is_pure(*n)) return false;
    if (m->builtin != n->builtin || m->op != n->op || m->args.size() != n->args.size() ||
        m->cells != n->cells || m->is_outer != n->is_outer || m->columns_taken != n->columns_taken ||
        !are_same(m->rows, n->rows) || !are_same(m->columns, n->columns))
        return false;
    if (std::ranges::find(m->results, a) - m->results.begin() !=
        std::ranges::find(n->results, b) - n->results.begin())
        return false;
    for (std::size_t i = 0; i < m->args.size(); ++i)
        if (!are_same(m->args[i], n->args[i], most_nodes / 2)) return false;
    return true;
}

}  // namespace weld::daphne
