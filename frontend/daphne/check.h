// From the surface tree to the graph: names, types, shapes, constants.
//
// One Checker checks one script with what it imports. It goes through the statements in order and makes nodes
// as it goes; a loop is checked again while something known of a variable before it (shapes, constants: never
// types) does not hold after a round, and a function is checked once for each kind of arguments. What is
// wrong is reported, and checking goes on with a null value, which is never complained about again.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/daphne/builtins.h"
#include "frontend/daphne/environment.h"
#include "frontend/daphne/graph.h"
#include "frontend/daphne/names.h"
#include "frontend/daphne/script_arguments.h"
#include "frontend/daphne/syntax.h"
#include "frontend/text/import_paths.h"
#include "frontend/text/kernel_catalog.h"
#include "weldir/ir/module.h"
#include "weldir/support/diag.h"

namespace weld::daphne {

/// What a script is checked with beside its text.
struct Inputs {
    std::vector<ScriptArgument> arguments;
    /// The only functions that may reach out of the program, files among them; null: any.
    const std::vector<std::string>* allowed_functions = nullptr;
    /// The text of a file; else false, with what is wrong. Null: there are no files.
    std::function<bool(const std::string& path, std::string* text, std::string* error)> load;
    /// What a data file holds, as a `.meta` file says it, from the file itself if it has none and
    /// `may_sniff`; likewise, `*error` says which file is meant.
    std::function<bool(const std::string& path, bool may_sniff, std::string* text, std::string* error)>
        describe;
    const ImportPaths* import_paths =
        nullptr;  ///< null: scripts are searched in the folder of the importing one
    const KernelCatalog* kernel_catalog = nullptr;  ///< what hints may name as well; null: nothing
};

class Checker {
  public:
    Checker(Module& m, Graph& graph, const Inputs& inputs, Diagnostics& diagnostics);
    ~Checker();

    /// Checks the script. If `left` is not null checking may end early, where something has to be known
    /// before the run that only the run can tell; `left` then says what the rest, or the next entry, begins
    /// with.
    void run(const Script& script, std::string_view path, const ScriptEnvironment* before,
             ScriptEnvironment* left);

    // ---- making nodes, for rules.cpp as well

    Graph& graph() { return graph_; }
    const Inputs& inputs() const { return inputs_; }
    /// What has been done so far that the rest sees, beside variables: in the script, or in a function.
    struct Effects {
        std::map<std::string, Value*, std::less<>> views;  ///< frames registered for SQL
        /// Files that have been written. Null: with what, only the run knows.
        std::map<std::string, const Value*, std::less<>> written;
        bool wrote_others = false;        ///< files of names that only the run knows
        bool registered_others = false;   ///< views that the checker knows nothing of
        bool read = false;                ///< a file
        const Effects* around = nullptr;  ///< in a function: what had been done before it was called

        void may_add(const Effects& done);  ///< the files of what may have been done as well
        void may_be_any() { wrote_others = registered_others = true; }
    };
    Effects effects;
    void count_write() { ++writes_; }
    bool can_stop() const { return can_stop_; }

    template <class... Args>
    std::nullptr_t error(Loc loc, fmt::format_string<Args...> text, Args&&... args) {
        diagnostics_.error(shown(loc), text, std::forward<Args>(args)...);
        return nullptr;
    }
    /// Shapes or positions that cannot fit: an error where the run comes by for certain, else left to the
    /// run.
    template <class... Args>
    void violated(Loc loc, fmt::format_string<Args...> text, Args&&... args) {
        if (certain_) diagnostics_.error(shown(loc), text, std::forward<Args>(args)...);
    }
    /// What `text` says has to be known before the run. It is, of what a rehearsal checks.
    template <class... Args>
    std::nullptr_t unknown(Loc loc, fmt::format_string<Args...> text, Args&&... args) {
        if (!needs_value_) needed_at_ = loc, needed_call_ = nullptr;
        needs_value_ = true;
        return is_rehearsal_ ? nullptr : error(loc, text, std::forward<Args>(args)...);
    }
    /// The same for what has to be written down: the rounds of a loop may know it, the run is not asked.
    template <class... Args>
    std::nullptr_t unwritten(Loc loc, fmt::format_string<Args...> text, Args&&... args) {
        needs_rounds_ = true;
        return error(loc, text, std::forward<Args>(args)...);
    }
    /// A place that users know: a call, for what is made of it.
    Loc shown(Loc loc) const;
    /// A node that has no place in a body yet.
    GraphNode* make_node(GraphNode::Kind kind, Loc loc) { return graph_.node(kind, shown(loc)); }
    GraphNode* emit(GraphNode::Kind kind, Loc loc, std::vector<Value*> args);
    /// A further result of `node`.
    Value* give(GraphNode* node, const Type& type, Dim rows = {}, Dim columns = {});
    Value* constant(const Constant& c, Loc loc);
    /// `v` as another type; itself if it has that.
    Value* convert(Value* v, const Type& to, Loc loc);
    Value* to_value_type(Value* v, ValueType to, Loc loc);
    Value* to_scalar(Value* v, ValueType to, Loc loc) { return convert(v, Type::scalar(to), loc); }
    /// The number that `v`, an integer scalar, says.
    Dim dim_of(const Value* v);
    Dim product(Dim a, Dim b);
    Dim sum(Dim a, Dim b);
    /// `op` of two values, cell by cell where these are matrices. Null after an error.
    Value* operate(Operator op, Value* a, Value* b, Loc loc);
    /// The shape that cells of several operands have together.
    void broadcast(const std::vector<Value*>& operands, Loc loc, bool* any_matrix, Dim* rows, Dim* columns);
    /// A frame from columns.
    Value* make_frame(const std::vector<Value*>& columns, const std::vector<std::string>& labels, Loc loc);
    GraphFunction* function_for_cells(std::string_view name, ValueType cell, Loc loc);

  private:
    struct Definition;
    struct File;
    /// A script that is imported.
    struct Import {
        std::string path, text, prefix;
    };
    /// What is still to be checked after statements in braces, for branches that end in `return`.
    struct Rest {
        Statements all;
        std::size_t depth;  ///< of blocks then
        const Rest* next;
    };

    /// The body of a function, while it is checked.
    struct Activation {
        const Function* function = nullptr;  ///< null: the main program
        int number = 0;                      ///< of bodies checked before
        bool returned = false;
        std::vector<Value*> results;
        bool is_open = false;  ///< its statements are gone through one by one (check_parts.cpp)
        Loc at;                ///< of the return
    };

    // ---- names
    void assign(std::string_view name, Value* value, Loc loc);
    std::vector<Definition*> definitions_of(std::string_view name);

    // ---- the whole, and what goes on from script to script (check_script.cpp)
    void define(const ScriptEnvironment& before);
    bool rehearse();
    struct Mark;
    Mark mark() const;
    void undo(const Mark& to);
    void import_names(const Statement* s);

    // ---- one part after the other (check_parts.cpp)
    struct Block;
    enum class Step {
        On,
        Cut,    ///< the rest is another program
        Stuck,  ///< nothing helps, or there is an error
        End,
    };
    bool go_on();
    Step step_on();
    bool check_whole(const Statement* s, bool ends);
    void rest_of_call();
    Step end_statement();
    Step cut(bool prepares);
    Step without_whole(const Statement* s);
    std::string name_of_answer(Loc at, std::string_view which) const;
    Value* answer(Loc at, std::string_view which = "") const;
    void keep_answer(Loc at, std::string_view which, Value* value);
    void forget_answers();
    std::optional<std::vector<Value*>> answers_of_call(const Node* call) const;
    Step come_to_needed(const std::vector<const Node*>& roots);
    bool settle(const Node* root);
    Step ask(const std::vector<const Node*>& way);
    Block& push_block(Statements all, const Statement* of);
    Block& open(Statements all, const Statement* of);
    void enter(Block& block, File* file, Activation* activation);
    void leave_block();
    Step end_block();
    Step open_if(const Statement* s);
    Step open_for(const Statement* s);
    void count_on(const Statement* s);
    Step end_round();
    Step open_call(const Node* n);
    Definition& definition_of_map(const Node* n, ValueType cell);
    void open_function(const Node* call, Definition& d);
    Step end_call();
    const Names::Scope& scope_of(std::size_t number) const;
    void leave(ScriptEnvironment& left);
    std::string place(Loc at) const;
    bool reopen(const LeftBlock& left);
    void resume(const ScriptEnvironment& before);

    // ---- statements (check_statements.cpp)
    void statements(Statements all, const Rest* rest);
    void statement(const Statement* s);
    static bool may_return(const Statement* s);
    void scoped(Statements all);
    void expression_statement(const Statement* s);
    void assignment(const Statement* s);
    void assign_target(const Target& t, Value* value);
    void if_statement(const Statement* s);
    void returning_if(const Statement* s, const Rest* rest);
    void return_statement(const Statement* s);
    void import(const Statement* s);
    bool find_import(const Statement* s, std::string* path, std::string* text);
    bool take_prefix(const Statement* s, const std::string& prefix);
    bool names_library(const Statement* s) const;
    std::vector<Import> imports_of(const Statement* s);
    void import_one(const Statement* s, const Import& one);
    const Script* begin_import(const Statement* s, const Import& one);
    void end_import(const std::string& prefix, const Names& names, const File& imported);
    bool open_import(const Statement* s, std::size_t number = 0);
    bool open_one(const Statement* s, std::vector<Import> all, std::size_t number);
    void declare(Statements all);
    void check_uncalled();
    Value* condition(const Node* n);
    Value* condition_of(const Statement* s);
    Value* join(const Value* condition, Value* a, Value* b, Loc loc, std::string_view what);
    Value* taken(const Value* condition, const Value* then, const Value* otherwise, Value* joined);
    Value* give_either(GraphNode* node, Value* then, Value* otherwise, Value* joined);
    void check_sides(GraphNode* node, const std::function<void(std::size_t side)>& check);

    // ---- loops (check_loops.cpp)
    void while_loop(const Statement* s);
    void for_loop(const Statement* s);
    struct Bounds {
        Value *from, *to, *step;  ///< null after an error; `step` also if none is written
    };
    Bounds bounds_of(const Statement* s);
    void counted_loop(const Statement* s, Value* from, Value* to, Value* step);
    void loop_over(GraphNode* node, const Statement* s, std::size_t first_state,
                   const std::function<void(Body&)>& check);
    void name_dims(Value* v);
    void loop(const std::function<void()>& as_loop, const std::function<bool()>& as_rounds);
    bool round(const Statement* s, const std::function<void()>& begin);
    void bind_counter(const Statement* s, Value* value);
    bool keeps_cells(const Type& before, const Type& after, std::string_view name, Loc loc);

    // ---- expressions (check_expressions.cpp)
  public:
    Value* expression(const Node* n);            ///< null after an error
    std::vector<Value*> results(const Node* n);  ///< a call may have none or several

  private:
    Value* argument(const Node* n);
    Value* name(const Node* n);
    Value* literal_matrix(const Node* n);
    Value* literal_frame(const Node* n);
    Value* literal_frame_of_rows(const Node* n);
    Value* cast(const Node* n);
    Value* unary(const Node* n);
    Value* binary_chain(const Node* n);
    Value* product_of(Value* a, Value* b, Loc loc);
    bool check_hint(const Node* n, std::string_view operation, std::string_view what);
    Value* conditional(const Node* n);

    // ---- indexing (check_index.cpp)
    /// Adds what a subscript says to the arguments of `node`; false after an error.
    bool subscript(GraphNode* node, const Index& index, bool is_column, bool is_insert,
                   GraphNode::Subscript* to, Dim* size);
    bool take_columns(GraphNode* node, const Node* n);
    Value* whole_positions(Value* list, Loc loc);
    Value* extract(const Node* n, bool as_matrix = false);
    Value* filter(const Node* n);
    Value* insert(Value* into, const Target& t, Value* value);

    // ---- calls (check_calls.cpp)
    std::vector<Value*> call(const Node* n);
    std::vector<Value*> call_function(const Node* n, const std::vector<Definition*>& overloads);
    Definition* definition_for(const Node* n, const std::vector<Definition*>& overloads,
                               std::vector<Value*>* args, std::vector<Value*>* instead);
    void check_results(Activation& activation);
    std::vector<Value*> call_builtin(const Node* n, const Builtin& builtin);
    struct MapArguments {
        const Node *matrix = nullptr, *function = nullptr;
    };
    std::optional<MapArguments> map_arguments(const Node* n);
    Value* map(const Node* n);
    GraphFunction* instance(Definition& d, const std::vector<Value*>& args, Loc loc, bool generic,
                            bool* failed);
    Definition* choose(const Node* n, const std::vector<Definition*>& overloads,
                       const std::vector<std::vector<Value*>>& args_of);

    Module& module_;
    Graph& graph_;
    const Inputs& inputs_;
    Diagnostics& diagnostics_;
    Arena arena_;
    std::vector<std::unique_ptr<Script>> scripts_;
    std::vector<std::unique_ptr<File>> files_;
    std::vector<std::unique_ptr<Definition>> definitions_;
    File* file_ = nullptr;
    Body* body_ = nullptr;
    Activation* activation_ = nullptr;
    Names names_;
    bool needs_value_ = false;           ///< something was not known that has to be
    bool needs_rounds_ = false;          ///< something was not known that a round of a loop may know
    Loc needed_at_;                      ///< where that begins, the first of it
    const Node* needed_call_ = nullptr;  ///< in whose function it is; null: it is in no call
    bool can_stop_ = false;              ///< the rest of a script may be read later, in another program
    std::deque<Block> blocks_;           ///< from the script to what is being gone through, if it can stop
    bool is_wrong_ = false;              ///< the statement that could not be checked is, as it stands
    bool has_answers_ = false;           ///< there are variables that `keep_answer` has made
    bool is_first_ = true;               ///< nothing has been checked yet that the part may end after
    bool is_cut_ = false;                ///< the part has ended before the script
    bool is_prepared_ = true;            ///< what the first statement mentions is known, or will be
    bool is_new_text_ = true;            ///< no part of it has run
    bool is_rehearsal_ = false;          ///< of the rest of a script
    bool has_rehearsed_ = false;
    bool imports_names_ = false;          ///< imports have run; their definitions are wanted
    bool certain_ = true;                 ///< the run comes to what is being checked, unless it fails before
    std::vector<std::string> importing_;  ///< the files that are being checked, outermost first
    int depth_ = 0;                       ///< of calls and of blocks
    std::map<std::pair<const Statement*, int>, std::vector<Value>>
        widened_;  ///< by loop and Activation::number
    int activations_ = 0;
    bool in_rounds_ = false;           ///< of a loop, one after the other
    int writes_ = 0;                   ///< calls that write files, so far
    std::size_t rounds_left_ = 20000;  ///< nodes that may still be made round by round
};

/// A call of a built-in function, for its rule.
struct Call {
    Checker& checker;
    const Builtin& builtin;
    Loc loc;
    std::vector<Value*> args;  ///< null: left out
    std::vector<Loc> locs;     ///< of the arguments
    std::vector<const Node*> nodes;
    GraphNode* node = nullptr;
    std::vector<Value*> results;

    std::size_t size() const { return args.size(); }
    Value* operator[](std::size_t i) const { return i < args.size() ? args[i] : nullptr; }
    bool has(std::size_t i) const { return i < args.size() && args[i]; }

    /// A result; the first makes the node, for `args` as they are then.
    Value* give(const Type& type, Dim rows = {}, Dim columns = {});
    void act();  ///< makes the node; it has no result
    template <class... Args>
    bool wrong(std::size_t i, fmt::format_string<Args...> text, Args&&... args) {
        checker.error(i < locs.size() && locs[i] ? locs[i] : loc, text, std::forward<Args>(args)...);
        return false;
    }
    template <class... Args>
    void violated(std::size_t i, fmt::format_string<Args...> text, Args&&... args) {
        checker.violated(i < locs.size() && locs[i] ? locs[i] : loc, text, std::forward<Args>(args)...);
    }
    std::string_view param(std::size_t i) const;

    // ---- demands: false if reported
    bool want_matrix(std::size_t i);
    bool want_numbers(std::size_t i);  ///< a matrix of them
    bool want_frame(std::size_t i);
    bool want_data(std::size_t i);     ///< a matrix or a frame
    bool want_scalar(std::size_t i);   ///< a matrix of one cell is converted
    bool want_integer(std::size_t i);  ///< a scalar number, converted to si64
    bool want_float(std::size_t i);    ///< a scalar number, converted to f64
    bool want_bool(std::size_t i);
    bool want_text(std::size_t i);  ///< a scalar string
    /// A string that is known.
    std::optional<std::string> known_text(std::size_t i);
    std::optional<std::int64_t> known_integer(std::size_t i);
};

}  // namespace weld::daphne
