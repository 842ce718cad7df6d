// Functions of users: what `cudf[name, T]` calls.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weld {

/// Shared libraries that were loaded for their functions. Libraries stay loaded for good: code and values may
/// point into them. Thread-safe.
class Libraries {
  public:
    /// Loads the library at `path` (once). False with `*error` set.
    bool load(const std::string& path, std::string* error);
    /// The function `name` of the library that was loaded last and has it, else of the process; null if there
    /// is none.
    void* find(std::string_view name) const;
    /// Where `find` looks, for messages: "liba.so, libb.so and the process".
    std::string searched() const;

  private:
    struct Library {
        std::string path;
        void* handle;
    };
    mutable std::mutex mutex_;
    std::vector<Library> loaded_;
};

}  // namespace weld
