// Captures in memory.
#include "codegen/captures.h"

#include "weldir/support/round_up.h"

namespace weld::codegen {

namespace {

/// Where values lie in memory, one after the other, each aligned to its size.
struct Pack {
    std::vector<llvm::Type*> types;
    std::vector<std::int64_t> offsets;
    std::int64_t bytes = 0;

    explicit Pack(const Unit& unit, const Leaves& values) {
        const llvm::DataLayout& layout = unit.out.getDataLayout();
        for (llvm::Value* v : values) {
            llvm::Type* t = in_memory(unit, v->getType());
            const auto size = std::int64_t(layout.getTypeStoreSize(t).getFixedValue());
            bytes = round_up(bytes, size);
            types.push_back(v->getType());
            offsets.push_back(bytes);
            bytes += size;
        }
    }
    static llvm::Type* in_memory(const Unit& unit, llvm::Type* t) {
        if (!t->getScalarType()->isIntegerTy(1)) return t;
        auto* v = llvm::dyn_cast<llvm::FixedVectorType>(t);
        return v ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(unit.i8, v->getNumElements()))
                 : unit.i8;
    }
};
}  // namespace

llvm::Value* pack(Emitter& e, const Leaves& values) {
    const Pack p(e.unit, values);
    llvm::Value* room = e.slot(p.bytes, 8);
    for (std::size_t i = 0; i < values.size(); ++i) {
        llvm::Type* t = Pack::in_memory(e.unit, p.types[i]);
        llvm::Value* v = t == p.types[i] ? values[i] : e.ir.CreateZExt(values[i], t);
        e.ir.CreateAlignedStore(v, e.address(room, p.offsets[i]), llvm::Align(1));
    }
    return room;
}

Leaves unpack(Emitter& e, llvm::Value* room, const Leaves& callers) {
    const Pack p(e.unit, callers);
    Leaves values;
    for (std::size_t i = 0; i < callers.size(); ++i) {
        llvm::Type* t = Pack::in_memory(e.unit, p.types[i]);
        llvm::Value* v = e.ir.CreateAlignedLoad(t, e.address(room, p.offsets[i]), llvm::Align(1));
        values.push_back(t == p.types[i] ? v : e.ir.CreateIsNotNull(v));
    }
    return values;
}

std::vector<const Symbol*> captures(const Unit& unit, const Expr* e) {
    std::vector<const Symbol*> symbols = free_symbols(e);
    std::erase_if(symbols, [&](const Symbol* s) { return unit.constants.value(s); });
    return symbols;
}

Leaves leaves_of(const Emitter& e, const std::vector<const Symbol*>& symbols) {
    Leaves all;
    for (const Symbol* s : symbols) all.append(e.names.at(s));
    return all;
}

void bind_names(Emitter& callee, const Emitter& caller, const std::vector<const Symbol*>& symbols,
                llvm::ArrayRef<llvm::Value*> values) {
    std::size_t at = 0;
    for (const Symbol* s : symbols) {
        const std::size_t n = caller.names.at(s).size();
        callee.names[s] = Leaves(values.begin() + at, values.begin() + at + n);
        callee.captured.insert(s);
        at += n;
    }
}

}  // namespace weld::codegen
