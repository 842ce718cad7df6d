// Printing in three steps, each linear in the program and none of them recursive:
//   1. `Writer` turns nodes into tokens: text, possible line breaks, and groups around them;
//   2. and 3. `lay_out` (print_layout.cpp) finds how wide each group is on one line, and writes the tokens.
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
#include "weldir/ir/print_layout.h"

namespace weld {

static std::string string_literal(MakeVec v) {
    std::string bytes;
    for (const Expr* e : v.elems()) {
        if (e->op != Op::Literal || !e->annotations.empty()) return {};
        bytes += char(e->attr.bits);
    }
    return print_string(bytes);
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
            if (item.token.kind != TokenKind::Node) {
                tokens.push_back(item.token);
                continue;
            }
            spell(item.node, item.level);
            work.insert(work.end(), said_.rbegin(), said_.rend());
            said_.clear();
        }
    }

    void mark(TokenKind kind, int indent = 0) { said_.push_back({{kind, std::int8_t(indent)}}); }
    void open() { mark(TokenKind::Open); }
    void close() { mark(TokenKind::Close); }
    void line() { mark(TokenKind::Line); }
    void indent(int by) { mark(TokenKind::Indent, by); }
    void dedent(int by) { mark(TokenKind::Dedent, by); }
    void node(const Expr* e, int level) { said_.push_back({{TokenKind::Node}, e, level}); }
    void text(std::string_view s) {
        said_.push_back({{TokenKind::Text, 0, std::uint32_t(buffer.size()), std::uint32_t(s.size())}});
        buffer += s;
    }
    void type(const Type* t) {
        auto [at, is_new] = types_.try_emplace(t);
        if (is_new) {
            const std::string s = t->str();
            at->second = {std::uint32_t(buffer.size()), std::uint32_t(s.size())};
            buffer += s;
        }
        said_.push_back({{TokenKind::Text, 0, at->second.first, at->second.second}});
    }

    // -- functions

    /// Where it is bound.
    void name(const Symbol* s) {
        if (!s->holds.empty()) holds(s->holds, [&](int) { return names_.of(s); });
        text(names_.of(s));
    }

    void holds(Promises promises, const std::function<std::string(int)>& name) {
        text(fmt::format("@({}:{}) ", name_of(AttrKey::Holds), print_promises(promises, name)));
    }

    void parameters(std::span<const Symbol* const> symbols) {
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            if (i) text(", ");
            name(symbols[i]);
            text(": ");
            type(symbols[i]->type);
        }
    }

    /// A body after `|parameters|` or `=`: on the same line, or indented below.
    void body(const Expr* e) {
        open();
        indent(2);
        mark(TokenKind::Space);
        node(e, kBody);
        dedent(2);
        close();
    }

    void function(const Function* f) {
        const Lambda l = f->lambda->as<Lambda>();
        if (!f->holds.empty())
            holds(f->holds, [&](int of) {
                return of == SizeName::kResult ? "result" : names_.of(l.param(std::size_t(of)));
            });
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
            name(b.symbol(i));
            text(" = ");
            node(b.value(i), kArgument);
            text(";");
            mark(parentheses ? TokenKind::Space : TokenKind::Line);
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
        mark(TokenKind::Space);
        node(e->arg(1), row.level + 1);
        dedent(4);
        close();
    }

    /// `a, b, c` with breaks.
    void list(std::span<const Expr* const> args, TokenKind between = TokenKind::Space) {
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
            mark(TokenKind::Empty);
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
        list(elems, TokenKind::Fill);
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
        std::string out = elem == Scalar::I8 ? print_string(v.bytes()) : "";
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
        mark(TokenKind::Empty);
        if (f.data().size() == 1) node(f.data()[0], kArgument);
        else call("zip", f.data());
        text(",");
        mark(TokenKind::Space);
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
            case Op::LookupLanes: return call(fmt::format("lookup[{}]", e->type->lanes), e->args());
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

}  // namespace

std::string print(const Module& m) {
    Names names;
    Writer writer(names);
    writer.module(m);
    return lay_out(writer.tokens, writer.buffer);
}

std::string print(const Expr* e) {
    Names names;
    Writer writer(names);
    writer.expression(e);
    return lay_out(writer.tokens, writer.buffer);
}

}  // namespace weld
