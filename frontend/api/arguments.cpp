// The scan through arguments.
#include "frontend/api/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "frontend/api/describe.h"
#include "runtime/ahead.h"
#include "runtime/builders/pieces.h"
#include "runtime/describe.h"
#include "runtime/given.h"
#include "runtime/hash_table.h"

namespace weld {

namespace {

using runtime::Plausible;

class ArgumentScan {
  public:
    explicit ArgumentScan(Arguments* found) : found_(*found) {}

    /// False: what is at `at` cannot be right, and `found` says why.
    bool value(const WeldType* t, const void* at) {
        if (!t->holds_pointer) return true;
        switch (t->kind) {
            case kWeldVec: return vector(t->args[0], *static_cast<const WeldVec*>(at));
            case kWeldDict: return dictionary(t, *static_cast<const WeldDict* const*>(at));
            case kWeldStruct: return fields(t, static_cast<const char*>(at));
            default: return true;  // builders are the context's
        }
    }

    /// The parameters.
    bool fields(const WeldType* t, const char* at) {
        for (std::uint32_t i = 0; i < t->num_args; ++i)
            if (!value(t->args[i], at + t->offsets[i])) {
                path_ = fmt::format(".${}{}", i, path_);
                return false;
            }
        return true;
    }

    const std::string& path() const { return path_; }

  private:
    bool wrong(std::string why) {
        found_.wrong = std::move(why);
        return false;
    }

    bool vector(const WeldType* elem, const WeldVec& v) {
        if (v.len == 0 || (v.len > 0 && !elem->size)) return true;  // elements without bytes lie nowhere
        if (!Plausible(elem)(v)) return wrong(why_not(elem, v));
        const Hold& hold = holder_.find(v.data, elem->holds_pointer);
        if (hold) note(hold);
        if (hold || !elem->holds_pointer) return true;
        return elem->kind == kWeldVec ? vectors(elem, v) : elements(elem, v);
    }

    static std::string why_not(const WeldType* elem, const WeldVec& v) {
        if (v.len < 0) return fmt::format("has the length {}", v.len);
        if (!v.data) return fmt::format("has no elements (NULL), but the length {}", v.len);
        if (v.len > Plausible(elem).most) return fmt::format("has a length that no memory has: {}", v.len);
        return fmt::format("is not aligned: the address of a `{}` is a multiple of {}", name_of(elem),
                           elem->align);
    }

    /// As `elements`, where there may be very many.
    bool vectors(const WeldType* inner, const WeldVec& outer) {
        const WeldType* elem = inner->args[0];
        const Plausible plausible(elem);
        const auto* v = static_cast<const WeldVec*>(outer.data);
        for (std::int64_t i = 0; i < outer.len; ++i, ++v) {
            __builtin_prefetch(reinterpret_cast<const char*>(v) + runtime::kBytesAhead);
            const bool nothing_to_do = plausible(*v) && !elem->holds_pointer && holder_.is_foreign(v->data);
            if (!nothing_to_do && !vector(elem, *v)) return at_element(i);
        }
        return true;
    }
    bool elements(const WeldType* elem, const WeldVec& v) {
        const char* at = static_cast<const char*>(v.data);
        for (std::int64_t i = 0; i < v.len; ++i, at += elem->size)
            if (!value(elem, at)) return at_element(i);
        return true;
    }
    bool at_element(std::int64_t i) {
        path_ = fmt::format("[{}]{}", i, path_);
        return false;
    }

    bool dictionary(const WeldType* t, const WeldDict* d) {
        if (!d) return true;
        const Hold& hold = holder_.find(d, true);
        if (!hold) return wrong("is no dictionary of a value that lives");
        note(hold);
        if (d->key_size != t->args[0]->size || d->value_size != t->args[1]->size)
            return wrong(fmt::format("is no `{}`", name_of(t)));
        return !is_builder(d) || wrong("is a builder, not a dictionary");
    }

    /// The state of a dictmerger is a table, too.
    bool is_builder(const WeldDict* d) {
        const RunResult* from = holder_.result();
        if (!from) return false;
        const auto builders = builders_in(from->program().result(), from->outcome.value());
        return std::ranges::any_of(builders, [d](const BuilderState& b) { return b.memory() == d; });
    }

    void note(const Hold& hold) {
        if (hold == last_noted_) return;
        last_noted_ = hold;
        found_.holds.insert(hold);
    }

    Arguments& found_;
    Holder holder_;
    Hold last_noted_;
    std::string path_;
};

void add_builders(const WeldType* t, const void* at, std::vector<BuilderState>* all) {
    if (runtime::is_builder(t)) return all->push_back({t, at, {}});
    for (std::uint32_t i = 0; t->kind == kWeldStruct && i < t->num_args; ++i) {
        const std::size_t before = all->size();
        add_builders(t->args[i], static_cast<const char*>(at) + t->offsets[i], all);
        for (std::size_t k = before; k < all->size(); ++k)
            (*all)[k].path = fmt::format(".${}{}", i, (*all)[k].path);
    }
}

}  // namespace

const void* BuilderState::memory() const { return runtime::memory_of(type, at); }
bool BuilderState::is_new() const { return runtime::is_new_state(type, at); }

std::vector<BuilderState> builders_in(const WeldType* type, const void* value) {
    std::vector<BuilderState> all;
    if (value) add_builders(type, value, &all);
    return all;
}

std::string name_of_argument(const Program& program, std::string_view path) {
    std::size_t param = 0;
    const char* begin = path.data() + 2;
    const char* rest = std::from_chars(begin, path.data() + path.size(), param).ptr;
    return fmt::format("{}{}", program.params()[param]->name,
                       std::string_view(rest, path.data() + path.size()));
}

Arguments look_at(const Program& program, const void* args) {
    Arguments found;
    const WeldType* t = program.args();
    if (reinterpret_cast<std::uintptr_t>(args) % std::uintptr_t(t->align)) {
        found.wrong =
            fmt::format("the arguments are not aligned: their address is a multiple of {}", t->align);
        return found;
    }
    ArgumentScan scan(&found);
    if (!scan.fields(t, static_cast<const char*>(args)))
        found.wrong = fmt::format("`{}` {}", name_of_argument(program, scan.path()), found.wrong);
    return found;
}

}  // namespace weld
