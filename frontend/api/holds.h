// What values hold on to, so that memory of the library that they point into stays.
//
//     shared_ptr<RunResult>   on a result's memory: with the last one the memory goes back to its context
//     shared_ptr<Reach>       on it and on all that pointers in that memory lead to, if they lead out of it
//
// A value holds the reach of its own memory, and what it points to itself. Who points at elements without
// pointers needs the memory only; so of a value that goes from run to run, a part of it new in each, nothing
// stays but its parts. Memory that is no result's (arrays that were lent, constants of programs) has an owner
// of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "frontend/api/compile.h"
#include "runtime/owners.h"

namespace weld {

using Hold = std::shared_ptr<const void>;
using Holds = std::set<Hold>;

struct Reach;

/// What a run left behind.
struct RunResult : std::enable_shared_from_this<RunResult> {
    RunOutcome outcome;
    std::vector<std::shared_ptr<const Program>> programs;  ///< with literals that builders in it point to
    std::int64_t run = 0;                                  ///< its number in the process
    int live_builders = 0;                                 ///< in its value, that were not passed on
    Holds shares;                                          ///< in memory that builders in it began in
    std::weak_ptr<const Reach> reach;                      ///< none: pointers in its memory stay in it

    const Program& program() const { return *programs.front(); }
};

struct Reach {
    std::shared_ptr<const RunResult> memory;
    Holds points_to;
};

/// Tells what to hold on to. Remembers the last answer: what lies together mostly belongs together.
class Holder {
  public:
    /// For who points to `p`; null if that is no memory of the library. `deep`: and follows pointers there.
    const Hold& find(const void* p, bool deep) {
        if (!last_.covers(p)) look_up(p);
        return deep ? deep_ : plain_;
    }
    /// `p` is no memory of the library, as far as the last answer tells.
    bool is_foreign(const void* p) const { return last_.covers(p) && !plain_; }
    /// Whose memory the last one was; null if no result's.
    const RunResult* result() const { return static_cast<const RunResult*>(last_.value); }

  private:
    void look_up(const void* p);

    runtime::Owner last_;
    Hold plain_, deep_;
};

}  // namespace weld
