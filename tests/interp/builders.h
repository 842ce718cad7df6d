// Builders of the reference interpreter. Ten lines each, and the only place that knows the kinds.
#pragma once

#include <optional>

#include "tests/interp/scalars.h"
#include "tests/interp/value.h"

namespace weld::interp {

/// The state of a builder. Merges change it in place.
struct Builder {
    const Type* type;
    Values items;                                               // appender, vecmerger, topk
    std::int64_t most = 0;                                      // topk
    Value value;                                                // merger
    Dict dict;                                                  // dictmerger
    std::map<Value, Values, KeyLess> groups{KeyLess{nullptr}};  // groupmerger

    // What was added up for each float scalar of a reduction: how large its slack is, follows from that.
    struct Sum {
        double magnitude = 0;  // sum of the absolute values
        bool exact = true;     // so far every order gives the same
    };
    std::vector<Sum> sums;                                                     // merger
    std::map<Value, std::vector<Sum>, KeyLess> sums_by_key{KeyLess{nullptr}};  // dictmerger
    std::map<std::int64_t, std::vector<Sum>> sums_by_index;                    // vecmerger
};

/// A new builder of `type`; `arg` is its argument or null.
Value make_builder(const Type* type, const Value* arg);

/// Takes the lanes of `mask` into a merger of simd.
void merge_lanes(Builder& b, const Value& value, const Value& mask, Slack& slack);
/// Takes one value in (not lanes of several). False if an index is out of bounds.
bool merge_into(Builder& b, const Value& value, Slack& slack);

Value result_of(const Builder& b);

}  // namespace weld::interp
