// Unions and comparisons of sets of objects.
#include "weldir/passes/reach.h"

namespace weld::ownership {

void add(Objects& to, const Objects& from) {
    Objects all;
    std::ranges::set_union(to, from, std::back_inserter(all));
    to = std::move(all);
}

bool meet(const Objects& a, const Objects& b) {
    return std::ranges::any_of(a, [&](Object o) { return std::ranges::binary_search(b, o); });
}

void add_all(Objects& to, const Reach& of) {
    add(to, of.tops);
    add(to, of.inner);
    for (const Reach& f : of.fields) add_all(to, f);
}

Objects all_of(const Reach& r) {
    Objects all;
    add_all(all, r);
    return all;
}

Reach part_of(const Reach& r) { return {{kOutside}, all_of(r), {}}; }

const Reach& at(const Reach& r, const Path& path) {
    const Reach* p = &r;
    for (std::size_t i : path)
        if (!p->fields.empty()) p = &p->fields[i];
    return *p;
}

void add_others(Objects& all, const Reach& r, const Path& path, std::size_t depth) {
    for (std::size_t i = 0; i < r.fields.size(); ++i) {
        if (depth < path.size() && path[depth] == i) add_others(all, r.fields[i], path, depth + 1);
        else add_all(all, r.fields[i]);
    }
    if (r.fields.empty() && depth < path.size()) add_all(all, r);
}

bool is_same(const Reach& a, const Reach& b) {
    return a.tops == b.tops && a.inner == b.inner && std::ranges::equal(a.fields, b.fields, is_same);
}

}  // namespace weld::ownership
