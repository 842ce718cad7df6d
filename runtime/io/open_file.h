// Files that are read.
#pragma once

#include <cstdint>
#include <string>

#include <sys/stat.h>

namespace weld {

/// A descriptor for reading a regular file.
class OpenFile {
  public:
    explicit OpenFile(const std::string& path);
    ~OpenFile();
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    /// Why it cannot be read, an error number; 0 if it can.
    int error() const { return error_; }
    /// The same in words; empty if it can.
    std::string complaint() const;
    std::int64_t size() const { return about_.st_size; }
    /// Reads bytes [at, at + size) to `to`. Nothing, or what is wrong: the file may have become shorter.
    std::string read(char* to, std::int64_t at, std::int64_t size) const;

  private:
    int fd_;
    int error_ = 0;
    bool is_regular_ = false;
    struct stat about_{};
};

}  // namespace weld
