// clang-format off: the columns are set by hand
// What emitted code and the runtime share: layouts and descriptions of types. C layout, no behaviour.
// The functions that emitted code calls are listed in entry.def.
//
// A run is the execution of one program. Emitted code always holds a WeldTask, which stands for the place in the
// run that it works on: the main program has one, and every chunk of a parallel loop one of its own. Functions that
// can fail return a status, 0 when all is well; the failure itself (code, place, message) stays with the task, and
// the caller leaves. Nothing throws.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>

extern "C" {

// ---- values in memory ------------------------------------------------------------------------------------

// Scalars have their natural size and alignment; bool is one byte, 0 or 1 (an input byte other than 0 is true).
// Structs follow the rules of C. simd[T,N] is N elements, aligned to its size.
typedef struct WeldVec {  // vec[T]
    void* data;           // elements, contiguous; NULL when empty
    int64_t len;
} WeldVec;

typedef struct WeldDict WeldDict;  // dict[K,V] is a WeldDict*; also the state of dictmerger.
                                   // NULL is a dictionary without entries.

// How keys are hashed and found: the runtime (runtime/keys.h, runtime/hash_table.h) and emitted code
// (codegen/builders/tables.cpp) do it alike. A step of a hash h is (rotated h + word of the key) * factor. The tag of
// a key is the upper bits of its hash, the lowest of them set: so no tag is 0.
constexpr uint64_t kWeldHashFactor = 0xd6e8feb86659fd93u;
enum { kWeldHashRotation = 32, kWeldTagBits = 32 };
// The head of a vector of integers is two words that its first kWeldHeadBytes bytes are in, or all if it has fewer.
// Fewer than kWeldFewestInWords bytes lie in the first word, one by one. The hash is the product of the words, mixed with
// the number of bytes, of 128 bits whose halves are folded; the same with further bytes. Those beyond the second
// kWeldHeadBytes are hashed by the runtime alone.
enum { kWeldFewestInWords = 4, kWeldHeadBytes = 16 };
constexpr uint64_t kWeldMixCount = 0xe7037ed1a0b428dbu, kWeldMixBytes = 0x8ebc6af09c88c6e3u;

// Keys that are a few integers (bools as 0 and 1) have places: (first + (second << its shift) + ...) & mask,
// in 64 bits. Behind this struct stands an uint32_t for each place: how far behind the first entry an entry
// lies, the one that has the key of that place if any has. Another key may have the same place.
//
// A key that is one byte has a place of its own of 256: there stands how far behind the first entry its entry ends, and
// 0 if there is none.
enum { kWeldMostKeyFields = 4 };
typedef struct WeldPlaces {
    uint64_t mask;
    uint64_t shifts[kWeldMostKeyFields - 1];
} WeldPlaces;

// The beginning of a WeldDict, which emitted code reads to find keys.
typedef struct WeldTable {
    uint64_t* index;  // slots: the tag in the upper kWeldTagBits, number of the entry + 1 below; 0: free
    char* entries;    // {key, value}, as structs lie in memory; behind it the head of the first string
    uint64_t mask;    // slots - 1
    int64_t shift;    // the search for a key begins at slot (tag >> shift) & mask
    struct WeldRowBuffer* partitions;  // of a dictmerger's large table, else null: what is merged is appended
                                       // as a row {key, value} to buffer (tag >> buffer_shift)
    int64_t buffer_shift;              // such that the first kWeldPartitionBits are left, or none
    const WeldPlaces* places;          // null: there are none
    int64_t crowded;                   // so many chunks of a loop have too many keys, likely, to hold them (WeldHeldKeys)
} WeldTable;

enum { kWeldPartitionBits = 8 };

// Where the next row goes. When that is at the end, weld_rt_dict_next_buffer makes room, or a table that rows are merged
// into again.
typedef struct WeldRowBuffer {
    char* next;
    char* end;
} WeldRowBuffer;

// The groups of a dictmerger while they lie where the numbers in keys say (runtime/spread.h).
typedef struct WeldSpread {
    char* slots;       // entries by place, each with the key of a group that belongs there, or one that never does
    uint32_t* owners;  // by place: the number of the entry, + 1; 0: none. NULL: no key has a slot
    uint64_t mask;     // how places are made, as WeldPlaces says
    uint64_t shift1;
    uint64_t shift2;
    uint64_t shift3;
    int64_t most;      // bytes that slots take
    int64_t misses;    // so many rows had a key that was not at its place
    int64_t renewals;  // so often places were made anew meanwhile
} WeldSpread;

// What a loop over lanes holds of a dictmerger with few keys (codegen/builders/groups.h), beside values in registers.
// The keys follow, a word of 1, 2, 4 or 8 bytes each.
typedef struct WeldHeldKeys {
    int64_t held;  // above `most`: a key was met that there was no place for
    int64_t most;
} WeldHeldKeys;

// States of builders, as they cross function boundaries (inside a function they live in registers):
//   appender[T]       WeldAppender
//   merger[T,op]      T
//   dictmerger        WeldDict*
//   groupmerger       WeldAppender* (of rows {key, value}, until result)
//   topk[T]           WeldTopK*
//   vecmerger[T,op]   WeldVec       (its own copy of the initial vector, or that itself)
typedef struct WeldAppender {
    void* data;
    int64_t size;
    int64_t capacity;
} WeldAppender;

enum { kWeldMostInSlab = 2048 };  // bytes of a vector; longer ones have a block of their own
enum { kWeldScratchAlign = 64 };  // of vectors that go before their round ends: lanes of them cross no line of the cache

// The state of a topk. As many elements as it gives are known once `is_full`; what comes later has to be less
// than the last of them, which begins with `bound` (as far as it goes). The rest is the runtime's.
enum { kWeldBoundBytes = 16 };
typedef struct WeldTopK {
    int64_t is_full;
    char bound[kWeldBoundBytes];
    WeldAppender elements;
    int64_t most;  // that it gives
} WeldTopK;

// ---- descriptions of types -------------------------------------------------------------------------------

enum WeldKind {
#define WELD_SCALAR(name, ...) kWeld##name,
#include "runtime/abi/scalars.def"
    kWeldSimd,         // args: {scalar}; lanes = size / args[0]->size
    kWeldVec,          // args: {elem}
    kWeldDict,         // args: {key, value}
    kWeldStruct,       // args: fields, at `offsets`
    // Builders. args: those of the builder; of one that keeps what is merged, the type of that. op
    kWeldFirstBuilder,
    kWeldBeforeBuilders = kWeldFirstBuilder - 1,  // the first row follows
#define WELD_BUILDER(name, ...) kWeld##name,
#include "runtime/abi/builders.def"
};
enum WeldMergeOp {
#define WELD_MERGE_OP(name, ...) kWeld##name,
#include "runtime/abi/merge_ops.def"
};
// An operator for each field of a struct is 4, how many there are from bit 3 on, and that of field k from bit
// 7 + 2 * k on (MergeOp in weldir/ir/type.h).

typedef struct WeldType {
    int32_t kind;          // WeldKind
    int32_t holds_pointer; // its values refer to memory of their own
    int32_t plain;         // equal values have equal bytes and no padding: integers, bool, and packed structs of them
    int32_t op;            // WeldMergeOp, or those of the fields
    int64_t num_args;
    int64_t size;          // in bytes, with padding at the end
    int64_t align;
    const struct WeldType* const* args;
    const int64_t* offsets;  // kWeldStruct
} WeldType;

// ---- a run ------------------------------------------------------------------------------------------------

struct WeldRun;
struct WeldRegion;

// The beginning of a task, which emitted code reads. The rest is the runtime's.
typedef struct WeldTask {
    std::atomic<int32_t>* stop;  // not 0: weld_rt_stopped says whether to leave
    int64_t debt;                // bytes allocated in the innermost region since it was last collected;
                                 // above 0 (it starts at minus the allowance) weld_rt_collect is due
    struct WeldRun* run;
    struct WeldRegion* region;
    const char* stack_end;       // functions that call themselves do not go below: weld_rt_deeper
    char* slab;                  // [slab, slab_end): room in which short vectors lie one behind the other; both null:
    char* slab_end;              // there is none. weld_rt_slab_grow takes more
    char* scratch;               // the same for those that go before the round ends, the last one first
    char* scratch_end;
} WeldTask;

// A module function, called through memory: `args` is a C struct of its parameters. Returns a status.
typedef int32_t (*WeldFunctionFn)(WeldTask* task, const void* args, void* result);

// A loop body over [lo, hi): takes the state of its builder at `state` and leaves the new one there. Returns a status.
typedef int32_t (*WeldLoopFn)(WeldTask* task, const void* captures, void* state, int64_t lo, int64_t hi);

// `a` compared to `b`: writes <0, 0 or >0. Returns a status.
typedef int32_t (*WeldCompareFn)(WeldTask* task, const void* captures, const void* a, const void* b, int32_t* order);

// How a loop may be cut. Chunks depend on `n` and this alone, never on threads. For weld_rt_function, `body` is a
// WeldFunctionFn, and there is no more than that and `number`.
typedef struct WeldLoop {
    WeldLoopFn body;
    const WeldType* state;   // a builder, or a struct of builders
    int64_t cost;            // estimated picoseconds of an iteration, at least 1
    int64_t multiple;        // chunks begin at multiples of this (lanes of a simd loop), at least 1
    int32_t parallel;        // 0: chunks run one after the other on the calling thread
    int32_t loc;
    const int64_t* appends;  // per appender in `state`, depth first: merges in each iteration if that number is
                             // always the same (memory is then set aside exactly), else negative
    int64_t number;          // in WeldTiers, if the run has one and this is not negative
} WeldLoop;

// Loops, rounds and functions whose `body` was compiled the quick way, by number. Optimised code gives the same bits.
typedef struct WeldTiers {
    int64_t size;                        // how many there are
    std::atomic<WeldLoopFn>* optimised;  // null: is not there
    std::atomic<int64_t>* work;          // estimated picoseconds that went through the quick code so far
    int64_t worth;                       // so many are worth optimising a loop
    std::atomic<int64_t> runs;           // that began so far
    // Has a loop optimised on another thread, if nobody did. Gives 0 if that is no longer going on, having waited for
    // that for `milliseconds` at most.
    int32_t (*optimise)(struct WeldTiers* tiers, int64_t number, int32_t milliseconds);
} WeldTiers;

// ---- kernels ----------------------------------------------------------------------------------------------

// A call of a built-in kernel (kernels.def).
typedef struct WeldCall {
    const void* const* args;       // pointers to the arguments
    const WeldType* const* types;  // of the variables of the row, in the order in which it first names them; those of
                                   // a repeated parameter once for each time
    int32_t num_args;
    int32_t loc;                   // the place of the call
} WeldCall;

// Fills the room at `result`, which is zero. Returns a status.
typedef int32_t WeldKernelFn(WeldTask* task, const WeldCall* call, void* result) noexcept;

// ---- failures ---------------------------------------------------------------------------------------------

// Codes of Weld 0.4, then ours.
enum WeldErrno {
    kWeldSuccess = 0, kWeldConfigurationError, kWeldLoadLibraryError, kWeldCompileError, kWeldArrayOutOfBounds,
    kWeldBadIteratorLength, kWeldMismatchedZipSize, kWeldOutOfMemory, kWeldRunNotFound, kWeldUnknown,
    kWeldDeserializationError, kWeldKeyNotFound, kWeldAssertionError, kWeldErrnoMax,
    kWeldDivisionByZero = 14, kWeldCancelled, kWeldKernelError, kWeldStackOverflow,
    kWeldInvalidArgument
};

}
