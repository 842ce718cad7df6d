// User functions: where `cudf` finds them. Calling them is weld_rt_call (udf.cpp).
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace weld::runtime {

/// Shared libraries that a user named, and after them what the process itself offers. Thread-safe.
class UserLibraries {
  public:
    UserLibraries() = default;
    UserLibraries(const UserLibraries&) = delete;
    UserLibraries& operator=(const UserLibraries&) = delete;

    /// Loads a library; it stays loaded, since code that calls it may live on. False with `*error` set if it
    /// cannot.
    bool load(const std::string& path, std::string* error);
    /// The address of a function, or null. The library that was loaded last goes first.
    void* find(const std::string& name) const;

  private:
    mutable std::mutex mutex_;
    std::vector<void*> handles_;
};

}  // namespace weld::runtime
