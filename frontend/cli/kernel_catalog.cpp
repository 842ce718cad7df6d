// JSON by nlohmann::json.
#include "frontend/cli/kernel_catalog.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "weldir/support/visible.h"

namespace weld {

namespace {

using Json = nlohmann::json;

bool is_text(const Json& value) { return value.is_string() && !value.get_ref<const std::string&>().empty(); }
bool is_types(const Json& value) { return value.is_array() && std::ranges::all_of(value, is_text); }
bool is_backend(const Json& value) { return value == "CPP" || value == "CUDA" || value == "FPGAOPENCL"; }

struct Field {
    const char* name;
    bool (*is_right)(const Json& value);
    const char* wanted;
};
constexpr Field kFields[] = {{"opMnemonic", is_text, "the name of an operation"},
                             {"kernelFuncName", is_text, "the name of a function"},
                             {"resTypes", is_types, "a list of names of types"},
                             {"argTypes", is_types, "a list of names of types"},
                             {"backend", is_backend, "\"CPP\", \"CUDA\" or \"FPGAOPENCL\""},
                             {"libPath", is_text, "the path of a library"}};

}  // namespace

std::string read_kernel_extension(std::string_view text, std::string* path) {
    const std::size_t colon = text.rfind(':');
    *path = text.substr(0, colon);
    if (path->empty()) return "expected a file";
    if (colon == text.npos) return {};
    const std::string_view number = text.substr(colon + 1);
    int priority;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), priority);
    if (error == std::errc() && end == number.data() + number.size()) return {};
    return fmt::format("expected a whole number for the priority, found `{}`", visible(number));
}

std::string read_kernel_catalog(std::string_view text, KernelCatalog* catalog) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_array()) return "it is no JSON array";
    for (std::size_t i = 0; i < json.size(); ++i) {
        const Json& kernel = json[i];
        if (!kernel.is_object()) return fmt::format("kernel {} is no object", i + 1);
        for (const Field& field : kFields) {
            if (!kernel.contains(field.name)) return fmt::format("kernel {} has no `{}`", i + 1, field.name);
            if (!field.is_right(kernel[field.name]))
                return fmt::format("`{}` of kernel {} is {}", field.name, i + 1, field.wanted);
        }
        catalog->kernels.push_back({kernel["opMnemonic"], kernel["kernelFuncName"]});
    }
    return {};
}

}  // namespace weld
