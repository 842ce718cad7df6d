// The LLVM passes that we run, and the machine that we run them for.
#pragma once

#include <memory>
#include <string>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/engine.h"

namespace weld::codegen {

/// The machine that code is made for; null with `*error` set if LLVM has none.
std::unique_ptr<llvm::TargetMachine> machine_for(Cpu cpu, int level, std::string* error);

/// Our short pipeline. Emitted code is in SSA form and clean already, so little is needed: scalar clean-up,
/// invariant motion, vectorisation of what our own passes left scalar.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level);

}  // namespace weld::codegen
