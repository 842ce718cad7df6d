// Stacks are mapped when first needed and kept by their thread; what was touched of them is given back.
#include "runtime/stack.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>

#include "weldir/support/deep_stack.h"

namespace weld::runtime {

namespace {

constexpr std::ptrdiff_t kReserve = 256 << 10;  // for the runtime, and functions that do not look

struct Range {
    char* begin = nullptr;
    char* end = nullptr;
    bool holds(const void* p) const { return p >= begin && p < end; }
};

/// The stack that the thread was started with; empty if that cannot be found out.
Range stack_of_thread() {
    static thread_local const Range own = [] {
        pthread_attr_t attributes;
        void* lowest = nullptr;
        std::size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes)) return Range();
        pthread_attr_getstack(&attributes, &lowest, &size);
        pthread_attr_destroy(&attributes);
        return Range{static_cast<char*>(lowest), static_cast<char*>(lowest) + size};
    }();
    return own;
}

#ifndef WELD_ONE_STACK_PER_THREAD

constexpr std::ptrdiff_t kOfDeepStack = 8 << 20;  // that a run uses, as it would of a thread's own

constexpr std::size_t kMost = std::size_t(512) << 20, kFewest = std::size_t(64) << 20;

/// The further stack of a thread. It has no destructor, since the C library ends the process if it has no
/// memory to note one; pthread_setspecific needs none for the first keys of a process.
class MoreStack {
  public:
    bool is_ready(std::size_t most) {
        for (std::size_t bytes = std::clamp(most, kFewest, kMost); !all_.begin && bytes >= kFewest;
             bytes /= 2) {
            void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
            if (at == MAP_FAILED) continue;
            ::mprotect(at, kGuard, PROT_NONE);
            ::madvise(at, bytes, MADV_NOHUGEPAGE);
            all_ = {static_cast<char*>(at), static_cast<char*>(at) + bytes};
            static const pthread_key_t at_end = [] {
                pthread_key_t key{};
                pthread_key_create(&key, [](void* stack) { static_cast<MoreStack*>(stack)->unmap(); });
                return key;
            }();
            pthread_setspecific(at_end, this);
        }
        return all_.begin && !in_use_;
    }
    const char* lowest() const { return all_.begin + kGuard + kReserve; }
    bool holds(const void* p) const { return all_.holds(p); }

    void run(const std::function<void()>& work) {
        in_use_ = true;
        on_stack(all_.begin, std::size_t(all_.end - all_.begin), work);
        ::madvise(all_.begin + kGuard, std::size_t(all_.end - all_.begin) - kGuard - kKept, MADV_DONTNEED);
        in_use_ = false;
    }

    static MoreStack& of_thread() {
        static thread_local MoreStack stack;
        return stack;
    }

  private:
    void unmap() {
        if (all_.begin) ::munmap(all_.begin, std::size_t(all_.end - all_.begin));
        all_ = {};
    }

    static constexpr std::size_t kKept = 1 << 20;    ///< of what was touched
    static constexpr std::size_t kGuard = 64 << 10;  ///< faults

    Range all_;
    bool in_use_ = false;
};

#endif

}  // namespace

const char* end_of_stack() {
    const Range own = stack_of_thread();
    const void* here = __builtin_frame_address(0);
    if (own.holds(here)) return own.begin + kReserve;
#ifndef WELD_ONE_STACK_PER_THREAD
    if (const MoreStack& more = MoreStack::of_thread(); more.holds(here)) return more.lowest();
    if (const char* begin = begin_of_deep_stack(here))
        return std::max(begin + kReserve, static_cast<const char*>(here) - kOfDeepStack);
#endif
    return reinterpret_cast<const char*>(std::numeric_limits<std::uintptr_t>::max());
}

#ifndef WELD_ONE_STACK_PER_THREAD

bool on_more_stack(std::int64_t most, const std::function<void(const char* end)>& work) {
    MoreStack& stack = MoreStack::of_thread();
    if (!stack.is_ready(std::size_t(std::max<std::int64_t>(most, 0)))) return false;
    stack.run([&] { work(stack.lowest()); });
    return true;
}

#else

// The sanitizers follow no jump to another stack: another thread has one.
bool on_more_stack(std::int64_t, const std::function<void(const char* end)>& work) {
    static thread_local bool is_on_it = false;
    if (is_on_it) return false;
    const DeepThread thread([&] {
        is_on_it = true;
        work(end_of_stack());
        is_on_it = false;
    });
    return true;
}

#endif

}  // namespace weld::runtime
