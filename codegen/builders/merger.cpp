// `merger[T,op]`: the scalars of its value; in loops over lanes also, for each of these, as many vectors as
// the loop has accumulators, which collect lanes.
#include <algorithm>
#include <utility>

#include <llvm/Analysis/VectorUtils.h>

#include "codegen/builders/code.h"
#include "codegen/lanes.h"

namespace weld::codegen {

static int leaves(const Emitter& e, const Type* t, Lanes form) {
    return e.num_leaves(t->elem(), form) * int(t->holds_simd ? 1 : 1 + form.accumulators);
}

static Leaves begin(Emitter& e, NewBuilder b, const Leaves& arg) {
    const Type* t = b.node->type;
    if (b.arg()) return arg;
    Leaves start;
    for_each_scalar(t->elem(), [&](Scalar s) { start.push_back(e.initial(t->op, s)); });
    if (t->holds_simd) start[0] = e.ir.CreateVectorSplat(t->elem()->lanes, start[0]);
    return start;
}

/// All accumulators combined.
static llvm::Value* joined(Emitter& e, MergeOp op, Scalar s, Leaves vectors, bool numbers) {
    for (std::size_t n = vectors.size(); n > 1; n /= 2)
        for (std::size_t i = 0; i < n / 2; ++i)
            vectors[i] = e.merge_into(op, s, vectors[i], vectors[i + n / 2], numbers, numbers);
    return vectors[0];
}

/// A value that lanes have collected, and the scalar that it is merged into.
struct Collected {
    MergeOp op;
    Scalar scalar;
    llvm::Value* lanes;
    std::size_t into;  ///< which of the scalars
};

/// All are merged into their scalars; those of one type and operator are folded together.
static void fold_collected(Emitter& e, std::vector<Collected> all, Leaves& scalars, bool numbers) {
    while (!all.empty()) {
        const MergeOp op = all.front().op;
        const Scalar s = all.front().scalar;
        const auto is_alike = [&](const Collected& c) { return c.op == op && c.scalar == s; };
        const auto others = std::stable_partition(all.begin(), all.end(), is_alike);
        Leaves lanes, into;
        for (auto c = all.begin(); c != others; ++c) {
            lanes.push_back(c->lanes);
            into.push_back(scalars[c->into]);
        }
        into = fold_all_lanes(e, op, s, lanes, into, numbers);
        for (std::size_t k = 0; k < into.size(); ++k) scalars[all[k].into] = into[k];
        all.erase(all.begin(), others);
    }
}

Leaves reform_mergers(Emitter& e, std::span<const Type* const> mergers, const Leaves& state, Lanes from,
                      Lanes to) {
    const bool same_lanes =
        from.lanes == to.lanes && from.accumulators && to.accumulators && (from.numbers || !to.numbers);
    std::vector<Collected> collected;
    Leaves out;
    std::size_t at = 0;
    for (const Type* t : mergers) {
        std::vector<Scalar> scalars;
        for_each_scalar(t->elem(), [&](Scalar s) { scalars.push_back(s); });
        const std::size_t values = out.size();
        out.append(state.begin() + at, state.begin() + at + scalars.size());
        at += scalars.size();
        for (std::size_t k = 0; k < scalars.size(); ++k, at += from.accumulators) {
            llvm::Value* first = nullptr;
            if (from.accumulators)
                first =
                    joined(e, t->op, scalars[k],
                           Leaves(state.begin() + at, state.begin() + at + from.accumulators), from.numbers);
            if (first && !same_lanes)
                collected.push_back({t->op, scalars[k], std::exchange(first, nullptr), values + k});
            for (std::uint32_t a = 0; a < to.accumulators; ++a, first = nullptr)
                out.push_back(
                    first ? first
                          : e.ir.CreateVectorSplat(to.lanes, e.nothing(t->op, scalars[k], to.numbers)));
        }
    }
    fold_collected(e, std::move(collected), out, from.numbers);
    return out;
}

static Leaves reform(Emitter& e, const Type* t, const Leaves& state, Lanes from, Lanes to, Loc) {
    return reform_mergers(e, {&t, 1}, state, from, to);
}

static Leaves merge(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    const Type* t = g.node->type;
    Leaves after = s;
    std::size_t k = 0;
    for_each_scalar(t->elem(), [&](Scalar x) {
        after[k] = e.merge_into(t->op, x, s[k], v[k], t->holds_simd && e.lanes.numbers);
        ++k;
    });
    return after;
}

/// How many of `n` lanes the mask has, or all.
static llvm::Value* count_lanes(Emitter& e, llvm::Type* as, std::uint32_t n, llvm::Value* mask) {
    if (!mask) return llvm::ConstantInt::get(as, n);
    llvm::Value* bits = e.ir.CreateBitCast(mask, e.ir.getIntNTy(n));
    return e.ir.CreateZExtOrTrunc(e.ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), as);
}

/// Parts of the value are scalars or lanes. What is the same in all lanes is added as often as there are lanes.
static std::optional<Leaves> merge_lanes(Emitter& e, Merge g, const Leaves& state, const Leaves& v,
                                         std::uint32_t n, llvm::Value* mask) {
    const Type* t = g.node->type;
    Leaves s = state;
    std::vector<Scalar> scalars;
    for_each_scalar(t->elem(), [&](Scalar x) { scalars.push_back(x); });
    const bool here = n == e.lanes.lanes;  // the accumulators of this loop have as many lanes
    for (std::size_t k = 0; k < scalars.size(); ++k) {
        llvm::Value* same = v[k]->getType()->isVectorTy() ? llvm::getSplatValue(v[k]) : v[k];
        if (same && t->op == MergeOp::Add && !is_float(scalars[k]) && n > 1) {
            s[k] = e.ir.CreateAdd(s[k], e.ir.CreateMul(same, count_lanes(e, same->getType(), n, mask)));
            continue;
        }
        llvm::Value* x = v[k]->getType()->isVectorTy() ? v[k] : e.ir.CreateVectorSplat(n, v[k]);
        llvm::Value*& into = here ? s[scalars.size() + k * e.lanes.accumulators + e.accumulator] : s[k];
        if (here) {
            llvm::Value* after = e.merge_into(t->op, scalars[k], into, x, e.lanes.numbers);
            into = mask ? e.ir.CreateSelect(mask, after, into) : after;
            continue;
        }
        if (mask) x = e.ir.CreateSelect(mask, x, e.ir.CreateVectorSplat(n, e.neutral(t->op, scalars[k])));
        into = e.merge_op(t->op, scalars[k], into, fold_lanes(e, t->op, scalars[k], x));
    }
    return s;
}

static Leaves result(Emitter& e, Result r, const Leaves& s) {
    return e.reform(r.builder()->type, s, e.lanes, {});
}

const BuilderCode kMergerCode = {leaves, begin, reform, merge, merge_lanes, result};

}  // namespace weld::codegen
