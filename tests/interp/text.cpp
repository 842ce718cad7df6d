// Writing and reading values.
#include "tests/interp/text.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "weldir/ir/scalar.h"

namespace weld::interp {

// ---- writing

namespace {

std::string number(Scalar s, std::uint64_t bits, bool json) {
    return scalar::with_type(s, [&](auto zero) -> std::string {
        using T = decltype(zero);
        const T x = scalar::from_bits<T>(bits);
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(x)) return "NaN";
            if (std::isinf(x)) return x < 0 ? "-Infinity" : "Infinity";
            std::string text = fmt::format("{}", x);
            if (!json && text.find_first_of(".e") == std::string::npos) text += ".0";
            return text;
        } else if constexpr (std::is_same_v<T, bool>) {
            return x ? "true" : "false";
        } else {
            return fmt::format("{}", std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>(x));
        }
    });
}

/// Marks of the two notations.
struct Style {
    bool json;
    const char* struct_open() const { return json ? "[" : "{"; }
    const char* struct_close() const { return json ? "]" : "}"; }
};

bool is_text(const Values& bytes) {
    for (const Value& b : bytes)
        if (std::int8_t(b.bits) < 0x20 && b.bits != '\n' && b.bits != '\t' && b.bits != '\r') return false;
    return true;
}

void write_string(std::string& out, const Values& bytes) {
    out += '"';
    for (const Value& b : bytes) {
        constexpr std::string_view special = "\n\t\r\\\"";
        const std::size_t at = special.find(char(b.bits));
        if (at != std::string_view::npos) (out += '\\') += "ntr\\\""[at];
        else out += char(b.bits);
    }
    out += '"';
}

template <class Each>
void write_list(std::string& out, const char* open, const char* close, std::size_t n, Each&& each) {
    out += open;
    for (std::size_t i = 0; i < n; ++i) {
        if (i) out += ", ";
        each(i);
    }
    out += close;
}

void write(std::string& out, Style style, const Type* t, const Value& v) {
    switch (t->kind) {
        case TypeKind::Scalar: out += number(t->scalar, v.bits, style.json); return;
        case TypeKind::Simd:
            return write_list(out, "[", "]", v.items().size(), [&](std::size_t i) {
                out += number(t->scalar, v.items()[i].bits, style.json);
            });
        case TypeKind::Vec:
            if (!style.json && t->elem()->is_scalar(Scalar::I8) && is_text(v.items()))
                return write_string(out, v.items());
            return write_list(out, "[", "]", v.items().size(),
                              [&](std::size_t i) { write(out, style, t->elem(), v.items()[i]); });
        case TypeKind::Struct:
            return write_list(out, style.struct_open(), style.struct_close(), t->args.size(),
                              [&](std::size_t i) { write(out, style, t->args[i], v.items()[i]); });
        case TypeKind::Dict: {
            auto at = v.dict().entries.begin();
            return write_list(out, style.struct_open(), style.struct_close(), v.dict().entries.size(),
                              [&](std::size_t) {
                                  if (style.json) out += '[';
                                  write(out, style, t->key(), at->first);
                                  out += style.json ? ", " : ": ";
                                  write(out, style, t->value(), at->second);
                                  if (style.json) out += ']';
                                  ++at;
                              });
        }
        case TypeKind::Builder:
        case TypeKind::Function: out += "?"; return;
    }
}

}  // namespace

std::string to_json(const Type* type, const Value& v) {
    std::string out;
    write(out, {true}, type, v);
    return out;
}

std::string to_text(const Type* type, const Value& v) {
    std::string out;
    write(out, {false}, type, v);
    return out;
}

// ---- reading

namespace {

struct Bad {
    std::string message;
};

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}
    std::string_view rest() const { return text_; }

    Value value(const Type* t) {
        skip_space();
        switch (t->kind) {
            case TypeKind::Scalar: return scalar_value(number(t->scalar));
            case TypeKind::Simd:
                return list_value(list('[', ']', [&](std::size_t) { return element(t->scalar); }));
            case TypeKind::Vec: return vec(t);
            case TypeKind::Struct: return structure(t);
            case TypeKind::Dict: return dict(t);
            case TypeKind::Builder:
            case TypeKind::Function: break;
        }
        throw Bad{fmt::format("there is no literal of type `{}`", t->str())};
    }

  private:
    void skip_space() {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t' || text_[0] == '\n'))
            text_.remove_prefix(1);
    }
    bool take(std::string_view word) {
        skip_space();
        if (text_.substr(0, word.size()) != word) return false;
        text_.remove_prefix(word.size());
        return true;
    }
    void want(std::string_view word) {
        if (!take(word)) throw Bad{fmt::format("`{}` expected at `{}`", word, text_.substr(0, 20))};
    }

    Value element(Scalar s) {
        skip_space();
        return scalar_value(number(s));
    }

    template <class Each>
    Values list(char open, char close, Each&& each) {
        want({&open, 1});
        Values items;
        while (!take({&close, 1})) {
            if (!items.empty()) want(",");
            items.push_back(each(items.size()));
        }
        return items;
    }

    Value vec(const Type* t) {
        if (take("iota(")) {
            const std::int64_t n = count(")");
            return generated(t, n, [](std::int64_t i) { return i; });
        }
        if (take("random(")) {
            const std::int64_t n = count(",");
            std::uint64_t state = std::uint64_t(count(")"));
            return generated(t, n, [&](std::int64_t) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                return std::int64_t((state >> 33) % 1000);
            });
        }
        if (take("repeat(")) {
            const Value x = value(t->elem());
            want(",");
            return list_value(Values(std::size_t(count(")")), x));
        }
        if (t->elem()->is_scalar(Scalar::I8) && !text_.empty() && text_[0] == '"') return string();
        return list_value(list('[', ']', [&](std::size_t) { return value(t->elem()); }));
    }

    std::int64_t count(std::string_view end) {
        const auto n = std::int64_t(element(Scalar::I64).bits);
        want(end);
        return n;
    }

    template <class At>
    Value generated(const Type* t, std::int64_t n, At&& at) {
        if (!t->elem()->is_scalar()) throw Bad{"`iota` and `random` make numbers only"};
        Values items;
        for (std::int64_t i = 0; i < n; ++i)
            items.push_back(scalar_value(eval_cast(Scalar::I64, t->elem()->scalar, std::uint64_t(at(i)))));
        return list_value(std::move(items));
    }

    Value string() {
        Values bytes;
        std::size_t i = 1;
        for (; i < text_.size() && text_[i] != '"'; ++i) {
            char c = text_[i];
            if (c == '\\' && i + 1 < text_.size()) {
                c = text_[++i];
                constexpr std::string_view from = "ntr0", to{"\n\t\r\0", 4};
                if (const std::size_t at = from.find(c); at != std::string_view::npos) c = to[at];
                if (c == 'x' && i + 2 < text_.size()) {
                    int byte = 0;
                    std::from_chars(text_.data() + i + 1, text_.data() + i + 3, byte, 16);
                    c = char(byte);
                    i += 2;
                }
            }
            bytes.push_back(scalar_value(std::uint8_t(c)));
        }
        if (i == text_.size()) throw Bad{"a string without end"};
        text_.remove_prefix(i + 1);
        return list_value(std::move(bytes));
    }

    Value structure(const Type* t) {
        Values fields = list('{', '}', [&](std::size_t i) {
            if (i >= t->args.size()) throw Bad{fmt::format("too many fields for `{}`", t->str())};
            return value(t->args[i]);
        });
        if (fields.size() != t->args.size()) throw Bad{fmt::format("too few fields for `{}`", t->str())};
        return list_value(std::move(fields));
    }

    Value dict(const Type* t) {
        Dict d{std::map<Value, Value, KeyLess>(KeyLess{t->key()})};
        list('{', '}', [&](std::size_t) {
            Value key = value(t->key());
            want(":");
            d.entries.insert_or_assign(key, value(t->value()));
            return key;
        });
        return dict_value(std::move(d));
    }

    /// A suffix says nothing that the type does not.
    void skip_suffix() {
        while (!text_.empty() && std::isalnum(static_cast<unsigned char>(text_[0]))) text_.remove_prefix(1);
    }

    template <class T>
    std::uint64_t floating() {
        if (take("NaN")) return scalar::to_bits(std::numeric_limits<T>::quiet_NaN());
        const bool negative = take("-");
        T x = std::numeric_limits<T>::infinity();
        if (!take("Infinity")) {
            const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), x);
            if (error != std::errc())
                throw Bad{fmt::format("a number expected at `{}`", text_.substr(0, 20))};
            text_.remove_prefix(std::size_t(end - text_.data()));
            skip_suffix();
        }
        return scalar::to_bits(negative ? -x : x);
    }

    std::uint64_t number(Scalar s) {
        if (s == Scalar::F64) return floating<double>();
        if (s == Scalar::F32) return floating<float>();
        if (s == Scalar::Bool) {
            if (take("true")) return 1;
            want("false");
            return 0;
        }
        const bool negative = take("-");
        const int base = take("0x") ? 16 : 10;
        std::uint64_t n = 0;
        const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), n, base);
        if (error != std::errc()) throw Bad{fmt::format("a number expected at `{}`", text_.substr(0, 20))};
        text_.remove_prefix(std::size_t(end - text_.data()));
        skip_suffix();
        return eval_cast(Scalar::U64, s, negative ? 0 - n : n);
    }

    std::string_view text_;
};

}  // namespace

std::optional<Value> parse_value(const Type* type, std::string_view* text, std::string* error) {
    Reader r(*text);
    try {
        Value v = r.value(type);
        *text = r.rest();
        return v;
    } catch (const Bad& bad) {
        *error = bad.message;
        return {};
    }
}

}  // namespace weld::interp
