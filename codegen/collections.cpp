// Vectors and dictionaries as values: literals, look-ups, slices, and what goes through the runtime.
#include "codegen/emit.h"

namespace weld::codegen {

/// The bytes of a literal of scalars, or nothing if an element isn't constant.
static bool constant_bytes(MakeVec v, std::string& bytes) {
    const Type* elem = v.node->type->elem();
    if (!elem->is_scalar()) return false;
    const std::size_t size = std::size_t(size_of(elem));
    bytes.reserve(size * v.elems().size());
    for (const Expr* e : v.elems()) {
        if (e->op != Op::Literal) return false;
        bytes.append(reinterpret_cast<const char*>(&e->attr.bits), size);  // little endian
    }
    return true;
}

Leaves Emitter::emit_make_vec(MakeVec v) {
    const Type* elem = v.node->type->elem();
    const auto n = std::int64_t(v.elems().size());
    if (n == 0) return {llvm::ConstantPointerNull::get(unit.ptr), c64(0)};
    std::string bytes;
    if (constant_bytes(v, bytes)) return {unit.constant_array(bytes, 64), c64(n)};
    std::vector<Leaves> values;
    for (const Expr* e : v.elems()) values.push_back(emit(e));
    llvm::Value* data = alloc(c64(n), size_of(elem), v.node->loc);
    for (std::int64_t i = 0; i < n; ++i)
        store(elem, values[std::size_t(i)], address(data, i * size_of(elem)));
    return {data, c64(n)};
}

Leaves Emitter::emit_lookup(Lookup l) {
    const Leaves of = emit(l.of());
    const Type* key = l.key()->type;
    const Leaves k = emit(l.key());
    if (l.of()->type->is_vec()) {
        fail_if(ir.CreateICmpUGE(k[0], of[1]), kWeldArrayOutOfBounds, l.node->loc, k[0], of[1]);
        const Type* elem = l.node->type;
        return load(elem, element(of[0], elem, k[0]));
    }
    llvm::Value* found = call("weld_rt_dict_find", {task, of[0], spill(key, k)});
    fail_if(ir.CreateIsNull(found), kWeldKeyNotFound, l.node->loc);
    return load(l.node->type, found);
}

static Leaves zeros(Emitter& e, const Leaves& like) {
    Leaves z;
    for (llvm::Value* v : like) z.push_back(llvm::Constant::getNullValue(v->getType()));
    (void)e;
    return z;
}

Leaves Emitter::emit_opt_lookup(OptLookup l) {
    const Leaves of = emit(l.of());
    llvm::Value* found = call("weld_rt_dict_find", {task, of[0], spill(l.key()->type, emit(l.key()))});
    llvm::Value* there = ir.CreateIsNotNull(found);
    const Type* value = l.node->type->args[1];
    Leaves loaded;
    const Leaves v =
        emit_if(there, [&] { return loaded = load(value, found); }, [&] { return zeros(*this, loaded); });
    Leaves all = {there};
    all.append(v);
    return all;
}

Leaves Emitter::emit_slice(Slice s) {
    const Leaves v = emit(s.of());
    llvm::Value* start = emit1(s.start());
    llvm::Value* size = emit1(s.size());
    llvm::Value* wrong = ir.CreateOr(ir.CreateICmpUGT(start, v[1]), ir.CreateICmpSLT(size, c64(0)));
    fail_if(wrong, kWeldArrayOutOfBounds, s.node->loc, start, v[1]);
    llvm::Value* rest = ir.CreateSub(v[1], start);
    return {element(v[0], s.node->type->elem(), start),
            ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, size, rest)};
}

Leaves Emitter::emit_len(Len l) {
    const Leaves of = emit(l.of());
    if (l.of()->type->is_dict()) return {call("weld_rt_dict_len", {of[0]})};
    return {of[1]};
}

Leaves Emitter::emit_through_memory(const Expr* e) {
    const Type* in = e->arg(0)->type;
    const Leaves v = emit(e->arg(0));
    llvm::Value* out = slot(size_of(e->type), align_of(e->type));
    switch (e->op) {
        case Op::ToVec:
            call_checked("weld_rt_dict_entries",
                         {task, v[0], unit.describe(e->type->elem()), out, at(e->loc)});
            break;
        case Op::Serialize:
            call_checked("weld_rt_serialize", {task, unit.describe(in), spill(in, v), out, at(e->loc)});
            break;
        default:
            call_checked("weld_rt_deserialize",
                         {task, unit.describe(e->type), spill(in, v), out, at(e->loc)});
            break;
    }
    return load(e->type, out);
}

}  // namespace weld::codegen
