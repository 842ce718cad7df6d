// Hash and equality of keys of any type.
#include "runtime/keys.h"

namespace weld::runtime {

/// Scalars, and structs of them.
static bool is_flat(const WeldType* t) {
    return !any_part(t, [](const WeldType* p) { return !is_scalar(p) && p->kind != kWeldStruct; });
}

KeyKind key_kind(const WeldType* key) {
    if (key->kind == kWeldVec && bytes_decide(key->args[0])) return KeyKind::Bytes;
    if (!is_flat(key)) return KeyKind::Any;
    switch (key->size) {
        case 1: return KeyKind::Plain1;
        case 2: return KeyKind::Plain2;
        case 4: return KeyKind::Plain4;
        case 8: return KeyKind::Plain8;
        case 12: return KeyKind::Plain12;
        case 16: return KeyKind::Plain16;
        default: return KeyKind::Any;
    }
}

void make_canonical(const WeldType* t, char* at) {
    const auto set = [=](auto x) { std::memcpy(at, &x, sizeof x); };
    switch (t->kind) {
        case kWeldBool: return set(std::uint8_t(*at != 0));
        case kWeldF32: return set(key_bits(load<float>(at)));
        case kWeldF64: return set(key_bits(load<double>(at)));
        case kWeldStruct: break;
        default: return;
    }
    for (std::uint32_t i = 0; i < t->num_args; ++i) make_canonical(t->args[i], at + t->offsets[i]);
    each_padding(t, 0, [=](std::int64_t offset) { at[offset] = 0; });
}

void each_padding(const WeldType* t, std::int64_t offset, const std::function<void(std::int64_t)>& f) {
    if (t->kind != kWeldStruct) return;
    std::int64_t end = 0;  // of the field before
    const auto gap = [&](std::int64_t next) {
        for (; end < next; ++end) f(offset + end);
    };
    for (std::uint32_t i = 0; i < t->num_args; ++i) {
        gap(t->offsets[i]);
        each_padding(t->args[i], offset + t->offsets[i], f);
        end += t->args[i]->size;
    }
    gap(t->size);
}

/// The bits that decide about a scalar.
static std::uint64_t scalar_bits(const WeldType* t, const void* p) {
    switch (t->kind) {
        case kWeldBool: return load<std::uint8_t>(p) != 0;
        case kWeldF32: return key_bits(load<float>(p));
        case kWeldF64: return key_bits(load<double>(p));
        default: break;
    }
    switch (t->size) {
        case 1: return load<std::uint8_t>(p);
        case 2: return load<std::uint16_t>(p);
        case 4: return load<std::uint32_t>(p);
        default: return load<std::uint64_t>(p);
    }
}

static std::uint64_t hash_from(std::uint64_t h, const WeldType* t, const void* key);

static std::uint64_t hash_sequence(std::uint64_t h, const WeldType* elem, const void* data,
                                   std::int64_t count) {
    if (bytes_decide(elem)) return hash_step(h, hash_bytes(data, count * elem->size));
    for (std::int64_t i = 0; i < count; ++i)
        h = hash_from(h, elem, static_cast<const char*>(data) + i * elem->size);
    return h;
}

static std::uint64_t hash_from(std::uint64_t h, const WeldType* t, const void* key) {
    switch (t->kind) {
        case kWeldSimd: return hash_sequence(h, t->args[0], key, lanes_of(t));
        case kWeldVec: {
            const WeldVec v = load<WeldVec>(key);
            return hash_sequence(hash_step(h, std::uint64_t(v.len)), t->args[0], v.data, v.len);
        }
        case kWeldStruct:
            for (std::uint32_t i = 0; i < t->num_args; ++i)
                h = hash_from(h, t->args[i], static_cast<const char*>(key) + t->offsets[i]);
            return h;
        default: return hash_step(h, scalar_bits(t, key));
    }
}

std::uint64_t hash_any(const WeldType* t, const void* key) { return hash_from(0, t, key); }

static bool equal_sequences(const WeldType* elem, const void* a, const void* b, std::int64_t count) {
    if (bytes_decide(elem)) return equal_bytes(a, b, count * elem->size);
    for (std::int64_t i = 0; i < count; ++i)
        if (!equal_any(elem, static_cast<const char*>(a) + i * elem->size,
                       static_cast<const char*>(b) + i * elem->size))
            return false;
    return true;
}

bool equal_any(const WeldType* t, const void* a, const void* b) {
    switch (t->kind) {
        case kWeldSimd: return equal_sequences(t->args[0], a, b, lanes_of(t));
        case kWeldVec: {
            const WeldVec u = load<WeldVec>(a), v = load<WeldVec>(b);
            return u.len == v.len && equal_sequences(t->args[0], u.data, v.data, u.len);
        }
        case kWeldStruct:
            for (std::uint32_t i = 0; i < t->num_args; ++i)
                if (!equal_any(t->args[i], static_cast<const char*>(a) + t->offsets[i],
                               static_cast<const char*>(b) + t->offsets[i]))
                    return false;
            return true;
        default: return scalar_bits(t, a) == scalar_bits(t, b);
    }
}

}  // namespace weld::runtime
