#!/usr/bin/env python3
"""Runs weld-cli as its users do: what it prints, where, and its exit codes. Usage: cli_test.py WELD_CLI [unittest options]"""
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CLI = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "weld-cli"
SUM = "|v: vec[i64]| result(for(v, merger[i64,+], |b, i, x| merge(b, x)))"
FOREVER = "|n: i64| iterate(n, |x| {x + 1L, x >= 0L})"
LONG_COUNTS = "|n: i64| result(for(rangeiter(0L, n, 1L), vecmerger[i64,+]([0L, 0L]), |b, i, x| merge(b, {x & 1L, 1L})))"
LONG_LOOP = "|n: i64| result(for(rangeiter(0L, n, 1L), merger[f64,+], |b, i, x| merge(b, sin(f64(x)))))"


class Run:
    """One call of the tool."""

    def __init__(self, *args, stdin=None, timeout=600, cwd=None):
        p = subprocess.run([CLI, *args], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                           cwd=cwd)
        self.code = p.returncode
        self.raw = p.stdout
        self.out = p.stdout.decode("utf-8", "replace")
        self.err = p.stderr.decode("utf-8", "replace")


def processor_seconds(pid):
    """What a process, of which nobody has waited for the end, took so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def npy(dtype, values, shape=None, fortran=False):
    """A .npy file of version 1."""
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (dtype, fortran, shape or (len(values),))
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    letter = {"<i8": "q", "<i4": "i", "<f8": "d", "<f4": "f", "|b1": "B", "|i1": "b"}[dtype]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
        "<%d%s" % (len(values), letter), *values)


def read_npy(path):
    """(dtype, shape, elements) of a file that the tool wrote."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + size].decode(), {"__builtins__": {}})
    letter = {"i8": "q", "i4": "i", "f8": "d", "f4": "f", "b1": "B", "i1": "b"}[header["descr"][1:]]
    body = data[10 + size:]
    return header["descr"], header["shape"], list(struct.unpack("<%d%s" % (len(body) // struct.calcsize(letter), letter),
                                                                body))


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weld-cli-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=None):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())
        return path

    def result(self, *args, **more):
        run = Run(*args, **more)
        self.assertEqual((run.code, run.err), (0, ""), args)
        self.assertEqual(run.out.count("\n"), 1)
        return run.out[:-1]

    def value(self, program, *args):
        return json.loads(self.result("--json", "-e", program, *args))

    def fails(self, code, pattern, *args, **more):
        run = Run(*args, **more)
        self.assertEqual(run.code, code, (args, run.err))
        self.assertRegex(run.err, pattern)
        self.assertEqual(run.out, "")
        return run

    # ---- where programs come from


class CliTest(Case):
    def test_programs_from_files_text_and_standard_input(self):
        self.assertEqual(self.result(self.path("p.weld", "1 + 2\n")), "3")
        self.assertEqual(self.result("-e", "-1 + 3"), "2")
        self.assertEqual(self.result("--expr", "1 + 2"), "3")
        self.assertEqual(self.result("-", "5", stdin=b"|x: i64| x + 1L"), "6")
        self.assertEqual(self.result("--lang", "weld", self.path("noending", "|a: i32| 0 - a"), "-7"), "7")

    def test_scripts_that_do_not_parse(self):
        for name in ("s.daphne", "s.daph"):
            path = self.path(name, "x = 1;\nprint(x;\ny = (2;\n")
            self.fails(1, r"s\.daph(ne)?:2:8: error: .*\n.*\n.*\n.*s\.daph(ne)?:3:7: error: ", path)
        self.fails(1, r"<expr>:1:7: error: ", "--lang", "daphne", "-e", "print(;")
        self.fails(1, r"<stdin>:1:5: error: ", "--lang", "daphne", "-", stdin=b"x = ;")

    def test_arguments_of_scripts(self):
        script = ("--lang", "daphne", "-e", "print($n;")
        self.fails(1, r"error: script argument `n` is given twice\n", "--args", "m=1,n=1", *script, "n=2")
        self.fails(1, r"error: script argument `verbose`: expected `name=value`\n", *script, "verbose")
        self.fails(1, r"error: script argument `n`: `1\+2` is no literal\n", *script, "n=1+2")
        self.fails(1, r"error: script argument `s`: `hello` is no literal\n", *script, "s=hello")
        self.fails(2, r"--args: only scripts", "--args", "n=1", "-e", "1")

    def test_imports_of_scripts(self):
        """From folders and libraries of `--config`."""
        folder = pathlib.Path(self.folder.name)
        for name, text in (("own/s.daphne", 'import "near.daphne";\nimport "far.daphne";\nprint(near.x + far.x);'),
                           ("own/near.daphne", "x = 1;"), ("shared/far.daphne", "x = 10;"), ("other/near.daphne", "x = 3;"),
                           ("own/l.daphne", 'import "lib";\nimport "lib" as "m";\nprint(lib.a.f(2) + lib.b.x);'),
                           ("own/m.daphne", 'import "lib" as "m";\nprint(m.a.f(2));'),
                           ("l1/a.daphne", "def f(n) { return n * 100; }"), ("l2/b.daph", 'import "c.daph";\nx = c.x + 1;'),
                           ("l2/c.daph", "x = 5;"), ("l2/notes.txt", "no script")):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)

        def config(text):
            (folder / "c.json").write_text(text)
            return "--config", str(folder / "c.json")

        def paths(**paths):
            return config(json.dumps({"daphnedsl_import_paths":
                                      {name: [str(folder / f) for f in folders] for name, folders in paths.items()}}))
        s, l, m = (str(folder / "own" / f"{name}.daphne") for name in "slm")
        self.assertEqual(self.result(*paths(default_dirs=["shared"]), s), "11")
        self.fails(1, r"s\.daphne:2:8: error: cannot read `.*far\.daphne`", s)
        self.fails(1, r"s\.daphne:2:8: error: cannot read `.*far\.daphne`", "--config", str(folder / "none.json"), s)
        self.fails(1, r"s\.daphne:1:8: error: `near\.daphne` is there twice: ", *paths(default_dirs=["shared", "other"]), s)
        self.assertEqual(self.result(*paths(lib=["l1", "l2"]), m), "200")
        self.fails(1, r"l\.daphne:2:8: error: `lib` has been imported before", *paths(lib=["l1", "l2"]), l)
        self.fails(1, r"l\.daphne:1:8: error: cannot read `.*lib`", *paths(other=["l1", "l2"]), l)
        # scripts of a library that are in parts: one after the other, with what those before have defined
        for name, text in (("own/n.daphne", 'import "lib" as "k";\nprint(k.c.F);\nprint(k.a.f(k.b.n));'),
                           ("l3/a.daphne", 'print("a");\ndef f(n) { F = createFrame([n], "a" + sum([n])); return F; }\nG = f(1);'),
                           ("l3/b.daphne", 'import "../l4/d.daphne";\nprint("b");\nn = d.n + 1;'), ("l3/c.daphne", 'F = createFrame([2], "c" + sum([3]));'),
                           ("l4/d.daphne", 'F = createFrame([7], "d" + sum([7]));\nprint(F);\nn = sum(as.matrix(F));')):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        n = str(folder / "own" / "n.daphne")
        run = Run(*paths(lib=["l3"]), n)
        self.assertEqual((run.code, run.out, run.err), (0, "a\nFrame(1x1, [d7:int64_t])\n7\nb\nFrame(1x1, [c3:int64_t])\n2\n"
                                                        "Frame(1x1, [a8:int64_t])\n8\n", ""))
        (folder / "l3/c.daphne").write_text('F = createFrame([2], "c" + sum([3]));\nprint(F[, "d" + sum([3])]);')
        run = Run(*paths(lib=["l3"]), n)
        self.assertEqual((run.code, run.out), (3, "a\nFrame(1x1, [d7:int64_t])\n7\nb\n"))
        self.assertRegex(run.err, r"c\.daphne:2:11: error: the frame has no column `d3`")
        for wrong, said in (("{", "it is no JSON object"), ("[]", "it is no JSON object"), ('{"threads": 1}', "there is no setting `threads`"),
                            ('{"use_cuda": 1}', "`use_cuda` is true or false"), ('{"numberOfThreads": "2"}', "`numberOfThreads` is a whole number"),
                            ('{"taskPartitioningScheme": "FAST"}', "is the name of a partitioning"),
                            ('{"daphnedsl_import_paths": {"a": "b"}}', "is an object with lists of folders"),
                            ('{"daphnedsl_import_paths": {"a": ["/none"]}}', "library `a`: no folder `/none`")):
            self.fails(1, r"^weld-cli: error: .*c\.json: .*" + re.escape(said), *config(wrong), m)
        for share, kind in ((0.25, "CSR"), (0.1, "Dense"), (1, "CSR"), (0, "Dense")):
            script = "print(typeOf(diagMatrix(fill(1, 5, 1))));"
            self.assertEqual(self.result(*config('{"sparsity_threshold": %s}' % share), "--select-matrix-repr", "--lang", "daphne", "-e", script),
                             f"{kind}Matrix(5x5, int64_t)")
        self.fails(1, r"`sparsity_threshold` is a number from 0 to 1", *config('{"sparsity_threshold": 2}'), "--lang", "daphne", "-e", "print(1);")
        more = '{"use_vectorized_exec": true, "libdir": "x", "explain_llvm": false, "sparsity_threshold": 0.5, "numberOfThreads": 1, "logging": []}'
        self.assertEqual(self.result(*config(more), "--lang", "daphne", "-e", "print(1);"), "1")

    def test_catalogs_of_kernels(self):
        kernel = {"opMnemonic": "sumAll", "kernelFuncName": "mySum", "resTypes": ["float"], "argTypes": ["DenseMatrix<float>"],
                  "backend": "CPP", "libPath": "libmine.so"}
        script = ("--lang", "daphne", "-e", "print(sum::mySum([1.0f, 2.0f]));")

        def catalog(*kernels, end=""):
            return "--kernel-ext", self.path("kernels.json", json.dumps(kernels)) + end
        unknown = r"<expr>:1:12: error: there is no kernel `mySum` for `sum`"
        self.fails(1, unknown, *script)
        self.fails(1, unknown, *catalog(), *script)
        add = dict(kernel, opMnemonic="ewAdd")
        self.fails(1, r"<expr>:1:12: error: `mySum` is a kernel of `ewAdd`, and none of `sumAll`", *catalog(add), *script)
        for end in "", ":3", ":-1":
            done = Run(*catalog(add, kernel, end=end), *script)
            self.assertEqual((done.code, done.out), (0, "3\n"))
            self.assertRegex(done.err, r"^<expr>:1:12: warning: kernels of catalogs do not run yet: `sum` is done without `mySum`")
        for end in ":", ":x", ":1.5", ":99999999999":
            self.fails(2, r"^weld-cli: error: --kernel-ext: expected a whole number for the priority, found `" + end[1:] + "`", *catalog(end=end), *script)
        self.fails(2, r"^weld-cli: error: --kernel-ext: cannot read `.*none\.json`: no such file", "--kernel-ext=/none.json", *script)
        self.fails(2, r"--kernel-ext: expected a file", "--kernel-ext=:1", *script)
        for wrong, said in (({}, "kernel 2 has no `opMnemonic`"), (1, "kernel 2 is no object"), (dict(kernel, backend="GPU"), '`backend` of kernel 2 is "CPP"'),
                            (dict(kernel, argTypes="float"), "`argTypes` of kernel 2 is a list of names"), (dict(kernel, libPath=""), "`libPath` of kernel 2 is the path")):
            self.fails(1, r"^weld-cli: error: .*kernels\.json: " + said, *catalog(kernel, wrong), *script)
        for text in "", "{", "{}", "[":
            self.fails(1, r"kernels\.json: it is no JSON array", "--kernel-ext", self.path("kernels.json", text), *script)

    def test_labels_of_files(self):
        path = self.path("f.csv", "1,2\n")
        self.path("f.csv.meta", '{"numRows": 1, "numCols": 2, "schema": [{"label": "a", "valueType": "f64"}, {"label": "a", "valueType": "si64"}]}')
        self.fails(1, r"<expr>:1:17: error: `.*f\.csv\.meta`: a frame cannot have two columns `a`", "--lang", "daphne", "-e",
                   f'print(readFrame("{path}"));')

    def test_missing_programs(self):
        self.fails(2, r"^weld-cli: error: cannot read `.*none.weld`: No such file", self.path("none.weld"))
        self.fails(2, r"^weld-cli: error: .*Is a directory", self.folder.name)
        self.fails(2, r"^weld-cli: error: no program", stdin=b"")
        self.fails(2, r"^weld-cli: error: --lang", "--lang", "cobol", "-e", "1")
        self.fails(1, r"^<stdin>:1:1: error: ", "-", stdin=b"")

    # ---- arguments

    def test_functions_of_programs(self):
        fib = "def fib(n: i64): i64 = if(n < 2L, n, fib(n - 1L) + fib(n - 2L)); fib(20L)"
        depth = "def depth(n: i64): i64 = if(n == 0L, 0L, 1L + depth(n - 1L)); |v: vec[i64]| map(v, |x| depth(x))"
        count = "def count(n: i64, s: i64): i64 = if(n == 0L, s, count(n - 1L, s + n)); |n: i64| count(n, 0L)"
        for level in "0", "2":
            for threads in "1", "4":
                options = ["--threads", threads, "--set", "weld.optimization.level=" + level, "-e"]
                self.assertEqual(self.result(*options, fib), "6765")
                self.assertEqual(self.result(*options, depth, "[1, 1000000, 3]"), "[1, 1000000, 3]")
                self.assertEqual(self.result(*options, count, "10000000"), "50000005000000")
        endless = "def f(n: i64): i64 = 1L + f(n + 1L); f(0L)"
        self.fails(3, r"<expr>:1:5: error: the recursion is too deep for the stack", "-e", endless)
        cache = self.path("cache")
        for _ in range(2):
            self.assertEqual(self.result("--cache", cache, "-e", depth, "[200000]"), "[200000]")

    def test_many_functions_that_are_called_once(self):
        row = "".join(f"def fun{i}(x: i64): i64 = {i}L + fun{i + 1}(x + 1L);\n" for i in range(1000))
        ring = "".join(f"def fun{i}(x: i64): i64 = if(x == 0L, {i}L, fun{(i + 1) % 1000}(x - 1L));\n" for i in range(1000))
        deep = "".join(f"def fun{i}(x: i64): i64 = if(x == 0L, {i}L, 1L + fun{(i + 1) % 300}(x - 1L));\n" for i in range(300))
        self.assertEqual(self.result("-e", row + "def fun1000(x: i64): i64 = x;\n|x: i64| fun0(x)", "5"), "500505")
        self.assertEqual(self.result("-e", ring + "|x: i64| fun0(x)", "10000123"), "123")
        self.assertEqual(self.result("-e", deep + "|v: vec[i64]| map(v, |x| fun0(x))", "[0, 1, 299, 300000]"), "[0, 2, 598, 300000]")

    def test_what_only_passes_may_say_is_nothing_that_programs_say(self):
        # a wrong size, and tiles of a loop that has none
        text = ("|x: vec[i64]| result(@(tile:8) for(x, @(size:given) appender[i64](3L), |b, i, e|"
                " for(x, b, |d, j, g| if(g > 1L, merge(d, e), d))))")
        self.assertEqual(self.result("-e", text, "[1, 2]"), "[1, 2]")

    def test_arguments_take_the_types_of_parameters(self):
        self.assertEqual(self.value("|x: i8| x", "5"), 5)
        self.assertEqual(self.result("-e", "|x: f64| x", "5"), "5.0")
        self.assertEqual(self.value(SUM, "[1,2,3]"), 6)
        self.assertEqual(self.value("|a: i64, b: f64| f64(a) + b", "-5", "0.5"), -4.5)
        self.assertEqual(self.value("|s: vec[i8]| len(s)", '"gr\u00fc\u00df"'), 6)
        self.assertEqual(self.value("|x: {i64, {bool, vec[f32]}}| x.$1.$1", "{1, {true, [1, 2.5]}}"), [1.0, 2.5])
        self.assertEqual(self.value("|x: f64| x", "1e-3"), 0.001)
        self.assertEqual(self.result("--json", "-e", "|x: vec[f64]| x", "[NaN, -Infinity]"), "[NaN, -Infinity]")

    def test_wrong_arguments(self):
        error = "^weld-cli: error: "
        self.fails(2, error + r"argument 1, `x`: `300` does not fit `i8`", "-e", "|x: i8| x", "300")
        self.fails(2, error + r"the program takes 1 argument, 0 given", "-e", "|x: i8| x")
        self.fails(2, error + r"the program takes 0 arguments, 1 given", "-e", "1", "2")
        self.fails(2, error, "-e", "|x: i32| x", "1.5")
        self.fails(2, error, "-e", "|x: i32| x", "abc")
        self.fails(2, error, "-e", "|x: vec[i32]| x", "[1, true]")
        self.fails(2, error + ".*`dict", "-e", "|x: dict[i64,i64]| len(x)", "{}")
        self.fails(2, error + ".*`simd", "-e", "|x: simd[i64]| 1", "1")
        self.fails(2, error + ".*`appender", "-e", "|x: appender[i64]| result(x)", "1")

    def test_arrays_from_files(self):
        longs = self.path("l.npy", npy("<i8", [1, 2, 3, 4, 5, 6]))
        self.assertEqual(self.value(SUM, "@" + longs), 21)
        grid = self.path("g.npy", npy("<f4", [1, 2, 3, 4, 5, 6], (2, 3)))
        self.assertEqual(self.value("|m: vec[vec[f32]]| m", "@" + grid), [[1, 2, 3], [4, 5, 6]])
        bools = self.path("b.npy", npy("|b1", [1, 0, 1]))
        self.assertEqual(self.value("|v: vec[bool]| v", "@" + bools), [True, False, True])
        empty = self.path("e.npy", npy("<i8", []))
        self.assertEqual(self.value(SUM, "@" + empty), 0)

    def test_wrong_array_files(self):
        error = "^weld-cli: error: argument 1, `v`: "
        longs = self.path("l.npy", npy("<i8", [1, 2, 3]))
        self.fails(2, error, "-e", "|v: vec[i32]| v", "@" + longs)
        self.fails(2, error, "-e", "|v: vec[vec[i64]]| v", "@" + longs)
        self.fails(2, error + "expected the name", "-e", "|v: vec[i64]| v", "@")
        self.fails(2, error + "cannot read", "-e", "|v: vec[i64]| v", "@" + self.path("none.npy"))
        cut = self.path("c.npy", npy("<i8", [1, 2, 3])[:-1])
        self.fails(2, error + ".*ends after 2", "-e", "|v: vec[i64]| v", "@" + cut)
        scalar = self.path("s.npy", npy("<i8", [1], "()"))
        self.fails(2, error, "-e", "|v: vec[i64]| v", "@" + scalar)

    def test_tables(self):
        table = self.path("t.csv", 'id,price,name\n1,2.5,plain\n2,,"a ""quoted"", one"\n')
        program = "|v: {vec[i64], vec[f64], vec[vec[i8]]}| v"
        self.assertEqual(self.result("-e", program, "@" + table),
                         r'{[1, 2], [2.5, NaN], ["plain", "a \"quoted\", one"]}')
        self.fails(2, "^weld-cli: error: .*3 columns, the parameter 1 field", "-e", "|v: {vec[i64]}| v", "@" + table)
        self.fails(2, "^weld-cli: error: argument 1, `v`: .*bad.csv:3: column 1, `a`: `x` is not a value of type `i64`\n$",
                   "-e", "|v: {vec[i64]}| v", "@" + self.path("bad.csv", "a\r\n1\r\nx\r\n"))

    def test_columns_by_name(self):
        table = "@" + self.path("t.csv", "count,price\n1,2.5\n2,3.5\n")
        self.assertEqual(self.result("-e", "|price: vec[f64], count: vec[i64]| {price, count}", table, table),
                         "{[2.5, 3.5], [1, 2]}")
        self.fails(2, "t.csv:1: no column is called `cost`; there are `count`, `price`", "-e", "|cost: vec[f64]| cost", table)
        self.fails(2, "t.csv:1: 2 columns are called `x`", "-e", "|x: vec[i64]| x", "@" + self.path("t.csv", "x,x\n1,2\n"))
        # What the tool itself writes calls the fields of a struct c0, c1.
        written = "@" + self.path("w.csv", "c1,c0\n1,2.5\n")
        self.assertEqual(self.result("-e", "|t: {vec[f64], vec[i64]}| t", written), "{[2.5], [1]}")
        self.fails(2, "w.csv:2: column 2, `c0`: `2.5` is not a value", "-e", "|t: {vec[i64], vec[f64]}| t", written)
        self.assertEqual(self.result("-e", "|v: vec[i64]| v", "@" + self.path("o.csv", "c0\n1\n2\n")), "[1, 2]")

    def test_tables_without_names(self):
        data = "reads as data"
        numbers = "@" + self.path("t.csv", "1,2.5\n2,3.5\n")
        self.fails(2, "t.csv:1: the first row " + data, "-e", "|t: {vec[i64], vec[f64]}| t", numbers)
        self.fails(2, "t.csv:1: the first row " + data, "--json", "-e", "|t: {vec[i64], vec[vec[i8]]}| t", numbers)
        self.fails(2, data, "-e", "|v: vec[f64]| v", "@" + self.path("v.csv", "1\n2\n"))
        self.fails(2, data, "-e", "|t: {vec[bool]}| t", "@" + self.path("b.csv", "true\nfalse\n"))
        quoted = "@" + self.path("q.csv", '"2024","2025"\n1,2.5\n')
        self.assertEqual(self.result("-e", "|t: {vec[i64], vec[f64]}| t", quoted), "{[1], [2.5]}")
        index = "@" + self.path("i.csv", ",0\n5,2.5\n")  # names of which not all are numbers
        self.assertEqual(self.result("-e", "|t: {vec[i64], vec[f64]}| t", index), "{[5], [2.5]}")
        self.fails(2, "e.csv:1: the file is empty", "-e", "|v: vec[f64]| v", "@" + self.path("e.csv", ""))

    def test_rows_of_tables(self):
        text = "|t: {vec[vec[i8]]}| t"
        for table, rows in (("a\n\nx\n", '{["", "x"]}'), ("a\nx\n\n", '{["x", ""]}'), ("a\r\n\r\nx", '{["", "x"]}'),
                            ("\nx\n", '{["x"]}'), ('\ufeffa\n"x\ny"\n', '{["x\\ny"]}'), ("a\n", "{[]}")):
            self.assertEqual(self.result("-e", text, "@" + self.path("t.csv", table)), rows, table)
        pairs = "|t: {vec[i64], vec[f64]}| t"
        for table, rows in (("a,b\n1,\n\n2, \n", "{[1, 2], [NaN, NaN]}"), ("\n\na,b\r\n\r\n1,2", "{[1], [2.0]}")):
            self.assertEqual(self.result("-e", pairs, "@" + self.path("t.csv", table)), rows, table)
        self.assertEqual(self.result("-e", "|v: vec[f64]| v", "@" + self.path("t.csv", "v\n1\n\n2\n")), "[1.0, NaN, 2.0]")
        for table, error in (("a,b\n1,2\n,3\n", "t.csv:3: column 1, `a`: `` is not a value of type `i64`"),
                             ("a,b\n1\n", "t.csv:2: the row has 1 of 2 fields"),
                             ("a,b\n1,2,3\n", "t.csv:2: the row has more than 2 fields"),
                             ("a,b\r1,2\r", "t.csv:1: a carriage return within a field"),
                             ('a,b\n1,2\n"1,2\n3', "t.csv:3: the quoted field is not closed"),
                             ('a,b\n"1"x,2\n', "t.csv:2: text after a quoted field")):
            self.fails(2, re.escape(error), "-e", pairs, "@" + self.path("t.csv", table))

    def test_a_mapped_file_that_shrinks(self):
        count = 1 << 20
        header = npy("<f8", [], (count,))
        path = self.path("v.npy", header)
        os.truncate(path, len(header) + 8 * count)
        p = subprocess.Popen([CLI, "--repeat", "1000000000", "--timing=json", "-e", "|v: vec[f64]| sum(map(v, |x| x + x))",
                              "@" + path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while path not in pathlib.Path("/proc/%d/maps" % p.pid).read_text():
            self.assertIsNone(p.poll())
        os.truncate(path, 4096)
        out, err = p.communicate(timeout=600)
        self.assertEqual((p.returncode, out), (3, b""))
        self.assertEqual(err.decode(), "error: `%s` became shorter or unreadable while the program was using it\n" % path)

    # ---- results

    def test_readable_results(self):
        for program, text in [("[1,2,3]", "[1, 2, 3]"), ("{1, 2.5}", "{1, 2.5}"), ("1.0", "1.0"), ("1.5f", "1.5"),
                              ('"a\\n\\"b"', r'"a\n\"b"'), ('""', '""'), ("true", "true"), ("[]: vec[f64]", "[]"),
                              ("[1c, 2c]", "[1, 2]"), ("u8(200)", "200")]:
            self.assertEqual(self.result("-e", program), text)
        groups = "result(for([3L, 1L, 3L], dictmerger[i64,i64,+], |b, i, x| merge(b, {x, 1L})))"
        self.assertEqual(self.result("-e", groups), "{1: 1, 3: 2}")
        self.assertEqual(self.result("--json", "-e", groups), "[[1, 1], [3, 2]]")

    def test_json_results(self):
        self.assertEqual(self.result("--json", "-e", '"ab"'), "[97, 98]")
        self.assertEqual(self.result("--json", "-e", "{1, {true, 0.1}}"), "[1, [true, 0.1]]")
        self.assertEqual(self.result("--json", "-e", "[1.0/0.0, -1.0/0.0]"), "[Infinity, -Infinity]")
        self.assertEqual(json.loads(self.result("--json", "-e", "0.1 + 0.2")), 0.1 + 0.2)

    def test_results_in_files(self):
        path = self.path("r.npy")
        run = Run("--out", path, "-e", "map([1L, 2L], |x| x * 2L)")
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.assertEqual(read_npy(path), ("<i8", (2,), [2, 4]))
        self.assertEqual(Run("--out", path, "-e", "{[1L], [0.5]}").code, 0)
        self.assertEqual(read_npy(self.path("r.0.npy")), ("<i8", (1,), [1]))
        self.assertEqual(read_npy(self.path("r.1.npy")), ("<f8", (1,), [0.5]))
        table = self.path("r.csv")
        self.assertEqual(Run("--out", table, "-e", '{[1L, 2L], ["x", "y,z"]}').code, 0)
        with open(table, encoding="utf-8") as f:
            self.assertEqual(f.read(), 'c0,c1\n1,x\n2,"y,z"\n')
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["r.0.npy", "r.1.npy", "r.csv", "r.npy"])

    def test_results_that_files_cannot_hold(self):
        never_runs = "let x = assert(false); {%s, x}"
        self.fails(2, "--out: .* cannot hold", "--out", self.path("r.npy"), "-e", never_runs % "{1, {2}}")
        self.fails(2, "--out: .* cannot hold", "--out", self.path("r.csv"), "-e", "1")
        self.fails(2, "--out: .*\\.npy and \\.csv", "--out", self.path("r.txt"), "-e", "1")
        self.fails(2, "--out: .*No such file", "--out", self.path("none/r.npy"), "-e", "1")
        self.fails(3, "differ in length", "--out", self.path("r.npy"), "-e", "[[1], [2, 3]]")
        self.fails(3, "differ in length", "--out", self.path("r.csv"), "-e", "{[1], [2, 3]}")
        self.assertEqual(os.listdir(self.folder.name), [])

    def mode(self, path):
        return os.stat(path).st_mode & 0o777

    def test_files_that_results_replace(self):
        old, link, dangling = self.path("old.npy", "x"), self.path("link.npy"), self.path("dangling.npy")
        os.chmod(old, 0o600)
        self.assertEqual(Run("--out", old, "-e", "[7L]").code, 0)
        self.assertEqual((self.mode(old), read_npy(old)[2]), (0o600, [7]))
        os.mkdir(self.path("below"))
        os.symlink("old.npy", link)
        os.symlink("below/new.npy", dangling)
        before = os.umask(0o027)
        try:
            for path in (link, dangling):
                self.assertEqual(Run("--out", path, "-e", "[8L, 9L]").code, 0)
                self.assertTrue(os.path.islink(path))
        finally:
            os.umask(before)
        self.assertEqual((self.mode(old), read_npy(old)[2]), (0o600, [8, 9]))
        self.assertEqual((self.mode(self.path("below/new.npy")), read_npy(dangling)[2]), (0o640, [8, 9]))
        os.symlink("loop.npy", self.path("loop.npy"))
        self.fails(2, "cannot write .*loop.npy`: Too many levels", "--out", self.path("loop.npy"), "-e", "[1]")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["below", "dangling.npy", "link.npy", "loop.npy", "old.npy"])

    def test_pipes_and_devices_as_results(self):
        for device in ("null", "full", "stdout"):
            os.symlink("/dev/" + device, self.path(device + ".csv"))
        self.assertEqual(Run("--out", self.path("null.csv"), "-e", "[1]").code, 0)
        self.fails(3, "^error: cannot write .*full.csv`: No space left", "--out", self.path("full.csv"), "-e", "[1]")
        self.assertEqual(Run("--out", self.path("stdout.csv"), "-e", "[1]").out, "c0\n1\n")
        with open(self.path("out"), "w+b") as out:  # goes on where it is
            out.write(b"before\n")
            out.flush()
            self.assertEqual(subprocess.call([CLI, "--out", self.path("stdout.csv"), "-e", "[1]"], stdout=out), 0)
            out.seek(0)
            self.assertEqual(out.read(), b"before\nc0\n1\n")
        pipe = self.path("pipe.csv")
        os.mkfifo(pipe)
        p = subprocess.Popen([CLI, "--out", pipe, "-e", "[1]"])
        with open(pipe) as f:
            self.assertEqual(f.read(), "c0\n1\n")
        self.assertEqual(p.wait(), 0)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["full.csv", "null.csv", "out", "pipe.csv", "stdout.csv"])

    def test_several_files_are_written_all_or_none(self):
        files = lambda: {p.name: p.read_bytes() for p in pathlib.Path(self.folder.name).iterdir() if p.is_file()}
        os.mkdir(self.path("o.1.npy"))
        self.fails(2, "o.1.npy`: it is a directory", "--out", self.path("o.npy"), "-e", "{[1.0], [2.0]}")
        self.assertEqual(files(), {})
        os.rmdir(self.path("o.1.npy"))
        for name in ("o.0.npy", "o.2.npy"):
            self.path(name, "old")
        self.fails(3, "o.2.npy`: its inner vectors differ", "--out", self.path("o.npy"), "-e", "{[1], [2], [[1], [2, 3]]}")
        self.assertEqual(files(), {"o.0.npy": b"old", "o.2.npy": b"old"})
        # One that turns out not to be writable when those before it are in their places.
        os.remove(self.path("o.2.npy"))
        os.mkfifo(self.path("o.2.npy"))  # until it is read, nothing else gets its name
        for old in ({"o.0.npy": b"old"}, {}):
            p = subprocess.Popen([CLI, "--out", self.path("o.npy"), "-e", "{[1], [2], [3]}"], stderr=subprocess.PIPE)
            while len([name for name in os.listdir(self.folder.name) if name.startswith(".weld")]) < 2:
                self.assertIsNone(p.poll())
            os.mkdir(self.path("o.1.npy"))
            with open(self.path("o.2.npy"), "rb") as pipe:
                self.assertEqual(pipe.read()[:6], b"\x93NUMPY")
            self.assertIn("o.1.npy`: it is a directory", p.communicate(timeout=600)[1].decode())
            self.assertEqual((p.returncode, files()), (3, old))
            os.rmdir(self.path("o.1.npy"))
            if old:
                os.remove(self.path("o.0.npy"))
        self.assertEqual(os.listdir(self.folder.name), ["o.2.npy"])

    def test_temporary_files_go_with_the_process(self):
        os.mkfifo(self.path("o.1.npy"))  # nobody reads: it waits, with o.0.npy written
        for end, code in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)):
            p = subprocess.Popen([CLI, "--out", self.path("o.npy"), "-e", "{[1], [2]}"], stderr=subprocess.PIPE)
            while len(os.listdir(self.folder.name)) < 2:
                self.assertIsNone(p.poll())
            [temporary] = [name for name in os.listdir(self.folder.name) if name != "o.1.npy"]
            self.assertFalse(os.stat(self.path(temporary)).st_mode & 0o022)
            p.send_signal(end)
            p.communicate(timeout=600)
            self.assertEqual((p.returncode, os.listdir(self.folder.name)), (code, ["o.1.npy"]))

    def test_full_disks_are_noticed(self):
        with open("/dev/full", "wb") as full:
            p = subprocess.run([CLI, "-e", "1"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(p.returncode, 3)
        self.assertRegex(p.stderr.decode(), "^error: cannot write the result: No space left")
        limited = [sys.executable, "-c", "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL);"
                   "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
                   "os.execv(sys.argv[1], sys.argv[1:])", CLI, "--out", self.path("r.npy")]
        p = subprocess.run([*limited, "-e", "map(rangeiter(0L, 9999L, 1L), |x| x)"], stderr=subprocess.PIPE)
        self.assertEqual((p.returncode, os.listdir(self.folder.name)), (3, []))
        self.assertRegex(p.stderr.decode(), "^error: cannot write .*r.npy`: File too large")

    def test_all_that_is_printed_arrives(self):
        for args in (["--help"], ["--version"], ["--type", "-e", "1"], ["--header", "-e", "1"], ["-e", "1"],
                     ["--json", "-e", "1"]):
            with open("/dev/full", "wb") as full:
                p = subprocess.run([CLI, *args], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(p.returncode, 3, args)
            self.assertRegex(p.stderr.decode(), "^error: cannot write the result: No space left", args)
            p = subprocess.run(["sh", "-c", '"$0" "$@" >&-', CLI, *args], stderr=subprocess.PIPE)
            self.assertEqual((p.returncode, p.stderr), (3, b"error: cannot write the result: Bad file descriptor\n"), args)

    # ---- tasks other than running

    def test_check_type_header(self):
        never = "|n: i64| lookup([1], n + 5L)"
        run = Run("--check", "-e", never)
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.fails(1, r"^<expr>:1:\d+: error: ", "--check", "-e", "1 + 2.0")
        self.assertEqual(self.result("--type", "-e", never), "i32")
        self.assertEqual(self.result("--type", "-e", "{1, 2.5}"), "{i32,f64}")
        self.assertEqual(self.result("--type", "-e", "{broadcast(1), [broadcast(2u8)]}"), "{simd[i32],vec[simd[u8]]}")
        self.assertEqual(self.result("--type", "-e", "let x: simd[f32,2] = broadcast(1.5f); x"), "simd[f32,2]")
        self.assertEqual(self.result("--type", "-e", "map([1L], |x| x)"), "vec[i64]")
        run = Run("--header", "-e", "|x: vec[{i32, f64}], class: i8| {x, class}")
        self.assertEqual(run.code, 0)
        header = self.path("h.cpp", run.out + "int main() { return sizeof(weld_program::return_type) != 24; }\n")
        self.assertIn("struct0", run.out)
        compiled = subprocess.run(["c++", "-std=c++17", "-w", "-fsyntax-only", header], stderr=subprocess.PIPE)
        self.assertEqual((compiled.returncode, compiled.stderr), (0, b""))

    def test_version_and_help(self):
        self.assertRegex(self.result("--version"), r"^weld-cli \d+\.\d+\.\d+$")
        run = Run("--help")
        self.assertEqual((run.code, run.err), (0, ""))
        for option in ("--threads", "--explain", "--memory-limit", "-O0", "--out"):
            self.assertIn(option, run.out)

    # ---- failures

    def test_what_has_no_end_is_read_up_to_the_limit(self):
        over = "^error: memory limit of 4 MiB exceeded\n$"
        os.symlink("/dev/zero", self.path("zero.csv"))
        self.fails(3, over, "--memory-limit", "4MiB", "-e", "|x: vec[i64]| x", "@/dev/zero")
        self.fails(3, over, "--memory-limit", "4MiB", "-e", "|x: vec[i64]| x", "@" + self.path("zero.csv"))
        self.fails(3, over, "--memory-limit", "4MiB", "/dev/zero")
        with open("/dev/zero", "rb") as zero:
            p = subprocess.run([CLI, "--memory-limit", "4MiB", "-"], stdin=zero, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((p.returncode, p.stdout), (3, b""))
        self.assertRegex(p.stderr.decode(), over)

    def test_a_tool_alone(self):
        alone = self.path("weld-cli")
        shutil.copy(CLI, alone)
        p = subprocess.run([alone, "-e", "1 + 2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env={"LD_LIBRARY_PATH": self.folder.name})
        self.assertEqual((p.returncode, p.stdout), (1, b""))
        self.assertRegex(p.stderr.decode(), r"^error: no code could be made: libweld\.so\S*: cannot open shared object file")

    def test_rejected_programs(self):
        path = self.path("bad.weld", "let x = 1;\nx + true\n")
        run = self.fails(1, "^" + re.escape(path) + r":2:5: error: ", path)
        self.assertRegex(run.err, r"(?m)^2 \| x \+ true$")
        self.assertRegex(run.err, r"(?m)^  \|     \^")
        self.fails(1, r"^<expr>:1:1: error: .*`y`", "-e", "y")
        self.fails(1, r"^<stdin>:1:\d+: error: ", "-", stdin=b"1 +")
        self.fails(1, r"^<expr>:1:\d+: error: .*no_such_function", "-e", "cudf[no_such_function,i64](1L)")
        self.fails(1, r"error: ", "-e", "appender[i64]")
        # Warnings come before errors, but not with --json.
        self.fails(1, r"^<expr>:1:3: warning: ", "-e", "@(x:y) 5 + true")
        run = Run("-e", "let b = appender[i32]; 5")
        self.assertEqual((run.code, run.out), (0, "5\n"))
        self.assertIn("<expr>:1:5: warning: builder `b` is never used", run.err)
        self.fails(1, r"^<expr>:1:12: error: ", "--json", "-e", "@(x:y) 5 + true")
        self.fails(1, r"error: \S", "-", stdin=b"(" * 3_000_000)
        self.fails(1, r"error: \S", "-", stdin=bytes(range(256)) * 100)

    def test_a_failed_zip_is_told_where_it_stands(self):
        program = self.path("z.weld", "|a: vec[i64], b: vec[i64], c: vec[i64]|\n"
                            "  let s = map(zip(a, b), |p| p.$0 + p.$1);\n"
                            "  result(for(zip(c, s), merger[i64,+], |b, i, p| merge(b, p.$0 * p.$1)))\n")
        inner = (":2:15: error: zipped iterators have different lengths: 2 and 1\n"
                 "2 |   let s = map(zip(a, b), |p| p.$0 + p.$1);\n"
                 "  |               ^\n"
                 "error: the program failed while it ran\n")
        outer = (":3:14: error: zipped iterators have different lengths: 1 and 2\n"
                 "3 |   result(for(zip(c, s), merger[i64,+], |b, i, p| merge(b, p.$0 * p.$1)))\n"
                 "  |              ^\n"
                 "error: the program failed while it ran\n")
        for level in ["-O0", "-O1", "-O2", "-O3"]:
            for b, where in [("[1]", inner), ("[1, 2]", outer)]:
                run = self.fails(3, "^.", level, program, "[1, 2]", b, "[1]")
                self.assertEqual(run.err, program + where, level)

    def test_failing_runs(self):
        run = self.fails(3, r"^<expr>:1:1: error: \S.*\n1 \| lookup", "-e", "lookup([1], 5L)")
        self.assertRegex(run.err, r"(?m)^error: \S")
        self.fails(3, r"error: \S", "-e", "assert(false)")
        self.fails(3, r"error: \S", "-e", "|x: i64| 1L / x", "0")
        self.fails(3, r"error: .*memory", "--memory-limit", "1MB", "-e",
                   "result(for(rangeiter(0L, 10000000L, 1L), appender[i64], |b, i, x| merge(b, x)))")

    def test_large_tables_where_memory_is_short(self):
        program = ("|n: i64| len(result(for(rangeiter(0L, n, 1L), dictmerger[i64,i64,+], "
                   "|b, i, x| merge(b, {x * 7919L % 100003L, 1L}))))")
        found = set()
        for limit in range(18000, 26000, 97):
            run = Run("--threads", "1", "--memory-limit", f"{limit}KiB", "-e", program, "60000")
            self.assertIn(run.code, (0, 3), limit)
            found.add(run.out.strip())
        self.assertEqual(found - {""}, {"60000"})

    def test_a_machine_without_memory(self):
        def run(program, *args):
            return subprocess.run(["sh", "-c", 'ulimit -v 1000000 && exec "$@"', "sh", CLI, "-e", program, *args],
                                  capture_output=True, text=True)
        if run("1").returncode:
            self.skipTest("needs more address space than that at once, as sanitizers do")
        failed = run("|n: i64| len(result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x * x % 7L))))"
                     " + len(result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x % 3L))))",
                     "300000000")
        self.assertEqual(failed.returncode, 3)
        self.assertRegex(failed.stderr, r":1:\d+: error: the machine has no more memory\n")

    def test_wrong_usage(self):
        for args in (["--nonsense"], ["--threads"], ["--threads", "0", "-e", "1"], ["--threads", "-2", "-e", "1"],
                     ["--lib"], ["--lib", "/none.so", "-e", "1"], ["--lib", "", "-e", "1"], [
                     "--set", "weld.cudf.allow=a b", "-e", "1"], ["--passes", "none-such", "-e", "1"],
                     ["--explain=none-such", "-e", "1"], ["--set", "weld.threads=x", "-e", "1"],
                     ["--set", "weld.nothing=1", "-e", "1"], ["--repeat", "x", "-e", "1"], ["-O7", "-e", "1"]):
            self.fails(2, "^weld-cli: error: \\S", *args)

    def test_controls_do_not_reach_the_terminal(self):
        name = "no\x1b[31m\x9b2J\n\x07\u009b.weld"
        shown = r"no\x1b[31m\xc2\x9b2J\n\x07\xc2\x9b.weld"
        npy_name, csv_name = (self.path(name.replace("weld", kind), "x\n1") for kind in ("npy", "csv"))
        program = self.path(name, "1 +\n \"\x1b[31m\u009b\" + true")
        for args in ([name], ["--" + name], ["--lang", name, "-e", "1"], ["--lib", "./" + name, "-e", "1"],
                     ["--set", name + "=1", "-e", "1"], ["--explain=" + name, "-e", "1"], ["--out", name, "-e", "1"],
                     ["--cache", self.path("f", "x") + "/" + name, "-e", "1"], ["--threads", name, "-e", "1"],
                     ["-e", "|v: vec[i64]| v", "@" + name], ["-e", "|v: vec[i64]| v", "@" + npy_name],
                     ["-e", "|v: {vec[i64], vec[i64]}| v", "@" + csv_name], [program],
                     ["--out", self.folder.name + "/" + name + "/x.npy", "-e", "1"]):
            run = Run(*args)
            self.assertIn(run.code, (1, 2), args)
            self.assertIn(shown.split(".")[0], run.err, args)
            self.assertEqual([c for c in run.err if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160], [], args)
        run = Run("--header", self.path("a\n#error b.weld", "1"))
        self.assertNotIn("\n#error", run.out)
        for text in ("\x1b[31m", "1 + '\x1b[31m'", "cudf[\x1b,i64](1)", '|s: vec[i8]| s + "\x1b\u009b"', "@(\x9b:1) 1 +"):
            run = Run("-e", text)
            self.assertEqual((run.code, run.err.count("\x1b"), run.err.count("\u009b")), (1, 0, 0), text)
        source = self.path("f.cpp", '#include <stdexcept>\nextern "C" void throws(long*, long*) '
                           '{ throw std::runtime_error("\\033[31mred"); }\n')
        subprocess.run(["c++", "-shared", "-fPIC", "-o", self.path("f.so"), source], check=True)
        self.fails(3, r"exception: \\x1b\[31mred", "--lib", self.path("f.so"), "-e", "cudf[throws,i64](1L)")

    # ---- looking inside

    def test_explain(self):
        run = Run("--explain", "-e", SUM, "[1,2]")
        self.assertEqual((run.code, run.out), (0, "3\n"))
        stages = re.findall(r"(?m)^# after (.*)$", run.err)
        self.assertEqual([s for s in stages if s != "properties"], ["parsed", "typed", "optimized", "vectorized"])
        run = Run("--explain=parsing,sql,property_inference,kernels,vectorized", "--lang", "daphne", "-e", "print(1);")
        self.assertEqual((run.code, run.out), (0, "1\n"))
        self.assertEqual(re.findall(r"# after (.*)", run.err), ["parsed", "properties", "optimized", "vectorized"])
        script = self.path("stages.daph", "print(2);")
        run = Run("--explain=parsing_simplified,mlir_codegen_mlir_specific", script)
        self.assertEqual((run.out, re.findall(r"# after (.*)", run.err)), ("2\n", ["parsed", "optimized"]))
        self.fails(2, "no stage or pass `parsing`", "--explain=parsing", "-e", SUM, "[1,2]")
        run = Run("--explain=typed,llvm,asm", "-e", SUM, "[1,2]")
        self.assertEqual(re.findall(r"(?m)^# after (.*)$", run.err), ["typed", "llvm", "asm"])
        self.assertIn("define ", run.err)

    def test_explained_programs_parse_again(self):
        run = Run("--explain=typed", "--check", "-e", SUM)
        again = self.path("again.weld", run.err)
        self.assertEqual(self.result(again, "[1,2,3]"), "6")

    def test_timing(self):
        run = Run("--timing=json", "--repeat", "3", "--threads", "1", "-e", SUM, "[1,2,3]")
        self.assertEqual((run.code, run.out), (0, "6\n"))
        times = json.loads(run.err)
        self.assertEqual(set(times), {"parse_ms", "type_ms", "passes", "llvm_optimize_ms", "llvm_emit_ms", "run_ms",
                                      "cpu_ms", "peak_bytes", "threads"})
        self.assertEqual((len(times["run_ms"]), len(times["cpu_ms"]), times["threads"]), (3, 3, 1))
        self.assertGreater(times["parse_ms"], 0)
        self.assertGreater(times["llvm_emit_ms"], 0)
        self.assertTrue(all(ms > 0 for ms in times["run_ms"]))
        run = Run("--timing", "-e", "1")
        for name in ("parse", "type", "LLVM optimise", "LLVM emit", "run", "peak memory"):
            self.assertRegex(run.err, "(?m)^" + name)

    def test_quiet_and_repeat(self):
        run = Run("--quiet", "--repeat", "5", "-e", "1")
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.fails(3, "error: ", "--quiet", "-e", "assert(false)")

    def test_prints_come_before_the_result(self):
        program = 'let a = cudf[weld_print,{}](1, "x"); let b = cudf[weld_print_text,{}]("no end"); [2]'
        run = Run("-e", program)
        self.assertEqual((run.code, run.out, run.err), (0, '1 "x"\nno end[2]\n', ""))
        run = Run("--quiet", "--repeat", "2", "-e", program)
        self.assertEqual((run.code, run.out, run.err), (0, '1 "x"\nno end' * 2, ""))
        run = Run("--json", "-e", program)  # there, standard output is one line of JSON
        self.assertEqual((run.code, run.out, run.err), (0, "[2]\n", '1 "x"\nno end'))
        run = Run("-e", "|n: i64| let a = cudf[weld_print,{}](n); let b = assert(n > 1L, \"too few\"); n", "1")
        self.assertEqual((run.code, run.out), (3, "1\n"))
        self.assertIn("<expr>:1:50: error: too few\n", run.err)

    def test_prints_to_standard_error(self):
        program = ('let a = cudf[weld_display,{}](1, true, false); let b = cudf[weld_display,{}]("wrong", true, true); '
                   'let c = cudf[weld_display,{}](0.5, true, false); 2')
        run = Run("-e", program)
        self.assertEqual((run.code, run.out, run.err), (0, "1\n0.5\n2\n", "wrong\n"))
        both = subprocess.run([CLI, "-e", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(both.stdout, b"1\nwrong\n0.5\n2\n")  # in the order of the program

    def test_files_of_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = '"' + folder + '/x.csv"'
            write = "|p: vec[i8]| cudf[weld_write_matrix,{}]({[1.5, 2.0], 1L, 2L}, p)"
            self.assertEqual(Run("--quiet", "-e", write, path).code, 0)
            self.assertEqual(sorted(os.listdir(folder)), ["x.csv", "x.csv.meta"])
            read = "|p: vec[i8]| cudf[weld_read_matrix,{vec[f64],i64,i64}](p, 1L, 2L)"
            self.assertEqual(Run("-e", read, path).out, "{[1.5, 2.0], 1, 2}\n")
            self.fails(1, "`cudf` may not call `weld_read_matrix` here", "--set", "weld.cudf.allow=none", "-e", read, path)
            self.fails(3, "cannot write", "--quiet", "-e", write, '"' + folder + '/none/x.csv"')

    def test_prints_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run([CLI, "-e", "let a = cudf[weld_print,{}](1); 2"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(run.returncode, 3)
        self.assertIn(b"the output cannot be written", run.stderr)

    def test_quiet_still_writes_files(self):
        run = Run("--quiet", "--out", self.path("r.csv"), "-e", "{[1, 2], [3, 4]}")
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        with open(self.path("r.csv")) as file:
            self.assertEqual(file.read().splitlines()[1:], ["1,3", "2,4"])

    def test_progress(self):
        long = "result(for(rangeiter(0L, 2000000000L, 1L), merger[f64,+], |b, i, x| merge(b, sin(f64(x)))))"
        run = Run("--progress", "--quiet", "--threads", "1", "-e", long)
        bars = run.err.split("\r\x1b[K")
        self.assertRegex(bars[1], r"^\[#*-*\] \d+ %  \d+ s(, \d+ s left)?$")
        self.assertEqual((run.code, run.out, bars[0], bars[-1]), (0, "", "", ""))
        self.assertEqual(Run("--progress", "-e", "1").err, "")
        self.assertEqual(Run("--no-progress", "--quiet", "--threads", "1", "-e", long).err, "")

    def test_levels_passes_settings(self):
        for options in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["--passes", ""], ["--verify"], ["--threads", "1"],
                        ["--set", "weld.threads=2"], ["--set", "weld.compile.enableBoundsChecks=false"],
                        ["--memory-limit", "1GiB"], ["--select-matrix-repr"], ["--progress"]):
            self.assertEqual(self.result(*options, "-e", SUM, "[1,2,3]"), "6")
        nul = "--set", "weld.compat.nulTerminatedStrings=true", "-e", 'len("abc")'
        self.assertEqual(self.result(*nul), "4")

    def test_eight_bytes_do_not_go_under_masks(self):
        # LLVM 19 makes sixteen of them, and may take what their mask says of the others from memory that nobody wrote
        run = Run("--set", "weld.compile.cpu=avx512", "--explain=llvm", "-e",
                  "|v: vec[i64], w: vec[i8]| {map(zip(v, w), |p| p.$0 + i64(p.$1)), map(v, |x| i8(x)), map(v, |x| x > 2L)}", "[1,2,3]", "[4,5,6]")
        if run.code:
            self.skipTest("needs a processor with AVX-512")
        self.assertIn("masked.load.v8i64", run.err)
        self.assertNotRegex(run.err, r"masked\.(load|store)\.v8i8")

    def test_less_than_the_machine_has(self):
        program = ("|n: i64| let v = map(rangeiter(0L, n, 1L), |i| exp(f64(i % 7L)) / 3.0);"
                   "{sum(v), len(filter(v, |x| x > 2.0)), sum(map(v, |x| x * x))}")
        results = set()
        for cpu in ("native", "sse2", "avx2", "avx512"):
            setting = "--set", "weld.compile.cpu=" + cpu
            if Run(*setting, "--check", "-e", "1").code:  # the machine lacks it
                self.fails(2, "one of sse2", *setting, "-e", "1")
                continue
            for options in ([], ["--threads", "1"], ["--cache", self.path("kept")], ["--cache", self.path("kept")]):
                result = self.result(*setting, *options, "-e", program, "100003")
                if cpu != "sse2":  # which fuses nothing: other last digits
                    results.add(result)
        self.assertEqual(len(results), 1)
        registers = Run("--set", "weld.compile.cpu=sse2", "--explain=asm", "-e", "|v: vec[f64]| sum(v)", "[1]").err
        self.assertIn("%xmm", registers)
        self.assertNotIn("%ymm", registers)
        choice = "|k: vec[i64], x: vec[f64]| iterate({0.0, 0L}, |s| {{s.$0 * 0.5 + select(lookup(k, s.$1) == 1L, lookup(x, s.$1), 0.0), " \
                 "s.$1 + 1L}, s.$1 + 1L < len(k)}).$0"
        without_branch = Run("--set", "weld.compile.cpu=sse2", "--explain=asm", "-e", choice, "[1, 2]", "[3.0, 4.0]")
        self.assertIn("cmov", without_branch.err)
        self.assertEqual(without_branch.out, "1.5\n")
        around_calls = Run("--set", "weld.compile.cpu=avx2", "--explain=asm", "-e",
                           "|v: vec[f32], w: vec[f32]| map(zip(v, w), |p| exp(p.$0) + exp(p.$1))", "[0]", "[0]")
        if around_calls.code == 0:  # registers that wait on the stack are aligned there
            self.assertRegex(around_calls.err, r"andq\s+\$-32, %rsp")
            self.assertEqual(around_calls.out, "[2.0]\n")
        self.fails(2, "weld.compile.cpu", "--set", "weld.compile.cpu=z80", "-e", "1")

    def test_what_lanes_take_apart(self):
        """LLVM takes a second for a hundred look-ups or divisions on lanes: bodies with more than 64 stay one by one."""
        for what in ("100L / (k - {i}L)", "lookup(t, k - {i}L)"):
            for count in (64, 65):
                terms = " + ".join(("if(k > {i}L, %s, 0L)" % what).format(i=i) for i in range(count))
                explained = Run("--explain=vectorized", "-e", "|v: vec[i64], t: vec[i64]| map(v, |k| " + terms + ")",
                                "[1]", "[5, 6]")
                self.assertEqual("simditer" in explained.err, count == 64)
                self.assertEqual(explained.out, "[100]\n" if "/" in what else "[6]\n")

    # ---- libraries

    def test_user_functions(self):
        source = self.path("f.cpp", 'extern "C" void add_five(const long* x, long* r) { *r = *x + 5; }\n'
                           'extern "C" void throws(const long*, long*) { throw 1; }\n')
        library = self.path("f.so")
        subprocess.run(["c++", "-shared", "-fPIC", "-o", library, source], check=True)
        self.assertEqual(self.result("--lib", library, "-e", "cudf[add_five,i64](37L)"), "42")
        self.fails(3, "error: ", "--lib", library, "-e", "cudf[throws,i64](37L)")

    def test_functions_that_programs_may_call(self):
        allow = lambda value: ("--set", "weld.cudf.allow=" + value)
        parse = '|s: vec[i8]| cudf[getpid,i32](s)'
        self.assertEqual(Run("--quiet", *allow("abs,getpid"), "-e", parse, '"1"').code, 0)
        for value in ("none", "", "abs", "getpid_"):
            run = self.fails(1, r"^<expr>:1:19: error: `cudf` may not call `getpid` here\n", *allow(value), "-e", parse, '"1"')
            self.assertIn("note: `weld.cudf.allow` says which functions programs may call\n", run.err)
        self.fails(1, "unknown function `no_such_function`", *allow("no_such_function"), "-e", "cudf[no_such_function,i64](1L)")
        self.assertEqual(self.result(*allow("none"), "-e", 'cudf[weld_contains,bool]("abc", "b")'), "true")
        # Nor where the program does not call it, and by no other way to write it.
        for program in ("macro f(x) = cudf[getpid,i32](x); f(1)", "let f = |x: i32| cudf[getpid,i32](x); map([1], f)",
                        "if(false, cudf[getpid,i32](1), 2)", "@(pure:true) cudf[getpid,i32](1)"):
            self.fails(1, "may not call `getpid`", *allow("none"), "-e", program)
        for value in ("none,abs", "1a", "a-b"):
            self.fails(2, "expected names of functions, or `none`", *allow(value), "-e", "1")

    # ---- interrupts

    def interrupted(self, *args):
        """Lets a program run for some times what starting takes, and interrupts it. Times are of processors, since others may
        have them, and by that of starting, since they may be slow."""
        def of_children():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime
        before = of_children()
        self.result("-e", LONG_LOOP, "10")
        starting = of_children()
        least = max(starting - before, 0.02)
        p = subprocess.Popen([CLI, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while p.poll() is None and processor_seconds(p.pid) < 10 * least:
            time.sleep(0.01)
        spent = processor_seconds(p.pid)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=6000)
        return p.returncode, out, err, (of_children() - starting - spent) / least

    def test_interrupts_stop_runs(self):
        for program, argument in ((LONG_LOOP, "1000000000000"), (LONG_COUNTS, "1000000000000"), (FOREVER, "0")):
            code, out, err, ratio = self.interrupted("-e", program, argument)
            self.assertEqual((code, out), (130, b""), err)
            self.assertIn(b"interrupted", err)
            self.assertLess(ratio, 20)

    # ---- interactive mode

    def type(self, *lines, options=()):
        """What a terminal shows when these lines are typed."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ.update(HOME=self.folder.name, TERM="dumb")
            os.execv(CLI, [CLI, *options])
        shown = b""
        try:
            for line in (*lines, ":quit"):
                while not shown.rstrip().endswith((b"weld>", b"...")):
                    shown += os.read(terminal, 65536)
                os.write(terminal, line.encode() + b"\n")
                shown += os.read(terminal, 65536)
            while True:
                shown += os.read(terminal, 65536)
        except OSError:  # the terminal is gone
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        return shown.decode().replace("\r", "")

    def test_interactive_mode(self):
        shown = self.type("1 + 2", "let x = 20L;", "map([1L, 2L],", "|e| e * x + 2L)", ":type {x, 1.5}", "y",
                          "lookup([1], x)", ":time x", ":nonsense", ":explain=typed x")
        self.assertRegex(shown, r"(?m)^3$")
        self.assertRegex(shown, r"(?m)^\[22, 42\]$")
        self.assertRegex(shown, r"(?m)^\{i64,f64\}$")
        self.assertRegex(shown, r"(?m)^<input>:2:1: error: .*`y`")
        self.assertRegex(shown, r"(?m)^<input>:2:1: error: .*index")
        self.assertRegex(shown, r"(?m)^LLVM emit")
        self.assertIn("there is no command `:nonsense`", shown)
        self.assertIn("# after typed", shown)

    def test_interactive_scripts(self):
        """Variables, functions and views stay; what fails leaves all as it was."""
        shown = self.type("X = fill(2.0, 2, 3);", "def twice(a) {", "return a * 2.0;", "}", "n = ncol(X)", "s = sum(twice(X));",
                          "s + 0.25", "X[0, 1] = fill(7.0, 1, 1); print(X);", "Y = X; X = fill(1, 1, 1);", "Y[0, 1]", "X", "Z = X @ Y;",
                          "print(\"once\"); W = readMatrix(\"nowhere\" + sum(Y) + \".csv\");", "nosuch", 'l = "col" + as.si64(as.scalar(Y[0, 1]))',
                          "F = createFrame(Y[, 0], l);", "F", "registerView(\"f\", F);", 'sql("SELECT f.col7 FROM f")', "def twice(a) { return a * 3.0; }",
                          "twice(1.5)", ":type Y", ":time s", ":explain=properties s", ":clear", "s", options=("--lang", "daphne"))
        self.assertRegex(shown, r"(?m)^24.25$")
        self.assertRegex(shown, r"(?m)^DenseMatrix\(2x3, double\)\n2 7 2\n2 2 2$")
        self.assertRegex(shown, r"(?m)^DenseMatrix\(1x1, double\)\n7$")
        self.assertRegex(shown, r"(?m)^DenseMatrix\(1x1, int64_t\)\n1$")
        self.assertRegex(shown, r"\nonce\n<input>:1:31: error: cannot read `nowhere17\.000000\.csv`")
        self.assertRegex(shown, r"(?m)^<input>:1:1: error: .*`nosuch`")
        self.assertEqual(shown.count("Frame(2x1, [col7:double])\n2\n2\n"), 1)
        self.assertEqual(shown.count("Frame(2x1, [f.col7:double])\n2\n2\n"), 1)
        self.assertRegex(shown, r"(?m)^4.5$")
        self.assertRegex(shown, r"(?m)^DenseMatrix\(2x3, double\)$")
        self.assertRegex(shown, r"(?m)^LLVM emit")
        self.assertIn("# after properties", shown)
        self.assertRegex(shown, r"(?m)^<input>:1:1: error: .*`s`")

    def test_entries_of_scripts(self):
        """The end of an entry stands for a `;`; what is an expression then is shown, whatever comes before or behind it."""
        script = self.path("two.daphne", "x = 2;")
        typed = ('print("said")', f'import "{script}"', "two.x + 40 # comment", "# nothing", "/* open", "*/ two.x + 41 // (", '{"a": [5]}',
                 "n = 6; n * 11", "eigen([7.5])", "if (n == 6) n", "def print(y) { return y; }", "n + 71", "stop()")
        shown = self.type(*typed, options=("--lang", "daphne"))
        # what is typed before the prompt comes is shown without it, too
        answers = [line for line in shown.splitlines() if not line.startswith(("weld", "  ...")) and line not in (*typed, ":quit")]
        self.assertEqual(answers, ["said", "42", "43", "Frame(1x1, [a:int64_t])", "5", "66", "DenseMatrix(1x1, double)", "7.5",
                                   "DenseMatrix(1x1, double)", "1", "77", "<input>:1:1: error: system stopped: unspecified reason", "1 | stop()",
                                   "  | ^", "error: the program failed while it ran"])

    def test_interrupts_lead_back_to_the_prompt(self):
        """Whatever is interrupted: runs, and the output of long results."""
        numbers = "result(for(rangeiter(0L, 50000000L, 1L), appender[i64], |b, i, x| merge(b, x)))"
        few = "result(for(rangeiter(0L, 1000000000000L, 1L), vecmerger[f64,+]([0.0, 0.0]), |b, i, x| merge(b, {x & 1L, 1.5})))"
        for options, line in (([], few), (["--json"], numbers)):
            pid, terminal = pty.fork()
            if pid == 0:
                os.environ.update(HOME=self.folder.name, TERM="dumb")
                os.execv(CLI, [CLI, *options])
            shown = b""

            def read_until(ends):
                nonlocal shown
                while not shown.rstrip().endswith(ends):
                    shown = shown[-4096:] + os.read(terminal, 65536)

            read_until(b"weld>")
            begun, taken = processor_seconds(pid), 0
            os.write(terminal, line.encode() + b"\n")
            # What it prints must be taken.
            while processor_seconds(pid) < begun + 1.5 and taken < 1 << 20:
                if select.select([terminal], [], [], 0.1)[0]:
                    some = os.read(terminal, 65536)
                    taken += len(some)
                    shown = shown[-4096:] + some
            spent = processor_seconds(pid)
            os.write(terminal, b"\x03")
            read_until(b"weld>")
            self.assertLess(processor_seconds(pid) - spent, 2 * (spent - begun))  # was 24 s of time
            self.assertIn(b"interrupted", shown)
            shown = b""
            os.write(terminal, b"40 + 2\n")
            read_until(b"weld>")
            self.assertIn(b"42", shown)
            os.write(terminal, b":quit\n")
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_long_results_are_elided_on_terminals_only(self):
        program = "result(for(rangeiter(0L, 2000L, 1L), appender[i64], |b, i, x| merge(b, x)))"
        self.assertIn("... 1900 more ...", self.type(program))
        self.assertNotIn("...", self.result("-e", program))



class LargeTest(Case):
    """Programs that machines write."""

    N = 3000

    def from_file(self, text, *args):
        return json.loads(self.result("--json", self.path("large.weld", text), *args))

    def test_nested_operators(self):
        for n in (10, 50_000):
            for text in ("x" + " - x" * n, "(" * n + "x" + " - x)" * n):
                self.assertEqual(self.from_file("|x: i64| " + text, "1"), 1 - n)
            right = "(x - " * n + "x" + ")" * n
            self.assertEqual(self.from_file("|x: i64| " + right, "7"), 7 if n % 2 == 0 else 0)
            self.assertEqual(self.from_file("|v: vec[i64]| map(v, |x| " + right + ")", "[7, 8]"), [7, 8])
        self.assertEqual(self.from_file("|x: i64| " + "(" * 10_000 + "x" + ")" * 10_000, "3"), 3)

    def test_failures_in_nested_operators(self):
        text = "|x: i64|\n" + "(1L +\n" * 200 + "10L / x" + ")" * 200
        self.fails(3, ":202:5: error", self.path("deep.weld", text), "0")

    def test_large_bodies_of_loops(self):
        lets = "".join(f"let a{i + 1} = (a{i} * 3L + i) ^ (a{i // 2} + {i}L);\n" for i in range(self.N))
        text = f"|v: vec[i64]| result(for(v, appender[i64], |b, i, a0|\n{lets} merge(merge(b, a{self.N}), a5)))"
        expected = []
        for index, x in enumerate([1, -7, 12]):
            a = [x]
            for i in range(self.N):
                a.append(((a[i] * 3 + index) ^ (a[i // 2] + i)) % 2**64)
            expected += [a[self.N], a[5]]
        signed = [(e + 2**63) % 2**64 - 2**63 for e in expected]
        self.assertEqual(self.from_file(text, "[1, -7, 12]"), signed)

    def test_failures_in_large_bodies(self):
        lets = "".join(f"let a{i + 1} = (a{i} + {i}L) / (x - {i}L);\n" for i in range(self.N))
        text = f"|v: vec[i64]| result(for(v, merger[i64,+], |b, i, x| let a0 = x;\n{lets} merge(b, a{self.N})))"
        self.fails(3, ":2502:.*zero", self.path("large.weld", text), "[5000, 2500]")


class MemoryTest(Case):
    """Vectors go when nobody reads them any more, and iterations leave nothing behind."""

    def peak(self, program, *args):
        run = Run("--quiet", "--timing=json", "-e", program, *args)
        self.assertEqual(run.code, 0, run.err)
        return json.loads(run.err)["peak_bytes"]

    def test_a_chain_of_steps_takes_two_vectors(self):
        steps = "".join(f"let s{i + 1} = map(s{i}, |x| x * 1.5 + lookup(s{i}, {i + 1}L));" for i in range(20))
        chain = "|n: i64| let s0 = map(rangeiter(0L, n, 1L), |i| f64(i));" + steps
        size = 8 * 200_000
        self.assertLess(self.peak(chain + "sum(s20)", "200000"), 2.2 * size)
        self.assertGreater(self.peak(chain + "sum(s20) + lookup(s0, 1L) + lookup(s1, 1L)", "200000"), 2.9 * size)

    def test_iterations_leave_nothing_behind(self):
        for builder in ("dictmerger[i64,i64,+]", "groupmerger[i64,i64]", "appender[i64]"):
            value = "x" if builder.startswith("appender") else "{x & 3L, x}"
            step = "tovec(t)" if builder.startswith("dict") else "sort(t, |a, b| compare(a, b))" if value == "x" else "t"
            for outer in ("merger[i64,+]", "appender[i64]"):
                self.assertLess(self.peak(
                    f"|n: i64| result(for(rangeiter(0L, n, 1L), {outer}, |b, i, e| "
                    f"let t = result(for(rangeiter(0L, 40L, 1L), {builder}, |c, j, x| merge(c, {value.replace('x', '(x ^ e)')})));"
                    f"merge(b, len({step}))))", "200000"), 8 << 20, (builder, outer))

    def test_what_others_point_to_stays(self):
        make = "|n: i64| let a = map(rangeiter(0L, n, 1L), |i| i); let first = lookup(a, 3L);"
        for rest, expected in (("let b = slice(a, 1L, 2L); let c = map(a, |x| x + first); {b, lookup(c, 0L)}", [[1, 2], 3]),
                               ("let b = {a, first}; let c = map(a, |x| x + first); {lookup(c, 0L), b.$0}",
                                [3, [0, 1, 2, 3]]),
                               ("let v = [a, a]; let c = map(a, |x| x + first); {lookup(c, 0L), lookup(v, 1L)}",
                                [3, [0, 1, 2, 3]]),
                               ("let b = if(first > 5L, a, a); let c = map(a, |x| x + first); {lookup(c, 0L), b}",
                                [3, [0, 1, 2, 3]]),
                               ("let b = for(a, vecmerger[i64,+](a), |b, i, x| merge(b, {i, first}));"
                                "{lookup(a, 0L), result(b)}", [0, [3, 4, 5, 6]])):
            self.assertEqual(self.value(make + rest, "4"), expected)


class EndTest(Case):
    """A process may end while other threads optimise loops of a program that is through."""

    def test_loops_are_being_optimised(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "examples" / "daphne" / "kmeans.daphne"
        for number in range(20):
            for options in ([], ["--cache", self.path(f"cache{number}")], ["--cache", self.path(f"cache{number}")]):
                run = Run(*options, str(script))
                self.assertEqual((run.code, run.err), (0, ""), options)


class CacheTest(Case):
    """`--cache`: compiled code in a folder. What is measured as compiled took LLVM some time."""

    PROGRAM = "|v: vec[f64], k: {i64, vec[i8]}| {sum(map(v, |x| exp(x) * f64(k.$0))), k.$1}"
    ARGS = ("[1, 2]", '{2, "abc"}')

    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")

    def run_cached(self, program=PROGRAM, args=ARGS, options=()):
        """(output, whether it was compiled)"""
        run = Run("--cache", self.cache, "--timing=json", *options, "-e", program, *args)
        self.assertEqual(run.code, 0, run.err)
        times = json.loads(run.err)
        return run.out, times["llvm_emit_ms"] > 0

    def files(self):
        return [os.path.join(self.cache, name) for name in sorted(os.listdir(self.cache))]

    def test_rounds_in_parts(self):
        """The rounds of a loop, and the cells of a `map`, are the same programs, whatever they mention but do not ask for."""
        script = self.path("rounds.daphne", 'n = $n + sum([0]);\ns = 0;\ndef f(x) { F = createFrame([x], "a" + sum([x - x])); print(F); '
                           'return x + as.scalar(F[, "a" + sum([x - x])]); }\nfor (i in 1:n) { F = createFrame([i], "c" + sum([i - i]));\n'
                           's = s + i; s = s + as.scalar(F[, "c" + sum([i - i])]); }\nprint(sum(map(seq(1, n), f)) + s);\n')
        counts = []
        for n in (4, 25):
            done = Run("--cache", self.cache, script, f"n={n}")
            self.assertEqual((done.code, done.err, done.out.split()[-1]), (0, "", str(2 * n * (n + 1))))
            counts.append(len(self.files()))
        self.assertLess(counts[1], counts[0] * 2 + 4)

    def test_scripts_in_parts(self):
        """Both parts are kept, whatever the first computes that the second does not ask for; imports are looked at again."""
        library = 'def label(n: si64) -> str { return "%s" + n; }\ndef part(X: matrix<f64>, i: si64) { return X[i, 0]; }\n'
        self.path("lib.daphne", library % "c")
        script = self.path("parts.daphne", 'import "lib.daphne";\nX = [1.0, 2.0];\nt = now();\nn = as.si64(sum(X));\n'
                           'F = createFrame(X, lib.label(n));\nprint(F);\nprint(now() >= t);\nprint(lib.part(X, n - $back));\n')

        def run(back):
            done = Run("--cache", self.cache, script, f"back={back}")
            stamps = [(name, os.stat(name).st_mtime_ns) for name in self.files()]
            return done.code, done.out, done.err, stamps

        code, out, err, stamps = run(3)
        self.assertEqual((code, out, err), (0, "Frame(2x1, [c3:double])\n1\n2\n1\nDenseMatrix(1x1, double)\n1\n", ""))
        self.assertEqual(len(stamps), 2)
        self.assertEqual(run(3), (code, out, err, stamps))
        failed = run(1)
        self.assertEqual(failed[:2], (3, out[:out.index("DenseMatrix")]))
        self.assertRegex(failed[2], r"^\S*lib\.daphne:2:\d+: error: a position lies outside")
        self.assertEqual(len(failed[3]), 4)
        self.assertEqual(run(1), failed)
        self.path("lib.daphne", library % "d")
        code, changed, err, stamps = run(3)
        self.assertEqual((code, changed, err), (0, out.replace("c3", "d3"), ""))
        self.assertEqual(run(3), (code, changed, err, stamps))

    SUMS = "|n: i64| let s0 = 1L;" + "".join(
        f"let s{k} = result(for(rangeiter(0L, n, 1L), merger[i64,+], |b, i, x| merge(b, x * {k}L + s{k - 1})));"
        for k in range(1, 121)) + "s120"  # so many that their code is quick at first

    def check_sums(self, n, options=()):
        s = 1
        for k in range(1, 121):
            s = k * (n * (n - 1) // 2) + n * s
        expected = str((s + 2**63) % 2**64 - 2**63) + "\n"
        self.assertEqual(self.run_cached(self.SUMS, (str(n),), options)[0], expected)

    def test_loops_that_are_optimised_while_they_run(self):
        """What a folder keeps can be optimised, too."""
        for n in (10, 3_000_000):
            for options in ((), ("--threads", "1"), ("--repeat", "3")):
                for _ in "cold", "kept":
                    self.check_sums(n, options)

    def loops_kept(self):
        """The files, and what is in those of optimised loops."""
        paths = self.files()
        kept = []
        for path in paths:
            if path.endswith(".weldloops"):
                with open(path, "rb") as f:
                    kept.append(f.read())
        return paths, kept

    @staticmethod
    def numbers_in(kept):
        """Of the loops in such a file, whose records are four texts with their lengths; the second has numbers."""
        texts = []
        while kept:
            size = int.from_bytes(kept[:8], "little")
            texts.append(kept[8:8 + size])
            kept = kept[8 + size:]
        return sorted(int(n) for numbers in texts[1::4] for n in numbers.split())

    def test_loops_that_were_optimised_are_kept(self):
        """Once there is nothing left to optimise, the file grows no more: what is in it is run."""
        few, many = 10, 3_000_000
        self.check_sums(few)
        self.assertEqual([len(kept) for kept in self.loops_kept()], [1, 0])
        self.check_sums(many)
        paths, [kept] = self.loops_kept()
        self.assertEqual(len(paths), 2)
        self.assertEqual(self.numbers_in(kept), list(range(120)))
        for options in ((), ("--threads", "1"), ("--repeat", "2")):
            self.check_sums(many, options)
            self.assertEqual(self.loops_kept(), (paths, [kept]))

        [path] = [path for path in paths if path.endswith(".weldloops")]
        middle = len(kept) // 2
        flipped = kept[:middle] + bytes([kept[middle] ^ 1]) + kept[middle + 1:]
        for bad in (b"", b"Weld", kept[:-1], kept + b"x", flipped, b"\0" * 99, kept[8:]):
            with open(path, "wb") as f:
                f.write(bad)
            for n in few, many, many:
                self.check_sums(n)
            self.assertEqual(self.numbers_in(self.loops_kept()[1][0]), list(range(120)))

        os.chmod(path, 0o666)  # others may have written it
        with open(path, "wb") as f:
            f.write(b"x")
        self.check_sums(many)
        self.assertEqual(self.loops_kept(), (paths, [b"x"]))
        os.remove(path)
        os.symlink("elsewhere", path)
        self.check_sums(many)
        self.assertFalse(os.path.exists(os.path.join(self.cache, "elsewhere")))

    def test_loops_of_what_is_compiled_anew(self):
        """They belong to the code beside them."""
        self.check_sums(3_000_000)
        paths, [kept] = self.loops_kept()
        with open(paths[0], "wb") as f:
            f.write(b"damaged")
        self.check_sums(10)
        self.assertEqual(self.loops_kept(), ([paths[0]], []))
        self.check_sums(3_000_000)
        self.assertEqual(self.numbers_in(self.loops_kept()[1][0]), self.numbers_in(kept))

    def test_second_run_compiles_nothing(self):
        first = self.run_cached()
        self.assertTrue(first[1])
        self.assertEqual(self.run_cached(), (first[0], False))
        self.assertEqual(len(self.files()), 1)

    def test_what_the_outcome_depends_on(self):
        self.run_cached()
        relative = subprocess.run([os.path.join(".", os.path.basename(CLI)), "--cache", self.cache, "--timing=json", "-e",
                                   self.PROGRAM, *self.ARGS], cwd=os.path.dirname(CLI), stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL)
        self.assertEqual(json.loads(relative.stderr)["llvm_emit_ms"], 0)
        for options in (("-O1",), ("--passes", "fold"), ("--set", "weld.compat.nulTerminatedStrings=true")):
            self.assertTrue(self.run_cached(options=options)[1], options)
        self.assertTrue(self.run_cached(self.PROGRAM + " ")[1])
        self.assertFalse(self.run_cached(options=("--threads", "1"))[1])

    def test_literals_without_bytes(self):
        for compiled in (True, False):
            self.assertEqual(self.run_cached("{[{}], [[{}, {}], []]}", ()), ("{[{}], [[{}, {}], []]}\n", compiled))

    def test_failures_are_told_alike(self):
        for program in ("|v: vec[i64]|\n  lookup(v, 7L)", "\ufeff|v: vec[i64]| assert(len(v) > 7L)"):
            runs = [Run("--cache", self.cache, "-e", program, "[1]") for _ in range(2)]
            self.assertEqual(runs[0].code, 3)
            self.assertEqual((runs[0].code, runs[0].err), (runs[1].code, runs[1].err))
        self.fails(1, "error", "--cache", self.cache, "-e", "1 + true")
        self.fails(1, "error", "--cache", self.cache, "-e", "1 + true")
        self.fails(2, "takes 1 argument", "--cache", self.cache, "-e", "|x: i64| x")
        self.fails(2, "takes 1 argument", "--cache", self.cache, "-e", "|x: i64| x")

    def test_damaged_files_count_as_none(self):
        expected, _ = self.run_cached()
        [path] = self.files()
        with open(path, "rb") as f:
            good = f.read()
        middle = len(good) // 2
        flipped = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:]
        for bad in (b"", b"Weld", good[:16], good[:-1], good + b"x", flipped, b"\0" * len(good), good[8:]):
            with open(path, "wb") as f:
                f.write(bad)
            self.assertEqual(self.run_cached(), (expected, True))
            self.assertEqual(self.run_cached(), (expected, False))  # and it is whole again

    def test_files_of_others_are_not_run(self):
        self.run_cached()
        [path] = self.files()
        for mode in (0o666, 0o660):
            os.chmod(path, mode)
            self.assertTrue(self.run_cached()[1])
            self.assertFalse(self.run_cached()[1])  # replaced
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        for mode in (0o770, 0o707):
            os.chmod(self.cache, mode)
            self.assertTrue(self.run_cached()[1])
        os.chmod(self.cache, 0o750)
        self.assertFalse(self.run_cached()[1])

    def test_what_is_no_file_of_ours_is_replaced(self):
        expected, _ = self.run_cached()
        [path] = self.files()
        os.rename(path, self.path("kept"))
        os.symlink("../kept", path)
        self.assertEqual((self.run_cached(), self.run_cached()), ((expected, True), (expected, False)))
        self.assertFalse(os.path.islink(path))
        os.remove(path)
        os.mkfifo(path)
        self.assertEqual((self.run_cached(), self.run_cached()), ((expected, True), (expected, False)))
        for size in (1 << 31, 1 << 40):
            os.truncate(path, size)
            self.assertEqual((self.run_cached(), self.run_cached()), ((expected, True), (expected, False)))
            self.assertLess(os.stat(path).st_size, 1 << 20)
        os.remove(path)
        os.mkdir(path)  # stays: nothing can be put there
        self.assertEqual(self.run_cached(), (expected, True))
        self.assertEqual(self.files(), [path])

    def test_warnings_are_told_as_they_are_wanted(self):
        program = "@(foo:true) [1, 2]"
        warning = Run("-e", program).err
        self.assertRegex(warning, "^<expr>:1:3: warning: ")
        for first in ((), ("--json",)):
            self.cache = self.path("cache" + "".join(first))
            for options in (first, (), ("--json",), ()):
                run = Run("--cache", self.cache, *options, "-e", program)
                self.assertEqual((run.code, run.err), (0, "" if options else warning), (first, options))
            self.assertEqual(len(self.files()), 1)

    def test_functions_that_may_be_called_are_part_of_what_is_kept(self):
        run = lambda *options: Run("--cache", self.cache, *options, "-e", "cudf[getpid,i32]()")
        self.assertEqual((run().out, run().out), ("0\n", "0\n"))
        for value, code in (("none", 1), ("getpid", 0), ("none", 1), ("abs", 1), ("getpid", 0)):
            self.assertEqual(run("--set", "weld.cudf.allow=" + value).code, code)

    def test_many_processes_share_a_folder(self):
        many = [subprocess.Popen([CLI, "--cache", self.cache, "-e", "|x: i64| x * 7L", "6"], stdout=subprocess.PIPE)
                for _ in range(8)]
        self.assertEqual([p.communicate()[0] for p in many], [b"42\n"] * 8)
        self.assertEqual(len(self.files()), 1)

    def test_a_folder_that_cannot_be(self):
        self.fails(2, "--cache: no folder", "--cache", self.path("file", "x") + "/below", "-e", "1")

    def test_functions_of_users(self):
        run = lambda *options: Run("--cache", self.cache, *options, "-e", "cudf[no_such_function, i64](1L)")
        self.assertEqual((run().code, run().code), (1, 1))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
