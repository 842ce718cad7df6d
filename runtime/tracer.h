// Following what a value refers to, for weld_rt_collect (collect.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "runtime/task.h"

namespace weld::runtime {

struct Partitions;

/// Marks the blocks of the innermost region that values reach.
class Tracer {
  public:
    explicit Tracer(Task* task)
        : task_(task), account_(task->account()), region_(task->region), outside_(task->outside) {}

    void value(const WeldType* t, const void* at);

    // ---- parts of values, for builders (BuilderPieces::reach)

    /// The block that `p` points into; its page is null if it is none of ours. If it is the region's it is
    /// marked, which is `fresh` the first time.
    Allocation mark(const void* p, bool* fresh = nullptr);
    void elements(const WeldType* elem, const void* data, std::int64_t count);
    void array(const WeldType* elem, const WeldAppender* a);
    void dict(const WeldType* t, const WeldDict* d);

    std::int64_t scanned() const { return scanned_; }
    /// The run is to stop, and not all was looked at.
    bool gave_up() const { return gave_up_; }

  private:
    /// Calls f(0)...f(n - 1), as long as the run is not to stop.
    template <class F>
    void in_strips(std::int64_t n, const F& f) {
        constexpr std::int64_t strip = 1 << 14;
        for (std::int64_t begin = 0; begin < n; begin += strip) {
            gave_up_ |= task_->should_stop();
            if (gave_up_) return;
            for (std::int64_t i = begin, end = std::min(n, begin + strip); i < end; ++i) f(i);
        }
    }

    struct Seen {
        const char* begin;
        const char* end;
    };

    bool is_own(const Allocation& block) const {
        return block.page && owns(region_, block.page, block.begin);
    }
    void unseen(const WeldType* elem, Seen* seen, const char* begin, const char* end);
    void run(const WeldType* elem, const char* begin, const char* end);
    void plain_vectors(const WeldType* elem, const WeldVec* vectors, std::int64_t count);
    template <class Work>
    void inside(const Allocation& block, const Work& work);
    void partitions(const Partitions* p);
    void own_type(const WeldType* t);

    Task* task_;
    MemoryAccount& account_;
    Region* region_;
    Outside* outside_;
    bool in_own_ = false;   ///< what is looked at lies in a block of the region
    Page* last_ = nullptr;  ///< that was found; what lies together was often made together
    std::int64_t scanned_ = 0;
    bool gave_up_ = false;
    std::unordered_map<const void*, Seen> seen_;  // by the beginning of blocks
};

}  // namespace weld::runtime
