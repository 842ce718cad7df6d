/* clang-format off */
/* Arrow in and out, by the Arrow C Data Interface: without linking Arrow, and without copying where the layouts agree.
 *
 *     Arrow                                    Weld
 *     int8 ... uint64, float, double           vec[i8] ... vec[u64], vec[f32], vec[f64]         not copied
 *     dates, times, timestamps, durations      vec[i32] or vec[i64], as they are stored         not copied
 *     bool                                     vec[bool]                                        copied
 *     large_utf8, large_binary                 {vec[i64],vec[u8]}: offsets and bytes            not copied
 *                                              vec[vec[i8]], vec[vec[u8]]                       bytes not copied
 *     utf8, binary                             {vec[i32],vec[u8]}                               not copied
 *                                              {vec[i64],vec[u8]}                               bytes not copied
 *                                              vec[vec[i8]], vec[vec[u8]]                       bytes not copied
 *     struct (a record batch)                  a struct of the above, by position
 *
 * Values that are missing (nulls) have no counterpart: an array that has some is refused. See docs/c-api.md.
 */
#ifndef WELD_ARROW_H_
#define WELD_ARROW_H_

#include <weld/weld.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The two structs of the interface, as its specification has them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};

#endif

/* Arguments for `module`: array number i becomes its parameter number i. The arrays are moved: they are released when
 * neither the value needs them nor a result that points into them. On failure they stay yours, and NULL comes back.
 * The schemas are only read. */
weld_value_t weld_value_from_arrow(weld_module_t module, struct ArrowArray* const* arrays,
                                   const struct ArrowSchema* const* schemas, int64_t count, weld_error_t error);

/* A result as an Arrow array with its schema, both for you to release. They own all that they consist of, so the value
 * and its arguments may be freed before. vec[vec[i8]] and {vec[i64],vec[u8]} become large_utf8, vec[vec[u8]] large_binary; any other
 * struct of vectors of one length becomes a struct array, with fields named 0, 1, ... Returns the code of the error. */
uint64_t weld_value_to_arrow(weld_value_t value, struct ArrowArray* array, struct ArrowSchema* schema,
                             weld_error_t error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
