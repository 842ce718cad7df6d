// Weld text in, Module out. Also the parser of what weldir/ir/print.h prints.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/text/environment.h"
#include "frontend/text/import_paths.h"
#include "frontend/text/kernel_catalog.h"
#include "weldir/ir/module.h"
#include "weldir/support/diag.h"

namespace weld {

struct ReadOptions {
    /// String literals end with a byte 0, as Weld 0.4 had it (`weld.compat.nulTerminatedStrings`).
    bool nul_terminated_strings = false;
    /// The text is a module that was printed: what the optimiser promises in it (`@(tail:masked)`, that two
    /// loops compute the same) is believed. Else such annotations are dropped, since nothing checks them.
    bool is_printed_module = false;
    /// Says whether `cudf[name, T]` will find `name`; not asked if empty, nor about built-in kernels.
    std::function<bool(std::string_view name)> has_symbol;
    /// The only functions that a `cudf` may call beside built-in kernels; null: any.
    const std::vector<std::string>* allowed_functions = nullptr;
    /// Where `has_symbol` looks, for the message: "libudf.so and the kernels of the runtime".
    std::string searched;
    /// `name=value`, as the user gave them; for scripts.
    std::span<const std::string> script_args;
    /// Matrices of scripts of which a smaller share of cells is not zero are stored sparsely; 0: none.
    double sparsity_threshold = 0;
    /// Where scripts find what they import, beside their own folder; null: nowhere.
    const ImportPaths* import_paths = nullptr;
    /// Kernels that hints of scripts may name beside those of DAPHNE; null: none.
    const KernelCatalog* kernel_catalog = nullptr;
    /// Reads the text of a file that a script imports. Else false, with what is
    /// wrong: "no such file". Relative paths are those of the process. Null: there are no files.
    std::function<bool(const std::string& path, std::string* text, std::string* error)> load;
    /// What the file with a matrix or a frame at a path holds, as a `.meta` file says it; from there, or, if
    /// it has none and `may_sniff`, from its first bytes. Else false, with what is wrong with which file.
    /// Null: there are no files.
    std::function<bool(const std::string& path, bool may_sniff, std::string* text, std::string* error)>
        describe;
    /// For languages whose programs go on in others (frontend/api/languages.def): what the one before has
    /// left; null if this is the first one.
    const Environment* before = nullptr;
    /// If set, the program may end before its text does, where the rest needs values to be read, and receives
    /// what it leaves then. Else such a text is rejected.
    std::shared_ptr<const Environment>* after = nullptr;
    /// What is defined stays for other texts, not only for the rest of this one: `after` is always set.
    bool is_entry = false;
    /// If set, receives the program as it was understood by the parser: no macro expanded, no type added.
    std::string* parsed_text = nullptr;
    /// If set, receives what is known of the values of a script before the run.
    std::string* properties_text = nullptr;
    /// If set, receive the time that reading took.
    double* parse_ms = nullptr;  ///< text to tree
    double* type_ms = nullptr;   ///< names, macros, types, linearity, lowering
};

/// Reads a program into an empty module. `name` is what positions show: a file name, `<expr>`, `<stdin>`.
/// False if there are errors; the text is in `m.sources` in any case, so the diagnostics can be drawn.
/// Recursion goes as deep as the program is nested, at most some 10,000 levels: call it with a stack of 128
/// MiB or more.
bool read_weld(Module& m, std::string name, std::string text, const ReadOptions& options,
               Diagnostics& diagnostics);

/// Reads a type, without aliases and unknown parts: `{i32,vec[f64]}`. Null after an error.
const Type* read_type(Module& m, std::string_view text, Diagnostics& diagnostics);

}  // namespace weld
