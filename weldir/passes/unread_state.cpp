// What nobody reads of the state that an `iterate` on lanes ends with:
//
//     let t = iterate({x, y, broadcast[8](0L)}, |z| ...);
//     merge(b, t.$2)
// becomes
//     let t = @(unread:0, unread:1) iterate({x, y, broadcast[8](0L)}, |z| ...);
//     merge(b, t.$2)
//
// A lane that has ended keeps its state until the last one ends. In fields that are not read it goes on
// instead, with numbers that mean nothing, so that no round waits for the mask. Only where rounds can neither
// fail nor read memory. After vectorize-outer.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

static bool goes_on_safely(Iterate it) {
    return it && it.lanes() && it.node->type->is_struct() && !it.node->type->holds_pointer &&
           is_straight_line(it.body().body());
}

/// What is read of a state.
struct Reads {
    std::size_t all = 0, of_fields = 0;
    std::set<std::size_t> fields = {};
};
using StateReads = std::unordered_map<const Symbol*, Reads>;

/// By name of a state that lanes which have ended may spoil.
static StateReads find_reads(const Expr* lambda) {
    StateReads reads;
    visit_binding(lambda, [&](const Expr* e) {
        if (const Block b = e->as<Block>())
            for (std::size_t i = 0; i < b.size(); ++i)
                if (goes_on_safely(b.value(i)->as<Iterate>())) reads[b.symbol(i)];
    });
    if (reads.empty()) return reads;
    const auto find = [&](const Expr* e) {
        return e->op == Op::Var ? reads.find(e->attr.symbol) : reads.end();
    };
    visit(lambda, [&](const Expr* e) {
        if (const auto whole = find(e); whole != reads.end()) ++whole->second.all;
        if (e->op != Op::GetField) return;
        if (const auto of = find(e->arg(0)); of != reads.end()) {
            ++of->second.of_fields;
            of->second.fields.insert(e->attr.index);
        }
    });
    return reads;
}

static const Expr* marked(Module& m, const Expr* iterate, const Reads& read) {
    if (read.all != read.of_fields) return iterate;
    std::vector<std::int64_t> unread;
    for (std::size_t k = 0; k < iterate->type->args.size(); ++k)
        if (!read.fields.contains(k)) unread.push_back(std::int64_t(k));
    return unread.empty() ? iterate : annotate(m, iterate, AttrKey::Unread, unread);
}

const Expr* unread_state(Module& m, const Expr* lambda) {
    if (find_reads(lambda).empty()) return lambda;
    // `{t.$0, t.$1}.$1`, as vectorize-outer leaves it, reads one field
    const Expr* plain = rewrite(m, lambda, [](const Expr* e) -> const Expr* {
        const bool is_known = e->op == Op::GetField && e->arg(0)->op == Op::MakeStruct &&
                              std::ranges::all_of(e->arg(0)->args(), is_path);
        return is_known ? e->arg(0)->arg(e->attr.index) : nullptr;
    });
    const StateReads reads = find_reads(plain);
    return rewrite_binding(m, plain, [&](const Expr* e) -> const Expr* {
        const Block b = e->as<Block>();
        if (!b) return nullptr;
        return map_args(m, e, [&](const Expr* value, std::size_t i) {
            const auto of = i < b.size() ? reads.find(b.symbol(i)) : reads.end();
            return of == reads.end() ? value : marked(m, value, of->second);
        });
    });
}

}  // namespace weld
