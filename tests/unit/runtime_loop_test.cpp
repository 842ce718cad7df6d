// Loops: chunks, states of builders, failures, cancellation, nesting.
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>

#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

/// A loop over C++ code.
struct Loop {
    using Body = std::function<std::int32_t(WeldTask*, void* state, std::int64_t lo, std::int64_t hi)>;
    Body body;
    WeldLoop loop{};

    Loop(const WeldType* state, std::int64_t cost, Body b, const std::int64_t* appends = nullptr)
        : body(std::move(b)) {
        loop.body = [](WeldTask* t, const void* captures, void* s, std::int64_t lo, std::int64_t hi) {
            return static_cast<const Loop*>(captures)->body(t, s, lo, hi);
        };
        loop.state = state;
        loop.cost = 1000 * cost;
        loop.multiple = 1;
        loop.parallel = 1;
        loop.loc = 7;
        loop.appends = appends;
    }
    std::int32_t operator()(WeldTask* t, void* state, std::int64_t n) const {
        return weld_rt_loop(t, &loop, this, state, n);
    }
};

std::vector<double> noise(std::int64_t n, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> real(-1e6, 1e6);
    std::vector<double> all(static_cast<std::size_t>(n));
    for (double& x : all) x = real(random) * std::pow(10.0, double(random() % 20) - 10);
    return all;
}

std::int32_t append(WeldTask* t, WeldAppender* a, auto x) {
    if (a->size == a->capacity)
        if (weld_rt_appender_grow(t, a, 1, sizeof x, 0)) return 1;
    static_cast<decltype(x)*>(a->data)[a->size++] = x;
    return 0;
}

}  // namespace

TEST_CASE("a float sum has the same bits on any number of threads, and in a serial loop") {
    Types types;
    const std::vector<double> xs = noise(1'000'003);
    auto sum = [&](int threads, bool parallel) {
        double total = 0.25;
        Loop loop(types.merger(types.f64(), kWeldAdd), 2,
                  [&](WeldTask*, void* s, std::int64_t lo, std::int64_t hi) {
                      for (std::int64_t i = lo; i < hi; ++i) *static_cast<double*>(s) += xs[std::size_t(i)];
                      return 0;
                  });
        loop.loop.parallel = parallel;
        CHECK(run(threads, [&](WeldTask* t) { return loop(t, &total, std::int64_t(xs.size())); }).good);
        return total;
    };
    const double first = on_all_threads([&](int threads) { return sum(threads, true); });
    CHECK(sum(4, false) == first);
    long double exact = 0.25;
    double magnitude = 0;
    for (double x : xs) exact += x, magnitude += std::abs(x);
    CHECK(std::abs(double(exact - first)) < 1e-12 * magnitude);
}

TEST_CASE("a few rounds that take long are a chunk each") {
    Types types;
    const auto chunks = [&](int threads) {
        std::set<std::pair<std::int64_t, std::int64_t>> seen;
        std::mutex mutex;
        Loop loop(types.merger(types.i64(), kWeldAdd), 1'000'000,
                  [&](WeldTask*, void*, std::int64_t lo, std::int64_t hi) {
                      const std::lock_guard lock(mutex);
                      seen.insert({lo, hi});
                      return 0;
                  });
        std::int64_t state = 0;
        run(threads, [&](WeldTask* t) { return loop(t, &state, 5); });
        return seen;
    };
    CHECK(on_all_threads(chunks).size() == 5);
}

TEST_CASE("chunks cover the range, begin at multiples, and do not depend on threads") {
    Types types;
    for (std::int64_t n : {1, 16, 1000, 100'000, 1'234'567}) {
        auto chunks = [&](int threads) {
            std::set<std::pair<std::int64_t, std::int64_t>> seen;
            std::mutex mutex;
            Loop loop(types.merger(types.f64(), kWeldAdd), 50,
                      [&](WeldTask*, void*, std::int64_t lo, std::int64_t hi) {
                          const std::lock_guard lock(mutex);
                          seen.insert({lo, hi});
                          return 0;
                      });
            loop.loop.multiple = 16;
            double state = 0;
            run(threads, [&](WeldTask* t) { return loop(t, &state, n); });
            return seen;
        };
        const auto seen = on_all_threads(chunks);
        CHECK(seen.size() <= 1024);
        CHECK((n <= 1000) == (seen.size() == 1));  // 50 us
        std::int64_t at = 0;
        for (auto [lo, hi] : seen) {
            CHECK(lo == at);
            CHECK(lo % 16 == 0);
            CHECK(hi > lo);
            at = hi;
        }
        CHECK(at == n);
    }
    double state = 3;
    Loop none(types.merger(types.f64(), kWeldAdd), 50,
              [](WeldTask*, void*, std::int64_t, std::int64_t) { return 1; });
    CHECK(run(2, [&](WeldTask* t) { return none(t, &state, 0); }).good);
    CHECK(state == 3);
}

TEST_CASE("appenders keep the order: placed, collected, and behind what was there") {
    Types types;
    const std::int64_t n = 300'000;
    for (bool exact : {false, true}) {
        const std::int64_t appends[] = {exact ? 3 : -1, -1};
        auto make = [&](int threads) {
            struct {
                WeldAppender all, odd;
                double sum;
            } state{};
            const WeldType* type = types.tuple({types.appender(types.i64()), types.appender(types.f64()),
                                                types.merger(types.f64(), kWeldAdd)});
            Loop loop(
                type, 5,
                [&](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) {
                    auto* mine = static_cast<decltype(state)*>(s);
                    for (std::int64_t i = lo; i < hi; ++i) {
                        for (std::int64_t k = 0; k < 3; ++k)
                            if (append(t, &mine->all, i * 3 + k)) return 1;
                        if (i * 2654435761 % 7 < 2 && append(t, &mine->odd, double(i))) return 1;
                        mine->sum += 1.0 / double(i + 1);
                    }
                    return 0;
                },
                appends);
            std::vector<std::int64_t> all;
            std::vector<double> rest;
            const Ran ran = run(threads, [&](WeldTask* t) {
                append(t, &state.all, std::int64_t(-1));
                append(t, &state.odd, -0.5);
                if (loop(t, &state, n) || loop(t, &state, 10)) return 1;
                all = copy_of<std::int64_t>(state.all);
                rest = copy_of<double>(state.odd);
                rest.push_back(state.sum);
                return 0;
            });
            CHECK(ran.good);
            CHECK(ran.account->used() == ran.blocks.bytes());
            return std::pair(all, rest);
        };
        const auto [all, rest] = on_all_threads(make);
        REQUIRE(all.size() == std::size_t(1 + 3 * n + 30));
        CHECK(all[0] == -1);
        for (std::int64_t i = 0; i < 3 * n; ++i) MUST(all[std::size_t(i + 1)] == i);
        CHECK(all.back() == 29);
        CHECK(std::is_sorted(rest.begin(), rest.end() - 6));
        CHECK(rest[0] == -0.5);
    }
}

TEST_CASE("a vector of what passes takes twice its memory at most: pieces, and their places") {
    Types types;
    constexpr std::int64_t n =
        20'000'000;  // pieces of 3 in 4 of a power of two, which doubling would fill badly
    const std::int64_t appends[] = {-1};
    Loop loop(
        types.appender(types.i64()), 2000,
        [](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i)
                if (i % 2 && append(t, static_cast<WeldAppender*>(s), i)) return 1;
            return 0;
        },
        appends);
    WeldAppender a{};
    const Ran ran = run(2, [&](WeldTask* t) { return loop(t, &a, n); });
    CHECK(ran.good);
    CHECK(a.size == n / 2);
    CHECK(ran.account->peak() < n / 2 * 8 * 22 / 10);
}

TEST_CASE("the last round may append fewer than the others, which say how many") {
    Types types;
    constexpr std::int64_t n = 1000, each = 100, last = 37;
    const std::int64_t appends[] = {each};
    Loop loop(
        types.appender(types.i64()), 10'000,
        [](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i)
                for (std::int64_t k = 0; k < (i == n - 1 ? last : each); ++k)
                    if (append(t, static_cast<WeldAppender*>(s), i * each + k)) return 1;
            return 0;
        },
        appends);
    for (int threads : {1, 2, 4}) {
        WeldAppender a{};
        bool in_order = true;
        CHECK(run(threads, [&](WeldTask* t) {
                  const std::int32_t status = loop(t, &a, n);
                  for (std::int64_t i = 0; i < a.size; ++i)
                      in_order &= static_cast<const std::int64_t*>(a.data)[i] == i;
                  return status;
              }).good);
        CHECK(a.size == (n - 1) * each + last);
        CHECK(in_order);
    }
}

TEST_CASE("loops inside of rounds of which as many wait as there are workers are not cut") {
    Types types;
    for (int threads : {1, 2, 4}) {
        std::mutex mutex;
        std::vector<std::int64_t> lengths;  // of chunks of the loops inside
        Loop inner(types.appender(types.i64()), 1'000'000,
                   [&](WeldTask*, void*, std::int64_t lo, std::int64_t hi) {
                       const std::lock_guard lock(mutex);
                       lengths.push_back(hi - lo);
                       return 0;
                   });
        Loop outer(types.merger(types.i64(), kWeldAdd), 1'000'000,
                   [&](WeldTask* t, void*, std::int64_t lo, std::int64_t hi) {
                       for (std::int64_t i = lo; i < hi; ++i) {
                           WeldAppender a{};
                           if (inner(t, &a, 100)) return 1;
                       }
                       return 0;
                   });
        std::int64_t state = 0;
        CHECK(run(threads, [&](WeldTask* t) { return outer(t, &state, 40); }).good);
        const auto whole = std::ranges::count(lengths, 100);
        CHECK(std::accumulate(lengths.begin(), lengths.end(), std::int64_t(0)) == 4000);
        if (threads > 1) CHECK(whole >= 20);  // how many depends on when threads come
        if (threads > 1) CHECK(whole < 40);   // the last ones are shared out
    }
}

TEST_CASE("an appender that promised another number of elements is found out") {
    Types types;
    const std::int64_t appends[] = {1};
    Loop loop(
        types.appender(types.i64()), 100, [](WeldTask*, void*, std::int64_t, std::int64_t) { return 0; },
        appends);
    WeldAppender a{};
    CHECK_FALSE(run(2, [&](WeldTask* t) { return loop(t, &a, 100'000); }).good);
}

// Tables that are cut into partitions: rows as large as they may be, and keys of each size. One chunk, whose
// rows are merged several times before the loop ends, or five, whose rows all wait.
static void check_large_rows(std::int64_t cost) {
    Types types;
    constexpr std::int64_t n = 350'000, distinct = 120'000, fields = 28;
    struct Sums {
        double real;
        std::int64_t whole[fields];
    };
    for (const int key_kind : {0, 1, 2, 3}) {
        const WeldType* const key_types[] = {types.i64(), types.scalar(kWeldU32), types.f64(),
                                             types.tuple({types.i64(), types.i64()})};
        const WeldType* key = key_types[key_kind];
        const WeldType* i64 = types.i64();
        const WeldType* seven = types.tuple({i64, i64, i64, i64, i64, i64, i64});
        const WeldType* value = types.tuple({types.f64(), seven, seven, seven, seven});
        // The number of the key of iteration i; floats come as both zeros and as several NaNs.
        const auto number_of = [](std::int64_t i) { return i * 7919 % distinct; };
        const auto write_key = [&](std::int64_t i, char* to) {
            const std::int64_t number = number_of(i);
            const double zero = i % 2 ? -0.0 : 0.0, nan = std::nan(i % 2 ? "1" : "2");
            const double real = number == 0 ? zero : number == 1 ? nan : double(number);
            const std::int64_t pair[] = {number, -number};
            switch (key_kind) {
                case 1: {
                    const auto small = std::uint32_t(number);
                    return void(std::memcpy(to, &small, sizeof small));
                }
                case 2: return void(std::memcpy(to, &real, sizeof real));
                default: return void(std::memcpy(to, pair, std::size_t(key->size)));
            }
        };
        auto make = [&](int threads) {
            std::string all;
            const Ran ran = run(threads, [&](WeldTask* t) {
                const WeldType* type = types.dictmerger(key, value, kWeldAdd);
                Loop loop(type, cost, [&](WeldTask* task, void* s, std::int64_t lo, std::int64_t hi) {
                    for (std::int64_t i = lo; i < hi; ++i) {
                        char bytes[16];
                        write_key(i, bytes);
                        Sums v{1.0 / double(i + 1), {}};
                        for (std::int64_t f = 0; f < fields; ++f) v.whole[f] = i + f;
                        if (weld_rt_dict_merge(task, *static_cast<WeldDict**>(s), bytes, &v, kWeldAdd, 0))
                            return 1;
                        if (task->debt > 0) weld_rt_collect(task, s, type);
                    }
                    return 0;
                });
                WeldDict* d = weld_rt_dict_new(t, key, value, 0);
                if (loop(t, &d, n)) return 1;
                MUST(weld_rt_dict_result(t, d, 0) == d);
                CHECK(weld_rt_dict_len(d) == distinct);
                std::vector<Sums> expected(distinct);
                for (std::int64_t i = 0; i < n; ++i) {
                    Sums& e = expected[std::size_t(number_of(i))];
                    e.real += 1.0 / double(i + 1);
                    for (std::int64_t f = 0; f < fields; ++f) e.whole[f] += i + f;
                }
                std::int64_t wrong = 0;
                for (std::int64_t i = 0; i < distinct; ++i) {
                    char bytes[16];
                    write_key(i, bytes);
                    const auto* found = static_cast<const Sums*>(weld_rt_dict_find(t, d, bytes));
                    MUST(found);
                    const Sums& e = expected[std::size_t(number_of(i))];
                    wrong += std::abs(found->real - e.real) > 1e-12 * e.real;
                    wrong += std::memcmp(found->whole, e.whole, sizeof e.whole) != 0;
                }
                CHECK(wrong == 0);
                WeldVec v;
                MUST(weld_rt_dict_entries(t, d, types.tuple({key, value}), &v, 0) == 0);
                const std::int64_t value_at = weld::round_up(key->size, 8), stride = value_at + value->size;
                for (std::int64_t i = 0; i < v.len; ++i) {  // without the bytes between key and value
                    const char* entry = static_cast<const char*>(v.data) + i * stride;
                    all.append(entry, std::size_t(key->size));
                    all.append(entry + value_at, std::size_t(value->size));
                }
                return 0;
            });
            CHECK(ran.good);
            return all;
        };
        on_all_threads(make);
    }
}

TEST_CASE("large tables with large rows are the same on all threads") {
    check_large_rows(2000);
    check_large_rows(6000);
}

TEST_CASE("dictmergers, exact and not, are the same on all threads") {
    Types types;
    const std::int64_t n = 400'000;
    const std::vector<double> xs = noise(n);
    const std::int64_t heavy = 60,
                       light = 12;  // rounds of light loops go on with one table where there are many keys
    for (const auto& [keys, cost] : {std::pair<std::int64_t, std::int64_t>{1, heavy},
                                     {10, heavy},
                                     {10, light},
                                     {5000, heavy},
                                     {5000, light},
                                     {300'000, heavy},
                                     {300'000, light}}) {
        auto make = [&, keys = keys, cost = cost](int threads) {
            struct {
                WeldDict *counts, *sums, *least;
            } state{};
            const WeldType *i64 = types.i64(), *f64 = types.f64();
            const WeldType* type =
                types.tuple({types.dictmerger(i64, i64, kWeldAdd), types.dictmerger(i64, f64, kWeldAdd),
                             types.dictmerger(i64, f64, kWeldMin)});
            Loop loop(type, cost, [&](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) {
                auto* mine = static_cast<decltype(state)*>(s);
                for (std::int64_t i = lo; i < hi; ++i) {
                    const std::int64_t key = i * 7919 % keys - 3, one = 1;
                    const double x = xs[std::size_t(i)];
                    if (weld_rt_dict_merge(t, mine->counts, &key, &one, kWeldAdd, 0) ||
                        weld_rt_dict_merge(t, mine->sums, &key, &x, kWeldAdd, 0) ||
                        weld_rt_dict_merge(t, mine->least, &key, &x, kWeldMin, 0))
                        return 1;
                    if (t->debt > 0) weld_rt_collect(t, mine, type);
                }
                return 0;
            });
            std::vector<std::pair<std::int64_t, std::int64_t>> counts;
            std::vector<std::pair<std::int64_t, double>> sums, least;
            const Ran ran = run(threads, [&](WeldTask* t) {
                state = {weld_rt_dict_new(t, i64, i64, 0), weld_rt_dict_new(t, i64, f64, 0),
                         weld_rt_dict_new(t, i64, f64, 0)};
                const std::int64_t key = 0, hundred = 100;
                weld_rt_dict_merge(t, state.counts, &key, &hundred, kWeldAdd, 0);
                if (loop(t, &state, n)) return 1;
                WeldVec v;
                auto take = [&](WeldDict* d, const WeldType* value, auto& out) {
                    MUST(weld_rt_dict_entries(t, d, types.tuple({i64, value}), &v, 0) == 0);
                    out = copy_of<typename std::decay_t<decltype(out)>::value_type>(v);
                };
                // In the same order with an index and without.
                MUST(weld_rt_dict_settle(t, state.counts, 0) == 0);
                take(state.counts, i64, counts);
                const auto settled = counts;
                take(weld_rt_dict_result(t, state.counts, 0), i64, counts);
                CHECK(settled == counts);
                take(weld_rt_dict_result(t, state.sums, 0), f64, sums);
                MUST(weld_rt_dict_settle(t, state.least, 0) == 0);
                take(state.least, f64, least);
                for (const auto& [k, c] : counts)
                    MUST(*static_cast<const std::int64_t*>(weld_rt_dict_find(t, state.counts, &k)) == c);
                return 0;
            });
            CHECK(ran.good);
            return std::tuple(counts, sums, least);
        };
        const auto [counts, sums, least] = on_all_threads(make);
        std::map<std::int64_t, std::int64_t> expected{{0, 100}};
        std::map<std::int64_t, double> expected_least, in_order;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t key = i * 7919 % keys - 3;
            ++expected[key];
            auto [at, added] = expected_least.try_emplace(key, xs[std::size_t(i)]);
            if (!added) at->second = std::min(at->second, xs[std::size_t(i)]);
            in_order.try_emplace(key, 0.0).first->second += xs[std::size_t(i)];
        }
        INFO("keys: ", keys, ", cost: ", cost);
        if (keys == 300'000) CHECK(std::map(sums.begin(), sums.end()) == in_order);
        CHECK(std::map(counts.begin(), counts.end()) == expected);
        CHECK(std::map(least.begin(), least.end()) == expected_least);
        CHECK(counts.size() == expected.size());
        CHECK(std::is_sorted(counts.begin(), counts.end()) == (counts.size() <= 1 << 14));
        CHECK(std::is_sorted(sums.begin(), sums.end()) == (sums.size() <= 1 << 14));
    }
}

TEST_CASE("groupmergers keep the order of iterations for each key") {
    Types types;
    const std::int64_t n = 300'000;
    for (std::int64_t keys : {1, 77, 100'000}) {
        auto make = [&](int threads) {
            const WeldType *i32 = types.i32(), *i64 = types.i64();
            const WeldType* type = types.groupmerger(i32, i64);
            struct Row {
                std::int32_t key;
                std::int64_t value;
            };
            const auto add = [](WeldTask* t, void* s, Row row) {
                auto* rows = *static_cast<WeldAppender**>(s);
                if (weld_rt_appender_grow(t, rows, 1, sizeof(Row), 0)) return 1;
                static_cast<Row*>(rows->data)[rows->size++] = row;
                return 0;
            };
            Loop loop(type, 40, [&](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) {
                for (std::int64_t i = lo; i < hi; ++i)
                    if (add(t, s, {std::int32_t(i * 7919 % keys), i})) return 1;
                return 0;
            });
            std::map<std::int32_t, std::vector<std::int64_t>> groups;
            std::vector<std::int32_t> listed;
            const Ran ran = run(threads, [&](WeldTask* t) {
                WeldAppender* rows = weld_rt_group_new(t, 0);
                if (add(t, &rows, {0, -5}) || loop(t, &rows, n)) return 1;
                weld_rt_collect(t, &rows, type);
                WeldDict* d = weld_rt_group_result(t, rows, type->args[0], 0);
                const WeldType* dict = types.dict(i32, types.vec(i64));
                weld_rt_collect(t, &d, dict);
                WeldVec entries;
                weld_rt_dict_entries(t, d, types.tuple({i32, types.vec(i64)}), &entries, 0);
                struct Entry {
                    std::int32_t key;
                    WeldVec values;
                };
                for (const Entry& e : copy_of<Entry>(entries)) {
                    listed.push_back(e.key);
                    groups[e.key] = copy_of<std::int64_t>(e.values);
                }
                return 0;
            });
            CHECK(ran.good);
            return std::pair(groups, listed);
        };
        const auto [groups, listed] = on_all_threads(make);
        CHECK(listed.size() == groups.size());
        CHECK(std::is_sorted(listed.begin(), listed.end()) == (listed.size() <= 1 << 14));
        std::map<std::int32_t, std::vector<std::int64_t>> expected{{0, {-5}}};
        for (std::int64_t i = 0; i < n; ++i) expected[std::int32_t(i * 7919 % keys)].push_back(i);
        CHECK(groups == expected);
    }
}

TEST_CASE("vecmergers of all sizes") {
    Types types;
    const std::int64_t n = 500'000;
    const std::vector<double> xs = noise(n);
    for (std::int64_t len : {1, 1000, 100'000, 2'000'000}) {
        for (int op : {kWeldAdd, kWeldMax}) {
            auto make = [&](int threads) {
                struct State {
                    WeldVec floats, ints;
                } state{};
                const WeldType* type =
                    types.tuple({types.vecmerger(types.f64(), op), types.vecmerger(types.i64(), op)});
                Loop loop(type, 10, [&](WeldTask*, void* s, std::int64_t lo, std::int64_t hi) {
                    State* mine = static_cast<State*>(s);
                    double* floats = static_cast<double*>(mine->floats.data);
                    std::int64_t* ints = static_cast<std::int64_t*>(mine->ints.data);
                    for (std::int64_t i = lo; i < hi; ++i) {
                        const std::int64_t at = i * 7919 % len;
                        const double x = xs[std::size_t(i)];
                        floats[at] =
                            op == kWeldAdd ? floats[at] + x : std::max(x, floats[at]);  // copies begin as NaN
                        ints[at] = op == kWeldAdd ? ints[at] + i : std::max(ints[at], i);
                    }
                    return 0;
                });
                std::vector<double> floats(std::size_t(len), 1);
                std::vector<std::int64_t> ints(std::size_t(len), 2);
                state = {view(floats), view(ints)};
                CHECK(run(threads, [&](WeldTask* t) { return loop(t, &state, n); }).good);
                return std::pair(floats, ints);
            };
            const auto [floats, ints] = on_all_threads(make);
            std::vector<std::int64_t> expected(std::size_t(len), 2);
            for (std::int64_t i = 0; i < n; ++i) {
                std::int64_t& x = expected[std::size_t(i * 7919 % len)];
                x = op == kWeldAdd ? x + i : std::max(x, i);
            }
            CHECK(ints == expected);
        }
    }
}

TEST_CASE("the lowest failing chunk is the one reported") {
    Types types;
    const std::int64_t n = 200'000;
    for (int threads : {1, 2, 4, 16})
        for (int round = 0; round < 20; ++round) {
            std::atomic<std::int64_t> done{0};
            const std::int64_t first = 31'000 + round * 3000;
            Loop loop(types.merger(types.f64(), kWeldAdd), 100,
                      [&](WeldTask* t, void*, std::int64_t lo, std::int64_t hi) {
                          for (std::int64_t i = lo; i < hi; ++i) {
                              if (i == first || (i > first && i % 5000 == 0)) {
                                  weld_rt_alloc(t, 1000, 8, 0);
                                  weld_rt_region_enter(t);
                                  weld_rt_alloc(t, 1000, 8, 0);
                                  weld_rt_fail_at(t, kWeldArrayOutOfBounds, std::int32_t(i), i, 3);
                                  return 1;
                              }
                          }
                          done += hi - lo;
                          return 0;
                      });
            double state = 0;
            const Ran ran = run(threads, [&](WeldTask* t) { return loop(t, &state, n); });
            CHECK_FALSE(ran.good);
            CHECK(ran.failure.code == kWeldArrayOutOfBounds);
            CHECK(ran.failure.loc == first);
            CHECK(ran.failure.message ==
                  "index " + std::to_string(first) + " is out of bounds for a vector of length 3");
            CHECK(ran.account->used() == 0);
            CHECK(done < n);
        }
}

TEST_CASE("a run can be cancelled") {
    Types types;
    for (int threads : {1, 4}) {
        std::atomic<std::int32_t> stop = 0;
        std::atomic<int> chunks{0};
        Loop loop(types.merger(types.f64(), kWeldAdd), 1000,
                  [&](WeldTask*, void*, std::int64_t, std::int64_t) {
                      if (++chunks == 5) stop = 1;
                      return 0;
                  });
        double state = 0;
        const Ran ran = run(
            threads, [&](WeldTask* t) { return loop(t, &state, 1'000'000); }, nullptr, nullptr,
            MemoryAccount::kUnlimited, &stop);
        CHECK_FALSE(ran.good);
        CHECK(ran.failure.code == kWeldCancelled);
        CHECK(ran.failure.loc == 7);
        CHECK(ran.failure.message == "cancelled");
        CHECK(chunks < 5 + threads);
    }
}

TEST_CASE("when a chunk fails, those after it stop, and those before go on") {
    Types types;
    constexpr std::int64_t failing = 1;  // of two chunks that run at the same time
    const auto outlasts = [](WeldTask* t) {
        for (int i = 0; i < 100'000 && !task_of(t)->should_stop(); ++i)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        return !task_of(t)->should_stop();
    };
    for (const bool nested : {false, true}) {
        std::atomic<bool> begun = false, failed = false, stopped = false;  // begun: what is to be stopped
        std::atomic<std::int64_t> fails_at = -1;
        std::atomic<int> before = 0, chunks = 0;
        const WeldType* sum = types.merger(types.f64(), kWeldAdd);
        Loop loop(sum, 1'000'000, [&](WeldTask* t, void*, std::int64_t lo, std::int64_t hi) -> std::int32_t {
            const std::int64_t chunk = lo / (hi - lo);
            ++chunks;
            while (chunk <= failing + 1 && chunks < 3) std::this_thread::yield();
            if (chunk == failing) {
                while (!begun) std::this_thread::yield();
                fails_at = lo;
                failed = true;
                weld_rt_fail_at(t, kWeldKeyNotFound, std::int32_t(lo), 0, 0);
                return 1;
            }
            if (chunk < failing) {
                while (!failed) std::this_thread::yield();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                before += !task_of(t)->should_stop();
                return 0;
            }
            if (!nested) {
                begun = true;
                return stopped = !outlasts(t), task_of(t)->check_stop(7);
            }
            Loop inner(sum, 1'000'000, [&](WeldTask* part, void*, std::int64_t, std::int64_t) {
                begun = true;
                stopped = !outlasts(part);
                return task_of(part)->check_stop(7);
            });
            double state = 0;
            return inner(t, &state, 1000);
        });
        double state = 0;
        const Ran ran = run(4, [&](WeldTask* t) { return loop(t, &state, 1000); });
        CHECK_FALSE(ran.good);
        CHECK(ran.failure.code == kWeldKeyNotFound);
        CHECK(ran.failure.loc == fails_at);
        CHECK(before == 1);
        CHECK(stopped);
        CHECK(ran.account->used() == 0);
    }
}

TEST_CASE("loops nest, and inner ones are cut the same way everywhere") {
    Types types;
    const std::int64_t rows = 60, n = 20'000;
    const std::vector<double> xs = noise(rows * n);
    auto make = [&](int threads) {
        const WeldType* sum = types.merger(types.f64(), kWeldAdd);
        const WeldType* rows_type = types.appender(types.f64());
        Loop outer(rows_type, 20'000, [&](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) {
            for (std::int64_t r = lo; r < hi; ++r) {
                Loop inner(sum, 20, [&](WeldTask*, void* s2, std::int64_t lo2, std::int64_t hi2) {
                    for (std::int64_t i = lo2; i < hi2; ++i)
                        *static_cast<double*>(s2) += xs[std::size_t(r * n + i)];
                    return 0;
                });
                double total = 0;
                if (inner(t, &total, n) || append(t, static_cast<WeldAppender*>(s), total)) return 1;
            }
            return 0;
        });
        std::vector<double> sums;
        CHECK(run(threads, [&](WeldTask* t) {
                  WeldAppender a{};
                  const std::int32_t status = outer(t, &a, rows);
                  sums = copy_of<double>(a);
                  return status;
              }).good);
        return sums;
    };
    const auto sums = on_all_threads(make);
    REQUIRE(sums.size() == std::size_t(rows));
    for (std::int64_t r = 0; r < rows; ++r) {  // and as in a program without an outer loop
        Loop alone(types.merger(types.f64(), kWeldAdd), 20,
                   [&](WeldTask*, void* s, std::int64_t lo, std::int64_t hi) {
                       for (std::int64_t i = lo; i < hi; ++i)
                           *static_cast<double*>(s) += xs[std::size_t(r * n + i)];
                       return 0;
                   });
        double total = 0;
        run(1, [&](WeldTask* t) { return alone(t, &total, n); });
        CHECK(total == sums[std::size_t(r)]);
    }
}

TEST_CASE("loops that make garbage run in constant memory") {
    Types types;
    const WeldType* type = types.tuple(
        {types.appender(types.vec(types.i64())), types.dictmerger(types.str(), types.i64(), kWeldAdd)});
    struct State {
        WeldAppender kept;
        WeldDict* names;
    };
    for (int threads : {1, 2, 4}) {
        State state{};
        Loop loop(type, 300, [&](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) {
            State* mine = static_cast<State*>(s);
            for (std::int64_t i = lo; i < hi; ++i) {
                WeldVec v{weld_rt_alloc(t, 100, 8, 0), 100};
                if (!v.data) return 1;
                for (int k = 0; k < 100; ++k) static_cast<std::int64_t*>(v.data)[k] = i;
                if (i % 1000 == 0 && append(t, &mine->kept, v)) return 1;
                WeldVec name{weld_rt_alloc(t, 6, 1, 0), 6};
                if (!name.data) return 1;
                std::memcpy(name.data, std::to_string(100'000 + i % 5000).data(), 6);
                const std::int64_t one = 1;
                if (weld_rt_dict_merge(t, mine->names, &name, &one, kWeldAdd, 0)) return 1;
                if (t->debt > 0) weld_rt_collect(t, s, type);
            }
            return 0;
        });
        const Ran ran = run(
            threads,
            [&](WeldTask* t) {
                state.names = weld_rt_dict_new(t, types.str(), types.i64(), 0);
                return loop(t, &state, 300'000);
            },
            type, &state, 24 << 20);  // of the 240 MB that are allocated in all
        CHECK(ran.failure.message == "");
        REQUIRE(ran.good);
        REQUIRE(state.kept.size == 300);
        for (int i = 0; i < 300; ++i) {
            const std::vector<std::int64_t> v =
                copy_of<std::int64_t>(static_cast<WeldVec*>(state.kept.data)[i]);
            CHECK(v == std::vector<std::int64_t>(100, i * 1000));
        }
        CHECK(weld_rt_dict_len(state.names) == 5000);
        // builders that a later run may continue are not looked through when the run ends
        CHECK(ran.blocks.bytes() < 12 << 20);
    }
}

TEST_CASE("runs of several host threads do not disturb each other") {
    Types types;
    const std::vector<double> xs = noise(200'000);
    const WeldType* type = types.merger(types.f64(), kWeldAdd);
    std::vector<std::thread> threads;
    std::vector<double> sums(6);
    for (int k = 0; k < 6; ++k)
        threads.emplace_back([&, k] {
            for (int round = 0; round < 20; ++round) {
                double total = 0;
                Loop loop(type, 10, [&](WeldTask*, void* s, std::int64_t lo, std::int64_t hi) {
                    for (std::int64_t i = lo; i < hi; ++i) *static_cast<double*>(s) += xs[std::size_t(i)];
                    return 0;
                });
                run(1 + k % 3, [&](WeldTask* t) { return loop(t, &total, std::int64_t(xs.size())); });
                sums[std::size_t(k)] = total;
            }
        });
    for (std::thread& t : threads) t.join();
    for (double s : sums) CHECK(s == sums[0]);
}

TEST_CASE("where nditer reads") {
    const std::vector<std::int64_t> shape{2, 3, 4}, strides{100, -10, 1}, none;
    const WeldVec s = view(shape), st = view(strides), empty = view(none);
    CHECK(weld_rt_nd_offset(&s, &st, 0) == 0);
    CHECK(weld_rt_nd_offset(&s, &st, 5) == -9);
    CHECK(weld_rt_nd_offset(&s, &st, 23) == 83);
    CHECK(weld_rt_nd_offset(&empty, &empty, 0) == 0);
}

TEST_CASE("how many rounds nditer has") {
    using Numbers = std::vector<std::int64_t>;
    std::string message;
    const auto rounds = [&](const Numbers& shape, const Numbers& strides, std::int64_t start,
                            std::int64_t len) {
        const WeldVec s = view(shape), st = view(strides);
        std::int64_t n = 0;
        const Failure f = run(1, [&](WeldTask* t) {
                              n = weld_rt_nd_rounds(t, &s, &st, start, len, 7);
                              return n < 0;
                          }).failure;
        CHECK((n < 0) == (f.code == kWeldBadIteratorLength));
        message = f.message;
        return n;
    };
    CHECK(rounds({2, 3, 4}, {100, 10, 1}, 0, 124) == 24);
    CHECK(rounds({2, 3, 4}, {100, -10, 1}, 20, 124) == 24);
    CHECK(rounds({}, {}, 3, 4) == 1);
    CHECK(rounds({INT64_MAX, 1}, {0, INT64_MIN}, 0, 1) == INT64_MAX);
    CHECK(rounds({INT64_MAX, INT64_MAX, 0}, {1, 1, 1}, -5, 0) == 0);
    CHECK(rounds({2, 3, 4}, {100, 10, 1}, 1, 124) == -1);
    CHECK(message ==
          "`nditer` leads outside of a vector of length 124, from start 1 by strides of [100, 10, 1]");
    CHECK(rounds({2, 3, 4}, {100, -10, 1}, 19, 124) == -1);
    CHECK(rounds({}, {}, 4, 4) == -1);
    CHECK(rounds({2, 3}, {1}, 0, 9) == -1);
    CHECK(message == "`nditer` has a shape of 2 sizes and 1 strides");
    CHECK(rounds({0, -1}, {1, 1}, 0, 9) == -1);
    CHECK(message == "the shape of `nditer` has a size of -1");
    CHECK(rounds({INT64_MAX, 2}, {0, 0}, 0, 9) == -1);
    CHECK(message == "`nditer` has 2^63 rounds or more");
    CHECK(rounds({3, 3}, {INT64_MAX, INT64_MAX}, 0, INT64_MAX) == -1);
    CHECK(rounds({2, 2}, {INT64_MAX, 1}, 0, INT64_MAX) == -1);
}
