// weld_rt_serialize and weld_rt_deserialize: values as bytes, packed. Scalars are their bytes in little
// endian (bool one byte, NaN the canonical one), structs their fields, vectors a count in 8 bytes and their
// elements, dictionaries a count and their keys and values in the order of `tovec`. Nothing says what type it
// is, unless the run is told to have a header: then `WELD`, a version and a hash of the type come first.
//
// Deserializing believes nothing: counts must fit the bytes that are left, a bool must be 0 or 1, a
// dictionary may hold a key once, and all bytes must be used.
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "runtime/entry.h"
#include "runtime/listing.h"
#include "runtime/merge.h"
#include "runtime/parallel.h"

namespace weld::runtime {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::int64_t kMostEmpty = std::int64_t(1) << 32;  // elements without bytes that a count may claim

/// Bytes of every value of type `t`, or of the shortest one; `*fixed` says which.
std::int64_t least_bytes(const WeldType* t, bool* fixed) {
    switch (t->kind) {
        case kWeldVec:
        case kWeldDict: *fixed = false; return 8;
        case kWeldSimd: return lanes_of(t) * t->args[0]->size;
        case kWeldStruct: {
            std::int64_t sum = 0;
            for (std::uint32_t i = 0; i < t->num_args; ++i) sum += least_bytes(t->args[i], fixed);
            return sum;
        }
        default: return t->size;
    }
}

/// The bytes of values of type `t` in memory are those that are written.
bool copies(const WeldType* t) { return bytes_decide(t); }

// ---- header -----------------------------------------------------------------------------------------------

struct Header {
    char magic[4] = {'W', 'E', 'L', 'D'};
    std::uint32_t version = 1;
    std::uint64_t type;
};
static_assert(sizeof(Header) == 16);

/// The same for equal types in all programs and on all machines: FNV-1a over the kinds, depth first.
std::uint64_t hash_of(const WeldType* t, std::uint64_t hash = 0xcbf29ce484222325) {
    const auto mix = [&](std::uint64_t x) { hash = (hash ^ x) * 0x100000001b3; };
    mix(t->kind);
    mix(t->kind == kWeldSimd ? std::uint64_t(lanes_of(t)) : t->num_args);
    for (std::uint32_t i = 0; i < t->num_args; ++i) hash = hash_of(t->args[i], hash);
    return hash;
}

// ---- writing ----------------------------------------------------------------------------------------------

/// Adds up the bytes of values.
class Counter {
  public:
    Counter(Task* task, std::int32_t loc) : task_(task), loc_(loc) {}

    std::int64_t bytes = 0;
    /// Status.
    std::int32_t add(const WeldType* t, const char* value) {
        switch (t->kind) {
            case kWeldVec: {
                const WeldVec v = load<WeldVec>(value);
                bytes += 8;
                return add_elements(t->args[0], static_cast<const char*>(v.data), v.len);
            }
            case kWeldDict: {
                const WeldDict* d = load<const WeldDict*>(value);
                bytes += 8;
                return in_strips(task_, 0, d ? d->count : 0, loc_, [&](std::int64_t lo, std::int64_t hi) {
                    for (std::int64_t i = lo; i < hi; ++i)
                        if (add(t->args[0], d->entry(i)) || add(t->args[1], d->entry(i) + d->value_at))
                            return kFailed;
                    return kOk;
                });
            }
            case kWeldStruct:
                for (std::uint32_t i = 0; i < t->num_args; ++i)
                    if (add(t->args[i], value + t->offsets[i])) return kFailed;
                return kOk;
            default: {
                bool fixed = true;
                bytes += least_bytes(t, &fixed);
                return kOk;
            }
        }
    }

  private:
    std::int32_t add_elements(const WeldType* elem, const char* data, std::int64_t count) {
        bool fixed = true;
        const std::int64_t each = least_bytes(elem, &fixed);
        if (fixed) return bytes += count * each, kOk;
        return in_strips(task_, 0, count, loc_, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i)
                if (add(elem, data + i * elem->size)) return kFailed;
            return kOk;
        });
    }

    Task* task_;
    std::int32_t loc_;
};

class Writer {
  public:
    Writer(Task* task, char* to, std::int32_t loc) : task_(task), to_(to), loc_(loc) {}

    std::int32_t write(const WeldType* t, const char* value);

  private:
    template <class T>
    void put(T x) {
        std::memcpy(to_, &x, sizeof x);
        to_ += sizeof x;
    }
    void scalar(const WeldType* t, const char* value);
    std::int32_t elements(const WeldType* elem, const char* data, std::int64_t count);
    std::int32_t dict(const WeldType* t, const WeldDict* d);

    Task* task_;
    char* to_;
    std::int32_t loc_;
};

template <class F>
F canonical(F x) {
    return x != x ? std::numeric_limits<F>::quiet_NaN() : x;
}

void Writer::scalar(const WeldType* t, const char* value) {
    switch (t->kind) {
        case kWeldBool: return put(std::uint8_t(*value != 0));
        case kWeldF32: return put(canonical(load<float>(value)));
        case kWeldF64: return put(canonical(load<double>(value)));
        default: std::memcpy(to_, value, std::size_t(t->size)); to_ += t->size;
    }
}

std::int32_t Writer::elements(const WeldType* elem, const char* data, std::int64_t count) {
    if (!elem->size || count <= 0) return kOk;
    if (copies(elem)) {
        if (copy_bytes(task_, to_, data, count * elem->size, loc_)) return kFailed;
        to_ += count * elem->size;
        return kOk;
    }
    return in_strips(task_, 0, count, loc_, [&](std::int64_t lo, std::int64_t hi) {
        if (elem->kind == kWeldF64) {
            for (std::int64_t i = lo; i < hi; ++i) put(canonical(load<double>(data + i * 8)));
            return kOk;
        }
        for (std::int64_t i = lo; i < hi; ++i)
            if (write(elem, data + i * elem->size)) return kFailed;
        return kOk;
    });
}

std::int32_t Writer::dict(const WeldType* t, const WeldDict* d) {
    put(weld_rt_dict_len(d));
    if (!d || !d->count) return kOk;
    std::uint64_t* order = order_of_entries(task_, d, t->args[0], loc_);
    if (!order) return kFailed;
    const auto write_strip = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) {
            const char* entry = d->entry(std::int64_t(order[i]));
            if (write(t->args[0], entry) || write(t->args[1], entry + d->value_at)) return kFailed;
        }
        return kOk;
    };
    const std::int32_t status = in_strips(task_, 0, d->count, loc_, write_strip);
    release(task_, order);
    return status;
}

std::int32_t Writer::write(const WeldType* t, const char* value) {
    switch (t->kind) {
        case kWeldVec: {
            const WeldVec v = load<WeldVec>(value);
            put(v.len);
            return elements(t->args[0], static_cast<const char*>(v.data), v.len);
        }
        case kWeldDict: return dict(t, load<const WeldDict*>(value));
        case kWeldSimd: return elements(t->args[0], value, lanes_of(t));
        case kWeldStruct:
            for (std::uint32_t i = 0; i < t->num_args; ++i)
                if (write(t->args[i], value + t->offsets[i])) return kFailed;
            return kOk;
        default: scalar(t, value); return kOk;
    }
}

// ---- reading ----------------------------------------------------------------------------------------------

class Reader {
  public:
    Reader(Task* task, const WeldVec& bytes, std::int32_t loc)
        : task_(task), at_(static_cast<const char*>(bytes.data)), left_(bytes.len), loc_(loc) {}

    std::int32_t header(const WeldType* t);
    std::int32_t read(const WeldType* t, char* out);
    std::int32_t end() {
        return left_ ? fail(fmt::format("deserialize: {} bytes are left over after the value", left_)) : kOk;
    }

  private:
    std::int32_t fail(std::string message) {
        return task_->fail(kWeldDeserializationError, loc_, std::move(message));
    }
    std::int32_t take(void* out, std::int64_t bytes) {
        if (bytes > left_)
            return fail(
                fmt::format("deserialize: the bytes end early: {} are needed, {} are left", bytes, left_));
        const char* const from = std::exchange(at_, at_ + bytes);
        left_ -= bytes;
        return copy_bytes(task_, out, from, bytes, loc_);
    }
    std::int32_t count(std::int64_t least, std::int64_t* out);
    std::int32_t boolean(char* out);
    std::int32_t elements(const WeldType* elem, char* out, std::int64_t count);
    std::int32_t vec(const WeldType* elem, char* out);
    std::int32_t dict(const WeldType* t, char* out);
    std::int32_t entry(const WeldType* t, WeldDict* d, char* pair);

    Task* task_;
    const char* at_;
    std::int64_t left_;
    std::int32_t loc_;
};

std::int32_t Reader::header(const WeldType* t) {
    const Header expected{.type = hash_of(t)};
    Header found;
    if (take(&found, sizeof found)) return kFailed;
    if (std::memcmp(found.magic, expected.magic, sizeof found.magic))
        return fail("deserialize: the bytes do not begin with the header of a serialized value");
    if (found.version != expected.version)
        return fail(
            fmt::format("deserialize: the bytes are of version {}, not {}", found.version, expected.version));
    return found.type == expected.type ? kOk : fail("deserialize: the bytes are a value of another type");
}

/// A count of things that take at least `least` bytes each.
std::int32_t Reader::count(std::int64_t least, std::int64_t* out) {
    if (take(out, 8)) return kFailed;
    const std::int64_t most = least ? left_ / least : kMostEmpty;
    if (*out >= 0 && *out <= most) return kOk;
    return fail(
        fmt::format("deserialize: a length of {} does not fit the {} bytes that are left", *out, left_));
}

std::int32_t Reader::boolean(char* out) {
    if (take(out, 1)) return kFailed;
    return *out == 0 || *out == 1 ? kOk
                                  : fail(fmt::format("deserialize: a bool is {}, not 0 or 1", *out & 255));
}

std::int32_t Reader::elements(const WeldType* elem, char* out, std::int64_t count) {
    if (!elem->size) return kOk;
    if (copies(elem) || is_float(elem)) return take(out, count * elem->size);
    return in_strips(task_, 0, count, loc_, [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i)
            if (read(elem, out + i * elem->size)) return kFailed;
        return kOk;
    });
}

std::int32_t Reader::vec(const WeldType* elem, char* out) {
    bool fixed = true;
    WeldVec v{nullptr, 0};
    if (count(least_bytes(elem, &fixed), &v.len)) return kFailed;
    v.data = allocate_array(task_, v.len, elem->size, loc_);
    if (!v.data || elements(elem, static_cast<char*>(v.data), v.len)) return kFailed;
    std::memcpy(out, &v, sizeof v);
    return kOk;
}

/// Reads one entry to `pair` and puts it into the dictionary.
std::int32_t Reader::entry(const WeldType* t, WeldDict* d, char* pair) {
    if (read(t->args[0], pair) || read(t->args[1], pair + d->value_at)) return kFailed;
    make_canonical(t->args[0], pair);
    return with_key_kind(d->kind, [&](auto kind) -> std::int32_t {
        bool added;
        const std::int64_t number = find_or_add<kind()>(task_, d, sought<kind()>(d, pair), &added, loc_);
        if (number < 0) return kFailed;
        if (!added) return fail("deserialize: a dictionary holds a key twice");
        std::memcpy(d->entry(number) + d->value_at, pair + d->value_at, std::size_t(d->value_size));
        return kOk;
    });
}

std::int32_t Reader::dict(const WeldType* t, char* out) {
    const WeldType* key = t->args[0];
    const WeldType* value = t->args[1];
    bool fixed = true;
    std::int64_t entries;
    if (count(least_bytes(key, &fixed) + least_bytes(value, &fixed), &entries)) return kFailed;
    WeldDict* d = new_table(task_, key, value->size, value->align, loc_);
    if (!d || reserve(task_, d, entries, loc_)) return kFailed;
    char* pair = static_cast<char*>(allocate_array(task_, 1, d->pair_size, loc_));
    if (!pair) return kFailed;
    const auto read_strip = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i)
            if (entry(t, d, pair)) return kFailed;
        return kOk;
    };
    if (in_strips(task_, 0, entries, loc_, read_strip)) return kFailed;
    release(task_, pair);
    std::memcpy(out, &d, sizeof d);
    return kOk;
}

std::int32_t Reader::read(const WeldType* t, char* out) {
    switch (t->kind) {
        case kWeldBool: return boolean(out);
        case kWeldVec: return vec(t->args[0], out);
        case kWeldDict: return dict(t, out);
        case kWeldSimd: return elements(t->args[0], out, lanes_of(t));
        case kWeldStruct:
            for (std::uint32_t i = 0; i < t->num_args; ++i)
                if (read(t->args[i], out + t->offsets[i])) return kFailed;
            return kOk;
        default: return take(out, t->size);
    }
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

std::int32_t weld_rt_serialize(WeldTask* t, const WeldType* type, const void* value, WeldVec* out,
                               std::int32_t loc) {
    Task* task = task_of(t);
    const std::int64_t begin = task->run->serialize_header ? sizeof(Header) : 0;
    Counter counter(task, loc);
    if (counter.add(type, static_cast<const char*>(value))) return kFailed;
    const std::int64_t bytes = begin + counter.bytes;
    char* data = static_cast<char*>(allocate_array(task, bytes, 1, loc));
    if (!data) return kFailed;
    *out = {data, bytes};
    const Header header{.type = begin ? hash_of(type) : 0};
    if (begin) std::memcpy(data, &header, sizeof header);
    return Writer(task, data + begin, loc).write(type, static_cast<const char*>(value));
}

std::int32_t weld_rt_deserialize(WeldTask* t, const WeldType* type, const WeldVec* bytes, void* out,
                                 std::int32_t loc) {
    Reader reader(task_of(t), *bytes, loc);
    if (t->run->serialize_header && reader.header(type)) return kFailed;
    return reader.read(type, static_cast<char*>(out)) ? kFailed : reader.end();
}
}
