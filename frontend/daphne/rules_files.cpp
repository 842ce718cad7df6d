// Files: what stands in them is known before the run, from `FILE.meta` or their first bytes.
#include <algorithm>
#include <set>

#include "frontend/daphne/meta.h"
#include "frontend/daphne/rules.h"
#include "weldir/support/visible.h"

namespace weld::daphne {

/// Files are beyond what some programs may reach.
static bool is_allowed(Call& c, std::string_view kernel) {
    const auto* allowed = c.checker.inputs().allowed_functions;
    if (!allowed || std::ranges::find(*allowed, kernel) != allowed->end()) return true;
    c.checker.error(c.loc, "`{}` is not allowed here: `{}` is none of the functions in `weld.cudf.allow`",
                    c.builtin.name, kernel);
    return false;
}

/// What describes the file at `path`; its text becomes an argument of the call: the run compares.
static std::optional<Meta> meta_of(Call& c, const std::string& path, bool may_sniff) {
    Constant text{.value = ValueType::Str};
    std::string why = "there are no files";
    const auto& describe = c.checker.inputs().describe;
    if (!describe || !describe(path, may_sniff, &text.text, &why)) {
        c.wrong(0, "{}", why);
        return std::nullopt;
    }
    std::optional<Meta> meta = read_meta(text.text, &why);
    if (!meta) c.wrong(0, "`{}.meta`: {}", visible(path), why);
    else c.args.push_back(c.checker.constant(text, c.loc));
    return meta;
}

/// Whether the file itself may say what it holds.
static std::optional<bool> sniffs(Call& c) {
    if (!c.has(1)) return false;
    if (!c.want_bool(1)) return std::nullopt;
    if (c[1]->constant) return c[1]->constant->integer != 0;
    c.checker.unknown(c.locs[1], "`sniff` of `{}` has to be known before the run", c.builtin.name);
    return std::nullopt;
}

static bool has_equal_labels(Call& c, const std::string& path, bool may_sniff, const Type& frame) {
    std::set<std::string_view> labels;
    for (const Column& column : frame.columns) {
        if (labels.insert(column.label).second) continue;
        const std::string name = quoted_excerpt(column.label);
        if (may_sniff)
            c.wrong(0, "two columns of `{}` are called {}; a `.meta` can name them", visible(path), name);
        else c.wrong(0, "`{}.meta`: a frame cannot have two columns {}", visible(path), name);
        return true;
    }
    return false;
}

/// Paths that end in the same name may lead to one file.
static std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// What files hold of cells: truth values are 0 and 1, numbers of rows 64 bits.
static ValueType in_files(ValueType v) {
    return v == ValueType::Bool ? ValueType::Ui8 : v == ValueType::Size ? ValueType::Ui64 : v;
}
static Type in_files(Type type) {
    type.value = in_files(type.value);
    type.is_sparse = false;
    for (Column& column : type.columns) column.value = in_files(column.value);
    return type;
}

/// What the file named by the first argument holds; as it was written before, or as its description says.
static bool described(Call& c, bool is_frame) {
    const auto path = c.known_text(0);
    const auto may_sniff = sniffs(c);
    if (!path || !may_sniff) return false;
    c.args.resize(1);
    Checker::Effects& effects = c.checker.effects;
    effects.read = true;
    if (const auto at = effects.written.find(*path); at != effects.written.end())
        if (const Value* v = at->second; v && v->type.is_frame() == is_frame)
            return c.give(in_files(v->type), v->rows, v->columns)->sparsity = v->sparsity, true;
    for (const Checker::Effects* e = &effects; e; e = e->around)
        if (c.checker.can_stop() &&
            (e->wrote_others || std::ranges::any_of(e->written, [&](const auto& written) {
                 return last_name(written.first) == last_name(*path);
             }))) {
            c.checker.unknown(c.loc,
                              "what `{}` holds has to be known before the run, but the script writes it",
                              visible(*path));
            return false;
        }
    const std::optional<Meta> meta = meta_of(c, *path, *may_sniff);
    if (!meta) return false;
    auto dim = [&](std::int64_t n) { return n < 0 ? c.checker.graph().fresh_dim() : Dim{n, 0}; };
    if (!is_frame) {
        Value* out = c.give(Type::matrix(meta->value), dim(meta->rows), dim(meta->num_columns));
        if (meta->non_zeros && meta->rows > 0 && meta->num_columns > 0)
            out->sparsity = double(*meta->non_zeros) / (double(meta->rows) * double(meta->num_columns));
        return true;
    }
    Type type = Type::frame(meta->columns);
    for (std::int64_t i = 0; !meta->has_schema() && i < meta->num_columns; ++i)
        type.columns.push_back({"col_" + std::to_string(i), meta->value});
    if (has_equal_labels(c, *path, *may_sniff, type)) return false;
    c.give(type, dim(meta->rows), {std::int64_t(type.columns.size()), 0});
    return true;
}

bool rule_read_matrix(Call& c) { return is_allowed(c, "weld_read_matrix") && described(c, false); }
bool rule_read_frame(Call& c) { return is_allowed(c, "weld_read_frame") && described(c, true); }

// ---- files by handles: a handle is the path

bool rule_open_file(Call& c) {
    for (std::size_t i = 0; i < c.size(); ++i)
        if (!c.want_text(i)) return false;
    if (!is_allowed(c, "weld_read_open")) return false;
    c.give(Type::scalar(ValueType::Str))->constant = c[c.size() - 1]->constant;
    return true;
}

bool rule_open_device(Call& c) {
    c.results = {c[0]};
    return c.want_text(0);
}

bool rule_close(Call& c) {
    if (!c.want_text(0)) return false;
    c.act();
    return true;
}

bool rule_read_csv(Call& c) {
    if (!c.want_text(0) || !c.want_integer(1) || !c.want_integer(2) || !c.want_text(3)) return false;
    if (!is_allowed(c, "weld_read_matrix")) return false;
    c.give(Type::matrix(ValueType::F64), c.checker.dim_of(c[1]), c.checker.dim_of(c[2]));
    return true;
}

bool rule_write(Call& c) {
    if (!c.want_data(0) || !c.want_text(1)) return false;
    if (!is_allowed(c, c[0]->type.is_frame() ? "weld_write_frame" : "weld_write_matrix")) return false;
    Checker::Effects& effects = c.checker.effects;
    if (c[1]->constant) {
        const std::string& path = c[1]->constant->text;
        for (auto& [other, value] : effects.written)
            if (last_name(other) == last_name(path)) value = nullptr;
        effects.written[path] = c[0];
    } else {
        effects.wrote_others = true;
    }
    c.checker.count_write();
    c.act();
    return true;
}

}  // namespace weld::daphne
