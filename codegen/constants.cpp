// The layout of constants in data.
#include "codegen/constants.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "codegen/emit.h"

namespace weld::codegen {

static std::uint64_t constant_length(const Expr* v) {
    if (v->op == Op::MakeVec) return v->num_args;
    return v->attr.bytes->size() / std::size_t(size_of(v->type->elem()->scalar));
}

namespace {

/// A vector literal as it lies in memory: its elements, then those of the vectors in them. One variable for
/// all of them, because LLVM is slow with many.
class Data {
  public:
    Data(Unit& unit, MakeVec v) : unit_(unit) { elements(v); }
    llvm::Constant* variable();

  private:
    struct Pointer {
        std::size_t at;
        llvm::Constant* to;  ///< null: to the byte `offset` of this data
        std::size_t offset;
    };

    std::size_t elements(MakeVec v);
    void write(const Expr* e, std::size_t at, bool named);

    Unit& unit_;
    std::string bytes_;
    std::vector<Pointer> pointers_;
};

}  // namespace

/// Adds the elements of `v` and returns where they begin.
std::size_t Data::elements(MakeVec v) {
    const std::size_t begin = (bytes_.size() + 7) / 8 * 8;
    const auto size = std::size_t(size_of(v.node->type->elem()));
    bytes_.resize(begin + size * v.elems().size());
    for (std::size_t i = 0; i < v.elems().size(); ++i) write(v.elems()[i], begin + i * size, false);
    return begin;
}

/// Writes `e` to `at`, where zeros are. The vectors of a named constant are kept apart: its name may stand in
/// many places.
void Data::write(const Expr* e, std::size_t at, bool named) {
    if (e->op == Op::Literal) {
        std::memcpy(&bytes_[at], &e->attr.bits, std::size_t(size_of(e->type)));  // little endian
    } else if (e->op == Op::Var) {
        write(unit_.constants.value(e->attr.symbol), at, true);
    } else if (e->op == Op::MakeStruct) {
        const auto offsets = offsets_of(e->type->args);
        for (std::size_t i = 0; i < e->num_args; ++i) write(e->arg(i), at + std::size_t(offsets[i]), named);
    } else if (const std::uint64_t n = constant_length(e); n > 0) {
        const auto v = e->as<MakeVec>();
        std::memcpy(&bytes_[at + sizeof(void*)], &n, sizeof n);
        const bool apart = named || !v;
        pointers_.push_back(apart ? Pointer{at, unit_.data(e), 0} : Pointer{at, nullptr, elements(v)});
    }
}

llvm::Constant* Data::variable() {
    std::sort(pointers_.begin(), pointers_.end(),
              [](const Pointer& a, const Pointer& b) { return a.at < b.at; });
    // Runs of bytes alternate with addresses.
    std::vector<llvm::Type*> types;
    std::vector<llvm::Constant*> parts;
    std::size_t done = 0;
    const auto plain = [&](std::size_t to) {
        const llvm::StringRef bytes = llvm::StringRef(bytes_).slice(done, to);
        parts.push_back(llvm::ConstantDataArray::getString(unit_.ctx, bytes, false));
        types.push_back(parts.back()->getType());
    };
    for (const Pointer& p : pointers_) {
        plain(p.at);
        done = p.at + sizeof(void*);
        parts.push_back(nullptr);
        types.push_back(unit_.ptr);
    }
    plain(bytes_.size());
    auto* type = llvm::StructType::get(unit_.ctx, types, true);
    auto* global = new llvm::GlobalVariable(unit_.out, type, true, llvm::GlobalValue::ExternalLinkage,
                                            nullptr, unit_.new_name("constant_"));
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
        const Pointer& p = pointers_[i];
        llvm::Constant* offset = llvm::ConstantInt::get(unit_.i64, p.offset);
        parts[2 * i + 1] =
            p.to ? p.to : llvm::ConstantExpr::getInBoundsGetElementPtr(unit_.i8, global, offset);
    }
    global->setInitializer(llvm::ConstantStruct::get(type, parts));
    global->setAlignment(llvm::Align(64));
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return global;
}

std::string name_of_packed(PackedVec v) { return fmt::format("data.{}", v.node->id); }

llvm::Constant* Unit::data(const Expr* v) {
    llvm::Constant*& known = data_[v];
    if (known) return known;
    if (const auto packed = v->as<PackedVec>())
        return known = out.getOrInsertGlobal(name_of_packed(packed), i8);
    return known = Data(*this, v->as<MakeVec>()).variable();
}

static llvm::Constant* number(const Unit& u, const Expr* e) {
    llvm::Type* t = u.lower(e->type->scalar);
    if (!is_float(e->type->scalar)) return llvm::ConstantInt::get(t, e->attr.bits);
    const bool wide = e->type->scalar == Scalar::F64;
    const llvm::APInt bits(wide ? 64 : 32, e->attr.bits);
    return llvm::ConstantFP::get(
        t, llvm::APFloat(wide ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle(), bits));
}

Leaves Unit::constant(const Expr* e) {
    switch (e->op) {
        case Op::Literal: return {number(*this, e)};
        case Op::Var: return constant(constants.value(e->attr.symbol));
        case Op::PackedVec:
        case Op::MakeVec: {
            const std::uint64_t n = constant_length(e);
            return {n ? data(e) : llvm::ConstantPointerNull::get(ptr), llvm::ConstantInt::get(i64, n)};
        }
        default: {
            Leaves all;
            for (const Expr* f : e->args()) all.append(constant(f));
            return all;
        }
    }
}

}  // namespace weld::codegen
