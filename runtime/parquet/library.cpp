// libweld_parquet.so: Parquet by Apache Arrow. Nothing else of the project knows Arrow's library.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include "runtime/parquet/parquet.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kBatch = std::int64_t(1) << 16;  // rows of one column: a ms or so

/// Arrow's memory, counted by the host.
class CountedPool final : public arrow::MemoryPool {
  public:
    explicit CountedPool(ParquetHost& host) : host_(host) {}
    ~CountedPool() override { host_.charge(-bytes_allocated()); }

    using arrow::MemoryPool::Allocate;
    using arrow::MemoryPool::Free;
    using arrow::MemoryPool::Reallocate;
    arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
        if (!host_.charge(size)) return arrow::Status::OutOfMemory("");
        const arrow::Status status = from_->Allocate(size, alignment, out);
        if (!status.ok()) host_.charge(-size);
        return status;
    }
    arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                             std::uint8_t** block) override {
        if (!host_.charge(new_size - old_size)) return arrow::Status::OutOfMemory("");
        const arrow::Status status = from_->Reallocate(old_size, new_size, alignment, block);
        if (!status.ok()) host_.charge(old_size - new_size);
        return status;
    }
    void Free(std::uint8_t* block, std::int64_t size, std::int64_t alignment) override {
        from_->Free(block, size, alignment);
        host_.charge(-size);
    }
    std::int64_t bytes_allocated() const override { return from_->bytes_allocated(); }
    std::int64_t total_bytes_allocated() const override { return from_->total_bytes_allocated(); }
    std::int64_t num_allocations() const override { return from_->num_allocations(); }
    std::string backend_name() const override { return from_->backend_name(); }

  private:
    ParquetHost& host_;
    std::unique_ptr<arrow::MemoryPool> from_ = arrow::MemoryPool::CreateDefault();
};

/// Says what is wrong; thrown, since Arrow's own readers throw as well.
struct Wrong {
    std::string what;
};

void check(const arrow::Status& status) {
    if (status.IsOutOfMemory()) throw std::bad_alloc();
    if (!status.ok()) throw Wrong{status.message()};
}
template <class T>
T taken(arrow::Result<T> result) {
    check(result.status());
    return std::move(result).ValueUnsafe();
}

// ---- types

struct Kind {
    WeldKind cell;
    arrow::Type::type type;
    std::shared_ptr<arrow::DataType> (*make)();
};
template <const std::shared_ptr<arrow::DataType>& (*F)()>
std::shared_ptr<arrow::DataType> made() {
    return F();
}
constexpr Kind kinds[] = {
    {kWeldBool, arrow::Type::BOOL, made<arrow::boolean>},
    {kWeldI8, arrow::Type::INT8, made<arrow::int8>},
    {kWeldI16, arrow::Type::INT16, made<arrow::int16>},
    {kWeldI32, arrow::Type::INT32, made<arrow::int32>},
    {kWeldI64, arrow::Type::INT64, made<arrow::int64>},
    {kWeldU8, arrow::Type::UINT8, made<arrow::uint8>},
    {kWeldU16, arrow::Type::UINT16, made<arrow::uint16>},
    {kWeldU32, arrow::Type::UINT32, made<arrow::uint32>},
    {kWeldU64, arrow::Type::UINT64, made<arrow::uint64>},
    {kWeldF32, arrow::Type::FLOAT, made<arrow::float32>},
    {kWeldF64, arrow::Type::DOUBLE, made<arrow::float64>},
    {kWeldVec, arrow::Type::STRING, made<arrow::utf8>},
};

WeldKind cell_of(const arrow::Field& field) {
    const arrow::Type::type type = field.type()->id();
    if (type == arrow::Type::BINARY) return kWeldVec;  // laid out like strings
    for (const Kind& k : kinds)
        if (k.type == type) return k.cell;
    throw Wrong{"column `" + field.name() + "` holds " + field.type()->ToString() +
                ": only numbers, truth values and strings can be read"};
}

const Kind& kind_of(WeldKind cell) {
    return *std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return k.cell == cell; });
}

// ---- reading

ParquetCells cells_of(WeldKind cell, const arrow::ArrayData& array) {
    const auto buffer = [&](std::size_t i) -> const std::uint8_t* {
        return i < array.buffers.size() && array.buffers[i] ? array.buffers[i]->data() : nullptr;
    };
    const bool is_text = cell == kWeldVec;
    return {cell,
            buffer(is_text ? 2 : 1),
            is_text ? reinterpret_cast<const std::int32_t*>(buffer(1)) : nullptr,
            array.GetNullCount() ? buffer(0) : nullptr,
            array.offset,
            array.length};
}

/// The host's file.
class HostFile final : public arrow::io::RandomAccessFile {
  public:
    HostFile(ParquetInput& input, arrow::MemoryPool& pool) : input_(input), pool_(pool) {}

    using arrow::io::RandomAccessFile::ReadAt;
    arrow::Result<std::int64_t> ReadAt(std::int64_t at, std::int64_t size, void* to) override {
        if (at < 0 || size < 0 || at > input_.size()) return arrow::Status::IOError("a place outside of it");
        size = std::min(size, input_.size() - at);
        const std::string wrong = input_.read(static_cast<char*>(to), at, size);
        if (!wrong.empty()) return arrow::Status::IOError(wrong);
        return size;
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t at, std::int64_t size) override {
        size = std::clamp<std::int64_t>(input_.size() - at, 0, size);
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer,
                              arrow::AllocateResizableBuffer(size, &pool_));
        ARROW_ASSIGN_OR_RAISE(size, ReadAt(at, size, buffer->mutable_data()));
        return buffer;
    }
    arrow::Result<std::int64_t> Read(std::int64_t size, void* to) override {
        ARROW_ASSIGN_OR_RAISE(size, ReadAt(at_, size, to));
        at_ += size;
        return size;
    }
    arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t size) override {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(at_, size));
        at_ += buffer->size();
        return buffer;
    }
    arrow::Status Seek(std::int64_t at) override {
        at_ = at;
        return arrow::Status::OK();
    }
    arrow::Result<std::int64_t> Tell() const override { return at_; }
    arrow::Result<std::int64_t> GetSize() override { return input_.size(); }
    arrow::Status Close() override {
        closed_ = true;
        return arrow::Status::OK();
    }
    bool closed() const override { return closed_; }

  private:
    ParquetInput& input_;
    arrow::MemoryPool& pool_;
    std::int64_t at_ = 0;
    bool closed_ = false;
};

/// All cells of a column; false if the sink wants no more.
bool read_column(parquet::arrow::FileReader& file, std::int64_t column, WeldKind cell, std::int64_t rows,
                 ParquetSink& sink) {
    std::unique_ptr<parquet::arrow::ColumnReader> reader;
    check(file.GetColumn(int(column), &reader));
    for (std::int64_t row = 0; row < rows;) {
        if (sink.should_stop()) return false;
        std::shared_ptr<arrow::ChunkedArray> batch;
        check(reader->NextBatch(std::min(kBatch, rows - row), &batch));
        if (!batch || batch->length() == 0) throw Wrong{"a column ends too early"};
        for (const std::shared_ptr<arrow::Array>& piece : batch->chunks()) {
            if (row + piece->length() > rows) throw Wrong{"a column has too many rows"};
            check(piece->Validate());
            if (!sink.put(column, row, cells_of(cell, *piece->data()))) return false;
            row += piece->length();
        }
    }
    return true;
}

bool misses_some(const parquet::FileMetaData& file, int column) {
    for (int group = 0; group < file.num_row_groups(); ++group) {
        const auto statistics = file.RowGroup(group)->ColumnChunk(column)->statistics();
        if (statistics && statistics->HasNullCount() && statistics->null_count() > 0) return true;
    }
    return false;
}

void read_all(ParquetInput& input, ParquetSink& sink, arrow::MemoryPool& pool) {
    parquet::arrow::FileReaderBuilder builder;
    parquet::ReaderProperties buffered(&pool);  // pieces of a column, not all of it
    buffered.enable_buffered_stream();
    check(builder.Open(std::make_shared<HostFile>(input, pool), buffered));
    std::unique_ptr<parquet::arrow::FileReader> file;
    check(builder.memory_pool(&pool)->Build(&file));
    std::shared_ptr<arrow::Schema> schema;
    check(file->GetSchema(&schema));
    const std::shared_ptr<parquet::FileMetaData> metadata = file->parquet_reader()->metadata();
    const std::int64_t rows = metadata->num_rows();
    if (rows < 0) throw Wrong{"it has a negative number of rows"};
    std::vector<ParquetColumn> columns;
    for (const std::shared_ptr<arrow::Field>& field : schema->fields())  // each is flat: a column of its own
        columns.push_back({field->name(), cell_of(*field), misses_some(*metadata, int(columns.size()))});
    if (!sink.begin(rows, columns)) return;
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (!read_column(*file, std::int64_t(i), columns[i].cell, rows, sink)) return;
}

// ---- writing

/// Hands bytes to the host.
class HostStream final : public arrow::io::OutputStream {
  public:
    explicit HostStream(ParquetSource& source) : source_(source) {}
    using arrow::io::OutputStream::Write;
    arrow::Status Write(const void* data, std::int64_t size) override {
        at_ += size;
        return source_.write({static_cast<const char*>(data), std::size_t(size)})
                   ? arrow::Status::OK()
                   : arrow::Status::IOError("it cannot be written");
    }
    arrow::Result<std::int64_t> Tell() const override { return at_; }
    arrow::Status Close() override {
        closed_ = true;
        return arrow::Status::OK();
    }
    bool closed() const override { return closed_; }

  private:
    ParquetSource& source_;
    std::int64_t at_ = 0;
    bool closed_ = false;
};

std::shared_ptr<arrow::Buffer> room(std::int64_t bytes, arrow::MemoryPool& pool) {
    return taken(arrow::AllocateBuffer(bytes, &pool));
}

std::shared_ptr<arrow::Array> texts(const WeldVec* cells, std::int64_t count, arrow::MemoryPool& pool) {
    arrow::StringBuilder builder(&pool);
    check(builder.Reserve(count));
    for (std::int64_t i = 0; i < count; ++i)
        check(builder.Append(static_cast<const char*>(cells[i].data), cells[i].len));
    return taken(builder.Finish());
}

std::shared_ptr<arrow::Array> truths(const std::uint8_t* cells, std::int64_t count, arrow::MemoryPool& pool) {
    arrow::BooleanBuilder builder(&pool);
    check(builder.AppendValues(cells, count));
    return taken(builder.Finish());
}

std::shared_ptr<arrow::Array> batch_of(ParquetSource& source, WeldKind cell, std::int64_t column,
                                       std::int64_t row, std::int64_t count, arrow::MemoryPool& pool) {
    const Kind& kind = kind_of(cell);
    const std::int64_t size = cell == kWeldVec    ? sizeof(WeldVec)
                              : cell == kWeldBool ? 1
                                                  : kind.make()->byte_width();
    const std::shared_ptr<arrow::Buffer> cells = room(count * size, pool);
    source.get(column, row, count, cells->mutable_data());
    if (cell == kWeldVec) return texts(reinterpret_cast<const WeldVec*>(cells->data()), count, pool);
    if (cell == kWeldBool) return truths(cells->data(), count, pool);
    return arrow::MakeArray(arrow::ArrayData::Make(kind.make(), count, {nullptr, cells}, 0));
}

/// Row groups of a batch for each column: their sizes follow from the table alone.
void write_all(std::int64_t rows, std::span<const ParquetColumn> columns, ParquetSource& source,
               arrow::MemoryPool& pool) {
    constexpr std::int64_t group = 16 * kBatch;
    arrow::FieldVector fields;
    for (const ParquetColumn& c : columns)
        fields.push_back(arrow::field(c.label, kind_of(c.cell).make(), false));
    const auto writer = taken(parquet::arrow::FileWriter::Open(*arrow::schema(fields), &pool,
                                                               std::make_shared<HostStream>(source)));
    for (std::int64_t first = 0; first < rows; first += group) {
        check(writer->NewRowGroup());
        const std::int64_t end = std::min(rows, first + group);
        for (std::size_t j = 0; j < columns.size(); ++j) {
            arrow::ArrayVector pieces;
            for (std::int64_t row = first; row < end; row += kBatch) {
                if (source.should_stop()) throw Wrong{"stopped"};
                pieces.push_back(batch_of(source, columns[j].cell, std::int64_t(j), row,
                                          std::min(kBatch, end - row), pool));
            }
            check(writer->WriteColumnChunk(std::make_shared<arrow::ChunkedArray>(pieces)));
        }
    }
    check(writer->Close());
}

/// What `work` throws, in words.
template <class F>
std::string guarded(ParquetHost& host, const F& work) {
    try {
        CountedPool pool(host);
        work(pool);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const Wrong& wrong) {
        return wrong.what.empty() ? "it is wrong" : wrong.what;
    } catch (const parquet::ParquetStatusException& e) {
        if (e.status().IsOutOfMemory()) throw std::bad_alloc();
        return e.what();
    } catch (const std::exception& e) {
        return e.what();
    }
    return {};
}

std::string read(ParquetInput& file, ParquetSink& sink) {
    return guarded(sink, [&](arrow::MemoryPool& pool) { read_all(file, sink, pool); });
}

std::string write(std::int64_t rows, std::span<const ParquetColumn> columns, ParquetSource& source) {
    return guarded(source, [&](arrow::MemoryPool& pool) { write_all(rows, columns, source, pool); });
}

}  // namespace

}  // namespace weld::runtime

extern "C" __attribute__((visibility("default")))
const weld::runtime::ParquetLibrary weld_parquet = {weld::runtime::read, weld::runtime::write};
