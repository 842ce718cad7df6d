// Lists: vectors of matrices.
#include "frontend/daphne/lower.h"

namespace weld::daphne {

using Named = Lowering::Named;

void lower_create_list(Lowering& l, const GraphNode& n) {
    std::vector<Named> args;
    std::string all;
    for (std::size_t i = 0; i < n.args.size(); ++i) {
        args.push_back({fmt::format("x{}", i), n.args[i]});
        all += fmt::format("{}x{}", i ? ", " : "", i);
    }
    l.define(n.results[0], "[" + all + "]", args, n.loc);
}
void lower_list_length(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], "u64(len(x))", {{"x", n.args[0]}}, n.loc);
}
void lower_list_append(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], "joined(x, [y])", {{"x", n.args[0]}, {"y", n.args[1]}}, n.loc);
}
void lower_list_remove(Lowering& l, const GraphNode& n) {
    const std::vector<Named> args = {{"x", n.args[0]}, {"at", n.args[1]}};
    l.demand("at >= 0L && at < len(x)", args, "the list has no element of this number", n.loc);
    l.define(
        n.results,
        "let gone = lookup(x, at); {result(for(x, appender, |o, k, e| if(k == at, o, merge(o, e)))), gone}",
        args, n.loc);
}

}  // namespace weld::daphne
