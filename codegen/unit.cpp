// One LLVM module under construction: its types, descriptions of types, functions and names.
#include <algorithm>
#include <cassert>

#include "codegen/builders/code.h"
#include "codegen/code_module.h"
#include "codegen/emit.h"
#include "codegen/segments.h"
#include "weldir/ir/builder.h"

namespace weld::codegen {

Unit::Unit(const Module& m, const Constants& constants, const CodeOptions& options, llvm::Module& out,
           Unit* loops)
    : m(m),
      constants(constants),
      options(options),
      target(target_of(options.cpu)),
      out(out),
      ctx(out.getContext()),
      i1(llvm::Type::getInt1Ty(ctx)),
      i8(llvm::Type::getInt8Ty(ctx)),
      i32(llvm::Type::getInt32Ty(ctx)),
      i64(llvm::Type::getInt64Ty(ctx)),
      ptr(llvm::PointerType::getUnqual(ctx)),
      loops(loops ? *loops : *this) {
    this->loops.once = this;
}

llvm::Type* Unit::lower(Scalar s) const {
    switch (s) {
        case Scalar::Bool: return i1;
        case Scalar::F32: return llvm::Type::getFloatTy(ctx);
        case Scalar::F64: return llvm::Type::getDoubleTy(ctx);
        default: return llvm::IntegerType::get(ctx, 8 * unsigned(size_of(s)));
    }
}

llvm::Type* Unit::memory(Scalar s) const { return s == Scalar::Bool ? i8 : lower(s); }

static int kind_of(const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar: return int(t->scalar);
        case TypeKind::Simd: return kWeldSimd;
        case TypeKind::Vec: return kWeldVec;
        case TypeKind::Dict: return kWeldDict;
        case TypeKind::Struct: return kWeldStruct;
        case TypeKind::Builder: return kWeldFirstBuilder + int(t->builder);
        case TypeKind::Function: break;
    }
    return -1;
}

llvm::Constant* Unit::global(llvm::Constant* init) {
    return new llvm::GlobalVariable(out, init->getType(), true, llvm::GlobalValue::PrivateLinkage, init);
}

/// An array of pointers; null if there are none.
llvm::Constant* Unit::array_of(llvm::ArrayRef<llvm::Constant*> pointers) {
    if (pointers.empty()) return llvm::ConstantPointerNull::get(ptr);
    return global(llvm::ConstantArray::get(llvm::ArrayType::get(ptr, pointers.size()), pointers));
}

llvm::Constant* Unit::describe(const Type* t) {
    if (auto at = types_.find(t); at != types_.end()) return at->second;
    std::vector<llvm::Constant*> args;
    if (t->is_simd()) args.push_back(describe(m.types.scalar(t->scalar)));
    if (const Type* kept = kept_merges(t)) args.push_back(describe(kept));
    else
        for (const Type* a : t->args) args.push_back(describe(a));
    llvm::Constant* arg_array = array_of(args);
    llvm::Constant* offsets = llvm::ConstantPointerNull::get(ptr);
    if (t->is_struct()) {
        std::vector<std::uint64_t> at;
        for (std::int64_t o : offsets_of(t->args)) at.push_back(std::uint64_t(o));
        if (!at.empty()) offsets = global(llvm::ConstantDataArray::get(ctx, at));
    }
    const auto number = [&](int v) { return llvm::ConstantInt::get(i32, std::uint64_t(v)); };
    const auto word = [&](std::int64_t v) { return llvm::ConstantInt::get(i64, std::uint64_t(v)); };
    namespace type = fields::Type;
    return types_[t] = global(record(type::kAll, {{type::kind, number(kind_of(t))},
                                                  {type::holds_pointer, number(t->holds_pointer)},
                                                  {type::plain, number(is_plain(t))},
                                                  {type::op, number(int(t->op))},
                                                  {type::num_args, word(std::int64_t(args.size()))},
                                                  {type::size, word(size_of(t))},
                                                  {type::align, word(align_of(t))},
                                                  {type::args, arg_array},
                                                  {type::offsets, offsets}}));
}

llvm::Constant* Unit::describe_all(std::span<const Type* const> types) {
    std::vector<llvm::Constant*> all;
    for (const Type* t : types) all.push_back(describe(t));
    return array_of(all);
}

llvm::FunctionCallee Unit::external(const std::string& name, llvm::FunctionType* type) {
    return out.getOrInsertFunction(name, type);
}

llvm::Type* Unit::type_of(char letter) const {
    switch (letter) {
        case 'b': return i8;
        case 'i': return i32;
        case 'l': return i64;
        case 'p': return ptr;
        default: return llvm::Type::getVoidTy(ctx);
    }
}

llvm::Constant* Unit::record(std::span<const Field> shape,
                             std::initializer_list<std::pair<Field, llvm::Constant*>> values) {
    std::vector<llvm::Type*> types;
    std::vector<llvm::Constant*> all;
    for (const Field& f : shape) {
        const auto* at =
            std::ranges::find_if(values, [&](const auto& v) { return v.first.offset == f.offset; });
        assert(at != values.end() && at->second->getType() == type_of(f.letter));
        types.push_back(type_of(f.letter));
        all.push_back(at->second);
    }
    return llvm::ConstantStruct::get(llvm::StructType::get(ctx, types), all);
}

llvm::FunctionCallee Unit::entry(llvm::StringRef name) {
    struct Row {
        const char *name, *result, *params;
    };
    static constexpr Row rows[] = {
#define WELD_ENTRY(name, result, params) {#name, #result, #params},
#include "runtime/abi/entry.def"
    };
    for (const Row& row : rows) {
        if (name != row.name) continue;
        std::vector<llvm::Type*> params;
        for (const char* p = row.params; *p; ++p) params.push_back(type_of(*p));
        auto callee = external(row.name, llvm::FunctionType::get(type_of(*row.result), params, false));
        auto* f = llvm::cast<llvm::Function>(callee.getCallee());
        f->setDoesNotThrow();
        if (name.starts_with("weld_rt_fail")) f->addFnAttr(llvm::Attribute::Cold);
        return callee;
    }
    llvm_unreachable("no such runtime entry");
}

llvm::Function* Unit::function(const std::string& name, llvm::ArrayRef<llvm::Type*> params) {
    return function(name, llvm::FunctionType::get(i32, params, false));
}

llvm::Function* Unit::function(const std::string& name, llvm::FunctionType* type) {
    auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, new_name(name), out);
    f->setVisibility(llvm::GlobalValue::HiddenVisibility);
    f->setDoesNotThrow();
    return f;
}

void Unit::mark(llvm::Function* f) {
    mark_loop(f, marked.size());
    marked.push_back(f);
}

llvm::Constant* Unit::call_record(llvm::Function* f) {
    namespace loop = fields::Loop;
    llvm::Constant* null = llvm::ConstantPointerNull::get(ptr);
    const auto number = [](llvm::IntegerType* type, std::int64_t n) {
        return llvm::ConstantInt::getSigned(type, n);
    };
    return global(record(loop::kAll, {{loop::body, f},
                                      {loop::state, null},
                                      {loop::cost, number(i64, 1)},
                                      {loop::multiple, number(i64, 1)},
                                      {loop::parallel, number(i32, 0)},
                                      {loop::loc, number(i32, 0)},
                                      {loop::appends, null},
                                      {loop::number, number(i64, loop_number(*f))}}));
}

std::string Unit::new_name(const std::string& begin) { return begin + std::to_string(loops.next_name_++); }

llvm::Function* Unit::seen(llvm::Function* f) {
    if (f->getParent() == &out) return f;
    auto* here =
        llvm::cast<llvm::Function>(out.getOrInsertFunction(f->getName(), f->getFunctionType()).getCallee());
    here->copyAttributesFrom(f);
    return here;
}

// The parameters are (task, arguments*, result*): `arguments` is one C struct of the parameters.
void Unit::emit_program() {
    const Lambda main = m.main->as<Lambda>();
    Unit& home = optimised(main) == Optimised::AtOnce ? loops : *this;
    auto* f = llvm::Function::Create(llvm::FunctionType::get(i32, {ptr, ptr, ptr}, false),
                                     llvm::Function::ExternalLinkage, std::string(kMainFunction), home.out);
    f->setDoesNotThrow();
    Emitter e(home, f, f->getArg(0));
    std::vector<const Type*> types;
    for (const Symbol* p : main.params()) types.push_back(p->type);
    const auto offsets = offsets_of(types);
    for (std::size_t i = 0; i < types.size(); ++i)
        e.names[main.param(i)] = e.load(types[i], e.address(f->getArg(1), offsets[i]));
    const Leaves result = e.emit(main.body());
    e.store(main.body()->type, result, f->getArg(2));
    e.ir.CreateRet(e.c32(0));
    loops.emit_functions();
}

}  // namespace weld::codegen
