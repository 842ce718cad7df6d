// Promises as text, and what they mean of numbers.
#include "weldir/ir/promises.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "weldir/ir/type.h"

namespace weld {

bool operator==(const SizeName& a, const SizeName& b) {
    return a.of == b.of && a.is_length == b.is_length && std::ranges::equal(a.path, b.path);
}

const Promise* find_promise(Promises all, const SizeName& size, Promise::Kind kind) {
    for (const Promise& p : all)
        if (p.kind == kind && p.size == size) return &p;
    return nullptr;
}

// ---- text

namespace {

class Reader {
  public:
    Reader(Arena& arena, std::string_view text, std::span<const std::string_view> names,
           std::string_view result)
        : arena_(arena), left_(text), names_(names), result_(result) {}

    std::optional<Promises> all() {
        std::vector<Promise> found;
        do {
            found.push_back(promise());
        } while (take("&&"));
        skip_space();
        if (!is_right_ || !left_.empty()) return {};
        return arena_.copy(std::span<const Promise>(found));
    }

  private:
    void skip_space() { left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size())); }
    bool take(std::string_view word) {
        skip_space();
        if (!left_.starts_with(word)) return false;
        left_.remove_prefix(word.size());
        return true;
    }
    bool expect(std::string_view word) { return take(word) || (is_right_ = false); }

    static bool is_part_of_name(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '$';
    }

    template <class Number>
    Number number() {
        Number n = 0;
        const auto [end, error] = std::from_chars(left_.begin(), left_.end(), n);
        if (error != std::errc()) is_right_ = false;
        else left_.remove_prefix(std::size_t(end - left_.begin()));
        return n;
    }

    SizeName size() {
        SizeName s;
        s.is_length = take("len(");
        s.of = name();
        std::vector<std::size_t> path;
        while (take(".$")) path.push_back(number<std::size_t>());
        s.path = arena_.copy(std::span<const std::size_t>(path));
        if (s.is_length) expect(")");
        return s;
    }

    int name() {
        skip_space();
        const auto end = std::ranges::find_if_not(left_, is_part_of_name);
        const std::string_view word(left_.begin(), end);
        left_.remove_prefix(word.size());
        if (word == result_) return SizeName::kResult;
        const auto at = std::ranges::find(names_, word);
        is_right_ &= at != names_.end();
        return int(at - names_.begin());
    }

    Promise::Product product(bool is_negative) {
        Promise::Product p = {.factor = 1, .of = {}};
        skip_space();
        std::vector<SizeName> of;
        if (!left_.empty() && left_[0] >= '0' && left_[0] <= '9') {
            const auto magnitude = number<std::uint64_t>();
            p.factor = std::int64_t(is_negative ? 0 - magnitude : magnitude);
        } else {
            p.factor = is_negative ? -1 : 1;
            of.push_back(size());
        }
        while (is_right_ && take("*")) of.push_back(size());
        p.of = arena_.copy(std::span<const SizeName>(of));
        return p;
    }

    Promise promise() {
        Promise p;
        p.size = size();
        if (take(">=")) {
            p.kind = Promise::NotNegative;
            expect("0");
            return p;
        }
        expect("==");
        p.wraps = take("wrap(");
        std::vector<Promise::Product> sum;
        while (is_right_) {
            const bool is_negative = take("-");
            if (!is_negative && !take("+") && !sum.empty()) break;
            sum.push_back(product(is_negative));
        }
        if (p.wraps) expect(")");
        p.sum = arena_.copy(std::span<const Promise::Product>(sum));
        return p;
    }

    Arena& arena_;
    std::string_view left_;
    std::span<const std::string_view> names_;
    std::string_view result_;
    bool is_right_ = true;
};

}  // namespace

std::optional<Promises> read_promises(Arena& arena, std::string_view text,
                                      std::span<const std::string_view> names, std::string_view result) {
    return Reader(arena, text, names, result).all();
}

static std::string print(const SizeName& s, const std::function<std::string(int)>& name) {
    std::string path = name(s.of);
    for (std::size_t i : s.path) path += fmt::format(".${}", i);
    return s.is_length ? "len(" + path + ")" : path;
}

static std::string print(const Promise::Product& p, bool is_first,
                         const std::function<std::string(int)>& name) {
    std::string text = is_first ? (p.factor < 0 ? "-" : "") : p.factor < 0 ? " - " : " + ";
    const std::uint64_t magnitude = p.factor < 0 ? 0 - std::uint64_t(p.factor) : std::uint64_t(p.factor);
    const bool says_factor = magnitude != 1 || p.of.empty();
    if (says_factor) text += std::to_string(magnitude);
    for (std::size_t i = 0; i < p.of.size(); ++i)
        text += (i || says_factor ? " * " : "") + print(p.of[i], name);
    return text;
}

std::string print_promises(Promises promises, const std::function<std::string(int)>& name) {
    std::string text;
    for (const Promise& p : promises) {
        text += (text.empty() ? "" : " && ") + print(p.size, name);
        if (p.kind == Promise::NotNegative) {
            text += " >= 0";
            continue;
        }
        text += p.wraps ? " == wrap(" : " == ";
        for (const Promise::Product& product : p.sum) text += print(product, &product == p.sum.data(), name);
        if (p.sum.empty()) text += "0";
        if (p.wraps) text += ")";
    }
    return text;
}

// ---- meaning

bool is_true(const Promise& p, const std::function<std::int64_t(const SizeName&)>& value) {
    const std::int64_t size = value(p.size);
    if (p.kind == Promise::NotNegative) return size >= 0;
    std::uint64_t wrapped = 0;
    __int128 sum = 0;
    bool overflows = false;
    for (const Promise::Product& product : p.sum) {
        std::uint64_t low = std::uint64_t(product.factor);
        __int128 all = product.factor;
        for (const SizeName& name : product.of) {
            const std::int64_t n = value(name);
            low *= std::uint64_t(n);
            overflows |= __builtin_mul_overflow(all, __int128(n), &all);
        }
        wrapped += low;
        overflows |= __builtin_add_overflow(sum, all, &sum);
    }
    return p.wraps ? std::uint64_t(size) == wrapped : !overflows && sum == size;
}

static void list_sizes(Arena& arena, const Type* t, std::vector<std::size_t>& path,
                       std::vector<SizeName>& sizes) {
    constexpr std::size_t kMost = 64;
    if (sizes.size() == kMost) return;
    if (t->is_vec() || t->is_dict() || t->is_scalar(Scalar::I64)) {
        sizes.push_back(
            {.is_length = !t->is_scalar(), .path = arena.copy(std::span<const std::size_t>(path))});
    } else if (t->is_struct()) {
        for (std::size_t i = 0; i < t->args.size(); ++i) {
            path.push_back(i);
            list_sizes(arena, t->args[i], path, sizes);
            path.pop_back();
        }
    }
}

std::vector<SizeName> sizes_in(Arena& arena, const Type* type) {
    std::vector<std::size_t> path;
    std::vector<SizeName> sizes;
    list_sizes(arena, type, path, sizes);
    return sizes;
}

static bool fits(const SizeName& size, std::span<const Type* const> params, const Type* result) {
    if (size.of >= int(params.size())) return false;
    const Type* t = size.of == SizeName::kResult ? result : params[std::size_t(size.of)];
    for (std::size_t i : size.path) {
        if (!t->is_struct() || i >= t->args.size()) return false;
        t = t->args[i];
    }
    return size.is_length ? t->is_vec() || t->is_dict() : t->is_scalar(Scalar::I64);
}

/// The size that is promised is found without itself.
static bool has_end(Promises all, const Promise& p, std::size_t depth) {
    if (depth > all.size()) return false;
    for (const Promise::Product& product : p.sum)
        for (const SizeName& name : product.of) {
            const Promise* next =
                name.of == SizeName::kResult ? find_promise(all, name, Promise::Equal) : nullptr;
            if (next && !has_end(all, *next, depth + 1)) return false;
        }
    return true;
}

bool fit(Promises promises, std::span<const Type* const> params, const Type* result) {
    const auto there = [&](const SizeName& s) { return fits(s, params, result); };
    return std::ranges::all_of(promises, [&](const Promise& p) {
        return there(p.size) && p.size.of == SizeName::kResult && has_end(promises, p, 0) &&
               std::ranges::all_of(p.sum, [&](const Promise::Product& product) {
                   return std::ranges::all_of(product.of, there);
               });
    });
}

}  // namespace weld
