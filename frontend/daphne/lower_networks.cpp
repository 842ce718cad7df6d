// Neural networks: loops over the cells of the result. Images are rows, channel after channel, each row by
// row.
#include "frontend/daphne/lower.h"

namespace weld::daphne {

using Named = Lowering::Named;

void lower_softmax(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.define(
        n.results[0],
        fmt::format(
            "let n = {0}; let m = {1}; "
            "let tops = result(for(rangeiter(0L, n, 1L), appender, |o, r, _| "
            "merge(o, result(for(iter(x.$0, r * m, r * m + m, 1L), merger[{2},max], |s, k, a| merge(s, "
            "a)))))); "
            "let raised = result(for(x.$0, appender, |o, k, a| merge(o, exp(a - lookup(tops, k / m))))); "
            "let sums = result(for(rangeiter(0L, n, 1L), appender, |o, r, _| "
            "merge(o, result(for(iter(raised, r * m, r * m + m, 1L), merger[{2},+], |s, k, a| merge(s, "
            "a)))))); "
            "{{result(for(raised, appender, |o, k, a| merge(o, a / lookup(sums, k / m)))), n, m}}",
            Lowering::rows("x", x), Lowering::columns("x", x), weld_name(x->type.value)),
        {{"x", x}}, n.loc);
}

void lower_bias_add(Lowering& l, const GraphNode& n) {
    const std::vector<Named> args = {{"x", n.args[0]}, {"bias", n.args[1]}};
    l.demand("let c = len(bias.$0); c > 0L && x.$2 % c == 0L", args,
             "`biasAdd` takes one number for each channel", n.loc);
    l.define(
        n.results[0],
        "let m = x.$2; let size = m / len(bias.$0); "
        "{result(for(x.$0, appender, |o, k, a| merge(o, a + lookup(bias.$0, (k % m) / size)))), x.$1, m}",
        args, n.loc);
}

void lower_pool(Lowering& l, const GraphNode& n) {
    const char* names[] = {"x", "images", "channels", "h", "w", "ph", "pw", "sh", "sw", "padh", "padw"};
    std::vector<Named> args;
    for (std::size_t i = 0; i < n.args.size(); ++i) args.push_back({names[i], n.args[i]});
    l.demand(
        "x.$1 == images && x.$2 == channels * h * w && channels > 0L && ph > 0L && pw > 0L && sh > 0L && sw "
        "> 0L && padh >= 0L && "
        "padw >= 0L && h + 2L * padh >= ph && w + 2L * padw >= pw",
        args, "the images do not have the shape that is said, or the window does not fit", n.loc);
    const std::string_view t = weld_name(n.args[0]->type.value);
    const bool largest = n.builtin->code == "max";
    l.define(
        n.results,
        fmt::format(
            "let oh = (h + 2L * padh - ph) / sh + 1L; let ow = (w + 2L * padw - pw) / sw + 1L; "
            "let cells = result(for(rangeiter(0L, images * channels * oh * ow, 1L), appender, |o, k, _| "
            "let top = (k / ow % oh) * sh - padh; let left = k % ow * sw - padw; let plane = k / (oh * ow) * "
            "h * w; "
            "merge(o, result(for(rangeiter(0L, ph * pw, 1L), merger[{0},{1}], |s, q, _2| let r = top + q / "
            "pw; let c = left + q % pw; "
            "if(r >= 0L && r < h && c >= 0L && c < w, merge(s, lookup(x.$0, plane + r * w + c)), s))){2}))); "
            "{{{{cells, images, channels * oh * ow}}, u64(oh), u64(ow)}}",
            t, largest ? "max" : "+", largest ? "" : fmt::format(" / {}(ph * pw)", t)),
        args, n.loc);
}

void lower_convolution(Lowering& l, const GraphNode& n) {
    const char* names[] = {"x",  "f",  "images", "channels", "h",    "w",   "fh",
                           "fw", "sh", "sw",     "padh",     "padw", "bias"};
    std::vector<Named> args;
    for (std::size_t i = 0; i < n.args.size(); ++i) args.push_back({names[i], n.args[i]});
    const bool biased = n.args.size() > 12;
    l.demand(fmt::format("x.$1 == images && x.$2 == channels * h * w && f.$2 == channels * fh * fw && fh > "
                         "0L && fw > 0L && sh > 0L && sw > 0L && "
                         "padh >= 0L && padw >= 0L && h + 2L * padh >= fh && w + 2L * padw >= fw{}",
                         biased ? " && len(bias.$0) == f.$1" : ""),
             args, "the images or the filters do not have the shape that is said", n.loc);
    l.define(
        n.results,
        fmt::format("let oh = (h + 2L * padh - fh) / sh + 1L; let ow = (w + 2L * padw - fw) / sw + 1L; let "
                    "count = f.$1; "
                    "let cells = result(for(rangeiter(0L, images * count * oh * ow, 1L), appender, |o, k, _| "
                    "let top = (k / ow % oh) * sh - padh; let left = k % ow * sw - padw; let which = k / (oh "
                    "* ow) % count; "
                    "let image = k / (oh * ow * count) * channels * h * w; "
                    "merge(o, {1}result(for(rangeiter(0L, channels * fh * fw, 1L), merger[{0},+], |s, q, _2| "
                    "let r = top + q / fw % fh; let c = left + q % fw; "
                    "if(r >= 0L && r < h && c >= 0L && c < w, merge(s, lookup(x.$0, image + q / (fh * fw) * "
                    "h * w + r * w + c) * "
                    "lookup(f.$0, which * channels * fh * fw + q)), s)))))); "
                    "{{{{cells, images, count * oh * ow}}, u64(oh), u64(ow)}}",
                    weld_name(n.args[0]->type.value), biased ? "lookup(bias.$0, which) + " : ""),
        args, n.loc);
}

void lower_batch_norm(Lowering& l, const GraphNode& n) {
    const char* names[] = {"x", "gamma", "beta", "means", "vars", "eps"};
    std::vector<Named> args;
    for (std::size_t i = 0; i < n.args.size(); ++i) args.push_back({names[i], n.args[i]});
    l.demand(
        "let c = len(gamma.$0); c > 0L && x.$2 % c == 0L && len(beta.$0) == c && len(means.$0) == c && "
        "len(vars.$0) == c",
        args, "`batch_norm2d` takes one number for each channel", n.loc);
    l.define(n.results[0],
             "let m = x.$2; let size = m / len(gamma.$0); {result(for(x.$0, appender, |o, k, a| let c = (k % "
             "m) / size; "
             "merge(o, (a - lookup(means.$0, c)) / sqrt(lookup(vars.$0, c) + eps) * lookup(gamma.$0, c) + "
             "lookup(beta.$0, c)))), x.$1, m}",
             args, n.loc);
}

}  // namespace weld::daphne
