// The rules of types: one function per node, each a list of demands. Those of loops and builders stand in
// verify_loops.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "weldir/ir/build.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/demands.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/keys.h"
#include "weldir/ir/verify.h"
#include "weldir/ir/walk.h"

namespace weld {

namespace {

bool is_vec_of(const Type* t, Scalar s) { return t->is_vec() && t->elem()->is_scalar(s); }

// ---- types by themselves

std::string ill_formed(const Type* t) {
    if (t->is_simd() && t->lanes == 0) return "`simd` without lanes";
    if (t->is_dict() && !is_key(t->key())) return fmt::format("`{}` cannot be a key", t->key()->str());
    if (!t->is_struct() && !t->is_function())
        for (const Type* a : t->args)
            if (a->holds_builder) return fmt::format("a builder inside `{}`", t->str());
    return t->is_builder() ? ill_formed_builder(t) : std::string();
}

// ---- scalars

bool accepts(TypeRule rule, const Type* t) {
    if (rule == TypeRule::Compare) return is_comparable(t);
    if (!t->is_lanes()) return false;
    switch (rule) {
        case TypeRule::Number: return is_number(t->scalar);
        case TypeRule::Integer: return is_integer(t->scalar);
        case TypeRule::IntOrBool: return !is_float(t->scalar);
        case TypeRule::Float: return is_float(t->scalar);
        case TypeRule::Bool:
        case TypeRule::Compare: break;
    }
    return t->scalar == Scalar::Bool;
}

void scalar_op(Demands& d, const Expr* e) {
    const OpInfo& row = info(e->op);
    if (!d.arity(e, row.arity, row.arity)) return;
    const Type* in = e->arg(0)->type;
    if (row.arity == 2) d.equal(e->arg(1)->type, in, "the right side");
    d.that(accepts(row.rule, in), "`{}` is not defined for `{}`", row.text, in);
    if (row.rule != TypeRule::Compare) d.equal(e->type, in, "the result");
    else if (in->is_simd())
        d.that(e->type->is_simd() && e->type->scalar == Scalar::Bool && e->type->lanes == in->lanes,
               "the result of comparing simd is simd of bool");
    else d.that(e->type->is_bool(), "the result of a comparison is bool");
}

void literal(Demands& d, const Expr* e) {
    if (!d.that(e->type->is_scalar(), "a literal is a scalar")) return;
    const int width = 8 * size_of(e->type->scalar);
    const std::uint64_t limit = e->type->is_bool() ? 1 : ~std::uint64_t(0) >> (64 - width);
    d.that(e->attr.bits <= limit, "a literal has bits outside of its type");
}

void cast(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    const Type* from = e->arg(0)->type;
    d.that(from->is_lanes() && e->type->is_lanes() && from->is_simd() == e->type->is_simd() &&
               from->lanes == e->type->lanes,
           "a cast from `{}` to `{}`", from, e->type);
}

void broadcast(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    const Type* from = e->arg(0)->type;
    d.that(from->is_scalar() && e->type->is_simd() && from->scalar == e->type->scalar,
           "a broadcast from `{}` to `{}`", from, e->type);
}

// ---- structure

void block(Demands& d, const Expr* e) {
    const Block b = e->as<Block>();
    if (!d.that(b.size() > 0 && e->num_args == b.size() + 1, "a block without values")) return;
    for (std::size_t i = 0; i < b.size(); ++i)
        d.equal(b.value(i)->type, b.symbol(i)->type, "the value of a `let`");
    for (const Expr* a : e->args()) d.that(a->op != Op::Block, "a block directly inside a block");
    d.equal(e->type, b.result()->type, "a block");
}

void lambda(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    const Lambda l = e->as<Lambda>();
    if (!d.that(e->type->is_function() && e->type->params().size() == l.params().size(),
                "a function of another number of parameters"))
        return;
    for (std::size_t i = 0; i < l.params().size(); ++i)
        d.equal(l.param(i)->type, e->type->params()[i], "a parameter");
    d.equal(l.body()->type, e->type->result(), "the body of a function");
}

void make_struct(Demands& d, const Expr* e) {
    if (!d.that(e->type->is_struct() && e->type->args.size() == e->num_args, "another number of fields"))
        return;
    for (std::size_t i = 0; i < e->num_args; ++i) d.equal(e->arg(i)->type, e->type->args[i], "a field");
}

void get_field(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    const Type* of = e->arg(0)->type;
    if (d.that(of->is_struct() && e->attr.index < of->args.size(), "`{}` has no field {}", of, e->attr.index))
        d.equal(e->type, of->args[e->attr.index], "the field");
}

void make_vec(Demands& d, const Expr* e) {
    if (!d.that(e->type->is_vec(), "a vector that is none")) return;
    for (const Expr* a : e->args()) d.equal(a->type, e->type->elem(), "an element");
}

void packed_vec(Demands& d, const Expr* e) {
    if (!d.that(e->type->is_vec() && e->type->elem()->is_scalar(), "a packed vector of what is no scalar"))
        return;
    d.that(e->attr.bytes->size() % std::size_t(size_of(e->type->elem()->scalar)) == 0, "half an element");
}

void sides(Demands& d, const Expr* e) {
    d.equal(e->arg(1)->type, e->type, "the first side");
    d.equal(e->arg(2)->type, e->type, "the second side");
}

void select(Demands& d, const Expr* e) {
    if (!d.arity(e, 3, 3)) return;
    sides(d, e);
    const Type* c = e->arg(0)->type;
    d.that(c->is_bool() || (c->is_simd() && c->scalar == Scalar::Bool && all_lanes(e->type, c->lanes)),
           "a `select` of `{}` by `{}`", e->type, c);
    d.that(!e->type->holds_builder, "a `select` of builders");
}

void if_(Demands& d, const Expr* e) {
    if (!d.arity(e, 3, 3)) return;
    sides(d, e);
    d.that(e->arg(0)->type->is_bool(), "the condition of an `if` is bool");
}

// ---- collections

bool collection(Demands& d, const Expr* e, std::size_t args) {
    if (!d.arity(e, args, args)) return false;
    const Type* of = e->arg(0)->type;
    return d.that(of->is_vec() || of->is_dict(), "`{}` is no collection", of);
}

const Type* found_in(const Type* of) { return of->is_dict() ? of->value() : of->elem(); }

void key_of(Demands& d, const Expr* e) {
    const Type* of = e->arg(0)->type;
    if (of->is_dict()) d.equal(e->arg(1)->type, of->key(), "the key");
    else d.that(is_i64(e->arg(1)->type), "an index is i64");
}

void lookup(Demands& d, const Expr* e) {
    if (!collection(d, e, 2)) return;
    key_of(d, e);
    d.equal(e->type, found_in(e->arg(0)->type), "what is found");
}

void lookup_lanes(Demands& d, const Expr* e) {
    if (!d.arity(e, 2, 3)) return;
    const Type *of = e->arg(0)->type, *at = e->arg(1)->type;
    if (!d.that(of->is_vec() && of->elem()->is_scalar(), "lanes of `{}`", of)) return;
    d.that(at->is_simd() && at->scalar == Scalar::I64, "indices are lanes of i64");
    d.that(e->type->is_simd() && e->type->scalar == of->elem()->scalar && e->type->lanes == at->lanes,
           "lanes of `{}` as `{}`", of, e->type);
    if (e->num_args < 3) return;
    const Type* mask = e->arg(2)->type;
    d.that(mask->is_simd() && mask->scalar == Scalar::Bool && mask->lanes == at->lanes,
           "the lanes that look up are lanes of bool");
}

bool in_dict(Demands& d, const Expr* e, std::size_t most_args = 2) {
    if (!d.arity(e, 2, most_args)) return false;
    const Type* of = e->arg(0)->type;
    return d.that(of->is_dict(), "`{}` is no dictionary", of) &&
           d.equal(e->arg(1)->type, of->key(), "the key");
}

void opt_lookup(Demands& d, const Expr* e) {
    if (!in_dict(d, e)) return;
    d.that(e->type->is_struct() && e->type->args.size() == 2 && e->type->args[0]->is_bool() &&
               e->type->args[1] == e->arg(0)->type->value(),
           "`optlookup` gives a bool and a value");
}

void opt_lanes(Demands& d, const Expr* e) {
    if (!d.arity(e, 2, 4)) return;
    const Type *of = e->arg(0)->type, *t = e->type;
    const bool flat = e->num_args == 4;
    d.that(is_i64(e->arg(1)->type), "an index is i64");
    const bool pair = t->is_struct() && t->args.size() == 2 && t->args[0]->is_bool();
    if (!d.that(of->is_vec() && pair, "lanes of `{}`", of)) return;
    const bool rows = (flat || of->elem()->is_vec()) && t->args[1]->is_vec();
    if (flat) d.that(is_i64(e->arg(3)->type), "the length of rows is i64");
    if (e->num_args >= 3) {
        constexpr std::int64_t longest = 1024;
        const Literal most = e->arg(2)->as<Literal>();
        const bool is_length =
            most && is_i64(e->arg(2)->type) && most.as_int() >= 0 && most.as_int() <= longest;
        d.that(rows && is_length, "rows no longer than a literal up to {}", longest);
    }
    const Type *scalar = rows && !flat ? of->elem()->elem() : of->elem(),
               *simd = rows ? t->args[1]->elem() : t->args[1];
    d.that(scalar->is_scalar() && simd->is_simd() && simd->scalar == scalar->scalar, "lanes of `{}` as `{}`",
           of, t->args[1]);
}

void key_exists(Demands& d, const Expr* e) {
    if (!in_dict(d, e, 3)) return;
    d.that(e->type->is_bool(), "`keyexists` gives a bool");
    if (e->num_args < 3) return;
    const Type* bits = e->arg(2)->type;
    const bool fits = bits->is_struct() && bits->args.size() == 2 && bits->args[0]->is_vec() &&
                      bits->args[0]->elem()->is_scalar(Scalar::U64) && is_i64(bits->args[1]);
    d.that(fits && is_partitioned(e->arg(1)->type), "bits of keys that are scalars");
}

void slice(Demands& d, const Expr* e) {
    if (!d.arity(e, 3, 3)) return;
    d.equal(e->type, e->arg(0)->type, "a slice");
    d.that(e->type->is_vec(), "a slice of what is no vector");
    d.that(is_i64(e->arg(1)->type) && is_i64(e->arg(2)->type), "a slice's index and size are i64");
}

void sort(Demands& d, const Expr* e) {
    if (!d.arity(e, 2, 3) || !d.that(e->arg(1)->op == Op::Lambda, "a `sort` without a function")) return;
    if (e->num_args == 3) d.that(is_i64(e->arg(2)->type), "the limit of a `sort` is an i64");
    d.equal(e->type, e->arg(0)->type, "a sorted vector");
    if (!d.that(e->type->is_vec(), "a `sort` of what is no vector")) return;
    const Lambda by = e->as<Sort>().by();
    for (const Symbol* p : by.params()) d.equal(p->type, e->type->elem(), "the parameter");
    const Type* gives = by.body()->type;
    if (by.params().size() == 1) d.that(is_comparable(gives) && !gives->is_simd(), "the key has no order");
    else d.that(by.params().size() == 2 && gives->is_scalar(Scalar::I32), "a comparator of two gives i32");
}

void to_vec(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    const Type *of = e->arg(0)->type, *t = e->type;
    d.that(of->is_dict() && t->is_vec() && t->elem()->is_struct() && t->elem()->args.size() == 2 &&
               t->elem()->args[0] == of->key() && t->elem()->args[1] == of->value(),
           "`tovec` from `{}` to `{}`", of, t);
}

void len(Demands& d, const Expr* e) {
    if (collection(d, e, 1)) d.that(is_i64(e->type), "a length is i64");
}

void serialize(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    d.that(is_vec_of(e->type, Scalar::U8), "`serialize` gives bytes");
    d.that(!e->arg(0)->type->holds_builder, "a builder cannot be serialized");
}

void deserialize(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    d.that(is_vec_of(e->arg(0)->type, Scalar::U8), "`deserialize` takes bytes");
    d.that(!e->type->holds_builder, "a builder cannot be deserialized");
}

void assert_(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 2)) return;
    d.that(e->arg(0)->type->is_bool() && e->type->is_bool(), "`assert` is of bool");
    if (const Expr* text = e->as<Assert>().text())
        d.that(is_vec_of(text->type, Scalar::I8) || is_vec_of(text->type, Scalar::U8),
               "`assert` says a string");
}

// ---- calls

void kernel(Demands& d, const Expr* e) {
    d.that(!(e->attr.kernel->pure && e->attr.kernel->effect), "a kernel that is pure and has an effect");
    d.that(!e->type->holds_builder, "a kernel that gives a builder");
    for (const Expr* a : e->args()) d.that(!a->type->holds_builder, "a kernel that takes a builder");
    if (e->attr.kernel->builtin)
        d.that(find_builtin_kernel(e->attr.kernel->name, e->args(), e->type) == e->attr.kernel->builtin,
               "`{}` has no such overload", e->attr.kernel->name);
}

void call(Demands& d, const Expr* e) {
    const Function* f = e->attr.function;
    if (!d.that(f->lambda != nullptr, "`{}` is called and has no body", f->name)) return;
    d.equal(e->type, f->type->result(), "the result of the call");
    if (!d.arity(e, f->type->params().size(), f->type->params().size())) return;
    for (std::size_t i = 0; i < e->num_args; ++i)
        d.equal(e->arg(i)->type, f->type->params()[i], "an argument");
}

void node(Demands& d, const Expr* e) {
    if (is_scalar_op(e->op)) return scalar_op(d, e);
    switch (e->op) {
        case Op::Literal: return literal(d, e);
        case Op::Var: d.equal(e->type, e->attr.symbol->type, "a name"); return;
        case Op::Block: return block(d, e);
        case Op::Lambda: return lambda(d, e);
        case Op::MakeStruct: return make_struct(d, e);
        case Op::GetField: return get_field(d, e);
        case Op::MakeVec: return make_vec(d, e);
        case Op::PackedVec: return packed_vec(d, e);
        case Op::Cast: return cast(d, e);
        case Op::Broadcast: return broadcast(d, e);
        case Op::If: return if_(d, e);
        case Op::Select: return select(d, e);
        case Op::Iterate: return iterate_rules(d, e);
        case Op::For: return loop_rules(d, e);
        case Op::Iter: return iterator_rules(d, e);
        case Op::NewBuilder: return new_builder_rules(d, e);
        case Op::Merge: return merge_rules(d, e);
        case Op::Result: return result_rules(d, e);
        case Op::Len: return len(d, e);
        case Op::Lookup: return lookup(d, e);
        case Op::LookupLanes: return lookup_lanes(d, e);
        case Op::OptLookup: return opt_lookup(d, e);
        case Op::OptLanes: return opt_lanes(d, e);
        case Op::KeyExists: return key_exists(d, e);
        case Op::Slice: return slice(d, e);
        case Op::Sort: return sort(d, e);
        case Op::ToVec: return to_vec(d, e);
        case Op::Serialize: return serialize(d, e);
        case Op::Deserialize: return deserialize(d, e);
        case Op::Assert: return assert_(d, e);
        case Op::Kernel: return kernel(d, e);
        case Op::Call: return call(d, e);
        default: d.that(false, "an unknown kind of node");
    }
}

}  // namespace

bool all_lanes(const Type* t, std::uint32_t lanes) {
    if (t->is_simd()) return t->lanes == lanes;
    if (!t->is_struct()) return false;
    for (const Type* f : t->args)
        if (!all_lanes(f, lanes)) return false;
    return true;
}

std::string type_error(const Expr* e) {
    if (!e->type) return "a node without a type";
    for (const Expr* a : e->args())
        if (!a || !a->type) return "an argument is missing";
    if (std::string error = ill_formed(e->type); !error.empty()) return error;
    Demands d;
    node(d, e);
    annotations(d, e);
    return std::move(d.error);
}

}  // namespace weld
