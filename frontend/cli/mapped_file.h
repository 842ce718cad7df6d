// Files that are mapped into memory.
//
// If one becomes shorter, or its disk fails, while a program looks at it, the kernel sends SIGBUS. Nothing
// can go on from there: the tool names the file, removes its temporary files, and ends with exit code 3.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weld {

/// The bytes of a regular file, for as long as this lives.
class MappedFile {
  public:
    /// `size` is that of the file behind `fd`, above 0; `path` is for messages. Without data if that fails,
    /// with the reason in errno.
    MappedFile(int fd, std::size_t size, const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;

    /// Without data if it could not be mapped.
    std::string_view bytes() const { return bytes_; }

  private:
    std::string_view bytes_;
    void* entry_ = nullptr;  // in the list that the handler walks
};

/// From now on, such signals are treated so.
void catch_bus_errors();

}  // namespace weld
