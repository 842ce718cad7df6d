// Loops: [0, n) is cut into chunks, each runs the body on a state of its own, and the states become one.
//
// Chunks depend on n and the loop's cost, and on how the builders of its state may be cut
// (builders/pieces.h): so does every result. A loop with little to do is one chunk and is called at once. A
// serial loop goes through the same chunks, but hands one state on where that gives the same bits.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/builders/pieces.h"
#include "runtime/builders/placing.h"
#include "runtime/describe.h"
#include "runtime/entry.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

// ps; less is not worth waking a thread for. Loops that are done in place have less (kShortWork in weigh.cpp): quick code,
// which calls all of them, gives the same bits.
constexpr std::int64_t kSerialWork = 50'000'001;
constexpr std::int64_t kChunkWork = 50'000'000;
constexpr std::int64_t kMostChunks = 1024;
// Of chunks that make pieces of vectors alone: these stay in a cache until they are in their places.
constexpr std::int64_t kPieceWork = 10'000'000;
constexpr std::int64_t kRounds = 64;  // a chunk has a multiple of it, so that each writes to its own lines,
constexpr std::int64_t kEnoughChunks = 16;   // or of less where it would leave fewer chunks than this
constexpr std::int64_t kFirstPart = 4;       // twice that part of a chunk is enough to see how to go on
constexpr std::int64_t kLightWork = 20'000;  // ps; of rounds that do little but merge
constexpr std::int64_t kRound = 64;          // elements that emitted code makes room for at once
constexpr std::int64_t kGarbage = 64 << 10;  // bytes that are worth a collection at the end of a chunk

/// Calls f(builder type, offset) for the builders in a state.
template <class F>
void each_builder(const WeldType* state, std::int64_t offset, const F& f) {
    if (is_builder(state)) return f(state, offset);
    for (std::uint32_t i = 0; state->kind == kWeldStruct && i < state->num_args; ++i)
        each_builder(state->args[i], offset + state->offsets[i], f);
}

std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/// Makes room in the appenders for what the loop is known to append.
std::int32_t set_aside(Task* task, const WeldLoop* loop, char* state, std::int64_t n) {
    const std::int64_t* appends = loop->appends;
    std::int32_t status = kOk;
    each_builder(loop->state, 0, [&](const WeldType* type, std::int64_t offset) {
        if (!keeps_merges(type)) return;
        const std::int64_t each = *appends++;
        if (each < 0 || status) return;
        status = weld_rt_appender_grow(task, kept_merges(type, state + offset), times(n, each),
                                       type->args[0]->size, loop->loc);
    });
    return status;
}

// ---- quick and optimised code

constexpr std::int64_t kWorthWaiting = 1'000'000'000;  // ps; for the optimised code before anything is done
constexpr std::int64_t kCallWork = 100'000;            // of a function, but for its loops
constexpr int kWait = 2, kMostWaits = 500;             // ms, and how often

/// The best code that there is now.
WeldLoopFn body_of(const Task* task, const WeldLoop* loop) {
    const WeldTiers* tiers = task->run->tiers;
    if (!tiers || loop->number < 0) return loop->body;
    const WeldLoopFn optimised = tiers->optimised[loop->number].load(std::memory_order_acquire);
    return optimised ? optimised : loop->body;
}

/// A loop with so much to do, or that was run so often, that it should be optimised. A program that runs again will
/// run on: that waits for the optimised code.
void consider_optimised(Task* task, const WeldLoop* loop, std::int64_t work) {
    WeldTiers* tiers = task->run->tiers;
    const std::int64_t number = loop->number;
    if (number < 0 || tiers->optimised[number].load(std::memory_order_relaxed)) return;
    std::atomic<std::int64_t>& all = tiers->work[number];
    const std::int64_t sum = all.load(std::memory_order_relaxed) + std::min(work, kWorthWaiting);
    all.store(sum, std::memory_order_relaxed);  // roughly, if several threads do
    if (sum < tiers->worth) return;
    const int waits = work < kWorthWaiting && !task->run->is_repeated ? 0 : kMostWaits;
    bool goes_on = tiers->optimise(tiers, number, 0);
    for (int i = 0; i < waits && goes_on && !task->should_stop(); ++i)
        goes_on = tiers->optimise(tiers, number, kWait);
    if (waits && goes_on)
        all.store(INT64_MIN / 2, std::memory_order_relaxed);  // who did it may be in another process
}

std::int32_t run_at_once(Task* task, const WeldLoop* loop, const void* captures, char* state,
                         std::int64_t n) {
    if (loop->appends)
        if (const std::int32_t status = set_aside(task, loop, state, n)) return status;
    return body_of(task, loop)(task, captures, state, 0, n);
}

/// A builder in the state of a loop.
struct LoopBuilder {
    const WeldType* type;
    const BuilderPieces* pieces;
    std::int64_t offset;
    std::int64_t appends;  // Cut::Placed: per iteration
    Cut cut;
    bool handed_on;         // from chunk to chunk, instead of combined
    bool in_order = false;  // all chunks but the first merge into the loop's own state, one after the other
    std::int64_t combined = 0;  // chunks, in a serial loop
    std::int64_t filled = 0;    // elements that the last chunk appended: so many the next one may, too
    std::int64_t half_keys = 0, first_keys = 0;  // after half of the first chunk, and after all
    std::vector<char> known;  // a state with the keys that the other chunks begin with, if they do
    std::unique_ptr<Placing> placing = nullptr;  // on workers: of pieces of a vector

    bool may_go_in_order() const { return cut == Cut::Chunk && pieces->goes_in_order; }
    bool is_piece_of_vector() const { return keeps_merges(type) && cut == Cut::Chunk && !handed_on; }
};

/// Tells a watcher of the run how far a loop is, if it is an outermost one.
class Watched {
  public:
    Watched(LoopProgress* progress, std::int64_t chunks) {
        std::int64_t none = 0;
        if (!progress || !progress->chunks.compare_exchange_strong(none, chunks)) return;
        progress_ = progress;
        progress_->done = 0;
        ++progress_->loops;
    }
    ~Watched() {
        if (progress_) progress_->chunks = 0;
    }
    Watched(const Watched&) = delete;

    void chunk_done() {
        if (progress_) progress_->done.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    LoopProgress* progress_ = nullptr;
};

class ChunkedLoop {
  public:
    ChunkedLoop(Task* task, const WeldLoop* loop, const void* captures, char* state, std::int64_t n)
        : task_(task), loop_(loop), captures_(captures), state_(state), n_(n) {}

    std::int32_t run();

  private:
    void plan();
    bool makes_pieces_alone() const;
    std::int64_t begin_of(std::int64_t chunk) const {
        return chunk == 0 ? 0 : std::min(first_size_ + (chunk - 1) * chunk_size_, n_);
    }
    std::int32_t run_serial(Watched& watched);
    std::int32_t run_on_workers(Watched& watched);
    std::int32_t run_parts_from(std::int64_t begin, std::int64_t end, Watched& watched);
    std::int32_t run_in_order(std::int64_t begin, Watched& watched);
    std::int32_t settle(Task* t, char* state);
    std::int32_t run_first(Task* t, char* state);
    std::int32_t look_at_first();
    void forget_keys();
    std::int32_t run_part(Task* t, int worker, std::int64_t chunk);
    std::int32_t start_worker(Task* t, int worker);
    std::int32_t run_chunk(Task* t, int worker, char* state, std::int64_t chunk);
    std::int32_t start_pieces(Task* t, int worker, char* state, std::int64_t chunk);
    std::int32_t make_room(Task* t, LoopBuilder& b, WeldAppender* piece);
    void note_sizes(char* state);
    std::int32_t check_placed(const LoopBuilder& b);
    std::int32_t combine();
    std::int32_t combine_up_to(LoopBuilder& b, std::int64_t chunk);
    std::int32_t combine_workers(const LoopBuilder& b, const char* except);
    std::int32_t combine_pieces(const LoopBuilder& b, std::int64_t begin, std::int64_t end);

    char* worker_state(int worker) const { return worker_states_ + worker * stride_; }
    char* piece(std::int64_t chunk) const { return pieces_ + chunk * stride_; }
    void copy(const LoopBuilder& b, char* to, const char* from) const {
        std::memcpy(to + b.offset, from + b.offset, std::size_t(b.type->size));
    }

    Task* task_;
    const WeldLoop* loop_;
    const void* captures_;
    char* state_;
    std::int64_t n_;
    bool looks_ = false;           // how to go on is seen when the first chunk is done, which is short
    std::int64_t first_size_ = 0;  // of the first chunk
    std::int64_t chunk_size_ = 0;  // of the others
    std::int64_t chunks_ = 0;
    std::vector<LoopBuilder> builders_;
    bool serial_ = false;
    bool in_one_ = false;  // not cut at all: what is around it is
    std::int64_t stride_ = 0;
    char* pieces_ = nullptr;
    char* worker_states_ = nullptr;
    std::vector<char> started_;    // workers
    std::mutex of_task_;           // held by a worker that takes memory for `task_`
    std::atomic<int> holder_{-1};  // the worker that goes on with the loop's own state
};

/// Chunks may be as short as one likes: what they make is pieces of vectors, and what belongs to workers.
bool ChunkedLoop::makes_pieces_alone() const {
    const auto is_piece = [](const LoopBuilder& b) { return keeps_merges(b.type) && b.cut == Cut::Chunk; };
    return std::ranges::any_of(builders_, is_piece) &&
           std::ranges::all_of(builders_,
                               [&](const LoopBuilder& b) { return is_piece(b) || b.cut == Cut::Worker; });
}

void ChunkedLoop::plan() {
    const std::int64_t work = times(n_, std::max<std::int64_t>(1, loop_->cost));
    CutQuestion question{n_, work, std::clamp<std::int64_t>(work / kChunkWork, 2, kMostChunks)};
    const std::int64_t* appends = loop_->appends;
    bool whole = false;
    each_builder(loop_->state, 0, [&](const WeldType* type, std::int64_t offset) {
        LoopBuilder b{type, &pieces_of(type), offset, 0, Cut::Chunk, false};
        b.cut = b.pieces->cut(type, state_ + offset, &question);
        if (keeps_merges(type) && appends && (b.appends = *appends++) >= 0) b.cut = Cut::Placed;
        whole |= b.cut == Cut::Whole;
        looks_ |= b.may_go_in_order();
        builders_.push_back(std::move(b));
    });
    const bool makes_pieces = makes_pieces_alone();
    if (makes_pieces) question.chunks = std::clamp<std::int64_t>(work / kPieceWork, 2, kMostChunks);
    const bool is_busy = is_crew_busy(task_);
    serial_ = whole || !loop_->parallel || task_->run->threads == 1 || is_busy;
    for (LoopBuilder& b : builders_) {
        b.handed_on = serial_ && (b.cut != Cut::Chunk || b.pieces->seamless(b.type));
    }
    in_one_ = (is_busy || (serial_ && task_->in_serial_loop)) &&
              std::ranges::all_of(builders_, &LoopBuilder::handed_on);
    chunk_size_ = (n_ + question.chunks - 1) / question.chunks;
    std::int64_t multiple = loop_->multiple > 1 || makes_pieces ? loop_->multiple : kRounds;
    while (multiple > loop_->multiple && n_ / multiple < kEnoughChunks) multiple /= 2;
    if (chunk_size_ <= INT64_MAX - multiple) chunk_size_ = round_up(chunk_size_, multiple);
    looks_ &= chunk_size_ < n_;
    first_size_ = looks_ ? 2 * round_up((chunk_size_ + kFirstPart - 1) / kFirstPart, multiple) : chunk_size_;
    chunks_ = first_size_ < n_ ? (n_ - first_size_ - 1) / chunk_size_ + 2 : 1;
    stride_ = (loop_->state->size + 63) / 64 * 64;
}

/// Gives a chunk new states for what is combined by chunk, and its place in what is placed.
std::int32_t ChunkedLoop::start_pieces(Task* t, int worker, char* state, std::int64_t chunk) {
    for (LoopBuilder& b : builders_) {
        if (b.handed_on) continue;
        if (b.cut == Cut::Chunk) {
            char* const mine = state + b.offset;
            if (b.in_order        ? b.pieces->start_waiting(t, b.type, mine, loop_->loc)
                : b.known.empty() ? b.pieces->start(t, b.type, state_ + b.offset, mine, loop_->loc)
                                  : b.pieces->start_with_keys(t, b.type, b.known.data(), mine, loop_->loc))
                return kFailed;
            if (b.placing) b.placing->reuse(worker, kept_merges(b.type, mine));
            if (b.is_piece_of_vector() && make_room(t, b, kept_merges(b.type, state + b.offset)))
                return kFailed;
        } else if (b.cut == Cut::Placed) {
            const WeldAppender* all = kept_merges(b.type, state_ + b.offset);
            const std::int64_t first = all->size + begin_of(chunk) * b.appends;
            const std::int64_t count = (begin_of(chunk + 1) - begin_of(chunk)) * b.appends;
            char* data = static_cast<char*>(all->data) + first * b.type->args[0]->size;
            if (b.pieces->start(t, b.type, state_ + b.offset, state + b.offset, loop_->loc)) return kFailed;
            *kept_merges(b.type, state + b.offset) = {data, 0, count};
        }
    }
    return kOk;
}

/// Room for as much as another chunk needed and a little more, so that the piece neither grows by copying nor
/// is half empty in the end.
std::int32_t ChunkedLoop::make_room(Task* t, LoopBuilder& b, WeldAppender* piece) {
    const std::int64_t filled = std::atomic_ref(b.filled).load();
    const std::int64_t room = filled + filled / 16 + kRound, size = b.type->args[0]->size;
    if (filled < kRound || !has_room(t, times(room, size))) return kOk;
    return weld_rt_appender_grow(t, piece, room, size, loop_->loc);
}

void ChunkedLoop::note_sizes(char* state) {
    for (LoopBuilder& b : builders_)
        if (b.is_piece_of_vector()) std::atomic_ref(b.filled) = kept_merges(b.type, state + b.offset)->size;
}

/// Whether a chunk that ends should be collected. Not each one if the last ones held next to no garbage.
static bool has_garbage(Task* t) {
    const std::int64_t allocated = t->debt + t->region->allowance - t->region->slab_bytes;
    if (allocated <= std::max(kGarbage, t->scanned)) return false;
    if (++t->spared < 1 << t->futile) return false;
    t->spared = 0;
    return true;
}

std::int32_t ChunkedLoop::settle(Task* t, char* state) {
    for (const LoopBuilder& b : builders_)
        if (b.pieces->settle && b.pieces->settle(t, state + b.offset, loop_->loc)) return kFailed;
    return kOk;
}

/// The first chunk, in two halves: how many keys they find tells how many there will be.
std::int32_t ChunkedLoop::run_first(Task* t, char* state) {
    const auto note_keys = [&](std::int64_t LoopBuilder::* keys) {
        for (LoopBuilder& b : builders_)
            if (b.may_go_in_order()) b.*keys = b.pieces->num_keys(state + b.offset);
    };
    const std::int64_t end = begin_of(1), half = std::min(first_size_ / 2, end);
    if (body_of(t, loop_)(t, captures_, state, 0, half) || settle(t, state)) return kFailed;
    note_keys(&LoopBuilder::half_keys);
    if (half < end && body_of(t, loop_)(t, captures_, state, half, end)) return kFailed;
    if (settle(t, state)) return kFailed;
    note_keys(&LoopBuilder::first_keys);
    return kOk;
}

std::int32_t ChunkedLoop::run_chunk(Task* t, int worker, char* state, std::int64_t chunk) {
    const std::int64_t lo = begin_of(chunk), hi = begin_of(chunk + 1);
    std::int32_t status;
    {
        const InRegion region(t);
        status = start_pieces(t, worker, state, chunk);
        if (!status && looks_ && chunk == 0) status = run_first(t, state);
        else if (!status) status = body_of(t, loop_)(t, captures_, state, lo, hi);
        if (!status) status = settle(t, state);
        if (!status && has_garbage(t)) weld_rt_collect(t, state, loop_->state);
    }
    note_sizes(state);
    return status;
}

// ---- serially ---------------------------------------------------------------------------------------------

std::int32_t ChunkedLoop::run_serial(Watched& watched) {
    pieces_ = static_cast<char*>(allocate_array(task_, chunks_, stride_, loop_->loc));
    if (!pieces_) return kFailed;
    std::int32_t status = kOk;
    const bool outer = std::exchange(task_->in_serial_loop, true);
    for (std::int64_t chunk = 0; chunk < chunks_ && !status; ++chunk) {
        char* const mine = piece(chunk);
        for (const LoopBuilder& b : builders_)
            if (b.handed_on) copy(b, mine, state_);
        status = task_->check_stop(loop_->loc);
        if (!status) status = run_chunk(task_, 0, mine, chunk);
        watched.chunk_done();
        if (looks_ && chunk == 0 && !status) status = look_at_first();
        for (LoopBuilder& b : builders_) {
            if (b.handed_on) copy(b, state_, mine);
            else if (!status) status = combine_up_to(b, chunk + 1);
            b.handed_on |= b.in_order;
        }
    }
    task_->in_serial_loop = outer;
    forget_keys();
    release(task_, pieces_);
    return status;
}

/// How the other chunks go on, to judge by what the first one merged: not by what was there before, which may be in another
/// form on several threads. Status.
std::int32_t ChunkedLoop::look_at_first() {
    for (LoopBuilder& b : builders_) {
        if (!b.may_go_in_order()) continue;
        const char* first = piece(0) + b.offset;
        const FirstLook look{b.half_keys, b.first_keys, chunk_size_, 2 * chunk_size_ / first_size_,
                             loop_->cost};
        b.in_order = b.pieces->goes_in_order(first, look);
        if (b.in_order) continue;
        std::vector<char> known(static_cast<std::size_t>(b.type->size));
        if (b.pieces->note_keys(task_, b.type, first, known.data(), loop_->loc)) return kFailed;
        b.known = std::move(known);
    }
    return kOk;
}

void ChunkedLoop::forget_keys() {
    for (LoopBuilder& b : builders_)
        if (!b.known.empty()) b.pieces->forget_keys(task_, b.known.data());
}

// ---- on workers -------------------------------------------------------------------------------------------

/// The first worker to come goes on with the loop's own state where pieces belong to workers, the others
/// begin anew.
std::int32_t ChunkedLoop::start_worker(Task* t, int worker) {
    started_[std::size_t(worker)] = true;
    int nobody = -1;
    const bool holds = holder_.compare_exchange_strong(nobody, worker);
    char* mine = worker_state(worker);
    for (const LoopBuilder& b : builders_) {
        if (b.cut != Cut::Worker) continue;
        if (holds) copy(b, mine, state_);
        else if (b.pieces->start(t, b.type, state_ + b.offset, mine + b.offset, loop_->loc)) return kFailed;
    }
    return kOk;
}

std::int32_t ChunkedLoop::run_part(Task* t, int worker, std::int64_t chunk) {
    if (!started_[std::size_t(worker)] && start_worker(t, worker)) return kFailed;
    char* mine = worker_state(worker);
    for (const LoopBuilder& b : builders_)
        if (b.cut == Cut::Worker) copy(b, piece(chunk), mine);
    const std::int32_t status = run_chunk(t, worker, piece(chunk), chunk);
    for (const LoopBuilder& b : builders_)
        if (b.cut == Cut::Worker) copy(b, mine, piece(chunk));
    if (status) return status;
    for (const LoopBuilder& b : builders_) {
        if (!b.placing) continue;
        b.placing->add(worker, chunk, kept_merges(b.type, piece(chunk) + b.offset));
        if (b.placing->copy_waiting(t, worker)) return kFailed;
    }
    return kOk;
}

/// Combines the pieces of a serial loop before `chunk`, once that is worth it.
std::int32_t ChunkedLoop::combine_up_to(LoopBuilder& b, std::int64_t chunk) {
    std::vector<void*> waiting;
    for (std::int64_t i = b.combined; i < chunk; ++i) waiting.push_back(piece(i) + b.offset);
    char* const whole = state_ + b.offset;
    const auto now = b.pieces->should_combine;
    const bool is_looked_at = looks_ && chunk == 1;
    if (now && chunk < chunks_ && !is_looked_at && !now(task_, whole, waiting)) return kOk;
    b.combined = chunk;
    return b.pieces->combine(task_, b.type, whole, waiting, loop_->loc);
}

/// Combines the states of workers, `except` one, into the loop's.
std::int32_t ChunkedLoop::combine_workers(const LoopBuilder& b, const char* except) {
    std::vector<void*> all;
    for (std::size_t i = 0; i < started_.size(); ++i)
        if (char* state = worker_state(int(i)); started_[i] && state != except)
            all.push_back(state + b.offset);
    return b.pieces->combine(task_, b.type, state_ + b.offset, all, loop_->loc);
}

/// Combines the pieces of chunks into the loop's state.
std::int32_t ChunkedLoop::combine_pieces(const LoopBuilder& b, std::int64_t begin, std::int64_t end) {
    std::vector<void*> all;
    for (std::int64_t chunk = begin; chunk < end; ++chunk) all.push_back(piece(chunk) + b.offset);
    return b.pieces->combine(task_, b.type, state_ + b.offset, all, loop_->loc);
}

/// The chunks have written to the vector itself: what is left is to say how long it is.
std::int32_t ChunkedLoop::check_placed(const LoopBuilder& b) {
    std::int64_t all = 0;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
        const WeldAppender* a = kept_merges(b.type, piece(chunk) + b.offset);
        const bool is_last = chunk == chunks_ - 1;  // of whose rounds the last may append fewer
        if (is_last ? a->size > a->capacity : a->size != a->capacity)
            return task_->fail(kWeldUnknown, loop_->loc,
                               "a loop appended another number of elements than was expected");
        all += a->size;
    }
    kept_merges(b.type, state_ + b.offset)->size += all;
    return kOk;
}

std::int32_t ChunkedLoop::combine() {
    const char* holder = worker_state(holder_.load());
    for (const LoopBuilder& b : builders_) {
        std::int32_t status = kOk;
        switch (b.cut) {
            case Cut::Worker:
                copy(b, state_, holder);
                status = combine_workers(b, holder);
                break;
            case Cut::Chunk:
                if (b.placing) status = b.placing->finish();
                else if (!b.in_order) status = combine_pieces(b, looks_ && b.may_go_in_order(), chunks_);
                break;
            case Cut::Placed: status = check_placed(b); break;
            case Cut::Whole: break;
        }
        if (status) return status;
    }
    return kOk;
}

std::int32_t ChunkedLoop::run_parts_from(std::int64_t begin, std::int64_t end, Watched& watched) {
    return run_parts(task_, end - begin, true, loop_->loc, [&](Task* t, int worker, std::int64_t part) {
        const std::int32_t status = run_part(t, worker, begin + part);
        watched.chunk_done();
        return status;
    });
}

/// A few chunks at a time, whose rows wait until all before them are merged; or one, by one worker.
std::int32_t ChunkedLoop::run_in_order(std::int64_t begin, Watched& watched) {
    const auto workers = std::int64_t(started_.size());
    while (begin < chunks_) {
        const auto is_any = [&](Waiting waiting) {
            return std::ranges::any_of(builders_, [&](const LoopBuilder& b) {
                return b.in_order && b.pieces->waiting(state_ + b.offset) == waiting;
            });
        };
        const bool wait =
            !is_any(Waiting::Never) && (workers > 2 || loop_->cost > kLightWork || is_any(Waiting::Always));
        const std::int64_t end = std::min(begin + (wait ? workers : 1), chunks_);
        for (LoopBuilder& b : builders_) {
            if (!b.in_order) continue;
            b.handed_on = !wait;
            if (!wait) copy(b, piece(begin), state_);
        }
        if (run_parts_from(begin, end, watched)) return kFailed;
        for (const LoopBuilder& b : builders_) {
            if (!b.in_order) continue;
            if (!wait) copy(b, state_, piece(begin));
            else if (combine_pieces(b, begin, end)) return kFailed;
        }
        begin = end;
    }
    return kOk;
}

std::int32_t ChunkedLoop::run_on_workers(Watched& watched) {
    const int workers = workers_for(task_, chunks_, true);
    started_.resize(std::size_t(workers));
    pieces_ = static_cast<char*>(allocate_array(task_, chunks_, stride_, loop_->loc));
    worker_states_ =
        pieces_ ? static_cast<char*>(allocate_array(task_, workers, stride_, loop_->loc)) : nullptr;
    if (!worker_states_) return kFailed;
    for (LoopBuilder& b : builders_)
        if (!looks_ && b.is_piece_of_vector())
            b.placing = std::make_unique<Placing>(task_, &of_task_, b.type, state_ + b.offset, chunks_,
                                                  workers, loop_->loc);
    std::int32_t status = looks_ ? run_parts_from(0, 1, watched) : kOk;
    if (looks_ && !status) status = look_at_first();
    for (LoopBuilder& b : builders_) {
        if (looks_ && b.may_go_in_order() && !status) status = combine_pieces(b, 0, 1);
        b.handed_on |= b.in_order;
    }
    const bool any_in_order = std::ranges::any_of(builders_, &LoopBuilder::in_order);
    if (!status) status = any_in_order ? run_in_order(1, watched) : run_parts_from(looks_, chunks_, watched);
    if (!status) status = combine();
    forget_keys();
    release(task_, pieces_);
    release(task_, worker_states_);
    return status;
}

std::int32_t ChunkedLoop::run() {
    if (loop_->appends)
        if (const std::int32_t status = set_aside(task_, loop_, state_, n_)) return status;
    plan();
    if (in_one_) return body_of(task_, loop_)(task_, captures_, state_, 0, n_);
    if (settle(task_, state_)) return kFailed;
    Watched watched(task_->run->progress, chunks_);
    return serial_ ? run_serial(watched) : run_on_workers(watched);
}

/// Apart, so that a loop with little to do need not make room for all this.
[[gnu::noinline]] std::int32_t run_in_chunks(Task* task, const WeldLoop* loop, const void* captures,
                                             char* state, std::int64_t n) {
    return ChunkedLoop(task, loop, captures, state, n).run();
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

std::int32_t weld_rt_loop(WeldTask* t, const WeldLoop* loop, const void* captures, void* state,
                          std::int64_t n) {
    Task* task = task_of(t);
    char* bytes = static_cast<char*>(state);
    if (n <= 0) return kOk;
    const std::int64_t work = times(n, std::max<std::int64_t>(1, loop->cost));
    if (task->run->tiers) consider_optimised(task, loop, work);
    if (work < kSerialWork || n == 1) return run_at_once(task, loop, captures, bytes, n);
    return run_in_chunks(task, loop, captures, bytes, n);
}

std::int32_t weld_rt_function(WeldTask* t, const WeldLoop* function, const void* args, void* result) {
    Task* task = task_of(t);
    if (task->run->tiers) consider_optimised(task, function, kCallWork);
    const auto code = reinterpret_cast<WeldFunctionFn>(reinterpret_cast<void*>(body_of(task, function)));
    return code(t, args, result);
}
}
