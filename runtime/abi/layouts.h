// clang-format off: the columns are set by hand
// The fields of the structs of weld_abi.h that emitted code reads, writes or makes, one macro per struct. FIELD(struct,
// name, type), with the letters of entry.def: i is an i32, l an i64, p a pointer; b a byte. codegen/layouts.h makes of
// them what emitting is done with, and asserts that they are as the struct has them.
#pragma once

// Whole structs, in order: emitted code makes them.
#define WELD_VEC_FIELDS(FIELD)      FIELD(WeldVec, data, p)       FIELD(WeldVec, len, l)
#define WELD_APPENDER_FIELDS(FIELD) FIELD(WeldAppender, data, p)  FIELD(WeldAppender, size, l)  \
                                    FIELD(WeldAppender, capacity, l)
#define WELD_TABLE_FIELDS(FIELD)    FIELD(WeldTable, index, p)    FIELD(WeldTable, entries, p)  \
                                    FIELD(WeldTable, mask, l)     FIELD(WeldTable, shift, l)    \
                                    FIELD(WeldTable, partitions, p) FIELD(WeldTable, buffer_shift, l) \
                                    FIELD(WeldTable, places, p)   FIELD(WeldTable, crowded, l)
#define WELD_ROW_BUFFER_FIELDS(FIELD) FIELD(WeldRowBuffer, next, p) FIELD(WeldRowBuffer, end, p)
#define WELD_SPREAD_FIELDS(FIELD)   FIELD(WeldSpread, slots, p)   FIELD(WeldSpread, owners, p) \
                                    FIELD(WeldSpread, mask, l)    FIELD(WeldSpread, shift1, l)  \
                                    FIELD(WeldSpread, shift2, l)  FIELD(WeldSpread, shift3, l)  \
                                    FIELD(WeldSpread, most, l)    FIELD(WeldSpread, misses, l)  \
                                    FIELD(WeldSpread, renewals, l)
#define WELD_HELD_KEYS_FIELDS(FIELD) FIELD(WeldHeldKeys, held, l) FIELD(WeldHeldKeys, most, l)
#define WELD_TYPE_FIELDS(FIELD)     FIELD(WeldType, kind, i)      FIELD(WeldType, holds_pointer, i) \
                                    FIELD(WeldType, plain, i)     FIELD(WeldType, op, i)        \
                                    FIELD(WeldType, num_args, l)  FIELD(WeldType, size, l)      \
                                    FIELD(WeldType, align, l)     FIELD(WeldType, args, p)      \
                                    FIELD(WeldType, offsets, p)
#define WELD_LOOP_FIELDS(FIELD)     FIELD(WeldLoop, body, p)      FIELD(WeldLoop, state, p)     \
                                    FIELD(WeldLoop, cost, l)      FIELD(WeldLoop, multiple, l)  \
                                    FIELD(WeldLoop, parallel, i)  FIELD(WeldLoop, loc, i)       \
                                    FIELD(WeldLoop, appends, p)   FIELD(WeldLoop, number, l)
#define WELD_CALL_FIELDS(FIELD)     FIELD(WeldCall, args, p)      FIELD(WeldCall, types, p)     \
                                    FIELD(WeldCall, num_args, i)  FIELD(WeldCall, loc, i)

// Those of which emitted code sees a part.
#define WELD_TASK_FIELDS(FIELD)     FIELD(WeldTask, stop, p)      FIELD(WeldTask, debt, l)      \
                                    FIELD(WeldTask, stack_end, p) FIELD(WeldTask, slab, p)      \
                                    FIELD(WeldTask, slab_end, p)  FIELD(WeldTask, scratch, p)   \
                                    FIELD(WeldTask, scratch_end, p)
#define WELD_TOPK_FIELDS(FIELD)     FIELD(WeldTopK, is_full, l)
