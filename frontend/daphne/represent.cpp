// Begins with all matrices sparse that can be, and takes back what cannot stay so until nothing changes: what
// is made dense, what a branch, a loop or a call has to share with a dense one. Then converts, at one place:
// where an operation has no use for a sparse argument (`use_of`), and where a sparse value goes on as a dense
// one. A conversion stands before what needs it, so that branches that are not taken make no dense matrix;
// what follows in the same body shares it.
#include "frontend/daphne/represent.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "frontend/daphne/builtins.h"
#include "frontend/daphne/fold.h"
#include "frontend/daphne/lower.h"

namespace weld::daphne {

// ---- what operations do with sparse arguments

static bool is_zero(const Constant& c) { return is_float(c.value) ? c.number == 0 : c.integer == 0; }

/// Two matrices of the same shape, both sparse.
static bool are_sparse(const GraphNode& n) {
    const Value *a = n.args[0], *b = n.args[1];
    return a->type.is_sparse && b->type.is_sparse && a->rows == b->rows && a->columns == b->columns;
}

/// `op` gives zero for two zeros, or for zero and the scalar: surely, if that is known, else for most of them
/// (the run looks).
static bool keeps_zero(Operator op, std::size_t sparse, const GraphNode& n) {
    const Value *one = n.args[sparse], *other = n.args[1 - sparse];
    if (op == Operator::MatMul || n.is_outer) return false;
    const auto zero = convert(integer_constant(0), one->type.value);
    if (other->type.is_matrix() && !are_sparse(n)) return false;
    if (other->type.is_scalar() && !other->constant)
        return op == Operator::Mul || (op == Operator::Div && sparse == 0);
    const Constant& k = other->type.is_matrix() ? *zero : *other->constant;
    const auto made = sparse == 0 ? fold(op, *zero, k, n.results[0]->type.value)
                                  : fold(op, k, *zero, n.results[0]->type.value);
    return made && is_zero(*made);
}

/// `min` and `max` of two, or with a known scalar, `mod` by one.
static bool keeps_zero(std::string_view name, std::size_t sparse, const GraphNode& n) {
    const Value* other = n.args[1 - sparse];
    if (name == "mod") return keeps_zero(Operator::Mod, sparse, n);
    if (other->type.is_matrix()) return are_sparse(n);
    const auto& k = other->constant;
    if (!k) return false;
    const bool negative = is_float(k->value) ? k->number < 0 : is_unsigned(k->value) ? false : k->integer < 0;
    const bool is_number = !is_float(k->value) || k->number == k->number;
    return is_number && (is_zero(*k) || negative == (name == "max"));
}

static SparseUse use_by_builtin(const GraphNode& n, std::size_t arg) {
    const auto if_so = [](bool so, SparseUse use) { return so ? use : SparseUse::None; };
    switch (n.builtin->sparse) {
        case SparseRule::Dense:
        case SparseRule::Makes: break;
        case SparseRule::Reads: return if_so(arg == 0, SparseUse::Reads);
        case SparseRule::Aggregates: return if_so(arg == 0 && n.args.size() <= 2, SparseUse::Reads);
        case SparseRule::Keeps: return if_so(arg == 0, SparseUse::Keeps);
        case SparseRule::Cells: return if_so(keeps_zero(n.builtin->name, arg, n), SparseUse::Keeps);
        case SparseRule::Binds:
            return if_so(n.args[0]->type.is_sparse && n.args[1]->type.is_sparse, SparseUse::Keeps);
    }
    return SparseUse::None;
}

static SparseUse use_by_product(const GraphNode& n, std::size_t arg) {
    if (n.args[0]->type.is_sparse && n.args[1]->type.is_sparse) return SparseUse::Keeps;
    return arg == 0 && !is_product_with_itself(n) ? SparseUse::Reads : SparseUse::None;
}

SparseUse use_of(const GraphNode& n, std::size_t arg) {
    const auto keeps = [&](bool so) { return so ? SparseUse::Keeps : SparseUse::None; };
    switch (n.kind) {
        case GraphNode::Convert: {
            const Type& to = n.results[0]->type;
            return keeps(to.is_matrix() && can_be_sparse(to.value));
        }
        case GraphNode::Operator:
            if (n.args.size() == 1) return keeps(n.op == Operator::Minus);
            if (n.op == Operator::MatMul) return use_by_product(n, arg);
            return keeps(keeps_zero(n.op, arg, n));
        case GraphNode::Builtin: return use_by_builtin(n, arg);
        case GraphNode::Extract: {
            const auto is_list = [&](const GraphNode::Subscript& p) {
                return p.kind == Index::One && n.args[std::size_t(p.first)]->type.is_matrix();
            };
            return keeps(arg == 0 && !is_list(n.columns));
        }
        case GraphNode::Filter: return keeps(arg == 0 && n.columns.kind == Index::All);
        default: return SparseUse::None;
    }
}

double kept_sparsity(const GraphNode& n) {
    for (std::size_t i = 0; i < n.args.size(); ++i)
        if (n.args[i] && n.args[i]->sparsity >= 0 && use_of(n, i) == SparseUse::Keeps)
            return n.args[i]->sparsity;
    return -1;
}

// ---- which matrices are sparse

namespace {

class Choice {
  public:
    explicit Choice(Graph& graph) : graph_(graph) {}

    void run() {
        begin(graph_.main, true);
        for (const Value* v : graph_.main.params) fixed_.insert(v);
        for (GraphFunction& f : graph_.functions) begin(f.body, true);
        do {
            changed_ = false;
            visited_.clear();
            visit(graph_.main);
        } while (changed_);
        for (GraphFunction& f : graph_.functions)
            if (!is_called(f)) begin(f.body, false);
    }
    /// Others have no sparse matrices, and may be broken off where something had to be known.
    bool is_called(const GraphFunction& f) const { return visited_.contains(&f); }

  private:
    static void begin(Value* v, bool sparse) {
        if (v) v->type.is_sparse = sparse && v->type.is_matrix() && can_be_sparse(v->type.value);
    }
    void begin(Body& r, bool sparse) {
        if (&r != &graph_.main)
            for (Value* v : r.params) begin(v, sparse);
        for (GraphNode* n : r.nodes) {
            for (Value* v : n->results) begin(v, sparse);
            for (Body& inner : n->bodies) begin(inner, sparse);
        }
    }

    void may_be(Value* v, bool sparse) {
        if (sparse || !v->type.is_sparse || fixed_.contains(v)) return;
        v->type.is_sparse = false;
        changed_ = true;
    }
    void may_be(Value* v, const Value* as) { may_be(v, as->type.is_sparse); }

    void visit(const Body& r) {
        for (GraphNode* n : r.nodes) node(*n);
    }

    void node(GraphNode& n) {
        switch (n.kind) {
            case GraphNode::If:
                for (const Body& r : n.bodies) visit(r);
                for (const Body& r : n.bodies)
                    for (std::size_t i = 0; i < n.results.size(); ++i) may_be(n.results[i], r.results[i]);
                return;
            case GraphNode::Loop: return loop(n, 0);
            case GraphNode::Repeat: return loop(n, 3);
            case GraphNode::Call: {
                const Body& body = n.function->body;
                for (std::size_t i = 0; i < n.args.size(); ++i) may_be(body.params[i], n.args[i]);
                if (visited_.insert(n.function).second) visit(body);
                for (std::size_t i = 0; i < n.results.size(); ++i) may_be(n.results[i], body.results[i]);
                return;
            }
            default: {
                bool sparse = is_made_sparse(n);
                for (std::size_t i = 0; i < n.args.size(); ++i)
                    sparse |= n.args[i] && n.args[i]->type.is_sparse && use_of(n, i) == SparseUse::Keeps;
                for (Value* v : n.results) may_be(v, sparse);
            }
        }
    }

    /// The state of a loop is sparse if it begins and goes on so.
    void loop(GraphNode& n, std::size_t first) {
        const Body& body = n.bodies.back();
        const std::size_t shift = body.params.size() - n.results.size();  // the counter comes first
        for (const Body& r : n.bodies) visit(r);
        for (std::size_t i = 0; i < n.results.size(); ++i) {
            Value* param = body.params[shift + i];
            may_be(param, n.args[first + i]);
            may_be(param, body.results[i]);
            may_be(n.results[i], param);
        }
    }

    /// Made of no matrix, with few cells that are not zero.
    bool is_made_sparse(const GraphNode& n) const {
        const bool makes = n.kind == GraphNode::Matrix ||
                           (n.kind == GraphNode::Builtin && n.builtin->sparse == SparseRule::Makes);
        const Value* v = n.results.empty() ? nullptr : n.results[0];
        return makes && v->sparsity >= 0 && v->sparsity < graph_.sparsity_threshold;
    }

    Graph& graph_;
    bool changed_ = false;
    std::unordered_set<const GraphFunction*> visited_;
    std::unordered_set<const Value*> fixed_;
};

// ---- conversions

class Conversion {
  public:
    explicit Conversion(Graph& graph) : graph_(graph) {}
    void run(const Choice& choice) {
        convert(graph_.main, {}, {});
        for (GraphFunction& f : graph_.functions)
            if (choice.is_called(f)) convert(f.body, {}, {});
    }

  private:
    /// Of body `r`, whose results go on as `results`, as far as there are any, at `loc`.
    void convert(Body& r, const std::vector<Value*>& results, Loc loc) {
        std::vector<GraphNode*> outer;
        std::swap(nodes_, outer);
        std::vector<const Value*> converted;
        std::swap(converted_, converted);
        for (GraphNode* n : r.nodes) {
            node(*n);
            nodes_.push_back(n);
        }
        for (std::size_t i = 0; i < results.size(); ++i) as(r.results[i], results[i], loc);
        r.nodes = std::move(nodes_);
        for (const Value* v : converted_) dense_.erase(v);
        std::swap(converted_, converted);
        std::swap(nodes_, outer);
    }

    void node(GraphNode& n) {
        switch (n.kind) {
            case GraphNode::If:
                for (Body& r : n.bodies) convert(r, n.results, n.loc);
                return;
            case GraphNode::Loop: return loop(n, 0);
            case GraphNode::Repeat: return loop(n, 3);
            case GraphNode::Call:
                for (std::size_t i = 0; i < n.args.size(); ++i)
                    as(n.args[i], n.function->body.params[i], n.loc);
                return;
            default:
                for (std::size_t i = 0; i < n.args.size(); ++i)
                    if (n.args[i] && n.args[i]->type.is_sparse && use_of(n, i) == SparseUse::None)
                        n.args[i] = dense(n.args[i], n.loc);
        }
    }

    void loop(GraphNode& n, std::size_t first) {
        Body& body = n.bodies.back();
        const std::vector<Value*> state(body.params.end() - std::ptrdiff_t(n.results.size()),
                                        body.params.end());
        for (std::size_t i = 0; i < state.size(); ++i) as(n.args[first + i], state[i], n.loc);
        for (Body& r : n.bodies) convert(r, &r == &body ? state : std::vector<Value*>(), n.loc);
    }

    /// `v` goes on as `to`.
    void as(Value*& v, const Value* to, Loc loc) {
        if (v->type.is_sparse && !to->type.is_sparse) v = dense(v, loc);
    }

    Value* dense(Value* v, Loc loc) {
        Value*& to = dense_[v];
        if (to) return to;
        converted_.push_back(v);
        GraphNode* n = graph_.node(GraphNode::Convert, loc);
        to = graph_.like(*v);
        to->type.is_sparse = false;
        to->maker = n;
        n->args = {v};
        n->results = {to};
        nodes_.push_back(n);
        return to;
    }

    Graph& graph_;
    std::vector<GraphNode*> nodes_;  ///< of the body that is being visited
    std::unordered_map<const Value*, Value*> dense_;
    std::vector<const Value*> converted_;  ///< in that body
};

}  // namespace

void represent(Graph& graph) {
    const auto is_sparse = [](const Value* v) { return v->type.is_sparse; };
    if (graph.sparsity_threshold <= 0 && std::ranges::none_of(graph.main.params, is_sparse)) return;
    Choice choice(graph);
    choice.run();
    Conversion(graph).run(choice);
}

}  // namespace weld::daphne
