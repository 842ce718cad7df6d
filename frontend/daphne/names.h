// The variables of a script while it is checked: scopes inside one another, and what has been done to them.
//
// Each side of a branch, each time that a loop is checked, and a statement that has to wait for values begin
// with the same variables. So changes are logged, and taken back one by one: going back costs what was
// changed since, not what there is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weld::daphne {

struct Value;

class Names {
  public:
    struct Variable {
        Value* value = nullptr;  ///< null: something is wrong with it
        bool read_only = false;
    };
    using Scope = std::map<std::string, Variable, std::less<>>;

    Names() : scopes_(1) {}

    const Variable* find(std::string_view name) const;  ///< in the innermost scope that has it
    /// Gives a value to the variable that `find` finds.
    void set(std::string_view name, Value* value);
    /// A variable of the innermost scope, which has none of this name or one that is replaced.
    void declare(std::string_view name, Variable variable);

    // ---- scopes
    std::size_t depth() const { return scopes_.size(); }
    void open();
    void close_to(std::size_t depth);
    const Scope& scope(std::size_t depth) const { return scopes_[depth]; }  ///< 0: the outermost

    // ---- going back
    using Mark = std::size_t;
    Mark mark() const { return log_.size(); }
    void undo(Mark to);
    /// All is to stay: there is no going back to what was before.
    void settle() { log_.clear(); }
    /// Variables of the innermost scope are there no more, those whose names `are_meant`, for good.
    template <class AreMeant>
    void forget(const AreMeant& are_meant) {
        settle();
        std::erase_if(scopes_.back(), [&](const auto& one) { return are_meant(one.first); });
    }

    /// A variable that was there at a mark, in the scope number `depth`.
    struct Binding {
        std::size_t depth;
        std::string_view name;
        friend auto operator<=>(const Binding&, const Binding&) = default;
    };
    /// The variables that have got another value since, with what they have now. No scope that was open at
    /// the mark has been closed.
    std::map<Binding, Value*> changed_since(Mark mark) const;
    /// What a variable of the scope number `depth` has.
    Value* value_at(Binding of) const { return scopes_[of.depth].find(of.name)->second.value; }
    void set_at(Binding of, Value* value);

  private:
    struct Change {
        enum Kind : std::uint8_t { Set, Declared, Opened, Closed } kind;
        std::size_t depth = 0;
        Scope::iterator at = {};  ///< Set, Declared
        Variable before = {};     ///< Set
        Scope scope = {};         ///< Closed
    };
    void change(std::size_t depth, Scope::iterator at, Variable to);

    std::vector<Scope> scopes_;
    std::vector<Change> log_;
};

}  // namespace weld::daphne
