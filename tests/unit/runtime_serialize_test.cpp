// Values as bytes and back; bytes that are no value.
#include <cmath>
#include <random>

#include "runtime/hash_table.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

std::string bytes_of(const WeldType* type, const void* value) {
    std::string out;
    const Ran ran = run(1, [&](WeldTask* t) {
        WeldVec v;
        if (weld_rt_serialize(t, type, value, &v, 0)) return 1;
        out = text(v);
        return 0;
    });
    CHECK(ran.good);
    return out;
}

/// The bytes of the value that `bytes` are read as, or the message of the failure.
std::string again(const WeldType* type, const std::string& bytes) {
    std::string out;
    const Ran ran = run(1, [&](WeldTask* t) {
        std::vector<char> value(std::size_t(type->size) + 64);
        WeldVec in = view(bytes), v;
        if (weld_rt_deserialize(t, type, &in, value.data(), 5)) return 1;
        weld_rt_collect(t, value.data(), type);
        if (weld_rt_serialize(t, type, value.data(), &v, 0)) return 1;
        out = text(v);
        return 0;
    });
    if (ran.good) return out;
    CHECK(ran.failure.code == kWeldDeserializationError);
    CHECK(ran.failure.loc == 5);
    CHECK(ran.account->used() == 0);
    return ran.failure.message;
}

std::string little(std::int64_t x, int bytes = 8) {
    return {reinterpret_cast<const char*>(&x), std::size_t(bytes)};
}

}  // namespace

TEST_CASE("scalars, structs and vectors are packed") {
    Types types;
    struct {
        std::int8_t a;
        std::int64_t b;
        bool c;
        float d;
    } value{1, 2, true, 1.5f};
    const WeldType* type =
        types.tuple({types.scalar(kWeldI8), types.i64(), types.scalar(kWeldBool), types.scalar(kWeldF32)});
    const std::string bytes = bytes_of(type, &value);
    CHECK(bytes == std::string("\1", 1) + little(2) + std::string("\1", 1) + std::string("\0\0\xc0\x3f", 4));
    CHECK(again(type, bytes) == bytes);
    const std::vector<std::int32_t> numbers{1, -1};
    const WeldVec v = view(numbers);
    CHECK(bytes_of(types.vec(types.i32()), &v) == little(2) + little(1, 4) + little(-1, 4));
    const WeldVec nothing{nullptr, 0};
    CHECK(bytes_of(types.vec(types.vec(types.i32())), &nothing) == little(0));
    CHECK(again(types.tuple({}), "") == "");
}

TEST_CASE("NaN has one form, and bools are 0 or 1") {
    Types types;
    const double odd = -std::nan("77");
    CHECK(bytes_of(types.f64(), &odd) == little(0x7ff8000000000000));
    const float odd_float = -std::nanf("77");
    CHECK(bytes_of(types.scalar(kWeldF32), &odd_float) == little(0x7fc00000, 4));
    const std::vector<double> all{odd, 1};
    const WeldVec v = view(all);
    CHECK(bytes_of(types.vec(types.f64()), &v).substr(8, 8) == little(0x7ff8000000000000));
    const std::string flags("\x00\x05", 2);
    const WeldVec f = view(flags);
    CHECK(bytes_of(types.vec(types.scalar(kWeldBool)), &f).substr(8) == std::string("\0\1", 2));
}

TEST_CASE("dictionaries are written in the order of their keys") {
    Types types;
    const WeldType* type = types.dict(types.str(), types.vec(types.i64()));
    const std::vector<std::string> names{"pear", "apple", "", "fig", "applesauce"};
    const std::vector<std::int64_t> numbers{1, 2, 3, 4, 5};
    std::string bytes;
    run(1, [&](WeldTask* t) {
        WeldDict* d = new_table(task_of(t), types.str(), 16, 8, 0);
        for (std::size_t i = 0; i < names.size(); ++i) {
            const WeldVec key = view(names[i]), value{view(numbers).data, std::int64_t(i)};
            const std::int64_t n =
                add_entry<KeyKind::Bytes>(task_of(t), d, sought<KeyKind::Bytes>(d, &key), 0);
            std::memcpy(d->entry(n) + d->value_at, &value, sizeof value);
        }
        WeldVec v;
        MUST(weld_rt_serialize(t, type, &d, &v, 0) == 0);
        bytes = text(v);
        return 0;
    });
    CHECK(bytes == little(5) + little(0) + little(2) + little(1) + little(2) + little(5) + "apple" +
                       little(1) + little(1) + little(10) + "applesauce" + little(4) + little(1) + little(2) +
                       little(3) + little(4) + little(3) + "fig" + little(3) + little(1) + little(2) +
                       little(3) + little(4) + "pear" + little(0));
    CHECK(again(type, bytes) == bytes);
    const WeldDict* none = nullptr;
    CHECK(bytes_of(type, &none) == little(0));
}

TEST_CASE("bytes that are no value are refused") {
    Types types;
    const WeldType* numbers = types.vec(types.i64());
    CHECK(again(types.i64(), "") == "deserialize: the bytes end early: 8 are needed, 0 are left");
    CHECK(again(types.i32(), little(1)) == "deserialize: 4 bytes are left over after the value");
    CHECK(again(types.scalar(kWeldBool), "\x02") == "deserialize: a bool is 2, not 0 or 1");
    CHECK(again(numbers, little(-1)) == "deserialize: a length of -1 does not fit the 0 bytes that are left");
    CHECK(again(numbers, little(0x4000000000000000)) ==
          "deserialize: a length of 4611686018427387904 does not fit the 0 bytes that are left");
    CHECK(again(numbers, little(3) + little(1) + little(2)) ==
          "deserialize: a length of 3 does not fit the 16 bytes that are left");
    CHECK(again(types.vec(types.tuple({})), little(1000)) == little(1000));
    CHECK(again(types.vec(types.tuple({})), little(0x4000000000000000)).substr(0, 12) == "deserialize:");
    CHECK(again(types.vec(types.vec(types.tuple({}))), little(2) + little(1) + little(-5)).substr(0, 12) ==
          "deserialize:");
    CHECK(again(types.vec(types.scalar(kWeldBool)), little(2) + std::string("\1\7", 2)) ==
          "deserialize: a bool is 7, not 0 or 1");
    const WeldType* dict = types.dict(types.i64(), types.i64());
    CHECK(again(dict, little(2) + little(1) + little(1) + little(1) + little(2)) ==
          "deserialize: a dictionary holds a key twice");
    CHECK(again(types.dict(types.tuple({}), types.tuple({})), little(2)) ==
          "deserialize: a dictionary holds a key twice");
    CHECK(again(dict, little(2) + little(9) + little(1) + little(1) + little(2)) ==
          little(2) + little(1) + little(2) + little(9) + little(1));
}

TEST_CASE("damaged bytes never do harm") {
    Types types;
    const WeldType* type = types.tuple(
        {types.dict(types.str(), types.vec(types.tuple({types.scalar(kWeldBool), types.f64(), types.str()}))),
         types.vec(types.vec(types.i32())),
         types.dict(types.i32(), types.dict(types.scalar(kWeldU8), types.str()))});
    std::string bytes = little(2) + little(1) + "a" + little(1) + "\1" + little(7) + little(2) + "xy" +
                        little(3) + "abc" + little(0) + little(2) + little(1) + little(5, 4) + little(0) +
                        little(1) + little(7, 4) + little(1) + "\3" + little(2) + "zz";
    REQUIRE(again(type, bytes) == bytes);
    std::mt19937 random(4);
    int good = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string damaged = bytes;
        for (unsigned k = 0; k <= random() % 3; ++k) {
            const std::size_t at = random() % damaged.size();
            if (random() % 4) damaged[at] = char(random() % 3 ? random() % 5 : random());
            else damaged.resize(at + 1);
        }
        const std::string result = again(type, damaged);
        good += result.compare(0, 12, "deserialize:") != 0;
    }
    CHECK(good > 50);
}
