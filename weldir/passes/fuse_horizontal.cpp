// Horizontal fusion: loops over the same data become one loop that builds several results.
//
//     let s = result(for(xs, merger[f64,+], |b, i, x| merge(b, x)));
//     let q = result(for(zip(xs, ys), merger[f64,+], |c, j, z| merge(c, z.$0 * z.$1)));
// becomes
//     let bs = for(zip(xs, ys), {merger[f64,+], merger[f64,+]}, |d, i, z|
//       let b = d.$0; let c = d.$1; let x = z.$0; ...
//       {merge(b, x), merge(c, z.$0 * z.$1)});
//     let s = result(bs.$0);
//     let q = result(bs.$1);
//
// so `xs` is read once; and if a loop made `xs` for these two alone, it has one reader left and fuses
// vertically. Loops in one block join if one reads all that the other reads: zipped data have one length, or
// the program fails anyway. Joint loops join again. A loop joins at the place of the first one if all that it
// reads is there, else the first ones move down to it if nobody needs their results in between; neither past
// an effect or an assert if it may fail, or can't because of that assert. Unequal lengths are reported where
// the first loop that reads all zips; what those before it zip is compared before (see lengths.h).
//
// Kept apart: loops whose result only one other loop reads (they fuse vertically, which saves more), loops of
// which one can run on lanes and the other cannot (the joint loop could not), large bodies, loops with
// effects, `@(fuse:false)`, more results than registers.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/vectorize.h"

namespace weld {

namespace {

constexpr std::size_t kMostResults = 6;
constexpr std::uint32_t kMostNodes = 400;

/// `let name = result(loop)`, or `let name = loop` where the loop builds several things.
struct Member {
    std::size_t at;  ///< its let in the block
    const Symbol* name;
    For loop;
    Loc loc;
    std::size_t num_builders() const { return is_joint() ? loop.builder()->num_args : 1; }
    bool is_joint() const { return loop.builder()->op == Op::MakeStruct; }
};

/// Loops that will be one, at the place of the let `at`.
struct Group {
    std::size_t at;
    std::vector<Member> members;
    std::vector<const Expr*> data;
    std::size_t widest;  ///< the first member that reads all the data
    std::size_t num_builders;
    std::uint32_t size = 0;
    bool on_lanes = false;
    bool may_be_told = false;  ///< somebody could tell if it moved past an effect
};

class HorizontalFuser {
  public:
    HorizontalFuser(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda), uses_(lambda) {
        visit_binding(lambda, [&](const Expr* e) {
            if (e->op != Op::For) return;
            for (const Expr* d : e->as<For>().data())
                if (d->op == Op::Var) is_datum_[d->attr.symbol] = true;
        });
    }

    const Expr* fused(const Expr* e) {
        const Block block = e->as<Block>();
        if (!block || block.size() < 2) return nullptr;
        groups_.clear();
        look_at_names(block);
        for (std::size_t i = 0; i < block.size(); ++i) consider(block, i);
        std::erase_if(groups_, [](const Group& g) { return g.members.size() < 2; });
        return groups_.empty() ? nullptr : rebuilt(block);
    }

  private:
    // ---- who reads what

    /// For each let: the lets before it that it reads; for each name the first let that reads it.
    void look_at_names(Block block) {
        Table<Symbol, std::size_t> bound_at;
        first_read_ = {};
        reads_.assign(block.size(), {});
        place_.assign(block.size(), 0);
        effects_.assign(block.size() + 1, 0);
        for (std::size_t i = 0; i < block.size(); ++i) {
            visit(block.value(i), [&](const Expr* e) {
                if (e->op != Op::Var) return;
                const std::size_t* at = bound_at.find(e->attr.symbol);
                if (!at) return;
                reads_[i].push_back(*at);
                if (!first_read_.contains(e->attr.symbol)) first_read_[e->attr.symbol] = i;
            });
            place_[i] = i;
            bound_at[block.symbol(i)] = i;
            effects_[i + 1] =
                effects_[i] + (facts_.traits(block.value(i)).ordered || block.value(i)->op == Op::Assert);
        }
    }

    /// All that let `i` reads is bound before the place `at`.
    bool may_stand_at(std::size_t at, std::size_t i) {
        return std::all_of(reads_[i].begin(), reads_[i].end(), [&](std::size_t r) { return place_[r] < at; });
    }

    /// Nobody reads the results of the group between its place and let `i`.
    bool is_unread_before(const Group& g, std::size_t i) {
        return std::all_of(g.members.begin(), g.members.end(), [&](const Member& one) {
            const std::size_t* at = first_read_.find(one.name);
            return !at || *at > i;
        });
    }

    // ---- groups

    /// The loop that a let runs: it makes new builders, and nothing else touches them.
    static For loop_in(const Expr* value) {
        const Result result = value->as<Result>();
        const For loop = (result ? result.builder() : value)->as<For>();
        if (!loop) return {};
        const Expr* start = loop.builder();
        if (result) return start->op == Op::NewBuilder ? loop : For{};
        const bool all_new =
            start->op == Op::MakeStruct && std::all_of(start->args().begin(), start->args().end(),
                                                       [](const Expr* b) { return b->op == Op::NewBuilder; });
        return all_new ? loop : For{};
    }

    /// Vertical fusion will take care of it.
    bool has_one_consumer(const Symbol* s, For loop) {
        const Type* b = loop.node->type;
        return b->is_builder() && info(b->builder).lists_merges && uses_.count(s) == 1 &&
               is_datum_.contains(s);
    }

    void consider(Block block, std::size_t i) {
        const For loop = loop_in(block.value(i));
        if (!loop || does_nothing(loop) || loop.node->says(AttrKey::Fuse, false) ||
            has_one_consumer(block.symbol(i), loop))
            return;
        const Traits& t = facts_.traits(block.value(i));
        if (t.ordered || t.size > kMostNodes) return;
        for (const Expr* d : loop.data())
            if (!is_path(d)) return;
        const Member member = {i, block.symbol(i), loop, block.value(i)->loc};
        const bool on_lanes = can_vectorize(m_, facts_, loop.node);
        for (Group& g : groups_)
            if (joins(g, member, t, on_lanes)) return;
        groups_.push_back({i,
                           {member},
                           {loop.data().begin(), loop.data().end()},
                           0,
                           member.num_builders(),
                           t.size,
                           on_lanes,
                           may_be_told(member, t)});
    }

    /// Somebody could tell if it moved past an effect, or past an assert that says that it can't fail.
    bool may_be_told(const Member& one, const Traits& t) {
        return t.fails || t.calls || !facts_.lengths_agree(one.loop.data());
    }

    bool joins(Group& g, const Member& one, const Traits& t, bool on_lanes) {
        if (g.num_builders + one.num_builders() > kMostResults || g.size + t.size > kMostNodes) return false;
        if (g.on_lanes != on_lanes || !reads_alike(g, one.loop)) return false;
        const bool is_past_effect = effects_[g.at] != effects_[one.at], stays = may_be_told(one, t);
        if (!may_stand_at(g.at, one.at) || (stays && is_past_effect)) {
            if ((g.may_be_told && is_past_effect) || !is_unread_before(g, one.at)) return false;
            g.at = one.at;
        }
        if (!reads_all_of(g.data, one.loop.data())) {
            g.data.assign(one.loop.data().begin(), one.loop.data().end());
            g.widest = g.members.size();
        }
        g.members.push_back(one);
        g.num_builders += one.num_builders();
        g.size += t.size;
        g.may_be_told |= stays;
        for (const Member& any : g.members) place_[any.at] = g.at;
        return true;
    }

    std::size_t position(Args data, const Expr* datum) {
        std::size_t i = 0;
        while (i < data.size() && !same(facts_.root(data[i]), facts_.root(datum))) ++i;
        return i;
    }

    /// One of them reads all that the other reads.
    bool reads_alike(const Group& g, For loop) {
        return reads_all_of(g.data, loop.data()) || reads_all_of(loop.data(), g.data);
    }
    bool reads_all_of(Args data, Args others) {
        return std::all_of(others.begin(), others.end(),
                           [&](const Expr* d) { return position(data, d) < data.size(); });
    }

    // ---- the joint loop

    const Expr* rebuilt(Block block) {
        std::vector<const Group*> at(block.size(), nullptr);
        std::vector<bool> gone(block.size(), false);
        for (const Group& g : groups_) {
            at[g.at] = &g;
            for (const Member& one : g.members) gone[one.at] = true;
        }
        Lets lets;
        for (std::size_t i = 0; i < block.size(); ++i) {
            if (at[i]) join(*at[i], lets);
            if (!gone[i]) lets.emplace_back(block.symbol(i), block.value(i));
        }
        return weld::block(m_, lets, block.result(), block.node->loc);
    }

    void join(const Group& g, Lets& lets) {
        std::vector<const Expr*> builders;
        for (const Member& one : g.members) {
            if (one.is_joint())
                builders.insert(builders.end(), one.loop.builder()->args().begin(),
                                one.loop.builder()->args().end());
            else builders.push_back(one.loop.builder());
        }
        const Expr* start = make_struct(m_, builders);
        const Expr* all =
            loop(m_, g.data, start, joint_body(g, start->type), g.members[g.widest].loop.node->loc);
        for (std::size_t k = 0; k < g.widest; ++k) {
            const For zip = g.members[k].loop;
            if (const Expr* check = length_check(m_, facts_, zip.data(), zip.node->loc))
                lets.emplace_back(m_.symbol("equal", check->type), check);
        }
        const Symbol* bs = m_.symbol("bs", all->type);
        lets.emplace_back(bs, all);
        std::size_t first = 0;
        for (const Member& one : g.members) {
            const Expr* own = own_builders(one, bs, first);
            lets.emplace_back(one.name, one.is_joint() ? own : result(m_, own, one.loc));
            first += one.num_builders();
        }
    }

    /// The builders of `one` among all of them: those from `first` on.
    const Expr* own_builders(const Member& one, const Symbol* all, std::size_t first) {
        if (!one.is_joint()) return get_field(m_, var(m_, all), first);
        std::vector<const Expr*> own;
        for (std::size_t k = 0; k < one.num_builders(); ++k)
            own.push_back(get_field(m_, var(m_, all), first + k));
        return make_struct(m_, own);
    }

    const Expr* joint_body(const Group& g, const Type* builders) {
        std::vector<const Type*> types;
        for (const Expr* d : g.data) types.push_back(d->type->elem());
        const Symbol* b = m_.symbol("b", builders);
        const Symbol* i = m_.symbol("i", m_.types.i64());
        const Symbol* z = m_.symbol("x", types.size() == 1 ? types[0] : m_.types.structure(types));
        Lets lets;
        std::vector<const Expr*> results;
        for (const Member& member : g.members) {
            const For one = member.loop;
            lets.emplace_back(one.builder_param(), own_builders(member, b, results.size()));
            lets.emplace_back(one.index_param(), var(m_, i));
            lets.emplace_back(one.elem_param(), own_element(g, one, z));
            const Symbol* n = m_.symbol("n", one.node->type);
            lets.emplace_back(n, one.body().body());
            for (std::size_t k = 0; k < member.num_builders(); ++k)
                results.push_back(member.is_joint() ? get_field(m_, var(m_, n), k) : var(m_, n));
        }
        return lambda(m_, {b, i, z}, weld::block(m_, lets, make_struct(m_, results)));
    }

    const Expr* own_element(const Group& g, For one, const Symbol* z) {
        std::vector<const Expr*> parts;
        for (const Expr* d : one.data())
            parts.push_back(g.data.size() == 1 ? var(m_, z) : get_field(m_, var(m_, z), position(g.data, d)));
        return parts.size() == 1 ? parts[0] : make_struct(m_, parts);
    }

    Module& m_;
    Facts facts_;
    Uses uses_;
    Table<Symbol, bool> is_datum_;
    std::vector<Group> groups_;
    Table<Symbol, std::size_t> first_read_;
    std::vector<std::vector<std::size_t>> reads_;  // of each let: earlier lets
    std::vector<std::size_t> place_;               // where each let will stand
    std::vector<std::size_t> effects_;             // before each let
};

}  // namespace

const Expr* fuse_horizontal(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    HorizontalFuser fuser(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) { return fuser.fused(e); });
}

}  // namespace weld
