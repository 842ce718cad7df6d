// weld_rt_collect: marks the blocks of the innermost region that a value reaches, then sweeps the others.
//
// A value may point into the middle of a block (a slice), into blocks of other regions, or into memory that
// is not ours. What lies in no page of ours is an input or a user function's and cannot point back;
// everything else is entered, older or not, because a builder may have been filled after its buffer was made.
// A block whose elements hold pointers remembers which of its bytes have been looked at, so that many slices
// of one vector cost one pass.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/ahead.h"
#include "runtime/builders/pieces.h"
#include "runtime/describe.h"
#include "runtime/hash_table.h"
#include "runtime/partitions.h"
#include "runtime/tracer.h"

namespace weld::runtime {

Allocation Tracer::mark(const void* p, bool* fresh) {
    if (!(last_ && p >= last_->begin && p < last_->end)) {
        Page* page = account_.find(p);
        if (!page) return {};
        last_ = page;
    }
    Page* page = last_;
    const Allocation block = find_allocation(page, p);
    if (!block.page || !owns(region_, page, p)) return block;
    const std::int64_t unit = page->unit_of(block.begin);
    if (fresh) *fresh = page->single ? !page->marked : !test_bit(page->marks(), unit);
    if (page->single) page->marked = true;
    else set_bit(page->marks(), unit);
    return block;
}

/// Many vectors that hold no pointers. Where one lies is looked up once for all that lie beside each other: in
/// a page that is one block, or where no page of ours is.
void Tracer::plain_vectors(const WeldType* elem, const WeldVec* vectors, std::int64_t count) {
    std::uintptr_t begin = 0, bytes = 0;  // [begin, begin + bytes): there nothing is left to do
    in_strips(count, [&](std::int64_t i) {
        const WeldVec& v = vectors[i];
        __builtin_prefetch(reinterpret_cast<const char*>(&v) + kBytesAhead);
        const auto at = reinterpret_cast<std::uintptr_t>(v.data);
        if (at - begin < bytes) return;
        elements(elem, v.data, v.len);
        if (outside_ || v.len <= 0) return;
        const Page* page = account_.find(v.data);
        if (!page) {
            begin = at & ~std::uintptr_t(kGranule - 1), bytes = kGranule;  // others may lie close to ours
        } else if (page->single) {
            begin = reinterpret_cast<std::uintptr_t>(page->begin);
            bytes = std::uintptr_t(page->end - page->begin);
        }
    });
}

void Tracer::run(const WeldType* elem, const char* begin, const char* end) {
    scanned_ += end - begin;
    if (elem->kind == kWeldVec && !elem->args[0]->holds_pointer)
        return plain_vectors(elem->args[0], reinterpret_cast<const WeldVec*>(begin),
                             (end - begin) / elem->size);
    in_strips((end - begin) / elem->size, [&](std::int64_t i) { value(elem, begin + i * elem->size); });
}

/// `work` looks at what lies in `block`.
template <class Work>
void Tracer::inside(const Allocation& block, const Work& work) {
    const bool before = std::exchange(in_own_, is_own(block));
    work();
    in_own_ = before;
}

/// Looks at the parts of [begin, end) outside of what was seen. Only one range is remembered: the longest.
void Tracer::unseen(const WeldType* elem, Seen* seen, const char* begin, const char* end) {
    Seen old = *seen;
    const bool whole_elements = (begin - old.begin) % elem->size == 0;
    if (!whole_elements || end < old.begin || begin > old.end) {  // apart
        if (end - begin > old.end - old.begin) *seen = {begin, end};
        return run(elem, begin, end);
    }
    *seen = {std::min(begin, old.begin), std::max(end, old.end)};
    if (begin < old.begin) run(elem, begin, old.begin);
    if (end > old.end) run(elem, old.end, end);
}

void Tracer::elements(const WeldType* elem, const void* data, std::int64_t count) {
    if (count <= 0 || !elem->size) return;
    bool fresh = false;
    const Allocation block = mark(data, &fresh);
    if (outside_ && !is_own(block)) outside_->reach(data, elem->holds_pointer, in_own_);
    if (!block.page || !elem->holds_pointer) return;
    const char* begin = static_cast<const char*>(data);
    const char* end = begin + count * elem->size;
    inside(block, [&] {
        if (fresh) return run(elem, begin, end);  // nearly always the last time, so nothing is noted yet
        auto [entry, is_new] = seen_.try_emplace(block.begin, Seen{begin, end});
        if (is_new) return run(elem, begin, end);
        unseen(elem, &entry->second, begin, end);  // references stay valid in this kind of map
    });
}

void Tracer::value(const WeldType* t, const void* at) {
    if (!t->holds_pointer) return;
    switch (t->kind) {
        case kWeldVec: {
            const WeldVec* v = static_cast<const WeldVec*>(at);
            return elements(t->args[0], v->data, v->len);
        }
        case kWeldDict: return dict(t, *static_cast<WeldDict* const*>(at));
        case kWeldStruct:
            for (std::uint32_t i = 0; i < t->num_args; ++i)
                value(t->args[i], static_cast<const char*>(at) + t->offsets[i]);
            return;
        default: return pieces_of(t).reach(*this, t, at);
    }
}

void Tracer::array(const WeldType* elem, const WeldAppender* a) {
    if (a->capacity > 0) mark(a->data);
    elements(elem, a->data, a->size);
}

/// The copy of a type that a table holds.
void Tracer::own_type(const WeldType* t) {
    if (!t) return;
    mark(t);
    if (t->num_args) mark(t->args);
    if (t->kind == kWeldStruct && t->num_args) mark(t->offsets);
    for (std::uint32_t i = 0; i < t->num_args; ++i) own_type(t->args[i]);
}

/// Neither keys nor values point in tables that are cut.
void Tracer::partitions(const Partitions* p) {
    mark(p);
    mark(p->buffer_memory);
    if (p->places) mark(p->places);
    for (const RowSlab* slab = p->slabs; slab; slab = slab->next) mark(slab);
    for (const RowTable& table : p->tables)
        if (table.slots) mark(table.slots);
    if (p->direct.slots) mark(p->direct.slots);
}

void Tracer::dict(const WeldType* t, const WeldDict* d) {
    if (!d) return;
    const WeldType* key = t->args[0];
    const WeldType* value = t->args[1];
    bool fresh = false;
    const Allocation block = mark(d, &fresh);
    const bool owned = is_own(block);
    if (outside_ && !owned) outside_->reach(d, true, in_own_);
    if (owned ? !fresh : !seen_.try_emplace(d).second) return;  // several values share it
    scanned_ += std::int64_t(sizeof *d);
    mark(d->index);
    if (d->capacity) mark(d->entries);
    if (d->many_fields) mark(d->many_fields);
    if (d->places) mark(d->places);
    own_type(d->key);
    if (d->partitions) partitions(partitions_of(d));
    const bool keys_point = key->holds_pointer, values_point = value->holds_pointer;
    if (!keys_point && !values_point) return;
    scanned_ += d->count * d->stride;
    inside(block, [&] {
        in_strips(d->count, [&](std::int64_t i) {
            if (keys_point) this->value(key, d->entry(i));
            if (values_point) this->value(value, d->entry(i) + d->value_at);
        });
    });
}

/// Pages of vectors, found without looking at their elements, and what short vectors in them hold, by a sample.
class LargeVectors {
  public:
    LargeVectors(const Task* task, const WeldType* type, const void* value) : task_(task) {
        add(type, static_cast<const char*>(value));
    }
    std::int64_t bytes() const { return bytes_; }

  private:
    void add(const WeldType* t, const char* at) {
        if (t->kind == kWeldStruct)
            for (std::uint32_t i = 0; i < t->num_args; ++i) add(t->args[i], at + t->offsets[i]);
        if (t->kind != kWeldVec) return;
        Page* page = task_->account().find(reinterpret_cast<const WeldVec*>(at)->data);
        const auto end = found_ + count_;
        if (!page || page->owner != task_->region || !page->single || count_ == kMost ||
            std::find(found_, end, page) != end)
            return;
        found_[count_++] = page;
        bytes_ += page->bytes;
        const WeldType* elem = t->args[0];
        if (elem->kind == kWeldVec && !elem->args[0]->holds_pointer)
            add_rows(elem->args[0]->size, *reinterpret_cast<const WeldVec*>(at));
    }

    /// Vectors that lie one behind the other in pages of the region, as loops leave them.
    void add_rows(std::int64_t size, const WeldVec& all) {
        constexpr std::int64_t samples = 64;
        const std::int64_t step = all.len / samples;
        if (step < 2) return;
        const auto* rows = static_cast<const WeldVec*>(all.data);
        std::int64_t bytes = 0;
        for (std::int64_t k = 0; k < samples; ++k) {
            const WeldVec &row = rows[k * step], &next = rows[k * step + 1];
            const auto at = reinterpret_cast<std::uintptr_t>(row.data);
            const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(next.data) - at;
            const std::int64_t own = row.len * size;
            if (behind < std::uintptr_t(own) || behind >= std::uintptr_t(own + kUnit)) continue;
            const Page* page = task_->account().find(row.data);
            if (page && page->owner == task_->region) bytes += own;
        }
        bytes_ += bytes * step;
    }

    static constexpr int kMost = 16;
    const Task* task_;
    Page* found_[kMost];
    int count_ = 0;
    std::int64_t bytes_ = 0;
};

bool holds_garbage(const Task* task, const void* value, const WeldType* type) {
    constexpr std::int64_t little = 1 << 20;  // is soon looked through
    const std::int64_t held = task->region->page_bytes;
    return held < little || LargeVectors(task, type, value).bytes() < held - held / 8;
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" void weld_rt_collect(WeldTask* t, const void* value, const WeldType* type) {
    Task* task = task_of(t);
    if (task->should_stop()) return;
    if (task->missing_regions) return;  // what `value` does not reach may be in use outside
    constexpr int most_futile = 6;
    const std::int64_t before = bytes_held(task);
    Tracer tracer(task);
    tracer.value(type, value);
    if (tracer.gave_up()) return;  // nothing of this run will be used: it fails where it looks next
    const std::int64_t live = sweep(task);
    task->futile = live > before - before / 8 ? std::min(task->futile + 1, most_futile) : 0;
    set_allowance(task, live, tracer.scanned());
}
