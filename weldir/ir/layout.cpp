// Sizes, alignments and offsets by the rules of C.
#include "weldir/ir/layout.h"

#include "weldir/ir/builder.h"
#include "weldir/support/round_up.h"

#include <algorithm>
#include <bit>

namespace weld {

static std::int64_t align_of(std::span<const Type* const> fields) {
    std::int64_t most = 1;
    for (const Type* f : fields) most = std::max(most, align_of(f));
    return most;
}

std::int64_t align_of(const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar: return size_of(t->scalar);
        case TypeKind::Simd:
            return std::min<std::int64_t>(64, std::bit_ceil(std::uint64_t(size_of(t->scalar)) * t->lanes));
        case TypeKind::Struct: return align_of(t->args);
        case TypeKind::Builder: return is_value(info(t)) ? align_of(t->elem()) : 8;
        case TypeKind::Vec:
        case TypeKind::Dict:
        case TypeKind::Function: return 8;
    }
    return 1;
}

std::vector<std::int64_t> offsets_of(std::span<const Type* const> fields) {
    std::vector<std::int64_t> offsets;
    std::int64_t at = 0;
    for (const Type* f : fields) {
        at = round_up(at, align_of(f));
        offsets.push_back(at);
        at += size_of(f);
    }
    return offsets;
}

std::int64_t size_of(std::span<const Type* const> fields) {
    std::int64_t at = 0;  // asks each field once: two times would be exponential in the nesting
    for (const Type* f : fields) at = round_up(at, align_of(f)) + size_of(f);
    return round_up(at, align_of(fields));
}

std::int64_t size_of(const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar: return size_of(t->scalar);
        case TypeKind::Simd: return round_up(std::int64_t(size_of(t->scalar)) * t->lanes, align_of(t));
        case TypeKind::Struct: return size_of(t->args);
        case TypeKind::Vec: return 16;
        case TypeKind::Dict:
        case TypeKind::Function: return 8;
        case TypeKind::Builder: return is_value(info(t)) ? size_of(t->elem()) : 8 * info(t).words;
    }
    return 0;
}

bool is_plain(const Type* t) {
    if (t->is_lanes()) return !is_float(t->scalar);
    if (!t->is_struct()) return false;
    std::int64_t bytes = 0;
    for (const Type* f : t->args) {
        if (!is_plain(f)) return false;
        bytes += size_of(f);
    }
    return bytes == size_of(t);
}

static std::size_t num_words(const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar:
        case TypeKind::Simd:
        case TypeKind::Dict: return 1;
        case TypeKind::Vec: return 2;
        case TypeKind::Struct: {
            std::size_t n = 0;
            for (const Type* f : t->args) n += num_words(f);
            return n;
        }
        case TypeKind::Builder: return is_value(info(t)) ? num_words(t->elem()) : std::size_t(info(t).words);
        case TypeKind::Function: break;
    }
    return 0;
}

bool has_params_in_memory(const Type* function) {
    std::size_t n = 0;
    for (const Type* p : function->params()) n += num_words(p);
    return n > kMostParamsInRegisters;
}

}  // namespace weld
