// mkostemp beside the file, then rename; several files are exchanged with what was there, so that the first
// ones can be put back if a later one fails.
#include "runtime/io/new_files.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/io/signal_list.h"
#include "weldir/support/visible.h"

namespace weld {

// ---- signals

namespace {

SignalList<std::string> temporaries;
std::atomic_flag in_use = ATOMIC_FLAG_INIT;  // somebody makes, renames or removes temporary files

void take_turn() {
    while (in_use.test_and_set()) ::sched_yield();
}

/// While one exists, no handler of this thread runs, and those of others wait.
class Undisturbed {
  public:
    Undisturbed() {
        sigset_t all;
        ::sigfillset(&all);
        ::sigdelset(&all, SIGBUS);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
        take_turn();
    }
    ~Undisturbed() {
        in_use.clear();
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    Undisturbed(const Undisturbed&) = delete;
    Undisturbed& operator=(const Undisturbed&) = delete;

  private:
    sigset_t before_;
};

}  // namespace

void remove_temporaries() {
    take_turn();  // for good
    temporaries.each([](const std::string& path) { ::unlink(path.c_str()); });
}

// ---- places

namespace {

/// Where the bytes of a file go.
struct Destination {
    std::string path;      ///< after links
    bool special = false;  ///< no regular file: it is opened and written
    bool exists = false;
    struct stat before;  ///< if it exists
};

constexpr std::string_view kDescriptors = "/proc/self/fd/";

std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == path.npos ? "./" : path.substr(0, slash + 1);
}

/// Follows links from `path` to a file, or to where one can be made. An error number, or 0.
int find_destination(const std::string& path, Destination* destination) {
    destination->path = path;
    for (int links = 0;; ++links) {
        if (::lstat(destination->path.c_str(), &destination->before) != 0) return errno == ENOENT ? 0 : errno;
        if (!S_ISLNK(destination->before.st_mode)) break;
        if (links == 40) return ELOOP;
        if (destination->path.starts_with(kDescriptors)) break;  // the text of the link may lead nowhere
        std::error_code error;
        const std::string to = std::filesystem::read_symlink(destination->path, error);
        if (error) return error.value();
        destination->path = to.starts_with('/') ? to : folder_of(destination->path) + to;
    }
    destination->exists = true;
    destination->special = !S_ISREG(destination->before.st_mode);
    return S_ISDIR(destination->before.st_mode) ? EISDIR : 0;
}

/// To write what is no regular file. A descriptor of ours (`/dev/stdout`) goes on where it is.
int open_special(const Destination& destination) {
    if (destination.path.starts_with(kDescriptors))
        return ::fcntl(std::atoi(destination.path.c_str() + kDescriptors.size()), F_DUPFD_CLOEXEC, 0);
    return ::open(destination.path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
}

/// The mode that a new file gets.
mode_t default_mode() {
    const mode_t mask = ::umask(077);
    ::umask(mask);
    return 0666 & ~mask;
}

/// Gives the file `fd` the owner, where that is allowed, and the mode of the one that was there.
bool take_after(int fd, const struct stat& before) {
    mode_t mode = before.st_mode & 0777;
    const bool owned = ::fchown(fd, before.st_uid, before.st_gid) == 0;
    const mode_t others = mode & 07;
    if (!owned && ::fchown(fd, uid_t(-1), before.st_gid) != 0)
        mode = (mode & ~mode_t(070)) | (mode & others << 3);  // another group may do what all may
    return ::fchmod(fd, mode) == 0;
}

std::string complaint(const std::string& path, const char* why) {
    return fmt::format("cannot write `{}`: {}", visible(path), why);
}
std::string complaint(const std::string& path, int number) {
    return complaint(path, number == EISDIR ? "it is a directory" : std::strerror(number));
}

}  // namespace

// ---- files

struct NewFiles::File {
    std::string path;  ///< as the user calls it
    Destination destination;
    SignalList<std::string>::Entry* temporary = nullptr;  ///< its path
    bool exchanged = false;                               ///< `temporary` is what was there before

    /// Makes the temporary file. Its descriptor; -1 with the reason in errno.
    int make() {
        const Undisturbed undisturbed;
        // It is noted first: once the file is there, memory must not be missing.
        auto* const entry = temporaries.add(folder_of(destination.path) + ".weld-XXXXXX");
        const int fd = ::mkostemp(entry->value.data(), O_CLOEXEC);
        if (fd < 0) {
            temporaries.remove(entry);
            return fd;
        }
        temporary = entry;
        if (destination.exists ? take_after(fd, destination.before) : ::fchmod(fd, default_mode()) == 0)
            return fd;
        const int number = errno;
        ::close(fd);
        errno = number;
        return -1;
    }

    /// Gives it its name; an error number, or 0. If `undoable`, what was there is kept, where the file system
    /// can.
    int put_in_place(bool undoable) {
        const char *from = temporary->value.c_str(), *to = destination.path.c_str();
        exchanged =
            undoable && destination.exists && ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0;
        return exchanged || ::rename(from, to) == 0 ? 0 : errno;
    }
    void undo() const {
        const char *from = temporary->value.c_str(), *to = destination.path.c_str();
        if (exchanged) ::rename(from, to);
        else if (!destination.exists) ::unlink(to);
    }
    void remove_temporary() {
        if (!temporary) return;
        ::unlink(temporary->value.c_str());
        temporaries.remove(temporary);
    }
};

NewFiles::NewFiles(const std::atomic<std::int32_t>* stop) : stop_(stop) {}

NewFiles::~NewFiles() {
    for (const auto& file : files_) file->remove_temporary();
}

std::string NewFiles::check(const std::string& path) {
    Destination destination;
    if (const int number = find_destination(path, &destination)) return complaint(path, number);
    const bool writable = !destination.exists || ::access(destination.path.c_str(), W_OK) == 0;
    const bool beside =
        destination.special || ::access(folder_of(destination.path).c_str(), W_OK | X_OK) == 0;
    return writable && beside ? "" : complaint(path, errno);
}

std::string NewFiles::write(const std::string& path, const std::function<std::string(Writer&)>& fill) {
    auto& file = *files_.emplace_back(new File{.path = path});
    if (const int number = find_destination(path, &file.destination)) return complaint(path, number);
    const int fd = file.destination.special ? open_special(file.destination) : file.make();
    if (fd < 0) return complaint(path, errno);
    Writer out(fd, stop_);
    std::string error = fill(out);
    const int number = out.flush();
    if (error.empty() && number) error = std::strerror(number);
    if (::close(fd) != 0 && error.empty()) error = std::strerror(errno);
    if (file.destination.special) files_.pop_back();
    return error.empty() ? "" : complaint(path, error.c_str());
}

std::string NewFiles::commit() {
    const Undisturbed undisturbed;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const int number = files_[i]->put_in_place(files_.size() > 1);
        if (!number) continue;
        for (std::size_t done = i; done > 0; --done) files_[done - 1]->undo();
        return complaint(files_[i]->path, number);
    }
    for (const auto& file : files_) file->remove_temporary();  // what was there before, if anything
    files_.clear();
    return {};
}

}  // namespace weld
