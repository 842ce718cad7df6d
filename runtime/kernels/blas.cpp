// Loading OpenBLAS.
#include "runtime/kernels/blas.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace weld::runtime {

/// While there is one, this thread may run on one processor only.
class OnOneProcessor {
  public:
    OnOneProcessor() {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(::sched_getcpu(), &one);
        is_set_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 &&
                  ::sched_setaffinity(0, sizeof one, &one) == 0;
    }
    ~OnOneProcessor() {
        if (is_set_) ::sched_setaffinity(0, sizeof before_, &before_);
    }
    OnOneProcessor(const OnOneProcessor&) = delete;

  private:
    cpu_set_t before_;
    bool is_set_;
};

static void* library() {
    static void* const loaded = [] {
        tbb::info::default_concurrency();  // TBB counts processors once, those of the main thread
        // It starts a thread for each other processor that it may run on, when it is loaded. We have threads
        // of our own, and these would look for work for some 30 ms before they sleep.
        const OnOneProcessor here;
        void* handle = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
        void* set_threads = handle ? ::dlsym(handle, "openblas_set_num_threads") : nullptr;
        if (set_threads) reinterpret_cast<void (*)(int)>(set_threads)(1);
        return set_threads ? handle : nullptr;
    }();
    return loaded;
}

void begin_to_load_blas() {
    static const std::jthread loading = [] {
        try {
            return std::jthread([] {
                try {
                    // No library can be loaded, nor thread be started, while this one is: TBB does that now.
                    using tbb::global_control;
                    const auto most = global_control::active_value(global_control::max_allowed_parallelism);
                    tbb::task_arena(int(std::min<std::size_t>(2, most))).execute([] {
                        tbb::parallel_for(0, 2, [](int) {});
                    });
                } catch (const std::exception&) {}  // of TBB, without memory; runs will tell
                library();
            });
        } catch (const std::system_error&) {
            return std::jthread();  // who calls it first will load it
        }
    }();
}

template <class F>
static bool find(const std::string& name, F* function) {
    *function = reinterpret_cast<F>(::dlsym(library(), name.c_str()));
    return *function;
}

template <class T>
const Blas<T>* blas() {
    static const std::optional<Blas<T>> found = []() -> std::optional<Blas<T>> {
        const std::string prefix = std::is_same_v<T, double> ? "d" : "s";
        Blas<T> all;
        const bool good = library() && find(prefix + "gemm_", &all.gemm) &&
                          find(prefix + "gemv_", &all.gemv) && find(prefix + "trsm_", &all.trsm) &&
                          find(prefix + "getrf_", &all.getrf) && find(prefix + "laswp_", &all.laswp) &&
                          find(prefix + "symv_", &all.symv) && find(prefix + "syr2k_", &all.syr2k) &&
                          find(prefix + "dot_", &all.dot) && find(prefix + "rot_", &all.rot) &&
                          find(prefix + "larfg_", &all.larfg) && find(prefix + "steqr_", &all.steqr) &&
                          find(prefix + "laed4_", &all.laed4);
        return good ? std::optional(all) : std::nullopt;
    }();
    return found ? &*found : nullptr;
}

template const Blas<float>* blas();
template const Blas<double>* blas();

}  // namespace weld::runtime
