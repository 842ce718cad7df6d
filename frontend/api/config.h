// Configuration by keys and values in text: those of Weld 0.2 and 0.4, and ours, one row each in config.def.
//
// Setting never fails (as in Weld); who needs the values reads them all and is told which one cannot be
// understood. Keys of other names are kept and do nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/api/compile.h"

namespace weld {

/// How values are read where the type of C++ does not say.
namespace config {
struct Bytes {
    std::int64_t value;
};  ///< as parse_size
struct Threads {
    int value;
};  ///< at least 1
struct Level {
    int value;
};  ///< 0...3
struct Language {
    std::string name;
};  ///< one of all_languages()
struct Passes {
    std::vector<std::string> names;
};  ///< that exist
struct DumpFormats {
    std::vector<std::string> names;
};  ///< that exist
struct Functions {
    std::vector<std::string> names;
};  ///< as C spells them; `none` for no function
struct ScriptArguments {
    std::vector<std::string> texts;
};  ///< as split_script_arguments; what is in them is read with the script
struct Share {
    double value;
};  ///< 0...1
}  // namespace config

/// The values of a configuration; those that are not set have none.
struct ConfigValues {
#define WELD_CONFIG(field, type, key, summary) std::optional<type> field;
#include "frontend/api/config.def"
};

struct RunSettings {
    int threads = 0;                ///< 0: one per core that this process may use
    std::int64_t memory_limit = 0;  ///< in bytes; 0: default_memory_limit()
};

class Config {
  public:
    void set(std::string key, std::string value) { values_[std::move(key)] = std::move(value); }
    /// Null if the key was not set.
    const std::string* get(const std::string& key) const;
    /// Nothing, or "invalid value `x` of `weld.threads`: expected ...".
    std::string read(ConfigValues* values) const;
    /// Reads, and changes what the keys that are set are about.
    std::string apply(CompileOptions* compile, RunSettings* run) const;

    /// Whether a key of that name has a meaning, or had one in Weld.
    static bool knows(std::string_view key);
    /// The key whose name is nearest to an unknown one; empty if none is near.
    static std::string_view nearest(std::string_view key);

  private:
    std::map<std::string, std::string> values_;
};

/// A key and what it is for.
struct ConfigKey {
    std::string_view name;
    std::string_view summary;
};
std::span<const ConfigKey> all_config_keys();

/// 80 % of the smaller of physical memory and the limit of this process's control group.
std::int64_t default_memory_limit();
/// Cores that this process may run on.
int default_threads();

/// "2GiB", "500 MB", "1.5g", "1000000": bytes; -1 if it is none of that, or not above 0.
std::int64_t parse_size(std::string_view text);
/// The names in a list, separated by commas.
std::vector<std::string> split_names(std::string_view list);
/// Arguments of a script with commas between, `a=1,b="x,y"`: commas in quotation marks separate nothing.
std::vector<std::string> split_script_arguments(std::string_view list);
/// All of `text` as a decimal number; -1 if it is none, or below 0.
std::int64_t parse_count(std::string_view text);

}  // namespace weld
