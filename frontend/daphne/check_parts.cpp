// A script in parts. Its statements are checked one by one, until one needs to know what only the run can
// tell. There the program ends, before that statement, and the rest is another program, in which it is known:
//
//     name = "data" + n + ".csv";     the first program: it leaves `name`
//     X = readMatrix(name);           the second one, in which `name` is a constant
//
// If that is not enough, it depends on something in the statement itself, and the statement is opened: what
// it consists of takes its place, and is gone through in the same way.
//
//     readMatrix("part" + sum(X))     "part" + sum(X)        and it again, with this known
//     if (c) A; else B;               c                      and A or B
//     while (c) A;                    c                      and A, and it again
//     x = f(y) + 1;                   the body of f          and it again, with the results known
//
// So a script that is being run is in blocks, each in a statement of the one before; the last one says where
// the rest begins. What is computed before the statement that it belongs to is its answer, a variable named
// after its place. Everything happens once and in order: in front of what has to be known there are calls
// that may print; they become answers first.
//
// What is found wrong once a part has run is a failure of the run, where it comes to that. So the program
// ends before the statement, which is opened if it may be that the run does not come to what is wrong in it.
#include <algorithm>
#include <unordered_map>

#include "frontend/daphne/check.h"
#include "frontend/daphne/check_types.h"
#include "frontend/daphne/fold.h"

namespace weld::daphne {

namespace {

/// What a loop that is opened keeps beside its counter.
constexpr std::string_view kLast = "the end of the loop", kStep = "the step of the loop";

/// Operands, arguments and subscripts, in the order in which they are evaluated.
std::vector<const Node*> operands_of(const Node* n) {
    std::vector<const Node*> all(n->args.begin(), n->args.end());
    for (const Index* i : {&n->rows, &n->columns}) all.insert(all.end(), {i->first, i->last});
    std::erase(all, nullptr);
    return all;
}

/// Calls `visit` for the nodes below `root`, and this, from the first on; only if it gives true for those
/// below as well.
void walk(const Node* root, const std::function<bool(const Node*)>& visit) {
    std::vector<const Node*> open = {root};
    while (!open.empty()) {
        const Node* n = open.back();
        open.pop_back();
        if (!n || !visit(n)) continue;
        const auto below = operands_of(n);
        open.insert(open.end(), below.rbegin(), below.rend());
    }
}

/// The nodes from `root` to the first that `is_meant`; none if there is no such.
std::vector<const Node*> way_to(const Node* root, const std::function<bool(const Node*)>& is_meant) {
    std::unordered_map<const Node*, const Node*> above;
    const Node* found = nullptr;
    walk(root, [&](const Node* n) {
        if (!found && is_meant(n)) found = n;
        for (const Node* below : operands_of(n)) above[below] = n;
        return !found;
    });
    std::vector<const Node*> way;
    for (const Node* n = found; n; n = n == root ? nullptr : above[n]) way.push_back(n);
    std::ranges::reverse(way);
    return way;
}

/// What a statement evaluates itself, in order; not what stands in its body.
std::vector<const Node*> expressions_of(const Statement* s) {
    std::vector<const Node*> all = {s->value, s->from, s->to, s->step};
    for (const Target& t : s->targets)
        for (const Index* i : {&t.rows, &t.columns}) all.insert(all.end(), {i->first, i->last});
    all.insert(all.end(), s->values.begin(), s->values.end());
    std::erase(all, nullptr);
    return all;
}

using NameSet = std::set<std::string_view>;

void add_mentioned(const Node* root, NameSet* names) {
    walk(root, [&](const Node* n) {
        if (n->form == Form::Name) names->insert(n->text);
        return true;
    });
}

void add_mentioned(const Statement* s, NameSet* names) {
    for (const Target& t : s->targets) names->insert(t.name);
    for (const Node* n : expressions_of(s)) add_mentioned(n, names);
    for (const Statements all : {s->body, s->otherwise})
        for (const Statement* inner : all) add_mentioned(inner, names);
}

bool is_loop(const Statement* s) {
    return s->kind == Statement::While || s->kind == Statement::DoWhile || s->kind == Statement::For;
}

}  // namespace

bool Checker::Block::is_loop() const { return !call && of && daphne::is_loop(of); }
bool Checker::Block::is_head() const { return is_loop() && is_second; }
bool Checker::Block::is_import() const { return !call && of && of->kind == Statement::Import; }

// ---- one step after the other

/// A step; false at the end of the script, where the program has to end (`is_cut_`), and after an error.
bool Checker::go_on() {
    const std::size_t errors = diagnostics_.num_errors();
    const Step step = step_on();
    is_cut_ = step == Step::Cut;
    if (step == Step::Stuck && diagnostics_.num_errors() == errors) {
        const Block& block = blocks_.back();
        if (block.is_head()) condition(block.of->value);
        else if (may_return(block.all[block.next])) rest_of_call();
        else statement(block.all[block.next]);  // says what it needs
    }
    return step == Step::On;
}

Checker::Step Checker::step_on() {
    Block& block = blocks_.back();
    if (block.is_head() || (block.is_loop() && block.next == block.all.size())) return end_round();
    if (block.next == block.all.size()) return end_block();
    const Statement* s = block.all[block.next];
    const bool ends = may_return(s);
    if (!check_whole(s, ends)) return without_whole(s);
    is_first_ = false;
    return ends ? end_call() : end_statement();
}

/// Checks a statement as a whole, and if it may return all that is left of the function. False if something
/// has to be known that is not, or is wrong after parts have run; then nothing has happened.
bool Checker::check_whole(const Statement* s, bool ends) {
    const Mark before = mark();
    const std::size_t errors = diagnostics_.num_errors();
    std::optional<File> file;
    if (s->kind == Statement::Import) file = *file_;
    needs_value_ = needs_rounds_ = false;
    if (ends) rest_of_call();
    else statement(s);
    is_wrong_ = !needs_value_ && !is_new_text_ && diagnostics_.num_errors() != errors;
    if (!needs_value_ && !is_wrong_) return true;
    undo(before);
    if (file) *file_ = std::move(*file);
    activation_->returned = false;
    activation_->results.clear();
    return false;
}

/// From where the innermost block stands to the end of the function.
void Checker::rest_of_call() {
    std::size_t first = blocks_.size() - 1;
    while (first > 0 && !blocks_[first].has_own_names()) --first;
    std::vector<Rest> rests;
    rests.reserve(blocks_.size());
    for (std::size_t i = first; i + 1 < blocks_.size(); ++i)
        rests.push_back({blocks_[i].all.subspan(blocks_[i].next + 1), i - first + 1,
                         rests.empty() ? nullptr : &rests.back()});
    const Block& last = blocks_.back();
    statements(last.all.subspan(last.next), rests.empty() ? nullptr : &rests.back());
}

Checker::Step Checker::end_statement() {
    forget_answers();
    names_.settle();
    ++blocks_.back().next;
    return Step::On;
}

/// Where the program ends: so that the rest knows what its first statement mentions, or only what has been
/// asked for.
Checker::Step Checker::cut(bool prepares) {
    is_prepared_ = prepares;
    return Step::Cut;
}

/// What to do with a statement that cannot be checked as a whole.
Checker::Step Checker::without_whole(const Statement* s) {
    if (is_new_text_ && !std::exchange(has_rehearsed_, true) && !rehearse()) return Step::Stuck;
    // What it mentions is another in each round of a loop, and so would be the program: there it is asked for
    // what it needs alone.
    if (!is_first_ && (is_wrong_ || std::ranges::none_of(blocks_, &Block::is_loop))) return cut(true);
    switch (s->kind) {
        case Statement::Braces: return open(s->body, s), Step::On;
        case Statement::If: return open_if(s);
        case Statement::For: return open_for(s);
        case Statement::While:
        case Statement::DoWhile:
            open(s->body, s).is_second = s->kind == Statement::While;
            blocks_.back().keeps_constants = needs_rounds_;
            return Step::On;
        case Statement::Import: return open_import(s) ? Step::On : Step::Stuck;
        default:
            if (!is_wrong_) return come_to_needed(expressions_of(s));
            if (may_return(s)) rest_of_call();
            else statement(s);
            return Step::Stuck;
    }
}

// ---- answers

/// The name of the variable for what stands there.
std::string Checker::name_of_answer(Loc at, std::string_view which) const {
    const Position p = module_.sources.position(at);
    return fmt::format("{}:{}{} of {}", p.line, p.column, which, file_->path);
}

/// What has been computed before the statement that is being checked, if it has.
Value* Checker::answer(Loc at, std::string_view which) const {
    if (!has_answers_ || !activation_->is_open) return nullptr;
    const Names::Variable* v = names_.find(name_of_answer(at, which));
    return v ? v->value : nullptr;
}

void Checker::keep_answer(Loc at, std::string_view which, Value* value) {
    names_.declare(name_of_answer(at, which), {value});
    has_answers_ = true;
}

void Checker::forget_answers() {
    if (has_answers_) names_.forget([](std::string_view name) { return is_answer(name); });
}

static std::string which_result(std::size_t i) { return fmt::format("({})", i); }

std::optional<std::vector<Value*>> Checker::answers_of_call(const Node* call) const {
    std::vector<Value*> all;
    while (Value* v = answer(call->start, which_result(all.size()))) all.push_back(v);
    return all.empty() ? std::nullopt : std::optional(std::move(all));
}

// ---- expressions

/// Makes known what `roots`, one after the other, need first, or what is computed before that.
Checker::Step Checker::come_to_needed(const std::vector<const Node*>& roots) {
    const auto is_needed = [&](const Node* n) {
        return needed_call_
                   ? n == needed_call_
                   : n->start == needed_at_ || (n->form == Form::Conditional && n->loc == needed_at_);
    };
    std::vector<const Node*> way, before;
    for (const Node* root : roots) {
        if (way = way_to(root, is_needed); !way.empty()) break;
        before.push_back(root);
    }
    if (way.empty()) return Step::Stuck;
    const auto settles = [&](const Node* n) { return settle(n) && ((is_first_ = false), true); };
    if (std::ranges::any_of(before, settles)) return Step::On;
    for (std::size_t i = 0; i < way.size(); ++i) {
        const Node *n = way[i], *next = i + 1 < way.size() ? way[i + 1] : nullptr;
        bool is_side = false;  // of which one is evaluated
        if (n->form == Form::Conditional && next != n->args[0]) {
            if (settles(n->args[0])) return Step::On;
            Value* c = expression(n->args[0]);
            is_side = c && c->type.is_scalar();
            if (is_side && !c->constant && !answer(n->loc, "?"))
                return keep_answer(n->loc, "?", c), cut(false);
        }
        for (const Node* operand : next && !is_side ? operands_of(n) : std::vector<const Node*>()) {
            if (operand == next) break;
            if (settles(operand)) return Step::On;
        }
    }
    return needed_call_ ? open_call(needed_call_) : ask(way);
}

/// Makes answers of the calls in `root`. Were there any? (Of two sides one happens: they are computed as they
/// stand.)
bool Checker::settle(const Node* root) {
    bool any = false;
    const auto calls = [&](const Node* n) {
        return n->form == Form::Call && (n->text == "map" || !definitions_of(n->text).empty());
    };
    walk(root, [&](const Node* n) {
        if (n->form == Form::Conditional) {
            if (way_to(n, calls).empty() || answer(n->loc)) return false;
            keep_answer(n->loc, "", expression(n));
            return any = true, false;
        }
        if (!calls(n)) return true;
        if (answers_of_call(n)) return false;
        const std::vector<Value*> all = results(n);
        for (std::size_t i = 0; i < all.size(); ++i) keep_answer(n->start, which_result(i), all[i]);
        any |= !all.empty();
        return false;
    });
    return any;
}

/// Computes what stands at the end of `way`, a scalar or a list of columns of a frame, before the statement
/// that needs it.
Checker::Step Checker::ask(const std::vector<const Node*>& way) {
    const Node *n = way.back(), *around = way.size() > 1 ? way[way.size() - 2] : nullptr;
    const bool may_be_list = around && around->columns.first == n && around->columns.kind == Index::One;
    const Mark before = mark();
    const std::size_t errors = diagnostics_.num_errors();
    needs_value_ = false;
    if (!answer(n->start) && !answer(n->start, kCells)) {
        Value* v = expression(n);
        if (v && !v->type.is_list() && !v->type.is_frame() && !needs_value_ &&
            diagnostics_.num_errors() == errors) {
            if (v->type.is_matrix() && may_be_list)
                keep_answer(n->start, kCells, whole_positions(v, n->start));
            else keep_answer(n->start, "", to_scalar(v, v->type.value, n->start));
            return cut(false);
        }
    }
    undo(before);
    return is_prepared_ && is_first_ ? Step::Stuck : cut(true);
}

// ---- blocks

Checker::Block& Checker::push_block(Statements all, const Statement* of) {
    Block& block = blocks_.emplace_back();
    block.all = all;
    block.of = of;
    block.views_around = effects.views;
    return block;
}

/// Goes into the body of a statement.
Checker::Block& Checker::open(Statements all, const Statement* of) {
    Block& block = push_block(all, of);
    names_.settle();
    names_.open();
    return block;
}

/// Goes into what has variables of its own.
void Checker::enter(Block& block, File* file, Activation* activation) {
    names_.settle();
    std::swap(block.names_around, names_);
    block.file_around = std::exchange(file_, file);
    block.activation_around = std::exchange(activation_, activation);
}

void Checker::leave_block() {
    Block& block = blocks_.back();
    names_.settle();
    const bool keeps_views = !block.call && (block.of->kind == Statement::Braces || block.is_import());
    if (!keeps_views) effects.views = std::move(block.views_around);
    if (block.has_own_names()) {
        names_ = std::move(block.names_around);
        file_ = block.file_around;
        activation_ = block.activation_around;
    } else {
        names_.close_to(names_.depth() - 1);
        names_.settle();
    }
    if (block.is_import()) importing_.pop_back();
    blocks_.pop_back();
}

/// After the last statement of a block.
Checker::Step Checker::end_block() {
    Block& block = blocks_.back();
    if (block.call) return end_call();
    if (!block.of) return Step::End;
    if (block.is_import()) {
        const File& imported = *file_;
        const Statement* s = block.of;
        std::vector<Import> imports = std::move(block.imports);
        const std::size_t number = block.import;
        const Names names = std::move(names_);
        leave_block();
        end_import(imports[number].prefix, names, imported);
        if (number + 1 < imports.size())
            return open_one(s, std::move(imports), number + 1) ? Step::On : Step::Stuck;
    } else {
        leave_block();
    }
    return end_statement();
}

Checker::Step Checker::open_if(const Statement* s) {
    const Mark before = mark();
    needs_value_ = false;
    Value* c = condition_of(s);
    if (needs_value_) return undo(before), come_to_needed({s->value});
    if (!c) return Step::Stuck;
    if (!c->constant) return keep_answer(s->loc, "", c), cut(false);
    forget_answers();
    const bool otherwise = c->constant->integer == 0;
    open(otherwise ? s->otherwise : s->body, s).is_second = otherwise;
    return Step::On;
}

Checker::Step Checker::open_for(const Statement* s) {
    const Mark before = mark();
    const bool needed_rounds = needs_rounds_;
    needs_value_ = false;
    auto [from, to, step] = bounds_of(s);
    if (needs_value_) return undo(before), come_to_needed(expressions_of(s));
    if (!from || !to || (s->step && !step)) return Step::Stuck;
    forget_answers();
    open(s->body, s).is_second = true;
    blocks_.back().keeps_constants = needed_rounds;
    const auto number = [&](std::int64_t n) { return constant(integer_constant(n), s->loc); };
    const auto op = [&](Operator o, Value* a, Value* b) {
        return to_scalar(operate(o, a, b, s->loc), ValueType::Si64, s->loc);
    };
    if (!step) step = op(Operator::Sub, number(1), op(Operator::Mul, number(2), op(Operator::Lt, to, from)));
    Value* rises = op(Operator::Mul, op(Operator::Gt, step, number(0)), op(Operator::Le, from, to));
    Value* falls = op(Operator::Mul, op(Operator::Lt, step, number(0)), op(Operator::Ge, from, to));
    bind_counter(s, from);
    names_.declare(kLast, {to});
    names_.declare(kStep, {step});
    keep_answer(s->loc, "", to_scalar(op(Operator::Add, rises, falls), ValueType::Bool, s->loc));
    return Step::On;
}

/// The counter of a loop that is opened goes on, unless it would come to the end.
void Checker::count_on(const Statement* s) {
    const std::string_view name = s->targets[0].name;
    Value *i = names_.find(name)->value, *to = names_.find(kLast)->value, *step = names_.find(kStep)->value;
    const auto op = [&](Operator o, Value* a, Value* b) { return operate(o, a, b, s->loc); };
    const auto size_of = [&](Value* v) {  // distances are as large as 2^64
        Value* zero = constant(integer_constant(0), s->loc);
        Value* up = to_scalar(op(Operator::Gt, step, zero), ValueType::Si64, s->loc);
        Value* down = to_scalar(op(Operator::Lt, step, zero), ValueType::Si64, s->loc);
        return to_scalar(op(Operator::Mul, v, op(Operator::Sub, up, down)), ValueType::Ui64, s->loc);
    };
    Value* goes_on = op(Operator::Ge, size_of(op(Operator::Sub, to, i)), size_of(step));
    names_.set(name, op(Operator::Add, i, step));
    keep_answer(s->loc, "", to_scalar(goes_on, ValueType::Bool, s->loc));
}

/// Before a round, or after the last one. Each round begins a part, which is the same program in each if
/// types do not change.
Checker::Step Checker::end_round() {
    Block& block = blocks_.back();
    const Statement* s = block.of;
    effects.views = block.views_around;
    if (!std::exchange(block.is_second, true) && s->kind == Statement::For) count_on(s);
    if (s->kind != Statement::For && !answer(s->loc)) {
        const Mark before = mark();
        needs_value_ = false;
        Value* c = condition(s->value);
        if (needs_value_) {
            undo(before);
            return is_first_ ? come_to_needed({s->value}) : cut(true);
        }
        if (!c) return Step::Stuck;
        keep_answer(s->loc, "", c);
    }
    const Value* goes_on = answer(s->loc);
    if (!goes_on->constant || (goes_on->constant->integer && !is_first_)) return cut(false);
    forget_answers();
    block.next = 0;
    block.is_second = false;
    if (goes_on->constant->integer) return Step::On;
    leave_block();
    return end_statement();
}

constexpr std::size_t kMostBlocks = 500;

Checker::Step Checker::open_call(const Node* n) {
    if (blocks_.size() > kMostBlocks)
        return error(n->start, "calls that depend on data before the run are nested too deeply"), Step::Stuck;
    std::vector<Value*> args, instead;
    Definition* d = nullptr;
    if (const auto overloads = definitions_of(n->text); !overloads.empty()) {
        d = definition_for(n, overloads, &args, &instead);
    } else if (Value* matrix = expression(map_arguments(n)->matrix)) {
        d = &definition_of_map(n, matrix->type.value);
        args = {matrix};
    }
    if (!d) return Step::Stuck;
    open_function(n, *d);
    for (std::size_t i = 0; i < args.size(); ++i) names_.declare(d->function->parameters[i].name, {args[i]});
    is_first_ = false;
    return Step::On;
}

/// A function that does what a call of `map` does, cell by cell. A part that changes a matrix that another
/// has left copies it; so it changes a few cells that stand for themselves. (Sizes have no name in a script.)
Checker::Definition& Checker::definition_of_map(const Node* n, ValueType cell) {
    const std::string text = fmt::format(
        "def map(X) {{\n"
        "    n = as.si64(ncell(X));\n"
        "    x = reshape(X, n, 1);\n"
        "    Y = as.matrix<{0}>(x);\n"
        "    for (i in 0:(n - 1):1000) {{\n"
        "        y = Y[i:min(i + 1000, n), ];\n"
        "        for (j in 0:(as.si64(nrow(y)) - 1):1)\n"
        "            y[j, 0] = as.matrix<{0}>([f(as.scalar(x[i + j, 0]))]);\n"
        "        Y[i:min(i + 1000, n), ] = y;\n"
        "    }}\n"
        "    return reshape(Y, nrow(X), ncol(X));\n"
        "}}\n",
        name_of(cell == ValueType::Size ? ValueType::Ui64 : cell));
    files_.push_back(std::make_unique<File>());
    File* file = files_.back().get();
    file->path = "map";
    file->text = module_.sources.add("map", text);
    file->call = n->start;
    scripts_.push_back(parse(module_.sources, file->text, module_.arena, diagnostics_));
    file->definitions["f"] = definitions_of(map_arguments(n)->function->text);
    definitions_.push_back(std::make_unique<Definition>());
    Definition& d = *definitions_.back();
    d.function = scripts_.back()->statements[0]->function;
    d.file = file;
    d.map_of = cell;
    return d;
}

void Checker::open_function(const Node* call, Definition& d) {
    Block& block = push_block(d.function->body, nullptr);
    block.call = call;
    block.function = &d;
    block.activation = std::make_unique<Activation>();
    block.activation->function = d.function;
    block.activation->number = ++activations_;
    block.activation->is_open = true;
    enter(block, d.file, block.activation.get());
    effects.views.clear();
}

/// What the function gives are answers for the statement that calls it.
Checker::Step Checker::end_call() {
    const std::size_t errors = diagnostics_.num_errors();
    check_results(*activation_);
    std::vector<Value*> results = activation_->results;
    while (!blocks_.back().call) leave_block();
    const Node* call = blocks_.back().call;
    if (const auto cell = blocks_.back().function->map_of)
        results[0] = to_value_type(results[0], *cell, call->start);
    leave_block();
    if (diagnostics_.num_errors() != errors || std::ranges::find(results, nullptr) != results.end())
        return Step::Stuck;
    const auto around = std::find_if(blocks_.rbegin(), blocks_.rend(), [](const Block& b) { return b.call; });
    const bool is_of_map = around != blocks_.rend() && around->function->map_of;
    if (is_of_map && (results.size() != 1 || !results[0]->type.is_scalar()))
        return error(map_arguments(around->call)->function->start, "the function of `map` gives one scalar"),
               Step::Stuck;
    if (is_of_map) results[0] = to_value_type(results[0], *around->function->map_of, around->call->start);
    for (std::size_t i = 0; i < results.size(); ++i) keep_answer(call->start, which_result(i), results[i]);
    if (!results.empty()) return Step::On;
    const Block& block = blocks_.back();
    const Statement* s = block.is_head() ? nullptr : block.all[block.next];
    if (s && s->kind == Statement::Expression && s->value == call) return end_statement();
    return error(call->start, "this has no value"), Step::Stuck;
}

// ---- from part to part

/// The scope with the variables of a block.
const Names::Scope& Checker::scope_of(std::size_t number) const {
    const Names* names = &names_;
    for (std::size_t i = blocks_.size() - 1; i > number; --i)
        if (blocks_[i].has_own_names()) names = &blocks_[i].names_around;
    std::size_t first = number;
    while (first > 0 && !blocks_[first].has_own_names()) --first;
    return names->scope(number - first);
}

void Checker::leave(ScriptEnvironment& left) {
    std::set<const Names::Variable*> wanted, forgotten;
    const auto find_all = [&](const auto& names, std::set<const Names::Variable*>* to) {
        for (const std::string_view name : names)
            if (const Names::Variable* v = names_.find(name)) to->insert(v);
    };
    const Block& last = blocks_.back();
    if (is_cut_ && is_prepared_) {
        NameSet mentioned;
        if (last.is_head()) add_mentioned(last.of->value, &mentioned);
        else add_mentioned(last.all[last.next], &mentioned);
        find_all(mentioned, &wanted);
    } else if (is_cut_ && last.is_head() && !last.keeps_constants) {
        std::vector<std::string_view> assigned;
        for (std::size_t i = blocks_.size(); i-- > 0;) {
            if (blocks_[i].is_loop()) {
                assigned_names(blocks_[i].of->body, &assigned);
                for (const Target& t : blocks_[i].of->targets) assigned.push_back(t.name);
            }
            if (blocks_[i].has_own_names()) break;
        }
        find_all(assigned, &forgotten);
    }
    const auto add = [&](std::size_t block, const std::string& name, Value* value, bool is_view) {
        left.variables.push_back({.name = name,
                                  .block = std::int64_t(block),
                                  .is_view = is_view,
                                  .type = value->type,
                                  .rows = value->rows.number,
                                  .columns = value->columns.number,
                                  .constant = value->constant});
        graph_.main.results.push_back(value);
    };
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        for (const auto& [name, variable] : scope_of(i)) {
            if (!variable.value) continue;
            add(i, name, variable.value, false);
            LeftVariable& v = left.variables.back();
            if (forgotten.contains(&variable)) {
                v.constant.reset();
                v.rows = -1;
                if (!v.type.is_frame()) v.columns = -1;
            } else {
                v.is_wanted = is_answer(name) || wanted.contains(&variable) || v.type.is_string();
            }
        }
        const auto& views = i + 1 < blocks_.size() ? blocks_[i + 1].views_around : effects.views;
        for (const auto& [name, view] : views)
            if (view) add(i, name, view, true);
    }
    left.has_rest = is_cut_;
    left.is_prepared = is_prepared_;
    if (!is_cut_) return;
    for (const Block& block : blocks_) {
        LeftBlock& to = left.blocks.emplace_back();
        to.next = std::int64_t(block.next);
        to.is_second = block.is_second;
        to.keeps_constants = block.keeps_constants;
        to.import = std::int64_t(block.import);
        if (!block.call) continue;
        to.call = place(block.call->start);
        const auto& map_of = block.function->map_of;
        to.function = map_of ? std::string(name_of(*map_of)) : place(block.function->function->loc);
    }
}

std::string Checker::place(Loc at) const {
    const Position p = module_.sources.position(at);
    return fmt::format("{}:{} of {}", p.line, p.column, p.file);
}

/// Goes into a block that stands in the innermost one, as it was. False if there is none such.
bool Checker::reopen(const LeftBlock& left) {
    const Block& around = blocks_.back();
    if (!around.is_head() && around.next >= around.all.size()) return false;
    const Statement* s = around.is_head() ? around.of : around.all[around.next];
    if (!left.call.empty()) {
        const Node* call = nullptr;
        for (const Node* root : expressions_of(s))
            walk(root, [&](const Node* n) {
                if (n->form == Form::Call && place(n->start) == left.call) call = n;
                return true;
            });
        if (!call) return false;
        if (const auto cell = value_type_named(left.function)) {
            open_function(call, definition_of_map(call, *cell));
            return true;
        }
        const auto d = std::ranges::find_if(
            definitions_, [&](const auto& one) { return place(one->function->loc) == left.function; });
        if (d == definitions_.end()) return false;
        open_function(call, **d);
    } else if (s->kind == Statement::Import) {
        if (left.import < 0 || !open_import(s, std::size_t(left.import))) return false;
    } else {
        open(s->kind == Statement::If && left.is_second ? s->otherwise : s->body, s);
    }
    return true;
}

/// The blocks that the rest of a script begins in, and the variables that are there already, which are the
/// parameters of the program.
void Checker::resume(const ScriptEnvironment& before) {
    auto v = before.variables.begin();
    const auto take_variables = [&](std::size_t number) {
        for (; v != before.variables.end() && std::size_t(v->block) == number; ++v) {
            Value* value = graph_.value(v->type);
            value->rows = {v->rows, 0};
            value->columns = {v->columns, 0};
            value->constant = v->constant;
            value->cells = v->cells;
            name_dims(value);
            graph_.main.params.push_back(value);
            const Block& block = blocks_.back();
            const bool counts =
                block.is_loop() && block.of->kind == Statement::For && block.of->targets[0].name == v->name;
            if (v->is_view) effects.views[v->name] = value;
            else names_.declare(v->name, {value, counts});
            has_answers_ |= is_answer(v->name);
        }
    };
    bool fits = true;
    for (std::size_t i = 0; i < before.blocks.size() && fits; ++i) {
        const LeftBlock& left = before.blocks[i];
        fits = i == 0 || reopen(left);
        Block& block = blocks_.back();
        fits &= left.next >= 0 && std::size_t(left.next) <= block.all.size();
        if (!fits) break;
        block.next = std::size_t(left.next);
        block.is_second = left.is_second;
        block.keeps_constants = left.keeps_constants;
        for (const Statement* s : block.all.first(block.next))
            if (s->kind == Statement::Import) import_names(s);
        take_variables(i);
    }
    if (before.blocks.empty()) take_variables(0);
    if (!fits || v != before.variables.end())
        diagnostics_.error({}, "what the part before has left is not that of this script");
}

}  // namespace weld::daphne
