// Types of the core IR. Interned per Module: equal types are the same pointer.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weldir/support/arena.h"

namespace weld {

enum class Scalar : std::uint8_t {
#define WELD_SCALAR(name, ...) name,
#include "runtime/abi/scalars.def"
};
enum class ScalarFamily : std::uint8_t { Boolean, Signed, Unsigned, Float };

/// One row of scalars.def.
struct ScalarInfo {
    const char* text;  ///< in programs, `i32`
    int size;          ///< bytes in memory
    ScalarFamily family;
};
inline constexpr ScalarInfo kScalars[] = {
#define WELD_SCALAR(name, text, type, family) {text, int(sizeof(type)), ScalarFamily::family},
#include "runtime/abi/scalars.def"
};
inline constexpr int kNumScalars = int(std::size(kScalars));
constexpr const ScalarInfo& info(Scalar s) { return kScalars[int(s)]; }

enum class BuilderKind : std::uint8_t {
#define WELD_BUILDER(name, ...) name,
#include "runtime/abi/builders.def"
};

inline constexpr int kNumBuilders = 0
#define WELD_BUILDER(...) +1
#include "runtime/abi/builders.def"
    ;

/// The operators that builders combine with.
/// Or an operator for each field of a struct, in one number (WELD_OPS_OF_FIELDS).
enum class MergeOp : std::uint32_t {
#define WELD_MERGE_OP(name, ...) name,
#include "runtime/abi/merge_ops.def"
};

/// `{+,min}`: one for each of at most kMostFieldOps fields.
MergeOp ops_of_fields(std::span<const MergeOp> ops);
inline constexpr std::size_t kMostFieldOps = 12;
constexpr bool is_of_fields(MergeOp op) { return std::uint32_t(op) & 4; }
/// Of how many fields; 0 for one that is for all.
constexpr std::size_t num_field_ops(MergeOp op) { return is_of_fields(op) ? std::uint32_t(op) >> 3 & 15 : 0; }
/// What combines field `k`.
constexpr MergeOp op_of_field(MergeOp op, std::size_t k) {
    return is_of_fields(op) ? MergeOp(std::uint32_t(op) >> (7 + 2 * k) & 3) : op;
}

enum class TypeKind : std::uint8_t { Scalar, Simd, Vec, Dict, Struct, Builder, Function };

constexpr bool is_float(Scalar s) { return info(s).family == ScalarFamily::Float; }
constexpr bool is_signed(Scalar s) { return info(s).family == ScalarFamily::Signed; }
constexpr bool is_unsigned(Scalar s) { return info(s).family == ScalarFamily::Unsigned; }
constexpr bool is_integer(Scalar s) { return is_signed(s) || is_unsigned(s); }
constexpr bool is_number(Scalar s) { return s != Scalar::Bool; }
constexpr int size_of(Scalar s) { return info(s).size; }  ///< bytes in memory
/// What simd values hold by default, on every machine: programs, their printed form and the order of sums of
/// floats do not depend on the registers that there are.
inline constexpr std::uint32_t kLaneBytes = 64;
constexpr std::uint32_t default_lanes(Scalar s) { return kLaneBytes / std::uint32_t(size_of(s)); }

constexpr const char* name_of(Scalar s) { return info(s).text; }
const char* name_of(BuilderKind k);  ///< `appender`
bool has_operator(BuilderKind k);
std::size_t num_type_args(BuilderKind k);
std::string name_of(MergeOp op);  ///< `+`, `{+,min}`

struct Type {
    TypeKind kind;
    Scalar scalar = Scalar::Bool;                 ///< Scalar, Simd
    BuilderKind builder = BuilderKind::Appender;  ///< Builder
    MergeOp op = MergeOp::Add;                    ///< Builder with an operator
    std::uint32_t lanes = 0;                      ///< Simd
    std::uint32_t id = 0;                         ///< order of creation in its Module
    bool holds_builder = false;                   ///< a builder, or a struct with one in it
    bool holds_dict = false;                      ///< a dictionary in it, at any depth
    bool holds_simd = false;
    bool holds_pointer = false;         ///< its values refer to memory of their own
    std::span<const Type* const> args;  ///< Vec {elem}; Dict {key, value}; Struct fields; Builder type
                                        ///< arguments; Function parameters, then the result
    const Type* takes = nullptr;        ///< Builder: what one merge takes
    const Type* gives = nullptr;        ///< Builder: of the result
    const Type* starts = nullptr;  ///< Builder: of the argument that makes a new one; null: there is none

    bool is_scalar() const { return kind == TypeKind::Scalar; }
    bool is_scalar(Scalar s) const { return kind == TypeKind::Scalar && scalar == s; }
    bool is_bool() const { return is_scalar(Scalar::Bool); }
    bool is_simd() const { return kind == TypeKind::Simd; }
    bool is_vec() const { return kind == TypeKind::Vec; }
    bool is_dict() const { return kind == TypeKind::Dict; }
    bool is_struct() const { return kind == TypeKind::Struct; }
    bool is_builder() const { return kind == TypeKind::Builder; }
    bool is_builder(BuilderKind k) const { return kind == TypeKind::Builder && builder == k; }
    bool is_function() const { return kind == TypeKind::Function; }
    /// A scalar or simd: what scalar operations take.
    bool is_lanes() const { return is_scalar() || is_simd(); }

    const Type* elem() const { return args[0]; }   ///< Vec; the first argument of a builder
    const Type* key() const { return args[0]; }    ///< Dict, DictMerger, GroupMerger
    const Type* value() const { return args[1]; }  ///< the same
    std::span<const Type* const> params() const { return args.first(args.size() - 1); }  ///< Function
    const Type* result() const { return args.back(); }                                   ///< Function

    /// Weld text without spaces, as `--type` prints it: `{i32,vec[f64]}`, `dictmerger[i64,f64,+]`.
    std::string str() const;
};

/// The lanes of the simd values in `type`, 0 if there are none.
std::uint32_t lanes_in(const Type* type);
/// The rows side by side that a `vec[simd[T,N]]` holds, which is N; 0 for another type.
std::uint32_t rows_in(const Type* type);
/// May stand as a key of a dictionary: no dictionaries, builders or functions in it.
bool is_key(const Type* type);
/// May be merged with `+ * min max`: a numeric scalar or a flat, non-empty struct of them.
bool is_mergeable(const Type* type);
/// The same for what the operator of a kind of builder combines, which may be simd in some.
bool is_combined(const Type* type, BuilderKind kind);
/// `== < ...` are defined: scalars, simd, and structs and vectors of comparable non-simd types.
bool is_comparable(const Type* type);

/// Makes types, each once.
class Types {
  public:
    explicit Types(Arena& arena);
    Types(const Types&) = delete;
    Types& operator=(const Types&) = delete;

    const Type* scalar(Scalar s) const { return scalars_[int(s)]; }
    const Type* boolean() const { return scalar(Scalar::Bool); }
    const Type* i64() const { return scalar(Scalar::I64); }
    const Type* simd(Scalar s, std::uint32_t lanes);
    const Type* vec(const Type* elem);
    const Type* dict(const Type* key, const Type* value);
    const Type* structure(std::span<const Type* const> fields);
    const Type* builder(BuilderKind kind, std::span<const Type* const> args, MergeOp op = MergeOp::Add);
    const Type* function(std::span<const Type* const> params, const Type* result);

    /// `type` with every scalar in it a `simd` of `lanes`; for structs field by field.
    const Type* widened(const Type* type, std::uint32_t lanes);
    /// The same type as one of this table (types of another Module are copied).
    const Type* import(const Type* type);

  private:
    using Key = std::vector<std::uint64_t>;
    const Type* intern(const Type& proto);
    Arena& arena_;
    std::map<Key, const Type*> known_;
    const Type* scalars_[kNumScalars];
    std::uint32_t next_id_ = 0;
};

}  // namespace weld
