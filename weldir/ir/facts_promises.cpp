// Facts: sizes in structs that calls, branches and rounds have made, and those that are promised.
#include "weldir/ir/facts.h"
#include "weldir/ir/kernels.h"

namespace weld {

using Path = Facts::Path;

Path indices_of(const Expr* path) {
    Path all;
    for (const Expr* e = path; e->op == Op::GetField; e = e->arg(0)) all.push_back(e->attr.index);
    return {all.rbegin(), all.rend()};
}

/// What is promised of the result of a call; nothing if `e` is none.
static Promises promises_of(const Expr* e) {
    if (const Call call = e->as<Call>()) return call.function().holds;
    if (const Kernel kernel = e->as<Kernel>(); kernel && kernel.ref().builtin)
        return promises_of(*kernel.ref().builtin);
    return {};
}

static bool has_indices(const Expr* name, const Path& path) {
    for (std::size_t i = path.size(); i-- > 0; name = name->arg(0))
        if (name->op != Op::GetField || name->attr.index != path[i]) return false;
    return name->op == Op::Var;
}

/// The name of counts for that number, which is the path itself.
const Expr* Facts::path_to(const Symbol* s, const Path& path) {
    std::vector<const Expr*>& all = names_[s];
    for (const Expr* name : all)
        if (has_indices(name, path)) return name;
    const Expr* name = var(m_, s);
    for (std::size_t i : path) name = get_field(m_, name, i);
    return all.emplace_back(name);
}

std::optional<Count> Facts::size(const Expr* e, const Path& path, bool is_length) {
    if (is_path(e)) {
        Path whole = indices_of(e);
        whole.insert(whole.end(), path.begin(), path.end());
        return at(path_to(base_of(e), whole), is_length);
    }
    switch (e->op) {
        case Op::Block: return size(e->as<Block>().result(), path, is_length);
        case Op::GetField: return size(e->arg(0), longer(e->attr.index, path), is_length);
        case Op::MakeStruct:
            return path.empty() ? std::nullopt : size(e->arg(path[0]), without_first(path), is_length);
        case Op::If:
        case Op::Select: {
            const std::optional<Count> then = size(e->arg(1), path, is_length),
                                       otherwise = size(e->arg(2), path, is_length);
            if (!then || !otherwise || !(*then == *otherwise)) return {};
            return then->is_exact() ? otherwise : then;
        }
        case Op::Call:
        case Op::Kernel: {
            const Promise* p =
                find_promise(promises_of(e), {.is_length = is_length, .path = path}, Promise::Equal);
            return p ? promised(*p, e->args(), nullptr) : std::nullopt;
        }
        default: break;
    }
    if (!path.empty()) return {};
    return is_length ? length_of(e) : count_of(e);
}

/// The number at a path that leads into what several have made, or what a promise is about.
std::optional<Count> Facts::part(const Expr* name, bool is_length) {
    const Symbol* s = base_of(name);
    const Expr* made = definition(s);
    const Expr* const* const rounds = states_.find(s);
    if (depth_ > kDeepest || (s->holds.empty() && !made && !rounds)) return {};
    const Path path = indices_of(name);
    const SizeName wanted = {.is_length = is_length, .path = path};
    std::optional<Count> n;
    ++depth_;
    if (const Promise* p = find_promise(s->holds, wanted, Promise::Equal)) n = promised(*p, {}, s);
    if (!n && made) {
        if (const Promise* p = find_promise(promises_of(made), wanted, Promise::Equal))
            n = promised(*p, made->args(), s);
        else if (made->op == Op::If || made->op == Op::Select) n = size(made, path, is_length);
    }
    const Expr* iterate = rounds ? *rounds : made && made->op == Op::Iterate ? made : nullptr;
    if (!n && iterate && stays(iterate, path, is_length)) n = size(iterate->arg(0), path, is_length);
    --depth_;
    return n;
}

/// What `p` says of a call with these arguments, whose result `self` stands for (or nothing).
std::optional<Count> Facts::promised(const Promise& p, Args args, const Symbol* self) {
    std::optional<Count> sum = Count();
    for (const Promise::Product& product : p.sum) {
        std::optional<Count> all = Count(product.factor);
        for (const SizeName& name : product.of) {
            const Path path(name.path.begin(), name.path.end());
            std::optional<Count> n;
            if (name.of != SizeName::kResult) n = size(args[std::size_t(name.of)], path, name.is_length);
            else if (self) n = at(path_to(self, path), name.is_length);
            all = times(all, n);
        }
        sum = plus(sum, all);
    }
    if (sum && p.wraps) sum->set_exact(false);
    return sum;
}

bool Facts::is_promised_not_negative(const Expr* name) const {
    if (!is_path(name)) return false;
    const Symbol* s = base_of(name);
    const Path path = indices_of(name);
    const SizeName wanted = {.path = path};
    const Expr* made = definition(s);
    return find_promise(s->holds, wanted, Promise::NotNegative) ||
           (made && find_promise(promises_of(made), wanted, Promise::NotNegative));
}

}  // namespace weld
