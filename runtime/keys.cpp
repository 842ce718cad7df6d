// Hash and equality of keys of any type.
#include "runtime/keys.h"

namespace weld::runtime {

KeyKind key_kind(const WeldType* key) {
    if (key->kind == kWeldF32) return KeyKind::F32;
    if (key->kind == kWeldF64) return KeyKind::F64;
    if (key->kind == kWeldVec && bytes_decide(key->args[0])) return KeyKind::Bytes;
    if (!key->plain || (key->kind != kWeldBool && !bytes_decide(key))) return KeyKind::Any;
    switch (key->size) {
        case 1: return KeyKind::Plain1;
        case 2: return KeyKind::Plain2;
        case 4: return KeyKind::Plain4;
        case 8: return KeyKind::Plain8;
        case 16: return KeyKind::Plain16;
        default: return KeyKind::Any;
    }
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
