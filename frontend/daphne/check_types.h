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
    std::optional<ValueType> map_of;            ///< made of a call of `map`, for a matrix of such cells
};

/// One script: that of the user, or an imported one.
struct Checker::File {
    std::string path;
    std::map<std::string, std::vector<Definition*>, std::less<>> definitions;  ///< overloads by name
    std::set<std::string> prefixes;                                            ///< of its imports
    std::set<std::string> imported;                                            ///< paths
    Loc text, call;  ///< of what is made of a call of `map`: where its text begins, and the call
};

/// A sequence of statements that is gone through one by one: the script, and what has been opened in the
/// block before.
struct Checker::Block {
    Statements all;
    std::size_t next = 0;           ///< what comes next, or what the next block stands in
    const Statement* of = nullptr;  ///< whose body it is; null: the script, or a function
    bool is_second = false;         ///< the second side of an `if`; of a loop: before a round
    bool keeps_constants = false;   ///< of a loop: its rounds may have to know what is another in each
    const Node* call = nullptr;     ///< of a function
    const Definition* function = nullptr;
    std::unique_ptr<Activation> activation;
    std::vector<Import> imports;  ///< of an import: the script, or those of a library
    std::size_t import = 0;       ///< which one of them it is

    std::map<std::string, Value*, std::less<>> views_around;
    Names names_around;  ///< if it has variables of its own, as the file and the body around
    File* file_around = nullptr;
    Activation* activation_around = nullptr;

    bool is_loop() const;
    bool is_head() const;  ///< a loop that is about to see whether it goes on
    bool is_import() const;
    bool has_own_names() const { return call || is_import(); }
};

/// The variables that are assigned to, each once.
void assigned_names(Statements all, std::vector<std::string_view>* names);

/// A place to go back to.
struct Checker::Mark {
    std::size_t nodes, findings;
    Names::Mark names;
    Effects effects;
    bool needs_value;
};

}  // namespace weld::daphne
