// Opening, mapping, and choosing the format.
#include "frontend/cli/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/api/describe.h"
#include "frontend/cli/formats.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/read_value.h"
#include "runtime/io/new_files.h"
#include "runtime/memory.h"
#include "weldir/support/visible.h"

namespace weld {

bool ArgumentMemory::open(const std::string& path, std::string_view* bytes, std::string* error,
                          std::size_t most) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info{};
    if (fd < 0 || ::fstat(fd, &info) != 0) {
        *error = std::strerror(errno);
        if (fd >= 0) ::close(fd);
        return false;
    }
    bool good = true;
    if (S_ISREG(info.st_mode) && info.st_size > 0) {
        *bytes = files_.emplace_back(fd, std::size_t(info.st_size), path).bytes();
        good = bytes->data() != nullptr;
        if (!good) *error = std::strerror(errno);
        *bytes = bytes->substr(0, most);
    } else {
        good = read(fd, bytes, error, most);
    }
    ::close(fd);
    return good;
}

bool ArgumentMemory::read(int fd, std::string_view* bytes, std::string* error, std::size_t most) {
    const std::int64_t limit =
        options.account ? options.account->limit() : runtime::MemoryAccount::kUnlimited;
    std::string text;
    std::vector<char> piece(1 << 16);
    while (text.size() < most) {
        const ssize_t n = ::read(fd, piece.data(), std::min(piece.size(), most - text.size()));
        if (n == 0) break;
        if (n < 0) {
            if (errno == EINTR) continue;
            *error = std::strerror(errno);
            return false;
        }
        text.append(piece.data(), std::size_t(n));
        if (std::int64_t(text.size()) > limit / 2)  // it is there twice at the end
            throw runtime::Failure{kWeldOutOfMemory, 0, runtime::over_limit(limit)};
    }
    void* copy = arena.allocate(text.size() + 1, 64);
    std::memcpy(copy, text.data(), text.size());
    *bytes = {static_cast<const char*>(copy), text.size()};
    return true;
}

void ArgumentMemory::run(runtime::EntryFn entry, const void* args, const WeldType* type, void* result) {
    runtime::Failure failure;
    runtime::RunMemory blocks;
    if (!runtime::execute(entry, args, result, type, options, &blocks, &failure)) throw failure;
    blocks_.push_back(std::move(blocks));
}

std::string read_file(const std::string& path, std::string_view param, const WeldType* type,
                      ArgumentMemory& memory, void* to) {
    if (path.empty()) return "expected the name of a file after `@`";
    std::string_view bytes;
    std::string error;
    if (!memory.open(path, &bytes, &error)) return fmt::format("cannot read `{}`: {}", visible(path), error);
    if (path.ends_with(".csv") && !is_npy(bytes)) return read_csv(bytes, {path, param}, type, memory, to);
    if (path.ends_with(".npy") || is_npy(bytes)) error = read_npy(bytes, type, memory, to);
    else error = "it is neither a .npy nor a .csv file";
    return error.empty() ? error : fmt::format("`{}`: {}", visible(path), error);
}

bool ResultFile::is_csv() const { return path_.ends_with(".csv"); }

std::string ResultFile::field_path(std::uint32_t field) const {
    return fmt::format("{}.{}.npy", path_.substr(0, path_.size() - 4), field);
}

std::string ResultFile::check(const WeldType* type) const {
    if (!is_csv() && !path_.ends_with(".npy"))
        return fmt::format("`{}`: results are written to .npy and .csv files", visible(path_));
    if (is_csv() ? !fits_csv(type) : !fits_npy(type) && !fits_npy_files(type))
        return fmt::format("`{}`: a .{} file cannot hold a result of type `{}`", visible(path_),
                           is_csv() ? "csv" : "npy", name_of(type));
    if (is_csv() || fits_npy(type)) return NewFiles::check(path_);
    std::string error;
    for (std::uint32_t i = 0; i < type->num_args && error.empty(); ++i)
        error = NewFiles::check(field_path(i));
    return error;
}

std::string ResultFile::write(const WeldType* type, const void* value) const {
    NewFiles files(Interruptible::stop_flag());
    const auto put = [&](const std::string& path, const auto& write, const WeldType* t, const void* from) {
        return files.write(path, [&](Writer& out) { return write(t, from, out); });
    };
    std::string error;
    if (is_csv()) error = put(path_, write_csv, type, value);
    else if (fits_npy(type)) error = put(path_, write_npy, type, value);
    else
        for (std::uint32_t i = 0; i < type->num_args && error.empty(); ++i)
            error = put(field_path(i), write_npy, type->args[i],
                        static_cast<const char*>(value) + type->offsets[i]);
    return error.empty() ? files.commit() : error;
}

}  // namespace weld
