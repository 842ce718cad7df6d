// Reading queries.
#include "frontend/daphne/sql.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace weld::daphne {

namespace {

struct SqlToken {
    enum Kind : std::uint8_t { Name, Number, Text, Mark, End };
    Kind kind = End;
    std::string text;  ///< as it is written
    std::string word;  ///< of Name, in upper case; of Text, what it says
    std::size_t at = 0;
};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = char(std::toupper(static_cast<unsigned char>(c)));
    return out;
}

/// Errors leave the parser as exceptions that `parse_sql` catches.
[[noreturn]] void fail(std::size_t at, std::string message) { throw SqlError{std::move(message), at}; }

std::vector<SqlToken> tokens_of(std::string_view text) {
    std::vector<SqlToken> all;
    std::size_t i = 0;
    auto peek = [&](std::size_t k) { return k < text.size() ? text[k] : '\0'; };
    while (i < text.size()) {
        if (std::isspace(static_cast<unsigned char>(text[i]))) {
            ++i;
            continue;
        }
        SqlToken t;
        t.at = i;
        if (is_letter(text[i])) {
            while (is_letter(peek(i)) || is_digit(peek(i))) ++i;
            t.kind = SqlToken::Name;
            t.word = upper(text.substr(t.at, i - t.at));
        } else if (is_digit(text[i]) || (text[i] == '.' && is_digit(peek(i + 1)))) {
            while (is_digit(peek(i)) || peek(i) == '.') ++i;
            const std::size_t sign = peek(i + 1) == '+' || peek(i + 1) == '-' ? 1 : 0;
            if ((peek(i) == 'e' || peek(i) == 'E') && is_digit(peek(i + 1 + sign)))
                for (i += 1 + sign; is_digit(peek(i));) ++i;
            t.kind = SqlToken::Number;
        } else if (text[i] == '\'' || text[i] == '"') {
            const char quote = text[i++];
            t.kind = SqlToken::Text;
            for (; peek(i) != quote; ++i) {
                if (i >= text.size()) fail(t.at, "this string does not end");
                if (text[i] != '\\' || i + 1 >= text.size()) {
                    t.word += text[i];
                    continue;
                }
                const char c = text[++i];
                t.word += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == '0' ? '\0' : c;
            }
            ++i;
        } else {
            t.kind = SqlToken::Mark;
            const std::string_view two = text.substr(i, 2);
            i += two == "<>" || two == "!=" || two == "<=" || two == ">=" ? 2 : 1;
            if (std::string_view("*/+-=<>!(),.;").find(text[t.at]) == std::string_view::npos ||
                text.substr(t.at, i - t.at) == "!")
                fail(t.at, "this begins no word of SQL");
        }
        t.text = text.substr(t.at, i - t.at);
        all.push_back(std::move(t));
    }
    constexpr std::size_t kMost = 10000;  // expressions are visited recursively
    if (all.size() > kMost) fail(all[kMost].at, "the query is too long");
    SqlToken end;
    end.at = text.size();
    all.push_back(end);
    return all;
}

class Parser {
  public:
    Parser(std::vector<SqlToken> tokens, SqlQuery& query) : tokens_(std::move(tokens)), q_(query) {}

    void query() {
        want("SELECT");
        q_.distinct = take("DISTINCT");
        do item();
        while (take(","));
        want("FROM");
        source(false);
        for (;;) {
            const bool inner = take("INNER");
            if (!inner && take(",")) source(false);
            else if (take("JOIN")) source(true);
            else if (inner) wanted("JOIN");
            else break;
        }
        if (take("WHERE")) split(expression(), q_.where);
        if (take("GROUP")) {
            want("BY");
            do q_.group_by.push_back(column());
            while (take(","));
            if (take("HAVING")) q_.having = expression();
        }
        if (take("ORDER")) {
            want("BY");
            do order();
            while (take(","));
        }
        take(";");
        if (now().kind != SqlToken::End) wanted("the end of the query");
    }

  private:
    using Made = std::unique_ptr<SqlExpr>;

    const SqlToken& now() const { return tokens_[at_]; }
    bool is(std::string_view word) const {
        return now().kind == SqlToken::Name ? now().word == word
                                            : now().kind == SqlToken::Mark && now().text == word;
    }
    bool take(std::string_view word) { return is(word) && ++at_; }
    void want(std::string_view word) {
        if (!take(word)) wanted(word);
    }
    [[noreturn]] void wanted(std::string_view what) const {
        fail(now().at, fmt::format("expected {}, found {}", what,
                                   now().kind == SqlToken::End ? "the end" : "`" + now().text + "`"));
    }

    std::string name(std::string_view what) {
        static constexpr std::string_view kReserved[] = {
            "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "BY",      "HAVING", "ORDER", "JOIN",
            "INNER",  "ON",       "AS",   "AND",   "OR",    "BETWEEN", "ASC",    "DESC"};
        if (now().kind != SqlToken::Name || std::ranges::find(kReserved, now().word) != std::end(kReserved))
            wanted(what);
        return tokens_[at_++].text;
    }
    bool begins_alias() const {
        static constexpr std::string_view kAfter[] = {"WHERE", "GROUP", "ORDER", "JOIN", "INNER", "ON"};
        static constexpr std::string_view kOther[] = {"LEFT",   "RIGHT",   "FULL",   "OUTER",
                                                      "CROSS",  "NATURAL", "USING",  "LIMIT",
                                                      "OFFSET", "UNION",   "EXCEPT", "INTERSECT"};
        if (now().kind != SqlToken::Name) return false;
        if (std::ranges::find(kOther, now().word) != std::end(kOther))
            fail(now().at, fmt::format("there is no {} in these queries", now().word));
        return std::ranges::find(kAfter, now().word) == std::end(kAfter);
    }

    void item() {
        SqlItem item;
        item.at = now().at;
        const bool of_table = now().kind == SqlToken::Name && at_ + 2 < tokens_.size() &&
                              tokens_[at_ + 1].text == "." && tokens_[at_ + 2].text == "*";
        if (of_table) item.table = name("a view"), at_ += 2;
        else if (!take("*")) {
            item.value = expression();
            if (take("AS")) item.alias = name("a name");
        }
        q_.items.push_back(std::move(item));
    }

    void source(bool is_join) {
        SqlSource s;
        s.at = now().at;
        s.view = name("a view");
        s.alias = take("AS") || begins_alias() ? name("a name") : s.view;
        if (is_join) {
            want("ON");
            do s.on.push_back(comparison());
            while (take("AND"));
            for (const Made& e : s.on)
                if (e->kind != SqlExpr::Binary || !is_comparison(e->op)) fail(e->at, "ON takes comparisons");
        }
        q_.sources.push_back(std::move(s));
    }

    void order() {
        SqlOrder o;
        o.column = column();
        o.ascending = !take("DESC");
        if (o.ascending) take("ASC");
        q_.order_by.push_back(std::move(o));
    }

    /// `a AND b AND c` as `a`, `b`, `c`.
    static void split(Made e, SqlExprs& into) {
        if (e->kind != SqlExpr::Binary || e->op != Operator::And) return into.push_back(std::move(e));
        split(std::move(e->args[0]), into);
        split(std::move(e->args[1]), into);
    }

    // ---- expressions

    Made make(SqlExpr::Kind kind, std::size_t from) const {
        auto e = std::make_unique<SqlExpr>();
        e->kind = kind;
        e->at = tokens_[from].at;
        for (std::size_t i = from; i < at_; ++i) e->source += tokens_[i].text;
        return e;
    }
    Made binary(Operator op, Made a, Made b, std::size_t from) const {
        Made e = make(SqlExpr::Binary, from);
        e->op = op;
        e->args.push_back(std::move(a));
        e->args.push_back(std::move(b));
        return e;
    }

    Made expression() {
        if (++depth_ > kMostDeep) fail(now().at, "the query is nested too deeply");
        const std::size_t from = at_;
        Made e = conjunction();
        while (take("OR")) e = binary(Operator::Or, std::move(e), conjunction(), from);
        --depth_;
        return e;
    }
    Made conjunction() {
        const std::size_t from = at_;
        Made e = between();
        while (take("AND")) e = binary(Operator::And, std::move(e), between(), from);
        return e;
    }
    Made between() {
        const std::size_t from = at_;
        Made of = comparison();
        if (!take("BETWEEN")) return of;
        Made low = comparison();
        want("AND");
        Made high = comparison();
        Made e = make(SqlExpr::Between, from);
        for (Made* part : {&of, &low, &high}) e->args.push_back(std::move(*part));
        return e;
    }
    struct Infix {
        std::string_view mark;
        Operator op;
        int level;
    };
    Made comparison() { return infix(0); }
    Made infix(int level) {
        static constexpr Infix kInfix[] = {
            {"=", Operator::Eq, 0},  {"<>", Operator::Ne, 0}, {"!=", Operator::Ne, 0},
            {"<", Operator::Lt, 0},  {"<=", Operator::Le, 0}, {">", Operator::Gt, 0},
            {">=", Operator::Ge, 0}, {"+", Operator::Add, 1}, {"-", Operator::Sub, 1},
            {"*", Operator::Mul, 2}, {"/", Operator::Div, 2}};
        if (level == 3) return primary();
        const std::size_t from = at_;
        Made e = infix(level + 1);
        for (;;) {
            const auto at =
                std::ranges::find_if(kInfix, [&](const Infix& i) { return i.level == level && is(i.mark); });
            if (at == std::end(kInfix)) return e;
            ++at_;
            e = binary(at->op, std::move(e), infix(level + 1), from);
        }
    }

    Made number(std::size_t from) {
        const std::string text = (tokens_[from].text == "-" ? "-" : "") + now().text;
        ++at_;
        Made e = make(SqlExpr::Integer, from);
        const char* end = text.data() + text.size();
        auto done = std::from_chars(text.data(), end, e->integer);
        if (done.ec == std::errc() && done.ptr == end) return e;
        e->kind = SqlExpr::Number;
        done = std::from_chars(text.data(), end, e->number);
        if (done.ec != std::errc() || done.ptr != end) fail(e->at, fmt::format("`{}` is no number", text));
        return e;
    }

    Made primary() {
        const std::size_t from = at_;
        if (take("(")) {
            Made e = expression();
            want(")");
            e->source = "(" + e->source + ")";
            return e;
        }
        if (now().kind == SqlToken::Number) return number(from);
        if (is("-") && tokens_[at_ + 1].kind == SqlToken::Number) return ++at_, number(from);
        if (now().kind == SqlToken::Text) {
            ++at_;
            Made e = make(SqlExpr::Text, from);
            e->text = tokens_[from].word;
            return e;
        }
        if (now().kind == SqlToken::Name && tokens_[at_ + 1].text == "(" &&
            tokens_[at_ + 1].kind == SqlToken::Mark)
            return aggregate();
        return column();
    }

    Made aggregate() {
        static constexpr std::string_view kFunctions[] = {"SUM", "COUNT", "AVG", "MIN", "MAX"};
        const std::size_t from = at_;
        const std::string function = now().word;
        if (std::ranges::find(kFunctions, function) == std::end(kFunctions))
            fail(now().at,
                 fmt::format("there is no function `{}`; there are SUM, COUNT, AVG, MIN, MAX", now().text));
        at_ += 2;
        Made of;
        if (function != "COUNT" || !take("*")) of = expression();
        want(")");
        Made e = make(SqlExpr::Aggregate, from);
        e->text = function;
        if (of) e->args.push_back(std::move(of));
        return e;
    }

    Made column() {
        const std::size_t from = at_;
        std::string table, first = name("a column");
        if (take(".")) table = std::exchange(first, name("a column"));
        Made e = make(SqlExpr::Column, from);
        e->table = table;
        e->text = first;
        return e;
    }

    static constexpr int kMostDeep = 200;
    std::vector<SqlToken> tokens_;
    SqlQuery& q_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

bool parse_sql(std::string_view text, SqlQuery* query, SqlError* error) {
    try {
        Parser(tokens_of(text), *query).query();
        return true;
    } catch (const SqlError& e) {
        *error = e;
        return false;
    }
}

}  // namespace weld::daphne
