#!/usr/bin/env python3
"""Operations on matrices that are mostly zeros give the same whether these are stored sparsely (`--select-matrix-repr`) or not:
of all value types, of shapes without rows and columns, with one, with no cell that is stored.

    sparse_test.py WELD_CLI [PART_OF_A_MATRIX]
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

TYPES = ["si64", "f64", "f32", "si8", "ui8", "si32", "ui32", "ui64"]
# cells, rows, columns
SHAPES = [([0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 2], 4, 5),
          ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 4], 5, 5),
          ([0, 0, 0, 0, 0, 0], 2, 3), ([0, 0, 0, 0, 9], 1, 5), ([0, 0, 0, 0, 8], 5, 1)]
EXPRESSIONS = """X; typeOf(X); t(X); transpose(t(X)); reverse(X); reshape(X, ncol(X), nrow(X)); nrow(X); ncell(X)
    sum(X); sum(X, 0); sum(X, 1); aggMin(X); aggMax(X); aggMin(X, 0); aggMax(X, 0); aggMin(X, 1); aggMax(X, 1); mean(X)
    mean(X, 0); mean(X, 1); var(X); var(X, 1); stddev(X); stddev(X, 0); idxMax(X, 0); idxMin(X, 1); cumSum(X); sparsity(X)
    X[0, ]; X[-1:, ]; X[0:1, 0:1]; X[, -1]; X[0, 0]; X[ [0, -1, 0], ]; X[ [-1], 0]; X[, [0, 0] ]; X[[X[, 0] >= 0, ]]
    X[[, fill(1, ncol(X), 1)]]; as.scalar(X[0, 0]); X[0:0, ]; t(X[0:0, ]); sum(X[0:0, ]); sum(X[, 0:0]); X[, 0:0]; X[0:0, ] * 2
    X @ fill(as.T(2), ncol(X), 2); fill(as.T(2), 2, nrow(X)) @ X; t(X) @ X; X @ t(X); t(X) @ fill(as.T(1), nrow(X), 1)
    X * 2; 3 * X; X / 2; X ^ 2; X % 2; X != 0; X > 3; X < 0; X == 0; 2 / (X + 1); X * zero; one * X; X / one; X + X; X * X; X - 1
    min(X, 2); max(X, 2); max(X, 0); mod(X, 3); sqrt(X); abs(X); sin(X); exp(X); sign(X); round(X); isNan(X); X && 1; X || 0
    as.f64(X); as.bool(X); as.si64(X); as.str(X); X ? 1 : 2; cbind(X, X); rbind(X, X); replace(X, as.T(0), as.T(1))
    as.frame(X); createList(X, X); diagMatrix(X[, 0]); map(X, twice); times(X); times(X + 1); down(X, 2)
    X + Y; Y - Y; X * Y; X - X * 2; min(X, Y); max(X, Y); X == Y; X != Y; X < Y; X > Y; X <= Y; X >= Y; X && Y; X || Y; X / (Y + 1)
    X * zero + Y; X @ t(Y); t(X) @ Y; t(X) @ X; X @ t(X); X[, 0] @ Y[0, ]; cbind(X, Y); rbind(X, Y); rbind(X, Y * zero); cbind(X[, 0:0], Y)
    rbind(X[0:0, ], Y); X[0, ] + Y[0, ]; X + Y[0, ]; X[, 0] * Y; X[0:0, ] + Y[0:0, ]; sum(X * Y); isNan(X + Y); t(X + Y)""".replace("\n", ";").split(";")
OF_SQUARES = ["upperTri(X, false, true)", "lowerTri(X, true, false)", "diagVector(X)", "isSymmetric(X)", "isSymmetric(X + t(X))", "isSymmetric(X @ t(X))", "isSymmetric(X * zero)", "isSymmetric(X - t(X))"]
CONTROL = """Y = X; for (i in 1:3) Y = Y * as.T(2); print(Y);
Y = X; for (i in 1:3) { Y = Y + Y; Z = Y[0, ]; } print(Y);
Y = X; i = 0; while (i < 3) { Y = -Y; i = i + 1; if (i == 2) Y = abs(Y); } print(Y);
Y = X; do Y = t(t(Y)) * as.T(2); while (sum(Y) < 20 && ncell(Y[[Y[, 0] > 100, ]]) == 0 && sum(Y) != 0); print(Y);
if (sum(X) > 5) Y = X; else Y = X + as.T(1); print(Y);
if (sum(X) > 5) Y = X * as.T(2); else Y = -X; print(Y);
print(sum(X) > 5 ? X : X + as.T(1));
Y = X; Y[0, 0] = [as.T(1)]; print(Y); print(X);"""
HEAD = """def times(A) { return A * 3; }
def twice(a) { return a + a; }
def down(A, n: si64) -> matrix, si64 { if (n == 0) return A, 0; B, m = down(A * as.T(2), n - 1); return B, m + 1; }
"""
WAYS = [["-O0"], ["-O2", "--threads", "4"]]


def script(value, cells, rows, columns):
    others = [c * 2 if i % 3 else 0 for i, c in enumerate(cells)]
    others[-1] = 6 if sum(cells) else 0
    lines = ["%s = as.%s([%s](%d, %d));" % (name, value, ", ".join(map(str, numbers)), rows, columns)
             for name, numbers in (("X", cells), ("Y", others))]
    lines += ["zero = as.%s(sum(X) - sum(X));" % value, "one = zero + as.%s(1);" % value]
    for e in EXPRESSIONS + (OF_SQUARES if rows == columns else []):
        if e.strip().startswith("down"):
            lines.append("D, n = %s; print(D); print(n);" % e)
        else:
            lines.append("print(%s);" % e.strip())
    text = HEAD.replace("-> matrix,", "-> matrix<%s>," % value) + "\n".join(lines) + "\n" + CONTROL
    if value.startswith("ui"):  # no negative numbers
        text = text.replace("print(X - 1);", "").replace("Y = -Y;", "Y = Y * as.T(1);").replace("Y = -X;", "Y = X * as.T(3);")
    return text.replace("as.T(", "as.%s(" % value)


def run(cli, text, options):
    done = subprocess.run([cli, "--lang", "daphne", *options, "-e", text], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def plain(result):
    """What is not stored is 0, not -0."""
    code, printed, said = result
    return code, re.sub(r"-0\b(?!\.)", "0", printed).replace("CSRMatrix", "DenseMatrix"), said


def reads_sparse(cli, folder):
    """A file whose `.meta` says that few cells are not zero; one that doesn't."""
    for name, more in ("few.csv", {"numNonZeros": 2}), ("any.csv", {}):
        (folder / name).write_text("0,0,1.5,0,0\n0,0,0,0,-2\n")
        (folder / (name + ".meta")).write_text(json.dumps({"numRows": 2, "numCols": 5, "valueType": "f64"} | more))
        text = 'X = readMatrix("%s"); print(X); print(t(X) * 2.0);' % (folder / name)
        kind = "CSR" if more else "Dense"
        cells = "%sMatrix(2x5, double)\n0 0 1.5 0 0\n0 0 0 0 -2\n%sMatrix(5x2, double)\n0 0\n0 0\n3 0\n0 0\n0 -4\n" % (kind, kind)
        found = run(cli, text, ["--select-matrix-repr"])
        if found != (0, cells, "") or run(cli, text, []) != (0, cells.replace("CSR", "Dense"), ""):
            print(name, *found)
            return False
    return True


def reads_csv(cli, folder):
    """The cells of a CSV file that are not zero, without a dense matrix, and the same on any number of threads."""
    good = True

    def expect(name, text, value, rows, columns, printed, code=0, more=""):
        nonlocal good
        (folder / name).write_text(text)
        describe(folder / name, rows, columns, value, 0)
        script = 'X = readMatrix("%s"); %s' % (folder / name, more or "print(X);")
        for options in (["--threads", "1"], ["--threads", "4"]):
            found = run(cli, script, options + ["--select-matrix-repr", "--memory-limit", "40MB"])
            if found[0] != code or (found[1] != printed if code == 0 else printed not in found[2]):
                print(name, options, *found)
                good = False

    head = "CSRMatrix(3x3, %s)\n"
    expect("small.csv", '0,"1",0\n,-0.0,nan\n0,x,2.5,7\n9,9,9\n', "f64", 3, 3, head % "double" + "0 1 0\nnan 0 nan\n0 nan 2.5\n")
    expect("whole.csv", "0,0,300\n-1,0,0.9\n\n0,0,7", "ui8", 3, 3, head % "uint8_t" + "0 0 44\n255 0 0\n0 0 7\n")
    expect("none.csv", "0,0\n0,0\n", "f32", 2, 2, "CSRMatrix(2x2, float)\n0 0\n0 0\n")
    expect("short.csv", "0,0,1\n0,1\n0,0,0\n", "f64", 3, 3, "row 2: the row has 2 of 3 fields", 3)
    expect("few.csv", "0,0,1\n", "f64", 2, 3, "it has 1 rows, not 2", 3)
    # of several pieces; dense it would take 64 MB. One has a quotation mark that opens nothing: its rows are found again
    n, width = 4000, 2000
    cells = {(i * 7 % n, i * 31 % width): i % 5 + 1 for i in range(0, 6000)}
    rows = [["0"] * width for _ in range(n)]
    for (i, j), cell in cells.items():
        rows[i][j] = str(cell)
    sums = 'print(typeOf(X)); print(sum(X)); print(sum(seq(1, %d) * sum(X, 0))); print(sum(X @ seq(1, %d)));' % (n, width)
    total = [sum(cells.values()), sum((i + 1) * c for (i, _), c in cells.items()), sum((j + 1) * c for (_, j), c in cells.items())]
    wanted = "CSRMatrix(4000x2000, int64_t)\n%d\n%d\n%d\n" % tuple(total)
    for name, first in ("large.csv", "0"), ("marks.csv", '0"'):
        rows[1][0] = first
        expect(name, "".join(",".join(row) + "\n" for row in rows), "si64", n, width, wanted, 0, sums)
    return good


def describe(path, rows, columns, value, cells):
    pathlib.Path(str(path) + ".meta").write_text(
        json.dumps({"numRows": rows, "numCols": columns, "valueType": value, "numNonZeros": cells}))


def binary(rows, columns, blocks):
    """In DAPHNE's format, of si64: blocks of (row, column, height, width, cells by rows)."""
    data = struct.pack("<BBQQB", 1, 2, rows, columns, 8)
    for row, column, height, width, cells in blocks:
        data += struct.pack("<QQIIBBQ", row, column, height, width, 2, 8, sum(map(len, cells)))
        for one in cells:
            data += struct.pack("<I", len(one)) + b"".join(struct.pack("<Iq", *c) for c in one)
    return data


def reads_cells(cli, folder):
    """Files of few cells become sparse matrices without a dense one, and the same as dense ones."""
    head = "%%MatrixMarket matrix "
    good = binary(3, 4, [(0, 1, 2, 3, [[(2, 7)], []]), (2, 0, 1, 4, [[(3, 4), (0, -5)]])])
    small = [("s.mtx", head + "coordinate integer symmetric\n5 5 5\n1 1 3\n4 2 5\n3 1 2\n3 1 7\n5 5 0\n", 5, 5, "si64",
              "3 0 7 0 0\n0 0 0 5 0\n7 0 0 0 0\n0 5 0 0 0\n0 0 0 0 0\n"),
             ("k.mtx", head + "coordinate real skew-symmetric\n2 2 1\n2 1 1.5\n", 2, 2, "f64", "0 -1.5\n1.5 0\n"),
             ("a.mtx", head + "array real general\n2 5\n0\n0\n1\n0\n0\n0\n0\n0\n0\n2\n", 2, 5, "f64", "0 1 0 0 0\n0 0 0 0 2\n"),
             ("b.dbdf", good, 3, 4, "si64", "0 0 0 7\n0 0 0 0\n-5 0 0 4\n"),
             ("short.dbdf", good[:-3], 3, 4, "si64", "it ends too early"),
             ("wide.dbdf", binary(1, 4, [(0, 1, 1, 3, [[(3, 1)]])]), 1, 4, "si64", "a cell lies outside of its block"),
             ("out.mtx", head + "coordinate real general\n2 2 1\n3 1 1\n", 2, 2, "f64", "outside of the matrix"),
             ("few.mtx", head + "coordinate real general\n2 2 2\n1 1 1\n", 2, 2, "f64", "it has 1 of 2 entries")]
    good = True
    for name, data, rows, columns, value, cells in small:
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        describe(folder / name, rows, columns, value, 0)
        for options, kind in ([], "Dense"), (["--select-matrix-repr"], "CSR"):
            code, printed, said = run(cli, 'print(readMatrix("%s"));' % (folder / name), options)
            right = printed.partition("\n")[2] == cells and printed.startswith(kind) if code == 0 else code == 3 and cells in said
            if not right:
                print(name, options, code, printed, said)
            good &= right
    n = 20000
    rows = [((i * 7919) % n + 1, (i * 104729) % n + 1, i % 9 + 1) for i in range(4000)]
    (folder / "big.mtx").write_text(head + "coordinate real general\n%d %d 4000\n" % (n, n) + "".join("%d %d %d\n" % r for r in rows))
    describe(folder / "big.mtx", n, n, "f64", 4000)
    found = run(cli, 'X = readMatrix("%s"); print(typeOf(X)); print(sum(X)); print(sum(X + X));' % (folder / "big.mtx"),
                ["--select-matrix-repr", "--memory-limit", "64MB"])
    total = sum({r[:2]: r[2] for r in rows}.values())
    if found != (0, "CSRMatrix(20000x20000, double)\n%d\n%d\n" % (total, 2 * total), ""):
        print("big.mtx", total, *found)
        good = False
    found = run(cli, 'write(fill(1.0, 0, 2), "{0}"); print(readMatrix("{0}"));'.format(folder / "empty.dbdf"), [])
    if found != (0, "DenseMatrix(0x2, double)\n", ""):
        print("empty.dbdf", *found)
        good = False
    cells = [(2, (i * 7919) % 90001 + 1, i % 7 + 1) for i in range(150000)]  # a long row, in which later cells replace others
    (folder / "long.mtx").write_text(head + "coordinate real general\n5 100000 150000\n" + "".join("%d %d %d\n" % c for c in cells))
    describe(folder / "long.mtx", 5, 100000, "f64", 90001)
    kept = {c[1]: c[2] for c in cells}
    text = 'X = readMatrix("%s"); print(typeOf(X)); print(as.si64(sum(X))); print(as.si64(sum(X @ seq(1.0, 100000.0))));'
    found = run(cli, text % (folder / "long.mtx"), ["--select-matrix-repr"])
    sums = sum(kept.values()), sum(j * cell for j, cell in kept.items())
    if found != (0, "CSRMatrix(5x100000, double)\n%d\n%d\n" % sums, ""):
        print("long.mtx", sums, *found)
        good = False
    wide = 2**62
    (folder / "wide.mtx").write_text(head + "coordinate real general\n4 %d 1\n1 1 5\n" % wide)
    describe(folder / "wide.mtx", 4, wide, "f64", 1)
    for made in ['readMatrix("%s")' % (folder / "wide.mtx"), "rbind(X, X)", "cbind(X, X)", "t(X[0, ]) @ X[0, ]"]:
        text = "X = fill(0.0, 3, 3000000000000000000); print(ncell(X)); print(aggMin(%s));" % made
        found = run(cli, text, ["--select-matrix-repr", "--memory-limit", "64MB"])
        if found[:2] != (3, "9000000000000000000\n"):
            print("wide", made, *found)
            good = False
    return good


def writes_cells(cli, folder):
    """Sparse matrices are written from the cells that they store, and read back; in memory for these alone."""
    good = True

    def expect(name, found, expected):
        nonlocal good
        if found != expected:
            print(name, found, expected)
            good = False
    cells, rows, columns = SHAPES[0]
    for value, code, pack in ("si64", 8, "<q"), ("f64", 10, "<d"), ("ui8", 1, "<B"):
        for name in "w.dbdf", "w.csv", "w.parquet":
            path = folder / name
            text = 'X = as.%s([%s](%d, %d)); write(X * as.%s(1), "%s"); Y = readMatrix("%s"); print(Y); print(as.si64(sum(Y - X)));' % (
                value, ", ".join(map(str, cells)), rows, columns, value, path, path)
            dense, sparse = (run(cli, text, options) for options in ([], ["--select-matrix-repr"]))
            if dense[0] == 3 and name == "w.parquet" and "needs a build with Apache Arrow" in dense[2]:
                continue
            expect(name, (sparse[0], plain(sparse)), (0, plain(dense)))
            expect(name, sparse[1].startswith("CSRMatrix"), True)
            if name == "w.dbdf":
                stored = [[(j, cells[i * columns + j]) for j in range(columns) if cells[i * columns + j]] for i in range(rows)]
                body = b"".join(struct.pack("<I", len(row)) + b"".join(struct.pack("<I", j) + struct.pack(pack, c) for j, c in row) for row in stored)
                head = struct.pack("<BBQQB", 1, 2, rows, columns, code) + struct.pack("<QQIIBBQ", 0, 0, rows, columns, 2, code, sum(map(len, stored)))
                expect(name, path.read_bytes(), head + body)
                expect(name, json.loads((folder / "w.dbdf.meta").read_text()),
                       {"numRows": rows, "numCols": columns, "valueType": value, "numNonZeros": sum(map(len, stored))})
            elif name == "w.csv":
                zero, one = ("0.000000", "%.6f") if value == "f64" else ("0", "%d")
                expect(name, path.read_text(), "".join(",".join(one % c if c else zero for c in cells[i * columns:(i + 1) * columns]) + "\n" for i in range(rows)))
    for shape in ("0, 3", "3, 0"):
        expect(shape, run(cli, 'write(fill(0.0, %s), "%s"); print("written");' % (shape, folder / "none.csv"), ["--select-matrix-repr"]), (0, "written\n", ""))
        expect(shape, (folder / "none.csv").read_text(), "" if shape[0] == "0" else "\n\n\n")
    text = 'X = rand(20000, 20000, 1.0, 2.0, 0.00001, 7); write(X, "%s"); Y = readMatrix("%s"); print(typeOf(Y)); print(sum(X != Y)); print(sum(Y != 0.0));'
    expect("big.dbdf", run(cli, text % (folder / "big.dbdf", folder / "big.dbdf"), ["--select-matrix-repr", "--memory-limit", "64MB"]),
           (0, "CSRMatrix(20000x20000, double)\n0\n4000\n", ""))
    text = 'X = rand(2000, 2000, 1.0, 2.0, 0.001, 7); write(X, "%s"); print("written");'  # 32 MB of cells
    expect("big.csv", run(cli, text % (folder / "big.csv"), ["--select-matrix-repr", "--memory-limit", "16MB"]), (0, "written\n", ""))
    wide = 3 * 2**30 + 5  # a block of the binary format has 2^30 columns at most
    (folder / "wide.mtx").write_text("%%%%MatrixMarket matrix coordinate real general\n2 %d 3\n1 %d 5\n2 1 7\n1 %d 2\n" % (wide, wide, 2**31 + 3))
    describe(folder / "wide.mtx", 2, wide, "f64", 3)
    text = 'X = readMatrix("%s"); write(X, "%s"); Y = readMatrix("%s"); print(as.si64(sum(Y))); print(sum(X != Y)); print(Y[0, -1]);'
    expect("wide.dbdf", run(cli, text % (folder / "wide.mtx", folder / "wide.dbdf", folder / "wide.dbdf"), ["--select-matrix-repr", "--memory-limit", "64MB"]),
           (0, "14\n0\nCSRMatrix(1x1, double)\n5\n", ""))
    return good


def main():
    cli, part = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as folder:
        failures = sum(not reads(cli, pathlib.Path(folder)) for reads in (reads_sparse, reads_csv, reads_cells, writes_cells))
    cases = [(t, *s) for t in TYPES for s in SHAPES if t == "f64" or s == SHAPES[1]]
    for i, case in enumerate(cases):
        if part not in str(case):
            continue
        text = script(*case)
        expected = run(cli, text, WAYS[i % 2])
        found = run(cli, text, WAYS[1 - i % 2] + ["--select-matrix-repr"])
        count = found[1].count("CSRMatrix")
        if expected[0] == 0 and plain(found) == plain(expected) and count > 40:
            continue
        failures += 1
        print(f"{case}: exit code {found[0]}, {count} sparse matrices\n{found[2]}{expected[2]}")
        for mine, other in zip(plain(found)[1].split("\n"), plain(expected)[1].split("\n")):
            if mine != other:
                print("found", mine, "expected", other)
    print(f"{len(cases)} scripts, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
