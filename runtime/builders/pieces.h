// What the runtime asks of a builder. A loop that is cut into chunks: how its state may be cut, new states for
// the pieces, how they become one again. A collection: what a state refers to. Hosts, which pass states from
// run to run: what memory it has. One file per builder says it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/owners.h"
#include "runtime/tracer.h"

namespace weld::runtime {

/// Which piece of a builder's state an iteration merges into. Chosen by types, sizes and counts, never by
/// threads.
enum class Cut : std::uint8_t {
    Worker,  ///< one per worker, combined in any order: the result is the same
    Chunk,   ///< one per chunk, combined in their order
    Placed,  ///< none: chunks write where their elements will be in the end (appender)
    Whole    ///< none: the loop must run serially
};

/// How a builder's state is cut in a loop of `n` iterations that take `work` ps in all; `chunks` is how many
/// there may be, which a builder with large pieces lowers.
struct CutQuestion {
    std::int64_t n;
    std::int64_t work;
    std::int64_t chunks;
};

constexpr std::int64_t kFewChunks = 16;  ///< where pieces are large

/// Chunks that fill tables: joining costs about as much as filling, so each has enough to do (ps).
inline std::int64_t table_chunks(const CutQuestion& question, std::int64_t work_of_each) {
    return std::clamp<std::int64_t>(question.work / work_of_each, 1, std::min(question.chunks, kFewChunks));
}

/// What the first iterations of a loop merged, and what there is left to do for each chunk.
struct FirstLook {
    std::int64_t half, all;   ///< keys after half of these iterations, and after all
    std::int64_t iterations;  ///< of each of the other chunks
    std::int64_t halves;      ///< so often these take the first half's
    std::int64_t cost;        ///< ps of an iteration
};

enum class Waiting : std::uint8_t { Never, OfMany /* workers */, Always };

struct BuilderPieces {
    Cut (*cut)(const WeldType* type, const void* state, CutQuestion* question);
    /// Makes the neutral state `piece` for a loop that began with `whole`. Status. Null where `cut` is always
    /// `Whole`, and so is `combine`.
    std::int32_t (*start)(Task* task, const WeldType* type, const void* whole, void* piece,
                          std::int32_t loc) = nullptr;
    /// Merges the pieces into `whole` in their order. They lose their meaning. Status.
    std::int32_t (*combine)(Task* task, const WeldType* type, void* whole, std::span<void* const> pieces,
                            std::int32_t loc) = nullptr;
    /// Combining pieces gives the same bits as merging into one state throughout.
    bool (*seamless)(const WeldType* type);
    /// Marks what a state refers to; null if it is a value.
    void (*reach)(Tracer& tracer, const WeldType* type, const void* state) = nullptr;
    /// The array of what has been merged, where a builder keeps that.
    WeldAppender* (*kept)(void* state) = nullptr;
    /// Whether pieces of a serial loop should be combined now; null: at once.
    bool (*should_combine)(const Task* task, const void* whole, std::span<void* const> pieces) = nullptr;
    /// Decides what a chunk has left undecided; before anything below. Status. Null: nothing.
    std::int32_t (*settle)(Task* task, void* state, std::int32_t loc) = nullptr;
    /// How many keys a state has. Null where `goes_in_order` is.
    std::int64_t (*num_keys)(const void* state) = nullptr;
    /// Whether what the other chunks merge is merged into the loop's own state instead, in order: combining
    /// pieces would take longer, to judge by `state`, which has what the first few iterations merged. Null: never.
    bool (*goes_in_order)(const void* state, const FirstLook& look) = nullptr;
    /// Makes `known`, which has the keys of `piece`, that of the first chunk. Status. Null where `goes_in_order` is, and so are the next two.
    std::int32_t (*note_keys)(Task* task, const WeldType* type, const void* piece, void* known,
                              std::int32_t loc) = nullptr;
    /// A state like that of `start` for a chunk, which begins with the keys of `known`. Status.
    std::int32_t (*start_with_keys)(Task* task, const WeldType* type, const void* known, void* piece,
                                    std::int32_t loc) = nullptr;
    void (*forget_keys)(Task* task, void* known) = nullptr;
    /// A state like that of `start` for such a chunk on a worker: it keeps what is merged for `combine`. Status.
    std::int32_t (*start_waiting)(Task* task, const WeldType* type, void* piece, std::int32_t loc) = nullptr;
    /// Whether workers fill such states. If not, one of them goes on with the loop's own, which is quicker where there
    /// are few.
    Waiting (*waiting)(const void* state) = nullptr;
    /// The memory that tells a state from others; null if it has none. Without this function: the state is a
    /// pointer to it.
    const void* (*memory)(const WeldType* type, const void* state) = nullptr;
    /// The state has no memory to share, and may have come from anywhere. Without this function: no, it points at
    /// what it has.
    bool (*is_new)(const WeldType* type, const void* state) = nullptr;
};

#define WELD_BUILDER(name, ...) extern const BuilderPieces k##name##Pieces;
#include "runtime/abi/builders.def"

inline const BuilderPieces& pieces_of(const WeldType* builder) {
    static constexpr const BuilderPieces* all[] = {
#define WELD_BUILDER(name, ...) &k##name##Pieces,
#include "runtime/abi/builders.def"
    };
    return *all[builder->kind - kWeldFirstBuilder];
}

inline bool keeps_merges(const WeldType* builder) { return pieces_of(builder).kept; }
inline WeldAppender* kept_merges(const WeldType* builder, void* state) {
    return pieces_of(builder).kept(state);
}

inline const void* memory_of(const WeldType* builder, const void* state) {
    const auto memory = pieces_of(builder).memory;
    return memory ? memory(builder, state) : *static_cast<const void* const*>(state);
}
inline bool is_new_state(const WeldType* builder, const void* state) {
    const auto is_new = pieces_of(builder).is_new;
    return is_new && is_new(builder, state);
}

// Of states that are a WeldVec.
inline const void* memory_of_vec(const WeldType*, const void* state) {
    const auto* v = static_cast<const WeldVec*>(state);
    return v->len ? v->data : nullptr;
}
inline bool is_new_vec(const WeldType*, const void* state) {
    const auto* v = static_cast<const WeldVec*>(state);
    return !v->len && is_nowhere(v->data);
}

}  // namespace weld::runtime
