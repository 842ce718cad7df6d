// The steps of compiling, one after the other; a failure in the user's text ends in Diagnostics, one of ours
// in words.
#include "frontend/api/compile.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <set>

#include <fmt/format.h>

#include "frontend/api/cache.h"
#include "frontend/api/config.h"
#include "frontend/api/languages.h"
#include "frontend/api/load_text.h"
#include "runtime/kernels/describe_table.h"
#include "runtime/owners.h"
#include "runtime/vecmath/vecmath.h"
#include "weldir/ir/build.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/print.h"
#include "weldir/ir/verify.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"
#include "weldir/support/budget.h"
#include "weldir/support/deep_stack.h"
#include "weldir/support/diag.h"
#include "weldir/support/visible.h"

namespace weld {

// ---- compiling

/// What compiling may take in any case: programs of a page need less, and limits are meant for data.
static constexpr std::int64_t kLeastForCompiling = 16 << 20;

static std::int64_t most_memory(const CompileOptions& options) {
    return std::max(kLeastForCompiling, options.memory_limit ? options.memory_limit : default_memory_limit());
}

/// The functions of the built-in kernels that a program calls.
static std::vector<std::string> called_kernels(const Module& m) {
    std::set<std::string_view> found;
    const auto look = [&](const Expr* e) {
        if (Kernel k = e->as<Kernel>(); k && k.ref().builtin) found.insert(k.ref().builtin->symbol);
    };
    visit(m.main, look);
    for (const Function* f : m.functions) visit(f->lambda, look);
    return {found.begin(), found.end()};
}

/// The way of one text through the compiler.
class Compilation {
  public:
    /// `key`: of the program in the folder of `options.cache`; empty if it is not kept there.
    Compilation(const CompileOptions& options, Budget& budget, CompileReport& report, std::string key = {})
        : options_(options), budget_(budget), report_(report), program_(new Program), key_(std::move(key)) {
        program_->libraries_ = options.libraries ? options.libraries : std::make_shared<Libraries>();
    }

    /// Throws std::bad_alloc, or OverBudget.
    std::shared_ptr<const Program> compile(std::string text) {
        if (!read(std::move(text))) return nullptr;
        if (!options_.only_check && !(optimize() && generate())) return nullptr;
        program_->module_->arena.set_budget(nullptr);
        return program_;
    }

    /// The program that was kept; null if it cannot be had any more.
    std::shared_ptr<const Program> restore(const std::string& text, const StoredProgram& stored) {
        program_->module_ = std::make_unique<Module>();
        Module& m = *program_->module_;
        m.sources.add(options_.name, text);
        for (const auto& [name, other] : stored.texts) m.sources.add(name, other);
        Diagnostics none;
        std::vector<const Symbol*> params;
        for (const auto& [name, type] : stored.params) {
            const Type* t = read_type(m, type, none);
            if (!t) return nullptr;
            params.push_back(m.symbol(name, t));
        }
        const Type* result = read_type(m, stored.result, none);
        loops_stamp_ = stored.loops_stamp;
        std::string error;
        std::shared_ptr<Code> code =
            result ? load(stored.code, load_options(stored.code), resolve(), &error) : nullptr;
        if (!code) return nullptr;
        program_->set_code(std::move(code));
        m.main = lambda(m, params, kernel(m, {.name = "kept"}, result, {}));
        describe_interface();
        program_->serialize_header_ = options_.serialize_header;
        program_->warnings_ = stored.warnings;
        program_->files_ = stored.files;
        if (stored.after.empty()) return program_;
        program_->after_ = find_language(options_.language)->read_environment(stored.after);
        return program_->after_ ? program_ : nullptr;
    }

    /// What `restore` needs.
    StoredProgram stored() {
        StoredProgram all{.files = program_->files(),
                          .texts = other_texts(),
                          .warnings = program_->warnings(),
                          .after = program_->after() ? program_->after()->text() : "",
                          .result = program_->result_type()->str()};
        for (const Symbol* s : program_->params()) all.params.emplace_back(s->name, s->type->str());
        all.loops_stamp = loops_stamp_;
        all.kernels = called_kernels(*program_->module_);
        all.code = std::move(machine_code_);
        return all;
    }

  private:
    /// What was read after the text, in places that follow one another: arguments and imports. Texts of ours
    /// come after these.
    std::vector<std::pair<std::string, std::string>> other_texts() const {
        const Sources& sources = program_->module_->sources;
        std::vector<std::pair<std::string, std::string>> all;
        for (Loc at{1}; !sources.internal(at);) {
            const Position begin = sources.position(at);
            if (!begin.line) break;
            const std::string_view text = sources.text(at);
            if (at.offset > 1) all.emplace_back(begin.file, text);
            at.offset += std::uint32_t(text.size()) + 1;
        }
        return all;
    }

    bool read(std::string text) {
        const Language* language = find_language(options_.language);
        if (!language)
            return fail(fmt::format("`{}` is none of the languages {}", options_.language, all_languages()));
        if (text.size() > kLongestText) return fail("the text is longer than 1 GiB");
        program_->module_ = std::make_unique<Module>();
        Module& m = *program_->module_;
        m.arena.set_budget(&budget_);
        std::string parsed, properties;
        ReadOptions reading = read_options(&parsed);
        if (explains("properties")) reading.properties_text = &properties;
        Diagnostics diagnostics;
        const bool good = language->read(m, options_.name, std::move(text), reading, diagnostics);
        if (good) program_->warnings_ = diagnostics.draw(m.sources);
        else report_.diagnostics = diagnostics.draw(m.sources, options_.warnings);
        note_first_error(diagnostics);
        if (reading.parsed_text && !parsed.empty()) options_.explain("parsed", parsed);
        if (!properties.empty()) options_.explain("properties", properties);
        if (!good) return false;
        if (explains("typed")) options_.explain("typed", print(m));
        if (verifies())
            if (const std::string broken = verify(m); !broken.empty())
                return fail("internal error: the program was read wrongly: " + broken);
        describe_interface();
        return true;
    }

    void note_first_error(const Diagnostics& diagnostics) {
        const Diagnostic* first = nullptr;
        for (const Diagnostic& d : diagnostics.all())
            if (d.severity == Severity::Error && (!first || d.loc < first->loc)) first = &d;
        if (!first) return;
        const Position at = program_->module_->sources.position(first->loc);
        report_.first_error = {at.line, at.column, visible_lines(first->message)};
    }

    ReadOptions read_options(std::string* parsed) {
        const Libraries* libraries = program_->libraries_.get();
        return {.nul_terminated_strings = options_.nul_terminated_strings,
                .has_symbol = [libraries](std::string_view name) { return libraries->find(name) != nullptr; },
                .allowed_functions = options_.allowed_functions ? &*options_.allowed_functions : nullptr,
                .searched = libraries->searched(),
                .script_args = options_.script_args,
                .sparsity_threshold = options_.select_matrix_repr ? options_.sparsity_threshold : 0,
                .import_paths = &options_.import_paths,
                .kernel_catalog = &options_.kernel_catalog,
                .load =
                    [this](const std::string& path, std::string* text, std::string* error) {
                        const bool good = load_text(path, text, error);
                        program_->files_.push_back({path, good ? stamp_of_text(*text) : ""});
                        return good;
                    },
                .describe =
                    [this](const std::string& path, bool may_sniff, std::string* text, std::string* error) {
                        runtime::TableDescription found;
                        if (!runtime::describe_table(path, may_sniff, &found, error)) return false;
                        program_->files_.push_back({path, stamp_of_description(found), true});
                        *text = std::move(found.text);
                        return true;
                    },
                .before = options_.before.get(),
                .after = options_.may_end_early || options_.is_entry ? &program_->after_ : nullptr,
                .is_entry = options_.is_entry,
                .parsed_text = explains("parsed") ? parsed : nullptr,
                .parse_ms = &report_.times.parse,
                .type_ms = &report_.times.type};
    }

    void describe_interface() {
        Module& m = *program_->module_;
        std::vector<const Type*> params;
        for (const Symbol* s : program_->params()) params.push_back(s->type);
        program_->args_ = program_->descriptions_.of(m.types.structure(params));
        program_->result_ = program_->descriptions_.of(program_->result_type());
    }

    bool optimize() {
        PassOptions passes{.level = options_.level,
                           .most_optimised = options_.most_optimised,
                           .names = options_.passes,
                           .verify = verifies()};
        passes.times = &report_.times.passes;
        if (!options_.explained.empty())
            passes.after = [this](std::string_view pass, const Module& m, bool changed) {
                const bool stage = pass == "optimized" || pass == "vectorized";
                if (explains(pass)) options_.explain(pass, changed || stage ? print(m) : "(unchanged)\n");
            };
        std::string error;
        return run_passes(*program_->module_, passes, &error) || fail(error);
    }

    bool generate() {
        std::string error, input_text, llvm_text, asm_text;
        CodeTimes times;
        const CodeOptions code{.cpu = options_.cpu,
                               .level = code_level(),
                               .threads = compiling_threads(),
                               .budget = &budget_,
                               .verify = verifies(),
                               .llvm_input_text = explains("llvm-input") ? &input_text : nullptr,
                               .llvm_text = explains("llvm") ? &llvm_text : nullptr,
                               .asm_text = explains("asm") ? &asm_text : nullptr};
        switch (weld::generate(*program_->module_, code, &machine_code_, &times, &error)) {
            case GenerateEnd::Good:
                if (!key_.empty()) loops_stamp_ = stamp_of_text(machine_code_.quick.bitcode);
                if (std::shared_ptr<Code> code =
                        load(machine_code_, load_options(machine_code_), resolve(), &error))
                    program_->set_code(std::move(code));
                break;
            case GenerateEnd::Failed: break;
            case GenerateEnd::NoMemory: throw std::bad_alloc();
            case GenerateEnd::OverLimit: throw OverBudget();
        }
        if (code.llvm_input_text) options_.explain("llvm-input", input_text);
        if (code.llvm_text) options_.explain("llvm", llvm_text);
        if (code.asm_text) options_.explain("asm", asm_text);
        report_.times.llvm_optimize = times.optimize_ms;
        report_.times.llvm_emit = times.emit_ms;
        program_->serialize_header_ = options_.serialize_header;
        return program_->code_ || fail("no code could be made: " + error);
    }

    int code_level() const { return options_.llvm_level.value_or(options_.level); }
    int compiling_threads() const { return options_.threads ? options_.threads : default_threads(); }

    LoadOptions load_options(const MachineCode& code) const {
        LoadOptions loading{.cpu = options_.cpu,
                            .level = code_level(),
                            .threads = compiling_threads(),
                            .most_memory = most_memory(options_)};
        if (!key_.empty() && !code.quick.functions.empty())
            loading.keep = [folder = options_.cache, key = key_, stamp = loops_stamp_](
                               const OptimizedLoops& loops) { write_optimized(folder, key, stamp, loops); };
        return loading;
    }

    /// User functions are null if they are not there, or not allowed: what comes from a folder was checked
    /// when it was compiled, but that was another process.
    Resolve resolve() const {
        return [libraries = program_->libraries_,
                allowed = options_.allowed_functions](std::string_view name) -> void* {
            if (name.starts_with(kUserFunction)) {
                name.remove_prefix(kUserFunction.size());
                if (allowed && std::ranges::find(*allowed, name) == allowed->end()) return nullptr;
                return libraries->find(name);
            }
            if (void* entry = runtime::entry_address(name)) return entry;
            if (void* routine = find_vecmath(name)) return routine;
            return libraries->find(name);
        };
    }

    bool verifies() const {
#ifdef NDEBUG
        return options_.verify;
#else
        return true;
#endif
    }

    bool explains(std::string_view stage) const {
        return options_.explain && std::ranges::find(options_.explained, stage) != options_.explained.end();
    }

    bool fail(const std::string& message) {
        report_.diagnostics += fmt::format("error: {}\n", message);
        report_.first_error.message = message;
        return false;
    }

    const CompileOptions& options_;
    Budget& budget_;
    CompileReport& report_;
    std::shared_ptr<Program> program_;
    const std::string key_;
    std::string loops_stamp_;
    MachineCode machine_code_;
};

static std::shared_ptr<const Program> from_folder(std::string text, const CompileOptions& options,
                                                  Budget& budget, CompileReport& report) {
    const std::string key = machine_key(text, options);
    StoredProgram stored;
    if (read_stored(options.cache, key, &stored))
        if (auto program = Compilation(options, budget, report, key).restore(text, stored)) return program;
    Compilation fresh(options, budget, report, key);
    std::shared_ptr<const Program> program = fresh.compile(std::move(text));
    if (program && !program->result_type()->holds_builder) write_stored(options.cache, key, fresh.stored());
    return program;
}

static std::shared_ptr<const Program> from_process(std::string text, const CompileOptions& options,
                                                   Budget& budget, CompileReport& report) {
    std::string key = process_key(text, options);
    if (auto known = recent_program(key); known && are_current(known->files())) return known;
    std::shared_ptr<const Program> program;
    if (options.cache.empty()) {
        Compilation fresh(options, budget, report);
        program = fresh.compile(std::move(text));
    } else {
        program = from_folder(std::move(text), options, budget, report);
    }
    if (program) remember_program(std::move(key), program);
    return program;
}

/// Instead of a program, and of what was told before the memory was missed.
static void tell_lack_of_memory(CompileReport& report, std::int64_t limit, bool over_limit) {
    report.out_of_memory = true;
    report.first_error = {};
    report.first_error.message =
        over_limit ? fmt::format("memory limit of {} exceeded while the program was compiled",
                                 runtime::in_words(limit))
                   : "not enough memory to compile the program";
    report.diagnostics = fmt::format("error: {}\n", report.first_error.message);
}

std::shared_ptr<const Program> compile(std::string text, const CompileOptions& options,
                                       CompileReport* report) {
    std::shared_ptr<const Program> program;
    const bool each_step =
        options.only_check || options.is_entry || !options.explained.empty() || options.verify;
    const std::int64_t limit = most_memory(options);
    Budget budget(limit);
    enum { Fine, NoMemory, OverLimit } memory = Fine;
    on_deep_stack([&] {
        try {
            program = each_step ? Compilation(options, budget, *report).compile(std::move(text))
                                : from_process(std::move(text), options, budget, *report);
            if (program && options.warnings) report->diagnostics = program->warnings();
        } catch (const OverBudget&) {
            memory = OverLimit;
        } catch (const std::bad_alloc&) {
            memory = NoMemory;
        }
    });
    if (memory != Fine) tell_lack_of_memory(*report, limit, memory == OverLimit);
    return program;
}

// ---- programs

/// Results may point to its constants.
void Program::set_code(std::shared_ptr<Code> code) {
    code_ = std::move(code);
    runtime::Owners::all().add(code_->data, this, weak_from_this());
}

Program::~Program() {
    if (code_) runtime::Owners::all().remove(code_->data, this);
}

// ---- running

static std::shared_ptr<void> room_for(const WeldType* type) {
    const auto align = std::align_val_t(std::max<std::int64_t>(16, type->align));
    const std::size_t size = std::size_t(std::max<std::int64_t>(1, type->size));
    return {::operator new(size, align), [align](void* p) { ::operator delete(p, align); }};
}

RunOutcome Program::run(const void* args, const runtime::RunOptions& options) const {
    runtime::RunOptions all = options;
    all.serialize_header |= serialize_header_;
    all.tiers = tiers();
    RunOutcome outcome;
    outcome.value_ = room_for(result_);
    outcome.program_ = shared_from_this();
    const bool good = runtime::execute(code_->entry, args, outcome.value_.get(), result_, all,
                                       &outcome.blocks_, &outcome.failure_);
    if (!good) outcome.value_.reset();
    return outcome;
}

Position Program::position(const runtime::Failure& failure) const {
    return module_->sources.position({std::uint32_t(failure.loc)});
}

std::string Program::describe(const runtime::Failure& failure) const {
    Diagnostics diagnostics;
    diagnostics.error({std::uint32_t(failure.loc)}, "{}", failure.message);
    return diagnostics.draw(module_->sources);
}

}  // namespace weld
