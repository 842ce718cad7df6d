// Which expressions have effects: calls of kernels that must happen once and in order, and what such calls
// stand in. `lower` gives them names in the order of the text. Where calls have no order, they are errors.
#include <algorithm>

#include "frontend/weld/reader.h"
#include "weldir/ir/kernels.h"

namespace weld::front {
namespace {

class EffectFinder {
  public:
    explicit EffectFinder(Reader& reader) : r_(reader), p_(reader.program) {}

    void run() {
        // A definition has an effect once one that it calls has, so this is repeated until nothing changes.
        std::size_t before;
        do {
            before = with_effects_.size();
            for (const auto& d : p_.definitions) {
                look(d->lambda);
                if (p_.effects.contains(d->lambda)) with_effects_.insert(d.get());
            }
        } while (with_effects_.size() != before);
        look(p_.main);
        for (const Node* n : p_.effects)
            if (!is_in_order(n)) report(n);
    }

  private:
    struct Open {
        const Node* node;
        std::size_t next;
    };

    /// Notes what has an effect below `root` and around it. Trees may be deep.
    void look(const Node* root) {
        std::vector<Open> path = {{root, 0}};
        while (!path.empty()) {
            Open& top = path.back();
            if (top.next < top.node->args.size()) {
                path.push_back({top.node->args[top.next++], 0});
                continue;
            }
            if (is_effect(top.node))
                for (auto at = path.rbegin(); at != path.rend() && p_.effects.insert(at->node).second; ++at) {
                }
            path.pop_back();
        }
    }

    bool is_effect(const Node* n) const {
        if (n->is(Op::Call)) return with_effects_.contains(n->definition);
        return n->is(Op::Kernel) && calls_effect(n);
    }

    static bool says(const Node* n, AttrKey key) {
        return n->annotations && std::ranges::any_of(*n->annotations, [&](const Annotation& a) {
                   return a.key == key && a.text == "true";
               });
    }

    static bool calls_effect(const Node* n) {
        if (!is_builtin_kernel(n->text)) return says(n, AttrKey::Effect);
        std::vector<const Type*> params;
        for (const Node* a : n->args) params.push_back(a->type);
        const BuiltinKernel* kernel = find_builtin_kernel(n->text, params, n->type);
        return kernel && kernel->effect;
    }

    /// What stands in `n` happens once each time and in order, as far as `n` is concerned.
    bool is_in_order(const Node* n) const {
        if (n->is(Op::Sort)) return !p_.effects.contains(n->args[1]);
        return !(n->is(Op::For) && says(n, AttrKey::Parallel) && p_.effects.contains(n->args[2]));
    }

    /// An error at the first effect in the function of `n`.
    void report(const Node* n) {
        const Node* at = n->is(Op::Sort) ? n->args[1] : n->args[2];
        while (!is_effect(at))
            at = *std::ranges::find_if(at->args, [&](const Node* a) { return p_.effects.contains(a); });
        const std::string_view what = at->is(Op::Call) ? at->definition->name : at->text;
        const char* where = n->is(Op::Sort) ? "the function of a `sort` is called in no promised order"
                                            : "the rounds of a parallel loop run in no promised order";
        error_at(r_, at, "`{}` has an effect, and {}", what, where);
    }

    Reader& r_;
    Program& p_;
    std::unordered_set<const Definition*> with_effects_;
};

}  // namespace

void find_effects(Reader& reader) {
    if (reader.program.may_have_effects) EffectFinder(reader).run();
}

}  // namespace weld::front
