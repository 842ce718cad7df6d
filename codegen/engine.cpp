// Module -> LLVM modules -> machine code.
#include "codegen/engine.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <unordered_set>

#include <dlfcn.h>

#include "codegen/emit.h"
#include "codegen/heap.h"
#include "codegen/optimize.h"
#include "weldir/support/deep_stack.h"

namespace weld {

namespace {

double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

/// What is to outlive the heap that it was made in.
void give_out(std::string* to, const std::string& text) {
    codegen::Heap::outside([&] { to->append(text); });
}

void print_to(std::string* to, const llvm::Module& module) {
    if (!to) return;
    std::string text;
    llvm::raw_string_ostream out(text);
    module.print(out, nullptr);
    give_out(to, text);
}

std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    auto copy = llvm::CloneModule(module);
    if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) return {};
    passes.run(*copy);
    return text.str().str();
}

/// An LLVM module and the machine that it is compiled for.
struct Part {
    Cpu cpu = Cpu::Native;
    int level = 0;
    std::unique_ptr<llvm::TargetMachine> machine;
    std::unique_ptr<llvm::Module> module;

    bool make_machine(std::string* error) {
        machine = codegen::machine_for(cpu, level, error);
        return machine != nullptr;
    }

    bool make(const char* name, llvm::LLVMContext& context, std::string* error) {
        if (!make_machine(error)) return false;
        module = std::make_unique<llvm::Module>(name, context);
        module->setDataLayout(machine->createDataLayout());
        module->setTargetTriple(machine->getTargetTriple().str());
        return true;
    }

    /// Optimises; shows what came of it to who asked.
    bool optimize(const CodeOptions& options, std::string* error) {
        llvm::raw_string_ostream broken(*error);
        if (options.verify && llvm::verifyModule(*module, &broken)) return false;
        print_to(options.llvm_input_text, *module);
        codegen::optimize(*module, *machine, level);
        print_to(options.llvm_text, *module);
        if (options.asm_text) give_out(options.asm_text, assembly_of(*module, *machine));
        return true;
    }

    /// Its machine code, an ELF object; empty if it has none.
    bool emit(std::string* object, std::string* error) {
        if (std::all_of(module->begin(), module->end(), [](auto& f) { return f.isDeclaration(); }))
            return true;
        llvm::SmallString<0> bytes;
        llvm::raw_svector_ostream out(bytes);
        llvm::legacy::PassManager passes;
        if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile)) {
            *error = "LLVM has no machine code for this machine";
            return false;
        }
        passes.run(*module);
        codegen::Heap::outside([&] { object->assign(bytes.data(), bytes.size()); });
        return true;
    }
};

// ---- several threads
//
// An LLVM context belongs to one thread. Functions that another thread is to compile go there as bitcode; for
// code that isn't optimised that would take as long as compiling it.

/// Instructions that are worth a thread: they take some ten milliseconds.
constexpr std::size_t kWorthAThread = 500;

void drop_unread(llvm::Module& module) {
    for (bool found = true; std::exchange(found, false);)
        for (llvm::GlobalVariable& g : llvm::make_early_inc_range(module.globals()))
            if (g.use_empty()) g.eraseFromParent(), found = true;
}

/// Moves `functions` out of `module`. They stay declared.
std::string take_out(llvm::Module& module, const std::vector<llvm::Function*>& functions) {
    const std::unordered_set<const llvm::GlobalValue*> wanted(functions.begin(), functions.end());
    llvm::ValueToValueMapTy copies;
    const auto copy = llvm::CloneModule(module, copies, [&](const llvm::GlobalValue* g) {
        return llvm::isa<llvm::GlobalVariable>(g) || wanted.count(g);
    });
    drop_unread(*copy);
    std::string bitcode;
    llvm::raw_string_ostream out(bitcode);
    llvm::WriteBitcodeToFile(*copy, out);
    for (llvm::Function* f : functions) f->deleteBody();
    drop_unread(module);
    return bitcode;
}

/// The functions that one thread compiles.
struct Share {
    std::size_t work = 0;
    std::vector<llvm::Function*> functions;
};

/// Takes functions out of `module` until each thread has a like amount of work. Returns the bitcode of what
/// other threads are to do.
std::vector<std::string> shares_for_others(llvm::Module& module, int threads) {
    std::vector<std::pair<std::size_t, llvm::Function*>> all;
    std::size_t total = 0;
    for (llvm::Function& f : module)
        if (!f.isDeclaration()) total += all.emplace_back(f.getInstructionCount(), &f).first;
    std::vector<Share> shares(std::clamp<std::size_t>(total / kWorthAThread, 1, std::size_t(threads)));
    std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.first; });
    for (const auto& [work, f] : all) {
        Share& least = *std::ranges::min_element(shares, {}, &Share::work);
        least.work += work;
        least.functions.push_back(f);
    }
    shares.erase(shares.begin());  // that is this thread's
    std::erase_if(shares, [](const Share& share) { return share.functions.empty(); });
    std::vector<std::string> bitcode;
    for (Share& share : shares) bitcode.push_back(take_out(module, share.functions));
    return bitcode;
}

// ---- the work of each thread, in a heap of its own

/// What a thread made, or why it did not.
struct Outcome {
    GenerateEnd end = GenerateEnd::Good;
    std::vector<std::string> objects;  ///< some may be empty
    std::string error;

    /// Nothing is thrown: there is nobody to catch it on a thread of its own.
    template <class Work>
    void run(const CodeOptions& options, const Work& work) noexcept {
        try {
            codegen::Heap heap(*options.budget, options.probe);
            const codegen::WorkEnd ended = heap.run([&] {
                std::string why;
                if (work(&why)) return;
                end = GenerateEnd::Failed;
                give_out(&error, why);
            });
            if (ended == codegen::WorkEnd::NoMemory) end = GenerateEnd::NoMemory;
            if (ended == codegen::WorkEnd::OverBudget) end = GenerateEnd::OverLimit;
            if (ended == codegen::WorkEnd::LlvmFailed) fail(heap.llvm_message());
            if (ended == codegen::WorkEnd::Good && options.verify && !heap.is_empty())
                fail("LLVM holds on to memory of the program");
        } catch (const std::bad_alloc&) {
            end = GenerateEnd::NoMemory;
        }
    }

  private:
    void fail(const char* why) {
        end = GenerateEnd::Failed;
        error += why;
    }
};

/// A further thread, and the bitcode that it compiles.
struct Helper {
    std::string bitcode;
    Outcome outcome;

    void compile(const CodeOptions& options) {
        outcome.run(options, [&](std::string* why) {
            llvm::LLVMContext context;
            Part part{.cpu = options.cpu, .level = options.level};
            auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "loops"), context);
            if (!module) {
                *why = llvm::toString(module.takeError());
                return false;
            }
            part.module = std::move(*module);
            return part.make_machine(why) && part.optimize(options, why) &&
                   part.emit(&outcome.objects[0], why);
        });
    }
};

class Generator {
  public:
    Generator(const Module& m, const CodeOptions& options) : module_(m), options_(options) {}

    GenerateEnd run(MachineCode* code, CodeTimes* times, std::string* error) {
        const double begin = now_ms();
        own_.objects.resize(2);
        own_.run(options_, [this](std::string* why) { return compile(why); });
        threads_.clear();  // all are done
        for (Helper& helper : helpers_) add(helper.outcome);
        *error += own_.error;
        if (own_.end != GenerateEnd::Good) return own_.end;
        code->objects = std::move(own_.objects);
        code->data = std::move(data_);
        std::erase_if(code->objects, [](const std::string& object) { return object.empty(); });
        if (Dl_info info; ::dladdr(reinterpret_cast<void*>(&generate), &info))
            code->generator = info.dli_fname;
        if (times) *times = {optimized_ - begin, now_ms() - optimized_};
        return GenerateEnd::Good;
    }

  private:
    /// What this thread does.
    bool compile(std::string* why) {
        llvm::LLVMContext context;
        // Code that runs once is compiled the quick way.
        Part once{.cpu = options_.cpu, .level = 0}, loops{.cpu = options_.cpu, .level = options_.level};
        if (!once.make("once", context, why) || !loops.make("loops", context, why)) return false;
        const codegen::Constants constants(module_);
        const codegen::Listed listed(module_);
        codegen::Unit loop_unit(module_, constants, listed, options_, *loops.module);
        codegen::Unit(module_, constants, listed, options_, *once.module, &loop_unit).emit_program();

        const bool shown = options_.llvm_input_text || options_.llvm_text || options_.asm_text;
        start_helpers(shares_for_others(*loops.module, shown ? 1 : options_.threads));
        if (!once.optimize(options_, why) || !loops.optimize(options_, why)) return false;
        optimized_ = now_ms();
        codegen::Heap::outside([&] {
            for (const PackedVec v : constants.packed())
                data_.push_back({codegen::name_of_packed(v), v.bytes()});
        });
        return once.emit(&own_.objects[0], why) && loops.emit(&own_.objects[1], why);
    }

    void start_helpers(const std::vector<std::string>& bitcode) {
        codegen::Heap::outside([&] {
            for (const std::string& text : bitcode) helpers_.push_back({text, {.objects = {{}}}});
            threads_.reserve(helpers_.size());
            for (Helper& helper : helpers_) threads_.emplace_back([&] { helper.compile(options_); });
        });
    }

    void add(Outcome& other) {
        if (own_.end == GenerateEnd::Good) own_.end = other.end;
        own_.error += other.error;
        for (std::string& object : other.objects) own_.objects.push_back(std::move(object));
    }

    const Module& module_;
    const CodeOptions& options_;
    Outcome own_;
    std::vector<CodeData> data_;
    double optimized_ = 0;
    std::vector<Helper> helpers_;
    std::vector<DeepThread> threads_;  ///< end before what they work on
};

}  // namespace

GenerateEnd generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
                     std::string* error) noexcept {
    try {
        return Generator(m, options).run(code, times, error);
    } catch (const std::bad_alloc&) {
        return GenerateEnd::NoMemory;
    }
}

extern "C" decltype(&generate) const weld_codegen_generate = &generate;

}  // namespace weld
