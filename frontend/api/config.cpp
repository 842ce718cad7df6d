// Reading values by the table of keys, and what the machine offers.
#include "frontend/api/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "frontend/api/languages.h"
#include "weldir/passes/pass.h"
#include "weldir/support/nearest.h"

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

std::vector<std::string> split_script_arguments(std::string_view list) {
    std::vector<std::string> all;
    bool quoted = false;
    std::string one;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i] == ',' && !quoted) {
            all.push_back(std::move(one));
            one.clear();
            continue;
        }
        one += list[i];
        if (list[i] == '\\' && quoted && i + 1 < list.size()) one += list[++i];
        else quoted ^= list[i] == '"';
    }
    if (!list.empty()) all.push_back(std::move(one));
    return all;
}

// ---- values by their types

// Each reads a value of its type, and returns what was expected instead if it cannot be understood.

static std::string read(const std::string& text, bool* value) {
    if (text != "true" && text != "false") return "`true` or `false`";
    *value = text == "true";
    return {};
}

static std::string read(const std::string& text, std::string* value) {
    *value = text;
    return {};
}

static std::string read(const std::string& text, config::Bytes* value) {
    value->value = parse_size(text);
    return value->value < 0 ? "a number of bytes" : "";
}

static std::string read(const std::string& text, config::Threads* value) {
    const std::int64_t n = parse_count(text);
    if (n < 1 || n > 1 << 16) return "a number of threads, at least 1";
    value->value = int(n);
    return {};
}

static std::string read(const std::string& text, config::Level* value) {
    const std::int64_t level = parse_count(text);
    value->value = int(level);
    return level < 0 || level > 3 ? "a level from 0 to 3" : "";
}

static std::string read(const std::string& text, Cpu* value) {
    std::string names;
    for (Cpu cpu : runnable_cpus()) {
        if (text == name_of(cpu)) {
            *value = cpu;
            return {};
        }
        names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(cpu));
    }
    return "what this machine can run: one of " + names;
}

static std::string read(const std::string& text, config::Language* value) {
    value->name = text;
    return find_language(text) ? "" : "one of " + all_languages();
}

static std::string read(const std::string& text, config::Passes* value) {
    value->names = split_names(text);
    const std::string unknown = check_pass_names(value->names);
    return unknown.empty() ? "" : "names of passes (" + unknown + ")";
}

static std::string read(const std::string& text, config::DumpFormats* value) {
    static constexpr std::string_view kFormats[] = {"weld", "weldopt", "sir", "llvm", "llvmopt", "assembly"};
    value->names = split_names(text);
    const bool known = std::ranges::all_of(value->names, [](const std::string& name) {
        return std::ranges::find(kFormats, name) != std::end(kFormats);
    });
    return known ? "" : "names out of weld,weldopt,sir,llvm,llvmopt,assembly";
}

static bool is_function_name(std::string_view name) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return name != "none" && is_letter(name.front()) &&
           std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

static std::string read(const std::string& text, config::Functions* value) {
    if (text != "none") value->names = split_names(text);
    return std::ranges::all_of(value->names, is_function_name) ? "" : "names of functions, or `none`";
}

static std::string read(const std::string& text, config::ScriptArguments* value) {
    value->texts = split_script_arguments(text);
    return {};
}

static std::string read(const std::string& text, config::Share* value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value->value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && value->value >= 0 && value->value <= 1 ? "" : "a number from 0 to 1";
}

// ---- keys

namespace {

constexpr ConfigKey kKeys[] = {
#define WELD_CONFIG(field, type, key, summary) {key, summary},
#include "frontend/api/config.def"
};

/// Per key, in the same order.
constexpr std::string (*kReaders[])(const std::string& text, ConfigValues* values) = {
#define WELD_CONFIG(field, type, key, summary) \
    [](const std::string& text, ConfigValues* values) { return read(text, &values->field.emplace()); },
#include "frontend/api/config.def"
};

/// Its place in the table; the length of that if there is no such key.
std::size_t place_of(std::string_view key) {
    return std::size_t(std::ranges::find(kKeys, key, &ConfigKey::name) - std::begin(kKeys));
}

}  // namespace

std::span<const ConfigKey> all_config_keys() { return kKeys; }

const std::string* Config::get(const std::string& key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? nullptr : &at->second;
}

bool Config::knows(std::string_view key) { return place_of(key) < std::size(kKeys); }

std::string_view Config::nearest(std::string_view key) {
    Nearest nearest(key);
    for (const ConfigKey& known : kKeys) nearest.consider(known.name);
    return nearest.best();
}

std::string Config::read(ConfigValues* values) const {
    for (const auto& [key, value] : values_) {
        if (!knows(key)) continue;
        if (const std::string expected = kReaders[place_of(key)](value, values); !expected.empty())
            return fmt::format("invalid value `{}` of `{}`: expected {}", value, key, expected);
    }
    return {};
}

std::string Config::apply(CompileOptions* compile, RunSettings* run) const {
    ConfigValues s;
    if (std::string wrong = read(&s); !wrong.empty()) return wrong;
    if (s.language) compile->language = s.language->name;
    if (s.name) compile->name = *s.name;
    if (s.level) compile->level = s.level->value;
    if (s.cpu) compile->cpu = *s.cpu;
    if (s.llvm_level) compile->llvm_level = s.llvm_level->value;
    if (!s.tiers.value_or(true)) compile->most_optimised = PassOptions::kAllAtOnce;
    if (s.passes) compile->passes = s.passes->names;
    if (s.verify) compile->verify = *s.verify;
    if (s.nul_strings) compile->nul_terminated_strings = *s.nul_strings;
    if (s.serialize_header) compile->serialize_header = *s.serialize_header;
    if (s.script_args) compile->script_args = s.script_args->texts;
    if (s.select_matrix_repr) compile->select_matrix_repr = *s.select_matrix_repr;
    if (s.sparsity_threshold) compile->sparsity_threshold = s.sparsity_threshold->value;
    if (s.allowed_functions) compile->allowed_functions = s.allowed_functions->names;
    if (s.threads) run->threads = compile->threads = s.threads->value;
    if (s.memory_limit) run->memory_limit = compile->memory_limit = s.memory_limit->value;
    return {};
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
