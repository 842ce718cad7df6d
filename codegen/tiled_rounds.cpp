// Rounds of a loop by tiles, `@(tile:N)`: N rounds of this loop by N of the one inside, or by one of its rounds of lanes, for
// which what look-ups give is transposed first.
#include "codegen/builders/arrays.h"
#include "codegen/lanes.h"
#include "codegen/range_emitter.h"

namespace weld::codegen {

Leaves RangeEmitter::by_tiles(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
    auto& ir = e_.ir;
    const For inner = tiled_loop(plan_.f), lanes = masked_loop(inner);
    const std::int64_t side = plan_.f.node->annotation(AttrKey::Tile)->number;
    const Transposed across = lanes ? transposed(lanes, side) : Transposed();
    const auto end = [&](llvm::Value* begin, llvm::Value* all) {
        llvm::Value* whole = ir.CreateAdd(begin, e_.c64(side), "", true, true);
        return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, whole, all);
    };
    // What rounds [from, to) append in iteration `i`, where it is element `first` and those after it.
    const auto append = [&](llvm::Value* i, const LoopPlan& part, llvm::Value* first, llvm::Value* from,
                            llvm::Value* to) {
        llvm::Value* before = ir.CreateMul(ir.CreateSub(i, lo), plan_.tiled);
        llvm::Value* place = ir.CreateAdd(state[1], ir.CreateAdd(before, first));
        RangeEmitter(e_, part, false).emit(from, to, {state[0], place, e_.c64(kEnough)}, false);
    };
    const auto on_lanes = [&](llvm::Value* rows, llvm::Value* last) {
        const std::int64_t n = lanes.data()[0]->as<Iter>().lanes();
        each(e_.c64(0), quotient(e_, plan_.tiled, n), 1, {}, [&](llvm::Value* k) {
            begin_row(rows);
            RangeEmitter(e_, make_plan(e_, lanes, {}), false)
                .transpose_lanes(k, ir.CreateSub(last, rows), across);
            each(rows, last, 1, {}, [&](llvm::Value* i) {
                begin_row(i);
                for (const auto& [lookup, tile] : across)
                    e_.tile_rows[lookup.node] = tile_row(lookup, tile, ir.CreateSub(i, rows));
                append(i, make_plan(e_, lanes, {}), ir.CreateMul(k, e_.c64(n)), k,
                       ir.CreateAdd(k, e_.c64(1)));
            });
        });
        for (const auto& [lookup, tile] : across) e_.tile_rows.erase(lookup.node);
        const auto fringe = [&]() -> Leaves {
            each(rows, last, 1, {}, [&](llvm::Value* i) {
                begin_row(i);
                const LoopPlan part = make_plan(e_, inner, {});
                append(i, part, part.base, e_.c64(0), part.count);
            });
            return {};
        };
        e_.emit_if(ir.CreateIsNotNull(remainder(e_, plan_.tiled, n)), fringe, [] { return Leaves{}; });
    };
    const auto one_by_one = [&](llvm::Value* rows, llvm::Value* last) {
        each(e_.c64(0), plan_.tiled, side, {}, [&](llvm::Value* columns) {
            each(rows, last, 1, {}, [&](llvm::Value* i) {
                begin_row(i);
                append(i, make_plan(e_, inner, {}), columns, columns, end(columns, plan_.tiled));
            });
        });
    };
    ++e_.loop_depth;
    each(lo, hi, side, strip(side), [&](llvm::Value* rows) {
        if (lanes) on_lanes(rows, end(rows, hi));
        else one_by_one(rows, end(rows, hi));
    });
    --e_.loop_depth;
    llvm::Value* all = ir.CreateMul(ir.CreateSub(hi, lo), plan_.tiled);
    return {state[0], ir.CreateAdd(state[1], all), state[2]};
}

void RangeEmitter::each(llvm::Value* from, llvm::Value* to, std::int64_t step,
                        const std::optional<Strip>& strip, const std::function<void(llvm::Value*)>& fn) {
    const auto round = [&](llvm::Value* i, const Leaves&) -> Leaves { return fn(i), Leaves{}; };
    e_.counted_loop(from, to, step, {}, {}, round, strip);
}

void RangeEmitter::begin_row(llvm::Value* i) {
    begin(i);
    if (const Block b = plan_.f.body().body()->as<Block>()) e_.emit_lets_of(b);
}

RangeEmitter::Transposed RangeEmitter::transposed(For lanes, std::int64_t rows) {
    Transposed all;
    visit(lanes.body().body(), [&](const Expr* e) {
        const LookupLanes l = e->says(AttrKey::Tile, true) ? e->as<LookupLanes>() : LookupLanes();
        if (!l) return;
        if (llvm::Value* tile = e_.transposed_slot(rows * bytes_of(l))) all.emplace_back(l, tile);
    });
    return all;
}

llvm::Value* RangeEmitter::tile_row(LookupLanes l, llvm::Value* tile, llvm::Value* row) {
    return e_.ir.CreateGEP(e_.unit.i8, tile, e_.ir.CreateMul(row, e_.c64(bytes_of(l))));
}

void RangeEmitter::transpose_lanes(llvm::Value* k, llvm::Value* rows, const Transposed& across) {
    begin(k);
    for (const auto& [lookup, tile] : across) {
        emit_lets_for(lookup.indices(), plan_.f.body().body()->as<Block>());
        llvm::Type* scalar = e_.unit.memory(lookup.node->type->scalar);
        llvm::Value *data = e_.emit(lookup.of())[0], *places = e_.emit1(lookup.indices());
        Leaves lines;
        for (std::uint64_t lane = 0; lane < lookup.lanes(); ++lane)
            lines.push_back(e_.ir.CreateGEP(scalar, data, e_.ir.CreateExtractElement(places, lane)));
        transpose(e_, scalar, lines, rows, tile);
    }
}

}  // namespace weld::codegen
