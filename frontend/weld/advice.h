// What to write where the types of scalars do not fit: nothing converts by itself.
#pragma once

#include <string>

#include "frontend/weld/syntax.h"

namespace weld::front {

/// `at` is `found` and has to be `want`.
std::string advice(const Node* at, Scalar found, Scalar want);
/// `a` and `b` have to be of one type: the change that loses nothing.
std::string advice_for_both(const Node* a, Scalar type_a, const Node* b, Scalar type_b);

}  // namespace weld::front
