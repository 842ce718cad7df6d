#!/usr/bin/env python3
"""Random scripts of DaphneDSL against a reference: what each expression and statement does is said once more here, by
plain loops over tuples of rows. A script and its meaning are made together.

    random_scripts.py WELD_CLI [COUNT [SEED]]

Scripts that come to numbers beyond what is exact in any order are left out; which of two zeros is less is left open. One
that fails is printed.
"""
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

WAYS = [["-O0"], ["-O2", "--threads", "1"], ["-O3", "--threads", "4"],
        ["-O2", "--threads", "4", "--select-matrix-repr"]]  # matrices of few cells that are not zero are sparse
MOST = 2**50  # sums of such numbers, and of their quarters, are exact


class TooLarge(Exception):
    pass


# ---- values: int, float, or ('matrix', float or int, rows)

def kept(value):
    for cell in value if isinstance(value, tuple) else ((value,),):
        for v in cell:
            if abs(v) > MOST or v != v:
                raise TooLarge
    return value


def cells(f, *operands):
    """`f` of cells: scalars, single rows and single columns are repeated."""
    matrices = [m for m in operands if isinstance(m, tuple)]
    if not matrices:
        return f(*operands)
    n, m = max(len(x) for x in matrices), max(len(x[0]) for x in matrices)

    def at(x, r, c):
        return x[r % len(x)][c % len(x[0])] if isinstance(x, tuple) else x
    return tuple(tuple(f(*(at(x, r, c) for x in operands)) for c in range(m)) for r in range(n))


def transposed(x):
    return tuple(zip(*x))


def product(x, y):
    return tuple(tuple(sum(a * b for a, b in zip(row, column)) for column in zip(*y)) for row in x)


def folded(f):
    return {"all": lambda x: f(c for row in x for c in row), "rows": lambda x: tuple((f(row),) for row in x),
            "columns": lambda x: (tuple(f(column) for column in zip(*x)),)}


def reshaped(x, columns):
    flat = [c for row in x for c in row]
    return tuple(tuple(flat[i:i + columns]) for i in range(0, len(flat), columns))


def running(x):
    sums = [x[0]]
    for row in x[1:]:
        sums.append(tuple(a + b for a, b in zip(sums[-1], row)))
    return tuple(sums)


def sign(a):
    return type(a)((a > 0) - (a < 0))


SUM, MIN, MAX = folded(sum), folded(min), folded(max)

# Type of the result, types of the operands, the script, the meaning. `i`, `f`: scalars of si64, f64; `I`, `F`: matrices of
# two rows and three columns.
EXPRESSIONS = [(t, t + t, "({} %s {})" % op, lambda a, b, f=f: cells(f, a, b)) for t in "ifIF" for op, f in (
    ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b))]
EXPRESSIONS += [(t, ts, "({} %s {})" % op, lambda a, b, f=f: cells(f, a, b)) for t, ts in (
    ("f", "fi"), ("f", "if"), ("I", "Ii"), ("I", "iI"), ("F", "Ff"), ("F", "fF"), ("F", "FI"), ("F", "iF")) for op, f in (
    ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b))]
EXPRESSIONS += [(t, t + t, "({} %s {})" % op, lambda a, b, f=f, of=of: cells(lambda x, y: of(f(x, y)), a, b))
                for t, of in zip("ifIF", (int, float, int, float)) for op, f in (
                    ("<", lambda a, b: a < b), (">=", lambda a, b: a >= b),
                    ("==", lambda a, b: a == b), ("!=", lambda a, b: a != b))]
EXPRESSIONS += [(t, t, name + "({})", lambda a, f=f: cells(f, a)) for t in "ifIF"
                for name, f in (("abs", abs), ("sign", sign), ("-", lambda a: -a))]
EXPRESSIONS += [(t, t + t, name + "({}, {})", lambda a, b, f=f: cells(f, a, b)) for t in "ifIF"
                for name, f in (("min", min), ("max", max))]
for whole, one in (("I", "i"), ("F", "f")):
    for name, how in (("sum", SUM), ("aggMin", MIN), ("aggMax", MAX)):
        EXPRESSIONS += [
            (one, whole, name + "({})", how["all"]),
            (whole, whole + whole, "({} + %s({}, 0))" % name, lambda x, y, h=how: cells(lambda a, b: a + b, x, h["rows"](y))),
            (whole, whole + whole, "(%s({}, 1) - {})" % name, lambda x, y, h=how: cells(lambda a, b: a - b, h["columns"](x), y))]
    EXPRESSIONS += [
        (whole, whole, "reverse({})", lambda x: x[::-1]),
        (whole, whole, "t(reshape({}, 3, 2))", lambda x: transposed(reshaped(x, 2))),
        (whole, whole, "cumSum({})", running),
        (whole, whole, "{}[ [1, 0], [-1, 0, 2] ]", lambda x: tuple(tuple(x[r][c] for c in (2, 0, 2)) for r in (1, 0))),
        (whole, whole + whole, "rbind({}[0, ], {}[1:, ])", lambda x, y: (x[0], y[1])),
        (whole, whole + whole, "cbind({}[:, 0:2], {}[:, -1])", lambda x, y: tuple(a[:2] + b[2:] for a, b in zip(x, y))),
        (whole, whole + whole, "({0} @ t({1}) @ {1})", lambda x, y: product(product(x, transposed(y)), y)),
        (whole, "I" + whole + whole, "({} > 0 ? {} : {})", lambda c, a, b: cells(lambda p, q, r: q if p > 0 else r, c, a, b)),
        (one, whole, "as.scalar({}[1, -2])", lambda x: x[1][1]),
        (one, "i" + one + one, "({} ? {} : {})", lambda c, a, b: a if c else b)]
EXPRESSIONS += [("i", "ii", "({} && {})", lambda a, b: int(a != 0 and b != 0)),
                ("i", "ii", "({} || {})", lambda a, b: int(a != 0 or b != 0)),
                ("i", "I", "as.si64(ncell({}))", lambda x: len(x) * len(x[0])), ("f", "i", "as.f64({})", float),
                ("i", "f", "as.si64({})", int), ("f", "f", "floor({})", lambda a: float(math.floor(a))),
                ("F", "I", "as.f64({})", lambda x: cells(float, x)), ("I", "F", "as.si64({})", lambda x: cells(int, x))]
FOR = {t: [e for e in EXPRESSIONS if e[0] == t] for t in "ifIF"}


def number(v):
    return "%g" % (v + 0.0) if isinstance(v, float) else str(v)


def printed(v):
    if not isinstance(v, tuple):
        return [number(v)]
    kind = "double" if isinstance(v[0][0], float) else "int64_t"
    return ["DenseMatrix(%dx%d, %s)" % (len(v), len(v[0]), kind)] + [" ".join(map(number, row)) for row in v]


class Script:
    """Lines, and what they do: functions of the variables and of what is printed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.types = {}
        self.fixed = set()  # what must not be assigned
        self.count = 0
        self.functions = []
        self.lines, steps = [], []
        for _ in range(self.random.randint(0, 2)):
            self.function()
        for t in "ifIF":
            steps.append(self.define(t))
        steps += [self.statement(0) for _ in range(self.random.randint(5, 12))]
        steps += [self.print((name, lambda env, name=name: env[name])) for name in sorted(self.types)]
        self.steps = steps

    def run(self):
        env, out = {}, []
        for step in self.steps:
            step(env, out)
        return out

    def new(self, t):
        self.count += 1
        name = "v%d" % self.count
        self.types[name] = t
        return name

    # ---- expressions: (text, meaning)

    def leaf(self, t):
        names = [n for n, of in self.types.items() if of == t]
        if names and self.random.random() < 0.8:
            name = self.random.choice(names)
            return name, lambda env: env[name]
        one = (lambda: self.random.randint(-4, 4)) if t in "iI" else (lambda: self.random.randint(-8, 8) / 4)
        if t in "if":
            v = one()
            return "(%r)" % v, lambda env: v
        dense = 1 if self.random.random() < 0.5 else 0.15
        rows = tuple(tuple(one() if self.random.random() < dense else 0 * one() for _ in range(3)) for _ in range(2))
        return "[%s](2, 3)" % ", ".join(repr(c) for row in rows for c in row), lambda env: rows

    def expression(self, t, depth=0):
        if depth > 2 or self.random.random() < 0.2:
            return self.leaf(t)
        if t == "i" and self.functions and self.random.random() < 0.1:
            operands, text, meaning = "ii", *self.random.choice(self.functions)
        else:
            _, operands, text, meaning = self.random.choice(FOR[t])
        args = [self.expression(o, depth + 1) for o in operands]
        return text.format(*(a[0] for a in args)), lambda env: kept(meaning(*(a[1](env) for a in args)))

    # ---- statements: the lines are written, the meaning is given

    def function(self):
        self.types = {"a": "i", "b": "i"}
        condition, one, other = (self.expression("i", 1) for _ in range(3))
        name = "f%d" % (len(self.functions) + 1)
        types = self.random.choice([("", ""), (": si64", " -> si64")])
        self.lines += ["def %s(a%s, b%s)%s {" % (name, types[0], types[0], types[1]), "    if (%s)" % condition[0],
                       "        return %s;" % one[0], "    return %s;" % other[0], "}"]

        def meaning(a, b):
            env = {"a": a, "b": b}
            return (one if condition[1](env) else other)[1](env)
        self.functions.append((name + "({}, {})", meaning))
        self.types = {}

    def assign(self, name, what):
        text, meaning = what
        self.lines.append("%s = %s;" % (name, text))

        def step(env, out):
            env[name] = meaning(env)
        return step

    def define(self, t):
        what = self.expression(t)
        return self.assign(self.new(t), what)

    def print(self, what):
        text, meaning = what
        self.lines.append("print(%s);" % text)
        return lambda env, out: out.extend(printed(meaning(env)))

    def insert(self, name):
        row = self.random.randint(0, 1)
        text, meaning = self.expression(self.types[name])
        self.lines.append("%s[%d, 1:] = (%s)[%d, :2];" % (name, row, text, 1 - row))

        def step(env, out):
            rows = list(env[name])
            rows[row] = rows[row][:1] + meaning(env)[1 - row][:2]
            env[name] = tuple(rows)
        return step

    def block(self, depth):
        before = dict(self.types)
        self.lines[-1] += " {"
        steps = [self.statement(depth + 1) for _ in range(self.random.randint(1, 4))]
        self.lines.append("}")
        self.types = before

        def step(env, out):
            for s in steps:
                s(env, out)
        return step

    def statement(self, depth):
        kind = self.random.choice(["assign"] * 4 + ["new", "print", "insert"] + ["if", "for", "while"] * (depth < 3))
        if kind == "print":
            return self.print(self.expression(self.random.choice("ifIF")))
        if kind == "insert":
            return self.insert(self.random.choice([n for n, t in self.types.items() if t in "IF"]))
        if kind == "new":
            return self.define(self.random.choice("ifIF"))
        if kind == "assign":
            name = self.random.choice([n for n in self.types if n not in self.fixed])
            return self.assign(name, self.expression(self.types[name]))
        if kind == "if":
            return self.choice(depth)
        return self.loop(kind, depth)

    def choice(self, depth):
        text, meaning = self.expression("i")
        self.lines.append("if (%s)" % text)
        then, otherwise = self.block(depth), None
        if self.random.random() < 0.5:
            self.lines.append("else")
            otherwise = self.block(depth)

        def step(env, out):
            side = then if meaning(env) else otherwise
            if side:
                side(env, out)
        return step

    def loop(self, kind, depth):
        self.count += 1
        name = "i%d" % self.count
        if kind == "for":
            first, last = self.random.randint(-1, 2), self.random.randint(-1, 4)
            self.lines.append("for (%s in %d:%d)" % (name, first, last))
            way = 1 if last >= first else -1
            rounds, go_on = range(first, last + way, way), lambda env: True
        else:
            self.lines.append("%s = 0;" % name)
            text, condition = self.expression("i", 1)
            self.lines.append("while (%s < 3 && %s < 5)" % (name, text))
            rounds, go_on = range(3), lambda env: condition(env) < 5
        outer = dict(self.types)
        self.types[name] = "i"
        self.fixed.add(name)
        body = self.block(depth)
        if kind == "while":
            self.lines[-1] = "%s = %s + 1; }" % (name, name)
        self.fixed.discard(name)
        self.types = outer

        def step(env, out):
            for i in rounds:
                if kind == "while" and not go_on(env):
                    break
                env[name] = i
                body(env, out)
        return step


def main():
    cli = str(pathlib.Path(sys.argv[1]).resolve())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    tried = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "script.daphne"
        while tried < count:
            script = Script(seed)
            seed += 1
            try:
                expected = script.run()
            except TooLarge:
                continue
            tried += 1
            path.write_text("\n".join(script.lines) + "\n")
            for way in WAYS:
                done = subprocess.run([cli, *way, str(path)], capture_output=True, text=True, timeout=600)
                printed = re.sub(r"-0\b(?!\.)", "0", done.stdout).replace("CSRMatrix", "DenseMatrix")
                if done.returncode == 0 and printed.split("\n") == expected + [""]:
                    continue
                failures += 1
                print(f"seed {seed - 1}, {' '.join(way)}: exit code {done.returncode}\n{path.read_text()}-- prints\n{done.stdout}"
                      f"-- expected\n" + "\n".join(expected) + f"\n{done.stderr}")
                break
    print(f"{tried} scripts, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
