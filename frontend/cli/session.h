// What an interactive session remembers: definitions, which stand before everything that is typed after them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weld {

/// Whether more lines are needed: a bracket, string or comment is open, or the last thing is an operator or a
/// comma.
bool is_incomplete(std::string_view text);

/// Whether a script ends in `if (…)`, `for (…)`, `while (…)`, `else` or `do`: what these are for comes next.
bool lacks_body(std::string_view text);

/// `text` cut after each `;` that stands in no bracket, string or comment; the rest comes last, if it is not
/// blank.
std::vector<std::string> split_statements(std::string_view text);

/// `text` with the `;` that a definition at its end lacks: in a session the end of the line stands for it.
std::string with_last_semicolon(std::string_view text);

/// Whether `text` consists of `type`, `macro` and `let` statements alone, so that it ends in `;`.
bool is_definition(std::string_view text);

class Definitions {
  public:
    /// Takes in statements: types, macros, lets. A type or macro replaces one of the same name.
    void add(std::string_view text);
    void clear() { *this = {}; }
    /// `text` with all definitions before it: types, then macros, then lets.
    std::string program(std::string_view text) const;

  private:
    std::vector<std::string> types_, macros_, defs_, lets_;
};

}  // namespace weld
