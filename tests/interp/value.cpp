// Comparing values by type.
#include "tests/interp/value.h"

#include <algorithm>
#include <cmath>

#include "weldir/ir/scalar.h"

namespace weld::interp {

Value scalar_value(std::uint64_t bits) {
    Value v;
    v.bits = bits;
    return v;
}

Value list_value(Values items) {
    Value v;
    v.parts = std::make_shared<const Values>(std::move(items));
    return v;
}

Value dict_value(Dict dict) {
    Value v;
    v.parts = std::make_shared<const Dict>(std::move(dict));
    return v;
}

static int compare_scalars(Scalar s, std::uint64_t a, std::uint64_t b, bool total) {
    return scalar::with_type(s, [&](auto zero) {
        using T = decltype(zero);
        const T x = scalar::from_bits<T>(a), y = scalar::from_bits<T>(b);
        if constexpr (std::is_floating_point_v<T>)
            if (std::isnan(x) || std::isnan(y)) return total ? int(std::isnan(x)) - int(std::isnan(y)) : 2;
        return x < y ? -1 : int(y < x);
    });
}

template <class Compare>
static int compare_lists(const Values& a, const Values& b, Compare&& compare_at) {
    const std::size_t n = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < n; ++i)
        if (const int c = compare_at(i); c != 0) return c;
    return a.size() < b.size() ? -1 : int(b.size() < a.size());
}

static int compare_dicts(const Type* type, const Dict& a, const Dict& b) {
    auto x = a.entries.begin(), y = b.entries.begin();
    for (; x != a.entries.end() && y != b.entries.end(); ++x, ++y) {
        if (const int c = order(type->key(), x->first, y->first); c != 0) return c;
        if (const int c = order(type->value(), x->second, y->second); c != 0) return c;
    }
    return int(x != a.entries.end()) - int(y != b.entries.end());
}

static int compare_any(const Type* type, const Value& a, const Value& b, bool total) {
    switch (type->kind) {
        case TypeKind::Scalar: return compare_scalars(type->scalar, a.bits, b.bits, total);
        case TypeKind::Simd:
            return compare_lists(a.items(), b.items(), [&](std::size_t i) {
                return compare_scalars(type->scalar, a.items()[i].bits, b.items()[i].bits, total);
            });
        case TypeKind::Vec:
            if (total && &a.items() == &b.items()) return 0;  // long keys are often one vector
            return compare_lists(a.items(), b.items(), [&](std::size_t i) {
                return compare_any(type->elem(), a.items()[i], b.items()[i], total);
            });
        case TypeKind::Struct:
            return compare_lists(a.items(), b.items(), [&](std::size_t i) {
                return compare_any(type->args[i], a.items()[i], b.items()[i], total);
            });
        case TypeKind::Dict: return compare_dicts(type, a.dict(), b.dict());
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
    return 0;
}

int compare(const Type* type, const Value& a, const Value& b) { return compare_any(type, a, b, false); }
int order(const Type* type, const Value& a, const Value& b) { return compare_any(type, a, b, true); }

Value zero(const Type* type) {
    switch (type->kind) {
        case TypeKind::Simd: return list_value(Values(type->lanes));
        case TypeKind::Vec: return list_value({});
        case TypeKind::Dict: return dict_value({std::map<Value, Value, KeyLess>(KeyLess{type->key()})});
        case TypeKind::Struct: {
            Values fields;
            for (const Type* f : type->args) fields.push_back(zero(f));
            return list_value(std::move(fields));
        }
        default: return {};
    }
}

std::uint64_t canonical(Scalar s, std::uint64_t bits) {
    if (s == Scalar::F64 && std::isnan(scalar::from_bits<double>(bits))) return 0x7ff8000000000000;
    if (s == Scalar::F32 && std::isnan(scalar::from_bits<float>(bits))) return 0x7fc00000;
    return bits;
}

Value as_key(const Type* type, const Value& v) {
    if (type->is_struct()) {
        Values fields;
        for (std::size_t i = 0; i < type->args.size(); ++i)
            fields.push_back(as_key(type->args[i], v.items()[i]));
        return list_value(std::move(fields));
    }
    if (!type->is_scalar() || !is_float(type->scalar)) return v;
    const std::uint64_t sign = std::uint64_t(1) << (type->scalar == Scalar::F64 ? 63 : 31);
    Value key = scalar_value(v.bits == sign ? 0 : canonical(type->scalar, v.bits));
    key.slack = v.slack;
    return key;
}

Value lane(const Type* type, const Value& v, std::size_t k) {
    if (type->is_simd()) return v.items()[k];
    Values fields;
    for (std::size_t i = 0; i < type->args.size(); ++i)
        fields.push_back(lane(type->args[i], v.items()[i], k));
    return list_value(std::move(fields));
}

std::uint64_t count_values(const Type* type, const Value& v, std::uint64_t most) {
    std::uint64_t n = 1;
    const auto count = [&](const Type* of, const Value& part) {
        if (n < most) n += count_values(of, part, most - n);
    };
    switch (type->kind) {
        case TypeKind::Simd: return n + type->lanes;
        case TypeKind::Vec:
            if (type->elem()->is_scalar()) return n + v.items().size();
            for (const Value& x : v.items()) count(type->elem(), x);
            return n;
        case TypeKind::Struct:
            for (std::size_t i = 0; i < type->args.size(); ++i) count(type->args[i], v.items()[i]);
            return n;
        case TypeKind::Dict:
            for (const auto& [key, value] : v.dict().entries) {
                count(type->key(), key);
                count(type->value(), value);
            }
            return n;
        case TypeKind::Scalar:
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
    return n;
}

static bool holds_floats(const Type* type) {
    if (type->is_lanes()) return is_float(type->scalar);
    return std::ranges::any_of(type->args, holds_floats);
}

bool has_slack(const Type* type, const Value& v) {
    if (!holds_floats(type)) return false;  // others are exact, and may be large
    switch (type->kind) {
        case TypeKind::Scalar: return v.slack != 0;
        case TypeKind::Simd:
        case TypeKind::Vec:
            return std::any_of(v.items().begin(), v.items().end(), [&](const Value& x) {
                return type->is_simd() ? x.slack != 0 : has_slack(type->elem(), x);
            });
        case TypeKind::Struct:
            for (std::size_t i = 0; i < type->args.size(); ++i)
                if (has_slack(type->args[i], v.items()[i])) return true;
            return false;
        case TypeKind::Dict:
            return std::any_of(v.dict().entries.begin(), v.dict().entries.end(), [&](const auto& entry) {
                return has_slack(type->key(), entry.first) || has_slack(type->value(), entry.second);
            });
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
    return false;
}

}  // namespace weld::interp
