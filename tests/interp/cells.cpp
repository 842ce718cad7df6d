// By the standard library that these kernels are to do as: streams, std::to_string, std::stoll.
#include "tests/interp/cells.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <type_traits>

namespace weld::interp {

namespace {

/// Calls f(x) with the C++ number that a scalar is.
template <class F>
auto with_number(Scalar s, const Value& v, const F& f) {
    switch (s) {
        case Scalar::Bool: return f(v.bits != 0);
        case Scalar::I8: return f(std::int8_t(v.bits));
        case Scalar::I16: return f(std::int16_t(v.bits));
        case Scalar::I32: return f(std::int32_t(v.bits));
        case Scalar::I64: return f(std::int64_t(v.bits));
        case Scalar::U8: return f(std::uint8_t(v.bits));
        case Scalar::U16: return f(std::uint16_t(v.bits));
        case Scalar::U32: return f(std::uint32_t(v.bits));
        case Scalar::U64: return f(std::uint64_t(v.bits));
        case Scalar::F32: return f(std::bit_cast<float>(std::uint32_t(v.bits)));
        case Scalar::F64: return f(std::bit_cast<double>(v.bits));
    }
    std::abort();
}

Value text_value(std::string_view text) {
    Values bytes;
    for (char c : text) bytes.push_back(scalar_value(std::uint64_t(std::uint8_t(c))));
    return list_value(std::move(bytes));
}

// ---- printing

std::string type_name(const Type* cell) {
    if (!cell->is_scalar()) return "std::string";
    constexpr std::string_view names[] = {
#define WELD_SCALAR(name, text, type, family) #type,
#include "runtime/abi/scalars.def"
    };
    const std::string_view name = names[int(cell->scalar)];
    return std::string(name.starts_with("std::") ? name.substr(5) : name);
}

void put(std::ostream& out, const Type* cell, const Value& v) {
    if (!cell->is_scalar()) out << bytes_of(v);
    else
        with_number(cell->scalar, v, [&](auto x) {
            if constexpr (sizeof x == 1) out << int(x);
            else out << x;
        });
}

struct Cells {
    const Type* cell;
    const Values& cells;
    std::int64_t rows, columns;

    Cells(const Type* type, const Value& v)
        : cell(type->args[0]->elem()),
          cells(v.items()[0].items()),
          rows(as_i64(v.items()[1])),
          columns(as_i64(v.items()[2])) {}
    bool is_right() const {
        return rows >= 0 && columns >= 0 && rows * columns == std::int64_t(cells.size());
    }
    void print(std::ostream& out) const {
        out << "DenseMatrix(" << rows << "x" << columns << ", " << type_name(cell) << ")\n";
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
                if (j) out << ' ';
                put(out, cell, cells[std::size_t(i * columns + j)]);
            }
            out << '\n';
        }
    }
};

bool print_frame(std::ostream& out, const Type* type, const Value& frame, const Value& labels) {
    const Type* columns = type->args[0];
    const Values& data = frame.items()[0].items();
    const std::int64_t rows = as_i64(frame.items()[1]);
    if (labels.items().size() != data.size()) return false;
    for (const Value& c : data)
        if (std::int64_t(c.items().size()) != rows) return false;
    out << "Frame(" << rows << "x" << data.size() << ", [";
    for (std::size_t i = 0; i < data.size(); ++i)
        out << (i ? ", " : "") << bytes_of(labels.items()[i]) << ":" << type_name(columns->args[i]->elem());
    out << "])\n";
    for (std::size_t row = 0; row < std::size_t(rows); ++row) {
        for (std::size_t i = 0; i < data.size(); ++i) {
            if (i) out << ' ';
            put(out, columns->args[i]->elem(), data[i].items()[row]);
        }
        out << '\n';
    }
    return true;
}

/// By a table of all cells, in which missing ones are 0.
bool print_sparse(std::ostream& out, const Type* type, const Value& m) {
    const Values &offsets = m.items()[3].items(), &at = m.items()[4].items(), &values = m.items()[0].items();
    const std::int64_t columns = as_i64(m.items()[2]);
    if (columns < 0 || as_i64(m.items()[1]) + 1 != std::int64_t(offsets.size()) || offsets.empty() ||
        as_i64(offsets[0]) != 0 || at.size() != values.size() ||
        as_i64(offsets.back()) != std::int64_t(at.size()))
        return false;
    const std::size_t rows = offsets.size() - 1;
    std::vector<std::vector<std::string>> table(rows, std::vector<std::string>(std::size_t(columns), "0"));
    for (std::size_t i = 0; i < rows; ++i) {
        std::int64_t last = -1;
        if (as_i64(offsets[i]) > as_i64(offsets[i + 1]) || as_i64(offsets[i + 1]) > std::int64_t(at.size()))
            return false;
        for (auto k = std::size_t(as_i64(offsets[i])); k < std::size_t(as_i64(offsets[i + 1])); ++k) {
            const std::int64_t j = as_i64(at[k]);
            if (j <= last || j >= columns) return false;
            std::ostringstream cell;
            put(cell, type->args[0]->elem(), values[k]);
            table[i][std::size_t(j)] = cell.str();
            last = j;
        }
    }
    out << "CSRMatrix(" << rows << "x" << columns << ", " << type_name(type->args[0]->elem()) << ")\n";
    for (const auto& row : table) {
        for (std::size_t j = 0; j < row.size(); ++j) out << (j ? " " : "") << row[j];
        out << '\n';
    }
    return true;
}

bool display(std::ostream& out, std::string_view name, const Type* type, const Values& args) {
    if (name == "weld_display") {
        put(out, type, args[0]);
        if (args[1].bits) out << '\n';
        return true;
    }
    if (name == "weld_display_frame") return print_frame(out, type, args[0], args[1]);
    if (name == "weld_display_csr") return print_sparse(out, type, args[0]);
    if (name == "weld_display_matrix") {
        const Cells m(type, args[0]);
        if (m.is_right()) m.print(out);
        return m.is_right();
    }
    const Values& list = args[0].items();
    const Type* cell = type->elem()->args[0]->elem();
    for (const Value& m : list)
        if (!Cells(type->elem(), m).is_right()) return false;
    out << "List(" << list.size() << ", DenseMatrix, " << type_name(cell) << ")\n";
    for (const Value& m : list) Cells(type->elem(), m).print(out);
    return true;
}

// ---- text and numbers

std::optional<Value> read_number(std::string_view name, const std::string& text) try {
    if (name == "weld_text_to_i64") return i64_value(std::stoll(text));
    if (name == "weld_text_to_u64") return scalar_value(std::stoull(text));
    if (name == "weld_text_to_f32") return scalar_value(std::bit_cast<std::uint32_t>(std::stof(text)));
    return scalar_value(std::bit_cast<std::uint64_t>(std::stod(text)));
} catch (const std::logic_error&) {
    return {};
}

// ---- random numbers

template <class T>
using Drawn = std::conditional_t<sizeof(T) == 1, int, T>;
template <class T>
using Uniform = std::conditional_t<std::is_floating_point_v<T>, std::uniform_real_distribution<Drawn<T>>,
                                   std::uniform_int_distribution<Drawn<T>>>;

template <class T>
Value number_value(T x) {
    if constexpr (std::is_same_v<T, float>) return scalar_value(std::bit_cast<std::uint32_t>(x));
    else if constexpr (std::is_same_v<T, double>) return scalar_value(std::bit_cast<std::uint64_t>(x));
    else return scalar_value(std::uint64_t(std::make_unsigned_t<T>(x)));
}

/// As DAPHNE does it, with `fmod`.
template <class T>
std::optional<Value> random(T min, T max, std::int64_t n, double sparsity, std::int64_t seed) {
    std::mt19937 values{std::uint32_t(seed)}, places{std::uint32_t(3 * seed)};
    Uniform<T> value(min, max);
    std::uniform_int_distribution<int> place(0, int(n - 1));
    std::vector<T> cells(std::size_t(n), T(0));
    const auto draw = [&](T& cell) {
        while ((cell = T(value(values))) == 0) {}
    };
    const bool fills = sparsity >= 0.5;
    if (fills)
        for (T& cell : cells) draw(cell);
    const double count = std::round((fills ? 1 - sparsity : sparsity) * double(n));
    double taken = 0;
    for (std::int64_t i = 0; i < n && taken < count; ++i) {
        if (!(std::fmod(place(places), double(n - i)) < count - taken)) continue;
        ++taken;
        if (fills) cells[std::size_t(i)] = 0;
        else draw(cells[std::size_t(i)]);
    }
    Values all;
    for (T cell : cells) all.push_back(number_value(cell));
    return list_value(std::move(all));
}

template <class T>
std::optional<Value> random_csr(T min, T max, std::int64_t rows, std::int64_t columns, double sparsity,
                                std::int64_t seed) {
    std::default_random_engine engine{std::uint64_t(seed)};
    Uniform<T> value(min, max);
    const auto count = std::int64_t(std::round(double(rows * columns) * sparsity));
    Values offsets{i64_value(0)}, at, values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(number_value(T(value(engine))));
    std::uniform_int_distribution<std::size_t> row(0, std::size_t(rows - 1)),
        column(0, std::size_t(columns - 1));
    std::vector<std::int64_t> counts(std::size_t(rows), sparsity <= 0.5 ? 0 : columns);
    for (std::int64_t all = sparsity <= 0.5 ? 0 : rows * columns; all != count;) {
        std::int64_t& of = counts[row(engine)];
        if (sparsity <= 0.5 && of < columns) ++of, ++all;
        if (sparsity > 0.5 && of > 0) --of, --all;
    }
    for (const std::int64_t n : counts) {
        std::set<std::size_t> chosen;
        while (std::int64_t(chosen.size()) < n) chosen.insert(column(engine));
        for (std::size_t j : chosen) at.push_back(i64_value(std::int64_t(j)));
        offsets.push_back(i64_value(std::int64_t(at.size())));
    }
    return list_value({list_value(std::move(values)), i64_value(rows), i64_value(columns),
                       list_value(std::move(offsets)), list_value(std::move(at))});
}

template <class T>
std::optional<Value> sample(T range, std::int64_t size, bool with_replacement, std::int64_t seed) {
    if (size <= 0 || !(range > 0)) return {};
    if (!std::is_floating_point_v<T> && !with_replacement && std::uint64_t(range) < std::uint64_t(size))
        return {};
    std::mt19937 engine{std::uint32_t(seed)};
    Uniform<T> value(0, std::is_floating_point_v<T> ? range : T(range - 1));
    std::vector<T> all;
    if (with_replacement || std::is_floating_point_v<T> || double(range) > 8589934592.0) {
        for (int in_vain = 0; std::int64_t(all.size()) < size; ++in_vain) {
            if (in_vain == 1000000) return {};
            if (const auto x = T(value(engine)); with_replacement || std::ranges::find(all, x) == all.end())
                all.push_back(x), in_vain = -1;
        }
    } else {
        for (std::int64_t i = 0; std::int64_t(all.size()) < size; ++i)
            if (std::fmod(double(value(engine)), double(range) - double(i)) <
                double(size - std::int64_t(all.size())))
                all.push_back(T(i));
        std::shuffle(all.begin(), all.end(), engine);
    }
    Values values;
    for (T x : all) values.push_back(number_value(x));
    return list_value(std::move(values));
}

std::optional<Value> random_numbers(std::string_view name, Scalar scalar, const Values& args) {
    if (name == "weld_random_seed") return i64_value(0);  // tests must not look at it
    return with_number(scalar, args[0], [&]<class T>(T first) -> std::optional<Value> {
        if constexpr (std::is_same_v<T, bool>) {
            return {};
        } else {
            if (name == "weld_sample") return sample(first, as_i64(args[1]), args[2].bits, as_i64(args[3]));
            const T max = with_number(scalar, args[1], [](auto x) { return T(x); });
            const std::int64_t rows = as_i64(args[2]), columns = as_i64(args[3]);
            const double sparsity = std::bit_cast<double>(args[4].bits);
            if (rows <= 0 || columns <= 0 || !(first <= max) || (first == 0 && max == 0) ||
                !(sparsity >= 0 && sparsity <= 1) ||
                (std::is_floating_point_v<T> && !std::isfinite(double(max) - double(first))))
                return {};
            if (name == "weld_random_csr")
                return random_csr(first, max, rows, columns, sparsity, as_i64(args[5]));
            return random(first, max, rows * columns, sparsity, as_i64(args[5]));
        }
    });
}

}  // namespace

bool is_cell_kernel(std::string_view name) {
    return name.starts_with("weld_display") || name.starts_with("weld_text_to") || name == "weld_to_text" ||
           name.starts_with("weld_random") || name == "weld_sample";
}

std::optional<Value> call_cell_kernel(Kernel call, const Values& args, std::string& output) {
    const std::string_view name = call.ref().name;
    if (name.starts_with("weld_random") || name == "weld_sample")
        return random_numbers(name, args.empty() ? Scalar::I64 : call.args()[0]->type->scalar, args);
    const Type* type = call.args()[0]->type;
    if (name.starts_with("weld_text_to")) return read_number(name, bytes_of(args[0]));
    if (name == "weld_to_text")
        return text_value(with_number(type->scalar, args[0], [](auto x) { return std::to_string(x); }));
    std::ostringstream out;
    if (!display(out, name, type, args)) return {};
    output += out.str();
    return list_value({});
}

}  // namespace weld::interp
