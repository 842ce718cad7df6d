// Names to what they mean. Each function of the text gets a frame with a slot per name that it binds; a name
// is a slot of the function it stands in or of one around it. A name that is called is a macro, unless a
// function of that name is bound there: `let sum = sum(v); sum + sum(w)` is what people write.
#include <unordered_map>

#include "frontend/weld/reader.h"
#include "frontend/weld/tokens.h"
#include "weldir/support/nearest.h"

namespace weld::front {
namespace {

class Names {
  public:
    explicit Names(Reader& reader) : reader_(reader) {
        for (const auto& d : reader.program.definitions)
            if (find(macros(), d->name))
                reader.diagnostics.error(d->loc, "function `{}` has the name of a macro", d->name);
    }

    void run_macros() {
        for (const auto& m : reader_.program.macros) macro(*m);
        for (const auto& m : reader_.program.macros) check_recursion(m.get());
    }
    void run() {
        for (const auto& d : reader_.program.definitions) root(d->lambda);
        reader_.program.frame_size = root(reader_.program.main);
    }

  private:
    // ---- scopes

    void bind(Binding& b) {
        b.depth = depth_;
        b.slot = slots_++;
        Binding*& seen = visible_[b.name];
        bound_.emplace_back(b.name, seen);
        seen = &b;
    }
    void unbind(std::size_t mark) {
        for (; bound_.size() > mark; bound_.pop_back()) visible_[bound_.back().first] = bound_.back().second;
    }
    Binding* lookup(std::string_view name) const {
        auto at = visible_.find(name);
        return at == visible_.end() ? nullptr : at->second;
    }
    template <class Map>
    static typename Map::mapped_type find(const Map& in, std::string_view name) {
        auto at = in.find(name);
        return at == in.end() ? nullptr : at->second;
    }
    const std::unordered_map<std::string_view, Macro*>& macros() const { return reader_.program.macro_of; }
    const std::unordered_map<std::string_view, Definition*>& definitions() const {
        return reader_.program.definition_of;
    }

    std::uint32_t root(Node* n) {
        depth_ = slots_ = 0;
        visit(n);
        unbind(0);
        return slots_;
    }

    void macro(Macro& m) {
        depth_ = slots_ = 0;
        current_ = &m;
        for (Binding& p : m.params) {
            bind(p);
            p.is_function = true;
        }
        visit(m.body);
        unbind(0);
        m.frame_size = slots_;
        current_ = nullptr;
    }

    // ---- the tree

    void visit(Node* n) {
        if (is_infix(n)) {
            const std::vector<Node*> spine = left_spine(n);
            visit(spine.back()->args[0]);
            for (auto at = spine.rbegin(); at != spine.rend(); ++at) visit((*at)->args[1]);
        } else if (n->form == Form::Name) {
            name(n);
        } else if (n->form == Form::Apply) {
            apply(n);
        } else if (n->is(Op::Block)) {
            block(n);
        } else if (n->is(Op::Lambda)) {
            function(n);
        } else {
            for (Node* a : n->args) visit(a);
        }
    }

    void name(Node* n) {
        if ((n->binding = lookup(n->text))) return;
        if (Definition* d = find(definitions(), n->text)) {
            n->callee = Node::Callee::Definition;
            n->definition = d;
            return;
        }
        if (const Macro* m = find(macros(), n->text)) no_value(n, *m);
        else unknown(n, n->text);
        n->form = Form::Error;
    }

    void no_value(const Node* n, const Macro& m) {
        std::string params;
        for (const Binding& p : m.params) (params += params.empty() ? "" : ", ") += p.name;
        error_at(reader_, n, "`{}` is a macro, not a value; call it with its arguments", m.name)
            .note(fmt::format("where a function is expected, write `|{}| {}({})`", params, m.name, params));
    }

    void unknown(const Node* n, std::string_view name) {
        Diagnostic& d = error_at(reader_, n, "unknown name `{}`", name.substr(0, 100));
        if (name == "abs") d.note("the absolute value of `x` is `max(x, -x)`");
        if (name == "abs" || reader_.diagnostics.num_errors() > Diagnostics::kMaxErrors / 4)
            return;  // looking is not for free
        Nearest nearest(name);
        for (auto b = bound_.rbegin(); b != bound_.rend(); ++b) nearest.consider(b->first);
        for (const auto& m : reader_.program.macros) nearest.consider(m->name);
        for (const auto& f : reader_.program.definitions) nearest.consider(f->name);
        for (const TokenRow& word : reserved_words()) nearest.consider(word.text);
        if (!nearest.best().empty()) d.note(fmt::format("did you mean `{}`?", nearest.best()));
    }

    static bool may_be_function(const Node* n) {
        if (n->form == Form::Name)
            return n->callee == Node::Callee::Definition || (n->binding && n->binding->is_function);
        const bool macro = n->form == Form::Apply && n->callee == Node::Callee::Macro;
        return (macro ? n->macro->body : n)->is(Op::Lambda);
    }

    void block(Node* n) {
        const std::size_t mark = bound_.size();
        for (std::size_t i = 0; i < n->bindings.size(); ++i) {
            visit(n->args[i]);
            bind(n->bindings[i]);
            n->bindings[i].is_function = may_be_function(n->args[i]);
        }
        visit(n->args.back());
        unbind(mark);
    }

    void function(Node* n) {
        const std::size_t mark = bound_.size();
        const std::uint32_t outer_slots = std::exchange(slots_, 0);
        ++depth_;
        for (Binding& p : n->bindings) bind(p);
        visit(n->args[0]);
        unbind(mark);
        --depth_;
        n->frame_size = std::exchange(slots_, outer_slots);
    }

    // ---- calls

    void apply(Node* n) {
        Node* callee = n->args[0];
        for (Node* a : n->args.subspan(1)) visit(a);
        if (callee->form != Form::Name) return visit(callee);
        const std::string_view name = callee->text;
        const Binding* bound = lookup(name);
        Macro* macro = find(macros(), name);
        Definition* definition = find(definitions(), name);
        const TypeNode* alias = find(reader_.program.aliases, name);
        if (bound && (bound->is_function || !(macro || definition))) visit(callee);
        else if (macro) call_macro(n, macro);
        else if (definition) call_definition(n, definition);
        else if (alias && alias->kind == TypeNode::Scalar && n->args.size() == 2) call_cast(n, alias->scalar);
        else visit(callee);
    }

    void check_count(Node* n, std::string_view what, std::string_view name, std::size_t want) {
        const std::size_t found = n->args.size() - 1;
        if (found == want) return;
        error_at(reader_, n, "{} `{}` takes {} argument{}, found {}", what, name, want, want == 1 ? "" : "s",
                 found);
        n->form = Form::Error;
    }

    void call_macro(Node* n, Macro* macro) {
        if (current_) current_->calls.emplace_back(macro, n->start);
        n->callee = Node::Callee::Macro;
        n->macro = macro;
        check_count(n, "macro", macro->name, macro->params.size());
    }
    void call_definition(Node* n, Definition* definition) {
        n->callee = Node::Callee::Definition;
        n->definition = definition;
        check_count(n, "function", definition->name, definition->lambda->bindings.size());
    }
    static void call_cast(Node* n, Scalar to) {
        n->callee = Node::Callee::Cast;
        n->scalar = to;
    }

    /// Reports the call that closes a circle, once per circle. A chain of macros may be long: no recursion
    /// here.
    void check_recursion(Macro* start) {
        std::vector<std::pair<Macro*, std::size_t>> open;
        auto enter = [&](Macro* m) {
            m->visited = Macro::Open;
            open.emplace_back(m, 0);
        };
        if (start->visited == Macro::New) enter(start);
        while (!open.empty()) {
            auto& [m, next] = open.back();
            if (next == m->calls.size()) {
                m->visited = Macro::Done;
                open.pop_back();
                continue;
            }
            auto [callee, loc] = m->calls[next++];
            if (callee->visited == Macro::New) {
                enter(callee);
            } else if (callee->visited == Macro::Open) {
                callee->recursive = true;
                reader_.diagnostics.error(loc, "macro `{}` expands to itself; macros are not recursive",
                                          callee->name);
            }
        }
    }

    Reader& reader_;
    std::unordered_map<std::string_view, Binding*> visible_;
    std::vector<std::pair<std::string_view, Binding*>> bound_;  // what each name meant before
    std::uint32_t depth_ = 0;
    std::uint32_t slots_ = 0;
    Macro* current_ = nullptr;
};

}  // namespace

void resolve_macros(Reader& reader) { Names(reader).run_macros(); }
void resolve_names(Reader& reader) { Names(reader).run(); }

}  // namespace weld::front
