// An element is words of equal size, one of which is one lane of a vector: the scalar of a vec[i64] is one
// word, `{i32,f64}` is two of 8 bytes. Words of the lanes that are wanted are moved together, as AVX-512 does
// or by a permutation from a table of all masks, then the words of an element are put side by side, and whole
// registers are stored. No branch depends on the data.
//
//     elements  {1, a}  {2, b}  {3, c}  {4, d}           wanted  1 0 1 1
//     words     1 2 3 4                a b c d           a vector for each word of an element
//     together  1 3 4 .                a c d .
//     stored    1 a 3 c 4 d . .                          the next ones are written over what is not wanted
#include "codegen/packing.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>

namespace weld::codegen {

namespace {

llvm::FixedVectorType* lanes_of(Emitter& e, unsigned bits, unsigned n) {
    return llvm::FixedVectorType::get(llvm::IntegerType::get(e.unit.ctx, bits), n);
}

unsigned count_of(llvm::Value* v) {
    return llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
}

/// `count` lanes of `v` from `first` on.
llvm::Value* part_of(Emitter& e, llvm::Value* v, unsigned first, unsigned count) {
    if (count_of(v) == count) return v;
    llvm::SmallVector<int, 64> at;
    for (unsigned k = 0; k < count; ++k) at.push_back(int(first + k));
    return e.ir.CreateShuffleVector(v, at);
}

/// The words of elements of `elem`: vectors of integers. None where these are too many.
class Words {
  public:
    Words(Emitter& e, const Type* elem, const Leaves& v) : e_(e), bytes_(align_of(elem)) {
        const std::int64_t size = size_of(elem);
        if (v.empty() || !fits_lanes(size / bytes_, bytes_)) return;
        // Several small ones make a larger one, where their lanes would leave registers empty.
        const std::int64_t room = e.unit.target.register_bytes / count_of(v[0]);
        while (2 * bytes_ <= std::min(room, kLargestWord) && size % (2 * bytes_) == 0) bytes_ *= 2;
        all_.resize(std::size_t(size / bytes_));
        std::size_t leaf = 0;
        add(elem, 0, v, leaf);
        for (llvm::Value*& word : all_)
            if (!word) word = llvm::Constant::getNullValue(all_[0]->getType());
    }

    bool any() const { return !all_.empty(); }
    std::int64_t bytes() const { return bytes_; }
    std::span<llvm::Value* const> all() const { return all_; }

  private:
    static constexpr std::int64_t kLargestWord = 8;

    void add(const Type* t, std::int64_t offset, const Leaves& v, std::size_t& leaf) {
        if (t->is_struct()) {
            const auto offsets = offsets_of(t->args);
            for (std::size_t i = 0; i < t->args.size(); ++i) add(t->args[i], offset + offsets[i], v, leaf);
            return;
        }
        auto& ir = e_.ir;
        if (t->is_vec()) {  // its beginning and its length
            const auto first = std::size_t(offset / bytes_);
            const unsigned lanes = count_of(v[leaf]);
            all_[first] = ir.CreatePtrToInt(v[leaf++], lanes_of(e_, 64, lanes));
            all_[first + 1] = v[leaf++];
            return;
        }
        const unsigned n = count_of(v[leaf]), own = 8 * unsigned(size_of(t)), bits = 8 * unsigned(bytes_);
        llvm::Value* x = v[leaf++];
        x = t->is_bool() ? ir.CreateZExt(x, lanes_of(e_, own, n)) : ir.CreateBitCast(x, lanes_of(e_, own, n));
        if (own != bits) x = ir.CreateZExt(x, lanes_of(e_, bits, n));
        if (const std::int64_t shift = offset % bytes_) {
            llvm::Type* word = llvm::IntegerType::get(e_.unit.ctx, bits);
            x = ir.CreateShl(x,
                             ir.CreateVectorSplat(n, llvm::ConstantInt::get(word, std::uint64_t(8 * shift))));
        }
        llvm::Value*& word = all_[std::size_t(offset / bytes_)];
        word = word ? ir.CreateOr(word, x) : x;
    }

    Emitter& e_;
    std::int64_t bytes_;
    std::vector<llvm::Value*> all_;
};

using Two = std::pair<llvm::Value*, llvm::Value*>;

/// a0 b0 a1 b1 … in each of `parts` equal parts: what fills the first half of each part, and the second one.
Two zipped(Emitter& e, llvm::Value* a, llvm::Value* b, unsigned parts, unsigned unit = 1) {
    const unsigned n = count_of(a), part = n / parts;
    llvm::SmallVector<int, 64> halves[2];
    for (unsigned k = 0; k < 2 * n; ++k) {
        const unsigned in_part = k % (2 * part), pair = in_part / (2 * unit), side = in_part / unit % 2;
        halves[in_part / part].push_back(
            int(k / (2 * part) * part + pair * unit + in_part % unit + side * n));
    }
    return {e.ir.CreateShuffleVector(a, b, halves[0]), e.ir.CreateShuffleVector(a, b, halves[1])};
}

/// a0 b0 a1 b1 … Within 16 bytes first, which registers of 32 bytes do faster than across.
Two zipped(Emitter& e, llvm::Value* a, llvm::Value* b) {
    if (a->getType()->getPrimitiveSizeInBits() != 256) return zipped(e, a, b, 1);
    const auto [low, high] = zipped(e, a, b, 2);
    return zipped(e, low, high, 1, count_of(a) / 2);
}

/// The words of one element after the other: as many vectors as there are words. `crossed`: the second and
/// third quarters of each word's lanes have changed places, so that nothing has to cross from half to half.
Leaves side_by_side(Emitter& e, const Leaves& words, bool crossed) {
    const auto zip = [&](llvm::Value* a, llvm::Value* b) {
        return crossed ? zipped(e, a, b, 2) : zipped(e, a, b);
    };
    switch (words.size()) {
        case 2: {
            const auto [first, second] = zip(words[0], words[1]);
            return {first, second};
        }
        case 3: {
            const int n = int(count_of(words[0]));
            Leaves all;
            for (int part = 0; part < 3; ++part) {
                llvm::SmallVector<int, 64> two, three;
                for (int k = 0; k < n; ++k) {
                    const int place = part * n + k, word = place % 3, lane = place / 3;
                    two.push_back(word < 2 ? lane + word * n : llvm::PoisonMaskElem);
                    three.push_back(word < 2 ? k : n + lane);
                }
                llvm::Value* v = e.ir.CreateShuffleVector(words[0], words[1], two);
                all.push_back(e.ir.CreateShuffleVector(v, words[2], three));
            }
            return all;
        }
        case 4: {
            const auto [ab, ab2] = zip(words[0], words[1]);
            const auto [cd, cd2] = zip(words[2], words[3]);
            const auto [first, second] = zipped(e, ab, cd, 1, 2);
            const auto [third, fourth] = zipped(e, ab2, cd2, 1, 2);
            return {first, second, third, fourth};
        }
        case 8:
        case 16: {
            const auto middle = words.begin() + std::ptrdiff_t(words.size() / 2);
            const Leaves low = side_by_side(e, Leaves(words.begin(), middle), false);
            const Leaves high = side_by_side(e, Leaves(middle, words.end()), false);
            const auto half = unsigned(low.size()), n = count_of(words[0]);
            Leaves all;
            for (unsigned k = 0; n > half && k < half; ++k) {
                const auto [first, second] = zipped(e, low[k], high[k], 1, half);
                all.append({first, second});
            }
            for (unsigned k = 0; n <= half && k < half; k += half / n) {  // so many are half of an element
                all.append(low.begin() + k, low.begin() + k + half / n);
                all.append(high.begin() + k, high.begin() + k + half / n);
            }
            return all;
        }
        default: return words;
    }
}

/// Stores elements of `count` words that lie `stride` words apart in `all`: each over what the one before is too long by.
void store_apart(Emitter& e, const Leaves& all, unsigned count, unsigned stride, std::int64_t bytes,
                 std::int64_t align, llvm::Value* to) {
    const unsigned n = count_of(all[0]);
    const auto store = [&](unsigned element, unsigned word, unsigned some) {
        const unsigned first = element * stride + word;
        llvm::Value* part = part_of(e, all[first / n], first % n, some);
        llvm::Value* at = e.address(to, bytes * (element * count + word));
        e.ir.CreateAlignedStore(part, at, llvm::Align(std::uint64_t(align)));
    };
    const unsigned last = n - 1, each = std::min(n, stride);
    for (unsigned element = 0; element < last; ++element)
        for (unsigned word = 0; word < count; word += each) store(element, word, each);
    for (unsigned word = 0; word < count;) {  // behind the last one may be something else
        const unsigned some = std::min(each, std::bit_floor(count - word));
        store(last, word, some);
        word += some;
    }
}

void store_words(Emitter& e, const Leaves& words, std::int64_t bytes, std::int64_t align, llvm::Value* to,
                 bool crossed = false) {
    const auto count = unsigned(words.size()), n = count_of(words[0]);
    if (const unsigned stride = std::bit_ceil(count); count != stride && count != 3) {
        Leaves padded = words;
        padded.resize(stride, llvm::PoisonValue::get(words[0]->getType()));
        return store_apart(e, side_by_side(e, padded, false), count, stride, bytes, align, to);
    }
    std::int64_t at = 0;
    for (llvm::Value* v : side_by_side(e, words, crossed)) {
        e.ir.CreateAlignedStore(v, e.address(to, at), llvm::Align(std::uint64_t(align)));
        at += bytes * n;
    }
}

// ---- lanes moved together ------------------------------------------------------------------------------

/// How many words are moved together at once; 0: none.
unsigned width_of_move(const Target& target, std::int64_t bytes) {
    if (target.packs) return unsigned(bytes >= 4 || target.packs_small ? 64 / bytes : 16);
    return target.permutes ? (bytes == 8 ? 4 : 8) : 0;
}

/// As AVX-512 does. Lanes may have to be wider for it: 128 to 512 bits in all.
llvm::Value* compressed(Emitter& e, llvm::Value* v, llvm::Value* mask) {
    auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
    const unsigned n = type->getNumElements(), own_bits = type->getScalarSizeInBits();
    unsigned bits = own_bits;
    while (bits < 64 && (bits * n < 128 || (bits < 32 && !e.unit.target.packs_small))) bits *= 2;
    llvm::Type* wide = lanes_of(e, bits, n);
    v = e.ir.CreateZExt(v, wide);
    llvm::Value* moved = e.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {wide},
                                              {v, llvm::PoisonValue::get(wide), mask});
    return e.ir.CreateTrunc(moved, type);
}

/// For each mask of `lanes` lanes, where those for which it holds are; each lane as `parts` parts. `crossed`:
/// see side_by_side.
llvm::Constant* table_of_moves(Emitter& e, unsigned lanes, unsigned parts, llvm::Type* entry, bool crossed) {
    const std::string name =
        "moves." + std::to_string(lanes) + "." + std::to_string(parts) + (crossed ? ".crossed" : "");
    if (llvm::GlobalVariable* made = e.unit.out.getGlobalVariable(name, true)) return made;
    std::vector<std::uint32_t> all(std::size_t(parts * lanes) << lanes);
    auto* of_mask = all.data();
    for (unsigned mask = 0; mask < 1u << lanes; ++mask, of_mask += lanes * parts) {
        unsigned count = 0;
        for (unsigned k = 0; k < lanes; ++k) {
            if (!(mask >> k & 1)) continue;
            const unsigned quarter = lanes / 4, at = count++, q = at / quarter;
            const unsigned place = crossed && (q == 1 || q == 2) ? at + (q == 1 ? quarter : -quarter) : at;
            for (unsigned p = 0; p < parts; ++p) of_mask[place * parts + p] = k * parts + p;
        }
    }
    const std::vector<std::uint8_t> bytes(all.begin(), all.end());
    llvm::Constant* init = entry->isIntegerTy(8) ? llvm::ConstantDataArray::get(e.unit.ctx, bytes)
                                                 : llvm::ConstantDataArray::get(e.unit.ctx, all);
    auto* table = new llvm::GlobalVariable(e.unit.out, init->getType(), true,
                                           llvm::GlobalValue::PrivateLinkage, init, name);
    table->setAlignment(llvm::Align(64));
    return table;
}

/// The places, from a table, that lanes of `bytes` bytes come from under the mask that `bits` are.
llvm::Value* moves(Emitter& e, std::int64_t bytes, llvm::Value* bits, bool crossed) {
    auto& ir = e.ir;
    const auto entry = [&](unsigned lanes, unsigned parts, llvm::Type* type, llvm::Type* read) {
        llvm::Value* at = ir.CreateMul(bits, e.c64(lanes * parts), "", true, true);
        at = ir.CreateInBoundsGEP(type, table_of_moves(e, lanes, parts, type, crossed), at);
        const unsigned size = lanes * parts * type->getPrimitiveSizeInBits() / 8;
        return ir.CreateAlignedLoad(read, at, llvm::Align(size));
    };
    llvm::Type* byte = e.unit.i8;
    switch (bytes) {
        case 8: return entry(4, 2, e.unit.i32, lanes_of(e, 32, 8));
        case 4: return ir.CreateZExt(entry(8, 1, byte, lanes_of(e, 8, 8)), lanes_of(e, 32, 8));
        case 2: return entry(8, 2, byte, lanes_of(e, 8, 16));
        default: {
            llvm::Value* places = entry(8, 1, byte, lanes_of(e, 8, 8));
            llvm::SmallVector<int, 16> twice;
            for (int k = 0; k < 16; ++k) twice.push_back(k % 8);
            return ir.CreateShuffleVector(places, twice);
        }
    }
}

/// By AVX2's permutations. `at`: moves() of the mask.
llvm::Value* permuted(Emitter& e, llvm::Value* v, std::int64_t bytes, llvm::Value* at) {
    auto& ir = e.ir;
    llvm::Type* type = v->getType();
    if (bytes >= 4) {
        v = ir.CreateBitCast(v, lanes_of(e, 32, 8));
        return ir.CreateBitCast(ir.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {v, at}), type);
    }
    v = ir.CreateBitCast(v, lanes_of(e, 8, 8 * unsigned(bytes)));
    if (bytes == 1) {
        llvm::SmallVector<int, 16> half;
        for (int k = 0; k < 16; ++k) half.push_back(k < 8 ? k : llvm::PoisonMaskElem);
        v = ir.CreateShuffleVector(v, half);
    }
    v = ir.CreateIntrinsic(llvm::Intrinsic::x86_ssse3_pshuf_b_128, {}, {v, at});
    return ir.CreateBitCast(part_of(e, v, 0, 8 * unsigned(bytes)), type);
}

}  // namespace

// ---- all of it -----------------------------------------------------------------------------------------

bool store_all(Emitter& e, const Type* elem, const Leaves& v, std::uint32_t n, llvm::Value* to) {
    if (elem->is_scalar()) {
        e.store(e.unit.new_types.simd(elem->scalar, n), v, to);
        return true;
    }
    const Words words(e, elem, v);
    if (!words.any()) return false;
    const unsigned width = std::min(n, unsigned(e.unit.target.register_bytes / words.bytes()));
    for (unsigned first = 0; first < n; first += width) {
        Leaves part;
        for (llvm::Value* word : words.all()) part.push_back(part_of(e, word, first, width));
        store_words(e, part, words.bytes(), align_of(elem), e.address(to, first * size_of(elem)));
    }
    return true;
}

llvm::Value* store_selected(Emitter& e, const Type* elem, const Leaves& v, llvm::Value* mask,
                            llvm::Value* to) {
    auto& ir = e.ir;
    const Target& target = e.unit.target;
    const Words words(e, elem, v);
    if (!words.any()) return nullptr;
    const unsigned n = count_of(mask), most = width_of_move(target, words.bytes());
    const unsigned width = target.packs ? std::min(n, most) : most;
    if (!width || n % width || n > 64) return nullptr;

    llvm::Value* bits = ir.CreateBitCast(mask, llvm::IntegerType::get(e.unit.ctx, n));
    bits = ir.CreateZExt(bits, e.unit.i64);
    const std::size_t together = words.all().size();
    const bool crossed = !target.packs && words.bytes() >= 4 && (together == 2 || together == 4);
    llvm::Value* count = e.c64(0);
    for (unsigned first = 0; first < n; first += width) {
        llvm::Value* here = bits;
        if (width < n) here = ir.CreateAnd(ir.CreateLShr(bits, first), e.c64((std::int64_t(1) << width) - 1));
        llvm::Value* at = target.packs ? nullptr : moves(e, words.bytes(), here, crossed);
        Leaves part;
        for (llvm::Value* word : words.all()) {
            llvm::Value* x = part_of(e, word, first, width);
            part.push_back(at ? permuted(e, x, words.bytes(), at)
                              : compressed(e, x, part_of(e, mask, first, width)));
        }
        store_words(e, part, words.bytes(), align_of(elem), e.element(to, elem, count), crossed);
        count = ir.CreateAdd(count, ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, here), "", true, true);
    }
    return count;
}

void store_first(Emitter& e, const Type* elem, const Leaves& v, llvm::Value* count, llvm::Value* to) {
    const llvm::DataLayout& layout = e.unit.out.getDataLayout();
    Leaves rooms;
    for (llvm::Value* x : v) {
        rooms.push_back(e.slot(std::int64_t(layout.getTypeStoreSize(x->getType()).getFixedValue()) * 8, 64));
        auto* lanes = llvm::cast<llvm::FixedVectorType>(x->getType());
        const bool is_mask = lanes->getElementType()->isIntegerTy(1);
        auto* bytes = llvm::FixedVectorType::get(e.unit.i8, lanes->getNumElements());
        e.ir.CreateStore(is_mask ? e.ir.CreateZExt(x, bytes) : x, rooms.back());
    }
    e.counted_loop(e.c64(0), count, 1, {}, {}, [&](llvm::Value* k, const Leaves&) -> Leaves {
        Leaves one;
        std::size_t i = 0;
        for_each_scalar(elem, [&](Scalar s) {
            const Type* type = e.m.types.scalar(s);
            one.push_back(e.load(type, e.element(rooms[i++], type, k))[0]);
        });
        e.store(elem, one, e.element(to, elem, k));
        return {};
    });
}

}  // namespace weld::codegen
