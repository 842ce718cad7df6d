// Comparing results.
#include "tests/interp/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tests/interp/text.h"
#include "weldir/ir/scalar.h"

namespace weld::interp {

static bool same_scalar(Scalar s, const Value& a, const Value& b) {
    if (canonical(s, a.bits) == canonical(s, b.bits)) return true;
    if (a.slack == 0) return false;
    if (std::isinf(a.slack)) return true;
    auto number = [&](const Value& v) {
        return s == Scalar::F32 ? double(scalar::from_bits<float>(v.bits))
                                : scalar::from_bits<double>(v.bits);
    };
    return std::abs(number(a) - number(b)) <= a.slack;
}

static Values sorted(const Type* elem, Values items) {
    std::sort(items.begin(), items.end(),
              [&](const Value& a, const Value& b) { return order(elem, a, b) < 0; });
    return items;
}

static std::string shown(const Type* t, const Value& v) {
    std::string s = to_text(t, v);
    return s.size() > 200 ? s.substr(0, 200) + "..." : s;
}

static std::string differ(const Type* t, const Value& a, const Value& b, bool unordered,
                          const std::string& path);

static std::string differ_vec(const Type* t, const Value& a, const Value& b, bool unordered,
                              const std::string& path) {
    if (a.items().size() != b.items().size())
        return fmt::format("{} has {} elements, not {}: {}, not {}", path, b.items().size(), a.items().size(),
                           shown(t, b), shown(t, a));
    if (unordered) {
        const Values x = sorted(t->elem(), a.items()), y = sorted(t->elem(), b.items());
        for (std::size_t i = 0; i < x.size(); ++i)
            if (std::string d = differ(t->elem(), x[i], y[i], true, fmt::format("{}(sorted)[{}]", path, i));
                !d.empty())
                return d;
        return {};
    }
    for (std::size_t i = 0; i < a.items().size(); ++i) {
        const Value &x = a.items()[i], &y = b.items()[i];
        if (t->elem()->is_scalar() && same_scalar(t->elem()->scalar, x, y)) continue;
        if (std::string d = differ(t->elem(), x, y, unordered, fmt::format("{}[{}]", path, i)); !d.empty())
            return d;
    }
    return {};
}

static std::string differ_dict(const Type* t, const Value& a, const Value& b, bool unordered,
                               const std::string& path) {
    const auto &x = a.dict().entries, &y = b.dict().entries;
    for (const auto& [key, value] : x) {
        const std::string place = fmt::format("{}[{}]", path, shown(t->key(), key));
        const auto found = y.find(key);
        if (found == y.end()) return place + " is missing";
        if (std::string d = differ(t->value(), value, found->second, unordered, place); !d.empty()) return d;
    }
    for (const auto& [key, value] : y)
        if (!x.count(key)) return fmt::format("{}[{}] should not be there", path, shown(t->key(), key));
    return {};
}

static std::string differ(const Type* t, const Value& a, const Value& b, bool unordered,
                          const std::string& path) {
    auto at = [&](std::size_t i) { return fmt::format("{}.${}", path, i); };
    auto scalars = [&](Scalar s, const Value& x, const Value& y, const std::string& place) {
        if (same_scalar(s, x, y)) return std::string();
        const std::string slack = x.slack != 0 ? fmt::format(" (+- {})", x.slack) : "";
        return fmt::format("{} is {}, not {}{}", place, shown(t, t->is_scalar() ? y : b),
                           shown(t, t->is_scalar() ? x : a), slack);
    };
    switch (t->kind) {
        case TypeKind::Scalar: return scalars(t->scalar, a, b, path);
        case TypeKind::Simd:
            for (std::size_t i = 0; i < t->lanes; ++i)
                if (std::string d = scalars(t->scalar, a.items()[i], b.items()[i], at(i)); !d.empty())
                    return d;
            return {};
        case TypeKind::Struct:
            for (std::size_t i = 0; i < t->args.size(); ++i)
                if (std::string d = differ(t->args[i], a.items()[i], b.items()[i], unordered, at(i));
                    !d.empty())
                    return d;
            return {};
        case TypeKind::Vec: return differ_vec(t, a, b, unordered, path);
        case TypeKind::Dict: return differ_dict(t, a, b, unordered, path);
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
    return {};
}

std::string difference(const Type* type, const Value& expected, const Value& found, bool unordered) {
    return differ(type, expected, found, unordered, "the result");
}

}  // namespace weld::interp
