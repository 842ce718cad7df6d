// Modules, and looking annotation keys up.
#include "weldir/ir/module.h"

#include <bit>

#include "weldir/ir/build.h"

namespace weld {

const char* name_of(AttrKey key) { return info(key).text; }

bool is_of_passes(const Annotation& a) {
    return info(a.key).by == AttrInfo::Passes ||
           (a.key == AttrKey::Size && (a.text == "given" || a.text == "most"));
}

bool find_attr(std::string_view text, AttrKey* key) {
    for (std::size_t i = 0; i < std::size(kAttrs); ++i)
        if (text == kAttrs[i].text) {
            *key = AttrKey(i);
            return true;
        }
    return false;
}

std::int64_t Literal::as_int() const {
    const std::uint64_t b = bits();
    switch (node->type->scalar) {
        case Scalar::I8: return std::int8_t(b);
        case Scalar::I16: return std::int16_t(b);
        case Scalar::I32: return std::int32_t(b);
        default: return std::int64_t(b);
    }
}

double Literal::as_float() const {
    return node->type->is_scalar(Scalar::F32) ? double(std::bit_cast<float>(std::uint32_t(bits())))
                                              : std::bit_cast<double>(bits());
}

Module::Module() : types(arena) {}

const Symbol* Module::symbol(std::string_view name, const Type* type, Promises holds) {
    return arena.make<Symbol>(arena.copy(name), type, next_symbol_++, holds);
}

Function* Module::function(std::string_view name, const Type* type) {
    functions.push_back(arena.make<Function>(arena.copy(name), type));
    return functions.back();
}

}  // namespace weld
