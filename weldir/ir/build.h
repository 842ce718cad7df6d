// The only way to make nodes. Result types follow from the arguments; arguments are trusted (front ends check
// what users write before they build, passes build what is right, and the verifier tells when they don't).
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "weldir/ir/module.h"

namespace weld {

using Args = std::span<const Expr* const>;
using Annotations = std::span<const Annotation>;

// ---- constants and names
const Expr* literal(Module& m, const Type* scalar, std::uint64_t bits,
                    Loc loc = {});  ///< bits: see Attr::bits
const Expr* int_literal(Module& m, const Type* scalar, std::int64_t value,
                        Loc loc = {});  ///< wrapped to the type's width
inline const Expr* i64_literal(Module& m, std::int64_t value, Loc loc = {}) {
    return int_literal(m, m.types.i64(), value, loc);
}
const Expr* float_literal(Module& m, const Type* scalar, double value, Loc loc = {});
const Expr* bool_literal(Module& m, bool value, Loc loc = {});
const Expr* var(Module& m, const Symbol* symbol, Loc loc = {});

// ---- scalars
const Expr* scalar_op(Module& m, Op op, Args args, Loc loc = {});
inline const Expr* scalar_op(Module& m, Op op, std::initializer_list<const Expr*> args, Loc loc = {}) {
    return scalar_op(m, op, Args(args.begin(), args.size()), loc);
}
const Expr* cast(Module& m, Scalar to, const Expr* of, Loc loc = {});  ///< keeps the lanes of `of`
const Expr* broadcast(Module& m, const Expr* of, std::uint32_t lanes, Loc loc = {});

// ---- structure
/// A flat block: values that are blocks themselves are spliced in, a block as `result` too; with no values,
/// `result`.
const Expr* block(Module& m, std::span<const std::pair<const Symbol*, const Expr*>> lets, const Expr* result,
                  Loc loc = {});
const Expr* let(Module& m, const Symbol* symbol, const Expr* value, const Expr* rest, Loc loc = {});
const Expr* lambda(Module& m, std::span<const Symbol* const> params, const Expr* body, Loc loc = {});
inline const Expr* lambda(Module& m, std::initializer_list<const Symbol*> params, const Expr* body,
                          Loc loc = {}) {
    return lambda(m, std::span<const Symbol* const>(params.begin(), params.size()), body, loc);
}
const Expr* make_struct(Module& m, Args fields, Loc loc = {});
inline const Expr* make_struct(Module& m, std::initializer_list<const Expr*> fields, Loc loc = {}) {
    return make_struct(m, Args(fields.begin(), fields.size()), loc);
}
const Expr* get_field(Module& m, const Expr* of, std::size_t index, Loc loc = {});
const Expr* make_vec(Module& m, const Type* elem, Args elems, Loc loc = {});
/// `bytes` live as long as the module.
const Expr* packed_vec(Module& m, const Type* elem, std::string_view bytes, Loc loc = {});
const Expr* if_(Module& m, const Expr* cond, const Expr* then, const Expr* otherwise, Loc loc = {});
const Expr* select(Module& m, const Expr* cond, const Expr* then, const Expr* otherwise, Loc loc = {});
const Expr* iterate(Module& m, const Expr* init, const Expr* body, Loc loc = {},
                    const Expr* one_lane = nullptr);

// ---- loops and builders
const Expr* loop(Module& m, Args data, const Expr* builder, const Expr* body, Loc loc = {});
/// An iterator over a vector; `bounds` is empty, {start, end, stride}, or with nd {start, end, stride, shape,
/// strides}. `lanes` counts only for IterKind::Simd and Fringe, whose N it is.
const Expr* iter(Module& m, IterKind kind, const Expr* data, Args bounds, std::uint32_t lanes = 0,
                 Loc loc = {});
const Expr* range_iter(Module& m, IterKind kind, const Expr* start, const Expr* end, const Expr* stride,
                       std::uint32_t lanes = 0, Loc loc = {});
const Expr* new_builder(Module& m, const Type* type, const Expr* arg = nullptr, Loc loc = {});
const Expr* merge(Module& m, const Expr* builder, const Expr* value, const Expr* mask = nullptr,
                  Loc loc = {});
const Expr* result(Module& m, const Expr* builder, Loc loc = {});

// ---- collections
const Expr* len(Module& m, const Expr* of, Loc loc = {});
const Expr* lookup(Module& m, const Expr* of, const Expr* key, Loc loc = {});
const Expr* opt_lookup(Module& m, const Expr* of, const Expr* key, Loc loc = {});
const Expr* lookup_lanes(Module& m, const Expr* of, const Expr* indices, const Expr* mask = nullptr,
                         Loc loc = {});
const Expr* opt_lanes(Module& m, const Expr* of, const Expr* first, std::uint32_t lanes, Loc loc = {},
                      const Expr* most = nullptr);
const Expr* opt_rows(Module& m, const Expr* of, const Expr* first, std::uint32_t lanes, const Expr* most,
                     const Expr* length, Loc loc = {});
const Expr* key_exists(Module& m, const Expr* of, const Expr* key, Loc loc = {}, const Expr* bits = nullptr);
const Expr* slice(Module& m, const Expr* of, const Expr* start, const Expr* size, Loc loc = {});
const Expr* sort(Module& m, const Expr* of, const Expr* by, Loc loc = {}, const Expr* limit = nullptr);
const Expr* to_vec(Module& m, const Expr* of, Loc loc = {});
const Expr* serialize(Module& m, const Expr* of, Loc loc = {});
const Expr* deserialize(Module& m, const Type* type, const Expr* of, Loc loc = {});
const Expr* assert_(Module& m, const Expr* of, Loc loc = {}, const Expr* text = nullptr);
const Expr* kernel(Module& m, const KernelRef& ref, const Type* type, Args args, Loc loc = {});
const Expr* call(Module& m, const Function* function, Args args, Loc loc = {});

// ---- changed copies
/// `e` with other arguments: same kind, symbols, attributes, place; its type is found anew. `e` itself if
/// nothing differs.
const Expr* with_args(Module& m, const Expr* e, Args args);
/// `e` with its annotations replaced / one of them set (text `true`, `64`, ...).
const Expr* with_annotations(Module& m, const Expr* e, Annotations annotations);
const Expr* annotate(Module& m, const Expr* e, AttrKey key, std::string_view text);
/// The same for a key that `names_symbols`.
const Expr* annotate(Module& m, const Expr* e, AttrKey key, std::span<const Symbol* const> symbols);
/// The same for a key that `lists_numbers`.
const Expr* annotate(Module& m, const Expr* e, AttrKey key, std::span<const std::int64_t> numbers);
/// `e` without an annotation of this key.
const Expr* without(Module& m, const Expr* e, AttrKey key);
/// `e` with other symbols (Block, Lambda) and arguments.
const Expr* with_symbols(Module& m, const Expr* e, std::span<const Symbol* const> symbols, Args args);

/// Annotation keys as text; nothing if unknown.
const char* name_of(AttrKey key);
bool find_attr(std::string_view text, AttrKey* key);
/// Passes alone may say it: code relies on it.
bool is_of_passes(const Annotation& a);

}  // namespace weld
