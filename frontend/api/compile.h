// Text -> Program -> results: the natural way through the whole.
//
//     CompileOptions options{.name = "mean.weld"};
//     CompileReport report;
//     std::shared_ptr<const Program> program = compile(text, options, &report);
//     if (!program) return complain(report.diagnostics);
//     RunOutcome run = program->run(&args, {.threads = 2});
//     if (!run.ok()) return complain(program->describe(run.failure()));
//     use(run.value(), program->result());
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/engine.h"
#include "frontend/api/cache.h"
#include "frontend/api/describe.h"
#include "frontend/api/libraries.h"
#include "frontend/text/environment.h"
#include "frontend/text/import_paths.h"
#include "frontend/text/kernel_catalog.h"
#include "runtime/run.h"
#include "weldir/ir/module.h"
#include "weldir/passes/pass.h"

namespace weld {

struct CompileOptions {
    std::string language = "weld";  ///< a row of languages.def
    std::string name = "<expr>";    ///< of the text, in positions
    bool only_check = false;  ///< stop when the program is known to be right: it has types, but cannot run
    int level = 2;            ///< 0...3
    Cpu cpu = Cpu::Native;    ///< whose instructions are used: one of runnable_cpus()
    std::optional<int> llvm_level;                               ///< of the machine code, if not `level`
    std::int64_t most_optimised = PassOptions().most_optimised;  ///< see there
    std::optional<std::vector<std::string>> passes;  ///< exactly these instead of those of the level
    int threads = 0;  ///< that make machine code, at most; 0: one per core that this process may use
    std::int64_t memory_limit = 0;  ///< most bytes that compiling may take; 0: default_memory_limit()
    bool warnings = true;           ///< tell them, too, in CompileReport::diagnostics
    bool verify = false;            ///< check the IR after each pass
    bool nul_terminated_strings = false;
    std::vector<std::string> script_args;  ///< `name=value`, for languages with ArgumentStyle::Named
    bool select_matrix_repr = false;       ///< matrices of scripts may be sparse,
    double sparsity_threshold = 0.25;      ///< if a smaller share of their cells is not zero
    ImportPaths import_paths;              ///< of scripts
    KernelCatalog kernel_catalog;          ///< what hints of scripts may name
    /// For programs that go on from others (Language::session): what the one before has left; null: nothing.
    std::shared_ptr<const Environment> before;
    bool may_end_early = false;     ///< a script may: Program::after then says that it goes on
    bool is_entry = false;          ///< of a session: Program::after has what it defines
    bool serialize_header = false;  ///< magic, version and hash of the type before serialized values
    /// What `cudf` may call beside built-in kernels; not set: any function that `libraries` find.
    std::optional<std::vector<std::string>> allowed_functions;
    std::shared_ptr<const Libraries> libraries;  ///< null: functions of the process only
    std::string cache;                           ///< an existing folder that keeps compiled code; empty: none
    /// Stages whose outcome `explain` receives: `parsed typed optimized vectorized llvm-input llvm asm` or
    /// names of passes.
    std::vector<std::string> explained;
    std::function<void(std::string_view stage, std::string_view text)> explain;
};

/// Milliseconds.
struct CompileTimes {
    double parse = 0;
    double type = 0;
    std::vector<std::pair<std::string, double>> passes;
    double llvm_optimize = 0;
    double llvm_emit = 0;
};

/// What is wrong and where, without the source line.
struct Finding {
    std::uint64_t line = 0;  ///< 0: no place is known
    std::uint64_t column = 0;
    std::string message;
};

struct CompileReport {
    std::string diagnostics;     ///< why there is no program, drawn with source lines; or warnings
    Finding first_error;         ///< the topmost, if a place in the program is wrong
    bool out_of_memory = false;  ///< that is why there is no program: the limit or the machine has no more
    CompileTimes times;
};

class Program;

/// What became of a run: a value with the memory that it points into, or a failure. Memory of arguments is
/// not in it; a value may point into that, too.
class RunOutcome {
  public:
    bool ok() const { return failure_.code == kWeldSuccess; }
    const runtime::Failure& failure() const { return failure_; }
    const void* value() const { return value_.get(); }
    void* value() { return value_.get(); }
    /// Bytes that are counted for it.
    std::int64_t bytes() const { return blocks_.bytes(); }
    /// Says whose its memory is: see runtime::RunMemory.
    void belong_to(const void* value) { blocks_.belong_to(value); }
    /// Hands the memory on: to a later run that goes on with the builders in it.
    runtime::RunMemory take_blocks() { return std::move(blocks_); }

  private:
    friend class Program;
    std::shared_ptr<const Program> program_;  // literals and type descriptions that the value may point to
    runtime::RunMemory blocks_;
    std::shared_ptr<void> value_;
    runtime::Failure failure_;
};

/// A program that was found to be right. Read-only: it may be run by several threads at once.
class Program : public std::enable_shared_from_this<Program> {
  public:
    ~Program();
    const Module& module() const { return *module_; }
    std::span<const Symbol* const> params() const { return module_->main->symbols(); }
    const Type* result_type() const { return module_->main->type->result(); }

    /// The arguments are one struct of the parameters in order.
    const WeldType* args() const { return args_; }
    const WeldType* result() const { return result_; }

    /// What it leaves for the next program, but for values: its result has these. Null: nothing.
    const std::shared_ptr<const Environment>& after() const { return after_; }

    /// What the compiler warns about, drawn; whether these are told is up to who compiled it.
    const std::string& warnings() const { return warnings_; }

    /// What was read to compile it beside its text.
    const std::vector<ReadFile>& files() const { return files_; }

    /// Has code: it was not only checked.
    bool can_run() const { return code_ != nullptr; }
    /// `args` points to the struct of arguments (ignored if the program takes none).
    RunOutcome run(const void* args, const runtime::RunOptions& options) const;
    EntryFn entry() const { return code_ ? code_->entry : nullptr; }
    /// Its loops whose code is quick at first; null if there are none.
    WeldTiers* tiers() const { return code_ ? code_->tiers : nullptr; }

    /// A failure as users see it: `FILE:LINE:COL: error: message` with the source line and a caret, or
    /// `error: message` if the place is not known. Ends in a newline.
    std::string describe(const runtime::Failure& failure) const;
    Position position(const runtime::Failure& failure) const;

  private:
    friend class Compilation;
    Program() = default;
    void set_code(std::shared_ptr<Code> code);

    std::unique_ptr<Module> module_;
    Descriptions descriptions_;
    const WeldType* args_ = nullptr;
    const WeldType* result_ = nullptr;
    std::string warnings_;
    std::shared_ptr<const Environment> after_;
    std::vector<ReadFile> files_;
    std::shared_ptr<Code> code_;
    bool serialize_header_ = false;
    std::shared_ptr<const Libraries> libraries_;
};

/// Null if the program is rejected, or an option is wrong; `report->diagnostics` says why, and holds the
/// warnings otherwise. May be called from several threads. A text that was compiled before with the same
/// options, lately in this process or in what `cache` keeps, is not compiled again if the files that were
/// read are as they were; its Module has then the interface of the program only. With `explain` or
/// `only_check` every step is made. Throws std::bad_alloc if not even a lack of memory can be told.
std::shared_ptr<const Program> compile(std::string text, const CompileOptions& options,
                                       CompileReport* report);

}  // namespace weld
