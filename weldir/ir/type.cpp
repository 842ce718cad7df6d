// Interning of types, their names, and what may stand where.
#include "weldir/ir/type.h"

#include <algorithm>

#include "weldir/ir/builder.h"

namespace weld {

const char* name_of(BuilderKind k) {
    constexpr const char* names[] = {
#define WELD_BUILDER(name, text, ...) text,
#include "runtime/abi/builders.def"
    };
    return names[int(k)];
}

static const char* name_of_one(MergeOp op) {
    constexpr const char* names[] = {
#define WELD_MERGE_OP(name, text) text,
#include "runtime/abi/merge_ops.def"
    };
    return names[int(op)];
}

MergeOp ops_of_fields(std::span<const MergeOp> ops) {
    std::uint32_t all = 4 | std::uint32_t(ops.size()) << 3;
    for (std::size_t k = 0; k < ops.size(); ++k) all |= std::uint32_t(ops[k]) << (7 + 2 * k);
    return MergeOp(all);
}

std::string name_of(MergeOp op) {
    if (!is_of_fields(op)) return name_of_one(op);
    std::string all = "{";
    for (std::size_t k = 0; k < num_field_ops(op); ++k) {
        if (k > 0) all += ',';
        all += name_of_one(op_of_field(op, k));
    }
    return all + '}';
}

bool has_operator(BuilderKind k) {
    constexpr bool with[] = {
#define WELD_BUILDER(name, text, types, op) op,
#include "runtime/abi/builders.def"
    };
    return with[int(k)];
}

std::size_t num_type_args(BuilderKind k) {
    constexpr std::size_t numbers[] = {
#define WELD_BUILDER(name, text, types, op) types,
#include "runtime/abi/builders.def"
    };
    return numbers[int(k)];
}

static void append_list(std::string& out, std::span<const Type* const> types);

static void append(std::string& out, const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar: out += name_of(t->scalar); return;
        case TypeKind::Simd:
            out += "simd[";
            out += name_of(t->scalar);
            out += ',' + std::to_string(t->lanes) + ']';
            return;
        case TypeKind::Vec: out += "vec["; break;
        case TypeKind::Dict: out += "dict["; break;
        case TypeKind::Builder:
            out += name_of(t->builder);
            out += '[';
            append_list(out, t->args);
            if (has_operator(t->builder)) (out += ',') += name_of(t->op);
            out += ']';
            return;
        case TypeKind::Struct:
            out += '{';
            append_list(out, t->args);
            out += '}';
            return;
        case TypeKind::Function:
            out += '|';
            append_list(out, t->params());
            out += "| ";
            append(out, t->result());
            return;
    }
    append_list(out, t->args);
    out += ']';
}

static void append_list(std::string& out, std::span<const Type* const> types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (i) out += ',';
        append(out, types[i]);
    }
}

std::string Type::str() const {
    std::string out;
    append(out, this);
    return out;
}

std::uint32_t lanes_in(const Type* t) {
    if (t->is_simd()) return t->lanes;
    if (t->is_struct())
        for (const Type* f : t->args)
            if (std::uint32_t n = lanes_in(f)) return n;
    return 0;
}

std::uint32_t rows_in(const Type* t) { return t->is_vec() && t->elem()->is_simd() ? t->elem()->lanes : 0; }

bool is_key(const Type* t) { return !t->holds_builder && !t->holds_dict && t->kind != TypeKind::Function; }

bool is_mergeable(const Type* t) {
    auto number = [](const Type* f) { return f->is_scalar() && is_number(f->scalar); };
    if (t->is_struct()) return !t->args.empty() && std::all_of(t->args.begin(), t->args.end(), number);
    return number(t);
}

bool is_comparable(const Type* t) {
    if (t->is_lanes()) return true;
    return (t->is_struct() || t->is_vec()) && !t->holds_builder && !t->holds_dict && !t->holds_simd;
}

Types::Types(Arena& arena) : arena_(arena) {
    for (int i = 0; i < kNumScalars; ++i)
        scalars_[i] = intern({.kind = TypeKind::Scalar, .scalar = Scalar(i)});
}

const Type* Types::intern(const Type& proto) {
    Key key = {std::uint64_t(proto.kind) | std::uint64_t(proto.scalar) << 8 |
                   std::uint64_t(proto.builder) << 16 | std::uint64_t(proto.lanes) << 32,
               std::uint64_t(proto.op)};
    for (const Type* arg : proto.args) key.push_back(arg->id);
    auto [at, added] = known_.try_emplace(std::move(key), nullptr);
    if (!added) return at->second;
    Type* t = arena_.make<Type>(proto);
    t->args = arena_.copy(proto.args);
    t->id = next_id_++;
    t->holds_builder = t->is_builder();
    t->holds_dict = t->is_dict();
    t->holds_simd = t->is_simd();
    t->holds_pointer = t->is_vec() || t->is_dict() || (t->is_builder() && !is_value(info(t)));
    if (!t->is_function())
        for (const Type* arg : t->args) {
            if (t->is_struct()) t->holds_builder |= arg->holds_builder;
            t->holds_dict |= arg->holds_dict;
            t->holds_simd |= arg->holds_simd;
            t->holds_pointer |= arg->holds_pointer;
        }
    at->second = t;
    if (t->is_builder()) {
        const BuilderInfo& b = info(t);
        t->takes = typed_by(b.takes, t->args, *this);
        t->gives = typed_by(b.gives, t->args, *this);
        t->starts = b.starts.empty() ? nullptr : typed_by(b.starts, t->args, *this);
    }
    return t;
}

const Type* Types::simd(Scalar s, std::uint32_t lanes) {
    return intern({.kind = TypeKind::Simd, .scalar = s, .lanes = lanes});
}
const Type* Types::vec(const Type* elem) { return intern({.kind = TypeKind::Vec, .args = {&elem, 1}}); }
const Type* Types::dict(const Type* key, const Type* value) {
    const Type* args[] = {key, value};
    return intern({.kind = TypeKind::Dict, .args = args});
}
const Type* Types::structure(std::span<const Type* const> fields) {
    return intern({.kind = TypeKind::Struct, .args = fields});
}
const Type* Types::builder(BuilderKind kind, std::span<const Type* const> args, MergeOp op) {
    return intern({.kind = TypeKind::Builder,
                   .builder = kind,
                   .op = has_operator(kind) ? op : MergeOp::Add,
                   .args = args});
}
const Type* Types::function(std::span<const Type* const> params, const Type* result) {
    std::vector<const Type*> args(params.begin(), params.end());
    args.push_back(result);
    return intern({.kind = TypeKind::Function, .args = args});
}

const Type* Types::widened(const Type* type, std::uint32_t lanes) {
    if (type->is_scalar()) return simd(type->scalar, lanes);
    if (!type->is_struct()) return type;
    std::vector<const Type*> fields;
    for (const Type* f : type->args) fields.push_back(widened(f, lanes));
    return structure(fields);
}

const Type* Types::import(const Type* type) {
    Type proto = *type;
    std::vector<const Type*> args;
    for (const Type* arg : type->args) args.push_back(import(arg));
    proto.args = args;
    return intern(proto);
}

}  // namespace weld
