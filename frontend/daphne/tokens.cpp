// The rows of tokens.def, sorted into marks and words at compile time.
#include "frontend/daphne/tokens.h"

namespace weld::daphne {
namespace {

constexpr TokenRow kMarks[] = {
#define DAPHNE_MARK(name, text) {text, k##name},
#define DAPHNE_BINARY(op, text, level, hint) {text, k##op},
#include "frontend/daphne/tokens.def"
};

constexpr TokenRow kWords[] = {
#define DAPHNE_WORD(name, text) {text, k##name},
#define DAPHNE_DATA(data, text) {text, k##data},
#define DAPHNE_VALUE(value, text) {text, k##value},
#include "frontend/daphne/tokens.def"
};

constexpr WordTable kWordTable(kWords);
constexpr std::string_view kLineComments[] = {"#", "//"};
constexpr Language kLanguage = {.marks = kMarks,
                                .words = &kWordTable,
                                .line_comments = kLineComments,
                                .block_comments = true,
                                .dollar_in_names = false,
                                .separators = "_'",
                                .name = kName,
                                .number = kNumber,
                                .string = kString,
                                .end = kEnd,
                                .bad = kBad};

}  // namespace

std::optional<BinaryToken> binary_of(std::uint8_t kind) {
    switch (kind) {
#define DAPHNE_BINARY(op, text, level, hint) \
    case k##op: return BinaryToken{Operator::op, level, hint};
#include "frontend/daphne/tokens.def"
        default: return {};
    }
}

std::optional<DataType> data_type_of(std::uint8_t kind) {
    switch (kind) {
#define DAPHNE_DATA(data, text) \
    case k##data: return DataType::data;
#include "frontend/daphne/tokens.def"
        default: return {};
    }
}

std::optional<ValueType> value_type_of(std::uint8_t kind) {
    switch (kind) {
#define DAPHNE_VALUE(value, text) \
    case k##value: return ValueType::value;
#include "frontend/daphne/tokens.def"
        default: return {};
    }
}

std::string_view text_of(Operator op) {
    switch (op) {
#define DAPHNE_BINARY(op, text, level, hint) \
    case Operator::op: return text;
#include "frontend/daphne/tokens.def"
        case Operator::Plus: return "+";
        case Operator::Minus: return "-";
        case Operator::Not: return "!";
    }
    return {};
}

const Language& language() { return kLanguage; }

}  // namespace weld::daphne
