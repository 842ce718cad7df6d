// Stacks for recursion over programs, which are as deep as who wrote them wanted.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <pthread.h>

namespace weld {

/// Calls `work`, which does not throw, on a stack of a gigabyte (of which only what is used takes memory), or
/// of what there is address space for; at once if the caller is on such a stack already. For whatever
/// recurses over programs and types of users.
void on_deep_stack(const std::function<void()>& work);

#ifndef WELD_ONE_STACK_PER_THREAD
/// The lowest address of the stack that on_deep_stack goes on with, if `here` is on it; else null.
const char* begin_of_deep_stack(const void* here);

/// Calls `work`, which does not throw, on the stack of `bytes` that begins at `lowest`. The sanitizers follow
/// no such jump.
void on_stack(void* lowest, std::size_t bytes, const std::function<void()>& work);
#endif

/// A thread with such a stack. Joined when it goes.
class DeepThread {
  public:
    /// Begins with `work`; does it at once, here, if there can be no thread.
    explicit DeepThread(std::function<void()> work);

  private:
    struct Joiner {
        void operator()(pthread_t* thread) const;
    };
    std::unique_ptr<std::function<void()>> work_;
    std::unique_ptr<pthread_t, Joiner> thread_;
};

}  // namespace weld
