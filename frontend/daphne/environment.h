// What a script leaves for the next one: variables, views, and in a session definitions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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
};

class ScriptEnvironment final : public Environment {
  public:
    std::vector<LeftVariable> variables;
    std::vector<std::string> definitions;  ///< texts of functions and imports, of entries before
    std::size_t statement = 0;             ///< the first one that has not run
    bool has_rest = false;

    bool goes_on() const override { return has_rest; }
    /// Then scalars are known, and all shapes.
    std::shared_ptr<const Environment> with(const void* values) const override;
};

/// Takes `text`, a function or an import, among `definitions`, in the place of one with the same head.
void add_definition(std::vector<std::string>& definitions, std::string text);

}  // namespace weld::daphne
