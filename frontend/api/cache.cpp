// Keys, the list of recent programs, and files: a magic word, a checksum of the rest, then texts with their
// lengths.
#include "frontend/api/cache.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <sstream>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/api/compile.h"
#include "frontend/api/load_text.h"
#include "runtime/kernels/describe_table.h"
#include "runtime/run.h"

namespace weld {

// ---- keys

static constexpr std::size_t kMostKeyBytes = std::size_t(4) << 20;  // of what is remembered

static void append(std::string& to, std::string_view text) {
    const std::uint64_t size = text.size();
    to.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

static std::string key_of(std::string_view text, const CompileOptions& options) {
    std::string key;
    append(key, text);
    append(key, options.name);
    append(key, options.language);
    append(key,
           fmt::format("{} {} {} {} {} {} {}", options.level, options.most_optimised,
                       options.llvm_level.value_or(-1), name_of(options.cpu), options.nul_terminated_strings,
                       options.serialize_header, options.passes.has_value()));
    for (const std::string& pass : options.passes.value_or(std::vector<std::string>())) append(key, pass);
    append(key, options.allowed_functions ? "allowed" : "any");
    for (const std::string& name : options.allowed_functions.value_or(std::vector<std::string>()))
        append(key, name);
    append(key,
           options.select_matrix_repr ? fmt::format("sparse below {}", options.sparsity_threshold) : "dense");
    append(key, fmt::format("{}", options.script_args.size()));
    for (const std::string& argument : options.script_args) append(key, argument);
    append(key, options.libraries ? options.libraries->searched() : "");
    for (const std::string& folder : options.import_paths.folders) append(key, folder);
    for (const auto& [name, files] : options.import_paths.libraries) {
        append(key, "library " + name);
        for (const std::string& file : files) append(key, file);
    }
    for (const KernelCatalog::Kernel& kernel : options.kernel_catalog.kernels)
        append(key, fmt::format("kernel {} {}", kernel.operation, kernel.name));
    append(key, options.may_end_early ? "may end early" : "whole");
    append(key, options.before ? options.before->text() : "");
    return key;
}

std::string process_key(std::string_view text, const CompileOptions& options) {
    if (text.size() > kMostKeyBytes / 4) return {};
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
    std::list<std::pair<std::string, std::shared_ptr<const Program>>> programs;  // the last used first
    std::size_t key_bytes = 0;
};

constexpr std::size_t kMostPrograms = 64;

Recent& recent() {
    static Recent& all = *new Recent;  // never destroyed: threads may compile while the process ends
    return all;
}

}  // namespace

std::shared_ptr<const Program> recent_program(const std::string& key) {
    Recent& all = recent();
    const std::lock_guard lock(all.mutex);
    const auto at = std::ranges::find(all.programs, key, [](const auto& one) { return one.first; });
    if (at == all.programs.end()) return nullptr;
    all.programs.splice(all.programs.begin(), all.programs, at);
    return at->second;
}

void remember_program(std::string key, std::shared_ptr<const Program> program) {
    if (key.empty() || key.size() > kMostKeyBytes / 4) return;
    std::list<std::pair<std::string, std::shared_ptr<const Program>>> gone;  // freed after the lock
    Recent& all = recent();
    const std::lock_guard lock(all.mutex);
    const std::size_t key_bytes = key.size();
    all.programs.emplace_front(std::move(key), std::move(program));
    all.key_bytes += key_bytes;
    while (all.programs.size() > kMostPrograms || all.key_bytes > kMostKeyBytes) {
        all.key_bytes -= all.programs.back().first.size();
        gone.splice(gone.begin(), all.programs, std::prev(all.programs.end()));
    }
}

// ---- files

static constexpr std::string_view kMagic = "WeldCode";
static constexpr std::string_view kDescribed = "described";  // behind the stamp of a data file

static std::uint64_t mixed(std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * 0xD1342543DE82EF95u;
    return h ^ h >> 29;
}

/// Long texts in four lanes, which don't wait for one another.
static std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) {
    std::uint64_t h = seed ^ (bytes.size() * 0x9E3779B97F4A7C15u);
    std::uint64_t words[4], lanes[4] = {h, h + 1, h + 2, h + 3};
    for (; bytes.size() >= sizeof words; bytes.remove_prefix(sizeof words)) {
        std::memcpy(words, bytes.data(), sizeof words);
        for (int i = 0; i < 4; ++i) lanes[i] = mixed(lanes[i], words[i]);
    }
    for (std::uint64_t lane : lanes) h = mixed(h, lane);
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(8, bytes.size()))) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), std::min<std::size_t>(8, bytes.size()));
        h = mixed(h, word);
    }
    return h;
}

std::string stamp_of_text(std::string_view text) {
    return fmt::format("{} {:016x}{:016x}", text.size(), hash_of(text, 3), hash_of(text, 4));
}

std::string stamp_of_description(const runtime::TableDescription& d) {
    return fmt::format("{}{:016x}{:016x}", d.is_sniffed ? "sniffed " : "", hash_of(d.text, 1),
                       hash_of(d.text, 2));
}

/// Of the file as it is now.
static std::string stamp_now(const ReadFile& file) {
    std::string text, error;
    if (!file.is_described) return load_text(file.path, &text, &error) ? stamp_of_text(text) : "";
    runtime::TableDescription now;
    return runtime::describe_table(file.path, true, &now, &error) ? stamp_of_description(now) : "";
}

bool are_current(const std::vector<ReadFile>& files) {
    return std::ranges::all_of(files, [](const ReadFile& file) { return file.stamp == stamp_now(file); });
}

static std::string name_in_folder(const std::string& key, std::string_view ending) {
    return fmt::format("{:016x}{:016x}.{}", hash_of(key, 1), hash_of(key, 2), ending);
}
static std::string name_of_program(const std::string& key) { return name_in_folder(key, "weldcode"); }
static std::string name_of_loops(const std::string& key) { return name_in_folder(key, "weldloops"); }

constexpr std::int64_t kMostBytes = std::int64_t(256) << 20;  // of a file

/// Nobody but us can have written it, or the files in it.
static bool is_ours_alone(const struct stat& s) {
    return s.st_uid == ::geteuid() && !(s.st_mode & (S_IWGRP | S_IWOTH));
}

namespace {

/// A descriptor that is closed.
class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

}  // namespace

static bool is_safe_folder(int folder) {
    struct stat s;
    return ::fstat(folder, &s) == 0 && is_ours_alone(s);
}

/// All of a file that is ours alone to write; empty if it is not to be had. What is in it is run.
static SharedBytes contents_of(const std::string& folder, const std::string& name) {
    const Descriptor in(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!is_safe_folder(in.get())) return {};
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;  // a pipe does not block
    const Descriptor file(::openat(in.get(), name.c_str(), flags));
    struct stat s;
    if (::fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode) || !is_ours_alone(s) || s.st_size > kMostBytes)
        return {};
    const auto size = std::size_t(s.st_size);
    const auto bytes = std::make_shared_for_overwrite<char[]>(size);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t n = ::read(file.get(), &bytes[done], size - done);
        if (n == 0 || (n < 0 && errno != EINTR)) break;
        if (n > 0) done += std::size_t(n);
    }
    return {bytes, {bytes.get(), done}};
}

namespace {

/// Reads texts with their lengths, one after the other, and adds up their checksum.
class Reader {
  public:
    explicit Reader(std::string_view rest) : rest_(rest) {}
    bool good() const { return good_; }
    std::uint64_t sum() const { return sum_; }
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
        sum_ = hash_of(found, sum_);
        return found;
    }
    bool at_end() const { return rest_.empty(); }

  private:
    std::string_view rest_;
    std::uint64_t sum_ = 0;
    bool good_ = true;
};

}  // namespace

// Optimised loops: records of the key's and the loops' stamps, numbers, the object, and a checksum of these.

/// Whose such a record is: loops with this stamp, of the program by this key.
static std::string owner_of(const std::string& key, const std::string& stamp) {
    return stamp_of_text(key) + ' ' + stamp;
}

/// Empty if they are none of `most` loops.
static std::vector<std::int64_t> numbers_of(std::string_view text, std::size_t most) {
    std::vector<std::int64_t> numbers;
    std::istringstream in{std::string(text)};
    for (std::int64_t number; in >> number; numbers.push_back(number))
        if (number < 0 || std::size_t(number) >= most) return {};
    return numbers;
}

static std::string checksum_of(std::initializer_list<std::string_view> texts) {
    std::uint64_t sum = 0;
    for (std::string_view text : texts) sum = hash_of(text, sum);
    return fmt::format("{:016x}", sum);
}

/// What follows a record that is damaged is lost, so the file begins anew.
static void read_optimized(const std::string& folder, const std::string& key, StoredProgram* stored) {
    const SharedBytes bytes = contents_of(folder, name_of_loops(key));
    const std::string owner = owner_of(key, stored->loops_stamp);
    MachineCode& code = stored->code;
    for (Reader in(bytes); !in.at_end();) {
        const std::string_view whose = in.text(), numbers = in.text(), object = in.text(), sum = in.text();
        if (!in.good() || sum != checksum_of({whose, numbers, object})) {
            ::unlink((folder + '/' + name_of_loops(key)).c_str());
            return;
        }
        const auto some = numbers_of(numbers, code.quick.functions.size());
        if (whose == owner && !some.empty()) code.optimized.push_back({some, bytes.part(object)});
    }
}

void write_optimized(const std::string& folder, const std::string& key, const std::string& stamp,
                     const OptimizedLoops& loops) {
    const std::string owner = owner_of(key, stamp),
                      numbers = fmt::format("{}", fmt::join(loops.numbers, " "));
    const std::initializer_list<std::string_view> texts = {owner, numbers, loops.object};
    std::string record;
    for (std::string_view text : texts) append(record, text);
    append(record, checksum_of(texts));
    const Descriptor in(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string program = name_of_program(key);
    if (!is_safe_folder(in.get()) || ::faccessat(in.get(), program.c_str(), F_OK, 0) != 0) return;
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const Descriptor file(::openat(in.get(), name_of_loops(key).c_str(), flags, 0600));
    struct stat s;
    if (::fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode) || !is_ours_alone(s)) return;
    if (s.st_size + std::int64_t(record.size()) > kMostBytes) return;
    // At once, so that those of other processes are not in between.
    [[maybe_unused]] const ssize_t written = ::write(file.get(), record.data(), record.size());
}

bool read_stored(const std::string& folder, const std::string& key, StoredProgram* stored) {
    stored->file = contents_of(folder, name_of_program(key));
    const std::string_view bytes = stored->file;
    std::uint64_t sum;
    const std::size_t header = kMagic.size() + sizeof sum;
    if (!bytes.starts_with(kMagic) || bytes.size() < header) return false;
    std::memcpy(&sum, bytes.data() + kMagic.size(), sizeof sum);
    Reader in(bytes.substr(header));
    if (in.text() != key) return false;
    stored->code.generator = in.text();
    if (in.text() != stamp_of(stored->code.generator)) return false;
    for (std::string_view path = in.text(); !path.empty(); path = in.text())
        stored->files.push_back({std::string(path), std::string(in.text()), in.text() == kDescribed});
    if (!are_current(stored->files)) return false;
    for (std::string_view kernel = in.text(); !kernel.empty(); kernel = in.text())
        stored->kernels.emplace_back(kernel);
    runtime::prepare_kernels(stored->kernels);
    for (auto left = std::strtoul(std::string(in.text()).c_str(), nullptr, 10); left && in.good(); --left) {
        const std::string_view name = in.text();
        stored->texts.emplace_back(name, in.text());
    }
    stored->after = in.text();
    stored->warnings = in.text();
    stored->result = in.text();
    for (std::string_view name = in.text(); !name.empty(); name = in.text())
        stored->params.emplace_back(name, in.text());
    for (std::string_view name = in.text(); !name.empty(); name = in.text())
        stored->code.data.push_back({std::string(name), in.text()});
    stored->code.quick.bitcode = stored->file.part(in.text());
    stored->loops_stamp = in.text();
    for (std::string_view name = in.text(); !name.empty(); name = in.text())
        stored->code.quick.functions.emplace_back(name);
    while (in.good() && !in.at_end()) stored->code.objects.push_back(stored->file.part(in.text()));
    if (!in.good() || in.sum() != sum || stored->code.objects.empty()) return false;
    if (!stored->code.quick.functions.empty()) read_optimized(folder, key, stored);
    return true;
}

using Texts = std::vector<std::string_view>;

static void write_texts(std::FILE* file, const Texts& texts) {
    std::uint64_t sum = 0;
    for (std::string_view text : texts) sum = hash_of(text, sum);
    std::fwrite(kMagic.data(), 1, kMagic.size(), file);
    std::fwrite(&sum, sizeof sum, 1, file);
    for (std::string_view text : texts) {
        const std::uint64_t size = text.size();
        std::fwrite(&size, sizeof size, 1, file);
        std::fwrite(text.data(), 1, text.size(), file);
    }
}

/// Writes a file by the side and then gives it its name, in the place of whatever is there.
static void put_file(const Texts& texts, const std::string& folder, const std::string& name) {
    std::string path = folder + "/new-XXXXXX";
    const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0) return;
    std::FILE* file = ::fdopen(descriptor, "w");
    if (file) write_texts(file, texts);
    const bool good = file && !std::ferror(file);
    const bool closed = (file ? std::fclose(file) : ::close(descriptor)) == 0;
    if (!good || !closed || ::rename(path.c_str(), (folder + '/' + name).c_str()) != 0)
        ::unlink(path.c_str());
}

void write_stored(const std::string& folder, const std::string& key, const StoredProgram& stored) {
    const std::string stamp = stamp_of(stored.code.generator);
    if (stamp.empty()) return;
    Texts texts = {key, stored.code.generator, stamp};
    for (const ReadFile& file : stored.files)
        texts.insert(texts.end(), {file.path, file.stamp, file.is_described ? kDescribed : ""});
    const std::string num_texts = fmt::format("{}", stored.texts.size());
    texts.push_back("");
    texts.insert(texts.end(), stored.kernels.begin(), stored.kernels.end());
    texts.insert(texts.end(), {"", num_texts});
    for (const auto& [name, text] : stored.texts) texts.insert(texts.end(), {name, text});
    texts.insert(texts.end(), {stored.after, stored.warnings, stored.result});
    for (const auto& [name, type] : stored.params) texts.insert(texts.end(), {name, type});
    texts.push_back("");
    for (const CodeData& d : stored.code.data) texts.insert(texts.end(), {d.name, d.bytes});
    texts.insert(texts.end(), {"", stored.code.quick.bitcode, stored.loops_stamp});
    texts.insert(texts.end(), stored.code.quick.functions.begin(), stored.code.quick.functions.end());
    texts.push_back("");
    texts.insert(texts.end(), stored.code.objects.begin(), stored.code.objects.end());
    std::size_t bytes = 0;
    for (std::string_view text : texts) bytes += sizeof(std::uint64_t) + text.size();
    if (std::int64_t(bytes) > kMostBytes) return;
    const Descriptor in(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!is_safe_folder(in.get())) return;
    ::unlinkat(in.get(), name_of_loops(key).c_str(), 0);  // of what was there
    put_file(texts, folder, name_of_program(key));
}

}  // namespace weld
