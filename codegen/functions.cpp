// Module functions: how they are called, and the code of each.
//
// Parameters and results are leaves, in registers as far as there are any: `(task, leaves of the parameters)
// -> {status, leaves of the result}`. What would be too many of them goes through memory: a pointer to a C
// struct of the parameters, or to room for the result as the last parameter.
//
//     def f(x: i64, v: vec[f64]): f64 = …
// is
//     {i32, double} function_3(task, i64 x, ptr v.data, i64 v.len)
//
//     entry:  is the frame below the end of the stack?  then return what deeper_4 gives for the same
//             weld_rt_region_enter                      if it allocates
//     begin:  phis of the parameters                    if it ends in calls of itself: these jump here
//             …                                         a failure returns its status from where it is
//             weld_rt_region_exit                       what the result does not reach is freed
//             return {0, result}
//
// A function that begins as quick code (`@(function:later)`) calls, through weld_rt_function, one with the code
// and its parameters and result in memory.
//
// A function that may be deep in calls looks whether its frame is below the end of the stack; then
// weld_rt_deeper calls it once more elsewhere. A tail call of the function itself is a jump to its beginning;
// one of another function on the cycle of calls is a jump there. What a function has allocated is collected
// when it returns, if that is much.
#include <cstddef>

#include "codegen/emit.h"
#include "codegen/segments.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/traits.h"

namespace weld::codegen {

// ---- how a function is called

/// Leaves of a result that come back in registers.
static constexpr std::size_t kMostResults = 2;
/// In a long chain of functions one in so many looks where the stack ends.
static constexpr std::uint32_t kChain = 16;

void Unit::leaf_types(const Type* t, std::vector<llvm::Type*>* all) const {
    switch (t->kind) {
        case TypeKind::Scalar: all->push_back(lower(t->scalar)); return;
        case TypeKind::Simd: all->push_back(llvm::FixedVectorType::get(lower(t->scalar), t->lanes)); return;
        case TypeKind::Dict: all->push_back(ptr); return;
        case TypeKind::Vec: all->insert(all->end(), {ptr, i64}); return;
        case TypeKind::Struct:
            for (const Type* f : t->args) leaf_types(f, all);
            return;
        case TypeKind::Builder:
            if (is_value(info(t))) return leaf_types(t->elem(), all);
            all->push_back(ptr);
            all->insert(all->end(), std::size_t(info(t).words) - 1, i64);
            return;
        case TypeKind::Function: return;
    }
}

namespace {

struct Signature {
    llvm::FunctionType* type;
    bool params_in_memory = false, result_in_memory = false;
};

/// Leaves of builders are those outside of loops.
Signature signature_of(const Unit& unit, const weld::Function& f) {
    Signature s;
    std::vector<llvm::Type*> params, results;
    for (const Type* p : f.type->params()) unit.leaf_types(p, &params);
    unit.leaf_types(f.type->result(), &results);
    s.params_in_memory = has_params_in_memory(f.type);
    s.result_in_memory = results.size() > kMostResults ||
                         std::ranges::any_of(results, [](const llvm::Type* t) { return t->isVectorTy(); });
    if (s.params_in_memory) params = {unit.ptr};
    params.insert(params.begin(), unit.ptr);
    if (s.result_in_memory) params.push_back(unit.ptr);
    llvm::Type* result = unit.i32;
    if (!s.result_in_memory) {
        results.insert(results.begin(), unit.i32);
        result = llvm::StructType::get(unit.ctx, results);
    }
    s.type = llvm::FunctionType::get(result, params, false);
    return s;
}

const Type* params_of(Unit& unit, const weld::Function& f) {
    return unit.new_types.structure(f.type->params());
}

/// Calls `callee` with `args`, the leaves of its parameters in the form that they have outside of loops.
llvm::CallInst* call_leaves(Emitter& e, llvm::Function* callee, const Signature& s, const weld::Function& f,
                            const Leaves& args, llvm::Value* room) {
    Leaves all = {e.task};
    if (s.params_in_memory) all.push_back(e.spill(params_of(e.unit, f), args));
    else all.append(args);
    if (s.result_in_memory) all.push_back(room);
    llvm::CallInst* call = e.ir.CreateCall(callee, all);
    call->setCallingConv(callee->getCallingConv());
    return call;
}

/// The leaves of the result that such a call gave; leaves if it failed.
Leaves result_of(Emitter& e, llvm::CallInst* call, const Signature& s, const Type* type, llvm::Value* room) {
    llvm::Value* status = s.result_in_memory ? call : e.ir.CreateExtractValue(call, 0);
    e.leave_if(e.ir.CreateIsNotNull(status));
    if (s.result_in_memory) return e.load(type, room);
    Leaves all;
    for (unsigned i = 1; i < s.type->getReturnType()->getStructNumElements(); ++i)
        all.push_back(e.ir.CreateExtractValue(call, i));
    return all;
}

/// Returns `result` from a function of this signature.
void give_back(Emitter& e, const Signature& s, const Type* type, const Leaves& result) {
    if (s.result_in_memory) {
        e.store(type, result, e.fn->getArg(e.fn->arg_size() - 1));
        e.ir.CreateRet(e.c32(0));
        return;
    }
    llvm::Value* all = llvm::PoisonValue::get(s.type->getReturnType());
    all = e.ir.CreateInsertValue(all, e.c32(0), 0);
    for (unsigned i = 0; i < result.size(); ++i) all = e.ir.CreateInsertValue(all, result[i], i + 1);
    e.ir.CreateRet(all);
}

Leaves args_of(Emitter& e, const Signature& s, const weld::Function& f) {
    if (s.params_in_memory) return e.load(params_of(e.unit, f), e.fn->getArg(1));
    Leaves all;
    const unsigned end = unsigned(e.fn->arg_size()) - s.result_in_memory;
    for (unsigned i = 1; i < end; ++i) all.push_back(e.fn->getArg(i));
    return all;
}

/// The code of a function of this signature that has somebody else compute its result: with its arguments
/// in memory, and room for the result.
template <class Compute>
void by_memory(Emitter& e, const Signature& s, const weld::Function& f, const Compute& compute) {
    const Type *params = params_of(e.unit, f), *type = f.type->result();
    llvm::Value* args = s.params_in_memory ? e.fn->getArg(1) : e.spill(params, args_of(e, s, f));
    llvm::Value* room = s.result_in_memory ? e.fn->getArg(unsigned(e.fn->arg_size()) - 1)
                                           : e.slot(size_of(type), align_of(type));
    compute(args, room);
    give_back(e, s, type, e.load(type, room));
}

}  // namespace

// ---- calls

Leaves Emitter::outside_of_loops(const Type* t, const Leaves& v) {
    if (!t->holds_builder || lanes == Lanes{}) return v;
    llvm::Value* room = spill(t, v);
    const Lanes inside = std::exchange(lanes, {});
    const Leaves plain = load(t, room);
    lanes = inside;
    return plain;
}

Leaves Emitter::inside_of_loop(const Type* t, const Leaves& v) {
    if (!t->holds_builder || lanes == Lanes{}) return v;
    const Lanes inside = std::exchange(lanes, {});
    llvm::Value* room = spill(t, v);
    lanes = inside;
    return load(t, room);
}

static Leaves emit_args(Emitter& e, Call c) {
    Leaves all;
    for (const Expr* a : c.args()) all.append(e.outside_of_loops(a->type, e.emit(a)));
    return all;
}

/// The vectors that `t` holds, in leaves.
static void visit_vectors(Emitter& e, const Type* t, llvm::ArrayRef<llvm::Value*> leaves,
                          const std::function<void(llvm::Value*)>& fn) {
    if (t->is_vec()) fn(leaves[0]);
    if (!t->is_struct()) return;
    for (std::size_t i = 0; i < t->args.size(); ++i)
        visit_vectors(e, t->args[i], leaves.drop_front(std::size_t(e.field_offset(t, i))), fn);
}

/// Gives memory to the region that the callee enters. What stays is returned, to be freed when the callee
/// returns.
static Leaves emit_gives(Emitter& e, Call c) {
    Leaves kept;
    if (const Annotation* given = c.node->annotation(AttrKey::Give))
        for (const Symbol* s : given->symbols)
            visit_vectors(e, s->type, e.names.at(s), [&](llvm::Value* data) {
                llvm::Value* stays = e.call("weld_rt_give", {e.task, data});
                if (!e.unit.is_param(s)) kept.push_back(stays);
            });
    return kept;
}

Leaves Emitter::emit_call(Call c) {
    const Signature s = signature_of(unit, c.function());
    const Leaves args = emit_args(*this, c);
    const Type* type = c.node->type;
    llvm::Value* room = s.result_in_memory ? slot(size_of(type), align_of(type)) : nullptr;
    const Leaves kept = emit_gives(*this, c);
    const Lanes inside = std::exchange(lanes, {});
    const Leaves result =
        result_of(*this, call_leaves(*this, unit.function_of(c.function()), s, c.function(), args, room), s,
                  type, room);
    for (llvm::Value* data : kept) call("weld_rt_free", {task, data});
    lanes = inside;
    return inside_of_loop(type, result);
}

// ---- the code of a function

namespace {

class FunctionEmitter {
  public:
    FunctionEmitter(Unit& home, const weld::Function& f, llvm::Function* to, const Signature& signature)
        : f_(f),
          lambda_(f.lambda->as<Lambda>()),
          signature_(signature),
          e_(home, to, to->getArg(0)),
          region_(may_allocate(lambda_.body())) {
        e_.loop_depth = f.summary.repeated ? 1 : 0;
    }

    void emit() {
        Leaves args = args_of(e_, signature_, f_);
        if (f_.summary.recursive || f_.summary.height % kChain == kChain - 1) look_at_stack(args);
        if (region_) e_.call("weld_rt_region_enter", {e_.task});
        auto* before = e_.ir.GetInsertBlock();
        begin_ = e_.block("begin");
        e_.ir.CreateBr(begin_);
        e_.ir.SetInsertPoint(begin_);
        const bool jumps = jumps_to(lambda_.body(), &f_);
        for (std::size_t k = 0; jumps && k < args.size(); ++k) {
            params_.push_back(e_.ir.CreatePHI(args[k]->getType(), 2));
            params_.back()->addIncoming(args[k], before);
            args[k] = params_.back();
        }
        bind(args);
        if (f_.summary.recursive) e_.stop_check(lambda_.node->loc);
        last(lambda_.body());
    }

  private:
    void bind(const Leaves& args) {
        std::size_t at = 0;
        for (const Symbol* p : lambda_.params()) {
            const auto n = std::size_t(e_.num_leaves(p->type));
            e_.names[p] = Leaves(args.begin() + at, args.begin() + at + n);
            at += n;
        }
    }

    // -- the stack

    void look_at_stack(const Leaves& args) {
        Unit& u = e_.unit;
        llvm::Value* frame = e_.ir.CreateIntrinsic(llvm::Intrinsic::frameaddress, {u.ptr}, {e_.c32(0)});
        llvm::Value* end = e_.load(fields::Task::stack_end, e_.task);
        e_.unlikely(e_.ir.CreateICmpULT(frame, end), [&] {
            Leaves all = {e_.task};
            if (signature_.params_in_memory) all.push_back(e_.fn->getArg(1));
            else all.append(args);
            if (signature_.result_in_memory) all.push_back(e_.fn->getArg(e_.fn->arg_size() - 1));
            llvm::CallInst* call = e_.ir.CreateCall(deeper(), all);
            call->setCallingConv(e_.fn->getCallingConv());
            e_.ir.CreateRet(call);
            e_.ir.SetInsertPoint(e_.block("never"));
        });
    }

    /// A function of the same signature that calls this one through weld_rt_deeper. It is apart, so that its
    /// room for arguments is in no other frame.
    llvm::Function* deeper() {
        Unit& u = e_.unit;
        llvm::Function* f = u.function("deeper_", signature_.type);
        f->setCallingConv(e_.fn->getCallingConv());
        f->addFnAttr(llvm::Attribute::Cold);
        f->addFnAttr(llvm::Attribute::NoInline);
        Emitter d(u, f, f->getArg(0));
        by_memory(d, signature_, f_, [&](llvm::Value* args, llvm::Value* room) {
            d.call_checked("weld_rt_deeper", {d.task, through_memory(), args, room, d.at(lambda_.node->loc)});
        });
        return f;
    }

    /// The function as a WeldFunctionFn.
    llvm::Function* through_memory() {
        Unit& u = e_.unit;
        llvm::Function* f = u.function("through_memory_", {u.ptr, u.ptr, u.ptr});
        f->addFnAttr(llvm::Attribute::Cold);
        Emitter t(u, f, f->getArg(0));
        const Leaves args = t.load(params_of(u, f_), f->getArg(1));
        const Type* type = f_.type->result();
        const Leaves result = result_of(t, call_leaves(t, e_.fn, signature_, f_, args, f->getArg(2)),
                                        signature_, type, f->getArg(2));
        t.store(type, result, f->getArg(2));
        t.ir.CreateRet(t.c32(0));
        return f;
    }

    // -- the last thing that the function does

    /// `call` is emitted as a jump.
    bool is_jump(Call call) const {
        if (!call || !call.node->says(AttrKey::TailCall, true)) return false;
        const weld::Function& callee = call.function();
        if (&callee == &f_) return true;
        return callee.summary.mutual && callee.summary.cycle == f_.summary.cycle &&
               !signature_of(e_.unit, callee).params_in_memory;
    }

    /// `e` ends in a jump, to `to` if that is given.
    bool jumps_to(const Expr* e, const weld::Function* to = nullptr) const {
        switch (e->op) {
            case Op::Call: return is_jump(e->as<Call>()) && (!to || to == &e->as<Call>().function());
            case Op::If: return jumps_to(e->arg(1), to) || jumps_to(e->arg(2), to);
            case Op::And:
            case Op::Or: return jumps_to(e->arg(1), to);
            case Op::Block: return jumps_to(e->as<Block>().result(), to);
            default: return false;
        }
    }

    /// Emits `e`, whose value is that of the function, and leaves.
    void last(const Expr* e) {
        if (!jumps_to(e)) return leave(e_.emit(e));
        switch (e->op) {
            case Op::Block: e_.emit_lets_of(e->as<Block>()); return last(e->as<Block>().result());
            case Op::If: return either(e->arg(0), [&] { last(e->arg(1)); }, [&] { last(e->arg(2)); });
            case Op::And:
                return either(e->arg(0), [&] { last(e->arg(1)); }, [&] { leave({e_.ir.getFalse()}); });
            case Op::Or:
                return either(e->arg(0), [&] { leave({e_.ir.getTrue()}); }, [&] { last(e->arg(1)); });
            default: return jump(e->as<Call>());
        }
    }

    template <class Then, class Otherwise>
    void either(const Expr* cond, const Then& then, const Otherwise& otherwise) {
        auto *yes = e_.block("then"), *no = e_.block("else");
        e_.ir.CreateCondBr(e_.emit1(cond), yes, no);
        e_.ir.SetInsertPoint(yes);
        then();
        e_.ir.SetInsertPoint(no);
        otherwise();
    }

    void leave(const Leaves& result) {
        const Type* type = f_.type->result();
        end_region(type, result);
        give_back(e_, signature_, type, result);
    }

    void jump(Call call) {
        const Leaves args = emit_args(e_, call);
        const weld::Function& callee = call.function();
        if (&callee == &f_) {
            if (region_) e_.collect_check(params_of(e_.unit, f_), [&] { return args; });
            for (std::size_t k = 0; k < args.size(); ++k)
                params_[k]->addIncoming(args[k], e_.ir.GetInsertBlock());
            e_.ir.CreateBr(begin_);
            return;
        }
        end_region(params_of(e_.unit, callee), args);
        emit_gives(e_, call);
        const Signature s = signature_of(e_.unit, callee);
        llvm::Value* room = s.result_in_memory ? e_.fn->getArg(unsigned(e_.fn->arg_size()) - 1) : nullptr;
        llvm::CallInst* c = call_leaves(e_, e_.unit.function_of(callee), s, callee, args, room);
        c->setTailCallKind(llvm::CallInst::TCK_MustTail);
        e_.ir.CreateRet(c);
    }

    /// Frees what the function allocated and `value` does not reach; the rest belongs to the caller.
    void end_region(const Type* type, const Leaves& value) {
        if (!region_) return;
        e_.collect_check(type, [&] { return value; });
        e_.call("weld_rt_region_exit", {e_.task});
    }

    const weld::Function& f_;
    const Lambda lambda_;
    const Signature signature_;
    Emitter e_;
    const bool region_;
    llvm::BasicBlock* begin_ = nullptr;
    std::vector<llvm::PHINode*> params_;  ///< of `begin_`, if there are jumps to it
};

/// `to` calls the function by way of the runtime, which knows the best code that there is.
void emit_by_runtime(Unit& loops, const weld::Function& f, llvm::Function* to) {
    llvm::Function* body = loops.function("body_", {loops.ptr, loops.ptr, loops.ptr});
    loops.mark(body);
    const Signature s = {.type = body->getFunctionType(), .params_in_memory = true, .result_in_memory = true};
    FunctionEmitter(loops, f, body, s).emit();
    Unit& once = *loops.once;
    Emitter e(once, to, to->getArg(0));
    by_memory(e, signature_of(once, f), f, [&](llvm::Value* args, llvm::Value* room) {
        e.call_checked("weld_rt_function", {e.task, once.call_record(once.seen(body)), args, room});
    });
}

}  // namespace

llvm::Function* Unit::function_of(const weld::Function& f) {
    if (&loops != this) return seen(loops.function_of(f));
    llvm::Function*& known = functions_[&f];
    if (known) return seen(known);
    const Signature signature = signature_of(*this, f);
    Unit& home = optimised(f.lambda->as<Lambda>()) == Optimised::AtOnce ? *this : *once;
    for (const Symbol* p : f.lambda->as<Lambda>().params()) params_.insert(p);
    known = home.function("function_", signature.type);
    if (f.summary.mutual) known->setCallingConv(llvm::CallingConv::Tail);
    pending_.push_back({&f, &home});
    return seen(known);
}

void Unit::emit_functions() {
    while (!pending_.empty()) {
        const auto [f, home] = pending_.back();
        pending_.pop_back();
        llvm::Function* to = functions_[f];
        if (optimised(f->lambda->as<Lambda>()) == Optimised::Later) emit_by_runtime(*this, *f, to);
        else FunctionEmitter(*home, *f, to, signature_of(*home, *f)).emit();
    }
}

}  // namespace weld::codegen
