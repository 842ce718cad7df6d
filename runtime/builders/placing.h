// Pieces of a vector that the chunks of a loop make go to their places in it while the loop runs.
//
//     chunk     0         1         2         3
//     piece     placed    placed    makes ..  waits: where it begins is not known yet
//     vector   [.........|.........|
//
// Where a piece begins is known when all chunks before it are done. The worker that made it copies it then, from its
// cache, and makes the next one in the same memory. So a vector goes through memory once, as one does that a single
// thread makes, and pieces take little room.
#pragma once

#include <mutex>
#include <shared_mutex>
#include <vector>

#include "runtime/task.h"

namespace weld::runtime {

class Placing {
  public:
    /// The pieces of `chunks` chunks are to follow what is in `whole`, of the type `type`, which belongs to `task`. A
    /// worker holds `of_task` while it takes memory for that.
    Placing(Task* task, std::mutex* of_task, const WeldType* type, void* whole, std::int64_t chunks,
            int workers, std::int32_t loc);

    /// Gives an empty piece that a worker begins the memory of one that is in its place, if there is such.
    void reuse(int worker, WeldAppender* piece);
    /// A chunk is done: `piece` waits for its place.
    void add(int worker, std::int64_t chunk, WeldAppender* piece);
    /// Copies those of a worker, whose task is `t`, whose places are known. They lose their meaning. Status.
    std::int32_t copy_waiting(Task* t, int worker);
    /// Copies all that still wait, on several workers, when all chunks are done. Status.
    std::int32_t finish();

  private:
    struct Piece {
        WeldAppender* made = nullptr;  ///< null until its chunk is done
        std::int64_t place = -1;       ///< elements before it, once that is known
    };
    struct Worker {
        std::vector<std::int64_t> waiting;  ///< chunks whose pieces are not in their places
        WeldAppender spare{};
    };
    /// How far it is known where pieces go.
    struct Known {
        std::int64_t chunks, size;
    };
    enum class Room : std::uint8_t { There, NotNow, Failed };

    Known known();
    std::int32_t grow(std::int64_t size);
    Room make_room(Known known);
    std::int32_t copy(Task* t, const Piece& piece);

    Task* const task_;
    std::mutex* const of_task_;
    WeldAppender* const whole_;
    const std::int64_t elem_size_;
    const std::int32_t loc_;
    std::vector<Piece> pieces_;
    std::vector<Worker> workers_;
    std::mutex mutex_;  ///< of `pieces_` and `known_`
    Known known_;
    std::shared_mutex memory_;  ///< of `whole_`, which may move when it grows
};

}  // namespace weld::runtime
