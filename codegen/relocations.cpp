// The relocations that LLVM makes for code in the small model: of x86-64, and of aarch64.
#include "codegen/relocations.h"

#include <elf.h>

#include <cstring>

namespace weld::relocations {

template <class T>
static void put(char* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

/// Whether `distance` fits `bits` bits with a sign.
static bool fits(std::int64_t distance, int bits) {
    return distance >= -(std::int64_t(1) << (bits - 1)) && distance < std::int64_t(1) << (bits - 1);
}

static constexpr const char* kTooFar = "code refers to something that is too far away";
static constexpr const char* kUnknown = "code has a relocation of an unknown type";

#if defined(__x86_64__)

bool needs_slot(std::uint32_t type) {
    return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

bool needs_stub(std::uint32_t type, std::int64_t distance) {
    return type == R_X86_64_PLT32 && !fits(distance, 32);
}

void write_stub(char* stub, char* target) {
    static constexpr unsigned char kJump[] = {0xFF, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
    std::memcpy(stub, kJump, sizeof kJump);
    put(stub + sizeof kJump, target);
}

const char* patch(char* at, std::uint32_t type, char* value) {
    const std::int64_t distance = value - at;
    if (type == R_X86_64_64) return put(at, value), nullptr;
    if (type == R_X86_64_PC64) return put(at, distance), nullptr;
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32 && !needs_slot(type)) return kUnknown;
    if (!fits(distance, 32)) return kTooFar;
    put(at, std::int32_t(distance));
    return nullptr;
}

#elif defined(__aarch64__)

bool needs_slot(std::uint32_t type) {
    return type == R_AARCH64_ADR_GOT_PAGE || type == R_AARCH64_LD64_GOT_LO12_NC;
}

static bool is_call(std::uint32_t type) { return type == R_AARCH64_CALL26 || type == R_AARCH64_JUMP26; }

bool needs_stub(std::uint32_t type, std::int64_t distance) { return is_call(type) && !fits(distance, 28); }

void write_stub(char* stub, char* target) {
    static constexpr std::uint32_t kJump[] = {0x58000050, 0xD61F0200};  // ldr x16, #8; br x16
    std::memcpy(stub, kJump, sizeof kJump);
    put(stub + sizeof kJump, target);
}

/// Replaces the bits of `mask` in the instruction at `at`.
static const char* put_bits(char* at, std::uint32_t mask, std::uint32_t bits) {
    std::uint32_t instruction;
    std::memcpy(&instruction, at, sizeof instruction);
    put(at, (instruction & ~mask) | bits);
    return nullptr;
}

/// The low twelve bits of an address, in units of the `1 << shift` bytes that are loaded or stored.
static const char* put_low(char* at, std::uint64_t address, int shift) {
    return put_bits(at, 0xFFFu << 10, std::uint32_t((address & 0xFFF) >> shift) << 10);
}

const char* patch(char* at, std::uint32_t type, char* value) {
    const std::int64_t distance = value - at;
    const auto address = reinterpret_cast<std::uint64_t>(value);
    if (is_call(type)) {
        if (!fits(distance, 28)) return kTooFar;
        return put_bits(at, 0x03FFFFFF, std::uint32_t(distance >> 2) & 0x03FFFFFF);
    }
    switch (type) {
        case R_AARCH64_ABS64: return put(at, value), nullptr;
        case R_AARCH64_PREL64: return put(at, distance), nullptr;
        case R_AARCH64_PREL32:
            if (!fits(distance, 32)) return kTooFar;
            return put(at, std::int32_t(distance)), nullptr;
        case R_AARCH64_ADR_PREL_PG_HI21:
        case R_AARCH64_ADR_GOT_PAGE: {
            const std::int64_t pages =
                std::int64_t(address >> 12) - std::int64_t(reinterpret_cast<std::uint64_t>(at) >> 12);
            if (!fits(pages, 21)) return kTooFar;
            const auto low = std::uint32_t(pages & 3), high = std::uint32_t(pages >> 2) & 0x7FFFF;
            return put_bits(at, 3u << 29 | 0x7FFFFu << 5, low << 29 | high << 5);
        }
        case R_AARCH64_ADD_ABS_LO12_NC:
        case R_AARCH64_LDST8_ABS_LO12_NC: return put_low(at, address, 0);
        case R_AARCH64_LDST16_ABS_LO12_NC: return put_low(at, address, 1);
        case R_AARCH64_LDST32_ABS_LO12_NC: return put_low(at, address, 2);
        case R_AARCH64_LDST64_ABS_LO12_NC:
        case R_AARCH64_LD64_GOT_LO12_NC: return put_low(at, address, 3);
        case R_AARCH64_LDST128_ABS_LO12_NC: return put_low(at, address, 4);
        default: return kUnknown;
    }
}

#endif

}  // namespace weld::relocations
