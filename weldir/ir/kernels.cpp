// Finding built-in kernels: the patterns of the rows against types, from left to right.
#include "weldir/ir/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "weldir/ir/build.h"

namespace weld {

static constexpr BuiltinKernel kKernels[] = {
#define WELD_KERNEL(symbol, name, effect, fails, fresh, params, result) \
    {#symbol, name, effect, fails, fresh, params, result},
#include "runtime/abi/kernels.def"
};

namespace {

/// What a variable may stand for, by its first letter.
struct Class {
    char letter;
    std::string_view meaning;
    bool (*holds)(const Type*);
};
bool is_cell(const Type* t) { return t->is_scalar() || (t->is_vec() && t->elem()->is_scalar(Scalar::I8)); }
bool is_integer_type(const Type* t) {
    return t->is_scalar() && !is_float(t->scalar) && t->scalar != Scalar::Bool;
}
constexpr Class kClasses[] = {
    {'T', "a value", [](const Type* t) { return !t->holds_builder && !t->is_function(); }},
    {'B', "`i8` or `u8`", [](const Type* t) { return t->is_scalar(Scalar::I8) || t->is_scalar(Scalar::U8); }},
    {'F', "`f32` or `f64`", [](const Type* t) { return t->is_scalar() && is_float(t->scalar); }},
    {'S', "a scalar", [](const Type* t) { return t->is_scalar(); }},
    {'I', "an integer", is_integer_type},
    {'N', "a number", [](const Type* t) { return t->is_scalar() && t->scalar != Scalar::Bool; }},
    {'C', "a scalar or `vec[i8]`", is_cell},
    {'V', "a struct of vectors of scalars or of `vec[i8]`",
     [](const Type* t) {
         return t->is_struct() && std::ranges::all_of(t->args, [](const Type* column) {
                    return column->is_vec() && is_cell(column->elem());
                });
     }},
};

const Class* class_of(char letter) {
    for (const Class& c : kClasses)
        if (c.letter == letter) return &c;
    return nullptr;
}

/// Takes `text` off the front of `pattern`, if it stands there.
bool take(std::string_view& pattern, std::string_view text) {
    if (!pattern.starts_with(text)) return false;
    pattern.remove_prefix(text.size());
    return true;
}

/// Matches one row with one call.
class Matcher {
  public:
    bool matches(const BuiltinKernel& kernel, std::span<const Type* const> params, const Type* result) {
        std::string_view left = kernel.params;
        for (const Type* t : params) {
            const std::string_view pattern = left;
            const std::size_t known = known_.size();
            if (left.empty() || !fits(left, t)) return false;
            if (left == kRepeated) {
                left = pattern;
                known_.resize(known);
            } else {
                take(left, ", ");
            }
        }
        const bool may_end = left.empty() || (left.ends_with(kRepeated) && left.find(", ") == left.npos);
        std::string_view given = kernel.result;
        return may_end && fits(given, result);
    }

    /// What the variables stand for.
    std::vector<const Type*> types() && { return std::move(types_); }

  private:
    static constexpr std::string_view kRepeated = "...";

    /// Takes the pattern of one type off the front of `pattern`.
    bool fits(std::string_view& pattern, const Type* t) {
        if (take(pattern, "{")) return t->is_struct() && all_fit(pattern, t->args) && take(pattern, "}");
        const auto end = std::ranges::find_if_not(pattern, [](char c) { return std::isalnum(c); });
        const std::string_view word(pattern.begin(), end);
        pattern.remove_prefix(word.size());
        if (const Class* c = class_of(word[0])) return stands_for(*c, t);
        if (t->is_scalar()) return word == name_of(t->scalar);
        if (word != (t->is_vec() ? "vec" : t->is_dict() ? "dict" : "")) return false;
        return take(pattern, "[") && all_fit(pattern, t->args) && take(pattern, "]");
    }

    bool all_fit(std::string_view& pattern, std::span<const Type* const> types) {
        for (std::size_t i = 0; i < types.size(); ++i)
            if ((i && !take(pattern, ",")) || !fits(pattern, types[i])) return false;
        return true;
    }

    bool stands_for(const Class& variable, const Type* t) {
        for (const auto& [letter, type] : known_)
            if (letter == variable.letter) return type == t;
        if (!variable.holds(t)) return false;
        known_.emplace_back(variable.letter, t);
        types_.push_back(t);
        return true;
    }

    std::vector<std::pair<char, const Type*>> known_;
    std::vector<const Type*> types_;
};

std::vector<const Type*> types_of(std::span<const Expr* const> args) {
    std::vector<const Type*> types;
    for (const Expr* a : args) types.push_back(a->type);
    return types;
}

}  // namespace

bool is_builtin_kernel(std::string_view name) {
    return std::ranges::any_of(kKernels, [&](const BuiltinKernel& k) { return k.name == name; });
}

Promises promises_of(const BuiltinKernel& kernel) {
    struct Read {
        Arena arena;
        std::unordered_map<std::string_view, Promises> of;  // by symbol
        void add(std::string_view symbol, std::string_view sizes) {
            constexpr std::string_view names[] = {"a", "b", "c", "d", "e", "f"};
            of[symbol] = read_promises(arena, sizes, names, "result").value();
        }
        Read() {
#define WELD_KERNEL_HOLDS(symbol, sizes) add(#symbol, sizes);
#include "runtime/abi/kernels.def"
        }
    };
    static const Read all;
    const auto at = all.of.find(kernel.symbol);
    return at == all.of.end() ? Promises() : at->second;
}

bool reaches_files(std::string_view name) {
    return name.starts_with("weld_read_") || name.starts_with("weld_write_");
}

const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Type* const> params,
                                         const Type* result) {
    for (const BuiltinKernel& k : kKernels)
        if (k.name == name && Matcher().matches(k, params, result)) return &k;
    return nullptr;
}

const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Expr* const> args,
                                         const Type* result) {
    return find_builtin_kernel(name, types_of(args), result);
}

std::vector<const Type*> types_of_variables(const BuiltinKernel& kernel, std::span<const Expr* const> args,
                                            const Type* result) {
    Matcher matcher;
    matcher.matches(kernel, types_of(args), result);
    return std::move(matcher).types();
}

const Expr* builtin_kernel(Module& m, std::string_view name, const Type* type,
                           std::span<const Expr* const> args, Loc loc, bool is_safe) {
    const BuiltinKernel* k = find_builtin_kernel(name, args, type);
    const KernelRef ref = {k->name, !k->effect, k->effect, k->fails && !is_safe, k};
    return kernel(m, ref, type, args, loc);
}

std::vector<std::string> overloads_of_kernel(std::string_view name) {
    std::vector<std::string> all;
    for (const BuiltinKernel& k : kKernels) {
        if (k.name != name) continue;
        all.push_back(fmt::format("`cudf[{},{}]({})`", k.name, k.result, k.params));
        std::string_view before = ", where ";
        for (const Class& c : kClasses)
            if (k.params.find(c.letter) != k.params.npos || k.result.find(c.letter) != k.result.npos) {
                all.back() += fmt::format("{}`{}` is {}", before, c.letter, c.meaning);
                before = " and ";
            }
    }
    return all;
}

}  // namespace weld
