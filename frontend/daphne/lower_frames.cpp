// Relational built-in functions, as far as they are not made of other operations.
#include "frontend/daphne/lower.h"

namespace weld::daphne {

/// The numbers of the rows for which a column of truth values says so.
void lower_row_numbers(Lowering& l, const GraphNode& n) {
    l.define(n.results[0],
             "let numbers = result(for(x.$0, appender[u64], |o, k, b| if(b, merge(o, u64(k)), o))); "
             "{numbers, len(numbers), 1L}",
             {{"x", n.args[0]}}, n.loc);
}

}  // namespace weld::daphne
