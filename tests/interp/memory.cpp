// Storing values to memory and loading them.
#include "tests/interp/memory.h"

#include <cstdlib>
#include <cstring>

#include "runtime/abi/weld_abi.h"
#include "weldir/ir/layout.h"

namespace weld::interp {

void Memory::Free::operator()(void* p) const { std::free(p); }

void* Memory::allocate(std::size_t bytes) {
    const std::size_t rounded = (bytes + 63) / 64 * 64;
    void* p = std::aligned_alloc(64, rounded ? rounded : 64);
    std::memset(p, 0, rounded ? rounded : 64);
    blocks_.emplace_back(p);
    return p;
}

static std::byte* field(void* at, std::int64_t offset) { return static_cast<std::byte*>(at) + offset; }
static const std::byte* field(const void* at, std::int64_t offset) {
    return static_cast<const std::byte*>(at) + offset;
}

static bool store_array(const Type* elem, const Values& items, void* at, Memory& memory) {
    const std::int64_t size = size_of(elem);
    for (std::size_t i = 0; i < items.size(); ++i)
        if (!store(elem, items[i], field(at, std::int64_t(i) * size), memory)) return false;
    return true;
}

bool store(const Type* t, const Value& v, void* at, Memory& memory) {
    switch (t->kind) {
        case TypeKind::Scalar: std::memcpy(at, &v.bits, std::size_t(size_of(t->scalar))); return true;
        case TypeKind::Simd:
            for (std::size_t i = 0; i < v.items().size(); ++i)
                std::memcpy(field(at, std::int64_t(i) * size_of(t->scalar)), &v.items()[i].bits,
                            std::size_t(size_of(t->scalar)));
            return true;
        case TypeKind::Struct: {
            const std::vector<std::int64_t> offsets = offsets_of(t->args);
            for (std::size_t i = 0; i < t->args.size(); ++i)
                if (!store(t->args[i], v.items()[i], field(at, offsets[i]), memory)) return false;
            return true;
        }
        case TypeKind::Vec: {
            WeldVec vec{nullptr, std::int64_t(v.items().size())};
            if (vec.len) vec.data = memory.allocate(std::size_t(vec.len * size_of(t->elem())));
            std::memcpy(at, &vec, sizeof vec);
            return store_array(t->elem(), v.items(), vec.data, memory);
        }
        case TypeKind::Dict:
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
    return false;
}

void* store_arguments(std::span<const Type* const> types, std::span<const Value> values, Memory& memory) {
    const std::vector<std::int64_t> offsets = offsets_of(types);
    const std::int64_t bytes = types.empty() ? 0 : offsets.back() + size_of(types.back());
    void* at = memory.allocate(std::size_t(bytes));
    for (std::size_t i = 0; i < types.size(); ++i)
        if (!store(types[i], values[i], field(at, offsets[i]), memory)) return nullptr;
    return at;
}

static Value load_scalar(Scalar s, const void* at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, std::size_t(size_of(s)));
    return scalar_value(s == Scalar::Bool ? bits != 0 : bits);
}

static Value load_array(const Type* elem, const void* data, std::int64_t len, const DictEntries& entries) {
    Values items;
    items.reserve(std::size_t(len));
    const std::int64_t size = size_of(elem);
    for (std::int64_t i = 0; i < len; ++i) items.push_back(load(elem, field(data, i * size), entries));
    return list_value(std::move(items));
}

Value load(const Type* t, const void* at, const DictEntries& entries) {
    switch (t->kind) {
        case TypeKind::Scalar: return load_scalar(t->scalar, at);
        case TypeKind::Simd: {
            Values lanes;
            for (std::uint32_t i = 0; i < t->lanes; ++i)
                lanes.push_back(load_scalar(t->scalar, field(at, std::int64_t(i) * size_of(t->scalar))));
            return list_value(std::move(lanes));
        }
        case TypeKind::Struct: {
            const std::vector<std::int64_t> offsets = offsets_of(t->args);
            Values fields;
            for (std::size_t i = 0; i < t->args.size(); ++i)
                fields.push_back(load(t->args[i], field(at, offsets[i]), entries));
            return list_value(std::move(fields));
        }
        case TypeKind::Vec: {
            WeldVec vec;
            std::memcpy(&vec, at, sizeof vec);
            return load_array(t->elem(), vec.data, vec.len, entries);
        }
        case TypeKind::Dict: {
            Dict d{std::map<Value, Value, KeyLess>(KeyLess{t->key()})};
            const void* dict = nullptr;
            std::memcpy(&dict, at, sizeof dict);
            if (dict && entries)
                entries(t, dict, [&](const void* key, const void* value) {
                    d.entries.emplace(load(t->key(), key, entries), load(t->value(), value, entries));
                });
            return dict_value(std::move(d));
        }
        case TypeKind::Builder:
            if (t->is_builder(BuilderKind::Appender)) {
                WeldAppender a;
                std::memcpy(&a, at, sizeof a);
                return load_array(t->elem(), a.data, a.size, entries);
            }
            break;
        case TypeKind::Function: break;
    }
    return {};
}

}  // namespace weld::interp
