// Sorting by comparison and by key, and the comparison of values.
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "runtime/few_keys.h"
#include "runtime/order.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

template <std::size_t Size>
struct Row {
    std::int32_t key;
    std::int32_t number;
    char rest[Size - 8];
};

/// Compares rows by key. `captures` counts the calls if it is not null.
std::int32_t by_key(WeldTask*, const void*, const void* a, const void* b, std::int32_t* order) {
    const std::int32_t x = *static_cast<const std::int32_t*>(a), y = *static_cast<const std::int32_t*>(b);
    *order = x < y ? -1 : x > y;
    return 0;
}

template <class T>
std::vector<T> sorted(int threads, const std::vector<T>& in, const WeldType* type, WeldCompareFn compare,
                      Ran* ran = nullptr, const void* captures = nullptr) {
    std::vector<T> out;
    const WeldVec v = view(in);
    Ran r = run(threads, [&](WeldTask* t) {
        WeldVec result;
        const std::int32_t status = weld_rt_sort(t, &v, type, compare, captures, &result, -1, 9);
        if (!status) out = copy_of<T>(result);
        return status;
    });
    if (ran) *ran = std::move(r);
    return out;
}

template <std::size_t Size>
void rows_of(std::int64_t n, std::int32_t keys) {
    Types types;
    std::mt19937 random(static_cast<unsigned>(n));
    std::vector<Row<Size>> rows(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
        rows[std::size_t(i)] = {std::int32_t(random() % unsigned(keys)), std::int32_t(i), {}};
    const WeldType type{.kind = kWeldStruct, .size = Size, .align = 4};
    auto expected = rows;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.key < b.key; });
    for (int threads : {1, 2, 4, 16}) CHECK(same_bytes(sorted(threads, rows, &type, by_key), expected));
}

template <class K>
void keys_of(int kind, const std::vector<K>& keys) {
    Types types;
    std::vector<std::int64_t> numbers(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) numbers[i] = std::int64_t(i);
    auto expected = numbers;
    std::stable_sort(expected.begin(), expected.end(), [&](std::int64_t a, std::int64_t b) {
        const K x = keys[std::size_t(a)], y = keys[std::size_t(b)];
        if constexpr (std::is_floating_point_v<K>)
            if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
        return x < y;
    });
    std::vector<K> by_themselves;
    for (std::int64_t i : expected) by_themselves.push_back(keys[std::size_t(i)]);
    const auto n = std::int64_t(keys.size());
    for (const std::int64_t limit : {std::int64_t(-1), std::int64_t(0), std::int64_t(10), n / 20}) {
        const std::int64_t count = limit < 0 ? n : std::min(limit, n);
        auto make = [&](int threads) {
            std::vector<std::int64_t> out;
            run(threads, [&](WeldTask* t) {
                const WeldVec in = view(numbers), by = view(keys);
                WeldVec result;
                MUST(weld_rt_sort_keys(t, &in, types.i64(), &by, types.scalar(kind), &result, limit, 0) == 0);
                out = copy_of<std::int64_t>(result);
                return 0;
            });
            return out;
        };
        CHECK(on_all_threads(make) == std::vector(expected.begin(), expected.begin() + count));
        auto make_values = [&](int threads) {
            std::vector<K> out;
            run(threads, [&](WeldTask* t) {
                const WeldVec in = view(keys);
                WeldVec result;
                MUST(weld_rt_sort_keys(t, &in, types.scalar(kind), &in, types.scalar(kind), &result, limit,
                                       0) == 0);
                out = copy_of<K>(result);
                return 0;
            });
            return out;
        };
        const std::vector<K> first(by_themselves.begin(), by_themselves.begin() + count);
        for (int threads : {1, 2, 4, 16}) CHECK(same_bytes(make_values(threads), first));
    }
}

}  // namespace

TEST_CASE("sorting is stable, for all sizes of elements and numbers of threads") {
    for (std::int64_t n : {0, 1, 2, 12, 13, 1000, 16'384, 16'385, 70'000, 200'000}) {
        rows_of<8>(n, 50);
        rows_of<12>(n, 1 << 30);
        rows_of<16>(n, 3);
    }
    rows_of<72>(60'000, 100);
}

TEST_CASE("a comparison that contradicts itself still gives a permutation, the same for all threads") {
    Types types;
    std::vector<std::int64_t> numbers(120'000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::int64_t(i);
    auto odd = [](WeldTask*, const void*, const void* a, const void* b, std::int32_t* order) -> std::int32_t {
        const std::uint64_t x = *static_cast<const std::uint64_t*>(a),
                            y = *static_cast<const std::uint64_t*>(b);
        *order = std::int32_t((x * 31 + y * 17) % 5) - 2;
        return 0;
    };
    auto result = on_all_threads([&](int threads) { return sorted(threads, numbers, types.i64(), odd); });
    std::sort(result.begin(), result.end());
    CHECK(result == numbers);
}

TEST_CASE("a failing comparison ends the sort with its failure") {
    Types types;
    std::vector<std::int64_t> numbers(100'000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::int64_t(i * 7919 % 100'000);
    auto fails = [](WeldTask* t, const void*, const void* a, const void* b,
                    std::int32_t* order) -> std::int32_t {
        const std::int64_t x = *static_cast<const std::int64_t*>(a), y = *static_cast<const std::int64_t*>(b);
        *order = x < y ? -1 : x > y;
        if (x < 50'000 && y < 50'000) return 0;
        weld_rt_fail_at(t, kWeldDivisionByZero, std::int32_t(x * 3 + y), 0, 0);
        return 1;
    };
    auto make = [&](int threads) {
        Ran ran;
        sorted(threads, numbers, types.i64(), fails, &ran);
        CHECK_FALSE(ran.good);
        CHECK(ran.failure.code == kWeldDivisionByZero);
        CHECK(ran.failure.message == "division by zero");
        CHECK(ran.account->used() == 0);
        return ran.failure.loc;
    };
    on_all_threads(make);
}

TEST_CASE("comparisons may allocate") {
    Types types;
    std::vector<std::int64_t> numbers(100'000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::int64_t(i * 7919 % 100'000);
    auto greedy = [](WeldTask* t, const void*, const void* a, const void* b,
                     std::int32_t* order) -> std::int32_t {
        if (!weld_rt_alloc(t, 100, 8, 0)) return 1;
        return by_key(t, nullptr, a, b, order);
    };
    for (int threads : {1, 4}) {
        Ran ran;
        const auto out = sorted(threads, numbers, types.i64(), greedy, &ran);
        CHECK(std::is_sorted(out.begin(), out.end()));
        CHECK(ran.account->peak() < 20 << 20);
    }
}

TEST_CASE("sorting by scalar keys") {
    std::mt19937_64 random(3);
    for (std::size_t n : {0, 1, 2, 3, 4, 5, 8, 13, 24, 25, 33, 63, 64, 65, 100, 127, 500, 300'000}) {
        std::vector<std::int64_t> wide(n), narrow(n), ascending(n);
        std::vector<std::uint8_t> bytes(n), flags(n);
        std::vector<float> floats(n);
        std::vector<double> doubles(n);
        const double special[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1e-310, -1e-310};
        for (std::size_t i = 0; i < n; ++i) {
            wide[i] = std::int64_t(random());
            narrow[i] = std::int64_t(random() % 100) - 50;
            ascending[i] = std::int64_t(i / 3);
            bytes[i] = std::uint8_t(random());
            flags[i] = random() & 1;
            floats[i] = float(std::int64_t(random()));
            doubles[i] = random() % 4 ? double(std::int64_t(random())) : special[random() % 8];
        }
        keys_of<std::int64_t>(kWeldI64, wide);
        keys_of<std::int64_t>(kWeldI64, narrow);
        keys_of<std::int64_t>(kWeldI64, ascending);
        keys_of<std::uint8_t>(kWeldU8, bytes);
        keys_of<std::uint8_t>(kWeldBool, flags);
        keys_of<float>(kWeldF32, floats);
        keys_of<double>(kWeldF64, doubles);
    }
}

TEST_CASE("a few numbers are put in order by counting, in each way the machine has") {
    std::mt19937_64 random(7);
    for (const FewForm& form : few_forms())
        for (std::int64_t n = 0; n <= form.most; ++n)
            for (const std::int64_t range : {std::int64_t(1), std::int64_t(3), std::int64_t(1) << 40}) {
                std::vector<std::int64_t> numbers, order(static_cast<std::size_t>(n));
                for (std::int64_t i = 0; i < n; ++i)
                    numbers.push_back(std::int64_t(random() % std::uint64_t(range)) - range / 2);
                if (n > 2 && range > 3) numbers[1] = INT64_MIN, numbers[2] = INT64_MAX;
                std::iota(order.begin(), order.end(), 0);
                std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return numbers[std::size_t(i)]; });
                numbers.resize(kMostFew, INT64_MAX);
                std::vector<std::int64_t> places(kMostFew);
                form.count_before(numbers.data(), n, places.data());
                CAPTURE(n);
                for (std::int64_t i = 0; i < n; ++i) CHECK(places[std::size_t(order[std::size_t(i)])] == i);
            }
}

TEST_CASE("one number whose order does not tell which it is") {
    for (const double special : {-0.0, double(NAN), -double(NAN)})
        for (const std::size_t at : {0, 1, 99'998, 99'999}) {
            std::vector<double> doubles(100'000);
            for (std::size_t i = 0; i < doubles.size(); ++i) doubles[i] = double((i * 7919) % 1000) - 500;
            doubles[at] = special;
            keys_of<double>(kWeldF64, doubles);
            std::vector<float> floats(doubles.begin(), doubles.end());
            keys_of<float>(kWeldF32, floats);
        }
}

TEST_CASE("sorting by keys of one and two bytes, fewer and more than are counted, by several workers") {
    std::mt19937_64 random(5);
    for (const std::size_t n : {300, 65'535, 65'536, 600'003}) {
        std::vector<std::int8_t> bytes(n);
        std::vector<std::int16_t> shorts(n);
        std::vector<std::uint16_t> few(n);
        for (std::size_t i = 0; i < n; ++i) {
            bytes[i] = std::int8_t(random());
            shorts[i] = std::int16_t(random());
            few[i] = random() % 3 ? 65'535 : std::uint16_t(random() % 2);
        }
        keys_of<std::int8_t>(kWeldI8, bytes);
        keys_of<std::int16_t>(kWeldI16, shorts);
        keys_of<std::uint16_t>(kWeldU16, few);
    }
}

TEST_CASE("sorting by strings and structs") {
    Types types;
    std::mt19937 random(8);
    std::vector<std::string> strings(150'000);
    for (std::string& s : strings) {
        s.resize(random() % 14);
        for (char& c : s) c = char('a' + random() % 2);
    }
    struct Key {
        WeldVec name;
        std::int32_t number;
    };
    std::vector<Key> keys;
    std::vector<std::int32_t> numbers, expected;
    for (std::size_t i = 0; i < strings.size(); ++i) {
        keys.push_back({view(strings[i]), std::int32_t(random() % 3) - 1});
        numbers.push_back(std::int32_t(i));
    }
    expected = numbers;
    std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
        return std::pair(strings[std::size_t(a)], keys[std::size_t(a)].number) <
               std::pair(strings[std::size_t(b)], keys[std::size_t(b)].number);
    });
    const WeldType* type = types.tuple({types.str(), types.i32()});
    for (const std::int64_t limit : {-1, 5, 300}) {  // many begin with the same bytes
        auto make = [&](int threads) {
            std::vector<std::int32_t> out;
            run(threads, [&](WeldTask* t) {
                const WeldVec in = view(numbers), by = view(keys);
                WeldVec result;
                MUST(weld_rt_sort_keys(t, &in, types.i32(), &by, type, &result, limit, 0) == 0);
                out = copy_of<std::int32_t>(result);
                return 0;
            });
            return out;
        };
        const auto end = limit < 0 ? expected.end() : expected.begin() + limit;
        CHECK(on_all_threads(make) == std::vector(expected.begin(), end));
    }
}

TEST_CASE("values compare by numbers, structs and vectors lexicographically, and NaN with nothing") {
    Types types;
    const double nan = NAN;
    const std::vector<double> one{1.0}, one_nan{1.0, nan}, two{1.0, 2.0};
    const WeldVec a = view(one), b = view(one_nan), c = view(two);
    const WeldType* vec = types.vec(types.f64());
    run(1, [&](WeldTask* t) {
        CHECK(weld_rt_compare(t, vec, &a, &b) == -1);
        CHECK(weld_rt_compare(t, vec, &c, &a) == 1);
        CHECK(weld_rt_compare(t, vec, &b, &c) == 2);
        CHECK(weld_rt_compare(t, vec, &b, &b) == 2);
        CHECK(weld_rt_compare(t, vec, &c, &c) == 0);
        CHECK(compare_totally(task_of(t), vec, &b, &b) == 0);
        CHECK(compare_totally(task_of(t), vec, &c, &b) == -1);
        const std::string minus("\xff", 1), plus("\x01", 1);
        const WeldVec m = view(minus), p = view(plus);
        CHECK(weld_rt_compare(t, types.vec(types.scalar(kWeldI8)), &m, &p) == -1);
        CHECK(weld_rt_compare(t, types.vec(types.scalar(kWeldU8)), &m, &p) == 1);
        CHECK(weld_rt_compare(t, types.vec(types.scalar(kWeldBool)), &m, &p) == 0);
        struct Pair {
            std::int8_t first;
            double second;
        };
        const WeldType* pair = types.tuple({types.scalar(kWeldI8), types.f64()});
        auto compare = [&](Pair x, Pair y) { return weld_rt_compare(t, pair, &x, &y); };
        CHECK(compare({1, nan}, {2, nan}) == -1);
        CHECK(compare({1, nan}, {1, 0}) == 2);
        CHECK(compare({1, -0.0}, {1, 0.0}) == 0);
        CHECK(compare({3, 0}, {-3, 0}) == 1);
        CHECK(weld_rt_compare(t, types.tuple({}), nullptr, nullptr) == 0);
        return 0;
    });
}
