// One function per kernel of runtime/abi/kernels.def, over all of its overloads.
#include "tests/interp/kernels.h"

#include <re2/re2.h>

#include <cstdlib>

namespace weld::interp {

static std::string text_of(const Values& bytes, std::size_t begin, std::size_t end) {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) text += char(bytes[i].bits);
    return text;
}

static std::string text_of(const Value& bytes) { return text_of(bytes.items(), 0, bytes.items().size()); }

/// `{offsets, bytes}` or vectors of bytes; nothing if the offsets are wrong.
static std::optional<std::vector<std::string>> strings_of(const BuiltinKernel& kernel, const Value& value) {
    std::vector<std::string> all;
    if (!kernel.params.starts_with("{")) {
        for (const Value& s : value.items()) all.push_back(text_of(s));
        return all;
    }
    const Values &offsets = value.items()[0].items(), &bytes = value.items()[1].items();
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        const std::int64_t begin = as_i64(offsets[i - 1]), end = as_i64(offsets[i]);
        if (begin < 0 || end < begin || end > std::int64_t(bytes.size())) return {};
        all.push_back(text_of(bytes, std::size_t(begin), std::size_t(end)));
    }
    return all;
}

template <class F>
static std::optional<Value> for_each_string(const BuiltinKernel& kernel, const Value& value, const F& f) {
    if (kernel.result == "bool") return bool_value(f(text_of(value)));
    const auto strings = strings_of(kernel, value);
    if (!strings) return {};
    Values results;
    for (const std::string& s : *strings) results.push_back(bool_value(f(s)));
    return list_value(std::move(results));
}

std::optional<Value> call_builtin(const BuiltinKernel& kernel, const Values& args) {
    if (kernel.name == "weld_contains") {
        const std::string needle = text_of(args[1]);
        return for_each_string(kernel, args[0],
                               [&](const std::string& s) { return s.find(needle) != std::string::npos; });
    }
    if (kernel.name == "weld_matches") {
        RE2::Options options;
        options.set_log_errors(false);
        const RE2 pattern(text_of(args[1]), options);
        if (!pattern.ok()) return {};
        return for_each_string(kernel, args[0],
                               [&](const std::string& s) { return RE2::PartialMatch(s, pattern); });
    }
    std::abort();  // a new kernel belongs here
}

}  // namespace weld::interp
