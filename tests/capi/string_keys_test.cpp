// Dictionaries with strings as keys, as arguments and results, and searching in strings: where memory ends behind them.
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

using namespace test;

namespace {

using String = Vec<const char>;

/// Strings that end where memory that may be read ends.
class AtPageEnds {
  public:
    explicit AtPageEnds(std::size_t count) : bytes_(2 * count * page_) {
        memory_ = static_cast<char*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        for (std::size_t i = 0; i < count; ++i) mprotect(memory_ + (2 * i + 1) * page_, page_, PROT_NONE);
    }
    ~AtPageEnds() { munmap(memory_, bytes_); }
    AtPageEnds(const AtPageEnds&) = delete;

    String put(std::size_t number, const std::string& s) {
        char* at = memory_ + (2 * number + 1) * page_ - s.size();
        s.copy(at, s.size());
        return {at, std::int64_t(s.size())};
    }

  private:
    std::size_t page_ = std::size_t(sysconf(_SC_PAGESIZE));
    std::size_t bytes_;
    char* memory_;
};

struct Found {
    void* dictionary;
    Vec<String> words;
};

}  // namespace

TEST_CASE("strings as keys go out and come in, and nothing behind them is read") {
    constexpr std::size_t n = 120;
    const Context c = context();
    AtPageEnds memory(n);
    std::vector<String> words;
    for (std::size_t i = 0; i < n; ++i)  // 40 lengths, each with two contents
        words.push_back(memory.put(i, std::string(i % 40, i % 3 ? '\xff' : '\0')));
    const Vec<String> all{words.data(), std::int64_t(n)};
    const Value d = run(
        compile("|w: vec[vec[i8]]| result(for(w, dictmerger[vec[i8],i64,+], |b, i, x| merge(b, {x, 1L})))"),
        c, all);
    const weld_dict_t dict = as<weld_dict_t>(d);
    CHECK(weld_dict_size(dict) == 79);  // there is one empty string
    std::int64_t expected = 0;
    for (const String& w : words) {
        const auto* count = static_cast<const std::int64_t*>(weld_dict_find(dict, &w));
        REQUIRE(count);
        expected += *count;
    }
    const Value sum = run(compile("|d: dict[vec[i8],i64], w: vec[vec[i8]]| result(for(w, merger[i64,+], |b, "
                                  "i, x| merge(b, lookup(d, x))))"),
                          c, Found{dict, all});
    CHECK(as<std::int64_t>(sum) == expected);
    const Value groups = run(
        compile(
            "|w: vec[vec[i8]]| let g = result(for(w, groupmerger[vec[i8],i64], |b, i, x| merge(b, {x, i}))); "
            "{len(g), result(for(sort(w, |x| x), merger[i64,+], |b, i, x| merge(b, len(lookup(g, x)))))}"),
        c, all);
    struct Counts {
        std::int64_t keys, values;
    };
    CHECK(as<Counts>(groups).keys == 79);
    CHECK(as<Counts>(groups).values == expected);
}

TEST_CASE("texts are found in strings behind which nothing can be read") {
    constexpr std::size_t n = 140;
    const Context c = context();
    AtPageEnds memory(n);
    std::vector<String> texts;
    for (std::size_t i = 0; i < n; ++i)
        texts.push_back(memory.put(i, std::string(i, i % 4 ? 'n' : 'e') + (i % 3 ? "ne" : "en")));
    const Value found = run(compile("|w: vec[vec[i8]]| let all = cudf[weld_contains,vec[bool]](w, \"ne\"); "
                                    "{map(w, |x| cudf[weld_contains,bool](x, \"ne\")), all}"),
                            c, Vec<String>{texts.data(), std::int64_t(n)});
    struct Both {
        Vec<bool> one, all;
    };
    const auto both = as<Both>(found);
    for (std::size_t i = 0; i < n; ++i) {
        const bool expected = i % 3 || (i % 4 && i > 0);
        CHECK(both.one.data[i] == expected);
        CHECK(both.all.data[i] == expected);
    }
}
