// The C++ interface of Weld: one header over weld.h, for C++20. Link with libweld.
//
//     #include <weld/weld.hpp>
//
//     weld::Function<double(std::span<const double>)> mean(
//         "|v: vec[f64]| result(for(v, merger[f64,+], |b, i, x| merge(b, x))) / f64(len(v))");
//     double m = mean(std::vector{1.0, 2.0, 6.0});  // 3.0
//
// Types of C++ stand for types of Weld, and are checked against the program's when it is compiled or called:
//
//     bool, integers, float, double          scalars of that size; char is i8
//     contiguous ranges of T, Vec<T>         vec[T]; a result is a Vec<T>, which is a view
//     std::string, std::string_view, "..."   vec[i8]
//     std::tuple<T...>, Struct<T...>         {T,...}
//     Dict<K, V>                             dict[K,V]
//     a struct of yours                      if you say what is in it: WELD_STRUCT(Point, x, y)
//     Any                                    anything, builders too
//
// Nothing is copied but scalars and the {pointer, length} of vectors: arguments have to live as long as
// results that may point into them. Whatever goes wrong is thrown, as weld::Error.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <weld/weld.h>

namespace weld {
inline namespace api {

// ---- errors -----------------------------------------------------------------------------------------------

/// What any function here throws. `what()` is the whole message, with the line of the program if that is at
/// fault.
class Error : public std::runtime_error {
  public:
    Error(std::uint64_t code, const std::string& message, std::string summary = {}, std::uint64_t line = 0,
          std::uint64_t column = 0)
        : std::runtime_error(message),
          code_(code),
          line_(line),
          column_(column),
          summary_(summary.empty() ? message : std::move(summary)) {}

    std::uint64_t code() const noexcept { return code_; }  ///< WELD_COMPILE_ERROR, ...
    std::uint64_t line() const noexcept { return line_; }  ///< from 1; 0: no place is known
    std::uint64_t column() const noexcept { return column_; }
    const std::string& summary() const noexcept { return summary_; }  ///< the message alone, in one line

  private:
    std::uint64_t code_, line_, column_;
    std::string summary_;
};

namespace detail {

template <auto Free>
struct Freeing {
    template <class T>
    void operator()(T* handle) const noexcept {
        Free(handle);
    }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freeing<Free>>;

using OwnedError = Owned<WeldError, weld_error_free>;
using OwnedText = Owned<char, weld_string_free>;

inline OwnedError new_error() {
    OwnedError error(weld_error_new());
    if (!error) throw std::bad_alloc();
    return error;
}

/// Throws what `error` holds, if that is anything.
inline void check(const OwnedError& error) {
    const std::uint64_t code = weld_error_code(error.get());
    if (code == WELD_SUCCESS) return;
    throw Error(code, weld_error_message(error.get()), weld_error_summary(error.get()),
                weld_error_line(error.get()), weld_error_column(error.get()));
}

[[noreturn]] inline void refuse(const std::string& what) { throw Error(WELD_INVALID_ARGUMENT, what); }

}  // namespace detail

// ---- values in memory -------------------------------------------------------------------------------------

/// A vec[T] as Weld has it: a view of `len` elements that somebody else owns.
template <class T>
class Vec {
  public:
    Vec() = default;
    Vec(const T* data, std::int64_t len) : data_(data), len_(len) {}
    Vec(std::span<const T> s) : data_(s.data()), len_(std::int64_t(s.size())) {}

    const T* data() const { return data_; }
    std::size_t size() const { return std::size_t(len_); }
    bool empty() const { return len_ == 0; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + len_; }
    const T& operator[](std::size_t i) const { return data_[i]; }

    operator std::span<const T>() const { return {data_, size()}; }
    std::span<const T> span() const { return *this; }
    std::vector<T> copy() const { return std::vector<T>(begin(), end()); }
    /// A vec[i8] or vec[u8] as text.
    std::string_view text() const
        requires(sizeof(T) == 1 && std::integral<T>)
    {
        return {reinterpret_cast<const char*>(data_), size()};
    }

  private:
    const T* data_ = nullptr;
    std::int64_t len_ = 0;
};

/// The {pointer, length} of each element: a vec[vec[T]] out of ranges of ranges, a vec[vec[i8]] out of
/// strings.
///
///     std::vector<std::string> names = {"Ada", "Grace"};
///     auto v = weld::vecs(names);  // as long as `names` lives and stays as it is
template <std::ranges::input_range R>
auto vecs(const R& ranges) {
    using T = std::remove_cv_t<std::ranges::range_value_t<std::ranges::range_value_t<R>>>;
    std::vector<Vec<T>> all;
    for (const auto& range : ranges)
        all.emplace_back(std::ranges::data(range), std::int64_t(std::ranges::size(range)));
    return all;
}

template <class T>
struct Type;  // what a type of C++ is in Weld; below

namespace detail {

template <class... Ts>
struct Layout {
    static constexpr std::size_t kCount = sizeof...(Ts);
    static constexpr std::size_t kAlign = std::max({std::size_t(1), alignof(Ts)...});
    static constexpr std::array<std::size_t, kCount + 1> kOffsets = [] {
        constexpr std::size_t sizes[] = {sizeof(Ts)..., 0}, aligns[] = {alignof(Ts)..., kAlign};
        std::array<std::size_t, kCount + 1> offsets{};
        std::size_t at = 0;
        for (std::size_t i = 0; i <= kCount; ++i) {
            at = (at + aligns[i] - 1) / aligns[i] * aligns[i];
            offsets[i] = at;
            at += sizes[i];
        }
        return offsets;
    }();
    static constexpr std::size_t kSize = kOffsets[kCount];
};

}  // namespace detail

/// A {T,...} as Weld has it, which is as C has it (and a std::tuple need not be): for elements of vectors.
/// `auto [key, count] = s;` takes it apart.
template <class... Ts>
class Struct {
    static_assert((std::is_trivially_copyable_v<Ts> && ...));
    using Layout = detail::Layout<Ts...>;

  public:
    Struct() : Struct(Ts{}...) {}
    Struct(const Ts&... fields)
        requires(sizeof...(Ts) > 0)
    {
        std::memset(bytes_, 0, sizeof bytes_);
        set(std::index_sequence_for<Ts...>{}, fields...);
    }

    template <std::size_t I>
    const auto& get() const {
        using T = std::tuple_element_t<I, std::tuple<Ts...>>;
        return *std::launder(reinterpret_cast<const T*>(bytes_ + Layout::kOffsets[I]));
    }
    template <std::size_t I>
    auto& get() {
        using T = std::tuple_element_t<I, std::tuple<Ts...>>;
        return *std::launder(reinterpret_cast<T*>(bytes_ + Layout::kOffsets[I]));
    }
    std::tuple<Ts...> tuple() const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<Ts...>(get<I>()...);
        }(std::index_sequence_for<Ts...>{});
    }
    friend bool operator==(const Struct& a, const Struct& b) { return a.tuple() == b.tuple(); }

  private:
    template <std::size_t... I>
    void set(std::index_sequence<I...>, const Ts&... fields) {
        (new (bytes_ + Layout::kOffsets[I]) Ts(fields), ...);
    }
    alignas(Layout::kAlign) std::byte bytes_[Layout::kSize ? Layout::kSize : 1];
};

/// A dict[K,V]: a view of a dictionary in a result.
///
///     for (auto [word, count] : dict) ...
template <class K, class V>
class Dict {
  public:
    Dict() = default;
    std::size_t size() const { return std::size_t(weld_dict_size(dict_)); }
    bool empty() const { return size() == 0; }
    /// Null if there is no such key.
    const V* find(const K& key) const { return static_cast<const V*>(weld_dict_find(dict_, &key)); }
    bool contains(const K& key) const { return find(key) != nullptr; }
    const V& at(const K& key) const {
        if (const V* value = find(key)) return *value;
        throw Error(WELD_KEY_NOT_FOUND_ERROR, "key not found in dictionary");
    }

    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::pair<const K&, const V&>;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = value_type;
        value_type operator*() const {
            return {*static_cast<const K*>(weld_dict_key(dict_, at_)),
                    *static_cast<const V*>(weld_dict_value(dict_, at_))};
        }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) { return {dict_, at_++}; }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

      private:
        friend class Dict;
        Iterator(weld_dict_t dict, std::int64_t at) : dict_(dict), at_(at) {}
        weld_dict_t dict_;
        std::int64_t at_;
    };
    Iterator begin() const { return {dict_, 0}; }
    Iterator end() const { return {dict_, weld_dict_size(dict_)}; }

  private:
    weld_dict_t dict_ = nullptr;
};

// ---- types ------------------------------------------------------------------------------------------------

namespace detail {

/// For the types whose values lie in memory as Weld has them.
template <class T>
struct InPlace {
    using Memory = T;
    static const T& to_memory(const T& value) { return value; }
    static const T& from_memory(const T& memory) { return memory; }
};

inline std::string joined(std::initializer_list<std::string> names) {
    std::string all;
    for (const std::string& name : names) (all += all.empty() ? "" : ",") += name;
    return all;
}

template <class R>
using element_of = std::remove_cv_t<std::ranges::range_value_t<R>>;

template <class R>
concept Contiguous = std::ranges::contiguous_range<const R> && std::ranges::sized_range<const R>;

}  // namespace detail

/// What a type of C++ is in Weld: its name there, the form that it has in memory, and the way from and to
/// that.
template <class T>
struct Type;

template <std::integral T>
struct Type<T> : detail::InPlace<T> {
    static std::string name() {
        if constexpr (std::is_same_v<T, bool>) return "bool";
        else if constexpr (std::is_same_v<T, char>) return "i8";
        else return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    }
};
template <>
struct Type<float> : detail::InPlace<float> {
    static std::string name() { return "f32"; }
};
template <>
struct Type<double> : detail::InPlace<double> {
    static std::string name() { return "f64"; }
};
template <class T>
struct Type<Vec<T>> : detail::InPlace<Vec<T>> {
    static std::string name() { return std::string("vec[") + Type<T>::name() + "]"; }
};
template <class... Ts>
struct Type<Struct<Ts...>> : detail::InPlace<Struct<Ts...>> {
    static std::string name() { return std::string("{") + detail::joined({Type<Ts>::name()...}) + "}"; }
};
template <class K, class V>
struct Type<Dict<K, V>> : detail::InPlace<Dict<K, V>> {
    static_assert(sizeof(Dict<K, V>) == sizeof(weld_dict_t));
    static std::string name() { return std::string("dict[") + Type<K>::name() + "," + Type<V>::name() + "]"; }
};

/// Vectors, arrays, spans, strings.
template <detail::Contiguous R>
struct Type<R> {
    using T = detail::element_of<R>;
    using Memory = Vec<T>;
    static std::string name() { return Type<Memory>::name(); }
    static Memory to_memory(const R& range) {
        return {std::ranges::data(range), std::int64_t(std::ranges::size(range))};
    }
    static R from_memory(const Memory& memory) {
        if constexpr (std::is_constructible_v<R, const T*, std::size_t>)
            return R(memory.data(), memory.size());
        else return R(memory.begin(), memory.end());
    }
};

/// Text in quotes goes in without the NUL at its end.
template <std::size_t N>
struct Type<char[N]> {
    using Memory = Vec<char>;
    static std::string name() { return "vec[i8]"; }
    static Memory to_memory(const char (&text)[N]) { return {text, std::int64_t(N) - 1}; }
};

template <class... Ts>
struct Type<std::tuple<Ts...>> {
    using Memory = Struct<typename Type<Ts>::Memory...>;
    static std::string name() { return std::string("{") + detail::joined({Type<Ts>::name()...}) + "}"; }
    static Memory to_memory(const std::tuple<Ts...>& fields) {
        return std::apply([](const Ts&... f) { return Memory(Type<Ts>::to_memory(f)...); }, fields);
    }
    static std::tuple<Ts...> from_memory(const Memory& memory) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<Ts...>(Type<Ts>::from_memory(memory.template get<I>())...);
        }(std::index_sequence_for<Ts...>{});
    }
};

/// Says which fields a struct of yours has, all of them and in order, so that it can stand for a {...}. At
/// namespace scope, outside of any namespace:
///
///     struct Point { std::int32_t x; double y; };
///     WELD_STRUCT(Point, x, y)
#define WELD_STRUCT(T, ...)                                                                       \
    template <>                                                                                   \
    struct weld::Type<T> : weld::detail::InPlace<T> {                                             \
        static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);           \
        static std::string name() {                                                               \
            return [](const T& value) { return of(WELD_DETAIL_FIELDS(__VA_ARGS__)); }(T{});       \
        }                                                                                         \
                                                                                                  \
      private:                                                                                    \
        template <class... Fs>                                                                    \
        static std::string of(const Fs&...) {                                                     \
            static_assert(sizeof(T) == weld::detail::Layout<Fs...>::kSize, "a field is missing"); \
            return std::string("{") + weld::detail::joined({weld::Type<Fs>::name()...}) + "}";    \
        }                                                                                         \
    };
#define WELD_DETAIL_FIELDS(...) \
    WELD_DETAIL_EXPAND(WELD_DETAIL_EXPAND(WELD_DETAIL_EXPAND(WELD_DETAIL_FIELD(__VA_ARGS__))))
#define WELD_DETAIL_EXPAND(...) \
    WELD_DETAIL_EXPAND1(WELD_DETAIL_EXPAND1(WELD_DETAIL_EXPAND1(WELD_DETAIL_EXPAND1(__VA_ARGS__))))
#define WELD_DETAIL_EXPAND1(...) __VA_ARGS__
#define WELD_DETAIL_PARENS ()
#define WELD_DETAIL_FIELD(f, ...) value.f __VA_OPT__(, WELD_DETAIL_AGAIN WELD_DETAIL_PARENS(__VA_ARGS__))
#define WELD_DETAIL_AGAIN() WELD_DETAIL_FIELD

// ---- configuration and contexts ---------------------------------------------------------------------------

/// Keys and values in text; docs/c-api.md lists them.
///
///     weld::Config config{{"weld.threads", "2"}, {"weld.memory.limit", "1GiB"}};
class Config {
  public:
    Config() : handle_(weld_conf_new()) {
        if (!handle_) throw std::bad_alloc();
    }
    Config(std::initializer_list<std::pair<const char*, const char*>> settings) : Config() {
        for (const auto& [key, value] : settings) set(key, value);
    }
    Config& set(const std::string& key, const std::string& value) {
        weld_conf_set(handle_.get(), key.c_str(), value.c_str());
        return *this;
    }
    Config& threads(int n) { return set("weld.threads", std::to_string(n)); }
    Config& memory_limit(std::int64_t bytes) { return set("weld.memory.limit", std::to_string(bytes)); }

    weld_conf_t handle() const { return handle_.get(); }

  private:
    static void free(weld_conf_t conf) { weld_conf_free(conf); }
    detail::Owned<WeldConf, &Config::free> handle_;
};

/// Memory with a limit, shared by the runs that are made in it. May be used by several threads.
class Context {
  public:
    explicit Context(const Config& config = {}) : handle_(weld_context_new(config.handle())) {
        if (!handle_) throw Error(WELD_CONFIGURATION_ERROR, "a value in the configuration is wrong");
    }
    std::int64_t memory_usage() const { return weld_context_memory_usage(handle_.get()); }
    std::int64_t memory_peak() const { return weld_context_memory_peak(handle_.get()); }
    std::int64_t memory_limit() const { return weld_context_memory_limit(handle_.get()); }
    void trim() { weld_context_trim(handle_.get()); }
    /// Stops the runs that are going on: they throw, with code WELD_CANCELLED.
    void cancel() { weld_context_cancel(handle_.get()); }
    /// Has runs that begin later print to `write` instead of the standard output. It is called on the thread
    /// that runs a program; if it throws, the run fails.
    void set_output(std::function<void(std::string_view)> write) {
        auto kept = std::make_unique<Write>(std::move(write));
        weld_context_set_output(handle_.get(), *kept ? &Context::print : nullptr, kept.get());
        output_ = std::move(kept);
    }

    weld_context_t handle() const { return handle_.get(); }

  private:
    using Write = std::function<void(std::string_view)>;
    static int print(void* write, const char* text, std::size_t size) {
        try {
            (*static_cast<Write*>(write))(std::string_view(text, size));
            return 0;
        } catch (...) {
            return 1;
        }
    }

    std::unique_ptr<Write> output_;  // where it is stays the same when this moves
    detail::Owned<WeldContext, weld_context_free> handle_;
};

// ---- results ----------------------------------------------------------------------------------------------

/// The result of a run, of any type: as text, or as an argument of the next run. Memory of the result lives
/// as long as this.
class Any {
  public:
    const void* data() const { return weld_value_data(value_.get()); }
    std::string_view type() const { return weld_value_type(value_.get()); }
    std::int64_t memory_usage() const { return weld_value_memory_usage(value_.get()); }
    std::string json() const { return text_by(weld_value_to_json); }
    std::string text() const { return text_by(weld_value_to_text); }
    weld_value_t handle() const { return value_.get(); }

  protected:
    friend class Module;
    Any(weld_value_t value, std::size_t size) : size_(size), value_(value) {}
    std::size_t size_;  // bytes

  private:
    std::string text_by(char* (*write)(weld_value_t, weld_error_t)) const {
        const detail::OwnedError error = detail::new_error();
        const detail::OwnedText text(write(value_.get(), error.get()));
        detail::check(error);
        return text.get();
    }
    detail::Owned<WeldValue, weld_value_free> value_;
};

/// The result of a run as an R. What it gives views of lives as long as this.
template <class R>
class Result : public Any {
  public:
    /// The value; for a vec a view of it.
    decltype(auto) get() const {
        return Type<R>::from_memory(*static_cast<const typename Type<R>::Memory*>(data()));
    }
    decltype(auto) operator*() const { return get(); }
    const typename Type<R>::Memory* operator->() const {
        return static_cast<const typename Type<R>::Memory*>(data());
    }

  private:
    friend class Module;
    explicit Result(Any&& any) : Any(std::move(any)) {}
};

// ---- programs ---------------------------------------------------------------------------------------------

/// A compiled program. May be called by several threads at once.
///
///     weld::Module scale("|v: vec[f64], k: f64| map(v, |x| x * k)");
///     auto scaled = scale.run<weld::Vec<double>>(std::vector{1.0, 2.0}, 10.0);
///     for (double x : *scaled) ...
class Module {
  public:
    explicit Module(const std::string& program, const Config& config = {}) {
        const detail::OwnedError error = detail::new_error();
        handle_.reset(weld_module_compile(program.c_str(), config.handle(), error.get()));
        detail::check(error);
    }

    std::int64_t num_params() const { return weld_module_num_params(handle_.get()); }
    std::string_view param_name(std::int64_t i) const { return weld_module_param_name(handle_.get(), i); }
    std::string_view param_type(std::int64_t i) const { return weld_module_param_type(handle_.get(), i); }
    std::string_view return_type() const { return weld_module_return_type(handle_.get()); }
    std::string_view warnings() const { return weld_module_warnings(handle_.get()); }
    weld_module_t handle() const { return handle_.get(); }

    /// Runs the program in a context of its own with default settings.
    template <class R = Any, class... Args>
    auto run(const Args&... args) const {
        return run_in<R>(Context(), args...);
    }
    template <class R = Any, class... Args>
    auto run_in(const Context& context, const Args&... args) const {
        check_result<R>();
        check_count(sizeof...(Args));
        Memory memory(std::size_t(weld_module_params_size(handle_.get())));
        std::int64_t i = 0;
        (put(memory, i++, args), ...);
        return result<R>(start(context, memory));
    }

    /// Throws if the program takes other types, or returns another.
    template <class R>
    void check_result() const {
        if constexpr (!std::is_same_v<R, Any>) check_type("the result", Type<R>::name(), return_type());
    }
    template <class... Args>
    void check_params() const {
        check_count(sizeof...(Args));
        std::int64_t i = 0;
        (check_param<Args>(i++), ...);
    }

  private:
    /// Room for arguments, aligned for any type.
    class Memory {
      public:
        explicit Memory(std::size_t size) : lines_(size / sizeof(Line) + 1) {}
        char* at(std::int64_t offset) { return reinterpret_cast<char*>(lines_.data()) + offset; }

      private:
        struct alignas(64) Line {
            char bytes[64];
        };
        std::vector<Line> lines_;
    };

    Any start(const Context& context, Memory& memory) const {
        const detail::OwnedError error = detail::new_error();
        const detail::Owned<WeldValue, weld_value_free> input(weld_value_new(memory.at(0)));
        weld_value_t output = weld_module_run(handle_.get(), context.handle(), input.get(), error.get());
        detail::check(error);
        return Any(output, std::size_t(weld_module_return_size(handle_.get())));
    }
    template <class R>
    static auto result(Any&& any) {
        if constexpr (std::is_same_v<R, Any>) return std::move(any);
        else return Result<R>(std::move(any));
    }

    template <class T>
    void put(Memory& memory, std::int64_t i, const T& arg) const {
        char* at = memory.at(weld_module_param_offset(handle_.get(), i));
        if constexpr (std::derived_from<T, Any>) {
            check_type(place(i), std::string(arg.type()), param_type(i));
            std::memcpy(at, arg.data(), arg.size_);
        } else {
            check_param<T>(i);
            new (at) typename Type<T>::Memory(Type<T>::to_memory(arg));
        }
    }

    void check_count(std::size_t count) const {
        if (std::int64_t(count) != num_params())
            detail::refuse(std::string("the program takes ") + std::to_string(num_params()) +
                           " arguments, found " + std::to_string(count));
    }
    template <class T>
    void check_param(std::int64_t i) const {
        check_type(place(i), Type<T>::name(), param_type(i));
    }
    std::string place(std::int64_t i) const { return std::string("parameter `").append(param_name(i)) + "`"; }
    static void check_type(const std::string& what, const std::string& found, std::string_view wanted) {
        if (found != wanted)
            detail::refuse(what + " has the type `" + std::string(wanted) + "`, found `" + found + "`");
    }

    detail::Owned<WeldModule, weld_module_free> handle_;
};

namespace detail {
template <class T>
inline constexpr bool kNeedsNoMemory = std::is_arithmetic_v<T>;
template <class... Ts>
inline constexpr bool kNeedsNoMemory<std::tuple<Ts...>> = (kNeedsNoMemory<Ts> && ...);
}  // namespace detail

template <class Signature>
class Function;

/// A program as a function: its types are checked when it is compiled. The result is an R by value if it
/// needs no memory of its own (scalars, tuples of them), else a Result<R>.
template <class R, class... Args>
class Function<R(Args...)> {
  public:
    explicit Function(const std::string& program, const Config& config = {})
        : module_(program, config), context_(config) {
        module_.check_result<R>();
        module_.check_params<std::remove_cvref_t<Args>...>();
    }
    auto operator()(const Args&... args) const {
        auto result = module_.run_in<R>(context_, args...);
        if constexpr (detail::kNeedsNoMemory<R>) return R(*result);
        else return result;
    }
    const Module& module() const { return module_; }
    const Context& context() const { return context_; }

  private:
    Module module_;
    Context context_;
};

/// Loads a shared library, whose functions `cudf` may call then.
inline void load_library(const std::string& path) {
    const detail::OwnedError error = detail::new_error();
    weld_load_library(path.c_str(), error.get());
    detail::check(error);
}

}  // namespace api
}  // namespace weld

template <class... Ts>
struct std::tuple_size<weld::Struct<Ts...>> : std::integral_constant<std::size_t, sizeof...(Ts)> {};
template <std::size_t I, class... Ts>
struct std::tuple_element<I, weld::Struct<Ts...>> : std::tuple_element<I, std::tuple<Ts...>> {};
