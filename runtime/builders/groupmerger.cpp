// groupmerger[K,V]: an array of the rows {key, value} that have been merged (appender.cpp), which `result`
// groups.
#include "runtime/entry.h"
#include "runtime/groups.h"

using namespace weld::runtime;

extern "C" WeldAppender* weld_rt_group_new(WeldTask* t, std::int32_t loc) {
    WeldAppender* rows = allocate_array<WeldAppender>(task_of(t), 1, loc);
    if (rows) *rows = {nullptr, 0, 0};
    return rows;
}

extern "C" WeldDict* weld_rt_group_result(WeldTask* t, WeldAppender* rows, const WeldType* row,
                                          std::int32_t loc) {
    const WeldAppender all = *rows;
    *rows = {nullptr, 0, 0};  // a value that is looked at later may still name it
    return group_rows(task_of(t), {row->args[0], row->args[1]}, static_cast<char*>(all.data), all.size, loc);
}
