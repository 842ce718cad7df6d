// include/weld/weld.h over compile.h and context.h: handles, strings and errors. No exception leaves.
#include "weld/weld.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/c_handles.h"
#include "frontend/api/dump.h"
#include "frontend/api/languages.h"
#include "frontend/api/log.h"
#include "frontend/api/stages.h"
#include "runtime/describe.h"
#include "runtime/entry.h"
#include "runtime/io/entries.h"
#include "runtime/io/print_value.h"

using namespace weld;

static_assert(int(WELD_ASSERTION_ERROR) == int(kWeldAssertionError) &&
              int(WELD_KERNEL_ERROR) == int(kWeldKernelError) &&
              int(WELD_INVALID_ARGUMENT) == int(kWeldInvalidArgument));

// ---- errors

namespace weld::c_api {

void succeed(weld_error_t error) {
    const auto e = find<WeldError>(error);
    if (!e) return;
    e->code = WELD_SUCCESS;
    e->message = "Success";
    e->finding = {};
}

std::nullptr_t fail(weld_error_t error, std::uint64_t code, std::string message, Finding finding) {
    while (message.ends_with('\n')) message.pop_back();
    log(LogLevel::Error, message);
    const auto e = find<WeldError>(error);
    if (!e) return nullptr;
    e->code = code;
    e->message = std::move(message);
    e->finding = std::move(finding);
    if (e->finding.message.empty()) e->finding.message = e->message;
    return nullptr;
}

/// The words are as short as a string can be without memory of its own.
void fail_without_memory(weld_error_t error) noexcept {
    const auto e = find<WeldError>(error);
    if (!e) return;
    e->code = WELD_OUT_OF_MEMORY;
    e->message = e->finding.message = "out of memory";
    e->finding.line = e->finding.column = 0;
}

}  // namespace weld::c_api

using namespace weld::c_api;

namespace {

/// The configuration of a handle; an empty one for NULL. False: the handle is none.
bool config_of(weld_conf_t handle, Config* config) {
    if (!handle) return true;
    const auto conf = find<WeldConf>(handle);
    if (conf) *config = conf->config;
    return conf != nullptr;
}

/// Libraries for `cudf`: those of the process.
std::shared_ptr<Libraries> libraries() {
    static const auto& loaded = *new std::shared_ptr<Libraries>(std::make_shared<Libraries>());
    return loaded;
}

}  // namespace

// ---- configuration

extern "C" {

weld_conf_t weld_conf_new(void) {
    return guarded(nullptr, [] { return Handles::all().make<WeldConf>(); });
}

weld_conf_t weld_conf_free(weld_conf_t conf) {
    Handles::all().remove<WeldConf>(conf);
    return nullptr;
}

const char* weld_conf_get(weld_conf_t conf, const char* key) {
    return guarded(nullptr, [&]() -> const char* {
        const auto c = find<WeldConf>(conf);
        const std::string* value = c && key ? c->config.get(key) : nullptr;
        return value ? value->c_str() : nullptr;
    });
}

void weld_conf_set(weld_conf_t conf, const char* key, const char* value) {
    guarded(nullptr, [&] {
        const auto c = find<WeldConf>(conf);
        if (!c || !key || !value) return false;
        if (!Config::knows(key)) log(LogLevel::Warn, std::string("unknown configuration key ") + key);
        c->config.set(key, value);
        return true;
    });
}

// ---- contexts

weld_context_t weld_context_new(weld_conf_t conf) {
    return guarded(nullptr, [&]() -> weld_context_t {
        Config config;
        if (!config_of(conf, &config)) return nullptr;
        CompileOptions unused;
        RunSettings settings;
        if (const std::string wrong = config.apply(&unused, &settings); !wrong.empty()) {
            log(LogLevel::Error, wrong);
            return nullptr;
        }
        return Handles::all().make<WeldContext>(std::make_shared<Context>(settings));
    });
}

int64_t weld_context_memory_usage(weld_context_t context) {
    const auto c = find<WeldContext>(context);
    return c ? c->context->memory_used() : 0;
}

int64_t weld_context_memory_peak(weld_context_t context) {
    const auto c = find<WeldContext>(context);
    return c ? c->context->memory_peak() : 0;
}

int64_t weld_context_memory_limit(weld_context_t context) {
    const auto c = find<WeldContext>(context);
    return c ? c->context->memory_limit() : 0;
}

void weld_context_trim(weld_context_t context) {
    if (const auto c = find<WeldContext>(context)) c->context->trim();
}

void weld_context_cancel(weld_context_t context) {
    if (const auto c = find<WeldContext>(context)) c->context->cancel();
}

void weld_context_set_output(weld_context_t context, weld_output_t write, void* data) {
    if (const auto c = find<WeldContext>(context)) c->context->set_output(write, data);
}

void weld_context_free(weld_context_t context) { Handles::all().remove<WeldContext>(context); }

// ---- values

weld_value_t weld_value_new(const void* data) {
    return guarded(nullptr, [&] { return Handles::all().make<WeldValue>(data); });
}

void* weld_value_data(weld_value_t value) {
    const auto v = find<WeldValue>(value);
    return v ? v->data : nullptr;
}

weld_context_t weld_value_context(weld_value_t value) {
    return guarded(nullptr, [&]() -> weld_context_t {
        const auto v = find<WeldValue>(value);
        return v && v->context ? Handles::all().make<WeldContext>(v->context) : nullptr;
    });
}

int64_t weld_value_run(weld_value_t value) {
    const auto v = find<WeldValue>(value);
    return v && v->result ? v->result->run : -1;
}

int64_t weld_value_memory_usage(weld_value_t value) {
    const auto v = find<WeldValue>(value);
    return v && v->result ? v->result->outcome.bytes() : -1;
}

const char* weld_value_type(weld_value_t value) {
    const auto v = find<WeldValue>(value);
    return v && v->result ? v->type.c_str() : nullptr;
}

void weld_value_free(weld_value_t value) { Handles::all().remove<WeldValue>(value); }

static bool holds_builder(const WeldType* t) {
    if (runtime::is_builder(t)) return true;
    for (std::uint32_t i = 0; i < t->num_args; ++i)
        if (holds_builder(t->args[i])) return true;
    return false;
}

static char* text_of_value(weld_value_t value, const PrintStyle& style, weld_error_t error) {
    return guarded(error, [&]() -> char* {
        const auto v = find<WeldValue>(value);
        if (!v || !v->result) return fail_argument(error, "not the result of a run: its type is not known");
        const WeldType* type = v->result->program().result();
        if (holds_builder(type)) return fail_argument(error, "a builder has no text");
        std::string text;
        Writer out(&text);
        print_value(type, v->data, style, out);
        out.flush();
        char* copy = static_cast<char*>(std::malloc(text.size() + 1));
        if (!copy) throw std::bad_alloc();
        std::memcpy(copy, text.c_str(), text.size() + 1);
        succeed(error);
        return copy;
    });
}

char* weld_value_to_json(weld_value_t value, weld_error_t error) {
    return text_of_value(value, {.json = true}, error);
}

char* weld_value_to_text(weld_value_t value, weld_error_t error) { return text_of_value(value, {}, error); }

void weld_string_free(char* text) { std::free(text); }

// ---- programs

static weld_module_t new_module(std::shared_ptr<const Program> program, const char* text,
                                const CompileOptions& options, const ConfigValues& values,
                                std::string warnings) {
    auto m = std::make_shared<WeldModule>();
    if (program->after()) {
        m->text = text;
        m->rest_options = std::make_shared<CompileOptions>(options);
    }
    for (const Symbol* s : program->params()) m->param_names.emplace_back(s->name);
    for (std::uint32_t i = 0; i < program->args()->num_args; ++i)
        m->param_types.push_back(name_of(program->args()->args[i]));
    m->return_type = program->after() ? "{}" : name_of(program->result());
    m->warnings = std::move(warnings);
    m->most_threads = values.multithread.value_or(true) ? INT_MAX : 1;
    m->program = std::move(program);
    return Handles::all().add(std::move(m));
}

weld_module_t weld_module_compile(const char* code, weld_conf_t conf, weld_error_t error) {
    return guarded(error, [&]() -> weld_module_t {
        Config config;
        if (!code) return fail_argument(error, "there is no program: `code` is NULL");
        if (!config_of(conf, &config)) return fail_argument(error, "not a configuration");
        CompileOptions options{.name = "<weld>"};
        RunSettings run;
        ConfigValues values;
        std::string wrong = config.read(&values);
        if (wrong.empty()) wrong = config.apply(&options, &run);
        if (!wrong.empty()) return fail(error, WELD_COMPILE_ERROR, wrong);
        options.libraries = libraries();
        const Language* language = find_language(options.language);
        if (!options.script_args.empty() && (!language || language->arguments != ArgumentStyle::Named))
            return fail(error, WELD_COMPILE_ERROR,
                        "weld.daphne.arguments: only scripts have arguments with names");
        options.may_end_early = language && language->session == SessionStyle::Values;
        CompileOptions watched = options;
        CodeDump dump(values);
        dump.watch(&watched);
        CompileReport report;
        std::shared_ptr<const Program> program = compile(code, watched, &report);
        if (const std::string failed = dump.write(); !failed.empty()) log(LogLevel::Error, failed);
        if (!program)
            return fail(error, report.out_of_memory ? WELD_OUT_OF_MEMORY : WELD_COMPILE_ERROR,
                        report.diagnostics, report.first_error);
        log(LogLevel::Warn, report.diagnostics);
        succeed(error);
        return new_module(std::move(program), code, options, values, std::move(report.diagnostics));
    });
}

/// The context that a run is to have: a handle's, or a new one by a configuration. Null with the error set.
static std::shared_ptr<Context> context_for(void* handle, weld_error_t error) {
    if (const auto context = find<WeldContext>(handle)) return context->context;
    const auto conf = find<WeldConf>(handle);
    if (!conf) return fail_argument(error, "neither a context nor a configuration");
    CompileOptions unused;
    RunSettings settings;
    const std::string wrong = conf->config.apply(&unused, &settings);
    if (!wrong.empty()) return fail(error, WELD_CONFIGURATION_ERROR, wrong);
    return std::make_shared<Context>(settings);
}

static void fail_run(const Program& program, const runtime::Failure& failure, weld_error_t error) {
    const Position at = program.position(failure);
    fail(error, std::uint64_t(failure.code), program.describe(failure),
         {at.line, at.column, failure.message});
}

/// Runs it, and what it goes on in. Null with the error set.
static std::optional<RunReport> run_all(const WeldModule& m, const std::shared_ptr<Context>& context,
                                        const void* args, weld_error_t error) {
    const runtime::RunOptions options{.threads = m.most_threads};
    if (!m.rest_options) {
        RunReport report = context->run(m.program, args, options);
        if (report.result) return report;
        fail_run(*m.program, report.failure, error);
        return std::nullopt;
    }
    Stages stages(context, m.program);
    const StagesEnd end = stages.run(options, [&] {
        CompileOptions rest = *m.rest_options;
        rest.before = stages.left();
        CompileReport report;
        std::shared_ptr<const Program> program = compile(m.text, rest, &report);
        if (program) log(LogLevel::Warn, report.diagnostics);
        else
            fail(error, report.out_of_memory ? WELD_OUT_OF_MEMORY : WELD_COMPILE_ERROR, report.diagnostics,
                 report.first_error);
        return program;
    });
    if (end == StagesEnd::Good) return stages.take_report();
    if (end == StagesEnd::Failed) fail_run(stages.program(), stages.report().failure, error);
    return std::nullopt;
}

weld_value_t weld_module_run(weld_module_t module, void* context, weld_value_t argument, weld_error_t error) {
    return guarded(error, [&]() -> weld_value_t {
        const auto m = find<WeldModule>(module);
        if (!m) return fail_argument(error, "not a module");
        const std::shared_ptr<Context> c = context_for(context, error);
        if (!c) return nullptr;
        const auto value = find<WeldValue>(argument);
        if (argument && !value) return fail_argument(error, "the argument is not a value");
        const void* args = value ? value->data : nullptr;
        if (!m->param_types.empty() && !args)
            return fail_argument(error, "the program has parameters, but there is no argument");
        std::optional<RunReport> report = run_all(*m, c, args, error);
        if (!report) return nullptr;
        succeed(error);
        return Handles::all().make<WeldValue>(c, std::move(*report));
    });
}

void weld_module_free(weld_module_t module) { Handles::all().remove<WeldModule>(module); }

const char* weld_module_warnings(weld_module_t module) {
    const auto m = find<WeldModule>(module);
    return m ? m->warnings.c_str() : nullptr;
}

int64_t weld_module_num_params(weld_module_t module) {
    const auto m = find<WeldModule>(module);
    return m ? std::int64_t(m->param_types.size()) : -1;
}

static const char* text_at(const std::vector<std::string>& texts, std::int64_t index) {
    return index >= 0 && std::size_t(index) < texts.size() ? texts[std::size_t(index)].c_str() : nullptr;
}

const char* weld_module_param_name(weld_module_t module, int64_t index) {
    const auto m = find<WeldModule>(module);
    return m ? text_at(m->param_names, index) : nullptr;
}

const char* weld_module_param_type(weld_module_t module, int64_t index) {
    const auto m = find<WeldModule>(module);
    return m ? text_at(m->param_types, index) : nullptr;
}

const char* weld_module_return_type(weld_module_t module) {
    const auto m = find<WeldModule>(module);
    return m ? m->return_type.c_str() : nullptr;
}

int64_t weld_module_param_offset(weld_module_t module, int64_t index) {
    const auto m = find<WeldModule>(module);
    return m && text_at(m->param_types, index) ? m->program->args()->offsets[index] : -1;
}

int64_t weld_module_params_size(weld_module_t module) {
    const auto m = find<WeldModule>(module);
    return m ? m->program->args()->size : -1;
}

int64_t weld_module_return_size(weld_module_t module) {
    const auto m = find<WeldModule>(module);
    return !m ? -1 : m->rest_options ? 0 : m->program->result()->size;
}

// ---- errors

weld_error_t weld_error_new(void) {
    return guarded(nullptr, [] { return Handles::all().make<WeldError>(); });
}

uint64_t weld_error_code(weld_error_t error) {
    const auto e = find<WeldError>(error);
    return e ? e->code : std::uint64_t(WELD_INVALID_ARGUMENT);
}

const char* weld_error_message(weld_error_t error) {
    const auto e = find<WeldError>(error);
    return e ? e->message.c_str() : "not an error object";
}

const char* weld_error_summary(weld_error_t error) {
    const auto e = find<WeldError>(error);
    return e ? e->finding.message.c_str() : "not an error object";
}

uint64_t weld_error_line(weld_error_t error) {
    const auto e = find<WeldError>(error);
    return e ? e->finding.line : 0;
}

uint64_t weld_error_column(weld_error_t error) {
    const auto e = find<WeldError>(error);
    return e ? e->finding.column : 0;
}

void weld_error_free(weld_error_t error) { Handles::all().remove<WeldError>(error); }

// ---- the process

void weld_load_library(const char* path, weld_error_t error) {
    guarded(error, [&]() -> std::nullptr_t {
        if (!path) return fail_argument(error, "there is no path");
        std::string why;
        if (!libraries()->load(path, &why))
            return fail(error, WELD_COMPILE_ERROR, std::string("Couldn't load library ") + path + ": " + why);
        succeed(error);
        return nullptr;
    });
}

void weld_set_log_level(weld_log_level_t level) {
    set_log_level(LogLevel(std::min<weld_log_level_t>(level, WELD_LOG_LEVEL_TRACE)));
}

const char* weld_version(void) { return WELD_VERSION; }

// ---- dictionaries

int64_t weld_dict_size(weld_dict_t dict) { return entries_of(dict).count; }

const void* weld_dict_key(weld_dict_t dict, int64_t index) {
    const DictEntries entries = entries_of(dict);
    return index >= 0 && index < entries.count ? entries.key(index) : nullptr;
}

const void* weld_dict_value(weld_dict_t dict, int64_t index) {
    const DictEntries entries = entries_of(dict);
    return index >= 0 && index < entries.count ? entries.value(index) : nullptr;
}

const void* weld_dict_find(weld_dict_t dict, const void* key) {
    return dict && key ? weld_rt_dict_find(nullptr, dict, key) : nullptr;
}

}  // extern "C"
