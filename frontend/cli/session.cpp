// A scan of the text that knows brackets, strings and comments; all else is left to the compiler.
#include "frontend/cli/session.h"

#include <algorithm>
#include <cctype>

namespace weld {

namespace {

/// Goes over a text by its significant characters: not in a string or comment, not blank.
class Scan {
  public:
    explicit Scan(std::string_view text) : text_(text) {}

    /// The next one, 0 at the end. A string counts as its first quote.
    char next() {
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
            if (c == '#' || (c == '/' && text_.substr(at_).starts_with('/'))) {
                at_ = std::min(text_.find('\n', at_), text_.size());
                continue;
            }
            if (c == '/' && text_.substr(at_).starts_with('*')) {
                const std::size_t end = text_.find("*/", at_ + 1);
                is_open_ = end == text_.npos;
                at_ = is_open_ ? text_.size() : end + 2;
                continue;
            }
            if (c == '"') skip_string();
            if (c == '(' || c == '[' || c == '{') ++depth_;
            if (c == ')' || c == ']' || c == '}') --depth_;
            return c;
        }
        return 0;
    }
    std::size_t at() const { return at_; }
    int depth() const { return depth_; }
    bool is_open() const { return is_open_; }  ///< it ends in a string or a comment

  private:
    void skip_string() {
        for (; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\\') ++at_;
            else if (text_[at_] == '"') {
                ++at_;
                return;
            }
        }
        at_ = text_.size();
        is_open_ = true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool is_open_ = false;
};

/// The words at the beginning of a statement: `let`, `x`.
std::string_view word(std::string_view text, int which) {
    constexpr std::string_view blanks = " \t\r\n", ends = " \t\r\n(=:;#";
    for (;; --which) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        while (text.starts_with('#')) {
            text.remove_prefix(std::min(text.find('\n'), text.size()));
            text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        }
        const std::string_view found = text.substr(0, text.find_first_of(ends));
        if (which == 0) return found;
        text.remove_prefix(found.size());
    }
}

bool begins_definition(std::string_view statement) {
    const std::string_view first = word(statement, 0);
    return first == "let" || first == "type" || first == "macro" || first == "def";
}

/// What the statement that begins with `part` defines, a function or macro, goes on: its body is lets so far.
bool is_open(std::string_view part) {
    const std::string_view kind = word(part, 0);
    std::string_view body = part;
    if (kind == "def" || kind == "macro") {
        Scan scan(part);
        while (const char c = scan.next())
            if (c == '=' && scan.depth() == 0) break;
        body = part.substr(scan.at());
    }
    return word(body, 0) == "let";
}

void replace_or_add(std::vector<std::string>& all, const std::string& statement) {
    std::erase_if(all, [&](const std::string& s) { return word(s, 1) == word(statement, 1); });
    all.push_back(statement);
}

}  // namespace

bool is_incomplete(std::string_view text) {
    Scan scan(text);
    char last = 0;
    while (const char c = scan.next()) last = c;
    constexpr std::string_view goes_on = ",+-*/%&|^<>=!~:.(";
    return scan.is_open() || scan.depth() > 0 || (last && goes_on.find(last) != goes_on.npos);
}

/// The word that ends before `end`, or at the blanks before that.
static std::string_view word_before(std::string_view text, std::size_t end) {
    text = text.substr(0, end);
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    std::size_t begin = text.size();
    const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    while (begin > 0 && in_word(text[begin - 1])) --begin;
    return text.substr(begin);
}

bool lacks_body(std::string_view text) {
    Scan scan(text);
    std::size_t open = 0,
                end = 0;  // where the last bracket begins that is in no other, and the last thing ends
    char last = 0;
    while (const char c = scan.next()) {
        if (c == '(' && scan.depth() == 1) open = scan.at() - 1;
        last = c, end = scan.at();
    }
    if (scan.depth() > 0 || scan.is_open()) return false;
    if (last != ')') {
        const std::string_view final = word_before(text, end);
        return final == "else" || final == "do";
    }
    const std::string_view before = word_before(text, open);
    return before == "if" || before == "for" || (before == "while" && word(text, 0) != "do");
}

std::vector<std::string> split_statements(std::string_view text) {
    std::vector<std::string> statements;
    Scan scan(text);
    std::size_t start = 0;
    bool blank = true, open = false;
    while (const char c = scan.next()) {
        blank = false;
        if (c != ';' || scan.depth() > 0) continue;
        const std::string_view statement = text.substr(start, scan.at() - start);
        // What follows a `;` and defines nothing belongs to the body of the function before it.
        if (!statements.empty() && (open || !begins_definition(statement))) statements.back() += statement;
        else statements.emplace_back(statement);
        const bool is_let = word(statement, 0) == "let";
        open = open ? is_let : !is_let && is_open(statement);
        start = scan.at();
        blank = true;
    }
    if (!blank) statements.emplace_back(text.substr(start));
    return statements;
}

std::string with_last_semicolon(std::string_view text) {
    const std::vector<std::string> statements = split_statements(text);
    std::string ended(text);
    if (!statements.empty() && begins_definition(statements.back()) && !is_definition(text))
        ended += text.find('#') == text.npos ? ";" : "\n;";  // the last line may end in a comment
    return ended;
}

bool is_definition(std::string_view text) {
    Scan scan(text);
    char last = 0;
    while (const char c = scan.next()) last = c;
    const std::vector<std::string> statements = split_statements(text);
    return last == ';' && scan.depth() == 0 && std::ranges::all_of(statements, begins_definition);
}

void Definitions::add(std::string_view text) {
    for (const std::string& statement : split_statements(text)) {
        const std::string_view kind = word(statement, 0);
        if (kind == "type") replace_or_add(types_, statement);
        else if (kind == "macro") replace_or_add(macros_, statement);
        else if (kind == "def") replace_or_add(defs_, statement);
        else lets_.push_back(statement);
    }
}

std::string Definitions::program(std::string_view text) const {
    std::string program;
    for (const auto* group : {&types_, &macros_, &defs_, &lets_})
        for (const std::string& statement : *group) program += statement + '\n';
    return program += text;
}

}  // namespace weld
