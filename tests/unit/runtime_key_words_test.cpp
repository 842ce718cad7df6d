// Sorting by keys of several words: strings, structs, vectors.
#include <sys/mman.h>
#include <unistd.h>

#include <random>

#include "runtime/order.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

/// Strings that end where memory that may be read ends.
class AtPageEnds {
  public:
    explicit AtPageEnds(std::size_t pages) : pages_(pages) {
        memory_ = static_cast<char*>(
            mmap(nullptr, 2 * pages * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        for (std::size_t i = 0; i < pages; ++i) mprotect(memory_ + (2 * i + 1) * page_, page_, PROT_NONE);
    }
    ~AtPageEnds() { munmap(memory_, 2 * pages_ * page_); }
    AtPageEnds(const AtPageEnds&) = delete;

    WeldVec put(std::size_t page, const std::string& s) {
        char* at = memory_ + (2 * page + 1) * page_ - s.size();
        std::memcpy(at, s.data(), s.size());
        return {at, std::int64_t(s.size())};
    }

  private:
    std::size_t pages_, page_ = std::size_t(sysconf(_SC_PAGESIZE));
    char* memory_;
};

template <class K>
void sorts_as_compared(const WeldType* type, const std::vector<K>& keys) {
    Types types;
    MUST(type->size == sizeof(K));
    std::vector<std::int64_t> numbers(keys.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::int64_t(i);
    auto expected = numbers;
    run(1, [&](WeldTask* t) {
        std::stable_sort(expected.begin(), expected.end(), [&](std::int64_t a, std::int64_t b) {
            return compare_totally(task_of(t), type, &keys[std::size_t(a)], &keys[std::size_t(b)]) < 0;
        });
        return 0;
    });
    for (const std::int64_t limit : {std::int64_t(-1), std::int64_t(keys.size() / 50)}) {
        auto make = [&](int threads) {
            std::vector<std::int64_t> out;
            const Ran ran = run(threads, [&](WeldTask* t) {
                const WeldVec in = view(numbers), by = view(keys);
                WeldVec result;
                MUST(weld_rt_sort_keys(t, &in, types.i64(), &by, type, &result, limit, 0) == 0);
                out = copy_of<std::int64_t>(result);
                return 0;
            });
            return out;
        };
        const std::size_t count = limit < 0 ? keys.size() : std::size_t(limit);
        CHECK(on_all_threads(make) ==
              std::vector(expected.begin(), expected.begin() + std::ptrdiff_t(count)));
    }
}

/// `n` strings of `kinds` kinds: some letters, many zeros and bytes above 127, behind a beginning that all
/// share.
std::vector<std::string> some_strings(std::size_t n, std::size_t kinds, std::size_t shared,
                                      std::size_t longest) {
    std::mt19937 random(unsigned(n + kinds + shared + longest));
    constexpr char letters[] = {'\0', '\x7f', '\x80', '\xff', 'a'};
    std::vector<std::string> all(kinds), out;
    for (std::string& s : all) {
        s.assign(shared, 'x');
        for (std::size_t k = random() % (longest + 1); k > 0; --k) s += letters[random() % 5];
    }
    for (std::size_t i = 0; i < n; ++i) out.push_back(all[random() % kinds]);
    return out;
}

std::vector<WeldVec> views(const std::vector<std::string>& strings) {
    std::vector<WeldVec> out;
    for (const std::string& s : strings) out.push_back(view(s));
    return out;
}

}  // namespace

TEST_CASE("strings of all lengths sort by their bytes") {
    Types types;
    const WeldType* bytes = types.vec(types.scalar(kWeldU8));
    struct Strings {
        std::size_t n, kinds, shared, longest;
    };
    for (const Strings& s : {Strings{2, 2, 0, 1},
                             {3, 3, 30, 2},
                             {100, 60, 0, 3},
                             {5'000, 5'000, 0, 9},
                             {5'000, 4'000, 7, 18},
                             {200'000, 40, 0, 20},
                             {200'000, 200'000, 0, 12},
                             {200'000, 100'000, 24, 17},
                             {200'000, 1, 40, 0},
                             {2'000, 1'000, 5'000, 40},
                             {300'000, 2, 13, 9}}) {
        INFO(s.n, " strings, ", s.kinds, " kinds, ", s.shared, " bytes shared, then up to ", s.longest);
        const auto strings = some_strings(s.n, s.kinds, s.shared, s.longest);
        sorts_as_compared(types.str(), views(strings));
        sorts_as_compared(bytes, views(strings));
    }
    std::vector<std::string> prefixes;  // each begins as the one before
    for (std::size_t i = 0; i < 600; ++i) prefixes.emplace_back((i * 377) % 600, '\0');
    sorts_as_compared(types.str(), views(prefixes));
}

TEST_CASE("sorting reads nothing behind a string") {
    Types types;
    constexpr std::size_t n = 300;
    AtPageEnds memory(n);
    for (const std::size_t shared : {0, 1, 6, 7, 8, 20}) {
        std::vector<WeldVec> keys;
        for (std::size_t i = 0; i < n; ++i)
            keys.push_back(
                memory.put(i, std::string(shared, 's') + std::string(i * 7 % 19, char('a' + i % 2))));
        sorts_as_compared(types.str(), keys);
    }
}

TEST_CASE("structs of strings, numbers and vectors sort part by part") {
    Types types;
    constexpr std::size_t n = 150'000;
    const auto strings = some_strings(n, 300, 3, 16);
    std::mt19937 random(5);
    const double special[] = {0.0, -0.0, NAN, -NAN, 1.5, -1.5, INFINITY};
    std::vector<std::vector<std::int32_t>> vectors;
    for (std::size_t i = 0; i < 50; ++i) vectors.emplace_back(i % 5, std::int32_t(i % 3) - 1);

    struct Named {
        WeldVec name;
        std::int64_t number;
    };
    struct Numbered {
        std::int16_t number;
        WeldVec name, other;
    };
    struct Wide {
        std::int64_t a;
        double b;
        std::int32_t c, d;
        std::int8_t e;
    };
    struct Mixed {
        bool flag;
        WeldVec name;
        double number;
        WeldVec numbers;
        std::int32_t last;
    };
    std::vector<Named> named;
    std::vector<Numbered> numbered;
    std::vector<Wide> wide;
    std::vector<Mixed> mixed;
    std::vector<WeldVec> numbers;
    const auto one_of = [&](const auto& list) -> const auto& { return list[random() % std::size(list)]; };
    const auto about = [&](unsigned range) { return int(random() % (2 * range)) - int(range); };
    for (std::size_t i = 0; i < n; ++i) {
        const WeldVec name = view(strings[i]), other = view(one_of(strings));
        named.push_back({name, about(3)});
        numbered.push_back({std::int16_t(about(4)), name, other});
        wide.push_back({about(2), one_of(special), about(4), about(4), std::int8_t(about(100))});
        mixed.push_back({random() % 2 == 0, name, one_of(special), view(one_of(vectors)), about(2)});
        numbers.push_back(view(one_of(vectors)));
    }
    sorts_as_compared(types.tuple({types.str(), types.i64()}), named);
    sorts_as_compared(types.tuple({types.scalar(kWeldI16), types.str(), types.vec(types.scalar(kWeldU8))}),
                      numbered);
    sorts_as_compared(types.tuple({types.i64(), types.f64(), types.tuple({types.i32(), types.i32()}),
                                   types.scalar(kWeldI8)}),
                      wide);
    sorts_as_compared(types.tuple({types.scalar(kWeldBool), types.tuple({types.str(), types.f64()}),
                                   types.vec(types.i32()), types.i32()}),
                      mixed);
    sorts_as_compared(types.vec(types.i32()), numbers);
    sorts_as_compared(types.vec(types.str()), std::vector<WeldVec>(100, WeldVec{nullptr, 0}));
}
