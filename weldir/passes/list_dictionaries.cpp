// Dictionaries in which nobody looks anything up say so.
//
//     let d = result(for(ks, dictmerger[i64,i64,+], |b, i, k| merge(b, {k, 1L})));
//     tovec(d)
// becomes
//     let d = @(listed:true) result(...);
//     tovec(d)
//
// What is only listed or counted needs no index: partitions of a large table stay as they are. One node may
// stand in several places: one that is neither a `tovec` nor a `len` decides.
#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"

namespace weld {

namespace {

bool makes_dictionary(const Expr* e) { return e->op == Op::Result && info(e->arg(0)->type).probes; }
bool lists(const Expr* e) { return e->op == Op::ToVec || e->op == Op::Len; }

class Readers {
  public:
    explicit Readers(const Expr* lambda) { look(lambda); }

    bool only_list(const Expr* result) const {
        const auto at = listed_.find(result);
        return at != listed_.end() && at->second;
    }

  private:
    void look_below(const Expr* e) {
        for (const Expr* a : e->args()) look(a);
    }

    void look(const Expr* e) {
        if (e->op == Op::Block) {
            const auto b = e->as<Block>();
            for (std::size_t i = 0; i < b.size(); ++i) {
                if (!makes_dictionary(b.value(i))) {
                    look(b.value(i));
                    continue;
                }
                named_[b.symbol(i)] = b.value(i);
                listed_.try_emplace(b.value(i), true);
                look_below(b.value(i));
            }
            return look(b.result());
        }
        if (lists(e) && e->arg(0)->op == Op::Var) return;
        if (lists(e) && makes_dictionary(e->arg(0))) {
            listed_.try_emplace(e->arg(0), true);
            return look_below(e->arg(0));
        }
        if (e->op == Op::Var) {
            if (const auto at = named_.find(e->attr.symbol); at != named_.end()) listed_[at->second] = false;
        } else if (makes_dictionary(e)) {
            listed_[e] = false;
        }
        look_below(e);
    }

    std::unordered_map<const Symbol*, const Expr*> named_;  // Results that lets bind
    std::unordered_map<const Expr*, bool> listed_;          // by Result: nothing else was seen yet
};

class Marker {
  public:
    Marker(Module& m, const Expr* lambda) : m_(m), readers_(lambda) {}

    const Expr* marked(const Expr* e) {
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) { return marked(a); });
        if (!makes_dictionary(e)) return now;
        if (!readers_.only_list(e)) return without(m_, now, AttrKey::Listed);
        return e->annotation(AttrKey::Listed) ? now : annotate(m_, now, AttrKey::Listed, "true");
    }

  private:
    Module& m_;
    Readers readers_;
};

}  // namespace

const Expr* list_dictionaries(Module& m, const Expr* lambda) { return Marker(m, lambda).marked(lambda); }

}  // namespace weld
