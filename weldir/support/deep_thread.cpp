// Threads by pthreads, because std::thread has no say in its stack.
#include "weldir/support/deep_thread.h"

namespace weld {

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
    for (std::size_t bytes = std::size_t(1) << 30; bytes >= std::size_t(16) << 20; bytes /= 2) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, bytes);
        pthread_t thread;
        const int failed = pthread_create(&thread, &attributes, call_work, work_.get());
        pthread_attr_destroy(&attributes);
        if (failed) continue;
        thread_.reset(new pthread_t(thread));
        return;
    }
    (*work_)();
}

bool DeepThread::is_this() { return is_deep; }

}  // namespace weld
