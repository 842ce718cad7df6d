// Prefetching: memory is asked for before it is needed, where the program knows early what it will need.
//
//     result(for(xs, appender[f64], |b, i, x| merge(b, lookup(d, x % 1000L))))
// becomes
//     result(for(xs, appender[f64], |b, i, x|
//       merge(b, @(prefetch:16, far:131072) lookup(d, x % 1000L))))
//
// - Look-ups in dictionaries and merges into tables and vectors, by keys that follow cheaply from the
//   element: the key of a coming round is computed early, so that many cache misses pass at the same time.
//   Not in vectors in even steps.
//   Keys with strings are hashed early only, and what they are compared with is asked for as well.
//   (Tables that the runtime cuts into partitions stay in the cache.) As long as a table has fewer slots, or
//   a vector fewer elements, than `far` says, it is in the cache, and nothing is asked for.
// - Rows of a matrix by numbers that are elements, `iter(m, x * c, ...)` and `slice(m, x * c, ...)` of a loop
//   inside: their beginnings, `@(prefetch:8, far:65536)` of the iterator or the slice.
// - Loops that look into vectors of vectors: the beginnings of rows, `@(prefetch:8)` of the loop.
// - Loops over lanes, and those around which there is no other: what comes next, `@(stream:3072)` of the loop.
//   Many processors do that by themselves, but not beyond the end of a page. Not what each round of a loop
//   around reads again, and so is in the cache. So do look-ups of lanes that lie close together, of which one
//   asks for all that read the same lines.
// - The last of several loops over the same block of rows (distribute), which finds them in the cache: what comes blocks later,
//   `@(meanwhile:65536)` of the loop over lanes, since memory would rest while blocks are gone over again.
// - Beside look-ups in and merges into vectors at places anywhere, no processor does it well: `@(scattered:1024)` of
//   these tells how many elements the vector has then. Small bodies ask once in `@(every:4)` rounds.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/ir/keys.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::string_view kRoundsAhead = "16", kRowsAhead = "8", kBytesAhead = "3072", kRoundsOnce = "4",
                           kBytesMeanwhile = "65536";
constexpr std::uint32_t kLargestRepeated = 32;  // nodes of a body that is there for several rounds
constexpr std::int64_t kFarSlots = 1 << 17, kFarBytes = 1 << 22;  // of a table, of a vector
constexpr std::int64_t kFarSlotsOfStrings = 1 << 16;
constexpr std::size_t kLargestKey = 24;  // nodes
constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kScatteredBytes = 1 << 13;  // of a vector: a quarter of the first cache

/// From which size on what `e` looks up in or merges into is asked for early.
std::int64_t far_from(const Expr* e) {
    if (e->op == Op::Merge && info(e->type).indexed)
        return kFarBytes / std::max<std::int64_t>(1, size_of(e->type->args.back()));
    if (e->op == Op::Iter || e->op == Op::Slice)
        return kFarBytes / std::max<std::int64_t>(1, size_of(e->arg(0)->type->elem()));
    const Type* key = e->op == Op::Merge ? e->as<Merge>().value()->type->args[0] : e->arg(1)->type;
    return key->holds_pointer ? kFarSlotsOfStrings : kFarSlots;
}

/// The body of one loop, down to the loops in it.
class Body {
  public:
    explicit Body(For loop) : loop_(loop) { learn(loop.body().body()); }

    /// `e` may be another one in each round.
    bool varies(const Expr* e) const {
        return std::ranges::any_of(free_symbols(e), [&](const Symbol* s) {
            return bound_.contains(s) ||
                   std::ranges::find(loop_.body().params(), s) != loop_.body().params().end();
        });
    }

    /// `e` is a look-up or a merge whose key is known early.
    bool knows_key_of(const Expr* e) const {
        switch (e->op) {
            case Op::Lookup:
            case Op::OptLookup:
            case Op::KeyExists: {
                const Expr* dict = e->arg(0);
                if (e->num_args > 2) return false;  // bits are in the cache
                if (!dict->type->is_dict() || dict->op != Op::Var) return false;
                const Symbol* s = dict->attr.symbol;
                return !bound_.contains(s) && s != loop_.elem_param() &&
                       is_early(e->arg(1), dict->type->key());
            }
            case Op::Merge: {
                const Merge g = e->as<Merge>();
                const Type* taken = g.value()->type;
                if (!info(e->type).indexed && !info(e->type).probes) return false;
                if (g.mask() || taken->holds_simd) return false;
                if (info(e->type).probes && is_partitioned(taken->args[0])) return false;
                const Expr* key = key_of(g);
                if (info(e->type).indexed && is_linear(key) && !reads_element(key)) return false;
                return is_early(key, taken->args[0]) && is_from_loop(g.builder());
            }
            case Op::Slice: return is_row(e->arg(0), e->arg(1));
            case Op::Iter: {
                const Iter it = e->as<Iter>();
                const IterShape s = it.shape();
                return s.bounded && !s.range && !s.nd && is_int(it.stride(), 1) &&
                       is_row(it.data(), it.start());
            }
            default: return false;
        }
    }

    /// `e` looks up in, or merges into, one vector in all rounds, at places that lie anywhere.
    bool is_scattered(const Expr* e) const {
        const auto is_anywhere = [&](const Expr* place) { return !is_linear(place) || reads_element(place); };
        switch (e->op) {
            case Op::Lookup:
                return e->arg(0)->type->is_vec() && is_fixed(e->arg(0)) && is_anywhere(e->arg(1));
            case Op::LookupLanes:  // what a mask leaves out would be asked for as well
                return !e->as<LookupLanes>().mask() && is_fixed(e->arg(0)) && !e->annotation(AttrKey::Apart);
            case Op::Merge: {
                const Merge g = e->as<Merge>();
                return info(e->type).indexed && is_from_loop(g.builder()) && is_anywhere(key_of(g));
            }
            default: return false;
        }
    }

  private:
    bool is_fixed(const Expr* vec) const { return is_path(vec) && !varies(vec); }

    static const Expr* key_of(Merge g) {
        return g.value()->op == Op::MakeStruct ? g.value()->arg(0) : g.value();
    }

    void learn(const Expr* e) {
        if (e->op == Op::For || e->op == Op::Lambda) return;
        if (const Block b = e->as<Block>())
            for (std::size_t i = 0; i < b.size(); ++i) bound_[b.symbol(i)] = b.value(i);
        for (const Expr* a : e->args()) learn(a);
    }

    /// Merges by `key` go through memory in even steps, if no element is read for it: processors see that.
    bool is_linear(const Expr* key) const {
        switch (key->op) {
            case Op::Literal: return true;
            case Op::Var: {
                const auto at = bound_.find(key->attr.symbol);
                return at == bound_.end() || is_linear(at->second);
            }
            case Op::GetField: return key->arg(0)->op == Op::Var;
            case Op::Add:
            case Op::Sub: return is_linear(key->arg(0)) && is_linear(key->arg(1));
            case Op::Mul:
                return is_linear(key->arg(0)) && is_linear(key->arg(1)) &&
                       !(varies(key->arg(0)) && varies(key->arg(1)));
            default: return false;
        }
    }

    /// A row of `matrix` begins at `start`, for which an element is multiplied.
    bool is_row(const Expr* matrix, const Expr* start) const {
        if (matrix->op != Op::Var || varies(matrix)) return false;
        while (start->op == Op::Var && bound_.contains(start->attr.symbol))
            start = bound_.at(start->attr.symbol);
        return start->op == Op::Mul && reads_element(start) && is_early(start, start->type);
    }

    /// `e` reads what stands in a vector that the loop goes over.
    bool reads_element(const Expr* e) const {
        const auto is_vector = [](const Expr* datum) {
            const Iter it = datum->as<Iter>();
            return !it || !it.shape().range;
        };
        const bool zips = loop_.data().size() > 1;
        if (zips && e->op == Op::GetField && e->arg(0)->op == Op::Var &&
            e->arg(0)->attr.symbol == loop_.elem_param())
            return is_vector(loop_.data()[e->attr.index]);
        if (e->op == Op::Var) {
            if (e->attr.symbol == loop_.elem_param()) return !zips && is_vector(loop_.data()[0]);
            const auto at = bound_.find(e->attr.symbol);
            return at != bound_.end() && reads_element(at->second);
        }
        return std::ranges::any_of(e->args(), [&](const Expr* a) { return reads_element(a); });
    }

    bool is_early(const Expr* key, const Type* type) const {
        std::vector<const Symbol*> read;
        return is_sought_inline(type) && follows(key, &read);
    }

    /// `e`, with the lets that it reads, follows from the element in a few operations.
    bool follows(const Expr* e, std::vector<const Symbol*>* read) const {
        if (size_of_tree(e) + 4 * read->size() > kLargestKey || !is_straight_line(e)) return false;
        for (const Symbol* s : free_symbols(e)) {
            const auto at = bound_.find(s);
            if (s == loop_.builder_param()) return false;
            if (at == bound_.end() || std::ranges::find(*read, s) != read->end()) continue;
            if (!follows(at->second, read)) return false;
            read->push_back(s);
        }
        return true;
    }

    /// `e` is the loop's builder, or one of those in it.
    bool is_from_loop(const Expr* e) const {
        switch (e->op) {
            case Op::Var: {
                if (e->attr.symbol == loop_.builder_param()) return true;
                const auto at = bound_.find(e->attr.symbol);
                return at != bound_.end() && is_from_loop(at->second);
            }
            case Op::Merge:
            case Op::GetField: return is_from_loop(e->arg(0));
            case Op::If: return is_from_loop(e->as<If>().otherwise());
            default: return false;
        }
    }

    For loop_;
    std::unordered_map<const Symbol*, const Expr*> bound_;
};

class Prefetcher {
  public:
    explicit Prefetcher(Module& m) : m_(m) {}

    /// What is around an expression.
    struct Around {
        const Body* body = nullptr;                   ///< of the loop, if the way from there is plain
        const Body* rounds = nullptr;                 ///< of the loop, whatever the way, but for an `iterate`
        int depth = 0;                                ///< loops
        std::vector<const Expr*>* streams = nullptr;  ///< look-ups of lanes in this loop that ask
        bool again = false;  ///< another loop has gone over the same rows just before
    };

    const Expr* marked(const Expr* e, Around around) {
        if (const For loop = e->as<For>()) return marked_loop(loop, around);
        const Body* body = around.body;
        if (e->op == Op::Lambda) around.body = nullptr;
        if (e->op == Op::Iterate) around = {around.body, nullptr, around.depth + 1, nullptr};
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) { return marked(a, around); });
        if (around.rounds && around.rounds->is_scattered(e)) now = scattered(now);
        if (around.streams && begins_stream(e, *around.streams))
            return annotate(m_, now, AttrKey::Stream, kBytesAhead);
        const bool early = body && !e->annotation(AttrKey::Prefetch) && body->knows_key_of(e);
        if (!early) return now;
        const bool is_row = e->op == Op::Iter || e->op == Op::Slice;
        now = annotate(m_, now, AttrKey::Far, std::to_string(far_from(e)));
        return annotate(m_, now, AttrKey::Prefetch, is_row ? kRowsAhead : kRoundsAhead);
    }

  private:
    const Expr* marked_loop(For loop, Around around) {
        const Expr* e = loop.node;
        const Iter first = loop.data()[0]->as<Iter>();
        const bool is_simd = first && first.shape().kind == IterKind::Simd;
        const Body own(loop);
        std::vector<const Expr*> streams;
        const Around inside = {is_simd || std::ranges::any_of(loop.data(), is_nd) ? nullptr : &own, &own,
                               around.depth + 1, is_simd ? &streams : nullptr, around.again};
        const bool is_of_blocks = e->says(AttrKey::Blocks, true);
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) {
            if (a->op != Op::Lambda) return marked(a, around);
            return is_of_blocks ? marked_blocks(a, inside) : marked_body(a, inside);
        });
        if (!is_simd && around.depth == 0 && std::ranges::any_of(loop.data(), yields_rows) &&
            looks_into_rows(loop.body().body(), loop.elem_param()))
            now = annotated(now, AttrKey::Prefetch, kRowsAhead);
        const auto is_new = [&](const Expr* datum) {
            return is_stream(datum) && (!around.rounds || around.rounds->varies(datum));
        };
        const bool is_rest = first && first.shape().kind == IterKind::Fringe;
        const bool is_long = is_simd || (around.depth == 0 && (!is_rest || goes_on(loop)));
        if (!is_long || std::ranges::none_of(loop.data(), is_new)) return now;
        now = annotated(now, AttrKey::Stream, kBytesAhead);
        if (is_simd && around.again) now = annotated(now, AttrKey::Meanwhile, kBytesMeanwhile);
        const bool is_small = size_of_tree(loop.body().body()) <= kLargestRepeated;
        if (is_rest || !is_small || !scatters(now->as<For>().body().body())) return now;
        return annotated(now, AttrKey::Every, is_simd ? "1" : kRoundsOnce);
    }

    const Expr* marked_body(const Expr* lambda, Around around) {
        return map_args(m_, lambda, [&](const Expr* a, std::size_t) { return marked(a, around); });
    }

    /// The same of a loop over blocks of rows: the last of its loops finds them in the cache if one before has gone along them.
    const Expr* marked_blocks(const Expr* lambda, const Around& around) {
        return map_args(m_, lambda, [&](const Expr* body, std::size_t) {
            if (body->op != Op::Block) return marked(body, around);
            const auto parts = body->args();
            const auto first = std::ranges::find_if(parts, goes_along_rows);
            std::size_t last = parts.size();
            while (last > 0 && !has_loop(parts[last - 1])) --last;
            return map_args(m_, body, [&](const Expr* a, std::size_t k) {
                Around here = around;
                here.again = k + 1 == last && first < parts.begin() + std::ptrdiff_t(k);
                return marked(a, here);
            });
        });
    }

    /// A loop in a loop.
    static bool goes_along_rows(const Expr* e) {
        const For loop = e->as<For>();
        return (loop && has_loop(loop.body().body())) || std::ranges::any_of(e->args(), goes_along_rows);
    }

    const Expr* scattered(const Expr* e) {
        const Type* elem = e->op == Op::Merge ? e->type->args.back() : e->arg(0)->type->elem();
        const std::int64_t most = kScatteredBytes / std::max<std::int64_t>(1, size_of(elem));
        return annotate(m_, e, AttrKey::Scattered, std::to_string(std::max<std::int64_t>(1, most)));
    }

    const Expr* annotated(const Expr* e, AttrKey key, std::string_view text) {
        return e->annotation(key) ? e : annotate(m_, e, key, text);
    }

    /// `place` without what is added that is the same in all lanes and all rounds, and that.
    static std::pair<const Expr*, std::int64_t> base_and_offset(const Expr* place) {
        if (place->op != Op::Add || place->arg(1)->op != Op::Broadcast) return {place, 0};
        const Literal by = place->arg(1)->arg(0)->as<Literal>();
        return by ? std::pair(place->arg(0), by.as_int()) : std::pair(place, std::int64_t(0));
    }

    /// Lanes that lie close together, and not in the lines of any of `known`, to which it is added.
    static bool begins_stream(const Expr* e, std::vector<const Expr*>& known) {
        if (e->op != Op::LookupLanes || !e->annotation(AttrKey::Apart)) return false;
        const auto [base, offset] = base_and_offset(e->as<LookupLanes>().indices());
        for (const Expr* other : known) {
            const auto [its_base, its_offset] = base_and_offset(other->as<LookupLanes>().indices());
            const __int128 bytes = (__int128(offset) - its_offset) * size_of(e->type->scalar);
            const bool is_near = -kLineBytes < bytes && bytes < kLineBytes;
            if (same(e->arg(0), other->arg(0)) && same(base, its_base) && is_near) return false;
        }
        known.push_back(e);
        return true;
    }

    static bool scatters(const Expr* e) {
        return e->annotation(AttrKey::Scattered) ||
               (e->op != Op::Lambda && std::ranges::any_of(e->args(), scatters));
    }
    static bool is_nd(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return it && it.shape().nd;
    }
    /// It does all that a loop over lanes leaves when there are more keys than that holds.
    static bool goes_on(For rest) {
        const Expr* lanes = rest.builder();
        return lanes->op == Op::For && lanes->annotation(AttrKey::Groups);
    }
    /// Somewhere in `e` more than the length of a row in `elem` is asked for, or where it is.
    static bool looks_into_rows(const Expr* e, const Symbol* elem) {
        const auto is_row = [&](const Expr* a) {
            return a->type->is_vec() && is_path(a) && base_of(a) == elem;
        };
        if (is_row(e)) return true;
        return std::ranges::any_of(e->args(), [&](const Expr* a) {
            const bool passes_by = e->op == Op::Len || (e->op == Op::Merge && info(e->type).lists_merges);
            return !(passes_by && is_row(a)) && looks_into_rows(a, elem);
        });
    }
    static bool yields_rows(const Expr* datum) { return datum->type->elem()->is_vec() && !is_nd(datum); }
    /// One element after the other.
    static bool is_stream(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        if (!it) return true;
        const IterShape s = it.shape();
        return !s.range && !s.nd && (!s.bounded || is_int(it.stride(), 1));
    }

    Module& m_;
};

}  // namespace

const Expr* prefetch(Module& m, const Expr* lambda) { return Prefetcher(m).marked(lambda, {}); }

}  // namespace weld
