// Sets of objects: what a value may point at. For `origins.h` and `lives.h`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weldir/ir/expr.h"

namespace weld::ownership {

/// Memory that a node of the program allocates: what a builder builds, what a sort gives.
using Object = std::uint32_t;
using Objects = std::vector<Object>;  // in order
constexpr Object kOutside = 0;        ///< parameters of the program, constants, and all that is unknown

/// What a value may point at. A struct has `fields`, unless nothing is known of them.
struct Reach {
    Objects tops;   ///< the memory of the vector, dictionary or builder itself: one of these
    Objects inner;  ///< what else it reaches: of a slice the whole, of a vector what its elements point at
    std::vector<Reach> fields;
};

using Path = std::vector<std::size_t>;

void add(Objects& to, const Objects& from);
bool meet(const Objects& a, const Objects& b);
void add_all(Objects& to, const Reach& of);
Objects all_of(const Reach& r);
/// Of a part of what `r` is.
Reach part_of(const Reach& r);
const Reach& at(const Reach& r, const Path& path);
/// All but what is at `path`.
void add_others(Objects& all, const Reach& r, const Path& path, std::size_t depth);
bool is_same(const Reach& a, const Reach& b);

/// Calls `fn` for each part of `r`, a value of type `t`, that is one piece of memory or more.
template <class Fn>
void for_each_leaf(const Type* t, const Reach& r, const Fn& fn) {
    if (!t->holds_pointer) return;
    if (!t->is_struct() || r.fields.size() != t->args.size()) return fn(r);
    for (std::size_t i = 0; i < t->args.size(); ++i) for_each_leaf(t->args[i], r.fields[i], fn);
}

template <class Fn>
Reach mapped(const Reach& r, const Fn& fn) {
    Reach to = fn(r);
    for (const Reach& f : r.fields) to.fields.push_back(mapped(f, fn));
    return to;
}

}  // namespace weld::ownership
