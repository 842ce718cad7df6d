// Loops over lanes whose merges are all under a mask ask first, for many rounds at a time, in which any lane passes.
//
//     for(zip(simditer[8](day), simditer[8](x), simditer[8](y)), merger[f64,+], |b, i, e|
//       merge(b, e.$1 * e.$2, e.$0 >= broadcast[8](1000) & e.$1 > broadcast[8](0.5)))
// becomes
//     @(skip:128) for(…)
//
// Of up to 128 rounds at a time the days alone are read. Where few of them pass, wherever they are, the other data are read
// for these rounds only. Where they are many, code waits before it asks again, so that it costs next to nothing
// (codegen/rounds.cpp).
//
// Not where a round may fail, nor for loops inside of loops, which are short; nor where what is asked reads more than it can
// save. Look-ups count as what is read: each lane is loaded by itself.
#include "weldir/ir/layout.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::string_view kRounds = "128";
constexpr std::int64_t kBytesOfLookup = 8;  // which take as long to read

std::int64_t bytes_read(const Expr* datum) {
    const Iter it = datum->as<Iter>();
    return it && it.shape().range ? 0 : size_of(datum->type->elem());
}

bool pays(For f) {
    const std::optional<Demand> demand = demand_of(f);
    if (!demand) return false;
    std::int64_t asked = 0, saved = 0;
    for (std::size_t i = 0; i < f.data().size(); ++i)
        (demand->reads[i] ? asked : saved) += bytes_read(f.data()[i]);
    visit(f.body().body(), [&](const Expr* e) { saved += e->op == Op::LookupLanes ? kBytesOfLookup : 0; });
    return asked > 0 && asked <= saved;
}

const Expr* marked(Module& m, const Expr* e) {
    if (const For f = e->as<For>()) {
        std::vector<const Expr*> args(e->args().begin(), e->args().end());
        args[0] = marked(m, args[0]);  // what it begins with is not inside
        const Expr* now = with_args(m, e, args);
        return !e->annotation(AttrKey::Skip) && pays(f) ? annotate(m, now, AttrKey::Skip, kRounds) : now;
    }
    return map_args(m, e, [&](const Expr* a, std::size_t) { return marked(m, a); });
}

}  // namespace

const Expr* skip_rounds(Module& m, const Expr* lambda) { return marked(m, lambda); }

}  // namespace weld
