// What emitted code does with builders. Each has a file here that says it; the words that several of them
// need are in arrays.h, groups.h and tables.h.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// One kind of builder. `t` is always a type of that kind. States are leaves in the form of the present loop
/// (Emitter::lanes) where nothing else is said; the one outside of loops is Lanes{}, and has in memory the
/// words that weldir/builders says.
struct BuilderCode {
    /// How many leaves a state in `form` has.
    int (*leaves)(const Emitter& e, const Type* t, Lanes form);
    /// A new one, as it is outside of loops; `arg` is empty if there is none.
    Leaves (*begin)(Emitter& e, NewBuilder b, const Leaves& arg);
    /// The state in another form.
    Leaves (*reform)(Emitter& e, const Type* t, const Leaves& state, Lanes from, Lanes to, Loc loc);
    Leaves (*merge)(Emitter& e, Merge g, const Leaves& state, const Leaves& value);
    /// Merges `n` lanes, all or those of `mask`; nothing where they have to be merged one by one.
    std::optional<Leaves> (*merge_lanes)(Emitter& e, Merge g, const Leaves& state, const Leaves& value,
                                         std::uint32_t n, llvm::Value* mask);
    Leaves (*result)(Emitter& e, Result r, const Leaves& state);
};

const BuilderCode& code_of(const Type* builder);

#define WELD_BUILDER(name, ...) extern const BuilderCode k##name##Code;
#include "runtime/abi/builders.def"

/// The same in every form.
inline Leaves same_form(Emitter&, const Type*, const Leaves& state, Lanes, Lanes, Loc) { return state; }

/// The state of several mergers in another form, all at once.
Leaves reform_mergers(Emitter& e, std::span<const Type* const> mergers, const Leaves& state, Lanes from,
                      Lanes to);

/// Merges `v` into the value of `type`, a scalar or struct of them, at `at`.
/// `evaluated`: see Emitter::merge_op.
void merge_in_memory(Emitter& e, const Type* type, MergeOp op, llvm::Value* at,
                     llvm::ArrayRef<llvm::Value*> v, llvm::BasicBlock* evaluated = nullptr);

}  // namespace weld::codegen
