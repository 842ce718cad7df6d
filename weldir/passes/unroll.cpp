// Short loops of a known number of rounds become straight code.
//
//     let w = [a, b, c];
//     for(zip(w, rangeiter(0L, 3L, 1L)), B, |s, i, x| merge(s, x.$0 * f64(x.$1)))
// becomes
//     merge(merge(merge(B, a * f64(0L)), b * f64(1L)), c * f64(2L))
//
// so that the loop around it can run on lanes, and constants meet. The data are vector literals, ranges, or
// vectors whose length is known otherwise (then elements are looked up, which cannot fail). Not done for
// large bodies, for bodies with effects, or if the data might differ in length.
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kMostRounds = 8;
constexpr std::int64_t kMostNodes = 300;

class Unroller {
  public:
    Unroller(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* unrolled(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop || !is_short(loop)) return nullptr;
        const std::int64_t rounds = *facts_.iterations(e)->known();
        const Expr* state = loop.builder();
        for (std::int64_t k = 0; k < rounds; ++k) {
            const Lambda body = (k ? fresh(m_, loop.body().node) : loop.body().node)->as<Lambda>();
            Lets lets = {{body.param(0), state},
                         {body.param(1), i64_literal(m_, k)},
                         {body.param(2), element(loop, k)}};
            state = block(m_, lets, body.body(), e->loc);
        }
        return state;
    }

  private:
    bool is_short(For loop) {
        const std::optional<Count> n = facts_.iterations(loop.node);
        if (!n || !n->known() || *n->known() < 1 || *n->known() > kMostRounds) return false;
        const Traits& body = facts_.traits(loop.body().node);
        if (body.ordered || *n->known() * body.size > kMostNodes || !facts_.lengths_agree(loop.data()))
            return false;
        for (const Expr* d : loop.data())
            if (facts_.traits(d).fails || !has_elements(d)) return false;
        return true;
    }

    static bool has_elements(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        if (!it) return is_path(datum);
        return it.shape().range && it.shape().kind == IterKind::Scalar && it.start()->op == Op::Literal;
    }

    const Expr* element(For loop, std::int64_t k) {
        std::vector<const Expr*> parts;
        for (const Expr* d : loop.data()) parts.push_back(element_of(d, k));
        return parts.size() == 1 ? parts[0] : make_struct(m_, parts);
    }

    const Expr* element_of(const Expr* datum, std::int64_t k) {
        const Type* i64 = m_.types.i64();
        if (const Iter it = datum->as<Iter>())
            return int_literal(m_, i64,
                               it.start()->as<Literal>().as_int() + k * it.stride()->as<Literal>().as_int());
        const MakeVec made = facts_.resolve(datum)->as<MakeVec>();
        const Expr* elem = made ? made.elems()[std::size_t(k)] : nullptr;
        return elem && (is_atom(elem) || is_constant(elem)) ? elem
                                                            : lookup(m_, datum, int_literal(m_, i64, k));
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* unroll(Module& m, const Expr* lambda) {
    Unroller unroller(m, lambda);
    const Expr* straight = rewrite_binding(m, lambda, [&](const Expr* e) { return unroller.unrolled(e); });
    return in_normal_form(m, lambda, straight);
}

}  // namespace weld
