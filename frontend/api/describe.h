// Types of the IR as the runtime sees them: sizes, offsets and kinds, in the form of runtime/abi/weld_abi.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/abi/weld_abi.h"
#include "weldir/ir/type.h"
#include "weldir/support/arena.h"

namespace weld {

/// Makes descriptions, each type's once, and owns them. Not for several threads at a time.
class Descriptions {
  public:
    /// What the runtime has to know of `type` (of a value: not a function). Lives as long as this.
    const WeldType* of(const Type* type);

  private:
    const WeldType* describe(const Type* type);

    Arena arena_;
    std::map<const Type*, const WeldType*> known_;
};

bool is_same_type(const WeldType* a, const WeldType* b);

/// Weld text of a described type: `{i32,vec[f64]}`, `simd[f32,16]`.
std::string name_of(const WeldType* type);

}  // namespace weld
