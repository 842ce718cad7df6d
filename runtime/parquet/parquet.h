// Parquet files: the border between the runtime and libweld_parquet.so, which has Apache Arrow's library in
// it and is loaded when the first such file is read or written. Both come from one build, so C++ crosses it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/abi/weld_abi.h"

namespace weld::runtime {

struct ParquetColumn {
    std::string label;
    WeldKind cell;             ///< a scalar, or kWeldVec: a string
    bool misses_some = false;  ///< as far as the file says: not all cells have values
};

/// Cells of one column, one after the other, as the library has them.
struct ParquetCells {
    WeldKind cell;
    const void* values;           ///< numbers of that kind; a bool is a bit
    const std::int32_t* offsets;  ///< strings: `values` are bytes, string i is [offsets[i], offsets[i + 1])
    const std::uint8_t* present;  ///< a bit for each; null: all are there
    std::int64_t offset;          ///< the first cell, in all of these
    std::int64_t count;

    bool has(std::int64_t i) const { return !present || bit(present, i); }
    bool truth(std::int64_t i) const { return bit(static_cast<const std::uint8_t*>(values), i); }
    template <class T>
    T number(std::int64_t i) const {
        return static_cast<const T*>(values)[offset + i];
    }
    std::string_view text(std::int64_t i) const {
        const std::int32_t begin = offsets[offset + i], end = offsets[offset + i + 1];
        return {static_cast<const char*>(values) + begin, std::size_t(end - begin)};
    }

  private:
    bool bit(const std::uint8_t* bits, std::int64_t i) const {
        const std::int64_t at = offset + i;
        return bits[at / 8] >> (at % 8) & 1;
    }
};

/// What the library asks of who calls it.
class ParquetHost {
  public:
    /// Counts memory, or gives it back: false if there may be no more.
    virtual bool charge(std::int64_t bytes) noexcept = 0;
    /// The work is to be left, with any message.
    virtual bool should_stop() noexcept = 0;

  protected:
    ~ParquetHost() = default;
};

/// The bytes of a file.
class ParquetInput {
  public:
    virtual std::int64_t size() = 0;
    /// Copies bytes that there are to `to`. Nothing, or what is wrong.
    virtual std::string read(char* to, std::int64_t at, std::int64_t size) = 0;

  protected:
    ~ParquetInput() = default;
};

/// Takes what a file holds; each says false if it wants no more.
class ParquetSink : public ParquetHost {
  public:
    virtual bool begin(std::int64_t rows, std::span<const ParquetColumn> columns) = 0;
    virtual bool put(std::int64_t column, std::int64_t row, const ParquetCells& cells) = 0;

  protected:
    ~ParquetSink() = default;
};

/// Gives what a file shall hold, and takes its bytes.
class ParquetSource : public ParquetHost {
  public:
    /// Copies cells to `to`, one after the other: scalars, or WeldVecs of strings.
    virtual void get(std::int64_t column, std::int64_t row, std::int64_t count, void* to) = 0;
    virtual bool write(std::string_view bytes) = 0;

  protected:
    ~ParquetSource() = default;
};

/// What libweld_parquet.so has under the name `weld_parquet`. Nothing, or what is wrong with the file; empty,
/// too, if the sink wants no more.
struct ParquetLibrary {
    std::string (*read)(ParquetInput& file, ParquetSink& sink);
    std::string (*write)(std::int64_t rows, std::span<const ParquetColumn> columns, ParquetSource& source);
};

}  // namespace weld::runtime
