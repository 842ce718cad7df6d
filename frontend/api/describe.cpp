// From interned types to descriptions of memory, and from those back to text.
#include "frontend/api/describe.h"

#include <algorithm>
#include <optional>
#include <span>

#include "runtime/describe.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/layout.h"

namespace weld {

static std::uint8_t kind_of(const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar: return std::uint8_t(t->scalar);
        case TypeKind::Simd: return kWeldSimd;
        case TypeKind::Vec: return kWeldVec;
        case TypeKind::Dict: return kWeldDict;
        case TypeKind::Struct: return kWeldStruct;
        case TypeKind::Function: break;
        case TypeKind::Builder: return std::uint8_t(kWeldFirstBuilder) + std::uint8_t(t->builder);
    }
    return kWeldStruct;  // unreachable: functions are not values
}

/// Integers, bool, and what consists of them without a gap.
static bool is_plain(const WeldType& t) {
    if (runtime::is_scalar(&t)) return !runtime::is_float(&t);
    if (t.kind == kWeldSimd) return t.args[0]->plain;
    if (t.kind != kWeldStruct) return false;
    std::int64_t filled = 0;
    for (std::uint32_t i = 0; i < t.num_args; ++i) {
        if (!t.args[i]->plain) return false;
        filled += t.args[i]->size;
    }
    return filled == t.size;
}

const WeldType* Descriptions::of(const Type* type) {
    if (auto at = known_.find(type); at != known_.end()) return at->second;
    return known_[type] = describe(type);
}

const WeldType* Descriptions::describe(const Type* type) {
    std::vector<const WeldType*> args;
    if (type->is_simd()) {
        args.push_back(arena_.make<WeldType>(WeldType{.kind = std::uint8_t(type->scalar),
                                                      .plain = !is_float(type->scalar),
                                                      .size = size_of(type->scalar),
                                                      .align = size_of(type->scalar)}));
    } else if (type->is_builder() && info(type).keeps_merges) {
        args.push_back(of(type->takes));
    } else {
        for (const Type* arg : type->args) args.push_back(of(arg));
    }
    WeldType* described = arena_.make<WeldType>();
    described->kind = kind_of(type);
    described->op = std::uint8_t(type->op);
    described->holds_pointer = type->holds_pointer;
    described->num_args = std::uint32_t(args.size());
    described->size = size_of(type);
    described->align = align_of(type);
    described->args = arena_.copy(std::span<const WeldType* const>(args)).data();
    if (type->is_struct())
        described->offsets = arena_.copy(std::span<const std::int64_t>(offsets_of(type->args))).data();
    described->plain = is_plain(*described);
    return described;
}

bool is_same_type(const WeldType* a, const WeldType* b) {
    if (a == b) return true;
    return a->kind == b->kind && a->op == b->op && a->size == b->size &&
           std::equal(a->args, a->args + a->num_args, b->args, b->args + b->num_args, is_same_type);
}

// The lists of both sides are made of the same rows.
#define WELD_SCALAR(name, ...) static_assert(kWeld##name == int(Scalar::name));
#include "runtime/abi/scalars.def"
#define WELD_BUILDER(name, ...) static_assert(kWeld##name == kWeldFirstBuilder + int(BuilderKind::name));
#include "runtime/abi/builders.def"
#define WELD_MERGE_OP(name, ...) static_assert(kWeld##name == int(MergeOp::name));
#include "runtime/abi/merge_ops.def"

/// The builder that a description is of.
static std::optional<BuilderKind> builder_kind(const WeldType* t) {
    if (!runtime::is_builder(t)) return {};
    return BuilderKind(t->kind - kWeldFirstBuilder);
}

/// The type arguments of a builder, as programs write them.
static std::span<const WeldType* const> type_args(const WeldType* builder) {
    const BuilderKind kind = *builder_kind(builder);
    const WeldType* from = info(kind).keeps_merges && num_type_args(kind) > 1 ? builder->args[0] : builder;
    return {from->args, std::size_t(from->num_args)};
}

static void append_list(std::string& out, std::span<const WeldType* const> types);

static void append(std::string& out, const WeldType* t) {
    if (runtime::is_scalar(t)) {
        out += name_of(Scalar(t->kind));
        return;
    }
    if (const std::optional<BuilderKind> builder = builder_kind(t)) {
        (out += name_of(*builder)) += '[';
        append_list(out, type_args(t));
        if (has_operator(*builder)) (out += ',') += name_of(MergeOp(t->op));
        out += ']';
        return;
    }
    out += t->kind == kWeldSimd   ? "simd["
           : t->kind == kWeldVec  ? "vec["
           : t->kind == kWeldDict ? "dict["
                                  : "{";
    append_list(out, {t->args, std::size_t(t->num_args)});
    if (t->kind == kWeldSimd) out += ',' + std::to_string(t->size / t->args[0]->size);
    out += t->kind == kWeldStruct ? '}' : ']';
}

static void append_list(std::string& out, std::span<const WeldType* const> types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (i) out += ',';
        append(out, types[i]);
    }
}

std::string name_of(const WeldType* type) {
    std::string out;
    append(out, type);
    return out;
}

}  // namespace weld
