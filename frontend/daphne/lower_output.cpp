// What reaches the world or comes from it: prints, files, the time, the end.
#include "frontend/daphne/lower.h"

namespace weld::daphne {

using Named = Lowering::Named;

/// The labels of a frame as a vector of strings.
static std::string labels_of(const Value* frame) {
    std::string labels;
    for (const Column& c : frame->type.columns) labels += (labels.empty() ? "" : ", ") + weld_string(c.label);
    return labels.empty() ? "[]: vec[vec[i8]]" : "[" + labels + "]";
}

void lower_print(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    std::vector<Named> args = {{"x", x}, {"line", n.args[1]}, {"err", n.args[2]}};
    switch (x->type.data) {
        case DataType::Scalar: return l.act("cudf[weld_display,{}](x, line, err)", args, n.loc);
        case DataType::Matrix:
            if (x->type.is_sparse) return l.act("cudf[weld_display_csr,{}](x, err)", args, n.loc);
            return l.act("cudf[weld_display_matrix,{}](x, err)", args, n.loc);
        case DataType::List: return l.act("cudf[weld_display_list,{}](x, err)", args, n.loc);
        case DataType::Frame: break;
    }
    l.act(fmt::format("cudf[weld_display_frame,{{}}](x, {}, err)", labels_of(x)), args, n.loc);
}

/// A file that the script has written needs no description to be compared with.
static void read_file(Lowering& l, const GraphNode& n, std::string_view kernel, const std::string& shape) {
    std::vector<Named> args = {{"path", n.args[0]}};
    if (n.args.size() > 1) args.push_back({"description", n.args[1]});
    const Value* out = n.results[0];
    l.define(out,
             fmt::format("cudf[{},{}](path, {}{})", kernel, weld_name(out->type), shape,
                         n.args.size() > 1 ? ", description" : ""),
             args, n.loc);
}
void lower_read_matrix(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    read_file(l, n, "weld_read_matrix",
              Lowering::size(out->rows, "-1L") + ", " + Lowering::size(out->columns, "-1L"));
}
void lower_read_frame(Lowering& l, const GraphNode& n) {
    read_file(l, n, "weld_read_frame", Lowering::size(n.results[0]->rows, "-1L"));
}
void lower_open_file(Lowering& l, const GraphNode& n) {
    const std::vector<Named> args = {{"path", n.args.back()}};
    l.act("cudf[weld_read_open,{}](path)", args, n.loc);
    l.define(n.results[0], "path", args, n.loc);
}
void lower_read_csv(Lowering& l, const GraphNode& n) {
    const std::vector<Named> args = {
        {"path", n.args[0]}, {"r", n.args[1]}, {"c", n.args[2]}, {"delimiter", n.args[3]}};
    l.demand("r > 0L && c > 0L && len(delimiter) == 1L", args,
             "`readCsv` takes how many rows and columns there are, and one character between cells", n.loc);
    l.define(n.results[0],
             fmt::format("cudf[weld_read_matrix,{}](path, r, c, lookup(delimiter, 0L), false)",
                         weld_name(n.results[0]->type)),
             args, n.loc);
}
void lower_write(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"path", n.args[1]}};
    if (x->type.is_matrix()) return l.act("cudf[weld_write_matrix,{}](x, path)", args, n.loc);
    l.act(fmt::format("cudf[weld_write_frame,{{}}](x, {}, path)", labels_of(x)), args, n.loc);
}
void lower_stop(Lowering& l, const GraphNode& n) {
    l.act("let said = cudf[weld_concat,vec[i8]](\"system stopped: \", x); assert(false, said)",
          {{"x", n.args[0]}}, n.loc);
}
void lower_now(Lowering& l, const GraphNode& n) { l.define(n.results[0], "cudf[weld_now,i64]()", {}, n.loc); }
void lower_nothing(Lowering&, const GraphNode&) {}

}  // namespace weld::daphne
