// Direct tables: keys that are integers close together, in every order that makes such a table begin, widen or end.
#include <cmath>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/hash_table.h"
#include "runtime/partitions.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

constexpr std::int64_t kRows = 400'000, kKeys = 150'000;

/// Numbers in [0, n) that look random.
std::int64_t pick(std::int64_t i, std::int64_t n) {
    const std::uint64_t x = std::uint64_t(i + 1) * 0x9e3779b97f4a7c15u;
    return std::int64_t((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 33) % n;
}

bool is_direct(const WeldDict* d) { return d->partitions && partitions_of(d)->direct.slots; }

struct Shape {
    std::string name;
    std::function<std::int64_t(std::int64_t)> key;
    bool begins, stays;  ///< as a direct table
};

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = {
        {"anywhere", [](std::int64_t i) { return pick(i, kKeys); }, true, true},
        {"some frequent",
         [](std::int64_t i) { return std::int64_t(std::exp2(double(pick(i, 1 << 20)) / (1 << 20) * 19)); },
         true, true},
        {"ascending", [](std::int64_t i) { return i; }, true,
         false},  // so many keys with a row each do not pay
        {"ascending, each twice", [](std::int64_t i) { return i / 2; }, true, true},
        {"ascending, each four times", [](std::int64_t i) { return i / 4; }, true, true},
        {"descending", [](std::int64_t i) { return 5 - i / 2; }, true, true},
        {"in steps", [](std::int64_t i) { return 2 * pick(i, kKeys) - 1000; }, true, true},
        {"drifting", [](std::int64_t i) { return pick(i, 60'000) + i / 3; }, true, true},
        {"another range later", [](std::int64_t i) { return pick(i, kKeys) - (i > kRows / 2 ? kKeys : 0); },
         true, true},
        {"one far away", [](std::int64_t i) { return i % 1000 ? pick(i, kKeys) : -2'000'000'000; }, true,
         true},
        {"far apart later",
         [](std::int64_t i) { return i > kRows / 2 ? pick(i, 2'000'000'000) : pick(i, kKeys); }, true, false},
        {"far apart", [](std::int64_t i) { return pick(i, kKeys) * 19'937; }, false, false},
    };
    return all;
}

/// Sums of i and of 1 / (i + 1) by key, as {key, {i64, f64}}.
struct Sums {
    std::int64_t whole;
    double real;
};

template <class Key>
void check(Types& types, const WeldType* key_type, std::int64_t offset, const Shape& shape) {
    CAPTURE(shape.name);
    CAPTURE(offset);
    const WeldType* value = types.tuple({types.i64(), types.f64()});
    const auto key_of = [&](std::int64_t i) {
        return Key(std::uint64_t(shape.key(i)) + std::uint64_t(offset));
    };
    const Ran ran = run(1, [&](WeldTask* t) {
        WeldDict* d = weld_rt_dict_new(t, key_type, value, 0);
        std::unordered_map<Key, Sums> expected;
        bool was_direct = false;
        for (std::int64_t i = 0; i < kRows; ++i) {
            const Key key = key_of(i);
            const Sums one{i, 1 / double(i + 1)};
            MUST(!weld_rt_dict_merge(t, d, &key, &one, kWeldAdd, 0));
            was_direct |= is_direct(d);
            const auto [at, is_new] = expected.try_emplace(key, one);
            if (is_new) continue;
            at->second.whole += one.whole;
            at->second.real += one.real;
        }
        CHECK(was_direct == shape.begins);
        CHECK(is_direct(d) == shape.stays);
        MUST(weld_rt_dict_result(t, d, 0) == d);
        MUST(weld_rt_dict_len(d) == std::ssize(expected));
        for (const auto& [key, sums] : expected) {
            const auto* found = static_cast<const Sums*>(weld_rt_dict_find(t, d, &key));
            MUST(found);
            MUST(found->whole == sums.whole);
            MUST(found->real == sums.real);  // in the order of the rows
        }
        return 0;
    });
    CHECK(ran.good);
}

}  // namespace

TEST_CASE("integers close together have direct tables, wherever they are and in whichever order they come") {
    Types types;
    for (const Shape& shape : shapes()) {
        for (std::int64_t offset : {std::int64_t(0), INT64_MAX - 4 * kRows, INT64_MIN + 4 * kKeys})
            check<std::int64_t>(types, types.i64(), offset, shape);
        for (std::int64_t offset : {0, INT32_MAX - 4 * int(kRows)})
            check<std::int32_t>(types, types.scalar(kWeldI32), offset, shape);
        check<std::uint32_t>(types, types.scalar(kWeldU32), 3'000'000'000, shape);
        check<std::uint64_t>(types, types.scalar(kWeldU64), 0, shape);
    }
}

TEST_CASE("direct tables become one with others that are direct, small or cut") {
    Types types;
    const auto ascending = [](std::int64_t i) { return i / 3; };
    const auto other_range = [](std::int64_t i) { return 50'000 + pick(i, kKeys); };
    const auto far_range = [](std::int64_t i) { return std::int64_t(1) << 40 | pick(i, kKeys); };
    const auto few = [](std::int64_t i) { return pick(i, 10) * 30'000; };
    const auto anywhere = [](std::int64_t i) { return pick(i, kKeys) * 1'000'003; };
    using Keys = std::function<std::int64_t(std::int64_t)>;
    const std::vector<std::vector<Keys>> groups = {{ascending, other_range},
                                                   {ascending, ascending, other_range},
                                                   {ascending, few, other_range},
                                                   {ascending, far_range},
                                                   {few, ascending},
                                                   {ascending, anywhere, few},
                                                   {anywhere, ascending}};
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (const int threads : {1, 3}) {
            CAPTURE(g);
            const Ran ran = run(threads, [&](WeldTask* t) {
                std::vector<WeldDict*> parts;
                std::unordered_map<std::int64_t, std::int64_t> expected;
                for (const Keys& key_of : groups[g]) {
                    WeldDict* d = weld_rt_dict_new(t, types.i64(), types.i64(), 0);
                    for (std::int64_t i = 0; i < kRows; ++i) {
                        const std::int64_t key = key_of(i);
                        MUST(!weld_rt_dict_merge(t, d, &key, &i, kWeldAdd, 0));
                        expected[key] += i;
                    }
                    parts.push_back(d);
                }
                WeldDict* whole = merge_tables(task_of(t), {parts.data(), std::ssize(parts), kWeldAdd}, 0);
                MUST(whole);
                CHECK(is_direct(whole) == (g < 3));
                for (std::int64_t i = 0; i < kRows; ++i) {  // and it goes on
                    const std::int64_t key = ascending(i);
                    MUST(!weld_rt_dict_merge(t, whole, &key, &i, kWeldAdd, 0));
                    expected[key] += i;
                }
                MUST(weld_rt_dict_result(t, whole, 0) == whole);
                MUST(weld_rt_dict_len(whole) == std::ssize(expected));
                for (const auto& [key, sum] : expected) {
                    const auto* found = static_cast<const std::int64_t*>(weld_rt_dict_find(t, whole, &key));
                    MUST(found);
                    MUST(*found == sum);
                }
                return 0;
            });
            CHECK(ran.good);
        }
}

TEST_CASE("many rows that wait begin direct tables where keys are close together and some frequent") {
    Types types;
    constexpr std::int64_t rows = 5'500'000, keys = 1 << 23;
    for (const int threads : {1, 3}) {
        const Ran ran = run(threads, [&](WeldTask* t) {
            WeldDict* d = weld_rt_dict_new(t, types.i64(), types.i64(), 0);
            std::vector<std::int64_t> expected(keys), numbers(keys);
            for (std::int64_t i = 0; i < rows; ++i) {
                const auto key = std::int64_t(std::exp2(double(pick(i, 1 << 20)) / (1 << 20) * 23)) - 1;
                const std::int64_t value = i % 1000;
                MUST(!weld_rt_dict_merge(t, d, &key, &value, kWeldAdd, 0));
                expected[std::size_t(key)] += value;
                ++numbers[std::size_t(key)];
            }
            CHECK(is_direct(d) == (threads == 1));  // workers would have one each
            MUST(weld_rt_dict_result(t, d, 0) == d);
            for (std::int64_t key = 0; key < keys; ++key) {
                const auto* found = static_cast<const std::int64_t*>(weld_rt_dict_find(t, d, &key));
                MUST((found != nullptr) == (numbers[std::size_t(key)] > 0));
                MUST((!found || *found == expected[std::size_t(key)]));
            }
            return 0;
        });
        CHECK(ran.good);
    }
}
