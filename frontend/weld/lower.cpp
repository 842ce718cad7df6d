// The tree as nodes of the Module. Everything has been checked; what is decided here is only form: strings
// become vectors, `zip` the data of its loop, large trees of operators are cut.
#include <algorithm>
#include <cstring>

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
        for (const auto& d : p.definitions) d->function = m_.function(d->name, d->lambda->type);
        for (const auto& d : p.definitions) d->function->lambda = lower(d->lambda);
        m_.main = p.main->is(Op::Lambda)
                      ? lower(p.main)
                      : lambda(m_, std::span<const Symbol* const>(), lower(p.main), p.main->loc);
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
        for (const Annotation& a : *n->annotations)
            if (!(n->is(Op::Kernel) && is_promise(a.key)) && is_believed(a.key)) set(all, a);
        return all.empty() ? e : with_annotations(m_, e, all);
    }

    static void set(std::vector<Annotation>& all, const Annotation& a) {
        for (const Annotation& other : all)
            if (other.key == a.key) return;
        all.push_back(a);
    }

    bool is_believed(AttrKey key) const { return key != AttrKey::Tail || r_.options.is_printed_module; }

    /// What a `cudf` promises is part of its KernelRef.
    static bool is_promise(AttrKey key) { return key == AttrKey::Pure || key == AttrKey::Effect; }

    std::vector<const Expr*> lower_all(std::span<Node* const> nodes) {
        std::vector<const Expr*> out;
        out.reserve(nodes.size());
        for (Node* n : nodes) out.push_back(lower(n));
        return out;
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
            if (!is_infix(n->args[1]) || is_lazy_operand(n, 1)) {
                right = lower(n->args[1]);
            } else {
                if (n->args[1]->has_bound || is_bound(n->args[1])) left = named(left, lets);
                right = operand(n->args[1], infix(n->args[1], lets), lets);
            }
            left = annotated(n, scalar_op(m_, n->op, {left, right}, n->loc));
            if (n != top) left = operand(n, left, lets);
        }
        return left;
    }

    const Expr* operand(const Node* n, const Expr* e, Lets& lets) { return is_bound(n) ? named(e, lets) : e; }

    const Expr* named(const Expr* e, Lets& lets) {
        if (e->op == Op::Var || e->op == Op::Literal) return e;
        lets.emplace_back(m_.symbol("part", e->type), e);
        return var(m_, lets.back().first, e->loc);
    }

    const Symbol* declare(const Binding& b) { return b.local->symbol = m_.symbol(b.name, b.local->type); }

    const Expr* function(Node* n) {
        std::vector<const Symbol*> params;
        for (const Binding& b : n->bindings) params.push_back(declare(b));
        return lambda(m_, params, lower(n->args[0]), n->loc);
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
        const Expr* result = flat(n, lets);
        return block(m_, lets, result, n->loc);
    }

    const Expr* for_loop(Node* n) {
        Node* data = n->args[0];
        const bool zips = data->form == Form::Zip;
        const std::vector<const Expr*> all =
            zips ? lower_all(data->args) : std::vector<const Expr*>{lower(data)};
        const Expr* builder = lower(n->args[1]);
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
        KernelRef ref = {.name = n->text};
        const std::vector<const Expr*> args = lower_all(n->args);
        if (is_builtin_kernel(n->text)) return builtin_kernel(m_, n->text, n->type, args, n->loc);
        if (n->annotations)
            for (const Annotation& a : *n->annotations) {
                if (a.key == AttrKey::Pure) ref.pure = a.text == "true";
                if (a.key == AttrKey::Effect) ref.effect = a.text == "true";
            }
        return kernel(m_, ref, n->type, args, n->loc);
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
            case Op::If: return if_(m_, a[0], a[1], a[2], n->loc);
            case Op::Select: return select(m_, a[0], a[1], a[2], n->loc);
            case Op::Iterate: return iterate(m_, a[0], a[1], n->loc);
            case Op::NewBuilder: return new_builder(m_, n->type, a.empty() ? nullptr : a[0], n->loc);
            case Op::Merge: return merge(m_, a[0], a[1], a.size() > 2 ? a[2] : nullptr, n->loc);
            case Op::Result: return result(m_, a[0], n->loc);
            case Op::Len: return len(m_, a[0], n->loc);
            case Op::Lookup: return lookup(m_, a[0], a[1], n->loc);
            case Op::OptLookup: return opt_lookup(m_, a[0], a[1], n->loc);
            case Op::OptLanes: return opt_lanes(m_, a[0], a[1], n->lanes, n->loc);
            case Op::KeyExists: return key_exists(m_, a[0], a[1], n->loc);
            case Op::Slice: return slice(m_, a[0], a[1], a[2], n->loc);
            case Op::Sort: return sort(m_, a[0], a[1], n->loc, a.size() > 2 ? a[2] : nullptr);
            case Op::ToVec: return to_vec(m_, a[0], n->loc);
            case Op::Serialize: return serialize(m_, a[0], n->loc);
            case Op::Deserialize: return deserialize(m_, n->type, a[0], n->loc);
            case Op::Assert: return assert_(m_, a[0], n->loc);
            case Op::Call: return call(m_, n->definition->function, a, n->loc);
            default: return nullptr;  // has a function of its own above
        }
    }

    Reader& r_;
    Module& m_;
};

}  // namespace

void lower(Reader& reader) { Lowering(reader).run(); }

}  // namespace weld::front
