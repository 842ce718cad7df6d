// Appenders learn how often each iteration merges, where that is known when the loop begins.
//
//     result(for(xs, appender[f64], |b, i, x| for(ys, b, |c, j, y| merge(c, x * y))))
// becomes
//     result(for(xs, @(size:given) appender[f64](len(ys)), |b, i, x| for(ys, b, |c, j, y| merge(c, x * y))))
//
// The number is exact: every run of the body merges so often, on all paths, so memory is set aside once and
// chunks of the loop write to their places directly. Merges in the body itself are counted by
// `count-appends`. A `size` in the text of a program is a hint, which is not made use of. Runs after fusion,
// which changes the numbers, and before vectorize, which hides them.
#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostProducts = 4;  // of a number that is written out

class Sizer {
  public:
    Sizer(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* sized(const Expr* e) {
        if (e->op != Op::For || e->annotation(AttrKey::Tile)) return nullptr;  // of tiles the size is known
        std::vector<const Expr*> args(e->args().begin(), e->args().end());
        args[0] = sized_start(e, args[0], {});
        return with_args(m_, e, args);
    }

  private:
    const Expr* sized_start(const Expr* loop, const Expr* start, std::vector<std::size_t> path) {
        if (start->op == Op::MakeStruct) {
            std::vector<const Expr*> fields(start->args().begin(), start->args().end());
            for (std::size_t i = 0; i < fields.size(); ++i) {
                path.push_back(i);
                fields[i] = sized_start(loop, fields[i], path);
                path.pop_back();
            }
            return with_args(m_, start, fields);
        }
        const NewBuilder made = start->as<NewBuilder>();
        if (!made || !info(made.kind()).keeps_merges) return start;
        if (const Annotation* size = start->annotation(AttrKey::Size); size && size->text == "most")
            return start;
        if (start->says(AttrKey::Capacity, true)) return start;  // it says another number
        const std::optional<Count> n = facts_.merges_per_iteration(loop, path);
        if (n && n->sum().size() <= kMostProducts && info(made.kind()).lists_merges &&
            !is_counted(loop, path)) {
            const Expr* given = new_builder(m_, start->type, written(m_, *n), start->loc);
            return annotate(m_, with_annotations(m_, given, start->annotations), AttrKey::Size, "given");
        }
        return without(m_, start, AttrKey::Size);
    }

    /// `count-appends` finds the number, which sees merges but no inner loops.
    static bool is_counted(const Expr* loop, const std::vector<std::size_t>& path) {
        std::size_t number = 0;
        const Type* t = loop->type;
        for (std::size_t i : path) {
            for (const Type* before : t->args.first(i)) number += std::size_t(num_builders(before));
            t = t->args[i];
        }
        return merges_per_iteration(loop->as<For>())[number] >= 0;
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* sizes(Module& m, const Expr* lambda) {
    Sizer sizer(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) { return sizer.sized(e); });
}

}  // namespace weld
