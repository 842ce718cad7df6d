// Calls: functions of the script, for each kind of arguments, and built-in ones.
#include <algorithm>

#include "frontend/daphne/check.h"
#include "frontend/daphne/check_types.h"
#include "frontend/daphne/fold.h"
#include "frontend/daphne/hints.h"
#include "frontend/daphne/represent.h"
#include "frontend/daphne/rules.h"

namespace weld::daphne {

// ---- definitions

/// All functions of a script are known from its beginning, so that they can call one another.
void Checker::declare(Statements all) {
    for (const Statement* s : all) {
        if (s->kind != Statement::Define) continue;
        definitions_.push_back(std::make_unique<Definition>());
        Definition* d = definitions_.back().get();
        d->function = s->function;
        d->file = file_;
        file_->definitions[std::string(s->function->name)].push_back(d);
    }
}

/// Functions whose types are written are checked even if nobody calls them.
void Checker::check_uncalled() {
    for (std::size_t i = 0; i < definitions_.size(); ++i) {
        Definition& d = *definitions_[i];
        const auto& params = d.function->parameters;
        if (!d.instances.empty() || !std::ranges::all_of(params, [](const Parameter& p) {
                return p.type.has_data && p.type.has_value;
            }))
            continue;
        std::vector<Value*> args;
        for (const Parameter& p : params)
            args.push_back(graph_.value({.data = p.type.data, .value = p.type.value, .columns = {}}));
        bool failed = false;
        const Mark before = mark();
        needs_value_ = false;
        instance(d, args, d.function->loc, true, &failed);
        if (needs_value_) undo(before);  // what it has to know, calls may say
    }
}

std::vector<Checker::Definition*> Checker::definitions_of(std::string_view name) {
    const auto at = file_->definitions.find(name);
    return at == file_->definitions.end() ? std::vector<Definition*>() : at->second;
}

// ---- functions

/// What is known of an argument, as text.
static std::string key_of(const Value* v, bool only_type) {
    std::string key = str(v->type);
    for (const Column& c : v->type.columns) key += fmt::format("|{}:{}", c.label, int(c.value));
    if (only_type) return key;
    key += fmt::format("#{}x{}#{}#{}", v->rows.number, v->columns.number, v->sparsity, v->symmetric);
    if (v->constant)
        key += fmt::format("={}/{}/{}", v->constant->integer, v->constant->number, v->constant->text);
    return key;
}

static Type written(const WrittenType& w, const Type& of) {
    Type type = of;
    if (w.has_data) type.data = w.data;
    if (w.has_value) type.value = w.value;
    return type;
}

static bool accepts(const WrittenType& w, const Type& type, bool casts) {
    if (w.has_data && w.data != type.data) return false;
    if (w.has_value && type.is_frame()) return false;
    if (!w.has_value || w.value == type.value) return true;
    return casts && (w.value == ValueType::Str) == (type.value == ValueType::Str);
}

/// The body for these arguments; its results may be known from the signature alone while it is checked.
GraphFunction* Checker::instance(Definition& d, const std::vector<Value*>& args, Loc loc, bool generic,
                                 bool* failed) {
    constexpr std::size_t kMostInstances = 8;  // beyond, one for each types
    const bool only_types =
        generic || d.open > 0 || (d.instances.size() >= kMostInstances && !(in_rounds_ && rounds_left_ > 0));
    std::string key;
    for (const Value* v : args) key += key_of(v, only_types) + ";";
    if (auto known = d.instances.find(key); known != d.instances.end()) {
        const Definition::Instance& one = known->second;
        if (!one.effects.read || one.writes == writes_) {
            *failed = !one.function;
            effects.may_add(one.effects);
            return one.function;
        }
    }
    if (depth_ > 500) {
        error(loc, "calls of functions without types are nested too deeply");
        *failed = true;
        return nullptr;
    }
    const Function& f = *d.function;
    const bool known_results =
        std::ranges::all_of(f.results, [](const WrittenType& w) { return w.has_data && w.has_value; });
    if (d.open > 0 && !(f.has_result_types && known_results)) {
        error(loc, "`{}` calls itself, so the types of its results have to be written", f.name);
        *failed = true;
        return nullptr;
    }
    graph_.functions.emplace_back();
    GraphFunction* g = &graph_.functions.back();
    g->name = f.name;
    g->loc = f.loc;
    d.instances[key] = {g, {}, 0};
    for (const WrittenType& w : f.results)
        if (known_results) {
            Value* r = graph_.value({.data = w.data, .value = w.value, .columns = {}});
            r->rows = graph_.fresh_dim(), r->columns = graph_.fresh_dim();
            g->signature.push_back(r);
        }
    Names names;
    for (std::size_t i = 0; i < args.size(); ++i) {
        Value* p = only_types ? graph_.value(args[i]->type) : graph_.like(*args[i]);
        if (!p->rows.known()) p->rows = graph_.fresh_dim();
        if (!p->columns.known()) p->columns = graph_.fresh_dim();
        g->body.params.push_back(p);
        names.declare(f.parameters[i].name, {p});
    }
    Activation activation;
    activation.function = &f;
    activation.number = ++activations_;
    std::swap(names_, names);
    Activation* outer = std::exchange(activation_, &activation);
    Body* body = std::exchange(body_, &g->body);
    File* file = std::exchange(file_, d.file);
    const bool certain = certain_;
    certain_ &= !generic;
    Effects before = std::move(effects);
    effects = {};
    effects.around = &before;
    const std::size_t errors = diagnostics_.num_errors();
    ++d.open, ++depth_;
    statements(f.body, nullptr);
    --d.open, --depth_;
    check_results(activation);
    const bool good = diagnostics_.num_errors() == errors &&
                      std::ranges::find(activation.results, nullptr) == activation.results.end();
    g->body.results = activation.results;
    g->is_done = true;
    std::swap(names_, names);
    activation_ = outer, body_ = body, file_ = file, certain_ = certain;
    Effects done = std::exchange(effects, std::move(before));
    done.around = nullptr;
    effects.may_add(done);
    if (!good) g->is_wrong = true;
    d.instances[key] = {good ? g : nullptr, std::move(done), writes_};
    *failed = !good;
    return good ? g : nullptr;
}

/// Results are as many, and of such types, as is written.
void Checker::check_results(Activation& activation) {
    const Function& f = *activation.function;
    if (!f.has_result_types) return;
    if (activation.results.size() != f.results.size()) {
        error(activation.at ? activation.at : f.loc, "`{}` has {} results, found {}", f.name,
              f.results.size(), activation.results.size());
        return;
    }
    for (std::size_t i = 0; i < f.results.size(); ++i) {
        Value*& r = activation.results[i];
        if (r && !accepts(f.results[i], r->type, false))
            r = error(activation.at, "result {} of `{}` is {}, found {}", i + 1, f.name,
                      str(written(f.results[i], r->type)), str(r->type));
    }
}

void Checker::Effects::may_add(const Effects& done) {
    for (const auto& [name, value] : done.written) {
        const auto [at, is_new] = written.emplace(name, nullptr);
        if (at->second != value) at->second = nullptr;
    }
    wrote_others |= done.wrote_others;
    registered_others |= done.registered_others;
    read |= done.read;
}

Checker::Definition* Checker::choose(const Node* n, const std::vector<Definition*>& overloads,
                                     const std::vector<std::vector<Value*>>& args_of) {
    for (const bool casts : {false, true}) {
        std::vector<std::size_t> fitting;
        for (std::size_t k = 0; k < overloads.size(); ++k) {
            const auto params = overloads[k]->function->parameters;
            if (args_of[k].size() != params.size()) continue;
            bool fits = true;
            for (std::size_t i = 0; i < params.size(); ++i)
                fits &= args_of[k][i] && accepts(params[i].type, args_of[k][i]->type, casts);
            if (fits) fitting.push_back(k);
        }
        if (!fitting.empty() && !casts) return overloads[fitting[0]];
        if (fitting.size() == 1) return overloads[fitting[0]];
        if (fitting.size() > 1)
            return error(n->start, "this call of `{}` fits several of its definitions", n->text), nullptr;
    }
    return nullptr;
}

/// What a call calls, with its arguments in the order of the parameters, or null; then `instead` is what the
/// call gives.
Checker::Definition* Checker::definition_for(const Node* n, const std::vector<Definition*>& overloads,
                                             std::vector<Value*>* args, std::vector<Value*>* instead) {
    *instead = {nullptr};
    if (!n->hint.empty()) return error(n->hint_loc, "a kernel can be named for built-in functions only");
    std::vector<Value*> values;
    for (const Node* a : n->args) values.push_back(expression(a));
    const bool all_known = std::ranges::find(values, nullptr) == values.end();
    std::vector<std::vector<Value*>> args_of;
    std::string problem;
    for (const Definition* d : overloads) {  // in the order of its parameters
        const auto params = d->function->parameters;
        std::vector<Value*> args(params.size());
        bool fits = values.size() == params.size();
        if (!fits)
            problem = fmt::format("`{}` takes {} arguments, found {}", n->text, params.size(), values.size());
        for (std::size_t i = 0; fits && i < values.size(); ++i) {
            std::size_t at = i;
            if (!n->names.empty() && !n->names[i].name.empty()) {
                const auto p = std::ranges::find(params, n->names[i].name, &Parameter::name);
                if (p == params.end()) {
                    problem = fmt::format("`{}` has no parameter `{}`", n->text, n->names[i].name);
                    fits = false;
                    break;
                }
                at = std::size_t(p - params.begin());
            }
            if (args[at]) {
                problem = fmt::format("the parameter `{}` is given twice", params[at].name);
                fits = false;
            }
            args[at] = values[i];
        }
        if (fits && !all_known) {  // it may be this one, and do anything
            effects.may_be_any();
            if (overloads.size() == 1 && d->function->has_result_types)
                instead->resize(d->function->results.size());
            return nullptr;
        }
        args_of.push_back(fits ? args : std::vector<Value*>{});
        if (!fits) args_of.back().assign(params.size() + 1, nullptr);
    }
    Definition* d = choose(n, overloads, args_of);
    if (!d) {
        if (problem.empty() || overloads.size() > 1) {
            std::string types;
            for (const Value* v : values) types += (types.empty() ? "" : ", ") + (v ? str(v->type) : "?");
            problem = fmt::format("no definition of `{}` takes ({})", n->text, types);
        }
        return error(n->start, "{}", problem);
    }
    const auto which = std::size_t(std::ranges::find(overloads, d) - overloads.begin());
    *args = args_of[which];
    for (std::size_t i = 0; i < args->size(); ++i) {
        Value*& v = (*args)[i];
        v = convert(v, written(d->function->parameters[i].type, v->type), n->start);
    }
    return d;
}

std::vector<Value*> Checker::call_function(const Node* n, const std::vector<Definition*>& overloads) {
    std::vector<Value*> args, instead;
    Definition* d = definition_for(n, overloads, &args, &instead);
    if (!d) return instead;
    bool failed = false;
    const bool needed_value = needs_value_;
    GraphFunction* g = instance(*d, args, n->start, false, &failed);
    if (needs_value_ && !needed_value && activation_->is_open) needed_call_ = n;
    if (!g) return std::vector<Value*>(std::max<std::size_t>(1, d->function->results.size()), nullptr);
    GraphNode* node = emit(GraphNode::Call, n->start, args);
    node->function = g;
    const std::vector<Value*>& from = g->is_done ? g->body.results : g->signature;
    for (const Value* r : from) {
        Value* v = give(node, r->type, r->rows.known() || r->type.is_scalar() ? r->rows : graph_.fresh_dim(),
                        r->columns.known() || r->type.is_scalar() ? r->columns : graph_.fresh_dim());
        v->sparsity = r->sparsity;
        v->symmetric = r->symmetric;
        v->constant = r->constant;
    }
    return node->results;
}

GraphFunction* Checker::function_for_cells(std::string_view name, ValueType cell, Loc loc) {
    Value* v = graph_.value(Type::scalar(cell));
    for (Definition* d : definitions_of(name)) {
        const Function& f = *d->function;
        if (f.parameters.size() != 1 || !accepts(f.parameters[0].type, v->type, false)) continue;
        bool failed = false;
        return instance(*d, {v}, loc, true, &failed);
    }
    return error(loc, "there is no function `{}` of one {}", name, name_of(cell));
}

// ---- built-in functions

/// Names of parameters, with their `?` and `...`.
static std::vector<std::string_view> split(std::string_view params) {
    std::vector<std::string_view> all;
    while (!params.empty()) {
        const std::size_t end = params.find(", ");
        all.push_back(params.substr(0, end));
        params = end == params.npos ? std::string_view() : params.substr(end + 2);
    }
    return all;
}

std::string_view Call::param(std::size_t i) const {
    const auto all = split(builtin.params);
    std::string_view name = all[std::min(i, all.size() - 1)];
    while (name.ends_with('?') || name.ends_with('.')) name.remove_suffix(1);
    return name;
}

std::vector<Value*> Checker::call_builtin(const Node* n, const Builtin& builtin) {
    const std::vector<std::string_view> params = split(builtin.params);
    const bool variadic = !params.empty() && params.back().ends_with("...");
    Call c{*this, builtin, n->start, {}, {}, {}, nullptr, {}};
    if (!variadic) c.args.resize(params.size()), c.locs.resize(params.size()), c.nodes.resize(params.size());
    bool good = true;
    for (std::size_t i = 0; i < n->args.size(); ++i) {
        Value* v = expression(n->args[i]);
        good &= v != nullptr;
        std::size_t at = i;
        if (variadic) {
            if (!n->names.empty() && !n->names[i].name.empty())
                return {error(n->names[i].loc, "`{}` takes no named arguments", builtin.name)};
            c.args.push_back(v), c.locs.push_back(n->args[i]->start), c.nodes.push_back(n->args[i]);
            continue;
        }
        if (!n->names.empty() && !n->names[i].name.empty()) {
            for (at = 0; at < params.size() && c.param(at) != n->names[i].name;) ++at;
            if (at == params.size())
                return {error(n->names[i].loc, "`{}` has no parameter `{}`; it takes ({})", builtin.name,
                              n->names[i].name, builtin.params)};
        }
        if (at >= params.size())
            return {error(n->start, "`{}` takes {} arguments, ({}); found {}", builtin.name, params.size(),
                          builtin.params, n->args.size())};
        if (c.nodes[at]) return {error(n->args[i]->start, "`{}` is given twice", c.param(at))};
        c.args[at] = v, c.locs[at] = n->args[i]->start, c.nodes[at] = n->args[i];
    }
    bool hole = false;
    for (std::size_t i = 0; i < params.size() && !variadic; ++i) {
        if (!c.nodes[i]) hole = true;
        if (!c.nodes[i] && !params[i].ends_with('?'))
            return {
                error(n->start, "`{}` needs `{}`; it takes ({})", builtin.name, c.param(i), builtin.params)};
        if (c.nodes[i] && hole && builtin.name != "print" && builtin.name != "ctable")
            return {error(n->start, "`{}` needs `{}` before `{}`", builtin.name, c.param(i - 1), c.param(i))};
    }
    if (!good && (builtin.rule == rule_write || builtin.rule == rule_register_view)) effects.may_be_any();
    if (!good || !builtin.rule(c)) return {nullptr};
    if (c.node && c.results.size() == 1 && c.results[0]->type.is_matrix() && c.results[0]->sparsity < 0)
        c.results[0]->sparsity = kept_sparsity(*c.node);
    if (!n->hint.empty() && !check_hint(n, operation_of(c), builtin.name)) return {nullptr};
    return c.results;
}

std::vector<Value*> Checker::call(const Node* n) {
    if (const auto overloads = definitions_of(n->text); !overloads.empty())
        return call_function(n, overloads);
    if (n->text == "map") return {map(n)};
    if (const Builtin* b = find_builtin(n->text)) return call_builtin(n, *b);
    if (n->text == "receiveFromNumpy" || n->text == "saveDaphneLibResult")
        return {error(n->start,
                      "`{}` is for the Python library of DAPHNE, which is not there; files hand data over",
                      n->text)};
    return {error(n->start, "unknown function `{}`", n->text)};
}

/// `map(arg, udf)`, of which the second is a name that no variable has. None after an error.
std::optional<Checker::MapArguments> Checker::map_arguments(const Node* n) {
    constexpr std::string_view kParams[] = {"arg", "udf"};
    const Node* given[2] = {};
    const auto wrong = [&](Loc loc, std::string_view text) {
        error(loc, "{}", text);
        return std::nullopt;
    };
    for (std::size_t i = 0; i < n->args.size(); ++i) {
        std::size_t at = i;
        if (!n->names.empty() && !n->names[i].name.empty()) {
            at = std::size_t(std::ranges::find(kParams, n->names[i].name) - std::begin(kParams));
            if (at == 2)
                return wrong(n->names[i].loc, fmt::format("`map` has no parameter `{}`; it takes (arg, udf)",
                                                          n->names[i].name));
        }
        if (at >= 2) break;
        if (given[at]) return wrong(n->args[i]->start, fmt::format("`{}` is given twice", kParams[at]));
        given[at] = n->args[i];
    }
    if (n->args.size() != 2)
        return wrong(n->start, fmt::format("`map` takes 2 arguments, (arg, udf); found {}", n->args.size()));
    return MapArguments{given[0], given[1]};
}

Value* Checker::map(const Node* n) {
    if (!n->hint.empty() && !check_hint(n, "map", n->text)) return nullptr;
    const auto args = map_arguments(n);
    if (!args) return nullptr;
    const Node *arg = args->matrix, *udf = args->function;
    Value* of = expression(arg);
    if (!of) return effects.may_be_any(), nullptr;
    if (!of->type.is_matrix()) return error(arg->start, "`map` takes a matrix, found {}", str(of->type));
    if (udf->form != Form::Name) return error(udf->start, "`map` takes the name of a function");
    const bool needed_value = needs_value_;
    GraphFunction* f = function_for_cells(udf->text, of->type.value, udf->start);
    if (needs_value_ && !needed_value && activation_->is_open) needed_call_ = n;
    if (!f) return nullptr;
    if (f->body.results.size() != 1 || !f->body.results[0]->type.is_scalar())
        return error(udf->start, "the function of `map` gives one scalar");
    GraphNode* node = emit(GraphNode::Map, n->start, {of});
    node->function = f;
    Value* cells = give(node, Type::matrix(f->body.results[0]->type.value), of->rows, of->columns);
    return to_value_type(cells, of->type.value, n->start);
}

// ---- what rules ask of arguments

Value* Call::give(const Type& type, Dim rows, Dim columns) {
    if (!node) act();
    results.push_back(checker.give(node, type, rows, columns));
    return results.back();
}
void Call::act() {
    node = checker.emit(GraphNode::Builtin, loc, args);
    node->builtin = &builtin;
}

bool Call::want_matrix(std::size_t i) {
    if (args[i]->type.is_matrix()) return true;
    return wrong(i, "`{}` of `{}` is a matrix, found {}", param(i), builtin.name, str(args[i]->type));
}
bool Call::want_numbers(std::size_t i) {
    if (!want_matrix(i)) return false;
    if (args[i]->type.value != ValueType::Str) return true;
    return wrong(i, "`{}` of `{}` holds numbers, found {}", param(i), builtin.name, str(args[i]->type));
}
bool Call::want_frame(std::size_t i) {
    if (args[i]->type.is_frame()) return true;
    return wrong(i, "`{}` of `{}` is a frame, found {}", param(i), builtin.name, str(args[i]->type));
}
bool Call::want_data(std::size_t i) {
    if (args[i]->type.is_matrix() || args[i]->type.is_frame()) return true;
    return wrong(i, "`{}` of `{}` is a matrix or a frame, found {}", param(i), builtin.name,
                 str(args[i]->type));
}
bool Call::want_scalar(std::size_t i) {
    if (args[i]->type.is_matrix()) args[i] = checker.to_scalar(args[i], args[i]->type.value, locs[i]);
    if (args[i]->type.is_scalar()) return true;
    return wrong(i, "`{}` of `{}` is a scalar, found {}", param(i), builtin.name, str(args[i]->type));
}
bool Call::want_integer(std::size_t i) {
    if (!want_scalar(i)) return false;
    if (args[i]->type.value == ValueType::Str)
        return wrong(i, "`{}` of `{}` is a number, found {}", param(i), builtin.name, str(args[i]->type));
    args[i] = checker.to_scalar(args[i], ValueType::Si64, locs[i]);
    return true;
}
bool Call::want_float(std::size_t i) {
    if (!want_scalar(i)) return false;
    if (args[i]->type.value == ValueType::Str)
        return wrong(i, "`{}` of `{}` is a number, found {}", param(i), builtin.name, str(args[i]->type));
    args[i] = checker.to_scalar(args[i], ValueType::F64, locs[i]);
    return true;
}
bool Call::want_bool(std::size_t i) {
    if (!want_scalar(i)) return false;
    if (args[i]->type.value == ValueType::Str)
        return wrong(i, "`{}` of `{}` is a truth value, found {}", param(i), builtin.name,
                     str(args[i]->type));
    args[i] = checker.to_scalar(args[i], ValueType::Bool, locs[i]);
    return true;
}
bool Call::want_text(std::size_t i) {
    if (args[i]->type.is_string()) return true;
    return wrong(i, "`{}` of `{}` is a string, found {}", param(i), builtin.name, str(args[i]->type));
}
std::optional<std::string> Call::known_text(std::size_t i) {
    if (!want_text(i)) return std::nullopt;
    if (args[i]->constant) return args[i]->constant->text;
    checker.unknown(i < locs.size() && locs[i] ? locs[i] : loc, "`{}` of `{}` has to be known before the run",
                    param(i), builtin.name);
    return std::nullopt;
}
std::optional<std::int64_t> Call::known_integer(std::size_t i) {
    if (!want_integer(i)) return std::nullopt;
    if (args[i]->constant) return args[i]->constant->integer;
    checker.unknown(i < locs.size() && locs[i] ? locs[i] : loc, "`{}` of `{}` has to be known before the run",
                    param(i), builtin.name);
    return std::nullopt;
}

}  // namespace weld::daphne
