// Types, names and leaves.
#include "tests/driver/generator.h"

#include <limits>
#include "weldir/ir/scalar.h"

namespace weld::driver {

std::uint64_t random_bits(Scalar s, Random& r) {
    if (s == Scalar::Bool) return r.below(2);
    if (is_float(s)) {
        constexpr double special[] = {0.0,
                                      -0.0,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      1e30,
                                      1e-30,
                                      0.1,
                                      16777217.0};
        const double x = r.percent(8) ? special[r.below(std::size(special))] : double(r.between(-64, 96)) / 8;
        return s == Scalar::F32 ? scalar::to_bits(float(x)) : scalar::to_bits(x);
    }
    const int kind = int(r.below(20));
    if (kind == 0) return identity_bits(MergeOp::Min, s);
    if (kind == 1) return identity_bits(MergeOp::Max, s);
    if (kind == 2) return eval_cast(Scalar::U64, s, r.next());
    return eval_cast(Scalar::I64, s, std::uint64_t(r.between(is_signed(s) ? -6 : 0, 12)));
}

// ---- names

const Expr* Generator::known(const Type* t) {
    std::vector<const Expr*> found;
    for (const Symbol* s : scope_) {
        if (s->type == t) found.push_back(var(m_, s));
        if (!s->type->is_struct()) continue;
        for (std::size_t i = 0; i < s->type->args.size(); ++i)
            if (s->type->args[i] == t) found.push_back(get_field(m_, var(m_, s), i));
    }
    if (found.empty()) return nullptr;
    return found[std::max(r_.below(found.size()), r_.below(found.size()))];  // rather what was made last
}

// ---- types

const Type* Generator::scalar_type() {
    constexpr Scalar often[] = {Scalar::I64, Scalar::I64, Scalar::I32,
                                Scalar::F64, Scalar::F64, Scalar::Bool};
    return scalar(r_.percent(65) ? often[r_.below(std::size(often))] : Scalar(r_.below(kNumScalars)));
}

const Type* Generator::number_type() {
    const Type* t = scalar_type();
    return t->is_bool() ? m_.types.i64() : t;
}

const Type* Generator::struct_of(std::size_t n, const std::function<const Type*()>& field) {
    std::vector<const Type*> fields;
    for (std::size_t i = 0; i < n; ++i) fields.push_back(field());
    return m_.types.structure(fields);
}

const Type* Generator::mergeable_type() {
    if (r_.percent(75)) return number_type();
    return struct_of(1 + r_.below(3), [&] { return number_type(); });
}

const Type* Generator::key_type() {
    switch (r_.below(9)) {
        case 8:
            return m_.types.vec(r_.percent(50) ? m_.types.vec(scalar(Scalar::I8))
                                               : struct_of(2, [&] { return scalar_type(); }));
        case 0: return struct_of(r_.below(4), [&] { return scalar_type(); });
        case 1: return m_.types.vec(scalar(r_.percent(60) ? Scalar::I8 : Scalar::I32));
        case 2:
            return struct_of(
                2, [&] { return r_.percent(50) ? m_.types.vec(scalar(Scalar::I8)) : scalar_type(); });
        default: return scalar_type();
    }
}

const Type* Generator::data_type(int depth) {
    const std::size_t kind = r_.below(10);
    if (depth == 0 || kind < 4) return scalar_type();
    if (kind < 7) return m_.types.vec(data_type(depth - 1));
    if (kind < 9) return struct_of(r_.below(4), [&] { return data_type(depth - 1); });
    return m_.types.dict(key_type(), r_.percent(70) ? mergeable_type() : m_.types.vec(data_type(depth - 1)));
}

const Type* Generator::param_type() {
    for (;;) {
        const Type* t =
            r_.percent(70) ? m_.types.vec(r_.percent(75) ? scalar_type() : data_type(2)) : data_type(2);
        if (!t->holds_dict) return t;
    }
}

// ---- leaves

const Expr* Generator::lanes_constant(const Type* t) {
    const Expr* c = constant(scalar(t->scalar));
    return t->is_simd() ? broadcast(m_, c, t->lanes) : c;
}

const Expr* Generator::leaf(const Type* t) {
    if (r_.percent(75))
        if (const Expr* e = known(t)) return e;
    switch (t->kind) {
        case TypeKind::Scalar: return constant(t);
        case TypeKind::Simd: return lanes_constant(t);
        case TypeKind::Vec:
            if (t->elem()->is_scalar(Scalar::I8) && r_.percent(60)) return text(t);
            return vector(t, r_.below(4), [&] { return leaf(t->elem()); });
        case TypeKind::Struct: return structure(t, [&](const Type* f) { return leaf(f); });
        case TypeKind::Dict: return small_dict(t);
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
    return nullptr;
}

const Expr* Generator::text(const Type* t) {
    constexpr char letters[] = "aabbxyz\"\\\n \xc3\xa9";
    const std::size_t length = r_.percent(2) ? 256 + r_.below(8) : r_.below(6);  // long ones are packed
    return vector(t, length,
                  [&] { return int_literal(m_, t->elem(), letters[r_.below(std::size(letters) - 1)]); });
}

const Expr* Generator::vector(const Type* t, std::size_t n, const Make& make) {
    std::vector<const Expr*> elems;
    for (std::size_t i = 0; i < n; ++i) elems.push_back(make());
    return make_vec(m_, t->elem(), elems);
}

const Expr* Generator::structure(const Type* t, const std::function<const Expr*(const Type*)>& make) {
    std::vector<const Expr*> fields;
    for (const Type* f : t->args) fields.push_back(make(f));
    return make_struct(m_, fields);
}

const Type* Generator::dict_builder(const Type* t) {
    if (t->value()->is_vec() && (!is_mergeable(t->value()) || r_.percent(50))) {
        const Type* args[] = {t->key(), t->value()->elem()};
        return m_.types.builder(BuilderKind::GroupMerger, args);
    }
    return m_.types.builder(BuilderKind::DictMerger, t->args, merge_op());
}

const Expr* Generator::small_dict(const Type* t) {
    const Expr* b = new_builder(m_, dict_builder(t));
    for (std::size_t i = 0, n = r_.below(3); i < n; ++i)
        b = merge(m_, b, make_struct(m_, {leaf(b->type->key()), leaf(b->type->value())}));
    return result(m_, b);
}

}  // namespace weld::driver
