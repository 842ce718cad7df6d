// NumPy's array format, versions 1 to 3: magic, version, length of the header, a Python dict as header, the
// elements.
//
// Everything in the header is checked against the file and the wanted type before any element is touched; the
// elements then stay where they are mapped.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/api/describe.h"
#include "frontend/cli/files.h"
#include "frontend/cli/formats.h"
#include "runtime/describe.h"
#include "weldir/support/visible.h"

namespace weld {

static constexpr std::string_view kMagic("\x93NUMPY", 6);

bool is_npy(std::string_view bytes) { return bytes.starts_with(kMagic); }

static const char* dtype_of(const WeldType* scalar) {
    constexpr const char* names[] = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1",
                                     "<u2", "<u4", "<u8", "<f4", "<f8"};
    return names[scalar->kind];
}

using runtime::is_scalar;

/// What is left of `type` without its vectors, and how many there were.
static const WeldType* innermost(const WeldType* type, std::size_t* depth) {
    for (*depth = 0; type->kind == kWeldVec; ++*depth) type = type->args[0];
    return type;
}

// ---- reading

namespace {

struct Header {
    std::string_view dtype;
    bool fortran = false;
    std::vector<std::int64_t> shape;
};

/// Reads the header's Python: `{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }`, keys in any order.
class HeaderReader {
  public:
    explicit HeaderReader(std::string_view text) : text_(text) {}

    std::string read(Header* header) {
        bool descr = false, order = false, shape = false;
        if (!take('{')) return broken();
        while (!take('}')) {
            std::string_view key;
            if (!read_string(&key) || !take(':')) return broken();
            if (key == "descr") {
                if (next() == '[') return "arrays of records are not supported";
                if (descr || !(descr = read_string(&header->dtype))) return broken();
            } else if (key == "fortran_order") {
                if (order || !(order = read_bool(&header->fortran))) return broken();
            } else if (key == "shape") {
                if (shape || !(shape = read_shape(&header->shape))) return broken();
            } else {
                return broken();
            }
            if (!take(',') && next() != '}') return broken();
        }
        return descr && order && shape && next() == '\0' && at_ == text_.size() ? "" : broken();
    }

  private:
    static std::string broken() { return "its header is not that of a .npy file"; }

    char next() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(char c) {
        if (next() != c || at_ == text_.size()) return false;
        ++at_;
        return true;
    }
    bool read_string(std::string_view* to) {
        const char quote = next();
        if (quote != '\'' && quote != '"') return false;
        const auto end = text_.find(quote, at_ + 1);
        if (end == text_.npos) return false;
        *to = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return true;
    }
    bool read_bool(bool* to) {
        next();
        *to = text_.substr(at_).starts_with("True");
        if (!*to && !text_.substr(at_).starts_with("False")) return false;
        at_ += *to ? 4 : 5;
        return true;
    }
    bool read_shape(std::vector<std::int64_t>* shape) {
        if (!take('(')) return false;
        while (!take(')')) {
            next();
            std::int64_t n = 0;
            const char* end = text_.data() + text_.size();
            const auto [stop, error] = std::from_chars(text_.data() + at_, end, n);
            if (error != std::errc() || n < 0) return false;
            at_ = std::size_t(stop - text_.data());
            take('L');  // Python 2 wrote long integers so
            shape->push_back(n);
            if (!take(',') && next() != ')') return false;
        }
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// Splits `bytes` into header and elements.
std::string read_header(std::string_view bytes, Header* header, std::string_view* elements) {
    if (!is_npy(bytes) || bytes.size() < 10) return "it is not a .npy file";
    const auto byte = [&](std::size_t i) { return std::size_t(std::uint8_t(bytes[i])); };
    const std::size_t version = byte(6);
    if (version < 1 || version > 3) return fmt::format("version {} of .npy files is not known", version);
    const std::size_t start = version == 1 ? 10 : 12;
    if (bytes.size() < start) return "it ends within its header";
    std::size_t size = byte(8) | byte(9) << 8;
    if (version > 1) size |= byte(10) << 16 | byte(11) << 24;
    if (bytes.size() - start < size) return "it ends within its header";
    *elements = bytes.substr(start + size);
    return HeaderReader(bytes.substr(start, size)).read(header);
}

bool same_dtype(std::string_view dtype, const WeldType* scalar) {
    const std::string_view want = dtype_of(scalar);
    if (dtype.size() != want.size() || dtype.substr(1) != want.substr(1)) return false;
    return dtype[0] == '<' || dtype[0] == '=' || dtype[0] == '|' || (scalar->size == 1 && dtype[0] == '>');
}

/// Checks the header against the type and the size of the file. `*bytes` is how much the elements take.
std::string check_header(const Header& header, const WeldType* type, std::string_view elements,
                         std::size_t* bytes) {
    std::size_t depth = 0;
    const WeldType* scalar = innermost(type, &depth);
    if (!is_scalar(scalar)) return fmt::format("an array cannot be a value of type `{}`", name_of(type));
    if (header.shape.size() != depth)
        return fmt::format("an array of {} dimension{} cannot be a value of type `{}`", header.shape.size(),
                           header.shape.size() == 1 ? "" : "s", name_of(type));
    if (!same_dtype(header.dtype, scalar))
        return fmt::format("its elements are {}, where `{}` wants `{}`", quoted_excerpt(header.dtype),
                           name_of(type), dtype_of(scalar));
    if (header.fortran && std::ranges::count_if(header.shape, [](std::int64_t n) { return n > 1; }) > 1)
        return "it is in Fortran order; write it with `numpy.ascontiguousarray`";
    std::int64_t size = scalar->size, rows = 1;
    bool fits = true;
    for (std::size_t i = 0; i < depth; ++i) {
        if (i + 1 < depth) fits &= !__builtin_mul_overflow(rows, header.shape[i], &rows);
        fits &= !__builtin_mul_overflow(size, header.shape[i], &size);
    }
    const bool empty = std::ranges::count(header.shape, 0) > 0;
    if (empty) size = 0;
    if (!empty && (!fits || std::size_t(size) > elements.size()))
        return fmt::format("it should have {} elements and ends after {}", fmt::join(header.shape, " x "),
                           elements.size() / std::size_t(scalar->size));
    if (empty && (!fits || rows > 1 << 24)) return "it has no elements, but too many rows";
    *bytes = std::size_t(size);
    return {};
}

/// Makes the vectors of `type` over elements that lie one after the other.
class VecMaker {
  public:
    VecMaker(const std::vector<std::int64_t>& shape, const char* data, Arena& memory)
        : shape_(shape), data_(data), memory_(memory) {}

    void make(const WeldType* type, std::size_t dim, void* to) {
        if (is_scalar(type)) {
            std::memcpy(to, take(type->size), std::size_t(type->size));
            return;
        }
        const WeldType* elem = type->args[0];
        const std::int64_t n = shape_[dim];
        WeldVec vec{nullptr, n};
        if (n > 0) {
            vec.data = is_scalar(elem) ? const_cast<char*>(take(n * elem->size))
                                       : memory_.allocate(std::size_t(n * elem->size), 64);
            if (!is_scalar(elem))
                for (std::int64_t i = 0; i < n; ++i) make(elem, dim + 1, static_cast<WeldVec*>(vec.data) + i);
        }
        std::memcpy(to, &vec, sizeof vec);
    }

  private:
    const char* take(std::int64_t bytes) {
        const char* at = data_;
        data_ += bytes;
        return at;
    }
    const std::vector<std::int64_t>& shape_;
    const char* data_;
    Arena& memory_;
};

}  // namespace

std::string read_npy(std::string_view bytes, const WeldType* type, ArgumentMemory& memory, void* to) {
    Header header;
    std::string_view elements;
    std::size_t size = 0, depth = 0;
    if (std::string error = read_header(bytes, &header, &elements); !error.empty()) return error;
    if (std::string error = check_header(header, type, elements, &size); !error.empty()) return error;
    const char* data = elements.data();
    if (reinterpret_cast<std::uintptr_t>(data) % std::size_t(innermost(type, &depth)->align) != 0) {
        void* aligned = memory.arena.allocate(size, 64);
        std::memcpy(aligned, data, size);
        data = static_cast<const char*>(aligned);
    }
    VecMaker(header.shape, data, memory.arena).make(type, 0, to);
    return {};
}

// ---- writing

bool fits_npy(const WeldType* type) {
    std::size_t depth = 0;
    const WeldType* inner = innermost(type, &depth);
    return is_scalar(inner) || inner->kind == kWeldSimd;
}

bool fits_npy_files(const WeldType* type) {
    return type->kind == kWeldStruct && type->num_args > 0 &&
           std::all_of(type->args, type->args + type->num_args,
                       [](const WeldType* f) { return fits_npy(f); });
}

namespace {

/// The lengths along the first elements; the other elements must agree.
std::vector<std::int64_t> shape_of(const WeldType* type, const void* value) {
    std::vector<std::int64_t> shape;
    for (; type->kind == kWeldVec; type = type->args[0]) {
        const auto* vec = static_cast<const WeldVec*>(value);
        shape.push_back(vec ? vec->len : 0);
        value = vec && vec->len ? vec->data : nullptr;
    }
    if (type->kind == kWeldSimd) shape.push_back(type->size / type->args[0]->size);
    return shape;
}

bool is_regular(const WeldType* type, const void* value, const std::vector<std::int64_t>& shape,
                std::size_t dim) {
    if (type->kind != kWeldVec) return true;
    const auto* vec = static_cast<const WeldVec*>(value);
    if (vec->len != shape[dim]) return false;
    if (type->args[0]->kind != kWeldVec) return true;
    for (std::int64_t i = 0; i < vec->len; ++i)
        if (!is_regular(type->args[0], static_cast<const WeldVec*>(vec->data) + i, shape, dim + 1))
            return false;
    return true;
}

/// `n` values of `type` one after the other.
void write_elements(const WeldType* type, const void* data, std::int64_t n, Writer& out) {
    if (n == 0) return;
    const char* bytes = static_cast<const char*>(data);
    if (type->kind == kWeldVec) {
        for (std::int64_t i = 0; i < n; ++i) {
            const auto& vec = static_cast<const WeldVec*>(data)[i];
            write_elements(type->args[0], vec.data, vec.len, out);
        }
    } else if (type->kind == kWeldBool || (type->kind == kWeldSimd && type->args[0]->kind == kWeldBool)) {
        for (std::int64_t i = 0; i < n * type->size; ++i) out.put(bytes[i] ? '\1' : '\0');
    } else {
        constexpr std::int64_t piece = 1 << 20;
        for (std::int64_t left = n * type->size; left > 0; left -= piece, bytes += piece)
            out.put(std::string_view(bytes, std::size_t(std::min(left, piece))));
    }
}

}  // namespace

std::string write_npy(const WeldType* type, const void* value, Writer& out) {
    std::size_t depth = 0;
    const WeldType* inner = innermost(type, &depth);
    const std::vector<std::int64_t> shape = shape_of(type, value);
    if (!is_regular(type, value, shape, 0)) return "its inner vectors differ in length";
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                     dtype_of(inner->kind == kWeldSimd ? inner->args[0] : inner),
                                     fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
    header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
    header += '\n';
    out.put(kMagic);
    out.put(std::string_view("\1\0", 2));
    out.put(char(header.size() & 0xff));
    out.put(char(header.size() >> 8));
    out.put(header);
    write_elements(type, value, 1, out);
    return {};
}

}  // namespace weld
