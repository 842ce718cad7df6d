// Types of look-ups, fields and calls. Those that look into the type of their first argument wait for it.
#include "frontend/weld/advice.h"
#include "frontend/weld/inference.h"
#include "weldir/ir/kernels.h"

namespace weld::front {

Term* Inference::solve(Node* n, Term** blocker) {
    Term* of = n->args[0]->term;
    if (Terms::is_error(of)) return is_comparison(n->op) ? t_.boolean() : t_.error();
    if (n->op == Op::Merge) return merge(n, blocker);
    if (n->op == Op::Result) return result(n, blocker);
    if (n->op == Op::Select) return select(n, blocker);
    if (Terms::is_unknown(of)) return *blocker = of, nullptr;
    if (is_comparison(n->op))
        return Terms::is(of, TypeKind::Simd) ? t_.simd(t_.boolean(), t_.lanes_of(of)) : t_.boolean();
    switch (n->op) {
        case Op::GetField: return field(n, of);
        case Op::Cast: return cast(n, of);
        case Op::ToVec:
            if (!collection(n, false, true)) return t_.error();
            return t_.vec(pair(t_.arg(of, 0), t_.arg(of, 1)));
        case Op::Len: return collection(n, true, true) ? t_.i64() : t_.error();
        case Op::Lookup: return collection(n, true, true) && key(n) ? found_in(of) : t_.error();
        case Op::OptLookup:
            return collection(n, false, true) && key(n) ? pair(t_.boolean(), found_in(of)) : t_.error();
        case Op::LookupLanes: {
            if (!is_printed(n) || !collection(n, true, false)) return t_.error();
            Lanes* lanes = t_.lanes(n->lanes);
            demand(n->args[1], t_.simd(t_.i64(), lanes), "the indices of elements");
            if (n->args.size() > 2)
                demand(n->args[2], t_.simd(t_.boolean(), lanes), "the lanes that look up");
            return t_.simd(t_.arg(of, 0), lanes);
        }
        case Op::OptLanes:
            if (!is_printed(n) || !collection(n, true, false)) return t_.error();
            demand(n->args[1], t_.i64(), "the index of an element");
            if (n->args.size() > 2) demand(n->args[2], t_.i64(), "how long rows may be");
            if (n->args.size() > 3) demand(n->args[3], t_.i64(), "how long rows are");
            return pair(t_.boolean(), found_lanes(n, t_.arg(of, 0)));
        case Op::KeyExists:
            if (n->args.size() > 2 && !is_printed(n)) return t_.error();
            if (!collection(n, false, true) || !key(n)) return t_.error();
            if (n->args.size() > 2)
                demand(n->args[2], pair(t_.vec(t_.scalar(Scalar::U64)), t_.i64()), "the bits of keys");
            return t_.boolean();
        case Op::Slice:
            if (!collection(n, true, false)) return t_.error();
            demand(n->args[1], t_.i64(), "the start of a `slice`");
            demand(n->args[2], t_.i64(), "the size of a `slice`");
            return of;
        default: return t_.error();
    }
}

bool Inference::is_printed(Node* n) {
    if (r_.options.is_printed_module) return true;
    error_at(r_, n, "`{}` with {} is for the optimiser alone", info(n->op).text,
             n->op == Op::KeyExists ? "bits" : "lanes");
    return false;
}

bool Inference::collection(Node* n, bool vec, bool dict) {
    Term* of = n->args[0]->term;
    if ((vec && Terms::is(of, TypeKind::Vec)) || (dict && Terms::is(of, TypeKind::Dict))) return true;
    error_at(r_, n->args[0], "`{}` takes a {}, found `{}`", info(n->op).text,
             vec && dict ? "vector or dictionary"
             : vec       ? "vector"
                         : "dictionary",
             t_.str(of));
    return false;
}

bool Inference::key(Node* n) {
    Term* of = n->args[0]->term;
    if (Terms::is(of, TypeKind::Vec)) return demand(n->args[1], t_.i64(), "the index of an element");
    return demand(n->args[1], t_.arg(of, 0), "the key of this dictionary");
}

Term* Inference::found_in(Term* of) { return t_.arg(of, Terms::is(of, TypeKind::Dict) ? 1 : 0); }

Term* Inference::found_lanes(Node* n, Term* elem) {
    const bool are_rows = n->args.size() > 3;
    if (Terms::is(elem, TypeKind::Scalar)) {
        Term* lanes = t_.simd(elem, t_.lanes(n->lanes));
        return are_rows ? t_.vec(lanes) : lanes;
    }
    if (Terms::is(elem, TypeKind::Vec) && Terms::is(t_.arg(elem, 0), TypeKind::Scalar))
        return t_.vec(t_.simd(t_.arg(elem, 0), t_.lanes(n->lanes)));
    error_at(r_, n->args[0], "lanes are of scalars, or of vectors of scalars, found `{}`", t_.str(elem));
    return t_.error();
}

Term* Inference::field(Node* n, Term* of) {
    if (!Terms::is(of, TypeKind::Struct)) {
        error_at(r_, n->args[0], "only structs have fields, found `{}`", t_.str(of));
        return t_.error();
    }
    const std::size_t count = t_.num_args(of);
    if (n->index < count) return t_.arg(of, n->index);
    Node at = *n;
    at.start = n->loc;
    Diagnostic& d = error_at(r_, &at, "`{}` has no such field", t_.str(of));
    if (count > 0) d.note(fmt::format("its fields are `$0` to `${}`", count - 1));
    return t_.error();
}

Term* Inference::cast(Node* n, Term* of) {
    if (Terms::is(of, TypeKind::Scalar)) return t_.scalar(n->scalar);
    if (Terms::is(of, TypeKind::Simd)) return t_.simd(t_.scalar(n->scalar), t_.lanes_of(of));
    error_at(r_, n->args[0], "`{}(...)` converts scalars, found `{}`", weld::name_of(n->scalar), t_.str(of));
    return t_.scalar(n->scalar);
}

Term* Inference::deserialize(Node* n) {
    demand(n->args[0], t_.vec(t_.scalar(Scalar::U8)), "the type of what `deserialize` reads");
    return t_.of(n->type_node);
}

Term* Inference::kernel(Node* n) {
    for (Node* a : n->args) infer(a);
    const auto& has_symbol = r_.options.has_symbol;
    const auto* allowed = r_.options.allowed_functions;
    Node at = *n;
    at.start = n->name;
    if (is_builtin_kernel(n->text) && !(allowed && reaches_files(n->text))) return t_.of(n->type_node);
    if (allowed && std::ranges::find(*allowed, n->text) == allowed->end()) {
        error_at(r_, &at, "`cudf` may not call `{}` here", n->text)
            .note("`weld.cudf.allow` says which functions programs may call");
    } else if (!is_builtin_kernel(n->text) && has_symbol && !has_symbol(n->text)) {
        Diagnostic& d = error_at(r_, &at, "unknown function `{}` for `cudf`", n->text);
        d.note(r_.options.searched.empty() ? "no library is loaded" : "searched: " + r_.options.searched);
    }
    return t_.of(n->type_node);
}

Term* Inference::call(Node* n) {
    const Definition& d = *n->definition;
    for (std::size_t i = 0; i < n->args.size(); ++i) {
        infer(n->args[i]);
        demand(n->args[i], d.lambda->bindings[i].local->term,
               fmt::format("parameter `{}` of `{}`", d.lambda->bindings[i].name, d.name));
    }
    return d.term;
}

}  // namespace weld::front
