// Long straight-line code, cut into functions of bounded size.
//
// LLVM takes more than linear time for a long function: 10,000 lets in one cost seconds. So a block with many
// nodes becomes functions `(task, frame) -> status`, each with a run of its lets; values that one run makes
// and another needs go through the frame. Code outside of loops runs once, so these functions are compiled
// the quick way; so are bodies of loops that are too large to be optimised.
#include <unordered_set>

#include "codegen/emit.h"
#include "codegen/loops.h"

namespace weld::codegen {

/// Nodes that one function takes.
static constexpr std::size_t kSegment = 400;
/// Bytes of a frame within a loop.
static constexpr std::int64_t kMostInLoop = 256 << 10;

static std::size_t weight(const Expr* e, std::size_t limit) {
    std::size_t n = 1;
    if (e->op == Op::For || e->op == Op::Sort) n += 20;  // what surrounds the function of the loop
    if (e->op == Op::MakeVec) return n;                  // mostly constant data
    for (const Expr* a : e->args()) {
        if (n > limit) break;
        if (a->op != Op::Lambda) n += weight(a, limit);
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

bool runs_once(const Expr* body) { return !has_iterate(body); }

namespace {

/// The lets [from, to) of a block.
struct Segment {
    std::size_t from, to;
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

static std::vector<Segment> cut(Block b) {
    std::vector<Segment> all;
    std::size_t from = 0, n = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        n += weight(b.value(i), kSegment);
        if (n < kSegment && i + 1 < b.size()) continue;
        all.push_back({from, i + 1});
        from = i + 1;
        n = 0;
    }
    return all;
}

/// The symbols that the lets of `s` read but do not bind.
static std::vector<const Symbol*> inputs(Block b, Segment s) {
    std::unordered_set<const Symbol*> bound, seen;
    std::vector<const Symbol*> read;
    for (std::size_t i = s.from; i < s.to; ++i) {
        for (const Symbol* x : free_symbols(b.value(i)))
            if (!bound.count(x) && seen.insert(x).second) read.push_back(x);
        bound.insert(b.symbol(i));
    }
    return read;
}

bool Emitter::emit_in_segments(Block b) {
    const bool in_loop = loop_depth > 0;
    if ((in_loop && unit.once != &unit) || lanes.lanes > 0 || b.size() < 8 ||
        weight(b.node, 2 * kSegment) < 2 * kSegment)
        return false;
    const std::vector<Segment> segments = cut(b);
    std::vector<std::vector<const Symbol*>> needed;
    Frame frame;
    for (const Segment& s : segments) {
        needed.push_back(inputs(b, s));
        for (const Symbol* x : needed.back()) frame.add(x);
    }
    const std::vector<const Symbol*> last = free_symbols(b.result());
    for (const Symbol* x : last) frame.add(x);

    // A frame too large for the stack comes from the run's memory; in a loop it would in each round.
    if (in_loop && frame.bytes > kMostInLoop) return false;
    llvm::Value* room = in_loop || frame.bytes <= (16 << 10) ? slot(frame.bytes, 64)
                                                             : alloc(c64(frame.bytes), 1, b.node->loc);
    for (const auto& read : needed)
        for (const Symbol* x : read)
            if (auto at = names.find(x); at != names.end())
                store(x->type, at->second, address(room, frame.offsets[x]));
    const DeadAfter dead = in_loop ? DeadAfter() : dead_after(b);
    for (std::size_t k = 0; k < segments.size(); ++k) {
        bool once = true;
        for (std::size_t i = segments[k].from; i < segments[k].to; ++i) once &= runs_once(b.value(i));
        Unit& home = once ? unit : unit.loops;
        llvm::Function* f = home.function("segment_", {unit.ptr, unit.ptr});
        Emitter e(home, f, f->getArg(0));
        e.loop_depth = loop_depth;
        const auto place = [&](const Symbol* x) { return e.address(f->getArg(1), frame.offsets.at(x)); };
        for (const Symbol* x : needed[k]) e.names[x] = e.load(x->type, place(x));
        e.emit_lets(b, segments[k].from, segments[k].to, dead);
        for (std::size_t i = segments[k].from; i < segments[k].to; ++i)
            if (const Symbol* x = b.symbol(i); frame.offsets.count(x)) e.store(x->type, e.names[x], place(x));
        e.ir.CreateRet(e.c32(0));
        leave_if(ir.CreateIsNotNull(ir.CreateCall(unit.seen(f), {task, room})));
    }
    for (const Symbol* x : last)
        if (!names.count(x)) names[x] = load(x->type, address(room, frame.offsets[x]));
    return true;
}

}  // namespace weld::codegen
