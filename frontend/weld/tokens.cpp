// The rows of the .def files, sorted into marks and words at compile time.
#include "frontend/weld/tokens.h"

namespace weld::front {
namespace {

struct Rows {
    TokenRow rows[128] = {};
    std::size_t count = 0;
    constexpr void add(std::string_view text, int kind) { rows[count++] = {text, std::uint8_t(kind)}; }
    constexpr std::span<const TokenRow> all() const { return {rows, count}; }
};

// The forms of ops.def: what is infix or prefix is a mark, what is called is a word. `-` is there twice: as
// the operator between two; the parser knows where it stands before one.
enum OpForm { kInfix, kPrefix, kCall };
#define Infix(level) kInfix
#define Prefix kPrefix
#define Call kCall

constexpr Rows make_marks() {
    Rows out;
#define WELD_MARK(name, text) out.add(text, k##name);
#include "frontend/weld/tokens.def"
#define WELD_SCALAR_OP(name, text, arity, rule, form, does) \
    if (form != kCall && Op::name != Op::Neg) out.add(text, token_of(Op::name));
#define WELD_OP(...)
#include "weldir/ir/ops.def"
    return out;
}

constexpr Rows make_words() {
    Rows out;
#define WELD_WORD(name, text) out.add(text, k##name);
#define WELD_CALL(op, text, min, max) out.add(text, token_of(Op::op));
#include "frontend/weld/tokens.def"
#define WELD_SCALAR_OP(name, text, arity, rule, form, does) \
    if (form == kCall) out.add(text, token_of(Op::name));
#define WELD_OP(...)
#include "weldir/ir/ops.def"
#define WELD_BUILDER(name, text, ...) out.add(text, kFirstBuilder + int(BuilderKind::name));
#include "runtime/abi/builders.def"
    for (int s = 0; s < kNumScalars; ++s) out.add(name_of(Scalar(s)), kFirstScalar + s);
    return out;
}

#undef Infix
#undef Prefix
#undef Call

constexpr Rows kMarks = make_marks();
constexpr Rows kWords = make_words();
constexpr WordTable kWordTable(kWords.all());
constexpr std::string_view kLineComments[] = {"#"};
constexpr Language kLanguage = {.marks = kMarks.all(),
                                .words = &kWordTable,
                                .line_comments = kLineComments,
                                .block_comments = false,
                                .dollar_in_names = true,
                                .separators = "",
                                .name = kName,
                                .number = kNumber,
                                .string = kString,
                                .end = kEnd,
                                .bad = kBad};

}  // namespace

CallInfo call_info(Op op) {
    if (is_scalar_op(op) && info(op).level == 0)
        return {std::uint32_t(info(op).arity), std::uint32_t(info(op).arity)};
    switch (op) {
#define WELD_CALL(op, text, min, max) \
    case Op::op: return {min, max};
#include "frontend/weld/tokens.def"
        default: return {};
    }
}

const Language& language() { return kLanguage; }
std::span<const TokenRow> reserved_words() { return kWords.all(); }

}  // namespace weld::front
