// Chunks of a loop that fills a table begin with the keys that its first chunk met.
#include <cmath>
#include <map>

#include "runtime/hash_table.h"
#include "runtime/merge.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

struct Value {
    double sum, least;
    std::int64_t count;
};

constexpr std::int64_t kRows = 400'000;
constexpr int kOps = 4 | kWeldAdd << 7 | kWeldMin << 9 | kWeldAdd << 11;  // see op_of_field

std::uint64_t bits_of(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return std::isnan(x) ? 1 : bits;
}

/// What a run with so many threads finds by keys that are `number_of(row)`, of the type `key`, which `write_key` writes.
std::map<std::int64_t, std::vector<std::uint64_t>> found(
    int threads, Types* types, std::int64_t cost, const WeldType* key,
    const std::function<std::int64_t(std::int64_t)>& number_of,
    const std::function<void(std::int64_t number, char* to)>& write_key) {
    const WeldType* value = types->tuple({types->f64(), types->f64(), types->i64()});
    const WeldType* state = types->dictmerger(key, value, kOps);
    WeldLoop loop{};
    const auto body = [&](WeldTask* t, void* s, std::int64_t lo, std::int64_t hi) -> std::int32_t {
        for (std::int64_t i = lo; i < hi; ++i) {
            char bytes[16];
            const std::int64_t number = number_of(i);
            write_key(number, bytes);
            const double least = number % 3 == 0   ? std::nan("")
                                 : number % 3 == 1 ? (i % 2 ? 0.0 : -0.0)
                                                   : double(-i);
            const Value v{number % 5 == 0 ? -0.0 : 1.0 / double(i + 1), least, 1};
            if (weld_rt_dict_merge(t, *static_cast<WeldDict**>(s), bytes, &v, kOps, 0)) return 1;
        }
        return 0;
    };
    using Body = decltype(body);
    loop.body = [](WeldTask* t, const void* captures, void* s, std::int64_t lo, std::int64_t hi) {
        return (*static_cast<const Body*>(captures))(t, s, lo, hi);
    };
    loop.state = state;
    loop.cost = cost;
    loop.multiple = 1;
    loop.parallel = 1;
    std::map<std::int64_t, std::vector<std::uint64_t>> all;
    std::int64_t keys = 0;
    const Ran ran = run(threads, [&](WeldTask* t) {
        WeldDict* d = weld_rt_dict_new(t, key, value, 0);
        if (weld_rt_loop(t, &loop, &body, &d, kRows) || !(d = weld_rt_dict_result(t, d, 0))) return 1;
        for (std::int64_t i = 0; i < kRows; ++i) {
            const std::int64_t number = number_of(i);
            if (all.contains(number)) continue;
            char bytes[16];
            write_key(number, bytes);
            const auto* v = static_cast<const Value*>(weld_rt_dict_find(t, d, bytes));
            MUST(v);
            all[number] = {bits_of(v->sum), bits_of(v->least), std::uint64_t(v->count)};
        }
        keys = weld_rt_dict_len(d);
        return 0;
    });
    CHECK(ran.good);
    CHECK(keys == std::int64_t(all.size()));
    return all;
}

}  // namespace

TEST_CASE("tables of chunks that know the keys of the first give what one table does") {
    Types types;
    std::vector<std::string> names;
    for (std::int64_t k = 0; k < kRows; ++k)
        names.push_back("a name that is long enough " + std::to_string(k));
    const auto word = [](std::int64_t n, char* to) { std::memcpy(to, &n, sizeof n); };
    const auto pair = [](std::int64_t n, char* to) {
        const std::int64_t both[] = {n, -n * 0x123456789};
        std::memcpy(to, both, sizeof both);
    };
    const auto name = [&](std::int64_t n, char* to) {
        const WeldVec v = view(names[std::size_t(n)]);
        std::memcpy(to, &v, sizeof v);
    };
    struct Given {
        const char* what;
        const WeldType* key;
        std::function<void(std::int64_t, char*)> write;
    };
    const Given keys[] = {{"word", types.i64(), word},
                          {"pair", types.tuple({types.i64(), types.i64()}), pair},
                          {"name", types.str(), name}};
    const auto mixed = [](std::int64_t i) {
        return std::int64_t(std::uint64_t(i) * 0x9e3779b97f4a7c15u >> 20);
    };
    const std::function<std::int64_t(std::int64_t)> numbers[] = {
        [&](std::int64_t i) { return mixed(i) % 7; }, [&](std::int64_t i) { return mixed(i) % 3000; },
        // Half of the keys come late, and some of the first ones never again.
        [&](std::int64_t i) { return i > kRows / 2 ? 2500 + mixed(i) % 2500 : mixed(i) % 5000; },
        [&](std::int64_t i) { return i < 60'000 ? mixed(i) % 2000 : i / 2; },
        [&](std::int64_t i) { return mixed(i) % 60'000; },
        // More than a table that is not cut has, in later chunks that began with few.
        [&](std::int64_t i) { return i < 60'000 ? mixed(i) % 10 : mixed(i) % 100'000; }};
    for (const Given& k : keys)
        for (std::size_t n = 0; n < std::size(numbers); ++n) {
            INFO(std::string(k.what), " ", n);
            const std::int64_t cost = n + 1 == std::size(numbers) ? 12'000 : 60'000;  // a few chunks, or many
            const auto all = on_all_threads(
                [&](int threads) { return found(threads, &types, cost, k.key, numbers[n], k.write); });
            std::map<std::int64_t, Value> expected;
            for (std::int64_t i = 0; i < kRows; ++i) {
                const std::int64_t number = numbers[n](i);
                auto [at, is_new] = expected.try_emplace(number, Value{-0.0, std::nan(""), 0});
                at->second.sum += number % 5 == 0 ? -0.0 : 1.0 / double(i + 1);
                if (number % 3 == 2) at->second.least = double(-i);
                if (number % 3 == 1 && (is_new || std::signbit(at->second.least) == 0))
                    at->second.least = i % 2 ? 0.0 : -0.0;
                ++at->second.count;
            }
            MUST(all.size() == expected.size());
            for (const auto& [number, v] : expected) {
                const std::vector<std::uint64_t>& f = all.at(number);
                double sum;
                std::memcpy(&sum, &f[0], sizeof sum);
                MUST(std::abs(sum - v.sum) <= 1e-12 * v.sum);
                MUST(std::signbit(sum) == std::signbit(v.sum));
                MUST(f[1] == bits_of(v.least));
                INFO(number, " sum ", sum, " of ", v.sum, " count ", f[2], " of ", v.count, " bits ", f[1]);
                MUST(f[2] == std::uint64_t(v.count));
            }
        }
}

TEST_CASE("a table that begins with the keys of another finds them, and those that are added") {
    Types types;
    const WeldType* key = types.tuple({types.i32(), types.i32()});
    const WeldType* value = types.tuple({types.f64(), types.i64()});
    for (const std::int32_t count : {0, 1, 5, 17, 100, 5000, 70'000}) {
        INFO(count);
        const Ran ran = run(1, [&](WeldTask* t) {
            Task* task = task_of(t);
            WeldDict* model = weld_rt_dict_new(t, key, value, 0);
            struct Pair {
                double a;
                std::int64_t b;
            };
            const auto merge = [&](WeldDict* d, std::int32_t k, Pair v) {
                const std::int32_t both[] = {k % 300, k / 300};
                MUST(!weld_rt_dict_merge(t, d, both, &v, kWeldMax, 0));
            };
            const auto find = [&](WeldDict* d, std::int32_t k) {
                const std::int32_t both[] = {k % 300, k / 300};
                return static_cast<const Pair*>(weld_rt_dict_find(t, d, both));
            };
            for (std::int32_t k = 0; k < count; ++k) merge(model, k, {double(k), -k});
            if (model->partitions) return 0;
            WeldDict* d = weld_rt_dict_new(t, key, value, 0);
            MUST(!begin_with_keys(task, d, model, kWeldMax, 0));
            CHECK(d->given == count);
            for (std::int32_t k = 0; k < count; ++k) MUST(std::isnan(find(d, k)->a));
            for (std::int32_t k = 0; k < 2 * count; k += 2) merge(d, k, {-1.0, 5});
            for (std::int32_t k = 0; k < 2 * count; ++k) {
                const Pair* p = find(d, k);
                if (k % 2) MUST(k < count ? p->b == INT64_MIN : !p);
                else MUST(p && p->a == -1.0 && p->b == 5);
            }
            WeldDict* parts[] = {model, d};
            WeldDict* all = merge_tables(task, {parts, 2, kWeldMax}, 0);
            MUST(all);
            for (std::int32_t k = 0; k < 2 * count; ++k) {
                const Pair* p = find(all, k);
                const double a = std::max(k < count ? double(k) : -1.0, -1.0);
                const std::int64_t b = k % 2 ? -k : k < count ? std::max(-k, 5) : 5;
                if (k < count || k % 2 == 0) MUST(p && p->a == a && p->b == b);
                else MUST(!p);
            }
            return 0;
        });
        CHECK(ran.good);
    }
}

TEST_CASE("keys from before a loop are not given to its chunks when few of them are met") {
    Types types;
    constexpr std::int64_t before = 200'000, met = 50;
    std::vector<std::string> names;
    for (std::int64_t k = 0; k < before; ++k)
        names.push_back("a name that is long enough " + std::to_string(k));
    const WeldType *key = types.str(), *value = types.f64();
    WeldLoop loop{};
    loop.body = [](WeldTask* t, const void* captures, void* s, std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) {
            const WeldVec v =
                view((*static_cast<const std::vector<std::string>*>(captures))[std::size_t(i % met)]);
            const double one = 0.5;
            if (weld_rt_dict_merge(t, *static_cast<WeldDict**>(s), &v, &one, kWeldAdd, 0)) return 1;
        }
        return 0;
    };
    loop.state = types.dictmerger(key, value, kWeldAdd);
    loop.cost = 200'000;
    loop.multiple = 1;
    loop.parallel = 1;
    const double sums = on_all_threads([&](int threads) {
        double sum = 0;
        std::int64_t used = 0;
        const Ran ran = run(threads, [&](WeldTask* t) {
            WeldDict* d = weld_rt_dict_new(t, key, value, 0);
            for (const std::string& name : names) {
                const WeldVec v = view(name);
                const double one = 1;
                MUST(!weld_rt_dict_merge(t, d, &v, &one, kWeldAdd, 0));
            }
            used = task_of(t)->account().peak();
            if (weld_rt_loop(t, &loop, &names, &d, 100'000)) return 1;
            CHECK(weld_rt_dict_len(d) == before);
            for (std::int64_t k = 0; k < met; ++k) {
                const WeldVec v = view(names[std::size_t(k)]);
                sum += *static_cast<const double*>(weld_rt_dict_find(t, d, &v));
            }
            return 0;
        });
        CHECK(ran.good);
        CHECK(ran.account->peak() < used + used / 4);
        return sum;
    });
    CHECK(sums == met + 100'000 * 0.5);
}
