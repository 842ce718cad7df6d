// What front ends promise of sizes becomes something to be checked. It runs where passes are verified, before
// all others.
//
//     let @(holds:len(m.$0) == m.$1 * m.$2) m = if(c, f_0(x), {y, 2L, n});
//     ...
// becomes
//     let @(holds:len(m.$0) == m.$1 * m.$2) m = if(c, f_0(x), {y, 2L, n});
//     let kept = assert(len(m.$0) == m.$1 * m.$2, "len(m.$0) == m.$1 * m.$2");
//     ...
//
// Parameters are checked where their function begins. Sums are those of arithmetic, whether or not they might
// wrap.
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

const Expr* number(Module& m, const Symbol* s, const SizeName& size) {
    const Expr* e = var(m, s);
    for (std::size_t i : size.path) e = get_field(m, e, i);
    return size.is_length ? len(m, e) : e;
}

const Expr* condition(Module& m, const Symbol* s, const Promise& p) {
    const Type* i64 = m.types.i64();
    const Expr* size = number(m, s, p.size);
    const Expr* sum = int_literal(m, i64, 0);
    if (p.kind == Promise::NotNegative) return scalar_op(m, Op::Ge, {size, sum});
    for (const Promise::Product& product : p.sum) {
        const Expr* all = int_literal(m, i64, product.factor);
        for (const SizeName& name : product.of) all = scalar_op(m, Op::Mul, {all, number(m, s, name)});
        sum = scalar_op(m, Op::Add, {sum, all});
    }
    return scalar_op(m, Op::Eq, {size, sum});
}

void add_checks(Module& m, const Symbol* s, Loc loc, Lets& lets) {
    for (const Promise& p : s->holds) {
        const std::string text = print_promises({&p, 1}, [&](int) { return std::string(s->name); });
        const Expr* said = packed_vec(m, m.types.scalar(Scalar::I8), m.arena.copy(std::string_view(text)));
        lets.emplace_back(m.symbol("kept", m.types.boolean()), assert_(m, condition(m, s, p), loc, said));
    }
}

}  // namespace

const Expr* check_promises(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        Lets lets;
        if (const Lambda l = e->as<Lambda>()) {
            for (const Symbol* s : l.params()) add_checks(m, s, e->loc, lets);
            const Expr* body[] = {block(m, lets, l.body(), e->loc)};
            return with_args(m, e, body);
        }
        const Block b = e->as<Block>();
        if (!b) return nullptr;
        for (std::size_t i = 0; i < b.size(); ++i) {
            lets.emplace_back(b.symbol(i), b.value(i));
            add_checks(m, b.symbol(i), b.value(i)->loc, lets);
        }
        return lets.size() > b.size() ? block(m, lets, b.result(), e->loc) : nullptr;
    });
}

}  // namespace weld
