// Rounds of a loop that a condition selects, by blocks:
//
//     @(selection:N)      first note the rounds in which the condition holds, then do these; with `unasked:M` up to M
//                         blocks are done whole where that is most rounds
//     @(skip:N)           of rounds on lanes: first ask in which any lane passes; where these are few, do them alone

#include <algorithm>

#include "codegen/builders/tables.h"
#include "codegen/range_emitter.h"

namespace weld::codegen {

/// Rounds of those that are selected: so long before keys are read, the elements they are read from are asked for.
static constexpr std::int64_t kElementsAhead = 16;

static llvm::Value* load_shared(Emitter& e, llvm::Value* at) {
    llvm::LoadInst* load = e.ir.CreateAlignedLoad(e.unit.i64, at, llvm::Align(8));
    load->setAtomic(llvm::AtomicOrdering::Monotonic);
    return load;
}
static void store_shared(Emitter& e, llvm::Value* at, llvm::Value* value) {
    e.ir.CreateAlignedStore(value, at, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Monotonic);
}

/// Blocks that go by without being asked something, since asking was in vain.
struct Waits {
    llvm::Value* left = nullptr;   ///< so many more
    llvm::Value* first = nullptr;  ///< so many in all, since the last that was asked
    std::int64_t most = 0;
};
static llvm::Value* asks(Emitter& e, const Waits& w) { return e.ir.CreateICmpEQ(w.left, e.c64(0)); }
/// `left` and `first` after a block: after one that was asked in vain, twice as many as before.
static Leaves waits_after(Emitter& e, const Waits& w, llvm::Value* in_vain) {
    auto& ir = e.ir;
    llvm::Value* more = ir.CreateOr(ir.CreateShl(w.first, 1), e.c64(1));
    more = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, more, e.c64(w.most));
    more = ir.CreateSelect(in_vain, more, e.c64(0));
    return {ir.CreateSelect(asks(e, w), more, ir.CreateSub(w.left, e.c64(1))),
            ir.CreateSelect(asks(e, w), more, w.first)};
}

/// fn(0, ...), fn(1, ...), ... for the places in `bits` that are set, in order, each with the state that the one before gives.
static Leaves each_bit(Emitter& e, llvm::Value* bits, Leaves state,
                       const std::function<Leaves(llvm::Value* k, llvm::Value* bit, const Leaves&)>& fn) {
    auto& ir = e.ir;
    state.push_back(bits);
    const std::vector<bool> fixed(state.size(), false);
    const auto next = [&](llvm::Value* k, const Leaves& s) {
        llvm::Value* left = s.back();
        llvm::Value* bit = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, ir.getTrue());
        Leaves after = fn(k, bit, Leaves(s.begin(), s.end() - 1));
        after.push_back(ir.CreateAnd(left, ir.CreateSub(left, e.c64(1))));
        return after;
    };
    llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    Leaves last = e.counted_loop(e.c64(0), count, 1, state, fixed, next);
    last.pop_back();
    return last;
}

Leaves RangeEmitter::selected(llvm::Value* lo, llvm::Value* hi, const Leaves& state, Prefetches& prefetches,
                              bool collect) {
    auto& ir = e_.ir;
    const Filter filter = *filter_of(plan_.f);
    const std::int64_t size = plan_.f.node->annotation(AttrKey::Selection)->number;
    llvm::Type* number = ir.getInt16Ty();
    llvm::Value* numbers = e_.slot(2 * (size + 1), 64);
    const auto place = [&](llvm::Value* n) { return ir.CreateGEP(number, numbers, n); };
    const auto note = [&](llvm::Value* from, llvm::Value* i, llvm::Value* n) {
        begin(i);
        emit_lets_for(filter.cond, filter.lets);
        llvm::Value* holds = e_.emit1(filter.cond);
        if (!filter.wanted) holds = ir.CreateNot(holds);
        ir.CreateStore(ir.CreateTrunc(ir.CreateSub(i, from), number), place(n));
        return ir.CreateAdd(n, ir.CreateZExt(holds, ir.getInt64Ty()), "", true, true);
    };
    const std::vector<bool> fixed(state.size(), false);
    const Annotation* unasked = plan_.f.node->annotation(AttrKey::Unasked);
    Leaves begin_with = state;
    const Leaves kept = unasked ? kept_waits(filter.cond) : Leaves();
    for (llvm::Value* at : kept) begin_with.push_back(load_shared(e_, at));
    if (unasked && kept.empty()) begin_with.append({e_.c64(0), e_.c64(0)});
    const Leaves end = rounds(lo, hi, size, begin_with, [&](llvm::Value* from, const Leaves& now) {
        const Leaves before(now.begin(), now.begin() + std::ptrdiff_t(state.size()));
        llvm::Value* after = ir.CreateAdd(from, e_.c64(size), "", true, true);
        after = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, after, hi);
        const Leaves none = {e_.c64(0)};
        const auto note_one = [&](llvm::Value* i, const Leaves& n) { return Leaves{note(from, i, n[0])}; };
        const auto note_all = [&] {
            llvm::Value *at = from, *noted = none[0];
            if (const Datum* holds = is_datum(filter.cond)) {
                at = ir.CreateAnd(ir.CreateSub(after, from), e_.c64(~63));
                at = ir.CreateAdd(from, at, "", true, true);
                const auto lanes = [&](llvm::Value* i, const Leaves& n) {
                    return Leaves{note_lanes(*holds, filter.wanted, from, i, n[0], place)};
                };
                noted = e_.counted_loop(from, at, 64, none, {false}, lanes)[0];
            }
            return e_.counted_loop(at, after, 1, {noted}, {false}, note_one);
        };
        llvm::Value* all = ir.CreateSub(after, from, "", true, true);
        const auto note_each = [&]() -> Leaves {
            e_.counted_loop(none[0], all, 1, {}, {}, [&](llvm::Value* n, const Leaves&) -> Leaves {
                ir.CreateStore(ir.CreateTrunc(n, number), place(n));
                return {};
            });
            return {all};
        };
        Waits waits;
        if (unasked) waits = {now[state.size()], now[state.size() + 1], unasked->number};
        llvm::Value* count = (unasked ? e_.emit_if(asks(e_, waits), note_all, note_each) : note_all())[0];
        llvm::Value* last = ir.CreateSub(count, e_.c64(1));
        prefetches.start(e_);
        const auto round = [&](llvm::Value* n) {  // the first one for those before it, which only ask
            n = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, e_.c64(0));
            llvm::Value* in_block = ir.CreateZExt(ir.CreateLoad(number, place(n)), ir.getInt64Ty());
            return ir.CreateAdd(from, in_block, "", true, true);
        };
        const auto work = [&](llvm::Value* n, const Leaves& now) {
            e_.names[plan_.f.builder_param()] = now;
            begin(round(n));
            if (filter.lets) e_.emit_lets_of(filter.lets);
            const Leaves next = e_.emit(filter.work);
            if (collect) e_.collect_check(type_, [&] { return next; });
            return next;
        };
        // The first of these iterations only ask for memory.
        const std::int64_t lead = prefetches.lead();
        llvm::Value* ahead = e_.c64(lead + kElementsAhead);
        ahead = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ahead, count);
        const auto ask_and_work = [&](llvm::Value* asked, const Leaves& now) {
            llvm::Value* n = ir.CreateSub(asked, ahead, "", false, true);
            llvm::Value* there = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, asked, last);
            prefetch_unasked(filter, [&] { return round(there); });
            prefetches.emit(e_, n, last, now, [&](llvm::Value* at) { begin(round(at)); });
            llvm::Value* works = ir.CreateICmpSGE(n, e_.c64(0));
            return e_.emit_if(works, [&] { return work(n, now); }, [&] { return now; });
        };
        llvm::Value* in_all = ir.CreateAdd(count, ahead, "", true, true);
        Leaves next = e_.counted_loop(e_.c64(0), in_all, 1, before, fixed, ask_and_work);
        llvm::Value* most = ir.CreateICmpUGT(ir.CreateShl(count, 2), ir.CreateMul(all, e_.c64(3)));
        if (unasked) next.append(waits_after(e_, waits, most));
        return next;
    });
    for (std::size_t i = 0; i < kept.size(); ++i) store_shared(e_, kept[i], end[state.size() + i]);
    return Leaves(end.begin(), end.begin() + std::ptrdiff_t(state.size()));
}

Leaves RangeEmitter::kept_waits(const Expr* cond) {
    const Expr* bits = nullptr;
    visit(cond, [&](const Expr* e) {
        if (const KeyExists k = e->as<KeyExists>(); k && k.bits()) bits = k.bits();
    });
    if (!bits) return {};
    const Leaves words = e_.emit(bits);
    return {word_behind(e_, words, 0), word_behind(e_, words, 1)};
}

void RangeEmitter::prefetch_unasked(const Filter& filter, const std::function<llvm::Value*()>& at) {
    if (plan_.data.size() < 2) return;
    llvm::Value* i = nullptr;
    for (std::size_t k = 0; k < plan_.data.size(); ++k) {
        const Datum& d = plan_.data[k];
        if (d.vec.empty() || d.stride || !d.nd_shape.empty() || is_asked(filter, k)) continue;
        if (!i) i = at();
        const Type* elem = d.iter ? d.iter.data()->type->elem() : d.yields;
        e_.prefetch(e_.element(d.vec[0], elem, position(e_, plan_, d, i)));
    }
}

bool RangeEmitter::is_asked(const Filter& filter, std::size_t k) const {
    bool any = false;
    const auto look = [&](const Expr* e) {
        any |= e->op == Op::GetField && e->attr.index == k && is_var(e->arg(0), plan_.f.elem_param());
    };
    visit(filter.cond, look);
    for (std::size_t i = 0; filter.lets && i < filter.lets.size(); ++i) visit(filter.lets.value(i), look);
    return any;
}

const Datum* RangeEmitter::is_datum(const Expr* cond) const {
    const bool is_one = plan_.data.size() == 1 && is_var(cond, plan_.f.elem_param());
    if (!is_one && (cond->op != Op::GetField || !is_var(cond->arg(0), plan_.f.elem_param()))) return nullptr;
    const Datum& d = plan_.data[is_one ? 0 : std::size_t(cond->attr.index)];
    return d.vec.empty() || d.stride || !d.nd_shape.empty() || plan_.step != 1 ? nullptr : &d;
}

llvm::Value* RangeEmitter::note_lanes(const Datum& d, bool wanted, llvm::Value* from, llvm::Value* i,
                                      llvm::Value* n,
                                      const std::function<llvm::Value*(llvm::Value*)>& place) {
    auto& ir = e_.ir;
    auto* type = llvm::FixedVectorType::get(e_.unit.i8, 64);
    llvm::Value* at = e_.element(d.vec[0], d.yields, position(e_, plan_, d, i));
    llvm::Value* bools = ir.CreateAlignedLoad(type, at, llvm::Align(1));
    llvm::Value* none = llvm::Constant::getNullValue(type);
    llvm::Value* bits = ir.CreateICmp(wanted ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_EQ, bools, none);
    bits = ir.CreateBitCast(bits, ir.getInt64Ty());
    llvm::Value *first = ir.CreateSub(i, from),
                *count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    each_bit(e_, bits, {}, [&](llvm::Value* k, llvm::Value* lane, const Leaves&) -> Leaves {
        llvm::Value* number = ir.CreateTrunc(ir.CreateAdd(first, lane), ir.getInt16Ty());
        ir.CreateStore(number, place(ir.CreateAdd(n, k)));
        return {};
    });
    return ir.CreateAdd(n, count, "", true, true);
}

Leaves RangeEmitter::skipping(llvm::Value* lo, llvm::Value* hi, const Leaves& state, std::int64_t iterations,
                              const std::function<Leaves(llvm::Value*, const Leaves&)>& round,
                              const std::function<llvm::Value*(llvm::Value*)>& passes,
                              const std::function<void(llvm::Value*)>& prefetch) {
    constexpr std::int64_t blocks = 64;  // one behind the other, till it is asked again in any case
    auto& ir = e_.ir;
    const std::int64_t asked = plan_.f.node->annotation(AttrKey::Skip)->number / iterations;
    const std::int64_t size = std::min<std::int64_t>(asked, 64);  // a bit each
    const std::vector<bool> fixed(state.size(), false), with_more(state.size() + 2, false);
    llvm::Value* is_far = is_undemanded_far();
    const auto end_of = [&](llvm::Value* from, std::int64_t rounds, llvm::Value* most) {
        llvm::Value* end = ir.CreateAdd(from, e_.c64(rounds), "", true, true);
        return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, most);
    };
    const auto needed_in = [&](llvm::Value* from, llvm::Value* end) {  // a bit for each round
        const auto ask = [&](llvm::Value* r, const Leaves& bits) {
            llvm::Value* bit = ir.CreateZExt(passes(r), e_.unit.i64);
            return Leaves{ir.CreateOr(bits[0], ir.CreateShl(bit, ir.CreateSub(r, from)))};
        };
        return e_.counted_loop(from, end, 1, {e_.c64(0)}, {false}, ask)[0];
    };
    // Memory is read faster in order, and going over from the one to the other takes time.
    const auto are_few = [&](llvm::Value* needed, llvm::Value* is_first) {
        llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, needed);
        llvm::Value* first = ir.CreateSelect(is_far, e_.c64(size / 9), e_.c64(size / 3));
        llvm::Value* later = ir.CreateSelect(is_far, e_.c64(size / 6), e_.c64(size / 2));
        return ir.CreateICmpULE(count, ir.CreateSelect(is_first, first, later));
    };
    // `fn` for each round from `from` on that is needed.
    const auto each_of = [&](llvm::Value* needed, llvm::Value* from, const Leaves& now,
                             const std::function<Leaves(llvm::Value*, const Leaves&)>& fn) {
        return each_bit(e_, needed, now, [&](llvm::Value*, llvm::Value* bit, const Leaves& s) {
            return fn(ir.CreateAdd(from, bit, "", true, true), s);
        });
    };
    const auto all_blocks = [&](llvm::Value* begin, const Leaves& before) {
        llvm::Value *end = end_of(begin, blocks * size, hi), *few = nullptr;
        // A block whose rounds are few, while what those of the next one read comes from memory.
        const auto block = [&](llvm::Value* next_from, const Leaves& now) {
            llvm::Value* from = ir.CreateSub(next_from, e_.c64(size), "", false, true);
            llvm::Value* needed = needed_in(next_from, end_of(next_from, size, end));
            few = are_few(needed, ir.CreateICmpEQ(next_from, begin));
            const auto ask = [&](llvm::Value* r, const Leaves&) { return prefetch(r), Leaves{}; };
            e_.emit_if(few, [&] { return each_of(needed, next_from, {}, ask); }, [] { return Leaves{}; });
            Leaves next = each_of(now.back(), from, Leaves(now.begin(), now.end() - 2), round);
            next.append({next_from, needed});
            return next;
        };
        Leaves begin_with = before;
        begin_with.append({begin, e_.c64(0)});  // the first round that is left, and which are needed
        llvm::Value* behind = ir.CreateAdd(end, e_.c64(size), "", true, true);  // once for the last
        Leaves next = e_.counted_loop(begin, behind, size, begin_with, with_more, block, {},
                                      [&](const Leaves&) { return ir.CreateNot(few); });
        next.pop_back();
        llvm::Value* left = next.pop_back_val();
        return e_.counted_loop(left, end, 1, next, fixed, round);
    };
    return e_.counted_loop(lo, hi, blocks * size, state, fixed, all_blocks,
                           strip(blocks * size * iterations));
}

llvm::Value* RangeEmitter::is_undemanded_far() {
    constexpr std::int64_t cached = 32 << 20;  // bytes
    const Demand demand = *demand_of(plan_.f);
    llvm::Value* elements = e_.c64(0);
    std::int64_t bytes = 0;
    for (std::size_t k = 0; k < plan_.data.size(); ++k) {
        const Datum& d = plan_.data[k];
        if (demand.reads[k] || d.vec.empty()) continue;
        bytes += size_of((d.iter ? d.iter.data()->type : plan_.f.data()[k]->type)->elem());
        elements = d.vec[1];
    }
    return e_.ir.CreateICmpSGT(elements, e_.c64(bytes ? cached / bytes : 0));
}

void RangeEmitter::prefetch_undemanded(llvm::Value* i) {
    std::vector<bool> others = demand_of(plan_.f)->reads;
    others.flip();
    prefetch_elements(i, &others, 0, Cache::First);
}

llvm::Value* RangeEmitter::lanes_that_pass(llvm::Value* i) {
    const Demand demand = *demand_of(plan_.f);
    begin(i, &demand.reads);
    llvm::Value* all = nullptr;
    for (const Expr* cond : demand.conds) {
        emit_lets_for(cond, demand.lets);
        llvm::Value* holds = e_.emit1(cond);
        all = all ? e_.ir.CreateAnd(all, holds) : holds;
    }
    return e_.ir.CreateBitCast(all, e_.ir.getIntNTy(unsigned(plan_.step)));
}

void RangeEmitter::emit_lets_for(const Expr* e, Block lets) {
    if (!lets) return;
    std::vector<const Symbol*> read = free_symbols(e);
    std::vector<bool> needed(lets.size());
    for (std::size_t i = lets.size(); i-- > 0;) {
        needed[i] = std::ranges::find(read, lets.symbol(i)) != read.end();
        if (needed[i]) std::ranges::copy(free_symbols(lets.value(i)), std::back_inserter(read));
    }
    for (std::size_t i = 0; i < lets.size(); ++i)
        if (needed[i]) e_.names[lets.symbol(i)] = e_.emit(lets.value(i));
}

}  // namespace weld::codegen
