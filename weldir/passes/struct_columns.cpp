// Splitting vectors of structs: the analysis of their readers, and both sides of the change.
#include "weldir/passes/struct_columns.h"

#include <numeric>

#include "weldir/passes/other_builder.h"

namespace weld {

bool holds_structs(const Type* t) {
    return t->is_vec() && t->elem()->is_struct() && t->elem()->args.size() > 1 &&
           std::ranges::all_of(t->elem()->args, [](const Type* f) { return f->is_scalar(); });
}

/// What a loop walks along: the vector of a plain datum or iterator, else null.
static const Expr* walked(const Expr* datum) {
    const Iter it = datum->as<Iter>();
    if (!it) return datum;
    return it.shape().kind == IterKind::Scalar && !it.shape().nd ? it.data() : nullptr;
}

// ---- readers

Counters::Counters(Facts& facts, const Expr* lambda) : facts_(facts) {
    visit_binding(lambda, [&](const Expr* e) {
        if (const For f = e->as<For>()) {
            const Iter it = f.data()[0]->as<Iter>();
            counters_[f.index_param()] = true;
            counters_[f.elem_param()] = f.data().size() == 1 && it && it.shape().range;
        } else if (const Iterate it = e->as<Iterate>()) {
            states_[it.body().param(0)] = it;
        } else {
            return;
        }
        for (const Expr* a : e->args())
            if (a->op == Op::Lambda) inside_.add(a);
    });
}

bool Counters::walk(const Expr* key) {
    key = facts_.resolve(key);
    if (!inside_.are_read_by(key)) return true;
    if (key->op == Op::Add || key->op == Op::Sub) return walk(key->arg(0)) && walk(key->arg(1));
    if (!is_path(key)) return false;
    const auto counter = counters_.find(base_of(key));
    return counter != counters_.end() ? counter->second : counts_up(key);
}

/// A field of an iterate's state to which each round adds a number.
bool Counters::counts_up(const Expr* path) {
    const auto at = states_.find(base_of(path));
    if (at == states_.end() || path->op != Op::GetField || path->arg(0)->op != Op::Var) return false;
    const Expr* end = facts_.resolve(at->second.body().body());
    if (const Block b = end->as<Block>()) end = b.result();
    if (end->op != Op::MakeStruct) return false;
    const Expr* next = facts_.resolve(end->arg(0));
    if (next->op != Op::MakeStruct) return false;
    next = facts_.resolve(next->arg(path->attr.index));
    return next->op == Op::Add && next->arg(1)->op == Op::Literal && same(facts_.root(next->arg(0)), path);
}

StructReaders::StructReaders(Counters& counters, const Symbol* vec)
    : counters_(counters), vec_(vec), fields_(vec->type->elem()->args.size(), false) {}

void StructReaders::find(const Expr* e) {
    switch (e->op) {
        case Op::Var: ok_ &= e->attr.symbol != vec_; return;
        case Op::Len:
            if (!is_var(e->arg(0), vec_)) break;
            return;
        case Op::GetField:
            if (!is_lookup(e->arg(0))) break;
            return note_lookup(e->arg(0), [&] { fields_[e->attr.index] = true; });
        case Op::Lookup:
            if (!is_lookup(e)) break;
            return note_lookup(e, [&] { note_all(); });
        case Op::Block: return find_in_block(e->as<Block>());
        case Op::For: return find_in_loop(e->as<For>());
        default: break;
    }
    for (const Expr* a : e->args()) find(a);
}

template <class Fn>
void StructReaders::note_lookup(const Expr* lookup, Fn&& note) {
    std::vector<bool> before = std::exchange(fields_, std::vector<bool>(fields_.size(), false));
    note();
    const auto read = std::size_t(std::ranges::count(fields_, true));
    if (!counters_.walk(lookup->arg(1))) scattered_ = std::max(scattered_, read);
    for (std::size_t k = 0; k < before.size(); ++k) fields_[k] = fields_[k] || before[k];
    find(lookup->arg(1));
}

void StructReaders::find_in_block(Block b) {
    for (std::size_t i = 0; i < b.size(); ++i) {
        if (!is_lookup(b.value(i))) {
            find(b.value(i));
            continue;
        }
        const Symbol* name = b.symbol(i);
        note_lookup(b.value(i), [&] {
            for (const Expr* later : b.node->args().subspan(i + 1)) note_fields(later, name, -1);
        });
    }
    find(b.result());
}

void StructReaders::find_in_loop(For f) {
    find(f.builder());
    const bool is_alone = f.data().size() == 1;
    for (std::size_t i = 0; i < f.data().size(); ++i) {
        const Expr *datum = f.data()[i], *of = walked(datum);
        if (!of || !is_var(of, vec_)) {
            find(datum);
            continue;
        }
        note_fields(f.body().body(), f.elem_param(), is_alone ? -1 : int(i));
        if (datum != of)
            for (const Expr* bound : datum->args().subspan(1)) find(bound);
    }
    find(f.body().body());
}

/// The fields that `e` reads of `name`, or of its field `part` (not -1).
void StructReaders::note_fields(const Expr* e, const Symbol* name, int part) {
    if (is_var(e, name)) return note_all();
    if (e->op == Op::GetField) {
        const Expr* of = e->arg(0);
        if (part < 0 && is_var(of, name)) return void(fields_[e->attr.index] = true);
        if (part >= 0 && is_var(of, name) && int(e->attr.index) != part) return;
        if (part >= 0 && of->op == Op::GetField && is_var(of->arg(0), name)) {
            if (int(of->attr.index) == part) fields_[e->attr.index] = true;
            return;
        }
    }
    for (const Expr* a : e->args()) note_fields(a, name, part);
}

// ---- loops that make columns

For appends_structs(const Expr* value) {
    const Result made = value->as<Result>();
    const For loop = made ? made.builder()->as<For>() : For{};
    const NewBuilder begin = loop ? loop.builder()->as<NewBuilder>() : NewBuilder{};
    return begin && begin.kind() == BuilderKind::Appender && holds_structs(value->type) ? loop : For{};
}

StructColumns::StructColumns(Module& m, const Type* vec, std::vector<std::size_t> fields)
    : m_(m), fields_(std::move(fields)) {
    std::vector<const Type*> types;
    for (std::size_t k : fields_) {
        const Type* elem[] = {vec->elem()->args[k]};
        types.push_back(m.types.builder(BuilderKind::Appender, elem));
    }
    columns_ = types.size() == 1 ? types[0] : m.types.structure(types);
}

StructColumns::StructColumns(Module& m, const Type* vec)
    : StructColumns(m, vec, [&] {
          std::vector<std::size_t> all(vec->elem()->args.size());
          std::iota(all.begin(), all.end(), std::size_t(0));
          return all;
      }()) {}

template <class Fn>
const Expr* StructColumns::in_each(Fn&& fn) {
    std::vector<const Expr*> all;
    for (std::size_t n = 0; n < fields_.size(); ++n)
        all.push_back(fn(n, fields_.size() == 1 ? columns_ : columns_->args[n]));
    return all.size() == 1 ? all[0] : make_struct(m_, all);
}

/// New builders, each with the hint of the old one.
const Expr* StructColumns::begin(NewBuilder old) {
    return in_each([&](std::size_t, const Type* t) {
        return new_builder(m_, t, old.arg() ? fresh(m_, old.arg()) : nullptr, old.node->loc);
    });
}

std::vector<const Expr*> StructColumns::make(const Expr* value, const Symbol* vec, Lets& lets) {
    const For f = appends_structs(value);
    OtherBuilder others(m_, f.node->type, columns_,
                        [&](Merge g, const Expr* before) { return merged(g, before); });
    const Expr* all = others.loop(f, begin(f.builder()->as<NewBuilder>()));
    if (!all) return {};
    if (fields_.size() > 1) {
        const Symbol* bs = m_.symbol("bs", all->type);
        lets.emplace_back(bs, all);
        all = var(m_, bs);
    }
    std::vector<const Expr*> columns(vec->type->elem()->args.size(), nullptr);
    for (std::size_t n = 0; n < fields_.size(); ++n) {
        const Expr* column = result(m_, fields_.size() == 1 ? all : get_field(m_, all, n), value->loc);
        const Symbol* name = m_.symbol(vec->name, column->type);
        lets.emplace_back(name, column);
        columns[fields_[n]] = var(m_, name);
    }
    return columns;
}

/// A merge into each column, where `before` is all of them.
const Expr* StructColumns::merged(Merge g, const Expr* before) {
    Lets lets;
    const auto named = [&](const Expr* x, const char* name) {
        if (is_path(x)) return x;
        const Symbol* s = m_.symbol(name, x->type);
        lets.emplace_back(s, x);
        return var(m_, s);
    };
    const Expr* value = g.value()->op == Op::MakeStruct ? g.value() : named(g.value(), "e");
    if (before->op != Op::MakeStruct) before = named(before, "b");
    const auto part = [&](const Expr* of, std::size_t k) {
        return of->op == Op::MakeStruct ? of->arg(k) : get_field(m_, of, k);
    };
    const Expr* all = in_each([&](std::size_t n, const Type*) {
        const Expr* column = fields_.size() == 1 ? before : part(before, n);
        return merge(m_, column, part(value, fields_[n]), nullptr, g.node->loc);
    });
    return block(m_, lets, all, g.node->loc);
}

// ---- readers of columns

namespace {

class ColumnReader {
  public:
    ColumnReader(Module& m, const Symbol* vec, const std::vector<const Expr*>& columns)
        : m_(m), vec_(vec), columns_(columns) {}

    const Expr* with_columns(const Expr* e) {
        switch (e->op) {
            case Op::Len: return is_var(e->arg(0), vec_) ? len(m_, any_column(), e->loc) : nullptr;
            case Op::Lookup:
                if (!is_var(e->arg(0), vec_)) return nullptr;
                return element([&](const Expr* c) { return lookup(m_, c, e->arg(1), e->loc); });
            case Op::For: return loop_over_columns(e->as<For>());
            default: return nullptr;
        }
    }

  private:
    const Expr* any_column() {
        return *std::ranges::find_if(columns_, [](const Expr* c) { return c != nullptr; });
    }

    /// A struct of what `field` gives for each column; nobody reads the other fields.
    template <class Fn>
    const Expr* element(Fn&& field) {
        const std::span<const Type* const> types = vec_->type->elem()->args;
        std::vector<const Expr*> fields;
        for (std::size_t k = 0; k < types.size(); ++k)
            fields.push_back(columns_[k] ? field(columns_[k]) : literal(m_, types[k], 0));
        return make_struct(m_, fields);
    }

    const Expr* loop_over_columns(For f) {
        const auto is_split = [&](const Expr* datum) {
            const Expr* of = walked(datum);
            return of && is_var(of, vec_);
        };
        if (std::ranges::none_of(f.data(), is_split)) return nullptr;
        std::vector<const Expr*> data;
        std::vector<const Type*> types;
        for (const Expr* datum : f.data())
            for_each_part(datum, is_split(datum), [&](const Expr* part) {
                data.push_back(part);
                types.push_back(part->type->elem());
            });
        const Symbol* z = m_.symbol("z", types.size() == 1 ? types[0] : m_.types.structure(types));
        std::size_t at = 0;
        const auto next = [&] { return types.size() == 1 ? var(m_, z) : get_field(m_, var(m_, z), at++); };
        std::vector<const Expr*> elems;
        for (const Expr* datum : f.data())
            elems.push_back(is_split(datum) ? element([&](const Expr*) { return next(); }) : next());
        const Expr* elem = elems.size() == 1 ? elems[0] : make_struct(m_, elems);
        const Expr* body = let(m_, f.elem_param(), elem, f.body().body());
        const Expr* by = lambda(m_, {f.builder_param(), f.index_param(), z}, body, f.body().node->loc);
        std::vector<const Expr*> args = {f.builder(), by};
        args.insert(args.end(), data.begin(), data.end());
        return with_args(m_, f.node, args);
    }

    template <class Fn>
    void for_each_part(const Expr* datum, bool is_split, Fn&& fn) {
        if (!is_split) return fn(datum);
        for (const Expr* c : columns_) {
            if (!c) continue;
            if (const Iter it = datum->as<Iter>()) {
                fn(iter(m_, IterKind::Scalar, c, it.node->args().subspan(1), 0, datum->loc));
            } else {
                fn(c);
            }
        }
    }

    Module& m_;
    const Symbol* vec_;
    const std::vector<const Expr*>& columns_;
};

}  // namespace

const Expr* reading_columns(Module& m, const Expr* e, const Symbol* vec,
                            const std::vector<const Expr*>& columns) {
    ColumnReader reader(m, vec, columns);
    return rewrite(m, e, [&](const Expr* part) { return reader.with_columns(part); });
}

}  // namespace weld
