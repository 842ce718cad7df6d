#include "runtime/builders/placing.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/builders/pieces.h"
#include "runtime/entry.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"
#include "runtime/stream.h"

namespace weld::runtime {

constexpr std::int64_t kPastCache = 16 << 20;  // bytes of vectors that are written past the cache
constexpr std::int64_t kStripBytes = 1 << 20;

Placing::Placing(Task* task, std::mutex* of_task, const WeldType* type, void* whole, std::int64_t chunks,
                 int workers, std::int32_t loc)
    : task_(task),
      of_task_(of_task),
      whole_(kept_merges(type, whole)),
      elem_size_(type->args[0]->size),
      loc_(loc),
      pieces_(std::size_t(chunks)),
      workers_(std::size_t(workers)),
      known_{0, whole_->size} {}

void Placing::reuse(int worker, WeldAppender* piece) {
    WeldAppender& spare = workers_[std::size_t(worker)].spare;
    if (spare.data) *piece = std::exchange(spare, {});
}

void Placing::add(int worker, std::int64_t chunk, WeldAppender* piece) {
    workers_[std::size_t(worker)].waiting.push_back(chunk);
    const std::lock_guard lock(mutex_);
    pieces_[std::size_t(chunk)].made = piece;
    for (; known_.chunks < std::int64_t(pieces_.size()); ++known_.chunks) {
        Piece& next = pieces_[std::size_t(known_.chunks)];
        if (!next.made) break;
        next.place = known_.size;
        known_.size += next.made->size;
    }
}

Placing::Known Placing::known() {
    const std::lock_guard lock(mutex_);
    return known_;
}

/// Room for `size` elements; what has been copied stays, wherever it is. Status.
std::int32_t Placing::grow(std::int64_t size) {
    if (size <= whole_->capacity) return kOk;
    const std::int64_t before = std::exchange(whole_->size, whole_->capacity);
    const std::lock_guard of_task(*of_task_);
    const std::int32_t status =
        weld_rt_appender_grow(task_, whole_, size - whole_->capacity, elem_size_, loc_);
    whole_->size = before;
    return status;
}

/// Room for the pieces whose places are known, and for the others if they are like these. Not now: it would take too
/// much of what memory there may be.
Placing::Room Placing::make_room(Known known) {
    {
        const std::shared_lock lock(memory_);
        if (known.size <= whole_->capacity) return Room::There;
    }
    const std::unique_lock lock(memory_);
    if (known.size <= whole_->capacity) return Room::There;
    const auto fits = [&](std::int64_t elements) { return has_room(task_, elements * elem_size_); };
    const std::int64_t all = known.size / known.chunks * std::int64_t(pieces_.size());
    const std::int64_t most = std::max(known.size, all + all / 16);
    const std::int64_t wanted = fits(most) ? most : known.size;
    if (!fits(wanted)) return Room::NotNow;
    return grow(wanted) ? Room::Failed : Room::There;
}

/// Copies bytes to memory that is not read soon.
static void copy_past_cache(char* to, const char* from, std::int64_t bytes) {
    const auto copy = [&](std::int64_t n, const auto& f) {
        f(to, from, n);
        to += n, from += n, bytes -= n;
    };
    const auto some = [](char* d, const char* s, std::int64_t n) { std::memcpy(d, s, std::size_t(n)); };
    const std::int64_t before = -reinterpret_cast<std::intptr_t>(to) & 63;
    copy(std::min(before, bytes), some);
    copy(bytes & ~std::int64_t(63), stream);
    copy(bytes, some);
}

std::int32_t Placing::copy(Task* t, const Piece& piece) {
    const std::shared_lock lock(memory_);
    char* const to = static_cast<char*>(whole_->data) + piece.place * elem_size_;
    const std::int64_t bytes = piece.made->size * elem_size_;
    const auto* from = static_cast<const char*>(piece.made->data);
    if (whole_->capacity * elem_size_ < kPastCache) return copy_bytes(t, to, from, bytes, loc_);
    return in_strips<kStripBytes>(t, 0, bytes, loc_, [&](std::int64_t begin, std::int64_t end) {
        copy_past_cache(to + begin, from + begin, end - begin);
    });
}

std::int32_t Placing::copy_waiting(Task* t, int worker) {
    auto& [waiting, spare] = workers_[std::size_t(worker)];
    const Known known = this->known();
    if (waiting.empty() || waiting.front() >= known.chunks) return kOk;
    switch (make_room(known)) {
        case Room::There: break;
        case Room::NotNow: return kOk;
        case Room::Failed: return kFailed;
    }
    const auto end = std::ranges::lower_bound(waiting, known.chunks);
    for (auto it = waiting.begin(); it != end; ++it) {
        WeldAppender* made = pieces_[std::size_t(*it)].made;
        if (copy(t, pieces_[std::size_t(*it)])) return kFailed;
        if (spare.data) release(t, spare.data);
        spare = {std::exchange(made->data, nullptr), 0, made->capacity};
    }
    waiting.erase(waiting.begin(), end);
    return kOk;
}

std::int32_t Placing::finish() {
    if (grow(known_.size)) return kFailed;
    std::vector<std::int64_t> left;
    std::int64_t elements = 0;
    for (const Worker& worker : workers_)
        for (const std::int64_t chunk : worker.waiting) {
            left.push_back(chunk);
            elements += pieces_[std::size_t(chunk)].made->size;
        }
    constexpr std::int64_t much = 1 << 18;  // bytes that are worth waking others for
    const auto place = [&](Task* t, int, std::int64_t i) {
        return copy(t, pieces_[std::size_t(left[std::size_t(i)])]);
    };
    if (run_parts(task_, std::int64_t(left.size()), elements * elem_size_ > much, loc_, place))
        return kFailed;
    for (const std::int64_t chunk : left) release(task_, pieces_[std::size_t(chunk)].made->data);
    for (const Worker& worker : workers_) release(task_, worker.spare.data);
    whole_->size = known_.size;
    return kOk;
}

}  // namespace weld::runtime
