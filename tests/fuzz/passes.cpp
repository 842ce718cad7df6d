// Passes must keep what a program computes, judged by the interpreter. An input that begins with a byte below
// 32 is a sequence of choices: passes, a program of the generator, its arguments; any other is a program's
// text.
#include <functional>

#include "tests/driver/generate.h"
#include "tests/driver/interpreted.h"
#include "tests/fuzz/fuzz.h"
#include "weldir/ir/print.h"

using namespace weld;
using namespace weld::driver;

static constexpr std::size_t kChoicesOfPasses = 8, kChoicesOfArguments = 64;

/// The whole pipeline, or after `flatten` (mostly) some passes in any order.
static PassOptions some_passes(Random random) {
    PassOptions options;
    options.level = 3;
    if (random.percent(40)) return options;
    options.names.emplace();
    if (random.percent(80)) options.names->push_back("flatten");
    for (std::size_t i = 0, n = 1 + random.below(4); i < n; ++i)
        options.names->emplace_back(all_passes()[random.below(all_passes().size())].name);
    return options;
}

static interp::Options limits() {
    interp::Options o;
    o.max_steps = 100'000;
    return o;
}

static void check(const std::string& text, const PassOptions& passes, Random of_arguments) {
    std::vector<interp::Value> args;
    {
        const Text read(text);
        if (!read.ok()) return;
        args = random_arguments(read.module, of_arguments);
    }
    const std::string wrong = check_passes(text, args, passes, limits());
    if (wrong.empty()) return;
    std::string names = passes.names ? "passes:" : "-O3";
    if (passes.names)
        for (const std::string& name : *passes.names) names += " " + name;
    fuzz::demand_nothing(wrong + "\n" + names + "\n" + text);
}

static std::string generated(Random random) {
    Module m;
    GenerateOptions options;
    options.size = 20 + int(random.below(100));
    options.functions_of_test = false;
    generate(m, random, options);
    return print(m);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::span<const std::uint8_t> bytes(data, size);
    if (size == 0) return 0;
    if (bytes[0] >= 32) {
        const std::string text(reinterpret_cast<const char*>(data), size);
        PassOptions passes;
        passes.level = 3;
        check(text, passes, Random(size));
        const std::size_t one = std::hash<std::string>()(text) % all_passes().size();
        passes.names = {"flatten", std::string(all_passes()[one].name)};
        check(text, passes, Random(size));
        return 0;
    }
    bytes = bytes.subspan(1);
    auto take = [&](std::size_t n) {
        const auto taken = bytes.first(std::min(n, bytes.size()));
        bytes = bytes.subspan(taken.size());
        return taken;
    };
    const Random passes(take(kChoicesOfPasses)), arguments(take(kChoicesOfArguments));
    check(generated(Random(bytes)), some_passes(passes), arguments);
    return 0;
}
