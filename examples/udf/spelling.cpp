// Functions that Weld programs call with `cudf`: an edit distance, which is natural in C++ and awkward in a
// language of parallel loops. Build with
//
//   g++ -std=c++20 -O2 -shared -fPIC examples/udf/spelling.cpp -o libspelling.so
//
// Such a function returns nothing and takes pointers: one per argument, the last one to where the result
// goes. Weld may call it from several threads at once.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

/// `vec[i8]` as it lies in memory.
struct Bytes {
    const char* data;
    std::int64_t len;
};

/// `cudf[edit_distance,i64](a: vec[i8], b: vec[i8])`: how many letters to insert, delete or replace to make b
/// of a.
extern "C" void edit_distance(const Bytes* a, const Bytes* b, std::int64_t* distance) {
    std::vector<std::int64_t> row(std::size_t(b->len) + 1);  // from a prefix of a to every prefix of b
    std::iota(row.begin(), row.end(), 0);
    for (std::int64_t i = 0; i < a->len; ++i) {
        std::int64_t diagonal = std::exchange(row[0], i + 1);
        for (std::int64_t j = 0; j < b->len; ++j) {
            const std::int64_t replaced = diagonal + (a->data[i] != b->data[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    *distance = row.back();
}
