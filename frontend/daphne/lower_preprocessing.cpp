// Codes for categories.
#include "frontend/daphne/lower.h"

namespace weld::daphne {

using Named = Lowering::Named;

void lower_one_hot(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"info", n.args[1]}};
    l.demand(
        "info.$1 == 1L && info.$2 == x.$2 && result(for(info.$0, merger[i64,+], |o, k, d| if(d < -1L, "
        "merge(o, 1L), o))) == 0L && result(for(info.$0, merger[i64,+], |o, k, d| if(d == 0L, o, merge(o, "
        "1L)))) > 0L",
        args, "`info` of `oneHot` has for each column -1, 0 or a number of codes, and keeps something",
        n.loc);
    const std::string_view t = cell(n.results[0]);
    if (x->type.value == ValueType::Str) {
        l.define(
            n.results[0],
            fmt::format(
                "let n = {0}; let m = {1}; let codes = result(for(rangeiter(0L, m, 1L), appender, |o, j, _| "
                "let firsts = sort(tovec(result(for(rangeiter(0L, n, 1L), dictmerger[vec[i8],i64,min], |d, "
                "r, _2| merge(d, {{lookup(x.$0, r * m + j), r}})))), |e| e.$1); "
                "let coded = result(for(firsts, dictmerger[vec[i8],i64,min], |d, r, e| merge(d, {{e.$0, "
                "r}}))); "
                "for(rangeiter(0L, n, 1L), o, |o2, r, _2| merge(o2, lookup(coded, lookup(x.$0, r * m + "
                "j)))))); "
                "let inside = assert(result(for(codes, merger[i64,+], |o, k, c| let d = lookup(info.$0, k / "
                "n); if(d > 0L && c >= d, merge(o, 1L), o))) == 0L, \"a code of `oneHot` is too large\"); "
                "let width = result(for(info.$0, merger[i64,+], |o, k, d| merge(o, if(d < 0L, 1L, d)))); "
                "{{result(for(rangeiter(0L, n, 1L), appender, |o, r, _| for(info.$0, o, |o2, j, d| let c = "
                "lookup(codes, j * n + r); if(d == -1L, merge(o2, c), "
                "for(rangeiter(0L, d, 1L), o2, |o3, q, _2| merge(o3, if(q == c, 1L, 0L))))))), n, width}}",
                Lowering::rows("x", x), Lowering::columns("x", x)),
            args, n.loc);
        return;
    }
    l.demand(
        "result(for(x.$0, merger[i64,+], |o, k, v| let d = lookup(info.$0, k % x.$2); if(d > 0L && (v != v "
        "|| i64(v) < "
        "0L || i64(v) >= d), merge(o, 1L), o))) == 0L",
        args, "a code of `oneHot` lies outside", n.loc);
    l.define(n.results[0],
             fmt::format("let n = {0}; let m = {1}; let width = result(for(info.$0, merger[i64,+], |o, k, d| "
                         "merge(o, if(d < 0L, 1L, d)))); "
                         "{{result(for(rangeiter(0L, n, 1L), appender, |o, r, _| for(info.$0, o, |o2, j, d| "
                         "let v = lookup(x.$0, r * m + j); if(d == -1L, merge(o2, v), "
                         "for(rangeiter(0L, d, 1L), o2, |o3, q, _2| merge(o3, if(q == i64(v), {2}(1), "
                         "{2}(0)))))))), n, width}}",
                         Lowering::rows("x", x), Lowering::columns("x", x), t),
             args, n.loc);
}
void lower_recode(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.define(n.results,
             fmt::format(
                 "let all = tovec(result(for(x.$0, dictmerger[{0},i64,min], |d, k, a| merge(d, {{a, k}})))); "
                 "let first = if(ordered, sort(all, |p, q| {2}), sort(all, |e| e.$1)); "
                 "let coded = result(for(first, dictmerger[{0},i64,min], |d, k, e| merge(d, {{e.$0, k}}))); "
                 "{{{{map(x.$0, |a| lookup(coded, a)), {1}, 1L}}, {{map(first, |e| e.$0), len(first), 1L}}}}",
                 cell(x), Lowering::rows("x", x), comparison(x->type.value, "p.$0", "q.$0")),
             {{"x", x}, {"ordered", n.args[1]}}, n.loc);
}

}  // namespace weld::daphne
