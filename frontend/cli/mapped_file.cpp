// The handler finds the file by the address that could not be read. It only writes, removes files and leaves.
#include "frontend/cli/mapped_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frontend/cli/command.h"
#include "runtime/io/new_files.h"
#include "runtime/io/signal_list.h"
#include "weldir/support/visible.h"

namespace weld {

namespace {

struct Mapping {
    const char* begin;
    std::size_t size;
    std::string message;  ///< if it cannot be read any more
};

SignalList<Mapping> mappings;

}  // namespace

MappedFile::MappedFile(int fd, std::size_t size, const std::string& path) {
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
    if (data == MAP_FAILED) return;
    bytes_ = {static_cast<const char*>(data), size};
    entry_ =
        mappings.add({bytes_.data(), size,
                      fmt::format("error: `{}` became shorter or unreadable while the program was using it\n",
                                  visible(path))});
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), entry_(std::exchange(other.entry_, nullptr)) {}

MappedFile::~MappedFile() {
    if (!entry_) return;
    mappings.remove(static_cast<SignalList<Mapping>::Entry*>(entry_));
    ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

static void put(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

static void on_bus_error(int, siginfo_t* info, void*) {
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    while (told.test_and_set()) ::pause();  // another thread is just telling it
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    bool found = false;
    mappings.each([&](const Mapping& m) {
        if (found || address - reinterpret_cast<std::uintptr_t>(m.begin) >= m.size) return;
        found = true;
        put(m.message);
    });
    if (!found) put("error: memory that is mapped from a file cannot be read any more\n");
    remove_temporaries();
    ::_exit(kFailed);
}

void catch_bus_errors() {
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO;
    ::sigfillset(&action.sa_mask);
    action.sa_sigaction = on_bus_error;
    ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace weld
