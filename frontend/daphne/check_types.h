// What is kept of functions and files while a script is checked.
#pragma once

#include "frontend/daphne/check.h"

namespace weld::daphne {

/// A `def`, with the file it stands in.
struct Checker::Definition {
    const Function* function = nullptr;
    File* file = nullptr;
    /// A body for certain arguments.
    struct Instance {
        GraphFunction* function = nullptr;  ///< null: something is wrong with it
        Effects effects;
        int writes = 0;  ///< Checker::writes_ after it
    };
    std::map<std::string, Instance> instances;  ///< by what is known of the arguments
    int open = 0;                               ///< how many of its bodies are being checked
};

/// One script: that of the user, or an imported one.
struct Checker::File {
    std::string path;
    std::map<std::string, std::vector<Definition*>, std::less<>> definitions;  ///< overloads by name
    std::set<std::string> prefixes;                                            ///< of its imports
    std::set<std::string> imported;                                            ///< paths
};

/// A place to go back to.
struct Checker::Mark {
    std::size_t nodes, findings;
    Names::Mark names;
    Effects effects;
    bool needs_value;
};

}  // namespace weld::daphne
