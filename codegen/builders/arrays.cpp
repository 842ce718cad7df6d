// Growing arrays and writing to their ends.
#include "codegen/builders/arrays.h"

#include <llvm/IR/MDBuilder.h>

#include "codegen/builders/tables.h"
#include "codegen/lanes.h"
#include "codegen/packing.h"
#include "codegen/slab.h"
#include "weldir/ir/builder.h"

namespace weld::codegen {

Leaves opened_array(Emitter& e, llvm::Value* array) {
    Leaves open;
    for (const Field& f : fields::Appender::kAll) open.push_back(e.load(f, array));
    open.push_back(array);
    return open;
}

Leaves closed_array(Emitter& e, const Leaves& open) {
    std::size_t k = 0;
    for (const Field& f : fields::Appender::kAll) e.store(f, open[k++], open.back());
    return {open.back()};
}

/// An array after a call of the runtime, `change`, that finds it in memory.
static Leaves changed_in_memory(Emitter& e, Leaves array, const std::function<void(llvm::Value*)>& change) {
    const bool points = array.size() == 4;
    if (!points) array.push_back(e.slot(sizeof(WeldAppender), alignof(WeldAppender)));
    llvm::Value* room = closed_array(e, array)[0];
    change(room);
    array = opened_array(e, room);
    if (!points) array.pop_back();
    return array;
}

Leaves Emitter::grow_array(const Type* t, Leaves array, llvm::Value* extra, Loc loc) {
    return changed_in_memory(*this, std::move(array), [&](llvm::Value* room) {
        call_checked("weld_rt_appender_grow", {task, room, extra, c64(size_of(kept_merges(t))), at(loc)});
    });
}

Leaves Emitter::expecting(const Type* t, Leaves array, llvm::Value* rounds, std::int64_t each, Loc loc) {
    return changed_in_memory(*this, std::move(array), [&](llvm::Value* room) {
        call_checked("weld_rt_appender_expect",
                     {task, room, rounds, c64(each), c64(size_of(kept_merges(t))), at(loc)});
    });
}

/// An array in a slab with room for as many more as it has, and `extra`.
static Leaves grown_where_it_lies(Emitter& e, const Slab& slab, const Type* elem, const Leaves& s,
                                  std::int64_t extra, Loc loc) {
    const std::int64_t least = std::max<std::int64_t>(extra, 8);
    llvm::Value* need = e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, s[2], e.c64(least));
    return grown_in_slab(e, slab, elem, s, need, loc);
}

/// `s`, or what `grow_array` gives where there is no room for `extra` more values.
static Leaves grown_if_full(Emitter& e, Leaves s, std::int64_t extra,
                            const std::function<Leaves()>& grow_array) {
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(s[2]); known && known->isMaxValue(true)) return s;
    auto *grow = e.block("grow"), *on = e.block("append");
    llvm::Value* full = e.ir.CreateICmpSLT(e.ir.CreateSub(s[2], s[1]), e.c64(extra));
    auto* before = e.ir.GetInsertBlock();
    e.ir.CreateCondBr(full, grow, on, llvm::MDBuilder(e.unit.ctx).createBranchWeights(1, 1 << 20));
    e.ir.SetInsertPoint(grow);
    const Leaves after = grow_array();
    grow = e.ir.GetInsertBlock();
    e.ir.CreateBr(on);
    e.ir.SetInsertPoint(on);
    for (int k : {0, 2}) {  // data and capacity; the size stays
        llvm::PHINode* phi = e.ir.CreatePHI(s[std::size_t(k)]->getType(), 2);
        phi->addIncoming(s[std::size_t(k)], before);
        phi->addIncoming(after[std::size_t(k)], grow);
        s[std::size_t(k)] = phi;
    }
    return s;
}

Leaves with_room(Emitter& e, const Type* t, Leaves s, std::int64_t extra, Loc loc) {
    return grown_if_full(e, s, extra, [&] { return e.grow_array(t, s, e.c64(extra), loc); });
}

Leaves with_room_in_slab(Emitter& e, const Type* t, Leaves s, std::int64_t extra, llvm::Value* more,
                         const Slab& slab, Loc loc) {
    return grown_if_full(e, s, extra, [&] {
        if (!more) return grown_where_it_lies(e, slab, kept_merges(t), s, extra, loc);
        llvm::Value* need = e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, s[2], more);
        return grown_in_slab(e, slab, kept_merges(t), s, need, loc);
    });
}

/// Makes room for `extra` more values.
static Leaves grown(Emitter& e, const Type* t, Leaves s, std::int64_t extra, const Expr* merge) {
    const Slab* slab = slab_of(merge);
    if (!slab) return with_room(e, t, s, extra, merge->loc);
    return with_room_in_slab(e, t, s, extra, nullptr, *slab, merge->loc);
}

static bool is_closed(const Leaves& s) { return s.size() == 1; }
static Leaves array_in(Emitter& e, const Leaves& s) { return is_closed(s) ? opened_array(e, s[0]) : s; }
/// `array` in the form of `s`.
static Leaves state_like(Emitter& e, const Leaves& s, const Leaves& array) {
    return is_closed(s) ? closed_array(e, array) : array;
}

/// What is kept of a merge of `v`, or of lanes of it: keys are as tables have them.
static Leaves kept(Emitter& e, const Type* t, const Leaves& v) {
    if (!info(t).keyed) return v;
    const auto value = v.begin() + e.num_leaves(t->key());
    Leaves all = canonical_key(e, t->key(), Leaves(v.begin(), value));
    all.append(value, v.end());
    return all;
}

Leaves append_if(Emitter& e, Merge g, llvm::Value* counts, const Leaves& s, const Leaves& value) {
    const Type* t = g.node->type;
    const Type* elem = kept_merges(t);
    const Leaves v = kept(e, t, value);
    Leaves array = grown(e, t, array_in(e, s), 1, g.node);
    e.store(elem, v, e.element(array[0], elem, array[1]));
    array[1] = e.ir.CreateAdd(array[1], e.ir.CreateZExt(counts, e.unit.i64), "", true, true);
    return state_like(e, s, array);
}

Leaves append(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    return append_if(e, g, e.ir.getTrue(), s, v);
}

/// The first lanes, those of the tail: whole registers where there is room, since some processors take long to store
/// lanes under masks that they hold as lanes.
static Leaves with_first_lanes(Emitter& e, const Type* t, Leaves s, const Leaves& v, std::uint32_t n,
                               const Expr* merge) {
    const Type* elem = kept_merges(t);
    if (!e.tail.has_room) s = grown(e, t, s, n, merge);
    llvm::Value* to = e.element(s[0], elem, s[1]);
    const auto first = [&]() -> Leaves {
        if (elem->is_scalar()) e.store_tail(elem->scalar, v[0], to);
        else store_first(e, elem, v, e.tail.count, to);
        return {};
    };
    const auto whole = [&]() -> Leaves {
        if (!store_all(e, elem, v, n, to)) first();
        return {};
    };
    if (e.tail.has_slack) {
        whole();
    } else if (e.unit.target.packs && (!elem->is_scalar() || e.unit.target.has_masks(size_of(elem), n))) {
        first();
    } else {
        // `kEnough` is no number of elements: nothing is known then of what is behind the last of them
        constexpr std::int64_t most = std::int64_t(1) << 60;
        llvm::Value* more = e.ir.CreateSub(e.ir.CreateSub(s[2], s[1]), e.c64(n));
        e.emit_if(e.ir.CreateICmpULT(more, e.c64(most)), whole, first);
    }
    s[1] = e.ir.CreateAdd(s[1], e.tail.count, "", true, true);
    return s;
}

/// Lanes in order, all or those of `mask`.
static Leaves with_lanes(Emitter& e, const Type* t, Leaves s, const Leaves& v, std::uint32_t n,
                         llvm::Value* mask, const Expr* merge) {
    if (mask && mask == e.tail.mask) return with_first_lanes(e, t, s, v, n, merge);
    const Type* elem = kept_merges(t);
    s = grown(e, t, s, n, merge);
    auto& ir = e.ir;
    llvm::Value* to = e.element(s[0], elem, s[1]);
    const auto moved_on = [&](llvm::Value* count) {
        s[1] = ir.CreateAdd(s[1], count, "", true, true);
        return s;
    };
    if (!mask && store_all(e, elem, v, n, to)) return moved_on(e.c64(n));
    if (llvm::Value* count = mask ? store_selected(e, elem, v, mask, to) : nullptr) return moved_on(count);
    for (std::uint32_t k = 0; k < n; ++k) {  // every lane is written, the place moves on if it counts
        e.store(elem, lane(e, v, k), e.element(s[0], elem, s[1]));
        llvm::Value* step = mask ? ir.CreateZExt(ir.CreateExtractElement(mask, k), e.unit.i64) : e.c64(1);
        s[1] = ir.CreateAdd(s[1], step, "", true, true);
    }
    return s;
}

/// Where copies of `n` rows of `len` scalars begin that lie side by side at `columns`: lanes of pointers.
static llvm::Value* copied_rows(Emitter& e, const Type* scalar, llvm::Value* columns, std::uint32_t n,
                                llvm::Value* len, Loc loc) {
    auto& ir = e.ir;
    const std::int64_t size = size_of(scalar);
    llvm::Type* type = e.unit.memory(scalar->scalar);
    auto* pointers = llvm::FixedVectorType::get(e.unit.ptr, n);
    llvm::Constant* numbers = lane_numbers(e, n, 64);
    const auto in_slab = [&]() -> Leaves {
        const Leaves none = {llvm::ConstantPointerNull::get(e.unit.ptr), e.c64(0), e.c64(0)};
        Leaves room = grown_in_slab(e, kept_slab(), scalar, none, room_for_rows(e, n, len), loc);
        write_rows(e, type, columns, n, len, room[0]);
        room[1] = ir.CreateMul(len, e.c64(n));
        shrunk_in_slab(e, kept_slab(), scalar, room);
        llvm::Value* places = ir.CreateMul(numbers, ir.CreateVectorSplat(n, len));
        return {ir.CreateGEP(type, ir.CreateVectorSplat(n, room[0]), places)};
    };
    const auto apart = [&]() -> Leaves {
        llvm::Value* all = llvm::PoisonValue::get(pointers);
        for (std::uint32_t k = 0; k < n; ++k) {
            llvm::Value* to = e.alloc(len, size, loc);
            e.counted_loop(e.c64(0), len, 1, {}, {}, [&](llvm::Value* j, const Leaves&) -> Leaves {
                llvm::Value* at = ir.CreateAdd(ir.CreateMul(j, e.c64(n)), e.c64(k));
                llvm::Value* x = ir.CreateLoad(type, ir.CreateGEP(type, columns, at));
                ir.CreateStore(x, ir.CreateGEP(type, to, j));
                return {};
            });
            all = ir.CreateInsertElement(all, to, std::uint64_t(k));
        }
        return {all};
    };
    const std::int64_t most = (kWeldMostInSlab / size / n) & -kShortColumns;
    return e.emit_if(ir.CreateICmpULE(len, e.c64(most)), in_slab, apart)[0];
}

Leaves append_rows(Emitter& e, Merge g, const Leaves& s, const Leaves& rows) {
    const Type *t = g.node->type, *elem = t->takes;
    const std::uint32_t n = g.rows();
    if (elem->is_vec()) {
        llvm::Value* begin = copied_rows(e, elem->elem(), rows[0], n, rows[1], g.node->loc);
        return *append_lanes(e, g, s, {begin, e.ir.CreateVectorSplat(n, rows[1])}, n, nullptr);
    }
    Leaves array = array_in(e, s);
    llvm::Value* all = e.ir.CreateMul(rows[1], e.c64(n));
    llvm::Value* need = room_for_rows(e, n, rows[1]);
    const Leaves before = array;
    array = e.emit_if(
        e.ir.CreateICmpSLT(e.ir.CreateSub(array[2], array[1]), need),
        [&] { return e.grow_array(t, before, need, g.node->loc); }, [&] { return before; });
    write_rows(e, e.unit.memory(elem->scalar), rows[0], n, rows[1], e.element(array[0], elem, array[1]));
    array[1] = e.ir.CreateAdd(array[1], all, "", true, true);
    return state_like(e, s, array);
}

std::optional<Leaves> append_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n,
                                   llvm::Value* mask) {
    const Type* t = g.node->type;
    return state_like(e, s, with_lanes(e, t, array_in(e, s), kept(e, t, v), n, mask, g.node));
}

}  // namespace weld::codegen
