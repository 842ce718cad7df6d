// A vector of structs that does not leave the program is kept as a vector for each field that is read.
//
//     let ps = result(for(zip(x, y), appender[{f64,f64}], |b, i, e| merge(b, {e.$0 * s, e.$1})));
//     result(for(ps, merger[f64,+], |b, i, p| merge(b, p.$0 * lookup(ps, k).$1)))
// becomes
//     let bs = for(zip(x, y), {appender[f64], appender[f64]}, |c, i, e|
//       {merge(c.$0, e.$0 * s), merge(c.$1, e.$1)});
//     let ps = result(bs.$0);
//     let ps2 = result(bs.$1);
//     result(for(zip(ps, ps2), merger[f64,+], |b, i, z|
//       let p = {z.$0, z.$1};
//       merge(b, p.$0 * {lookup(ps, k), lookup(ps2, k)}.$1)))
//
// so that loops over it run on lanes and read what they need. `simplify` and `fuse-zip` remove what nobody asks for.
//
// Fields are scalars, and few. The vector is made by a loop that does no more than merge into it; others walk along it,
// look up in it, or ask how long it is. Look-ups of several fields must go along with a counter: elsewhere the fields of
// one element lie better side by side.
#include <algorithm>
#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostFields = 6;

bool is_plain(const Type* t) {
    return t->is_vec() && t->elem()->is_struct() && t->elem()->args.size() > 1 &&
           std::ranges::all_of(t->elem()->args, [](const Type* f) { return f->is_scalar(); });
}

/// What a loop walks along: the vector of a plain datum or iterator, else null.
const Expr* walked(const Expr* datum) {
    const Iter it = datum->as<Iter>();
    if (!it) return datum;
    return it.shape().kind == IterKind::Scalar && !it.shape().nd ? it.data() : nullptr;
}

/// Which numbers go along with the rounds of a loop.
class Counters {
  public:
    Counters(Facts& facts, const Expr* lambda) : facts_(facts) {
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

    /// A sum of counters, and of numbers that are the same in all loops.
    bool walk(const Expr* key) {
        key = facts_.resolve(key);
        if (!inside_.are_read_by(key)) return true;
        if (key->op == Op::Add || key->op == Op::Sub) return walk(key->arg(0)) && walk(key->arg(1));
        if (!is_path(key)) return false;
        const auto counter = counters_.find(base_of(key));
        return counter != counters_.end() ? counter->second : counts_up(key);
    }

  private:
    /// A field of an iterate's state to which each round adds a number.
    bool counts_up(const Expr* path) {
        const auto at = states_.find(base_of(path));
        if (at == states_.end() || path->op != Op::GetField || path->arg(0)->op != Op::Var) return false;
        const Expr* end = facts_.resolve(at->second.body().body());
        if (const Block b = end->as<Block>()) end = b.result();
        if (end->op != Op::MakeStruct) return false;
        const Expr* next = facts_.resolve(end->arg(0));
        if (next->op != Op::MakeStruct) return false;
        next = facts_.resolve(next->arg(path->attr.index));
        return next->op == Op::Add && next->arg(1)->op == Op::Literal &&
               same(facts_.root(next->arg(0)), path);
    }

    Facts& facts_;
    std::unordered_map<const Symbol*, bool> counters_;
    std::unordered_map<const Symbol*, Iterate> states_;
    BoundNames inside_;
};

/// What is done with a vector of structs.
class Readers {
  public:
    Readers(Counters& counters, const Symbol* vec)
        : counters_(counters), vec_(vec), fields_(vec->type->elem()->args.size(), false) {}

    void find(const Expr* e) {
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

    /// It may be split, and some field is read.
    bool ok() const { return ok_ && scattered_ <= 1 && std::ranges::count(fields_, true) > 0; }
    const std::vector<bool>& fields() const { return fields_; }

  private:
    bool is_lookup(const Expr* e) const { return e->op == Op::Lookup && is_var(e->arg(0), vec_); }
    void note_all() { fields_.assign(fields_.size(), true); }

    template <class Fn>
    void note_lookup(const Expr* lookup, Fn&& note) {
        std::vector<bool> before = std::exchange(fields_, std::vector<bool>(fields_.size(), false));
        note();
        const auto read = std::size_t(std::ranges::count(fields_, true));
        if (!counters_.walk(lookup->arg(1))) scattered_ = std::max(scattered_, read);
        for (std::size_t k = 0; k < before.size(); ++k) fields_[k] = fields_[k] || before[k];
        find(lookup->arg(1));
    }

    void find_in_block(Block b) {
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

    void find_in_loop(For f) {
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
    void note_fields(const Expr* e, const Symbol* name, int part) {
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

    Counters& counters_;
    const Symbol* vec_;
    std::vector<bool> fields_;
    std::size_t scattered_ = 0;  // so many fields are looked up anywhere
    bool ok_ = true;
};

/// The body of a loop that appends structs, with an appender for each field.
class Columns {
  public:
    Columns(Module& m, const Type* structs, std::vector<std::size_t> fields)
        : m_(m), structs_(structs), fields_(std::move(fields)) {
        std::vector<const Type*> types;
        for (std::size_t k : fields_) {
            const Type* elem[] = {structs->elem()->args[k]};
            types.push_back(m.types.builder(BuilderKind::Appender, elem));
        }
        columns_ = types.size() == 1 ? types[0] : m.types.structure(types);
    }

    /// New builders, each with the hint of the old one.
    const Expr* begin(NewBuilder old) {
        return in_each([&](std::size_t, const Type* t) {
            return new_builder(m_, t, old.arg() ? fresh(m_, old.arg()) : nullptr, old.node->loc);
        });
    }

    /// The loop on `start`; null if it does more than merge.
    const Expr* loop(For f, const Expr* start) {
        const Symbol* b = m_.symbol(f.builder_param()->name, columns_);
        names_[f.builder_param()] = b;
        const Expr* body = split(f.body().body());
        if (!body) return nullptr;
        const Expr* by = lambda(m_, {b, f.index_param(), f.elem_param()}, body, f.body().node->loc);
        return with_annotations(m_, weld::loop(m_, f.data(), start, by, f.node->loc), f.node->annotations);
    }

    /// Column `n` of `all`.
    const Expr* column(const Expr* all, std::size_t n) {
        return fields_.size() == 1 ? all : get_field(m_, all, n);
    }

  private:
    template <class Fn>
    const Expr* in_each(Fn&& fn) {
        std::vector<const Expr*> all;
        for (std::size_t n = 0; n < fields_.size(); ++n)
            all.push_back(fn(n, fields_.size() == 1 ? columns_ : columns_->args[n]));
        return all.size() == 1 ? all[0] : make_struct(m_, all);
    }

    const Expr* split(const Expr* e) {
        switch (e->op) {
            case Op::Var: {
                const auto at = names_.find(e->attr.symbol);
                return at == names_.end() ? nullptr : var(m_, at->second);
            }
            case Op::Merge: return split_merge(e);
            case Op::If: {
                const Expr *then = split(e->arg(1)), *otherwise = then ? split(e->arg(2)) : nullptr;
                return otherwise ? if_(m_, e->arg(0), then, otherwise, e->loc) : nullptr;
            }
            case Op::For: {
                const Expr* start = split(e->arg(0));
                return start ? loop(e->as<For>(), start) : nullptr;
            }
            case Op::Block: return split_block(e->as<Block>());
            default: return nullptr;
        }
    }

    const Expr* split_merge(const Expr* e) {
        const Merge g = e->as<Merge>();
        const Expr* before = g.mask() ? nullptr : split(g.builder());
        if (!before) return nullptr;
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
            return merge(m_, column, part(value, fields_[n]), nullptr, e->loc);
        });
        return weld::block(m_, lets, all, e->loc);
    }

    const Expr* split_block(Block b) {
        Lets lets;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const Symbol* name = b.symbol(i);
            const Expr* value = b.value(i);
            if (name->type->holds_builder) {
                value = name->type == structs_ ? split(value) : nullptr;
                if (!value) return nullptr;
                name = names_[name] = m_.symbol(name->name, columns_);
            }
            lets.emplace_back(name, value);
        }
        const Expr* result = split(b.result());
        return result ? weld::block(m_, lets, result, b.node->loc) : nullptr;
    }

    Module& m_;
    const Type* structs_;  // the appender
    std::vector<std::size_t> fields_;
    const Type* columns_;
    std::unordered_map<const Symbol*, const Symbol*> names_;
};

class Splitter {
  public:
    Splitter(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda), counters_(facts_, lambda) {}

    const Expr* split(Block b) {
        for (std::size_t i = 0; i < b.size(); ++i) {
            if (!is_plain(b.symbol(i)->type)) continue;
            if (const Expr* now = split_at(b, i)) return now;
        }
        return nullptr;
    }

  private:
    /// With let `i` split; null if it cannot be.
    const Expr* split_at(Block b, std::size_t i) {
        const Result made = b.value(i)->as<Result>();
        const For loop = made ? made.builder()->as<For>() : For{};
        const NewBuilder begin = loop ? loop.builder()->as<NewBuilder>() : NewBuilder{};
        if (!begin || begin.kind() != BuilderKind::Appender) return nullptr;
        const Symbol* vec = b.symbol(i);
        Readers readers(counters_, vec);
        for (const Expr* later : b.node->args().subspan(i + 1)) readers.find(later);
        if (!readers.ok()) return nullptr;
        // What nobody reads is computed nevertheless if it may fail.
        const bool fails = facts_.traits(loop.body().node).fails;
        const std::size_t num_fields = readers.fields().size();
        columns_.assign(num_fields, nullptr);
        std::vector<std::size_t> fields;
        for (std::size_t k = 0; k < num_fields; ++k) {
            if (!fails && !readers.fields()[k]) continue;
            columns_[k] = fails ? nullptr : copied(loop, k);
            if (!columns_[k]) fields.push_back(k);
        }
        if (fields.size() > kMostFields) return nullptr;

        Lets lets;
        for (std::size_t k = 0; k < i; ++k) lets.emplace_back(b.symbol(k), b.value(k));
        if (!fields.empty()) {
            if (!make_columns(loop, fields, made, vec, lets)) return nullptr;
        } else if (const Expr* check = length_check(m_, facts_, loop.data(), loop.node->loc)) {
            lets.emplace_back(m_.symbol("equal", check->type), check);
        }
        const auto reading = [&](const Expr* e) { return with_columns(e, vec); };
        for (std::size_t k = i + 1; k < b.size(); ++k)
            lets.emplace_back(b.symbol(k), rewrite(m_, b.value(k), reading));
        return block(m_, lets, rewrite(m_, b.result(), reading), b.node->loc);
    }

    /// Lets of a loop that makes these columns; false if there is none.
    bool make_columns(For loop, const std::vector<std::size_t>& fields, Result made, const Symbol* vec,
                      Lets& lets) {
        Columns columns(m_, loop.node->type, fields);
        const Expr* all = columns.loop(loop, columns.begin(loop.builder()->as<NewBuilder>()));
        if (!all) return false;
        if (fields.size() > 1) {
            const Symbol* bs = m_.symbol("bs", all->type);
            lets.emplace_back(bs, all);
            all = var(m_, bs);
        }
        for (std::size_t n = 0; n < fields.size(); ++n) {
            const Expr* column = result(m_, columns.column(all, n), made.node->loc);
            const Symbol* name = m_.symbol(vec->name, column->type);
            lets.emplace_back(name, column);
            columns_[fields[n]] = var(m_, name);
        }
        return true;
    }

    /// The vector whose elements the loop appends as field `k`, one after the other; null if there is none.
    const Expr* copied(For loop, std::size_t k) {
        const Expr* body = loop.body().body();
        if (const Block b = body->as<Block>()) body = b.result();
        const Merge g = body->as<Merge>();
        if (!g || !is_path(g.builder()) || !is_var(facts_.root(g.builder()), loop.builder_param()))
            return nullptr;
        const Expr* value = facts_.resolve(g.value());
        if (value->op != Op::MakeStruct || !is_path(value->arg(k))) return nullptr;
        const Expr* from = facts_.root(value->arg(k));
        if (base_of(from) != loop.elem_param()) return nullptr;
        const bool is_alone = loop.data().size() == 1;
        const bool is_element =
            is_alone ? from->op == Op::Var : from->op == Op::GetField && from->arg(0)->op == Op::Var;
        const Expr* datum = is_element ? loop.data()[is_alone ? 0 : from->attr.index] : nullptr;
        return datum && is_path(datum) ? datum : nullptr;
    }

    const Expr* with_columns(const Expr* e, const Symbol* vec) {
        switch (e->op) {
            case Op::Len: return is_var(e->arg(0), vec) ? len(m_, any_column(), e->loc) : nullptr;
            case Op::Lookup:
                if (!is_var(e->arg(0), vec)) return nullptr;
                return element(vec, [&](const Expr* c) { return lookup(m_, c, e->arg(1), e->loc); });
            case Op::For: return loop_over_columns(e->as<For>(), vec);
            default: return nullptr;
        }
    }

    const Expr* any_column() {
        return *std::ranges::find_if(columns_, [](const Expr* c) { return c != nullptr; });
    }

    /// A struct of what `field` gives for each column; nobody reads the other fields.
    template <class Fn>
    const Expr* element(const Symbol* vec, Fn&& field) {
        const std::span<const Type* const> types = vec->type->elem()->args;
        std::vector<const Expr*> fields;
        for (std::size_t k = 0; k < types.size(); ++k)
            fields.push_back(columns_[k] ? field(columns_[k]) : literal(m_, types[k], 0));
        return make_struct(m_, fields);
    }

    const Expr* loop_over_columns(For f, const Symbol* vec) {
        const auto is_split = [&](const Expr* datum) {
            const Expr* of = walked(datum);
            return of && is_var(of, vec);
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
            elems.push_back(is_split(datum) ? element(vec, [&](const Expr*) { return next(); }) : next());
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
    Facts facts_;
    Counters counters_;
    std::vector<const Expr*> columns_;  // by field; null: nobody reads it
};

}  // namespace

const Expr* split_structs(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    for (const Expr* before = nullptr; before != lambda;) {
        before = lambda;
        bool is_done = false;  // what is known of the program is of the one before
        Splitter splitter(m, lambda);
        lambda = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
            const Block b = is_done ? Block{} : e->as<Block>();
            const Expr* now = b ? splitter.split(b) : nullptr;
            is_done |= now != nullptr;
            return now;
        });
        lambda = in_normal_form(m, before, lambda);
    }
    return lambda;
}

}  // namespace weld
