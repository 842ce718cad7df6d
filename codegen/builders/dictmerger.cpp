// `dictmerger[K,V,op]`: a pointer to a table; inside of loops also what searches read of it (tables.h), or in
// loops over lanes the groups that are held (groups.h), or, one by one, groups that are spread (spread.h).
#include "codegen/builders/code.h"
#include "codegen/builders/groups.h"
#include "codegen/builders/spread.h"
#include "codegen/builders/tables.h"
#include "weldir/ir/keys.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type* t, Lanes form) {
    if (form.groups) return num_group_leaves(t, form.groups);
    if (form.spread) return num_spread_leaves(t);
    return form.tables ? num_open_leaves(t->key()) : 1;
}

static Leaves begin(Emitter& e, NewBuilder b, const Leaves&) {
    const Type* t = b.node->type;
    return {e.call_pointer("weld_rt_dict_new", {e.task, e.unit.describe(t->key()),
                                                e.unit.describe(t->value()), e.at(b.node->loc)})};
}

static Leaves reform(Emitter& e, const Type* t, const Leaves& s, Lanes from, Lanes to, Loc loc) {
    if (from.groups == to.groups && from.tables == to.tables) return s;
    const Leaves table = from.groups ? release_groups(e, t, s, from, loc) : Leaves{s[0]};
    if (to.groups) return hold_groups(e, t, table, to);
    return to.tables ? opened(e, t->key(), table[0]) : table;
}

/// The runtime does what is rare: keys that are new, and keys of unusual types.
static Leaves merge(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    const Type* t = g.node->type;
    const Leaves key = canonical_key(e, t->key(), Leaves(v.begin(), v.begin() + e.num_leaves(t->key())));
    const Leaves value(v.begin() + std::ptrdiff_t(key.size()), v.end());
    if (e.lanes.spread) return merge_spread(e, t, s, key, value, g.node->loc);
    const auto call = [&] {
        e.call_checked("weld_rt_dict_merge",
                       {e.task, s[0], e.spill(t->key(), key), e.spill(t->value(), value), e.c32(int(t->op)),
                        e.at(g.node->loc)});
    };
    if (e.loop_depth == 0 || !is_sought_inline(t->key())) {
        call();
        return e.lanes.tables ? opened(e, t->key(), s[0]) : s;
    }
    const bool stays_open = e.lanes.tables;
    const Leaves open = stays_open ? s : opened(e, t->key(), s[0]);
    const auto add_to = [&](llvm::Value* entry) {
        merge_in_memory(e, t->value(), t->op, e.address(entry, entry_layout(t->key(), t->value()).value_at),
                        value);
        return open;
    };
    const auto again = [&] { return stays_open ? opened(e, t->key(), s[0]) : open; };
    const auto add = [&] {
        call();
        return again();
    };
    const auto direct = [&] { return find_entry(e, g.node, open, t->key(), t->value(), key, add_to, add); };
    const auto search = [&] {
        return is_partitioned(t->key())
                   ? merge_or_wait(e, open, t->key(), t->value(), key, value, g.node->loc, direct, again)
                   : direct();
    };
    const Leaves after =
        has_places(t->key()) ? find_placed(e, open, t->key(), t->value(), key, add_to, search) : search();
    return stays_open ? after : s;
}

static std::optional<Leaves> merge_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v,
                                         std::uint32_t n, llvm::Value* mask) {
    if (!e.lanes.groups) return {};
    return merge_into_groups(e, g.node->type, s, v, n, mask, g.node->loc);
}

static Leaves result(Emitter& e, Result r, const Leaves& s) {
    if (!r.node->says(AttrKey::Listed, true))
        return {e.call_pointer("weld_rt_dict_result", {e.task, s[0], e.at(r.node->loc)})};
    e.call_checked("weld_rt_dict_settle", {e.task, s[0], e.at(r.node->loc)});
    return {s[0]};
}

const BuilderCode kDictMergerCode = {leaves, begin, reform, merge, merge_lanes, result};

}  // namespace weld::codegen
