// Lanes in memory, of which one can be taken out whose number is not known before.
#pragma once

#include <utility>
#include <vector>

#include "codegen/emit.h"

namespace weld::codegen {

class SpilledLanes {
  public:
    /// `v` is of type `lanes`, of which one lane is of type `one`.
    SpilledLanes(Emitter& e, const Type* lanes, const Type* one, const Leaves& v) : e_(e) {
        add(lanes, one);
        for (std::size_t k = 0; k < types_.size(); ++k) rooms_.push_back(e.spill(types_[k].first, {v[k]}));
    }

    Leaves lane(llvm::Value* number) const {
        Leaves one;
        for (std::size_t k = 0; k < types_.size(); ++k) one.append(e_.load(types_[k].second, at(k, number)));
        return one;
    }
    void set(llvm::Value* number, const Leaves& one) const {
        for (std::size_t k = 0; k < types_.size(); ++k) e_.store(types_[k].second, {one[k]}, at(k, number));
    }
    Leaves all() const {
        Leaves v;
        for (std::size_t k = 0; k < types_.size(); ++k) v.append(e_.load(types_[k].first, rooms_[k]));
        return v;
    }

  private:
    void add(const Type* lanes, const Type* one) {
        if (!lanes->is_struct()) return types_.emplace_back(lanes, one), void();
        for (std::size_t i = 0; i < lanes->args.size(); ++i) add(lanes->args[i], one->args[i]);
    }
    llvm::Value* at(std::size_t k, llvm::Value* number) const {
        return e_.element(rooms_[k], types_[k].second, number);
    }

    Emitter& e_;
    std::vector<std::pair<const Type*, const Type*>> types_;  // of lanes and of one, by leaf
    std::vector<llvm::Value*> rooms_;
};

}  // namespace weld::codegen
