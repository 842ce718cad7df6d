// The weld_runst_* functions of Weld 0.4, which its compiled code called: an account of memory, an error
// number and a result.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "frontend/api/handles.h"
#include "weld/weld.h"

using namespace weld;

namespace {

struct Run : Handle {
    static constexpr HandleKind kKind = HandleKind::Run;
    explicit Run(std::int64_t memory_limit) : Handle(kKind), limit(memory_limit) {}
    ~Run() {
        for (const auto& [block, size] : blocks) std::free(block);
    }

    std::mutex mutex;
    const std::int64_t limit;
    std::int64_t used = 0;
    std::unordered_map<void*, std::int64_t> blocks;
    weld_errno_t code = WELD_SUCCESS;
    void* result = nullptr;

    /// Room for `size` bytes in the place of `block` (NULL: new room). NULL if there is none.
    void* resize(void* block, std::int64_t size) {
        std::lock_guard lock(mutex);
        const auto at = blocks.find(block);
        const std::int64_t old = at == blocks.end() ? 0 : at->second;
        if ((block && at == blocks.end()) || size < 0 || size - old > limit - used) return no_memory();
        if (size == 0 && !block) return nullptr;  // as Weld 0.4
        void* room = std::realloc(block, std::size_t(size > 0 ? size : 1));
        if (!room) return no_memory();
        if (at != blocks.end()) blocks.erase(at);
        blocks.emplace(room, size);
        used += size - old;
        return room;
    }
    void* no_memory() {
        code = WELD_OUT_OF_MEMORY;
        return nullptr;
    }
    void release(void* block) {
        std::lock_guard lock(mutex);
        const auto at = blocks.find(block);
        if (at == blocks.end()) return;
        used -= at->second;
        blocks.erase(at);
        std::free(block);
    }
};

std::shared_ptr<Run> find(void* run) { return Handles::all().find<Run>(run); }

}  // namespace

extern "C" {

void weld_init(void) {}

void* weld_runst_init(int32_t, int64_t memory_limit) {
    try {
        return Handles::all().make<Run>(memory_limit);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void weld_runst_release(void* run) { Handles::all().remove<Run>(run); }

void* weld_runst_malloc(void* run, int64_t size) { return weld_runst_realloc(run, nullptr, size); }

void* weld_runst_realloc(void* run, void* data, int64_t size) {
    const auto r = find(run);
    try {
        return r ? r->resize(data, size) : nullptr;
    } catch (const std::bad_alloc&) {
        return r->no_memory();
    }
}

void weld_runst_free(void* run, void* data) {
    if (const auto r = find(run)) r->release(data);
}

void weld_runst_set_result(void* run, void* data) {
    if (const auto r = find(run)) r->result = data;
}

void* weld_runst_get_result(void* run) {
    const auto r = find(run);
    return r ? r->result : nullptr;
}

void weld_runst_set_errno(void* run, weld_errno_t code) {
    if (const auto r = find(run)) r->code = code;
}

weld_errno_t weld_runst_get_errno(void* run) {
    const auto r = find(run);
    return r ? r->code : weld_errno_t(WELD_RUN_NOT_FOUND);
}

uint8_t weld_runst_assert(void* run, uint8_t condition) {
    if (!condition) weld_runst_set_errno(run, WELD_ASSERTION_ERROR);
    return condition;
}

void weld_runst_print(void*, const char* text) {
    if (text) std::printf("%s\n", text);
}

}  // extern "C"
