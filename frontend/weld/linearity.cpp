// Builders are used exactly once on every path, and the function of a loop returns what it was given.
//
// A *leaf* is one builder that a variable holds: the variable itself, or a field of its struct. Walking the
// program in order, each use of a leaf is noted; both sides of an `if` must use the same leaves of what is
// around them. Every expression that gives builders also says, leaf by leaf, where they come from.
#include <algorithm>

#include "frontend/weld/reader.h"

namespace weld::front {
namespace {

/// Where a builder comes from: a leaf (a parameter's), or one of these.
using Origin = std::uint32_t;
constexpr Origin kNew = UINT32_MAX;           ///< made here, or mixed from several
constexpr Origin kAnything = UINT32_MAX - 1;  ///< a recursive call, about which nothing is known yet
using Origins = std::vector<Origin>;          ///< one per leaf of a type

std::uint32_t count_leaves(const Type* type) {
    if (!type->holds_builder) return 0;
    if (type->is_builder()) return 1;
    std::uint32_t n = 0;
    for (const Type* f : type->args) n += count_leaves(f);
    return n;
}

class Linearity {
  public:
    explicit Linearity(Reader& reader) : r_(reader) {}

    /// Checks the program or a definition; says where the builders in its result come from. The leaves of the
    /// parameters are the first ones, so for a definition the leaf of a parameter is also its place.
    Origins root(Node* n) {
        if (!n->is(Op::Lambda)) return visit(n);
        bind_params(n);
        Origins out = visit(n->args[0]);
        check_used(n->bindings);
        return out;
    }

    /// The same of a definition, checked when first asked for; empty while that is going on.
    const Origins& origins_of(Definition& d) {
        if (d.visited != Definition::New) return d.origins;
        d.visited = Definition::Open;
        d.origins = Linearity(r_).root(d.lambda);
        d.visited = Definition::Done;
        return d.origins;
    }

  private:
    struct Leaf {
        const Local* local;
        Origin origin;
        std::uint32_t depth;  // of the functions around it
        Loc used;
    };

    // ---- leaves

    void bind(Binding& b, const Origins* origins) {
        const std::uint32_t n = count_leaves(b.local->type);
        b.local->leaf = std::uint32_t(leaves_.size());
        for (std::uint32_t i = 0; i < n; ++i)
            leaves_.push_back({b.local, origins ? (*origins)[i] : std::uint32_t(leaves_.size()), depth_, {}});
    }

    void bind_params(Node* f) {
        for (Binding& b : f->bindings) bind(b, nullptr);
    }

    Origins use(const Node* at, const Local* local, std::uint32_t first, std::uint32_t count) {
        Origins out;
        for (std::uint32_t i = local->leaf + first; i < local->leaf + first + count; ++i) {
            Leaf& leaf = leaves_[i];
            out.push_back(leaf.origin);
            if (leaf.used) {
                error_at(r_, at, "builder `{}` is used a second time; a builder is used exactly once",
                         local->name)
                    .label(leaf.used, "the first use");
            } else if (leaf.depth < depth_) {
                error_at(
                    r_, at,
                    "builder `{}` comes from outside of this function, which may run any number of times",
                    local->name)
                    .note("inside a loop, use the builder that its function is given");
            }
            if (!leaf.used) used_.push_back(i);
            leaf.used = at->start;
        }
        return out;
    }

    void check_used(std::span<const Binding> bindings) {
        for (const Binding& b : bindings) {
            const std::uint32_t n = count_leaves(b.local->type);
            for (std::uint32_t i = 0; i < n; ++i) {
                if (leaves_[b.local->leaf + i].used) continue;
                const char* part = n > 1 ? "a builder of " : "builder ";
                r_.diagnostics.error(b.local->loc, "{}`{}` is never used; a builder is used exactly once",
                                     part, b.name);
                break;
            }
        }
    }

    /// The same of a `let`. Clients of old leave new builders behind that they never name.
    void check_used(const Binding& b, const Node* value) {
        while (value->form == Form::Ascribe) value = value->args[0];
        b.local->is_left_behind = value->is(Op::NewBuilder) && !leaves_[b.local->leaf].used;
        if (!b.local->is_left_behind) return check_used({&b, 1});
        r_.diagnostics.warning(b.local->loc, "builder `{}` is never used", b.name);
    }

    // ---- the tree

    void visit_args(Node* n) {
        for (Node* a : n->args) visit(a);
    }

    Origins visit(Node* n) {
        if (is_infix(n)) {
            const std::vector<Node*> spine = left_spine(n);
            visit(spine.back()->args[0]);
            for (auto at = spine.rbegin(); at != spine.rend(); ++at) visit((*at)->args[1]);
            return {};
        }
        if (n->form == Form::Name) return use(n, n->local, 0, count_leaves(n->local->type));
        if (n->form == Form::Ascribe) return visit(n->args[0]);
        if (n->form == Form::Op) return operation(n);
        visit_args(n);
        return {};
    }

    Origins operation(Node* n) {
        switch (n->op) {
            case Op::Block: return block(n);
            case Op::If: return branch(n);
            case Op::For: return loop(n);
            case Op::Iterate: return iterate(n);
            case Op::Sort:
                visit(n->args[0]);
                inside(n->args[1]);
                if (n->args.size() > 2) visit(n->args[2]);
                return {};  // no builder gets in, none comes out
            case Op::NewBuilder: visit_args(n); return {kNew};
            case Op::Merge: {
                Origins out = visit(n->args[0]);
                for (Node* a : n->args.subspan(1)) visit(a);
                return out;
            }
            case Op::MakeStruct: {
                Origins out;
                for (Node* a : n->args) {
                    const Origins field = visit(a);
                    out.insert(out.end(), field.begin(), field.end());
                }
                return out;
            }
            case Op::GetField: return field(n);
            case Op::Call: return call(n);
            default: visit_args(n); return {};
        }
    }

    Origins block(Node* n) {
        for (std::size_t i = 0; i < n->bindings.size(); ++i) {
            const Origins origins = visit(n->args[i]);
            bind(n->bindings[i], &origins);
        }
        Origins out = visit(n->args.back());
        for (std::size_t i = 0; i < n->bindings.size(); ++i) check_used(n->bindings[i], n->args[i]);
        return out;
    }

    /// Part of a variable's struct, or of a struct that has no name: then nothing else of that may be lost.
    Origins field(Node* n) {
        std::uint32_t first = 0;
        const Node* base = n;
        for (; base->is(Op::GetField); base = base->args[0])
            for (std::uint64_t i = 0; i < base->index; ++i)
                first += count_leaves(base->args[0]->type->args[i]);
        const std::uint32_t count = count_leaves(n->type);
        if (base->form == Form::Name) return use(n, base->local, first, count);
        const Origins all = visit(const_cast<Node*>(base));
        if (all.size() > count)
            error_at(
                r_, n,
                "the other builders of this struct are lost; bind it with `let` and use each of its fields");
        if (first + count > all.size()) return Origins(count, kNew);
        return Origins(all.begin() + first, all.begin() + first + count);
    }

    static Origin join(Origin a, Origin b) {
        return a == kAnything || a == b ? b : b == kAnything ? a : kNew;
    }

    Origins branch(Node* n) {
        visit(n->args[0]);
        const std::size_t mark = used_.size();
        const std::uint32_t around = std::uint32_t(leaves_.size());
        Origins then = visit(n->args[1]);
        std::vector<std::pair<std::uint32_t, Loc>> by_then;
        for (std::size_t i = mark; i < used_.size(); ++i)
            if (used_[i] < around) by_then.emplace_back(used_[i], std::exchange(leaves_[used_[i]].used, {}));
        used_.resize(mark);
        const Origins otherwise = visit(n->args[2]);
        std::vector<std::uint32_t> by_otherwise(used_.begin() + std::ptrdiff_t(mark), used_.end());
        std::sort(by_then.begin(), by_then.end());
        std::sort(by_otherwise.begin(), by_otherwise.end());
        for (auto [leaf, loc] : by_then) {
            if (std::binary_search(by_otherwise.begin(), by_otherwise.end(), leaf)) continue;
            one_sided(n->args[2], leaf, loc);
            leaves_[leaf].used = loc;
            used_.push_back(leaf);
        }
        for (std::uint32_t leaf : by_otherwise) {
            auto at = std::lower_bound(by_then.begin(), by_then.end(), std::pair(leaf, Loc{}));
            if (leaf < around && (at == by_then.end() || at->first != leaf))
                one_sided(n->args[1], leaf, leaves_[leaf].used);
        }
        for (std::size_t i = 0; i < then.size() && i < otherwise.size(); ++i)
            then[i] = join(then[i], otherwise[i]);
        return then;
    }

    void one_sided(const Node* side, std::uint32_t leaf, Loc used) {
        error_at(r_, side,
                 "builder `{}` is not used on this side of the `if`; every path uses it exactly once",
                 leaves_[leaf].local->name)
            .label(used, "the other side uses it");
    }

    /// The body of a function that stands under a loop, `iterate` or `sort`.
    Origins inside(Node* f) {
        ++depth_;
        bind_params(f);
        Origins out = visit(f->args[0]);
        --depth_;
        return out;
    }

    /// Does this leaf of what a function returns come from the same leaf of its first parameter?
    static bool hands_on(const Node* f, Origin origin, std::uint32_t leaf) {
        return origin == kAnything || origin == f->bindings[0].local->leaf + leaf;
    }

    static const Node* result_of(const Node* f) {
        const Node* body = f->args[0];
        while (body->is(Op::Block)) body = body->args.back();
        return body;
    }

    Origins loop(Node* n) {
        visit(n->args[0]);
        Origins given = visit(n->args[1]);
        Node* f = n->args[2];
        const std::size_t errors = r_.diagnostics.num_errors();
        const Origins next = inside(f);
        bool same = true;
        for (std::uint32_t i = 0; i < next.size(); ++i) same &= hands_on(f, next[i], i);
        if (same) check_used(f->bindings);
        else if (r_.diagnostics.num_errors() == errors)
            error_at(r_, result_of(f),
                     "the function of `for` returns the builder that it was given, field by field; "
                     "this is another one")
                .label(f->bindings[0].local->loc,
                       fmt::format("`{}` is what it was given", f->bindings[0].name));
        return given;
    }

    /// A field of the state that the function hands on comes from where it came from at first.
    Origins iterate(Node* n) {
        Origins given = visit(n->args[0]);
        Node* f = n->args[1];
        const Origins next = inside(f);
        check_used(f->bindings);
        if (n->args.size() > 2) inside(n->args[2]);  // over lanes: no builder gets in
        for (std::uint32_t i = 0; i < given.size() && i < next.size(); ++i)
            if (!hands_on(f, next[i], i)) given[i] = kNew;
        return given;
    }

    // ---- definitions

    Origins call(Node* n) {
        Origins given;
        for (Node* a : n->args) {
            const Origins arg = visit(a);
            given.insert(given.end(), arg.begin(), arg.end());
        }
        Origins out = origins_of(*n->definition);
        out.resize(count_leaves(n->type), kAnything);
        for (Origin& o : out)
            if (o < given.size()) o = given[o];
        return out;
    }

    Reader& r_;
    std::vector<Leaf> leaves_;
    std::vector<std::uint32_t> used_;  // leaves in the order of their use
    std::uint32_t depth_ = 0;          // of functions that run many times
};

}  // namespace

void check_linearity(Reader& reader) {
    for (const auto& d : reader.program.definitions) Linearity(reader).origins_of(*d);
    Linearity(reader).root(reader.program.main);
}

}  // namespace weld::front
