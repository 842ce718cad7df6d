// The words that emitting code is made of. `Unit` is one LLVM module; `Emitter` is one LLVM function in it.
//
// A value is its *leaves*: the scalars, lanes and pointers that it consists of, flattened in order; an LLVM
// value each.
// `{i32,vec[f64]}` is three leaves (the i32, the data pointer, the length). Nothing in emitted code is an
// LLVM aggregate, so every part of every value and builder is in SSA form from the start. bool is i1 in
// leaves, one byte in memory.
//
// Whoever adds to the emitter keeps to this:
// - Code goes to the place of `ir`. Every `emit` may have moved that to another block.
// - States of builders are in the form that `lanes` says. Who changes it, as loops do, brings them to the new
//   form and back (`reform`).
// - `names` has the leaves of what is in scope. Another function has another Emitter, and knows nothing of
//   these but what it gets as captures (captures.h).
// - What may fail goes through `fail_if`, `leave_if` or `call_checked`, behind which all went well.
// - Room in the frame (`slot`) is there once, however often the code around it runs.
//
// Builders' leaves are their state: appender {data, size, capacity}, merger the leaves of its value,
// dictmerger and groupmerger one pointer, vecmerger {data, len}. Loops add to that (`Lanes` below): a merger
// carries vectors that collect lanes, a dictmerger what searches read, or groups, a groupmerger its array.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/constants.h"
#include "codegen/engine.h"
#include "codegen/layouts.h"
#include "codegen/target.h"
#include "weldir/ir/build.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/walk.h"

namespace weld::codegen {

using Leaves = llvm::SmallVector<llvm::Value*, 4>;

/// One LLVM module under construction, and what its functions share. A program is two of them: code that runs
/// once, which is compiled the quick way, and loops, which are optimised.
class Unit {
  public:
    Unit(const Module& m, const Constants& constants, const CodeOptions& options, llvm::Module& out,
         Unit* loops = nullptr);

    const Module& m;
    const Constants& constants;
    const CodeOptions& options;
    const Target& target;
    llvm::Module& out;
    llvm::LLVMContext& ctx;
    llvm::IntegerType *i1, *i8, *i32, *i64;
    llvm::PointerType* ptr;
    Unit& loops;        ///< where loops and what else is worth optimising go; may be this one
    Unit* once = this;  ///< where code goes that is not: it runs once, or there is too much of it

    /// Emits the main program and everything that it needs.
    void emit_program();

    llvm::Type* lower(Scalar s) const;                                 ///< of a scalar in a leaf
    llvm::Type* memory(Scalar s) const;                                ///< the same in memory (bool is i8)
    llvm::Constant* describe(const Type* t);                           ///< its WeldType
    llvm::Constant* describe_all(std::span<const Type* const> types);  ///< an array of pointers to them
    llvm::Type* type_of(char letter) const;        ///< a letter of runtime/abi/entry.def or layouts.h
    llvm::Constant* global(llvm::Constant* init);  ///< constant data, by its address
    /// A constant struct with these fields, which are all that `shape` has.
    llvm::Constant* record(std::span<const Field> shape,
                           std::initializer_list<std::pair<Field, llvm::Constant*>> values);
    llvm::FunctionCallee entry(llvm::StringRef name);  ///< a function of runtime/abi/entry.def
    llvm::FunctionCallee external(const std::string& name, llvm::FunctionType* type);
    llvm::Function* function(const std::string& name, llvm::FunctionType* type);
    llvm::Function* function(const std::string& name, llvm::ArrayRef<llvm::Type*> params);  ///< returns i32
    std::string new_name(const std::string& begin);  ///< of a function or of data
    /// Those of a value of type `t` outside of loops.
    void leaf_types(const Type* t, std::vector<llvm::Type*>* all) const;
    void mark(llvm::Function* f);  ///< puts it among `marked`
    /// A WeldLoop for weld_rt_function of a WeldFunctionFn.
    llvm::Constant* call_record(llvm::Function* f);
    llvm::Function* seen(llvm::Function* f);               ///< `f` as code of this unit refers to it
    llvm::Function* function_of(const weld::Function& f);  // functions.cpp
    bool is_param(const Symbol* s) const { return loops.params_.contains(s); }  ///< of a module function
    Leaves constant(const Expr* e);                                             ///< of what `constants` holds
    llvm::Constant* data(const Expr* v);  ///< the elements of such a vector

    /// Types that the program need not have, made of its own ones: not the same pointers as where it has
    /// them.
    Arena arena;
    Types new_types{arena};

    /// Outlined loop bodies by For node, so that a loop which is emitted in place twice has one of them.
    std::unordered_map<const Expr*, llvm::Function*> loop_functions;
    /// Loops, rounds and functions that may be compiled the quick way at first, by WeldLoop::number.
    std::vector<llvm::Function*> marked;

  private:
    void emit_functions();
    llvm::Constant* array_of(llvm::ArrayRef<llvm::Constant*> pointers);

    std::unordered_map<const Type*, llvm::Constant*> types_;
    std::unordered_map<const weld::Function*, llvm::Function*> functions_;
    std::unordered_map<const Expr*, llvm::Constant*> data_;
    struct Pending {
        const weld::Function* f;
        Unit* home;
    };
    std::vector<Pending> pending_;
    std::unordered_set<const Symbol*> params_;  ///< of the functions in `functions_`
    int next_name_ = 0;
};

/// Mergers inside a simd loop of `lanes` carry `accumulators` vectors besides their scalar. {0, 0} outside.
struct Lanes {
    std::uint32_t lanes = 0;
    std::uint32_t accumulators = 0;
    std::uint32_t groups = 0;  ///< dictmergers hold so many of them (codegen/builders/groups.h)
    std::uint32_t batch = 0;   ///< so many of these are compared at once
    bool spread = false;       ///< the groups of dictmergers are spread (codegen/builders/spread.h)
    bool tables = false;       ///< dictmergers are open tables (codegen/builders/tables.h)
    bool arrays = false;   ///< groupmergers are open: {data, size, capacity} of the array, and its pointer
    bool numbers = false;  ///< accumulators of the least and the largest floats begin as infinities, not NaN
    friend bool operator==(const Lanes&, const Lanes&) = default;
};

/// The last round of a simd loop over elements that do not fill all lanes: the first `count` of them are.
struct TailRound {
    llvm::Value* count = nullptr;
    llvm::Value* mask = nullptr;  ///< null: all lanes are elements
    bool has_room = false;        ///< appenders that take them have room for the elements
    bool has_slack = false;       ///< and for all lanes
};

/// How one datum of a loop is read at iteration i: position start + i * stride of a vector, or that number
/// itself. For nditer i is taken apart by the shape, and each part has a stride.
struct Datum {
    Iter iter;  ///< false for a plain vector
    const Type* yields = nullptr;
    Leaves vec;                     ///< {data, len}; empty for a range
    llvm::Value* start = nullptr;   ///< null: 0
    llvm::Value* stride = nullptr;  ///< null: 1
    Leaves nd_shape, nd_strides;    ///< nditer
};

/// Where the tag of a key is, if it was known before its iteration began (prefetch.h).
struct EarlyTag {
    llvm::Value* ring;
    llvm::Value* iteration;
};

/// Where what is asked for early goes.
enum class Cache : std::uint8_t { First, Second };

/// How many iterations a loop may go on without looking whether to stop: so few that it does soon, so many
/// that looking costs nothing.
struct Strip {
    std::int64_t iterations;
    Loc loc;  ///< of the loop
};

/// What a look-up of which lanes lie `stride` apart has read, from `offset` behind the lanes `base` on (strided.h).
struct StridedRead {
    llvm::Value *data, *base;
    llvm::Type* type;  ///< of a register
    std::int64_t offset, stride;
    Leaves registers;
    llvm::Value* all_inside;  ///< of the vector; else what is not is 0

    bool covers(const StridedRead& r) const {
        return data == r.data && base == r.base && type == r.type && offset == r.offset && stride == r.stride;
    }
};

/// Weights of a branch that is seldom taken.
llvm::MDNode* rarely(llvm::LLVMContext& ctx);

class Emitter {
  public:
    Emitter(Unit& unit, llvm::Function* fn, llvm::Value* task);

    Unit& unit;
    const Module& m;
    llvm::Function* fn;
    llvm::Value* task;
    llvm::IRBuilder<> ir;
    Lanes lanes;                    ///< of the simd loop that is being emitted
    std::uint32_t accumulator = 0;  ///< which accumulator merges go to
    TailRound tail;                 ///< merges and reads leave the other lanes alone
    bool in_any_case = false;       ///< conditions change so often that what depends on them is done always
    bool side_by_side = false;      ///< the same code is made for several iterations, one after the other
    int loop_depth = 0;  ///< loops around the present place, in this function and those it was cut from
    std::vector<StridedRead> strided_reads;  ///< on the way to the present place
    std::unordered_map<const Symbol*, Leaves> names;
    std::unordered_set<const Symbol*> captured;  ///< names from outside of this function, which stay
    std::unordered_map<const Expr*, llvm::Value*> tile_rows;      ///< of look-ups: what they give this round
    std::unordered_map<const Expr*, llvm::Value*> needed_rounds;  ///< of what says `often`: the last ones
    std::unordered_map<const Expr*, EarlyTag> early_tags;         ///< of look-ups and merges

    /// The value of `e`; frees what ends with it.
    Leaves emit(const Expr* e);
    llvm::Value* emit1(const Expr* e) { return emit(e)[0]; }

    // ---- families, one file each
    Leaves emit_scalar_op(const Expr* e);  // scalar.cpp
    llvm::Value* scalar_op(Op op, Scalar s, llvm::Value* a, llvm::Value* b, Loc loc,
                           const Expr* divisor = nullptr);
    llvm::Value* emit_cast(llvm::Value* v, Scalar from, Scalar to);
    llvm::Value* math_call(Op op, Scalar s, llvm::Value* a, llvm::Value* b);
    /// `evaluated`: the block in which `b` was, where it is not this one.
    llvm::Value* merge_op(MergeOp op, Scalar s, llvm::Value* a, llvm::Value* b,
                          llvm::BasicBlock* evaluated = nullptr);
    /// The same where `a` is no NaN if `number`, which saves two instructions, nor is `b` if `both`.
    llvm::Value* merge_into(MergeOp op, Scalar s, llvm::Value* a, llvm::Value* b, bool number,
                            bool both = false);
    llvm::Value* compare_values(Op op, const Type* t, const Leaves& a, const Leaves& b, Loc loc);

    Leaves emit_block(Block b);  // control.cpp
    void emit_lets_of(Block b);
    void emit_lets(Block b, std::size_t from, std::size_t to);  ///< the lets [from, to)
    /// Frees all vectors and dictionaries in a value outside of loops.
    /// Calls `how`, an entry that frees or gives away, with the memory of each vector in the value.
    void end_value(llvm::StringRef how, const Type* t, llvm::ArrayRef<llvm::Value*> leaves);
    /// Emits the lets of a long block as functions of their own, and if wanted what it gives; false if it
    /// isn't one.
    bool emit_in_segments(Block b, Leaves* result = nullptr);  // segments.cpp
    llvm::Value* vector_in_segments(MakeVec v);  ///< the data of a long literal likewise, or null
    Leaves emit_if(llvm::Value* cond, const std::function<Leaves()>& then,
                   const std::function<Leaves()>& otherwise, llvm::MDNode* weights = nullptr);
    Leaves emit_select(Select s);
    Leaves emit_kernel(Kernel k);
    Leaves emit_assert(Assert a);

    Leaves emit_call(Call c);  // functions.cpp
    /// Builders in `v` from the form that they have in the present loop to the one outside, and back.
    Leaves outside_of_loops(const Type* t, const Leaves& v);
    Leaves inside_of_loop(const Type* t, const Leaves& v);

    Leaves emit_for(For f);           // loops.cpp
    Leaves emit_iterate(Iterate it);  // iterate.cpp
    Leaves emit_sort(Sort s);         // sort.cpp

    Leaves emit_make_vec(MakeVec v);  // collections.cpp
    Leaves emit_lookup(Lookup l);
    Leaves emit_opt_lookup(OptLookup l);
    Leaves emit_lookup_lanes(LookupLanes l);
    Leaves emit_opt_lanes(OptLanes l);
    Leaves emit_opt_rows(OptLanes l, const Leaves& of, llvm::Value* first, llvm::Value* length);
    Leaves emit_key_exists(KeyExists k);
    Leaves emit_slice(Slice s);
    Leaves emit_len(Len l);
    Leaves emit_through_memory(const Expr* e);  // serialize, deserialize, tovec

    Leaves emit_new_builder(NewBuilder b);  // builders.cpp
    Leaves emit_merge(Merge g);
    Leaves emit_conditional_merge(If choice, Merge one);
    Leaves emit_result(Result r);
    /// Makes room for `extra` elements more in an appender or an open groupmerger.
    Leaves grow_array(const Type* t, Leaves array, llvm::Value* extra, Loc loc);
    /// The same for so many rounds that append `each`, if it has no room so far and there is much more memory.
    Leaves expecting(const Type* t, Leaves array, llvm::Value* rounds, std::int64_t each, Loc loc);
    /// Mergers in `state` (of `type`, a builder or struct of builders, maybe with data between) from form
    /// `from` to form `to`: lanes are folded into the scalar, or start neutral. `loc`: of the loop.
    Leaves reform(const Type* type, const Leaves& state, Lanes from, Lanes to, Loc loc = {});
    llvm::Value* neutral(MergeOp op, Scalar s);  ///< x op neutral == x for every x
    /// The same for an accumulator that begins with it; infinities for the least and the largest floats (`numbers`).
    llvm::Value* nothing(MergeOp op, Scalar s, bool numbers);
    llvm::Value* initial(MergeOp op, Scalar s);  ///< where a new builder starts (rule: finite extremes)

    // ---- words
    int num_leaves(const Type* t, Lanes form) const;
    int num_leaves(const Type* t) const { return num_leaves(t, lanes); }
    int field_offset(const Type* t, std::size_t field, Lanes form) const;  ///< first leaf of a field
    int field_offset(const Type* t, std::size_t field) const { return field_offset(t, field, lanes); }
    Leaves load(const Type* t, llvm::Value* at);
    void store(const Type* t, const Leaves& v, llvm::Value* at);
    llvm::Value* load(Field f, llvm::Value* of);  ///< of a struct at `of`
    void store(Field f, llvm::Value* v, llvm::Value* of);
    llvm::Value* load_tail(const Type* simd, llvm::Value* at);   ///< the lanes of `tail`, others zero
    void store_tail(Scalar s, llvm::Value* v, llvm::Value* at);  ///< the lanes of `tail`
    /// What `change(there, lanes)` makes of the elements at `at` and the lanes of `tail` of `v`, in parts of 2^k, one
    /// loaded and stored as the other was: a processor hands on what was stored just before if it is loaded
    /// with the same bytes, and not what was stored under a mask, or as several parts.
    void change_tail(const Type* simd, llvm::Value* v, llvm::Value* at,
                     llvm::function_ref<llvm::Value*(llvm::Value* there, llvm::Value* lanes)> change);
    void prefetch(llvm::Value* at, Cache into = Cache::First);  ///< any address: none faults
    void prefetch_row(llvm::Value* data,
                      Cache into = Cache::First);  ///< prefetches the beginning of a vector
    llvm::Value* address(llvm::Value* base, std::int64_t offset);
    /// The same scalar or pointer in a register of its own: no instruction makes it on the way, as part of an operand.
    llvm::Value* opaque(llvm::Value* x);
    /// i1: `e`, before which a branch asks, is to be computed for `lanes`: any of them needs it, or rounds before this did.
    llvm::Value* is_needed(const Expr* e, llvm::Value* lanes);
    llvm::Value* element(llvm::Value* data, const Type* elem, llvm::Value* index);
    llvm::Value* slot(std::int64_t bytes,
                      std::int64_t align);               ///< room in the frame, made in the entry block
    llvm::Value* transposed_slot(std::int64_t bytes);    ///< for transposed lines; null if there are many
    llvm::Value* spill(const Type* t, const Leaves& v);  ///< a slot with `v` in it
    llvm::Value* slot_of_vec();                          ///< a slot for a WeldVec
    llvm::Value* spill_vec(llvm::Value* data, llvm::Value* len);
    llvm::Value* call(llvm::StringRef entry, llvm::ArrayRef<llvm::Value*> args);
    void call_checked(llvm::StringRef entry,
                      llvm::ArrayRef<llvm::Value*> args);  ///< leaves if the status isn't 0
    llvm::Value* call_pointer(llvm::StringRef entry, llvm::ArrayRef<llvm::Value*> args);  ///< leaves if NULL
    llvm::Value* alloc(llvm::Value* count, std::int64_t elem_size, Loc loc);
    void fail_if(llvm::Value* cond, int code, Loc loc, llvm::Value* a = nullptr, llvm::Value* b = nullptr);
    void unlikely(llvm::Value* cond, const std::function<void()>& then);  ///< a cold detour that comes back
    void leave_if(llvm::Value* cond);  ///< to the error exit: the failure is recorded already
    void stop_check(Loc loc);          ///< leaves if the run is to stop
    void collect_check(const Type* state, const std::function<Leaves()>& value);  ///< end of an iteration
    void collect_but(std::span<const Symbol* const> symbols);  ///< likewise, of what these do not reach
    llvm::Constant* c64(std::int64_t v) { return llvm::ConstantInt::getSigned(unit.i64, v); }
    llvm::Constant* c32(std::int64_t v) { return llvm::ConstantInt::getSigned(unit.i32, v); }
    llvm::Constant* at(Loc loc) { return c32(std::int32_t(loc.offset)); }
    llvm::BasicBlock* block(const char* name);
    llvm::BasicBlock* fail_exit();

    /// `count` from lo to hi: emits `body(i, state)` as the loop body, which gives the next state.
    /// Leaves of `state` listed in `fixed` do not change. It ends early if `leave(next state)` holds. After
    /// every strip it looks whether to stop, if that is given.
    Leaves counted_loop(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const Leaves& state,
                        const std::vector<bool>& fixed,
                        const std::function<Leaves(llvm::Value* i, const Leaves& state)>& body,
                        const std::optional<Strip>& strip = {},
                        const std::function<llvm::Value*(const Leaves& next)>& leave = {});

  private:
    Leaves emit_node(const Expr* e);  ///< dispatches to the families
    void store_words(const Leaves& words, llvm::Value* to);
    llvm::BasicBlock* fail_exit_ = nullptr;
    std::int64_t transposed_bytes_ = 0;
};

/// The elements of the array that is the state of a builder which keeps what is merged; null for other types.
const Type* kept_merges(const Type* t);

/// An i1 (or vector of them) for each scalar leaf below a type: walks types and leaves together.
void for_each_scalar(const Type* t, const std::function<void(Scalar s)>& fn);

}  // namespace weld::codegen
