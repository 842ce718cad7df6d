// JSON by nlohmann::json. All keys of DAPHNE are known, so that a mistyped one is told from one that does
// nothing here.
#include "frontend/cli/user_config.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include <fmt/format.h>

#include "frontend/api/load_text.h"
#include "weldir/support/visible.h"

namespace weld {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFlags[] = {"use_cuda",
                                       "use_vectorized_exec",
                                       "use_vectorized_restricted",
                                       "use_obj_ref_mgnt",
                                       "use_optimistic_splitting",
                                       "use_ipa_const_propa",
                                       "use_phy_op_selection",
                                       "use_mlir_codegen",
                                       "use_columnar",
                                       "matmul_tile",
                                       "matmul_use_fixed_tile_sizes",
                                       "matmul_invert_loops",
                                       "cuda_fuse_any",
                                       "vectorized_single_queue",
                                       "debug_llvm",
                                       "useHdfs",
                                       "force_cuda",
                                       "enable_property_recording",
                                       "enable_property_insert"};
constexpr std::string_view kNumbers[] = {"matmul_vec_size_bits",
                                         "matmul_unroll_factor",
                                         "matmul_unroll_jam_factor",
                                         "matmul_num_vec_registers",
                                         "numberOfThreads",
                                         "minimumTaskSize",
                                         "phyBatchSize"};
constexpr std::string_view kTexts[] = {"hdfsAddress", "hdfsUsername", "libdir", "properties_file_path"};
constexpr std::string_view kLists[] = {"matmul_fixed_tile_sizes", "cuda_devices", "logging"};
constexpr std::string_view kPartitioning[] = {"STATIC", "SS",  "GSS",     "TSS",  "FAC2", "TFSS", "FISS",
                                              "VISS",   "PLS", "MSTATIC", "MFSC", "PSS",  "AUTO"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
    return std::ranges::find(names, name) != std::end(names);
}

bool is_list_of_texts(const Json& value) {
    return value.is_array() && std::ranges::all_of(value, [](const Json& one) { return one.is_string(); });
}

/// What a value has to be; nothing if it is, or if nobody knows the key.
const char* wanted(std::string_view key, const Json& value, bool* is_known) {
    *is_known = true;
    if (is_one_of(key, kFlags) || key.starts_with("explain_"))
        return value.is_boolean() ? nullptr : "true or false";
    if (is_one_of(key, kNumbers)) return value.is_number_integer() ? nullptr : "a whole number";
    if (is_one_of(key, kTexts)) return value.is_string() ? nullptr : "a string";
    if (is_one_of(key, kLists)) return value.is_array() ? nullptr : "a list";
    if (key == "sparsity_threshold") {
        const bool is_share = value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
        return is_share ? nullptr : "a number from 0 to 1";
    }
    if (key == "taskPartitioningScheme")
        return value.is_string() && is_one_of(value.get_ref<const std::string&>(), kPartitioning)
                   ? nullptr
                   : "the name of a partitioning, such as \"STATIC\"";
    *is_known = key == "daphnedsl_import_paths";
    if (!*is_known) return nullptr;
    return value.is_object() && std::ranges::all_of(value, is_list_of_texts)
               ? nullptr
               : "an object with lists of folders";
}

/// The scripts in the folders, by name.
std::string find_scripts(const Json& folders, std::vector<std::string>* found) {
    for (const Json& folder : folders) {
        std::error_code failed;
        std::vector<std::string> here;
        for (std::filesystem::directory_iterator at(folder.get_ref<const std::string&>(), failed), end;
             !failed && at != end; at.increment(failed)) {
            const std::string ending = at->path().extension().string();
            if (ending == ".daphne" || ending == ".daph") here.push_back(at->path().string());
        }
        if (failed)
            return fmt::format("no folder `{}`: {}", visible(folder.get_ref<const std::string&>()),
                               failed.message());
        std::ranges::sort(here);
        found->insert(found->end(), here.begin(), here.end());
    }
    return {};
}

}  // namespace

std::string read_user_config(const std::string& path, UserConfig* config) {
    std::string text, why;
    if (!load_text(path, &text, &why)) return {};
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) return "it is no JSON object";
    for (const auto& [key, value] : json.items()) {
        bool is_known = false;
        const char* what = wanted(key, value, &is_known);
        if (!is_known) return fmt::format("there is no setting `{}`", visible(key));
        if (what) return fmt::format("`{}` is {}", key, what);
        if (key == "numberOfThreads" && value.get<std::int64_t>() > 0)
            config->threads = int(std::min<std::int64_t>(value.get<std::int64_t>(), 1 << 16));
        if (key == "sparsity_threshold") config->sparsity_threshold = value.get<double>();
        if (key != "daphnedsl_import_paths") continue;
        for (const auto& [name, folders] : value.items()) {
            if (name == "default_dirs") config->imports.folders = folders.get<std::vector<std::string>>();
            else if (std::string error = find_scripts(folders, &config->imports.libraries[name]);
                     !error.empty())
                return fmt::format("library `{}`: {}", visible(name), error);
        }
    }
    return {};
}

}  // namespace weld
