// Counts: arithmetic of sums of products of names, and the vector that they are made of.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weldir/ir/build.h"
#include "weldir/ir/count.h"
#include "weldir/support/small_vector.h"

using namespace weld;

TEST_CASE("sums and products of names are the same however they are reckoned") {
    Module m;
    std::vector<Count> names;
    for (const char* name : {"a", "b", "c", "d"}) names.emplace_back(var(m, m.symbol(name, m.types.i64())));
    const Count &a = names[0], &b = names[1], &c = names[2], &d = names[3];
    CHECK((a + b) * (c + d) == b * d + a * c + a * d + b * c);
    CHECK((a + b) * (a - b) == a * a - b * b);
    CHECK((a + b + c + d) * (a + b + c + d) ==
          a * a + b * b + c * c + d * d + Count(2) * (a * b + a * c + a * d + b * c + b * d + c * d));
    CHECK(a * b * c * d == d * c * (b * a));
    CHECK((a - a).known() == 0);
    CHECK((Count(3) - Count(5)).known() == -2);
    CHECK((a * b - b * a + Count(7)).known() == 7);
    CHECK((a + Count(1) - Count(1)).name() == a.name());
    CHECK(!(a * b == a));
    CHECK((Count(INT64_MIN) - Count(1)).known() == INT64_MAX);  // as arithmetic of i64 has it
    CHECK((Count(std::int64_t(1) << 32) * Count(std::int64_t(1) << 32)).known() == 0);
    CHECK((Count(std::int64_t(1) << 63) * Count(2) * a).known() == 0);
}

TEST_CASE("a count is exact if all that it is made of are") {
    Count wraps = 3;
    wraps.set_exact(false);
    CHECK((Count(1) + Count(2)).is_exact());
    CHECK(!(Count(1) - wraps).is_exact());
    CHECK(!(wraps * Count(2)).is_exact());
}

TEST_CASE("vectors that lie in themselves, and grow out of that, keep their elements") {
    using Strings = SmallVector<std::string, 2>;
    const auto text = [](int i) { return "an element too long to lie in a string, " + std::to_string(i); };
    for (int n : {0, 1, 2, 3, 9}) {
        Strings all;
        for (int i = 0; i < n; ++i) all.push_back(text(i));
        Strings copy = all, moved = std::move(copy);
        CHECK(moved == all);
        CHECK(copy.empty());
        copy = moved;
        CHECK(copy == all);
        copy.push_back("more");
        CHECK(!(copy == all));
        Strings other = {"x", "y", "z"};
        other = std::move(copy);
        CHECK(other.size() == std::size_t(n) + 1);
        CHECK(other.back() == "more");
        other.erase(other.begin());
        CHECK(other.size() == std::size_t(n));
        if (n > 1) CHECK(other[0] == text(1));
        all = Strings();
        CHECK(all.empty());
    }
}
