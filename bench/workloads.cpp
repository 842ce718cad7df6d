// The workloads: data, programs and digests.
#include "bench/workloads.h"

#include <cmath>
#include <cstring>

#include "bench/columns.h"

namespace weld::bench {

using std::size_t;

template <class T>
static const T* items(const WeldVec& v) {
    return static_cast<const T*>(v.data);
}

template <class T>
static T as(const void* result) {
    T value;
    std::memcpy(&value, result, sizeof value);
    return value;
}

static double exact(std::uint64_t wrapped) { return double(std::int64_t(wrapped)); }

// ---- scans

static Inputs column_below(std::int64_t limit) {
    Column<std::int64_t> v(100'000'000, [](size_t i) { return bnd(2, i, 1000); });
    struct {
        WeldVec v;
        std::int64_t limit;
    } args{v.vec(), limit};
    return inputs(args, std::move(v));
}

static double digest_of_filtered(const void* result) {
    const auto v = as<WeldVec>(result);
    const auto* o = items<std::int64_t>(v);
    return exact(std::uint64_t(v.len * 1000003 + o[0] + o[v.len - 1] + o[v.len / 2]));
}

/// 100 million elements, of which half pass `limit`.
template <class T>
static Inputs small_below(T limit) {
    Column<T> v(100'000'000, [=](size_t i) { return T(bnd(2, i, std::uint64_t(limit) * 2)); });
    struct {
        WeldVec v;
        T limit;
    } args{v.vec(), limit};
    return inputs(args, std::move(v));
}

static Inputs pairs_below(std::int64_t limit) {
    const size_t n = 50'000'000;
    Column<std::int64_t> keys(n, [](size_t i) { return bnd(2, i, 1000); });
    Column<double> values(n, [](size_t i) { return bnd(21, i, 1000); });
    struct {
        WeldVec keys, values;
        std::int64_t limit;
    } args{keys.vec(), values.vec(), limit};
    return inputs(args, std::move(keys), std::move(values));
}

/// How many there are, and the first, middle and last one.
template <class T>
static double digest_of_few(const void* result, auto value) {
    const auto v = as<WeldVec>(result);
    const T* o = items<T>(v);
    return exact(std::uint64_t(v.len * 1000003 + value(o[0]) + value(o[v.len - 1]) + value(o[v.len / 2])));
}

static Inputs chain() {
    const size_t n = 50'000'000;
    Column<double> x(n, [](size_t i) { return 100 * u01(31, i); });
    Column<double> y(n, [](size_t i) { return u01(32, i); });
    Column<double> z(n, [](size_t i) { return u01(33, i); });
    const WeldVec args[] = {x.vec(), y.vec(), z.vec()};
    return inputs(args, std::move(x), std::move(y), std::move(z));
}

static Inputs options() {
    const size_t n = 10'000'000;
    Column<double> s(n, [](size_t i) { return 100 * (0.5 + u01(41, i)); });
    Column<double> k(n, [](size_t i) { return 100 * (0.5 + u01(42, i)); });
    Column<double> t(n, [](size_t i) { return 0.1 + 2 * u01(43, i); });
    Column<double> r(n, [](size_t i) { return 0.01 + 0.04 * u01(44, i); });
    Column<double> v(n, [](size_t i) { return 0.1 + 0.4 * u01(45, i); });
    const WeldVec args[] = {s.vec(), k.vec(), t.vec(), r.vec(), v.vec()};
    return inputs(args, std::move(s), std::move(k), std::move(t), std::move(r), std::move(v));
}

struct Pair {
    WeldVec a, b;
};

// ---- tables

static Inputs keyed(std::function<std::uint64_t(size_t)> key) {
    const size_t n = 50'000'000;
    Column<std::int64_t> k(n, key);
    Column<std::int64_t> v(n, [](size_t i) { return bnd(52, i, 1000); });
    const WeldVec args[] = {k.vec(), v.vec()};
    return inputs(args, std::move(k), std::move(v));
}

static double digest_of_groups(const void* result) {
    const auto r = as<Pair>(result);
    std::uint64_t sum = 1000003u * std::uint64_t(r.a.len);
    for (std::int64_t i = 0; i < r.a.len; ++i)
        sum += std::uint64_t(items<std::int64_t>(r.a)[i]) * std::uint64_t(items<std::int64_t>(r.b)[i]);
    return exact(sum);
}

static Inputs join() {
    Column<std::int64_t> keys(1'000'000, [](size_t i) { return sm(70, i) >> 1; });
    Column<std::int64_t> payloads(1'000'000, [](size_t i) { return i; });
    Column<std::int64_t> probes(50'000'000, [](size_t j) { return sm(70, bnd(71, j, 2'000'000)) >> 1; });
    const WeldVec args[] = {keys.vec(), payloads.vec(), probes.vec()};
    return inputs(args, std::move(keys), std::move(payloads), std::move(probes));
}

struct Joined {
    std::int64_t sum, hits;
};

static double digest_of_found(const void* result) {
    const auto v = as<Joined>(result);
    return exact(std::uint64_t(v.sum + 1000003 * v.hits));
}

static Inputs histogram(size_t bins) {
    Column<std::int64_t> v(100'000'000, [=](size_t i) { return bnd(10, i, bins); });
    Column<std::int64_t> zero(bins, [](size_t) { return 0; });
    const WeldVec args[] = {v.vec(), zero.vec()};
    return inputs(args, std::move(v), std::move(zero));
}

static double digest_of_histogram(const void* result) {
    const auto v = as<WeldVec>(result);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < std::uint64_t(v.len); ++i)
        sum += std::uint64_t(items<std::int64_t>(v)[i]) * (i + 1) * (i + 1);
    return exact(sum);
}

// ---- TPC-H

struct Lineitem {
    Column<double> qty, price, disc, tax;
    Column<std::int32_t> ship;
    Column<std::uint8_t> rf, ls;

    explicit Lineitem(size_t n)
        : qty(n, [](size_t i) { return 1 + bnd(61, i, 50); }),
          price(n,
                [](size_t i) {
                    return double(1 + bnd(61, i, 50)) * (double(90000 + bnd(62, i, 110001)) / 100.0);
                }),
          disc(n, [](size_t i) { return double(bnd(63, i, 11)) / 100.0; }),
          tax(n, [](size_t i) { return double(bnd(64, i, 9)) / 100.0; }),
          ship(n, [](size_t i) { return bnd(65, i, 2526); }),
          rf(n,
             [](size_t i) { return bnd(65, i, 2526) + 1 + bnd(66, i, 30) <= 1263 ? bnd(67, i, 2) * 2 : 1; }),
          ls(n, [](size_t i) { return bnd(65, i, 2526) > 1263; }) {}
};

static Inputs q1(size_t n) {
    Lineitem l(n);
    const WeldVec args[] = {l.qty.vec(),  l.price.vec(), l.disc.vec(), l.tax.vec(),
                            l.ship.vec(), l.rf.vec(),    l.ls.vec()};
    return inputs(args, std::move(l));
}

static double digest_of_q1(const void* result) {
    struct Row {
        std::uint8_t rf, ls;
        double qty, price, dp, ch, avg_qty, avg_price, avg_disc;
        std::int64_t n;
    };
    const auto v = as<WeldVec>(result);
    double sum = 0;
    for (std::int64_t i = 0; i < v.len; ++i) {
        const Row& r = items<Row>(v)[i];
        sum += r.ch + r.dp + r.avg_qty + r.avg_price + r.avg_disc + double(r.n);
    }
    return sum;
}

static Inputs q6(size_t n) {
    Lineitem l(n);
    const WeldVec args[] = {l.ship.vec(), l.disc.vec(), l.qty.vec(), l.price.vec()};
    return inputs(args, std::move(l));
}

// ---- compute

static Inputs matrix_vector() {
    Column<double> a(4096 * 4096, [](size_t i) { return u01(93, i) - 0.5; });
    Column<double> v(4096, [](size_t i) { return u01(94, i); });
    Column<WeldVec> r = rows(a, 4096);
    const WeldVec args[] = {r.vec(), v.vec()};
    return inputs(args, std::move(a), std::move(v), std::move(r));
}

static Inputs logistic() {
    Column<double> x(32'000'000, [](size_t i) { return 2 * u01(111, i) - 1; });
    Column<double> y(1'000'000, [](size_t i) { return bnd(112, i, 2); });
    Column<double> w(32, [](size_t i) { return u01(113, i) - 0.5; });
    Column<WeldVec> r = rows(x, 32);
    const WeldVec args[] = {r.vec(), y.vec(), w.vec()};
    return inputs(args, std::move(x), std::move(y), std::move(w), std::move(r));
}

static Inputs kmeans() {
    Column<double> x(16'000'000, [](size_t i) { return u01(121, i); });
    Column<WeldVec> r = rows(x, 16);
    const WeldVec args[] = {r.vec(), {r.data(), 16}};
    return inputs(args, std::move(x), std::move(r));
}

static Inputs short_vectors() {
    Column<double> x(10'000'000, [](size_t i) { return u01(15, i); });
    Column<WeldVec> r = rows(x, 10);
    const WeldVec args[] = {r.vec()};
    return inputs(args, std::move(x), std::move(r));
}

static Inputs ragged_vectors() {
    Column<std::int64_t> ends(1'000'001, [](size_t i) { return i ? bnd(16, i - 1, 21) : 0; });
    for (size_t i = 1; i < ends.size(); ++i) ends.data()[i] += ends[i - 1];
    Column<double> x(size_t(ends[1'000'000]), [](size_t i) { return u01(17, i); });
    Column<WeldVec> r(1'000'000,
                      [&](size_t i) { return WeldVec{x.data() + ends[i], ends[i + 1] - ends[i]}; });
    const WeldVec args[] = {r.vec()};
    return inputs(args, std::move(x), std::move(r));
}

static Inputs strings() {
    const size_t n = 10'000'000;
    Column<std::int64_t> offsets(n + 1, [](size_t i) { return i ? 4 + bnd(141, i - 1, 13) : 0; });
    for (size_t i = 1; i <= n; ++i) offsets.data()[i] += offsets[i - 1];
    Column<std::uint8_t> bytes(size_t(offsets[n]),
                               [](size_t i) { return "abcdefghijklmnopqrstuvwxyz012345"[sm(142, i) >> 59]; });
    const WeldVec args[] = {offsets.vec(), bytes.vec()};
    return inputs(args, std::move(offsets), std::move(bytes));
}

/// Texts as vectors of bytes, and what these lie in.
struct Texts {
    Column<std::uint8_t> bytes;
    Column<WeldVec> all;
};

/// `n` texts: of a few characters each, which its number id(i) decides, after `before`.
static Texts texts(size_t n, const char* before, std::uint64_t least, std::uint64_t span,
                   std::function<std::uint64_t(size_t)> id) {
    const size_t first = std::strlen(before);
    Column<std::int64_t> ends(n + 1,
                              [&](size_t i) { return i ? first + least + bnd(171, id(i - 1), span) : 0; });
    for (size_t i = 1; i <= n; ++i) ends.data()[i] += ends[i - 1];
    Column<std::uint8_t> bytes(size_t(ends[n]), [](size_t) { return 0; });
    Column<WeldVec> all(n, [&](size_t i) {
        std::uint8_t* const to = bytes.data() + ends[i];
        const auto size = size_t(ends[i + 1] - ends[i]);
        std::memcpy(to, before, first);
        for (size_t j = first; j < size; ++j)
            to[j] = std::uint8_t("abcdefghijklmnopqrstuvwxyz012345"[sm(172, id(i) * 256 + j) >> 59]);
        return WeldVec{to, std::int64_t(size)};
    });
    return {std::move(bytes), std::move(all)};
}

struct TextKeys {
    size_t rows;
    std::uint64_t keys, least, span;
};

static Inputs keyed_by_texts(TextKeys k, bool by_pairs = false) {
    Texts t = texts(k.rows, "", k.least, k.span, [=](size_t i) { return bnd(173, i, k.keys); });
    Column<std::int64_t> v(k.rows, [](size_t i) { return bnd(174, i, 1000); });
    Column<std::int32_t> m(by_pairs ? k.rows : 0, [](size_t i) { return bnd(175, i, 16); });
    std::vector<WeldVec> args = {t.all.vec(), v.vec()};
    if (by_pairs) args.insert(args.begin() + 1, m.vec());
    Inputs in = inputs(0, std::move(t.bytes), std::move(t.all), std::move(v), std::move(m));
    const auto* bytes = reinterpret_cast<const std::byte*>(args.data());
    in.args.assign(bytes, bytes + args.size() * sizeof(WeldVec));
    return in;
}

static Inputs texts_to_find(std::uint64_t keys) {
    Texts t = texts(keys, "", 4, 13, [](size_t i) { return i; });
    Column<std::int64_t> payloads(keys, [](size_t i) { return i; });
    Texts probes = texts(10'000'000, "", 4, 13, [=](size_t i) { return bnd(176, i, 2 * keys); });
    const WeldVec args[] = {t.all.vec(), payloads.vec(), probes.all.vec()};
    return inputs(args, std::move(t.bytes), std::move(t.all), std::move(payloads), std::move(probes.bytes),
                  std::move(probes.all));
}

static Inputs texts_to_sort(size_t n, const char* before, std::uint64_t keys, std::uint64_t least,
                            std::uint64_t span) {
    Texts t = texts(n, before, least, span, [=](size_t i) { return keys ? bnd(177, i, keys) : i; });
    const WeldVec args[] = {t.all.vec()};
    return inputs(args, std::move(t.bytes), std::move(t.all));
}

/// Length and ends of a text.
static std::uint64_t mark(const WeldVec& text) {
    const auto* p = items<std::uint8_t>(text);
    const auto n = std::uint64_t(text.len);
    return n ? p[0] + 256 * std::uint64_t(p[n - 1]) + 65536 * n : 0;
}

static double weighted(const WeldVec& v, std::int64_t period) {
    double sum = 0;
    for (std::int64_t i = 0; i < v.len; ++i)
        sum += items<double>(v)[i] * double((period ? i % period : i) + 1);
    return sum;
}

// ---- as many rounds as each element takes

static Inputs radicands() {
    Column<double> x(10'000'000, [](size_t i) { return 100 * u01(161, i); });
    const WeldVec args[] = {x.vec()};
    return inputs(args, std::move(x));
}

static Inputs plane() {
    const size_t n = 1 << 21;
    Column<double> re(n, [](size_t i) { return double(i & 2047) / 2048. * 3 - 2; });
    Column<double> im(n, [](size_t i) { return double(i >> 11) / 1024. * 2 - 1; });
    const WeldVec args[] = {re.vec(), im.vec()};
    return inputs(args, std::move(re), std::move(im));
}

static Inputs countdowns() {
    Column<std::int64_t> v(2'000'000, [](size_t i) { return bnd(162, i, 100) ? 1 : 1000; });
    const WeldVec args[] = {v.vec()};
    return inputs(args, std::move(v));
}

// ---- matrices, row by row

static Inputs matrix(std::int64_t n) {
    Column<double> x(size_t(n * n), [](size_t i) { return u01(201, i) - 0.5; });
    Column<double> row(size_t(n), [](size_t i) { return u01(202, i) - 0.5; });
    Column<double> col(size_t(n), [](size_t i) { return u01(203, i) - 0.5; });
    struct {
        WeldVec x, row, col;
        std::int64_t rows, columns;
    } args{x.vec(), row.vec(), col.vec(), n, n};
    return inputs(args, std::move(x), std::move(row), std::move(col));
}

/// Operations on matrices, each in the forms in which it may be written: `S2.flat.4096`.
static void add_matrices(std::vector<Workload>& all) {
    struct Operation {
        const char* name;
        std::vector<const char*> forms;
        double expected_2048, expected_4096;
    };
    for (const Operation& o :
         {Operation{"S1", {"flat", "zip", "nested", "iter"}, 204.134000037, -111977.06529},
          Operation{"S2", {"flat", "zip", "nested", "iter"}, -245001.789391, -463741.051537},
          Operation{"S3", {"flat", "nested", "iter"}, -19.9751510551, 845.72774874},
          Operation{"S4", {"flat", "nested"}, 1472.26257275, -1688.69903696},
          Operation{"S5", {"rows", "nested", "columns", "flat"}, 1906.55828561, -2582.84387535},
          Operation{"S6", {"minmax", "if"}, 314.005379802, -1470.84777167},
          Operation{"S7", {"window"}, 3066.84147042, -1013.67636063},
          Operation{"S8", {"lookup", "slice"}, 2352.57248068, -934.217682533},
          Operation{"S9", {"lookup", "slice"}, 631.678444279, -2674.2284521},
          Operation{"S10", {"points"}, 11039545.9098, 44282908.4714},
          Operation{"S11", {"loops"}, 5107.30185947, -6560.41278042},
          Operation{"S12", {"loops"}, 1369953.74737, 5466233.22275}})
        for (const char* form : o.forms)
            for (const std::int64_t n : {2048, 4096}) {
                const std::string program = o.name + std::string(".") + form;
                all.push_back({program + "." + std::to_string(n), program,
                               n == 2048 ? o.expected_2048 : o.expected_4096, 1e-8, [n] { return matrix(n); },
                               [](const void* r) { return weighted(as<WeldVec>(r), 7); }});
            }
}

static double digest_of_text_sums(const void* result) {
    const auto v = as<Pair>(result);
    std::uint64_t sum = 1000003u * std::uint64_t(v.a.len);
    for (std::int64_t i = 0; i < v.a.len; ++i)
        sum += mark(items<WeldVec>(v.a)[i]) * std::uint64_t(items<std::int64_t>(v.b)[i]);
    return exact(sum);
}

static double digest_of_text_groups(const void* result) {
    const auto v = as<WeldVec>(result);
    std::uint64_t sum = 1000003u * std::uint64_t(v.len);
    for (std::int64_t i = 0; i < v.len; ++i) {
        const Pair& group = items<Pair>(v)[i];
        std::uint64_t values = 0;
        for (std::int64_t j = 0; j < group.b.len; ++j)
            values += std::uint64_t(items<std::int64_t>(group.b)[j] * (j + 1));
        sum += mark(group.a) * values;
    }
    return exact(sum);
}

static double digest_of_pairs(const void* result) {
    struct Entry {
        WeldVec text;
        std::int32_t number;
        std::int64_t sum;
    };
    const auto v = as<WeldVec>(result);
    std::uint64_t sum = 1000003u * std::uint64_t(v.len);
    for (std::int64_t i = 0; i < v.len; ++i) {
        const Entry& e = items<Entry>(v)[i];
        sum += (mark(e.text) + std::uint64_t(e.number)) * std::uint64_t(e.sum);
    }
    return exact(sum);
}

static double digest_of_sorted_texts(const void* result) {
    const auto v = as<WeldVec>(result);
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < v.len; i += 1000) sum += mark(items<WeldVec>(v)[i]) * std::uint64_t(i + 1);
    return exact(sum);
}

/// Strings as keys: `W17.sum.few`.
static void add_texts(std::vector<Workload>& all) {
    const auto add = [&](const std::string& operation, const char* kind, double expected, auto make,
                         auto digest) {
        const std::string program = "W17." + operation;
        all.push_back({program + "." + kind, program, expected, 1e-9, make, digest});
    };
    struct Kind {
        const char* name;
        TextKeys keys;
        double sums, groups, pairs;  // expected
    };
    for (const Kind& k :
         {Kind{"few", {10'000'000, 300, 3, 10}, 2565642730069187, 5881449162100295203.0, 2565684693084038},
          Kind{"mixed", {10'000'000, 300, 2, 30}, 5477325963453379, -902691071679091165.0, 5477367926468230},
          Kind{"many", {5'000'000, 1'000'000, 4, 13}, 1700748249713550, 5960912834830413, 0},
          Kind{"long", {2'000'000, 100'000, 20, 81}, 3946763298222048, 43368534599048812.0, 0}}) {
        const TextKeys keys = k.keys;
        add("sum", k.name, k.sums, [=] { return keyed_by_texts(keys); }, digest_of_text_sums);
        add("group", k.name, k.groups, [=] { return keyed_by_texts(keys); }, digest_of_text_groups);
        if (k.pairs)
            add("pairs", k.name, k.pairs, [=] { return keyed_by_texts(keys, true); }, digest_of_pairs);
    }
    add("find", "1e3", 5001708850612, [] { return texts_to_find(1000); }, digest_of_found);
    add("find", "1e6", 7556549746286, [] { return texts_to_find(1'000'000); }, digest_of_found);
    struct Order {
        const char *name, *before;
        size_t rows;
        std::uint64_t keys, least, span;
        double expected;
    };
    for (const Order& o : {Order{"short", "", 2'000'000, 0, 4, 9, 1088779744361837},
                           Order{"url", "https://www.example.org/", 1'000'000, 0, 4, 20, 1231907899782208},
                           Order{"words", "", 2'000'000, 300, 3, 10, 1014240742289434}})
        add(
            "sort", o.name, o.expected,
            [=] { return texts_to_sort(o.rows, o.before, o.keys, o.least, o.span); }, digest_of_sorted_texts);
}

static std::vector<Workload> make_workloads() {
    std::vector<Workload> all;
    const auto add = [&](const char* name, const char* program, double expected, auto make, auto digest,
                         double tolerance = 1e-9) {
        all.push_back({name, program, expected, tolerance, make, digest});
    };
    const auto f64 = [](const void* r) { return as<double>(r); };
    const auto i64 = [](const void* r) { return exact(std::uint64_t(as<std::int64_t>(r))); };

    add(
        "W1.sum", "W1.sum", 200003556.891,
        [] {
            Column<double> x(100'000'000, [](size_t i) { return u01(1, i); });
            const WeldVec args[] = {x.vec()};
            return inputs(args, std::move(x));
        },
        f64);
    add("W2.filtersum50", "W2.filtersum", 12474096035, [] { return column_below(500); }, i64);
    add("W2.filtersum1", "W2.filtersum", 4506124, [] { return column_below(10); }, i64);
    add(
        "W2.filtervec50", "W2.filtervec", 50002598008328, [] { return column_below(500); },
        digest_of_filtered);
    add("W2.filtervec1", "W2.filtervec", 1001064003202, [] { return column_below(10); }, digest_of_filtered);
    const auto number = [](const auto& e) { return std::int64_t(e); };
    add(
        "W2.filteri32", "W2.filteri32", 50002598008328, [] { return small_below<std::int32_t>(500); },
        [=](const void* r) { return digest_of_few<std::int32_t>(r, number); });
    add(
        "W2.filteri8", "W2.filteri8", 50002598007441, [] { return small_below<std::int8_t>(50); },
        [=](const void* r) { return digest_of_few<std::int8_t>(r, number); });
    struct Row {
        std::int64_t key;
        double value;
    };
    add(
        "W2.filterpairs", "W2.filterpairs", 24998892998253, [] { return pairs_below(500); },
        [](const void* r) {
            return digest_of_few<Row>(r, [](const Row& e) { return e.key + std::int64_t(e.value); });
        });
    add("W3.fresh", "W3", -2403389.69158, chain, [](const void* r) {
        const auto v = as<WeldVec>(r);
        double sum = 0;
        for (std::int64_t i = 0; i < v.len; i += 1000) sum += items<double>(v)[i];
        return sum;
    });
    add(
        "W4", "W4", 7967202.10688, options,
        [](const void* r) {
            const auto v = as<Pair>(r);
            double sum = 0;
            for (std::int64_t i = 0; i < v.a.len; i += 100)
                sum += items<double>(v.a)[i] + 3 * items<double>(v.b)[i];
            return sum;
        },
        1e-7);
    struct Keys {
        const char *uniform, *zipf;
        std::uint64_t n;
        double expected_uniform, expected_zipf;
    };
    for (const Keys& k :
         {Keys{"W5.uni.1e1", "W5.zipf.1e1", 10, 112405418311, 66611214733},
          Keys{"W5.uni.1e3", "W5.zipf.1e3", 1000, 12476950702147, 3701175408492},
          Keys{"W5.uni.1e6", "W5.zipf.1e6", 1000000, 12489427495777079.0, 1856643129882377.0},
          Keys{"W5.uni.1e7", "W5.zipf.1e7", 10000000, 124894320195358948.0, 15466510263620137.0}}) {
        const std::uint64_t n = k.n;
        add(
            k.uniform, "W5", k.expected_uniform,
            [n] { return keyed([n](size_t i) { return bnd(51, i, n); }); }, digest_of_groups);
        add(
            k.zipf, "W5", k.expected_zipf, [n] { return keyed([n](size_t i) { return zipf(53, i, n); }); },
            digest_of_groups);
    }
    add(
        "W5.sparse.1e6", "W5", -4284681999526309757.0,
        [] { return keyed([](size_t i) { return bnd(51, i, 1000000) * 0x9E3779B97F4A7C15u; }); },
        digest_of_groups);
    add("W6.q1.sf1", "W6.q1", 414740985392, [] { return q1(6'000'000); }, digest_of_q1);
    add("W6.q1.sf5", "W6.q1", 2.0738287872e12, [] { return q1(30'000'000); }, digest_of_q1);
    add("W6.q6.sf1", "W6.q6", 113819404.754, [] { return q6(6'000'000); }, f64);
    add("W6.q6.sf5", "W6.q6", 568804716.878, [] { return q6(30'000'000); }, f64);
    add("W7.join", "W7", 37500901488328, join, digest_of_found);
    add(
        "W8.sort", "W8", 33337822.3042,
        [] {
            Column<double> x(10'000'000, [](size_t i) { return u01(8, i); });
            const WeldVec args[] = {x.vec()};
            return inputs(args, std::move(x));
        },
        [](const void* r) {
            const auto v = as<WeldVec>(r);
            double sum = 0;
            for (std::int64_t j = 0; 1000 * j < v.len; ++j) sum += items<double>(v)[1000 * j] * double(j + 1);
            return sum;
        });
    add("W9.mv4096", "W9.mv", 2424.484338, matrix_vector,
        [](const void* r) { return weighted(as<WeldVec>(r), 7); });
    add("W10.256", "W10", 2197623837510, [] { return histogram(256); }, digest_of_histogram);
    add("W10.1e6", "W10", -3555936183145732470.0, [] { return histogram(1'000'000); }, digest_of_histogram);
    add("W11.logreg", "W11", -4.87596314273, logistic,
        [](const void* r) { return weighted(as<WeldVec>(r), 0); });
    add("W12.kmeans", "W12", 9342.98129523, kmeans, [](const void* r) {
        const auto v = as<Pair>(r);
        double sum = 0;
        for (std::int64_t i = 0; i < v.b.len; ++i)
            sum += items<double>(v.b)[i] * double((i / 16 + 1) * (i % 16 + 1));
        return sum;
    });
    add("W14.contains", "W14.contains", 87461, strings, i64);
    add("W14.regex", "W14.regex", 17418, strings, i64);
    add("W15.mapreduce", "W15.mapreduce", 403347271.581, short_vectors,
        [](const void* r) { return as<double>(static_cast<const char*>(r) + 16); });
    add("W15.ragged", "W15.mapreduce", 550503631.266, ragged_vectors,
        [](const void* r) { return as<double>(static_cast<const char*>(r) + 16); });
    add("W16.newton", "W16.newton", 66669303.727, radicands, f64);
    add("W16.mandelbrot", "W16.mandelbrot", 62114098, plane, i64);
    add("W16.skewed", "W16.skewed", -755073984191125022, countdowns, i64);
    add_texts(all);
    add_matrices(all);
    for (Workload& w : natural()) all.push_back(std::move(w));
    for (Workload& w : scripts()) all.push_back(std::move(w));
    return all;
}

const std::vector<Workload>& workloads() {
    static const std::vector<Workload> all = make_workloads();
    return all;
}

}  // namespace weld::bench
