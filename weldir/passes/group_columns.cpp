// Rows that are grouped lie in columns, of which those that are there already are not written again.
//
//     result(for(zip(ks, vs), groupmerger[vec[u8],f64], |b, i, e| merge(b, {e.$0, e.$1 * 2.0})))
// becomes
//     let values = result(for(zip(ks, vs), appender[f64], |b, i, e| merge(b, e.$1 * 2.0)));
//     cudf[weld_group,dict[vec[u8],vec[f64]]](ks, values)
//
// A groupmerger writes {key, value} of each merge to an array, which is read twice: a column is read once,
// and what makes one can run on lanes. Where keys and values are both data of the loop, all that is left of
// it is that it fails if they are not equally long.
//
// For loops that merge once in each round, and keys that are integers or vectors of them: others (a float has
// two zeros) are made canonical as they are merged.
#include "weldir/ir/facts.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/round_groups.h"

namespace weld {

namespace {

bool holds_bool(const Type* t) {
    return t->is_scalar(Scalar::Bool) || std::ranges::any_of(t->args, holds_bool);
}

class Columns {
  public:
    Columns(Module& m, For loop) : m_(m), loop_(loop) {}

    /// The dictionary that the loop, whose builder is new, makes of its rows; null: it is not such a loop.
    const Expr* grouped() {
        const Type* rows = loop_.node->type;
        const Type* types[] = {m_.types.vec(rows->key()), m_.types.vec(rows->value())};
        if (!find_builtin_kernel("weld_group", types, rows->gives)) return nullptr;
        const Expr* body = loop_.body().body();
        const Block lets = body->as<Block>();
        const Merge row = (lets ? lets.result() : body)->as<Merge>();
        if (!row || row.mask() || !is_var(row.builder(), loop_.builder_param())) return nullptr;
        const MakeStruct pair = row.value()->as<MakeStruct>();
        const Expr* parts[2];
        const Expr* columns[2];
        std::size_t made = 0;
        for (std::size_t k = 0; k < 2; ++k) {
            parts[k] = pair ? pair.fields()[k] : get_field(m_, row.value(), k);
            columns[k] = datum(parts[k]);
            made += !columns[k];
        }
        Lets before;
        if (made) make(parts, columns, before);
        else if (loop_.data().size() > 1) check_lengths(before);
        const Expr* dict = builtin_kernel(m_, "weld_group", rows->gives, columns, loop_.node->loc);
        return block(m_, before, dict, loop_.node->loc);
    }

  private:
    /// The vector that `part` is an element of in every round.
    const Expr* datum(const Expr* part) const {
        std::size_t i = 0;
        if (loop_.data().size() > 1) {
            if (part->op != Op::GetField || !is_var(part->arg(0), loop_.elem_param())) return nullptr;
            i = part->attr.index;
        } else if (!is_var(part, loop_.elem_param())) {
            return nullptr;
        }
        const Expr* vec = loop_.data()[i];
        // A bool from outside may be any byte; what is merged is 0 or 1.
        return is_path(vec) && !holds_bool(vec->type->elem()) ? vec : nullptr;
    }

    /// Makes the columns that are missing, in one loop.
    void make(const Expr* const (&parts)[2], const Expr* (&columns)[2], Lets& lets) {
        std::vector<const Expr*> builders;
        for (std::size_t k = 0; k < 2; ++k) {
            const Type* elem[] = {parts[k]->type};
            if (!columns[k])
                builders.push_back(new_builder(m_, m_.types.builder(BuilderKind::Appender, elem)));
        }
        const bool both = builders.size() == 2;
        const Expr* start = both ? make_struct(m_, builders) : builders[0];
        const Symbol* b = m_.symbol(loop_.builder_param()->name, start->type);
        const auto nth = [&](const Expr* of, std::size_t k) { return both ? get_field(m_, of, k) : of; };
        std::vector<const Expr*> merged;
        for (std::size_t k = 0; k < 2; ++k)
            if (!columns[k]) merged.push_back(merge(m_, nth(var(m_, b), k), parts[k]));
        const Expr* body = both ? make_struct(m_, merged) : merged[0];
        if (const Block own = loop_.body().body()->as<Block>()) {
            Lets values;
            for (std::size_t i = 0; i < own.size(); ++i) values.emplace_back(own.symbol(i), own.value(i));
            body = block(m_, values, body);
        }
        const Expr* f =
            lambda(m_, {b, loop_.index_param(), loop_.elem_param()}, body, loop_.body().node->loc);
        const Expr* made =
            with_annotations(m_, loop(m_, loop_.data(), start, f, loop_.node->loc), loop_.node->annotations);
        if (both) made = named(m_, made, "columns", lets);
        for (std::size_t k = 0; k < 2; ++k)
            if (!columns[k]) columns[k] = named(m_, result(m_, nth(made, k)), k ? "values" : "keys", lets);
    }

    /// A loop that does nothing, and fails as the one with the rows did.
    void check_lengths(Lets& lets) {
        const Type* args[] = {m_.types.i64()};
        const Type* sum = m_.types.builder(BuilderKind::Merger, args, MergeOp::Add);
        const Symbol* b = m_.symbol(loop_.builder_param()->name, sum);
        const Expr* f =
            lambda(m_, {b, loop_.index_param(), loop_.elem_param()}, var(m_, b), loop_.body().node->loc);
        named(m_, result(m_, loop(m_, loop_.data(), new_builder(m_, sum), f, loop_.node->loc)), "lengths",
              lets);
    }

    Module& m_;
    For loop_;
};

const Expr* in_columns(Module& m, const Expr* e) {
    e = map_args(m, e, [&](const Expr* a, std::size_t) { return in_columns(m, a); });
    const Result made = e->as<Result>();
    const For f = made ? made.builder()->as<For>() : For();
    if (!f || f.builder()->op != Op::NewBuilder || f.node->type->builder != BuilderKind::GroupMerger)
        return e;
    const Expr* now = Columns(m, f).grouped();
    return now ? now : e;
}

}  // namespace

const Expr* group_columns(Module& m, const Expr* lambda) {
    return in_normal_form(m, lambda, in_columns(m, lambda));
}

}  // namespace weld
