#include "weldir/ir/filter.h"

namespace weld {

std::optional<Filter> filter_of(For f) {
    const Expr* body = f.body().body();
    const Block lets = body->as<Block>();
    const If choice = (lets ? lets.result() : body)->as<If>();
    if (!choice) return {};
    const auto is_untouched = [&](const Expr* e) {
        return e->op == Op::Var && e->attr.symbol == f.builder_param();
    };
    const bool wanted = is_untouched(choice.otherwise());
    if (!wanted && !is_untouched(choice.then())) return {};
    return Filter{lets, choice.cond(), wanted, wanted ? choice.then() : choice.otherwise()};
}

}  // namespace weld
