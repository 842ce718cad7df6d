// Evaluating nodes, one function per kind.
#include "tests/interp/interp.h"

#include <pthread.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/abi/weld_abi.h"
#include "tests/interp/builders.h"
#include "tests/interp/kernels.h"
#include "tests/interp/memory.h"
#include "tests/interp/serialize.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/layout.h"

namespace weld::interp {

namespace {

// How evaluation ends early; caught in `run`.
struct Failure {
    int code;
    Loc loc;
};
struct TooLong {};
struct Broken {  // a promise
    std::string what;
};

constexpr int kMaxCalls = 20'000;  // of module functions inside each other

#if defined(__SANITIZE_ADDRESS__)
/// The address sanitizer clears 64 MiB of the stack where an exception leaves it, and takes what is used of
/// the rest next for an error. So all of it is cleared here.
void clear_stack() {
    pthread_attr_t attr;
    void* lowest = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attr)) return;
    pthread_attr_getstack(&attr, &lowest, &bytes);
    pthread_attr_destroy(&attr);
    auto* here = static_cast<char*>(__builtin_frame_address(0));
    __asan_unpoison_memory_region(here, std::size_t(static_cast<char*>(lowest) + bytes - here));
}
#else
void clear_stack() {}
#endif

/// A datum of a loop, evaluated: element `i` of the walk is at start + i * stride.
struct Walk {
    const Type* elem = nullptr;  // of the data, not widened
    Value data;                  // nothing for a range
    bool range = false, nd = false;
    std::int64_t start = 0, stride = 1, count = 0;
    Value shape, strides;
    IterKind kind = IterKind::Scalar;
    std::uint32_t lanes = 1;
};

class Interpreter {
  public:
    Interpreter(const Module& m, const Options& options)
        : m_(m), options_(options), names_(m.num_symbols()) {}

    Value main(std::span<const Value> args) {
        const Lambda l = m_.main->as<Lambda>();
        for (std::size_t i = 0; i < l.params().size(); ++i) bind(l.param(i), args[i]);
        Value result = eval(l.body());
        spend_on(l.body()->type, result);  // others will compare and print it
        return result;
    }

    Slack slack;
    std::string output;
    std::string said;  // by the assert that failed

  private:
    Value& at(const Symbol* s) { return names_[s->id]; }
    void bind(const Symbol* s, Value v) {
        names_[s->id] = std::move(v);
        if (!s->holds.empty()) check(s->holds, s->type, at(s), {}, {}, s->name);
    }
    /// What is promised of the sizes in `value`, which is that of `name`, or what a call of it has given.
    void check(Promises promises, const Type* type, const Value& value, std::span<const Expr* const> args,
               const Values& given, std::string_view name) {
        for (const Promise& p : promises) {
            const bool holds = is_true(p, [&](const SizeName& size) {
                const bool is_own = size.of == SizeName::kResult;
                return size_in(is_own ? type : args[std::size_t(size.of)]->type,
                               is_own ? value : given[std::size_t(size.of)], size);
            });
            if (holds) continue;
            clear_stack();
            throw Broken{
                fmt::format("of `{}` it is not true that {}", name, print_promises({&p, 1}, [](int of) {
                                return of < 0 ? "result" : fmt::format("argument{}", of);
                            }))};
        }
    }
    static std::int64_t size_in(const Type* t, const Value& whole, const SizeName& size) {
        const Value* v = &whole;
        for (std::size_t i : size.path) t = t->args[i], v = &v->items()[i];
        if (!size.is_length) return as_i64(*v);
        return std::int64_t(t->is_dict() ? v->dict().entries.size() : v->items().size());
    }
    [[noreturn]] void fail(int code, const Expr* e) {
        clear_stack();
        throw Failure{code, e->loc};
    }

    /// Counts what takes time without nodes being evaluated.
    void spend(std::uint64_t n) {
        steps_ += n;
        if (steps_ <= options_.max_steps) return;
        clear_stack();
        throw TooLong{};
    }
    void spend_on(const Type* t, const Value& v) {
        if (!t->is_scalar()) spend(count_values(t, v, options_.max_steps - steps_ + 1));
    }

    Value eval(const Expr* e) {
        spend(1);
        if (is_scalar_op(e->op)) return scalar_op(e);
        switch (e->op) {
            case Op::Literal: return scalar_value(e->attr.bits);
            case Op::Var: return at(e->attr.symbol);
            case Op::Block: return block(e->as<Block>());
            case Op::MakeStruct:
            case Op::MakeVec: return list_value(all(e->args()));
            case Op::PackedVec: return packed(e->as<PackedVec>());
            case Op::GetField: return eval(e->arg(0)).items()[e->attr.index];
            case Op::Cast: return cast(e->as<Cast>());
            case Op::Broadcast: return list_value(Values(e->type->lanes, eval(e->arg(0))));
            case Op::If: return eval(e->arg(eval(e->arg(0)).bits ? 1 : 2));
            case Op::Select: return select(e->as<Select>());
            case Op::Iterate: return iterate(e->as<Iterate>());
            case Op::For: return loop(e->as<For>());
            case Op::NewBuilder: return new_builder(e->as<NewBuilder>());
            case Op::Merge: return merge(e->as<Merge>());
            case Op::Result: return result_of(eval(e->arg(0)).builder());
            case Op::Len: return len(e->as<Len>());
            case Op::Lookup: return lookup(e->as<Lookup>());
            case Op::LookupLanes: return lookup_lanes(e->as<LookupLanes>());
            case Op::OptLookup: return opt_lookup(e->as<OptLookup>());
            case Op::OptLanes: return opt_lanes(e->as<OptLanes>());
            case Op::KeyExists: return key_exists(e->as<KeyExists>());
            case Op::Slice: return slice(e->as<Slice>());
            case Op::Sort: return sort(e->as<Sort>());
            case Op::ToVec: return to_vec(e->as<ToVec>());
            case Op::Serialize: return serialized(e->as<Serialize>());
            case Op::Deserialize: return deserialized(e->as<Deserialize>());
            case Op::Assert:
                if (eval(e->arg(0)).bits) return bool_value(true);
                if (const Expr* text = e->as<Assert>().text()) said = bytes_of(eval(text));
                fail(kWeldAssertionError, e);
            case Op::Kernel: return kernel(e->as<Kernel>());
            case Op::Call: return call(e->as<Call>());
            default:
                return {};  // Lambda and Iter: the verifier lets them stand only where others look at them
        }
    }

    Values all(std::span<const Expr* const> args) {
        Values values;
        values.reserve(args.size());
        for (const Expr* a : args) values.push_back(eval(a));
        return values;
    }

    // ---- scalars

    Value lane_op(const Expr* e, Scalar s, const Value& a, const Value& b) {
        Value out;
        if (!apply(e->op, s, a, b, options_.math, slack, &out)) fail(kWeldDivisionByZero, e);
        return out;
    }

    Value scalar_op(const Expr* e) {
        const Value a = eval(e->arg(0));
        const Type* t = e->arg(0)->type;
        if (t->is_bool() && e->op == Op::And && !a.bits) return a;
        if (t->is_bool() && e->op == Op::Or && a.bits) return a;
        const Value b = e->num_args == 2 ? eval(e->arg(1)) : Value();
        if (t->is_scalar()) return lane_op(e, t->scalar, a, b);
        if (!t->is_simd()) return comparison(e->op, t, a, b);
        Values lanes;
        for (std::size_t i = 0; i < t->lanes; ++i)
            lanes.push_back(lane_op(e, t->scalar, a.items()[i], e->num_args == 2 ? b.items()[i] : Value()));
        return list_value(std::move(lanes));
    }

    /// Of structs and vectors.
    Value comparison(Op op, const Type* t, const Value& a, const Value& b) {
        spend_on(t, t->is_vec() && b.items().size() < a.items().size() ? b : a);
        slack.decided |= has_slack(t, a) || has_slack(t, b);
        const int c = compare(t, a, b);
        switch (op) {
            case Op::Eq: return bool_value(c == 0);
            case Op::Ne: return bool_value(c != 0);
            case Op::Lt: return bool_value(c == -1);
            case Op::Gt: return bool_value(c == 1);
            case Op::Le: return bool_value(c == -1 || c == 0);
            default: return bool_value(c == 1 || c == 0);
        }
    }

    Value cast(Cast c) {
        const Value v = eval(c.of());
        const Scalar from = c.of()->type->scalar, to = c.node->type->scalar;
        if (!c.node->type->is_simd()) return convert(from, to, v, slack);
        Values lanes;
        for (const Value& x : v.items()) lanes.push_back(convert(from, to, x, slack));
        return list_value(std::move(lanes));
    }

    // ---- structure

    Value packed(PackedVec v) {
        const auto size = std::size_t(size_of(v.node->type->elem()->scalar));
        spend(v.bytes().size() / size);
        Values items;
        for (std::size_t at = 0; at < v.bytes().size(); at += size) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, v.bytes().data() + at, size);
            items.push_back(scalar_value(bits));
        }
        return list_value(std::move(items));
    }

    Value block(Block b) {
        for (std::size_t i = 0; i < b.size(); ++i) bind(b.symbol(i), eval(b.value(i)));
        return eval(b.result());
    }

    static Value select_lanes(const Type* t, const Value& cond, const Value& a, const Value& b) {
        Values parts;
        for (std::size_t i = 0; i < a.items().size(); ++i) {
            if (t->is_struct()) parts.push_back(select_lanes(t->args[i], cond, a.items()[i], b.items()[i]));
            else parts.push_back(cond.items()[i].bits ? a.items()[i] : b.items()[i]);
        }
        return list_value(std::move(parts));
    }

    Value select(Select s) {
        const Value cond = eval(s.cond()), a = eval(s.then()), b = eval(s.otherwise());
        if (s.cond()->type->is_bool()) return cond.bits ? a : b;
        return select_lanes(s.node->type, cond, a, b);
    }

    Value iterate(Iterate it) {
        Value state = eval(it.init());
        std::vector<bool> active;  // of an iterate over lanes, from its second round on
        for (;;) {
            bind(it.body().param(0), state);
            const Value next = eval(it.body().body());
            const Value& again = next.items()[1];
            if (!it.lanes()) {
                state = next.items()[0];
                if (!again.bits) return state;
                continue;
            }
            active.resize(again.items().size(), true);
            Values now;
            for (bool lane : active) now.push_back(bool_value(lane));
            state = select_lanes(it.node->type, list_value(std::move(now)), next.items()[0], state);
            for (std::size_t k = 0; k < active.size(); ++k) active[k] = active[k] && again.items()[k].bits;
            if (std::ranges::find(active, true) == active.end()) return state;
        }
    }

    // ---- loops

    Walk begin(const Expr* data) {
        Walk w;
        const Iter it = data->as<Iter>();
        if (!it) {
            w.data = eval(data);
            w.count = std::int64_t(w.data.items().size());
            return w;
        }
        const IterShape shape = it.shape();
        w.kind = shape.kind;
        w.lanes = it.lanes();
        w.range = shape.range;
        w.nd = shape.nd;
        if (!shape.range) {
            w.data = eval(it.data());
            w.count = std::int64_t(w.data.items().size());
        }
        if (shape.bounded) set_bounds(w, it);
        return w;
    }

    void set_bounds(Walk& w, Iter it) {
        w.start = as_i64(eval(it.start()));
        const std::int64_t end = as_i64(eval(it.end()));
        w.stride = as_i64(eval(it.stride()));
        if (w.nd) return set_rounds(w, it);  // what `end` and `stride` are does not matter
        const bool inside = w.range || (0 <= w.start && end <= w.count);
        const __int128 span = __int128(end) - w.start;
        if (span < 0 || !inside || w.stride < 1 || span % w.stride != 0 || span / w.stride > INT64_MAX)
            fail(kWeldBadIteratorLength, it.node);
        w.count = std::int64_t(span / w.stride);
    }

    /// `nditer`: as many rounds as the shape has places, each of which lies in the vector.
    void set_rounds(Walk& w, Iter it) {
        w.shape = eval(it.nd_shape());
        w.strides = eval(it.nd_strides());
        const Values &shape = w.shape.items(), &strides = w.strides.items();
        bool is_empty = false, ok = shape.size() == strides.size();
        for (const Value& extent : shape) {
            ok &= as_i64(extent) >= 0;
            is_empty |= as_i64(extent) == 0;
        }
        if (!ok) fail(kWeldBadIteratorLength, it.node);
        __int128 rounds = !is_empty, least = w.start, most = w.start;
        for (std::size_t d = 0; d < shape.size() && !is_empty; ++d) {
            const __int128 reach = __int128(as_i64(shape[d]) - 1) * as_i64(strides[d]);
            (reach < 0 ? least : most) += reach;
            rounds *= as_i64(shape[d]);
            if (least < 0 || most >= w.count || rounds > INT64_MAX) fail(kWeldBadIteratorLength, it.node);
        }
        if (!is_empty && (least < 0 || most >= w.count)) fail(kWeldBadIteratorLength, it.node);
        w.count = std::int64_t(rounds);
    }

    /// A counter through the dimensions, the last one fastest, each with a stride of its own.
    static std::int64_t nd_position(const Walk& w, std::int64_t counter) {
        const Values &shape = w.shape.items(), &strides = w.strides.items();
        std::int64_t position = w.start;
        for (std::size_t d = shape.size(); d-- > 0; counter /= as_i64(shape[d]))
            position += counter % as_i64(shape[d]) * as_i64(strides[d]);
        return position;
    }

    Value element(const Walk& w, std::int64_t i) {
        if (w.nd) return w.data.items()[std::size_t(nd_position(w, i))];
        const auto position = std::int64_t(__int128(w.start) + __int128(i) * w.stride);
        return w.range ? i64_value(position) : w.data.items()[std::size_t(position)];
    }

    /// What iteration `i` of the loop sees.
    Value yielded(const Walk& w, std::int64_t i) {
        if (w.kind == IterKind::Scalar) return element(w, i);
        const std::int64_t n = w.lanes;
        if (w.kind == IterKind::Fringe) return element(w, w.count / n * n + i);
        Values lanes;
        for (std::int64_t k = 0; k < n; ++k) lanes.push_back(element(w, i * n + k));
        return list_value(std::move(lanes));
    }

    static std::int64_t iterations(const Walk& w) {
        switch (w.kind) {
            case IterKind::Simd: return w.count / w.lanes;
            case IterKind::Fringe: return w.count % w.lanes;
            case IterKind::Scalar: break;
        }
        return w.count;
    }

    Value loop(For f) {
        std::vector<Walk> walks;
        for (const Expr* d : f.data()) {
            walks.push_back(begin(d));
            if (walks.back().count != walks[0].count) fail(kWeldMismatchedZipSize, f.node);
        }
        Value state = eval(f.builder());
        const std::int64_t n = iterations(walks[0]);
        for (std::int64_t i = 0; i < n; ++i) {
            Value elem;
            if (walks.size() == 1) {
                elem = yielded(walks[0], i);
            } else {
                Values fields;
                for (const Walk& w : walks) fields.push_back(yielded(w, i));
                elem = list_value(std::move(fields));
            }
            bind(f.builder_param(), std::move(state));
            bind(f.index_param(), i64_value(i));
            bind(f.elem_param(), std::move(elem));
            state = eval(f.body().body());
        }
        return state;
    }

    Value new_builder(NewBuilder b) {
        if (!b.arg()) return make_builder(b.node->type, nullptr);
        const Value arg = eval(b.arg());
        spend_on(b.arg()->type, arg);
        return make_builder(b.node->type, &arg);
    }

    /// The value has more lanes than the builder takes at once.
    static bool is_widened(const Type* builder, const Type* value) {
        if (builder->takes == builder->elem()) return value != builder->elem();
        const Type* last = info(builder).indexed ? builder->elem() : builder->value();
        return value->args[1] != last;
    }
    static std::size_t lanes_in(const Type* t) {
        while (t->is_struct()) t = t->args.back();
        return t->lanes;
    }

    /// Lane `k` of what is merged; lanes at one index go to consecutive indices.
    static Value lane_to_merge(const Type* builder, const Type* t, const Value& v, std::size_t k) {
        if (!info(builder).indexed || t->args[0]->is_simd()) return lane(t, v, k);
        const std::int64_t index = std::int64_t(v.items()[0].bits + k);
        return list_value({i64_value(index), lane(t->args[1], v.items()[1], k)});
    }

    /// Whether what is merged is looked at whole.
    static bool compares(BuilderKind kind) {
        return kind == BuilderKind::DictMerger || kind == BuilderKind::GroupMerger ||
               kind == BuilderKind::TopK;
    }

    Value merge(Merge g) {
        const Value b = eval(g.builder()), v = eval(g.value());
        const Value mask = g.mask() ? eval(g.mask()) : Value();
        const Type* t = g.value()->type;
        if (g.rows()) return merge_rows(g, b, v);
        if (compares(b.builder().type->builder)) spend_on(t, v);
        const bool widened = is_widened(g.node->type, t);
        if (g.mask() && !widened) {
            merge_lanes(b.builder(), v, mask, slack);
            return b;
        }
        for (std::size_t k = 0, n = widened ? lanes_in(t) : 1; k < n; ++k) {
            if (g.mask() && !mask.items()[k].bits) continue;
            if (!merge_into(b.builder(), widened ? lane_to_merge(g.node->type, t, v, k) : v, slack))
                fail(kWeldArrayOutOfBounds, g.node);
        }
        return b;
    }

    /// Rows side by side, one after the other.
    Value merge_rows(Merge g, const Value& b, const Value& v) {
        for (std::size_t k = 0; k < g.rows(); ++k) {
            Values row;
            for (const Value& column : v.items()) row.push_back(column.items()[k]);
            spend(row.size());
            if (g.node->type->takes->is_vec()) merge_into(b.builder(), list_value(std::move(row)), slack);
            else
                for (const Value& x : row) merge_into(b.builder(), x, slack);
        }
        return b;
    }

    // ---- collections

    Value len(Len l) {
        const Value v = eval(l.of());
        return i64_value(std::int64_t(l.of()->type->is_dict() ? v.dict().entries.size() : v.items().size()));
    }

    /// The element or value at `key`, or null.
    const Value* find(const Type* t, const Value& of, const Value& key) {
        if (t->is_dict()) {
            spend_on(t->key(), key);
            slack.decided |= has_slack(t->key(), key);
            auto found = of.dict().entries.find(key);
            return found == of.dict().entries.end() ? nullptr : &found->second;
        }
        return key.bits < of.items().size() ? &of.items()[key.bits] : nullptr;
    }

    Value lookup(Lookup l) {
        const Value of = eval(l.of()), key = eval(l.key());
        const Value* found = find(l.of()->type, of, key);
        if (!found) fail(l.of()->type->is_dict() ? kWeldKeyNotFound : kWeldArrayOutOfBounds, l.node);
        return *found;
    }
    Value lookup_lanes(LookupLanes l) {
        const Value of = eval(l.of()), at = eval(l.indices());
        const Value mask = l.mask() ? eval(l.mask()) : Value();
        Values lanes;
        for (std::size_t i = 0; i < at.items().size(); ++i) {
            if (l.mask() && !mask.items()[i].bits) {
                lanes.push_back(zero(l.of()->type->elem()));
                continue;
            }
            const Value* found = find(l.of()->type, of, at.items()[i]);
            if (!found) fail(kWeldArrayOutOfBounds, l.node);
            lanes.push_back(*found);
        }
        return list_value(std::move(lanes));
    }
    Value opt_lookup(OptLookup l) {
        const Value of = eval(l.of()), key = eval(l.key());
        const Value* found = find(l.of()->type, of, key);
        return list_value({bool_value(found), found ? *found : zero(l.node->type->args[1])});
    }
    Value opt_lanes(OptLanes l) {
        const Value of = eval(l.of());
        const std::int64_t first = as_i64(eval(l.first())), n = l.lanes();
        const Values& all = of.items();
        const auto none = [&] { return list_value({bool_value(false), zero(l.found())}); };
        if (l.length()) return opt_rows(l, all, first);
        if (first < 0 || first + n > std::int64_t(all.size())) return none();
        Values lanes(all.begin() + first, all.begin() + first + n);
        if (l.found()->is_simd()) return list_value({bool_value(true), list_value(std::move(lanes))});
        const std::size_t length = lanes[0].items().size();
        if (l.most() && std::int64_t(length) > as_i64(eval(l.most()))) return none();
        spend(length * std::size_t(n));
        Values rows(length);
        for (const Value& row : lanes)
            if (row.items().size() != length) return none();
        for (std::size_t j = 0; j < length; ++j) {
            Values at;
            for (const Value& row : lanes) at.push_back(row.items()[j]);
            rows[j] = list_value(std::move(at));
        }
        return list_value({bool_value(true), list_value(std::move(rows))});
    }
    /// Rows of a flat matrix.
    Value opt_rows(OptLanes l, const Values& all, std::int64_t first) {
        const std::int64_t length = as_i64(eval(l.length())), n = l.lanes();
        const bool are_there = length >= 0 && length <= as_i64(eval(l.most())) && first >= 0 &&
                               first <= std::int64_t(all.size()) - n * length;
        if (!are_there) return list_value({bool_value(false), zero(l.found())});
        spend(std::size_t(length * n));
        Values rows;
        for (std::int64_t j = 0; j < length; ++j) {
            Values at;
            for (std::int64_t k = 0; k < n; ++k) at.push_back(all[std::size_t(first + k * length + j)]);
            rows.push_back(list_value(std::move(at)));
        }
        return list_value({bool_value(true), list_value(std::move(rows))});
    }
    Value key_exists(KeyExists l) {
        const Value of = eval(l.of()), key = eval(l.key());
        return bool_value(find(l.of()->type, of, key));
    }

    Value slice(Slice s) {
        const Value of = eval(s.of());
        const std::int64_t start = as_i64(eval(s.start())), size = as_i64(eval(s.size()));
        const std::int64_t n = std::int64_t(of.items().size());
        if (start < 0 || start > n || size < 0) fail(kWeldArrayOutOfBounds, s.node);
        spend(std::uint64_t(std::min(size, n - start)));
        const auto from = of.items().begin() + start;
        return list_value(Values(from, from + std::min(size, n - start)));
    }

    /// A stable merge sort, which no comparator can lead astray.
    template <class Greater>
    void merge_sort(Values& v, Greater&& greater) {
        spend(v.size());
        if (v.size() < 2) return;
        const auto middle = v.begin() + std::ptrdiff_t(v.size() / 2);
        Values a(v.begin(), middle), b(middle, v.end());
        merge_sort(a, greater);
        merge_sort(b, greater);
        std::size_t i = 0, j = 0;
        for (Value& out : v) {
            const bool from_b = i == a.size() || (j < b.size() && greater(a[i], b[j]));
            out = from_b ? b[j++] : a[i++];
        }
    }

    Value sort(Sort s) {
        const Value all = sorted(s);
        const std::int64_t limit = s.limit() ? std::int64_t(eval(s.limit()).bits) : -1;
        if (limit < 0 || std::size_t(limit) >= all.items().size()) return all;
        return list_value(Values(all.items().begin(), all.items().begin() + limit));
    }

    Value sorted(Sort s) {
        Values items = eval(s.of()).items();
        const Lambda by = s.by();
        if (by.params().size() == 2) {
            merge_sort(items, [&](const Value& a, const Value& b) {
                bind(by.param(0), a);
                bind(by.param(1), b);
                return std::int32_t(eval(by.body()).bits) > 0;
            });
            return list_value(std::move(items));
        }
        const Type* key_type = by.body()->type;
        Values pairs;  // {key, item}
        for (const Value& item : items) {
            bind(by.param(0), item);
            pairs.push_back(list_value({eval(by.body()), item}));
            slack.decided |= has_slack(key_type, pairs.back().items()[0]);
        }
        merge_sort(pairs, [&](const Value& a, const Value& b) {
            spend_on(key_type, a.items()[0]);
            return order(key_type, a.items()[0], b.items()[0]) > 0;
        });
        for (Value& p : pairs) p = Value(p.items()[1]);
        return list_value(std::move(pairs));
    }

    Value to_vec(ToVec t) {
        const Value of = eval(t.of());
        Values pairs;
        spend(of.dict().entries.size());
        for (const auto& [key, value] : of.dict().entries) pairs.push_back(list_value({key, value}));
        return list_value(std::move(pairs));
    }

    Value serialized(Serialize s) {
        const Value of = eval(s.of());
        spend_on(s.of()->type, of);
        slack.decided |= has_slack(s.of()->type, of);
        Values bytes;
        for (std::uint8_t b : serialize(s.of()->type, of)) bytes.push_back(scalar_value(b));
        return list_value(std::move(bytes));
    }
    Value deserialized(Deserialize d) {
        const Value of = eval(d.of());
        std::vector<std::uint8_t> bytes;
        spend(of.items().size());
        for (const Value& b : of.items()) bytes.push_back(std::uint8_t(b.bits));
        std::optional<Value> v = deserialize(d.node->type, bytes);
        if (!v) fail(kWeldDeserializationError, d.node);
        return *v;
    }

    // ---- calls

    using Pointers = std::vector<void*>;
    /// Calls a C function with all of `p` as arguments.
    template <std::size_t... I>
    static void call_c(void* f, const Pointers& p, std::index_sequence<I...>) {
        reinterpret_cast<void (*)(decltype((void)I, (void*)nullptr)...)>(f)(p[I]...);
    }
    template <std::size_t Most>
    static bool call_c(void* f, const Pointers& p) {
        if (p.size() == Most) return call_c(f, p, std::make_index_sequence<Most>()), true;
        if constexpr (Most > 1) return call_c<Most - 1>(f, p);
        return false;
    }

    Value kernel(Kernel k) {
        const Values args = all(k.args());
        for (std::size_t i = 0; i < args.size(); ++i) spend_on(k.args()[i]->type, args[i]);
        if (k.ref().builtin) {
            std::optional<Value> result = call_builtin(k, args, slack, output);
            if (!result) fail(kWeldKernelError, k.node);
            spend_on(k.node->type, *result);
            check(promises_of(*k.ref().builtin), k.node->type, *result, k.args(), args, k.ref().name);
            return *std::move(result);
        }
        void* f = options_.resolve ? options_.resolve(k.ref().name) : nullptr;
        if (!f) throw TooLong{};
        Memory memory;
        Pointers pointers;
        for (std::size_t i = 0; i < args.size(); ++i) {
            const Type* t = k.args()[i]->type;
            slack.decided |= has_slack(t, args[i]);
            pointers.push_back(memory.allocate(std::size_t(size_of(t))));
            if (!store(t, args[i], pointers.back(), memory)) throw TooLong{};
        }
        pointers.push_back(memory.allocate(std::size_t(size_of(k.node->type))));
        try {
            if (!call_c<16>(f, pointers)) throw TooLong{};
        } catch (const TooLong&) {
            throw;
        } catch (...) {
            fail(kWeldKernelError, k.node);
        }
        return load(k.node->type, pointers.back());
    }

    /// The symbols that a function binds: a call inside a call of it needs its own.
    const std::vector<const Symbol*>& symbols_of(const Function* f) {
        auto [found, is_new] = symbols_.try_emplace(f);
        if (!is_new) return found->second;
        std::vector<const Expr*> work = {f->lambda};
        while (!work.empty()) {
            const Expr* e = work.back();
            work.pop_back();
            found->second.insert(found->second.end(), e->symbols().begin(), e->symbols().end());
            work.insert(work.end(), e->args().begin(), e->args().end());
        }
        return found->second;
    }

    Value call(Call c) {
        const Values args = all(c.args());
        const Function& f = c.function();
        const std::vector<const Symbol*>& symbols = symbols_of(&f);
        spend(symbols.size());
        if (++calls_ > kMaxCalls) fail(kWeldStackOverflow, f.lambda);
        Values saved;
        for (const Symbol* s : symbols) saved.push_back(std::move(at(s)));
        const Lambda l = f.lambda->as<Lambda>();
        for (std::size_t i = 0; i < args.size(); ++i) bind(l.param(i), args[i]);
        Value out = eval(l.body());
        for (std::size_t i = 0; i < symbols.size(); ++i) at(symbols[i]) = std::move(saved[i]);
        --calls_;
        check(f.holds, c.node->type, out, c.args(), args, f.name);
        return out;
    }

    const Module& m_;
    const Options& options_;
    std::vector<Value> names_;  // by Symbol::id
    std::unordered_map<const Function*, std::vector<const Symbol*>> symbols_;
    std::uint64_t steps_ = 0;
    int calls_ = 0;
};

}  // namespace

Outcome run(const Module& m, std::span<const Value> args, const Options& options) {
    Outcome out;
    Interpreter interpreter(m, options);
    try {
        out.value = interpreter.main(args);
        out.kind = Outcome::Done;
    } catch (const Failure& f) {
        out.kind = Outcome::Failed;
        out.code = f.code;
        out.loc = f.loc;
    } catch (const TooLong&) {
        out.kind = Outcome::GaveUp;
    } catch (Broken& broken) {
        out.kind = Outcome::Broken;
        interpreter.said = std::move(broken.what);
    }
    out.decided = interpreter.slack.decided;
    out.output = std::move(interpreter.output);
    out.said = std::move(interpreter.said);
    return out;
}

void on_big_stack(const std::function<void()>& fn) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, std::size_t(1) << 30);
    pthread_t thread;
    auto entry = [](void* p) -> void* {
        (*static_cast<const std::function<void()>*>(p))();
        return nullptr;
    };
    if (pthread_create(&thread, &attr, entry, const_cast<std::function<void()>*>(&fn)) == 0)
        pthread_join(thread, nullptr);
    else fn();
    pthread_attr_destroy(&attr);
}

}  // namespace weld::interp
