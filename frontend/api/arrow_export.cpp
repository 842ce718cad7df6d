// Results as Arrow arrays. An array owns what its buffers are: memory of the library, which it holds on to,
// or copies of what a result points to elsewhere.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "frontend/api/c_handles.h"
#include "weld/arrow.h"
#include "weldir/support/utf8.h"

using namespace weld;
using namespace weld::c_api;

namespace {

/// What an exported array owns.
struct Exported {
    Holds holds;
    std::vector<const void*> buffers;
    std::vector<std::unique_ptr<char[]>> blocks;
    std::vector<ArrowArray> children;
    std::vector<ArrowArray*> pointers;

    template <class T>
    T* make(std::int64_t count) {
        blocks.push_back(std::make_unique<char[]>(std::size_t(count) * sizeof(T) + 1));
        return reinterpret_cast<T*>(blocks.back().get());
    }
    const void* own(const void* data, std::int64_t bytes) {
        if (const Hold hold = bytes ? Holder().find(data, false) : nullptr) {
            holds.insert(hold);
            return data;
        }
        char* copy = make<char>(bytes);
        if (bytes) std::memcpy(copy, data, std::size_t(bytes));
        return copy;
    }
};
struct ExportedSchema {
    std::string format, name;
    std::vector<ArrowSchema> children;
    std::vector<ArrowSchema*> pointers;
};

template <class Owner, class T>
void release(T* exported) {
    auto* owner = static_cast<Owner*>(exported->private_data);
    for (T& child : owner->children)
        if (child.release) child.release(&child);
    exported->release = nullptr;
    delete owner;
}

/// Fills in a structure whose owner is complete.
void finish(std::unique_ptr<Exported> owner, std::int64_t length, ArrowArray* out) {
    for (ArrowArray& child : owner->children) owner->pointers.push_back(&child);
    *out = {.length = length,
            .n_buffers = std::int64_t(owner->buffers.size()),
            .n_children = std::int64_t(owner->children.size()),
            .buffers = owner->buffers.data(),
            .children = owner->pointers.data(),
            .release = release<Exported, ArrowArray>};
    out->private_data = owner.release();
}
void finish(std::unique_ptr<ExportedSchema> owner, ArrowSchema* out) {
    for (ArrowSchema& child : owner->children) owner->pointers.push_back(&child);
    *out = {.format = owner->format.c_str(),
            .name = owner->name.c_str(),
            .n_children = std::int64_t(owner->children.size()),
            .children = owner->pointers.data(),
            .release = release<ExportedSchema, ArrowSchema>};
    out->private_data = owner.release();
}

bool is_vec_of(const WeldType* t, int kind) { return t->kind == kWeldVec && t->args[0]->kind == kind; }
/// {vec[i64],vec[u8]}: offsets and bytes.
bool is_strings(const WeldType* t) {
    return t->kind == kWeldStruct && t->num_args == 2 && is_vec_of(t->args[0], kWeldI64) &&
           is_vec_of(t->args[1], kWeldU8);
}

/// The format of an array of that type; empty if there is none.
std::string format_of(const WeldType* t) {
    if (is_strings(t)) return "U";
    if (t->kind == kWeldStruct && t->num_args) return "+s";
    if (t->kind != kWeldVec) return "";
    const WeldType* elem = t->args[0];
    switch (elem->kind) {
        case kWeldBool: return "b";
        case kWeldI8: return "c";
        case kWeldI16: return "s";
        case kWeldI32: return "i";
        case kWeldI64: return "l";
        case kWeldU8: return "C";
        case kWeldU16: return "S";
        case kWeldU32: return "I";
        case kWeldU64: return "L";
        case kWeldF32: return "f";
        case kWeldF64: return "g";
        default: return is_vec_of(elem, kWeldI8) ? "U" : is_vec_of(elem, kWeldU8) ? "Z" : "";
    }
}

bool has_format(const WeldType* t) {
    const std::string format = format_of(t);
    if (format != "+s") return !format.empty();
    for (std::uint32_t i = 0; i < t->num_args; ++i)
        if (!has_format(t->args[i])) return false;
    return true;
}

ArrowSchema schema_of(const WeldType* t, std::string name) {
    auto owner = std::make_unique<ExportedSchema>();
    owner->format = format_of(t);
    owner->name = std::move(name);
    for (std::uint32_t i = 0; owner->format == "+s" && i < t->num_args; ++i)
        owner->children.push_back(schema_of(t->args[i], std::to_string(i)));
    ArrowSchema schema;
    finish(std::move(owner), &schema);
    return schema;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t size = utf8_sequence(text);
        if (!size) return false;
        text.remove_prefix(size);
    }
    return true;
}

class Exporter {
  public:
    /// Returns what hinders it; `out` is to be released only if nothing does.
    static std::string array(const WeldType* t, const char* at, ArrowArray* out) {
        auto owner = std::make_unique<Exported>();
        std::int64_t length = 0;
        std::string wrong;
        if (is_strings(t)) wrong = offsets_and_bytes(t, at, owner.get(), &length);
        else if (t->kind == kWeldStruct) wrong = columns(t, at, owner.get(), &length);
        else if (t->args[0]->kind == kWeldVec) wrong = vectors(t->args[0], load(at), owner.get(), &length);
        else elements(t->args[0], load(at), owner.get(), &length);
        if (wrong.empty()) finish(std::move(owner), length, out);
        else
            for (ArrowArray& child : owner->children) child.release(&child);
        return wrong;
    }

  private:
    static WeldVec load(const char* at) {
        WeldVec v;
        std::memcpy(&v, at, sizeof v);
        return v;
    }

    static void elements(const WeldType* elem, const WeldVec& v, Exported* owner, std::int64_t* length) {
        *length = v.len;
        owner->buffers = {nullptr, elem->kind == kWeldBool
                                       ? packed(static_cast<const std::uint8_t*>(v.data), v.len, owner)
                                       : owner->own(v.data, v.len * elem->size)};
    }

    static const void* packed(const std::uint8_t* bytes, std::int64_t count, Exported* owner) {
        auto* bits = owner->make<std::uint8_t>((count + 7) / 8);
        for (std::int64_t i = 0; i < count; ++i) bits[i >> 3] |= std::uint8_t((bytes[i] != 0) << (i & 7));
        return bits;
    }

    static std::string vectors(const WeldType* elem, const WeldVec& v, Exported* owner,
                               std::int64_t* length) {
        const auto* all = static_cast<const WeldVec*>(v.data);
        auto* offsets = owner->make<std::int64_t>(v.len + 1);
        offsets[0] = 0;
        for (std::int64_t i = 0; i < v.len; ++i) offsets[i + 1] = offsets[i] + all[i].len;
        char* bytes = owner->make<char>(offsets[v.len]);
        for (std::int64_t i = 0; i < v.len; ++i)
            if (all[i].len) std::memcpy(bytes + offsets[i], all[i].data, std::size_t(all[i].len));
        owner->buffers = {nullptr, offsets, bytes};
        *length = v.len;
        return is_vec_of(elem, kWeldU8) ? "" : check_text(offsets, bytes, v.len);
    }

    static std::string check_text(const std::int64_t* offsets, const char* bytes, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i)
            if (!is_utf8({bytes + offsets[i], std::size_t(offsets[i + 1] - offsets[i])}))
                return fmt::format("string {} is not UTF-8", i);
        return {};
    }

    static std::string offsets_and_bytes(const WeldType* t, const char* at, Exported* owner,
                                         std::int64_t* length) {
        const WeldVec offsets = load(at + t->offsets[0]), bytes = load(at + t->offsets[1]);
        const auto* o = static_cast<const std::int64_t*>(offsets.data);
        for (std::int64_t i = 0; i < offsets.len; ++i)
            if (o[i] < (i ? o[i - 1] : 0) || o[i] > bytes.len)
                return fmt::format("offset {} is out of order or beyond the {} bytes", o[i], bytes.len);
        *length = std::max<std::int64_t>(0, offsets.len - 1);
        owner->buffers = {
            nullptr, offsets.len ? owner->own(offsets.data, offsets.len * 8) : owner->make<std::int64_t>(1),
            owner->own(bytes.data, bytes.len)};
        return check_text(o, static_cast<const char*>(bytes.data), *length);
    }

    static std::string columns(const WeldType* t, const char* at, Exported* owner, std::int64_t* length) {
        owner->buffers = {nullptr};
        owner->children.reserve(t->num_args);
        for (std::uint32_t i = 0; i < t->num_args; ++i) {
            ArrowArray child;
            if (std::string wrong = array(t->args[i], at + t->offsets[i], &child); !wrong.empty())
                return fmt::format("field {}: {}", i, wrong);
            owner->children.push_back(child);
            if (i && child.length != *length)
                return fmt::format("field {} has the length {}, those before it {}", i, child.length,
                                   *length);
            *length = child.length;
        }
        return {};
    }
};

}  // namespace

uint64_t weld_value_to_arrow(weld_value_t value, struct ArrowArray* array, struct ArrowSchema* schema,
                             weld_error_t error) {
    const auto refuse = [&](const std::string& what) {
        fail_argument(error, what);
        return std::uint64_t(WELD_INVALID_ARGUMENT);
    };
    try {
        const auto v = find<WeldValue>(value);
        if (!v || !v->result || !array || !schema)
            return refuse("not the result of a run, or no room for the array");
        const WeldType* type = v->result->program().result();
        if (!has_format(type)) return refuse(fmt::format("there is no Arrow array for `{}`", v->type));
        const std::string wrong = Exporter::array(type, static_cast<const char*>(v->data), array);
        if (!wrong.empty()) return refuse(wrong);
        *schema = schema_of(type, "");
        succeed(error);
        return WELD_SUCCESS;
    } catch (const std::bad_alloc&) {
        fail(error, WELD_OUT_OF_MEMORY, "out of memory");
        return WELD_OUT_OF_MEMORY;
    }
}
