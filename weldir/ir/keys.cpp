// Kinds of keys by type.
#include "weldir/ir/keys.h"

#include <algorithm>
#include <functional>

#include "weldir/ir/layout.h"

namespace weld {

static bool holds_bool(const Type* t) {
    return t->is_struct() ? std::ranges::any_of(t->args, holds_bool) : t->is_bool();
}

/// Equal values have equal bytes, input from users included (where a bool may be any byte).
static bool bytes_decide(const Type* t) { return is_plain(t) && !holds_bool(t); }

bool is_bytes_key(const Type* t) { return t->is_vec() && bytes_decide(t->elem()); }

static bool is_flat(const Type* t) {
    return t->is_struct() ? std::ranges::all_of(t->args, is_flat) : t->is_scalar();
}

bool is_word_key(const Type* t) {
    if (!is_flat(t)) return false;
    const std::int64_t size = size_of(t);
    return size == 1 || size == 2 || size == 4 || size == 8;
}

bool is_two_word_key(const Type* t) { return is_flat(t) && (size_of(t) == 12 || size_of(t) == 16); }

bool is_sought_inline(const Type* key) {
    if (key->is_struct()) return std::ranges::all_of(key->args, is_sought_inline);
    return key->is_scalar() || is_bytes_key(key);
}

bool has_places(const Type* key) {
    int fields = 0;
    const std::function<bool(const Type*)> is_integral = [&](const Type* t) {
        if (t->is_struct()) return std::ranges::all_of(t->args, is_integral);
        ++fields;
        return t->is_scalar() && !is_float(t->scalar);
    };
    return is_integral(key) && fields > 0 && fields <= kMostPlacedFields;
}

}  // namespace weld
