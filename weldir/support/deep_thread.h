// Threads for recursion over programs, which are as deep as who wrote them wanted.
#pragma once

#include <functional>
#include <memory>

#include <pthread.h>

namespace weld {

/// A thread with a stack of a gigabyte, or what there is address space for. Joined when it goes.
class DeepThread {
  public:
    /// Begins with `work`; does it at once, here, if there can be no thread.
    explicit DeepThread(std::function<void()> work);

    /// The caller runs on such a thread.
    static bool is_this();

  private:
    struct Joiner {
        void operator()(pthread_t* thread) const;
    };
    std::unique_ptr<std::function<void()>> work_;
    std::unique_ptr<pthread_t, Joiner> thread_;
};

}  // namespace weld
