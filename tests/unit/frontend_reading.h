// Reading programs in tests.
#pragma once

#include <memory>
#include <string>

#include "frontend/weld/weld.h"
#include "weldir/ir/print.h"
#include "weldir/ir/verify.h"

namespace weld::test {

/// A program, read.
struct Reading {
    std::unique_ptr<Module> module = std::make_unique<Module>();
    Diagnostics diagnostics;
    bool good = false;

    explicit Reading(std::string text, const ReadOptions& options = {}) {
        good = read_weld(*module, "p", std::move(text), options, diagnostics);
    }
    std::string drawn() const { return diagnostics.draw(module->sources); }
    /// The type of what the program computes.
    std::string type() const { return good ? module->main->type->result()->str() : drawn(); }
    std::string printed() const { return good ? print(*module) : drawn(); }
    /// What the program is, without `|parameters|`.
    const Expr* body() const { return module->main->as<Lambda>().body(); }
    /// The first line of what is said: `p:1:2: error: ...`.
    std::string first() const {
        const std::string all = drawn();
        return all.substr(0, all.find('\n'));
    }
};

inline std::string type_of(const std::string& text) { return Reading(text).type(); }

/// Is it read, right, and the same again after printing? If not, what is wrong.
inline std::string survives(const std::string& text) {
    const Reading once(text);
    if (!once.good) return once.drawn();
    if (std::string broken = verify(*once.module); !broken.empty()) return broken;
    const std::string printed = once.printed();
    const Reading again(printed);
    if (!again.good) return printed + again.drawn();
    return again.printed() == printed ? "" : printed + again.printed();
}

}  // namespace weld::test
