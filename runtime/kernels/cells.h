// Matrices, frames and their cells, as kernels of many cell types see them.
//
// A matrix is `{vec[C], i64, i64}`: cells by rows, the number of rows, that of columns. A sparse one is
// `{vec[S], i64, i64, vec[i64], vec[i64]}`: the cells that are stored, the others are 0; the number of rows,
// that of columns; where the cells of each row begin, and those of the last end; the columns of the cells. A
// frame
// is `{{vec[C1], vec[C2], ...}, i64}`: its columns and the number of rows. A cell is a scalar or a string, a
// vec[i8].
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/abi/weld_abi.h"
#include "runtime/cell_types.h"
#include "runtime/kernels/kernel.h"
#include "runtime/parallel.h"

namespace weld::runtime {

struct Matrix {
    WeldVec cells;
    std::int64_t rows, columns;
};

/// Has as many cells as its rows and columns say; else the call fails. Status.
inline std::int32_t check_matrix(Task* task, const WeldCall* call, const Matrix& m) {
    std::int64_t size;
    const bool right = m.rows >= 0 && m.columns >= 0 && !__builtin_mul_overflow(m.rows, m.columns, &size) &&
                       size == m.cells.len;
    return right ? kOk
                 : fail_call(task, call, "a matrix of {} rows and {} columns cannot have {} elements", m.rows,
                             m.columns, m.cells.len);
}

struct Sparse {
    WeldVec cells;
    std::int64_t rows, columns;
    WeldVec offsets, places;

    std::int64_t offset(std::int64_t row) const {
        return static_cast<const std::int64_t*>(offsets.data)[row];
    }
    std::int64_t place(std::int64_t k) const { return static_cast<const std::int64_t*>(places.data)[k]; }
};

/// The columns of each row ascend, and lie in the matrix; else the call fails. Status.
inline std::int32_t check_sparse(Task* task, const WeldCall* call, const Sparse& m) {
    bool right = m.rows >= 0 && m.columns >= 0 && m.offsets.len - 1 == m.rows &&
                 m.places.len == m.cells.len && m.offset(0) == 0 && m.offset(m.rows) == m.cells.len;
    for (std::int64_t i = 0; i < m.rows && right; ++i) {
        right = m.offset(i) <= m.offset(i + 1) && m.offset(i + 1) <= m.cells.len;
        if (task->check_stop(call->loc)) return kFailed;
        const auto check_cells = [&](std::int64_t from, std::int64_t to) {
            for (std::int64_t k = from; right && k < to; ++k)
                right = m.place(k) >= (k > m.offset(i) ? m.place(k - 1) + 1 : 0) && m.place(k) < m.columns;
        };
        if (right && in_strips(task, m.offset(i), m.offset(i + 1), call->loc, check_cells)) return kFailed;
    }
    return right ? kOk : fail_call(task, call, "offsets or columns of a sparse matrix are wrong");
}

/// A frame whose columns have the type `columns`.
struct DataFrame {
    const WeldType* columns;
    const char* data;

    std::int64_t num_columns() const { return columns->num_args; }
    const WeldType* cell(std::int64_t i) const { return columns->args[i]->args[0]; }
    const WeldVec& column(std::int64_t i) const {
        return *reinterpret_cast<const WeldVec*>(data + columns->offsets[i]);
    }
    std::int64_t rows() const { return *reinterpret_cast<const std::int64_t*>(data + columns->size); }
};

/// Each column has as many cells as the frame has rows; there is a label for each. Status.
inline std::int32_t check_frame(Task* task, const WeldCall* call, const DataFrame& frame,
                                const WeldVec& labels) {
    for (std::int64_t i = 0; i < frame.num_columns(); ++i)
        if (frame.column(i).len != frame.rows())
            return fail_call(task, call, "column {} of a frame of {} rows has {} cells", i, frame.rows(),
                             frame.column(i).len);
    if (labels.len != frame.num_columns())
        return fail_call(task, call, "{} columns have {} labels", frame.num_columns(), labels.len);
    return kOk;
}

inline std::string_view label(const WeldVec& labels, std::int64_t i) {
    return text_of(static_cast<const WeldVec*>(labels.data)[i]);
}

}  // namespace weld::runtime
