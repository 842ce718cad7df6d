// Reading a text file as a whole.
#include "frontend/api/load_text.h"

#include <cctype>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weldir/support/source.h"

namespace weld {

/// What is wrong, or nothing.
static std::string read_text(int fd, std::string* text) {
    struct stat s;
    if (::fstat(fd, &s) != 0) return std::strerror(errno);
    if (!S_ISREG(s.st_mode)) return "not a regular file";
    if (s.st_size > std::int64_t(kLongestText)) return "longer than 1 GiB";
    text->resize(std::size_t(s.st_size));
    std::size_t done = 0;
    while (done < text->size()) {
        const ssize_t n = ::read(fd, text->data() + done, text->size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::strerror(errno);
        if (n == 0) break;
        done += std::size_t(n);
    }
    text->resize(done);
    return {};
}

bool load_text(const std::string& path, std::string* text, std::string* error) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hold us up
    *error = fd < 0 ? std::strerror(errno) : read_text(fd, text);
    if (fd >= 0) ::close(fd);
    if (!error->empty()) (*error)[0] = char(std::tolower((*error)[0]));
    return error->empty();
}

}  // namespace weld
