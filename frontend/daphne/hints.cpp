// What DAPHNE calls the kernels of built-in functions and operators, and whether a name is such.
#include "frontend/daphne/hints.h"

#include <algorithm>
#include <string>

#include "frontend/daphne/check.h"

namespace weld::daphne {

namespace {

struct Operation {
    std::string_view builtin, name;
};

/// Built-in functions whose operations are not called as they are. `*` is `All`, `Row`, `Col` or `Grp`.
constexpr Operation kOperations[] = {
    {"sum", "sum*"},
    {"aggMin", "min*"},
    {"aggMax", "max*"},
    {"mean", "mean*"},
    {"var", "var*"},
    {"stddev", "stddev*"},
    {"count", "count*"},
    {"idxMin", "idxMin*"},
    {"idxMax", "idxMax*"},
    {"cumSum", "cumAggSum"},
    {"cumProd", "cumAggProd"},
    {"cumMin", "cumAggMin"},
    {"cumMax", "cumAggMax"},
    {"rand", "randMatrix"},
    {"nrow", "numRows"},
    {"ncol", "numCols"},
    {"ncell", "numCells"},
    {"t", "transpose"},
    {"cbind", "colBind"},
    {"rbind", "rowBind"},
    {"lowerTri", "tri"},
    {"upperTri", "tri"},
    {"groupSum", "group"},
    {"readMatrix", "read"},
    {"readFrame", "read"},
    {"writeMatrix", "write"},
    {"writeFrame", "write"},
    {"softmax", "softmaxForward"},
    {"relu", "reluForward"},
    {"biasAdd", "biasAddForward"},
    {"affine", "affineForward"},
    {"conv2d", "conv2DForward"},
    {"max_pool2d", "maxPoolForward"},
    {"avg_pool2d", "avgPoolForward"},
    {"batch_norm2d", "batchNorm2DTestForward"},
    {"max_pool2d_backward", "maxPoolBackward"},
    {"avg_pool2d_backward", "avgPoolBackward"},
    {"conv2d_backward_filter", "conv2DBackwardFilter"},
    {"conv2d_backward_data", "conv2DBackwardData"},
    {"batch_norm2d_backward", "batchNorm2DBackward"},
};

/// Functions of cells: `ewAbs`, `ewConcat`.
constexpr std::string_view kOfCells[] = {"minus", "abs",  "sign", "round", "floor", "ceil",  "isNan",
                                         "exp",   "ln",   "sqrt", "sin",   "cos",   "tan",   "asin",
                                         "acos",  "atan", "sinh", "cosh",  "tanh",  "lower", "upper",
                                         "pow",   "mod",  "log",  "min",   "max",   "concat"};

constexpr std::string_view kContainers[] = {"DenseMatrix_", "CSRMatrix_", "Matrix_", "Column_", "List_"};
constexpr std::string_view kSingle[] = {"double",   "float",      "int64_t", "int32_t",  "int8_t",
                                        "uint64_t", "uint32_t",   "uint8_t", "size_t",   "bool",
                                        "char",     "std_string", "Frame",   "Structure"};

/// A type as it stands in such a name: `DenseMatrix_double`, `int64_t`, `Frame`.
bool is_type(std::string_view word) {
    constexpr std::string_view kMany = "_variadic";
    if (word.ends_with(kMany)) word.remove_suffix(kMany.size());
    for (bool stripped = true; stripped;) {
        stripped = false;
        for (std::string_view container : kContainers)
            if (word.starts_with(container)) word.remove_prefix(container.size()), stripped = true;
    }
    return std::ranges::find(kSingle, word) != std::end(kSingle);
}

std::string_view direction(const Call& call) {
    const auto& args = call.node->args;
    if (args.size() == 1) return "All";
    if (args.size() == 3) return "Grp";
    return args[1]->constant->integer == 0 ? "Row" : "Col";
}

}  // namespace

bool names_kernel(std::string_view kernel, std::string_view operation) {
    if (!kernel.starts_with('_')) return false;
    kernel.remove_prefix(1);
    if (!kernel.starts_with(operation)) return false;
    kernel.remove_prefix(operation.size());
    if (kernel.empty()) return true;  // neither takes nor gives anything
    while (kernel.starts_with("__")) {
        kernel.remove_prefix(2);
        const std::string_view type = kernel.substr(0, kernel.find("__"));
        if (!is_type(type)) return false;
        kernel.remove_prefix(type.size());
    }
    return kernel.empty();
}

std::string_view operation_of(Operator op) {
    switch (op) {
        case Operator::Add: return "ewAdd";
        case Operator::Sub: return "ewSub";
        case Operator::Mul: return "ewMul";
        default: return "ewDiv";
    }
}

std::string operation_of(const Call& call) {
    const std::string_view name = call.builtin.name;
    if (std::ranges::find(kOfCells, name) != std::end(kOfCells)) {
        std::string operation = "ew" + std::string(name);
        operation[2] = char(operation[2] - 'a' + 'A');
        return operation;
    }
    const auto at = std::ranges::find(kOperations, name, &Operation::builtin);
    std::string operation(at == std::end(kOperations) ? name : at->name);
    if (operation.ends_with('*')) {
        operation.pop_back();
        operation += direction(call);
    }
    return operation;
}

/// The hint of `n` names a kernel of `operation`, DAPHNE's or one of a catalog; else reports it. `what` is
/// how scripts call the operation.
bool Checker::check_hint(const Node* n, std::string_view operation, std::string_view what) {
    if (names_kernel(n->hint, operation)) return true;
    const KernelCatalog::Kernel* other = nullptr;
    if (inputs_.kernel_catalog)
        for (const KernelCatalog::Kernel& kernel : inputs_.kernel_catalog->kernels) {
            if (kernel.name != n->hint) continue;
            if (kernel.operation != operation) {
                other = &kernel;
                continue;
            }
            diagnostics_.warning(n->hint_loc, "kernels of catalogs do not run yet: `{}` is done without `{}`",
                                 what, n->hint);
            return true;
        }
    if (other)
        error(n->hint_loc, "`{}` is a kernel of `{}`, and none of `{}`", n->hint, other->operation,
              operation);
    else error(n->hint_loc, "there is no kernel `{}` for `{}`", n->hint, what);
    return false;
}

}  // namespace weld::daphne
