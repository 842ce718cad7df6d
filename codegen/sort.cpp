// `sort`: by keys that are computed first, or by a comparator in a function of its own. Sorting is the
// runtime's.
#include "codegen/captures.h"
#include "codegen/loop_plan.h"

namespace weld::codegen {

/// The function `(task, captures, a*, b*, order*) -> status` for a comparator.
static llvm::Function* compare_function(Emitter& caller, Lambda by, const std::vector<const Symbol*>& symbols,
                                        const Leaves& captured) {
    Unit& unit = caller.unit.loops;
    llvm::Function* fn = unit.function("compare_", {unit.ptr, unit.ptr, unit.ptr, unit.ptr, unit.ptr});
    Emitter e(unit, fn, fn->getArg(0));
    e.loop_depth = caller.loop_depth + 1;
    bind_names(e, caller, symbols, unpack(e, fn->getArg(1), captured));
    for (unsigned k = 0; k < 2; ++k) e.names[by.param(k)] = e.load(by.param(k)->type, fn->getArg(2 + k));
    e.ir.CreateAlignedStore(e.emit1(by.body()), fn->getArg(4), llvm::Align(4));
    e.ir.CreateRet(e.c32(0));
    return caller.unit.seen(fn);
}

/// A vector of the keys of `vec`, in memory: `in`, which is `vec` itself, where elements are their own keys.
static llvm::Value* sort_keys(Emitter& e, Sort s, const Leaves& vec, llvm::Value* in) {
    const Type* elem = s.of()->type->elem();
    const Type* key = s.by().body()->type;
    const Var by = s.by().body()->as<Var>();
    if (by && by.symbol() == s.by().param(0)) return in;
    llvm::Value* keys = e.alloc(vec[1], size_of(key), s.node->loc);
    ++e.loop_depth;
    const auto one = [&](llvm::Value* i, const Leaves&) -> Leaves {
        e.names[s.by().param(0)] = e.load(elem, e.element(vec[0], elem, i));
        e.store(key, e.emit(s.by().body()), e.element(keys, key, i));
        return {};
    };
    e.counted_loop(e.c64(0), vec[1], 1, {}, {}, one, Strip{strip_of(s.node), s.node->loc});
    --e.loop_depth;
    return e.spill_vec(keys, vec[1]);
}

Leaves Emitter::emit_sort(Sort s) {
    const Leaves vec = emit(s.of());
    const Type* type = s.of()->type;
    llvm::Value* in = spill(type, vec);
    llvm::Value* out = slot_of_vec();
    llvm::Value* limit = s.limit() ? emit1(s.limit()) : c64(-1);
    if (s.by().params().size() == 1) {
        llvm::Value* keys = sort_keys(*this, s, vec, in);
        call_checked("weld_rt_sort_keys", {task, in, unit.describe(type->elem()), keys,
                                           unit.describe(s.by().body()->type), out, limit, at(s.node->loc)});
        return load(type, out);
    }
    const std::vector<const Symbol*> symbols = captures(unit, s.by().node);
    const Leaves captured = leaves_of(*this, symbols);
    llvm::Function* by = compare_function(*this, s.by(), symbols, captured);
    call_checked("weld_rt_sort", {task, in, unit.describe(type->elem()), by, pack(*this, captured), out,
                                  limit, at(s.node->loc)});
    return load(type, out);
}

}  // namespace weld::codegen
