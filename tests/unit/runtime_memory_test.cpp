// Accounts, regions, collection, and what a run leaves behind.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/entry.h"
#include "runtime/task.h"

using namespace weld::runtime;

namespace {

const WeldType i64{.kind = kWeldI64, .plain = 1, .size = 8, .align = 8};
const WeldType* const i64_arg[] = {&i64};
const WeldType vec_i64{
    .kind = kWeldVec, .holds_pointer = 1, .num_args = 1, .size = 16, .align = 8, .args = i64_arg};
const WeldType* const vec_arg[] = {&vec_i64};
const WeldType vec_vec{
    .kind = kWeldVec, .holds_pointer = 1, .num_args = 1, .size = 16, .align = 8, .args = vec_arg};
const WeldType app_vec{
    .kind = kWeldAppender, .holds_pointer = 1, .num_args = 1, .size = 24, .align = 8, .args = vec_arg};

std::atomic<std::int32_t> go_on = 0;

struct Fixture {
    WeldRun run;
    explicit Fixture(std::int64_t limit = MemoryAccount::kUnlimited) {
        run.account = std::make_shared<MemoryAccount>(limit);
    }
    MemoryAccount& account() { return *run.account; }
};

WeldVec numbers(Task* task, std::int64_t n, std::int64_t first) {
    WeldVec v{weld_rt_alloc(task, n, 8, 0), n};
    for (std::int64_t i = 0; i < n; ++i) static_cast<std::int64_t*>(v.data)[i] = first + i;
    return v;
}

bool holds(const WeldVec& v, std::int64_t first) {
    for (std::int64_t i = 0; i < v.len; ++i)
        if (static_cast<std::int64_t*>(v.data)[i] != first + i) return false;
    return true;
}

}  // namespace

TEST_CASE("blocks are aligned, apart and findable") {
    Fixture f;
    {
        Task task(&f.run, &go_on);
        std::mt19937 random(1);
        std::vector<std::pair<char*, std::int64_t>> blocks;
        for (int i = 0; i < 3000; ++i) {
            const std::int64_t size =
                i % 100 == 0 ? 100'000 + random() % 3'000'000 : 1 + random() % (i % 7 ? 200 : 12000);
            char* p = static_cast<char*>(weld_rt_alloc(&task, size, 1, 0));
            REQUIRE(p);
            CHECK(reinterpret_cast<std::uintptr_t>(p) % (size >= 64 ? 64 : 16) == 0);
            std::memset(p, i & 255, std::size_t(size));
            blocks.push_back({p, size});
        }
        for (int i = 0; i < 3000; ++i) {
            auto [p, size] = blocks[std::size_t(i)];
            for (std::int64_t k : {std::int64_t(0), size / 2, size - 1}) {
                CHECK((p[k] & 255) == (i & 255));
                const Allocation b = find_allocation(f.account().find(p + k), p + k);
                CHECK(b.begin == p);
            }
        }
        int outside;
        CHECK(f.account().find(&outside) == nullptr);
        CHECK(f.account().find(nullptr) == nullptr);
    }
    CHECK(f.account().used() == 0);
    CHECK(f.account().peak() > 30'000'000);
}

TEST_CASE("collecting keeps what a value reaches and reuses the rest") {
    Fixture f;
    Task task(&f.run, &go_on);
    WeldAppender kept{nullptr, 0, 0};
    std::vector<WeldVec> copies;
    std::int64_t at_most = 0;
    for (int i = 0; i < 200'000; ++i) {
        WeldVec v = numbers(&task, 1 + i % 60, i);
        if (i % 1000 == 0) {
            REQUIRE(weld_rt_appender_grow(&task, &kept, 1, 16, 0) == 0);
            static_cast<WeldVec*>(kept.data)[kept.size++] = v;
        }
        if (task.debt > 0) weld_rt_collect(&task, &kept, &app_vec);
        at_most = std::max(at_most, f.account().used());
    }
    CHECK(at_most < 4 << 20);
    REQUIRE(kept.size == 200);
    for (int i = 0; i < 200; ++i) {
        const WeldVec& v = static_cast<WeldVec*>(kept.data)[i];
        CHECK(v.len == 1 + i * 1000 % 60);
        CHECK(holds(v, i * 1000));
    }
}

TEST_CASE("an inner region frees its own blocks only, and follows older vectors into it") {
    Fixture f;
    Task task(&f.run, &go_on);
    WeldVec old = numbers(&task, 100, 5);
    WeldVec outer_slots{weld_rt_alloc(&task, 2, 16, 0), 2};  // filled later, as a builder's buffer is
    weld_rt_region_enter(&task);
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 1000; ++i) numbers(&task, 10 + i % 50, i);
        WeldVec young = numbers(&task, 77, 9);
        static_cast<WeldVec*>(outer_slots.data)[0] = young;
        WeldVec big = numbers(&task, 20'000, 11);
        static_cast<WeldVec*>(outer_slots.data)[1] = {static_cast<std::int64_t*>(big.data) + 100, 10};
        weld_rt_collect(&task, &outer_slots, &vec_vec);
        CHECK(task.debt == -(1 << 20));
        CHECK(task.region->live >= 77 * 8 + 20'000 * 8);
        CHECK(task.region->live < 200'000);
        CHECK(holds(old, 5));
        CHECK(holds(static_cast<WeldVec*>(outer_slots.data)[0], 9));
        CHECK(holds(static_cast<WeldVec*>(outer_slots.data)[1], 111));
    }
    const std::int64_t before = bytes_held(&task);
    weld_rt_region_exit(&task);
    CHECK(bytes_held(&task) >= before);
    weld_rt_collect(&task, &old, &vec_i64);
    CHECK(holds(old, 5));
    CHECK(task.region->live == 896);  // 800 bytes in their size class
}

TEST_CASE("many regions with little to collect do not each look at all that is outside of them") {
    Fixture f;
    Task task(&f.run, &go_on);
    constexpr std::int64_t n = 200'000;
    WeldVec rows{weld_rt_alloc(&task, n, 16, 0), n};
    for (std::int64_t i = 0; i < n; ++i) static_cast<WeldVec*>(rows.data)[i] = numbers(&task, 2, i);
    std::int64_t allocated = 0, scanned = 0;
    for (int round = 0; round < 300; ++round) {
        const InRegion region(&task);
        for (int i = 0; i < 300; ++i) {  // 2.4 MB
            allocated += 8 * numbers(&task, 1000, i).len;
            if (task.debt <= 0) continue;
            weld_rt_collect(&task, &rows, &vec_vec);
            scanned += task.scanned;
        }
    }
    CHECK(scanned > 0);
    CHECK(scanned <= allocated / 2 + n * 16);
    CHECK(holds(static_cast<WeldVec*>(rows.data)[n / 3], n / 3));
}

TEST_CASE("memory of others may lie close to ours") {
    Fixture f;
    Task task(&f.run, &go_on);
    const WeldVec own = numbers(&task, 16, 7);
    // Behind the first memory, which is a small piece, in the 2 MiB that it begins.
    const std::uintptr_t piece = reinterpret_cast<std::uintptr_t>(own.data) & ~std::uintptr_t(kSpanBytes - 1);
    const WeldVec other{reinterpret_cast<void*>(piece + kSpanBytes / 2), 16};
    REQUIRE(f.account().find(other.data) == nullptr);
    WeldVec both{weld_rt_alloc(&task, 2, sizeof(WeldVec), 0), 2};
    static_cast<WeldVec*>(both.data)[0] = other;
    static_cast<WeldVec*>(both.data)[1] = own;
    weld_rt_collect(&task, &both, &vec_vec);
    for (int i = 0; i < 1000; ++i) numbers(&task, 16, 100);  // where own is, if that was freed
    CHECK(holds(own, 7));
}

TEST_CASE("slices that share a vector are looked at once") {
    Fixture f;
    Task task(&f.run, &go_on);
    constexpr std::int64_t n = 20'000;
    WeldVec rows{weld_rt_alloc(&task, n, 16, 0), n};
    for (std::int64_t i = 0; i < n; ++i) static_cast<WeldVec*>(rows.data)[i] = numbers(&task, 2, i);
    WeldVec slices{weld_rt_alloc(&task, n, 16, 0), n};
    for (std::int64_t i = 0; i < n; ++i)
        static_cast<WeldVec*>(slices.data)[i] = {static_cast<WeldVec*>(rows.data) + (i * 7919) % (n / 2),
                                                 n / 2};
    const WeldType* const arg[] = {&vec_vec};
    const WeldType three{
        .kind = kWeldVec, .holds_pointer = 1, .num_args = 1, .size = 16, .align = 8, .args = arg};
    weld_rt_collect(&task, &slices, &three);
    CHECK(task.scanned < 100 * n * 16);
    CHECK(holds(static_cast<WeldVec*>(rows.data)[n / 3], n / 3));
}

TEST_CASE("large blocks go to the region that is entered next, and are freed there alone") {
    Fixture f;
    Task task(&f.run, &go_on);
    const std::int64_t start = task.debt;
    void* small = weld_rt_alloc(&task, 10, 8, 0);
    void* large = weld_rt_alloc(&task, 30'000, 8, 0);
    void* read_later = weld_rt_alloc(&task, 30'000, 8, 0);
    CHECK(weld_rt_give(&task, small) == small);
    CHECK(weld_rt_give(&task, static_cast<char*>(large) + 64) != nullptr);
    CHECK(weld_rt_give(&task, large) == nullptr);
    weld_rt_region_enter(&task);
    const std::int64_t used = f.account().used();
    weld_rt_free_given(&task, small);
    weld_rt_free_given(&task, read_later);
    CHECK(f.account().used() == used);
    weld_rt_free_given(&task, large);
    CHECK(f.account().used() < used - 200'000);
    weld_rt_region_exit(&task);
    weld_rt_free(&task, small);
    weld_rt_free(&task, read_later);
    CHECK(task.debt == start);
}

TEST_CASE("freeing gives room back at once") {
    Fixture f;
    Task task(&f.run, &go_on);
    const std::int64_t start = task.debt;
    for (int i = 0; i < 100'000; ++i) {
        void* a = weld_rt_alloc(&task, 100, 8, 0);
        void* b = weld_rt_alloc(&task, 300, 8, 0);
        void* c = weld_rt_alloc(&task, 30'000, 8, 0);
        weld_rt_free(&task, a);
        weld_rt_free(&task, c);
        weld_rt_free(&task, b);
    }
    CHECK(task.debt == start);
    CHECK(f.account().used() < 1 << 20);
    int outside;
    weld_rt_free(&task, &outside);
    weld_rt_free(&task, nullptr);
    CHECK(task.debt == start);
}

TEST_CASE("large blocks grow in regions of any depth, keep what they hold and are counted") {
    Fixture f(std::int64_t(256) << 20);
    {
        Task task(&f.run, &go_on);
        WeldVec v = numbers(&task, 400'000, 5);
        const WeldVec other = numbers(&task, 400'000, 7);  // lies in the way
        Region inner;
        enter_region(&task, &inner);
        for (std::int64_t n : {1'000'000, 5'000'000, 20'000'000}) {
            void* old = v.data;
            REQUIRE((v.data = grow(&task, old, n * 8)));
            CHECK(holds({v.data, 400'000}, 5));
            CHECK(f.account().find(static_cast<std::int64_t*>(v.data) + n - 1));
            if (v.data != old) CHECK_FALSE(f.account().find(old));
        }
        CHECK(holds(other, 7));
        CHECK(f.account().used() >= 160'000'000);
        CHECK_FALSE(grow(&task, v.data, 40'000'000 * 8));  // the limit
        CHECK(holds({v.data, 400'000}, 5));
        void* small = weld_rt_alloc(&task, 10, 8, 0);
        CHECK_FALSE(grow(&task, small, 1000));   // small blocks don't
        CHECK(grow(&task, small, 80) == small);  // but into the room that they have
        CHECK_FALSE(grow(&task, static_cast<char*>(small) + 16, 16));
        exit_region(&task, &inner);
        release(&task, v.data);
        CHECK(f.account().used() < 20'000'000);
    }
    CHECK(f.account().used() == 0);
}

TEST_CASE("a large block that was given back serves the next run") {
    Fixture f;
    constexpr std::int64_t n = 20'000'000;
    for (int run = 0; run < 3; ++run) {
        Task task(&f.run, &go_on);
        auto* data = static_cast<std::int64_t*>(weld_rt_alloc(&task, n, 8, 0));
        REQUIRE(data);
        if (run) CHECK(data[n / 2] != 0);  // new memory is 0
        std::fill_n(data, n, 3);
        Region inner;  // with a small page, whose span waits when the large block is given back
        enter_region(&task, &inner);
        weld_rt_alloc(&task, 1000, 8, 0);
        exit_region(&task, &inner);
    }
    CHECK(f.account().peak() < n * 8 + (1 << 20));
}

TEST_CASE("a large block grows by memory that waits, and moves what it was put together of") {
    constexpr std::int64_t words = (std::int64_t(1) << 20) / 8;  // of 1 MiB
    Fixture f;
    {
        Task task(&f.run, &go_on);
        for (int block = 0; block < 3; ++block) {
            void* data = weld_rt_alloc(&task, 6 * words, 8, 0);
            REQUIRE(data);
            std::fill_n(static_cast<std::int64_t*>(data), 6 * words, 3);
        }
    }
    Task task(&f.run, &go_on);
    WeldVec v = numbers(&task, 10 * words, 5);  // of two that wait
    REQUIRE((v.data = grow(&task, v.data, 16 * words * 8)));
    CHECK(holds({v.data, 10 * words}, 5));
    CHECK(static_cast<std::int64_t*>(v.data)[13 * words] == 3);  // of the third; new memory is 0
}

TEST_CASE("large blocks that wait serve others of any size") {
    constexpr std::int64_t mib = std::int64_t(1) << 20;
    MemoryAccount account(MemoryAccount::kUnlimited);
    const auto take = [&](std::int64_t size) {
        Shortage why;
        Page* page = account.take_single(size, &why);
        REQUIRE(page);
        return page;
    };
    const auto used_before = [](const Page* page, std::int64_t at) { return page->begin[at] != 0; };
    Page *a = take(30 * mib), *b = take(50 * mib), *other = take(10 * mib);
    for (Page* page : {a, b, other}) std::memset(page->begin, 7, std::size_t(page->end - page->begin));
    account.give(a);
    account.give(b);
    Page* larger = take(75 * mib);  // of both, and a little more
    CHECK(used_before(larger, mib));
    CHECK(used_before(larger, 70 * mib));
    std::memset(larger->begin, 9, std::size_t(larger->end - larger->begin));
    CHECK(std::all_of(other->begin, other->end, [](char c) { return c == 7; }));
    CHECK(account.find(larger->begin + 70 * mib) == larger);
    CHECK_FALSE(account.find(reinterpret_cast<char*>(a) + 100));
    account.give(larger);
    Page *part = take(20 * mib), *rest = take(40 * mib);  // one leaves a piece that the next is made of
    CHECK(used_before(part, mib));
    CHECK(used_before(rest, mib));
    std::memset(part->begin, 1, std::size_t(20 * mib));
    std::memset(rest->begin, 2, std::size_t(40 * mib));
    CHECK(std::all_of(part->begin, part->begin + 20 * mib, [](char c) { return c == 1; }));
    CHECK(std::all_of(rest->begin, rest->begin + 40 * mib, [](char c) { return c == 2; }));
    CHECK(account.find(rest->begin) == rest);
    for (Page* page : {part, rest, other}) account.give(page);
    CHECK(account.used() == 0);
}

TEST_CASE("what is to grow takes a block that grew before, though it is twice as large") {
    constexpr std::int64_t mib = std::int64_t(1) << 20;
    const auto grows_in_place = [](std::int64_t limit, std::int64_t from, std::int64_t to) {
        MemoryAccount account(limit);
        Shortage why;
        Page* page = account.take_single(to, &why);
        REQUIRE(page);
        account.give(page);
        Page* const again = account.take_single(from, &why);
        REQUIRE(again);
        CHECK(account.used() == again->bytes);
        const bool grew = again == page && again->end - again->begin >= to;
        account.give(again);
        CHECK(account.used() == 0);
        return grew;
    };
    CHECK(grows_in_place(MemoryAccount::kUnlimited, mib + 1, 2 * mib + 1));
    CHECK(grows_in_place(40 * mib, mib + 1, 2 * mib + 1));
    CHECK_FALSE(grows_in_place(8 * mib, mib + 1, 2 * mib + 1));  // others may need the rest
    CHECK_FALSE(grows_in_place(MemoryAccount::kUnlimited, mib + 1, 5 * mib));
    CHECK_FALSE(grows_in_place(MemoryAccount::kUnlimited, 3 * mib, 5 * mib));
}

TEST_CASE("a large block that nearly fills its last 2 MiB gets them whole, if the limit allows it") {
    constexpr std::int64_t mib = std::int64_t(1) << 20;
    const auto bytes_of = [](std::int64_t limit, std::int64_t size) {
        MemoryAccount account(limit);
        Shortage why;
        Page* page = account.take_single(size, &why);
        REQUIRE(page);
        CHECK(page->end - page->begin >= size);
        CHECK(account.used() == page->bytes);
        CHECK(account.peak() == page->bytes);
        const std::int64_t bytes = page->bytes;
        account.give(page);
        CHECK(account.used() == 0);
        return bytes;
    };
    CHECK(bytes_of(MemoryAccount::kUnlimited, 2'000'000) == 2 * mib);
    CHECK(bytes_of(MemoryAccount::kUnlimited, 12 * mib - 300'000) == 12 * mib);
    CHECK(bytes_of(2 * mib - 1, 2'000'000) < 2 * mib);
    CHECK(bytes_of(MemoryAccount::kUnlimited, 3 * mib) < 4 * mib);
    CHECK(bytes_of(MemoryAccount::kUnlimited, 1'600'000) < 2 * mib);  // it would be a quarter larger
}

TEST_CASE("the first memory is a small piece, and no limit for what follows") {
    MemoryAccount account;
    Shortage why;
    std::vector<Page*> pages;
    for (const std::int64_t size : {4096, 300'000, 4096, 200'000, 1'000'000, 70'000, 250'000, 4096}) {
        pages.push_back(account.take_single(size, &why));
        REQUIRE(pages.back());
        std::memset(pages.back()->begin, int(pages.size()), std::size_t(size));
    }
    for (std::size_t i = 0; i < pages.size(); ++i) {
        CHECK(pages[i]->begin[0] == char(i + 1));
        CHECK(pages[i]->begin[4000] == char(i + 1));
        CHECK(account.find(pages[i]->begin + 4000) == pages[i]);
        account.give(pages[i]);
    }
    CHECK(account.used() == 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need address space of their own
TEST_CASE("a machine without memory is another failure than the limit") {
    constexpr std::int64_t gib = 1 << 30;
    Fixture f(64 * gib);
    Task task(&f.run, &go_on);
    rlimit before;
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    const rlimit little{4 * gib, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
    rlimit now;
    REQUIRE(getrlimit(RLIMIT_AS, &now) == 0);
    if (now.rlim_cur != little.rlim_cur) return;  // qemu-user limits no program
    const void* block = weld_rt_alloc(&task, 8 * gib, 1, 42);
    setrlimit(RLIMIT_AS, &before);
    CHECK_FALSE(block);
    CHECK(task.failure.code == kWeldOutOfMemory);
    CHECK(task.failure.message == "the machine has no more memory");
    CHECK(f.account().used() == 0);
}
#endif

TEST_CASE("the limit is a failure that says so") {
    Fixture f(1 << 20);
    Task task(&f.run, &go_on);
    int got = 0;
    while (weld_rt_alloc(&task, 1000, 8, 42)) ++got;
    CHECK(got > 100);
    CHECK(got < 132);
    CHECK(task.failure.code == kWeldOutOfMemory);
    CHECK(task.failure.loc == 42);
    CHECK(task.failure.message == "memory limit of 1 MiB exceeded");
    CHECK(f.account().used() <= 1 << 20);
    for (auto [count, size] :
         {std::pair<std::int64_t, std::int64_t>{-1, 8}, {INT64_MAX / 4, 8}, {1 << 30, 8}})
        CHECK(weld_rt_alloc(&task, count, size, 1) == nullptr);
    CHECK(weld_rt_alloc(&task, 0, 8, 1) != nullptr);
}

TEST_CASE("a run leaves the memory of its result, a failed one nothing") {
    auto account = std::make_shared<MemoryAccount>();
    const RunOptions options{.account = account};
    WeldVec result{};
    RunMemory blocks;
    Failure failure;
    auto good = [](WeldTask* t, const void*, void* out) -> std::int32_t {
        for (int i = 0; i < 10'000; ++i) numbers(static_cast<Task*>(t), 30, i);
        *static_cast<WeldVec*>(out) = numbers(static_cast<Task*>(t), 50'000, 3);
        weld_rt_region_enter(t);
        return 0;
    };
    REQUIRE(execute(good, nullptr, &result, &vec_i64, options, &blocks, &failure));
    CHECK(holds(result, 3));
    CHECK(blocks.bytes() == account->used());
    CHECK(blocks.bytes() < 420'000 + (256 << 10));
    auto bad = [](WeldTask* t, const void*, void*) -> std::int32_t {
        weld_rt_region_enter(t);
        numbers(static_cast<Task*>(t), 50'000, 3);
        weld_rt_fail_at(t, kWeldArrayOutOfBounds, 17, 7, 3);
        weld_rt_fail_at(t, kWeldDivisionByZero, 18, 0, 0);
        return 1;
    };
    RunMemory none;
    CHECK_FALSE(execute(bad, nullptr, &result, &vec_i64, options, &none, &failure));
    CHECK(failure.code == kWeldArrayOutOfBounds);
    CHECK(failure.loc == 17);
    CHECK(failure.message == "index 7 is out of bounds for a vector of length 3");
    CHECK(none.bytes() == 0);
    CHECK(blocks.bytes() == account->used());
    RunMemory moved = std::move(blocks);
    CHECK(moved.bytes() == account->used());
    moved = RunMemory();
    CHECK(moved.bytes() == 0);
}

TEST_CASE("threads share an account") {
    auto account = std::make_shared<MemoryAccount>();
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k)
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                WeldVec result{};
                RunMemory blocks;
                Failure failure;
                auto entry = [](WeldTask* t, const void*, void* out) -> std::int32_t {
                    for (int i = 0; i < 3000; ++i) numbers(static_cast<Task*>(t), 1 + i, i);
                    *static_cast<WeldVec*>(out) = numbers(static_cast<Task*>(t), 1000, 3);
                    return 0;
                };
                execute(entry, nullptr, &result, &vec_i64, {.account = account}, &blocks, &failure);
                if (!holds(result, 3)) std::abort();
            }
        });
    for (std::thread& t : threads) t.join();
    CHECK(account->used() == 0);
    CHECK(account->peak() > 1 << 20);
}

TEST_CASE("entries are found by name") {
    CHECK(entry_address("weld_rt_alloc") == reinterpret_cast<void*>(&weld_rt_alloc));
    CHECK(entry_address("weld_rt_nothing") == nullptr);
}
