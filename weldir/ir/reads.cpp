// Which value of a block reads the memory of a symbol last.
#include "weldir/ir/reads.h"

namespace weld {

static void note_reads(const Expr* e, std::size_t at, std::unordered_map<const Symbol*, std::size_t>& last) {
    for (const Annotation& a : e->annotations)
        if (a.key == AttrKey::Free || a.key == AttrKey::Pop || a.key == AttrKey::Give)
            for (const Symbol* s : a.symbols) last[s] = at;
    if (is_path(e) && !e->type->holds_pointer) return;
    if (e->op == Op::Len && is_path(e->arg(0)) && e->arg(0)->type->is_vec()) return;
    if (Var v = e->as<Var>()) last[v.symbol()] = at;
    for (const Expr* a : e->args()) note_reads(a, at, last);
}

std::unordered_map<const Symbol*, std::size_t> last_reads(Block b) {
    std::unordered_map<const Symbol*, std::size_t> last;
    for (std::size_t i = 0; i < b.node->num_args; ++i) note_reads(b.node->arg(i), i, last);
    return last;
}

}  // namespace weld
