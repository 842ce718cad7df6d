// Choosing and running passes: by level or by name, with times, verification and a view after each.
#include "weldir/passes/pass.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "weldir/ir/call_graph.h"
#include "weldir/ir/verify.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pipeline.h"

namespace weld {

#define WELD_PASS(function, ...) const Expr* function(Module& m, const Expr* lambda);
#define WELD_MODULE_PASS(function, ...) bool function(Module& m, const PassOptions& options);
#include "weldir/passes/passes.def"

static constexpr auto kPasses = [] {
    using enum AttrInfo::Finding;
    return std::to_array<PassInfo>({
#define WELD_PASS(function, name, level, finds, keeps, summary) \
    {name, level, finds, keeps, summary, function, nullptr},
#define WELD_MODULE_PASS(function, name, level, finds, keeps, summary) \
    {name, level, finds, keeps, summary, nullptr, function},
#include "weldir/passes/passes.def"
    });
}();

std::span<const PassInfo> all_passes() { return kPasses; }

const PassInfo* find_pass(std::string_view name) {
    for (const PassInfo& pass : kPasses)
        if (pass.name == name) return &pass;
    return nullptr;
}

static const OldName* find_old_name(std::string_view name) {
    for (const OldName& old : old_names())
        if (old.name == name) return &old;
    return nullptr;
}

// ---- names

/// Insertions, deletions and replacements that lead from `a` to `b`.
static std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

static std::string_view nearest_name(std::string_view name) {
    std::string_view best;
    std::size_t least = name.size() / 2 + 2;  // farther off is no help
    auto consider = [&](std::string_view candidate) {
        if (const std::size_t d = distance(name, candidate); d < least) {
            least = d;
            best = candidate;
        }
    };
    for (const PassInfo& pass : kPasses) consider(pass.name);
    for (const OldName& old : old_names()) consider(old.name);
    return best;
}

std::string check_pass_names(std::span<const std::string> names) {
    for (const std::string& name : names) {
        if (find_pass(name) || find_old_name(name)) continue;
        const std::string_view near = name.size() < 100 ? nearest_name(name) : std::string_view();
        if (near.empty()) return fmt::format("unknown pass `{}`", name);
        return fmt::format("unknown pass `{}`; did you mean `{}`?", name, near);
    }
    return {};
}

// ---- running

namespace {

class Runner {
  public:
    Runner(Module& m, const PassOptions& options, std::string* error)
        : m_(m), options_(options), error_(error) {}

    bool run() {
        const bool good = options_.names ? run_names() : run_levels();
        graph_.update(m_);
        return good;
    }

  private:
    using Clock = std::chrono::steady_clock;

    bool run_names() {
        for (const std::string& name : *options_.names) {
            const PassInfo* pass = find_pass(name);
            if (pass ? !run(*pass) : !run_old(*find_old_name(name))) return false;
        }
        return true;
    }

    bool run_levels() {
        for (const Stage& stage : pipeline()) {
            for (int round = 0; round < (stage.repeats ? kMaxRounds : 1); ++round) {
                begin_round(round == 0);
                if (!run_round(stage)) return false;
                if (changed_.empty()) break;
            }
            if (!stage.name.empty() && options_.after) options_.after(stage.name, m_, true);
        }
        return true;
    }

    /// The lambda of main and of each defined function.
    std::vector<const Expr**> roots() {
        std::vector<const Expr**> all;
        if (m_.main) all.push_back(&m_.main);
        for (Function* f : m_.functions)
            if (f->lambda) all.push_back(&f->lambda);
        return all;
    }

    void begin_round(bool first) {
        if (first) due_ = roots();
        else due_ = std::move(changed_);
        changed_.clear();
    }

    bool run_round(const Stage& stage) {
        for (std::string_view name : stage.passes) {
            const PassInfo* pass = find_pass(name);
            if (pass && is_wanted(*pass) && !run(*pass)) return false;
        }
        return true;
    }

    bool is_wanted(const PassInfo& pass) const {
        return pass.level == kVerify ? options_.verify : pass.level <= options_.level;
    }

    bool run_old(const OldName& old) {
        return std::all_of(old.passes.begin(), old.passes.end(),
                           [&](std::string_view name) { return run(*find_pass(name)); });
    }

    bool run(const PassInfo& pass) {
        const Clock::time_point start = Clock::now();
        forget(found_ & ~pass.keeps);
        found_ |= pass.finds;
        graph_.update(m_);
        const bool changed = pass.run ? rewrite_due(pass) : rewrite_module(pass.run_module);
        add_time(pass.name, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        if (changed && options_.verify) {
            if (const std::string wrong = verify(m_); !wrong.empty()) {
                *error_ = fmt::format("{} broke the program: {}", pass.name, wrong);
                return false;
            }
        }
        if (options_.after) options_.after(pass.name, m_, changed);
        return true;
    }

    bool rewrite_due(const PassInfo& pass) {
        bool any = false;
        for (const Expr** root : options_.names ? roots() : due_) {
            const Expr*& settled = settled_[{&pass, root}];
            if (settled == *root) continue;
            const Expr* now = pass.run(m_, *root);
            if (now == *root) {
                settled = now;
                continue;
            }
            *root = now;
            any = true;
            if (std::find(changed_.begin(), changed_.end(), root) == changed_.end()) changed_.push_back(root);
        }
        return any;
    }

    bool rewrite_module(ModulePassFn pass) {
        const bool any = pass(m_, options_);
        if (any) changed_ = due_ = roots();  // functions may be gone
        return any;
    }

    /// Annotations go that rely on one of these.
    void forget(unsigned lost) {
        if (!lost) return;
        found_ &= ~lost;
        const auto is_found = [&](const Annotation& a) { return info(a.key).relies_on & lost; };
        const auto bare = [&](const Expr* e) -> const Expr* {
            std::vector<Annotation> others;
            std::ranges::remove_copy_if(e->annotations, std::back_inserter(others), is_found);
            return others.size() < e->annotations.size() ? with_annotations(m_, e, others) : nullptr;
        };
        for (const Expr** root : roots()) {
            bool any = false;
            visit(*root, [&](const Expr* e) { any |= std::ranges::any_of(e->annotations, is_found); });
            if (any) *root = rewrite(m_, *root, bare);
        }
    }

    void add_time(std::string_view name, double ms) {
        if (!options_.times) return;
        auto at = std::find_if(options_.times->begin(), options_.times->end(),
                               [&](const auto& entry) { return entry.first == name; });
        if (at == options_.times->end()) options_.times->emplace_back(name, ms);
        else at->second += ms;
    }

    Module& m_;
    const PassOptions& options_;
    std::string* error_;
    CallGraph graph_;
    unsigned found_ = unsigned(-1);      // of AttrInfo::Finding: there may be annotations that rely on it
    std::vector<const Expr**> due_;      // what this round looks at
    std::vector<const Expr**> changed_;  // what the next one has to
    /// What a pass left as it was: it need not look at the same again.
    std::map<std::pair<const PassInfo*, const Expr**>, const Expr*> settled_;
};

}  // namespace

bool run_passes(Module& m, const PassOptions& options, std::string* error) {
    if (options.names) *error = check_pass_names(*options.names);
    if (options.names && !error->empty()) return false;
    return Runner(m, options, error).run();
}

}  // namespace weld
