// What nobody reads of the state that an `iterate` on lanes ends with:
//
//     let t = iterate({x, y, broadcast[8](0L)}, |z| ...);
//     merge(b, t.$2)
// becomes
//     let t = @(unread:0, unread:1) iterate({x, y, broadcast[8](0L)}, |z| ...);
//     merge(b, t.$2)
//
// A lane that has ended keeps its state until the last one ends. In fields that are not read it goes on instead, with
// numbers that mean nothing, so that no round waits for the mask. Only where rounds can neither fail nor read memory.
// After vectorize-outer.
#include <algorithm>
#include <set>

#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

/// The fields of `s`, a struct, that are read in `e`; nothing if the whole of it is.
static std::optional<std::set<std::size_t>> fields_read(const Expr* e, const Symbol* s) {
    std::set<std::size_t> fields;
    std::size_t all = 0, of_fields = 0;
    visit(e, [&](const Expr* part) {
        if (part->op == Op::Var) all += part->attr.symbol == s;
        if (part->op != Op::GetField || part->arg(0)->op != Op::Var || part->arg(0)->attr.symbol != s) return;
        ++of_fields;
        fields.insert(part->attr.index);
    });
    return all == of_fields ? std::optional(fields) : std::nullopt;
}

static bool goes_on_safely(Iterate it) {
    return it && it.lanes() && it.node->type->is_struct() && !it.node->type->holds_pointer &&
           is_straight_line(it.body().body());
}

static const Expr* marked(Module& m, const Expr* block, const Symbol* s, const Expr* iterate) {
    const auto read = fields_read(block, s);
    if (!read) return iterate;
    std::vector<std::int64_t> unread;
    for (std::size_t k = 0; k < iterate->type->args.size(); ++k)
        if (!read->contains(k)) unread.push_back(std::int64_t(k));
    return unread.empty() ? iterate : annotate(m, iterate, AttrKey::Unread, unread);
}

const Expr* unread_state(Module& m, const Expr* lambda) {
    bool any = false;
    visit(lambda, [&](const Expr* e) { any |= goes_on_safely(e->as<Iterate>()); });
    if (!any) return lambda;
    // `{t.$0, t.$1}.$1`, as vectorize-outer leaves it, reads one field
    const Expr* plain = rewrite(m, lambda, [](const Expr* e) -> const Expr* {
        const bool is_known = e->op == Op::GetField && e->arg(0)->op == Op::MakeStruct &&
                              std::ranges::all_of(e->arg(0)->args(), is_path);
        return is_known ? e->arg(0)->arg(e->attr.index) : nullptr;
    });
    return rewrite_binding(m, plain, [&](const Expr* e) -> const Expr* {
        const Block b = e->as<Block>();
        return b ? map_args(m, e,
                            [&](const Expr* value, std::size_t i) {
                                return i < b.size() && goes_on_safely(value->as<Iterate>())
                                           ? marked(m, e, b.symbol(i), value)
                                           : value;
                            })
                 : nullptr;
    });
}

}  // namespace weld
