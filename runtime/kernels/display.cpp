// Printing as DaphneDSL does: numbers as `std::ostream <<` writes them, matrices, frames and lists with a
// line that says their type and shape.
#include <string_view>

#include "runtime/io/plain_text.h"
#include "runtime/kernels/cells.h"
#include "runtime/kernels/printing.h"

namespace weld::runtime {

namespace {

std::string_view type_name(const WeldType* type) {
    switch (type->kind) {
        case kWeldBool: return "bool";
        case kWeldI8: return "int8_t";
        case kWeldI16: return "int16_t";
        case kWeldI32: return "int32_t";
        case kWeldI64: return "int64_t";
        case kWeldU8: return "uint8_t";
        case kWeldU16: return "uint16_t";
        case kWeldU32: return "uint32_t";
        case kWeldU64: return "uint64_t";
        case kWeldF32: return "float";
        case kWeldF64: return "double";
        default: return "std::string";
    }
}

template <class T>
void put(const T& cell, Writer& out) {
    if constexpr (std::is_same_v<T, WeldVec>) {
        out.put(text_of(cell));
    } else if constexpr (std::is_same_v<T, Bool>) {
        out.put(cell ? '1' : '0');
    } else {
        NumberText text;
        out.put(streamed(cell, text));
    }
}

void put_shape(std::string_view what, std::int64_t rows, std::int64_t columns, Writer& out) {
    out.put(fmt::format("{}({}x{}, ", what, rows, columns));
}

void put_header(std::string_view what, std::int64_t rows, std::int64_t columns, const WeldType* cell,
                Writer& out) {
    put_shape(what, rows, columns, out);
    out.put(type_name(cell));
    out.put(")\n");
}

/// Rows of which at(i, j) puts the cells.
template <class Put>
void put_rows(std::int64_t rows, std::int64_t columns, Writer& out, const Put& at) {
    for (std::int64_t i = 0; i < rows && !out.failed(); ++i) {
        for (std::int64_t j = 0; j < columns && !out.failed(); ++j) {
            if (j) out.put(' ');
            at(i, j);
        }
        out.put('\n');
    }
}

void put_matrix(const Matrix& m, const WeldType* cell, Writer& out) {
    put_header("DenseMatrix", m.rows, m.columns, cell, out);
    with_cell(cell, [&]<class T>() {
        const auto* next = static_cast<const T*>(m.cells.data);
        put_rows(m.rows, m.columns, out, [&](std::int64_t, std::int64_t) { put(*next++, out); });
    });
}

void put_sparse(const Sparse& m, const WeldType* cell, Writer& out) {
    put_header("CSRMatrix", m.rows, m.columns, cell, out);
    with_cell(cell, [&]<class T>() {
        const auto* cells = static_cast<const T*>(m.cells.data);
        std::int64_t next = 0;
        put_rows(m.rows, m.columns, out, [&](std::int64_t i, std::int64_t j) {
            if (next < m.offset(i + 1) && m.place(next) == j) put(cells[next++], out);
            else out.put('0');
        });
    });
}

void put_frame(const DataFrame& frame, const WeldVec& labels, Writer& out) {
    put_shape("Frame", frame.rows(), frame.num_columns(), out);
    out.put('[');
    for (std::int64_t i = 0; i < frame.num_columns(); ++i) {
        if (i) out.put(", ");
        out.put(label(labels, i));
        out.put(':');
        out.put(type_name(frame.cell(i)));
    }
    out.put("])\n");
    put_rows(frame.rows(), frame.num_columns(), out, [&](std::int64_t i, std::int64_t j) {
        with_cell(frame.cell(j),
                  [&]<class T>() { put(static_cast<const T*>(frame.column(j).data)[i], out); });
    });
}

/// Prints what `fill` puts, to standard error if the last argument of the call is true. Status.
template <class Fill>
std::int32_t print(Task* task, const WeldCall* call, const Fill& fill) {
    TaskOutput output(task, argument<Bool>(call, call->num_args - 1));
    Writer out(&output);
    fill(out);
    return finish_print(task, call, out);
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_display) {
    return print(task, call, [&](weld::Writer& out) {
        with_cell(call->types[0], [&]<class T>() { put(argument<T>(call, 0), out); });
        if (argument<Bool>(call, 1)) out.put('\n');
    });
}

WELD_KERNEL_BODY(weld_kernel_display_matrix) {
    const auto& m = argument<Matrix>(call, 0);
    if (check_matrix(task, call, m)) return kFailed;
    return print(task, call, [&](weld::Writer& out) { put_matrix(m, call->types[0], out); });
}

WELD_KERNEL_BODY(weld_kernel_display_csr) {
    const auto& m = argument<Sparse>(call, 0);
    if (check_sparse(task, call, m)) return kFailed;
    return print(task, call, [&](weld::Writer& out) { put_sparse(m, call->types[0], out); });
}

WELD_KERNEL_BODY(weld_kernel_display_frame) {
    const DataFrame frame{call->types[0], &argument<char>(call, 0)};
    const auto& labels = argument<WeldVec>(call, 1);
    if (check_frame(task, call, frame, labels)) return kFailed;
    return print(task, call, [&](weld::Writer& out) { put_frame(frame, labels, out); });
}

WELD_KERNEL_BODY(weld_kernel_display_list) {
    const auto& list = argument<WeldVec>(call, 0);
    const auto* matrices = static_cast<const Matrix*>(list.data);
    for (std::int64_t i = 0; i < list.len; ++i)
        if (check_matrix(task, call, matrices[i])) return kFailed;
    return print(task, call, [&](weld::Writer& out) {
        out.put(fmt::format("List({}, DenseMatrix, {})\n", list.len, type_name(call->types[0])));
        for (std::int64_t i = 0; i < list.len && !out.failed(); ++i)
            put_matrix(matrices[i], call->types[0], out);
    });
}
