// Gives libFuzzer, which calls targets on the first thread, the deep stack that deep programs need.
#include <sys/resource.h>
#include <unistd.h>

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
    constexpr rlim_t kStack = rlim_t(1) << 30;
    rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur >= kStack) return 0;
    limit.rlim_cur = kStack;
    if (setrlimit(RLIMIT_STACK, &limit) == 0) execv("/proc/self/exe", *argv);  // it counts from the start on
    return 0;
}
