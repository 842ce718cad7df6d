// Kernels that scripts name: `sum::_sumAll__double__DenseMatrix_double(X)`.
#pragma once

#include <string>
#include <string_view>

#include "frontend/daphne/syntax.h"

namespace weld::daphne {

struct Call;

/// Whether `kernel` is a name that the upstream system generates for kernels of `operation`: that, the types
/// of the results, those of the arguments.
bool names_kernel(std::string_view kernel, std::string_view operation);
/// What the operation of the checked call is called in names of kernels.
std::string operation_of(const Call& call);
std::string_view operation_of(Operator op);  ///< of those that take hints

}  // namespace weld::daphne
