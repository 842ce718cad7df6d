// Buffered output to a file descriptor, into a string, or to where a run prints; all that values go through.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "runtime/io/output.h"

namespace weld {

/// Collects text and writes it in large pieces. Errors are kept: nothing is written after the first.
class Writer {
  public:
    /// Fails with ECANCELED once `*stop` is not 0.
    explicit Writer(int fd, const std::atomic<std::int32_t>* stop = nullptr) : fd_(fd), stop_(stop) {}
    explicit Writer(std::string* text) : text_(text) {}  ///< appends
    /// Fails with EIO if that does.
    explicit Writer(runtime::Output* output) : output_(output) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void put(char c) {
        buffer_.push_back(c);
        if (buffer_.size() >= kPiece) flush();
    }
    void put(std::string_view text) {
        buffer_.append(text);
        if (buffer_.size() >= kPiece) flush();
    }
    /// A number in its shortest form; a float has a point or an exponent, unless it is `NaN`, `Infinity`.
    template <class T>
    void number(T value) {
        if constexpr (sizeof(T) == 1) fmt::format_to(fmt::appender(buffer_), FMT_COMPILE("{}"), int(value));
        else fmt::format_to(fmt::appender(buffer_), FMT_COMPILE("{}"), value);
        if (buffer_.size() >= kPiece) flush();
    }
    void number(float value) { floating(value); }
    void number(double value) { floating(value); }

    /// Writing more is in vain.
    bool failed() const { return error_ != 0 || (stop_ && stop_->load(std::memory_order_relaxed) != 0); }
    /// Writes what is left. The error number of the first write that failed, 0 if none did.
    int flush();

  private:
    static constexpr std::size_t kPiece = 1 << 16;
    template <class T>
    void floating(T value);

    fmt::memory_buffer buffer_;
    int fd_ = -1;
    const std::atomic<std::int32_t>* stop_ = nullptr;
    std::string* text_ = nullptr;
    runtime::Output* output_ = nullptr;
    int error_ = 0;
};

}  // namespace weld
