// The nodes of a program: one structure for all, and views that name the parts of each kind.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "weldir/ir/promises.h"
#include "weldir/ir/type.h"
#include "weldir/support/source.h"

namespace weld {

enum class Op : std::uint16_t {
#define WELD_SCALAR_OP(name, ...) name,
#define WELD_OP(name, ...) name,
#include "weldir/ir/ops.def"
};

/// What a scalar operation accepts; see ops.def.
enum class TypeRule : std::uint8_t { Number, Integer, IntOrBool, Float, Bool, Compare };

/// One row of ops.def.
struct OpInfo {
    /// What evaluating the node itself may do, at worst; see ops.def and `own_traits` (traits.h).
    enum Does : std::uint8_t { None = 0, Fails = 1, Heavy = 2, Costly = 4, Builds = 8, Allocates = 16 };

    const char* name;  ///< enum name, `Add`
    const char* text;  ///< in programs, `+`
    unsigned does;     ///< of Does
    bool scalar;       ///< a WELD_SCALAR_OP row; the fields below hold for these
    int arity;
    TypeRule rule;
    int level;  ///< Infix: 1...10; Prefix: 100; Call: 0
};
inline constexpr int kPrefixLevel = 100;
#define Infix(level) level
#define Prefix kPrefixLevel
#define Call 0
inline constexpr auto kOps = [] {
    using enum OpInfo::Does;
    return std::to_array<OpInfo>({
#define WELD_SCALAR_OP(name, text, arity, rule, form, does) \
    {#name, text, does, true, arity, TypeRule::rule, form},
#define WELD_OP(name, text, does) {#name, text, does, false, 0, TypeRule::Number, 0},
#include "weldir/ir/ops.def"
    });
}();
#undef Infix
#undef Prefix
#undef Call
inline constexpr std::size_t kNumOps = std::size(kOps);
constexpr const OpInfo& info(Op op) { return kOps[std::size_t(op)]; }
constexpr bool is_scalar_op(Op op) { return info(op).scalar; }
constexpr bool is_comparison(Op op) { return info(op).rule == TypeRule::Compare; }
/// A function of floats, such as `sqrt` and `exp`.
constexpr bool is_math(Op op) { return info(op).rule == TypeRule::Float; }

/// A name that is bound once in its Module: by a Block, a Lambda, or as a module function.
struct Symbol {
    std::string_view name;  ///< as written; need not be unique, the pointer is
    const Type* type;
    std::uint32_t id;     ///< order of creation
    Promises holds = {};  ///< of the sizes in its value
};

enum class AttrKey : std::uint8_t {
#define WELD_ATTR(name, ...) name,
#include "weldir/ir/attrs.def"
};

/// One row of attrs.def.
struct AttrInfo {
    enum Speaker : std::uint8_t { User, Passes };
    enum Values : std::uint8_t { One, Names, Numbers, Sizes };
    /// What passes find of a program that other passes may change; see attrs.def.
    enum Finding : std::uint8_t { Nothing = 0, Early = 1, Reads = 2, Reach = 4, Costs = 8 };

    const char* text;  ///< in programs, `parallel`
    Speaker by;
    Values values;
    Finding relies_on;
};
inline constexpr AttrInfo kAttrs[] = {
#define WELD_ATTR(name, text, by, values, relies_on) \
    {text, AttrInfo::by, AttrInfo::values, AttrInfo::relies_on},
#include "weldir/ir/attrs.def"
};
inline constexpr int kNumAttrKeys = int(std::size(kAttrs));
constexpr const AttrInfo& info(AttrKey key) { return kAttrs[int(key)]; }

/// Its values are names, each written for itself: `@(free:a, free:b)`.
constexpr bool names_symbols(AttrKey key) { return info(key).values == AttrInfo::Names; }
/// Its values are numbers, each written for itself: `@(appends:1, appends:-1)`.
constexpr bool lists_numbers(AttrKey key) { return info(key).values == AttrInfo::Numbers; }

/// Its value says something of sizes; it stands before a name or a function, on no node.
constexpr bool tells_sizes(AttrKey key) { return info(key).values == AttrInfo::Sizes; }

/// `@(key:value)`. `text` is what was written (`true`, `64L`, `local`); `number` its value where it is one.
struct Annotation {
    AttrKey key;
    std::string_view text;
    std::int64_t number = 0;                      ///< also 1 and 0 for `true` and `false`
    std::span<const Symbol* const> symbols = {};  ///< if the key `names_symbols`
    std::span<const std::int64_t> numbers = {};   ///< if the key `lists_numbers`
};

enum class IterKind : std::uint8_t { Scalar, Simd, Fringe };

/// How an iterator walks: `iter simditer fringeiter` over a vector, or over a range, or `nditer`.
struct IterShape {
    IterKind kind = IterKind::Scalar;
    bool range = false;    ///< rangeiter: no vector, yields i64
    bool nd = false;       ///< nditer
    bool bounded = false;  ///< has start, end, stride
};

struct BuiltinKernel;

/// A function of the runtime or of the user, called by name.
struct KernelRef {
    std::string_view name;
    bool pure = false;    ///< computes its result and nothing else
    bool effect = false;  ///< exactly once, in program order; never in a parallel loop
    bool fails = true;    ///< can fail; what is pure and cannot may be dropped, repeated, moved
    const BuiltinKernel* builtin = nullptr;  ///< its row of runtime/abi/kernels.def; null: a user's symbol
};

struct Expr;
struct Function;

/// What `op` needs besides arguments; which member holds is fixed by the kind of node.
union Attr {
    std::uint64_t bits;             // Literal: value, zero-extended to 64 bits (floats by bit pattern)
    const Symbol* symbol;           // Var
    const Symbol* const* symbols;   // Block, Lambda (count: Expr::num_symbols)
    std::uint64_t index;            // GetField
    IterShape iter;                 // Iter
    const KernelRef* kernel;        // Kernel
    const Function* function;       // Call
    const std::string_view* bytes;  // PackedVec
};

/// One node of a program. Never changes once made; lives as long as its Module.
struct Expr {
    Op op;
    bool binds = false;    ///< a Block or a Lambda stands here or below: else no loops either
    std::uint32_t id = 0;  ///< order of creation in its Module
    std::uint32_t num_args = 0;
    Loc loc;  ///< where the user wrote it; 0 if a pass made it
    std::uint32_t num_symbols = 0;
    const Type* type = nullptr;  ///< interned: same type, same pointer
    Attr attr{};
    const Expr* const* arg_data = nullptr;
    std::span<const Annotation> annotations;  ///< sorted by key, each key once

    std::span<const Expr* const> args() const { return {arg_data, num_args}; }
    const Expr* arg(std::size_t i) const { return arg_data[i]; }
    std::span<const Symbol* const> symbols() const {
        return num_symbols ? std::span<const Symbol* const>{attr.symbols, num_symbols}
                           : std::span<const Symbol* const>{};
    }
    const Annotation* annotation(AttrKey key) const {
        for (const Annotation& a : annotations)
            if (a.key == key) return &a;
        return nullptr;
    }
    /// `@(key:true)` is there / `@(key:false)` is there.
    bool says(AttrKey key, bool value) const {
        const Annotation* a = annotation(key);
        return a && a->text == (value ? "true" : "false");
    }
    template <class V>
    V as() const {
        return V{{op == V::kOp ? this : nullptr}};
    }  ///< the view, or a false one
};

/// Base of all views: a node that is known to be of kind `K`, or nothing.
template <Op K>
struct View {
    static constexpr Op kOp = K;
    const Expr* node = nullptr;
    explicit operator bool() const { return node != nullptr; }
};

/// A scalar constant.
struct Literal : View<Op::Literal> {
    std::uint64_t bits() const { return node->attr.bits; }
    std::int64_t as_int() const;  ///< integers and bool, sign- or zero-extended by type
    double as_float() const;      ///< f32, f64
};

struct Var : View<Op::Var> {
    const Symbol* symbol() const { return node->attr.symbol; }
};

/// `let s0 = v0; let s1 = v1; ...; result`: values in order, each seeing the symbols before it.
/// The only `let`; long programs are long, not deep. A block's result is never a block.
struct Block : View<Op::Block> {
    std::size_t size() const { return node->num_symbols; }
    std::span<const Symbol* const> symbols() const { return node->symbols(); }
    const Symbol* symbol(std::size_t i) const { return node->attr.symbols[i]; }
    std::span<const Expr* const> values() const { return node->args().first(node->num_symbols); }
    const Expr* value(std::size_t i) const { return node->arg(i); }
    const Expr* result() const { return node->arg(node->num_symbols); }
    /// The result is the last let itself.
    bool gives_last() const {
        return size() > 0 && result()->op == Op::Var && result()->attr.symbol == symbol(size() - 1);
    }
    /// What is evaluated last: the value of the last let, or else the result.
    const Expr* last() const { return gives_last() ? value(size() - 1) : result(); }
};

/// `|a, b| body`: argument of For, Iterate and Sort, and the main program. Not a value.
struct Lambda : View<Op::Lambda> {
    std::span<const Symbol* const> params() const { return node->symbols(); }
    const Symbol* param(std::size_t i) const { return node->attr.symbols[i]; }
    const Expr* body() const { return node->arg(0); }
};

struct MakeStruct : View<Op::MakeStruct> {
    std::span<const Expr* const> fields() const { return node->args(); }
};
struct GetField : View<Op::GetField> {
    const Expr* of() const { return node->arg(0); }
    std::size_t index() const { return node->attr.index; }
};
/// `[a, b, ...]`; strings are vectors of i8 literals.
struct MakeVec : View<Op::MakeVec> {
    std::span<const Expr* const> elems() const { return node->args(); }
};
/// A long vector of scalar literals, which would be too much to keep as nodes: its elements as they lie in
/// memory. Passes see no more of them than how many there are.
struct PackedVec : View<Op::PackedVec> {
    std::string_view bytes() const { return *node->attr.bytes; }
};
/// `T(x)`: between scalars, or lane by lane between simd of as many lanes.
struct Cast : View<Op::Cast> {
    const Expr* of() const { return node->arg(0); }
};
/// A scalar in every lane; the lane count is in the type.
struct Broadcast : View<Op::Broadcast> {
    const Expr* of() const { return node->arg(0); }
};
/// Evaluates one side only.
struct If : View<Op::If> {
    const Expr* cond() const { return node->arg(0); }
    const Expr* then() const { return node->arg(1); }
    const Expr* otherwise() const { return node->arg(2); }
};
/// Evaluates all three. `cond` is bool, or simd[bool,N] with sides that are simd of N lanes (or structs of
/// such).
struct Select : View<Op::Select> {
    const Expr* cond() const { return node->arg(0); }
    const Expr* then() const { return node->arg(1); }
    const Expr* otherwise() const { return node->arg(2); }
};
/// do { {state, again} = body(state) } while (again); its value is the state. Where `again` is lanes, those
/// that say no keep their state from then on, and the last one ends it. When few are left (`few`,
/// `patience`), these may go on one by one with `one_lane`, which does the same for the scalars of a lane.
struct Iterate : View<Op::Iterate> {
    const Expr* init() const { return node->arg(0); }
    Lambda body() const { return node->arg(1)->as<Lambda>(); }
    Lambda one_lane() const { return node->num_args > 2 ? node->arg(2)->as<Lambda>() : Lambda{}; }
    /// Of `again`; 0 if it is one bool for all.
    std::uint32_t lanes() const {
        const Type* again = body().body()->type->args[1];
        return again->is_simd() ? again->lanes : 0;
    }
};
/// `for(data..., builder, |b, i, x| body)`: `body` once per element, threading the builder; `i` counts
/// iterations from 0 for every kind of iterator. `x` is the element; with several data a struct of them.
struct For : View<Op::For> {
    const Expr* builder() const { return node->arg(0); }
    Lambda body() const { return node->arg(1)->as<Lambda>(); }
    const Symbol* builder_param() const { return body().param(0); }
    const Symbol* index_param() const { return body().param(1); }
    const Symbol* elem_param() const { return body().param(2); }
    std::span<const Expr* const> data() const { return node->args().subspan(2); }  ///< vectors or Iter nodes
};
/// One datum of a For. Its type is `vec[what it yields]`. Arguments: the vector (absent for a range); then,
/// if bounded, start, end, stride; for nditer also shape and strides (vec[i64] each), and its end and stride
/// say nothing. A range is always bounded. `simd` yields simd[T,N] for the first floor(n/N)*N elements of the
/// walk, `fringe` yields T for the rest; N is `lanes()`
/// (of a fringe kept as its `size` annotation, printed as `[N]`).
struct Iter : View<Op::Iter> {
    IterShape shape() const { return node->attr.iter; }
    const Expr* data() const { return shape().range ? nullptr : node->arg(0); }
    const Expr* start() const { return bound(0); }
    const Expr* end() const { return bound(1); }
    const Expr* stride() const { return bound(2); }
    const Expr* nd_shape() const { return shape().nd ? node->arg(4) : nullptr; }
    const Expr* nd_strides() const { return shape().nd ? node->arg(5) : nullptr; }
    const Type* yields() const { return node->type->elem(); }
    std::uint32_t lanes() const {  ///< 1 for plain iterators
        if (shape().kind == IterKind::Simd) return yields()->lanes;
        if (shape().kind == IterKind::Fringe) return std::uint32_t(node->annotation(AttrKey::Size)->number);
        return 1;
    }

  private:
    const Expr* bound(std::size_t i) const {
        return shape().bounded ? node->arg((shape().range ? 0 : 1) + i) : nullptr;
    }
};
/// A new builder of the node's type; the argument is optional: appender a size hint (i64), merger the initial
/// value, vecmerger the initial vector (always there), dictmerger an ignored hint (i64).
struct NewBuilder : View<Op::NewBuilder> {
    BuilderKind kind() const { return node->type->builder; }
    const Expr* arg() const { return node->num_args ? node->arg(0) : nullptr; }
};
/// Takes `value` in; the node's value is the builder after it. A simd value merges its lanes in order;
/// with a mask (simd[bool,N]) only the true ones. An appender of vectors or scalars T takes rows side by side, a
/// vec[simd[T,N]], too: it appends copies of these N rows in their order, each as a vector, or element by element.
struct Merge : View<Op::Merge> {
    const Expr* builder() const { return node->arg(0); }
    const Expr* value() const { return node->arg(1); }
    const Expr* mask() const { return node->num_args == 3 ? node->arg(2) : nullptr; }
    /// How many rows side by side are merged; 0: the value is none.
    std::uint32_t rows() const { return value()->type == node->type->takes ? 0 : rows_in(value()->type); }
};
/// What a builder has built.
struct Result : View<Op::Result> {
    const Expr* builder() const { return node->arg(0); }
};
struct Len : View<Op::Len> {  ///< of a vector or dictionary
    const Expr* of() const { return node->arg(0); }
};
struct Lookup : View<Op::Lookup> {  ///< in a vector (i64 index) or dictionary; fails outside
    const Expr* of() const { return node->arg(0); }
    const Expr* key() const { return node->arg(1); }
};
struct OptLookup : View<Op::OptLookup> {  ///< {found, value or zero}
    const Expr* of() const { return node->arg(0); }
    const Expr* key() const { return node->arg(1); }
};
/// `lookup[N](of, indices, mask)`: the elements of a vector of scalars at the places simd[i64,N], as lanes; 0 where
/// the mask, simd[bool,N], does not hold. Fails if one of them that it holds for is outside; the first of these is told.
struct LookupLanes : View<Op::LookupLanes> {
    const Expr* of() const { return node->arg(0); }
    const Expr* indices() const { return node->arg(1); }
    const Expr* mask() const { return node->num_args > 2 ? node->arg(2) : nullptr; }  ///< null: on all lanes
    std::uint32_t lanes() const { return node->type->lanes; }
};
/// `optlookup[N](of, first)`: {whether the N elements from `first` on are there as lanes, those lanes}. Of
/// scalars they are simd[T,N]. Of vectors of scalars they are a vec[simd[T,N]] that has the vectors side by
/// side, and are there only if all N are equally long, and not too long to be transposed in the first-level
/// cache; with `optlookup[N](of, first, most)`, a literal, only if no longer than that. With
/// `optlookup[N](of, first, most, length)`, of a vector of scalars, they are N rows of so many elements one behind the other
/// from element `first` on.
struct OptLanes : View<Op::OptLanes> {
    const Expr* of() const { return node->arg(0); }
    const Expr* first() const { return node->arg(1); }
    const Expr* most() const { return node->num_args > 2 ? node->arg(2) : nullptr; }  ///< null: what fits
    const Expr* length() const {
        return node->num_args > 3 ? node->arg(3) : nullptr;
    }  ///< null: that of vectors
    const Type* found() const { return node->type->args[1]; }
    std::uint32_t lanes() const { return found()->is_vec() ? found()->elem()->lanes : found()->lanes; }
};
/// With bits, which `weld_key_bits` has made of the dictionary, it may hold for other keys as well.
struct KeyExists : View<Op::KeyExists> {
    const Expr* of() const { return node->arg(0); }
    const Expr* key() const { return node->arg(1); }
    const Expr* bits() const { return node->num_args > 2 ? node->arg(2) : nullptr; }
};
struct Slice : View<Op::Slice> {  ///< a view, no copy
    const Expr* of() const { return node->arg(0); }
    const Expr* start() const { return node->arg(1); }
    const Expr* size() const { return node->arg(2); }
};
/// Stable. `by` has two parameters (a comparator giving i32) or one (the key, ascending in its natural
/// order). With a limit (i64) that is not negative, that many of the first elements at most.
struct Sort : View<Op::Sort> {
    const Expr* of() const { return node->arg(0); }
    Lambda by() const { return node->arg(1)->as<Lambda>(); }
    const Expr* limit() const { return node->num_args > 2 ? node->arg(2) : nullptr; }
};
struct ToVec : View<Op::ToVec> {
    const Expr* of() const { return node->arg(0); }
};
struct Serialize : View<Op::Serialize> {
    const Expr* of() const { return node->arg(0); }
};
struct Deserialize : View<Op::Deserialize> {
    const Expr* of() const { return node->arg(0); }
};
/// With a text, which is evaluated only to say why the program fails.
struct Assert : View<Op::Assert> {
    const Expr* of() const { return node->arg(0); }
    const Expr* text() const { return node->num_args > 1 ? node->arg(1) : nullptr; }
};
/// `cudf[name,T](args)`.
struct Kernel : View<Op::Kernel> {
    const KernelRef& ref() const { return *node->attr.kernel; }
    std::span<const Expr* const> args() const { return node->args(); }
};
/// A module function, called.
struct Call : View<Op::Call> {
    const Function& function() const { return *node->attr.function; }
    std::span<const Expr* const> args() const { return node->args(); }
};

}  // namespace weld
