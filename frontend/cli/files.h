// Files as arguments and results: NumPy's .npy, and tables of comma-separated values.
//
// A .npy array of one dimension is a vector; of n dimensions in C order, vectors of vectors. Its elements are
// mapped, not copied, where they are aligned. A .csv file has a row of names and a column per field of a
// struct of vectors, or one with the name of a vector; columns may be of numbers, bools and strings
// (vec[i8]). Functions return nothing, or what is wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cli/mapped_file.h"
#include "runtime/run.h"
#include "weldir/support/arena.h"

namespace weld {

/// Where arguments lie: memory, and files that are mapped. All of it goes with this.
class ArgumentMemory {
  public:
    ArgumentMemory() = default;
    ArgumentMemory(const ArgumentMemory&) = delete;
    ArgumentMemory& operator=(const ArgumentMemory&) = delete;

    Arena arena;
    runtime::RunOptions options;  ///< of what is read in parallel: threads, and the account of its memory

    static constexpr std::size_t kAll = std::size_t(-1);

    /// The first `most` bytes of a file: mapped if it is a regular one, else read. False with `*error` set.
    /// Throws the failure if what is read takes more memory than there may be.
    bool open(const std::string& path, std::string_view* bytes, std::string* error, std::size_t most = kAll);

    /// What is left to read from a descriptor, likewise.
    bool read(int fd, std::string_view* bytes, std::string* error, std::size_t most = kAll);

    /// Runs `entry`, and keeps the memory that its result points to. Throws the failure if it fails.
    void run(runtime::EntryFn entry, const void* args, const WeldType* type, void* result);

  private:
    std::vector<runtime::RunMemory> blocks_;
    std::vector<MappedFile> files_;
};

/// Reads the file at `path` as a value of `type` into `to`, for the parameter `param`; what kind of file it
/// is shows in its name or first bytes.
std::string read_file(const std::string& path, std::string_view param, const WeldType* type,
                      ArgumentMemory& memory, void* to);

std::string read_npy(std::string_view bytes, const WeldType* type, ArgumentMemory& memory, void* to);

/// Where a table comes from, for messages, and the parameter that it is for: a vector is the column of its
/// name.
struct CsvSource {
    std::string_view path;
    std::string_view param;
};
/// Messages begin with FILE:LINE.
std::string read_csv(std::string_view bytes, const CsvSource& source, const WeldType* type,
                     ArgumentMemory& memory, void* to);

/// A file that a result is to be written to. A struct of vectors becomes the columns of a .csv file, or a
/// .npy file per field (`x.0.npy`, `x.1.npy`).
class ResultFile {
  public:
    explicit ResultFile(std::string path) : path_(std::move(path)) {}
    /// Whether a result of `type` can be written there at all; asked before the program runs.
    std::string check(const WeldType* type) const;
    std::string write(const WeldType* type, const void* value) const;

  private:
    bool is_csv() const;
    std::string field_path(std::uint32_t field) const;
    std::string path_;
};

}  // namespace weld
