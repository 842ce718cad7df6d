// Values in memory as text: readable Weld, or JSON.
#pragma once

#include "runtime/abi/weld_abi.h"
#include "runtime/io/writer.h"

namespace weld {

struct PrintStyle {
    bool json = false;
    bool elide = false;  ///< leave out the middle of vectors and dictionaries of more than 1,000 elements
};

/// Writes the value of `type` at `value`. Dictionaries come in the order of their keys.
void print_value(const WeldType* type, const void* value, const PrintStyle& style, Writer& out);

/// Writes the scalar of `kind` at `value`; the same in all forms.
void print_scalar(WeldKind kind, const void* value, Writer& out);

}  // namespace weld
