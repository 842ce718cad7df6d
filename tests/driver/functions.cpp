// In the calling convention of `cudf`: pointers to the arguments, last to the result.
#include "tests/driver/functions.h"

#include <atomic>
#include <stdexcept>

#include "runtime/abi/weld_abi.h"

static std::atomic<std::int64_t> calls{0}, sum{0};

namespace weld::driver {

Notes notes() { return {calls, sum}; }
void reset_notes() { calls = sum = 0; }

}  // namespace weld::driver

extern "C" {

/// |x: i64| x, and remembers it.
void weld_test_note(const std::int64_t* x, std::int64_t* out) {
    ++calls;
    sum += *x;
    *out = *x;
}

/// |x: f64, y: f64| x * 2.0 + y
void weld_test_mix(const double* x, const double* y, double* out) { *out = *x * 2 + *y; }

struct Pair {
    std::int8_t a;
    double b;
};

/// |p: {i8,f64}| {i8(p.$1), f64(p.$0)}
void weld_test_swap(const Pair* p, Pair* out) { *out = {std::int8_t(p->b), double(p->a)}; }

/// |v: vec[i64]| the same vector without its first element (a view, if there is one)
void weld_test_tail(const WeldVec* v, WeldVec* out) {
    *out = *v;
    if (v->len == 0) return;
    out->data = static_cast<std::int64_t*>(v->data) + 1;
    --out->len;
}

/// |v: vec[vec[i8]]| the bytes of all strings, added up
void weld_test_sum_bytes(const WeldVec* v, std::int64_t* out) {
    *out = 0;
    for (std::int64_t i = 0; i < v->len; ++i) {
        const WeldVec& s = static_cast<const WeldVec*>(v->data)[i];
        for (std::int64_t k = 0; k < s.len; ++k) *out += static_cast<const std::int8_t*>(s.data)[k];
    }
}

/// |b: bool| not b
void weld_test_not(const bool* b, bool* out) { *out = !*b; }

/// || 42
void weld_test_answer(std::int32_t* out) { *out = 42; }

/// |x: i64| x, but throws if that is negative
void weld_test_throw(const std::int64_t* x, std::int64_t* out) {
    if (*x < 0) throw std::runtime_error("negative");
    *out = *x;
}
}
