// Types and shapes of what the functions for neural networks give.
#include <algorithm>

#include "frontend/daphne/rules.h"

namespace weld::daphne {

/// The first `count` arguments are matrices, converted to one float type.
static bool want_floats(Call& c, std::size_t count) {
    ValueType value = ValueType::F32;
    for (std::size_t i = 0; i < count; ++i) {
        if (!c.want_numbers(i)) return false;
        value = std::max(value, c[i]->type.value == ValueType::F32 ? ValueType::F32 : ValueType::F64);
    }
    for (std::size_t i = 0; i < count; ++i) c.args[i] = c.checker.to_value_type(c[i], value, c.locs[i]);
    return true;
}

static bool want_integers(Call& c, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
        if (!c.want_integer(i)) return false;
    return true;
}

bool rule_network_cells(Call& c) {
    if (!want_floats(c, 1)) return false;
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}

bool rule_bias_add(Call& c) {
    if (!want_floats(c, 2)) return false;
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}

bool rule_affine(Call& c) {
    if (!want_floats(c, 3)) return false;
    Value* product = c.checker.operate(Operator::MatMul, c[0], c[1], c.loc);
    Value* out = product ? c.checker.operate(Operator::Add, product, c[2], c.loc) : nullptr;
    c.results = {out};
    return out != nullptr;
}

/// Data, height and width of images.
static void give_images(Call& c) {
    c.give(c[0]->type, c[0]->rows, c.checker.graph().fresh_dim());
    for (int i = 0; i < 2; ++i) c.give(Type::scalar(ValueType::Size));
}

bool rule_pool(Call& c) {
    if (!want_floats(c, 1) || !want_integers(c, 1, 11)) return false;
    give_images(c);
    return true;
}

bool rule_convolution(Call& c) {
    if (!want_floats(c, 2) || !want_integers(c, 2, 12)) return false;
    if (!c.has(12)) c.args.resize(12);
    else if (!c.want_numbers(12)) return false;
    else c.args[12] = c.checker.to_value_type(c[12], c[0]->type.value, c.locs[12]);
    give_images(c);
    return true;
}

/// Of the inputs: the gradient has their shape.
bool rule_pool_backward(Call& c) {
    if (!want_floats(c, 2) || !want_integers(c, 2, 12)) return false;
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}

bool rule_convolution_backward(Call& c) {
    if (!want_floats(c, 2) || !want_integers(c, 2, 14)) return false;
    const bool of_filter = c.builtin.code == "filter";
    const std::size_t rows = of_filter ? 10 : 6;  // how many filters, or images
    c.give(c[0]->type, c.checker.dim_of(c[rows]), c.checker.graph().fresh_dim());
    return true;
}

/// Gradients of the input, of gamma, of beta.
bool rule_batch_norm_backward(Call& c) {
    if (!want_floats(c, 5) || !c.want_scalar(5)) return false;
    c.args[5] = c.checker.to_scalar(c[5], c[0]->type.value, c.locs[5]);
    c.give(c[2]->type, c[2]->rows, c[2]->columns);
    for (int i = 0; i < 2; ++i) c.give(c[4]->type, c[4]->rows, c[4]->columns);
    return true;
}

bool rule_batch_norm(Call& c) {
    if (!want_floats(c, 5) || !c.want_scalar(5)) return false;
    c.args[5] = c.checker.to_scalar(c[5], c[0]->type.value, c.locs[5]);
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}

}  // namespace weld::daphne
