// The surface tree as text: what `--explain=parsed` shows. Reading that again gives the same text.
#include <cmath>

#include <fmt/format.h>

#include "frontend/daphne/syntax.h"

namespace weld::daphne {
namespace {

class Printer {
  public:
    std::string run(const Script& script) {
        statements(script.statements);
        return std::move(out_);
    }

  private:
    // ---- statements

    void line(std::string_view text) {
        out_.append(2 * indent_, ' ');
        out_ += text;
    }

    void statements(Statements all) {
        for (const Statement* s : all) statement(*s);
    }

    void in_braces(Statements all) {
        out_ += "{\n";
        ++indent_;
        statements(all);
        --indent_;
        line("}\n");
    }

    /// The body of a branch or a loop: what is a block already gets no second pair of braces.
    void body(Statements one) {
        const bool block = one.size() == 1 && one[0]->kind == Statement::Braces;
        in_braces(block ? one[0]->body : one);
    }

    void statement(const Statement& s) {
        line("");
        switch (s.kind) {
            case Statement::Braces: return in_braces(s.body);
            case Statement::Expression: expression(s.value); break;
            case Statement::Assignment: assignment(s); break;
            case Statement::If: return if_statement(s);
            case Statement::While: condition("while (", s.value); return body(s.body);
            case Statement::DoWhile:
                out_ += "do ";
                body(s.body);
                line("");
                condition("while (", s.value);
                out_.pop_back();
                break;
            case Statement::For: return for_statement(s);
            case Statement::Define: return define(*s.function);
            case Statement::Return:
                out_ += s.values.empty() ? "return" : "return ";
                list(s.values);
                break;
            case Statement::Import:
                string("import ", s.path);
                if (!s.alias.empty()) string(" as ", s.alias);
                break;
        }
        out_ += ";\n";
    }

    void condition(std::string_view before, const Node* n) {
        out_ += before;
        expression(n);
        out_ += ") ";
    }

    void if_statement(const Statement& s) {
        condition("if (", s.value);
        body(s.body);
        if (s.otherwise.empty()) return;
        line("else ");
        body(s.otherwise);
    }

    void for_statement(const Statement& s) {
        ((out_ += "for (") += s.targets[0].name) += " in ";
        operand(s.from);
        out_ += ':';
        operand(s.to);
        if (s.step) out_ += ':', operand(s.step);
        out_ += ") ";
        body(s.body);
    }

    void assignment(const Statement& s) {
        for (std::size_t i = 0; i < s.targets.size(); ++i) {
            const Target& t = s.targets[i];
            if (i) out_ += ", ";
            out_ += t.name;
            if (t.is_indexed) indices("[", t.rows, t.columns, "]");
        }
        out_ += " = ";
        expression(s.value);
    }

    void define(const Function& f) {
        ((out_ += "def ") += f.name) += '(';
        for (std::size_t i = 0; i < f.parameters.size(); ++i) {
            if (i) out_ += ", ";
            out_ += f.parameters[i].name;
            if (f.parameters[i].type.has_data) out_ += ": ", type(f.parameters[i].type);
        }
        out_ += ") ";
        for (std::size_t i = 0; i < f.results.size(); ++i) {
            out_ += i ? ", " : "-> ";
            type(f.results[i]);
        }
        if (f.has_result_types) out_ += ' ';
        in_braces(f.body);
    }

    void type(const WrittenType& t) {
        if (t.data == DataType::Scalar) out_ += name_of(t.value);
        else if (t.has_value) out_ += fmt::format("matrix<{}>", name_of(t.value));
        else out_ += "matrix";
    }

    // ---- expressions

    static bool is_infix(const Node* n) { return n->form == Form::Binary || n->form == Form::Conditional; }

    /// With parentheses around what consists of several parts.
    void operand(const Node* n) {
        const bool enclosed = is_infix(n);
        if (enclosed) out_ += '(';
        expression(n);
        if (enclosed) out_ += ')';
    }

    /// Chains down the first operand are of any length: it goes down these in a loop.
    void expression(const Node* n) {
        std::vector<const Node*> chain;
        for (; is_infix(n); n = n->args[0]) chain.push_back(n);
        if (!chain.empty()) out_.append(chain.size() - 1, '(');
        prefixed(n);
        for (; !chain.empty(); chain.pop_back()) {
            infix(chain.back());
            if (chain.size() > 1) out_ += ')';
        }
    }

    void infix(const Node* n) {
        if (n->form == Form::Conditional) {
            out_ += " ? ";
            operand(n->args[1]);
            out_ += " : ";
            return operand(n->args[2]);
        }
        (out_ += ' ') += text_of(n->op);
        if (!n->hint.empty()) (out_ += "::") += n->hint;
        out_ += ' ';
        operand(n->args[1]);
    }

    void prefixed(const Node* n) {
        if (n->form != Form::Unary) return indexed(n);
        out_ += text_of(n->op);
        operand(n->args[0]);
    }

    static bool is_indexed(const Node* n) { return n->form == Form::Extract || n->form == Form::Filter; }

    void indexed(const Node* n) {
        std::vector<const Node*> chain;
        for (; is_indexed(n); n = n->args[0]) chain.push_back(n);
        const bool enclosed = !chain.empty() && (is_infix(n) || n->form == Form::Unary);
        if (enclosed) out_ += '(', expression(n), out_ += ')';
        else leaf(n);
        for (; !chain.empty(); chain.pop_back()) {
            const Node* i = chain.back();
            const bool bits = i->form == Form::Filter;
            indices(bits ? "[[" : "[", i->rows, i->columns, bits ? "]]" : "]");
        }
    }

    void leaf(const Node* n) {
        switch (n->form) {
            case Form::Literal: return literal(n->literal);
            case Form::Argument: (out_ += '$') += n->text; return;
            case Form::Name: out_ += n->text; return;
            case Form::Call: return call(n);
            case Form::Cast: return cast(n);
            case Form::Matrix: return matrix(n);
            case Form::Frame: return frame(n);
            case Form::FrameRows: return enclosed("{", n->args, "}");
            case Form::Row: return enclosed("[", n->args, "]");
            default: return expression(n);
        }
    }

    void list(std::span<Node* const> all) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i) out_ += ", ";
            operand(all[i]);
        }
    }

    /// Two brackets that would be one token get a blank between.
    void open(std::string_view bracket) {
        if (out_.ends_with('[') && bracket[0] == '[') out_ += ' ';
        out_ += bracket;
    }
    void close(std::string_view bracket) {
        if (out_.ends_with(']') && bracket[0] == ']') out_ += ' ';
        out_ += bracket;
    }

    void enclosed(std::string_view opening, std::span<Node* const> all, std::string_view closing) {
        open(opening);
        list(all);
        close(closing);
    }

    void call(const Node* n) {
        out_ += n->text;
        if (!n->hint.empty()) (out_ += "::") += n->hint;
        out_ += '(';
        for (std::size_t i = 0; i < n->args.size(); ++i) {
            if (i) out_ += ", ";
            if (!n->names.empty() && !n->names[i].name.empty()) (out_ += n->names[i].name) += '=';
            operand(n->args[i]);
        }
        out_ += ')';
    }

    void cast(const Node* n) {
        const char* data[] = {"scalar", "matrix", "frame", "list"};
        out_ += "as.";
        if (n->cast.has_data) out_ += data[int(n->cast.data)];
        if (n->cast.has_data && n->cast.has_value) out_ += fmt::format("<{}>", name_of(n->cast.value));
        else if (n->cast.has_value) out_ += name_of(n->cast.value);
        enclosed("(", n->args, ")");
    }

    void matrix(const Node* n) {
        enclosed("[", n->args, "]");
        if (!n->rows.first && !n->columns.first) return;
        out_ += '(';
        if (n->rows.first) operand(n->rows.first);
        out_ += ", ";
        if (n->columns.first) operand(n->columns.first);
        out_ += ')';
    }

    void frame(const Node* n) {
        if (n->args.empty()) {  // `{}` may be a block
            out_ += "({})";
            return;
        }
        out_ += '{';
        for (std::size_t i = 0; i < n->args.size(); i += 2) {
            if (i) out_ += ", ";
            operand(n->args[i]);
            out_ += ": ";
            operand(n->args[i + 1]);
        }
        out_ += '}';
    }

    void indices(std::string_view opening, const Index& rows, const Index& columns,
                 std::string_view closing) {
        open(opening);
        index(rows);
        out_ += ", ";
        index(columns);
        close(closing);
    }

    void index(const Index& i) {
        if (i.first) operand(i.first);
        if (i.kind == Index::Range) out_ += ':';
        if (i.last) operand(i.last);
    }

    // ---- literals

    void literal(const Literal& l) {
        switch (l.value) {
            case ValueType::Bool: out_ += l.integer ? "true" : "false"; return;
            case ValueType::F32: return number(fmt::format("{}", float(l.number)), "f");
            case ValueType::F64: return number(fmt::format("{}", l.number), "");
            case ValueType::Str: return string("", l.text);
            case ValueType::Ui64: out_ += fmt::format("{}u", std::uint64_t(l.integer)); return;
            case ValueType::Size: out_ += fmt::format("{}z", std::uint64_t(l.integer)); return;
            default: out_ += fmt::format("{}", std::uint64_t(l.integer)); return;
        }
    }

    /// A float needs a fraction or an exponent, and an exponent has no leading zeros.
    void number(std::string digits, std::string_view suffix) {
        const std::size_t e = digits.find('e');
        if (e != digits.npos && digits[e + 2] == '0') digits.erase(e + 2, 1);
        out_ += digits;
        if (digits.find_first_of(".en") == digits.npos) out_ += ".0";
        if (digits.find('n') == digits.npos) out_ += suffix;
    }

    void string(std::string_view before, std::string_view text) {
        constexpr std::string_view kRaw = "\b\f\n\r\t\"\\", kLetters = "bfnrt\"\\";
        (out_ += before) += '"';
        for (char c : text) {
            const std::size_t at = kRaw.find(c);
            if (at == kRaw.npos) out_ += c;
            else (out_ += '\\') += kLetters[at];
        }
        out_ += '"';
    }

    std::string out_;
    std::size_t indent_ = 0;
};

}  // namespace

std::string print_syntax(const Script& script) { return Printer().run(script); }

}  // namespace weld::daphne
