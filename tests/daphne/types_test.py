#!/usr/bin/env python3
"""Built-in functions, casts and indexing of DaphneDSL on every type of cells, and on matrices of every kind of shape, those
without rows or columns among them: what each gives is said once more here, by plain loops over lists of rows.

    types_test.py WELD_CLI
"""
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import operators_test
from operators_test import BITS, PRINTED, TYPES, literal, shown, single, text, to

WAYS = [["-O0"], ["-O2"], ["-O3", "--threads", "4"], ["-O2", "--select-matrix-repr"]]
SHAPES = [(2, 3), (1, 3), (3, 1), (1, 1), (0, 2), (2, 0), (0, 0), (3, 4)]
HALVES = [0.5, -7.5, 0.0, 1000.25, 3.0, 200.25, -1.0, 65536.0, 2.5, -100.0, 2.0, 9.0]  # sums are exact in any order
CELLS = {**operators_test.CELLS, "f32": HALVES, "f64": HALVES}


def limits(t):
    """The least and the greatest of a type."""
    if t[0] == "f":
        return -math.inf, math.inf
    is_signed = t.startswith("si") and t != "size"
    return (-2 ** (BITS[t] - 1), 2 ** (BITS[t] - 1) - 1) if is_signed else (0, 2 ** BITS[t] - 1)


def rounded(v):
    return math.copysign(math.floor(abs(v) + 0.5), v)


def upwards(v):
    return math.copysign(math.ceil(v), v)  # of -0.5 it is -0


def of_cells(is_real):
    """Functions of a cell, which keep its type."""
    return {"abs": abs, "sign": lambda v: type(v)((v > 0) - (v < 0)), "minus": lambda v: -v, "-": lambda v: -v,
            "isNan": lambda v: 0 * abs(v), "round": rounded if is_real else int,
            "floor": (lambda v: float(math.floor(v))) if is_real else int, "ceil": upwards if is_real else int}


class Matrix:
    def __init__(self, t, rows, shape):
        self.t, self.rows, self.shape = t, rows, shape

    def columns(self):
        return [[row[c] for row in self.rows] for c in range(self.shape[1])]

    def script(self):
        cells = [literal(self.t, v) for row in self.rows for v in row]
        if not cells:
            return "fill(%s, %d, %d)" % (literal(self.t, CELLS[self.t][0]), *self.shape)
        return "[%s](%d, %d)" % (", ".join(cells), *self.shape)

    def printed(self):
        return ["DenseMatrix(%dx%d, %s)" % (*self.shape, PRINTED[self.t])] + [" ".join(shown(self.t, v) for v in row) for row in self.rows]

    def mapped(self, t, f):
        return Matrix(t, [[to(t, f(v)) for v in row] for row in self.rows], self.shape)


def aggregates(x):
    """Of numbers: all cells, rows, columns."""
    n, m = x.shape
    script = x.script()

    def each(name, t, f):
        yield "%s(%s, 0)" % (name, script), Matrix(t, [[f(row)] for row in x.rows], (n, 1)).printed()
        yield "%s(%s, 1)" % (name, script), Matrix(t, [[f(column) for column in x.columns()]], (1, m)).printed()

    number = "si64" if x.t == "bool" else x.t
    least, greatest = limits(number)
    cells = [v for row in x.rows for v in row]
    for name, f in (("sum", lambda v: to(number, sum(v))), ("aggMin", lambda v: min(v, default=greatest)),
                    ("aggMax", lambda v: max(v, default=least))):
        yield "%s(%s)" % (name, script), [shown(number, f(cells))]
        yield from each(name, number, f)
    if not cells:
        return
    real = "f32" if x.t == "f32" else "f64"
    total = lambda v: sum((float(c) for c in v), 0.0)  # in order, where it is not exact
    yield from each("mean", real, lambda v: to(real, total(v) / len(v)))
    yield from each("idxMin", "size", lambda v: v.index(min(v)))
    yield from each("idxMax", "size", lambda v: v.index(max(v)))


def running(x):
    number = "si64" if x.t == "bool" else x.t
    for name, f in (("cumSum", lambda a, b: a + b), ("cumProd", lambda a, b: a * b), ("cumMin", min), ("cumMax", max)):
        rows = [[to(number, v) for v in row] for row in x.rows[:1]]
        for row in x.rows[1:]:
            rows.append([to(number, f(a, b)) for a, b in zip(rows[-1], row)])
        yield "%s(%s)" % (name, x.script()), Matrix(number, rows, x.shape).printed()


def shapes(x):
    n, m = x.shape
    script = x.script()
    cells = [v for row in x.rows for v in row]

    def matrix(rows, shape):
        return Matrix(x.t, rows, shape).printed()

    yield "t(%s)" % script, matrix(x.columns(), (m, n))
    yield "reverse(%s)" % script, matrix(x.rows[::-1], x.shape)
    yield "reshape(%s, %d, %d)" % (script, m, n), matrix([cells[i * n:(i + 1) * n] for i in range(m)], (m, n))
    yield "cbind(%s, %s)" % (script, script), matrix([row + row for row in x.rows], (n, 2 * m))
    yield "rbind(%s, %s)" % (script, script), matrix(x.rows + x.rows, (2 * n, m))
    if n:
        yield "%s[-1, ]" % script, matrix(x.rows[-1:], (1, m))
        yield "%s[0:%d, ]" % (script, n - 1), matrix(x.rows[:-1], (n - 1, m))
        yield "%s[ [%d, 0], ]" % (script, n - 1), matrix([x.rows[-1], x.rows[0]], (2, m))
        yield "%s[[seq(1, %d) %% 2, ]]" % (script, n), matrix(x.rows[::2], ((n + 1) // 2, m))
    if cells:
        yield "as.scalar(%s[%d, -1])" % (script, n - 1), [shown(x.t, cells[-1])]
    if m == 1:
        yield "diagMatrix(%s)" % script, matrix([[x.rows[r][0] if r == c else abs(0 * x.rows[r][0]) for c in range(n)]
                                                 for r in range(n)], (n, n))


def casts(x):
    cells = [v for row in x.rows for v in row]
    for t in TYPES[:-1]:
        if t == "size":  # has no name
            continue
        is_cut = x.t[0] == "f" and t[0] != "f" and t != "bool"
        if is_cut and not all(limits(t)[0] <= math.trunc(v) <= limits(t)[1] for v in cells):
            continue
        yield "as.%s(%s)" % (t, x.script()), x.mapped(t, math.trunc if is_cut else lambda v: v).printed()
    yield "as.str(%s)" % x.script(), Matrix("str", [[text(x.t, v) for v in row] for row in x.rows], x.shape).printed()
    yield "typeOf(%s)" % x.script(), x.printed()[:1]


def cases(t, shape, at):
    """Expressions, and what is printed of them."""
    n, m = shape
    cells = CELLS[t][at:] + CELLS[t][:at]
    x = Matrix(t, [cells[r * m:(r + 1) * m] for r in range(n)], shape)
    number = "si64" if t == "bool" else t
    for name, f in of_cells(t[0] == "f").items():
        yield "%s(%s)" % (name, x.script()), x.mapped(number, f).printed()
    for group in aggregates, running, shapes, casts:
        yield from group(x)


def main():
    cli = str(pathlib.Path(sys.argv[1]).resolve())
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for i, t in enumerate(TYPES[:-1]):
            for k, shape in enumerate(SHAPES):
                way = WAYS[(i + k) % len(WAYS)]
                all_cases = list(cases(t, shape, (i * 3 + k * 5) % 12))
                count += len(all_cases)
                path = pathlib.Path(folder) / ("%s_%dx%d.daphne" % (t, *shape))
                path.write_text("".join("print(%s);\n" % script for script, _ in all_cases))
                done = subprocess.run([cli, *way, str(path)], capture_output=True, text=True, timeout=600)
                out, expected = done.stdout.replace("CSRMatrix", "DenseMatrix").splitlines(), [line for _, lines in all_cases for line in lines]
                if "--select-matrix-repr" in way:  # cells that are not stored are 0, whatever their sign would be
                    out, expected = ([re.sub(r"-0(?= |$)", "0", line) for line in lines] for lines in (out, expected))
                if done.returncode == 0 and out == expected:
                    continue
                failures += 1
                print("%s %s %s: exit code %d\n%s" % (t, shape, " ".join(way), done.returncode, done.stderr))
                begin = 0
                for script, lines in all_cases:
                    if out[begin:begin + len(lines)] != expected[begin:begin + len(lines)]:
                        print("%s\n  printed  %s\n  expected %s" % (script, out[begin:begin + len(lines)], lines))
                    begin += len(lines)
    print("%d expressions, %d scripts with failures" % (count, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
