// Expressions: recursive descent, one function per form of the grammar (which stands in parse.cpp).
#include <charconv>

#include "frontend/weld/literals.h"
#include "frontend/weld/parse.h"
#include "weldir/ir/builder.h"

namespace weld::front {

// ---- expressions

Node* Parser::expr() {
    const Nesting nesting(*this);
    if (nesting.too_deep) return give_up(current().loc, kMaxNesting);
    if (at(kLet)) return block();
    if (at(token_of(Op::BitOr)) || at(token_of(Op::Or))) return lambda();
    return infix(1);
}

/// A chain of lets is one node, however long.
Node* Parser::block() {
    const Loc start = current().loc;
    std::vector<Binding> bindings;
    std::vector<Node*> args;
    while (accept(kLet)) {
        std::optional<Binding> b = parameter("a name after `let`");
        if (b && expect(kEquals, "`=`")) {
            Node* value = expr();
            bindings.push_back(*b);
            args.push_back(value);
            if (!at(kSemicolon)) expect(kSemicolon, "an operator or `;`");
            if (panic_ && at(kLet) && !gave_up_) {  // only the `;` is missing
                panic_ = false;
                continue;
            }
        }
        if (!recover(kSemicolon, kSemicolon)) break;
        accept(kSemicolon);
    }
    const bool function = at(token_of(Op::BitOr)) || at(token_of(Op::Or));
    args.push_back(function ? lambda() : infix(1));
    Node* out = make_op(Op::Block, start, start, args);
    if (out->form != Form::Error) out->bindings = keep(bindings);
    return out;
}

Node* Parser::lambda() {
    const Loc start = current().loc;
    std::vector<Binding> params;
    if (!accept(token_of(Op::Or))) {
        expect(token_of(Op::BitOr), "`|`");
        params = parameters(token_of(Op::BitOr));
        expect(token_of(Op::BitOr), "`,` or `|` after a parameter");
    }
    if (panic_) return fail_node("");
    Node* body = expr();
    Node* out = make_op(Op::Lambda, start, start, {&body, 1});
    if (out->form != Form::Error) out->bindings = keep(params);
    return out;
}

/// The level of the infix operator that is the current token; 0 if it is none.
static int infix_level(std::uint8_t kind) {
    if (!is_op(kind) || !is_scalar_op(op_of(kind))) return 0;
    const int level = info(op_of(kind)).level;
    return level == kPrefixLevel ? 0 : level;
}

Node* Parser::infix(int level) {
    Node* left = ascribed();
    while (!panic_) {
        const int found_level = infix_level(current().kind);
        if (found_level == 0 || found_level < level) break;
        const Token op = current();
        advance();
        Node* args[] = {left, infix(found_level + 1)};
        left = make_op(op_of(op.kind), left->start, op.loc, args);
        if (!is_comparison(op_of(op.kind)) || panic_ || infix_level(current().kind) != found_level) continue;
        diagnostics_.error(current().loc,
                           "`{}` cannot follow `{}`; comparisons do not associate, write parentheses",
                           text_of(current()), text_of(op));
    }
    return left;
}

Node* Parser::ascribed() {
    Node* of = unary();
    while (at(kColon) && !panic_) {
        const Loc loc = current().loc;
        advance();
        const TypeNode* as = type();
        of = make(Form::Ascribe, of->start, loc, {&of, 1});
        of->type_node = as;
    }
    return of;
}

Node* Parser::unary() {
    if (at(token_of(Op::Sub))) return prefixed(Op::Neg);
    if (at(token_of(Op::Not))) return prefixed(Op::Not);
    if (at(token_of(Op::BitNot))) return prefixed(Op::BitNot);
    return postfix(leaf());
}

Node* Parser::prefixed(Op op) {
    const Nesting nesting(*this);
    const Loc loc = current().loc;
    if (nesting.too_deep) return give_up(loc, kMaxNesting);
    advance();
    if (op == Op::Neg && at(kNumber) && !is_unsigned(read_number(text_of(current()), true).scalar))
        return postfix(number(true, loc));
    Node* of = unary();
    return make_op(op, loc, loc, {&of, 1});
}

Node* Parser::postfix(Node* of) {
    while (!panic_) {
        if (at(kDot)) {
            of = field(of);
        } else if (at(kLParen)) {
            of = application(of);
        } else {
            break;
        }
    }
    return of;
}

/// `f(a, b)`
Node* Parser::application(Node* of) {
    advance();
    std::vector<Node*> args = list(kRParen);
    args.insert(args.begin(), of);
    return make(Form::Apply, of->start, of->loc, args);
}

/// `.$n`
Node* Parser::field(Node* of) {
    advance();
    const Token name = current();
    const std::string_view text = name.kind == kName ? text_of(name) : std::string_view();
    const std::string_view number = text.starts_with('$') ? text.substr(1) : std::string_view();
    std::uint64_t index = 0;
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
        return fail_node(fmt::format("expected the number of a field, such as `$0`, found {}", found()));
    if (std::from_chars(number.data(), number.data() + number.size(), index).ec != std::errc())
        index = UINT64_MAX;
    advance();
    Node* out = make_op(Op::GetField, of->start, name.loc, {&of, 1});
    if (out->form != Form::Error) out->index = index;
    return out;
}

Node* Parser::leaf() {
    const std::uint8_t kind = current().kind;
    const Loc loc = current().loc;
    if (is_scalar(kind)) return cast();
    if (is_builder(kind)) return builder();
    if (is_op(kind) && call_info(op_of(kind)).max > 0) return call(op_of(kind));
    switch (kind) {
        case kName: {
            if (text_of(current()) == "bits" && ahead(1).kind == kLBracket) return bits();
            Node* name = make(Form::Name, loc, loc, {});
            name->text = text_of(current());
            name->binding = nullptr;
            advance();
            return name;
        }
        case kNumber: return number(false, loc);
        case kString: return string();
        case kTrue:
        case kFalse: advance(); return literal(loc, Scalar::Bool, kind == kTrue);
        case kLParen: return parenthesised();
        case kAt: return annotated();
        case kZip: {
            advance();
            return make(Form::Zip, loc, loc, arguments("zip", 1, UINT32_MAX));
        }
        case kIterWord:
        case kSimdIter:
        case kFringeIter:
        case kRangeIter:
        case kNdIter: return iterator();
        case kCudf: return cudf();
        case kBroadcast: return broadcast();
        case kDeserialize: return deserialize();
        case kLBracket: advance(); return make_op(Op::MakeVec, loc, loc, list(kRBracket));
        case kLBrace: advance(); return make_op(Op::MakeStruct, loc, loc, list(kRBrace));
        case kLet:
            return fail_node("a `let` inside an expression needs parentheses around it and what follows it");
        case kVec:
        case kDict:
        case kSimd: return fail_node(fmt::format("expected an expression, found the type {}", found()));
        default: return fail_node(fmt::format("expected an expression, found {}", found()));
    }
}

Node* Parser::parenthesised() {
    const Loc start = current().loc;
    advance();
    Node* inside = expr();
    expect(kRParen, "an operator or `)`");
    inside->start = start;
    return inside;
}

/// `@(key: value, ...) leaf`, the leaf with its arguments if it is a function; several in a row count as one.
Node* Parser::annotated() {
    const Nesting nesting(*this);
    const Loc start = current().loc;
    if (nesting.too_deep) return give_up(start, kMaxNesting);
    std::vector<Annotation> found;
    while (at(kAt) && !panic_) annotations(found);
    std::erase_if(found, [](const Annotation& a) { return tells_sizes(a.key); });  // of names, not of nodes
    const bool negative = at(token_of(Op::Sub)) && ahead(1).kind == kNumber;
    Node* of = negative ? prefixed(Op::Neg) : leaf();
    while (of->form != Form::Op && at(kLParen) && !panic_) of = application(of);  // a call is one thing
    of->start = start;
    if (found.empty() || panic_) return of;
    if (of->annotations) found.insert(found.end(), of->annotations->begin(), of->annotations->end());
    program_.annotations.push_back(std::make_unique<std::vector<Annotation>>(std::move(found)));
    of->annotations = program_.annotations.back().get();
    return of;
}

// ---- literals

Node* Parser::literal(Loc start, Scalar scalar, std::uint64_t bits) {
    Node* out = make_op(Op::Literal, start, start, {});
    out->scalar = scalar;
    out->bits = bits;
    return out;
}

Node* Parser::number(bool negative, Loc start) {
    const Number n = read_number(text_of(current()), negative);
    if (!n.error.empty()) diagnostics_.error(start, "{}", n.error);
    advance();
    Node* out = literal(start, n.scalar, n.bits);
    // No integer is -0: the minus stays an operation, so that what is printed reads back as it is.
    return negative && n.bits == 0 && n.error.empty() ? make_op(Op::Neg, start, start, {&out, 1}) : out;
}

Node* Parser::string() {
    const Loc start = current().loc;
    std::size_t bad = std::string::npos;
    const std::string_view token = text_of(current());
    std::string_view bytes = token.substr(1, token.size() - 2);
    if (bytes.find('\\') != bytes.npos) bytes = reader_.module.arena.copy(read_string(token, &bad));
    if (bad != std::string::npos)
        diagnostics_
            .error(start, "unknown escape in a string; there are `\\n \\t \\r \\0 \\\\ \\\"` and `\\xHH`")
            .label({start.offset + std::uint32_t(bad)}, "this one");
    Node* out = make(Form::String, start, start, {});
    out->text = bytes;
    advance();
    return out;
}

/// `bits[f64](0x7ff8000000000000)`: a literal by its bits, for values that no other literal has.
Node* Parser::bits() {
    const Loc start = current().loc;
    advance();
    advance();
    const std::uint8_t kind = current().kind;
    if (!is_scalar(kind)) return fail_node(fmt::format("expected a scalar type, found {}", found()));
    advance();
    if (!expect(kRBracket, "`]`") || !expect(kLParen, "`(`")) return fail_node("");
    const Scalar scalar = Scalar(kind - kFirstScalar);
    std::uint64_t value = 0;
    const bool read = at(kNumber) && read_bits(text_of(current()), &value);
    if (!read || (size_of(scalar) < 8 && value >> (8 * size_of(scalar))) ||
        (scalar == Scalar::Bool && value > 1))
        return fail_node(fmt::format("expected the bits of type `{}`, found {}", name_of(scalar), found()));
    advance();
    expect(kRParen, "`)`");
    return literal(start, scalar, value);
}

// ---- calls

std::vector<Node*> Parser::list(int close, Loc* closed) {
    std::vector<Node*> out;
    while (!panic_ && !at(close)) {
        out.push_back(expr());
        if (!recover(kComma, close) || !accept(kComma)) break;
    }
    if (closed) *closed = current().loc;
    const char* what = close == kRParen ? "`,` or `)`" : close == kRBracket ? "`,` or `]`" : "`,` or `}`";
    if (!expect(close, what) && recover(close, close)) accept(close);
    return out;
}

std::vector<Node*> Parser::arguments(std::string_view name, std::uint32_t min, std::uint32_t max) {
    if (!expect(kLParen, fmt::format("`(` after `{}`", name))) return {};
    Loc closed;
    std::vector<Node*> out = list(kRParen, &closed);
    if (panic_ || (out.size() >= min && out.size() <= max)) return out;
    const std::string range = min == max          ? fmt::format("{}", min)
                              : max == UINT32_MAX ? fmt::format("at least {}", min)
                                                  : fmt::format("{} to {}", min, max);
    diagnostics_.error(out.size() > max ? out[max]->start : closed, "`{}` takes {} argument{}, found {}",
                       name, range, max == 1 ? "" : "s", out.size());
    out.resize(std::clamp<std::size_t>(out.size(), min, max));
    for (Node*& n : out)
        if (!n) n = make(Form::Error, closed, closed, {});
    return out;
}

Node* Parser::call(Op op) {
    const Token word = current();
    advance();
    const CallInfo takes = call_info(op);
    const bool looks_up = op == Op::Lookup || op == Op::OptLookup;
    const std::uint16_t lanes = looks_up ? lanes_in_brackets() : std::uint16_t(0);
    if (lanes) op = op == Op::Lookup ? Op::LookupLanes : Op::OptLanes;
    // With a mask; or with how long rows may be, and how long those of a flat matrix are.
    const std::uint32_t most = takes.max + (!lanes ? 0 : op == Op::LookupLanes ? 1 : 2);
    Node* out = make_op(op, word.loc, word.loc, arguments(text_of(word), takes.min, most));
    out->lanes = lanes;
    return out;
}

/// `i64(x)`
Node* Parser::cast() {
    const Token word = current();
    advance();
    Node* out = make_op(Op::Cast, word.loc, word.loc, arguments(text_of(word), 1, 1));
    out->scalar = Scalar(word.kind - kFirstScalar);
    return out;
}

/// `appender[i32](100L)`
Node* Parser::builder() {
    const Token word = current();
    const TypeNode* type = builder_type();
    const BuilderInfo& builder = info(type->builder);
    std::vector<Node*> args;
    if (at(kLParen) && !panic_) args = arguments(text_of(word), 0, builder.starts.empty() ? 0 : 1);
    if (!panic_ && args.empty() && builder.needs_start)
        diagnostics_.error(word.loc, "`{0}` needs what it begins with: `{0}[…](…)`", text_of(word));
    Node* out = make_op(Op::NewBuilder, word.loc, word.loc, args);
    out->type_node = type;
    return out;
}

/// `broadcast(x)` or, with its lanes, `broadcast[8](x)`
Node* Parser::broadcast() {
    const Loc loc = current().loc;
    advance();
    const std::uint16_t lanes = lanes_in_brackets();
    Node* out = make_op(Op::Broadcast, loc, loc, arguments("broadcast", 1, 1));
    out->lanes = lanes;
    return out;
}

/// `cudf[name,T](arguments)`
Node* Parser::cudf() {
    const Loc loc = current().loc;
    advance();
    if (!expect(kLBracket, "`[` after `cudf`")) return fail_node("");
    const Token name = current();
    if (!is_word(name)) return fail_node(fmt::format("expected the name of a function, found {}", found()));
    advance();
    if (!expect(kComma, "`,` and the type of the result")) return fail_node("");
    const TypeNode* type = this->type();
    if (!expect(kRBracket, "`]`")) return fail_node("");
    Node* out = make_op(Op::Kernel, loc, loc, arguments("cudf", 0, UINT32_MAX));
    out->text = text_of(name);
    out->name = name.loc;
    out->type_node = type;
    return out;
}

/// `deserialize[T](bytes)`
Node* Parser::deserialize() {
    const Loc loc = current().loc;
    advance();
    if (!expect(kLBracket, "`[` and the type of the result after `deserialize`")) return fail_node("");
    const TypeNode* type = this->type();
    if (!expect(kRBracket, "`]`")) return fail_node("");
    Node* out = make_op(Op::Deserialize, loc, loc, arguments("deserialize", 1, 1));
    out->type_node = type;
    return out;
}

/// `[8]`, or 0 if there is none.
std::uint16_t Parser::lanes_in_brackets() {
    if (!accept(kLBracket)) return 0;
    const std::uint32_t lanes = lane_count();
    expect(kRBracket, "`]`");
    return std::uint16_t(lanes);
}

/// `iter simditer fringeiter rangeiter nditer`, bounded or not; simd and fringe also over a range.
Node* Parser::iterator() {
    const Token word = current();
    const std::string_view name = text_of(word);
    advance();
    const bool wide = word.kind == kSimdIter || word.kind == kFringeIter;
    const std::uint16_t lanes = wide ? lanes_in_brackets() : 0;
    IterShape shape;
    shape.kind = word.kind == kSimdIter     ? IterKind::Simd
                 : word.kind == kFringeIter ? IterKind::Fringe
                                            : IterKind::Scalar;
    std::vector<Node*> args;
    if (word.kind == kRangeIter) args = arguments(name, 3, 3);
    else if (word.kind == kNdIter) args = arguments(name, 6, 6);
    else args = arguments(name, 1, 4);
    shape.range = word.kind == kRangeIter;
    shape.nd = word.kind == kNdIter;
    if (!panic_ && (args.size() == 2 || args.size() == 3) && !shape.range)
        diagnostics_.error(word.loc, "`{}` takes a vector, or a vector with start, end and stride", name);
    if (wide && args.size() == 1 && args[0]->is(Op::Iter) && args[0]->iter.range) {  // of a range: its bounds
        args.assign(args[0]->args.begin(), args[0]->args.end());
        shape.range = true;
    }
    shape.bounded = shape.range || args.size() > 1;
    Node* out = make_op(Op::Iter, word.loc, word.loc, args);
    out->iter = shape;
    out->lanes = lanes;
    return out;
}

}  // namespace weld::front
