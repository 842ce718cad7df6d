// N1 to N38: programs as one writes them without thinking of the compiler, of the shapes that the passes are made for. Their
// references are plain loops (bench/reference/natural.cpp, natural21.cpp to natural38.cpp), which make the same columns.
#include <cstring>

#include "bench/columns.h"
#include "bench/workloads.h"

namespace weld::bench {

using std::size_t;

namespace {

using f32 = float;
using f64 = double;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;

template <class T>
double number(const void* result) {
    T value;
    std::memcpy(&value, result, sizeof value);
    return double(value);
}

/// The sum of the elements, each times one to seven, in turn.
template <class T>
double weighted(const void* result, auto value) {
    WeldVec v;
    std::memcpy(&v, result, sizeof v);
    double sum = 0;
    for (i64 i = 0; i < v.len; ++i)
        sum += double(value(static_cast<const T*>(v.data)[i])) * double(i % 7 + 1);
    return sum;
}

template <class T>
double vector(const void* result) {
    return weighted<T>(result, [](T e) { return e; });
}

/// A column and what a program finds of it among its parameters.
template <class... T>
Inputs columns(Column<T>... c) {
    const WeldVec args[] = {c.vec()...};
    return inputs(args, std::move(c)...);
}

template <class T, class... C>
Inputs columns_and(T last, Column<C>... c) {
    struct {
        WeldVec columns[sizeof...(C)];
        T last;
    } args{{c.vec()...}, last};
    return inputs(args, std::move(c)...);
}

/// Numbers below n, and numbers in [0, 1) times n.
template <class T>
Column<T> below(size_t size, std::uint64_t stream, std::uint64_t n) {
    return {size, [=](size_t i) { return bnd(stream, i, n); }};
}
template <class T>
Column<T> uniform(size_t size, std::uint64_t stream, double n) {
    return {size, [=](size_t i) { return n * u01(stream, i); }};
}

Inputs found(size_t keys, std::uint64_t probes) {
    return columns(Column<i64>(keys, [](size_t i) { return sm(303, i) >> 1; }), below<i64>(keys, 304, 1000),
                   Column<i64>(20'000'000, [=](size_t i) { return sm(303, bnd(305, i, probes)) >> 1; }));
}

/// A matrix of `n` rows with up to 20 elements each, and one of `rows` rows of `width`; columns from `stream` on.
Inputs sparse(size_t n, std::uint64_t stream, size_t rows, size_t width) {
    Column<i64> starts(n + 1, [=](size_t i) { return i ? bnd(stream, i - 1, 21) : 0; });
    for (size_t i = 1; i <= n; ++i) starts.data()[i] += starts[i - 1];
    const auto all = size_t(starts[n]);
    return columns(std::move(starts), below<i32>(all, stream + 1, rows), uniform<f64>(all, stream + 2, 1),
                   uniform<f64>(rows * width, stream + 3, 1));
}

/// Where `n` pieces end that have `least` elements and up to `more` others; 0 before the first.
Column<i64> ends_of(size_t n, std::uint64_t stream, std::uint64_t least, std::uint64_t more) {
    Column<i64> ends(n + 1, [=](size_t i) { return i ? least + bnd(stream, i - 1, more + 1) : 0; });
    for (size_t i = 1; i <= n; ++i) ends.data()[i] += ends[i - 1];
    return ends;
}

/// What lies between these ends.
template <class T>
Column<WeldVec> pieces(const Column<i64>& ends, const Column<T>& all) {
    return {ends.size() - 1, [&](size_t i) { return WeldVec{all.data() + ends[i], ends[i + 1] - ends[i]}; }};
}

Inputs ragged() {
    const size_t n = 1'000'000;
    const Column<i64> ends = ends_of(n, 351, 0, 20);
    Column<i64> x = below<i64>(size_t(ends[n]), 352, 1000);
    Column<WeldVec> rows = pieces(ends, x);
    const WeldVec args[] = {rows.vec()};
    return inputs(args, std::move(x), std::move(rows));
}

/// The elements of all vectors, each times one to seven, in turn.
template <class T>
double nested(const void* result) {
    WeldVec rows;
    std::memcpy(&rows, result, sizeof rows);
    double sum = 0;
    i64 k = 0;
    for (i64 i = 0; i < rows.len; ++i) {
        const WeldVec& v = static_cast<const WeldVec*>(rows.data)[i];
        for (i64 j = 0; j < v.len; ++j, ++k)
            sum += double(static_cast<const T*>(v.data)[j]) * double(k % 7 + 1);
    }
    return sum;
}

/// `n` strings of 3 to 12 letters.
struct Words {
    Words(size_t n, std::uint64_t stream)
        : ends(ends_of(n, stream, 3, 9)),
          letters(size_t(ends[n]), [=](size_t i) { return 97 + bnd(stream + 1, i, 26); }),
          rows(pieces(ends, letters)) {}
    Column<i64> ends;
    Column<u8> letters;
    Column<WeldVec> rows;
};

Inputs words(size_t n = 2'000'000, std::uint64_t stream = 371) {
    Words w(n, stream);
    const WeldVec args[] = {w.rows.vec()};
    return inputs(args, std::move(w));
}

Inputs pairs_of_words() {
    Words a(1'000'000, 373), b(1'000'000, 375);
    const WeldVec args[] = {a.rows.vec(), b.rows.vec()};
    return inputs(args, std::move(a), std::move(b));
}

/// Lines of 24 letters with commas among them, and five digits between the second and the third.
Inputs lines() {
    constexpr std::uint64_t width = 24;
    const size_t n = 1'000'000;
    Column<u8> letters(n * width, [](size_t i) {
        const std::uint64_t at = i % width;
        if (at == 5 || at == 10 || at == 16) return std::uint64_t(',');
        return at > 10 && at < 16 ? '0' + bnd(377, i, 10) : 97 + bnd(377, i, 26);
    });
    Column<WeldVec> all = rows(letters, width);
    const WeldVec args[] = {all.vec()};
    return inputs(args, std::move(letters), std::move(all));
}

Inputs bags() {
    const size_t n = 200'000, most = 5'000, width = 32;
    const Column<i64> ends = ends_of(n, 381, 1, 9);
    Column<i64> ids = below<i64>(size_t(ends[n]), 382, most);
    Column<WeldVec> all = pieces(ends, ids);
    Column<f32> x = uniform<f32>(most * width, 383, 1);
    const struct {
        WeldVec bags, rows;
        i64 width;
    } args = {all.vec(), x.vec(), width};
    return inputs(args, std::move(ids), std::move(all), std::move(x));
}

Inputs two_matrices() {
    const size_t n = 256;
    Column<f64> x = uniform<f64>(n * n, 384, 1), y = uniform<f64>(n * n, 385, 1);
    Column<WeldVec> a = rows(x, n), b = rows(y, n);
    const WeldVec args[] = {a.vec(), b.vec()};
    return inputs(args, std::move(x), std::move(y), std::move(a), std::move(b));
}

/// A table that ascends, and numbers a little beyond both of its ends.
Inputs table() {
    const size_t n = 1'000;
    Column<f64> x(n, [](size_t i) { return double(i) + u01(400, i); });
    return columns(std::move(x), uniform<f64>(n, 401, 1),
                   Column<f64>(300'000, [](size_t i) { return 1010 * u01(402, i) - 5; }));
}

/// A graph: four edges of each node.
Inputs graph() {
    const size_t n = 100'000;
    return columns(Column<i64>(n + 1, [](size_t i) { return i64(4 * i); }), below<i64>(4 * n, 403, n));
}

Inputs short_rows() {
    Column<i64> x = below<i64>(100'000 * 16, 404, 12);
    Column<WeldVec> all = rows(x, 16);
    const WeldVec args[] = {all.vec()};
    return inputs(args, std::move(x), std::move(all));
}

/// Rows of so many numbers each.
template <class T = f32>
Inputs plane(size_t numbers, std::uint64_t stream, size_t width) {
    Column<T> x = uniform<T>(numbers, stream, 1);
    Column<WeldVec> all = rows(x, width);
    const WeldVec args[] = {all.vec()};
    return inputs(args, std::move(x), std::move(all));
}

/// The same twice, of equally long rows.
template <class T>
Inputs planes(size_t numbers, std::uint64_t stream, size_t others, std::uint64_t other, size_t width) {
    Column<T> x = uniform<T>(numbers, stream, 1), y = uniform<T>(others, other, 1);
    Column<WeldVec> all = rows(x, width), more = rows(y, width);
    const WeldVec args[] = {all.vec(), more.vec()};
    return inputs(args, std::move(x), std::move(y), std::move(all), std::move(more));
}

/// Rows of so many numbers each, and one row more.
template <class T>
Inputs rows_and_one(size_t count, size_t width, std::uint64_t stream) {
    Column<T> x = uniform<T>(count * width, stream, 1), one = uniform<T>(width, stream + 1, 1);
    Column<WeldVec> all = rows(x, width);
    const WeldVec args[] = {all.vec(), one.vec()};
    return inputs(args, std::move(x), std::move(one), std::move(all));
}

/// Pixels as three columns, and a palette of sixteen colours, which are rows.
Inputs pixels() {
    const size_t n = 300'000;
    Column<f32> r = uniform<f32>(n, 570, 1), g = uniform<f32>(n, 571, 1), b = uniform<f32>(n, 572, 1),
                colours = uniform<f32>(3 * 16, 573, 1);
    Column<WeldVec> palette = rows(colours, 3);
    const WeldVec args[] = {r.vec(), g.vec(), b.vec(), palette.vec()};
    return inputs(args, std::move(r), std::move(g), std::move(b), std::move(colours), std::move(palette));
}

/// Rows of a place and a radius.
Inputs circles() {
    Column<f64> x(4'500, [](size_t i) { return u01(577, i) * (i % 3 == 2 ? 0.02 : 1); });
    Column<WeldVec> all = rows(x, 3);
    const WeldVec args[] = {all.vec()};
    return inputs(args, std::move(x), std::move(all));
}

/// A symmetric matrix with a large diagonal.
Inputs positive() {
    const size_t n = 500;
    return columns_and(i64(n), Column<f64>(n * n, [](size_t k) {
                           const size_t i = k / n, j = k % n;
                           return u01(386, std::min(i, j) * n + std::max(i, j)) + (i == j ? double(n) : 0);
                       }));
}

Inputs matrix_of_columns() {
    Column<f64> x = uniform<f64>(64 * 65536, 325, 1);
    Column<WeldVec> c = rows(x, 65536);
    const WeldVec args[] = {c.vec()};
    return inputs(args, std::move(x), std::move(c));
}

/// Every number below n once.
Column<i64> places(size_t n) {
    return {n, [=](size_t i) { return i64(i * 7'368'787u % n); }};
}

template <class T>
Inputs alone(T value) {
    return inputs(value);
}

}  // namespace

std::vector<Workload> natural() {
    struct Row {
        i64 a;
        f64 b;
    };
    const size_t many = 20'000'000, some = 10'000'000;
    const std::vector<Workload> all = {
        {"N1.lookup", "N1.lookup", 130269061.316, 1e-9,
         [=] {
             Column<i64> keys(1'000'000, [](size_t i) { return sm(301, i) >> 1; });
             Column<i64> k(many, [](size_t i) { return sm(301, bnd(302, i, 1'000'000)) >> 1; });
             return columns_and(i32(13), std::move(keys), uniform<f64>(1'000'000, 306, 1000), std::move(k),
                                below<i32>(many, 307, 1000));
         },
         number<f64>},
        {"N1.merge", "N1.merge", 359290443, 1e-9,
         [=] {
             return columns_and(0.02, below<i32>(many, 308, 300), below<i64>(many, 309, 500),
                                uniform<f64>(many, 310, 1));
         },
         number<i64>},
        {"N1.miss", "N1.miss", 999649063316, 1e-9, [] { return found(300'000, 6'000'000); }, number<i64>},
        {"N2.million", "N2.million", 2000089390, 1e-9,
         [] {
             return columns_and(f32(0.5), below<i64>(1'000'000, 311, 1000), uniform<f32>(1'000'000, 312, 1));
         },
         vector<i64>},
        {"N2.structs", "N2.structs", 15591227688, 1e-9,
         [=] {
             return columns_and(i32(300), below<i64>(many, 311, 1000), uniform<f64>(many, 313, 1),
                                below<i32>(many, 314, 1000));
         },
         [](const void* r) { return weighted<Row>(r, [](const Row& e) { return f64(e.a) + e.b; }); }},
        {"N3.mean", "N3.mean", 2749.67847777, 1e-9,
         [=] { return columns(below<i32>(many, 315, 10), uniform<f64>(many, 316, 100)); }, number<f64>},
        {"N4.bisect", "N4.bisect", 29815336.4688, 1e-7,
         [] { return columns(uniform<f64>(1'000'000, 317, 1000)); }, vector<f64>},
        {"N5.again", "N5.again", 0.760811058638, 1e-9,
         [] { return columns_and(i64(20000), uniform<f64>(4000, 318, 1)); }, number<f64>},
        {"N6.dots", "N6.dots", 28598824.5143, 1e-9,
         [=] { return columns(uniform<f64>(2 * some, 319, 1), uniform<f64>(8, 320, 1)); }, vector<f64>},
        {"N6.softmax", "N6.softmax", 40012.0210324, 1e-9,
         [=] { return columns_and(i64(1000), uniform<f64>(some, 319, 8)); }, vector<f64>},
        {"N6.argmax", "N6.argmax", 19912280, 1e-9,
         [=] { return columns_and(i64(100), uniform<f64>(some, 319, 1)); }, vector<i64>},
        {"N6.standard", "N6.standard", 40002770.806, 1e-4,
         [=] { return columns_and(i64(250), uniform<f32>(some, 319, 1)); },
         [](const void* r) { return weighted<f32>(r, [](f32 e) { return e * e; }); }},
        {"N6.gram", "N6.gram", 269569399.508, 1e-9, matrix_of_columns, vector<f64>},
        {"N6.sparse", "N6.sparse", 9998428.10735, 1e-9, [] { return sparse(1'000'000, 321, 100'000, 1); }, vector<f64>},
        {"N7.chain", "N7.chain", 9488824.16425, 1e-9, [=] { return columns(uniform<f64>(many, 326, 1)); },
         number<f64>},
        {"N7.haversine", "N7.haversine", 76824670727.5, 1e-9,
         [=] { return columns(uniform<f64>(some / 2, 327, 80), uniform<f64>(some / 2, 328, 90)); },
         vector<f64>},
        {"N7.random", "N7.random", 78533053, 1e-9, [] { return alone(i64(100'000'000)); }, number<i64>},
        {"N8.clamped", "N8.clamped", 80012318.0058, 1e-5,
         [=] { return columns(uniform<f32>(2 * many, 329, 1)); }, vector<f32>},
        {"N8.words", "N8.words", 13887611, 1e-9,
         [] {
             return columns(Column<u8>(100'000'000,
                                       [](size_t i) { return bnd(330, i, 6) ? 97 + bnd(331, i, 26) : 32; }));
         },
         number<i64>},
        {"N8.grey", "N8.grey", 10160098712, 1e-9, [=] { return columns(below<u8>(60'000'000, 332, 256)); },
         vector<u8>},
        {"N9.pairs", "N9.pairs", 18461103076764, 1e-9,
         [=] { return columns(below<i32>(many, 333, 64), below<i32>(many, 334, 64)); }, number<i64>},
        {"N9.remainder", "N9.remainder", 205038686442, 1e-9,
         [=] { return columns(below<i64>(many, 335, 1'000'000'000), uniform<f64>(many, 336, 1)); },
         number<f64>},
        {"N9.floats", "N9.floats", 293541469569, 1e-9,
         [=] {
             return columns(Column<f64>(many, [](size_t i) { return f64(bnd(337, i, 40)) * 0.25; }),
                            below<i64>(many, 338, 50), below<i64>(many, 339, 1000));
         },
         number<f64>},
        {"N9.bytes", "N9.bytes", 1275077090.2, 1e-9,
         [=] { return columns(below<u8>(many, 340, 256), uniform<f32>(many, 341, 1)); }, number<f64>},
        {"N9.months", "N9.months", 239699969579, 1e-9,
         [=] { return columns(below<i32>(many, 342, 20000), uniform<f64>(many, 343, 1)); }, number<f64>},
        {"N10.flatten", "N10.flatten", 39950888118, 1e-9, ragged, vector<i64>},
        {"N10.scatter", "N10.scatter", 19999483.9749, 1e-9,
         [=] {
             return columns(uniform<f64>(some, 353, 1), places(some),
                            Column<f64>(some, [](size_t) { return 0; }));
         },
         vector<f64>},
        {"N10.bytes", "N10.bytes", 397665639, 1e-9,
         [] { return columns(below<u8>(100'000'000, 354, 256), Column<i64>(256, [](size_t) { return 0; })); },
         vector<i64>},
        {"N10.bins", "N10.bins", 159875718, 1e-9, [=] { return columns(uniform<f64>(2 * many, 355, 1)); },
         vector<i64>},
        {"N11.structs", "N11.structs", 4902188211.3, 1e-9,
         [=] {
             return columns(below<i64>(many, 356, 1000), uniform<f64>(many, 357, 1),
                            uniform<f64>(many, 358, 1));
         },
         number<f64>},
        {"N11.skip", "N11.skip", 35072.7145354, 1e-9,
         [=] {
             return columns(Column<i32>(many, [](size_t i) { return i / 10'000; }),
                            uniform<f64>(many, 359, 1), uniform<f64>(many, 360, 1),
                            below<i64>(many, 361, 1000));
         },
         number<f64>},
        {"N12.nearest", "N12.nearest", 573.417303041, 1e-9,
         [] {
             return columns(uniform<f64>(20'000, 362, 1), uniform<f64>(20'000, 363, 1),
                            uniform<f64>(5'000, 364, 1), uniform<f64>(5'000, 365, 1));
         },
         vector<f64>},
        {"N12.symmetric", "N12.symmetric", 18005137.5407, 1e-9,
         [] { return columns_and(i64(3000), uniform<f64>(9'000'000, 366, 1)); }, vector<f64>},
        {"N13.rows", "N13.rows", 39990873421, 1e-9, ragged, nested<i64>},
        {"N13.reversed", "N13.reversed", 6571634517, 1e-9, [] { return words(); }, nested<u8>},
        {"N13.joined", "N13.joined", 6569813471, 1e-9, pairs_of_words, nested<u8>},
        {"N13.field", "N13.field", 49983282642, 1e-9, lines, number<i64>},
        {"N14.first", "N14.first", 196018726.998084, 1e-9,
         [=] { return columns(below<i32>(some, 367, 1'000'000), uniform<f64>(some, 368, 1)); }, vector<f64>},
        {"N14.ring", "N14.ring", 7998392.49490392, 1e-9,
         [] { return columns_and(i64(2000), uniform<f64>(4'000'000, 369, 1)); }, vector<f64>},
        {"N14.windows", "N14.windows", 20001896.4270564, 1e-5,
         [=] { return columns(uniform<f32>(2 * many, 370, 1)); }, vector<f32>},
        {"N14.knapsack", "N14.knapsack", 53681, 1e-9,
         [] {
             return columns_and(i64(100'000),
                                Column<i64>(100, [](size_t i) { return 1 + bnd(379, i, 2000); }),
                                below<i64>(100, 380, 1000));
         },
         number<i64>},
        {"N15.bags", "N15.bags", 70515570.3732837, 1e-5, bags, vector<f32>},
        {"N15.product", "N15.product", 16833586.4599722, 1e-9, two_matrices, vector<f64>},
        {"N15.cholesky", "N15.cholesky", 303628.116641832, 1e-9, positive, vector<f64>},
        {"N15.shuffle", "N15.shuffle", 2000757786747, 1e-9,
         [] {
             const struct {
                 i64 n, start;
             } args = {1'000'000, 42};
             return inputs(args);
         },
         vector<i64>},
        {"N16.bodies", "N16.bodies", 271017688.228, 1e-9,
         [] {
             return columns(uniform<f64>(4000, 388, 1), uniform<f64>(4000, 389, 1),
                            uniform<f64>(4000, 390, 1));
         },
         vector<f64>},
        {"N16.particles", "N16.particles", 200711.411728, 1e-9,
         [] {
             return columns_and(i64(20), uniform<f64>(200'000, 391, 1), uniform<f64>(200'000, 392, 1),
                                uniform<f64>(200'000, 393, 1), uniform<f64>(200'000, 394, 1));
         },
         number<f64>},
        {"N16.few", "N16.few", 2156110.41236, 1e-9,
         [=] {
             return columns(uniform<f64>(some, 395, 1), uniform<f64>(some, 396, 1), uniform<f64>(8, 397, 1),
                            uniform<f64>(8, 398, 1));
         },
         vector<f64>},
        {"N16.eliminate", "N16.eliminate", 167476.196592, 1e-9,
         [] {
             return columns_and(i64(300), Column<f64>(300 * 300, [](size_t k) {
                                    return u01(399, k) + (k / 300 == k % 300 ? 300 : 0);
                                }));
         },
         vector<f64>},
        {"N17.interpolate", "N17.interpolate", 607391.016229, 1e-9, table, vector<f64>},
        {"N17.queue", "N17.queue", 3244484, 1e-9, graph, vector<i64>},
        {"N17.modes", "N17.modes", 1758095, 1e-9, short_rows, vector<i64>},
        {"N17.bytes", "N17.bytes", 2039651954, 1e-9, [] { return columns(below<u8>(4'000'000, 405, 256)); },
         vector<u8>},
        {"N18.unite", "N18.unite", 5387, 1e-9,
         [] { return columns_and(i64(100'000), below<i32>(150'000, 406, 100'000), below<i32>(150'000, 407, 100'000)); },
         number<i64>},
        {"N18.lu", "N18.lu", 158504.036158, 1e-9,
         [] {
             return columns_and(i64(180), Column<f64>(180 * 180, [](size_t k) {
                                    return u01(408, k) + (k / 180 == k % 180 ? 180 : 0);
                                }));
         },
         vector<f64>},
        {"N18.hex", "N18.hex", 841493610, 1e-9, [] { return columns(below<u8>(1'500'000, 409, 256)); }, vector<u8>},
        {"N18.drawdown", "N18.drawdown", 13423.4302926, 1e-9,
         [] {
             return columns(Column<f64>(1'000'000, [](size_t i) { return 100 + double(i) * 1e-4 + u01(410, i); }));
         },
         vector<f64>},
        {"N18.sums", "N18.sums", 8002194.59151, 1e-9,
         [] {
             return columns(Column<i64>(4'000'000, [](size_t i) { return 13 * bnd(411, i, 30'000); }),
                            uniform<f64>(4'000'000, 412, 1));
         },
         number<f64>},
        {"N18.nearest", "N18.nearest", 402.299092221, 1e-9,
         [] {
             return columns(uniform<f64>(2000, 413, 1), uniform<f64>(2000, 414, 1), uniform<f64>(1000, 415, 1),
                            uniform<f64>(1000, 416, 1));
         },
         vector<f64>},
        {"N19.cubes", "N19.cubes", 29989573.0163, 1e-9,
         [] { return columns(Column<f64>(1'000'000, [](size_t i) { return 0.01 + 1000 * u01(417, i); })); }, vector<f64>},
        {"N19.dimension", "N19.dimension", 226267.818105, 1e-9,
         [] {
             return columns_and(0.5, Column<i64>(100'000, [](size_t i) { return i64(i * 7919 % 100'000 + 1); }),
                                uniform<f64>(100'000, 418, 1), below<i64>(4'000'000, 419, 110'000),
                                uniform<f64>(4'000'000, 420, 1));
         },
         number<f64>},
        {"N19.hours", "N19.hours", 15000771, 1e-9, [] { return columns(below<i64>(4'000'000, 421, 1'000'000'000)); },
         vector<i64>},
        {"N19.dilate", "N19.dilate", 1375147418, 1e-9,
         [] { return columns_and(i64(1000), below<u8>(1'500'000, 422, 256)); }, vector<u8>},
        {"N19.filtered", "N19.filtered", 802337.054467, 1e-9,
         [] {
             return columns(below<i64>(4'000'000, 423, 100'000), below<i32>(4'000'000, 424, 100),
                            uniform<f64>(4'000'000, 425, 1));
         },
         number<f64>},
        {"N19.columns", "N19.columns", 3000581.69325, 1e-9,
         [] { return columns_and(i64(3), uniform<f64>(3'000'000, 426, 1)); }, vector<f64>},
        {"N20.sieve", "N20.sieve", 79100257, 1e-9, [] { return columns_and(i64(1'000'000)); }, vector<i32>},
        {"N20.first", "N20.first", 5766986, 1e-9,
         [] { return columns(below<i64>(4'000, 427, 8'000), below<i64>(2'000, 428, 8'000)); }, vector<i64>},
        {"N20.halves", "N20.halves", 191375315, 1e-9,
         [] { return columns_and(i64(1000), below<u8>(1'500'000, 429, 256)); }, vector<u8>},
        {"N20.determinants", "N20.determinants", 240.899660715, 1e-9,
         [] { return columns(uniform<f64>(1'800'000, 430, 1)); }, vector<f64>},
        {"N20.buckets", "N20.buckets", 132024.274627, 1e-9,
         [] { return columns_and(i64(66'000), below<i64>(2'000'000, 431, 66'000), uniform<f64>(2'000'000, 432, 1)); },
         vector<f64>},
        {"N20.lists", "N20.lists", 200024331148, 1e-9,
         [] { return columns_and(i64(100'000), below<i64>(1'000'000, 433, 100'000), below<i64>(1'000'000, 434, 100'000)); },
         vector<i64>},
        {"N21.above", "N21.above", 1.99994014901e+12, 1e-9, [] { return columns(below<i32>(1'000'000, 435, 1'000'000)); }, vector<i64>},
        {"N21.peaks", "N21.peaks", 399126, 1e-9, [] { return plane(2'000'000, 436, 1000); }, number<i64>},
        {"N21.spreads", "N21.spreads", 345140.498646, 1e-9,
         [] { return columns(below<i32>(4'000'000, 437, 1440), uniform<f32>(4'000'000, 438, 40)); }, vector<f64>},
        {"N21.medians", "N21.medians", 200062967.28, 1e-9, [] { return columns(uniform<f32>(1'000'000, 439, 100)); }, vector<f32>},
        {"N21.least", "N21.least", 395755902.81, 1e-9,
         [] { return columns_and(i64(20'000), below<i64>(4'000'000, 440, 20'000), uniform<f64>(4'000'000, 441, 1'000'000)); },
         vector<f64>},
        {"N21.weights", "N21.weights", 2000575.10296, 1e-9,
         [] {
             return columns(below<i64>(8'000'000, 442, 500'000), uniform<f64>(8'000'000, 443, 1),
                            uniform<f64>(500'000, 444, 1));
         },
         number<f64>},
        {"N22.swaps", "N22.swaps", 319755.296861, 1e-9, [] { return columns_and(i64(400), uniform<f64>(160'000, 445, 1)); }, vector<f64>},
        {"N22.hex", "N22.hex", 2243876759, 1e-9, [] { return columns(below<std::uint32_t>(1'000'000, 446, 1ull << 32)); }, vector<u8>},
        {"N22.letters", "N22.letters", 6189028, 1e-9, [] { return columns(below<u8>(4'000'000, 447, 128)); }, vector<i64>},
        {"N22.scores", "N22.scores", -2164.73888024, 1e-9,
         [] { return columns(below<i32>(2'000'000, 448, 500), uniform<f64>(2'000'000, 449, 100)); }, vector<f64>},
        {"N22.buckets", "N22.buckets", 15991310, 1e-9,
         [] { return columns_and(i64(1000), below<i64>(4'000'000, 450, 1'000'000'000'000)); }, vector<i64>},
        {"N22.cases", "N22.cases", 1612672605.34, 1e-9,
         [] {
             return columns(below<std::int8_t>(4'000'000, 451, 12), below<std::int8_t>(4'000'000, 452, 4),
                            uniform<f64>(4'000'000, 453, 100));
         },
         vector<f64>},
        {"N22.cells", "N22.cells", 5557941, 1e-9,
         [] { return columns_and(i64(64), uniform<f64>(2'000'000, 454, 24), uniform<f64>(2'000'000, 455, 24)); },
         vector<i64>},
        {"N23.heat", "N23.heat", 108683528.005, 1e-5, [=] { return columns(uniform<f32>(1'000'000, 456, 45), uniform<f32>(1'000'000, 457, 100)); }, vector<f32>},
        {"N23.picks", "N23.picks", 50006235.0302, 1e-9,
         [] {
             return columns(below<i32>(2'000'000, 458, 4000), uniform<f32>(2'000'000, 459, 1), uniform<f64>(4000, 460, 100));
         },
         number<f64>},
        {"N23.ratios", "N23.ratios", 2.98679894831e+13, 1e-9,
         [] { return columns(below<i32>(2'000'000, 461, 1'000'000'000), below<i32>(2'000'000, 462, 1000)); }, vector<i32>},
        {"N23.decays", "N23.decays", 528559.527637, 1e-9, [] { return columns(uniform<f64>(1'000'000, 463, 5)); }, vector<f64>},
        {"N23.nine", "N23.nine", 36017747.5712, 1e-5, [] { return columns(uniform<f32>(2'000'000, 464, 1)); }, vector<f32>},
        {"N23.order", "N23.order", 4.00041118725e+15, 1e-9, [] { return columns(below<i32>(1'000'000, 465, 2'000'000'000)); }, vector<i32>},
        {"N24.spends", "N24.spends", 394042634.363, 1e-9, [] { return columns(below<i32>(4'000'000, 466, 60'000), uniform<f64>(4'000'000, 467, 100)); }, number<f64>},
        {"N24.dates", "N24.dates", 2007228673, 1e-9, [] { return columns(below<i32>(1'000'000, 468, 3'720'000)); }, vector<u8>},
        {"N24.shares", "N24.shares", 799914.0, 1e-5, [] { return columns(uniform<f32>(200'000, 469, 2), uniform<f32>(12, 470, 1)); }, vector<f32>},
        {"N24.features", "N24.features", 7986175.21857, 1e-9, [] { return sparse(100'000, 471, 10'000, 8); }, vector<f64>},
        {"N24.field", "N24.field", 2032296534, 1e-9, [] { return columns(below<u8>(4'000'000, 475, 256), below<u8>(4'000'000, 476, 256)); }, vector<u8>},
        {"N25.largest", "N25.largest", 6210228, 1e-9, [] { return plane(3'200'000, 477, 32); }, vector<i64>},
        {"N25.minutes", "N25.minutes", 689466319404, 1e-9, [] { return columns(Column<i32>(720, [](size_t i) { return i32(i); }), below<i32>(4'000'000, 478, 720)); }, number<i64>},
        {"N25.taps", "N25.taps", 21274619.2137, 1e-5, [] { return columns(uniform<f32>(2'000'000, 479, 1), uniform<f32>(9, 480, 1)); }, vector<f32>},
        {"N25.numbers", "N25.numbers", 401347361641, 1e-9, [] { return columns(below<u8>(4'000'000, 481, 16)); }, vector<i64>},
        {"N26.loss", "N26.loss", 120977.03702, 1e-9, [] { return rows_and_one<f64>(300'000, 16, 482); }, number<f64>},
        {"N26.cosines", "N26.cosines", 59382.7242426, 1e-5, [] { return rows_and_one<f32>(20'000, 64, 484); }, vector<f32>},
        {"N26.sixteen", "N26.sixteen", 204279436, 1e-9,
         [] { return columns_and(i64(100'000), Column<i32>(16, [](size_t i) { return i32(500 + bnd(486, i, 10'000)); })); }, number<i64>},
        {"N26.found", "N26.found", 39987259202, 1e-9,
         [] {
             return columns(Column<i64>(20'000, [](size_t i) { return i64(sm(487, i) >> 1); }),
                            Column<i64>(4'000'000, [](size_t i) { return i64(sm(487, bnd(488, i, 20'000)) >> 1); }));
         },
         number<i64>},
        {"N27.covariances", "N27.covariances", 5.07860285138, 1e-9, [] { return plane<f64>(3'200'000, 489, 16); }, vector<f64>},
        {"N27.bits", "N27.bits", 256010991, 1e-9, [] { return columns(Column<i64>(2'000'000, [](size_t i) { return i64(sm(490, i)); })); }, vector<i64>},
        {"N27.within", "N27.within", 2644, 1e-9, [] { return words(1'000'000, 491); }, number<i64>},
        {"N27.running", "N27.running", 3.99605103119e+15, 1e-9, [] { return columns(below<i32>(2'000'000, 493, 1000)); }, vector<i64>},
        {"N28.search", "N28.search", 999856986848, 1e-9,
         [] { return columns(Column<i64>(1'000'000, [](size_t i) { return i64(3 * i + bnd(500, i, 3)); }), below<i64>(500'000, 501, 3'000'000)); }, vector<i64>},
        {"N28.chains", "N28.chains", 12454763, 1e-9, [] { return columns(below<i32>(1'000'000, 502, 1'000'000), below<i32>(200'000, 503, 1'000'000)); }, vector<i64>},
        {"N28.few", "N28.few", 0.504991284973, 1e-9,
         [] { return columns(below<i32>(2'000'000, 504, 2400), below<i64>(2'000'000, 505, 1000), uniform<f64>(2'000'000, 506, 100), uniform<f64>(2'000'000, 507, 0.1), below<u8>(1000, 508, 2)); }, number<f64>},
        {"N29.gray", "N29.gray", 508121362, 1e-9, [] { return columns(below<u8>(3'000'000, 510, 256)); }, vector<u8>},
        {"N29.blend", "N29.blend", 1523713622, 1e-9, [] { return columns_and(i32(100), below<u8>(3'000'000, 511, 256), below<u8>(3'000'000, 512, 256)); }, vector<u8>},
        {"N29.smooth", "N29.smooth", 1526173183, 1e-9, [] { return columns(below<u8>(3'000'000, 513, 256)); }, vector<u8>},
        {"N29.first", "N29.first", 1817036676, 1e-9,
         [] { return columns_and(0.9995, uniform<f64>(1'000'000, 514, 1), below<i64>(1000, 515, 900'000)); }, vector<i64>},
        {"N30.norms", "N30.norms", 768622.649773, 1e-9, [] { return plane<f64>(600'000, 520, 3); }, vector<f64>},
        {"N30.scores", "N30.scores", 655579.072032, 1e-9, [] { return rows_and_one<f64>(60'000, 10, 521); }, vector<f64>},
        {"N30.spans", "N30.spans", 311132.26083, 1e-5, [] { return plane(800'000, 523, 8); }, vector<f32>},
        {"N30.near", "N30.near", 4363748965, 1e-9, [] { return rows_and_one<f64>(150'000, 4, 524); }, vector<i64>},
        {"N31.units", "N31.units", 1237242.60844, 1e-9, [] { return plane<f64>(600'000, 540, 3); }, nested<f64>},
        {"N31.points", "N31.points", 1630117.74036, 1e-9, [] { return planes<f64>(400'000, 541, 16, 542, 4); }, nested<f64>},
        {"N31.powers", "N31.powers", 869803.419224, 1e-9, [] { return columns(uniform<f64>(200'000, 543, 1)); }, nested<f64>},
        {"N31.turned", "N31.turned", 3999681.14563, 1e-9,
         [] {
             return columns(uniform<f64>(1'000'000, 544, 1), Column<i64>(2, [](size_t) { return 1000; }),
                            Column<i64>(2, [](size_t i) { return i ? 1000 : 1; }));
         },
         vector<f64>},
        {"N31.parts", "N31.parts", 3990061.38058, 1e-9,
         [] { return columns(uniform<f64>(1'000'000, 545, 1), uniform<f64>(1'000'000, 546, 1)); }, vector<f64>},
        {"N32.middles", "N32.middles", 120006.169393, 1e-9, [] { return plane<f64>(1'500'000, 550, 25); }, vector<f64>},
        {"N32.greatest", "N32.greatest", 556118.846528, 1e-9, [] { return plane<f64>(1'200'000, 551, 40); }, nested<f64>},
        {"N32.falling", "N32.falling", 8.58825578358e+15, 1e-9, [] { return columns(below<i64>(1'000'000, 552, std::uint64_t(1) << 40)); },
         vector<i64>},
        {"N32.product", "N32.product", 133975792.23, 1e-9, [] { return planes<f64>(512 * 512, 557, 512 * 512, 558, 512); }, nested<f64>},
        {"N32.steps", "N32.steps", 2494630904, 1e-9,
         [] {
             return columns(Column<i64>(1'000'000, [](size_t i) { return i * 1'037'389; }), below<i64>(1'000'000, 553, 1000),
                            Column<i64>(5'000'000, [](size_t i) { return bnd(554, i, 1'000'000) * 1'037'389; }));
         },
         number<i64>},
        {"N32.sums", "N32.sums", 1.24754299934e+12, 1e-9,
         [] {
             return columns(Column<i64>(5'000'000, [](size_t i) { return bnd(555, i, 300'000) * 1'037'389; }),
                            below<i64>(5'000'000, 556, 1000));
         },
         number<i64>},
        {"N33.dots", "N33.dots", 183181.343885, 1e-9, [] { return columns(uniform<f64>(600'000, 560, 1), uniform<f64>(6, 561, 1)); }, vector<f64>},
        {"N33.frequent", "N33.frequent", 1.18810953803e+12, 1e-9,
         [] {
             return columns(Column<i64>(8'000'000,
                                        [](size_t i) { return i64(sm(562, i) & ((std::uint64_t(2) << bnd(563, i, 20)) - 1)); }),
                            below<i64>(8'000'000, 564, 1000));
         },
         number<i64>},
        {"N33.sorted", "N33.sorted", 1302.52106958, 1e-9,
         [] { return columns(Column<i64>(8'000'000, [](size_t i) { return i64(i / 16); }), uniform<f64>(8'000'000, 565, 100)); },
         number<f64>},
        {"N34.colours", "N34.colours", 82762.7935107, 1e-6, [] { return pixels(); }, vector<f32>},
        {"N34.nearest", "N34.nearest", 2908469, 1e-9,
         [] { return columns_and(i64(16), uniform<f64>(1'600'000, 574, 1), uniform<f64>(256, 575, 1)); }, vector<i64>},
        {"N34.means", "N34.means", 80053.9277752, 1e-9, [] { return columns_and(i64(20), uniform<f64>(800'000, 576, 1)); }, vector<f64>},
        {"N34.touching", "N34.touching", 1531, 1e-9, [] { return circles(); }, number<i64>},
        {"N35.prices", "N35.prices", 18588.0606232, 1e-9,
         [] { return columns_and(i64(200), Column<f64>(500, [](size_t i) { return 75 + 50 * u01(580, i); })); }, vector<f64>},
        {"N35.trades", "N35.trades", 19.9724587893, 1e-9, [] { return columns_and(i64(20), uniform<f64>(20'000, 581, 1)); }, number<f64>},
        {"N35.edits", "N35.edits", 776, 1e-9, [] { return columns(below<u8>(1'500, 582, 4), below<u8>(1'000, 583, 4)); }, number<i64>},
        {"N35.paths", "N35.paths", 17385, 1e-9, [] { return columns_and(i64(500), below<i64>(500'000, 584, 100)); }, number<i64>},
        {"N36.remainders", "N36.remainders", 14.0020291653, 1e-9,
         [] { return columns_and(i32(7), below<i32>(3'000'000, 590, 1'000'000), uniform<f64>(3'000'000, 591, 1)); }, number<f64>},
        {"N36.sparse", "N36.sparse", 599626.892749, 1e-9,
         [] {
             return columns(Column<i64>(30'001, [](size_t i) { return i64(10 * i); }), below<i32>(300'000, 592, 30'000),
                            uniform<f64>(30'000, 593, 1));
         },
         vector<f64>},
        {"N36.polar", "N36.polar", 434483.640763, 1e-9, [] { return plane<f64>(200'000, 594, 2); }, nested<f64>},
        {"N36.ordered", "N36.ordered", 1000000, 1e-9,
         [] { return columns(Column<i64>(1'000'000, [](size_t i) { return i64(i + bnd(595, i, 2)); })); }, number<i64>},
        {"N37.pairs", "N37.pairs", 51.0493885534, 1e-9,
         [] { return columns(below<i32>(2'000'000, 600, 4), below<i32>(2'000'000, 601, 3), uniform<f64>(2'000'000, 602, 1)); },
         number<f64>},
        {"N37.extremes", "N37.extremes", 1208916.416, 1e-9,
         [] { return columns(below<std::int8_t>(2'000'000, 603, 3), below<std::int8_t>(2'000'000, 604, 7), below<std::int16_t>(2'000'000, 605, 1000)); },
         number<f64>},
        {"N37.cumulated", "N37.cumulated", 12614579.9757, 1e-9, [] { return plane<f64>(600'000, 606, 20); }, nested<f64>},
        {"N38.twelve", "N38.twelve", 528345.616315, 1e-9, [] { return columns(uniform<f64>(600'012, 607, 1), uniform<f64>(12, 608, 1)); }, vector<f64>},
        {"N38.chunks", "N38.chunks", 2000896.66343, 1e-9, [] { return columns_and(i64(50), uniform<f64>(1'000'010, 609, 1)); }, vector<f64>},
        {"N38.gradient", "N38.gradient", 19356262.294, 1e-9,
         [] { return columns(uniform<f64>(20'000'000, 610, 1), uniform<f64>(500'000, 611, 1), uniform<f64>(40, 612, 1)); }, vector<f64>}};
    return all;
}

}  // namespace weld::bench
