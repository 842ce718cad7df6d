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

struct LeftVariable {
    std::string name;
    bool is_view = false;  ///< a frame registered for SQL
    Type type;
    std::int64_t rows = -1, columns = -1;  ///< of matrices and frames, if known
    std::optional<Constant> constant;      ///< of scalars, if known
    bool is_wanted = false;                ///< once there is a value, so much of it is to be known
};

class ScriptEnvironment final : public Environment {
  public:
    std::vector<LeftVariable> variables;
    std::vector<std::string> definitions;  ///< texts of functions and imports, of entries before
    std::size_t statement = 0;             ///< the first one that has not run
    bool has_rest = false;

    bool goes_on() const override { return has_rest; }
    /// Then scalars that are wanted are known, and the shapes of matrices. The others stay unknown, so that
    /// the rest is the same program whatever they are.
    std::shared_ptr<const Environment> with(const void* values) const override;
    std::string text() const override;
};

/// What `ScriptEnvironment::text` gave; null if it is not that.
std::shared_ptr<const Environment> read_environment(std::string_view text);

/// Takes `text`, a function or an import, among `definitions`, in the place of one with the same head.
void add_definition(std::vector<std::string>& definitions, std::string text);

}  // namespace weld::daphne
