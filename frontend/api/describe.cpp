// From interned types to descriptions of memory, and from those back to text.
#include "frontend/api/describe.h"

#include <algorithm>

#include "runtime/hash_table.h"
#include "weldir/ir/layout.h"

namespace weld {

static std::uint8_t kind_of(const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar: return std::uint8_t(kWeldBool) + std::uint8_t(t->scalar);
        case TypeKind::Simd: return kWeldSimd;
        case TypeKind::Vec: return kWeldVec;
        case TypeKind::Dict: return kWeldDict;
        case TypeKind::Struct: return kWeldStruct;
        case TypeKind::Function: break;
        case TypeKind::Builder:
            switch (t->builder) {
                case BuilderKind::Appender: return kWeldAppender;
                case BuilderKind::Merger: return kWeldMerger;
                case BuilderKind::DictMerger: return kWeldDictMerger;
                case BuilderKind::GroupMerger: return kWeldGroupMerger;
                case BuilderKind::VecMerger: return kWeldVecMerger;
            }
    }
    return kWeldStruct;  // unreachable: functions are not values
}

/// Integers, bool, and what consists of them without a gap.
static bool is_plain(const WeldType& t) {
    if (t.kind < kWeldF32) return true;
    if (t.kind == kWeldSimd) return t.args[0]->plain;
    if (t.kind != kWeldStruct) return false;
    std::int64_t filled = 0;
    for (std::uint32_t i = 0; i < t.num_args; ++i) {
        if (!t.args[i]->plain) return false;
        filled += t.args[i]->size;
    }
    return filled == t.size;
}

/// What a groupmerger keeps until the end: {key, value}.
static Type row_of(const Type* group) {
    Type row;
    row.kind = TypeKind::Struct;
    row.args = group->args;
    row.holds_pointer = group->key()->holds_pointer || group->value()->holds_pointer;
    return row;
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
    } else if (type->is_builder(BuilderKind::GroupMerger)) {
        const Type row = row_of(type);
        args.push_back(describe(&row));
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

static void append(std::string& out, const WeldType* t) {
    static constexpr const char* kOpen[] = {
        "simd[", "vec[", "dict[", "{", "appender[", "merger[", "dictmerger[", "groupmerger[", "vecmerger["};
    if (t->kind < kWeldSimd) {
        out += name_of(Scalar(t->kind));
        return;
    }
    out += kOpen[t->kind - kWeldSimd];
    const WeldType* named = t->kind == kWeldGroupMerger ? t->args[0] : t;  // {key, value}
    for (std::uint32_t i = 0; i < named->num_args; ++i) {
        if (i) out += ',';
        append(out, named->args[i]);
    }
    if (t->kind == kWeldSimd) out += ',' + std::to_string(t->size / t->args[0]->size);
    if (t->kind == kWeldMerger || t->kind == kWeldDictMerger || t->kind == kWeldVecMerger)
        (out += ',') += name_of(MergeOp(t->op));
    out += t->kind == kWeldStruct ? '}' : ']';
}

std::string name_of(const WeldType* type) {
    std::string out;
    append(out, type);
    return out;
}

}  // namespace weld
