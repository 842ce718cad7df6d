// Machine code -> functions in memory.
//
//     objects           one after the other in one arena: code (then read-only), stubs; constants, slots
//     stub              jmp *address: a call reaches 2 GiB, functions of the runtime may be farther away
//     slot              an address that code loads from memory
//     data              constants that are in no object
//
// Starts no LLVM, so code that was kept on disk runs a millisecond after it was read.
#include "codegen/link.h"

#include <elf.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "codegen/relocations.h"
#include "weldir/support/round_up.h"

namespace weld {

namespace {

/// The parts of one ELF object. What it says of itself is trusted: LLVM made it in this build.
class Object {
  public:
    explicit Object(std::string_view bytes) : bytes_(bytes) {
        const auto& header = at<Elf64_Ehdr>(0);
        sections = {&at<Elf64_Shdr>(header.e_shoff), header.e_shnum};
        for (const Elf64_Shdr& s : sections)
            if (s.sh_type == SHT_SYMTAB) {
                symbols = table<Elf64_Sym>(s);
                names_ = bytes.data() + sections[s.sh_link].sh_offset;
            }
        addresses.resize(sections.size(), nullptr);
    }

    template <class T>
    std::span<const T> table(const Elf64_Shdr& s) const {
        return {&at<T>(s.sh_offset), s.sh_size / sizeof(T)};
    }
    const char* name_of(const Elf64_Sym& s) const { return names_ + s.st_name; }
    const char* contents(const Elf64_Shdr& s) const { return bytes_.data() + s.sh_offset; }

    /// Goes to memory. Tables for unwinding don't: no frame of emitted code is ever unwound.
    static bool is_loaded(const Elf64_Shdr& s) {
        return (s.sh_flags & SHF_ALLOC) && s.sh_type != SHT_X86_64_UNWIND;
    }
    static bool is_code(const Elf64_Shdr& s) { return s.sh_flags & SHF_EXECINSTR; }

    std::span<const Elf64_Shdr> sections;
    std::span<const Elf64_Sym> symbols;
    std::vector<char*> addresses;  ///< of the loaded sections, by number

  private:
    template <class T>
    const T& at(std::size_t offset) const {
        return *reinterpret_cast<const T*>(bytes_.data() + offset);
    }
    std::string_view bytes_;
    const char* names_ = nullptr;
};

constexpr std::size_t kDataAlign = 64;  // of constants that are in no object

class Linker {
  public:
    Linker(std::span<const SharedBytes> objects, std::span<const CodeData> data, const Resolve& resolve)
        : resolve_(resolve), data_(data), objects_(objects.begin(), objects.end()) {}

    std::unique_ptr<LinkedCode> link(std::string* error) {
        auto code = std::make_unique<LinkedCode>();
        place(*code);
        for (Object& o : objects_) define(o);
        for (const Object& o : objects_) relocate(o);
        if (error_.empty()) {
            code->memory->make_executable();
            for (const auto& [name, address] : defined_) code->symbols.emplace(name, address);
            return code;
        }
        *error = error_;
        return nullptr;
    }

  private:
    template <class Fn>
    void for_each_section(bool code, Fn&& fn) {
        for (Object& o : objects_)
            for (std::size_t i = 0; i < o.sections.size(); ++i)
                if (Object::is_loaded(o.sections[i]) && Object::is_code(o.sections[i]) == code)
                    fn(o, i, o.sections[i]);
    }

    /// Lays out code and data, and copies the sections.
    void place(LinkedCode& code) {
        std::size_t undefined = 0, slots = 0;
        for (const Object& o : objects_) {
            for (const Elf64_Sym& s : o.symbols) undefined += s.st_shndx == SHN_UNDEF;
            for (const Elf64_Shdr& s : o.sections)
                if (s.sh_type == SHT_RELA)
                    for (const Elf64_Rela& r : o.table<Elf64_Rela>(s))
                        slots += relocations::needs_slot(ELF64_R_TYPE(r.r_info));
        }
        std::size_t bytes = 0, align = 1;
        const auto add = [&](Object&, std::size_t, const Elf64_Shdr& s) {
            bytes = round_up(bytes, s.sh_addralign) + s.sh_size;
            align = std::max(align, std::size_t(s.sh_addralign));
        };
        for_each_section(true, add);
        const std::size_t stubs = round_up(bytes, relocations::kStubBytes);
        bytes = 0, align = relocations::kSlotBytes;
        for_each_section(false, add);
        for (const CodeData& d : data_) bytes = round_up(bytes, kDataAlign) + d.bytes.size();
        if (!data_.empty()) align = std::max(align, kDataAlign);
        const std::size_t first_slot = round_up(bytes, relocations::kSlotBytes);
        code.memory.emplace(stubs + undefined * relocations::kStubBytes,
                            first_slot + slots * relocations::kSlotBytes, align);
        code.data = {code.memory->data(), first_slot};
        next_stub_ = code.memory->code() + stubs;
        next_slot_ = code.memory->data() + first_slot;

        char* at = code.memory->code();
        const auto copy = [&](Object& o, std::size_t i, const Elf64_Shdr& s) {
            at += -reinterpret_cast<std::uintptr_t>(at) & (s.sh_addralign - 1);
            o.addresses[i] = at;
            if (s.sh_type == SHT_NOBITS) std::memset(at, 0, s.sh_size);
            else std::memcpy(at, o.contents(s), s.sh_size);
            at += s.sh_size;
        };
        for_each_section(true, copy);
        at = code.memory->data();
        for_each_section(false, copy);
        for (const CodeData& d : data_) {
            at += -reinterpret_cast<std::uintptr_t>(at) & (kDataAlign - 1);
            std::memcpy(at, d.bytes.data(), d.bytes.size());
            defined_[d.name] = at;
            at += d.bytes.size();
        }
    }

    void define(const Object& o) {
        for (const Elf64_Sym& s : o.symbols)
            if (s.st_shndx != SHN_UNDEF && s.st_shndx < SHN_LORESERVE &&
                ELF64_ST_BIND(s.st_info) != STB_LOCAL)
                defined_[o.name_of(s)] = o.addresses[s.st_shndx] + s.st_value;
    }

    /// The address of a symbol; null with `error_` set if nobody has it.
    char* address_of(const Object& o, const Elf64_Sym& s) {
        if (s.st_shndx == SHN_ABS) return reinterpret_cast<char*>(s.st_value);
        if (s.st_shndx != SHN_UNDEF) return o.addresses[s.st_shndx] + s.st_value;
        char*& known = defined_[o.name_of(s)];
        if (!known) known = static_cast<char*>(find(o.name_of(s)));
        if (!known) error_ = fmt::format("there is no function `{}`", o.name_of(s));
        return known;
    }

    void* find(std::string_view name) const {
        // what LLVM itself makes calls of
        if (name == "memcpy") return reinterpret_cast<void*>(&std::memcpy);
        if (name == "memmove") return reinterpret_cast<void*>(&std::memmove);
        if (name == "memset") return reinterpret_cast<void*>(&std::memset);
        if (name == "fmod")
            return reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&std::fmod));
        if (name == "fmodf") return reinterpret_cast<void*>(static_cast<float (*)(float, float)>(&std::fmod));
        return resolve_(name);
    }

    void relocate(const Object& o) {
        for (const Elf64_Shdr& s : o.sections) {
            if (s.sh_type != SHT_RELA || !o.addresses[s.sh_info]) continue;
            for (const Elf64_Rela& r : o.table<Elf64_Rela>(s)) {
                const Elf64_Sym& symbol = o.symbols[ELF64_R_SYM(r.r_info)];
                char* const value = address_of(o, symbol);
                if (!error_.empty()) return;
                patch(o.addresses[s.sh_info] + r.r_offset, ELF64_R_TYPE(r.r_info), value, r.r_addend);
            }
        }
    }

    void patch(char* at, std::uint32_t type, char* value, std::int64_t addend) {
        if (relocations::needs_slot(type)) value = slot_of(value);
        else if (relocations::needs_stub(type, value + addend - at)) value = stub_of(value);
        if (const char* wrong = relocations::patch(at, type, value + addend))
            error_ = fmt::format("{} (relocation {})", wrong, type);
    }

    char* stub_of(char* target) {
        char*& stub = stubs_[target];
        if (stub) return stub;
        stub = std::exchange(next_stub_, next_stub_ + relocations::kStubBytes);
        relocations::write_stub(stub, target);
        return stub;
    }

    char* slot_of(char* target) {
        char*& slot = slots_[target];
        if (slot) return slot;
        slot = std::exchange(next_slot_, next_slot_ + relocations::kSlotBytes);
        std::memcpy(slot, &target, sizeof target);
        return slot;
    }

    const Resolve& resolve_;
    const std::span<const CodeData> data_;
    std::vector<Object> objects_;
    char *next_stub_ = nullptr, *next_slot_ = nullptr;
    std::unordered_map<std::string_view, char*> defined_;
    std::unordered_map<char*, char*> stubs_, slots_;
    std::string error_;
};

}  // namespace

std::unique_ptr<LinkedCode> link(std::span<const SharedBytes> objects, std::span<const CodeData> data,
                                 const Resolve& resolve, std::string* error) {
    return Linker(objects, data, resolve).link(error);
}

}  // namespace weld
