#!/usr/bin/env python3
"""Every binary operator of DaphneDSL on every pair of types of cells, between scalars, matrices, single rows, single columns
and single cells, on either side: what each gives is said once more here, cell by cell, as the table of operators says it.
Operands are known before the run, or known to the run alone, shapes too. Where matrices may be sparse most cells are 0.

    operators_test.py WELD_CLI [EVERY]

Each pair of types meets some pairs of shapes in one of the ways below; if EVERY is `all`, more of them, and in all ways.
"""
import itertools
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

WAYS = [["-O0"], ["-O1"], ["-O2", "--threads", "1"], ["-O3", "--threads", "4"], ["-O2", "--select-matrix-repr"]]
TYPES = ["bool", "si8", "ui8", "si32", "ui32", "size", "si64", "ui64", "f32", "f64", "str"]  # the later, the more general
BITS = {"si8": 8, "ui8": 8, "si32": 32, "ui32": 32, "size": 64, "si64": 64, "ui64": 64}
PRINTED = {"bool": "bool", "si8": "int8_t", "ui8": "uint8_t", "si32": "int32_t", "ui32": "uint32_t", "size": "uint64_t",
           "si64": "int64_t", "ui64": "uint64_t", "f32": "float", "f64": "double", "str": "std::string"}
OPERATORS = ["+", "-", "*", "/", "^", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]
SHAPES = {"scalar": None, "matrix": (2, 3), "row": (1, 3), "column": (2, 1), "cell": (1, 1)}
# Twelve cells for each type; what must not be 0 (divisors), and what is small (powers), comes from lists of their own.
CELLS = {"bool": [1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0],
         "si8": [100, -7, 0, -128, 3, 127, -1, 64, 5, -100, 2, 9],
         "ui8": [200, 7, 0, 255, 3, 128, 1, 64, 5, 100, 2, 9],
         "si32": [2000000000, -7, 0, -2147483648, 3, 200, -1, 65536, 5, -100, 2, 9],
         "ui32": [4000000000, 7, 0, 4294967295, 3, 200, 1, 65536, 5, 100, 2, 9],
         "si64": [9000000000000000000, -7, 0, -9223372036854775807, 3, 200, -1, 4294967296, 5, -100, 2, 9],
         "ui64": [18000000000000000000, 7, 0, 18446744073709551615, 3, 200, 1, 4294967296, 5, 100, 2, 9],
         "f32": [0.1, -7.5, 0.0, 1e30, 3.0, 200.25, -1.0, 65536.0, 0.5, -100.0, 2.0, 9.0],
         "f64": [0.1, -7.5, 0.0, 1e300, 3.0, 200.25, -1.0, 4294967296.0, 0.5, -100.0, 2.0, 9.0],
         "str": ["b", "", "Ab", "b b", "b", "c", "10", "9", "x", "", "a", "b"]}
CELLS["size"] = CELLS["ui64"]
SMALL = [2, 1, 0, 3, 2, 1, 3, 1, 0, 2, 1, 3]


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def to(t, v):
    """A number as `t`: integers wrap. (Floats are converted to truth values only.)"""
    if t == "bool":
        return int(v != 0)
    if t == "f64":
        return float(v)
    if t == "f32":
        return single(float(v)) if abs(v) < 2**24 or isinstance(v, float) else rounded_to_single(v)
    v %= 2 ** BITS[t]
    return v - 2 ** BITS[t] if t[0] == "s" and t != "size" and v >= 2 ** (BITS[t] - 1) else v


def rounded_to_single(n):
    """A whole number to 24 bits, halves to even: not by way of a double."""
    shift = max(0, abs(n).bit_length() - 24)
    return float(int(round_half_even(abs(n), shift) << shift)) * (-1 if n < 0 else 1)


def round_half_even(n, shift):
    low, half = n & ((1 << shift) - 1), 1 << shift >> 1
    n >>= shift
    return n + (low > half or (shift > 0 and low == half and n & 1))


def text(t, v):
    if t == "str":
        return v
    return "%f" % v if t[0] == "f" else str(v)


def divided(t, a, b):
    if t[0] != "f":
        return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def remainder(t, a, b):
    if t[0] != "f":
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    return math.nan if b == 0 else math.fmod(a, b)


def arithmetic(op, t, a, b):
    try:
        v = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: divided(t, a, b),
             "%": lambda: remainder(t, a, b), "^": lambda: math.pow(a, b) if t[0] == "f" else a ** b}[op]()
    except OverflowError:
        v = math.inf * (-1 if a < 0 and b % 2 else 1)
    if t != "f32":
        return to(t, v)
    return v if v != v or abs(v) == math.inf else math.copysign(math.inf, v) if abs(v) > 3.4028235e38 else single(v)


def type_of(op, s, t):
    """Of what the operands are taken as, and of the result; none: no such operation."""
    most = max(s, t, key=TYPES.index)
    if most == "str":
        if op == "+":
            return "str", "str"
        return ("str", "si64") if s == t and op in OPERATORS[6:12] else None
    if op in ("&&", "||"):
        return "bool", "ui64" if most[0] == "f" else most
    if most == "bool" and op not in OPERATORS[6:]:
        return "si64", "si64"
    return most, most


def operation(op, s, t):
    """What it does to two cells."""
    of, result = type_of(op, s, t)
    compare = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
               ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "&&": lambda a, b: a and b, "||": lambda a, b: a or b}

    def of_cells(a, b):
        if of == "str":
            a, b = text(s, a), text(t, b)
            return a + b if op == "+" else int(compare[op](a, b))
        a, b = to(of, a), to(of, b)
        return to(result, int(bool(compare[op](a, b)))) if op in compare else arithmetic(op, of, a, b)
    return of_cells, result


def shown(t, v):
    if t == "str":
        return v
    if t[0] != "f":
        return str(v)
    return "nan" if v != v else "%g" % v


def printed(t, value):
    if not isinstance(value, list):
        return [shown(t, value)]
    return ["DenseMatrix(%dx%d, %s)" % (len(value), len(value[0]), PRINTED[t])] + [" ".join(shown(t, v) for v in r) for r in value]


def literal(t, v):
    """As a script writes it: a literal of the type itself, or a cast that keeps the value."""
    if t == "str":
        return '"%s"' % v
    if t == "bool":
        return "true" if v else "false"
    if t == "f32":
        return "%rf" % v if "e" not in repr(v) else "1e30f"
    if t == "f64":
        return "1e300" if v == 1e300 else repr(v)
    whole = "%du" % v if t in ("ui64", "size") else str(v)
    return whole if t in ("si64", "ui64") else "%dz" % v if t == "size" else "as.%s(%s)" % (t, whole)


class Operands:
    """Values of a type in every shape, of which the k-th is known, or known to the run alone."""

    def __init__(self, cells, t):
        self.cells, self.t = [single(c) for c in cells] if t == "f32" else cells, t

    def value(self, shape, at):
        turned = self.cells[at:] + self.cells[:at]
        if shape == "scalar":
            return turned[0]
        rows, columns = SHAPES[shape]
        return [turned[r * columns:(r + 1) * columns] for r in range(rows)]

    def text(self, shape, at, known):
        value = self.value(shape, at)
        if shape == "scalar":
            one = literal(self.t, value)
            return one if known else "as.scalar([%s][rows(1), 0])" % one
        cells = [literal(self.t, v) for row in value for v in row]
        matrix = "[%s](%d, %d)" % (", ".join(cells), len(value), len(value[0]))
        return matrix if known else "%s[rows(%d), ]" % (matrix, len(value))


def cells_of(op, of, t, is_right, is_sparse):
    """What an operand may hold: divisors of whole numbers are neither 0 nor -1, powers of whole numbers are small."""
    cells = CELLS[t]
    if op == "^":
        cells = [min(n, 1) if t == "bool" else float(n) if t[0] == "f" else n for n in SMALL]
    if is_sparse and t != "str" and not (is_right and op in ("/", "%", "^")):
        return [abs(0 * c) if i % 6 else c for i, c in enumerate(cells)]
    if op not in ("/", "%") or not is_right or of[0] == "f":
        return cells
    return [v for v in cells * 12 if to(of, v) not in (0, -1)][:12]


def expressions(s, t, number, is_sparse, every):
    """The operators on operands of these types: (text, what is printed). Each meets a few of the pairs of shapes, other
    ones for each pair of types."""
    pairs = list(itertools.product(SHAPES, SHAPES))
    for i, op in enumerate(OPERATORS):
        if not type_of(op, s, t):
            continue
        of_cells, result = operation(op, s, t)
        of = type_of(op, s, t)[0]
        left, right = Operands(cells_of(op, of, s, False, is_sparse), s), Operands(cells_of(op, of, t, True, is_sparse), t)
        for k in range(4 if every else 2):
            a, b = pairs[(number * 7 + i * 4 + k * 11) % len(pairs)]
            at = (number + i * 5 + k) % 12
            x, y = left.value(a, at), right.value(b, at * 5 % 12)
            known = (number + k) % 3
            yield ("%s %s %s" % (left.text(a, at, known == 1), op, right.text(b, at * 5 % 12, known >= 1)),
                   printed(result, broadcast(of_cells, x, y)))


def broadcast(f, x, y):
    matrices = [m for m in (x, y) if isinstance(m, list)]
    if not matrices:
        return f(x, y)
    rows, columns = max(len(m) for m in matrices), max(len(m[0]) for m in matrices)

    def cell(m, r, c):
        return m[r % len(m)][c % len(m[0])] if isinstance(m, list) else m
    return [[f(cell(x, r, c), cell(y, r, c)) for c in range(columns)] for r in range(rows)]


# The run alone knows what it gives: the positions of all rows, as a column.
ROWS = """def rows(n: si64) -> matrix<si64> {
    all = seq(0, n - 1, 1);
    return all[[fill(now(), n, 1) > 0, ]];
}
"""


def run(cli, way, folder, s, t, number, every):
    lines, expected = [ROWS], []
    is_sparse = "--select-matrix-repr" in way
    for script, out in expressions(s, t, number, is_sparse, every):
        lines.append("print(%s);\n" % script)
        expected += out
    path = pathlib.Path(folder) / ("%s_%s.daphne" % (s, t))
    path.write_text("".join(lines))
    done = subprocess.run([cli, *way, str(path)], capture_output=True, text=True, timeout=600)
    out = done.stdout.replace("CSRMatrix", "DenseMatrix").replace("-nan", "nan").splitlines()
    if is_sparse:  # cells that are not stored are 0, whatever their sign would be
        out, expected = ([re.sub(r"-0(?= |$)", "0", line) for line in lines] for lines in (out, expected))
    if done.returncode == 0 and out == expected:
        return len(lines) - 1, True
    print("%s, %s, %s: exit code %d\n%s%s" % (s, t, " ".join(way), done.returncode, path.read_text(), done.stderr))
    for line, (is_so, is_right) in enumerate(itertools.zip_longest(out, expected), 1):
        if is_so != is_right:
            print("line %d: printed %r, expected %r" % (line, is_so, is_right))
    return len(lines) - 1, False


def main():
    cli = str(pathlib.Path(sys.argv[1]).resolve())
    every = len(sys.argv) > 2 and sys.argv[2] == "all"
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (s, t) in enumerate(itertools.product(TYPES, TYPES)):
            for way in WAYS if every else [WAYS[number % len(WAYS)]]:
                done, good = run(cli, way, folder, s, t, number, every)
                count += done
                failures += not good
    print("%d expressions, %d pairs of types with failures" % (count, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
