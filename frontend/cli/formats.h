// Writing the two file formats, and what they can hold. Reading is in files.h.
#pragma once

#include <string>
#include <string_view>

#include "runtime/abi/weld_abi.h"
#include "runtime/io/writer.h"

namespace weld {

bool is_npy(std::string_view bytes);  ///< begins as a .npy file does

/// Scalars (an array without dimensions), simd, vectors of such, and vectors of vectors.
bool fits_npy(const WeldType* type);
/// A struct of what fits: a file per field.
bool fits_npy_files(const WeldType* type);
/// A struct of vectors (columns), a vector of structs (rows), a vector (one column), each of scalars or
/// strings.
bool fits_csv(const WeldType* type);

/// Return nothing, or why the value does not fit though its type does (ragged vectors, columns of unequal
/// length).
std::string write_npy(const WeldType* type, const void* value, Writer& out);
std::string write_csv(const WeldType* type, const void* value, Writer& out);

}  // namespace weld
