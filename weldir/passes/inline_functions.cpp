// Module functions that are called once, or are small, become part of their callers.
//
//     def square(x: f64): f64 = x * x;
//     |a: f64, b: f64| square(a) + square(b + 1.0)
// becomes
//     |a: f64, b: f64| let x = a; let y = b + 1.0; x * x + y * y
//
// Arguments are bound first, so they are evaluated once and always, as for a call. Functions that call
// themselves, directly or through others, stay; what nobody calls any more goes. Callees are done before
// callers, so a chain of small functions collapses at once; a body that has grown is no longer small. In a
// long chain of functions that are called once, a call remains every so many levels: else what stands at the
// end of the chain would be copied as often as the chain is long.
//
// A small function that calls itself and then goes on takes its own body in, a few levels of it: one call
// does the work of several.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

constexpr std::size_t kSmall = 60;         // nodes that are copied to every call
constexpr std::size_t kLargest = 100000;   // nodes that a body may grow to
constexpr std::size_t kMostTakenIn = 150;  // nodes of a body with copies of itself
constexpr int kMostLevels = 64;            // of calls that a body that is not small comes from

class FunctionInliner {
  public:
    explicit FunctionInliner(Module& m) : m_(m) {}

    bool run() {
        if (m_.functions.empty()) return false;
        if (m_.main) count_calls(m_.main);
        for (const Function* f : m_.functions)
            if (f->lambda) count_calls(f->lambda);
        for (Function* f : m_.functions) finish(f);
        int levels = 0;
        if (m_.main) m_.main = inlined(m_.main, levels);
        drop_uncalled();
        return changed_;
    }

  private:
    enum class State { New, Open, Done };
    struct Info {
        int calls = 0;
        State state = State::New;
        bool recursive = false;
        std::size_t size = 0;
        int levels = 0;  ///< of calls that its body comes from
    };

    void count_calls(const Expr* lambda) {
        visit(lambda, [&](const Expr* e) {
            if (Call call = e->as<Call>()) ++infos_[&call.function()].calls;
        });
    }

    /// Inlines into `f`, its callees first. A callee that is still open leads back to itself.
    void finish(Function* f) {
        Info& info = infos_[f];
        if (info.state == State::Open) info.recursive = true;
        if (info.state != State::New || !f->lambda) return;
        info.state = State::Open;
        std::vector<Function*> callees;
        visit(f->lambda, [&](const Expr* e) {
            if (Call call = e->as<Call>()) callees.push_back(const_cast<Function*>(&call.function()));
        });
        for (Function* callee : callees) finish(callee);
        f->lambda = inlined(f->lambda, info.levels);
        f->lambda = taken_in(*f);
        info.size = size_of_tree(f->lambda);
        info.state = State::Done;
    }

    const Expr* inlined(const Expr* lambda, int& levels) {
        std::size_t grown = 0;
        const Expr* now = rewrite(m_, lambda, [&](const Expr* e) -> const Expr* {
            Call call = e->as<Call>();
            if (!call || !is_wanted(&call.function())) return nullptr;
            const Info& callee = infos_[&call.function()];
            grown += callee.size;
            if (grown > kLargest) return nullptr;
            levels = std::max(levels, callee.levels + 1);
            return body_of(call, call.function().lambda);
        });
        changed_ |= now != lambda;
        return in_normal_form(m_, lambda, now);
    }

    /// `f`'s lambda with its own body for the calls of itself that are not the last thing it does.
    const Expr* taken_in(const Function& f) {
        const Expr* const own = f.lambda;
        std::unordered_set<const Expr*> last;
        visit_last(own->as<Lambda>().body(), [&](const Expr* e) { last.insert(e); });
        const auto goes_on = [&](const Expr* e) {
            return e->op == Op::Call && e->attr.function == &f && !last.contains(e);
        };
        std::size_t calls = 0;
        visit(own, [&](const Expr* e) { calls += goes_on(e); });
        const Expr* now = own;
        const std::size_t size = size_of_tree(own);
        for (std::size_t copies = calls; copies && size * (copies + 1) <= kMostTakenIn;
             copies += copies * calls) {
            const Expr* const before = now;
            now = rewrite(m_, own, [&](const Expr* e) -> const Expr* {
                return goes_on(e) ? body_of(e->as<Call>(), before) : nullptr;
            });
        }
        changed_ |= now != own;
        return in_normal_form(m_, own, now);
    }

    bool is_wanted(const Function* f) {
        const Info& info = infos_[f];
        if (info.state != State::Done || info.recursive) return false;
        return info.size <= kSmall || (info.calls == 1 && info.levels < kMostLevels);
    }

    const Expr* body_of(Call call, const Expr* lambda) {
        const Lambda copy = fresh(m_, lambda)->as<Lambda>();
        std::vector<std::pair<const Symbol*, const Expr*>> lets;
        for (std::size_t i = 0; i < call.args().size(); ++i) lets.emplace_back(copy.param(i), call.args()[i]);
        return block(m_, lets, copy.body(), call.node->loc);
    }

    void drop_uncalled() {
        if (!m_.main) return;  // a library: all are wanted
        std::unordered_map<const Function*, bool> called;
        std::vector<const Expr*> work = {m_.main};
        while (!work.empty()) {
            const Expr* lambda = work.back();
            work.pop_back();
            visit(lambda, [&](const Expr* e) {
                Call call = e->as<Call>();
                if (call && !std::exchange(called[&call.function()], true) && call.function().lambda)
                    work.push_back(call.function().lambda);
            });
        }
        changed_ |= std::erase_if(m_.functions, [&](Function* f) { return !called[f]; }) > 0;
    }

    Module& m_;
    std::unordered_map<const Function*, Info> infos_;
    bool changed_ = false;
};

}  // namespace

bool inline_functions(Module& m, const PassOptions&) { return FunctionInliner(m).run(); }

}  // namespace weld
