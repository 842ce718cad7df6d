// weld_rt_compare, and the total order that sorting by key uses.
#include "runtime/entry.h"
#include "runtime/keys.h"
#include "runtime/merge.h"
#include "runtime/order.h"

namespace weld::runtime {

namespace {

constexpr int kUnordered = 2;

/// Once the run is to stop everything is equal.
template <bool Total>
class Comparer {
  public:
    explicit Comparer(const Task* task) : task_(task) {}

    int compare(const WeldType* t, const char* a, const char* b) const {
        switch (t->kind) {
            case kWeldVec: {
                const WeldVec u = load<WeldVec>(a), v = load<WeldVec>(b);
                const int c = sequences(t->args[0], static_cast<const char*>(u.data),
                                        static_cast<const char*>(v.data), std::min(u.len, v.len));
                return c ? c : int(u.len > v.len) - int(u.len < v.len);
            }
            case kWeldSimd: return sequences(t->args[0], a, b, lanes_of(t));
            case kWeldStruct:
                for (std::uint32_t i = 0; i < t->num_args; ++i)
                    if (const int c = compare(t->args[i], a + t->offsets[i], b + t->offsets[i])) return c;
                return 0;
            default: return scalars(t, a, b);
        }
    }

  private:
    static int scalars(const WeldType* t, const char* a, const char* b) {
        if (t->kind == kWeldBool) return int(*a != 0) - int(*b != 0);
        return with_scalar(t->kind, [&]<class T>(T) {
            const T x = load<T>(a), y = load<T>(b);
            if (x < y) return -1;
            if (y < x) return 1;
            if (x == y) return 0;
            return Total ? int(x != x) - int(y != y) : kUnordered;
        });
    }

    int sequences(const WeldType* elem, const char* a, const char* b, std::int64_t count) const {
        constexpr std::int64_t strip = 1 << 16;
        if (!elem->size) return 0;
        for (; count > strip; count -= strip, a += strip * elem->size, b += strip * elem->size) {
            if (task_->should_stop()) return 0;
            if (const int c = strip_of(elem, a, b, strip)) return c;
        }
        return strip_of(elem, a, b, count);
    }

    int strip_of(const WeldType* elem, const char* a, const char* b, std::int64_t count) const {
        if (elem->kind == kWeldU8) {
            const int c = count ? std::memcmp(a, b, std::size_t(count)) : 0;
            return (c > 0) - (c < 0);
        }
        if (is_integer(elem) && count && std::memcmp(a, b, std::size_t(count * elem->size)) == 0) return 0;
        if (is_scalar(elem) && elem->kind != kWeldBool)
            return with_scalar(elem->kind, [&]<class T>(T) {
                const auto at = [](const char* of, std::int64_t i) {
                    return of + i * std::int64_t(sizeof(T));
                };
                std::int64_t i = 0;
                while (i < count && load<T>(at(a, i)) == load<T>(at(b, i))) ++i;
                for (; i < count; ++i)  // not all that differ are of different order
                    if (const int c = scalars(elem, at(a, i), at(b, i))) return c;
                return 0;
            });
        for (std::int64_t i = 0; i < count; ++i)
            if (const int c = compare(elem, a + i * elem->size, b + i * elem->size)) return c;
        return 0;
    }

    const Task* task_;
};

}  // namespace

int compare_totally(const Task* task, const WeldType* t, const void* a, const void* b) {
    return Comparer<true>(task).compare(t, static_cast<const char*>(a), static_cast<const char*>(b));
}

}  // namespace weld::runtime

extern "C" std::int32_t weld_rt_compare(WeldTask* task, const WeldType* type, const void* a,
                                        const void* b) noexcept {
    using namespace weld::runtime;
    return Comparer<false>(task_of(task))
        .compare(type, static_cast<const char*>(a), static_cast<const char*>(b));
}
