// topk[T](n): the n least of what is merged, in order; of equal ones the first. A negative n is none. An
// array takes what emitted code does not know to come too late; when it is full, the n least stay, in the order
// in which they came. Where n is few, the array has room for no more, and is in order as soon as it is full: each
// further element takes its place there. Pieces are such arrays, merged in their order, so equal elements keep theirs.
#include <algorithm>
#include <cstring>
#include <ranges>

#include "runtime/builders/pieces.h"
#include "runtime/describe.h"
#include "runtime/entry.h"
#include "runtime/key_words.h"
#include "runtime/merge.h"
#include "runtime/order.h"
#include "runtime/parallel.h"

namespace weld::runtime {

constexpr std::int64_t kLeastRoom = 1024;  // for elements besides those that stay
constexpr std::int64_t kFewStay = 32;      // put in order one by one

static bool stay_in_order(const WeldTopK* k) { return k->most <= kFewStay; }

static std::int64_t all_room(const WeldTopK* k) {
    if (stay_in_order(k)) return k->most;
    const std::int64_t more = std::max(k->most, kLeastRoom);
    return k->most > INT64_MAX - more ? INT64_MAX : k->most + more;
}

static char* element(const WeldTopK* k, const WeldType* elem, std::int64_t i) {
    return static_cast<char*>(k->elements.data) + i * elem->size;
}

/// Keeps the elements with these numbers, which ascend.
static void keep(WeldTopK* k, const WeldType* elem, const std::vector<std::uint64_t>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
        std::memmove(element(k, elem, std::int64_t(i)), element(k, elem, std::int64_t(numbers[i])),
                     std::size_t(elem->size));
    k->elements.size = std::int64_t(numbers.size());
}

/// All that stay are there, `last` the last of them in order.
static void set_bound(WeldTopK* k, const WeldType* elem, const char* last) {
    std::memcpy(k->bound, last, std::size_t(std::min<std::int64_t>(kWeldBoundBytes, elem->size)));
    k->is_full = true;
}

/// The number of the first of `n` elements, which are few and in order, that comes after `value`; `n` if none does. The
/// scalar that elements begin with nearly always tells, and to count is quicker than to guess branches.
static std::int64_t place_of(const Task* task, const WeldTopK* k, const WeldType* elem, const char* value,
                             std::int64_t n) {
    const auto first_after = [&](std::int64_t begin, std::int64_t end) {
        while (begin < end && compare_totally(task, elem, element(k, elem, begin), value) <= 0) ++begin;
        return begin;
    };
    const WeldType* first = elem;
    while (first->kind == kWeldStruct && first->num_args) first = first->args[0];
    if (!is_scalar(first) || first->kind == kWeldBool) return first_after(0, n);
    return with_scalar(first->kind, [&]<class T>(T) {
        const auto own = ordered_bits(load<T>(value));
        std::int64_t before = 0, alike = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const auto other = ordered_bits(load<T>(element(k, elem, i)));
            before += other < own;
            alike += other == own;
        }
        return alike ? first_after(before, before + alike) : before;
    });
}

/// Puts the few elements that are there in order.
static void put_in_order(const Task* task, WeldTopK* k, const WeldType* elem) {
    for (std::int64_t i = 1; i < k->elements.size; ++i) {
        char* next = element(k, elem, i);
        char* place = element(k, elem, place_of(task, k, elem, next, i));
        std::rotate(place, next, next + elem->size);
    }
}

/// Puts `value` into its place among the few that stay, which are all there.
static void insert(const Task* task, WeldTopK* k, const WeldType* elem, const char* value) {
    if (!k->is_full) put_in_order(task, k, elem);
    char* last = element(k, elem, k->most - 1);
    const std::int64_t i = place_of(task, k, elem, value, k->most);
    if (i < k->most) {
        char* place = element(k, elem, i);
        std::memmove(place + elem->size, place, std::size_t(last - place));
        std::memcpy(place, value, std::size_t(elem->size));
    }
    set_bound(k, elem, last);
}

/// The first elements in order stay, as many as it gives, where they are more. Status.
static std::int32_t drop_others(Task* task, WeldTopK* k, const WeldType* elem, std::int32_t loc) {
    const WeldAppender& a = k->elements;
    if (a.size <= k->most) return kOk;
    const char* data = static_cast<const char*>(a.data);
    std::vector<std::uint64_t> first;
    if (find_first(task, elem, data, elem->size, a.size, k->most, &first, loc)) return kFailed;
    if (std::int64_t(first.size()) > k->most) {  // many begin alike
        std::uint64_t* order = stable_order(task, elem, data, elem->size, a.size, loc);
        if (!order) return kFailed;
        first.assign(order, order + k->most);
        release(task, order);
        std::ranges::sort(first);
    }
    keep(k, elem, first);
    const char* last = element(k, elem, 0);
    for (std::int64_t i = 1; i < a.size; ++i)
        if (compare_totally(task, elem, element(k, elem, i), last) >= 0) last = element(k, elem, i);
    set_bound(k, elem, last);
    return kOk;
}

static std::int32_t make_room(Task* task, WeldTopK* k, const WeldType* elem, std::int32_t loc) {
    WeldAppender& a = k->elements;
    const std::int64_t most = all_room(k);
    if (a.capacity >= most) return drop_others(task, k, elem, loc);
    if (weld_rt_appender_grow(task, &a, 1, elem->size, loc)) return kFailed;
    a.capacity = std::min(a.capacity, most);
    return kOk;
}

static std::int32_t add(Task* task, WeldTopK* k, const WeldType* elem, const char* value, std::int32_t loc) {
    if (k->most == 0) return kOk;
    if (stay_in_order(k) && k->elements.size == k->most) {
        insert(task, k, elem, value);
        return kOk;
    }
    if (k->elements.size == k->elements.capacity && make_room(task, k, elem, loc)) return kFailed;
    std::memcpy(element(k, elem, k->elements.size++), value, std::size_t(elem->size));
    return kOk;
}

static WeldTopK* new_state(Task* task, std::int64_t most, std::int32_t loc) {
    WeldTopK* k = allocate_array<WeldTopK>(task, 1, loc);
    if (k) *k = {0, {}, {nullptr, 0, 0}, most};
    return k;
}

// ---- in parallel loops

static Cut cut(const WeldType*, const void*, CutQuestion* question) {
    question->chunks = std::min(question->chunks, kFewChunks);  // each begins without a bound
    return Cut::Chunk;
}

static std::int32_t start(Task* task, const WeldType*, const void* whole, void* piece, std::int32_t loc) {
    WeldTopK* k = new_state(task, (*static_cast<WeldTopK* const*>(whole))->most, loc);
    *static_cast<WeldTopK**>(piece) = k;
    return k ? kOk : kFailed;
}

static std::int32_t combine(Task* task, const WeldType* type, void* whole, std::span<void* const> pieces,
                            std::int32_t loc) {
    const WeldType* elem = type->args[0];
    WeldTopK* all = *static_cast<WeldTopK**>(whole);
    for (void* state : pieces) {
        WeldTopK* piece = *static_cast<WeldTopK**>(state);
        const auto strip = [&](std::int64_t lo, std::int64_t hi) -> std::int32_t {
            for (std::int64_t i = lo; i < hi; ++i)
                if (add(task, all, elem, element(piece, elem, i), loc)) return kFailed;
            return kOk;
        };
        if (in_strips(task, 0, piece->elements.size, loc, strip)) return kFailed;
        release(task, piece->elements.data);
        release(task, piece);
    }
    return kOk;
}

static bool seamless(const WeldType*) { return true; }

static void reach(Tracer& tracer, const WeldType* type, const void* state) {
    const WeldTopK* k = *static_cast<WeldTopK* const*>(state);
    tracer.mark(k);
    tracer.array(type->args[0], &k->elements);
}

const BuilderPieces kTopKPieces{
    .cut = cut, .start = start, .combine = combine, .seamless = seamless, .reach = reach};

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" WeldTopK* weld_rt_topk_new(WeldTask* t, std::int64_t most, std::int32_t loc) {
    return new_state(task_of(t), std::max<std::int64_t>(0, most), loc);
}

extern "C" std::int32_t weld_rt_topk_merge(WeldTask* t, WeldTopK* k, const WeldType* elem, const void* value,
                                           std::int32_t loc) {
    return add(task_of(t), k, elem, static_cast<const char*>(value), loc);
}

extern "C" std::int32_t weld_rt_topk_result(WeldTask* t, WeldTopK* k, const WeldType* elem, WeldVec* out,
                                            std::int32_t loc) {
    Task* task = task_of(t);
    const WeldVec all{k->elements.data, k->elements.size};
    if (stay_in_order(k)) {
        if (!k->is_full) put_in_order(task, k, elem);
        *out = all;
    } else {
        if (drop_others(task, k, elem, loc)) return kFailed;
        const WeldVec few{all.data, k->elements.size};
        if (weld_rt_sort_keys(t, &few, elem, &few, elem, out, k->most, loc)) return kFailed;
        release(task, all.data);
    }
    k->elements = {};  // a value that is looked at later may still name it
    return kOk;
}
