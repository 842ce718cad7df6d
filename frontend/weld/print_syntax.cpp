// The surface tree as text: what `--explain=parsed` shows. Parentheses stand where the tree needs them.
#include <bit>
#include <iterator>

#include "frontend/weld/reader.h"
#include "weldir/ir/build.h"

namespace weld::front {
namespace {

constexpr int kAscription = 11;  // binds tighter than all infix operators
constexpr int kUnary = 12;
constexpr int kLeaf = 13;

class Printer {
  public:
    std::string run(const Program& program) {
        for (const auto& m : program.macros)
            if (!m->internal) macro(*m);
        for (const auto& d : program.definitions) definition(*d);
        print(program.main, 0);
        return std::move(out_) + '\n';
    }

  private:
    // ---- items

    void macro(const Macro& m) {
        ((out_ += "macro ") += m.name) += '(';
        bindings(m.params);
        out_ += ") = ";
        print(m.body, 0);
        out_ += ";\n";
    }

    void definition(const Definition& d) {
        ((out_ += "def ") += d.name) += '(';
        bindings(d.lambda->bindings);
        out_ += "): ";
        type(d.result);
        out_ += " = ";
        print(d.lambda->args[0], 0);
        out_ += ";\n";
    }

    void binding(const Binding& b) {
        out_ += b.name;
        if (!b.type) return;
        out_ += ": ";
        type(b.type);
    }

    void bindings(std::span<const Binding> all) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i) out_ += ", ";
            binding(all[i]);
        }
    }

    // ---- types

    void type(const TypeNode* t) {
        switch (t->kind) {
            case TypeNode::Unknown: out_ += '?'; return;
            case TypeNode::Scalar: out_ += weld::name_of(t->scalar); return;
            case TypeNode::Struct: list("{", t->args, "}"); return;
            case TypeNode::Vec: out_ += "vec"; break;
            case TypeNode::Dict: out_ += "dict"; break;
            case TypeNode::Simd: out_ += "simd"; break;
            case TypeNode::Builder: out_ += weld::name_of(t->builder); break;
        }
        std::string close = t->lanes ? ',' + std::to_string(t->lanes) + ']' : "]";
        if (t->kind == TypeNode::Builder && has_operator(t->builder))
            close = std::string(",") + weld::name_of(t->op) + "]";
        list("[", t->args, close);
    }

    void list(std::string_view open, std::span<const TypeNode* const> types, std::string_view close) {
        out_ += open;
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (i) out_ += ',';
            type(types[i]);
        }
        out_ += close;
    }

    // ---- expressions

    static int level_of(const Node* n) {
        if (is_infix(n)) return info(n->op).level;
        if (n->form == Form::Ascribe) return kAscription;
        if (n->is(Op::Block) || n->is(Op::Lambda)) return 0;
        if (n->form != Form::Op) return kLeaf;
        if (n->op == Op::Literal) return is_negative(n) ? kUnary : kLeaf;
        return is_scalar_op(n->op) && info(n->op).level == kPrefixLevel ? kUnary : kLeaf;
    }

    static bool is_negative(const Node* n) {
        const int width = 8 * size_of(n->scalar);
        return !is_unsigned(n->scalar) && n->scalar != Scalar::Bool && (n->bits >> (width - 1) & 1);
    }

    /// `n`, in parentheses if it binds looser than `level`.
    void print(const Node* n, int level) {
        const bool long_form =
            level_of(n) < kLeaf || n->is(Op::GetField);  // an annotation would go to a part of it
        const bool parentheses = level_of(n) < level || (n->annotations && long_form);
        if (n->annotations) annotations(*n->annotations);
        if (parentheses) out_ += '(';
        bare(n);
        if (parentheses) out_ += ')';
    }

    void annotations(const std::vector<Annotation>& all) {
        out_ += "@(";
        for (std::size_t i = 0; i < all.size(); ++i)
            fmt::format_to(std::back_inserter(out_), "{}{}:{}", i ? ", " : "", weld::name_of(all[i].key),
                           all[i].text);
        out_ += ") ";
    }

    void bare(const Node* n) {
        switch (n->form) {
            case Form::Name: out_ += n->text; return;
            case Form::Apply:
                print(n->args[0], kLeaf);
                arguments("(", n->args.subspan(1), ")");
                return;
            case Form::Ascribe:
                print(n->args[0], kAscription);
                out_ += ": ";
                type(n->type_node);
                return;
            case Form::Zip: arguments("zip(", n->args, ")"); return;
            case Form::String: string(n->text); return;
            case Form::Error: return;
            case Form::Op: break;
        }
        if (is_infix(n)) infix(n);
        else operation(n);
    }

    void infix(const Node* top) {
        std::vector<const Node*> spine;
        const Node* n = top;
        for (; is_infix(n) && (n == top || !needs_parentheses(spine.back(), n)); n = n->args[0])
            spine.push_back(n);
        print(n, left_level(spine.back()));
        for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
            fmt::format_to(std::back_inserter(out_), " {} ", info((*at)->op).text);
            print((*at)->args[1], info((*at)->op).level + 1);
        }
    }
    static int left_level(const Node* n) { return info(n->op).level + is_comparison(n->op); }
    static bool needs_parentheses(const Node* above, const Node* left) {
        return left->annotations || info(left->op).level < left_level(above);
    }

    void operation(const Node* n) {
        switch (n->op) {
            case Op::Literal: return literal(n);
            case Op::Block: return block(n);
            case Op::Lambda:
                out_ += '|';
                bindings(n->bindings);
                out_ += "| ";
                return print(n->args[0], 0);
            case Op::MakeStruct: return arguments("{", n->args, "}");
            case Op::MakeVec: return arguments("[", n->args, "]");
            case Op::GetField:
                print(n->args[0], kLeaf);
                fmt::format_to(std::back_inserter(out_), ".${}", n->index);
                return;
            case Op::Cast: out_ += weld::name_of(n->scalar); return arguments("(", n->args, ")");
            case Op::NewBuilder:
                type(n->type_node);
                if (!n->args.empty()) arguments("(", n->args, ")");
                return;
            case Op::Kernel:
            case Op::Deserialize:
                out_ += info(n->op).text;
                out_ += '[';
                if (n->op == Op::Kernel) (out_ += n->text) += ',';
                type(n->type_node);
                return arguments("](", n->args, ")");
            case Op::Iter: return iterator(n);
            case Op::Broadcast:
            case Op::LookupLanes:
            case Op::OptLanes:
                out_ += info(n->op).text;
                lanes(n);
                return arguments("(", n->args, ")");
            default: break;
        }
        out_ += info(n->op).text;
        if (!is_scalar_op(n->op) || info(n->op).level != kPrefixLevel) return arguments("(", n->args, ")");
        if (n->op == Op::Neg && begins_with_number(n->args[0])) return arguments("(", n->args, ")");
        print(n->args[0], kUnary);
    }

    /// After a minus it would be another number: `-(8(x))`, `-(8.$0)`.
    static bool begins_with_number(const Node* n) {
        if (n->form != Form::Apply && !n->is(Op::GetField)) return false;
        while (n->form == Form::Apply || n->is(Op::GetField)) n = n->args[0];
        return n->is(Op::Literal);
    }

    void lanes(const Node* n) {
        if (n->lanes) fmt::format_to(std::back_inserter(out_), "[{}]", n->lanes);
    }

    void iterator(const Node* n) {
        const bool wide = n->iter.kind != IterKind::Scalar;
        if (wide) {
            out_ += n->iter.kind == IterKind::Simd ? "simditer" : "fringeiter";
            lanes(n);
            if (n->iter.range) out_ += '(';
        }
        if (n->iter.range) out_ += "rangeiter";
        else if (!wide) out_ += n->iter.nd ? "nditer" : "iter";
        arguments("(", n->args, wide && n->iter.range ? "))" : ")");
    }

    void arguments(std::string_view open, std::span<Node* const> args, std::string_view close) {
        out_ += open;
        for (std::size_t i = 0; i < args.size(); ++i) {
            if (i) out_ += ", ";
            print(args[i], 0);
        }
        out_ += close;
    }

    void block(const Node* n) {
        for (std::size_t i = 0; i < n->bindings.size(); ++i) {
            out_ += "let ";
            binding(n->bindings[i]);
            out_ += " = ";
            print(n->args[i], 0);
            out_ += ";\n";
        }
        print(n->args.back(), 0);
    }

    void literal(const Node* n) {
        const int unused = 64 - 8 * size_of(n->scalar);
        const auto value = std::int64_t(n->bits << unused) >> unused;
        auto number = [&](auto v, const char* suffix) {
            fmt::format_to(std::back_inserter(out_), "{}{}", v, suffix);
        };
        switch (n->scalar) {
            case Scalar::Bool: out_ += n->bits ? "true" : "false"; return;
            case Scalar::I8: return number(value, "c");
            case Scalar::I16: return number(value, "si");
            case Scalar::I32: return number(value, "");
            case Scalar::I64: return number(value, "L");
            case Scalar::F32: return number(std::bit_cast<float>(std::uint32_t(n->bits)), "f");
            case Scalar::F64: {
                const std::string text = fmt::format("{}", std::bit_cast<double>(n->bits));
                out_ += text;
                if (text.find_first_of(".en") == std::string::npos) out_ += ".0";
                return;
            }
            default: return number(n->bits, weld::name_of(n->scalar));
        }
    }

    void string(std::string_view bytes) {
        out_ += '"';
        for (char c : bytes) {
            if (c == '"' || c == '\\') (out_ += '\\') += c;
            else if (std::uint8_t(c) < 0x20 || std::uint8_t(c) >= 0x7F)
                fmt::format_to(std::back_inserter(out_), "\\x{:02x}", std::uint8_t(c));
            else out_ += c;
        }
        out_ += '"';
    }

    std::string out_;
};

}  // namespace

std::string print_syntax(const Program& program) { return Printer().run(program); }

}  // namespace weld::front
