// For tests of the runtime: descriptions of types made on the spot, and runs with C++ functions as programs.
#pragma once

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/describe.h"
#include "runtime/entry.h"
#include "runtime/task.h"

/// REQUIRE for inner loops: costs nothing when it holds.
#define MUST(condition)                     \
    do {                                    \
        if (!(condition)) FAIL(#condition); \
    } while (0)

namespace weld::runtime::test {

/// Makes descriptions of types; they live as long as it.
class Types {
  public:
    const WeldType* scalar(int kind) {
        constexpr std::int64_t sizes[] = {
#define WELD_SCALAR(name, text, type, family) sizeof(type),
#include "runtime/abi/scalars.def"
        };
        return make(kind, {}, sizes[kind], sizes[kind], kind != kWeldF32 && kind != kWeldF64);
    }
    const WeldType* i32() { return scalar(kWeldI32); }
    const WeldType* i64() { return scalar(kWeldI64); }
    const WeldType* f64() { return scalar(kWeldF64); }
    const WeldType* vec(const WeldType* elem) { return make(kWeldVec, {elem}, 16, 8, false, true); }
    const WeldType* str() { return vec(scalar(kWeldI8)); }
    const WeldType* dict(const WeldType* k, const WeldType* v) {
        return make(kWeldDict, {k, v}, 8, 8, false, true);
    }
    const WeldType* appender(const WeldType* t) { return make(kWeldAppender, {t}, 24, 8, false, true); }
    const WeldType* merger(const WeldType* t, int op) {
        return make(kWeldMerger, {t}, t->size, t->align, false, false, op);
    }
    const WeldType* dictmerger(const WeldType* k, const WeldType* v, int op) {
        return make(kWeldDictMerger, {k, v}, 8, 8, false, true, op);
    }
    const WeldType* groupmerger(const WeldType* k, const WeldType* v) {
        return make(kWeldGroupMerger, {tuple({k, v})}, 8, 8, false, true);
    }
    const WeldType* vecmerger(const WeldType* t, int op) {
        return make(kWeldVecMerger, {t}, 16, 8, false, true, op);
    }
    const WeldType* tuple(std::initializer_list<const WeldType*> fields) {
        std::int64_t at = 0, align = 1, packed = 0;
        bool plain = true, pointer = false;
        std::vector<std::int64_t>& offsets = offsets_.emplace_back();
        for (const WeldType* f : fields) {
            at = round_up(at, f->align);
            offsets.push_back(at);
            at += f->size;
            packed += f->size;
            align = std::max(align, f->align);
            plain &= f->plain != 0;
            pointer |= f->holds_pointer != 0;
        }
        const std::int64_t size = round_up(at, align);
        const WeldType* t = make(kWeldStruct, fields, size, align, plain && packed == size, pointer);
        const_cast<WeldType*>(t)->offsets = offsets.data();
        return t;
    }

  private:
    const WeldType* make(int kind, std::vector<const WeldType*> args, std::int64_t size, std::int64_t align,
                         bool plain = false, bool pointer = false, int op = 0) {
        const std::vector<const WeldType*>& kept = args_.emplace_back(std::move(args));
        return &types_.emplace_back(WeldType{.kind = kind,
                                             .holds_pointer = pointer,
                                             .plain = plain,
                                             .op = op,
                                             .num_args = std::int64_t(kept.size()),
                                             .size = size,
                                             .align = align,
                                             .args = kept.data(),
                                             .offsets = nullptr});
    }

    std::deque<WeldType> types_;
    std::deque<std::vector<const WeldType*>> args_;
    std::deque<std::vector<std::int64_t>> offsets_;
};

/// A run of a C++ function. Its blocks live as long as it.
struct Ran {
    bool good = false;
    Failure failure;
    RunMemory blocks;
    std::shared_ptr<MemoryAccount> account;
};

using Program = std::function<std::int32_t(WeldTask*)>;

inline Ran run(int threads, const Program& program, const WeldType* result_type = nullptr,
               void* result = nullptr, std::int64_t limit = MemoryAccount::kUnlimited,
               std::atomic<std::int32_t>* stop = nullptr) {
    static const WeldType nothing{.kind = kWeldStruct};
    static const tbb::global_control real_threads(tbb::global_control::max_allowed_parallelism, 16);
    Ran ran;
    ran.account = std::make_shared<MemoryAccount>(limit);
    auto entry = [](WeldTask* task, const void* args, void*) -> std::int32_t {
        return (*static_cast<const Program*>(args))(task);
    };
    ran.good = execute(entry, &program, result, result_type ? result_type : &nothing,
                       {threads, ran.account, stop}, &ran.blocks, &ran.failure);
    return ran;
}

template <class T>
std::vector<T> copy_of(const WeldVec& v) {
    return {static_cast<const T*>(v.data), static_cast<const T*>(v.data) + v.len};
}
template <class T>
std::vector<T> copy_of(const WeldAppender& a) {
    return copy_of<T>(WeldVec{a.data, a.size});
}
template <class T>
WeldVec view(const std::vector<T>& v) {
    return {const_cast<T*>(v.data()), std::int64_t(v.size())};
}
inline WeldVec view(const std::string& s) { return {const_cast<char*>(s.data()), std::int64_t(s.size())}; }
inline std::string text(const WeldVec& v) { return {static_cast<const char*>(v.data), std::size_t(v.len)}; }

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Runs `make`, which gives bytes to compare, on several numbers of threads and demands equal results.
template <class F>
auto on_all_threads(const F& make) {
    auto first = make(1);
    for (int threads : {2, 4, 16}) {
        INFO("threads: ", threads);
        CHECK(make(threads) == first);
    }
    return first;
}

}  // namespace weld::runtime::test
