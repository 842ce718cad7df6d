// Random numbers, the same bits for the same seed on every machine: the engines and distributions are those
// of libstdc++, asked in the order in which DAPHNE asks them. So nothing here is done in parallel.
#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <type_traits>
#include <utility>

#include "runtime/kernels/cells.h"
#include "runtime/kernels/kernel.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"
#include "runtime/sort.h"

namespace weld::runtime {

namespace {

/// Calls `f` with the C++ number that the row's variable stands for.
template <class F>
std::int32_t with_number(const WeldCall* call, const F& f) {
    return with_cell(call->types[0], [&]<class T>() -> std::int32_t {
        if constexpr (std::is_arithmetic_v<T>) return f.template operator()<T>();
        else return kFailed;  // the rows have numbers alone
    });
}

/// std::mt19937, whose words have 64 bits on most machines: with half of that its rounds take twice as many at
/// once. It looks at the lower 32 bits of a seed.
using Twister = std::mersenne_twister_engine<std::uint32_t, 32, 624, 397, 31, 0x9908b0df, 11, 0xffffffff, 7,
                                             0x9d2c5680, 15, 0xefc60000, 18, 1812433253>;

/// Evenly distributed from `min` to `max`; integers include `max`. Those of 8 bits are drawn as `int`, which
/// gives the same numbers.
template <class T>
class Uniform {
  public:
    Uniform(T min, T max) : distribution_(min, max) {}
    template <class Engine>
    T operator()(Engine& engine) {
        return T(distribution_(engine));
    }

  private:
    using Number = std::conditional_t<sizeof(T) == 1, int, T>;
    std::conditional_t<std::is_floating_point_v<T>, std::uniform_real_distribution<Number>,
                       std::uniform_int_distribution<Number>>
        distribution_;
};

/// Chooses `count` of the places 0...n-1: use(i) for each of them, ascending. Status.
template <class Use>
std::int32_t choose(Task* task, const WeldCall* call, Twister& engine, std::int64_t n, std::int64_t count,
                    const Use& use) {
    const auto take = [&](auto uniform) {
        std::int64_t taken = 0;
        return in_strips(task, 0, n, call->loc, [&](std::int64_t from, std::int64_t to) {
            for (std::int64_t i = from; i < to && taken < count; ++i) {
                // Both are whole and far below 2^53, where DAPHNE's fmod is a remainder of integers.
                if (std::int64_t(uniform(engine)) % (n - i) >= count - taken) continue;
                use(i);
                ++taken;
            }
        });
    };
    if (n - 1 <= INT_MAX) return take(std::uniform_int_distribution<int>(0, int(n - 1)));
    return take(std::uniform_int_distribution<std::int64_t>(0, n - 1));
}

/// What both kinds of random matrix demand. Status.
template <class T>
std::int32_t check_random(Task* task, const WeldCall* call, std::int64_t* size) {
    const T min = argument<T>(call, 0), max = argument<T>(call, 1);
    const auto rows = argument<std::int64_t>(call, 2), columns = argument<std::int64_t>(call, 3);
    const double sparsity = argument<double>(call, 4);
    if (rows <= 0 || columns <= 0)
        return fail_call(task, call, "a random matrix has rows and columns, found {} x {}", rows, columns);
    if (__builtin_mul_overflow(rows, columns, size)) return task->fail_memory(call->loc, Shortage::Limit);
    if (!(min <= max))
        return fail_call(task, call, "random numbers from {} to {} are not possible", min, max);
    if constexpr (std::is_floating_point_v<T>)
        if (!std::isfinite(max - min))
            return fail_call(task, call, "random numbers from {} to {} are not possible", min, max);
    if (min == 0 && max == 0)
        return fail_call(task, call, "random numbers that are not zero cannot lie between 0 and 0");
    if (!(sparsity >= 0 && sparsity <= 1))
        return fail_call(task, call, "the sparsity is between 0 and 1, found {}", sparsity);
    return kOk;
}

template <class T>
std::int32_t random(Task* task, const WeldCall* call, WeldVec* to) {
    std::int64_t size;
    if (check_random<T>(task, call, &size)) return kFailed;
    const double sparsity = argument<double>(call, 4);
    const auto seed = std::uint64_t(argument<std::int64_t>(call, 5));
    Twister values{std::uint32_t(seed)}, places{std::uint32_t(3 * seed)};
    Uniform<T> value(argument<T>(call, 0), argument<T>(call, 1));
    T* cells = allocate_array<T>(task, size, call->loc);
    if (!cells) return kFailed;
    *to = {cells, size};
    const auto draw = [&](std::int64_t i) {
        do cells[i] = value(values);
        while (cells[i] == 0);
    };
    if (sparsity < 0.5) {
        return for_pieces(task, size, 1 << 20, call->loc,
                          [&](std::int64_t from, std::int64_t end) {
                              std::fill(cells + from, cells + end, T(0));
                          }) ||
               choose(task, call, places, size, std::llround(sparsity * double(size)), draw);
    }
    return in_strips(task, 0, size, call->loc,
                     [&](std::int64_t from, std::int64_t end) {
                         for (std::int64_t i = from; i < end; ++i) draw(i);
                     }) ||
           choose(task, call, places, size, std::llround((1 - sparsity) * double(size)),
                  [&](std::int64_t i) { cells[i] = 0; });
}

/// How many of `size` cells each of `rows` rows has, into `counts`. Status.
template <class Engine>
std::int32_t share_out(Task* task, const WeldCall* call, Engine& engine, std::int64_t cells,
                       std::int64_t rows, std::int64_t columns, double sparsity, std::int64_t* counts) {
    std::uniform_int_distribution<std::size_t> row(0, std::size_t(rows - 1));
    const bool adds = sparsity <= 0.5;
    if (for_pieces(task, rows, 1 << 17, call->loc, [&](std::int64_t from, std::int64_t to) {
            std::fill(counts + from, counts + to, adds ? 0 : columns);
        }))
        return kFailed;
    const std::int64_t steps = adds ? cells : rows * columns - cells;
    return in_strips(task, 0, steps, call->loc, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to;) {
            std::int64_t& count = counts[row(engine)];
            if (count == (adds ? columns : 0)) continue;
            count += adds ? 1 : -1;
            ++i;
        }
    });
}

/// The numbers that were drawn, whose bits are asked for: in memory of the run, so that it is counted and
/// goes at once.
template <class T>
class Drawn {
  public:
    /// Room for up to `most` numbers. Status.
    std::int32_t make(Task* task, const WeldCall* call, std::int64_t most) {
        if (most > std::int64_t(1) << 60) return task->fail_memory(call->loc, Shortage::Limit);
        slots_ = allocate_array<std::uint64_t>(task, std::int64_t(slots_for(most)), call->loc);
        return slots_ ? kOk : kFailed;
    }
    /// Before the first insertion, and to forget all: for `count` numbers, no more than there is room for,
    /// in a time that depends on them alone. Status.
    std::int32_t clear(Task* task, const WeldCall* call, std::int64_t count) {
        const std::uint64_t size = slots_for(count);
        mask_ = size - 1;
        shift_ = 64 - std::countr_zero(size);
        has_zero_ = false;
        return for_pieces(
            task, std::int64_t(size), 1 << 17, call->loc,
            [&](std::int64_t from, std::int64_t to) { std::fill(slots_ + from, slots_ + to, 0); });
    }
    /// False if it is in already.
    bool insert(T number) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &number, sizeof number);
        if (bits == 0) return !std::exchange(has_zero_, true);
        for (std::uint64_t at = bits * 0x9e3779b97f4a7c15u >> shift_;; ++at) {
            std::uint64_t& slot = slots_[at & mask_];
            if (slot == bits) return false;
            if (slot == 0) return slot = bits, true;
        }
    }
    void free(Task* task) { release(task, slots_); }

  private:
    /// Two for each, and so that the shift stays below 64.
    static std::uint64_t slots_for(std::int64_t numbers) {
        return std::bit_ceil(std::max<std::uint64_t>(std::uint64_t(numbers) * 2, 2));
    }

    std::uint64_t* slots_ = nullptr;  // 0: free
    std::uint64_t mask_ = 0;
    int shift_ = 0;
    bool has_zero_ = false;
};

template <class T>
std::int32_t random_csr(Task* task, const WeldCall* call, Sparse* to) {
    std::int64_t size;
    if (check_random<T>(task, call, &size)) return kFailed;
    const auto rows = argument<std::int64_t>(call, 2), columns = argument<std::int64_t>(call, 3);
    const double sparsity = argument<double>(call, 4);
    const std::int64_t cells = std::llround(double(size) * sparsity);
    auto* offsets = allocate_array<std::int64_t>(task, rows + 1, call->loc);
    auto* at = offsets ? allocate_array<std::int64_t>(task, cells, call->loc) : nullptr;
    T* values = at ? allocate_array<T>(task, cells, call->loc) : nullptr;
    if (!values) return kFailed;
    *to = {{values, cells}, rows, columns, {offsets, rows + 1}, {at, cells}};
    std::default_random_engine engine{std::uint64_t(argument<std::int64_t>(call, 5))};
    Uniform<T> value(argument<T>(call, 0), argument<T>(call, 1));
    offsets[0] = 0;
    if (in_strips(task, 0, cells, call->loc,
                  [&](std::int64_t from, std::int64_t end) {
                      for (std::int64_t i = from; i < end; ++i) values[i] = value(engine);
                  }) ||
        share_out(task, call, engine, cells, rows, columns, sparsity, offsets + 1))
        return kFailed;
    std::int64_t most = 0;
    if (in_strips(task, 1, rows + 1, call->loc, [&](std::int64_t from, std::int64_t to) {
            most = std::max(most, *std::max_element(offsets + from, offsets + to));
        }))
        return kFailed;
    Drawn<std::int64_t> chosen;
    auto* scratch = allocate_array<std::int64_t>(task, most, call->loc);
    if (!scratch || chosen.make(task, call, most)) return kFailed;
    std::uniform_int_distribution<std::size_t> column(0, std::size_t(columns - 1));
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t count = offsets[i + 1];
        std::int64_t* const row = at + offsets[i];
        if (chosen.clear(task, call, count)) return kFailed;
        for (std::int64_t k = 0; k < count && !task->should_stop();)
            if (const auto j = std::int64_t(column(engine)); chosen.insert(j)) row[k++] = j;
        sort_run(row, scratch, count, std::less<>(), [&] { return task->should_stop(); });
        if (task->check_stop(call->loc)) return kFailed;
        offsets[i + 1] += offsets[i];
    }
    chosen.free(task);
    release(task, scratch);
    return kOk;
}

/// The order that std::shuffle gives. For few numbers it draws for two of them at once.
template <class T>
std::int32_t shuffle(Task* task, const WeldCall* call, Twister& engine, T* numbers, std::int64_t n) {
    if (n <= UINT16_MAX) return std::shuffle(numbers, numbers + n, engine), kOk;
    using Uniform = std::uniform_int_distribution<std::uint64_t>;
    Uniform uniform;
    return in_strips(task, 1, n, call->loc, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i)
            std::swap(numbers[i], numbers[uniform(engine, Uniform::param_type(0, std::uint64_t(i)))]);
    });
}

/// More integers than that are not asked one after the other whether they are taken, as DAPHNE does whatever
/// the time (a minute would pass).
constexpr std::uint64_t kMostAsked = std::uint64_t(1) << 33;
constexpr std::int64_t kMostInVain = 1000000;
constexpr auto& kTooFew = "there are no {} different numbers from 0 to below {}";

/// Distinct numbers below `range`. Status.
template <class T>
std::int32_t distinct(Task* task, const WeldCall* call, Twister& engine, T range, std::int64_t size, T* to) {
    if constexpr (std::is_integral_v<T>)
        if (std::uint64_t(range) <= kMostAsked) {
            std::int64_t taken = 0;
            Uniform<T> value(0, T(range - 1));
            if (in_strips(task, 0, std::int64_t(range), call->loc, [&](std::int64_t from, std::int64_t end) {
                    for (std::int64_t i = from; i < end && taken < size; ++i)
                        if (std::uint64_t(value(engine)) % (std::uint64_t(range) - std::uint64_t(i)) <
                            std::uint64_t(size - taken))
                            to[taken++] = T(i);
                }))
                return kFailed;
            return shuffle(task, call, engine, to, size);
        }
    Drawn<T> seen;
    if (seen.make(task, call, size) || seen.clear(task, call, size)) return kFailed;
    Uniform<T> value(0, std::is_floating_point_v<T> ? range : T(range - 1));
    std::int64_t in_vain = 0;  // draws since the last new number: few may lie below a small range
    if (in_strips(task, 0, size, call->loc, [&](std::int64_t from, std::int64_t end) {
            for (std::int64_t i = from; i < end && in_vain < kMostInVain;)
                if (const T x = value(engine); seen.insert(x)) to[i++] = x, in_vain = 0;
                else if (++in_vain, task->should_stop()) return;
        }))
        return kFailed;
    seen.free(task);
    return in_vain < kMostInVain ? kOk : fail_call(task, call, kTooFew, size, range);
}

template <class T>
std::int32_t sample(Task* task, const WeldCall* call, WeldVec* result) {
    const T range = argument<T>(call, 0);
    const auto size = argument<std::int64_t>(call, 1);
    const bool with_replacement = argument<Bool>(call, 2);
    if (size <= 0) return fail_call(task, call, "a sample has numbers, found a size of {}", size);
    bool right = range > 0, enough = true;
    if constexpr (std::is_floating_point_v<T>) {
        right = right && std::isfinite(range);
    } else {
        enough = std::uint64_t(range) >= std::uint64_t(size);
    }
    if (!right) return fail_call(task, call, "the range of a sample is above 0, found {}", range);
    if (!with_replacement && !enough) return fail_call(task, call, kTooFew, size, range);
    T* to = allocate_array<T>(task, size, call->loc);
    if (!to) return kFailed;
    *result = {to, size};
    Twister engine{std::uint32_t(argument<std::int64_t>(call, 3))};
    if (!with_replacement) return distinct(task, call, engine, range, size, to);
    Uniform<T> value(0, std::is_floating_point_v<T> ? range : T(range - 1));
    return in_strips(task, 0, size, call->loc, [&](std::int64_t from, std::int64_t end) {
        for (std::int64_t i = from; i < end; ++i) to[i] = value(engine);
    });
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_random) {
    return with_number(call, [&]<class T>() { return random<T>(task, call, static_cast<WeldVec*>(result)); });
}

WELD_KERNEL_BODY(weld_kernel_random_csr) {
    return with_number(call,
                       [&]<class T>() { return random_csr<T>(task, call, static_cast<Sparse*>(result)); });
}

WELD_KERNEL_BODY(weld_kernel_sample) {
    return with_number(call, [&]<class T>() { return sample<T>(task, call, static_cast<WeldVec*>(result)); });
}

WELD_KERNEL_BODY(weld_kernel_random_seed) {
    std::random_device device;
    *static_cast<std::int64_t*>(result) = std::uniform_int_distribution<std::int64_t>()(device);
    return kOk;
}
