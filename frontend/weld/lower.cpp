// The tree as nodes of the Module. Everything has been checked; what is decided here is only form: strings
// become vectors, `zip` the data of its loop, large trees of operators are cut, effects get names.
//
// `f(a, cudf[weld_print,{}](x))` becomes `let part = a; let part2 = cudf[weld_print,{}](x); f(part, part2)`:
// an effect, or what it stands in, is the value of a `let`, and so is what is computed before it. These lets
// go to the end of the stretch of code that is being lowered (`here_`), which is evaluated as a whole or not
// at all.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "frontend/weld/reader.h"
#include "weldir/ir/build.h"
#include "weldir/ir/kernels.h"

namespace weld::front {
namespace {

class Lowering {
  public:
    explicit Lowering(Reader& reader) : r_(reader), m_(reader.module) {}

    void run() {
        Program& p = r_.program;
        for (const auto& d : p.definitions) {
            d->function = m_.function(d->name, d->lambda->type);
            d->function->holds = d->holds;
        }
        for (const auto& d : p.definitions) d->function->lambda = lower(d->lambda);
        m_.main = p.main->is(Op::Lambda)
                      ? lower(p.main)
                      : lambda(m_, std::span<const Symbol* const>(), stretch(p.main), p.main->loc);
    }

  private:
    using Lets = std::vector<std::pair<const Symbol*, const Expr*>>;

    const Expr* lower(Node* n) {
        if (is_infix(n) || (n->is(Op::Block) && !n->annotations)) return with_lets(n);
        return annotated(n, n->form == Form::Op ? operation(n) : simple(n));
    }

    const Expr* annotated(const Node* n, const Expr* e) {
        if (!n->annotations) return e;
        std::vector<Annotation> all(e->annotations.begin(), e->annotations.end());
        std::array<std::vector<const Symbol*>, kNumAttrKeys> named;
        std::array<std::vector<std::int64_t>, kNumAttrKeys> numbers;
        for (const Annotation& a : *n->annotations) {
            if ((n->is(Op::Kernel) && is_promise(a.key)) || !is_believed(a)) continue;
            if (lists_numbers(a.key)) numbers[std::size_t(a.key)].push_back(a.number);
            else if (!names_symbols(a.key)) set(all, a);
            else if (auto at = printed_names_.find(a.text); at != printed_names_.end())
                named[std::size_t(a.key)].push_back(at->second);
        }
        if (!all.empty()) e = with_annotations(m_, e, all);
        for (std::size_t key = 0; key < named.size(); ++key) {
            if (!named[key].empty()) e = weld::annotate(m_, e, AttrKey(key), named[key]);
            if (!numbers[key].empty()) e = weld::annotate(m_, e, AttrKey(key), numbers[key]);
        }
        return e;
    }

    static void set(std::vector<Annotation>& all, const Annotation& a) {
        for (const Annotation& other : all)
            if (other.key == a.key) return;
        all.push_back(a);
    }

    bool is_believed(const Annotation& a) const { return r_.options.is_printed_module || !is_of_passes(a); }

    /// What a `cudf` promises is part of its KernelRef.
    static bool is_promise(AttrKey key) {
        return key == AttrKey::Pure || key == AttrKey::Effect || key == AttrKey::Fails;
    }
    static bool promises(const Node* n, AttrKey key, std::string_view value) {
        return n->annotations && std::ranges::any_of(*n->annotations, [&](const Annotation& a) {
                   return a.key == key && a.text == value;
               });
    }

    bool has_effect(const Node* n) const {
        return r_.program.may_have_effects && r_.program.effects.contains(n);
    }

    /// What is evaluated in this order; up to the last effect it is named.
    std::vector<const Expr*> lower_all(std::span<Node* const> nodes) {
        std::size_t effects = nodes.size();
        if (!r_.program.may_have_effects) effects = 0;
        while (effects > 0 && !has_effect(nodes[effects - 1])) --effects;
        std::vector<const Expr*> out;
        out.reserve(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const Expr* e = lower(nodes[i]);
            out.push_back(i < effects ? in_order(e) : e);
        }
        return out;
    }

    /// `e` by a name, which comes after all effects before it. (Of iterators, what is computed for them has
    /// one.)
    const Expr* in_order(const Expr* e) { return e->op == Op::Iter ? e : named(e, *here_); }

    /// Code that is evaluated as a whole or not at all.
    const Expr* stretch(Node* n) {
        Lets lets;
        Lets* outer = std::exchange(here_, &lets);
        const Expr* e = lower(n);
        here_ = outer;
        return lets.empty() ? e : block(m_, lets, e, n->loc);
    }

    const Expr* simple(Node* n) {
        if (n->form == Form::Name) return var(m_, n->local->symbol, n->loc);
        if (n->form == Form::Ascribe) return lower(n->args[0]);
        return string(n);
    }

    /// Vectors of so many literals are not kept as nodes.
    static constexpr std::size_t kLongVector = 256;

    const Expr* string(const Node* n) {
        const Type* i8 = m_.types.scalar(Scalar::I8);
        if (n->text.size() >= kLongVector) {
            const bool ends = r_.options.nul_terminated_strings;
            return packed_vec(m_, i8, ends ? m_.arena.copy(std::string(n->text) + '\0') : n->text, n->loc);
        }
        std::vector<const Expr*> bytes;
        for (char c : n->text) bytes.push_back(int_literal(m_, i8, std::int8_t(c), n->loc));
        if (r_.options.nul_terminated_strings) bytes.push_back(int_literal(m_, i8, 0, n->loc));
        return make_vec(m_, i8, bytes, n->loc);
    }

    /// A long vector of nothing but literals; null if it is none.
    const Expr* packed(const Node* n) {
        const auto is_literal = [](const Node* a) { return a->is(Op::Literal) && !a->annotations; };
        if (n->args.size() < kLongVector || !std::ranges::all_of(n->args, is_literal)) return nullptr;
        const Type* elem = n->type->elem();
        const auto size = std::size_t(size_of(elem->scalar));
        char* to = static_cast<char*>(m_.arena.allocate(n->args.size() * size, 8));
        for (std::size_t i = 0; i < n->args.size(); ++i)
            std::memcpy(to + i * size, &n->args[i]->bits, size);  // little endian
        return packed_vec(m_, elem, {to, n->args.size() * size}, n->loc);
    }

    /// What `measure` said is bound to a name as it is computed; what was to be computed before that, too.
    const Expr* infix(Node* top, Lets& lets) {
        const std::vector<Node*> spine = left_spine(top);
        const Expr* left = lower(spine.back()->args[0]);
        for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
            Node* n = *at;
            const Expr* right = nullptr;
            if (has_effect(n->args[0]) || has_effect(n->args[1])) left = named(left, lets);
            if (is_lazy_operand(n, 1) && has_effect(n->args[1])) {
                left = annotated(n, lazily(n, left, stretch(n->args[1])));
                if (n != top) left = operand(n, left, lets);
                continue;
            }
            if (!is_infix(n->args[1]) || is_lazy_operand(n, 1)) {
                right = lower(n->args[1]);
                if (has_effect(n->args[1])) right = named(right, lets);
            } else {
                if (n->args[1]->has_bound || is_bound(n->args[1])) left = named(left, lets);
                right = operand(n->args[1], infix(n->args[1], lets), lets);
            }
            left = annotated(n, scalar_op(m_, n->op, {left, right}, n->loc));
            if (n != top) left = operand(n, left, lets);
        }
        return left;
    }

    /// `left && right` or `left || right` as an `if`, whose sides may have effects.
    const Expr* lazily(const Node* n, const Expr* left, const Expr* right) {
        if (n->is(Op::And)) return if_(m_, left, right, bool_literal(m_, false), n->loc);
        return if_(m_, left, bool_literal(m_, true), right, n->loc);
    }

    const Expr* operand(const Node* n, const Expr* e, Lets& lets) { return is_bound(n) ? named(e, lets) : e; }

    const Expr* named(const Expr* e, Lets& lets) {
        if (e->op == Op::Var || e->op == Op::Literal) return e;
        lets.emplace_back(m_.symbol("part", e->type), e);
        return var(m_, lets.back().first, e->loc);
    }

    const Symbol* declare(const Binding& b) {
        b.local->symbol = m_.symbol(b.name, b.local->type, b.holds);
        if (r_.options.is_printed_module) printed_names_[b.name] = b.local->symbol;
        return b.local->symbol;
    }

    const Expr* function(Node* n) {
        std::vector<const Symbol*> params;
        for (const Binding& b : n->bindings) params.push_back(declare(b));
        return lambda(m_, params, stretch(n->args[0]), n->loc);
    }

    /// The value of `n` where lets may be added before it: blocks in blocks become one, however deep they
    /// are.
    const Expr* flat(Node* n, Lets& lets) {
        if (is_infix(n)) return infix(n, lets);
        if (!n->is(Op::Block) || n->annotations) return lower(n);
        for (std::size_t i = 0; i < n->bindings.size(); ++i) {
            const Expr* value = flat(n->args[i], lets);
            const Binding& b = n->bindings[i];
            if (!b.local->is_left_behind) lets.emplace_back(declare(b), value);
            else {  // in the IR every builder has an end
                value = weld::result(m_, value);
                lets.emplace_back(m_.symbol(b.name, value->type), value);
            }
        }
        return flat(n->args.back(), lets);
    }

    const Expr* with_lets(Node* n) {
        Lets lets;
        Lets* outer = std::exchange(here_, &lets);
        const Expr* result = flat(n, lets);
        here_ = outer;
        return block(m_, lets, result, n->loc);
    }

    const Expr* for_loop(Node* n) {
        Node* data = n->args[0];
        const bool zips = data->form == Form::Zip;
        std::vector<Node*> parts;
        if (zips) parts.assign(data->args.begin(), data->args.end());
        else parts.push_back(data);
        parts.push_back(n->args[1]);
        std::vector<const Expr*> all = lower_all(parts);
        const Expr* builder = all.back();
        all.pop_back();
        // What fails of such a loop is that its data differ in length: `zip` is to blame.
        return loop(m_, all, builder, lower(n->args[2]), zips ? data->loc : n->loc);
    }

    const Expr* iterator(Node* n) {
        const std::vector<const Expr*> args = lower_all(n->args);
        const IterKind kind = n->iter.kind;
        std::uint32_t lanes = n->lanes;
        if (kind == IterKind::Simd) lanes = n->type->elem()->lanes;
        if (n->iter.range) return range_iter(m_, kind, args[0], args[1], args[2], lanes, n->loc);
        if (kind == IterKind::Scalar && !n->iter.bounded) return args[0];  // `iter(v)` is `v`
        return iter(m_, kind, args[0], Args(args).subspan(1), lanes, n->loc);
    }

    const Expr* cudf(Node* n) {
        const std::vector<const Expr*> args = lower_all(n->args);
        const bool is_safe = promises(n, AttrKey::Fails, "false");
        if (is_builtin_kernel(n->text)) return builtin_kernel(m_, n->text, n->type, args, n->loc, is_safe);
        KernelRef ref = {.name = n->text};
        ref.pure = promises(n, AttrKey::Pure, "true");
        ref.effect = promises(n, AttrKey::Effect, "true");
        ref.fails = !ref.pure && !is_safe;
        return kernel(m_, ref, n->type, args, n->loc);
    }

    const Expr* choice(Node* n) {
        const Expr* cond = lower_all(n->args.first(1))[0];
        const Expr* then = stretch(n->args[1]);
        return if_(m_, cond, then, stretch(n->args[2]), n->loc);
    }

    const Expr* assertion(Node* n) {
        const Expr* cond = lower_all(n->args.first(1))[0];
        if (n->args.size() == 1) return assert_(m_, cond, n->loc);
        const Expr* text = stretch(n->args[1]);
        if (!has_effect(n->args[1])) return assert_(m_, cond, n->loc, text);
        const Symbol* said = m_.symbol("text", text->type);
        const Expr* fails = assert_(m_, bool_literal(m_, false), n->loc, var(m_, said));
        return if_(m_, cond, bool_literal(m_, true), let(m_, said, text, fails), n->loc);
    }

    const Expr* sorted(Node* n) {
        std::vector<Node*> values = {n->args[0]};
        if (n->args.size() > 2) values.push_back(n->args[2]);
        const std::vector<const Expr*> a = lower_all(values);
        return sort(m_, a[0], lower(n->args[1]), n->loc, a.size() > 1 ? a[1] : nullptr);
    }

    const Expr* operation(Node* n) {
        switch (n->op) {
            case Op::Block: {  // an annotated one
                Node bare = *n;
                bare.annotations = nullptr;
                return with_lets(&bare);
            }
            case Op::Lambda: return function(n);
            case Op::For: return for_loop(n);
            case Op::Iter: return iterator(n);
            case Op::Kernel: return cudf(n);
            case Op::If: return choice(n);
            case Op::Assert: return assertion(n);
            case Op::Iterate: {
                const Expr *init = lower_all(n->args.first(1))[0], *body = lower(n->args[1]);
                return iterate(m_, init, body, n->loc, n->args.size() > 2 ? lower(n->args[2]) : nullptr);
            }
            case Op::Sort: return sorted(n);
            case Op::Literal: return literal(m_, n->type, n->bits, n->loc);
            case Op::MakeVec:
                if (const Expr* all = packed(n)) return all;
                [[fallthrough]];
            default: return with_args(n, lower_all(n->args));
        }
    }

    const Expr* with_args(Node* n, const std::vector<const Expr*>& a) {
        if (is_scalar_op(n->op)) return scalar_op(m_, n->op, Args(a), n->loc);
        switch (n->op) {
            case Op::MakeStruct: return make_struct(m_, a, n->loc);
            case Op::GetField: return get_field(m_, a[0], n->index, n->loc);
            case Op::MakeVec: return make_vec(m_, n->type->elem(), a, n->loc);
            case Op::Cast: return cast(m_, n->scalar, a[0], n->loc);
            case Op::Broadcast: return broadcast(m_, a[0], n->type->lanes, n->loc);
            case Op::Select: return select(m_, a[0], a[1], a[2], n->loc);
            case Op::NewBuilder: return new_builder(m_, n->type, a.empty() ? nullptr : a[0], n->loc);
            case Op::Merge: return merge(m_, a[0], a[1], a.size() > 2 ? a[2] : nullptr, n->loc);
            case Op::Result: return result(m_, a[0], n->loc);
            case Op::Len: return len(m_, a[0], n->loc);
            case Op::Lookup: return lookup(m_, a[0], a[1], n->loc);
            case Op::LookupLanes: return lookup_lanes(m_, a[0], a[1], a.size() > 2 ? a[2] : nullptr, n->loc);
            case Op::OptLookup: return opt_lookup(m_, a[0], a[1], n->loc);
            case Op::OptLanes:
                if (a.size() > 3) return opt_rows(m_, a[0], a[1], n->lanes, a[2], a[3], n->loc);
                return opt_lanes(m_, a[0], a[1], n->lanes, n->loc, a.size() > 2 ? a[2] : nullptr);
            case Op::KeyExists: return key_exists(m_, a[0], a[1], n->loc, a.size() > 2 ? a[2] : nullptr);
            case Op::Slice: return slice(m_, a[0], a[1], a[2], n->loc);
            case Op::ToVec: return to_vec(m_, a[0], n->loc);
            case Op::Serialize: return serialize(m_, a[0], n->loc);
            case Op::Deserialize: return deserialize(m_, n->type, a[0], n->loc);
            case Op::Call: return call(m_, n->definition->function, a, n->loc);
            default: return nullptr;  // has a function of its own above
        }
    }

    Reader& r_;
    Module& m_;
    std::unordered_map<std::string_view, const Symbol*> printed_names_;  // of a printed module
    Lets* here_ = nullptr;                                               ///< before what is being lowered
};

}  // namespace

void lower(Reader& reader) { Lowering(reader).run(); }

}  // namespace weld::front
