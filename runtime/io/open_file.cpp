// A pipe must not hold us up, nor a terminal become ours.
#include "runtime/io/open_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace weld {

OpenFile::OpenFile(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
    if (fd_ < 0 || ::fstat(fd_, &about_) != 0) error_ = errno;
    else is_regular_ = S_ISREG(about_.st_mode);
    if (!error_ && !is_regular_) error_ = S_ISDIR(about_.st_mode) ? EISDIR : EINVAL;
}

OpenFile::~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
}

std::string OpenFile::complaint() const {
    if (error_ == EINVAL && !is_regular_) return "it is no regular file";
    return error_ ? std::strerror(error_) : "";
}

std::string OpenFile::read(char* to, std::int64_t at, std::int64_t size) const {
    while (size > 0) {
        const ssize_t n = ::pread(fd_, to, std::size_t(size), at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::strerror(errno);
        if (n == 0) return "it became shorter while it was read";
        to += n;
        at += n;
        size -= n;
    }
    return {};
}

}  // namespace weld
