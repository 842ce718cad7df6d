// Declarations of the functions of runtime/abi/entry.def, with the types that its letters stand for.
#pragma once

#include <cstdint>

#include "runtime/abi/weld_abi.h"

// Those that are not `noexcept` throw std::bad_alloc if C++ has no memory for them. Emitted code, of which no
// frame can be unwound, calls them through what `entry_address` gives: there it is a failure of the run.

extern "C" {

void weld_rt_fail_at(WeldTask* task, std::int32_t code, std::int32_t loc, std::int64_t a, std::int64_t b);
std::int32_t weld_rt_fail_assert(WeldTask* task, const void* text, std::int64_t len, std::int32_t loc);
void weld_rt_fail_bounds(WeldTask* task, std::int32_t loc, std::int64_t start, std::int64_t end,
                         std::int64_t stride, std::int64_t len);
std::int32_t weld_rt_stopped(WeldTask* task, std::int32_t loc) noexcept;
std::int32_t weld_rt_deeper(WeldTask* task, WeldFunctionFn function, const void* args, void* result,
                            std::int32_t loc);

void* weld_rt_alloc(WeldTask* task, std::int64_t count, std::int64_t size, std::int32_t loc) noexcept;
std::int32_t weld_rt_copy(WeldTask* task, void* to, const void* from, std::int64_t bytes,
                          std::int32_t loc) noexcept;
void weld_rt_free(WeldTask* task, void* data) noexcept;
void* weld_rt_give(WeldTask* task, void* data) noexcept;
void weld_rt_free_given(WeldTask* task, void* data) noexcept;
void weld_rt_dict_free(WeldTask* task, WeldDict* dict) noexcept;
void weld_rt_region_enter(WeldTask* task) noexcept;
void weld_rt_region_exit(WeldTask* task) noexcept;
void weld_rt_collect(WeldTask* task, const void* value, const WeldType* type);

std::int32_t weld_rt_function(WeldTask* task, const WeldLoop* function, const void* args, void* result);
std::int32_t weld_rt_loop(WeldTask* task, const WeldLoop* loop, const void* captures, void* state,
                          std::int64_t n);
std::int64_t weld_rt_nd_rounds(WeldTask* task, const WeldVec* shape, const WeldVec* strides,
                               std::int64_t start, std::int64_t len, std::int32_t loc);
std::int64_t weld_rt_nd_offset(const WeldVec* shape, const WeldVec* strides, std::int64_t round) noexcept;

std::int32_t weld_rt_appender_grow(WeldTask* task, WeldAppender* appender, std::int64_t room,
                                   std::int64_t size, std::int32_t loc);
std::int32_t weld_rt_appender_expect(WeldTask* task, WeldAppender* appender, std::int64_t rounds,
                                     std::int64_t each, std::int64_t size, std::int32_t loc);
std::int32_t weld_rt_slab_grow(WeldTask* task, WeldAppender* appender, std::int64_t room, std::int64_t size,
                               std::int32_t loc);
std::int32_t weld_rt_scratch_grow(WeldTask* task, WeldAppender* appender, std::int64_t room,
                                  std::int64_t size, std::int32_t loc);
WeldDict* weld_rt_dict_new(WeldTask* task, const WeldType* key, const WeldType* value, std::int32_t loc);
std::int32_t weld_rt_dict_merge(WeldTask* task, WeldDict* dict, const void* key, const void* value,
                                std::int32_t op, std::int32_t loc);
std::int32_t weld_rt_dict_should_spread(WeldTask* task, WeldDict* dict, std::int64_t bytes,
                                        std::int64_t rows);
std::int32_t weld_rt_dict_spread(WeldTask* task, WeldDict* dict, WeldSpread* spread, std::int64_t bytes,
                                 std::int32_t loc);
std::int32_t weld_rt_dict_merge_spread(WeldTask* task, WeldDict* dict, WeldSpread* spread, const void* key,
                                       const void* value, std::int32_t op, std::int32_t loc);
std::int32_t weld_rt_dict_gather(WeldTask* task, WeldDict* dict, WeldSpread* spread, std::int64_t rows);
std::int32_t weld_rt_dict_hold(WeldTask* task, WeldDict* dict, WeldHeldKeys* held, const void* keys,
                               const void* values, std::int64_t lanes, std::int64_t mask, std::int32_t op,
                               std::int32_t loc);
std::int32_t weld_rt_dict_release(WeldTask* task, WeldDict* dict, WeldHeldKeys* held, const void* values,
                                  std::int64_t lanes, std::int64_t bytes, std::int32_t op, std::int32_t loc);
std::int32_t weld_rt_dict_next_buffer(WeldTask* task, WeldDict* dict, WeldRowBuffer* buffer,
                                      std::int32_t loc);
WeldDict* weld_rt_dict_result(WeldTask* task, WeldDict* dict, std::int32_t loc);
WeldAppender* weld_rt_group_new(WeldTask* task, std::int32_t loc);
WeldDict* weld_rt_group_result(WeldTask* task, WeldAppender* rows, const WeldType* row, std::int32_t loc);
WeldTopK* weld_rt_topk_new(WeldTask* task, std::int64_t most, std::int32_t loc);
std::int32_t weld_rt_topk_merge(WeldTask* task, WeldTopK* k, const WeldType* elem, const void* value,
                                std::int32_t loc);
std::int32_t weld_rt_topk_result(WeldTask* task, WeldTopK* k, const WeldType* elem, WeldVec* out,
                                 std::int32_t loc);

const void* weld_rt_dict_find(WeldTask* task, const WeldDict* dict, const void* key) noexcept;
std::uint64_t weld_rt_hash_bytes(const void* data, std::int64_t bytes) noexcept;
std::int32_t weld_rt_equal_bytes(const void* a, const void* b, std::int64_t bytes) noexcept;
std::int64_t weld_rt_dict_len(const WeldDict* dict) noexcept;
void weld_rt_dict_of_few(WeldTask* task, WeldDict* dict);
std::int32_t weld_rt_dict_settle(WeldTask* task, WeldDict* dict, std::int32_t loc);
std::int32_t weld_rt_dict_entries(WeldTask* task, const WeldDict* dict, const WeldType* pair, WeldVec* out,
                                  std::int32_t loc);

std::int32_t weld_rt_compare(WeldTask* task, const WeldType* type, const void* a, const void* b) noexcept;
std::int32_t weld_rt_sort(WeldTask* task, const WeldVec* in, const WeldType* elem, WeldCompareFn compare,
                          const void* captures, WeldVec* out, std::int64_t limit, std::int32_t loc);
std::int32_t weld_rt_sort_keys(WeldTask* task, const WeldVec* in, const WeldType* elem, const WeldVec* keys,
                               const WeldType* key, WeldVec* out, std::int64_t limit, std::int32_t loc);
std::int32_t weld_rt_serialize(WeldTask* task, const WeldType* type, const void* value, WeldVec* out,
                               std::int32_t loc);
std::int32_t weld_rt_deserialize(WeldTask* task, const WeldType* type, const WeldVec* bytes, void* out,
                                 std::int32_t loc);

std::int32_t weld_rt_check_given(WeldTask* task, const WeldType* type, const void* value, std::int32_t loc);
std::int32_t weld_rt_call(WeldTask* task, void* function, void** args, std::int64_t count, std::int32_t loc);
}
