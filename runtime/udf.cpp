// User functions: looking them up and calling them with any number of pointers.
#include "runtime/udf.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <exception>
#include <utility>

#include "runtime/entry.h"
#include "runtime/given.h"
#include "runtime/task.h"

namespace weld::runtime {

bool UserLibraries::load(const std::string& path, std::string* error) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* why = dlerror();
        *error = why ? why : "cannot load " + path;
        return false;
    }
    const std::lock_guard lock(mutex_);
    handles_.push_back(handle);
    return true;
}

void* UserLibraries::find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    for (auto handle = handles_.rbegin(); handle != handles_.rend(); ++handle)
        if (void* address = dlsym(*handle, name.c_str())) return address;
    return dlsym(RTLD_DEFAULT, name.c_str());
}

// ---- calls ------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kMostArguments = 128;

using Caller = void (*)(void* function, void** args);

template <std::size_t>
using Pointer = void*;

template <std::size_t... I>
constexpr Caller caller_of(std::index_sequence<I...>) {
    return [](void* function, [[maybe_unused]] void** args) {
        reinterpret_cast<void (*)(Pointer<I>...)>(function)(args[I]...);
    };
}

template <std::size_t... Count>
constexpr std::array<Caller, sizeof...(Count)> all_callers(std::index_sequence<Count...>) {
    return {caller_of(std::make_index_sequence<Count>())...};
}

constexpr auto callers = all_callers(std::make_index_sequence<kMostArguments + 1>());

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

static std::int32_t fail_given(Task* task, const WeldType* elem, const WeldVec& v, std::int32_t loc) {
    const char* where =
        v.data || !elem->size ? v.len < 0 || v.len > Plausible(elem).most ? "" : ", not aligned" : " at NULL";
    return task->fail(kWeldKernelError, loc,
                      fmt::format("a user function gave a vector of length {}{}", v.len, where));
}

extern "C" std::int32_t weld_rt_check_given(WeldTask* t, const WeldType* type, const void* value,
                                            std::int32_t loc) {
    const auto* at = static_cast<const char*>(value);
    if (type->kind == kWeldStruct) {
        for (std::uint32_t i = 0; i < type->num_args; ++i)
            if (weld_rt_check_given(t, type->args[i], at + type->offsets[i], loc)) return kFailed;
    } else if (type->kind == kWeldVec) {
        const WeldType* elem = type->args[0];
        const auto& v = *static_cast<const WeldVec*>(value);
        if (v.len != 0 && !Plausible(elem)(v)) return fail_given(task_of(t), elem, v, loc);
        if (!elem->holds_pointer) return kOk;
        at = static_cast<const char*>(v.data);
        for (std::int64_t i = 0; i < v.len; ++i, at += elem->size)
            if (weld_rt_check_given(t, elem, at, loc)) return kFailed;
    }
    return kOk;
}

extern "C" std::int32_t weld_rt_call(WeldTask* t, void* function, void** args, std::int64_t count,
                                     std::int32_t loc) {
    Task* task = task_of(t);
    if (count < 0 || std::size_t(count) > kMostArguments)
        return task->fail(kWeldKernelError, loc,
                          fmt::format("a user function takes {} arguments; at most {} can be passed",
                                      count - 1, kMostArguments - 1));
    try {
        callers[std::size_t(count)](function, args);
        return kOk;
    } catch (const std::exception& e) {
        return task->fail(kWeldKernelError, loc,
                          fmt::format("a user function threw an exception: {}", e.what()));
    } catch (...) {
        return task->fail(kWeldKernelError, loc, "a user function threw an exception");
    }
}
