// A node costs what its arguments do and something of its own; a loop counts as 16 rounds of its body, an
// `iterate` as 64.
#include "weldir/passes/cost.h"
#include "weldir/ir/loop_forms.h"

#include <algorithm>
#include <cstdlib>

#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"

namespace weld {

std::int64_t picoseconds(const Expr* e) {
    std::int64_t sum = 0;
    for (const Expr* a : e->args()) sum += picoseconds(a);
    sum = std::min<std::int64_t>(sum, 1'000'000'000'000);  // nests multiply
    switch (e->op) {
        case Op::For: return does_nothing(e->as<For>()) ? sum : 16 * sum + 10'000;
        case Op::Iterate: return 64 * sum;
        case Op::Sort: return sum * 1000;
        case Op::Call:
        case Op::Kernel:
        case Op::Serialize:
        case Op::Deserialize: return sum + 100'000;
        case Op::Lookup:
        case Op::OptLookup:
        case Op::KeyExists: return sum + (e->arg(0)->type->is_dict() ? 15'000 : 1'000);
        case Op::LookupLanes: {
            const Annotation* apart = e->annotation(AttrKey::Apart);
            return sum + 1'000 * (apart ? std::abs(apart->number) : e->type->lanes);
        }
        case Op::OptLanes: return sum + 10'000;
        case Op::Merge: return sum + (info(e->type).probes ? 10'000 : 500);
        case Op::Literal:
        case Op::Var:
        case Op::Block:
        case Op::Lambda:
        case Op::MakeStruct:
        case Op::GetField: return sum;
        case Op::Sqrt:
        case Op::Div:
        case Op::Rem: return sum + 2'000;
        default: return sum + (is_math(e->op) ? 5'000 : 300);
    }
}

}  // namespace weld
