// weld_rt_compare, and the total order that sorting by key uses.
#include "runtime/entry.h"
#include "runtime/keys.h"
#include "runtime/merge.h"
#include "runtime/order.h"

namespace weld::runtime {

namespace {

constexpr int kUnordered = 2;

template <bool Total>
int compare(const WeldType* t, const char* a, const char* b);

template <bool Total>
int compare_scalars(const WeldType* t, const char* a, const char* b) {
    if (t->kind == kWeldBool) return int(*a != 0) - int(*b != 0);
    return with_scalar(t->kind, [&]<class T>(T) {
        const T x = load<T>(a), y = load<T>(b);
        if (x < y) return -1;
        if (y < x) return 1;
        if (x == y) return 0;
        return Total ? int(x != x) - int(y != y) : kUnordered;
    });
}

template <bool Total>
int compare_sequences(const WeldType* elem, const char* a, const char* b, std::int64_t count) {
    if (!elem->size) return 0;
    if (elem->kind == kWeldU8) {
        const int c = count ? std::memcmp(a, b, std::size_t(count)) : 0;
        return (c > 0) - (c < 0);
    }
    for (std::int64_t i = 0; i < count; ++i)
        if (const int c = compare<Total>(elem, a + i * elem->size, b + i * elem->size)) return c;
    return 0;
}

template <bool Total>
int compare(const WeldType* t, const char* a, const char* b) {
    switch (t->kind) {
        case kWeldVec: {
            const WeldVec u = load<WeldVec>(a), v = load<WeldVec>(b);
            const int c = compare_sequences<Total>(t->args[0], static_cast<const char*>(u.data),
                                                   static_cast<const char*>(v.data), std::min(u.len, v.len));
            return c ? c : int(u.len > v.len) - int(u.len < v.len);
        }
        case kWeldSimd: return compare_sequences<Total>(t->args[0], a, b, lanes_of(t));
        case kWeldStruct:
            for (std::uint32_t i = 0; i < t->num_args; ++i)
                if (const int c = compare<Total>(t->args[i], a + t->offsets[i], b + t->offsets[i])) return c;
            return 0;
        default: return compare_scalars<Total>(t, a, b);
    }
}

}  // namespace

int compare_totally(const WeldType* t, const void* a, const void* b) {
    return compare<true>(t, static_cast<const char*>(a), static_cast<const char*>(b));
}

}  // namespace weld::runtime

extern "C" std::int32_t weld_rt_compare(const WeldType* type, const void* a, const void* b) noexcept {
    return weld::runtime::compare<false>(type, static_cast<const char*>(a), static_cast<const char*>(b));
}
