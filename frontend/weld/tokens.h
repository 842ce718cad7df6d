// Token kinds of Weld, and the tables that the lexer reads; all rows are in tokens.def and weldir/ir/*.def.
#pragma once

#include "frontend/text/lexer.h"
#include "weldir/ir/expr.h"

namespace weld::front {

enum TokenKind : std::uint8_t {
    kName,
    kNumber,
    kString,
    kEnd,
    kBad,  ///< has been reported
#define WELD_MARK(name, text) k##name,
#define WELD_WORD(name, text) k##name,
#include "frontend/weld/tokens.def"
    kNumFixed,
    kFirstScalar = 64,   ///< then the other scalar types, in the order of Scalar
    kFirstBuilder = 80,  ///< in the order of BuilderKind
    kFirstOp = 96,       ///< in the order of Op: infix and prefix operators, `sqrt`, `if`, ...
};
static_assert(kNumFixed <= kFirstScalar && kFirstScalar + kNumScalars <= kFirstBuilder);
static_assert(kFirstBuilder + kNumBuilders <= kFirstOp && kFirstOp + kNumOps <= 256);

constexpr TokenKind token_of(Op op) { return TokenKind(kFirstOp + int(op)); }
constexpr bool is_op(std::uint8_t kind) { return kind >= kFirstOp; }
constexpr Op op_of(std::uint8_t kind) { return Op(kind - kFirstOp); }
constexpr bool is_scalar(std::uint8_t kind) {
    return kind >= kFirstScalar && kind < kFirstScalar + kNumScalars;
}
constexpr bool is_builder(std::uint8_t kind) { return kind >= kFirstBuilder && kind < kFirstOp; }

/// How many arguments `text(...)` takes; none for operations with a syntax of their own.
struct CallInfo {
    std::uint32_t min = 0;
    std::uint32_t max = 0;
};
CallInfo call_info(Op op);

/// The tables for `lex`.
const Language& language();
/// Reserved words, for "did you mean".
std::span<const TokenRow> reserved_words();

}  // namespace weld::front
