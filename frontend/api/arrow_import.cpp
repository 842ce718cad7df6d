// Arrow arrays as arguments. What Weld cannot read where it is (packed bools, offsets of another width, a
// {pointer, length} per string) is made beside it and lives as long as the value.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "frontend/api/c_handles.h"
#include "runtime/owners.h"
#include "weld/arrow.h"

using namespace weld;
using namespace weld::c_api;

namespace {

/// What goes with a value: the arrays, and memory that was made for it.
struct Imported : std::enable_shared_from_this<Imported> {
    std::vector<ArrowArray> arrays;
    std::vector<std::unique_ptr<char[]>> blocks;
    std::vector<std::span<const char>> seen;  ///< where vectors of the value point to

    /// Results that point there as well hold on to this.
    void lend() {
        for (; num_lent < seen.size(); ++num_lent)
            runtime::Owners::all().add(seen[num_lent], this, weak_from_this());
    }
    ~Imported() {
        while (num_lent) runtime::Owners::all().remove(seen[--num_lent], this);
        for (ArrowArray& array : arrays)
            if (array.release) array.release(&array);
    }
    template <class T>
    T* make(std::int64_t count) {
        // new char[] is aligned for every type that is needed here
        blocks.push_back(std::make_unique<char[]>(std::size_t(count) * sizeof(T) + 1));
        return reinterpret_cast<T*>(blocks.back().get());
    }

  private:
    std::size_t num_lent = 0;
};

/// An array, or the part of it that a struct array around it shows.
struct Slice {
    const ArrowSchema* schema;
    const ArrowArray* array;
    std::int64_t begin;  ///< from the beginnings of the buffers
    std::int64_t length;

    std::string_view format() const { return schema->format ? schema->format : ""; }
    template <class T>
    const T* buffer(int i) const {
        return i < array->n_buffers ? static_cast<const T*>(array->buffers[i]) : nullptr;
    }
};

/// The kind of scalar that the elements of a primitive array are; -1 for other arrays.
int kind_of_elements(std::string_view format) {
    if (format.size() == 1) switch (format[0]) {
            case 'c': return kWeldI8;
            case 's': return kWeldI16;
            case 'i': return kWeldI32;
            case 'l': return kWeldI64;
            case 'C': return kWeldU8;
            case 'S': return kWeldU16;
            case 'I': return kWeldU32;
            case 'L': return kWeldU64;
            case 'f': return kWeldF32;
            case 'g': return kWeldF64;
        }
    if (format == "tdD" || format == "tts" || format == "ttm" || format == "tiM") return kWeldI32;
    if (format == "tdm" || format == "ttu" || format == "ttn" || format.starts_with("ts") ||
        format.starts_with("tD"))
        return kWeldI64;
    return -1;
}

bool is_strings(std::string_view format) {
    return format == "u" || format == "z" || format == "U" || format == "Z";
}
bool has_long_offsets(std::string_view format) { return format == "U" || format == "Z"; }

bool is_vec_of(const WeldType* t, int kind) { return t->kind == kWeldVec && t->args[0]->kind == kind; }
bool is_bytes(const WeldType* t) { return is_vec_of(t, kWeldI8) || is_vec_of(t, kWeldU8); }

bool is_set(const std::uint8_t* bits, std::int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

class Importer {
  public:
    explicit Importer(Imported* imported) : imported_(*imported) {}

    /// Writes the value of type `t` that the array is to `out`. Returns what hinders it.
    std::string import(const WeldType* t, const Slice& in, char* out) {
        if (std::string wrong = check(in); !wrong.empty()) return wrong;
        if (in.format() == "+s" && t->kind == kWeldStruct) return columns(t, in, out);
        if (is_strings(in.format()))
            return has_long_offsets(in.format()) ? strings<std::int64_t>(t, in, out)
                                                 : strings<std::int32_t>(t, in, out);
        if (in.format() == "b" && is_vec_of(t, kWeldBool)) return bools(in, out);
        const int kind = kind_of_elements(in.format());
        if (kind >= 0 && is_vec_of(t, kind)) return elements(t->args[0], in, out);
        return misfit(t, in);
    }

  private:
    static std::string misfit(const WeldType* t, const Slice& in) {
        return fmt::format("an Arrow array of format `{}` is no `{}`", in.format(), name_of(t));
    }

    static std::string check(const Slice& in) {
        if (in.schema->dictionary) return "dictionary-encoded Arrow arrays are not supported";
        if (in.length < 0 || in.begin < 0) return "the Arrow array has a negative length or offset";
        const auto* valid =
            in.array->null_count == 0 || in.array->n_buffers < 1 ? nullptr : in.buffer<std::uint8_t>(0);
        for (std::int64_t i = in.begin; valid && i < in.begin + in.length; ++i)
            if (!is_set(valid, i)) return fmt::format("the Arrow array has a null, at {}", i - in.begin);
        return {};
    }

    static std::string no_buffer() { return "the Arrow array lacks a buffer"; }

    void note(const void* data, std::int64_t bytes) {
        imported_.seen.push_back({static_cast<const char*>(data), std::size_t(bytes)});
    }
    template <class T>
    void put(char* out, const T* data, std::int64_t len, std::int64_t size = sizeof(T)) {
        const WeldVec v = {const_cast<T*>(data), len};
        std::memcpy(out, &v, sizeof v);
        note(data, len * size);
    }

    std::string elements(const WeldType* elem, const Slice& in, char* out) {
        const char* data = in.buffer<char>(1);
        if (!data && in.length) return no_buffer();
        if (in.length) data += in.begin * elem->size;
        if (reinterpret_cast<std::uintptr_t>(data) % std::size_t(elem->align)) {
            char* aligned = imported_.make<char>(in.length * elem->size);
            std::memcpy(aligned, data, std::size_t(in.length * elem->size));
            data = aligned;
        }
        put(out, data, in.length, elem->size);
        return {};
    }

    std::string bools(const Slice& in, char* out) {
        const auto* bits = in.buffer<std::uint8_t>(1);
        if (!bits && in.length) return no_buffer();
        auto* bytes = imported_.make<std::uint8_t>(in.length);
        for (std::int64_t i = 0; i < in.length; ++i) bytes[i] = is_set(bits, in.begin + i);
        put(out, bytes, in.length);
        return {};
    }

    /// By fields, whose part is that of the struct array.
    std::string columns(const WeldType* t, const Slice& in, char* out) {
        if (in.schema->n_children != t->num_args || in.array->n_children != t->num_args)
            return fmt::format("an Arrow struct of {} fields is no `{}`", in.schema->n_children, name_of(t));
        for (std::uint32_t i = 0; i < t->num_args; ++i) {
            const ArrowArray* child = in.array->children[i];
            if (child->length < in.begin + in.length) return "a field of the Arrow struct is too short";
            const Slice part = {in.schema->children[i], child, child->offset + in.begin, in.length};
            std::string wrong = import(t->args[i], part, out + t->offsets[i]);
            if (!wrong.empty()) return fmt::format("field {}: {}", i, wrong);
        }
        return {};
    }

    template <class Offset>
    std::string strings(const WeldType* t, const Slice& in, char* out) {
        static constexpr Offset kNone[1] = {0};
        const auto* offsets = in.buffer<Offset>(1);
        if (!offsets && in.length) return no_buffer();
        offsets = in.length ? offsets + in.begin : kNone;
        const char* bytes = in.buffer<char>(2);
        for (std::int64_t i = 0; i < in.length; ++i)
            if (offsets[i] < 0 || offsets[i] > offsets[i + 1])
                return "the offsets of the Arrow array are not in order";
        if (!bytes && offsets[in.length] > 0) return no_buffer();
        if (t->kind == kWeldVec && is_bytes(t->args[0])) return vectors(offsets, bytes, in.length, out);
        if (t->kind == kWeldStruct && t->num_args == 2 && is_bytes(t->args[1])) {
            put(out + t->offsets[1], bytes, offsets[in.length]);
            if (is_vec_of(t->args[0], sizeof(Offset) == 8 ? kWeldI64 : kWeldI32))
                return put(out + t->offsets[0], offsets, in.length + 1), std::string();
            if (is_vec_of(t->args[0], kWeldI64)) return widened(offsets, in.length + 1, out + t->offsets[0]);
        }
        return misfit(t, in);
    }

    template <class Offset>
    std::string vectors(const Offset* offsets, const char* bytes, std::int64_t count, char* out) {
        auto* all = imported_.make<WeldVec>(count);
        for (std::int64_t i = 0; i < count; ++i)
            all[i] = {const_cast<char*>(bytes + offsets[i]), std::int64_t(offsets[i + 1]) - offsets[i]};
        put(out, all, count);
        note(bytes + offsets[0], std::int64_t(offsets[count]) - offsets[0]);
        return {};
    }

    template <class Offset>
    std::string widened(const Offset* offsets, std::int64_t count, char* out) {
        auto* wide = imported_.make<std::int64_t>(count);
        for (std::int64_t i = 0; i < count; ++i) wide[i] = offsets[i];
        put(out, wide, count);
        return {};
    }

    Imported& imported_;
};

std::string import_all(const WeldType* params, ArrowArray* const* arrays, const ArrowSchema* const* schemas,
                       Imported* imported, char* out) {
    Importer importer(imported);
    for (std::uint32_t i = 0; i < params->num_args; ++i) {
        const ArrowArray* array = arrays[i];
        if (!array || !array->release || !schemas[i] || !schemas[i]->release)
            return fmt::format("array {} was released", i);
        const std::string wrong = importer.import(
            params->args[i], {schemas[i], array, array->offset, array->length}, out + params->offsets[i]);
        if (!wrong.empty()) return fmt::format("array {}: {}", i, wrong);
    }
    return {};
}

}  // namespace

weld_value_t weld_value_from_arrow(weld_module_t module, struct ArrowArray* const* arrays,
                                   const struct ArrowSchema* const* schemas, int64_t count,
                                   weld_error_t error) {
    return guarded(error, [&]() -> weld_value_t {
        const auto m = find<WeldModule>(module);
        if (!m) return fail_argument(error, "not a module");
        const WeldType* params = m->program->args();
        if (count != params->num_args || (count && (!arrays || !schemas)))
            return fail_argument(error, fmt::format("the program takes {} arguments, found {} arrays",
                                                    params->num_args, count));
        const auto imported = std::make_shared<Imported>();
        char* out = imported->make<char>(params->size);
        const std::string wrong = import_all(params, arrays, schemas, imported.get(), out);
        if (!wrong.empty()) return fail_argument(error, wrong);
        imported->arrays.reserve(std::size_t(count));
        imported->lend();
        WeldValue* value = Handles::all().make<WeldValue>(out, imported);
        for (std::int64_t i = 0; i < count; ++i) {
            imported->arrays.push_back(*arrays[i]);
            arrays[i]->release = nullptr;
        }
        succeed(error);
        return value;
    });
}
