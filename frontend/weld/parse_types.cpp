// Types and annotations.
//
//   type := scalar | 'vec' '[' type ']' | 'dict' '[' type ',' type ']' | '{' type, ... '}'
//         | 'simd' '[' scalar [',' lanes] ']' | builder [ '[' type, ... [',' operator] ']' ] | '?' | alias
#include <charconv>

#include "frontend/weld/literals.h"
#include "frontend/weld/parse.h"
#include "weldir/ir/build.h"
#include "weldir/support/nearest.h"

namespace weld::front {

const TypeNode* Parser::whole_type() {
    const TypeNode* out = type();
    if (!panic_ && !at(kEnd)) fail(fmt::format("expected the end of the type, found {}", found()));
    return diagnostics_.has_errors() ? nullptr : out;
}

const TypeNode* Parser::make_type(TypeNode proto, std::span<const TypeNode* const> args) {
    TypeNode* t = reader_.arena.make<TypeNode>(proto);
    t->args = reader_.arena.copy(args);
    std::uint64_t leaves = 0;
    for (const TypeNode* a : args) {
        t->height = std::max(t->height, a->height + 1);
        leaves += a->leaves;
    }
    t->leaves = std::uint32_t(std::max<std::uint64_t>(1, std::min<std::uint64_t>(leaves, UINT32_MAX)));
    if (!panic_ && t->height > kMaxTypeHeight)
        diagnostics_.error(t->loc, "this type is nested more than {} levels deep", kMaxTypeHeight);
    else if (!panic_ && t->leaves > kMaxTypeLeaves)
        diagnostics_.error(t->loc, "this type has more than {} parts", kMaxTypeLeaves);
    else return t;
    panic_ = true;
    return t;
}

const TypeNode* Parser::type() {
    const Nesting nesting(*this);
    if (nesting.too_deep) give_up(current().loc, kMaxNesting);
    if (panic_) return unknown_type();
    const Loc loc = current().loc;
    const std::uint8_t kind = current().kind;
    if (is_builder(kind)) return builder_type();
    if (is_scalar(kind)) {
        advance();
        return make_type({.kind = TypeNode::Scalar, .scalar = Scalar(kind - kFirstScalar), .loc = loc}, {});
    }
    switch (kind) {
        case kVec:
            advance();
            expect(kLBracket, "`[` after `vec`");
            return make_type({.kind = TypeNode::Vec, .loc = loc}, types(1));
        case kDict:
            advance();
            expect(kLBracket, "`[` after `dict`");
            return make_type({.kind = TypeNode::Dict, .loc = loc}, types(2));
        case kSimd: advance(); return simd_type();
        case kName: return named_type();
        case kQuestion: advance(); return make_type({.loc = loc}, {});
        case kAt: {
            std::vector<Annotation> dropped;  // a type carries none
            while (at(kAt) && !panic_) annotations(dropped);
            return type();
        }
        case kLBrace: {
            advance();
            std::vector<const TypeNode*> fields;
            while (!panic_ && !at(kRBrace)) {
                fields.push_back(type());
                if (!accept(kComma)) break;
            }
            expect(kRBrace, "`,` or `}`");
            return make_type({.kind = TypeNode::Struct, .loc = loc}, fields);
        }
        default: fail(fmt::format("expected a type, found {}", found())); return unknown_type();
    }
}

/// `count` types with commas between them, and the closing bracket.
std::vector<const TypeNode*> Parser::types(std::size_t count) {
    std::vector<const TypeNode*> out;
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) expect(kComma, "`,` and another type");
        out.push_back(type());
    }
    expect(kRBracket, "`]`");
    return out;
}

/// What somebody who wrote `name` may have meant.
std::string_view Parser::nearest_type(std::string_view name) const {
    constexpr std::pair<std::string_view, std::string_view> elsewhere[] = {
        {"int", "i32"},   {"long", "i64"},   {"short", "i16"},      {"char", "i8"},  {"byte", "u8"},
        {"float", "f32"}, {"double", "f64"}, {"string", "vec[i8]"}, {"bit", "bool"}, {"boolean", "bool"}};
    for (auto [theirs, ours] : elsewhere)
        if (name == theirs) return ours;
    Nearest nearest(name);
    for (const auto& [alias, means] : program_.aliases) nearest.consider(alias);
    for (int s = 0; s < kNumScalars; ++s) nearest.consider(name_of(Scalar(s)));
    for (const char* other : {"vec", "dict", "simd"}) nearest.consider(other);
    return nearest.best();
}

const TypeNode* Parser::named_type() {
    const std::string_view name = text_of(current());
    const Loc loc = current().loc;
    if (auto alias = program_.aliases.find(name); alias != program_.aliases.end()) {
        advance();
        return alias->second;
    }
    Diagnostic& d = diagnostics_.error(loc, "unknown type `{}`", name.substr(0, 100));
    if (const std::string_view near = nearest_type(name); !near.empty())
        d.note(fmt::format("did you mean `{}`?", near));
    advance();
    return make_type({.loc = loc}, {});
}

/// After `simd`: `[T]` or `[T,N]`.
const TypeNode* Parser::simd_type() {
    TypeNode proto = {.kind = TypeNode::Simd, .loc = tokens_[at_ - 1].loc};
    if (!expect(kLBracket, "`[` after `simd`")) return unknown_type();
    const TypeNode* elem = type();
    if (!panic_ && elem->kind != TypeNode::Scalar && elem->kind != TypeNode::Unknown)
        diagnostics_.error(elem->loc, "`simd` is made of a scalar type");
    if (accept(kComma)) proto.lanes = lane_count();
    expect(kRBracket, "`]`");
    return make_type(proto, {&elem, 1});
}

std::uint32_t Parser::lane_count() {
    const Number n = at(kNumber) ? read_number(text_of(current()), false) : Number{.error = "none"};
    if (n.error.empty() && is_integer(n.scalar) && n.bits > 0 && n.bits <= kMaxLanes &&
        (n.bits & (n.bits - 1)) == 0) {
        advance();
        return std::uint32_t(n.bits);
    }
    if (!panic_)
        fail(
            fmt::format("expected a number of lanes, a power of two up to {}, found {}", kMaxLanes, found()));
    return 1;
}

/// `merger[T,op]`; what can be inferred may be left out.
const TypeNode* Parser::builder_type() {
    TypeNode proto = {.kind = TypeNode::Builder, .loc = current().loc};
    proto.builder = BuilderKind(current().kind - kFirstBuilder);
    const std::size_t num_args = num_type_args(proto.builder);
    const bool has_op = has_operator(proto.builder);
    const std::string_view name = text_of(current());
    advance();
    std::vector<const TypeNode*> args;
    if (at(kLBracket) || has_op) {
        expect(kLBracket, fmt::format("`[` with types and an operator after `{}`", name));
        for (std::size_t i = 0; i < num_args; ++i) {
            if (i > 0) expect(kComma, "`,` and another type");
            args.push_back(type());
        }
        if (has_op && expect(kComma, "`,` and one of `+`, `*`, `min`, `max`"))
            proto.op =
                at(kLBrace) && proto.builder == BuilderKind::DictMerger ? field_ops(name) : merge_op(name);
        expect(kRBracket, "`]`");
    }
    while (args.size() < num_args) args.push_back(make_type({.loc = proto.loc}, {}));
    return make_type(proto, args);
}

/// `{+,min}`: an operator for each field of a struct.
MergeOp Parser::field_ops(std::string_view builder) {
    advance();
    std::vector<MergeOp> ops;
    do {
        if (ops.size() == kMostFieldOps) {
            fail(fmt::format("`{}` combines at most {} fields by operators of their own", builder,
                             kMostFieldOps));
            break;
        }
        ops.push_back(merge_op(builder));
    } while (!panic_ && accept(kComma) && !at(kRBrace));
    expect(kRBrace, "`,` and another operator, or `}`");
    return ops_of_fields(ops);
}

MergeOp Parser::merge_op(std::string_view builder) {
    const std::uint8_t kind = current().kind;
    const MergeOp all[] = {MergeOp::Add, MergeOp::Mul, MergeOp::Min, MergeOp::Max};
    const Op ops[] = {Op::Add, Op::Mul, Op::Min, Op::Max};
    for (std::size_t i = 0; i < std::size(all); ++i) {
        if (kind != token_of(ops[i])) continue;
        advance();
        return all[i];
    }
    if (!panic_) fail(fmt::format("`{}` combines with `+`, `*`, `min` or `max`, found {}", builder, found()));
    return MergeOp::Add;
}

// ---- annotations

/// `@(key: value, ...)`, known keys only, each once.
void Parser::annotations(std::vector<Annotation>& out) {
    advance();
    if (!expect(kLParen, "`(` after `@`")) return;
    while (!panic_ && !at(kRParen)) {
        annotation(out);
        if (!accept(kComma)) break;
    }
    expect(kRParen, "`,` or `)`");
}

void Parser::annotation(std::vector<Annotation>& out) {
    const Token key = current();
    if (!is_word(key)) {
        fail(fmt::format("expected the name of an annotation, found {}", found()));
        return;
    }
    advance();
    if (!expect(kColon, "`:` and a value")) return;
    if (Annotation a = {}; find_attr(text_of(key), &a.key) && tells_sizes(a.key)) {
        a.text = sizes_text();
        return out.push_back(a);
    }
    const bool negative = accept(token_of(Op::Sub));
    const Token value = current();
    if (value.kind != kNumber && (negative || (value.kind != kString && !is_word(value)))) {
        fail(fmt::format("expected the value of an annotation, a literal or a name, found {}", found()));
        return;
    }
    advance();
    Annotation a = {};
    const std::string_view name = text_of(key);
    if (!find_attr(name, &a.key)) {
        diagnostics_.warning(key.loc, "unknown annotation `{}` is ignored", name.substr(0, 100));
        return;
    }
    const Loc from = negative ? Loc{value.loc.offset - 1} : value.loc;
    a.text = text_of({kNumber, from, value.length + negative});
    if (negative && a.text[0] != '-') a.text = reader_.arena.copy("-" + std::string(text_of(value)));
    a.number = annotation_number(value, negative);
    for (Annotation& other : out) {
        if (other.key != a.key || names_symbols(a.key) || lists_numbers(a.key)) continue;
        diagnostics_.warning(key.loc, "annotation `{}` is given twice; the last one counts", name);
        other = a;
        return;
    }
    out.push_back(a);
}

/// What stands up to the next annotation.
std::string_view Parser::sizes_text() {
    const Token first = current();
    Token last = first;
    for (int open = 0; !at(kEnd) && (open || (!at(kComma) && !at(kRParen))); advance()) {
        open += at(kLParen) - at(kRParen);
        last = current();
    }
    return text_of({first.kind, first.loc, last.loc.offset + last.length - first.loc.offset});
}

/// What annotations before a name say of sizes; only what was printed is believed.
Promises Parser::holds(std::span<const Annotation> annotations, std::span<const std::string_view> names,
                       std::string_view result) {
    for (const Annotation& a : annotations) {
        if (!tells_sizes(a.key) || !reader_.options.is_printed_module) continue;
        if (const auto read = read_promises(reader_.module.arena, a.text, names, result)) return *read;
        fail(fmt::format("`{}` says nothing of sizes", a.text));
    }
    return {};
}

std::int64_t Parser::annotation_number(const Token& value, bool negative) const {
    if (value.kind == kTrue) return 1;
    if (value.kind != kNumber) return 0;
    const std::string_view text = text_of(value);
    if (std::int64_t plain = 0; std::from_chars(text.begin(), text.end(), plain).ptr == text.end())
        return negative ? -plain : plain;  // need not say that it is an i64
    const Number n = read_number(text_of(value), negative);
    if (!n.error.empty() || !is_integer(n.scalar)) return 0;
    const int unused = 64 - 8 * size_of(n.scalar);
    return is_signed(n.scalar) ? std::int64_t(n.bits << unused) >> unused : std::int64_t(n.bits);
}

}  // namespace weld::front
