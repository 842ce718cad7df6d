#!/usr/bin/env python3
"""Loops that change rows of a matrix in the state of an `iterate`, and read that row and others: optimised as not.

  random_rows.py WELD_CLI [COUNT] [SEED]

Bounds, what is read and where elements are put vary: within a row or behind its end, before or after they are read.
Each program runs without optimisation, with it, and with it on narrow registers and two threads.
"""
import random
import subprocess
import sys

WAYS = [["-O0"], ["-O2"], ["-O2", "--set", "weld.compile.cpu=sse2", "--threads", "2"]]


class Program:
    def __init__(self, rng):
        self.rng = rng

    def read(self, inside):
        places = ["a, i*n+s.$1", "a, s.$1*n+s.$1", "a, i*n", "s.$0, s.$1*n", "a, (i+1L)%n*n"]
        if inside:
            places += ["a, i*n+j"] * 3 + ["a, s.$1*n+j"] * 3
            places += ["s.$0, i*n+j", "a, j*n+i", "a, (i-1L)*n+j", "a, j", "a, i*n+j-1L", "a, i*n+j-s.$1"]
        return f"lookup({self.rng.choice(places)})"

    def text(self):
        choose, chance = self.rng.choice, self.rng.random
        first, last = choose(["0L", "s.$1", "s.$1+1L", "1L"]), choose(["n", "n", "n-1L", "s.$1+1L"])
        low, high = choose(["0L", "s.$1", "s.$1+1L", "1L"]), choose(["n", "n", "n-1L", "s.$1"])
        builder = choose(["vecsetter[i64]", "vecmerger[i64,+]"])
        f = self.read(False) if chance() < 0.6 else "1L"
        start = "b"
        if chance() < 0.4:
            start = f"merge(b, {{i*n+{choose(['s.$1', '0L', 'n-1L'])}, {choose(['f', self.read(False)])}}})"
        value = (f"({self.read(True)} + {choose(['f', self.read(True), '3L'])} * "
                 f"{choose(['2L', self.read(True), 'f'])}) % 1000L")
        if chance() < 0.4:
            condition = choose(["i == s.$1", "j > s.$1", "i > j", "n == 4L"])
            value = f"if({condition}, {choose([value, self.read(True), '1L'])}, {value})"
        place = "i*n+j" + choose(["", "", "", "", "", "+1L"])
        if chance() < 0.2:
            place = f"(if(i == s.$1, {place}, i*n+j))"
        row = f"for(rangeiter({low}, {high}, 1L), {start}, |c, _j, j| merge(c, {{{place}, {value}}}))"
        if chance() < 0.3:
            row = f"merge({row}, {{i*n+{choose(['s.$1', '0L'])}, {choose(['f', self.read(False)])}}})"
        return (f"|m: vec[i64], n: i64| iterate({{m, 0L}}, |s| let a = s.$0; "
                f"let u = result(for(rangeiter({first}, {last}, 1L), {builder}(a), |b, _i, i| let f = {f}; {row})); "
                f"{{{{u, s.$1+1L}}, s.$1+1L < n-1L}}).$0")


def outcome(cli, way, args):
    done = subprocess.run([cli, *way, "-e", *args], capture_output=True, text=True)
    return done.returncode, done.stdout if done.returncode == 0 else ""


def main():
    cli = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 17
    rng = random.Random(seed)
    wrong = 0
    for _ in range(count):
        text, n = Program(rng).text(), rng.choice([3, 4, 5])
        args = [text, "[" + ", ".join(f"{rng.randrange(100)}L" for _ in range(n * n)) + "]", f"{n}L"]
        all_ways = [outcome(cli, way, args) for way in WAYS]
        if all_ways[0] != all_ways[1] or all_ways[0] != all_ways[2] or all_ways[0][0] not in (0, 3):
            wrong += 1
            print(*args, *all_ways, sep="\n", end="\n\n")
    print(f"{count} programs, {wrong} differ")
    sys.exit(wrong > 0)


main()
