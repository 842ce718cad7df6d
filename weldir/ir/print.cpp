// Printing in three steps, each linear in the program and none of them recursive:
//   1. `Writer` turns nodes into tokens: text, possible line breaks, and groups around them;
//   2. `measure` finds how wide each group is on one line;
//   3. `lay_out` writes the tokens; a group that fits into the rest of its line stays on it, all breaks of
//      one that does not become new lines.
//
// Names: a symbol prints as it was written unless that name is taken; then it is numbered (x, x2, x3). As
// printed names are unique, what is read back prints the same.
#include "weldir/ir/print.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "weldir/ir/build.h"
#include "weldir/ir/kernels.h"

namespace weld {

static constexpr int kColumns = 100;
static constexpr int kMaxIndent = 60;  // deeper programs stay readable, and their text linear in their size

// ---- words and numbers

bool is_reserved(std::string_view word) {
    static const std::unordered_set<std::string_view> words = [] {
        std::unordered_set<std::string_view> w = {
            "let",    "macro",     "type",       "def",       "true",      "false",  "zip",
            "if",     "for",       "select",     "iterate",   "iter",      "merge",  "result",
            "nditer", "simditer",  "fringeiter", "rangeiter", "len",       "lookup", "optlookup",
            "slice",  "keyexists", "sort",       "tovec",     "serialize", "assert", "deserialize",
            "cudf",   "broadcast", "bits",       "simd",      "vec",       "dict"};
        for (const OpInfo& op : kOps)
            if (op.scalar) w.insert(op.text);
        for (int s = 0; s < kNumScalars; ++s) w.insert(name_of(Scalar(s)));
#define WELD_BUILDER(name, text, ...) w.insert(text);
#include "runtime/abi/builders.def"
        return w;
    }();
    return words.count(word) != 0;
}

template <class T>
static std::string float_text(T value) {
    std::string s = fmt::format("{}", value);
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    return s;
}

static std::string float_literal(Scalar type, std::uint64_t bits) {
    if (type == Scalar::F32) {
        const float f = std::bit_cast<float>(std::uint32_t(bits));
        if (std::isfinite(f)) return float_text(f) + 'f';
        return fmt::format("bits[f32](0x{:08x}{})", bits, std::signbit(f) ? "u32" : "");
    }
    const double d = std::bit_cast<double>(bits);
    if (std::isfinite(d)) return float_text(d);
    return fmt::format("bits[f64](0x{:016x}{})", bits, std::signbit(d) ? "u64" : "L");
}

std::string print_literal(Scalar type, std::uint64_t bits) {
    switch (type) {
        case Scalar::Bool: return bits ? "true" : "false";
        case Scalar::I8: return fmt::format("{}c", int(std::int8_t(bits)));
        case Scalar::I16: return fmt::format("{}si", int(std::int16_t(bits)));
        case Scalar::I32: return fmt::format("{}", std::int32_t(bits));
        case Scalar::I64: return fmt::format("{}L", std::int64_t(bits));
        case Scalar::F32:
        case Scalar::F64: return float_literal(type, bits);
        default: return fmt::format("{}{}", bits, name_of(type));
    }
}

/// How many bytes the UTF-8 character at `s` has; 0 if there is none, or one that nobody can see.
static std::size_t visible_character(std::string_view s) {
    const auto byte = [&](std::size_t i) { return i < s.size() ? std::uint8_t(s[i]) : 0u; };
    if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f;
    const std::size_t n = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
    if (n == 0 || byte(0) > 0xf4) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const unsigned second = byte(1);
    if ((byte(0) == 0xe0 && second < 0xa0) || (byte(0) == 0xed && second >= 0xa0) ||
        (byte(0) == 0xf0 && second < 0x90) || (byte(0) == 0xf4 && second >= 0x90))
        return 0;                                    // overlong, surrogate, beyond Unicode
    if (byte(0) == 0xc2 && second < 0xa0) return 0;  // C1 controls
    return n;
}

/// The bytes of a `vec[i8]` literal as a string literal; empty if they would not read well as one.
static std::string string_literal(std::string_view bytes) {
    std::string out = "\"";
    for (std::size_t i = 0; i < bytes.size();) {
        const char c = bytes[i];
        constexpr std::string_view special{"\n\t\r\0\\\"", 6};
        if (const std::size_t at = special.find(c); at != std::string_view::npos) {
            (out += '\\') += "ntr0\\\""[at];
            ++i;
            continue;
        }
        const std::size_t n = visible_character(bytes.substr(i));
        if (n == 0) return {};
        out += bytes.substr(i, n);
        i += n;
    }
    return out + '"';
}

static std::string string_literal(MakeVec v) {
    std::string bytes;
    for (const Expr* e : v.elems()) {
        if (e->op != Op::Literal || !e->annotations.empty()) return {};
        bytes += char(e->attr.bits);
    }
    return string_literal(bytes);
}

// ---- names

namespace {

/// Gives each symbol a name of its own, in order of first appearance.
class Names {
  public:
    void take(std::string_view name) { taken_.insert(std::string(name)); }

    const std::string& of(const Symbol* s) {
        auto [at, is_new] = names_.try_emplace(s);
        if (is_new) at->second = choose(valid(s->name));
        return at->second;
    }

  private:
    static std::string valid(std::string_view written) {
        std::string name(written);
        for (char& c : name)
            if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '$'))
                c = '_';
        if (name.empty()) name = "v";
        if (name[0] >= '0' && name[0] <= '9') name.insert(0, "_");
        return name;
    }

    bool try_take(const std::string& name) { return !is_reserved(name) && taken_.insert(name).second; }

    std::string choose(const std::string& wanted) {
        if (try_take(wanted)) return wanted;
        const std::size_t last = wanted.find_last_not_of("0123456789");
        const std::string stem = wanted.substr(0, last + 1);  // names never begin with a digit
        std::uint32_t& number = last_number_.try_emplace(stem, 1u).first->second;
        for (;;) {
            std::string name = stem + std::to_string(++number);
            if (try_take(name)) return name;
        }
    }

    std::unordered_map<const Symbol*, std::string> names_;
    std::unordered_set<std::string> taken_;
    std::unordered_map<std::string, std::uint32_t> last_number_;
};

// ---- tokens

enum class Kind : std::uint8_t {
    Text,
    Open,  // a group: on one line if it fits, else all its breaks are new lines
    Close,
    Indent,  // lines that begin from here on are indented by `width` more
    Dedent,
    Space,  // a break that is a space if its group stays on one line
    Empty,  // a break that is nothing
    Fill,   // a space, or a new line only if what follows up to the next Fill does not fit
    Line,   // always a new line
    Node,   // (work list of the Writer only)
};

struct Token {
    Kind kind;
    std::int8_t indent = 0;
    std::uint32_t begin = 0, size = 0;  // Text: place in the buffer
    std::int64_t width = 0;             // Open, Fill: columns on one line
};

// How tightly an expression must hold together where it stands; see `strength`.
constexpr int kBody = -1;  // of a function: `let` may stand here as it is
constexpr int kArgument = 0;
constexpr int kAscription = 11;
constexpr int kPostfix = kPrefixLevel + 1;

class Writer {
  public:
    explicit Writer(Names& names) : names_(names) {}

    void module(const Module& m) {
        for (const Function* f : m.functions) names_.take(f->name);
        for (const Function* f : m.functions) {
            if (!f->lambda) continue;
            function(f);
            flush();
        }
        if (m.main) {
            node(m.main, kBody);
            line();
            flush();
        }
    }

    void expression(const Expr* e) {
        node(e, kBody);
        flush();
    }

    std::vector<Token> tokens;
    std::string buffer;

  private:
    struct Item {
        Token token;
        const Expr* node = nullptr;
        int level = 0;
    };

    // What the functions below say goes to `said_` in order; `flush` works it off from the front, replacing
    // each Node by what it says.
    void flush() {
        std::vector<Item> work(said_.rbegin(), said_.rend());
        said_.clear();
        while (!work.empty()) {
            const Item item = work.back();
            work.pop_back();
            if (item.token.kind != Kind::Node) {
                tokens.push_back(item.token);
                continue;
            }
            spell(item.node, item.level);
            work.insert(work.end(), said_.rbegin(), said_.rend());
            said_.clear();
        }
    }

    void mark(Kind kind, int indent = 0) { said_.push_back({{kind, std::int8_t(indent)}}); }
    void open() { mark(Kind::Open); }
    void close() { mark(Kind::Close); }
    void line() { mark(Kind::Line); }
    void indent(int by) { mark(Kind::Indent, by); }
    void dedent(int by) { mark(Kind::Dedent, by); }
    void node(const Expr* e, int level) { said_.push_back({{Kind::Node}, e, level}); }
    void text(std::string_view s) {
        said_.push_back({{Kind::Text, 0, std::uint32_t(buffer.size()), std::uint32_t(s.size())}});
        buffer += s;
    }
    void type(const Type* t) {
        auto [at, is_new] = types_.try_emplace(t);
        if (is_new) {
            const std::string s = t->str();
            at->second = {std::uint32_t(buffer.size()), std::uint32_t(s.size())};
            buffer += s;
        }
        said_.push_back({{Kind::Text, 0, at->second.first, at->second.second}});
    }

    // -- functions

    void parameters(std::span<const Symbol* const> symbols) {
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            if (i) text(", ");
            text(names_.of(symbols[i]));
            text(": ");
            type(symbols[i]->type);
        }
    }

    /// A body after `|parameters|` or `=`: on the same line, or indented below.
    void body(const Expr* e) {
        open();
        indent(2);
        mark(Kind::Space);
        node(e, kBody);
        dedent(2);
        close();
    }

    void function(const Function* f) {
        const Lambda l = f->lambda->as<Lambda>();
        text("def ");
        text(f->name);
        text("(");
        parameters(l.params());
        text("): ");
        type(f->type->result());
        text(" =");
        body(l.body());
        text(";");
        line();
    }

    void lambda(Lambda l) {
        if (l.params().empty()) return node(l.body(), kBody);
        text("|");
        parameters(l.params());
        text("|");
        body(l.body());
    }

    // -- expressions

    /// How tightly `e` holds together as it prints: what stands where more is asked for gets parentheses.
    static int strength(const Expr* e) {
        if (e->op == Op::Block || e->op == Op::Lambda) return kBody;
        if (has_annotations(e)) return kArgument;
        if (is_scalar_op(e->op)) return info(e->op).level ? info(e->op).level : kPostfix;
        if (e->op == Op::MakeVec && e->num_args == 0 && !e->type->elem()->is_scalar(Scalar::I8))
            return kAscription;
        return kPostfix;
    }

    static bool has_annotations(const Expr* e) {
        if (promises(e, AttrKey::Pure) || promises(e, AttrKey::Effect) || promises(e, AttrKey::Fails))
            return true;
        return e->annotations.size() > std::size_t(is_fringe(e));  // a fringe's is printed as its lanes
    }
    /// A call promises what `key` says, and that doesn't follow from its name or another promise.
    static bool promises(const Expr* e, AttrKey key) {
        if (e->op != Op::Kernel) return false;
        const KernelRef& ref = *e->attr.kernel;
        switch (key) {
            case AttrKey::Pure: return ref.pure && !ref.builtin;
            case AttrKey::Effect: return ref.effect && !ref.builtin;
            case AttrKey::Fails: return !ref.fails && (ref.builtin ? ref.builtin->fails : !ref.pure);
            default: return false;
        }
    }
    static bool is_fringe(const Expr* e) {
        return e->op == Op::Iter && e->attr.iter.kind == IterKind::Fringe;
    }

    /// Prints as one piece: a name, a literal, `name(arguments)`.
    static bool is_leaf(const Expr* e) {
        if (is_scalar_op(e->op)) return info(e->op).level == 0;
        return e->op != Op::GetField && e->op != Op::Block;
    }

    void spell(const Expr* e, int level) {
        const bool parentheses = strength(e) < level && e->op != Op::Block;
        if (parentheses) text("(");
        if (has_annotations(e)) annotations(e);
        const bool inner =
            has_annotations(e) && !is_leaf(e);  // an annotation belongs to the leaf that follows
        if (inner) text("(");
        if (e->op == Op::Block) block(e->as<Block>(), level > kBody && !inner);
        else if (is_scalar_op(e->op)) scalar_op(e);
        else plain(e);
        if (inner) text(")");
        if (parentheses) text(")");
    }

    void annotations(const Expr* e) {
        std::string s = "@(";
        auto add = [&](AttrKey key, std::string_view value) {
            if (s.size() > 2) s += ", ";
            ((s += name_of(key)) += ':') += value;
        };
        for (int k = 0; k < kNumAttrKeys; ++k) {
            const AttrKey key = AttrKey(k);
            if (promises(e, key)) {
                add(key, key == AttrKey::Fails ? "false" : "true");
            } else if (const Annotation* a = e->annotation(key);
                       a && !(key == AttrKey::Size && is_fringe(e))) {
                if (a->symbols.empty() && a->numbers.empty()) add(key, a->text);
                for (const Symbol* s : a->symbols) add(key, names_.of(s));
                for (std::int64_t n : a->numbers) add(key, std::to_string(n));
            }
        }
        text(s + ") ");
    }

    void block(Block b, bool parentheses) {
        if (parentheses) {
            text("(");
            open();
            indent(1);
        }
        for (std::size_t i = 0; i < b.size(); ++i) {
            text("let ");
            text(names_.of(b.symbol(i)));
            text(" = ");
            node(b.value(i), kArgument);
            text(";");
            mark(parentheses ? Kind::Space : Kind::Line);
        }
        node(b.result(), kArgument);
        if (parentheses) {
            dedent(1);
            close();
            text(")");
        }
    }

    void scalar_op(const Expr* e) {
        const OpInfo& row = info(e->op);
        if (row.level == 0) return call(row.text, e->args());
        if (row.level == kPrefixLevel) {
            const Expr* of = e->arg(0);
            const bool apart = e->op == Op::Neg && (of->op == Op::Literal || of->op == Op::Neg);
            text(row.text);
            if (apart) text("(");  // `-5` is a literal, `-(5)` an operation
            node(of, apart ? kArgument : kPrefixLevel);
            if (apart) text(")");
            return;
        }
        const bool comparison = row.rule == TypeRule::Compare;  // these do not associate
        open();
        node(e->arg(0), row.level + comparison);
        text(" ");
        text(row.text);
        indent(4);
        mark(Kind::Space);
        node(e->arg(1), row.level + 1);
        dedent(4);
        close();
    }

    /// `a, b, c` with breaks.
    void list(std::span<const Expr* const> args, Kind between = Kind::Space) {
        for (std::size_t i = 0; i < args.size(); ++i) {
            if (i) {
                text(",");
                mark(between);
            }
            node(args[i], kArgument);
        }
    }

    /// What follows the name of an operation. A function as last argument stays on the line of its
    /// parameters; so does a single argument.
    void call(std::string_view name, std::span<const Expr* const> args) {
        text(name);
        arguments(args);
    }
    void arguments(std::span<const Expr* const> args) {
        text("(");
        const bool function_last = !args.empty() && args.back()->op == Op::Lambda;
        const std::span<const Expr* const> plain = args.first(args.size() - function_last);
        if (plain.size() == 1) {
            node(plain[0], kArgument);
        } else if (!plain.empty()) {
            open();
            indent(2);
            mark(Kind::Empty);
            list(plain);
            dedent(2);
            close();
        }
        if (function_last) {
            text(", ");
            node(args.back(), kBody);
        }
        text(")");
    }

    void enclosed(std::string_view open_text, std::span<const Expr* const> elems,
                  std::string_view close_text) {
        text(open_text);
        open();
        indent(1);
        list(elems, Kind::Fill);
        dedent(1);
        close();
        text(close_text);
    }

    void vector(MakeVec v) {
        if (v.node->type->elem()->is_scalar(Scalar::I8)) {
            const std::string s = string_literal(v);
            if (!s.empty()) return text(s);
        }
        enclosed("[", v.elems(), "]");
        if (!v.elems().empty()) return;
        text(": ");
        type(v.node->type);
    }

    void packed(PackedVec v) {
        const Scalar elem = v.node->type->elem()->scalar;
        const auto size = std::size_t(size_of(elem));
        std::string out = elem == Scalar::I8 ? string_literal(v.bytes()) : "";
        if (!out.empty()) return text(out);
        for (std::size_t at = 0; at < v.bytes().size(); at += size) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, v.bytes().data() + at, size);  // little endian
            out += (at ? ", " : "[") + print_literal(elem, bits);
        }
        text(out + "]");
    }

    void loop(For f) {
        text("for(");
        open();
        indent(2);
        mark(Kind::Empty);
        if (f.data().size() == 1) node(f.data()[0], kArgument);
        else call("zip", f.data());
        text(",");
        mark(Kind::Space);
        node(f.builder(), kArgument);
        dedent(2);
        close();
        text(", ");
        node(f.node->arg(1), kBody);
        text(")");
    }

    void iterator(Iter i) {
        const IterShape shape = i.shape();
        if (shape.kind == IterKind::Scalar)
            return call(shape.nd ? "nditer" : shape.range ? "rangeiter" : "iter", i.node->args());
        text(fmt::format("{}[{}]", shape.kind == IterKind::Simd ? "simditer" : "fringeiter", i.lanes()));
        if (shape.range) text("(");
        call(shape.range ? "rangeiter" : "", i.node->args());
        if (shape.range) text(")");
    }

    /// Everything else: leaves, and operations in the form `name(arguments)`.
    void plain(const Expr* e) {
        switch (e->op) {
            case Op::Literal: return text(print_literal(e->type->scalar, e->attr.bits));
            case Op::Var: return text(names_.of(e->attr.symbol));
            case Op::Lambda: return lambda(e->as<Lambda>());
            case Op::MakeStruct: return enclosed("{", e->args(), "}");
            case Op::GetField: node(e->arg(0), kPostfix); return text(fmt::format(".${}", e->attr.index));
            case Op::MakeVec: return vector(e->as<MakeVec>());
            case Op::PackedVec: return packed(e->as<PackedVec>());
            case Op::Cast: return call(name_of(e->type->scalar), e->args());
            case Op::Broadcast: return call(fmt::format("broadcast[{}]", e->type->lanes), e->args());
            case Op::OptLanes:
                return call(fmt::format("optlookup[{}]", e->as<OptLanes>().lanes()), e->args());
            case Op::Iterate: return call("iterate", e->args());
            case Op::For: return loop(e->as<For>());
            case Op::Iter: return iterator(e->as<Iter>());
            case Op::NewBuilder: type(e->type); return e->num_args ? arguments(e->args()) : void();
            case Op::Deserialize:
                text("deserialize[");
                type(e->type);
                text("]");
                return arguments(e->args());
            case Op::Kernel:
                text("cudf[");
                text(e->attr.kernel->name);
                text(",");
                type(e->type);
                text("]");
                return arguments(e->args());
            case Op::Call: return call(e->attr.function->name, e->args());
            default: return call(info(e->op).text, e->args());
        }
    }

    Names& names_;
    std::vector<Item> said_;
    std::unordered_map<const Type*, std::pair<std::uint32_t, std::uint32_t>> types_;
};

// ---- layout

constexpr std::int64_t kEndless = 1 << 20;

/// Sets the width of each group, and of what follows each Fill, and returns for each token how much text
/// follows before the next possible break.
std::vector<std::int64_t> measure(std::vector<Token>& tokens) {
    struct Group {
        std::size_t open, fill;
        std::int64_t start, fill_start;
    };
    std::vector<Group> groups;
    std::int64_t at = 0;
    constexpr std::size_t none = std::size_t(-1);
    auto end_fill = [&](Group& g) {
        if (g.fill != none) tokens[g.fill].width = at - g.fill_start;
        g.fill = none;
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        Token& t = tokens[i];
        switch (t.kind) {
            case Kind::Text: at += t.size; break;
            case Kind::Open: groups.push_back({i, none, at, 0}); break;
            case Kind::Close:
                end_fill(groups.back());
                tokens[groups.back().open].width = at - groups.back().start;
                groups.pop_back();
                break;
            case Kind::Space: ++at; break;
            case Kind::Fill:
                end_fill(groups.back());
                groups.back().fill = i;
                groups.back().fill_start = ++at;
                break;
            case Kind::Line: at += kEndless; break;
            default: break;
        }
    }
    std::vector<std::int64_t> tail(tokens.size() + 1, 0);
    for (std::size_t i = tokens.size(); i-- > 0;) {
        const Kind k = tokens[i].kind;
        const bool is_break = k == Kind::Space || k == Kind::Empty || k == Kind::Fill || k == Kind::Line;
        tail[i] = is_break ? 0 : tail[i + 1] + (k == Kind::Text ? tokens[i].size : 0);
    }
    return tail;
}

/// For each Open, the index of its Close.
std::vector<std::size_t> closing(const std::vector<Token>& tokens) {
    std::vector<std::size_t> at(tokens.size(), 0), open;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].kind == Kind::Open) open.push_back(i);
        if (tokens[i].kind != Kind::Close) continue;
        at[open.back()] = i;
        open.pop_back();
    }
    return at;
}

std::string lay_out(Writer& writer) {
    std::vector<Token>& tokens = writer.tokens;
    const std::vector<std::int64_t> tail = measure(tokens);
    const std::vector<std::size_t> close = closing(tokens);
    std::string out;
    std::vector<bool> broken = {true};
    std::int64_t column = 0;
    int indent = 0;
    auto new_line = [&] {
        while (!out.empty() && out.back() == ' ') out.pop_back();
        out += '\n';
        column = std::min(indent, kMaxIndent);
        out.append(std::size_t(column), ' ');
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Token& t = tokens[i];
        switch (t.kind) {
            case Kind::Text:
                out.append(writer.buffer, t.begin, t.size);
                column += t.size;
                break;
            case Kind::Open:
                broken.push_back(broken.back() && column + t.width + tail[close[i]] > kColumns);
                break;
            case Kind::Close: broken.pop_back(); break;
            case Kind::Indent: indent += t.indent; break;
            case Kind::Dedent: indent -= t.indent; break;
            case Kind::Line: new_line(); break;
            case Kind::Node: break;
            case Kind::Space:
            case Kind::Empty:
            case Kind::Fill: {
                const bool fits = t.kind == Kind::Fill && column + 1 + t.width <= kColumns;
                if (broken.back() && !fits) {
                    new_line();
                } else if (t.kind != Kind::Empty) {
                    out += ' ';
                    ++column;
                }
            }
        }
    }
    return out;
}

}  // namespace

std::string print(const Module& m) {
    Names names;
    Writer writer(names);
    writer.module(m);
    return lay_out(writer);
}

std::string print(const Expr* e) {
    Names names;
    Writer writer(names);
    writer.expression(e);
    return lay_out(writer);
}

}  // namespace weld
