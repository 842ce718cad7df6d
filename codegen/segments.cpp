// Straight-line code that is cut into segments (weldir/passes/segments.cpp).
//
// Each segment is a function `(task, frame) -> status` with a run of the lets of a block; values that one run
// makes and another needs go through the frame. Elements of a vector literal are stored by such functions.
#include <algorithm>
#include <unordered_set>

#include "codegen/captures.h"
#include "codegen/emit.h"
#include "codegen/segments.h"
#include "weldir/support/round_up.h"

namespace weld::codegen {

/// Bytes of a frame within a loop.
static constexpr std::int64_t kMostInLoop = 256 << 10;

static bool is_marked(const Expr* e) { return e->annotation(AttrKey::Segment); }

Optimised optimised(Lambda function) {
    const Expr* body = function.body();
    const Annotation* says =
        (body->op == Op::Block ? body->as<Block>().result() : body)->annotation(AttrKey::Function);
    if (!says) return Optimised::Never;
    return says->text == "later" ? Optimised::Later : Optimised::AtOnce;
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
struct FrameLayout {
    std::unordered_map<const Symbol*, std::int64_t> offsets;
    std::int64_t bytes = 0;

    void add(const Symbol* s) {
        if (!offsets.try_emplace(s, 0).second) return;
        const std::int64_t align = std::max<std::int64_t>(align_of(s->type), 1);
        bytes = round_up(bytes, align);
        offsets[s] = bytes;
        bytes += size_of(s->type);
    }
};

}  // namespace

/// Code before the first mark goes with it.
static std::vector<Segment> cut(Parts parts) {
    std::vector<Segment> all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!is_marked(parts[i])) continue;
        const bool quick = parts[i]->annotation(AttrKey::Segment)->text == "quick";
        if (!all.empty()) all.back().to = i;
        all.push_back({all.empty() ? 0 : i, parts.size(), quick});
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

namespace {

/// Parts of straight-line code, cut into segments, and the frame that their functions share.
class Cutter {
  public:
    /// `names`: what the parts are bound to, if they are lets; `last`: what is read after all of them.
    Cutter(Emitter& e, Parts parts, Names names, const std::vector<const Symbol*>& last)
        : e_(e), parts_(parts), names_(names), segments_(cut(parts)) {
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
    FrameLayout frame_;
    llvm::Value* room_ = nullptr;
};

}  // namespace

bool Emitter::emit_in_segments(Block b, Leaves* result) {
    if (std::ranges::none_of(b.node->args(), is_marked)) return false;
    const Symbol whole{.name = "result", .type = b.node->type, .id = 0};
    std::vector<const Expr*> parts(b.values().begin(), b.values().end());
    std::vector<const Symbol*> bound(b.symbols().begin(), b.symbols().end()),
        last = captures(unit, b.result());
    const bool with_result = result && is_marked(b.result());
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
    if (std::ranges::none_of(v.elems(), is_marked)) return nullptr;
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
