// Zips read each vector once, and only those that they need.
//
//     for(zip(xs, ys, xs, rangeiter(0L, len(xs), 1L)), B, |b, i, z| merge(b, z.$0 + z.$2 * f64(z.$3)))
// becomes, if `ys` is as long as `xs` for sure,
//     for(xs, B, |b, i, x| merge(b, x + x * f64(i)))
//
// Vertical fusion leaves such zips: zip(map(xs, f), map(xs, g)) has become zip(xs, xs). A datum that nobody
// looks at stays if its length might differ, since the loop fails then. Iterators with bounds are the same if
// they read alike.
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

class ZipFuser {
  public:
    ZipFuser(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {
        visit(lambda, [&](const Expr* e) {
            if (e->op == Op::Var) ++reads_[e->attr.symbol];
            if (e->op == Op::GetField && e->arg(0)->op == Op::Var) {
                ++field_reads_[e->arg(0)->attr.symbol];
                fields_read_[e->arg(0)->attr.symbol].resize(e->arg(0)->type->args.size());
                fields_read_[e->arg(0)->attr.symbol][e->attr.index] = true;
            }
        });
    }

    const Expr* fused(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop || loop.data().size() < 2) return nullptr;
        std::vector<const Expr*> data;
        std::vector<std::size_t> stands_for;  // for each datum the kept one that yields its elements
        bool shrinks = false;
        for (std::size_t k = 0; k < loop.data().size(); ++k) {
            const std::size_t at = find(data, loop.data()[k]);
            stands_for.push_back(at);
            if (at == data.size()) data.push_back(loop.data()[k]);
            else shrinks = true;
        }
        const std::vector<std::size_t> left_out = left_out_of(loop, data, stands_for);
        if (!shrinks && left_out.empty()) return nullptr;
        return rebuilt(loop, data, stands_for, left_out);
    }

  private:
    std::size_t find(const std::vector<const Expr*>& data, const Expr* datum) {
        for (std::size_t i = 0; i < data.size(); ++i)
            if (yield_alike(data[i], datum)) return i;
        return data.size();
    }

    bool yield_alike(const Expr* a, const Expr* b) {
        if (is_path(a) && is_path(b)) return same(facts_.root(a), facts_.root(b));
        return a->op == b->op && facts_.traits(a).size < 50 && !facts_.traits(a).calls && same(a, b);
    }

    bool is_read(For loop, std::size_t k) {
        const Symbol* z = loop.elem_param();
        if (reads_[z] != field_reads_[z]) return true;
        const std::vector<bool>* read = fields_read_.find(z);
        return read && (*read)[k];
    }

    /// Data (of those kept) that need not be read: nobody looks at them, or they count as the index does; and
    /// their length is that of one that stays.
    std::vector<std::size_t> left_out_of(For loop, const std::vector<const Expr*>& data,
                                         const std::vector<std::size_t>& stands_for) {
        std::vector<bool> read(data.size());
        for (std::size_t k = 0; k < stands_for.size(); ++k)
            if (is_read(loop, k)) read[stands_for[k]] = true;
        std::vector<std::size_t> out;
        for (std::size_t i = data.size(); i-- > 0;) {
            if (read[i] && !counts_from_zero(data[i])) continue;
            if (facts_.traits(data[i]).fails || facts_.traits(data[i]).calls ||
                !has_equal(loop, data, i, out))
                continue;
            out.push_back(i);
        }
        return out;
    }

    bool has_equal(For loop, const std::vector<const Expr*>& data, std::size_t i,
                   const std::vector<std::size_t>& out) {
        for (std::size_t j = 0; j < data.size(); ++j) {
            if (j == i || std::find(out.begin(), out.end(), j) != out.end()) continue;
            const Expr* pair[] = {data[i], data[j]};
            if (facts_.lengths_agree(pair, loop.index_param())) return true;
        }
        return false;
    }

    const Expr* rebuilt(For loop, const std::vector<const Expr*>& data,
                        const std::vector<std::size_t>& stands_for,
                        const std::vector<std::size_t>& left_out) {
        constexpr std::size_t kGone = std::size_t(-1);
        std::vector<const Expr*> kept;
        std::vector<std::size_t> position(data.size(), kGone);
        std::vector<const Type*> types;
        for (std::size_t i = 0; i < data.size(); ++i) {
            if (std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
            position[i] = kept.size();
            kept.push_back(data[i]);
            types.push_back(data[i]->type->elem());
        }
        const Symbol* elem =
            m_.symbol(loop.elem_param()->name, types.size() == 1 ? types[0] : m_.types.structure(types));
        std::vector<const Expr*> parts;
        for (std::size_t k = 0; k < stands_for.size(); ++k) {
            const std::size_t at = position[stands_for[k]];
            if (at != kGone)
                parts.push_back(types.size() == 1 ? var(m_, elem) : get_field(m_, var(m_, elem), at));
            else if (counts_from_zero(data[stands_for[k]])) parts.push_back(var(m_, loop.index_param()));
            else parts.push_back(nullptr);
        }
        const Symbol *b = loop.builder_param(), *i = loop.index_param(), *z = loop.elem_param();
        const Expr* body = with_parts(loop.body().body(), z, parts);
        if (reads_[z] != field_reads_[z]) body = let(m_, z, make_struct(m_, parts), body);
        std::vector<const Expr*> args = {loop.builder(),
                                         lambda(m_, {b, i, elem}, body, loop.body().node->loc)};
        args.insert(args.end(), kept.begin(), kept.end());
        return with_args(m_, loop.node, args);
    }

    const Expr* with_parts(const Expr* body, const Symbol* z, const std::vector<const Expr*>& parts) {
        return weld::rewrite(m_, body, [&](const Expr* e) -> const Expr* {
            const bool is_part = e->op == Op::GetField && is_var(e->arg(0), z);
            return is_part ? parts[e->attr.index] : nullptr;
        });
    }

    Module& m_;
    Facts facts_;
    Table<Symbol, int> reads_, field_reads_;
    Table<Symbol, std::vector<bool>> fields_read_;
};

}  // namespace

const Expr* fuse_zip(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    ZipFuser fuser(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) { return fuser.fused(e); });
}

}  // namespace weld
