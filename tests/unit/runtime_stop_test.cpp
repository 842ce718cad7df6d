// What works on as many elements as a program likes looks whether the run is to stop.
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hash_table.h"
#include "runtime/kernels/kernel.h"
#include "runtime/order.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

struct Pair {
    std::int64_t first, second;
};

/// Compares numbers, for weld_rt_sort.
std::int32_t ascending(WeldTask*, const void*, const void* a, const void* b, std::int32_t* order) {
    const auto x = *static_cast<const std::int64_t*>(a), y = *static_cast<const std::int64_t*>(b);
    *order = (x > y) - (x < y);
    return kOk;
}

/// Each gives the status of something that takes long.
using Work = std::function<std::int32_t(WeldTask*)>;

}  // namespace

TEST_CASE("long work stops once the run is to") {
    Types types;
    constexpr std::int64_t n = 200'000;
    std::mt19937_64 random(1);
    std::vector<std::int64_t> numbers(n);
    std::vector<double> reals(n);
    std::vector<Pair> pairs(n);
    for (std::size_t i = 0; i < n; ++i) {
        numbers[i] = std::int64_t(random() % 50'000);
        reals[i] = double(numbers[i]);
        pairs[i] = {numbers[i], std::int64_t(i)};
    }
    std::vector<WeldVec> rows(n, WeldVec{numbers.data(), 2});
    const std::string letters(n * 8, 'a'), needle = "ab";
    const WeldVec all = view(numbers), all_reals = view(reals), all_rows = view(rows), text = view(letters);
    const WeldVec all_needle = view(needle);
    const WeldType *i64 = types.i64(), *f64 = types.f64(), *vec = types.vec(i64), *nested = types.vec(vec);
    const WeldType* pair = types.tuple({i64, i64});
    const auto sort_by = [&](const WeldVec& v, const WeldType* elem, std::int64_t limit) -> Work {
        return [&v, elem, limit](WeldTask* t) {
            WeldVec out;
            return weld_rt_sort_keys(t, &v, elem, &v, elem, &out, limit, 7);
        };
    };
    const auto serialize = [&](const WeldVec& v, const WeldType* type) -> Work {
        return [&v, type](WeldTask* t) {
            WeldVec out;
            return weld_rt_serialize(t, type, &v, &out, 7);
        };
    };
    const auto kernel = [&](WeldKernelFn* function, const WeldVec& looked_for) -> Work {
        return [&, function](WeldTask* t) {
            const void* args[] = {&text, &looked_for};
            const WeldCall call = {args, nullptr, 2, 7};
            bool found;
            return function(t, &call, &found);
        };
    };
    const std::vector<std::pair<const char*, Work>> works = {
        {"sort of numbers", sort_by(all, i64, -1)},
        {"sort of floats", sort_by(all_reals, f64, -1)},
        {"sort of bytes", sort_by(text, types.scalar(kWeldU8), -1)},
        {"sort of vectors", sort_by(all_rows, vec, -1)},
        {"the first of a sort", sort_by(all, i64, 5)},
        {"sort by a comparison",
         [&](WeldTask* t) {
             WeldVec out;
             return weld_rt_sort(t, &all, i64, ascending, nullptr, &out, -1, 7);
         }},
        {"serialize numbers", serialize(text, types.str())},
        {"serialize floats", serialize(all_reals, types.vec(f64))},
        {"serialize vectors", serialize(all_rows, nested)},
        {"deserialize",
         [&](WeldTask* t) {
             std::vector<std::int64_t> bytes(std::size_t(n) + 1, n);
             const WeldVec in{bytes.data(), std::int64_t(bytes.size()) * 8};
             WeldVec out;
             return weld_rt_deserialize(t, vec, &in, &out, 7);
         }},
        {"group",
         [&](WeldTask* t) {
             WeldAppender* array = weld_rt_group_new(t, 7);
             MUST(array && !weld_rt_appender_grow(t, array, n, sizeof(Pair), 7));
             std::copy(pairs.begin(), pairs.end(), static_cast<Pair*>(array->data));
             array->size = n;
             return weld_rt_group_result(t, array, pair, 7) ? kOk : kFailed;
         }},
        {"make room in a table",
         [&](WeldTask* t) {
             WeldDict* d = weld_rt_dict_new(t, i64, i64, 7);
             return d ? reserve(task_of(t), d, n, 7) : kOk;
         }},
        {"copy",
         [&](WeldTask* t) {
             std::string to(letters.size(), ' ');
             return weld_rt_copy(t, to.data(), letters.data(), std::int64_t(letters.size()), 7);
         }},
        {"contains", kernel(weld_kernel_contains, all_needle)},
    };
    for (const auto& [name, work] : works)
        for (const int threads : {1, 4}) {
            CAPTURE(name);
            std::atomic<std::int32_t> stop = 0;
            const auto after = [&, w = &work](std::int32_t bits) {
                return [&stop, bits, w](WeldTask* t) {
                    stop = bits;  // by another thread, say
                    return (*w)(t);
                };
            };
            const Ran whole = run(threads, after(0));
            CHECK(whole.good);
            const Ran ran =
                run(threads, after(kCancelled), nullptr, nullptr, MemoryAccount::kUnlimited, &stop);
            CHECK_FALSE(ran.good);
            CHECK(ran.failure.code == kWeldCancelled);
            CHECK(ran.failure.loc == 7);
            CHECK(ran.account->used() == 0);
        }
}

TEST_CASE("a run that was cancelled at its very end fails") {
    std::atomic<std::int32_t> stop = 0;
    const Ran ran = run(
        1,
        [&](WeldTask*) {
            stop = kCancelled;
            return kOk;
        },
        nullptr, nullptr, MemoryAccount::kUnlimited, &stop);
    CHECK_FALSE(ran.good);
    CHECK(ran.failure.code == kWeldCancelled);
}
