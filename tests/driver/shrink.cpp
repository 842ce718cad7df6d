// Shrinking tries, from the outside in, to put something smaller in the place of each node: a part of it, or
// a constant. What still verifies and still fails is kept, and everything begins anew. Arguments shrink
// likewise.
#include "tests/driver/shrink.h"

#include <algorithm>

#include "tests/driver/check.h"
#include "weldir/ir/print.h"
#include "weldir/ir/verify.h"
#include "weldir/ir/walk.h"

namespace weld::driver {

namespace {

class Shrinker {
  public:
    Shrinker(const Sample& sample, const std::function<bool(const Sample&)>& fails, int attempts)
        : best_(sample), fails_(fails), left_(attempts) {}

    Sample run() {
        bool better = true;
        while (better && left_ > 0) {
            better = shrink_program();
            better |= shrink_arguments();
        }
        return best_;
    }

  private:
    bool try_(Sample candidate) {
        if (left_ <= 0) return false;
        --left_;
        if (!fails_(candidate)) return false;
        best_ = std::move(candidate);
        return true;
    }

    // ---- programs

    static std::vector<const Expr*> nodes_below(const Expr* root) {
        std::vector<const Expr*> all;
        visit(root, [&](const Expr* e) { all.push_back(e); });
        return all;
    }

    static const Expr* replaced(Module& m, const Expr* root, const Expr* old, const Expr* now) {
        return rewrite(m, root, [&](const Expr* e) { return e == old ? now : nullptr; });
    }

    /// Keeps the module with `main` in place of its own if that still fails. Parameters that nobody reads go.
    bool try_main(Module& m, const Expr* main) {
        const Lambda l = main->as<Lambda>();
        std::vector<const Symbol*> params;
        Sample candidate;
        for (std::size_t i = 0; i < l.params().size(); ++i) {
            if (!mentions(l.body(), l.param(i))) continue;
            params.push_back(l.param(i));
            candidate.args.push_back(best_.args[i]);
        }
        const Expr* before = m.main;
        m.main = lambda(m, params, l.body());
        const bool right = verify(m).empty();
        if (right) candidate.text = print(m);
        m.main = before;
        return right && candidate.text.size() < best_.text.size() && try_(std::move(candidate));
    }

    const Expr* constant(Module& m, const Type* t) {
        switch (t->kind) {
            case TypeKind::Scalar: return literal(m, t, 0);
            case TypeKind::Simd: return broadcast(m, literal(m, m.types.scalar(t->scalar), 0), t->lanes);
            case TypeKind::Vec: return make_vec(m, t->elem(), {});
            case TypeKind::Struct: {
                std::vector<const Expr*> fields;
                for (const Type* f : t->args) {
                    fields.push_back(constant(m, f));
                    if (!fields.back()) return nullptr;
                }
                return make_struct(m, fields);
            }
            default: return nullptr;
        }
    }

    /// What may stand in the place of `e`, the smallest first.
    std::vector<const Expr*> smaller(Module& m, const Expr* e, bool is_whole) {
        std::vector<const Expr*> out;
        if (e->op == Op::Lambda || e->op == Op::Iter || e->num_args == 0) return out;
        if (!e->type->holds_builder && !is_whole) out.push_back(constant(m, e->type));
        std::vector<const Expr*> parts = nodes_below(e);
        std::reverse(parts.begin(), parts.end());
        for (const Expr* p : parts)
            if (p != e && p->op != Op::Lambda && p->op != Op::Iter &&
                (p->type == e->type || (is_whole && !p->type->holds_builder)))
                out.push_back(p);
        if (out.size() > 40) out.resize(40);
        if (Block b = e->as<Block>())
            for (std::size_t i = b.size(); i-- > 0;) out.push_back(without_let(m, b, i));
        if (e->op == Op::MakeVec && e->num_args > 1) {
            out.push_back(make_vec(m, e->type->elem(), e->args().first(e->num_args / 2)));
            out.push_back(make_vec(m, e->type->elem(), e->args().subspan(1)));
        }
        if (!e->annotations.empty() && e->op != Op::Iter) out.push_back(with_annotations(m, e, {}));
        std::erase(out, nullptr);
        return out;
    }
    static const Expr* without_let(Module& m, Block b, std::size_t skip) {
        std::vector<std::pair<const Symbol*, const Expr*>> lets;
        for (std::size_t i = 0; i < b.size(); ++i)
            if (i != skip) lets.emplace_back(b.symbol(i), b.value(i));
        return block(m, lets, b.result());
    }

    /// One step; false if there is none.
    bool shrink_program() {
        Text read(best_.text);
        if (!read.ok()) return false;
        Module& m = read.module;
        if (without_functions(m)) return true;
        const Expr* body = m.main->as<Lambda>().body();
        for (const Expr* e : nodes_below(body))
            for (const Expr* s : smaller(m, e, e == body)) {
                if (left_ <= 0) return false;
                const Expr* now = replaced(m, body, e, s);
                if (try_main(m, lambda(m, m.main->symbols(), now))) return true;
            }
        return false;
    }

    bool without_functions(Module& m) {
        if (m.functions.empty()) return false;
        const std::vector<Function*> all = m.functions;
        m.functions.clear();
        if (try_main(m, m.main)) return true;
        m.functions = all;
        return false;
    }

    // ---- arguments

    static std::vector<interp::Value> smaller(const Type* t, const interp::Value& v) {
        std::vector<interp::Value> out;
        if (t->is_scalar() && v.bits != 0) out.push_back({});
        if (t->is_vec() && !v.items().empty()) {
            const interp::Values& items = v.items();
            const auto middle = items.begin() + std::ptrdiff_t(items.size() / 2);
            out.push_back(interp::list_value({}));
            if (items.size() > 1) {
                out.push_back(interp::list_value(interp::Values(items.begin(), middle)));
                out.push_back(interp::list_value(interp::Values(middle, items.end())));
                out.push_back(interp::list_value(interp::Values(items.begin() + 1, items.end())));
                out.push_back(interp::list_value(interp::Values(items.begin(), items.end() - 1)));
            }
            const interp::Value zero = interp::zero(t->elem());
            if (interp::order(t->elem(), items[0], zero) != 0)
                out.push_back(interp::list_value(interp::Values(items.size(), zero)));
        }
        return out;
    }

    bool shrink_arguments() {
        const Text read(best_.text);
        if (!read.ok()) return false;
        const std::span<const Type* const> types = read.module.main->type->params();
        for (std::size_t i = 0; i < types.size(); ++i)
            for (const interp::Value& v : smaller(types[i], best_.args[i])) {
                Sample candidate = best_;
                candidate.args[i] = v;
                if (try_(std::move(candidate))) return true;
            }
        return false;
    }

    Sample best_;
    const std::function<bool(const Sample&)>& fails_;
    int left_;
};

}  // namespace

Sample shrink(const Sample& sample, const std::function<bool(const Sample&)>& fails, int attempts) {
    return Shrinker(sample, fails, attempts).run();
}

}  // namespace weld::driver
