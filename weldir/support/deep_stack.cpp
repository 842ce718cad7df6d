// Threads by pthreads, because std::thread has no say in its stack. Who waits for the work does not need one:
// the thread goes on on another stack, which saves two wake-ups, a tenth of a small program's time.
#include "weldir/support/deep_stack.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace weld {

static constexpr std::size_t kMostBytes = std::size_t(1) << 30, kFewestBytes = std::size_t(16) << 20;

static thread_local bool is_deep = false;

static void* call_work(void* work) {
    is_deep = true;
    (*static_cast<const std::function<void()>*>(work))();
    return nullptr;
}

void DeepThread::Joiner::operator()(pthread_t* thread) const {
    pthread_join(*thread, nullptr);
    delete thread;
}

DeepThread::DeepThread(std::function<void()> work)
    : work_(std::make_unique<std::function<void()>>(std::move(work))) {
    auto thread = std::make_unique<pthread_t>();  // while nothing runs that would have to be joined
    for (std::size_t bytes = kMostBytes; bytes >= kFewestBytes; bytes /= 2) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, bytes);
        const int failed = pthread_create(thread.get(), &attributes, call_work, work_.get());
        pthread_attr_destroy(&attributes);
        if (failed) continue;
        thread_.reset(thread.release());
        return;
    }
    (*work_)();
}

#ifdef WELD_ONE_STACK_PER_THREAD

void on_deep_stack(const std::function<void()>& work) {
    if (is_deep) work();
    else DeepThread thread(work);
}

#else

void on_stack(void* lowest, std::size_t bytes, const std::function<void()>& work) {
    static thread_local const std::function<void()>* to_do = nullptr;
    ucontext_t here, there;
    ::getcontext(&there);
    there.uc_stack.ss_sp = lowest;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    ::makecontext(&there, [] { (*to_do)(); }, 0);
    to_do = &work;
    ::swapcontext(&here, &there);
}

struct Range {
    const char *begin, *end;
};
static thread_local Range deep_stack{};

const char* begin_of_deep_stack(const void* here) {
    return here >= deep_stack.begin && here < deep_stack.end ? deep_stack.begin : nullptr;
}

void on_deep_stack(const std::function<void()>& work) {
    if (is_deep) return work();
    std::size_t bytes = 2 * kMostBytes;
    void* stack = MAP_FAILED;
    while (stack == MAP_FAILED && bytes > kFewestBytes)
        stack = ::mmap(nullptr, bytes /= 2, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return work();
    ::mprotect(stack, std::size_t(::sysconf(_SC_PAGESIZE)), PROT_NONE);
    ::madvise(stack, bytes, MADV_NOHUGEPAGE);  // to clear two megabytes would take longer than most programs
    is_deep = true;
    deep_stack = {static_cast<const char*>(stack), static_cast<const char*>(stack) + bytes};
    on_stack(stack, bytes, work);
    deep_stack = {};
    is_deep = false;
    ::munmap(stack, bytes);
}

#endif

}  // namespace weld
