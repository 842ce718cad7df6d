// What is done with lanes besides arithmetic.
#include "codegen/lanes.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <llvm/Analysis/VectorUtils.h>

namespace weld::codegen {

llvm::Constant* lane_numbers(Emitter& e, unsigned n, unsigned bits) {
    llvm::SmallVector<llvm::Constant*> all;
    for (unsigned k = 0; k < n; ++k) all.push_back(e.ir.getIntN(bits, k));
    return llvm::ConstantVector::get(all);
}

/// The first halves of all that `a`, and `b` if there is one, hold, `of` lanes each, combined with the second ones: those of
/// `a` and `b` by turns.
static llvm::Value* fold_halves(Emitter& e, MergeOp op, Scalar s, llvm::Value* a, llvm::Value* b, unsigned of,
                                bool numbers) {
    const unsigned all = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
    llvm::SmallVector<int, 64> low, high;
    const auto halves_at = [&](unsigned begin) {
        for (unsigned k = 0; k < of / 2; ++k) {
            low.push_back(int(begin + k));
            high.push_back(int(begin + of / 2 + k));
        }
    };
    for (unsigned begin = 0; begin < all; begin += of) {
        halves_at(begin);
        if (b) halves_at(all + begin);
    }
    if (!b) b = llvm::PoisonValue::get(a->getType());
    return e.merge_into(op, s, e.ir.CreateShuffleVector(a, b, low), e.ir.CreateShuffleVector(a, b, high),
                        numbers, numbers);
}

/// The lanes of each of `vectors` combined, lane by lane of one vector: a power of two that is no more than they have lanes.
/// Processors move lanes of a whole register of 64 bytes as slowly as those of two halves.
static llvm::Value* fold_together(Emitter& e, MergeOp op, Scalar s, std::vector<llvm::Value*> vectors,
                                  bool numbers) {
    const auto* type = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType());
    const unsigned half = std::min(e.unit.target.register_bytes, 32u) * 8 / type->getScalarSizeInBits();
    unsigned of = type->getNumElements();
    for (; of > vectors.size() && of > half; of /= 2)
        for (llvm::Value*& v : vectors) v = fold_halves(e, op, s, v, nullptr, of, numbers);
    for (; vectors.size() > 1; of /= 2) {
        const std::size_t pairs = vectors.size() / 2;
        for (std::size_t k = 0; k < pairs; ++k)
            vectors[k] = fold_halves(e, op, s, vectors[k], vectors[k + pairs], of, numbers);
        vectors.resize(pairs);
    }
    llvm::Value* all = vectors[0];
    for (; of > 1; of /= 2) all = fold_halves(e, op, s, all, nullptr, of, numbers);
    return all;
}

llvm::Value* fold_lanes(Emitter& e, MergeOp op, Scalar s, llvm::Value* v, bool numbers) {
    unsigned n = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
    for (; n > 2 && n % 2 == 0; n /= 2) v = fold_halves(e, op, s, v, nullptr, n, numbers);
    llvm::Value* sum = e.ir.CreateExtractElement(v, std::uint64_t(0));
    for (unsigned k = 1; k < n; ++k)
        sum = e.merge_into(op, s, sum, e.ir.CreateExtractElement(v, std::uint64_t(k)), numbers, numbers);
    return sum;
}

Leaves fold_all_lanes(Emitter& e, MergeOp op, Scalar s, llvm::ArrayRef<llvm::Value*> all, Leaves into,
                      bool numbers) {
    const auto lanes = llvm::cast<llvm::FixedVectorType>(all[0]->getType())->getNumElements();
    for (std::size_t n, at = 0; at < all.size(); at += n) {
        n = std::bit_floor(std::min<std::size_t>(all.size() - at, lanes));
        if (n < 4 || !std::has_single_bit(lanes)) {  // two gain nothing
            n = 1;
            into[at] = e.merge_into(op, s, fold_lanes(e, op, s, all[at], numbers), into[at], numbers);
            continue;
        }
        const std::vector<llvm::Value*> some = all.slice(at, n).vec();
        llvm::Value* before =
            llvm::PoisonValue::get(llvm::FixedVectorType::get(into[at]->getType(), unsigned(n)));
        for (std::size_t k = 0; k < n; ++k)
            before = e.ir.CreateInsertElement(before, into[at + k], std::uint64_t(k));
        llvm::Value* after = e.merge_into(op, s, fold_together(e, op, s, some, numbers), before, numbers);
        for (std::size_t k = 0; k < n; ++k) into[at + k] = e.ir.CreateExtractElement(after, std::uint64_t(k));
    }
    return into;
}

Leaves lane(Emitter& e, const Leaves& v, std::uint64_t k) {
    Leaves one;
    for (llvm::Value* x : v) one.push_back(x->getType()->isVectorTy() ? e.ir.CreateExtractElement(x, k) : x);
    return one;
}

llvm::Value* lane_of_sum(Emitter& e, llvm::Value* v, unsigned k) {
    if (llvm::Value* same = llvm::getSplatValue(v)) return same;
    auto* of = llvm::dyn_cast<llvm::BinaryOperator>(v);
    if (!of) return e.ir.CreateExtractElement(v, std::uint64_t(k));
    return e.ir.CreateBinOp(of->getOpcode(), lane_of_sum(e, of->getOperand(0), k),
                            lane_of_sum(e, of->getOperand(1), k));
}

/// The lanes of `mask`, which are `tail.count` from lane `first` on, of what begins at `lowest`.
static llvm::Value* load_some(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest,
                              llvm::Value* first, llvm::Value* mask) {
    const unsigned bytes = type->getScalarSizeInBits() / 8;
    llvm::Value* none = llvm::Constant::getNullValue(type);
    if (e.unit.target.has_masks(bytes, type->getNumElements())) {
        llvm::Value* from = e.ir.CreateGEP(type->getElementType(), lowest, e.ir.CreateNeg(first));
        return e.ir.CreateMaskedLoad(type, from, llvm::Align(bytes), mask, none);
    }
    // Where the whole lanes lie in the page of the machine in which the elements begin, reading them is safe.
    constexpr std::int64_t page = 4096;
    const std::int64_t all = std::int64_t(bytes) * type->getNumElements();
    llvm::Value* before = e.ir.CreateMul(first, e.c64(bytes));
    llvm::Value* in_page = e.ir.CreateAnd(e.ir.CreatePtrToInt(lowest, e.unit.i64), std::uint64_t(page - 1));
    llvm::Value* begin = e.ir.CreateSub(in_page, before);
    const auto whole = [&]() -> Leaves {
        llvm::Value* from = e.ir.CreateGEP(e.unit.i8, lowest, e.ir.CreateNeg(before));
        llvm::Value* read = e.ir.CreateAlignedLoad(type, from, llvm::Align(bytes));
        return {e.ir.CreateSelect(mask, read, none)};
    };
    const auto copied = [&]() -> Leaves {
        llvm::Value* room = e.slot(all, kLaneBytes);
        e.ir.CreateStore(none, room);
        e.ir.CreateMemCpy(e.ir.CreateGEP(type->getElementType(), room, first), llvm::Align(bytes), lowest,
                          llvm::Align(bytes), e.ir.CreateMul(e.tail.count, e.c64(bytes)));
        return {e.ir.CreateLoad(type, room)};
    };
    return e.emit_if(e.ir.CreateICmpULE(begin, e.c64(page - all)), whole, copied)[0];
}

llvm::Value* load_rest(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest) {
    return load_some(e, type, lowest, e.c64(0), e.tail.mask);
}

llvm::Value* load_rest_down(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest) {
    const unsigned n = type->getNumElements();
    llvm::Value* others = e.ir.CreateSub(e.c64(n), e.tail.count);
    llvm::Value* mask = nullptr;
    if (e.unit.target.packs) {
        auto* bits = llvm::IntegerType::get(e.unit.ctx, n);
        mask = e.ir.CreateShl(llvm::Constant::getAllOnesValue(bits), e.ir.CreateTrunc(others, bits));
        mask = e.ir.CreateBitCast(mask, e.tail.mask->getType());
    } else {
        mask = e.ir.CreateVectorReverse(e.tail.mask);
    }
    return e.ir.CreateVectorReverse(load_some(e, type, lowest, others, mask));
}

llvm::Value* load_one_by_one(Emitter& e, llvm::FixedVectorType* type, llvm::Value* data, llvm::Value* k) {
    llvm::Type* elem = type->getElementType();
    const llvm::Align align{type->getScalarSizeInBits() / 8};
    llvm::Value* all = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
        llvm::Value* from = e.ir.CreateGEP(elem, data, lane_of_sum(e, k, i));
        all = e.ir.CreateInsertElement(all, e.ir.CreateAlignedLoad(elem, from, align), std::uint64_t(i));
    }
    return all;
}

/// The transposes of squares of `width` by `width` scalars that lie side by side in the registers `rows`. Processors move
/// 16 bytes as they move one scalar: squares within these are transposed first, then those as wholes.
static Leaves transposed(Emitter& e, Leaves rows, std::size_t width) {
    const auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
    const std::size_t within = std::min<std::size_t>(width, 128 / type->getScalarSizeInBits());
    llvm::SmallVector<int, 64> low(type->getNumElements()), high(low.size());
    const int other = int(low.size());
    for (std::size_t k = 0; k < low.size(); ++k) {
        const std::size_t first = k / within * within, at = k % within;
        low[k] = int(first + at / 2) + int(at % 2) * other;
        high[k] = low[k] + int(within / 2);
    }
    const auto shuffle = [&](llvm::Value* a, llvm::Value* b, llvm::ArrayRef<int> places) {
        return e.ir.CreateShuffleVector(a, b, places);
    };
    for (std::size_t step = 1; step < within; step *= 2) {  // interleaves halves of the rows of a square
        Leaves next;
        for (std::size_t first = 0; first < width; first += within)
            for (std::size_t i = first; i < first + within / 2; ++i) {
                next.push_back(shuffle(rows[i], rows[i + within / 2], low));
                next.push_back(shuffle(rows[i], rows[i + within / 2], high));
            }
        rows = next;
    }
    for (std::size_t step = within; step < width; step *= 2) {
        for (std::size_t k = 0; k < low.size(); ++k) {
            const bool upper = k & step;
            low[k] = upper ? int(k - step) + other : int(k);
            high[k] = upper ? int(k) + other : int(k + step);
        }
        for (std::size_t i = 0; i < width; ++i) {
            if (i & step) continue;
            llvm::Value *a = rows[i], *b = rows[i + step];
            rows[i] = shuffle(a, b, low);
            rows[i + step] = shuffle(a, b, high);
        }
    }
    return rows;
}

void transpose(Emitter& e, llvm::Type* scalar, const Leaves& rows, llvm::Value* len, llvm::Value* to) {
    auto& ir = e.ir;
    const std::int64_t bytes = scalar->getPrimitiveSizeInBits() / 8, n = std::int64_t(rows.size());
    const std::int64_t side =
        std::min(n, std::max<std::int64_t>(1, std::int64_t(e.unit.target.register_bytes) / bytes));
    auto* lanes = llvm::FixedVectorType::get(scalar, unsigned(side));
    const llvm::Align align{std::uint64_t(bytes)};
    const auto place = [&](llvm::Value* j, std::int64_t row) {
        return ir.CreateGEP(scalar, to, ir.CreateAdd(ir.CreateMul(j, e.c64(n)), e.c64(row)));
    };
    const auto square = [&](llvm::Value* j, std::int64_t row) {  // elements [j, j + side) of `side` rows
        Leaves loaded;
        for (std::int64_t k = row; k < row + side; ++k) {
            llvm::Value* from = ir.CreateGEP(scalar, rows[std::size_t(k)], j);
            loaded.push_back(ir.CreateAlignedLoad(lanes, from, align));
        }
        const Leaves columns = transposed(e, loaded, std::size_t(side));
        for (std::int64_t k = 0; k < side; ++k)
            ir.CreateAlignedStore(columns[std::size_t(k)], place(ir.CreateAdd(j, e.c64(k)), row), align);
    };
    const auto squares = [&]() -> Leaves {  // the last ones overlap what is done
        llvm::Value* last = ir.CreateSub(len, e.c64(side));
        llvm::Value* count = ir.CreateSDiv(ir.CreateAdd(last, e.c64(2 * side - 1)), e.c64(side));
        return e.counted_loop(e.c64(0), count, 1, {}, {}, [&](llvm::Value* k, const Leaves&) -> Leaves {
            llvm::Value* j =
                ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateMul(k, e.c64(side)), last);
            for (std::int64_t row = 0; row < n; row += side) square(j, row);
            return {};
        });
    };
    const auto one_by_one = [&]() -> Leaves {
        return e.counted_loop(e.c64(0), len, 1, {}, {}, [&](llvm::Value* j, const Leaves&) -> Leaves {
            for (std::int64_t k = 0; k < n; ++k) {
                llvm::Value* from = ir.CreateGEP(scalar, rows[std::size_t(k)], j);
                ir.CreateAlignedStore(ir.CreateAlignedLoad(scalar, from, align), place(j, k), align);
            }
            return {};
        });
    };
    e.emit_if(ir.CreateICmpSGE(len, e.c64(side)), squares, one_by_one);
}

void transpose_short(Emitter& e, llvm::Type* scalar, const Leaves& rows, llvm::Value* len, llvm::Value* to) {
    constexpr std::int64_t width = kShortColumns;
    auto& ir = e.ir;
    const std::int64_t bytes = scalar->getPrimitiveSizeInBits() / 8, n = std::int64_t(rows.size());
    const std::int64_t side = std::min(n, std::int64_t(e.unit.target.register_bytes) / bytes);
    if (side < width || !e.unit.target.has_masks(bytes, width)) return transpose(e, scalar, rows, len, to);
    const llvm::Align align{std::uint64_t(bytes)};
    auto* piece = llvm::FixedVectorType::get(scalar, width);
    auto* number = ir.getIntNTy(unsigned(8 * bytes));
    const auto everywhere = [&](llvm::Value* v) {
        return ir.CreateVectorSplat(width, ir.CreateTrunc(v, number));
    };
    // Elements [j, j + width) of each row, or as many as there are: several rows side by side in a register.
    const auto columns = [&](llvm::Value* j, const Leaves&) -> Leaves {
        llvm::Value* places = ir.CreateAdd(everywhere(j), lane_numbers(e, width, unsigned(8 * bytes)));
        llvm::Value* mask = ir.CreateICmpSLT(places, everywhere(len));
        const auto load = [&](std::int64_t row) {
            llvm::Value* from = ir.CreateGEP(scalar, rows[std::size_t(row)], j);
            return ir.CreateMaskedLoad(piece, from, align, mask, llvm::Constant::getNullValue(piece));
        };
        for (std::int64_t first = 0; first < n; first += side) {
            Leaves loaded;
            for (std::int64_t i = 0; i < width; ++i) {
                llvm::SmallVector<llvm::Value*, 4> pieces;
                for (std::int64_t row = first + i; row < first + side; row += width)
                    pieces.push_back(load(row));
                loaded.push_back(llvm::concatenateVectors(ir, pieces));
            }
            const Leaves turned = transposed(e, loaded, width);
            for (std::int64_t i = 0; i < width; ++i) {
                llvm::Value* at = ir.CreateMul(ir.CreateAdd(j, e.c64(i)), e.c64(n));
                at = ir.CreateGEP(scalar, to, ir.CreateAdd(at, e.c64(first)));
                ir.CreateAlignedStore(turned[std::size_t(i)], at, align);
            }
        }
        return {};
    };
    e.counted_loop(e.c64(0), len, width, {}, {}, columns);
}

llvm::Value* room_for_rows(Emitter& e, std::uint32_t n, llvm::Value* len) {
    llvm::Value* behind = e.ir.CreateAnd(e.ir.CreateNeg(len), e.c64(kShortColumns - 1));
    return e.ir.CreateAdd(e.ir.CreateMul(len, e.c64(n)), behind);
}

void write_rows(Emitter& e, llvm::Type* scalar, llvm::Value* columns, std::uint32_t n, llvm::Value* len,
                llvm::Value* to) {
    auto& ir = e.ir;
    const std::int64_t bytes = scalar->getPrimitiveSizeInBits() / 8, rows = n;
    const std::int64_t side = std::min(rows, std::int64_t(e.unit.target.register_bytes) / bytes);
    const std::int64_t width = std::min(side, kShortColumns);
    const llvm::Align align{std::uint64_t(bytes)};
    auto* lanes = llvm::FixedVectorType::get(scalar, unsigned(side));
    // Whole pieces of each row, in the order of rows: what is too much goes where the next row is written then. So the last
    // columns come first, where they may be too few.
    llvm::Value* last = ir.CreateSub(len, e.c64(1));
    llvm::Value* pieces = ir.CreateUDiv(ir.CreateAdd(len, e.c64(width - 1)), e.c64(width));
    const auto piece = [&](llvm::Value* k, const Leaves&) -> Leaves {
        llvm::Value* j = ir.CreateMul(ir.CreateSub(ir.CreateSub(pieces, e.c64(1)), k), e.c64(width));
        for (std::int64_t first = 0; first < rows; first += side) {
            Leaves read;
            for (std::int64_t i = 0; i < width; ++i) {
                llvm::Value* column = ir.CreateAdd(j, e.c64(i));
                column = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, column, last);
                llvm::Value* at = ir.CreateAdd(ir.CreateMul(column, e.c64(rows)), e.c64(first));
                read.push_back(ir.CreateAlignedLoad(lanes, ir.CreateGEP(scalar, columns, at), align));
            }
            const Leaves turned = transposed(e, read, std::size_t(width));
            for (std::int64_t row = 0; row < side; ++row) {
                llvm::SmallVector<int, 4> places;
                for (std::int64_t i = 0; i < width; ++i) places.push_back(int(row / width * width + i));
                llvm::Value* part = ir.CreateShuffleVector(turned[std::size_t(row % width)], places);
                llvm::Value* at = ir.CreateAdd(ir.CreateMul(len, e.c64(first + row)), j);
                ir.CreateAlignedStore(part, ir.CreateGEP(scalar, to, at), align);
            }
        }
        return {};
    };
    e.counted_loop(e.c64(0), pieces, 1, {}, {}, piece);
}

}  // namespace weld::codegen
