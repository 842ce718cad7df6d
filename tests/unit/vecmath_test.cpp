// Vector math against the C library's long doubles: accuracy, special values, and that lanes do not see each
// other, for every instruction set of the machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/vecmath/vecmath.h"

namespace {

using Wide = long double;

struct Function {
    const char* op;
    std::function<Wide(Wide, Wide)> exact;
    double max_ulp;
    double largest =
        std::numeric_limits<double>::infinity();  // no result may exceed it, not even by rounding
};

const std::vector<Function>& functions() {
    static const std::vector<Function> all = {
        {"exp", [](Wide x, Wide) { return std::exp(x); }, 1},
        {"log", [](Wide x, Wide) { return std::log(x); }, 1.1},
        {"pow", [](Wide x, Wide y) { return std::pow(x, y); }, 1.3},
        {"erf", [](Wide x, Wide) { return std::erf(x); }, 3, 1},
        {"sin", [](Wide x, Wide) { return std::sin(x); }, 2.5, 1},
        {"cos", [](Wide x, Wide) { return std::cos(x); }, 2.5, 1},
        {"tan", [](Wide x, Wide) { return std::tan(x); }, 3},
        {"asin", [](Wide x, Wide) { return std::asin(x); }, 1.2},
        {"acos", [](Wide x, Wide) { return std::acos(x); }, 1.1},
        {"atan", [](Wide x, Wide) { return std::atan(x); }, 1.6},
        {"sinh", [](Wide x, Wide) { return std::sinh(x); }, 1.8},
        {"cosh", [](Wide x, Wide) { return std::cosh(x); }, 1.6},
        {"tanh", [](Wide x, Wide) { return std::tanh(x); }, 2.8, 1},
    };
    return all;
}

/// Distance from the exact result in units of the last place of a T of its size; huge if the kinds differ.
template <class T>
double ulps(T got, Wide exact) {
    using L = std::numeric_limits<T>;
    const T nearest = static_cast<T>(exact);
    if (std::isnan(got) || std::isnan(nearest)) return std::isnan(got) && std::isnan(nearest) ? 0 : 1e30;
    if (got == nearest && (got == 0 || std::isinf(got)))
        return std::signbit(got) == std::signbit(nearest) ? 0 : 1e30;
    // Infinity stands for the number that would come after the largest.
    const Wide beyond = std::ldexp(Wide(1), L::max_exponent);
    const Wide value = std::isinf(got) ? std::copysign(beyond, Wide(got)) : Wide(got);
    if (std::isinf(exact)) return std::isinf(got) ? 1e30 : 1e20;
    const int exponent = std::max(exact == 0 ? L::min_exponent : std::ilogb(exact) + 1, L::min_exponent);
    return static_cast<double>(std::abs(std::ldexp(value - exact, L::digits - exponent)));
}

template <class T>
std::vector<T> on_lanes(std::string_view op, std::string_view isa, const std::vector<T>& x,
                        const std::vector<T>& y) {
    std::vector<T> out(x.size());
    REQUIRE(weld::vecmath_array(op, isa, x.data(), y.data(), out.data(), x.size()));
    return out;
}

template <class T>
void check_accuracy(const Function& f, const std::vector<T>& x, const std::vector<T>& y) {
    std::vector<Wide> exact(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) exact[i] = f.exact(x[i], y[i]);
    for (std::string_view isa : weld::vecmath_isas()) {
        const std::vector<T> got = on_lanes(f.op, isa, x, y);
        double worst = -1;
        std::size_t at = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double error = ulps(got[i], exact[i]);
            if (error > worst) worst = error, at = i;
        }
        CAPTURE(std::string(f.op));
        CAPTURE(std::string(isa));
        CAPTURE(x[at]);
        CAPTURE(y[at]);
        CAPTURE(got[at]);
        CHECK(worst <= f.max_ulp);
        CHECK(std::none_of(got.begin(), got.end(), [&](T r) { return std::abs(r) > f.largest; }));
    }
}

class Random {
  public:
    double uniform(double lo, double hi) { return lo + (hi - lo) * double(bits_() >> 11) * 0x1p-53; }
    /// Of any size between 2^lo and 2^hi, of either sign.
    double sized(double lo, double hi) {
        const double x = std::exp2(uniform(lo, hi));
        return bits_() & 1 ? x : -x;
    }
    template <class T>
    T any() {
        if constexpr (sizeof(T) == 8) return std::bit_cast<T>(bits_());
        else return std::bit_cast<T>(static_cast<std::uint32_t>(bits_()));
    }

  private:
    std::mt19937_64 bits_{20};
};

/// Arguments where something happens: zeros, folds, overflow, underflow, huge angles, near multiples of pi.
template <class T>
std::vector<T> arguments() {
    constexpr int kEach = 3000;
    using L = std::numeric_limits<T>;
    Random random;
    std::vector<T> x;
    const double ends[][2] = {{-1, 1},     {-2, 2},      {0.5, 2},     {0.99, 1.01}, {1.2, 1.3},
                              {-20, 20},   {-100, 100},  {-105, -86},  {86, 91},     {-746, -707},
                              {-712, 712}, {0.45, 0.55}, {-0.6, -0.4}, {-1e5, 1e5},  {8e6, 1.7e7}};
    for (int i = 0; i < kEach; ++i) {
        for (const auto& [lo, hi] : ends) x.push_back(T(random.uniform(lo, hi)));
        x.push_back(T(random.sized(L::min_exponent - L::digits, L::max_exponent)));  // subnormals too
        x.push_back(T(random.sized(-60, 60)));
        x.push_back(T(random.sized(-2, 4)));
        x.push_back(random.any<T>());
        x.push_back(T(1 - std::exp2(random.uniform(-54, 0))));
        x.push_back(T(-1 + std::exp2(random.uniform(-54, 0))));
        const double turns = std::floor(std::exp2(random.uniform(0, 42)));
        x.push_back(T(turns * 1.5707963267948966));
        x.push_back(T(std::floor(random.uniform(0, 40000)) * 1.5707963267948966));
    }
    for (double e :
         {1e300, 1e22, 1e38, 0x1p1023, 1e10, 6381956970095103.0 * 0x1p797, 3.4e38, 0x1p40, 0x1p23, 0x1p27})
        x.push_back(T(e));
    return x;
}

/// Bases and exponents; many with results near overflow and underflow, where errors of the logarithm are
/// largest.
template <class T>
void power_arguments(std::vector<T>& x, std::vector<T>& y) {
    using L = std::numeric_limits<T>;
    Random random;
    const auto add = [&](double base, double exponent) { x.push_back(T(base)), y.push_back(T(exponent)); };
    const auto add_scaled = [&](double base, double share) {
        const double power = share < 0 ? -L::min_exponent + L::digits + 1 : L::max_exponent;
        add(base, share * power / std::log2(base));
    };
    for (int i = 0; i < 4000; ++i) {
        add(random.uniform(0, 100), 1.7);
        add(random.uniform(0, 2), random.uniform(-10, 10));
        add_scaled(std::exp2(random.uniform(-1, 1)), random.uniform(-1.02, 1.02));
        add_scaled(std::exp2(random.uniform(-1, 1)), random.uniform(0.98, 1.01));
        add_scaled(std::exp2(random.uniform(-100, 100)), random.uniform(-1.02, 1.02));
        add_scaled(1 + random.sized(-50, -2), random.uniform(-1.02, 1.02));
        add(random.any<T>(), random.any<T>());
        add(std::abs(random.any<T>()), random.uniform(-3, 3));
        add(-std::floor(random.uniform(0, 100)), std::floor(random.uniform(-20, 20)));
        add(-random.uniform(0.5, 2), std::floor(random.uniform(-300, 300)));
        add(random.any<T>(), std::floor(random.uniform(-10, 10)));
        add(-random.uniform(0.9, 1.1), std::floor(random.sized(20, 60)));
    }
}

template <class T>
std::vector<T> specials() {
    using L = std::numeric_limits<T>;
    std::vector<T> x = {0, 1, L::infinity(), L::quiet_NaN(), L::max(), L::min(), L::denorm_min()};
    for (double e : {0.5, 2.0, 3.0, 8.0, 1.0 / 3, 0.75, 1.25, 1.5, 1e-3, 1e3, 20.0, 710.0, 746.0, 0x1p52,
                     0x1p53, 0x1p62})
        x.push_back(T(e));
    for (T e : {T(1), T(0.5), T(1.25), L::min()})
        for (T towards : {T(0), T(10)}) x.push_back(std::nextafter(e, towards));
    x.push_back(T(0x1p23) - T(0.5));  // the largest with a fraction, as a float
    x.push_back(T(0x1p52 - 0.5));     // and as a double
    x.push_back(T(0x1p53) - T(1));    // the largest odd numbers
    x.push_back(T(0x1p24) - T(1));
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i) x.push_back(-x[i]);
    return x;
}

}  // namespace

TEST_CASE_TEMPLATE("vecmath: within a few ulp of the exact results", T, double, float) {
    const std::vector<T> x = arguments<T>(), none(x.size(), T(0));
    for (const Function& f : functions())
        if (std::string_view(f.op) != "pow") check_accuracy(f, x, none);
}

TEST_CASE_TEMPLATE("vecmath: pow within a few ulp", T, double, float) {
    std::vector<T> x, y;
    power_arguments(x, y);
    check_accuracy(functions()[2], x, y);
}

TEST_CASE_TEMPLATE("vecmath: every exponent of two, both sides of zero", T, double, float) {
    using L = std::numeric_limits<T>;
    std::vector<T> x;
    for (int e = L::min_exponent - L::digits; e < L::max_exponent; ++e)
        for (double m : {1.0, 1.2345678901234567, 1.4142135623730951, 1.5, 1.9999999999999998})
            for (double sign : {1.0, -1.0}) x.push_back(T(std::ldexp(sign * m, e)));
    const std::vector<T> y(x.size(), T(0.3));
    for (const Function& f : functions()) check_accuracy(f, x, y);
}

TEST_CASE_TEMPLATE("vecmath: special values are those of C", T, double, float) {
    const std::vector<T> some = specials<T>();
    std::vector<T> x, y;
    for (T a : some)
        for (T b : some) x.push_back(a), y.push_back(b);
    for (const Function& f : functions()) check_accuracy(f, x, y);
}

TEST_CASE("vecmath: values that are known") {
    const double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();
    for (std::string_view isa : weld::vecmath_isas()) {
        CAPTURE(std::string(isa));
        const auto f = [&](std::string_view op, double x, double y = 0) {
            return weld::vecmath_f64(op, x, y, isa);
        };
        const auto same = [](double a, double b) {
            return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
        };
        CHECK(same(f("exp", 0), 1));
        CHECK(same(f("exp", 1), 2.718281828459045));
        CHECK(same(f("exp", -inf), 0));
        CHECK(same(f("exp", 1000), inf));
        CHECK(same(f("exp", -745.2), 0));
        CHECK(f("exp", -745.1) == std::numeric_limits<double>::denorm_min());
        CHECK(same(f("log", 0), -inf));
        CHECK(same(f("log", -0.0), -inf));
        CHECK(same(f("log", 1), 0));
        CHECK(same(f("log", -1), nan));
        CHECK(same(f("log", inf), inf));
        CHECK(same(f("pow", nan, 0), 1));
        CHECK(same(f("pow", 1, nan), 1));
        CHECK(same(f("pow", 2, nan), nan));
        CHECK(same(f("pow", -8, 1.0 / 3), nan));
        CHECK(std::signbit(f("pow", -8, 1.0 / 3)));  // as of the C library
        CHECK(same(f("pow", -8, 3), -512));
        CHECK(same(f("pow", -1, inf), 1));
        CHECK(same(f("pow", -1, -inf), 1));
        CHECK(same(f("pow", -0.0, -3), -inf));
        CHECK(same(f("pow", -0.0, 3), -0.0));
        CHECK(same(f("pow", -0.0, 2.5), 0));
        CHECK(same(f("pow", -inf, 3), -inf));
        CHECK(same(f("pow", -inf, -3), -0.0));
        CHECK(same(f("pow", -inf, 0.5), inf));
        CHECK(same(f("pow", 0.5, inf), 0));
        CHECK(same(f("pow", 0.5, -inf), inf));
        CHECK(same(f("pow", 0, -1e-300), inf));
        CHECK(same(f("pow", 2, -1074), std::numeric_limits<double>::denorm_min()));
        for (int base = 1; base < 100; ++base)
            for (int power = 0; power < 8; ++power) CHECK(f("pow", base, power) == std::pow(base, power));
        CHECK(same(f("erf", -0.0), -0.0));
        CHECK(same(f("erf", inf), 1));
        CHECK(same(f("erf", -6), -1));
        CHECK(same(f("sin", -0.0), -0.0));
        CHECK(same(f("sin", inf), nan));
        CHECK(same(f("cos", -inf), nan));
        CHECK(same(f("tan", inf), nan));
        CHECK(same(f("cos", 0), 1));
        CHECK(weld::vecmath_f32("cos", 0, 0, isa) == 1);
        // The double nearest to a multiple of pi / 2, relative to its size; the C library's cos is 8 ulp off.
        CHECK(same(f("cos", 6381956970095103.0 * 0x1p797), -4.6871659242546276e-19));
        CHECK(same(f("tan", -0.0), -0.0));
        CHECK(same(f("asin", 2), nan));
        CHECK(same(f("acos", 1), 0));
        CHECK(same(f("acos", -1.5), nan));
        CHECK(same(f("atan", -inf), -1.5707963267948966));
        CHECK(same(f("sinh", -0.0), -0.0));
        CHECK(same(f("sinh", -1000), -inf));
        CHECK(same(f("cosh", -1000), inf));
        CHECK(same(f("tanh", 0), 0));
        CHECK(same(f("tanh", -0.0), -0.0));
        CHECK(same(f("tanh", -1000), -1));
        CHECK(same(f("sin", nan), nan));
    }
}

// Each value stands once alone, then in every lane of registers whose other lanes hold what takes the rare
// paths.
TEST_CASE_TEMPLATE("vecmath: a lane does not see the others", T, double, float) {
    using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    Random random;
    std::vector<T> values = specials<T>();
    for (int i = 0; i < 200; ++i) values.push_back(T(random.sized(-20, 20)));
    const std::vector<T> others = {T(1e30),  std::numeric_limits<T>::quiet_NaN(), T(-2.5), T(0),
                                   T(-1e35), std::numeric_limits<T>::infinity(),  T(1e-40)};
    constexpr std::size_t kLanes = 16;
    for (const Function& f : functions()) {
        for (std::string_view isa : weld::vecmath_isas()) {
            std::size_t different = 0;
            for (std::size_t v = 0; v < values.size(); ++v) {
                const T second = values[values.size() - 1 - v];
                const T alone = on_lanes<T>(f.op, isa, {values[v]}, {second})[0];
                for (std::size_t lane = 0; lane < kLanes; ++lane) {
                    std::vector<T> x(kLanes), y(kLanes, T(-3));
                    for (std::size_t i = 0; i < kLanes; ++i) x[i] = others[(i + v) % others.size()];
                    x[lane] = values[v], y[lane] = second;
                    const T among = on_lanes(f.op, isa, x, y)[lane];
                    const bool same = std::bit_cast<Word>(alone) == std::bit_cast<Word>(among);
                    different += !same && !(std::isnan(alone) && std::isnan(among));
                }
            }
            CAPTURE(std::string(f.op));
            CAPTURE(std::string(isa));
            CHECK(different == 0);
        }
    }
}

// Of every size and sign, near whole numbers and folds, and any bits there are.
TEST_CASE_TEMPLATE("vecmath: registers of every width give the same bits where operations are fused", T,
                   double, float) {
    using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    std::vector<std::string_view> fused;
    for (std::string_view isa : weld::vecmath_isas())
        if (isa != "sse2") fused.push_back(isa);
    if (fused.size() < 2) return;
    Random random;
    std::mt19937_64 bits(7);
    std::vector<T> x = specials<T>(), y(x.rbegin(), x.rend());
    for (int i = 0; i < 30'000; ++i) {
        x.push_back(T(random.sized(-60, 60)));
        y.push_back(T(random.sized(-8, 8)));
        x.push_back(T(random.sized(-4, 8)));
        y.push_back(T(int(bits() % 64) - 32));
        x.push_back(std::bit_cast<T>(Word(bits())));
        y.push_back(std::bit_cast<T>(Word(bits())));
    }
    for (const Function& f : functions()) {
        CAPTURE(std::string(f.op));
        const std::vector<T> wanted = on_lanes(f.op, fused[0], x, y);
        for (std::string_view isa : std::span(fused).subspan(1)) {
            const std::vector<T> found = on_lanes(f.op, isa, x, y);
            std::size_t different = 0;
            for (std::size_t i = 0; i < x.size(); ++i)
                different += std::bit_cast<Word>(wanted[i]) != std::bit_cast<Word>(found[i]) &&
                             !(std::isnan(wanted[i]) && std::isnan(found[i]));
            CHECK(different == 0);
        }
    }
}

/// A number with the exponent given, and any sign and mantissa: the same on every machine.
template <class T>
static T of_exponent(int exponent, std::uint64_t bits) {
    if constexpr (sizeof(T) == 8)
        return std::bit_cast<double>((bits & 0x800FFFFFFFFFFFFF) | std::uint64_t(exponent + 1023) << 52);
    else return std::bit_cast<float>(std::uint32_t(bits & 0x807FFFFF) | std::uint32_t(exponent + 127) << 23);
}

/// Sums up the bits of what a routine makes of arguments of every size, below where angles go to the C
/// library.
template <class T>
static std::uint32_t checksum(std::string_view op, std::string_view isa) {
    using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    std::mt19937_64 bits(11);
    std::vector<T> x, y;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t first = bits(), second = bits();
        x.push_back(of_exponent<T>(int(bits() % 87) - 60, first));
        y.push_back(of_exponent<T>(int(bits() % 16) - 8, second));
        x.push_back(of_exponent<T>(int(bits() % 12) - 4, first));
        y.push_back(T(int(bits() % 64) - 32));
    }
    std::uint32_t sum = 2'166'136'261;
    for (T r : on_lanes(op, isa, x, y)) {
        const auto word = std::uint64_t(std::isnan(r) ? Word(1) : std::bit_cast<Word>(r));
        for (int byte = 0; byte < 8; ++byte) sum = (sum ^ std::uint32_t(word >> 8 * byte & 255)) * 16'777'619;
    }
    return sum;
}

TEST_CASE("vecmath: the bits are the same on every machine that fuses operations") {
    struct {
        const char* op;
        std::uint32_t f64, f32;
    } const all[] = {
        {"exp", 0x588319CA, 0xC0A45C50},  {"log", 0x3D9386A3, 0xE9D2991B},  {"pow", 0x1F349E2D, 0x9BF4223A},
        {"erf", 0xD2368506, 0x6BA3BECE},  {"sin", 0x65036B5E, 0xEF911694},  {"cos", 0x70335A30, 0x9764C738},
        {"tan", 0x30CA4A6B, 0x8102FC4B},  {"asin", 0x6142B0C7, 0xD34AF91F}, {"acos", 0xC6F7DD30, 0x95767338},
        {"atan", 0x8E006491, 0xAF9B0CB0}, {"sinh", 0x1B62018A, 0x1921AF5F}, {"cosh", 0x8FCCF864, 0x9BED7EC0},
        {"tanh", 0xB7869C4C, 0x3DD584D1},
    };
    CHECK(std::size(all) == functions().size());
    for (std::string_view isa : weld::vecmath_isas())
        for (const auto& f : all) {
            if (isa == "sse2") continue;
            CAPTURE(std::string(f.op));
            CAPTURE(std::string(isa));
            CHECK(checksum<double>(f.op, isa) == f.f64);
            CHECK(checksum<float>(f.op, isa) == f.f32);
        }
}

TEST_CASE("vecmath: routines are found by name") {
    for (const Function& f : functions())
        for (std::string type : {"f64", "f32"})
            for (std::string isa : weld::vecmath_isas())
                CHECK(weld::find_vecmath("weld_vm_" + std::string(f.op) + "_" + type + "_" + isa) != nullptr);
    for (std::string_view name : {"", "weld_vm_", "weld_vm_exp", "weld_vm_exp_f64_", "weld_vm_exp_f16_sse2",
                                  "exp", "weld_vm_exp_f64_sse2x", "weld_vm__f64_sse2"})
        CHECK(weld::find_vecmath(name) == nullptr);
    CHECK(weld::vecmath_isas().back() == std::string_view(weld::vecmath_isa()));
    double x = 1, out = 7;
    CHECK_FALSE(weld::vecmath_array("exp", "none", &x, nullptr, &out, 1));
    CHECK_FALSE(weld::vecmath_array("gamma", weld::vecmath_isa(), &x, nullptr, &out, 1));
    CHECK(out == 7);
    CHECK(std::isnan(weld::vecmath_f64("gamma", 1)));
    CHECK(weld::vecmath_f32("exp", 0) == 1.0f);
}
