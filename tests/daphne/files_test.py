#!/usr/bin/env python3
"""Files of matrices and frames, read by scripts: described by a `.meta` or not, by their own writing, changed between runs and
while they are read, and what is no such file. Usage: files_test.py WELD_CLI [unittest options]"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CLI = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "weld-cli"


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weld-files-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def put(self, name, content, meta=None):
        (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        if meta is not None:
            (self.folder / (name + ".meta")).write_text(meta if isinstance(meta, str) else json.dumps(meta))
        return name

    def run_script(self, script, *options, timeout=120):
        return subprocess.run([CLI, "--lang", "daphne", *options, "-e", script], cwd=self.folder, text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def prints(self, script, out, *options):
        run = self.run_script(script, *options)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, out, ""), script)

    def fails(self, code, pattern, script, *options, out=""):
        run = self.run_script(script, *options)
        self.assertEqual((run.returncode, run.stdout), (code, out), (script, run.stderr))
        self.assertRegex(run.stderr, pattern)
        self.assertNotRegex(run.stderr, "internal|terminate|Sanitizer")

    def frame(self, content, shown, name="f.csv"):
        """What stands in the file, read as a frame."""
        self.put(name, content)
        self.prints('print(readFrame("%s", true));' % name, shown)

    def matrix(self, content, shown, name="m.csv"):
        self.put(name, content)
        self.prints('print(readMatrix("%s", true));' % name, shown)

    def names(self):
        return sorted(p.name for p in self.folder.iterdir())


class Sniffing(Case):
    def test_frames(self):
        self.frame("1,2.5,x\n3,-4,\"y, z\"\n", "Frame(2x3, [col_0:int64_t, col_1:double, col_2:std::string])\n1 2.5 x\n3 -4 y, z\n")
        self.frame("a,b\n1,x\n-2,y", "Frame(2x2, [a:int64_t, b:std::string])\n1 x\n-2 y\n")
        self.frame("a,b\r\n1,1e3\r\n2,-1.5E-2\r\n", "Frame(2x2, [a:int64_t, b:double])\n1 1000\n2 -0.015\n")
        self.frame("n;what\n1;a,b\n2;c,d\n", "Frame(2x2, [n:int64_t, what:std::string])\n1 a,b\n2 c,d\n")
        self.frame("n\twhat\n1\ta b\n", "Frame(1x2, [n:int64_t, what:std::string])\n1 a b\n")
        self.frame("1|2\n3|4\n", "Frame(2x2, [col_0:int64_t, col_1:int64_t])\n1 2\n3 4\n")
        self.frame("\ufeffa,b\n1,2\n", "Frame(1x2, [a:int64_t, b:int64_t])\n1 2\n")
        self.frame('"a ""b""","c\nd"\n"1","x\ny"\n', 'Frame(1x2, [a "b":int64_t, c\nd:std::string])\n1 x\ny\n')
        self.frame("a,b\n1,\n,2\n", "Frame(2x2, [a:double, b:double])\n1 nan\nnan 2\n")
        self.frame("a,b\nx,\n,y\nz,1\n", "Frame(4x2, [col_0:std::string, col_1:std::string])\na b\nx \n y\nz 1\n")
        self.frame("18446744073709551615\n1\n", "Frame(2x1, [col_0:uint64_t])\n18446744073709551615\n1\n")
        self.frame("name\n1\n2\n", "Frame(2x1, [name:int64_t])\n1\n2\n")
        self.frame("name\nx\n", "Frame(2x1, [col_0:std::string])\nname\nx\n")
        self.frame("7", "Frame(1x1, [col_0:int64_t])\n7\n")
        self.frame("1,nan\n2,inf\n3,-inf\n", "Frame(3x2, [col_0:int64_t, col_1:double])\n1 nan\n2 inf\n3 -inf\n")

    def test_matrices(self):
        self.matrix("1,2\n3,4\n", "DenseMatrix(2x2, int64_t)\n1 2\n3 4\n")
        self.matrix("a;b\r\n1;2.5\r\n3;\r\n", "DenseMatrix(2x2, double)\n1 2.5\n3 nan\n")
        self.matrix("x,y\nz,w\n", "DenseMatrix(2x2, std::string)\nx y\nz w\n")
        self.matrix("1\n\n2\n\n\n", "DenseMatrix(3x1, double)\n1\nnan\n2\n")
        self.matrix("-1\t18446744073709551615\n", "DenseMatrix(1x2, double)\n-1 1.84467e+19\n")
        self.matrix("%%MatrixMarket matrix coordinate integer general\n2 2 1\n2 1 5\n", "DenseMatrix(2x2, int64_t)\n0 0\n5 0\n",
                    "m.mtx")
        self.matrix("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", "DenseMatrix(2x2, double)\n1 2\n2 3\n", "m.mtx")
        for script, shown in (("[1, -2, 3]", "int64_t"), ("[0.5f, 1.0f]", "float"), ("as.ui8([1, 200])", "uint8_t")):
            self.prints('X = %s; write(X, "x.dbdf");' % script, "")
            os.remove(self.folder / "x.dbdf.meta")
            self.prints('X = readMatrix("x.dbdf", true); print(sum(abs(X - %s))); print(X);' % script,
                        self.run_script("X = %s; print(0 * sum(X)); print(X);" % script).stdout)
            self.assertIn(shown, self.run_script('print(readMatrix("x.dbdf", true));').stdout)

    def test_names_and_shapes_are_there_for_the_rest_of_the_script(self):
        self.put("f.csv", "id,price\n1,2.5\n2,3.5\n")
        self.prints('F = readFrame("f.csv", true); print(ncol(F)); print(sum(as.matrix(F[, "price"]))); '
                    'registerView("t", F); print(sql("SELECT t.id FROM t WHERE t.price > 3.0"));',
                    "2\n6\nFrame(1x1, [t.id:int64_t])\n2\n")
        self.fails(1, "column", 'F = readFrame("f.csv", true); print(F[, "prise"]);')

    def test_what_is_no_table(self):
        for content, pattern in (("", "cannot read `f.csv`: it is empty"), ("\n\r\n", "cannot read `f.csv`: it is empty"),
                                 ("a,a\n1,2\n", "two columns of `f.csv` are called `a`")):
            self.put("f.csv", content)
            self.fails(1, pattern, 'print("no"); print(readFrame("f.csv", true));')
        for content, pattern in (("1,2\n3\n", r"`f.csv`: line 2 \(row 2\): the row has 1 of 2 fields"),
                                 ("a,b\n1,2\n3,4,5\n", r"line 3 \(row 2\): the row has more than 2 fields"),
                                 ('1,"2\n3,4\n', r"line 1 \(row 1\): the quoted field is not closed"),
                                 ('1,"2"x\n3,4\n', r"line 1 \(row 1\): text after a quoted field"),
                                 ("1,2\r3,4\r", r"carriage return")):
            self.put("f.csv", content)
            for read in ("readFrame", "readMatrix"):
                self.fails(3, pattern, 'print("yes"); print(%s("f.csv", true));' % read, out="yes\n")
        self.put("m.mtx", "nothing\n")
        self.fails(1, "`m.mtx`: its first line is not one of a Matrix Market file", 'readMatrix("m.mtx", true);')
        self.put("m.dbdf", "\x01")
        self.fails(1, "`m.dbdf`: it doesn't begin as a file of the binary format", 'readMatrix("m.dbdf", true);')
        self.put("m.txt", "1\n")
        self.fails(1, "`m.txt`: files end in", 'readMatrix("m.txt", true);')

    def test_types_that_change_behind_what_was_looked_at(self):
        rows = 200_000
        lines = ["%d,%d" % (i, i) for i in range(rows)]
        for at, cell, pattern in ((150_000, "0.5", r"line 150002 \(row 150001\), column 2: `0.5` is not a value of type `si64`; .*`.meta`"),
                                  (199_999, "x", r"line 200001 \(row 200000\), column 2: `x` is not a value"),
                                  (180_000, "1,2", r"line 180002 \(row 180001\): the row has more than 2 fields")):
            changed = list(lines)
            changed[at] = "%d,%s" % (at, cell)
            self.put("f.csv", "a,b\n" + "\n".join(changed) + "\n")
            for threads in "1", "3":
                self.fails(3, pattern, 'print(sum(readMatrix("f.csv", true)));', "--threads", threads)

    def test_large_files(self):
        """All pieces, on any number of threads, to the bit."""
        draw = random.Random(7)
        rows = 150_000
        for newline in "\n", "\r\n":
            table, words = [], 0
            for i in range(rows):
                number = draw.uniform(-1e6, 1e6) if i % 3 else draw.randrange(10**6)
                word = draw.choice(["plain", '"quoted"', '"with ""quotes"""', '"a, b"', '"two\nlines"'])
                words += word == '"two\nlines"'
                table.append((i, number, word))
            text = "id,x,word" + newline + newline.join("%d,%r,%s" % row for row in table) + newline
            self.put("f.csv", text)
            script = ('F = readFrame("f.csv", true); print(nrow(F)); print(sum(as.matrix(F[, "id"]))); X = as.matrix<f64>(F[, "x"]); '
                      'print(sum(as.matrix<str>(F[, "word"]) == "two\\nlines")); '
                      'write(X, "%s.dbdf"); write(X[149990:150000, ], "tail.csv");')
            for threads in "1", "2", "5":
                self.prints(script % ("t" + threads), "%d\n%d\n%d\n" % (rows, rows * (rows - 1) // 2, words), "--threads", threads)
            first = (self.folder / "t1.dbdf").read_bytes()
            self.assertEqual(first, (self.folder / "t2.dbdf").read_bytes())
            self.assertEqual(first, (self.folder / "t5.dbdf").read_bytes())
            numbers = memoryview(first[-8 * rows:]).cast("d").tolist()
            self.assertEqual(numbers, [float(number) for _, number, _ in table])

    def test_quotes_within_fields_of_large_files(self):
        """A quote where it means nothing, in the last piece: no row may be lost when their number is not known."""
        rows = 120_000
        for at in (3, 60_000, rows - 2, rows - 1):
            words = ["word"] * rows
            words[at] = '5" wide'
            self.put("f.csv", "".join("%d,%s\n" % (i, w) for i, w in enumerate(words)))
            self.assertGreater(os.path.getsize(self.folder / "f.csv"), 1 << 20)
            self.prints('F = readFrame("f.csv", true); print(nrow(F)); print(sum(as.matrix(F[, 0]))); print(F[%d, 1]);' % at,
                        '%d\n%d\nFrame(1x1, [col_1:std::string])\n5" wide\n' % (rows, rows * (rows - 1) // 2))


class Descriptions(Case):
    def test_meta_says_delimiter_and_names(self):
        self.put("f.csv", "a;b\n1;2\n", {"numRows": 1, "numCols": 2, "delimiter": ";", "header": True, "schema": [
            {"label": "x", "valueType": "si64"}, {"label": "y", "valueType": "f64"}]})
        self.prints('print(readFrame("f.csv"));', "Frame(1x2, [x:int64_t, y:double])\n1 2\n")

    def test_meta_that_lies(self):
        def meta(rows, columns, value="f64"):
            return {"numRows": rows, "numCols": columns, "valueType": value}
        self.put("m.csv", "1,2\n3,4\n", meta(3, 2))
        self.fails(3, "`m.csv`: it has 2 rows, not 3", 'print(readMatrix("m.csv"));')
        self.put("m.csv", "1,2\n3,4\n", meta(1, 2))
        self.prints('print(readMatrix("m.csv"));', "DenseMatrix(1x2, double)\n1 2\n")
        self.put("m.csv", "1,2\n3,4\n", meta(2, 3))
        self.fails(3, "`m.csv`: row 1: the row has 2 of 3 fields", 'print(readMatrix("m.csv"));')
        self.put("m.csv", "1,x\n3.7,4\n", meta(2, 2))
        self.prints('print(readMatrix("m.csv"));', "DenseMatrix(2x2, double)\n1 nan\n3.7 4\n")
        self.put("m.csv", "1,x\n3.7,4\n", meta(2, 2, "si64"))
        self.prints('print(readMatrix("m.csv"));', "DenseMatrix(2x2, int64_t)\n1 0\n3 4\n")
        self.put("m.csv", "", meta(2, 2))
        self.fails(3, "`m.csv`: it has 0 rows, not 2", 'print(readMatrix("m.csv"));')
        self.put("m.csv", "1\n", meta(10**15, 10**15))
        self.fails(3, "error", 'print(sum(readMatrix("m.csv")));')
        for bad in ("", "{", "[]", "{}", "null", meta(-1, 1), meta(1, 1, "f16"), meta("1", 1), '{"numRows": 1, "numCols": 1}',
                    {"numRows": 1, "numCols": 2, "schema": []}, "\xff\x00", "[" * 100_000):
            self.put("m.csv", "1\n", bad)
            self.fails(1, "m.csv.meta", 'print("no"); print(readMatrix("m.csv"));')

    def test_sniffing_is_asked_for(self):
        self.put("m.csv", "1,2\n")
        for read in "readMatrix", "readFrame":
            for rest in "", ", false":
                self.fails(1, "cannot read `m.csv.meta`: No such file or directory; without it, .*`sniff` is true",
                           'print(%s("m.csv"%s));' % (read, rest))
                self.fails(1, "cannot read `n.csv`: No such file or directory", 'print(%s("n.csv"%s));' % (read, rest))
            self.fails(1, "sniff", 'print(%s("m.csv", "x"));' % read)
        shown = "DenseMatrix(1x2, int64_t)\n1 2\n"
        self.prints('print(readMatrix("m.csv", true)); yes = sum([1, 2]) == 3; print(readMatrix(filename="m.csv", sniff=yes));', shown * 2)
        (self.folder / "m.csv.meta").write_text('{"numRows": 1, "numCols": 2, "valueType": "f32"}')  # comes before
        self.prints('print(readMatrix("m.csv", true));', "DenseMatrix(1x2, float)\n1 2\n")

    def test_what_is_no_file(self):
        self.fails(1, "cannot read `none.csv`: No such file or directory", 'readFrame("none.csv");')
        os.mkdir(self.folder / "folder.csv")
        self.fails(1, "cannot read `folder.csv`: Is a directory", 'readFrame("folder.csv", true);')
        os.mkfifo(self.folder / "pipe.csv")
        self.fails(1, "cannot read `pipe.csv`: it is no regular file", 'readFrame("pipe.csv", true);')
        os.mkfifo(self.folder / "m.csv.meta")
        self.put("m.csv", "1\n")
        self.fails(1, "cannot read `m.csv.meta`: it is no regular file", 'readMatrix("m.csv");')
        os.remove(self.folder / "m.csv.meta")
        os.symlink("loop.csv", self.folder / "loop.csv")
        self.fails(1, "cannot read `loop.csv`: Too many levels", 'readMatrix("loop.csv", true);')
        self.fails(1, "cannot read `m.csv/x.csv`: Not a directory", 'readMatrix("m.csv/x.csv", true);')
        self.fails(1, "cannot read `m.parquet`: No such file", 'readMatrix("m.parquet");')
        if os.geteuid():
            os.chmod(self.folder / "m.csv", 0)
            self.fails(1, "cannot read `m.csv`: Permission denied", 'readMatrix("m.csv", true);')
        # described files are opened when the script comes there
        meta = {"numRows": 1, "numCols": 1, "valueType": "f64"}
        self.put("gone.csv", "", meta)
        os.remove(self.folder / "gone.csv")
        self.fails(3, "`gone.csv`: No such file or directory", 'print("first"); print(readMatrix("gone.csv"));', out="first\n")
        for name in "folder.csv", "pipe.csv":
            (self.folder / (name + ".meta")).write_text(json.dumps(meta))
            self.fails(3, "`%s`: (Is a directory|it is no regular file)" % name, 'print(readMatrix("%s"));' % name)

    def test_delimiters_of_read_csv(self):
        """`.`, letters and digits may stand between fields, though numbers hold them too."""
        self.put("c.csv", "1.2\n3.4\n")
        self.prints('print(readCsv("c.csv", 2, 2, "."));', "DenseMatrix(2x2, double)\n1 2\n3 4\n")
        self.put("c.csv", "1e2\n3e4\n")
        self.prints('print(readCsv("c.csv", 2, 2, "e"));', "DenseMatrix(2x2, double)\n1 2\n3 4\n")
        self.put("c.csv", "1-2\n3-4\n")
        self.prints('print(readCsv("c.csv", 2, 2, "-"));', "DenseMatrix(2x2, double)\n1 2\n3 4\n")
        self.put("c.csv", "102\n304\n")
        self.prints('print(readCsv("c.csv", 2, 2, "0"));', "DenseMatrix(2x2, double)\n1 2\n3 4\n")
        for delimiter in ("", "ab", "\\n", '\\"'):
            run = self.run_script('print(readCsv("c.csv", 2, 2, "%s"));' % delimiter)
            self.assertIn(run.returncode, (1, 3), delimiter)
            self.assertRegex(run.stderr, "delimiter|character", delimiter)


class Writing(Case):
    def test_files_of_the_script_itself(self):
        """In a straight line, in branches, in loops, in functions; with the same name as a file of other content."""
        for old in (None, "1,2,3\n", "a,b\nx,y\n"):
            def script(text, out):
                for name in self.names():
                    os.remove(self.folder / name)
                if old:
                    self.put("a.csv", old)
                self.prints(text, out)
            two = "DenseMatrix(1x2, int64_t)\n7 8\n"
            script('write([7, 8](1, 2), "a.csv"); print(readMatrix("a.csv"));', two)
            script('write([7, 8](1, 2), "./a.csv"); print(readMatrix("a.csv"));', two)
            script('n = as.si64(sum(rand(2, 2, 1, 1, 1, 1))); if (n == 4) { write([7, 8](1, 2), "a.csv"); } '
                   'else { write([0.5], "a.csv"); } print(readMatrix("a.csv"));', two)
            script('for (i in 1:3) { write(fill(i, 1, i + 4), "a.csv"); } print(readMatrix("a.csv"));',
                   "DenseMatrix(1x7, int64_t)\n3 3 3 3 3 3 3\n")
            script('def save(n: si64) { write(fill(n, 1, 2), "a.csv"); } save(7); print(readMatrix("a.csv"));',
                   "DenseMatrix(1x2, int64_t)\n7 7\n")
            script('def load() { return readMatrix("a.csv", true); } write([7, 8](1, 2), "a.csv"); X = load(); print(X);', two)
            script('name = "a" + ".csv"; write([7, 8](1, 2), name); print(readMatrix("a.csv"));', two)
            script('write([1.5], "a.csv"); write([7, 8](1, 2), "./a.csv"); print(readMatrix("a.csv")); '
                   'write({"x": [1], "y": ["z"]}, "a.csv"); print(readFrame("./a.csv"));',
                   two + "Frame(1x2, [x:int64_t, y:std::string])\n1 z\n")
            script('write({"x": [1, 2]}, "a.csv"); print(readMatrix("a.csv"));', "DenseMatrix(2x1, int64_t)\n1\n2\n")
            script('i = 0; while (i < 3) { write(fill(i, i + 1, 1), "a.csv"); X = readMatrix("a.csv"); print(sum(X)); i = i + 1; }',
                   "0\n2\n6\n")

    def test_a_file_that_is_read_before_it_is_written(self):
        self.put("a.csv", "1,2\n")
        self.prints('X = readMatrix("a.csv", true); print(X); write(X + 0.5, "a.csv"); print(readMatrix("a.csv"));',
                    "DenseMatrix(1x2, int64_t)\n1 2\nDenseMatrix(1x2, double)\n1.5 2.5\n")
        self.put("b.csv", "1,2\n")  # each round reads what the one before has left, of another type
        self.prints('for (i in 1:3) { X = readMatrix("b.csv", true); print(sum(X)); write(X + 0.5, "b.csv"); }', "3\n4\n5\n")
        self.assertEqual((self.folder / "b.csv").read_text(), "2.500000,3.500000\n")

    def test_nothing_half_written(self):
        self.put("old.csv", "1\n")
        for script, code, pattern in (
                ('write([1.5], "none/a.csv");', 3, "cannot write `none/a.csv`: No such file or directory"),
                ('write([1.5], "a.txt");', 3, "`a.txt`: matrices are written to"),
                ('write(["x"], "a.dbdf");', 3, "`.dbdf` holds no strings"),
                ('write({"a": [1]}, "a.dbdf");', 3, "frames are written to `.csv`"),
                ('write([1.5], "old.csv/a.csv");', 3, "cannot write"),
                ('write([1.5], "d.csv");', 3, "cannot write `d.csv`: .*directory")):
            (self.folder / "d.csv").mkdir(exist_ok=True)
            before = self.names()
            self.fails(code, pattern, script)
            self.assertEqual(self.names(), before)
        os.symlink("/dev/full", self.folder / "full.csv")
        before = self.names()
        for script in ('write([1.5], "full.csv");', 'write(rand(1000, 100, 0.0, 1.0, 1, 1), "full.csv");',
                       'write({"a": [1]}, "full.csv");'):
            self.fails(3, "cannot write `full.csv`: No space left", script)
            self.assertEqual(self.names(), before)

    def test_interrupted_while_writing(self):
        script = 'X = rand(100000, 40, 0.0, 1.0, 1.0, 1); print("ready"); write(X, "x.csv"); print("done");'
        for old in None, b"old\n":
            if old:
                self.put("x.csv", old)
            before = self.names()
            p = subprocess.Popen([CLI, "--lang", "daphne", "-e", script], cwd=self.folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            ends = time.monotonic() + 60
            while True:  # until part of it stands in a temporary file
                self.assertIsNone(p.poll(), "it was too quick")
                new = [f for f in self.folder.iterdir() if f.name not in before]
                if new and new[0].stat().st_size > 0:
                    break
                self.assertLess(time.monotonic(), ends)
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=60)
            self.assertEqual(p.returncode, 130)
            self.assertEqual(self.names(), before)
            if old:
                self.assertEqual((self.folder / "x.csv").read_bytes(), old)


class Cached(Case):
    SCRIPT = 'F = readFrame("f.csv", true); print(F);'

    def cached(self, out, script=None):
        self.prints(script or self.SCRIPT, out, "--cache", "cache")

    def stored(self):
        return len(list((self.folder / "cache").iterdir()))

    def test_files_that_change(self):
        one = "Frame(1x2, [a:int64_t, b:std::string])\n1 x\n"
        self.put("f.csv", "a,b\n1,x\n")
        self.cached(one)
        self.assertEqual(self.stored(), 1)
        code = next((self.folder / "cache").iterdir())
        stamp = code.stat().st_mtime_ns, code.stat().st_ino
        self.cached(one)
        self.put("f.csv", "a,b\n5,y\n6,z\n")  # more rows: the same program
        self.cached("Frame(2x2, [a:int64_t, b:std::string])\n5 y\n6 z\n")
        self.assertEqual((code.stat().st_mtime_ns, code.stat().st_ino), stamp)
        self.put("f.csv", "a,b\n5.5,y\n6,z\n")
        self.cached("Frame(2x2, [a:double, b:std::string])\n5.5 y\n6 z\n")
        self.put("f.csv", "a;c\n5.5;y\n6;z\n")
        self.cached("Frame(2x2, [a:double, c:std::string])\n5.5 y\n6 z\n")
        self.put("f.csv", "1\n2\n", {"numRows": 2, "numCols": 1, "schema": [{"label": "m", "valueType": "f32"}]})
        self.cached("Frame(2x1, [m:float])\n1\n2\n")
        self.put("f.csv", "1\n2\n", {"numRows": 1, "numCols": 1, "schema": [{"label": "m", "valueType": "f32"}]})
        self.cached("Frame(1x1, [m:float])\n1\n")
        os.remove(self.folder / "f.csv.meta")
        self.cached("Frame(2x1, [col_0:int64_t])\n1\n2\n")
        os.remove(self.folder / "f.csv")
        self.fails(1, "cannot read `f.csv`: No such file", self.SCRIPT, "--cache", "cache")
        self.put("f.csv", "a,b\n1,x\n")
        self.cached(one)

    def test_a_meta_that_goes(self):
        """What would be sniffed is the same, but that was not asked for."""
        self.put("f.csv", "1\n2\n")
        text = '{"delimiter":",","header":false,"matrixValueType":"si64","numCols":1,"numRows":null,"schema":[{"label":"col_0",' \
               '"valueType":"si64"}]}'
        (self.folder / "f.csv.meta").write_text(text)
        script = 'print(readFrame("f.csv"));'
        for _ in range(2):
            self.cached("Frame(2x1, [col_0:int64_t])\n1\n2\n", script)
        os.remove(self.folder / "f.csv.meta")
        self.fails(1, "cannot read `f.csv.meta`", script, "--cache", "cache")

    def test_scripts_that_write_what_they_read(self):
        self.put("f.csv", "1,2\n")
        script = 'X = readMatrix("f.csv", true); print(X); write(X + 0.5, "f.csv");'
        self.cached("DenseMatrix(1x2, int64_t)\n1 2\n", script)
        self.cached("DenseMatrix(1x2, double)\n1.5 2.5\n", script)
        self.cached("DenseMatrix(1x2, double)\n2 3\n", script)
        own = 'write([7, 8], "own.csv"); print(readMatrix("own.csv"));'
        for _ in range(2):
            self.cached("DenseMatrix(2x1, int64_t)\n7\n8\n", own)
            self.put("own.csv", "something else\n")

    def test_folders_do_not_share_files(self):
        """The path is that of the process: another folder, another file."""
        self.put("f.csv", "1\n")
        self.cached("Frame(1x1, [col_0:int64_t])\n1\n")
        other = self.folder / "other"
        other.mkdir()
        shutil.copytree(self.folder / "cache", other / "cache")
        (other / "f.csv").write_text("x,y\n")
        self.folder = other
        self.cached("Frame(1x2, [col_0:std::string, col_1:std::string])\nx y\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
