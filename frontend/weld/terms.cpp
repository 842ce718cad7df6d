// Terms: making them known as soon as their parts are, and unifying them.
#include "frontend/weld/terms.h"

#include <algorithm>

namespace weld::front {

// ---- making

Term* Terms::known(const Type* type) {
    if (type->id >= known_.size()) known_.resize(type->id + 1);
    Term*& t = known_[type->id];
    if (t) return t;
    t = make({.kind = Term::Known, .type = type});
    if (type->args.empty()) return t;
    std::uint64_t leaves = 0;
    for (const Type* a : type->args) leaves += known(a)->leaves;
    t = known_[type->id];  // the table may have moved
    t->leaves = std::uint32_t(std::min<std::uint64_t>(leaves, UINT32_MAX));
    return t;
}

const Type* Terms::type_of(const Term& proto, std::span<const Type* const> args) {
    Types& types = module_.types;
    switch (proto.kind) {
        case Term::Vec: return types.vec(args[0]);
        case Term::Dict: return types.dict(args[0], args[1]);
        case Term::Struct: return types.structure(args);
        case Term::Builder: return types.builder(proto.builder, args, proto.op);
        case Term::Function: return types.function(args.first(args.size() - 1), args.back());
        default: return nullptr;
    }
}

Term* Terms::compound(Term proto, std::span<Term* const> args) {
    std::vector<const Type*> types;
    std::uint64_t leaves = 0;
    for (Term* a : args) {
        a = find(a);
        if (a->kind == Term::Error) return error_;
        leaves += a->leaves;
        if (a->kind == Term::Known) types.push_back(a->type);
    }
    if (types.size() == args.size()) return known(type_of(proto, types));
    proto.leaves = std::uint32_t(std::min<std::uint64_t>(leaves, UINT32_MAX));
    proto.args = arena_.copy(args);
    return make(proto);
}

Term* Terms::dict(Term* key, Term* value) {
    Term* args[] = {key, value};
    return compound({.kind = Term::Dict}, args);
}

Term* Terms::builder(BuilderKind kind, std::span<Term* const> args, MergeOp op) {
    return compound({.kind = Term::Builder, .builder = kind, .op = has_operator(kind) ? op : MergeOp::Add},
                    args);
}

Term* Terms::function(std::span<Term* const> params, Term* result) {
    std::vector<Term*> args(params.begin(), params.end());
    args.push_back(result);
    return compound({.kind = Term::Function}, args);
}

Lanes* Terms::lanes(std::uint32_t count) { return arena_.make<Lanes>(nullptr, count); }

Term* Terms::simd(Term* elem, Lanes* lanes) {
    elem = find(elem);
    lanes = find(lanes);
    if (elem->kind == Term::Error) return error_;
    if (elem->kind == Term::Known && elem->type->is_scalar() && lanes->count)
        return known(module_.types.simd(elem->type->scalar, lanes->count));
    Term* t =
        make({.kind = Term::Simd, .lanes = lanes, .args = arena_.copy(std::span<Term* const>(&elem, 1))});
    simds_.push_back(t);
    return t;
}

Term* Terms::of(const TypeNode* n, Loc use) {
    if (n->known) return n->known;
    if (n->kind == TypeNode::Unknown) return variable(module_.sources.internal(n->loc) ? use : n->loc);
    if (n->kind == TypeNode::Scalar) return n->known = scalar(n->scalar);
    std::vector<Term*> args;
    for (const TypeNode* a : n->args) args.push_back(of(a, use));
    Term* t = nullptr;
    switch (n->kind) {
        case TypeNode::Simd: t = simd(args[0], lanes(n->lanes)); break;
        case TypeNode::Vec: t = vec(args[0]); break;
        case TypeNode::Dict: t = dict(args[0], args[1]); break;
        case TypeNode::Struct: t = structure(args); break;
        default: t = builder(n->builder, args, n->op);
    }
    if (t->kind == Term::Known) n->known = t;
    return t;
}

// ---- looking

Term* Terms::find(Term* t) {
    Term* root = t;
    while (root->bound) root = root->bound;
    while (t->bound) t = std::exchange(t->bound, root);
    return root;
}

Lanes* Terms::find(Lanes* l) {
    while (l->bound) l = l->bound;
    return l;
}

TypeKind Terms::type_kind(Term* t) {
    t = find(t);
    switch (t->kind) {
        case Term::Vec: return TypeKind::Vec;
        case Term::Dict: return TypeKind::Dict;
        case Term::Struct: return TypeKind::Struct;
        case Term::Builder: return TypeKind::Builder;
        case Term::Simd: return TypeKind::Simd;
        case Term::Function: return TypeKind::Function;
        default: return t->type->kind;
    }
}

bool Terms::is(Term* t, TypeKind kind) {
    t = find(t);
    return t->kind != Term::Variable && t->kind != Term::Error && type_kind(t) == kind;
}

bool Terms::is_scalar(Term* t, Scalar s) {
    t = find(t);
    return t->kind == Term::Known && t->type->is_scalar(s);
}

BuilderKind Terms::builder_kind(Term* t) {
    t = find(t);
    return t->kind == Term::Known ? t->type->builder : t->builder;
}

MergeOp Terms::merge_op(Term* t) {
    t = find(t);
    return t->kind == Term::Known ? t->type->op : t->op;
}

std::size_t Terms::num_args(Term* t) {
    t = find(t);
    return t->kind == Term::Known ? t->type->args.size() : t->args.size();
}

Term* Terms::arg(Term* t, std::size_t i) {
    t = find(t);
    if (t->kind != Term::Known) return find(t->args[i]);
    return t->type->is_simd() ? scalar(t->type->scalar) : known(t->type->args[i]);
}

Lanes* Terms::lanes_of(Term* t) {
    t = find(t);
    return t->kind == Term::Known ? lanes(t->type->lanes) : t->lanes;
}

std::uint32_t Terms::leaves(Term* t) { return find(t)->leaves; }

// ---- unifying

void Terms::wait(Term* variable, Node* node) {
    variable = find(variable);
    variable->waiting = arena_.make<Waiting>(node, variable->waiting);
}

bool Terms::occurs(Term* variable, Term* in) {
    in = find(in);
    if (in == variable) return true;
    if (in->args.empty() || !first_visit(in)) return false;
    return std::any_of(in->args.begin(), in->args.end(), [&](Term* a) { return occurs(variable, a); });
}

bool Terms::bind(Term* variable, Term* to) {
    if (to->kind == Term::Variable) {
        for (Waiting* w = variable->waiting; w; w = w->next) wait(to, w->node);
    } else {
        begin_walk();
        if (occurs(variable, to)) return false;
        for (Waiting* w = variable->waiting; w; w = w->next) ready_.push_back(w->node);
    }
    variable->bound = to;
    return true;
}

bool Terms::unify(Lanes* a, Lanes* b) {
    a = find(a);
    b = find(b);
    if (a == b) return true;
    if (a->count && b->count) return a->count == b->count;
    if (a->count) std::swap(a, b);
    a->bound = b;
    return true;
}

bool Terms::unify(Term* a, Term* b) {
    a = find(a);
    b = find(b);
    if (a == b) return true;
    if (a->kind == Term::Variable) return bind(a, b);
    if (b->kind == Term::Variable) return bind(b, a);
    if (a->kind == Term::Error || b->kind == Term::Error) return true;
    if (a->kind == Term::Known && b->kind == Term::Known) return a->type == b->type;
    const TypeKind kind = type_kind(a);
    if (kind != type_kind(b) || kind == TypeKind::Scalar) return false;
    if (kind == TypeKind::Builder && (builder_kind(a) != builder_kind(b) || merge_op(a) != merge_op(b)))
        return false;
    if (kind == TypeKind::Simd) {
        if (!unify(lanes_of(a), lanes_of(b)) || !unify(arg(a, 0), arg(b, 0))) return false;
    } else {
        const std::size_t n = num_args(a);
        if (n != num_args(b)) return false;
        for (std::size_t i = 0; i < n; ++i)
            if (!unify(arg(a, i), arg(b, i))) return false;
    }
    if (a->kind == Term::Known) std::swap(a, b);
    a->bound = b;  // they are equal now, so this need not be found out again
    return true;
}

// ---- settling

void Terms::settle_lanes() {
    for (Term* t : simds_) {
        const Term* elem = find(t->args[0]);
        if (elem->kind != Term::Known || !elem->type->is_scalar()) continue;
        Lanes* lanes = find(t->lanes);
        lanes->widest = std::max(lanes->widest, std::uint32_t(size_of(elem->type->scalar)));
    }
    for (Term* t : simds_) {
        Lanes* lanes = find(t->lanes);
        if (!lanes->count && lanes->widest) lanes->count = std::max(1u, kLaneBytes / lanes->widest);
    }
}

const Type* Terms::resolve(Term* t, Term** unknown) {
    t = find(t);
    if (t->kind == Term::Known) return t->type;
    if (t->kind == Term::Variable) *unknown = t;
    if (t->kind == Term::Variable || t->kind == Term::Error) return nullptr;
    std::vector<const Type*> args;
    for (Term* a : t->args) {
        args.push_back(resolve(a, unknown));
        if (!args.back()) return nullptr;
    }
    const Type* type = nullptr;
    if (t->kind != Term::Simd) type = type_of(*t, args);
    else if (args[0]->is_scalar() && find(t->lanes)->count)
        type = module_.types.simd(args[0]->scalar, find(t->lanes)->count);
    if (type) t->bound = known(type);
    return type;
}

// ---- showing

static constexpr std::size_t kLongest = 160;  // of a type in a message

void Terms::append(std::string& out, Term* t) {
    t = find(t);
    if (out.size() > kLongest) return;
    if (t->kind == Term::Known) {
        out += t->leaves <= kMaxTypeLeaves ? t->type->str() : "…";
        return;
    }
    const bool is_struct = t->kind == Term::Struct;
    switch (t->kind) {
        case Term::Vec: out += "vec["; break;
        case Term::Dict: out += "dict["; break;
        case Term::Simd: out += "simd["; break;
        case Term::Struct: out += '{'; break;
        case Term::Builder: (out += weld::name_of(t->builder)) += '['; break;
        case Term::Function: out += "a function"; return;
        default: out += '?'; return;
    }
    for (std::size_t i = 0; i < t->args.size(); ++i) {
        if (i) out += ',';
        append(out, t->args[i]);
    }
    if (t->kind == Term::Builder && has_operator(t->builder)) (out += ',') += weld::name_of(t->op);
    if (t->kind == Term::Simd && find(t->lanes)->count) out += ',' + std::to_string(find(t->lanes)->count);
    out += is_struct ? '}' : ']';
}

std::string Terms::str(Term* t) {
    std::string out;
    append(out, t);
    if (out.size() <= kLongest) return out;
    return out.substr(0, kLongest) + "…";
}

}  // namespace weld::front
