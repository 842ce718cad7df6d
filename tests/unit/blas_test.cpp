// Loading OpenBLAS before it is called.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "runtime/kernels/blas.h"
#include "runtime/run.h"

using namespace weld::runtime;

static bool is_loaded() {
    void* const there = ::dlopen("libopenblas.so.0", RTLD_NOLOAD | RTLD_LAZY);
    if (there) ::dlclose(there);
    return there;
}

TEST_CASE("OpenBLAS is loaded on another thread for kernels that call it, and for no others") {
    const bool before = is_loaded();  // by another test
    prepare_kernels(std::vector<std::string>{"weld_kernel_print", "weld_kernel_format"});
    CHECK(is_loaded() == before);
    prepare_kernels(std::vector<std::string>{"weld_kernel_print", "weld_kernel_matmul"});
    for (int waited = 0; waited < 10'000 && !is_loaded(); ++waited)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(is_loaded());
    CHECK(blas<double>());
    prepare_kernels(std::vector<std::string>{"weld_kernel_eigen"});
    CHECK(blas<float>());
}
