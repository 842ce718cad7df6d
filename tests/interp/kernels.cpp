// One function per kernel of runtime/abi/kernels.def, over all of its overloads.
#include "tests/interp/kernels.h"

#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <map>

#include "tests/interp/cells.h"
#include "tests/interp/text.h"
#include "weldir/ir/scalar.h"

namespace weld::interp {

// ---- strings that are looked for

static std::string text_of(const Values& bytes, std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) text += char(bytes[i].bits);
    return text;
}

std::string bytes_of(const Value& bytes) { return text_of(bytes.items(), 0, bytes.items().size()); }

/// `{offsets, bytes}` or vectors of bytes; nothing if the offsets are wrong.
static std::optional<std::vector<std::string>> strings_of(const BuiltinKernel& kernel, const Value& value) {
    std::vector<std::string> all;
    if (!kernel.params.starts_with("{")) {
        for (const Value& s : value.items()) all.push_back(bytes_of(s));
        return all;
    }
    const Values &offsets = value.items()[0].items(), &bytes = value.items()[1].items();
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        const std::int64_t begin = as_i64(offsets[i - 1]), end = as_i64(offsets[i]);
        if (begin < 0 || end < begin || end > std::int64_t(bytes.size())) return {};
        all.push_back(text_of(bytes, std::size_t(begin), std::size_t(end)));
    }
    return all;
}

template <class F>
static std::optional<Value> for_each_string(const BuiltinKernel& kernel, const Value& value, const F& f) {
    if (kernel.result == "bool") return bool_value(f(bytes_of(value)));
    const auto strings = strings_of(kernel, value);
    if (!strings) return {};
    Values results;
    for (const std::string& s : *strings) results.push_back(bool_value(f(s)));
    return list_value(std::move(results));
}

// ---- matrices

namespace {

/// `{elements, rows, columns}`.
struct Matrix {
    const Type* elem;
    std::vector<Value> elements;
    std::int64_t rows, columns;

    Matrix(const Type* type, const Value& v)
        : elem(type->args[0]->elem()),
          elements(v.items()[0].items()),
          rows(as_i64(v.items()[1])),
          columns(as_i64(v.items()[2])) {}
    bool is_right() const {
        return rows >= 0 && columns >= 0 && std::max(rows, columns) <= INT_MAX &&
               __int128(rows) * columns == std::int64_t(elements.size());
    }
    double at(std::int64_t i, std::int64_t j) const {
        const std::uint64_t bits = elements[std::size_t(i * columns + j)].bits;
        return elem->is_scalar(Scalar::F32) ? std::bit_cast<float>(std::uint32_t(bits))
                                            : std::bit_cast<double>(bits);
    }
};

/// A sum of terms that have this magnitude together, added up in any order.
Value number(const Type* elem, double x, double magnitude, bool is_exact = false) {
    const bool is_f32 = elem->is_scalar(Scalar::F32);
    Value v = scalar_value(is_f32 ? std::bit_cast<std::uint32_t>(float(x)) : std::bit_cast<std::uint64_t>(x));
    v.slack = is_exact ? 0 : magnitude * (is_f32 ? 1e-4 : 1e-11);
    return v;
}

Value matrix_value(Values elements, std::int64_t rows, std::int64_t columns) {
    return list_value({list_value(std::move(elements)), i64_value(rows), i64_value(columns)});
}

/// at(i, j, k) and its partner of each term of the sum at (i, j).
template <class Term>
Values sums(const Type* elem, std::int64_t rows, std::int64_t columns, std::int64_t depth, const Term& term) {
    Values all;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            double sum = 0, magnitude = 0;
            bool are_integers = true;
            for (std::int64_t k = 0; k < depth; ++k) {
                const double t = term(i, j, k);
                sum += t;
                magnitude += std::abs(t);
                are_integers &= t == std::trunc(t);
            }
            all.push_back(number(elem, sum, magnitude, are_integers && magnitude < 1 << 24));
        }
    return all;
}

/// By Gauss and Jordan, the largest of each column as its pivot; nothing if there is none.
std::optional<Values> solution(const Matrix& a, std::vector<double> b, std::int64_t columns) {
    const std::int64_t n = a.rows;
    std::vector<double> m;
    for (std::int64_t i = 0; i < n * n; ++i) m.push_back(a.at(i / n, i % n));
    const auto swap_rows = [](std::vector<double>& of, std::int64_t width, std::int64_t i, std::int64_t k) {
        for (std::int64_t j = 0; j < width; ++j)
            std::swap(of[std::size_t(i * width + j)], of[std::size_t(k * width + j)]);
    };
    const auto subtract = [](std::vector<double>& of, std::int64_t width, std::int64_t i, std::int64_t k,
                             double f) {
        for (std::int64_t j = 0; j < width; ++j)
            of[std::size_t(i * width + j)] -= f * of[std::size_t(k * width + j)];
    };
    for (std::int64_t k = 0; k < n; ++k) {
        std::int64_t pivot = k;
        for (std::int64_t i = k; i < n; ++i)
            if (std::abs(m[std::size_t(i * n + k)]) > std::abs(m[std::size_t(pivot * n + k)])) pivot = i;
        if (m[std::size_t(pivot * n + k)] == 0) return {};
        swap_rows(m, n, k, pivot);
        swap_rows(b, columns, k, pivot);
        for (std::int64_t i = 0; i < n; ++i) {
            if (i == k) continue;
            const double f = m[std::size_t(i * n + k)] / m[std::size_t(k * n + k)];
            subtract(m, n, i, k, f);
            subtract(b, columns, i, k, f);
        }
    }
    Values x;
    for (std::int64_t i = 0; i < n * columns; ++i) {
        const double v = b[std::size_t(i)] / m[std::size_t(i / columns * (n + 1))];
        x.push_back(number(a.elem, v, 0));  // tests look at digits that every way of solving gives
    }
    return x;
}

/// Integers wrap, so the products of their bits may.
std::optional<Value> product_of_integers(const Matrix& a, const Matrix& b) {
    if (!a.is_right() || !b.is_right() || a.columns != b.rows) return {};
    const auto bits = [](const Matrix& m, std::int64_t i, std::int64_t j) {
        return m.elements[std::size_t(i * m.columns + j)].bits;
    };
    Values c;
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < b.columns; ++j) {
            std::uint64_t sum = 0;
            for (std::int64_t k = 0; k < a.columns; ++k) sum += bits(a, i, k) * bits(b, k, j);
            c.push_back(scalar_value(eval_cast(Scalar::U64, a.elem->scalar, sum)));
        }
    return matrix_value(std::move(c), a.rows, b.columns);
}

std::optional<Value> linear(Kernel call, const Values& args) {
    const std::string_view name = call.ref().name;
    const Matrix a(call.args()[0]->type, args[0]);
    if (!is_float(a.elem->scalar)) return product_of_integers(a, Matrix(call.args()[1]->type, args[1]));
    if (!a.is_right()) return {};
    if (name == "weld_syrk")
        return matrix_value(sums(a.elem, a.columns, a.columns, a.rows,
                                 [&](auto i, auto j, auto k) { return a.at(k, i) * a.at(k, j); }),
                            a.columns, a.columns);
    const bool is_vector = call.args()[1]->type->is_vec();
    const Matrix b =
        is_vector
            ? Matrix(call.args()[0]->type,
                     list_value({args[1], i64_value(std::int64_t(args[1].items().size())), i64_value(1)}))
            : Matrix(call.args()[1]->type, args[1]);
    if (!b.is_right()) return {};
    if (name == "weld_solve") {
        if (a.rows != a.columns || a.rows != b.rows) return {};
        std::vector<double> right;
        for (std::int64_t i = 0; i < b.rows * b.columns; ++i)
            right.push_back(b.at(i / b.columns, i % b.columns));
        std::optional<Values> x = solution(a, right, b.columns);
        if (!x) return {};
        return is_vector ? list_value(std::move(*x)) : matrix_value(std::move(*x), b.rows, b.columns);
    }
    if (a.columns != b.rows) return {};
    Values c = sums(a.elem, a.rows, b.columns, a.columns,
                    [&](auto i, auto j, auto k) { return a.at(i, k) * b.at(k, j); });
    return is_vector ? list_value(std::move(c)) : matrix_value(std::move(c), a.rows, b.columns);
}

// ---- text

Value string_value(std::string_view text, const Type* type) {
    Values bytes;
    for (char c : text)
        bytes.push_back(scalar_value(type->elem()->is_scalar(Scalar::I8) ? std::uint64_t(std::uint8_t(c))
                                                                         : std::uint8_t(c)));
    return list_value(std::move(bytes));
}

std::optional<Value> text(Kernel call, const Values& args, std::string& output) {
    const std::string_view name = call.ref().name;
    const Type* type = call.node->type;
    if (name == "weld_print") {
        for (std::size_t i = 0; i < args.size(); ++i)
            output += (i ? " " : "") + to_text(call.args()[i]->type, args[i]);
        output += '\n';
        return list_value({});
    }
    if (name == "weld_print_text") return output += bytes_of(args[0]), list_value({});
    if (name == "weld_format") return string_value(to_text(call.args()[0]->type, args[0]), type);
    std::string first = bytes_of(args[0]);
    if (name == "weld_concat") {
        for (std::size_t i = 1; i < args.size(); ++i) first += bytes_of(args[i]);
        return string_value(first, type);
    }
    if (name == "weld_compare") {
        const int c = first.compare(bytes_of(args[1]));  // of unsigned bytes
        return i64_value((c > 0) - (c < 0));
    }
    for (char& c : first) {
        if (name == "weld_upper" && c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
        if (name == "weld_lower" && c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    }
    return string_value(first, type);
}

// ---- dictionaries

/// The entries by their keys, if these are integers that are worth having places.
std::map<std::int64_t, Value> dense_entries(const Type* type, const Values& args, bool gaps) {
    if (!type->is_dict() || !type->key()->is_scalar() || !is_integer(type->key()->scalar)) return {};
    std::map<std::int64_t, Value> by_key;
    for (const auto& [k, v] : args[0].dict().entries)
        by_key[std::int64_t(eval_cast(type->key()->scalar, Scalar::I64, k.bits))] = v;
    if (by_key.empty()) return {};
    const std::uint64_t more = std::uint64_t(by_key.rbegin()->first) - std::uint64_t(by_key.begin()->first);
    const std::uint64_t most = by_key.size() * (gaps ? 4 : 1);
    if (more >= most || as_i64(args[1]) < std::int64_t(more + 1) / 4) return {};
    return by_key;
}

/// {least key, values or a field of them}.
Value dense_values(Kernel call, const Values& args) {
    const Type *type = call.args()[0]->type, *elem = call.node->type->args[1]->elem();
    const auto by_key = dense_entries(type, args, args[3].bits != 0);
    const Value none = list_value({i64_value(0), list_value({})});
    if (by_key.empty()) return none;
    const Type* value = type->value();
    const bool is_struct = value->is_struct();
    const std::int64_t field = as_i64(args[2]);
    if (is_struct && (field < 0 || field >= std::int64_t(value->args.size()))) return none;
    if ((is_struct ? value->args[std::size_t(field)] : value) != elem) return none;
    Values all;
    for (const auto& [k, v] : by_key) {
        while (by_key.begin()->first + std::int64_t(all.size()) < k) all.push_back(scalar_value(0));
        all.push_back(is_struct ? v.items()[std::size_t(field)] : v);
    }
    return list_value({i64_value(by_key.begin()->first), list_value(std::move(all))});
}

Value dense_keys(Kernel call, const Values& args) {
    Values words;
    const auto by_key = dense_entries(call.args()[0]->type, args, true);
    for (const auto& [k, v] : by_key) {
        const auto place = std::size_t(k - by_key.begin()->first);
        words.resize(place / 32 + 1, scalar_value(0));
        words[place / 32] = scalar_value(words[place / 32].bits | std::uint64_t(1) << place % 32);
    }
    return list_value(std::move(words));
}

}  // namespace

std::optional<Value> call_builtin(Kernel call, const Values& args, Slack& slack, std::string& output) {
    const BuiltinKernel& kernel = *call.ref().builtin;
    for (const char* name : {"weld_matmul", "weld_syrk", "weld_gemv", "weld_solve"})
        if (kernel.name == name) return linear(call, args);
    for (std::size_t i = 0; i < args.size(); ++i) slack.decided |= has_slack(call.args()[i]->type, args[i]);
    for (const char* name : {"weld_print", "weld_print_text", "weld_format", "weld_concat", "weld_compare",
                             "weld_upper", "weld_lower"})
        if (kernel.name == name) return text(call, args, output);
    if (is_cell_kernel(kernel.name)) return call_cell_kernel(call, args, output);
    if (kernel.name == "weld_key_bits") {  // which of them are set shows in no result
        return list_value({list_value({scalar_value(~std::uint64_t(0))}), i64_value(26)});
    }
    if (kernel.name == "weld_dense_values") return dense_values(call, args);
    if (kernel.name == "weld_dense_keys") return dense_keys(call, args);
    if (kernel.name == "weld_group") {
        const Values &keys = args[0].items(), &values = args[1].items();
        if (keys.size() != values.size()) return {};
        const Type* key = call.node->type->key();
        std::map<Value, Values, KeyLess> groups(KeyLess{key});
        for (std::size_t i = 0; i < keys.size(); ++i) groups[keys[i]].push_back(values[i]);
        Dict d{std::map<Value, Value, KeyLess>(KeyLess{key})};
        for (const auto& [k, all] : groups) d.entries.emplace(k, list_value(all));
        return dict_value(std::move(d));
    }
    if (kernel.name == "weld_fields") {
        Values all;
        for (const Value& row : args[0].items())
            all.insert(all.end(), row.items().begin(), row.items().end());
        return list_value(std::move(all));
    }
    if (kernel.name == "weld_contains") {
        const std::string needle = bytes_of(args[1]);
        return for_each_string(kernel, args[0],
                               [&](const std::string& s) { return s.find(needle) != std::string::npos; });
    }
    if (kernel.name == "weld_matches") {
        RE2::Options options;
        options.set_log_errors(false);
        const RE2 pattern(bytes_of(args[1]), options);
        if (!pattern.ok()) return {};
        return for_each_string(kernel, args[0],
                               [&](const std::string& s) { return RE2::PartialMatch(s, pattern); });
    }
    std::abort();  // a new kernel belongs here
}

}  // namespace weld::interp
