#include "weldir/ir/filter.h"

#include "weldir/ir/walk.h"

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

bool is_known_early(const Filter& filter) {
    for (std::size_t i = 0; filter.lets && i < filter.lets.size(); ++i)
        if (!is_movable(filter.lets.value(i))) return false;
    return is_movable(filter.cond);
}

}  // namespace weld
