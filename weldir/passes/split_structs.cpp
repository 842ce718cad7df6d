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
#include "weldir/passes/lengths.h"
#include "weldir/passes/struct_columns.h"

namespace weld {

namespace {

class Splitter {
  public:
    Splitter(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda), counters_(facts_, lambda) {}

    /// The block with the first vector split that can be; null if there is none.
    const Expr* split(Block b) {
        for (std::size_t i = 0; i < b.size(); ++i)
            if (const For loop = appends_structs(b.value(i)))
                if (const Expr* now = split_at(b, i, loop)) return now;
        return nullptr;
    }

  private:
    const Expr* split_at(Block b, std::size_t i, For loop) {
        const Symbol* vec = b.symbol(i);
        StructReaders readers(counters_, vec);
        for (const Expr* later : b.node->args().subspan(i + 1)) readers.find(later);
        const std::vector<bool>& read = readers.fields();
        if (!readers.ok() || std::ranges::find(read, true) == read.end()) return nullptr;
        // What nobody reads is computed nevertheless if somebody could tell.
        const Traits& body = facts_.traits(loop.body().node);
        const bool is_told = body.fails || body.calls || body.ordered;
        std::vector<const Expr*> columns(read.size(), nullptr), there = columns;
        std::vector<std::size_t> fields;
        for (std::size_t k = 0; k < read.size(); ++k) {
            if (!is_told && !read[k]) continue;
            there[k] = is_told ? nullptr : copied(loop, k);
            if (!there[k]) fields.push_back(k);
        }
        if (fields.size() > kMostColumns) return nullptr;

        Lets lets;
        for (std::size_t k = 0; k < i; ++k) lets.emplace_back(b.symbol(k), b.value(k));
        if (!fields.empty()) {
            columns = StructColumns(m_, vec->type, fields).make(b.value(i), vec, lets);
            if (columns.empty()) return nullptr;
        } else if (const Expr* check = length_check(m_, facts_, loop.data(), loop.node->loc)) {
            lets.emplace_back(m_.symbol("equal", check->type), check);
        }
        for (std::size_t k = 0; k < read.size(); ++k)
            if (there[k]) columns[k] = there[k];
        for (std::size_t k = i + 1; k < b.size(); ++k)
            lets.emplace_back(b.symbol(k), reading_columns(m_, b.value(k), vec, columns));
        return block(m_, lets, reading_columns(m_, b.result(), vec, columns), b.node->loc);
    }

    /// The vector whose elements the loop appends as field `k`, one after the other; null if there is none.
    const Expr* copied(For loop, std::size_t k) {
        if (!std::ranges::all_of(loop.data(), is_path)) return nullptr;
        const Expr* body = loop.body().body();
        if (const Block b = body->as<Block>()) body = b.result();
        const Merge g = body->as<Merge>();
        if (!g || !is_path(g.builder()) || !is_var(facts_.root(g.builder()), loop.builder_param()))
            return nullptr;
        const Expr* value = facts_.resolve(g.value());
        const bool is_alone = loop.data().size() == 1;
        const Expr* datum = nullptr;
        if (is_var(value, loop.elem_param()) && !is_alone) {
            datum = loop.data()[k];
        } else if (value->op == Op::MakeStruct && is_path(value->arg(k))) {
            const Expr* from = facts_.root(value->arg(k));
            const bool is_field = from->op == Op::GetField && from->arg(0)->op == Op::Var;
            if (base_of(from) != loop.elem_param() || (is_alone ? from->op != Op::Var : !is_field))
                return nullptr;
            datum = loop.data()[is_alone ? 0 : from->attr.index];
        }
        return datum;
    }

    Module& m_;
    Facts facts_;
    Counters counters_;
};

}  // namespace

const Expr* split_structs(Module& m, const Expr* lambda) { return split_blocks<Splitter>(m, lambda); }

}  // namespace weld
