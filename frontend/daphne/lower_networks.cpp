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

static std::vector<Named> named(const GraphNode& n, std::initializer_list<const char*> names) {
    std::vector<Named> args;
    for (const char* name : names)
        if (args.size() < n.args.size()) args.push_back({name, n.args[args.size()]});
    return args;
}

// Windows of `fh` x `fw` pixels move over planes of `h` x `w` by `sh`, `sw` beside a margin of `padh`,
// `padw`, and come to `oh` x `ow` places.
static constexpr char kFits[] =
    "channels > 0L && fh > 0L && fw > 0L && sh > 0L && sw > 0L && padh >= 0L && padw >= 0L && "
    "h + 2L * padh >= fh && w + 2L * padw >= fw";
static constexpr char kPlaces[] =
    "let oh = (h + 2L * padh - fh) / sh + 1L; let ow = (w + 2L * padw - fw) / sw + 1L; ";
/// The window at place `k`, of the plane that begins at `plane`.
static constexpr char kWindow[] =
    "let top = (k / ow % oh) * sh - padh; let left = k % ow * sw - padw; let plane = k / (oh * ow) * h * w; ";
/// The pixel `q` of a window.
static constexpr char kPixel[] =
    "let r = top + q / fw; let c = left + q % fw; let at = plane + r * w + c; let inside = r >= 0L && r < h "
    "&& c >= "
    "0L && c < w; ";

void lower_pool(Lowering& l, const GraphNode& n) {
    const auto args = named(n, {"x", "images", "channels", "h", "w", "fh", "fw", "sh", "sw", "padh", "padw"});
    l.demand(fmt::format("x.$1 == images && x.$2 == channels * h * w && {}", kFits), args,
             "the images do not have the shape that is said, or the window does not fit", n.loc);
    const std::string_view t = weld_name(n.args[0]->type.value);
    const bool largest = n.builtin->code == "max";
    l.define(
        n.results,
        fmt::format("{3}let cells = result(for(rangeiter(0L, images * channels * oh * ow, 1L), appender, |o, "
                    "k, _| {4}merge(o, result(for(rangeiter(0L, fh * fw, 1L), merger[{0},{1}], |s, q, _2| "
                    "{5}if(inside, merge(s, lookup(x.$0, at)), s))){2}))); "
                    "{{{{cells, images, channels * oh * ow}}, u64(oh), u64(ow)}}",
                    t, largest ? "max" : "+", largest ? "" : fmt::format(" / {}(fh * fw)", t), kPlaces,
                    kWindow, kPixel),
        args, n.loc);
}

/// What comes to a place goes to the pixel that was largest there, the first of them, or in equal parts to
/// all.
void lower_pool_backward(Lowering& l, const GraphNode& n) {
    const auto args =
        named(n, {"x", "d", "images", "channels", "h", "w", "fh", "fw", "sh", "sw", "padh", "padw"});
    l.demand(fmt::format("x.$1 == images && x.$2 == channels * h * w && {}", kFits), args,
             "the images do not have the shape that is said, or the window does not fit", n.loc);
    l.demand(fmt::format("{}d.$1 == images && d.$2 == channels * oh * ow", kPlaces), args,
             "`dOut` has a cell for each place of the window", n.loc);
    const std::string_view t = cell(n.results[0]);
    const std::string spread =
        n.builtin->code == "max"
            ? fmt::format(
                  "let best = result(for(rangeiter(0L, fh * fw, 1L), merger[{0},max], |s, q, _2| "
                  "{1}if(inside, merge(s, lookup(x.$0, at)), s))); "
                  "let first = result(for(rangeiter(0L, fh * fw, 1L), merger[i64,min], |s, q, _2| "
                  "{1}if(inside, if(lookup(x.$0, at) == best, merge(s, at), s), s))); "
                  "if(first < len(x.$0), merge(o, {{first, lookup(d.$0, k)}}), o)",
                  t, kPixel)
            : fmt::format(
                  "let share = lookup(d.$0, k) / {}(fh * fw); for(rangeiter(0L, fh * fw, 1L), o, |o2, q, "
                  "_2| {}if(inside, merge(o2, {{at, share}}), o2))",
                  t, kPixel);
    l.define(
        n.results[0],
        fmt::format("{}{{result(for(rangeiter(0L, len(d.$0), 1L), vecmerger[{},+](filled(len(x.$0), {}(0))), "
                    "|o, k, _| {}{})), x.$1, x.$2}}",
                    kPlaces, t, t, kWindow, spread),
        args, n.loc);
}

void lower_convolution(Lowering& l, const GraphNode& n) {
    const auto args =
        named(n, {"x", "f", "images", "channels", "h", "w", "fh", "fw", "sh", "sw", "padh", "padw", "bias"});
    const bool biased = n.args.size() > 12;
    l.demand(fmt::format("x.$1 == images && x.$2 == channels * h * w && f.$2 == channels * fh * fw && {}{}",
                         kFits, biased ? " && len(bias.$0) == f.$1" : ""),
             args, "the images or the filters do not have the shape that is said", n.loc);
    l.define(
        n.results,
        fmt::format("{2}let count = f.$1; "
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
                    weld_name(n.args[0]->type.value), biased ? "lookup(bias.$0, which) + " : "", kPlaces),
        args, n.loc);
}

/// For each weight, over all images and places, or for each pixel, over all filters: what lies under it times
/// the gradient there.
void lower_convolution_backward(Lowering& l, const GraphNode& n) {
    const bool of_filter = n.builtin->code == "filter";
    const auto args = named(n, {of_filter ? "x" : "f", "d", "sh", "sw", "padh", "padw", "images", "channels",
                                "h", "w", "count", "fchannels", "fh", "fw"});
    const std::string_view t = cell(n.results[0]);
    l.demand(fmt::format("fchannels == channels && images >= 0L && count >= 0L && {} && {}", kFits,
                         of_filter ? "x.$1 == images && x.$2 == channels * h * w"
                                   : "f.$1 == count && f.$2 == channels * fh * fw"),
             args, "the images or the filters do not have the shape that is said", n.loc);
    l.demand(fmt::format("{}d.$1 == images && d.$2 == count * oh * ow", kPlaces), args,
             "`output` has a cell for each filter and place", n.loc);
    if (of_filter)
        return l.define(
            n.results[0],
            fmt::format(
                "{1}let m = channels * fh * fw; {{result(for(rangeiter(0L, count * m, 1L), appender, |o, "
                "k, _| let dy = k / fw % fh - padh; let dx = k % fw - padw; let plane = k % m / (fh * fw); "
                "merge(o, result(for(rangeiter(0L, images * oh * ow, 1L), merger[{0},+], |s, p, _2| "
                "let r = p / ow % oh * sh + dy; let c = p % ow * sw + dx; let i = p / (oh * ow); "
                "if(r >= 0L && r < h && c >= 0L && c < w, merge(s, lookup(x.$0, ((i * channels + plane) * h "
                "+ r) * w + c) * lookup(d.$0, (i * count + k / m) * oh * ow + p % (oh * ow))), s)))))), "
                "count, m}}",
                t, kPlaces),
            args, n.loc);
    l.define(
        n.results[0],
        fmt::format(
            "{1}let m = channels * h * w; {{result(for(rangeiter(0L, images * m, 1L), appender, |o, k, _| "
            "let r = k / w % h + padh; let c = k % w + padw; let plane = k % m / (h * w); "
            "merge(o, result(for(rangeiter(0L, count * fh * fw, 1L), merger[{0},+], |s, q, _2| "
            "let y = r - q / fw % fh; let x = c - q % fw; let which = q / (fh * fw); "
            "if(y >= 0L && x >= 0L && y % sh == 0L && x % sw == 0L && y / sh < oh && x / sw < ow, "
            "merge(s, lookup(f.$0, ((which * channels + plane) * fh * fw) + q % (fh * fw)) * "
            "lookup(d.$0, ((k / m * count + which) * oh + y / sh) * ow + x / sw)), s)))))), images, m}}",
            t, kPlaces),
        args, n.loc);
}

void lower_batch_norm(Lowering& l, const GraphNode& n) {
    const auto args = named(n, {"x", "gamma", "beta", "means", "vars", "eps"});
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

/// With `u` the input less its mean, times `invVar`: beta gets the sum of the gradient over all cells of a
/// channel, gamma that of the gradient times `u`, and the input what is left of the gradient when both are
/// taken out.
void lower_batch_norm_backward(Lowering& l, const GraphNode& n) {
    const auto args = named(n, {"means", "inv", "x", "d", "gamma", "eps"});
    l.demand(
        "let c = len(gamma.$0); c > 0L && x.$2 % c == 0L && len(means.$0) == c && len(inv.$0) == c && d.$1 "
        "== "
        "x.$1 && d.$2 == x.$2",
        args, "`batch_norm2d_backward` takes one number for each channel, and a gradient for each cell",
        n.loc);
    const std::string_view t = cell(n.results[0]);
    auto by_channel = [&](std::string_view value) {
        return fmt::format(
            "result(for(zip(x.$0, d.$0), vecmerger[{0},+](filled(len(gamma.$0), {0}(0))), |o, k, e| "
            "let c = (k % m) / size; merge(o, {{c, {1}}})))",
            t, value);
    };
    const std::string_view u = "(e.$0 - lookup(means.$0, c)) * lookup(inv.$0, c)";
    l.define(
        n.results,
        fmt::format("let m = x.$2; let size = m / len(gamma.$0); let count = {0}(x.$1 * size); "
                    "let betas = {1}; let gammas = {2}; "
                    "let cells = result(for(zip(x.$0, d.$0), appender, |o, k, e| let c = (k % m) / size; "
                    "merge(o, lookup(gamma.$0, c) * lookup(inv.$0, c) / count * "
                    "(count * e.$1 - lookup(betas, c) - {3} * lookup(gammas, c))))); "
                    "{{{{cells, x.$1, m}}, {{gammas, gamma.$1, gamma.$2}}, {{betas, gamma.$1, gamma.$2}}}}",
                    t, by_channel("e.$1"), by_channel(fmt::format("e.$1 * ({})", u)), u),
        args, n.loc);
}

}  // namespace weld::daphne
