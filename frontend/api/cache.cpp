// Keys, the list of recent programs, and files: a magic word, a checksum of the rest, then texts with their
// lengths.
#include "frontend/api/cache.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/api/compile.h"

namespace weld {

// ---- keys

static void append(std::string& to, std::string_view text) {
    const std::uint64_t size = text.size();
    to.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

static std::string key_of(std::string_view text, const CompileOptions& options) {
    std::string key;
    append(key, text);
    append(key, options.name);
    append(key, options.language);
    append(key, fmt::format("{} {} {} {} {} {}", options.level, options.llvm_level.value_or(-1),
                            name_of(options.cpu), options.nul_terminated_strings, options.serialize_header,
                            options.passes.has_value()));
    for (const std::string& pass : options.passes.value_or(std::vector<std::string>())) append(key, pass);
    append(key, options.libraries ? options.libraries->searched() : "");
    return key;
}

std::string process_key(std::string_view text, const CompileOptions& options) {
    return key_of(text, options) + fmt::format("{}", fmt::ptr(options.libraries.get()));
}

/// Tells a file from what it was before it was made again; empty if there is none.
static std::string stamp_of(const std::string& path) {
    struct stat s;
    if (path.empty() || ::stat(path.c_str(), &s) != 0) return {};
    return fmt::format("{} {} {} {}.{}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

/// The file of this code: it knows how to run what is kept.
static std::string own_stamp() {
    Dl_info info;
    if (!::dladdr(reinterpret_cast<void*>(&own_stamp), &info)) return {};
    const bool named_alone = !std::strchr(info.dli_fname, '/');  // a tool that was found in PATH
    return stamp_of(named_alone ? "/proc/self/exe" : info.dli_fname);
}

std::string machine_key(std::string_view text, const CompileOptions& options) {
    std::string key = key_of(text, options);
    append(key, own_stamp());
    append(key, target_identity(options.cpu));
    return key;
}

// ---- recent programs

namespace {

struct Recent {
    std::mutex mutex;
    std::list<std::pair<std::string, CompiledProgram>> programs;  // the last used first
    std::size_t key_bytes = 0;
};

constexpr std::size_t kMostPrograms = 64;
constexpr std::size_t kMostKeyBytes = std::size_t(4) << 20;

Recent& recent() {
    static Recent& all = *new Recent;  // never destroyed: threads may compile while the process ends
    return all;
}

}  // namespace

CompiledProgram recent_program(const std::string& key) {
    Recent& all = recent();
    const std::lock_guard lock(all.mutex);
    for (auto at = all.programs.begin(); at != all.programs.end(); ++at)
        if (at->first == key) {
            all.programs.splice(all.programs.begin(), all.programs, at);
            return at->second;
        }
    return {};
}

void remember_program(std::string key, CompiledProgram compiled) {
    if (key.size() > kMostKeyBytes / 4) return;
    std::list<std::pair<std::string, CompiledProgram>> gone;  // freed after the lock
    Recent& all = recent();
    const std::lock_guard lock(all.mutex);
    all.key_bytes += key.size();
    all.programs.emplace_front(std::move(key), std::move(compiled));
    while (all.programs.size() > kMostPrograms || all.key_bytes > kMostKeyBytes) {
        all.key_bytes -= all.programs.back().first.size();
        gone.splice(gone.begin(), all.programs, std::prev(all.programs.end()));
    }
}

// ---- files

static constexpr std::string_view kMagic = "WeldCode";

static std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) {
    std::uint64_t h = seed ^ (bytes.size() * 0x9E3779B97F4A7C15u);
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(8, bytes.size()))) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), std::min<std::size_t>(8, bytes.size()));
        h = (h ^ word) * 0xD1342543DE82EF95u;
        h ^= h >> 29;
    }
    return h;
}

static std::string path_of(const std::string& folder, const std::string& key) {
    return fmt::format("{}/{:016x}{:016x}.weldcode", folder, hash_of(key, 1), hash_of(key, 2));
}

/// All of a file that is ours alone to write; empty if it is not to be had.
static std::string contents_of(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    std::string bytes;
    struct stat s;
    const bool ours = ::fstat(file, &s) == 0 && S_ISREG(s.st_mode) &&
                      (s.st_uid == ::geteuid() || s.st_uid == 0) && !(s.st_mode & S_IWOTH);
    if (ours) bytes.resize(std::size_t(s.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::read(file, bytes.data() + done, bytes.size() - done);
        if (n <= 0) break;
        done += std::size_t(n);
    }
    ::close(file);
    bytes.resize(done);
    return bytes;
}

namespace {

/// Reads texts with their lengths, one after the other.
class Reader {
  public:
    explicit Reader(std::string_view rest) : rest_(rest) {}
    bool good() const { return good_; }
    std::string_view text() {
        std::uint64_t size = 0;
        good_ = good_ && rest_.size() >= sizeof size;
        if (good_) {
            std::memcpy(&size, rest_.data(), sizeof size);
            rest_.remove_prefix(sizeof size);
            good_ = size <= rest_.size();
        }
        if (!good_) return {};
        const std::string_view found = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return found;
    }
    bool at_end() const { return rest_.empty(); }

  private:
    std::string_view rest_;
    bool good_ = true;
};

}  // namespace

bool read_stored(const std::string& folder, const std::string& key, StoredProgram* stored) {
    const std::string bytes = contents_of(path_of(folder, key));
    std::uint64_t sum;
    const std::size_t header = kMagic.size() + sizeof sum;
    if (!bytes.starts_with(kMagic) || bytes.size() < header) return false;
    std::memcpy(&sum, bytes.data() + kMagic.size(), sizeof sum);
    const std::string_view body = std::string_view(bytes).substr(header);
    if (hash_of(body, 0) != sum) return false;
    Reader in(body);
    if (in.text() != key) return false;
    stored->code.generator = in.text();
    if (in.text() != stamp_of(stored->code.generator)) return false;
    stored->warnings = in.text();
    stored->result = in.text();
    for (std::string_view name = in.text(); !name.empty(); name = in.text())
        stored->params.emplace_back(name, in.text());
    while (in.good() && !in.at_end()) stored->code.objects.emplace_back(in.text());
    return in.good() && !stored->code.objects.empty();
}

void write_stored(const std::string& folder, const std::string& key, const StoredProgram& stored) {
    const std::string stamp = stamp_of(stored.code.generator);
    if (stamp.empty()) return;
    std::string body;
    for (std::string_view text :
         {std::string_view(key), std::string_view(stored.code.generator), std::string_view(stamp),
          std::string_view(stored.warnings), std::string_view(stored.result)})
        append(body, text);
    for (const auto& [name, type] : stored.params) {
        append(body, name);
        append(body, type);
    }
    append(body, "");
    for (const std::string& object : stored.code.objects) append(body, object);
    const std::uint64_t sum = hash_of(body, 0);

    std::string path = folder + "/new-XXXXXX";
    const int file = ::mkostemp(path.data(), O_CLOEXEC);
    if (file < 0) return;
    std::string bytes(kMagic);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum).append(body);
    const bool whole = ::write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size());
    const bool closed = ::close(file) == 0;
    if (!whole || !closed || ::rename(path.c_str(), path_of(folder, key).c_str()) != 0)
        ::unlink(path.c_str());
}

}  // namespace weld
