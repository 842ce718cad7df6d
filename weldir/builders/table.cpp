// The table of builders, and what holds for the types of all.
#include <fmt/format.h>

#include "weldir/builders/properties.h"

namespace weld {

static const BuilderInfo* const kBuilders[] = {
#define WELD_BUILDER(name, ...) &k##name,
#include "runtime/abi/builders.def"
};

const BuilderInfo& info(BuilderKind kind) { return *kBuilders[int(kind)]; }

std::string ill_formed_builder(const Type* b) {
    if (info(b).keyed && !is_key(b->key())) return fmt::format("`{}` cannot be a key", b->key()->str());
    if (info(b).keyed && !info(b).probes && b->key()->holds_simd)
        return fmt::format("`{}` cannot be put in order", b->key()->str());
    if (has_operator(b->builder) && !is_combined(b->args.back(), b->builder))
        return fmt::format("`{}` cannot be merged by an operator", b->args.back()->str());
    if (const std::size_t n = num_field_ops(b->op);
        n &&
        (b->builder != BuilderKind::DictMerger || !b->value()->is_struct() || b->value()->args.size() != n))
        return fmt::format("`{}` is not for `{}`", name_of(b->op), b->args.back()->str());
    if (info(b).indexed && (b->elem()->holds_pointer || b->elem()->holds_simd))
        return fmt::format("`{}` cannot be put in the place of another one", b->elem()->str());
    return {};
}

bool is_combined(const Type* t, BuilderKind kind) {
    return is_mergeable(t) || (info(kind).combines_simd && t->is_simd() && is_number(t->scalar));
}

}  // namespace weld
