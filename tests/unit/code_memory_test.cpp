// Room for code: many programs in few mappings, which come and go.
#include "codegen/code_memory.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace weld;

namespace {

/// Mappings of this process that its code may be in, by whether they are writable too.
struct Mappings {
    int all = 0, executable = 0, both = 0;
};
Mappings mappings() {
    Mappings found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line); ++found.all) {
        const std::string may = line.substr(line.find(' ') + 1, 4);
        found.executable += may[2] == 'x';
        found.both += may[1] == 'w' && may[2] == 'x';
    }
    return found;
}

#if defined(__x86_64__)
constexpr std::size_t kLeastCode = 12;
void write_code(char* code, const char* data, std::int32_t n) {
    // mov eax, n; add eax, [rip + data]; ret
    unsigned char bytes[kLeastCode] = {0xB8, 0, 0, 0, 0, 0x03, 0x05, 0, 0, 0, 0, 0xC3};
    const auto distance = std::int32_t(data - (code + 11));
    std::memcpy(bytes + 1, &n, 4);
    std::memcpy(bytes + 7, &distance, 4);
    std::memcpy(code, bytes, sizeof bytes);
}
#elif defined(__aarch64__)
constexpr std::size_t kLeastCode = 32;
void write_code(char* code, const char* data, std::int32_t n) {
    // ldr w0, n; ldr x1, address; ldr w1, [x1]; add w0, w0, w1; ret; n: address:
    std::uint32_t words[kLeastCode / 4] = {0x180000A0, 0x580000A1, 0xB9400021, 0x0B010000, 0xD65F03C0};
    std::memcpy(words + 5, &n, 4);
    std::memcpy(words + 6, &data, 8);
    std::memcpy(code, words, sizeof words);
}
#endif

/// A program that returns `n`, in code, plus the number in its data.
std::unique_ptr<CodeMemory> program(std::int32_t n, std::size_t code_bytes = 100, std::size_t data_bytes = 40,
                                    std::size_t align = 8) {
    auto memory = std::make_unique<CodeMemory>(code_bytes, data_bytes, align);
    CHECK(reinterpret_cast<std::uintptr_t>(memory->data()) % align == 0);
    std::memset(memory->data(), 0, data_bytes);
    *reinterpret_cast<std::int32_t*>(memory->data()) = n;
    std::memset(memory->code(), 0, code_bytes);
    write_code(memory->code(), memory->data(), n);
    memory->make_executable();
    return memory;
}
std::int32_t call(const CodeMemory& memory) { return reinterpret_cast<std::int32_t (*)()>(memory.code())(); }

}  // namespace

TEST_CASE("a hundred thousand programs live in a few mappings") {
    const int before = mappings().all;
    std::vector<std::unique_ptr<CodeMemory>> programs;
    for (std::int32_t n = 0; n < 100'000; ++n) programs.push_back(program(n));
    const Mappings now = mappings();
    CHECK(now.all - before < 3'000);
    CHECK(now.both == 0);
    bool right = true;
    for (std::int32_t n = 0; n < 100'000; ++n) right &= call(*programs[std::size_t(n)]) == 2 * n;
    CHECK(right);
    // every other one goes, and its place is taken again
    for (std::size_t n = 0; n < programs.size(); n += 2) programs[n].reset();
    CHECK(mappings().all - before < 3'000);
    for (std::size_t n = 0; n < programs.size(); n += 2) programs[n] = program(-std::int32_t(n));
    CHECK(mappings().all - before < 3'000);
    right = true;
    for (std::int32_t n = 0; n < 100'000; ++n)
        right &= call(*programs[std::size_t(n)]) == (n % 2 ? 2 * n : -2 * n);
    CHECK(right);
    programs.clear();
#if defined(__SANITIZE_ADDRESS__)  // which keeps what the vectors above gave back
    CHECK(mappings().all - before < 100);
#else
    CHECK(mappings().all - before < 10);
#endif
}

TEST_CASE("programs of any size") {
    std::mt19937 random(1);
    std::vector<std::unique_ptr<CodeMemory>> programs(200);
    std::vector<std::int32_t> numbers(200);
    for (int i = 0; i < 5'000; ++i) {
        const std::size_t at = random() % programs.size();
        numbers[at] = i;
        const std::size_t most = i % 50 ? 20'000 : 3'000'000;
        programs[at] =
            program(i, kLeastCode + random() % most, 4 + random() % most, std::size_t(8) << random() % 6);
        const std::size_t other = random() % programs.size();
        if (programs[other]) CHECK(call(*programs[other]) == 2 * numbers[other]);
        if (random() % 3 == 0) programs[other].reset();
    }
    for (std::size_t at = 0; at < programs.size(); ++at)
        if (programs[at]) CHECK(call(*programs[at]) == 2 * numbers[at]);
    CHECK(mappings().both == 0);
}
