// Short words for tests of weld.h: handles that free themselves, and vectors.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weld/weld.h>

#include <doctest/doctest.h>

namespace test {

struct Free {
    void operator()(weld_conf_t h) const { weld_conf_free(h); }
    void operator()(weld_context_t h) const { weld_context_free(h); }
    void operator()(weld_error_t h) const { weld_error_free(h); }
    void operator()(weld_module_t h) const { weld_module_free(h); }
    void operator()(weld_value_t h) const { weld_value_free(h); }
    void operator()(char* text) const { weld_string_free(text); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;
using Conf = Owned<WeldConf>;
using Context = Owned<WeldContext>;
using Error = Owned<WeldError>;
using Module = Owned<WeldModule>;
using Value = Owned<WeldValue>;

template <class T>
struct Vec {
    T* data;
    std::int64_t len;
};
template <class T>
Vec<T> vec(std::vector<T>& v) {
    return {v.data(), std::int64_t(v.size())};
}

inline Conf conf(std::initializer_list<std::pair<const char*, const char*>> settings = {}) {
    Conf c(weld_conf_new());
    for (const auto& [key, value] : settings) weld_conf_set(c.get(), key, value);
    return c;
}
inline Context context(std::initializer_list<std::pair<const char*, const char*>> settings = {}) {
    return Context(weld_context_new(conf(settings).get()));
}
/// Waits until this process has computed for so long, in seconds of processor time: what was begun before
/// runs then, however busy the machine is.
inline void wait_for_work(double seconds) {
    const std::clock_t begin = std::clock();
    while (double(std::clock() - begin) / CLOCKS_PER_SEC < seconds)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

inline Error error() { return Error(weld_error_new()); }

/// A program that compiles.
inline Module compile(const std::string& code,
                      std::initializer_list<std::pair<const char*, const char*>> settings = {}) {
    const Error e = error();
    Module m(weld_module_compile(code.c_str(), conf(settings).get(), e.get()));
    REQUIRE_MESSAGE(m, code << "\n" << weld_error_message(e.get()));
    CHECK(weld_error_code(e.get()) == WELD_SUCCESS);
    return m;
}

/// A run that goes well. `args` is the struct of arguments.
template <class Args>
Value run(const Module& m, const Context& c, const Args& args) {
    const Error e = error();
    const Value input(weld_value_new(&args));
    Value output(weld_module_run(m.get(), c.get(), input.get(), e.get()));
    REQUIRE_MESSAGE(output, weld_error_message(e.get()));
    CHECK(weld_error_code(e.get()) == WELD_SUCCESS);
    return output;
}
struct None {};  ///< arguments of programs without parameters
inline Value run(const Module& m, const Context& c) { return run(m, c, None{}); }

/// The code of a run that fails; `message`, if given, receives what it says.
template <class Args>
std::uint64_t failure(const Module& m, const Context& c, const Args& args, std::string* message = nullptr) {
    const Error e = error();
    const Value input(weld_value_new(&args));
    const Value output(weld_module_run(m.get(), c.get(), input.get(), e.get()));
    CHECK_FALSE(output);
    if (message) *message = weld_error_message(e.get());
    return weld_error_code(e.get());
}

template <class T>
const T& as(const Value& v) {
    return *static_cast<const T*>(weld_value_data(v.get()));
}
template <class T>
std::vector<T> elements(const Vec<T>& v) {
    return std::vector<T>(v.data, v.data + v.len);
}
inline std::string json(const Value& v) {
    const Error e = error();
    const Owned<char> text(weld_value_to_json(v.get(), e.get()));
    REQUIRE_MESSAGE(text, weld_error_message(e.get()));
    return text.get();
}

/// What a program without parameters, or one with these arguments, gives.
template <class T, class Args = None>
T result(const std::string& code, const Args& args = {}) {
    const Context c = context();
    return as<T>(run(compile(code), c, args));
}

}  // namespace test
