/* clang-format off */
/* The C interface of Weld: compile a program once, run it on memory of yours from any number of threads.
 *
 *     weld_error_t   error   = weld_error_new();
 *     weld_module_t  module  = weld_module_compile("|v: vec[i32]| map(v, |x| x * 2)", NULL, error);
 *     weld_context_t context = weld_context_new(NULL);
 *     struct { struct { int32_t* data; int64_t len; } v; } args = {{numbers, count}};
 *     weld_value_t   input   = weld_value_new(&args);
 *     weld_value_t   output  = weld_module_run(module, context, input, error);
 *     if (!output) fprintf(stderr, "%s\n", weld_error_message(error));
 *
 * The functions, error codes, configuration keys and memory layouts are those of Weld 0.4 and, where their
 * names did not survive until then, of Weld 0.2: programs for either compile and run. What neither had
 * stands under "beyond the original". C99, C++98 and later. docs/c-api.md explains with examples.
 *
 * Rules for all functions
 *  - A handle belongs to you until you free it. NULL, a freed handle and a handle of another kind are told
 *    apart from good ones as long as no new handle took their address: functions then fail or do nothing.
 *    Freeing NULL does nothing.
 *  - Every function may be called by several threads at once, also for the same handle, except that one
 *    weld_error_t or weld_conf_t is for one thread at a time. Freeing a handle that another thread is using
 *    is fine: what is going on ends first.
 *  - Strings go in as UTF-8 ending in NUL and are copied. A `const char*` that comes out belongs to the
 *    handle it came from; a `char*` is yours, for weld_string_free.
 *  - Where a function takes a weld_error_t, it overwrites what that held; NULL says that you don't care.
 *
 * Memory of values
 *    i8 ... i64, u8 ... u64, f32, f64    as int8_t ... double
 *    bool                                one byte; any value but 0 is true going in; 0 or 1 coming out
 *    {T1,T2,...}                         struct by the rules of C
 *    vec[T]                              struct { T* data; int64_t len; }, elements as in an array of C
 *    a string                            vec[i8] or vec[u8], no NUL at its end
 *    dict[K,V]                           one pointer, weld_dict_t below
 *    appender[T]                         struct { T* data; int64_t size; int64_t capacity; }
 *    other builders                      opaque; take sizes from weld_module_return_size
 * The arguments of a program are one struct of its parameters in order, also if there is only one. Weld
 * never writes to them and copies nothing: a result may point into them (slices, fields, elements of sorted
 * vectors), so memory of yours has to live as long as it. Elements have to be aligned as C has them.
 */
#ifndef WELD_WELD_H_
#define WELD_WELD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- handles and numbers -------------------------------------------------------------------------------- */

typedef struct WeldConf WeldConf;
typedef struct WeldContext WeldContext;
typedef struct WeldError WeldError;
typedef struct WeldModule WeldModule;
typedef struct WeldValue WeldValue;

typedef WeldConf* weld_conf_t;       /* configuration: text values under text keys */
typedef WeldContext* weld_context_t; /* memory with a limit, that runs take results from */
typedef WeldError* weld_error_t;     /* what the last call that took it had to say */
typedef WeldModule* weld_module_t;   /* a compiled program */
typedef WeldValue* weld_value_t;     /* arguments of yours, or the result of a run */

typedef uint64_t weld_errno_t;
typedef uint64_t weld_log_level_t;

/* What weld_error_code returns. Up to WELD_ERRNO_MAX as in Weld 0.4, then ours. */
enum {
    WELD_SUCCESS = 0,
    WELD_CONFIGURATION_ERROR = 1,   /* a run was given a configuration with a bad value */
    WELD_LOAD_LIBRARY_ERROR = 2,    /* kept for its number: weld_load_library reports 3, as it always did */
    WELD_COMPILE_ERROR = 3,         /* the program or its configuration is wrong; or a library won't load */
    WELD_ARRAY_OUT_OF_BOUNDS = 4,   /* lookup, slice, vecmerger: an index outside of its vector */
    WELD_BAD_ITERATOR_LENGTH = 5,   /* iter, rangeiter: start, end, stride and length don't go together */
    WELD_MISMATCHED_ZIP_SIZE = 6,   /* zipped iterators of different lengths */
    WELD_OUT_OF_MEMORY = 7,         /* the limit of the context, or the machine's */
    WELD_RUN_NOT_FOUND = 8,         /* weld_runst_get_errno of what is no run */
    WELD_UNKNOWN = 9,
    WELD_DESERIALIZATION_ERROR = 10,
    WELD_KEY_NOT_FOUND_ERROR = 11,
    WELD_ASSERTION_ERROR = 12,
    WELD_ERRNO_MAX = 13,            /* no code: the first number after those of Weld 0.4 */
    WELD_DIVISION_BY_ZERO = 14,     /* integer `/` and `%` */
    WELD_CANCELLED = 15,            /* weld_context_cancel */
    WELD_KERNEL_ERROR = 16,         /* a user function threw, or a library routine failed */
    WELD_STACK_OVERFLOW = 17,
    WELD_INVALID_ARGUMENT = 18      /* a handle or pointer that cannot be right */
};

/* For weld_set_log_level; the names are 0.2's. */
#define WELD_LOG_LEVEL_OFF 0
#define WELD_LOG_LEVEL_ERROR 1
#define WELD_LOG_LEVEL_WARN 2
#define WELD_LOG_LEVEL_INFO 3
#define WELD_LOG_LEVEL_DEBUG 4
#define WELD_LOG_LEVEL_TRACE 5

/* ---- configuration -------------------------------------------------------------------------------------- */

/* An empty configuration: everything is at its default. docs/c-api.md lists the keys. */
weld_conf_t weld_conf_new(void);

/* Returns NULL, always (Weld 0.2 declared a result, 0.4 none). */
weld_conf_t weld_conf_free(weld_conf_t conf);

/* The value that was set, or NULL: defaults are not reported. Good until the next set of that key. */
const char* weld_conf_get(weld_conf_t conf, const char* key);

/* Values are checked by those who use them: compiling, making a context. Unknown keys are kept. */
void weld_conf_set(weld_conf_t conf, const char* key, const char* value);

/* ---- contexts ------------------------------------------------------------------------------------------- */

/* Reads weld.memory.limit and weld.threads. NULL if any value in `conf` is wrong. A NULL `conf` is empty. */
weld_context_t weld_context_new(weld_conf_t conf);

/* Bytes of live results and of runs in progress. */
int64_t weld_context_memory_usage(weld_context_t context);

/* Gives up this reference. The context lives on while values or other references need it. */
void weld_context_free(weld_context_t context);

/* ---- values --------------------------------------------------------------------------------------------- */

/* Wraps memory of yours as arguments; `data` points to the struct of parameters. Nothing is copied. */
weld_value_t weld_value_new(const void* data);

/* Where the value is: for a result of type T, a pointer to a T. */
void* weld_value_data(weld_value_t value);

/* A new reference to the context that a result came from, to be freed by you. NULL for other values. */
weld_context_t weld_value_context(weld_value_t value);

/* The number of the run that made it, from 0; -1 for values that no run made. */
int64_t weld_value_run(weld_value_t value);

/* Bytes that a result holds; -1 for values that no run made. */
int64_t weld_value_memory_usage(weld_value_t value);

/* Ends the value. Memory of a result goes back to its context, which uses it for the next run (until then,
 * what pointed there can still be read); memory wrapped by weld_value_new is left alone. */
void weld_value_free(weld_value_t value);

/* ---- programs ------------------------------------------------------------------------------------------- */

/* NULL if there is a mistake in `code`, or a bad value in `conf`: the error then says what and where. */
weld_module_t weld_module_compile(const char* code, weld_conf_t conf, weld_error_t error);

/* Runs the program. `context` is a weld_context_t, or as in Weld 0.2 a weld_conf_t: the run then has memory
 * of its own that goes with the value. `argument` may be NULL if the program has no parameters. NULL if the
 * run failed: the error then holds the code, and the message says where in the program. */
weld_value_t weld_module_run(weld_module_t module, void* context, weld_value_t argument, weld_error_t error);

/* Results stay good, string literals in them too. */
void weld_module_free(weld_module_t module);

/* ---- errors --------------------------------------------------------------------------------------------- */

weld_error_t weld_error_new(void);
uint64_t weld_error_code(weld_error_t error); /* WELD_SUCCESS, or one of the codes above */

/* "" at first, "Success" after a call that went well. For a mistake in a program: every finding with file,
 * line and column, the line itself and a mark under the spot. */
const char* weld_error_message(weld_error_t error);
void weld_error_free(weld_error_t error);

/* ---- the process ---------------------------------------------------------------------------------------- */

/* Loads a shared library whose functions `cudf` may call. Again does nothing. Functions of the program
 * itself are found without, if it exports them (-rdynamic). */
void weld_load_library(const char* path, weld_error_t error);

/* From now on messages up to this level go to standard error. At first none do. */
void weld_set_log_level(weld_log_level_t level);

/* ---- beyond the original -------------------------------------------------------------------------------- */

/* "0.5.0" */
const char* weld_version(void);

/* Where in the program: from 1, or 0 if no place is known. Columns count code points. */
uint64_t weld_error_line(weld_error_t error);
uint64_t weld_error_column(weld_error_t error);

/* The finding alone, in one line: "`+` takes operands of one type, found `i32` and `f64`". */
const char* weld_error_summary(weld_error_t error);

/* What the compiler warned about, drawn like errors; "" if nothing. */
const char* weld_module_warnings(weld_module_t module);

/* The types of a program as text: `{i32,vec[f64]}`. NULL (or -1) if there is no such parameter. */
int64_t weld_module_num_params(weld_module_t module);
const char* weld_module_param_name(weld_module_t module, int64_t index);
const char* weld_module_param_type(weld_module_t module, int64_t index);
const char* weld_module_return_type(weld_module_t module);

/* In bytes: where a parameter lies in the struct of arguments; the size of that struct and of the result. */
int64_t weld_module_param_offset(weld_module_t module, int64_t index);
int64_t weld_module_params_size(weld_module_t module);
int64_t weld_module_return_size(weld_module_t module);

/* The type of a result as text; NULL for values that no run made. */
const char* weld_value_type(weld_value_t value);

/* A result as one line of JSON: structs and vectors are arrays, dictionaries arrays of [key, value] in the
 * order of keys, floats read back exactly (NaN, Infinity, -Infinity bare). NULL with the error set for values
 * that no run made, and for builders. */
char* weld_value_to_json(weld_value_t value, weld_error_t error);

/* The same as Weld writes it: {1, 2.5}, [1, 2], {1: "one"}. */
char* weld_value_to_text(weld_value_t value, weld_error_t error);

void weld_string_free(char* text);

/* The most that weld_context_memory_usage has been, and what it may not exceed. */
int64_t weld_context_memory_peak(weld_context_t context);
int64_t weld_context_memory_limit(weld_context_t context);

/* Gives memory that the context keeps for coming runs back to the machine. */
void weld_context_trim(weld_context_t context);

/* Stops all runs that are going on in the context; they fail with WELD_CANCELLED, within some 50 ms on a machine
 * with nothing else to do, but for user functions and regular expressions over one long text, which end
 * first. Runs that begin later are not concerned. */
void weld_context_cancel(weld_context_t context);

/* Where programs print to. `write` gets the bytes of each piece of text, with no NUL after them, in the order of the
 * program and on the thread that runs it; if it does not return 0, the run fails with WELD_KERNEL_ERROR. Runs that
 * go on at once in one context may call it at once. A NULL `write` means the standard output of the process (the
 * `stdout` of C), as does a context that was never told. Concerns runs that begin later; those whose first argument
 * is a weld_conf_t print to the standard output. */
typedef int (*weld_output_t)(void* data, const char* text, size_t size);
void weld_context_set_output(weld_context_t context, weld_output_t write, void* data);

/* Dictionaries. A weld_dict_t is what a result of type dict[K,V] holds: weld_value_data points to one. It can
 * be read as long as the value lives. NULL has no entries. */
typedef struct WeldDict* weld_dict_t;

int64_t weld_dict_size(weld_dict_t dict);

/* Entry `index`, from 0 to weld_dict_size - 1, in an order that says nothing. NULL if there is none. */
const void* weld_dict_key(weld_dict_t dict, int64_t index);
const void* weld_dict_value(weld_dict_t dict, int64_t index);

/* The value that `key` points out, or NULL. A key compares by what it means, as in a program. */
const void* weld_dict_find(weld_dict_t dict, const void* key);

/* ---- the original's runtime ------------------------------------------------------------------------------
 * Weld 0.4's library also exported what its compiled code called. Nothing of ours calls these; they are here
 * for whatever was linked against them, and do what their names say on a run that is an account of memory, an
 * error number and a result. */

void weld_init(void);
void* weld_runst_init(int32_t num_workers, int64_t memory_limit);
void weld_runst_release(void* run);
void* weld_runst_malloc(void* run, int64_t size); /* NULL beyond the limit, which sets WELD_OUT_OF_MEMORY */
void* weld_runst_realloc(void* run, void* data, int64_t size);
void weld_runst_free(void* run, void* data);
void weld_runst_set_result(void* run, void* data);
void* weld_runst_get_result(void* run);
void weld_runst_set_errno(void* run, weld_errno_t code);
weld_errno_t weld_runst_get_errno(void* run);
uint8_t weld_runst_assert(void* run, uint8_t condition); /* returns it; 0 sets WELD_ASSERTION_ERROR */
void weld_runst_print(void* run, const char* text);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
