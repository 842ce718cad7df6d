// What the handles of weld.h stand for, and how its functions report errors: for the files that implement
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/config.h"
#include "frontend/api/context.h"
#include "frontend/api/handles.h"
#include "weld/weld.h"

struct WeldConf : weld::Handle {
    static constexpr weld::HandleKind kKind = weld::HandleKind::Conf;
    WeldConf() : Handle(kKind) {}
    weld::Config config;
};

/// One reference to a context.
struct WeldContext : weld::Handle {
    static constexpr weld::HandleKind kKind = weld::HandleKind::Context;
    explicit WeldContext(std::shared_ptr<weld::Context> c) : Handle(kKind), context(std::move(c)) {}
    const std::shared_ptr<weld::Context> context;
};

struct WeldError : weld::Handle {
    static constexpr weld::HandleKind kKind = weld::HandleKind::Error;
    WeldError() : Handle(kKind) {}
    std::uint64_t code = WELD_SUCCESS;
    std::string message;
    weld::Finding finding;
};

struct WeldModule : weld::Handle {
    static constexpr weld::HandleKind kKind = weld::HandleKind::Module;
    WeldModule() : Handle(kKind) {}
    std::shared_ptr<const weld::Program> program;
    /// Of a program that may end before its text does: what its rest is compiled from.
    std::string text;
    std::shared_ptr<const weld::CompileOptions> rest_options;
    int most_threads = 0;
    std::string warnings;
    std::vector<std::string> param_names, param_types;
    std::string return_type;
};

/// Memory of the caller, memory that is freed with it, or what a run returned.
struct WeldValue : weld::Handle {
    static constexpr weld::HandleKind kKind = weld::HandleKind::Value;
    explicit WeldValue(const void* d, std::shared_ptr<void> o = nullptr)
        : Handle(kKind), data(const_cast<void*>(d)), owned(std::move(o)) {}
    WeldValue(std::shared_ptr<weld::Context> c, weld::RunReport r)
        : Handle(kKind),
          data(r.result->outcome.value()),
          type(weld::name_of(r.result->program().result())),
          context(std::move(c)),
          result(std::move(r.result)),
          reach(std::move(r.reach)),
          others(std::move(r.others)) {}
    void* const data;
    const std::string type;
    const std::shared_ptr<weld::Context> context;
    const std::shared_ptr<weld::RunResult> result;   ///< null: no run made it
    const std::shared_ptr<const weld::Reach> reach;  ///< on what that points into; maybe null
    const weld::Holds others;
    const std::shared_ptr<void> owned;  ///< what goes with it if no run made it
};

namespace weld::c_api {

/// The object of a handle; null if it is none of that kind.
template <class T>
std::shared_ptr<T> find(const void* handle) {
    return Handles::all().find<T>(handle);
}

void succeed(weld_error_t error);
/// Returns null, for the caller to return.
std::nullptr_t fail(weld_error_t error, std::uint64_t code, std::string message, Finding finding = {});
void fail_without_memory(weld_error_t error) noexcept;
inline std::nullptr_t fail_argument(weld_error_t error, std::string what) {
    return fail(error, WELD_INVALID_ARGUMENT, std::move(what));
}

/// What `work` returns; nothing, with the error set, if there is no memory for it.
template <class Work>
auto guarded(weld_error_t error, const Work& work) noexcept -> decltype(work()) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        fail_without_memory(error);
        return {};
    }
}

}  // namespace weld::c_api
