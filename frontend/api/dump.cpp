// Stages and the files that they go to. The names are those of Weld 0.4, whose stages ours resemble.
#include "frontend/api/dump.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>

#include <algorithm>

#include <fmt/format.h>

namespace weld {

namespace {

struct DumpFile {
    std::string_view format;  ///< as users choose it
    std::string_view stage;
    std::string_view ending;
};

constexpr DumpFile kFiles[] = {
    {"weld", "typed", ".weld"},  // as read, with all types
    {"weldopt", "optimized", "-opt.weld"},
    {"sir", "vectorized", ".sir"},  // the last form before LLVM
    {"llvm", "llvm-input", ".ll"},
    {"llvmopt", "llvm", "-opt.ll"},
    {"assembly", "asm", ".S"},
};

bool is_wanted(const ConfigValues& values, const DumpFile& file) {
    if (!values.dump_code.value_or(false)) return false;
    return !values.dump_formats ||
           std::ranges::find(values.dump_formats->names, file.format) != values.dump_formats->names.end();
}

std::string default_name() {
    return fmt::format("code-{}-{:02x}", std::time(nullptr), std::random_device()() & 0xff);
}

/// Files that are there already are left alone.
bool write_file(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "wx");
    if (!file) return false;
    const bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && good;
}

}  // namespace

void CodeDump::watch(CompileOptions* options) {
    for (const DumpFile& file : kFiles)
        if (is_wanted(values_, file)) options->explained.emplace_back(file.stage);
    if (options->explained.empty()) return;
    options->explain = [this](std::string_view stage, std::string_view text) {
        texts_.insert_or_assign(std::string(stage), std::string(text));
    };
}

std::string CodeDump::write() const {
    std::string failed;
    const std::string name = values_.dump_name.value_or(default_name());
    for (const DumpFile& file : kFiles) {
        const auto text = texts_.find(file.stage);
        if (text == texts_.end()) continue;
        const std::string path = fmt::format("{}/{}{}", values_.dump_dir.value_or("."), name, file.ending);
        if (!write_file(path, text->second))
            failed += fmt::format("cannot write {}: {}\n", path, std::strerror(errno));
    }
    return failed;
}

}  // namespace weld
