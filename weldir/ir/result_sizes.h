// What can be promised of the sizes in what a function gives.
#pragma once

#include "weldir/ir/facts.h"

namespace weld {

/// What holds of the sizes in the result of `f` and is not known yet: those in terms of its parameters, and of
/// other sizes in the result. `facts` are those of its body.
Promises find_result_sizes(Module& m, const Function& f, Facts& facts);
/// The same of one that calls itself, by induction: those in terms of its parameters that hold where it does not, and
/// where it does if they hold of the calls.
Promises find_recursive_sizes(Module& m, Function& f, Facts& facts);

}  // namespace weld
