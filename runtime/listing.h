// The entries of dictionaries in an order that depends on nothing but the entries: that of `tovec`.
//
// Few come in the ascending order of their keys. Of many with keys that are scalars or strings that would
// cost more than all else that is done to them; they come in the order of their tags, which tables have them
// in nearly.
#pragma once

#include <algorithm>
#include <span>

#include "runtime/hash_table.h"

namespace weld::runtime {

/// More entries than these come in the order of tags.
constexpr std::int64_t kMostInKeyOrder = 1 << 14;

/// The order of entries with the same tag, of which there are few: by the bytes of their keys, or of the
/// strings that these are, shorter ones first.
inline bool has_lesser_key(const WeldDict* d, const char* a, const char* b) {
    if (d->kind != KeyKind::Bytes) return std::memcmp(a, b, std::size_t(d->key_size)) < 0;
    const WeldVec u = load<WeldVec>(a), v = load<WeldVec>(b);
    if (u.len != v.len) return u.len < v.len;
    return u.len > 0 && std::memcmp(u.data, v.data, std::size_t(bytes_of(d, u))) < 0;
}

/// Sorts what stands for entries, of which tag(one) and key(one), an address, are those, and which is nearly sorted by tag.
template <class T, class Tag, class Key>
void sort_by_tag(const WeldDict* d, std::span<T> all, const Tag& tag, const Key& key) {
    const auto before = [&](const T& a, const T& b) {
        const std::uint32_t of_a = tag(a), of_b = tag(b);
        return of_a != of_b ? of_a < of_b : has_lesser_key(d, key(a), key(b));
    };
    std::size_t steps = 16 * all.size();  // more are made only for keys that were chosen for it
    for (std::size_t i = 1; i < all.size(); ++i) {
        const T one = all[i];
        std::size_t at = i;
        for (; at > 0 && before(one, all[at - 1]) && steps; --at, --steps) all[at] = all[at - 1];
        all[at] = one;
    }
    if (!steps) std::sort(all.begin(), all.end(), before);
}

/// The numbers of the entries in the order of `tovec`; keys have type `key`. Null after recording the
/// failure; release it.
std::uint64_t* order_of_entries(Task* task, const WeldDict* d, const WeldType* key, std::int32_t loc);

}  // namespace weld::runtime
