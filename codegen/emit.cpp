// The dispatch over kinds of nodes, and the words that the families share.
#include "codegen/emit.h"

#include <numeric>

#include "codegen/builders/code.h"
#include "codegen/builders/tables.h"
#include "codegen/lanes.h"
#include "codegen/segments.h"
#include "codegen/slab.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

namespace weld::codegen {

// ---- Emitter: dispatch ---------------------------------------------------------------------------------

Emitter::Emitter(Unit& unit, llvm::Function* fn, llvm::Value* task)
    : unit(unit), m(unit.m), fn(fn), task(task), ir(llvm::BasicBlock::Create(unit.ctx, "entry", fn)) {
    auto* body = block("body");
    ir.CreateBr(body);
    ir.SetInsertPoint(body);
}

Leaves Emitter::emit(const Expr* e) {
    if (const Annotation* keep = e->annotation(AttrKey::Keep)) collect_but(keep->symbols);
    const Leaves value = emit_node(e);
    if (const Annotation* ends = e->annotation(AttrKey::Free))
        for (const Symbol* s : ends->symbols)
            end_value(unit.is_param(s) ? "weld_rt_free_given" : "weld_rt_free", s->type, names.at(s));
    if (const Annotation* ends = e->annotation(AttrKey::Pop))
        for (const Symbol* s : ends->symbols) end_in_scratch(*this, s->type->elem(), names.at(s));
    return value;
}

Leaves Emitter::emit_node(const Expr* e) {
    if (is_scalar_op(e->op)) return emit_scalar_op(e);
    switch (e->op) {
        case Op::Literal: return unit.constant(e);
        case Op::Var: return unit.constants.holds(e) ? unit.constant(e) : names.at(e->attr.symbol);
        case Op::Block: return emit_block(e->as<Block>());
        case Op::MakeStruct: {
            Leaves all;
            for (const Expr* f : e->args()) all.append(emit(f));
            return all;
        }
        case Op::GetField: {
            const Leaves of = emit(e->arg(0));
            const Type* t = e->arg(0)->type;
            // Builders in the state of an `iterate` around a loop have the form that they have outside of loops.
            const Lanes form = num_leaves(t) == int(of.size()) ? lanes : Lanes{};
            const int first = field_offset(t, e->attr.index, form);
            const int count = num_leaves(t->args[e->attr.index], form);
            return Leaves(of.begin() + first, of.begin() + first + count);
        }
        case Op::Cast: return {emit_cast(emit1(e->arg(0)), e->arg(0)->type->scalar, e->type->scalar)};
        case Op::Broadcast: return {ir.CreateVectorSplat(e->type->lanes, emit1(e->arg(0)))};
        case Op::If: {
            If c = e->as<If>();
            if (e->says(AttrKey::Always, true) && (!e->annotation(AttrKey::Often) || in_any_case))
                return emit_conditional_merge(c, conditional_merge(c));
            return emit_if(
                emit1(c.cond()), [&] { return emit(c.then()); }, [&] { return emit(c.otherwise()); });
        }
        case Op::Select: return emit_select(e->as<Select>());
        case Op::Iterate: return emit_iterate(e->as<Iterate>());
        case Op::Call: return emit_call(e->as<Call>());
        case Op::Kernel: return emit_kernel(e->as<Kernel>());
        case Op::For: return emit_for(e->as<For>());
        case Op::Sort: return emit_sort(e->as<Sort>());
        case Op::MakeVec: return emit_make_vec(e->as<MakeVec>());
        case Op::PackedVec: return unit.constant(e);
        case Op::Lookup: return emit_lookup(e->as<Lookup>());
        case Op::LookupLanes: return emit_lookup_lanes(e->as<LookupLanes>());
        case Op::OptLookup: return emit_opt_lookup(e->as<OptLookup>());
        case Op::OptLanes: return emit_opt_lanes(e->as<OptLanes>());
        case Op::KeyExists: return emit_key_exists(e->as<KeyExists>());
        case Op::Slice: return emit_slice(e->as<Slice>());
        case Op::Len: return emit_len(e->as<Len>());
        case Op::ToVec:
        case Op::Serialize:
        case Op::Deserialize: return emit_through_memory(e);
        case Op::Assert: return emit_assert(e->as<Assert>());
        case Op::NewBuilder: return emit_new_builder(e->as<NewBuilder>());
        case Op::Merge: return emit_merge(e->as<Merge>());
        case Op::Result: return emit_result(e->as<Result>());
        default: llvm_unreachable("not a value");
    }
}

Leaves Emitter::emit_assert(Assert a) {
    llvm::Value* broken = ir.CreateNot(emit1(a.of()));
    if (!a.text()) {
        fail_if(broken, kWeldAssertionError, a.node->loc);
    } else {
        unlikely(broken, [&] {
            const Leaves text = emit(a.text());
            call_checked("weld_rt_fail_assert", {task, text[0], text[1], at(a.node->loc)});
        });
    }
    return {ir.getTrue()};
}

const Type* kept_merges(const Type* t) {
    return t->is_builder() && info(t).keeps_merges ? t->takes : nullptr;
}

// ---- leaves and memory ---------------------------------------------------------------------------------

void for_each_scalar(const Type* t, const std::function<void(Scalar)>& fn) {
    if (t->is_struct())
        for (const Type* f : t->args) for_each_scalar(f, fn);
    else fn(t->scalar);
}

int Emitter::num_leaves(const Type* t, Lanes form) const {
    switch (t->kind) {
        case TypeKind::Scalar:
        case TypeKind::Simd:
        case TypeKind::Dict: return 1;
        case TypeKind::Vec: return 2;
        case TypeKind::Struct: {
            int n = 0;
            for (const Type* f : t->args) n += num_leaves(f, form);
            return n;
        }
        case TypeKind::Builder: return code_of(t).leaves(*this, t, form);
        case TypeKind::Function: break;
    }
    return 0;
}

int Emitter::field_offset(const Type* t, std::size_t field, Lanes form) const {
    int at = 0;
    for (std::size_t i = 0; i < field; ++i) at += num_leaves(t->args[i], form);
    return at;
}

llvm::Value* Emitter::address(llvm::Value* base, std::int64_t offset) {
    return offset ? ir.CreateConstInBoundsGEP1_64(unit.i8, base, std::uint64_t(offset)) : base;
}

void Emitter::prefetch(llvm::Value* from, Cache into) {
    const std::int32_t locality = into == Cache::First ? 3 : 2;
    ir.CreateIntrinsic(llvm::Intrinsic::prefetch, {unit.ptr}, {from, c32(0), c32(locality), c32(1)});
}

void Emitter::prefetch_row(llvm::Value* data, Cache into) {
    constexpr std::int64_t lines = 2;  // the machine follows from there
    for (std::int64_t line = 0; line < lines; ++line) prefetch(address(data, 64 * line), into);
}

llvm::Value* Emitter::load_tail(const Type* simd, llvm::Value* from) {
    auto* type = llvm::FixedVectorType::get(unit.memory(simd->scalar), simd->lanes);
    llvm::Value* v = load_rest(*this, type, from);
    return simd->scalar == Scalar::Bool ? ir.CreateIsNotNull(v) : v;
}

void Emitter::store_tail(Scalar s, llvm::Value* v, llvm::Value* to) {
    auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
    if (s == Scalar::Bool) v = ir.CreateZExt(v, llvm::FixedVectorType::get(unit.i8, type->getNumElements()));
    const int bytes = size_of(s);
    const llvm::Align align{std::uint64_t(bytes)};
    if (unit.target.has_masks(bytes, type->getNumElements())) {
        ir.CreateMaskedStore(v, to, align, tail.mask);
        return;
    }
    llvm::Value* room = slot(std::int64_t(bytes) * type->getNumElements(), kLaneBytes);
    ir.CreateStore(v, room);
    ir.CreateMemCpy(to, align, room, llvm::Align(kLaneBytes), ir.CreateMul(tail.count, c64(bytes)));
}

void Emitter::change_tail(const Type* simd, llvm::Value* v, llvm::Value* at,
                          llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> change) {
    const llvm::Align align{std::uint64_t(size_of(simd->scalar))};
    Leaves rest = {v, at};  // what is left, and where it goes
    for (unsigned half = unsigned(simd->lanes) / 2; half; half /= 2) {
        const auto part = [&](unsigned first) {
            llvm::SmallVector<int, 64> lanes(half);
            std::iota(lanes.begin(), lanes.end(), int(first));
            return ir.CreateShuffleVector(rest[0], lanes);
        };
        const auto changed = [&]() -> Leaves {
            llvm::Value *lanes = part(0), *to = rest[1];
            llvm::Type* type = lanes->getType();
            if (half == 1) lanes = ir.CreateExtractElement(lanes, std::uint64_t(0));
            llvm::Value* there = ir.CreateAlignedLoad(lanes->getType(), to, align);
            ir.CreateAlignedStore(change(there, lanes), to, align);
            return {part(half), ir.CreateConstInBoundsGEP1_64(type->getScalarType(), to, half)};
        };
        rest = emit_if(ir.CreateIsNotNull(ir.CreateAnd(tail.count, c64(half))), changed,
                       [&]() -> Leaves { return {part(0), rest[1]}; });
    }
}

llvm::Value* Emitter::element(llvm::Value* data, const Type* elem, llvm::Value* index) {
    if (elem->is_scalar()) return ir.CreateGEP(unit.memory(elem->scalar), data, index);
    return ir.CreateGEP(unit.i8, data, ir.CreateMul(index, c64(size_of(elem)), "", true, true));
}

Leaves Emitter::load(const Type* t, llvm::Value* from) {
    const auto align = [](std::int64_t n) { return llvm::Align(std::uint64_t(n)); };
    switch (t->kind) {
        case TypeKind::Scalar: {
            llvm::Value* v = ir.CreateAlignedLoad(unit.memory(t->scalar), from, align(align_of(t)));
            return {t->is_bool() ? ir.CreateIsNotNull(v) : v};
        }
        case TypeKind::Simd: {
            auto* type = llvm::FixedVectorType::get(unit.memory(t->scalar), t->lanes);
            llvm::Value* v = ir.CreateAlignedLoad(type, from, align(size_of(t->scalar)));
            return {t->scalar == Scalar::Bool ? ir.CreateIsNotNull(v) : v};
        }
        case TypeKind::Dict: return {ir.CreateAlignedLoad(unit.ptr, from, align(8))};
        case TypeKind::Vec: return {load(fields::Vec::data, from), load(fields::Vec::len, from)};
        case TypeKind::Struct: {
            Leaves all;
            const auto offsets = offsets_of(t->args);
            for (std::size_t i = 0; i < t->args.size(); ++i)
                all.append(load(t->args[i], address(from, offsets[i])));
            return all;
        }
        case TypeKind::Builder: {
            if (is_value(info(t))) return reform(t, load(t->elem(), from), {}, lanes);
            Leaves words = {ir.CreateAlignedLoad(unit.ptr, from, align(8))};
            for (int i = 1; i < info(t).words; ++i)
                words.push_back(ir.CreateAlignedLoad(unit.i64, address(from, 8 * i), align(8)));
            return reform(t, words, {}, lanes);
        }
        case TypeKind::Function: break;
    }
    llvm_unreachable("no such value in memory");
}

llvm::Value* Emitter::load(Field f, llvm::Value* of) {
    return ir.CreateAlignedLoad(unit.type_of(f.letter), address(of, f.offset),
                                llvm::Align(std::uint64_t(f.size())));
}

void Emitter::store(Field f, llvm::Value* v, llvm::Value* of) {
    ir.CreateAlignedStore(v, address(of, f.offset), llvm::Align(std::uint64_t(f.size())));
}

void Emitter::store_words(const Leaves& words, llvm::Value* to) {
    for (std::size_t i = 0; i < words.size(); ++i)
        ir.CreateAlignedStore(words[i], address(to, 8 * std::int64_t(i)), llvm::Align(8));
}

void Emitter::store(const Type* t, const Leaves& v, llvm::Value* to) {
    const auto align = [](std::int64_t n) { return llvm::Align(std::uint64_t(n)); };
    switch (t->kind) {
        case TypeKind::Scalar:
        case TypeKind::Simd: {
            llvm::Value* x = v[0];
            if (t->scalar == Scalar::Bool) {
                llvm::Type* bytes = unit.i8;
                if (t->is_simd()) bytes = llvm::FixedVectorType::get(bytes, t->lanes);
                x = ir.CreateZExt(x, bytes);
            }
            ir.CreateAlignedStore(x, to, align(size_of(t->scalar)));
            return;
        }
        case TypeKind::Struct: {
            const auto offsets = offsets_of(t->args);
            int at = 0;
            for (std::size_t i = 0; i < t->args.size(); ++i) {
                const int n = num_leaves(t->args[i]);
                store(t->args[i], Leaves(v.begin() + at, v.begin() + at + n), address(to, offsets[i]));
                at += n;
            }
            return;
        }
        case TypeKind::Builder: {
            const Leaves plain = reform(t, v, lanes, {});
            return is_value(info(t)) ? store(t->elem(), plain, to) : store_words(plain, to);
        }
        case TypeKind::Vec:
        case TypeKind::Dict: return store_words(v, to);
        case TypeKind::Function: break;
    }
}

llvm::Value* Emitter::slot_of_vec() { return slot(sizeof(WeldVec), alignof(WeldVec)); }

llvm::Value* Emitter::spill_vec(llvm::Value* data, llvm::Value* len) {
    llvm::Value* room = slot_of_vec();
    store(fields::Vec::data, data, room);
    store(fields::Vec::len, len, room);
    return room;
}

llvm::Value* Emitter::slot(std::int64_t bytes, std::int64_t align) {
    llvm::BasicBlock& entry = fn->getEntryBlock();
    llvm::IRBuilder<> first(&entry, entry.begin());
    auto* room =
        first.CreateAlloca(llvm::ArrayType::get(unit.i8, std::uint64_t(std::max<std::int64_t>(bytes, 1))));
    room->setAlignment(llvm::Align(std::uint64_t(std::max<std::int64_t>(align, 8))));
    return room;
}

llvm::Value* Emitter::spill(const Type* t, const Leaves& v) {
    llvm::Value* room = slot(size_of(t), align_of(t));
    if (t->is_struct() &&
        !t->holds_builder)  // keys are compared as bytes: padding must be the same each time
        ir.CreateMemSet(room, ir.getInt8(0), std::uint64_t(size_of(t)), llvm::MaybeAlign(8));
    store(t, v, room);
    return room;
}

// ---- calls and failures --------------------------------------------------------------------------------

llvm::Value* Emitter::call(llvm::StringRef entry, llvm::ArrayRef<llvm::Value*> args) {
    return ir.CreateCall(unit.entry(entry), args);
}

void Emitter::call_checked(llvm::StringRef entry, llvm::ArrayRef<llvm::Value*> args) {
    leave_if(ir.CreateIsNotNull(call(entry, args)));
}

llvm::Value* Emitter::call_pointer(llvm::StringRef entry, llvm::ArrayRef<llvm::Value*> args) {
    llvm::Value* p = call(entry, args);
    leave_if(ir.CreateIsNull(p));
    return p;
}

llvm::Value* Emitter::alloc(llvm::Value* count, std::int64_t elem_size, Loc loc) {
    return call_pointer("weld_rt_alloc", {task, count, c64(elem_size), at(loc)});
}

llvm::BasicBlock* Emitter::block(const char* name) { return llvm::BasicBlock::Create(unit.ctx, name, fn); }

llvm::BasicBlock* Emitter::fail_exit() {
    if (!fail_exit_) {
        fail_exit_ = block("failed");
        llvm::Constant* status = c32(1);
        if (auto* all = llvm::dyn_cast<llvm::StructType>(fn->getReturnType())) {
            std::vector<llvm::Constant*> fields = {status};
            for (unsigned i = 1; i < all->getNumElements(); ++i)
                fields.push_back(llvm::PoisonValue::get(all->getElementType(i)));
            status = llvm::ConstantStruct::get(all, fields);
        }
        llvm::ReturnInst::Create(unit.ctx, status, fail_exit_);
    }
    return fail_exit_;
}

llvm::MDNode* rarely(llvm::LLVMContext& ctx) { return llvm::MDBuilder(ctx).createBranchWeights(1, 1 << 20); }

void Emitter::leave_if(llvm::Value* cond) {
    auto* on = block("on");
    ir.CreateCondBr(cond, fail_exit(), on, rarely(unit.ctx));
    ir.SetInsertPoint(on);
}

void Emitter::fail_if(llvm::Value* cond, int code, Loc loc, llvm::Value* a, llvm::Value* b) {
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(cond); known && known->isZero()) return;
    auto* fails = block("fails");
    auto* on = block("on");
    ir.CreateCondBr(cond, fails, on, rarely(unit.ctx));
    ir.SetInsertPoint(fails);
    call("weld_rt_fail_at", {task, c32(code), at(loc), a ? a : c64(0), b ? b : c64(0)});
    ir.CreateBr(fail_exit());
    ir.SetInsertPoint(on);
}

void Emitter::unlikely(llvm::Value* cond, const std::function<void()>& then) {
    auto* detour = block("detour");
    auto* on = block("on");
    ir.CreateCondBr(cond, detour, on, rarely(unit.ctx));
    ir.SetInsertPoint(detour);
    then();
    ir.CreateBr(on);
    ir.SetInsertPoint(on);
}

void Emitter::stop_check(Loc loc) {
    auto* flag = llvm::cast<llvm::LoadInst>(load(fields::Task::stop, task));
    flag->setMetadata(llvm::LLVMContext::MD_invariant_load,  // a task keeps it: loops read it once
                      llvm::MDNode::get(unit.ctx, {}));
    llvm::LoadInst* stop = ir.CreateAlignedLoad(unit.i32, flag, llvm::Align(4), true);
    stop->setAtomic(llvm::AtomicOrdering::Monotonic);  // others set it while we run
    unlikely(ir.CreateIsNotNull(stop), [&] { call_checked("weld_rt_stopped", {task, at(loc)}); });
}

void Emitter::collect_check(const Type* state, const std::function<Leaves()>& value) {
    llvm::Value* debt = load(fields::Task::debt, task);
    unlikely(ir.CreateICmpSGT(debt, c64(0)),
             [&] { call("weld_rt_collect", {task, spill(state, value()), unit.describe(state)}); });
}

void Emitter::collect_but(std::span<const Symbol* const> symbols) {
    std::vector<const Type*> types;
    Leaves all;
    for (const Symbol* s : symbols) {
        const auto at = names.find(s);
        if (at == names.end()) continue;  // constants are no memory of the run
        types.push_back(s->type);
        all.append(at->second);
    }
    collect_check(unit.new_types.structure(types), [&] { return all; });
}

}  // namespace weld::codegen
