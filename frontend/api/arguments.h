// Looks at the arguments of a run before it: can they be right, and what has the library to hold on to?
//
// Vectors have a length and, unless that is 0, elements, which are aligned. Inside of vectors that the caller
// made every vector is looked at; what the library made (results, Arrow arrays) was right when it was made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/api/holds.h"

namespace weld {

struct Arguments {
    std::string wrong;  ///< which argument cannot be right, and why; else empty
    Holds holds;        ///< what a result may point into
};

/// `args` points to the arguments of `program`.
Arguments look_at(const Program& program, const void* args);

/// A builder in a value: they stand alone or in structs.
struct BuilderState {
    const WeldType* type;
    const void* at;
    std::string path;  ///< `.$0.$1`

    /// The memory that tells it from others; null if it has none.
    const void* memory() const;
    /// It has no memory to share, and may have come from anywhere.
    bool is_new() const;
    std::string_view bytes() const { return {static_cast<const char*>(at), std::size_t(type->size)}; }
};
std::vector<BuilderState> builders_in(const WeldType* type, const void* value);

/// `.$0.$1` in the struct of arguments, as users know it: `state.$1`.
std::string name_of_argument(const Program& program, std::string_view path);

}  // namespace weld
