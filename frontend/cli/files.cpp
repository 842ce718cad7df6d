// Opening, mapping, choosing the format, and writing in one go: a file is complete or not there.
#include "frontend/cli/files.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/api/describe.h"
#include "frontend/cli/formats.h"
#include "frontend/cli/read_value.h"

namespace weld {

ArgumentMemory::~ArgumentMemory() {
    for (auto [data, size] : maps_) ::munmap(data, size);
}

bool ArgumentMemory::open(const std::string& path, std::string_view* bytes, std::string* error) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info{};
    if (fd < 0 || ::fstat(fd, &info) != 0) {
        *error = std::strerror(errno);
        if (fd >= 0) ::close(fd);
        return false;
    }
    bool good = true;
    if (S_ISREG(info.st_mode) && info.st_size > 0) {
        const std::size_t size = std::size_t(info.st_size);
        void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
        good = data != MAP_FAILED;
        if (good) {
            maps_.emplace_back(data, size);
            *bytes = {static_cast<const char*>(data), size};
        } else {
            *error = std::strerror(errno);
        }
    } else {
        good = read(fd, bytes, error);
    }
    ::close(fd);
    return good;
}

bool ArgumentMemory::read(int fd, std::string_view* bytes, std::string* error) {
    std::string text;
    std::vector<char> piece(1 << 16);
    for (;;) {
        const ssize_t n = ::read(fd, piece.data(), piece.size());
        if (n == 0) break;
        if (n > 0) text.append(piece.data(), std::size_t(n));
        else if (errno != EINTR) {
            *error = std::strerror(errno);
            return false;
        }
    }
    void* copy = arena.allocate(text.size() + 1, 64);
    std::memcpy(copy, text.data(), text.size());
    *bytes = {static_cast<const char*>(copy), text.size()};
    return true;
}

std::string read_file(const std::string& path, const WeldType* type, ArgumentMemory& memory, void* to) {
    if (path.empty()) return "expected the name of a file after `@`";
    std::string_view bytes;
    std::string error;
    if (!memory.open(path, &bytes, &error)) return fmt::format("cannot read `{}`: {}", path, error);
    if (path.ends_with(".csv") && !is_npy(bytes)) error = read_csv(bytes, type, memory, to);
    else if (path.ends_with(".npy") || is_npy(bytes)) error = read_npy(bytes, type, memory, to);
    else error = "it is neither a .npy nor a .csv file";
    return error.empty() ? error : fmt::format("`{}`: {}", path, error);
}

bool ResultFile::is_csv() const { return path_.ends_with(".csv"); }

std::string ResultFile::field_path(std::uint32_t field) const {
    return fmt::format("{}.{}.npy", path_.substr(0, path_.size() - 4), field);
}

std::string ResultFile::check(const WeldType* type) const {
    if (!is_csv() && !path_.ends_with(".npy"))
        return fmt::format("`{}`: results are written to .npy and .csv files", path_);
    if (is_csv() ? !fits_csv(type) : !fits_npy(type) && !fits_npy_files(type))
        return fmt::format("`{}`: a .{} file cannot hold a result of type `{}`", path_,
                           is_csv() ? "csv" : "npy", name_of(type));
    const auto slash = path_.rfind('/');
    const std::string folder = slash == path_.npos ? "." : path_.substr(0, slash + 1);
    struct stat info{};
    if (::stat(path_.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
        return fmt::format("cannot write `{}`: it is a directory", path_);
    if (::access(folder.c_str(), W_OK) != 0)
        return fmt::format("cannot write `{}`: {}", path_, std::strerror(errno));
    return {};
}

/// Writes a file by the side and then gives it its name, so that no reader sees half of it.
template <class Fill>
static std::string write_file(const std::string& path, const Fill& fill) {
    const std::string beside = fmt::format("{}.{}.tmp", path, ::getpid());
    const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return fmt::format("cannot write `{}`: {}", path, std::strerror(errno));
    std::string error;
    {
        Writer out(fd);
        error = fill(out);
        if (const int number = out.flush(); error.empty() && number) error = std::strerror(number);
    }
    if (::close(fd) != 0 && error.empty()) error = std::strerror(errno);
    if (error.empty() && ::rename(beside.c_str(), path.c_str()) != 0) error = std::strerror(errno);
    if (error.empty()) return {};
    ::unlink(beside.c_str());
    return fmt::format("cannot write `{}`: {}", path, error);
}

std::string ResultFile::write(const WeldType* type, const void* value) const {
    if (is_csv()) return write_file(path_, [&](Writer& out) { return write_csv(type, value, out); });
    if (fits_npy(type)) return write_file(path_, [&](Writer& out) { return write_npy(type, value, out); });
    for (std::uint32_t i = 0; i < type->num_args; ++i) {
        const void* field = static_cast<const char*>(value) + type->offsets[i];
        std::string error =
            write_file(field_path(i), [&](Writer& out) { return write_npy(type->args[i], field, out); });
        if (!error.empty()) return error;
    }
    return {};
}

}  // namespace weld
