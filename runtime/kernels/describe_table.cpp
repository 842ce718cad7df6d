// The first MiB of a file, more if no two rows end in it.
#include "runtime/kernels/describe_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "runtime/csv/sniff.h"
#include "runtime/io/json_text.h"
#include "runtime/io/open_file.h"
#include "runtime/kernels/files.h"
#include "runtime/kernels/parquet_table.h"
#include "weldir/support/visible.h"

namespace weld::runtime {

namespace {

/// The member `schema` of a description.
std::string schema_text(const std::vector<LabelledType>& columns) {
    std::string text = "\"schema\":[";
    for (const auto& [label, type] : columns) {
        text += text.ends_with('[') ? "{\"label\":" : ",{\"label\":";
        append_json(text, label);
        text += fmt::format(",\"valueType\":\"{}\"}}", type);
    }
    return text + "]";
}

constexpr std::int64_t kFirst = std::int64_t(1) << 20, kMost = std::int64_t(1) << 30;

/// The first `size` bytes, or as many as there are; nothing with `*error` if they cannot be read.
using Head = std::function<std::string_view(std::int64_t size, std::string* error)>;

bool describe_csv(const Head& head, std::int64_t size, TableDescription* to, std::string* error) {
    CsvSketch sketch;
    for (std::int64_t seen = kFirst;; seen *= 4) {
        const std::string_view text = head(std::min(seen, size), error);
        if (!error->empty()) return false;
        if (sniff_csv(text, seen >= size, &sketch)) break;
        if (seen >= kMost) return *error = "it has no end of a line within 1 GiB", false;
    }
    if (sketch.columns.empty()) return *error = "it is empty", false;
    std::vector<LabelledType> columns;
    for (const CsvSketch::Column& c : sketch.columns) columns.push_back({c.label, value_type(c.cell)});
    to->text = "{\"delimiter\":";
    append_json(to->text, {&sketch.delimiter, 1});
    to->text +=
        fmt::format(",\"header\":{},\"matrixValueType\":\"{}\",\"numCols\":{},\"numRows\":null,{}}}",
                    sketch.has_header, value_type(sketch.cell()), columns.size(), schema_text(columns));
    to->delimiter = sketch.delimiter;
    to->has_header = sketch.has_header;
    return true;
}

/// What `.meta` files say of CSV files beside what the format of old has: values of the outermost object. A
/// handler of events: trees of nlohmann::json cannot be destroyed without memory.
class Form final : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit Form(TableDescription* to) : to_(to) {}
    bool null() override { return true; }
    bool boolean(bool yes) override {
        if (depth_ == 1 && key_ == "header") to_->has_header = yes;
        return true;
    }
    bool number_integer(std::int64_t) override { return true; }
    bool number_unsigned(std::uint64_t) override { return true; }
    bool number_float(double, const std::string&) override { return true; }
    bool string(std::string& text) override {
        if (depth_ == 1 && key_ == "delimiter" && text.size() == 1) to_->delimiter = text[0];
        return true;
    }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return ++depth_; }
    bool key(std::string& text) override {
        if (depth_ == 1) key_ = text;
        return true;
    }
    bool end_object() override { return --depth_, true; }
    bool start_array(std::size_t) override { return ++depth_; }
    bool end_array() override { return --depth_, true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
        return false;
    }

  private:
    TableDescription* to_;
    std::string key_;
    std::int64_t depth_ = 0;
};

void learn_form(TableDescription* d) {
    Form form(d);
    nlohmann::json::sax_parse(d->text, &form);
}

bool complain(const std::string& path, const std::string& what, std::string* error) {
    *error = fmt::format("cannot read `{}`: {}", visible(path), what);
    return false;
}

/// False if there is none, or with `*error` set.
bool read_meta(const std::string& path, std::string* text, std::string* error) {
    const OpenFile file(path + ".meta");
    if (file.error() == ENOENT || file.error() == ENOTDIR) return false;
    std::string what = file.complaint();
    if (what.empty() && file.size() > kMost) what = "it is longer than 1 GiB";
    if (what.empty()) {
        text->resize(std::size_t(file.size()));
        what = file.read(text->data(), 0, file.size());
    }
    return what.empty() || complain(path + ".meta", what, error);
}

bool describe(const std::string& path, bool may_sniff, const Head& head, std::int64_t size,
              TableDescription* to, std::string* error) {
    *to = {};
    error->clear();
    if (path.find('\0') != path.npos) return *error = "a path with a byte 0", false;
    if (read_meta(path, &to->text, error)) return learn_form(to), true;
    if (!error->empty()) return false;
    to->is_sniffed = true;
    std::string what;
    bool good = false;
    if (!may_sniff) {
        if (head(0, &what); what.empty())
            return complain(
                path + ".meta",
                "No such file or directory; without it, a file is read only where `sniff` is true", error);
    } else if (path.ends_with(".csv")) {
        good = describe_csv(head, size, to, &what);
    } else if (path.ends_with(".parquet")) {
        good = describe_parquet(path, &to->text, &what);
    } else {
        const std::string_view bytes = head(std::min(kFirst, size), &what);
        if (!what.empty()) return complain(path, what, error);
        if (path.ends_with(".mtx")) good = describe_matrix_market(bytes, &to->text, &what);
        else if (path.ends_with(".dbdf")) good = describe_binary_table(bytes, &to->text, &what);
        else what = "files end in `.csv`, `.mtx`, `.dbdf` or `.parquet`";
    }
    return good || complain(path, what, error);
}

}  // namespace

std::string describe_matrix(std::int64_t rows, std::int64_t columns, std::string_view type) {
    return fmt::format("{{\"numCols\":{},\"numRows\":{},\"valueType\":\"{}\"}}", columns, rows, type);
}

std::string describe_sparse(std::int64_t rows, std::int64_t columns, std::string_view type,
                            std::int64_t non_zeros) {
    return fmt::format("{{\"numCols\":{},\"numNonZeros\":{},\"numRows\":{},\"valueType\":\"{}\"}}", columns,
                       non_zeros, rows, type);
}

std::string describe_frame(std::int64_t rows, const std::vector<LabelledType>& columns) {
    return fmt::format("{{\"numCols\":{},\"numRows\":{},{}}}", columns.size(), rows, schema_text(columns));
}

bool describe_table(const std::string& path, bool may_sniff, TableDescription* description,
                    std::string* error) {
    const OpenFile file(path);
    std::string read;
    const Head head = [&](std::int64_t size, std::string* wrong) -> std::string_view {
        *wrong = file.complaint();
        if (!wrong->empty()) return {};
        const auto before = std::int64_t(read.size());
        read.resize(std::size_t(size));
        *wrong = file.read(read.data() + before, before, size - before);
        return read;
    };
    return describe(path, may_sniff, head, file.size(), description, error);
}

bool describe_table(const std::string& path, std::string_view bytes, TableDescription* description,
                    std::string* error) {
    const Head head = [&](std::int64_t size, std::string*) { return bytes.substr(0, std::size_t(size)); };
    return describe(path, true, head, std::int64_t(bytes.size()), description, error);
}

}  // namespace weld::runtime
