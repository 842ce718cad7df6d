// Numbers as text: the bytes of the C++ library's streams and of std::to_string.
#include "runtime/io/plain_text.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

template <class T>
static void check(std::ostringstream& stream, T value) {
    weld::NumberText text;
    stream.str("");
    if constexpr (sizeof(T) == 1) stream << int(value);
    else stream << value;
    if (weld::streamed(value, text) != stream.view()) FAIL(stream.str());
    if (weld::in_full(value, text) != std::to_string(value)) FAIL(std::to_string(value));
}

TEST_CASE("numbers have the text that streams and std::to_string give them") {
    std::mt19937_64 random(11);
    std::ostringstream stream;
    for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t bits = random();
        check(stream, std::bit_cast<double>(bits));                       // any exponent, NaN of both signs
        check(stream, std::bit_cast<double>(bits & 0x800fffffffffffff));  // denormals
        check(stream, std::bit_cast<float>(std::uint32_t(bits)));
        check(stream, std::bit_cast<float>(std::uint32_t(bits & 0x807fffff)));
        check(stream, double(std::int64_t(bits % 20'000'001) - 10'000'000));                    // around 1e6
        check(stream, (double(bits % 4'000'000) + 0.5) * std::pow(10.0, int(bits >> 60) - 8));  // ties
        check(stream, double(bits % 2'000'000'000) / 1024);                                     // exact ties
        check(stream, float(bits % 20'000'000) / 8);
        check(stream, std::int64_t(bits));
        check(stream, std::uint64_t(bits));
        check(stream, std::int32_t(bits));
        check(stream, std::uint8_t(bits));
        check(stream, std::int8_t(bits));
    }
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const double x : {0.0, -0.0, 1e6, 999999.4, 999999.5, 999999.6, -999999.5, 0.0001, 0.00001,
                           0.000099999951, 0.00009999995, inf, -inf, 1.7976931348623157e308, 5e-324}) {
        check(stream, x);
        check(stream, float(x));
    }
}
