// Text: printing values, and what programs do with strings. A string is a vec[i8] or vec[u8] of any bytes;
// they compare as unsigned numbers, so that UTF-8 comes in the order of its code points.
#include <algorithm>
#include <cstring>

#include "runtime/entry.h"
#include "runtime/io/print_value.h"
#include "runtime/kernels/kernel.h"
#include "runtime/kernels/printing.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

/// A string of the run that grows.
class TextOutput final : public Output {
  public:
    TextOutput(Task* task, std::int32_t loc) : task_(task), loc_(loc) {}
    bool write(std::string_view text) override {
        const auto size = std::int64_t(text.size());
        if (task_->check_stop(loc_)) return false;
        if (text_.capacity - text_.size < size && weld_rt_appender_grow(task_, &text_, size, 1, loc_))
            return false;
        std::memcpy(static_cast<char*>(text_.data) + text_.size, text.data(), text.size());
        text_.size += size;
        return true;
    }
    WeldVec text() const { return {text_.data, text_.size}; }

  private:
    Task* task_;
    std::int32_t loc_;
    WeldAppender text_ = {};
};

/// The string `f(c)` of the bytes `c` of a string.
template <class F>
std::int32_t map_bytes(Task* task, const WeldCall* call, void* result, const F& f) {
    const auto& text = argument<WeldVec>(call, 0);
    auto* to = allocate_array<char>(task, text.len, call->loc);
    if (!to) return kFailed;
    *static_cast<WeldVec*>(result) = {to, text.len};
    const auto* from = static_cast<const char*>(text.data);
    return for_pieces(task, text.len, 1 << 20, call->loc, [&](std::int64_t lo, std::int64_t hi) {
        std::transform(from + lo, from + hi, to + lo, f);
    });
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_print) {
    TaskOutput output(task);
    weld::Writer out(&output);
    for (std::int32_t i = 0; i < call->num_args; ++i) {
        if (i) out.put(' ');
        print_value(call->types[i], call->args[i], {}, out);
    }
    out.put('\n');
    return finish_print(task, call, out);
}

WELD_KERNEL_BODY(weld_kernel_print_text) {
    TaskOutput output(task);
    weld::Writer out(&output);
    out.put(text_of(argument<WeldVec>(call, 0)));
    return finish_print(task, call, out);
}

WELD_KERNEL_BODY(weld_kernel_format) {
    TextOutput output(task, call->loc);
    weld::Writer out(&output);
    print_value(call->types[0], call->args[0], {}, out);
    if (out.flush()) return kFailed;
    *static_cast<WeldVec*>(result) = output.text();
    return kOk;
}

WELD_KERNEL_BODY(weld_kernel_concat) {
    std::int64_t size = 0;
    for (std::int32_t i = 0; i < call->num_args; ++i)
        if (__builtin_add_overflow(size, argument<WeldVec>(call, i).len, &size))
            return task->fail_memory(call->loc, Shortage::Limit);
    auto* to = allocate_array<char>(task, size, call->loc);
    if (!to) return kFailed;
    *static_cast<WeldVec*>(result) = {to, size};
    for (std::int32_t i = 0; i < call->num_args; ++i) {
        const auto& text = argument<WeldVec>(call, i);
        if (copy_bytes(task, to, text.data, text.len, call->loc)) return kFailed;
        to += text.len;
    }
    return kOk;
}

WELD_KERNEL_BODY(weld_kernel_compare) {
    const auto &a = argument<WeldVec>(call, 0), &b = argument<WeldVec>(call, 1);
    std::int64_t order = (a.len > b.len) - (a.len < b.len);
    const auto *x = static_cast<const char*>(a.data), *y = static_cast<const char*>(b.data);
    constexpr std::int64_t strip = 1 << 20;
    for (std::int64_t at = 0, n = std::min(a.len, b.len); at < n; at += strip) {
        if (task->check_stop(call->loc)) return kFailed;
        if (const int c = std::memcmp(x + at, y + at, std::size_t(std::min(strip, n - at)))) {
            order = (c > 0) - (c < 0);
            break;
        }
    }
    *static_cast<std::int64_t*>(result) = order;
    return kOk;
}

WELD_KERNEL_BODY(weld_kernel_upper) {
    return map_bytes(task, call, result, [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
}

WELD_KERNEL_BODY(weld_kernel_lower) {
    return map_bytes(task, call, result, [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
}
