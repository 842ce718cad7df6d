// Token kinds of DaphneDSL, and the tables that the lexer reads; all rows are in tokens.def.
#pragma once

#include <optional>

#include "frontend/daphne/syntax.h"
#include "frontend/text/lexer.h"

namespace weld::daphne {

enum TokenKind : std::uint8_t {
    kName,
    kNumber,
    kString,
    kEnd,
    kBad,  ///< has been reported
#define DAPHNE_MARK(name, text) k##name,
#define DAPHNE_BINARY(op, text, level, hint) k##op,
#include "frontend/daphne/tokens.def"
    kFirstWord,
    kBeforeWords = kFirstWord - 1,
#define DAPHNE_WORD(name, text) k##name,
#define DAPHNE_DATA(data, text) k##data,
#define DAPHNE_VALUE(value, text) k##value,
#include "frontend/daphne/tokens.def"
};

constexpr bool is_reserved_word(std::uint8_t kind) { return kind >= kFirstWord; }

/// An infix operator.
struct BinaryToken {
    Operator op;
    int level;  ///< those of higher levels bind tighter
    bool takes_hint;
};
/// Nothing if a token is none.
std::optional<BinaryToken> binary_of(std::uint8_t kind);
/// What a type word names, or nothing.
std::optional<DataType> data_type_of(std::uint8_t kind);
std::optional<ValueType> value_type_of(std::uint8_t kind);

/// The tables for `lex`.
const Language& language();

}  // namespace weld::daphne
