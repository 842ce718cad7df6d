// Whose memory an address is: ranges that overlap, pages of heaps, and what is nobody's.
#include "runtime/owners.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/memory.h"

using namespace weld::runtime;

namespace {

struct Owned {
    std::shared_ptr<int> owner = std::make_shared<int>(0);
    std::span<const char> range;

    Owned(const char* begin, std::size_t bytes) : range(begin, bytes) {
        Owners::all().add(range, owner.get(), owner);
    }
    Owned(const Owned&) = delete;
    ~Owned() { Owners::all().remove(range, owner.get()); }
};

}  // namespace

TEST_CASE("an address belongs to who entered its range") {
    static char memory[1000];
    const auto owner_at = [&](int i) { return Owners::all().find(memory + i).owner; };
    CHECK_FALSE(owner_at(5));
    {
        const Owned all(memory, 1000);
        CHECK(owner_at(0) == all.owner);
        CHECK(owner_at(999) == all.owner);
        {
            const Owned part(memory + 100, 100), same(memory + 100, 100), tail(memory + 150, 850);
            CHECK(owner_at(99) == all.owner);
            CHECK(owner_at(120));
            CHECK(owner_at(120) != all.owner);  // of three
            const Owner found = Owners::all().find(memory + 120);
            CHECK((found.begin == memory + 100));
            CHECK((found.end == memory + 150));
            CHECK(all.owner.use_count() == 2);  // that answer holds on to each of them
            CHECK(part.owner.use_count() == 2);
            CHECK(same.owner.use_count() == 2);
            CHECK(tail.owner.use_count() == 1);
        }
        CHECK(owner_at(120) == all.owner);
        CHECK((Owners::all().find(memory + 120).end == memory + 1000));
    }
    CHECK_FALSE(owner_at(120));
    const Owned none(memory, 0);
    CHECK_FALSE(owner_at(0));
}

TEST_CASE("ranges that come and go in any order") {
    static char memory[256];
    std::mt19937 random(7);
    std::vector<std::unique_ptr<Owned>> ranges(20);
    for (int i = 0; i < 3000; ++i) {
        auto& range = ranges[random() % ranges.size()];
        const std::size_t begin = random() % 256;
        range = random() % 4 ? std::make_unique<Owned>(memory + begin, random() % (257 - begin)) : nullptr;
        const char* p = memory + random() % 256;
        bool expected = false;
        for (const auto& r : ranges)
            expected |= r && p >= r->range.data() && p < r->range.data() + r->range.size();
        const Owner found = Owners::all().find(p);
        REQUIRE(found.known() == expected);
        REQUIRE(found.covers(p));
        for (const char* q = memory; q < memory + 256; ++q)
            if (found.covers(q)) REQUIRE(Owners::all().find(q).known() == expected);
    }
    ranges.clear();
    CHECK_FALSE(Owners::all().find(memory + 7).known());
}

TEST_CASE("pages tell the value that they belong to") {
    int value = 0;
    MemoryAccount account;
    Shortage why;
    for (const std::int64_t size : {20'000, 3'000'000}) {
        Page* page = account.take_single(size, &why);
        REQUIRE(page);
        const char* const inside = page->begin + size / 2;
        CHECK_FALSE(Owners::all().find(inside).known());
        page->value = &value;
        CHECK(Owners::all().find(inside).value == &value);
        CHECK(Owners::all().find(inside).covers(page->begin));
        page->owner = reinterpret_cast<WeldRegion*>(&value);  // a run goes on in it
        CHECK_FALSE(Owners::all().find(inside).known());
        page->owner = nullptr;
        account.give(page);
        CHECK_FALSE(Owners::all().find(inside).known());
    }
    account.trim();
}
