// What each builder does with what is merged into it.
#include "tests/interp/builders.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weldir/ir/scalar.h"

namespace weld::interp {

// ---- combining by an operator

static std::size_t num_scalars(const Type* t) {
    return t->is_struct() ? t->args.size() : t->is_simd() ? t->lanes : 1;
}
static Scalar scalar_at(const Type* t, std::size_t i) {
    return t->is_struct() ? t->args[i]->scalar : t->scalar;
}

static Value identity(const Type* t, MergeOp op) {
    if (t->is_scalar()) return scalar_value(identity_bits(op, t->scalar));
    Values parts;
    for (std::size_t i = 0; i < num_scalars(t); ++i)
        parts.push_back(scalar_value(identity_bits(op_of_field(op, i), scalar_at(t, i))));
    return list_value(std::move(parts));
}

static double as_double(Scalar s, std::uint64_t bits) {
    return s == Scalar::F32 ? double(scalar::from_bits<float>(bits)) : scalar::from_bits<double>(bits);
}

/// A number with so few digits that sums of many such, and of products of two, are exact in type `s`.
static bool is_short(Scalar s, double x) {
    const double step = s == Scalar::F32 ? 0x1p-6 : 0x1p-20, limit = s == Scalar::F32 ? 0x1p12 : 0x1p20;
    return std::abs(x) < limit && x == std::round(x / step) * step;
}

/// Notes that `x` goes into a sum or product whose value is then `total`.
static void note(Builder::Sum& sum, MergeOp op, Scalar s, double x, double total) {
    if (op == MergeOp::Add) {
        sum.magnitude += std::abs(x);
        sum.exact &= is_short(s, x) && sum.magnitude < (s == Scalar::F32 ? 0x1p17 : 0x1p32);
    } else if (op == MergeOp::Mul) {
        sum.magnitude = std::max(sum.magnitude, std::abs(total));
        int exponent = 0;
        sum.exact &=
            std::abs(std::frexp(x, &exponent)) == 0.5 && std::abs(exponent) < 20 && std::isnormal(total);
    }
    const double largest = s == Scalar::F32 ? 1e37 : 1e300;  // beyond, another order may overflow
    if (!(sum.magnitude < largest)) sum.magnitude = std::numeric_limits<double>::infinity();
}

static double slack_of(const Builder::Sum& sum, Scalar s) {
    if (sum.exact) return 0;
    return sum.magnitude * (s == Scalar::F32 ? 1e-5 : 1e-12);
}

static Value combine_scalars(MergeOp op, Scalar s, const Value& a, const Value& b, Builder::Sum& sum,
                             Slack& slack) {
    Value out;
    apply(op_of(op), s, a, b, nullptr, slack, &out);
    if (!is_float(s) || op == MergeOp::Min || op == MergeOp::Max) return out;
    note(sum, op, s, as_double(s, b.bits), as_double(s, out.bits));
    out.slack = std::max(out.slack, slack_of(sum, s));
    return out;
}

static Value combine(MergeOp op, const Type* t, const Value& a, const Value& b,
                     std::vector<Builder::Sum>& sums, Slack& slack) {
    sums.resize(num_scalars(t));
    if (t->is_scalar()) return combine_scalars(op, t->scalar, a, b, sums[0], slack);
    Values parts;
    for (std::size_t i = 0; i < num_scalars(t); ++i)
        parts.push_back(
            combine_scalars(op_of_field(op, i), scalar_at(t, i), a.items()[i], b.items()[i], sums[i], slack));
    return list_value(std::move(parts));
}

/// The start value of a reduction counts as its first summand.
static void note_start(const Type* t, MergeOp op, const Value& start, std::vector<Builder::Sum>& sums) {
    Slack ignored;
    combine(op, t, identity(t, op), start, sums, ignored);
}

// ---- by kind

Value make_builder(const Type* type, const Value* arg) {
    auto b = std::make_shared<Builder>();
    b->type = type;
    switch (type->builder) {
        case BuilderKind::Appender: break;
        case BuilderKind::TopK: b->most = std::max<std::int64_t>(0, as_i64(*arg)); break;
        case BuilderKind::Merger:
            b->value = arg ? *arg : identity(type->elem(), type->op);
            if (arg) note_start(type->elem(), type->op, *arg, b->sums);
            break;
        case BuilderKind::VecMerger:
        case BuilderKind::VecSetter: b->items = arg->items(); break;
        case BuilderKind::DictMerger:
            b->dict.entries = std::map<Value, Value, KeyLess>(KeyLess{type->key()});
            b->sums_by_key = std::map<Value, std::vector<Builder::Sum>, KeyLess>(KeyLess{type->key()});
            break;
        case BuilderKind::GroupMerger:
            b->groups = std::map<Value, Values, KeyLess>(KeyLess{type->key()});
            break;
    }
    Value v;
    v.parts = std::move(b);
    return v;
}

/// Keys with slack fall where they like.
static void note_key(const Type* type, const Value& key, Slack& slack) {
    slack.decided |= has_slack(type, key);
}

void merge_lanes(Builder& b, const Value& value, const Value& mask, Slack& slack) {
    const Type* t = b.type->elem();
    b.sums.resize(t->lanes);
    Values lanes = b.value.items();
    for (std::size_t k = 0; k < t->lanes; ++k)
        if (mask.items()[k].bits)
            lanes[k] = combine_scalars(b.type->op, t->scalar, lanes[k], value.items()[k], b.sums[k], slack);
    b.value = list_value(std::move(lanes));
}

bool merge_into(Builder& b, const Value& value, Slack& slack) {
    const Type* t = b.type;
    switch (t->builder) {
        case BuilderKind::Appender: b.items.push_back(value); return true;
        case BuilderKind::TopK:
            note_key(t->elem(), value, slack);
            b.items.push_back(value);
            return true;
        case BuilderKind::Merger:
            b.value = combine(t->op, t->elem(), b.value, value, b.sums, slack);
            return true;
        case BuilderKind::VecMerger: {
            const std::int64_t index = as_i64(value.items()[0]);
            if (index < 0 || std::size_t(index) >= b.items.size()) return false;
            Value& at = b.items[std::size_t(index)];
            auto [sums, is_new] = b.sums_by_index.try_emplace(index);
            if (is_new) note_start(t->elem(), t->op, at, sums->second);
            at = combine(t->op, t->elem(), at, value.items()[1], sums->second, slack);
            return true;
        }
        case BuilderKind::VecSetter: {
            const std::int64_t index = as_i64(value.items()[0]);
            if (index < 0 || std::size_t(index) >= b.items.size()) return false;
            b.items[std::size_t(index)] = value.items()[1];
            return true;
        }
        case BuilderKind::DictMerger: {
            const Value key = as_key(t->key(), value.items()[0]);
            note_key(t->key(), key, slack);
            auto [at, is_new] =
                b.dict.entries.try_emplace(key, value.items()[1]);  // the first is taken as it is
            std::vector<Builder::Sum>& sums = b.sums_by_key[key];
            if (is_new) note_start(t->value(), t->op, at->second, sums);
            else at->second = combine(t->op, t->value(), at->second, value.items()[1], sums, slack);
            return true;
        }
        case BuilderKind::GroupMerger:
            note_key(t->key(), value.items()[0], slack);
            b.groups[as_key(t->key(), value.items()[0])].push_back(value.items()[1]);
            return true;
    }
    return true;
}

static Values least(const Builder& b) {
    const KeyLess less{b.type->elem()};
    std::vector<const Value*> all;
    for (const Value& v : b.items) all.push_back(&v);
    std::ranges::stable_sort(all, [&](const Value* x, const Value* y) { return less(*x, *y); });
    Values first;
    for (const Value* v : all)
        if (first.size() < std::size_t(b.most)) first.push_back(*v);
    return first;
}

Value result_of(const Builder& b) {
    switch (b.type->builder) {
        case BuilderKind::Appender:
        case BuilderKind::VecMerger:
        case BuilderKind::VecSetter: return list_value(b.items);
        case BuilderKind::Merger: return b.value;
        case BuilderKind::TopK: return list_value(least(b));
        case BuilderKind::DictMerger: return dict_value(b.dict);
        case BuilderKind::GroupMerger: break;
    }
    Dict d{std::map<Value, Value, KeyLess>(KeyLess{b.type->key()})};
    for (const auto& [key, values] : b.groups) d.entries.emplace(key, list_value(values));
    return dict_value(std::move(d));
}

}  // namespace weld::interp
