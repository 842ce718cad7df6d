// The table of keys, and what the machine offers.
#include "frontend/api/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "weldir/passes/pass.h"

namespace weld {

// ---- reading values

std::int64_t parse_count(std::string_view text) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc() && end == text.data() + text.size() && n >= 0 ? n : -1;
}

std::int64_t parse_size(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number > 0)) return -1;
    std::string unit;
    for (char c : text.substr(std::size_t(end - text.data())))
        if (c != ' ') unit += char(c >= 'A' && c <= 'Z' ? c + 32 : c);
    constexpr std::string_view prefixes = "kmgt";
    const auto power = unit.empty() ? prefixes.npos : prefixes.find(unit[0]);
    if (power != prefixes.npos) {
        const std::string_view rest = std::string_view(unit).substr(1);
        if (rest != "" && rest != "b" && rest != "ib") return -1;
        number *= std::pow(rest == "b" ? 1000.0 : 1024.0, double(power) + 1);
    } else if (unit != "" && unit != "b") {
        return -1;
    }
    return number >= 1 && number < 9e18 ? std::int64_t(number) : -1;
}

std::vector<std::string> split_names(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        std::string_view name = list.substr(0, end);
        while (name.starts_with(' ')) name.remove_prefix(1);
        while (name.ends_with(' ')) name.remove_suffix(1);
        if (!name.empty()) names.emplace_back(name);
        list.remove_prefix(std::min(list.size(), end + 1));
    }
    return names;
}

// ---- keys

namespace {

/// Puts a value where it belongs. Returns what was expected instead, if it cannot be understood.
using Setter = std::string (*)(const std::string& value, CompileOptions& compile, RunSettings& run);

std::string set_bool(const std::string& value, bool* to) {
    if (value != "true" && value != "false") return "`true` or `false`";
    *to = value == "true";
    return {};
}

template <bool CompileOptions::* field>
std::string set_flag(const std::string& value, CompileOptions& compile, RunSettings&) {
    return set_bool(value, &(compile.*field));
}

std::string set_threads(const std::string& value, CompileOptions&, RunSettings& run) {
    const std::int64_t n = parse_count(value);
    if (n < 1 || n > 1 << 16) return "a number of threads, at least 1";
    run.threads = int(n);
    return {};
}

std::string set_memory_limit(const std::string& value, CompileOptions&, RunSettings& run) {
    const std::int64_t bytes = parse_size(value);
    if (bytes < 0) return "a number of bytes";
    run.memory_limit = bytes;
    return {};
}

std::string set_passes(const std::string& value, CompileOptions& compile, RunSettings&) {
    compile.passes = split_names(value);
    return {};
}

std::string set_level(const std::string& value, CompileOptions& compile, RunSettings&) {
    const std::int64_t level = parse_count(value);
    if (level < 0 || level > 3) return "a level from 0 to 3";
    compile.level = int(level);
    return {};
}

std::string check_bool(const std::string& value, CompileOptions&, RunSettings&) {
    bool ignored;
    return set_bool(value, &ignored);
}

std::string anything(const std::string&, CompileOptions&, RunSettings&) { return {}; }

struct Key {
    std::string_view name;
    Setter set;
};

constexpr Key kKeys[] = {
    {"weld.threads", set_threads},
    {"weld.memory.limit", set_memory_limit},
    {"weld.optimization.passes", set_passes},
    {"weld.llvm.optimization.level", set_level},
    {"weld.compile.enableBoundsChecks", set_flag<&CompileOptions::bounds_checks>},
    {"weld.compile.verify", set_flag<&CompileOptions::verify>},
    {"weld.compat.nulTerminatedStrings", set_flag<&CompileOptions::nul_terminated_strings>},
    {"weld.serialize.header", set_flag<&CompileOptions::serialize_header>},
    // What Weld had and we have no use for.
    {"weld.compile.multithreadSupport", check_bool},
    {"weld.compile.traceExecution", check_bool},
    {"weld.compile.dumpCode", check_bool},
    {"weld.compile.dumpCodeDir", anything},
    {"weld.compile.dumpCodeFilename", anything},
    {"weld.compile.dumpCodeFormats", anything},
    {"weld.optimization.applyExperimentalTransforms", check_bool},
    {"weld.optimization.sirOptimization", check_bool},
    {"weld.llvm.optimization.unroller", check_bool},
    {"weld.llvm.optimization.vectorizer", check_bool},
    {"weld.llvm.optimization.targetPasses", check_bool},
    {"weld.llvm.optimization.moduleOpts", check_bool},
    {"weld.llvm.optimization.funcOpts", check_bool},
    {"weld.llvm.runFunctionName", anything},
};

const Key* find_key(std::string_view name) {
    const Key* key = std::ranges::find(kKeys, name, &Key::name);
    return key == std::end(kKeys) ? nullptr : key;
}

}  // namespace

const std::string* Config::get(const std::string& key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? nullptr : &at->second;
}

bool Config::knows(std::string_view key) { return find_key(key) != nullptr; }

std::string Config::apply(CompileOptions* compile, RunSettings* run) const {
    for (const auto& [name, value] : values_) {
        const Key* key = find_key(name);
        if (!key) continue;
        if (const std::string expected = key->set(value, *compile, *run); !expected.empty())
            return fmt::format("invalid value `{}` of `{}`: expected {}", value, name, expected);
    }
    return compile->passes ? check_pass_names(*compile->passes) : std::string();
}

// ---- the machine

/// The first number in a file; -1 if there is none (`max`).
static std::int64_t number_in(const std::string& path) {
    std::ifstream file(path);
    std::int64_t n = -1;
    return file >> n ? n : -1;
}

/// The smallest limit of the control groups that this process is in; -1 if there is none.
static std::int64_t control_group_limit() {
    std::int64_t least = -1;
    const auto consider = [&](std::int64_t limit) {
        if (limit > 0 && (least < 0 || limit < least)) least = limit;
    };
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const bool unified = line.starts_with("0::");
        if (!unified && line.find(":memory:") == line.npos) continue;
        const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const char* file = unified ? "/memory.max" : "/memory.limit_in_bytes";
        for (std::string group = line.substr(line.rfind(':') + 1);; group.resize(group.rfind('/'))) {
            while (group.ends_with('/')) group.pop_back();
            consider(number_in(root + group + file));
            if (group.find('/') == group.npos) break;
        }
    }
    return least;
}

std::int64_t default_memory_limit() {
    const std::int64_t physical = std::int64_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
    const std::int64_t group = control_group_limit();
    const std::int64_t least = group > 0 ? std::min(group, physical) : physical;
    return least / 5 * 4;
}

int default_threads() {
    cpu_set_t cores;
    if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
    return std::max(1, int(::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace weld
