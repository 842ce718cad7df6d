// What only whole types can answer, node by node, when inference is done.
#include <algorithm>

#include "frontend/weld/advice.h"
#include "frontend/weld/reader.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/kernels.h"

namespace weld::front {

static const char* takes(TypeRule rule) {
    switch (rule) {
        case TypeRule::Number: return "numbers";
        case TypeRule::Integer: return "integers";
        case TypeRule::IntOrBool: return "integers or bools";
        case TypeRule::Float: return "floats";
        case TypeRule::Bool: return "bools";
        case TypeRule::Compare: return "scalars, structs and vectors";
    }
    return "";
}

static bool fits(TypeRule rule, const Type* type) {
    if (rule == TypeRule::Compare) return is_comparable(type);
    if (!type->is_lanes()) return false;
    switch (rule) {
        case TypeRule::Number: return is_number(type->scalar);
        case TypeRule::Integer: return is_integer(type->scalar);
        case TypeRule::IntOrBool: return is_integer(type->scalar) || type->scalar == Scalar::Bool;
        case TypeRule::Float: return is_float(type->scalar);
        default: return type->scalar == Scalar::Bool;
    }
}

bool check_operands(Reader& reader, const Node* op, std::span<const Type* const> types) {
    const OpInfo& row = info(op->op);
    for (std::size_t i = types.size(); i-- > 0;) {
        if (fits(row.rule, types[i])) continue;
        Diagnostic& d = error_at(reader, op->args[i], "`{}` takes {}, found `{}`", row.text, takes(row.rule),
                                 types[i]->str().substr(0, 160));
        if (row.rule == TypeRule::Float && types[i]->is_scalar() && is_number(types[i]->scalar))
            d.note(advice(op->args[i], types[i]->scalar, Scalar::F64));
        return false;
    }
    return true;
}

namespace {

class Check {
  public:
    explicit Check(Reader& reader) : r_(reader), lenient_(reader.diagnostics.has_errors()) {}

    void run() {
        for (const auto& d : r_.program.definitions) {
            written(d->result);
            visit(d->lambda);
        }
        visit(r_.program.main);
        lenient_ = true;
        for (Node* f : r_.program.unused) visit(f);
    }

  private:
    // ---- types

    /// The type of `term`, if it is one and may exist. `loc`: where it is called wrong if that is not said
    /// better by the unknown part itself.
    const Type* settle(Term* term, Loc loc, std::string_view hint) {
        if (!term) return nullptr;  // inference did not come there, because of an error
        Term* unknown = nullptr;
        const Type* type = r_.terms.resolve(term, &unknown);
        if (type) return well_formed(type, loc, nullptr), type;
        if (lenient_ || (!unknown && r_.diagnostics.has_errors())) return nullptr;
        r_.diagnostics.error(unknown && unknown->origin ? unknown->origin : loc,
                             "the type of this cannot be inferred; {}", hint);
        if (unknown) unknown->bound = r_.terms.error();  // once is enough
        return nullptr;
    }

    /// Reports a type that cannot exist, each once, innermost first. `node`: the type as written, if it is.
    void well_formed(const Type* type, Loc loc, const TypeNode* node) {
        if (type->id >= seen_.size()) seen_.resize(type->id + 1);
        if (seen_[type->id].height) return;
        std::uint32_t height = 1;
        std::uint64_t leaves = 0;
        for (std::size_t i = 0; i < type->args.size(); ++i) {
            const TypeNode* arg = node && i < node->args.size() ? node->args[i] : nullptr;
            well_formed(type->args[i], arg ? arg->loc : loc, arg);
            height = std::max(height, seen_[type->args[i]->id].height + 1);
            leaves += seen_[type->args[i]->id].leaves;
        }
        if (type->is_function()) height = 1, leaves = 1;
        leaves = std::min<std::uint64_t>(std::max<std::uint64_t>(leaves, 1), kMaxTypeLeaves + 1);
        const bool grew = leaves > kMaxTypeLeaves &&
                          std::none_of(type->args.begin(), type->args.end(),
                                       [&](auto* a) { return seen_[a->id].leaves > kMaxTypeLeaves; });
        seen_[type->id] = {height, std::uint32_t(leaves)};
        if (grew) r_.diagnostics.error(loc, "this type has more than {} parts", kMaxTypeLeaves);
        auto at = [&](std::size_t i) { return node && i < node->args.size() ? node->args[i]->loc : loc; };
        if (height == kMaxTypeHeight + 1)
            r_.diagnostics.error(loc, "this type is nested more than {} levels deep", kMaxTypeHeight);
        const bool holds_values = type->is_vec() || type->is_dict() || type->is_builder();
        for (std::size_t i = 0; holds_values && i < type->args.size(); ++i)
            if (type->args[i]->holds_builder)
                r_.diagnostics.error(at(i), "builders cannot be elements, keys or values; found `{}`",
                                     show(type));
        const bool keyed = type->is_dict() || (type->is_builder() && info(type).keyed);
        if (keyed && type->key()->holds_dict)
            r_.diagnostics.error(at(0), "a key cannot hold a dictionary; found `{}`", show(type->key()));
        const bool combines = type->is_builder() && has_operator(type->builder);
        if (combines && !is_combined(type->args.back(), type->builder))
            r_.diagnostics.error(at(type->args.size() - 1),
                                 "`{}` combines numbers, or structs of numbers, found `{}`",
                                 name_of(type->builder), show(type->args.back()));
        else if (const std::size_t n = combines ? num_field_ops(type->op) : 0;
                 n && (!type->args.back()->is_struct() || type->args.back()->args.size() != n))
            r_.diagnostics.error(at(type->args.size() - 1), "`{}` combines structs of {} field{}, found `{}`",
                                 name_of(type->op), n, n == 1 ? "" : "s", show(type->args.back()));
    }

    std::string show(const Type* type) const {
        if (seen_[type->id].leaves > kMaxTypeLeaves) return "…";
        std::string out = type->str();
        return out.size() <= 160 ? out : out.substr(0, 160) + "…";
    }

    void written(const TypeNode* n) {
        if (n && n->known && n->known->type) well_formed(n->known->type, n->loc, n);
        else if (n)
            for (const TypeNode* a : n->args) written(a);
    }

    // ---- the tree

    void visit(Node* n) {
        if (n->form == Form::Error) return;
        written(n->type_node);
        if (is_infix(n)) {
            const std::vector<Node*> spine = left_spine(n);
            visit(spine.back()->args[0]);
            for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
                visit((*at)->args[1]);
                finish(*at);
            }
            return;
        }
        if (n->is(Op::Lambda))
            for (Binding& b : n->bindings) local(b);
        for (std::size_t i = 0; i < n->args.size(); ++i) {
            visit(n->args[i]);
            if (n->is(Op::Block) && i < n->bindings.size()) local(n->bindings[i]);
        }
        if (n->form != Form::Zip) finish(n);
    }

    void local(Binding& b) {
        written(b.type);
        b.local->type = settle(b.local->term, b.local->loc, fmt::format("write `{}: T`", b.name));
    }

    void finish(Node* n) {
        if (n->form == Form::Name) n->type = n->local->type;
        else if (n->is(Op::Lambda)) n->type = function_type(n);
        else n->type = settle(n->term, n->start, "write it, for example `[]: vec[i32]` or `appender[i32]`");
        const bool typed = n->type && std::all_of(n->args.begin(), n->args.end(), [](const Node* a) {
                               return a->type || a->form == Form::Zip || a->is(Op::Lambda);
                           });
        if (typed && n->form == Form::Op) rules(n);
    }

    const Type* function_type(const Node* n) {
        std::vector<const Type*> params;
        for (const Binding& b : n->bindings) params.push_back(b.local->type);
        const Type* result = n->args[0]->type;
        if (!result || std::find(params.begin(), params.end(), nullptr) != params.end()) return nullptr;
        return r_.module.types.function(params, result);
    }

    // ---- rules

    void rules(const Node* n) {
        if (is_scalar_op(n->op)) return operands(n);
        switch (n->op) {
            case Op::For: return loop(n);
            case Op::Sort: return sort(n);
            case Op::Select: return select(n);
            case Op::Kernel: return kernel(n);
            case Op::Assert: return text(n);
            case Op::Serialize: return bytes(n->args[0], n->args[0]->type, "serialize");
            case Op::Deserialize: return bytes(n, n->type, "deserialize");
            default: return;
        }
    }

    void operands(const Node* n) {
        std::vector<const Type*> types;
        for (const Node* a : n->args) types.push_back(a->type);
        check_operands(r_, n, types);
    }

    static bool is_builders(const Type* t) {
        if (!t->is_struct()) return t->is_builder();
        return !t->args.empty() && std::all_of(t->args.begin(), t->args.end(), is_builders);
    }

    void loop(const Node* n) {
        if (!is_builders(n->type))
            error_at(r_, n->args[1], "`for` takes a builder here, or a struct of builders, found `{}`",
                     show(n->type));
    }

    void sort(const Node* n) {
        const Type* elem = n->type->elem();
        if (elem->holds_dict || elem->holds_simd)
            error_at(r_, n->args[0], "vectors of dictionaries or simd values cannot be sorted; found `{}`",
                     show(elem));
        const Node* by = n->args[1];
        if (by->bindings.size() != 1 || !by->args[0]->type || is_comparable(by->args[0]->type)) return;
        error_at(r_, by, "`sort` needs keys that can be compared, found `{}`", show(by->args[0]->type));
    }

    void select(const Node* n) {
        if (n->type->holds_builder)
            error_at(r_, n->args[1], "`select` computes both sides, so they cannot be builders; use `if`");
    }

    void text(const Node* assertion) {
        if (assertion->args.size() < 2) return;
        const Type* t = assertion->args[1]->type;
        if (t->is_vec() && (t->elem()->is_scalar(Scalar::I8) || t->elem()->is_scalar(Scalar::U8))) return;
        error_at(r_, assertion->args[1], "`assert` says a string (`vec[i8]` or `vec[u8]`), found `{}`",
                 show(t));
    }

    void kernel(const Node* n) {
        for (const Node* a : n->args)
            if (a->type->holds_builder) error_at(r_, a, "a builder cannot be given to a `cudf`");
        if (n->type->holds_builder) r_.diagnostics.error(n->type_node->loc, "a `cudf` cannot give a builder");
        if (is_builtin_kernel(n->text)) return builtin_kernel(n);
        if (n->annotations)
            for (const Annotation& a : *n->annotations)
                r_.program.may_have_effects |= a.key == AttrKey::Effect && a.text == "true";
    }

    void builtin_kernel(const Node* n) {
        std::vector<const Type*> params;
        std::string found;
        for (const Node* a : n->args) {
            params.push_back(a->type);
            (found += found.empty() ? "" : ", ") += show(a->type);
        }
        auto is_huge = [&](const Type* t) { return seen_[t->id].leaves > kMaxTypeLeaves; };
        if (is_huge(n->type) || std::any_of(params.begin(), params.end(), is_huge)) return;
        if (const BuiltinKernel* kernel = find_builtin_kernel(n->text, params, n->type)) {
            r_.program.may_have_effects |= kernel->effect;
            return;
        }
        Diagnostic& d = error_at(r_, n, "`{0}` is not called like this: found `cudf[{0},{1}]({2})`", n->text,
                                 show(n->type), found);
        for (const std::string& overload : overloads_of_kernel(n->text)) d.note("there is " + overload);
    }

    void bytes(const Node* at, const Type* type, const char* what) {
        if (type->holds_builder || type->holds_simd)
            error_at(r_, at, "`{}` is for values without builders and simd, found `{}`", what, show(type));
    }

    Reader& r_;
    struct Seen {
        std::uint32_t height = 0;
        std::uint32_t leaves = 0;
    };
    std::vector<Seen> seen_;  // the types that have been looked at, by id
    bool lenient_;  // types may be unknown: because of an error, or because nobody calls the function
};

}  // namespace

void check(Reader& reader) { Check(reader).run(); }

}  // namespace weld::front
