// `for`: in place, and in functions of their own.
//
// A loop is emitted as a function over a part of its range (outlined), which the runtime calls once per
// chunk. A loop that a pass marked with `@(short:n)` is also emitted in place, on the state in registers, for
// when it has so few iterations that a call costs more than it brings. Which of the two runs depends on the
// count alone:
//
//        make_plan: data evaluated, lengths compared, iterations counted       (loop_plan.cpp)
//            |
//            v
//     count <= short? --- yes ---> in place: reserve, emit_rounds on registers ----------------+
//            | no                                                                              |
//            v                                                                                 v
//     state -> frame                   chunk 0: loop_0(task, captures, piece, 0, 4096)     the state
//     weld_rt_loop(task, record,  ---> chunk 1: loop_0(task, captures, piece, 4096, 8192)  after the loop
//       captures, state, count)        ...      each: emit_rounds over its [lo, hi)            ^
//            |                         pieces are combined in the order of chunks              |
//            +---> frame -> state -------------------------------------------------------------+
//
// For example, in
//
//     |v: vec[f64], f: f64| result(for(v, merger[f64,+], |b, i, x| merge(b, x * f)))
//
// the plan has one datum, {v.data, v.len}, and the count v.len. Captures are what the function needs of the
// one around it: first the leaves of the plan (v.data, v.len), then those of the symbols that the body reads
// (f). The record is a constant WeldLoop (weld_abi.h): {loop_0, merger[f64,+], cost, multiple, ...}. The
// function unpacks the captures, binds `f`, and runs emit_rounds, which knows how rounds are done
// (rounds.cpp): over lanes, by turns on several accumulators, by tiles.
#include <algorithm>
#include <utility>

#include "codegen/captures.h"
#include "codegen/code_module.h"
#include "codegen/emit.h"
#include "codegen/loop_plan.h"
#include "codegen/quick.h"
#include "codegen/rounds.h"
#include "codegen/slab.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/traits.h"

namespace weld::codegen {

/// Appenders that go over a datum of the loop start with its memory, which is as long as they will be.
static void lay_over(const Emitter& e, const LoopPlan& plan, const Expr* start, llvm::Value** state) {
    if (start->op == Op::MakeStruct)
        for (std::size_t i = 0; i < start->num_args; ++i)
            lay_over(e, plan, start->arg(i), state + e.field_offset(start->type, i));
    const Annotation* over = start->op == Op::NewBuilder ? start->annotation(AttrKey::Over) : nullptr;
    if (!over) return;
    const Leaves& vec = plan.data[std::size_t(over->number)].vec;
    state[0] = vec[0];
    state[2] = vec[1];
}

/// For `count` rounds that append `each`; none if that is no number of elements: then some round fails.
static llvm::Value* room_for(Emitter& e, llvm::Value* count, llvm::Value* each) {
    constexpr std::int64_t most = std::int64_t(1) << 40;
    llvm::Value* fits = e.ir.CreateICmpULE(each, e.c64(most));  // counts of loops in place are far smaller
    return e.ir.CreateMul(count, e.ir.CreateSelect(fits, each, e.c64(0)));
}

/// How many values a round of a loop may append to a slab; 0: to none.
static std::int64_t most_in_slab(const Expr* loop) {
    return std::max(chosen(loop, AttrKey::Slab, 0), chosen(loop, AttrKey::Scratch, 0));
}

/// Elements that the loop needs room for in its appender number `k`; null if that is not known.
static llvm::Value* need_of(Emitter& e, const LoopPlan& plan, int k) {
    if (llvm::Value* given = plan.given[std::size_t(k)]) return room_for(e, plan.count, given);
    const std::int64_t each = plan.appends[std::size_t(k)];
    const std::int64_t most = most_in_slab(plan.f.node);
    if (each == 0 || (each < 0 && !most)) return nullptr;
    const std::int64_t of_element = plan.by_elements ? (most - 1) / plan.step + 1 : most;
    llvm::Value* all = e.ir.CreateMul(plan.count, e.c64(each > 0 ? each : of_element));
    return most && plan.step > 1 ? e.ir.CreateAdd(all, e.c64(most)) : all;  // lanes are written whole
}

/// Makes room in the appenders of `state` that take a known number of values per iteration.
static Leaves reserve(Emitter& e, const LoopPlan& plan, Leaves state) {
    const Type* type = plan.f.builder()->type;
    const Slab* slab = slab_of(plan.f.node);
    for_each_builder(e, type, [&](const Type* b, int first, int k) {
        const Type* elem = kept_merges(b);
        llvm::Value* need = elem ? need_of(e, plan, k) : nullptr;
        if (!need) return;
        auto* at = &state[std::size_t(first)];
        if (e.num_leaves(b) == 1) {  // a pointer at its array
            e.call_checked("weld_rt_appender_grow",
                           {e.task, at[0], need, e.c64(size_of(elem)), e.at(plan.f.node->loc)});
            return;
        }
        const Leaves old(at, at + e.num_leaves(b));
        const Leaves grown = e.emit_if(
            e.ir.CreateICmpSLT(e.ir.CreateSub(at[2], at[1]), need),
            [&] {
                return slab ? grown_in_slab(e, *slab, elem, old, need, plan.f.node->loc)
                            : e.grow_array(b, old, need, plan.f.node->loc);
            },
            [&] { return old; });
        std::ranges::copy(grown, at);
    });
    return state;
}

/// Says so to tables that begin with the loop where it has few rounds.
static void expect_few_rounds(Emitter& e, const LoopPlan& plan, const Leaves& state) {
    constexpr std::int64_t few = 256;
    const Type* type = plan.f.builder()->type;
    if (plan.f.builder()->op != Op::NewBuilder || !type->is_builder(BuilderKind::DictMerger)) return;
    const std::int64_t elements = plan.by_elements ? few : few / plan.step;
    const auto say = [&]() -> Leaves {
        e.call("weld_rt_dict_of_few", {e.task, state[0]});
        return {};
    };
    e.emit_if(e.ir.CreateICmpSLE(plan.count, e.c64(elements)), say, [] { return Leaves{}; });
}

/// The state of a loop whose appenders lie in slabs, after it.
static Leaves shrunk(Emitter& e, const LoopPlan& plan, Leaves state) {
    for_each_builder(e, plan.f.builder()->type, [&](const Type* b, int first, int k) {
        const bool is_full = plan.step == 1 && plan.appends[std::size_t(k)] >= 0;
        if (!kept_merges(b) || is_full) return;
        auto* at = &state[std::size_t(first)];
        std::ranges::copy(shrunk_in_slab(e, *slab_of(plan.f.node), kept_merges(b), Leaves(at, at + 3)), at);
    });
    return state;
}

/// Picoseconds that a loop in place may take without asking whether to stop.
constexpr std::int64_t kUnchecked = 1'000'000;

/// The function `(task, captures, state, lo, hi) -> status` for a loop; made once per loop.
static llvm::Function* loop_function(Emitter& caller, const LoopPlan& plan,
                                     const std::vector<const Symbol*>& symbols, const Leaves& captured) {
    const Annotation* when = plan.f.node->annotation(AttrKey::Optimize);  // at once, if nothing is said
    const bool large = when && when->text == "false";
    Unit& unit = large ? *caller.unit.once : caller.unit.loops;
    if (auto at = unit.loop_functions.find(plan.f.node); at != unit.loop_functions.end())
        return caller.unit.seen(at->second);
    llvm::Function* fn = unit.function("loop_", {unit.ptr, unit.ptr, unit.ptr, unit.i64, unit.i64});
    unit.loop_functions[plan.f.node] = fn;
    if (when && !large) unit.mark(fn);
    Emitter e(unit, fn, fn->getArg(0));
    e.loop_depth = caller.loop_depth;
    const Leaves values = unpack(e, fn->getArg(1), captured);
    const std::size_t own = leaves_of(plan).size();
    const LoopPlan here = moved(plan, Leaves(values.begin(), values.begin() + own));
    bind_names(e, caller, symbols, llvm::ArrayRef<llvm::Value*>(values).drop_front(own));
    const Type* type = plan.f.builder()->type;
    const bool region = may_leave_memory(plan.f.body().body());
    if (region) e.call("weld_rt_region_enter", {e.task});
    const Leaves state = emit_rounds(e, here, fn->getArg(3), fn->getArg(4), e.load(type, fn->getArg(2)),
                                     {.may_be_long = true, .collect = region});
    e.store(type, state, fn->getArg(2));
    if (region) e.call("weld_rt_region_exit", {e.task});
    e.ir.CreateRet(e.c32(0));
    return caller.unit.seen(fn);
}

/// By appender of the loop, depth first: how many values each iteration merges, or null where that varies.
static std::vector<llvm::Value*> appends_of(Emitter& e, const LoopPlan& plan) {
    std::vector<llvm::Value*> appends;
    for_each_builder(e, plan.f.builder()->type, [&](const Type* b, int, int k) {
        if (!kept_merges(b)) return;
        llvm::Value* given = plan.given[std::size_t(k)];
        appends.push_back(given ? given : e.c64(plan.appends[std::size_t(k)]));
    });
    return appends;
}

/// A WeldLoop; constant, unless the program gives numbers of merges, or says what it costs.
static llvm::Value* loop_record(Emitter& e, const LoopPlan& plan, llvm::Function* body) {
    Unit& unit = e.unit;
    const auto i64 = [&](std::int64_t v) { return llvm::ConstantInt::getSigned(unit.i64, v); };
    const auto i32 = [&](std::int64_t v) { return llvm::ConstantInt::getSigned(unit.i32, v); };
    const Type* type = plan.f.builder()->type;
    const auto array = [&](auto numbers) -> llvm::Constant* {
        if (numbers.empty()) return llvm::ConstantPointerNull::get(unit.ptr);
        return unit.global(llvm::ConstantDataArray::get(unit.ctx, numbers));
    };
    const std::vector<llvm::Value*> appends = appends_of(e, plan);
    std::vector<std::uint64_t> known;
    for (llvm::Value* n : appends) {
        const auto* number = llvm::dyn_cast<llvm::ConstantInt>(n);
        known.push_back(number ? number->getZExtValue() : std::uint64_t(-1));
    }
    namespace loop = fields::Loop;
    const std::int64_t lanes = plan.by_elements ? 1 : plan.step;
    const std::int64_t multiple = plan.by_elements || lanes > 1 ? std::max<std::int64_t>(1, 64 / lanes) : 1;
    llvm::Constant* record = unit.global(
        unit.record(loop::kAll, {{loop::body, body},
                                 {loop::state, unit.describe(type)},
                                 {loop::cost, i64(plan.cost)},
                                 {loop::multiple, i64(multiple)},
                                 {loop::parallel, i32(plan.f.node->says(AttrKey::Parallel, true))},
                                 {loop::loc, i32(std::int32_t(plan.f.node->loc.offset))},
                                 {loop::appends, array(llvm::ArrayRef(known))},
                                 {loop::number, i64(loop_number(*body))}}));
    const bool counts_appends = !std::ranges::all_of(appends, llvm::IsaPred<llvm::ConstantInt>);
    if (!counts_appends && !plan.work) return record;
    llvm::Value* filled = e.slot(sizeof(WeldLoop), 8);
    e.ir.CreateMemCpy(filled, llvm::Align(8), record, llvm::Align(8), sizeof(WeldLoop));
    if (plan.work) e.store(loop::cost, plan.work, filled);
    if (!counts_appends) return filled;
    llvm::Value* numbers = e.slot(8 * std::int64_t(appends.size()), 8);
    for (std::size_t k = 0; k < appends.size(); ++k)
        e.ir.CreateStore(appends[k], e.address(numbers, 8 * std::int64_t(k)));
    e.store(loop::appends, numbers, filled);
    return filled;
}

Leaves Emitter::emit_for(For f) {
    if (does_nothing(f)) {
        make_plan(*this, f, {});  // which compares lengths
        return emit(f.builder());
    }
    const For rest = f.node->annotation(AttrKey::Tail) ? f : For{};
    if (rest) f = rest.builder()->as<For>();
    const LoopPlan plan = make_plan(*this, f, rest);
    Leaves state = emit(f.builder());
    lay_over(*this, plan, f.builder(), state.data());
    const Type* type = f.builder()->type;
    const auto outlined = [&]() -> Leaves {
        std::vector<const Symbol*> symbols = captures(unit, f.body().node);
        if (plan.one_by_one)
            for (const Symbol* s : captures(unit, rest.body().node))
                if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) symbols.push_back(s);
        Leaves captured = leaves_of(plan);
        captured.append(leaves_of(*this, symbols));
        llvm::Function* body = loop_function(*this, plan, symbols, captured);
        llvm::Value* room = slot(size_of(type), align_of(type));
        store(type, state, room);
        call_checked("weld_rt_loop",
                     {task, loop_record(*this, plan, body), pack(*this, captured), room, plan.count});
        return load(type, room);
    };
    const Expr* whole = plan.one_by_one ? rest.node : f.node;
    const Annotation* short_rounds = whole->annotation(AttrKey::Short);
    const bool always = short_rounds && short_rounds->text == "all";
    // Of elements, where the last round of lanes may be partial.
    const std::int64_t most_in_place = chosen(whole, AttrKey::Short, 0) * (plan.by_elements ? plan.step : 1);
    if (!most_in_place && !always) return outlined();
    const auto in_place = [&]() -> Leaves {
        const auto check = [&]() -> Leaves {
            stop_check(f.node->loc);
            return {};
        };
        // What takes no time to speak of is left to the loop around.
        const std::int64_t rounds = (kUnchecked / plan.cost + 1) * (plan.by_elements ? plan.step : 1);
        emit_if(ir.CreateICmpSGE(plan.count, c64(rounds)), check, [] { return Leaves{}; }, rarely(unit.ctx));
        expect_few_rounds(*this, plan, state);
        const LoopPlan& short_one = plan.one_by_one ? *plan.one_by_one : plan;
        const bool in_slab = slab_of(f.node);
        const Leaves after = emit_rounds(*this, short_one, c64(0), plan.count, reserve(*this, plan, state),
                                         {.has_slack = in_slab});
        return in_slab ? shrunk(*this, short_one, after) : after;
    };
    if (always) return in_place();
    llvm::Value* is_short = ir.CreateICmpSLE(plan.count, c64(most_in_place));
    if (plan.work) {
        llvm::Value* all =
            ir.CreateBinaryIntrinsic(llvm::Intrinsic::umul_with_overflow, plan.count, plan.work);
        llvm::Value* is_little =
            ir.CreateICmpULE(ir.CreateExtractValue(all, 0), c64(most_in_place * plan.cost));
        is_short = ir.CreateAnd(is_little, ir.CreateNot(ir.CreateExtractValue(all, 1)));
    }
    if (!plan.one_by_one) mark_for_quick(is_short);  // which merges in another order
    return emit_if(is_short, in_place, outlined);
}

}  // namespace weld::codegen
