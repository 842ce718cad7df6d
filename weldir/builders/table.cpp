// The table of builders.
#include "weldir/builders/properties.h"

namespace weld {

static const BuilderInfo* const kBuilders[] = {
#define WELD_BUILDER(name, text, args, has_op) &k##name,
#include "weldir/ir/builders.def"
};

const BuilderInfo& info(BuilderKind kind) { return *kBuilders[int(kind)]; }

}  // namespace weld
