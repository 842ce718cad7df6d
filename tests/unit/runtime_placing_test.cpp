// Pieces of vectors go to their places: in any order of being done, of any size, with little memory.
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/builders/placing.h"
#include "runtime/parallel.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

/// Elements of `size` bytes that tell their number in the first ones.
struct Elements {
    std::int64_t size;

    bool append(WeldTask* t, WeldAppender* a, std::uint32_t x) const {
        if (a->size == a->capacity && weld_rt_appender_grow(t, a, 1, size, 0)) return false;
        char* const at = static_cast<char*>(a->data) + a->size++ * size;
        std::memset(at, int(x & 0x7f), std::size_t(size));
        std::memcpy(at, &x, std::size_t(std::min<std::int64_t>(size, sizeof x)));
        return true;
    }
    bool is(const WeldAppender& a, std::int64_t i, std::uint32_t x) const {
        const char* const at = static_cast<const char*>(a.data) + i * size;
        if (std::memcmp(at, &x, std::size_t(std::min<std::int64_t>(size, sizeof x)))) return false;
        for (std::int64_t k = sizeof x; k < size; ++k)
            if (at[k] != char(x & 0x7f)) return false;
        return true;
    }
};

/// How many elements a chunk makes: none, a few, or very many.
std::int64_t count_of(std::int64_t chunk, std::int64_t most) {
    return chunk % 7 == 3 ? 0 : chunk % 11 == 5 ? most : most / 16 + chunk * 131 % 97;
}

}  // namespace

TEST_CASE("pieces go to their places in whatever order they are made") {
    Types types;
    struct Given {
        const WeldType* elem;
        std::int64_t most;  // elements of a piece
        std::int64_t chunks;
    };
    const WeldType *small = types.scalar(kWeldU8),
                   *odd = types.tuple({types.i32(), types.i32(), types.i32()});
    const Given all[] = {{small, 100, 50},  {small, 3'000'000, 40}, {types.i64(), 90'000, 60},
                         {odd, 50'000, 80}, {odd, 400'000, 30},     {types.tuple({}), 100, 20}};
    for (const Given& g : all)
        for (const int threads : {1, 2, 4}) {
            INFO(g.elem->size, " bytes, ", g.most, " elements, ", threads, " threads");
            const Elements elements{g.elem->size};
            const WeldType* type = types.appender(g.elem);
            WeldAppender whole{};
            std::vector<WeldAppender> pieces(std::size_t(g.chunks));
            std::atomic<int> left = threads - 1;
            const Ran ran = run(threads, [&](WeldTask* t) {
                for (std::uint32_t i = 0; i < 5; ++i)
                    if (!elements.append(t, &whole, 1000 + i)) return 1;
                std::mutex of_task;
                Placing placing(task_of(t), &of_task, type, &whole, g.chunks, threads, 0);
                const auto make = [&](Task* mine, int worker, std::int64_t chunk) -> std::int32_t {
                    // The first chunk is done after some others, if there is a thread that makes them.
                    for (int k = 0; chunk == 0 && left > 0 && k < 1000; ++k)
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    WeldAppender& piece = pieces[std::size_t(chunk)];
                    placing.reuse(worker, &piece);
                    for (std::int64_t i = 0; i < count_of(chunk, g.most); ++i)
                        if (!elements.append(mine, &piece, std::uint32_t(chunk << 24 | i))) return kFailed;
                    placing.add(worker, chunk, &piece);
                    if (chunk > 2) --left;
                    return placing.copy_waiting(mine, worker);
                };
                if (run_parts(task_of(t), g.chunks, true, 0, make) || placing.finish()) return 1;
                std::int64_t at = 0;
                for (; at < 5; ++at) MUST(elements.is(whole, at, std::uint32_t(1000 + at)));
                for (std::int64_t chunk = 0; chunk < g.chunks; ++chunk)
                    for (std::int64_t i = 0; i < count_of(chunk, g.most); ++i)
                        MUST(elements.is(whole, at++, std::uint32_t(chunk << 24 | i)));
                CHECK(whole.size == at);
                return 0;
            });
            REQUIRE(ran.good);
            CHECK(ran.account->used() == ran.blocks.bytes());
        }
}

TEST_CASE("where there is no room to spare, pieces wait to the end, or the loop says that memory is short") {
    Types types;
    const Elements elements{8};
    const WeldType* type = types.appender(types.i64());
    constexpr std::int64_t kChunks = 32, kEach = 40'000;  // 10 MB in all
    const auto make_all = [&](std::int64_t limit) {
        WeldAppender whole{};
        std::vector<WeldAppender> pieces(kChunks);
        return run(
            2,
            [&](WeldTask* t) {
                std::mutex of_task;
                Placing placing(task_of(t), &of_task, type, &whole, kChunks, 2, 0);
                const auto make = [&](Task* mine, int worker, std::int64_t chunk) -> std::int32_t {
                    WeldAppender& piece = pieces[std::size_t(chunk)];
                    placing.reuse(worker, &piece);
                    for (std::int64_t i = 0; i < kEach; ++i)
                        if (!elements.append(mine, &piece, std::uint32_t(chunk * kEach + i))) return kFailed;
                    placing.add(worker, chunk, &piece);
                    return placing.copy_waiting(mine, worker);
                };
                if (run_parts(task_of(t), kChunks, true, 0, make) || placing.finish()) return 1;
                for (std::int64_t i = 0; i < kChunks * kEach; ++i)
                    MUST(elements.is(whole, i, std::uint32_t(i)));
                return 0;
            },
            nullptr, nullptr, limit);
    };
    // Between, pieces go to their places at first, and wait when that would take too much.
    for (std::int64_t limit = 13 << 20; limit < 36 << 20; limit += 1 << 19) make_all(limit);
    CHECK(make_all(48 << 20).good);
    for (const std::int64_t limit : {1 << 20, 4 << 20, 8 << 20}) {
        const Ran ran = make_all(limit);
        CHECK(!ran.good);
        CHECK(ran.failure.code == kWeldOutOfMemory);
    }
}
