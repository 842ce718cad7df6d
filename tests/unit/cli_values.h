// Helpers of the tests of weld-cli: types, and values as they print.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <unistd.h>

#include "frontend/api/describe.h"
#include "runtime/io/print_value.h"
#include "runtime/io/writer.h"
#include "weldir/ir/type.h"

namespace weld::cli_test {

/// Types and their descriptions, for as long as a test runs.
struct Kinds {
    Arena arena;
    Types types{arena};
    Descriptions descriptions;

    const WeldType* operator()(Scalar s) { return descriptions.of(types.scalar(s)); }
    const Type* vec(const Type* elem) { return types.vec(elem); }
    const Type* scalar(Scalar s) { return types.scalar(s); }
    const Type* structure(std::vector<const Type*> fields) { return types.structure(fields); }
    const WeldType* of(const Type* t) { return descriptions.of(t); }
};

/// What `fill` writes.
template <class Fill>
std::string written(const Fill& fill) {
    std::FILE* file = std::tmpfile();
    {
        Writer out(::fileno(file));
        fill(out);
        out.flush();
    }
    std::string text(std::size_t(::lseek(::fileno(file), 0, SEEK_END)), '\0');
    const ssize_t n = ::pread(::fileno(file), text.data(), text.size(), 0);
    std::fclose(file);
    return n == ssize_t(text.size()) ? text : "cannot read what was written";
}

inline std::string printed(const WeldType* type, const void* value, PrintStyle style = {}) {
    return written([&](Writer& out) { print_value(type, value, style, out); });
}

}  // namespace weld::cli_test
