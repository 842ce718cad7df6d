// Addresses that are written into code, and what it does with them.
#include "codegen/relocations.h"

#include <doctest/doctest.h>
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/code_memory.h"

using namespace weld;

#if defined(__x86_64__)
constexpr std::uint32_t kAddress = R_X86_64_64, kFar = R_X86_64_PC64, kCall = R_X86_64_PLT32;
#elif defined(__aarch64__)
constexpr std::uint32_t kAddress = R_AARCH64_ABS64, kFar = R_AARCH64_PREL64, kCall = R_AARCH64_CALL26;
#endif

TEST_CASE("addresses in data") {
    char data[16] = {};
    char* const value = data + 5;
    std::int64_t written;
    CHECK(relocations::patch(data + 8, kAddress, value) == nullptr);
    std::memcpy(&written, data + 8, 8);
    CHECK(written == reinterpret_cast<std::int64_t>(value));
    CHECK(relocations::patch(data + 8, kFar, value) == nullptr);
    std::memcpy(&written, data + 8, 8);
    CHECK(written == -3);
}

TEST_CASE("what cannot be written is refused") {
    char code[8] = {};
    CHECK(std::string(relocations::patch(code, 9999, code)).find("unknown type") != std::string::npos);
    char* const far =
        reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(code) ^ std::uintptr_t(1) << 45);
    CHECK(std::string(relocations::patch(code, kCall, far)).find("too far") != std::string::npos);
    CHECK(code[0] == 0);
    CHECK(relocations::needs_stub(kCall, std::int64_t(1) << 40));
    CHECK_FALSE(relocations::needs_stub(kCall, 4096));
}

#if defined(__aarch64__)
/// An instruction, and what is to be patched in it.
struct Instruction {
    std::uint32_t word, type = R_AARCH64_NONE;
};
using Instructions = std::vector<Instruction>;

/// Calls a function of these instructions that name `value`, which has its slot at `slot`.
static std::uint64_t run(CodeMemory& memory, const Instructions& all, char* value, char* slot = nullptr) {
    char* at = memory.code();
    for (const Instruction& i : all) {
        std::memcpy(at, &i.word, 4);
        char* const named = relocations::needs_slot(i.type) ? slot : value;
        if (i.type != R_AARCH64_NONE) REQUIRE(relocations::patch(at, i.type, named) == nullptr);
        at += 4;
    }
    memory.make_executable();
    return reinterpret_cast<std::uint64_t (*)()>(memory.code())();
}

constexpr std::uint32_t kAdrp = 0x90000000, kReturn = 0xD65F03C0;  // adrp x0, 0; ret
constexpr std::size_t kCodeBytes = 64, kDataBytes = 20'000;

TEST_CASE("addresses of data, in two halves") {
    const Instructions all = {{kAdrp, R_AARCH64_ADR_PREL_PG_HI21},
                              {0x91000000, R_AARCH64_ADD_ABS_LO12_NC},  // add x0, x0, #0
                              {kReturn}};
    for (std::size_t offset : {0, 1, 15, 4095, 4096, 12'345}) {
        CodeMemory memory(kCodeBytes, kDataBytes, 64);
        char* const wanted = memory.data() + offset;
        CHECK(run(memory, all, wanted) == reinterpret_cast<std::uint64_t>(wanted));
    }
    CodeMemory memory(kCodeBytes, kDataBytes, 64);
    char* const before = memory.code() - 300'000'001;
    CHECK(run(memory, all, before) == reinterpret_cast<std::uint64_t>(before));
}

TEST_CASE("loads of every size") {
    const struct {
        Instruction load;
        std::size_t bytes;
    } all[] = {
        {{0x39400000, R_AARCH64_LDST8_ABS_LO12_NC}, 1},     // ldrb w0, [x0]
        {{0x79400000, R_AARCH64_LDST16_ABS_LO12_NC}, 2},    // ldrh w0, [x0]
        {{0xB9400000, R_AARCH64_LDST32_ABS_LO12_NC}, 4},    // ldr w0, [x0]
        {{0xF9400000, R_AARCH64_LDST64_ABS_LO12_NC}, 8},    // ldr x0, [x0]
        {{0x3DC00000, R_AARCH64_LDST128_ABS_LO12_NC}, 16},  // ldr q0, [x0]; its low half is seen
    };
    for (const auto& [load, bytes] : all)
        for (std::size_t offset : {std::size_t(0), 3 * bytes, 4096 - bytes, 4096 + bytes}) {
            CodeMemory memory(kCodeBytes, kDataBytes, 64);
            for (std::size_t i = 0; i < kDataBytes; ++i) memory.data()[i] = char(i * 7 + i / 256);
            const Instruction seen = {bytes == 16 ? 0x9E660000 : 0xAA0003E0};  // fmov x0, d0; mov x0, x0
            std::uint64_t wanted = 0;
            std::memcpy(&wanted, memory.data() + offset, bytes < 8 ? bytes : 8);
            CAPTURE(bytes);
            CHECK(run(memory, {{kAdrp, R_AARCH64_ADR_PREL_PG_HI21}, load, seen, {kReturn}},
                      memory.data() + offset) == wanted);
        }
}

TEST_CASE("addresses from slots") {
    CodeMemory memory(kCodeBytes, kDataBytes, 64);
    char* const slot = memory.data() + 4096 + 24;
    char* const far = reinterpret_cast<char*>(std::uint64_t(0x123456789ABC));
    std::memcpy(slot, &far, sizeof far);
    const Instructions all = {{kAdrp, R_AARCH64_ADR_GOT_PAGE},
                              {0xF9400000, R_AARCH64_LD64_GOT_LO12_NC},  // ldr x0, [x0]
                              {kReturn}};
    CHECK(run(memory, all, nullptr, slot) == reinterpret_cast<std::uint64_t>(far));
}

static std::uint64_t seven() { return 7; }

TEST_CASE("calls, by a stub and at once") {
    CodeMemory memory(4096, 64, 64);
    char* const stub = memory.code() + 2048;
    relocations::write_stub(stub, reinterpret_cast<char*>(&seven));
    CHECK(run(memory,
              {{0xA9BF7BFD},                     // stp x29, x30, [sp, #-16]!
               {0x94000000, R_AARCH64_CALL26},   // bl
               {0x91000400},                     // add x0, x0, #1
               {0xA8C17BFD},                     // ldp x29, x30, [sp], #16
               {0x14000000, R_AARCH64_JUMP26}},  // b: what it returns is returned
              stub) == 7);
    CodeMemory caller(4096, 64, 64);
    CHECK(run(caller, {{0x14000000, R_AARCH64_JUMP26}}, stub) == 7);
}
#endif
