// Checking a module: one walk in program order that follows scopes, the use of builders and the place of
// effects.
//
// Builders are followed leaf by leaf: a value of type {appender[i32],{merger[f64,+],i64}} has two leaves,
// numbered depth first. For each leaf of a value the walk knows its *origin*: which builder it is a later
// state of. A loop gives its parameter new origins and wants the same ones back.
#include "weldir/ir/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/print.h"

namespace weld {

namespace {

using Origin = std::int32_t;
using Origins = std::vector<Origin>;
constexpr Origin kAny = -1;      // of a call that has not come back yet: agrees with everything
constexpr Origin kUnknown = -2;  // from no parameter (in the summary of a function)

/// What a function gives back: for each leaf of its result the leaf of its parameters (numbered through all
/// of them) that it derives from.
using Summary = std::vector<Origin>;

class Verifier {
  public:
    explicit Verifier(const Module& m) : m_(m), scope_(m.num_symbols(), Scope::Unbound) {}

    std::string run() {
        check_functions();
        find_effects();
        find_summaries();
        for (const Function* f : m_.functions)
            if (f->lambda && error_.empty()) function(f->lambda);
        if (error_.empty()) {
            if (!m_.main || m_.main->op != Op::Lambda) return "the module has no main program";
            function(m_.main);
        }
        return error_;
    }

  private:
    enum class Scope : std::uint8_t { Unbound, Open, Freed, Closed };

    /// A symbol that holds builders.
    struct State {
        const Symbol* symbol;
        Origins origins;
        std::vector<bool> used;
        int depth;            // of functions around what binds it
        std::uint32_t order;  // of binding
    };
    struct Mark {
        State* state;
        std::size_t leaf;
        friend bool operator==(const Mark&, const Mark&) = default;
        friend bool operator<(const Mark& a, const Mark& b) {
            return a.state->order != b.state->order ? a.state->order < b.state->order : a.leaf < b.leaf;
        }
    };

    template <class... Args>
    void fail(const Expr* at, fmt::format_string<Args...> text, Args&&... args) {
        if (!error_.empty()) return;
        error_ = fmt::format(text, std::forward<Args>(args)...);
        std::string where = print(at);
        if (where.size() > 200) where = where.substr(0, 200) + " ...";
        error_ += "; in `" + where + "`";
    }

    // ---- functions of the module

    void check_functions() {
        std::unordered_set<std::string_view> names;
        for (const Function* f : m_.functions) {
            if (!names.insert(f->name).second) error_ = fmt::format("two functions are called `{}`", f->name);
            if (f->lambda && (f->lambda->op != Op::Lambda || f->lambda->type != f->type))
                error_ = fmt::format("the body of `{}` has another type", f->name);
        }
    }

    /// The functions that have an effect inside, also through calls.
    void find_effects() {
        std::unordered_map<const Function*, std::vector<const Function*>> callers;
        std::vector<const Function*> work;
        for (const Function* f : m_.functions) {
            if (!f->lambda) continue;
            visit_nodes(f->lambda, [&](const Expr* e) {
                if (e->op == Op::Call) callers[e->attr.function].push_back(f);
                if (e->op == Op::Kernel && e->attr.kernel->effect && effects_.insert(f).second)
                    work.push_back(f);
            });
        }
        while (!work.empty()) {
            const Function* f = work.back();
            work.pop_back();
            for (const Function* caller : callers[f])
                if (effects_.insert(caller).second) work.push_back(caller);
        }
    }

    template <class Fn>
    static void visit_nodes(const Expr* e, Fn&& fn) {
        std::vector<const Expr*> work = {e};
        while (!work.empty()) {
            e = work.back();
            work.pop_back();
            fn(e);
            work.insert(work.end(), e->args().begin(), e->args().end());
        }
    }

    /// Functions that give builders back: assume at first that they may give anything, then look until
    /// nothing changes.
    void find_summaries() {
        bool changed = false;
        for (const Function* f : m_.functions)
            if (f->lambda && f->type->result()->holds_builder) {
                summaries_[f] = Summary(leaves(f->type->result()), kAny);
                changed = true;
            }
        while (changed && error_.empty()) {
            changed = false;
            for (auto& f : m_.functions) {
                auto at = summaries_.find(f);
                if (at == summaries_.end() || !error_.empty()) continue;
                Summary now = summary(f->lambda);
                changed |= now != at->second;
                at->second = std::move(now);
            }
            std::fill(scope_.begin(), scope_.end(), Scope::Unbound);
        }
    }

    Summary summary(const Expr* lambda) {
        Origin first = 0, end = 0;
        Summary s = function(lambda, &first, &end);
        for (Origin& o : s)
            if (o != kAny) o = o >= first && o < end ? o - first : kUnknown;
        return s;
    }

    Origins function(const Expr* lambda, Origin* first = nullptr, Origin* end = nullptr) {
        const Lambda l = lambda->as<Lambda>();
        check(lambda);
        if (!error_.empty()) return {};
        if (depth_ == 0) root_ = l;
        ++depth_;
        if (first) *first = next_origin_;
        for (const Symbol* p : l.params()) bind(p, new_origins(p->type), lambda);
        if (end) *end = next_origin_;
        Origins out = walk(l.body(), true);
        for (const Symbol* p : l.params()) unbind(p, lambda);
        --depth_;
        return out;
    }

    // ---- symbols

    void bind(const Symbol* s, Origins origins, const Expr* at) {
        if (s->id >= scope_.size()) return fail(at, "`{}` is a symbol of another module", s->name);
        if (scope_[s->id] != Scope::Unbound) return fail(at, "`{}` is bound twice", s->name);
        scope_[s->id] = Scope::Open;
        if (!s->type->holds_builder) return;
        if (origins.size() != leaves(s->type)) return fail(at, "a builder is dropped");
        std::vector<bool> used(origins.size(), false);
        states_[s] = {s, std::move(origins), std::move(used), depth_, next_order_++};
    }

    void unbind(const Symbol* s, const Expr* at) {
        if (s->id >= scope_.size()) return;
        scope_[s->id] = Scope::Closed;
        if (!s->type->holds_builder || !error_.empty()) return;
        const State& state = states_[s];
        if (std::find(state.used.begin(), state.used.end(), false) != state.used.end())
            fail(at, "builder `{}` is not used", s->name);
    }

    /// Uses the leaves [from, to) of `s`.
    Origins use(const Symbol* s, std::size_t from, std::size_t to, const Expr* at) {
        auto found = states_.find(s);
        if (!error_.empty() || found == states_.end()) return Origins(to - from, kAny);
        State& state = found->second;
        if (state.depth != depth_) fail(at, "builder `{}` from outside is used inside a function", s->name);
        for (std::size_t i = from; i < to; ++i) {
            if (state.used[i]) fail(at, "builder `{}` is used twice", s->name);
            state.used[i] = true;
            trail_.push_back({&state, i});
        }
        return {state.origins.begin() + from, state.origins.begin() + to};
    }

    // ---- leaves

    /// How many builders a value of type `t` holds.
    std::size_t leaves(const Type* t) {
        if (t->is_builder()) return 1;
        if (!t->holds_builder) return 0;
        auto at = leaves_.find(t);
        if (at != leaves_.end()) return at->second;
        std::size_t n = 0;
        for (const Type* f : t->args) n += leaves(f);
        return leaves_[t] = n;
    }
    std::size_t leaves_before(const Type* t, std::size_t field) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < field; ++i) n += leaves(t->args[i]);
        return n;
    }

    Origins new_origins(const Type* t) {
        Origins o(leaves(t));
        for (Origin& x : o) x = next_origin_++;
        return o;
    }

    // ---- nodes

    void check(const Expr* e) {
        if (!error_.empty()) return;
        if (std::string error = type_error(e); !error.empty()) fail(e, "{}", error);
    }

    /// Visits `e`; `ordered` if an effect may stand here. Gives the origins of the builders in its value.
    Origins walk(const Expr* e, bool ordered) {
        check(e);
        if (!error_.empty()) return Origins(e->type ? leaves(e->type) : 0, kAny);
        switch (e->op) {
            case Op::Var: return variable(e);
            case Op::GetField: return field(e, ordered);
            case Op::Block: return block(e->as<Block>(), ordered);
            case Op::MakeStruct: return make_struct(e, ordered);
            case Op::If: return branches(e, ordered);
            case Op::Iterate: return iterate(e->as<Iterate>(), ordered);
            case Op::For: return loop(e->as<For>(), ordered);
            case Op::NewBuilder:
                arguments(e, ordered);
                if (e->annotation(AttrKey::Over) && !laid_over_.contains(e))
                    fail(e, "an appender with which no loop starts goes over a datum");
                if (e->says(AttrKey::InPlace, true) && e->arg(0)->op == Op::Var)
                    reused_.push_back(e->arg(0)->attr.symbol);
                return {next_origin_++};
            case Op::ToVec: lists(e->arg(0), ordered); return {};
            case Op::Result:
                if (e->annotation(AttrKey::Listed) && may_list_ != e)
                    fail(e, "a dictionary that is only listed has another reader");
                arguments(e, ordered);
                return {};
            case Op::Len: {
                if (e->arg(0)->type->is_dict()) return lists(e->arg(0), ordered), Origins();
                const Expr* of = e->arg(0);  // the length of a vector is no part of its memory
                if (!is_path(of) || !of->type->is_vec() || !is_freed(base_of(of))) arguments(e, ordered);
                return {};
            }
            case Op::Merge: return merge(e);
            case Op::Sort:
                walk(e->arg(0), false);
                inside(e->arg(1)->as<Lambda>(), {}, false);
                if (e->num_args == 3) walk(e->arg(2), false);
                return {};
            case Op::Call: return call(e, ordered);
            case Op::Kernel:
                if (e->attr.kernel->effect && !ordered)
                    fail(e, "an effect where the order of evaluation is not plain");
                arguments(e, ordered);
                return {};
            case Op::Lambda: fail(e, "a function where a value is wanted"); return {};
            case Op::Iter: fail(e, "an iterator outside of a loop"); return {};
            default: arguments(e, ordered); return {};
        }
    }

    /// All arguments, in order. Gives the origins of all of them.
    Origins arguments(const Expr* e, bool ordered) {
        Origins all;
        for (const Expr* a : e->args()) {
            const Origins o = walk(a, ordered && e->num_args == 1);
            all.insert(all.end(), o.begin(), o.end());
        }
        return all;
    }

    Origins make_struct(const Expr* e, bool ordered) { return arguments(e, ordered); }

    bool is_freed(const Symbol* s) const { return s->id < scope_.size() && scope_[s->id] == Scope::Freed; }
    void read(const Symbol* s, const Expr* at) {
        if (is_freed(s)) return fail(at, "`{}` is read after its memory is freed or used again", s->name);
        if (s->id >= scope_.size() || scope_[s->id] != Scope::Open) fail(at, "`{}` is not bound", s->name);
    }

    /// The argument of a `tovec` or a `len`.
    void lists(const Expr* dict, bool ordered) {
        may_list_ = dict;
        if (dict->op != Op::Var || !listed_.contains(dict->attr.symbol)) return void(walk(dict, ordered));
        check(dict);
        read(dict->attr.symbol, dict);
    }

    Origins variable(const Expr* e) {
        const Symbol* s = e->attr.symbol;
        if (listed_.contains(s)) fail(e, "a dictionary that is only listed has another reader");
        read(s, e);
        return error_.empty() && s->type->holds_builder ? use(s, 0, leaves(s->type), e) : Origins();
    }

    /// `a.$0.$2`: of a name, uses only the builders in that field.
    Origins field(const Expr* e, bool ordered) {
        std::size_t from = 0;
        const Expr* of = e;
        while (of->op == Op::GetField) {
            if (of != e) check(of);
            if (!error_.empty()) return {};
            from += leaves_before(of->arg(0)->type, of->attr.index);
            of = of->arg(0);
        }
        const std::size_t n = leaves(e->type);
        if (of->op == Op::Var) {
            check(of);
            // numbers beside a vector are no part of its memory
            if (error_.empty() && (e->type->holds_pointer || !is_freed(of->attr.symbol)))
                read(of->attr.symbol, of);
            return n && error_.empty() ? use(of->attr.symbol, from, from + n, e) : Origins();
        }
        Origins o = walk(of, ordered);
        if (o.size() != n) fail(e, "a builder is dropped");
        return o;
    }

    Origins block(Block b, bool ordered) {
        const std::size_t reused = reused_.size();
        for (std::size_t i = 0; i < b.size() && error_.empty(); ++i) {
            keeps(b, i);
            may_list_ = b.value(i);
            if (b.value(i)->annotation(AttrKey::Listed)) listed_.insert(b.symbol(i));
            bind(b.symbol(i), walk(b.value(i), ordered), b.node);
            frees(b, i);
        }
        keeps(b, b.size());
        Origins out = walk(b.result(), ordered);
        frees(b, b.size());
        reused_.resize(std::min(reused, reused_.size()));
        for (const Symbol* s : b.symbols()) unbind(s, b.node);
        return out;
    }

    /// All that value `i` of `b` and later ones read is kept: what they reach only.
    void keeps(Block b, std::size_t i) {
        const Expr* e = b.node->arg(i);
        const Annotation* keep = e->annotation(AttrKey::Keep);
        if (!keep) return;
        if (b.node != root_.body()) return fail(e, "memory is collected outside of the outermost block");
        for (const Symbol* s : keep->symbols) read(s, e);
        if (outermost_ != b.node) last_ = last_reads(b), outermost_ = b.node;
        for (const auto& [s, at] : last_)
            if (at >= i && s->type->holds_pointer && s->id < scope_.size() && scope_[s->id] == Scope::Open &&
                !is_argument(s) && std::ranges::find(keep->symbols, s) == keep->symbols.end())
                return fail(e, "`{}` is read later and not kept", s->name);
    }

    /// Of the run: its memory is not the program's.
    bool is_argument(const Symbol* s) const {
        return root_.node == m_.main && std::ranges::find(root_.params(), s) != root_.params().end();
    }

    /// What ends with a value of `b` or with its result; nothing reads it later but for its length.
    void frees(Block b, std::size_t i) {
        const Expr* e = b.node->arg(i);
        if (const Annotation* ends = e->annotation(AttrKey::Free))
            for (const Symbol* s : ends->symbols) {
                const auto bound = b.symbols().first(i);
                const bool here = std::ranges::find(bound, s) != bound.end();
                if (!here && depth_ != 1)
                    return fail(e, "`{}`, which is freed, is not bound before, outside of loops", s->name);
                end(s, e);
                if (!here) freed_.push_back(s);
            }
        for (const Symbol* s : reused_)
            if (scope_[s->id] == Scope::Open) {
                scope_[s->id] = Scope::Freed;
                freed_.push_back(s);
            }
    }
    void set_scope(const std::vector<const Symbol*>& symbols, Scope from, Scope to) {
        for (const Symbol* s : symbols)
            if (scope_[s->id] == from) scope_[s->id] = to;
    }
    void end(const Symbol* s, const Expr* at) {
        read(s, at);
        if (s->id < scope_.size()) scope_[s->id] = Scope::Freed;
    }

    /// What was used since `begin`, of symbols that were bound before `order`.
    std::vector<Mark> marks_since(std::size_t begin, std::uint32_t order) {
        std::vector<Mark> marks;
        for (std::size_t i = begin; i < trail_.size(); ++i)
            if (trail_[i].state->order < order) marks.push_back(trail_[i]);
        std::sort(marks.begin(), marks.end());
        return marks;
    }

    Origins branches(const Expr* e, bool ordered) {
        walk(e->arg(0), false);
        const std::size_t begin = trail_.size();
        const std::uint32_t order = next_order_;
        const std::size_t freed = freed_.size();
        const std::vector<const Symbol*> reused = reused_;
        Origins a = walk(e->arg(1), ordered);
        const std::vector<const Symbol*> reused_there = std::exchange(reused_, reused);
        const std::vector<const Symbol*> freed_there(freed_.begin() + std::ptrdiff_t(freed), freed_.end());
        set_scope(freed_there, Scope::Freed, Scope::Open);
        const std::vector<Mark> first = marks_since(begin, order);
        for (const Mark& m : first) m.state->used[m.leaf] = false;
        trail_.resize(begin);
        const Origins b = walk(e->arg(2), ordered);
        set_scope(freed_there, Scope::Open, Scope::Freed);
        // what the first side added; what came before both is there once
        reused_.insert(reused_.end(), reused_there.begin() + std::ptrdiff_t(reused.size()),
                       reused_there.end());
        const std::vector<Mark> second = marks_since(begin, order);
        trail_.resize(begin);
        trail_.insert(trail_.end(), second.begin(), second.end());
        if (error_.empty() && first != second) {
            const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
            const Mark& m = differ.first != first.end() ? *differ.first : *differ.second;
            fail(e, "builder `{}` is used on one side of an `if` only", m.state->symbol->name);
        }
        for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
            if (a[i] == kAny) a[i] = b[i];
            else if (b[i] != kAny && b[i] != a[i]) a[i] = next_origin_++;
        }
        return a;
    }

    /// The body of a function under a node; its first parameter has `origins`.
    Origins inside(Lambda l, Origins origins, bool ordered) {
        check(l.node);
        if (!error_.empty()) return {};
        ++depth_;
        bool is_first = true;
        for (const Symbol* p : l.params()) {
            bind(p, is_first && !origins.empty() ? origins : new_origins(p->type), l.node);
            is_first = false;
        }
        Origins out = walk(l.body(), ordered);
        for (const Symbol* p : l.params()) unbind(p, l.node);
        --depth_;
        return out;
    }

    Origins iterate(Iterate it, bool ordered) {
        Origins state = walk(it.init(), false);
        const Origins in = new_origins(it.node->type);
        const Origins out = inside(it.body(), in, ordered);
        if (it.one_lane()) inside(it.one_lane(), {}, false);
        for (std::size_t i = 0; i < state.size() && i < out.size(); ++i)
            if (out[i] != in[i] && out[i] != kAny) state[i] = next_origin_++;
        return state;
    }

    Origins loop(For f, bool ordered) {
        for (const Expr* d : f.data()) {
            if (d->op != Op::Iter) {
                walk(d, false);
                continue;
            }
            check(d);
            arguments(d, false);
        }
        lay_over(f, f.builder());
        Origins state = walk(f.builder(), false);
        const Origins in = new_origins(f.node->type);
        const Origins out = inside(f.body(), in, ordered && !f.node->says(AttrKey::Parallel, true));
        for (std::size_t i = 0; i < in.size() && i < out.size(); ++i)
            if (out[i] != in[i] && out[i] != kAny)
                fail(f.node, "the function of a loop gives a builder that does not derive from its own");
        return state;
    }

    /// The appenders among what `f` starts with that go over one of its data.
    void lay_over(For f, const Expr* start) {
        if (start->op == Op::MakeStruct)
            for (const Expr* s : start->args()) lay_over(f, s);
        const Annotation* over = start->op == Op::NewBuilder ? start->annotation(AttrKey::Over) : nullptr;
        if (!over) return;
        const auto n = std::size_t(over->number);
        if (!info(start->type).lists_merges || n >= f.data().size())
            return fail(start, "what goes over datum {} of its loop is no appender, or there is none", n);
        const Expr* datum = f.data()[n];
        const Iter it = datum->as<Iter>();
        const Expr* vec = it ? it.data() : datum;
        if (!vec || (it && it.shape().bounded))
            return fail(f.node, "an appender goes over a datum that is not the whole vector");
        const Type *elem = start->type->elem(), *old = vec->type->elem();
        if (elem->holds_pointer || old->holds_pointer || size_of(elem) != size_of(old))
            return fail(f.node, "an appender goes over elements of another size");
        laid_over_.insert(start);
        if (vec->op == Op::Var) reused_.push_back(vec->attr.symbol);
    }

    Origins merge(const Expr* e) {
        // What is merged first is computed before a vector that the builder starts with changes.
        const bool starts = e->arg(0)->op == Op::NewBuilder;
        const Origins before = starts ? Origins() : walk(e->arg(0), false);
        for (std::size_t i = 1; i < e->num_args; ++i) walk(e->arg(i), false);
        return starts ? walk(e->arg(0), false) : before;
    }

    Origins call(const Expr* e, bool ordered) {
        if (!ordered && effects_.count(e->attr.function))
            fail(e, "a call with an effect where the order of evaluation is not plain");
        const Origins args = arguments(e, ordered);
        if (const Annotation* given = e->annotation(AttrKey::Give))
            for (const Symbol* s : given->symbols) {
                read(s, e);
                reused_.push_back(s);
            }
        auto at = summaries_.find(e->attr.function);
        if (at == summaries_.end()) return {};
        Origins out;
        for (Origin o : at->second)
            out.push_back(o >= 0 && std::size_t(o) < args.size() ? args[std::size_t(o)]
                          : o == kAny                            ? kAny
                                                                 : next_origin_++);
        return out;
    }

    const Module& m_;
    std::string error_;
    std::vector<Scope> scope_;  // by Symbol::id
    std::unordered_map<const Symbol*, State> states_;
    std::unordered_map<const Type*, std::size_t> leaves_;
    std::unordered_map<const Function*, Summary> summaries_;
    std::unordered_set<const Expr*> laid_over_;  // starts, by the loops that were walked
    std::unordered_set<const Symbol*> listed_;   // dictionaries that `tovec` and `len` alone read
    const Expr* may_list_ = nullptr;             // a Result that may be one
    std::unordered_set<const Function*> effects_;
    std::vector<const Symbol*> reused_;                    // by starts in place, in the blocks that are open
    std::vector<const Symbol*> freed_;                     // by those, in the order of the walk
    const Expr* outermost_ = nullptr;                      // the block that last_ is of
    std::unordered_map<const Symbol*, std::size_t> last_;  // where its values are read last
    std::vector<Mark> trail_;                              // leaves in the order in which they were used
    int depth_ = 0;
    Lambda root_;  // the main program or the function around what is looked at
    Origin next_origin_ = 0;
    std::uint32_t next_order_ = 0;
};

}  // namespace

std::string verify(const Module& m) { return Verifier(m).run(); }

}  // namespace weld
