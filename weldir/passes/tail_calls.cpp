// Tail calls of recursive functions take the place of their callers: they need no stack.
//
//     def count(n: i64, s: i64): i64 = if(n == 0L, s, let r = count(n - 1L, s + n); r);
// becomes
//     def count(n: i64, s: i64): i64 = if(n == 0L, s, @(tailcall:true) count(n - 1L, s + n));
//
// Marked are calls of functions on the same cycle of calls; others return, so they end by themselves.
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

class TailCalls {
  public:
    TailCalls(Module& m, const Function& f) : m_(m), f_(f) {}

    /// `e`, whose value is that of the function, with calls marked.
    const Expr* marked(const Expr* e) {
        switch (e->op) {
            case Op::Call: return of_call(e->as<Call>());
            case Op::If:
            case Op::And:
            case Op::Or:  // the first argument decides
                return map_args(m_, e, [&](const Expr* a, std::size_t i) { return i ? marked(a) : a; });
            case Op::Block: return of_block(e->as<Block>());
            default: return e;
        }
    }

  private:
    const Expr* of_call(Call call) {
        const Summary& callee = call.function().summary;
        if (!callee.recursive || callee.cycle != f_.summary.cycle) return call.node;
        if (call.node->says(AttrKey::TailCall, true)) return call.node;
        return annotate(m_, call.node, AttrKey::TailCall, "true");
    }

    const Expr* of_block(Block b) {
        const Expr* now = marked(b.last());
        if (now == b.last()) return b.node;
        std::vector<std::pair<const Symbol*, const Expr*>> lets;
        for (std::size_t i = 0; i < b.size() - b.gives_last(); ++i)
            lets.emplace_back(b.symbol(i), b.value(i));
        return block(m_, lets, now, b.node->loc);
    }

    Module& m_;
    const Function& f_;
};

}  // namespace

bool tail_calls(Module& m, const PassOptions&) {
    bool changed = false;
    for (Function* f : m.functions) {
        if (!f->lambda || !f->summary.recursive) continue;
        const Lambda lambda = f->lambda->as<Lambda>();
        const Expr* body = TailCalls(m, *f).marked(lambda.body());
        if (body == lambda.body()) continue;
        f->lambda = with_args(m, f->lambda, {{body}});
        changed = true;
    }
    return changed;
}

}  // namespace weld
