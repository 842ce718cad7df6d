// Files that are written whole or not at all, one or several at once.
//
// Each is written under a temporary name beside the file that it is to be; `commit` gives all of them their
// names. Until then nothing is changed, and what ends before that (a failure, Ctrl-C) removes the temporary
// files. A file that was there keeps its mode and, where possible, its owner; a link leads to the file that
// it points to. What is no regular file (a pipe, a device) is written as it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/io/writer.h"

namespace weld {

class NewFiles {
  public:
    /// Writing fails once `*stop` is not 0.
    explicit NewFiles(const std::atomic<std::int32_t>* stop = nullptr);
    ~NewFiles();
    NewFiles(const NewFiles&) = delete;
    NewFiles& operator=(const NewFiles&) = delete;

    /// Whether a file can be written at `path`: nothing, or why not.
    static std::string check(const std::string& path);

    /// Has `fill` write what the file at `path` is to hold; it returns nothing, or what is wrong.
    std::string write(const std::string& path, const std::function<std::string(Writer&)>& fill);

    /// Puts all in their places. If that fails for one, none is changed.
    std::string commit();

  private:
    struct File;
    const std::atomic<std::int32_t>* stop_;
    std::vector<std::unique_ptr<File>> files_;  // not yet in their places
};

/// Removes the temporary files that there are, and lets none appear after that: for signal handlers that end
/// the process next. They have to block all signals. If files are being put in their places, it waits until
/// all are.
void remove_temporaries();

}  // namespace weld
