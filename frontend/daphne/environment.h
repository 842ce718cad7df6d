// What a script leaves for the next one: variables, views, and in a session definitions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/daphne/graph.h"
#include "frontend/text/environment.h"

namespace weld::daphne {

/// A sequence of statements that is being run: the script, and one inside the other what it has got into
/// (check_parts.cpp).
struct LeftBlock {
    std::int64_t next = 0;   ///< the statement that comes next, or that the next block stands in
    bool is_second = false;  ///< the second side of an `if`; of a loop: it is about to ask whether it goes on
    std::int64_t import = 0;       ///< of the scripts of a library, which one
    bool keeps_constants = false;  ///< a loop whose rounds may have to know what is another in each
    /// The body of a function: the places of its call and of its name. Of a `map`: the type of its cells.
    std::string call, function;
};

struct LeftVariable {
    std::string name;
    std::int64_t block = 0;  ///< the number of the one whose variable it is
    bool is_view = false;    ///< a frame registered for SQL
    Type type;
    std::int64_t rows = -1, columns = -1;  ///< of matrices and frames, if known
    std::optional<Constant> constant;      ///< of scalars, if known
    std::vector<Constant> cells;           ///< of a list of positions, if they are known
    bool is_wanted = false;                ///< once there is a value, so much of it is to be known
};

class ScriptEnvironment final : public Environment {
  public:
    std::vector<LeftVariable> variables;
    std::vector<std::string> definitions;  ///< texts of functions and imports, of entries before
    std::vector<LeftBlock> blocks;         ///< where the rest begins, outermost first; none: at the beginning
    bool has_rest = false;
    bool is_prepared = false;  ///< what the first statement of the rest mentions is known

    bool goes_on() const override { return has_rest; }
    /// Then scalars that are wanted are known, and the shapes of matrices. The others stay unknown, so that
    /// the rest is the same program whatever they are.
    std::shared_ptr<const Environment> with(const void* values) const override;
    std::string text() const override;
};

/// The name of no variable of a script, but of what a statement has asked for (check_parts.cpp).
inline bool is_answer(std::string_view name) { return name[0] >= '0' && name[0] <= '9'; }

/// What the name of an answer has behind its place if it is a list of positions, whose cells are asked for.
inline constexpr std::string_view kCells = "[]";
inline bool has_wanted_cells(std::string_view name) {
    return is_answer(name) && name.substr(name.find_first_not_of("0123456789:")).starts_with(kCells);
}

/// What `ScriptEnvironment::text` gave; null if it is not that.
std::shared_ptr<const Environment> read_environment(std::string_view text);

/// Takes `text`, a function or an import, among `definitions`, in the place of one with the same head.
void add_definition(std::vector<std::string>& definitions, std::string text);

}  // namespace weld::daphne
