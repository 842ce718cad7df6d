// Values of the reference interpreter, and what can be asked of them by type.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weldir/ir/expr.h"
#include "weldir/ir/type.h"

namespace weld::interp {

struct Value;
struct Dict;
struct Builder;
using Values = std::vector<Value>;

/// A value of any type; which member holds follows from the type. Values are shared and never change, but for
/// builders, which the language lets nobody look at twice.
struct Value {
    std::uint64_t bits = 0;  ///< scalars, as in Literal

    /// How far a float may lie from what another order of additions gives; 0: not at all. Floats that come
    /// out of reductions carry it along (see Slack in scalars.h).
    double slack = 0;

    std::variant<std::monostate, std::shared_ptr<const Values>, std::shared_ptr<const Dict>,
                 std::shared_ptr<Builder>>
        parts;

    /// Elements of a vector, fields of a struct, lanes of a simd.
    const Values& items() const { return *std::get<1>(parts); }
    const Dict& dict() const { return *std::get<2>(parts); }
    Builder& builder() const { return *std::get<3>(parts); }
};

Value scalar_value(std::uint64_t bits);
Value list_value(Values items);
Value dict_value(Dict dict);
inline Value bool_value(bool b) { return scalar_value(b); }
inline Value i64_value(std::int64_t n) { return scalar_value(std::uint64_t(n)); }
inline std::int64_t as_i64(const Value& v) { return std::int64_t(v.bits); }

/// The order of `a` and `b` by `== < >` on every scalar: -1, 0, 1, or 2 if a NaN decides. Scalars, structs
/// and vectors.
int compare(const Type* type, const Value& a, const Value& b);

/// The order that keys and sort have, in which every two values compare: as `compare`, but NaN equals NaN and
/// comes last, and -0.0 equals 0.0. Dictionaries compare by their entries.
int order(const Type* type, const Value& a, const Value& b);

struct KeyLess {
    const Type* type;
    bool operator()(const Value& a, const Value& b) const { return order(type, a, b) < 0; }
};

/// A dictionary, in the order of its keys.
struct Dict {
    std::map<Value, Value, KeyLess> entries{KeyLess{nullptr}};
};

/// The value that all zero bytes are: 0, false, empty.
Value zero(const Type* type);

/// The one NaN that is printed and serialized; other bits as they are.
std::uint64_t canonical(Scalar s, std::uint64_t bits);

/// The key of a dictionary that `v` is: 0.0 for both zeros and one NaN, except inside of vectors.
Value as_key(const Type* type, const Value& v);

/// Lane `k` of a value in which every scalar is simd.
Value lane(const Type* type, const Value& v, std::size_t k);

/// How many values there are in `v`, itself among them, each as often as it is met; no more than about `most`
/// are counted. A vector of one long vector, time after time, is quickly made and of any size.
std::uint64_t count_values(const Type* type, const Value& v, std::uint64_t most);

/// Some float in `v` that a key, comparison or cast would see is not exact.
bool has_slack(const Type* type, const Value& v);

}  // namespace weld::interp
