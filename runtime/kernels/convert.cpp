// Numbers to text and back, as the C++ standard library does: std::to_string, std::stoll and the like.
//
// What is read may have white space before the number and anything after it; it fails without a digit and
// where the number has no place in its type. Floats come out rightly rounded.
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include <fast_float/fast_float.h>

#include "runtime/io/plain_text.h"
#include "runtime/kernels/cells.h"
#include "runtime/memory.h"
#include "weldir/support/visible.h"

namespace weld::runtime {

namespace {

std::string_view without_space(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0]))) text.remove_prefix(1);
    return text;
}

/// Takes a sign off the front; whether it was a minus.
bool take_sign(std::string_view& text) {
    const bool is_minus = text.starts_with('-');
    if (is_minus || text.starts_with('+')) text.remove_prefix(1);
    return is_minus;
}

template <class T>
std::errc read(std::string_view text, T* value) {
    text = without_space(text);
    if constexpr (std::is_same_v<T, std::uint64_t>) {  // a minus is taken: the number wraps
        const bool is_minus = take_sign(text);
        const std::errc error = std::from_chars(text.data(), text.data() + text.size(), *value).ec;
        if (is_minus) *value = -*value;
        return error;
    } else {
        if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
        const char *begin = text.data(), *end = begin + text.size();
        if constexpr (std::is_integral_v<T>) return std::from_chars(begin, end, *value).ec;
        else {
            std::string_view digits = text;
            const bool is_minus = take_sign(digits);
            if (digits.starts_with("0x") || digits.starts_with("0X")) {
                const std::errc error =
                    std::from_chars(digits.data() + 2, end, *value, std::chars_format::hex).ec;
                if (is_minus) *value = -*value;
                return error == std::errc::invalid_argument ? (*value = is_minus ? -T(0) : T(0), std::errc())
                                                            : error;
            }
            const auto found = fast_float::from_chars(begin, end, *value);
            const bool is_huge = std::isinf(*value) && digits.find_first_of("iI") != 0;
            if (found.ec == std::errc::invalid_argument) return found.ec;
            return is_huge ? std::errc::result_out_of_range : std::errc();
        }
    }
}

constexpr std::size_t kShown = 60;  ///< bytes of a text in a message

template <class T>
std::int32_t read_argument(Task* task, const WeldCall* call, std::string_view type, void* result) {
    const std::string_view text = text_of(argument<WeldVec>(call, 0));
    const std::errc error = read(text, static_cast<T*>(result));
    if (error == std::errc()) return kOk;
    const std::string shown = visible(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "");
    return error == std::errc::result_out_of_range
               ? fail_call(task, call, "`{}` is out of the range of {}", shown, type)
               : fail_call(task, call, "`{}` does not begin with a number", shown);
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_to_text) {
    return with_cell(call->types[0], [&]<class T>() -> std::int32_t {
        if constexpr (std::is_same_v<T, WeldVec>) {
            return kFailed;  // the row has scalars alone
        } else {
            weld::NumberText room;
            std::string_view text;
            if constexpr (std::is_same_v<T, Bool>) text = argument<Bool>(call, 0) ? "1" : "0";
            else text = weld::in_full(argument<T>(call, 0), room);
            auto* to = allocate_array<char>(task, std::int64_t(text.size()), call->loc);
            if (!to) return kFailed;
            std::memcpy(to, text.data(), text.size());
            *static_cast<WeldVec*>(result) = {to, std::int64_t(text.size())};
            return kOk;
        }
    });
}

WELD_KERNEL_BODY(weld_kernel_text_to_i64) { return read_argument<std::int64_t>(task, call, "i64", result); }
WELD_KERNEL_BODY(weld_kernel_text_to_u64) { return read_argument<std::uint64_t>(task, call, "u64", result); }
WELD_KERNEL_BODY(weld_kernel_text_to_f32) { return read_argument<float>(task, call, "f32", result); }
WELD_KERNEL_BODY(weld_kernel_text_to_f64) { return read_argument<double>(task, call, "f64", result); }
