#!/usr/bin/env python3
"""Checks that compiling takes time in proportion to the program: processor time of a program against that of one five
times as long; and that straight-line code beside an iterate takes no longer than alone, and many loops with little data less than as
many in small programs. Usage: compile_time.py
WELD_CLI"""
import resource
import subprocess
import sys
import tempfile

GROWTH = 5
MOST = 10.0  # times the time for five times the program: linear, with room for noise and for what starts once


def lets(of, type_):
    return lambda n: f"|x: {type_}| let a0 = x;\n" + "".join(
        f"let a{i + 1} = {of(i)};\n" for i in range(n)) + f"a{n}"


def loops(n):
    return "|v: vec[f64]| let s0 = 0.0;\n" + "".join(
        f"let s{i + 1} = result(for(v, merger[f64,+], |b, j, x| if(x > s{i}, merge(b, x * {i}.5), b)));\n"
        for i in range(n)) + f"s{n}"


def functions(n):
    """Each of some 170 nodes, called twice."""
    body = "".join(f"let a{k + 1} = a{k} * {k}L + x; " for k in range(40))
    return "".join(f"def fun{i}(x: i64): i64 = let a0 = x * {i}L; {body} a40;\n" for i in range(n)) + (
        "|x: i64| " + " + ".join(f"fun{i}(x) + fun{i}(x + 1L)" for i in range(n)))


def chain(n):
    """Each calls the one before it twice."""
    body = "".join(f"let a{k + 1} = a{k} * {k}L + x; " for k in range(12))
    return f"def fun0(x: i64): i64 = x;\n" + "".join(
        f"def fun{i + 1}(x: i64): i64 = if(x > {i}L, fun{i}(x - 1L), let a0 = fun{i}(x / 2L); {body} a12);\n"
        for i in range(n)) + f"|x: i64| fun{n}(x)"


def row(n):
    """Each calls the next one, once."""
    return "".join(f"def fun{i}(x: i64): i64 = {i}L + fun{i + 1}(x * 2L);\n" for i in range(n)) + (
        f"def fun{n}(x: i64): i64 = x;\n|x: i64| fun0(x)")


def ring(n):
    """Each calls the next one, once, and the last one the first."""
    return "".join(f"def fun{i}(x: i64): i64 = if(x == 0L, {i}L, fun{(i + 1) % n}(x - 1L));\n" for i in range(n)) + (
        "|x: i64| fun0(x)")


def arguments(n):
    """Calls from outside and a tail call."""
    params = ", ".join(f"a{i}: i64" for i in range(n))
    rotated = ", ".join(f"a{(i + 1) % n} - 1L" for i in range(n))
    return f"def fun({params}): i64 = if(a0 < 0L, a1, fun({rotated}));\n|x: i64| fun(" + ", ".join(
        f"x + {i}L" for i in range(n)) + ")"


def iterates(n):
    return "|x: i64| let a0 = x;\n" + "".join(
        f"let a{i + 1} = iterate({{a{i}, 0L}}, |s| {{{{s.$0 * {i}L + x, s.$1 + 1L}}, s.$1 < 3L}}).$0;\n"
        for i in range(n)) + f"a{n}"


def balanced(n):
    return f"x + {n}.0" if n == 1 else f"({balanced(n // 2)} * {balanced(n - n // 2)})"


# name: (program of n, the smaller n, arguments)
PROGRAMS = {
    "lets of integers": (lets(lambda i: f"(a{i} + {i}L) * x", "i64"), 10_000, ["3"]),
    "lets of floats": (lets(lambda i: f"a{i} * 1.5 + {i}.5", "f64"), 10_000, ["3"]),
    "divisions": (lets(lambda i: f"a{i} / (x + {i}L)", "i64"), 4_000, ["3"]),
    "an operator repeated": (lambda n: "|x: f64| " + " * ".join(f"(x + {i}.0)" for i in range(n)), 5_000, ["3"]),
    "operators nested to the left": (lambda n: "|x: f64| " + "(" * n + "x" + " * x + x)" * n, 5_000, ["3"]),
    "operators nested to the right": (lambda n: "|x: f64| " + "(x * x + " * n + "x" + ")" * n, 5_000, ["3"]),
    "operators nested evenly": (lambda n: "|x: f64| " + balanced(n), 5_000, ["3"]),
    "elements of a vector": (
        lambda n: "|x: f64| [" + ", ".join(f"x * {i}.5" for i in range(n)) + "]", 10_000, ["3"]),
    "a long body of a loop": (
        lambda n: "|v: vec[f64]| map(v, |x| " + " * ".join(f"(x + {i}.0)" for i in range(n)) + ")", 3_000, ["[3]"]),
    "loops": (loops, 40, ["[1, 2]"]),
    "functions": (functions, 80, ["3"]),
    "functions in a chain": (chain, 100, ["100000"]),
    "functions in a row": (row, 400, ["3"]),
    "functions in a ring": (ring, 400, ["3"]),
    "arguments": (arguments, 1_000, ["3"]),
    "iterates": (iterates, 40, ["3"]),
}


def beside_iterate(n):
    return lets(lambda i: f"a{i} / (x + {i}L)", "i64")(n) + (
        " + iterate({a1, 0L}, |s| {{s.$0 * 3L + x, s.$1 + 1L}, s.$1 < 9L}).$0")


def seconds(cli, path, arguments):
    """Least processor time of three runs; times of a shared machine are upwards of it."""
    least = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([cli, path, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def seconds_of(cli, program, arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".weld") as f:
        f.write(program)
        f.flush()
        return seconds(cli, f.name, arguments)


def different_loops(n):
    """2n loops; each reads what those before it gave, so that they stay apart."""
    kinds = ["x * {i}.5 + s{i}", "sqrt(x * x + {i}.0) - s{i}", "if(x > {i}.0, x, s{i})", "x / ({i}.0 + s{i})"]
    return "".join(
        f"let s{i} = result(for(a{i}, merger[f64,+], |b, j, x| merge(b, x)));\n"
        f"let a{i + 1} = result(for(a{i}, appender[f64], |b, j, x| merge(b, {kinds[i % 4].format(i=i)})));\n"
        for i in range(n))


def loops_alone(n):
    return f"|a0: vec[f64]| {different_loops(n)} a{n}"


def loops_in_an_iterate(n):
    return f"|v: vec[f64]| iterate({{v, 0L}}, |s| (let a0 = s.$0; {different_loops(n)} {{{{a{n}, s.$1 + 1L}}, s.$1 < 3L}}))"


def main():
    cli = sys.argv[1]
    failed = False
    alone = seconds_of(cli, lets(lambda i: f"a{i} / (x + {i}L)", "i64")(4_000), ["3"])
    beside = seconds_of(cli, beside_iterate(4_000), ["3"])
    failed |= beside > 3 * alone
    print(f"4000 divisions alone {alone:.3f} s, beside an iterate {beside:.3f} s"
          + (": more than 3 times" if beside > 3 * alone else ""))
    ten = "[" + ", ".join(f"{i}.5" for i in range(10)) + "]"
    all_alone = None
    for name, program in ("alone", loops_alone), ("in an iterate", loops_in_an_iterate):
        few, many = (seconds_of(cli, program(n), [ten]) for n in (10, 100))
        all_alone = all_alone or many
        slow = many > 8 * few or many > 1.5 * all_alone
        failed |= slow
        print(f"20 loops over little data {name} {few:.3f} s, 200 {many:.3f} s" + (": not quick" if slow else ""))
    for name, (program, n, arguments) in PROGRAMS.items():
        times = [seconds_of(cli, program(size), arguments) for size in (n, GROWTH * n)]
        ratio = times[1] / times[0]
        wrong = ratio > MOST
        failed |= wrong
        print(f"{name}: {n} in {times[0]:.3f} s, {GROWTH * n} in {times[1]:.3f} s: {ratio:.1f} times"
              + (f", more than {MOST}" if wrong else ""))
    return failed


if __name__ == "__main__":
    sys.exit(main())
