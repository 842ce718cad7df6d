// Vectors in straight-line code are freed after their last reader.
//
//     let a = result(for(v, appender[f64], f));
//     let b = result(for(a, appender[f64], |b, i, x| merge(b, x - lookup(a, 0L))));     # `a` goes here
//     let c = result(for(b, ...));                                                      # and `b` here
//
// so a chain of steps takes the memory of two of them. Only vectors that nothing else can point into: built
// by an appender or fresh from a kernel, with elements that hold no pointers, and only ever looped over,
// looked up in, measured, or given to kernels that keep nothing of them. What is made in loops is left to the
// collector.
#include <unordered_map>

#include "codegen/loops.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/walk.h"

namespace weld::codegen {

namespace {

class LastReads {
  public:
    explicit LastReads(Block b) {
        for (std::size_t i = 0; i < b.size(); ++i)
            if (is_owned(b.value(i))) last_[b.symbol(i)] = i;
        if (last_.empty()) return;
        for (at_ = 0; at_ < b.size(); ++at_) look(b.value(at_));
        look(b.result());
    }

    DeadAfter dead_after(Block b) const {
        DeadAfter dead;
        for (std::size_t i = 0; i < b.size(); ++i)  // in the order of the program
            if (auto at = last_.find(b.symbol(i)); at != last_.end() && at->second < b.size())
                dead[at->second].push_back(b.symbol(i));
        return dead;
    }

  private:
    static bool is_owned(const Expr* value) {
        if (!value->type->is_vec() || value->type->elem()->holds_pointer) return false;
        if (value->op == Op::Result) return value->arg(0)->type->is_builder(BuilderKind::Appender);
        return value->op == Op::Kernel && is_fresh(value);
    }

    static bool is_fresh(const Expr* kernel) {
        const BuiltinKernel* row = kernel->as<Kernel>().ref().builtin;
        return row && row->fresh;
    }

    /// Argument `i` of `e` is read and not kept.
    static bool only_reads(const Expr* e, std::size_t i) {
        switch (e->op) {
            case Op::For: return i >= 2;
            case Op::Iter:
            case Op::Lookup:
            case Op::Len: return i == 0;
            case Op::Kernel: return is_fresh(e);
            default: return false;
        }
    }

    void look(const Expr* e) {
        if (e->op == Op::Var) last_.erase(e->attr.symbol);
        for (std::size_t i = 0; i < e->num_args; ++i) {
            const Var v = only_reads(e, i) ? e->arg(i)->as<Var>() : Var{};
            if (!v) look(e->arg(i));
            else if (auto at = last_.find(v.symbol()); at != last_.end()) at->second = at_;
        }
    }

    std::unordered_map<const Symbol*, std::size_t> last_;  // the let that reads it last
    std::size_t at_ = 0;
};

}  // namespace

DeadAfter dead_after(Block b) { return LastReads(b).dead_after(b); }

}  // namespace weld::codegen
