// Writing in pieces, and floats as people write them.
#include "runtime/io/writer.h"

#include <cerrno>
#include <cmath>

#include <unistd.h>

namespace weld {

int Writer::flush() {
    if (stop_ && *stop_ && !error_) error_ = ECANCELED;
    const std::string_view text(buffer_.data(), buffer_.size());
    if (text_) text_->append(text);
    if (output_ && !text.empty() && !error_ && !output_->write(text)) error_ = EIO;
    for (std::size_t done = fd_ < 0 ? text.size() : 0; done < text.size() && !error_;) {
        const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
        if (n >= 0) done += std::size_t(n);
        else if (errno != EINTR) error_ = errno;
    }
    buffer_.clear();
    return error_;
}

template <class T>
void Writer::floating(T value) {
    if (std::isnan(value)) return put("NaN");
    if (std::isinf(value)) return put(value < 0 ? "-Infinity" : "Infinity");
    const std::size_t start = buffer_.size();
    fmt::format_to(fmt::appender(buffer_), FMT_COMPILE("{}"), value);
    const std::string_view text(buffer_.data() + start, buffer_.size() - start);
    put(text.find_first_of(".e") == text.npos ? ".0" : "");
}

template void Writer::floating(float);
template void Writer::floating(double);

}  // namespace weld
