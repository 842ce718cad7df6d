// Sparse matrices from comma-separated values: the cells of a row that are not zero are taken when it has been
// read. Those of each piece of the text are kept apart until it is known how many there are before them.
#include <algorithm>
#include <type_traits>

#include "runtime/kernels/files.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

template <class T>
class SparseRows final : public RowTaker {
  public:
    SparseRows(Task* task, const WeldCall* call, const TableFile& file, std::int64_t fields)
        : task_(task), call_(call), file_(file), fields_(fields) {}

    std::vector<TableColumn> begin(std::int64_t rows, std::int64_t pieces) override {
        forget();
        std::int64_t room;
        if (check_table(task_, call_, file_, rows, fields_)) return {};
        if (rows == INT64_MAX ||
            __builtin_mul_overflow(fields_, workers_for(task_, INT64_MAX, true), &room)) {
            task_->fail_memory(call_->loc, Shortage::Limit);
            return {};
        }
        rows_ = rows;
        offsets_ = allocate_array<std::int64_t>(task_, rows + 1, call_->loc);
        room_ = offsets_ ? allocate_array<T>(task_, room, call_->loc) : nullptr;
        if (!room_) return {};
        pieces_.resize(std::size_t(pieces));
        std::vector<TableColumn> all;
        for (std::int64_t j = 0; j < fields_; ++j)
            all.push_back(
                {call_->types[0], reinterpret_cast<char*>(room_ + j), fields_ * std::int64_t(sizeof(T)), j});
        return all;
    }

    std::int32_t take(Task* task, int worker, std::int64_t number, std::int64_t row) override {
        Piece& piece = pieces_[std::size_t(number)];
        const T* cells = room_ + worker * fields_;
        const std::int64_t before = piece.count;
        const std::int32_t status =
            in_strips(task, 0, fields_, call_->loc, [&](std::int64_t from, std::int64_t end) -> std::int32_t {
                const std::int64_t more = end - from - std::count(cells + from, cells + end, T(0));
                if (piece.count + more > piece.size && make_larger(task, piece, more)) return kFailed;
                for (std::int64_t j = from; j < end && more > 0; ++j)
                    if (cells[j] != T(0)) piece.cells[piece.count++] = {j, cells[j]};
                return kOk;
            });
        offsets_[row + 1] = piece.count - before;
        return status;
    }

    /// All rows have been read. Status.
    std::int32_t finish(Sparse* to) {
        std::vector<std::int64_t> first;  // of each piece, among all cells
        std::int64_t count = 0;
        for (const Piece& piece : pieces_) first.push_back(count), count += piece.count;
        release(task_, room_);
        auto* places = allocate_array<std::int64_t>(task_, count, call_->loc);
        T* values = places ? allocate_array<T>(task_, count, call_->loc) : nullptr;
        if (!values) return kFailed;
        offsets_[0] = 0;
        if (in_strips(task_, 0, rows_, call_->loc, [&](std::int64_t from, std::int64_t end) {
                for (std::int64_t i = from; i < end; ++i) offsets_[i + 1] += offsets_[i];
            }))
            return kFailed;
        if (run_parts(
                task_, std::int64_t(pieces_.size()), true, call_->loc, [&](Task* t, int, std::int64_t i) {
                    const Piece& piece = pieces_[std::size_t(i)];
                    const std::int64_t at = first[std::size_t(i)];
                    return in_strips(t, 0, piece.count, call_->loc, [&](std::int64_t from, std::int64_t end) {
                        for (std::int64_t k = from; k < end; ++k) {
                            places[at + k] = piece.cells[k].place;
                            values[at + k] = piece.cells[k].value;
                        }
                    });
                }))
            return kFailed;
        for (Piece& piece : pieces_) release(task_, piece.cells);
        *to = {{values, count}, rows_, fields_, {offsets_, rows_ + 1}, {places, count}};
        return kOk;
    }

  private:
    struct Cell {
        std::int64_t place;
        T value;
    };
    struct Piece {
        Cell* cells = nullptr;
        std::int64_t count = 0, size = 0;
    };

    /// What has been read has to be read again.
    void forget() {
        for (Piece& piece : pieces_) release(task_, piece.cells);
        pieces_.clear();
        release(task_, room_);
        release(task_, offsets_);
    }

    /// There will be room for `more` cells. Status.
    std::int32_t make_larger(Task* task, Piece& piece, std::int64_t more) {
        const std::int64_t size = std::max(piece.count + more, 2 * piece.size);
        Cell* cells = allocate_array<Cell>(task, size, call_->loc);
        if (!cells ||
            copy_bytes(task, cells, piece.cells, piece.count * std::int64_t(sizeof(Cell)), call_->loc))
            return kFailed;
        release(task, piece.cells);
        piece.cells = cells;
        piece.size = size;
        return kOk;
    }

    Task* task_;
    const WeldCall* call_;
    const TableFile& file_;
    const std::int64_t fields_;
    std::int64_t rows_ = 0;
    std::int64_t* offsets_ = nullptr;  ///< until all is read: how many cells each row has, one later
    T* room_ = nullptr;                ///< a row of each worker
    std::vector<Piece> pieces_;
};

}  // namespace

std::int32_t read_csv_sparse(Task* task, const WeldCall* call, const TableFile& file, CsvRequest& request,
                             CsvProblem* problem) {
    return with_cell(call->types[0], [&]<class T>() -> std::int32_t {
        if constexpr (std::is_arithmetic_v<T>) {
            SparseRows<T> rows(task, call, file, request.fields);
            request.taker = &rows;
            if (read_rows(task, request, problem)) return kFailed;
            return problem->what.empty() ? rows.finish(file.sparse) : kOk;
        } else {
            return fail_file(task, call, file, "it holds no numbers");
        }
    });
}

}  // namespace weld::runtime
