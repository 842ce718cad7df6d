// Long straight-line code, cut into functions of bounded size.
//
// LLVM takes more than linear time for a long function: 10,000 lets in one cost seconds. So a block with many
// nodes becomes functions `(task, frame) -> status`, each with a run of its lets; values that one run makes
// and another needs go through the frame. Code outside of loops runs once, so these functions are compiled
// the quick way; so are bodies of loops that are too large to be optimised. The elements of a long vector
// literal are computed and stored by such functions as well.
//
// What has loops in place, such as an iterate, is worth optimising, and is cut out of straight-line code that
// is not. The other way round, calls of many loops are cut out of a round of an iterate: they take LLVM long,
// and gain nothing by it.
#include <unordered_set>

#include "codegen/captures.h"
#include "codegen/emit.h"
#include "codegen/segments.h"

namespace weld::codegen {

/// Nodes that one function takes.
static constexpr std::size_t kSegment = 400;
/// Bytes of a frame within a loop.
static constexpr std::int64_t kMostInLoop = 256 << 10;

static std::size_t weight(const Constants& constants, const Expr* e, std::size_t limit) {
    if (constants.holds(e)) return 0;
    std::size_t n = 1;
    if (e->op == Op::For || e->op == Op::Sort) n += 20;  // what surrounds the function of the loop
    for (const Expr* a : e->args()) {
        if (n > limit) break;
        if (a->op != Op::Lambda) n += weight(constants, a, limit);
    }
    return n;
}

/// Has loops in place, which are worth optimising.
static bool has_iterate(const Expr* e) {
    if (e->op == Op::Iterate || e->op == Op::Sort) return true;
    for (const Expr* a : e->args())
        if (a->op != Op::Lambda && has_iterate(a)) return true;
    return false;
}

/// Calls loops, and has none in place.
static bool calls_loops(const Expr* e) {
    if (e->op == Op::Iterate || e->op == Op::Sort) return false;
    bool calls = e->op == Op::For;
    for (const Expr* a : e->args())
        if (a->op != Op::Lambda) {
            if (has_iterate(a)) return false;
            calls |= calls_loops(a);
        }
    return calls;
}

/// Straight-line code of so many nodes is not optimised along with what is.
static constexpr std::size_t kWorthApart = 60;

static bool is_mixed(const Constants& constants, Block b) {
    std::size_t straight = 0;
    for (const Expr* part : b.node->args())
        if (!has_iterate(part)) straight += weight(constants, part, kWorthApart);
    return straight >= kWorthApart && has_iterate(b.node);
}

bool is_quick(const Constants& constants, const Expr* body) {
    return !has_iterate(body) || (body->op == Op::Block && is_mixed(constants, body->as<Block>()));
}

namespace {

using Parts = std::span<const Expr* const>;
using Names = std::span<const Symbol* const>;

/// The lets of a block, or the elements of a vector, [from, to).
struct Segment {
    std::size_t from, to;
    bool quick;  ///< is not optimised
};

/// Where each value that crosses from one function to another lies in the frame.
struct Frame {
    std::unordered_map<const Symbol*, std::int64_t> offsets;
    std::int64_t bytes = 0;

    void add(const Symbol* s) {
        if (!offsets.try_emplace(s, 0).second) return;
        const std::int64_t align = std::max<std::int64_t>(align_of(s->type), 1);
        bytes = (bytes + align - 1) / align * align;
        offsets[s] = bytes;
        bytes += size_of(s->type);
    }
};

}  // namespace

/// A little straight-line code between parts that are optimised stays with them. `in_rounds`: calls of loops
/// alone are quick.
static std::vector<bool> quick_parts(const Constants& constants, Parts parts, bool in_rounds) {
    std::vector<bool> quick;
    for (const Expr* part : parts) quick.push_back(in_rounds ? calls_loops(part) : !has_iterate(part));
    /// Runs of parts of the one kind with little in them, beside others, become of the other kind.
    const auto join = [&](bool kind, const auto& may_join) {
        for (std::size_t from = 0, to; from < parts.size(); from = to) {
            std::size_t n = 0;
            bool may = quick[from] == kind;
            for (to = from; to < parts.size() && quick[to] == quick[from]; ++to) {
                n += weight(constants, parts[to], kWorthApart);
                may = may && may_join(parts[to]);
            }
            const bool alone = from == 0 && to == parts.size();
            if (may && !alone && n < kWorthApart)
                std::fill(quick.begin() + std::ptrdiff_t(from), quick.begin() + std::ptrdiff_t(to), !kind);
        }
    };
    if (in_rounds) join(false, [](const Expr* part) { return !has_iterate(part); });
    join(true, [](const Expr*) { return true; });
    return quick;
}

static std::vector<Segment> cut(const Constants& constants, Parts parts, bool in_rounds) {
    const std::vector<bool> quick = quick_parts(constants, parts, in_rounds);
    std::vector<Segment> all;
    std::size_t from = 0, n = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        n += weight(constants, parts[i], kSegment);
        const bool ends = i + 1 == parts.size() || quick[i + 1] != quick[i];
        if (n < kSegment && !ends) continue;
        all.push_back({from, i + 1, quick[i]});
        from = i + 1;
        n = 0;
    }
    return all;
}

/// The symbols that the parts of `s` read but do not bind.
static std::vector<const Symbol*> inputs(const Unit& unit, Parts parts, Names names, Segment s) {
    std::unordered_set<const Symbol*> bound, seen;
    std::vector<const Symbol*> read;
    for (std::size_t i = s.from; i < s.to; ++i) {
        for (const Symbol* x : captures(unit, parts[i]))
            if (!bound.count(x) && seen.insert(x).second) read.push_back(x);
        if (!names.empty()) bound.insert(names[i]);
    }
    return read;
}

/// The present place is in a round of an iterate, and is optimised; loops are called from there.
static bool is_in_rounds(const Emitter& at) {
    return at.loop_depth > 0 && !at.in_for && at.unit.once != &at.unit && at.lanes.lanes == 0;
}

namespace {

/// Parts of straight-line code, cut into segments, and the frame that their functions share.
class Cutter {
  public:
    /// `names`: what the parts are bound to, if they are lets; `last`: what is read after all of them.
    Cutter(Emitter& e, Parts parts, Names names, const std::vector<const Symbol*>& last)
        : e_(e), parts_(parts), names_(names), segments_(cut(e.unit.constants, parts, is_in_rounds(e))) {
        for (const Segment& s : segments_) {
            needed_.push_back(inputs(e.unit, parts, names, s));
            for (const Symbol* x : needed_.back()) frame_.add(x);
        }
        for (const Symbol* x : last) frame_.add(x);
    }

    /// A frame too large for the stack comes from the run's memory; in a loop it would in each round.
    bool fits() const { return e_.loop_depth == 0 || frame_.bytes <= kMostInLoop; }

    /// Calls a function `(task, frame, data) -> status` for each segment; `body` fills it.
    void emit(llvm::Value* data, Loc loc,
              const std::function<void(Emitter& e, Segment s, llvm::Value* data)>& body) {
        const bool on_stack = e_.loop_depth > 0 || frame_.bytes <= (16 << 10);
        room_ = on_stack ? e_.slot(frame_.bytes, 64) : e_.alloc(e_.c64(frame_.bytes), 1, loc);
        for (const auto& read : needed_)
            for (const Symbol* x : read)
                if (auto at = e_.names.find(x); at != e_.names.end()) e_.store(x->type, at->second, place(x));
        for (std::size_t k = 0; k < segments_.size(); ++k) {
            llvm::Function* f = function(k, body);
            e_.leave_if(e_.ir.CreateIsNotNull(e_.ir.CreateCall(e_.unit.seen(f), {e_.task, room_, data})));
        }
    }

    Leaves load(const Symbol* x) { return e_.load(x->type, place(x)); }

  private:
    llvm::Value* place(const Symbol* x) { return e_.address(room_, frame_.offsets.at(x)); }

    llvm::Function* function(std::size_t k,
                             const std::function<void(Emitter& e, Segment s, llvm::Value* data)>& body) {
        const Segment s = segments_[k];
        Unit& home = s.quick ? *e_.unit.loops.once : e_.unit.loops;
        llvm::Function* f = home.function("segment_", {home.ptr, home.ptr, home.ptr});
        Emitter inside(home, f, f->getArg(0));
        inside.loop_depth = e_.loop_depth;
        inside.in_for = e_.in_for;
        const auto place = [&](const Symbol* x) {
            return inside.address(f->getArg(1), frame_.offsets.at(x));
        };
        for (const Symbol* x : needed_[k]) inside.names[x] = inside.load(x->type, place(x));
        body(inside, s, f->getArg(2));
        for (std::size_t i = s.from; i < s.to && !names_.empty(); ++i)
            if (const Symbol* x = names_[i]; frame_.offsets.count(x))
                inside.store(x->type, inside.names[x], place(x));
        inside.ir.CreateRet(inside.c32(0));
        return f;
    }

    Emitter& e_;
    Parts parts_;
    Names names_;
    std::vector<Segment> segments_;
    std::vector<std::vector<const Symbol*>> needed_;  // by each segment
    Frame frame_;
    llvm::Value* room_ = nullptr;
};

}  // namespace

static bool may_be_cut(const Emitter& at) {
    const bool is_optimised = at.loop_depth > 0 && at.unit.once != &at.unit;
    return !is_optimised && at.lanes.lanes == 0;
}

/// `e` is too long for one function, and may be cut at the present place.
static bool is_cut(const Emitter& at, const Expr* e) {
    return may_be_cut(at) && weight(at.unit.constants, e, 2 * kSegment) >= 2 * kSegment;
}

static bool is_cut(const Emitter& at, Block b) {
    if (is_in_rounds(at)) {
        std::size_t calls = 0;
        for (const Expr* value : b.values())
            if (calls_loops(value)) calls += weight(at.unit.constants, value, kSegment);
        return calls >= kSegment;
    }
    if (b.size() >= 8 && is_cut(at, b.node)) return true;
    const bool is_quick = at.unit.once == &at.unit;
    return is_quick && may_be_cut(at) && is_mixed(at.unit.constants, b);
}

bool Emitter::emit_in_segments(Block b, Leaves* result) {
    if (!is_cut(*this, b)) return false;
    // a result that is worth optimising is one of the parts
    const Symbol whole{.name = "result", .type = b.node->type, .id = 0};
    std::vector<const Expr*> parts(b.values().begin(), b.values().end());
    std::vector<const Symbol*> bound(b.symbols().begin(), b.symbols().end()),
        last = captures(unit, b.result());
    const bool with_result = result && has_iterate(b.result());
    if (with_result) {
        parts.push_back(b.result());
        bound.push_back(&whole);
        last = {&whole};
    }
    Cutter cutter(*this, parts, bound, last);
    if (!cutter.fits()) return false;
    cutter.emit(llvm::ConstantPointerNull::get(unit.ptr), b.node->loc,
                [&](Emitter& e, Segment s, llvm::Value*) {
                    e.emit_lets(b, s.from, std::min(s.to, b.size()));
                    if (s.to > b.size()) e.names[&whole] = e.emit(b.result());
                });
    for (const Symbol* x : last)
        if (!names.count(x)) names[x] = cutter.load(x);
    if (result) *result = with_result ? names[&whole] : emit(b.result());
    return true;
}

llvm::Value* Emitter::vector_in_segments(MakeVec v) {
    if (v.elems().size() < 8 || !is_cut(*this, v.node)) return nullptr;
    Cutter cutter(*this, v.elems(), {}, {});
    if (!cutter.fits()) return nullptr;
    const Type* elem = v.node->type->elem();
    const std::int64_t size = size_of(elem);
    llvm::Value* data = alloc(c64(std::int64_t(v.elems().size())), size, v.node->loc);
    cutter.emit(data, v.node->loc, [&](Emitter& e, Segment s, llvm::Value* to) {
        for (std::size_t i = s.from; i < s.to; ++i)
            e.store(elem, e.emit(v.elems()[i]), e.address(to, std::int64_t(i) * size));
    });
    return data;
}

}  // namespace weld::codegen
