// `nditer`: a walk along a tensor that lies in a vector. All places are checked before the first round, by
// the lowest and the highest of them, so that rounds need no check.
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "runtime/entry.h"
#include "runtime/task.h"

namespace weld::runtime {

namespace {

const std::int64_t* numbers(const WeldVec* v) { return static_cast<const std::int64_t*>(v->data); }

/// Counts the rounds. Gives what is wrong with the shape, or nothing.
std::string count_rounds(const WeldVec* shape, std::int64_t* rounds) {
    bool is_empty = false, too_many = false;
    *rounds = 1;
    for (std::int64_t d = 0; d < shape->len; ++d) {
        const std::int64_t size = numbers(shape)[d];
        if (size < 0) return fmt::format("the shape of `nditer` has a size of {}", size);
        is_empty |= size == 0;
        too_many |= __builtin_mul_overflow(*rounds, size, rounds);
    }
    if (is_empty) *rounds = 0;
    return too_many && !is_empty ? "`nditer` has 2^63 rounds or more" : "";
}

/// Gives how the places leave the vector, or nothing. The shape has one place at least.
std::string check_places(const WeldVec* shape, const WeldVec* strides, std::int64_t start, std::int64_t len) {
    std::int64_t lowest = start, highest = start;
    bool inside = 0 <= start && start < len;
    for (std::int64_t d = 0; d < shape->len && inside; ++d) {
        const std::int64_t stride = numbers(strides)[d];
        std::int64_t reach, &end = stride < 0 ? lowest : highest;
        inside = !__builtin_mul_overflow(numbers(shape)[d] - 1, stride, &reach) &&
                 !__builtin_add_overflow(end, reach, &end) && 0 <= lowest && highest < len;
    }
    if (inside) return {};
    return fmt::format("`nditer` leads outside of a vector of length {}, from start {} by strides of [{}]",
                       len, start, fmt::join(numbers(strides), numbers(strides) + strides->len, ", "));
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

std::int64_t weld_rt_nd_rounds(WeldTask* t, const WeldVec* shape, const WeldVec* strides, std::int64_t start,
                               std::int64_t len, std::int32_t loc) {
    std::int64_t rounds = 0;
    std::string wrong;
    if (shape->len != strides->len)
        wrong = fmt::format("`nditer` has a shape of {} sizes and {} strides", shape->len, strides->len);
    if (wrong.empty()) wrong = count_rounds(shape, &rounds);
    if (wrong.empty() && rounds > 0) wrong = check_places(shape, strides, start, len);
    if (wrong.empty()) return rounds;
    task_of(t)->fail(kWeldBadIteratorLength, loc, std::move(wrong));
    return -1;
}

std::int64_t weld_rt_nd_offset(const WeldVec* shape, const WeldVec* strides, std::int64_t round) noexcept {
    std::int64_t offset = 0;
    for (std::int64_t d = shape->len - 1; d >= 0; --d) {  // the last dimension varies fastest
        offset += round % numbers(shape)[d] * numbers(strides)[d];
        round /= numbers(shape)[d];
    }
    return offset;
}
}
