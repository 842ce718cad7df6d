#!/usr/bin/env python3
"""Gives weld-cli what nobody should: garbage, halves of programs, huge and deep ones, files that lie. It must answer as the
contract says (a result, or a diagnostic with its exit code), and soon: within MOST times the processor time of a program
that is known to take its time. Usage: bad_input_test.py WELD_CLI [unittest options]"""
import functools
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

CLI = os.path.abspath(sys.argv[1])
MOST = 20

PROGRAM = """type pair = {i64, f64}; # doc
macro twice(f, x) = f(f(x));
|v: vec[pair], s: vec[i8], n: i64|
  let t = result(for(v, dictmerger[i64,f64,+], |b, i, x| if(x.$0 > n && i % 2L == 0L, merge(b, {x.$0, x.$1}), b)));
  let w = sort(tovec(t), |a| -a.$1);
  {len(s), twice(|x: i64| x * 0x1fL, n), map(w, |e| select(e.$1 >= 1.5e0, "a\\n\\"b", [i8(e.$0)]))}
"""
WORDS = PROGRAM.replace("(", " ( ").replace(")", " ) ").replace("[", " [ ").replace("]", " ] ").split() + [
    "iterate", "zip", "simditer", "vecmerger", "broadcast", "'", '"', "@(", "0b", "1e", "9" * 30, "\x00", "é", "\xff", "->"]


def timed(args, **files):
    """The process of a run that has ended, and its seconds of processor time."""
    process = subprocess.Popen([CLI, *args], stdin=subprocess.DEVNULL, **files)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process, usage.ru_utime + usage.ru_stime


def time_of_known():
    """Seconds for 5,000 elements to compute, which are code that is made and run."""
    with tempfile.NamedTemporaryFile("w", suffix=".weld") as f:
        f.write("|x: f64| sum([%s])" % ", ".join("x * %d.5" % i for i in range(5_000)))
        f.flush()
        return timed([f.name, "2.0"], stdout=subprocess.DEVNULL)[1]


first_time_of_known = functools.cache(time_of_known)


class BadInput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weld-bad-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as f:
            f.write(content)
        return path

    def run_cli(self, *args):
        """(exit code, standard output, standard error) of a run that took no longer than it may. One that seems to is run
        again beside what it is measured by: the machine may have become slower."""
        out, err = (os.path.join(self.folder.name, name) for name in ("out", "err"))
        with open(out, "wb") as o, open(err, "wb") as e:
            process, seconds = timed(args, stdout=o, stderr=e)
        ratio = seconds / first_time_of_known()
        for _ in range(2):
            if ratio >= MOST:
                again = timed(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)[1]
                ratio = min(ratio, again / time_of_known())
        self.assertLess(ratio, MOST)
        with open(out, "rb") as o, open(err, "rb") as e:
            return process.returncode, o.read().decode("utf-8", "replace"), e.read().decode("utf-8", "replace")

    def expect(self, codes, *args):
        """A run with one of the exit codes `codes`, and what must come with it. Returns what it wrote."""
        code, out, err = self.run_cli(*args)
        self.assertIn(code, codes, err[:2000])
        if code != 0:
            self.assertEqual(out, "")
            self.assertRegex(err, "weld-cli: error: ." if code == 2 else ":[0-9]+:[0-9]+: error: .")
            self.assertLess(len(err), 100_000)
        return out + err

    def program(self, codes, text, *args):
        content = text if isinstance(text, bytes) else text.encode()
        return self.expect(codes, self.path("p.weld", content), *args)

    def test_random_bytes(self):
        r = random.Random(1)
        for size in [0, 1, 2, 3, 10, 100, 1000, 10_000, 100_000] * 4:
            self.program([1], r.randbytes(size))
        self.program([1], r.randbytes(2_000_000))

    def test_random_words(self):
        r = random.Random(2)
        for size in [3, 10, 30, 100, 1000, 100_000] * 5:
            self.program([0, 1, 2], " ".join(r.choice(WORDS) for _ in range(size)).encode("latin-1", "replace"))

    def test_truncated_programs(self):
        args = ("[{1, 2.0}, {3, 4.5}, {5, 6.5}]", '"text"', "1")
        self.assertEqual(self.program([0], PROGRAM, *args), '{4, 961, ["a\\n\\"b"]}\n')
        whole = len(PROGRAM.rstrip())
        for size in range(0, whole, 7):
            self.program([1, 2], PROGRAM[:size], *args)

    def test_changed_programs(self):
        r = random.Random(3)
        for _ in range(60):
            text = bytearray(PROGRAM.encode())
            for _ in range(r.randint(1, 3)):
                at = r.randrange(len(text))
                if r.random() < 0.5:
                    text[at] = r.randrange(256)
                else:
                    del text[at:at + r.randint(1, 9)]
            self.program([0, 1, 2, 3], bytes(text), "[{1, 2.0}]", '"text"', "1")

    def test_deep_programs(self):
        self.assertEqual(self.program([0], "(" * 1000 + "1" + ")" * 1000), "1\n")
        for n in (10_000, 300_000):
            for left, middle, right in (("(", "1", ")"), ("[", "1", "]"), ("{", "1", "}"), ("-", "1", ""), ("!", "true", ""),
                                        ("if(true,", "1", ",2)"), ("let x = (", "1", "); x"), ("|x: ", "i64", "| x"),
                                        ("f(", "1", ")"), ("1 + (", "1", ")"), ("@(a: 1)", "1", ""), ("", "1", ".$0"),
                                        ("|x: vec[", "i64", "]| x"), ("~(", "1", ")"), ("for(", "1", ")"), ("1: ", "i32", "")):
                with self.subTest(left=left, n=n):
                    self.program([0, 1, 2], left * n + middle + right * n)
                    if left and right:
                        self.program([1], left * n + middle)
                    self.program([1], left * n)

    def test_deep_arguments(self):
        for n in (1000, 10_000, 100_000):
            for parameter in ("i64", "vec[i64]", "vec[vec[i64]]", "{i64,vec[i8]}"):
                for left in "[{(\"-":
                    self.expect([2], "-e", "|v: %s| v" % parameter, left * n)
        self.assertEqual(self.expect([0], "-e", "|v: vec[vec[i8]]| len(v)", "[" + ", ".join(["[]"] * 10_000) + "]"), "10000\n")

    def test_long_literals(self):
        numbers = ", ".join("%dL" % i for i in range(100_000))
        self.assertEqual(self.program([0], "let v = [%s]; {len(v), lookup(v, 99999L)}" % numbers), "{100000, 99999}\n")
        pairs = ", ".join("{%d, %d.5}" % (i, i) for i in range(100_000))
        self.assertEqual(self.program([0], "|i: i64| lookup([%s], i)" % pairs, "99999"), "{99999, 99999.5}\n")
        texts = ", ".join('"s%d"' % i for i in range(50_000))
        self.assertEqual(self.program([0], "|i: i64| lookup([%s], i)" % texts, "49999"), '"s49999"\n')
        vectors = ", ".join('[%dL, 1L]' % i for i in range(50_000))
        self.assertEqual(self.program([0], "|i: i64| lookup([%s], i)" % vectors, "49999"), '[49999, 1]\n')
        products = ", ".join("x * %d.5" % i for i in range(50_000))
        self.assertEqual(self.program([0], "|x: f64| sum([%s])" % products, "2.0"), "2500000000.0\n")
        self.assertEqual(self.program([0], 'len("%s")' % ("a" * 100_000)), "100000\n")
        argument = "[%s]" % ", ".join(str(i) for i in range(20_000))
        self.assertEqual(self.expect([0], "-e", "|v: vec[i64]| len(v)", argument), "20000\n")
        fields = ", ".join("1" for _ in range(4000))
        self.assertEqual(self.program([0], "{%s}.$3999" % fields), "1\n")
        self.program([1], "{%s}" % ("1, " * 100_000))
        for number in ("9" * 100_000, "0x" + "f" * 100_000, "1e" + "9" * 100_000, "0." + "0" * 100_000 + "1", "x" * 1_000_000, "1" * 1_000_000 + "u8", "$" * 1_000_000):
            self.program([0, 1], number)

    def test_recursive_macros(self):
        self.assertIn("macro", self.program([1], "macro f(x) = f(x); f(1)"))
        self.assertIn("macro", self.program([1], "macro f(x) = g(x); macro g(x) = f(x); f(1)"))
        explosion = "macro m0(x) = x + x;" + "".join("macro m%d(x) = m%d(m%d(x));" % (i, i - 1, i - 1) for i in range(1, 40))
        self.program([1], explosion + "m39(1)")
        self.program([1], "macro f(g) = g(g); f(f)")
        self.program([1], "let f = |g| g(g); f(f)")

    def test_endless_recursion(self):
        for text in ("def f(n: i64): i64 = 1L + f(n); f(1L)",
                     "def f(n: i64): i64 = 1L + g(n); def g(n: i64): i64 = 2L * f(n - 1L); f(1L)",
                     "def f(x: i64): i64 = result(for([x, x], merger[i64,+], |b, i, y| merge(b, g(y)))); "
                     "def g(x: i64): i64 = 1L + f(x); f(1L)",
                     "def f(b: appender[i64]): appender[i64] = (let c = f(b); merge(c, 1L)); result(f(appender[i64]))",
                     "def f(x: i64): i64 = lookup(sort([x, 2L], |y| f(y)), 0L); f(1L)",
                     "def f(x: i64): i64 = iterate(x, |s| {f(s), s > 0L}); f(1L)"):
            for level in ("-O0", "-O1", "-O2") if "for(" in text else ("-O2",):
                with self.subTest(text=text, level=level):
                    self.assertIn("recursion is too deep", self.expect([3], level, self.path("p.weld", text.encode())))
        self.assertEqual(self.program([0], "def f(n: i64): i64 = 1L / g(n); def g(n: i64): i64 = f(n); 5"), "5\n")

    def test_ten_thousand_arguments(self):
        n = 10_000
        names = ["x%d" % i for i in range(n)]
        parameters = ", ".join(x + ": i64" for x in names)
        numbers = ", ".join("%dL" % i for i in range(n))
        read = ", ".join("lookup(v, 0L)" for _ in range(n))
        sum_of_all = "%d\n" % (n * (n - 1) // 2)
        self.assertEqual(self.program([0], "def f(%s): i64 = %s; f(%s)" % (parameters, " + ".join(names), numbers)), sum_of_all)
        self.assertEqual(self.program([0], "let f = |%s| %s; f(%s)" % (", ".join(names), " + ".join(names), numbers)), sum_of_all)
        for call in ("%s", "1L + %s"):
            text = "def f(%s): i64 = if(x0 == 0L, x9999, %s); |v: vec[i64]| f(%s)" % (
                parameters, call % ("f(x0 - 1L, %s)" % ", ".join(names[1:])), read)
            self.assertEqual(self.program([0], text, "[3]"), "3\n" if call == "%s" else "6\n")
        self.assertIn("takes 10000 arguments, found 10001", self.program([1], "def f(%s): i64 = x0; f(%s, 1L)" % (parameters, numbers)))
        self.assertIn("at most 127", self.program([1, 3], "cudf[abs,i64](%s)" % numbers))

    def test_arguments_of_wrong_types(self):
        types = {"i64": "5", "i8": "100", "f64": "1.5", "bool": "true", "vec[i64]": "[1, 2]", "vec[i8]": '"text"',
                 "{i64,bool}": "{1, true}", "vec[{f64,vec[i8]}]": '[{1.5, "a"}]', "vec[vec[bool]]": "[[true], []]"}
        fit = {("i64", "i8"), ("f64", "i8"), ("f64", "i64"), ("i8", "i64"), ("vec[i8]", "vec[i64]")}
        for parameter in types:
            for wrote, argument in types.items():
                codes = [0] if parameter == wrote or (parameter, wrote) in fit else [2]
                self.expect(codes, "-e", "|x: %s| x" % parameter, argument)
        for parameter in types:
            for argument in ("", " ", "[", "]", "{", "1,", "1 2", "[1,,2]", "nan()", "\"", "'", "@", "@/", "9x9",
                             "[1, 2", "{1}", "\\", "é", "-", "--1", "1e", "[true]"):
                with self.subTest(parameter=parameter, argument=argument):
                    self.expect([2], "-e", "|x: %s| x" % parameter, argument)
        self.expect([2], "-e", "|x: i64| x")
        self.expect([2], "-e", "|x: i64| x", "1", "2")

    @staticmethod
    def npy(shape, data, dtype="<i8", size=None):
        header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
        header += " " * (-(10 + len(header) + 1) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) if size is None else size) + header.encode() + data

    def test_arrays_that_lie(self):
        data = struct.pack("<4q", 1, 2, 3, 4)
        run = "|v: vec[i64]| result(for(v, merger[i64,+], |b, i, x| merge(b, x)))"
        rows = "|v: vec[vec[i64]]| result(for(v, merger[i64,+], |b, i, r| for(r, b, |c, j, x| merge(c, x))))"
        whole = self.npy("(4,)", data)
        self.assertEqual(self.expect([0], "-e", run, "@" + self.path("a.npy", whole)), "10\n")
        for shape, sum_of_all in (("(3,)", "6\n"), ("(0,)", "0\n")):  # what comes behind is not read
            self.assertEqual(self.expect([0], "-e", run, "@" + self.path("a.npy", self.npy(shape, data))), sum_of_all)
        for shape in ("(5,)", "(-1,)", "(4611686018427387905,)", "(99999999999999999999999,)", "(2, 2)", "()",
                      "(4, 0)", "4", "(4", "(,)", "(4294967296, 4294967296)", "(1, 5)"):
            self.expect([2], "-e", run, "@" + self.path("a.npy", self.npy(shape, data)))
            if shape not in ("(2, 2)", "(4, 0)"):
                self.expect([2], "-e", rows, "@" + self.path("a.npy", self.npy(shape, data)))
        for size in (0, 1, 50, 200, 65535):
            self.expect([2], "-e", run, "@" + self.path("a.npy", self.npy("(4,)", data, size=size)))
        for size in range(0, len(whole), 5):
            self.expect([2], "-e", run, "@" + self.path("a.npy", whole[:size]))
        r = random.Random(4)
        for _ in range(100):
            changed = bytearray(whole)
            for _ in range(r.randint(1, 3)):
                changed[r.randrange(128)] = r.randrange(256)
            self.expect([0, 2], "-e", run, "@" + self.path("a.npy", bytes(changed)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
