// Programs that were compiled before: the last ones of this process, and those that a folder keeps.
//
// Both go by a key of everything that the outcome depends on, but for data files that were looked at: these
// are looked at again. A file in the folder holds its whole key, and a checksum; one that is damaged, of
// another build or another machine counts as none. Files appear whole or not at all, so processes may share a
// folder. Loops that are optimised while a program runs are appended to a second file, each with a checksum.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/engine.h"

namespace weld {

struct CompileOptions;
class Program;
namespace runtime {
struct TableDescription;
}

/// A file that was read to compile a program.
struct ReadFile {
    std::string path;
    std::string stamp;          ///< by what was in it; empty: it could not be read
    bool is_described = false;  ///< a data file, of which types, names and sizes count
};
/// The stamp of a file with this text.
std::string stamp_of_text(std::string_view text);
/// The stamp of a data file with this description.
std::string stamp_of_description(const runtime::TableDescription& description);
/// They are as they were.
bool are_current(const std::vector<ReadFile>& files);

/// Same key, same outcome in this process. Empty if the text is too long to be remembered.
std::string process_key(std::string_view text, const CompileOptions& options);
/// Same key, same outcome on this machine.
std::string machine_key(std::string_view text, const CompileOptions& options);

/// What this process compiled last: a few dozen programs. Null if there is none by that key.
std::shared_ptr<const Program> recent_program(const std::string& key);
void remember_program(std::string key, std::shared_ptr<const Program> program);

/// All that running a program takes.
struct StoredProgram {
    std::vector<ReadFile> files;
    std::vector<std::pair<std::string, std::string>>
        texts;  ///< what it has places in beside its own: name, text
    std::string warnings;
    std::string after;   ///< Environment::text of what it leaves; empty: nothing
    std::string result;  ///< types as text
    std::vector<std::pair<std::string, std::string>> params;  ///< name, type
    std::string loops_stamp;           ///< tells QuickLoops of the code from those of another
    std::vector<std::string> kernels;  ///< that it calls: their functions, as in runtime/abi/kernels.def
    MachineCode code;
    SharedBytes file;  ///< that data of the code lie in
};

/// False if `folder` holds nothing by that key that may be used.
bool read_stored(const std::string& folder, const std::string& key, StoredProgram* stored);
/// Fails silently: the program will be compiled again.
void write_stored(const std::string& folder, const std::string& key, const StoredProgram& stored);
/// Keeps what was optimised of a stored program with this StoredProgram::loops_stamp. Fails silently, too.
void write_optimized(const std::string& folder, const std::string& key, const std::string& stamp,
                     const OptimizedLoops& loops);

}  // namespace weld
