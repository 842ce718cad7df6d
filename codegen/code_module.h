// One LLVM module on its way to machine code, and bitcode, by which functions go to another thread or to a
// later time: an LLVM context belongs to one thread, and takes memory as long as it lives.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/engine.h"

namespace weld::codegen {

/// An LLVM module and the machine that it is compiled for.
struct CodeModule {
    Cpu cpu = Cpu::Native;
    int level = 0;
    std::unique_ptr<llvm::TargetMachine> machine;
    std::unique_ptr<llvm::Module> module;

    bool make(const char* name, llvm::LLVMContext& context, std::string* error);
    /// Reads `functions` of a module; the others, and data that others may point to, are only declared.
    bool read(std::string_view bitcode, std::span<const std::string> functions, llvm::LLVMContext& context,
              std::string* error);
    /// The same for loops of QuickLoops and what belongs to them, as code that is loaded by itself.
    bool read_loops(std::string_view bitcode, std::span<const std::string> functions,
                    llvm::LLVMContext& context, std::string* error);
    /// Optimises; shows what came of it to who asked.
    bool optimize(const CodeOptions& options, std::string* error);
    /// Its machine code, an ELF object; empty if it defines nothing.
    bool emit(std::string* object, std::string* error);

  private:
    bool make_machine(std::string* error);
    bool parse(std::string_view bitcode, llvm::LLVMContext& context, std::string* error);
    bool finish_reading(const std::unordered_set<const llvm::Function*>& wanted, std::string* error);
};

using Functions = std::vector<llvm::Function*>;
using FunctionSet = std::unordered_set<const llvm::Function*>;

std::string bitcode_of(const llvm::Module& module);
/// Leaves the functions that are not `kept` declared only.
void keep_only(llvm::Module& module, const FunctionSet& kept);

/// What may be compiled the quick way at first is marked with its WeldLoop::number.
void mark_loop(llvm::Function* f, std::size_t number);
std::int64_t loop_number(const llvm::Function& f);  ///< -1 if it is not marked
/// `roots` and the functions of their module that these refer to, but for other marked loops.
FunctionSet reached(const Functions& roots);

/// What is to outlive the heap that it was made in.
void give_out(std::string* to, std::string_view text);

}  // namespace weld::codegen
