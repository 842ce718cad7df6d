#!/usr/bin/env python3
"""Random queries over random frames of whole numbers, against SQLite: selection, expressions, joins, groups, DISTINCT, HAVING,
ORDER BY. What SQLite gives NULL for (aggregates of no rows) is left out, as is the order of equal rows.

    sql_test.py WELD_CLI [SCRIPTS [SEED]]
"""
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

WAYS = [["-O0"], ["-O2"], ["-O3", "--threads", "4"]]
TABLES = {"f": ["a", "b", "fk"], "g": ["c", "d", "gk"]}
COMPARISONS = ["=", "<>", "!=", "<", "<=", ">", ">="]


class Queries:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def tables(self):
        return {name: [[self.random.randint(-2, 4) for _ in columns] for _ in range(self.random.choice([0, 1, 3, 6, 10]))]
                for name, columns in TABLES.items()}

    def expression(self, columns, depth=0):
        kind = self.random.random()
        if depth > 2 or kind < 0.35:
            return self.random.choice(columns)
        if kind < 0.5:
            return str(self.random.randint(0, 5))
        both = "%s %s %s" % (self.expression(columns, depth + 1), self.random.choice("+-*"), self.expression(columns, depth + 1))
        return both if kind < 0.8 else "(" + both + ")"

    def condition(self, columns, depth=0):
        kind = self.random.random()
        if depth > 1 or kind < 0.6:
            return "%s %s %s" % (self.expression(columns, 1), self.random.choice(COMPARISONS), self.expression(columns, 1))
        if kind < 0.7:
            low, high = sorted(self.random.randint(-3, 6) for _ in range(2))
            return "%s BETWEEN %d AND %d" % (self.random.choice(columns), low, high)
        both = "%s %s %s" % (self.condition(columns, depth + 1), self.random.choice(["AND", "OR"]), self.condition(columns, depth + 1))
        return both if kind < 0.85 else "(" + both + ")"

    def source(self):
        """What stands after FROM, and the columns there."""
        both = TABLES["f"] + TABLES["g"]
        inequality = "f JOIN g ON f.%s %s g.%s" % (self.random.choice(TABLES["f"]), self.random.choice(["<", ">=", "<>"]),
                                                   self.random.choice(TABLES["g"]))
        return self.random.choice([("f", TABLES["f"]), ("f, g", both), ("f JOIN g ON f.fk = g.gk", both), (inequality, both)])

    def query(self):
        """A query, and how SQLite has to order its result."""
        source, columns = self.source()
        where = " WHERE " + self.condition(columns) if self.random.random() < 0.6 else ""
        kind = self.random.random()
        if kind < 0.5:
            items = ["%s AS x%d" % (self.expression(columns), i) for i in range(self.random.randint(1, 3))]
            text = "SELECT %s%s FROM %s%s"
            if kind < 0.15:
                return text % ("DISTINCT ", ", ".join(items), source, where), ["x%d" % i for i in range(len(items))]
            order = ["%s%s" % (c, self.random.choice(["", " ASC", " DESC"])) for c in self.random.sample(columns, len(columns))]
            return text % ("", ", ".join(items), source, where) + " ORDER BY " + ", ".join(order), []
        keys = self.random.sample(columns, self.random.randint(0, 2))
        items = keys + ["%s(%s) AS y%d" % (self.random.choice(["SUM", "COUNT", "MIN", "MAX", "AVG"]), self.expression(columns, 1), i)
                        for i in range(self.random.randint(1, 3))]
        text = "SELECT %s FROM %s%s" % (", ".join(items), source, where)
        if keys:
            text += " GROUP BY " + ", ".join(keys)
            if self.random.random() < 0.4:
                text += " HAVING %s(%s) %s %d" % (self.random.choice(["SUM", "COUNT", "MIN"]), self.random.choice(columns),
                                                  self.random.choice(COMPARISONS), self.random.randint(0, 4))
        return text, keys


def frame(name, rows):
    columns = ['"%s": %s' % (label, "[%s]" % ", ".join(str(row[i]) for row in rows) if rows else "fill(0, 0, 1)")
               for i, label in enumerate(TABLES[name])]
    return 'registerView("%s", {%s});\n' % (name, ", ".join(columns))


def number(v):
    return "%g" % v if isinstance(v, float) else str(v)


def script(queries):
    """A script, and the rows that its queries print."""
    data = sqlite3.connect(":memory:")
    text, expected = "", []
    for name, rows in queries.tables().items():
        data.execute("CREATE TABLE %s (%s)" % (name, ", ".join(c + " INTEGER" for c in TABLES[name])))
        data.executemany("INSERT INTO %s VALUES (?, ?, ?)" % name, rows)
        text += frame(name, rows)
    for _ in range(8):
        query, order = queries.query()
        rows = data.execute(query + (" ORDER BY " + ", ".join(order) if order else "")).fetchall()
        if any(v is None for row in rows for v in row):
            continue
        text += 'print(sql("%s"));\n' % query
        expected.append([" ".join(map(number, row)) for row in rows])
    return text, expected


def main():
    cli = str(pathlib.Path(sys.argv[1]).resolve())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    tried = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            text, expected = script(Queries(seed))
            tried += len(expected)
            path = pathlib.Path(folder) / "queries.daphne"
            path.write_text(text)
            done = subprocess.run([cli, *WAYS[seed % len(WAYS)], str(path)], capture_output=True, text=True, timeout=600)
            tables = done.stdout.split("Frame(")[1:]
            printed = [[" ".join("0" if v == "-0" else v for v in line.split()) for line in t.splitlines()[1:]] for t in tables]
            if done.returncode == 0 and printed == expected:
                continue
            failures += 1
            print("seed %d: exit code %d\n%s%s" % (seed, done.returncode, text, done.stderr))
            for is_so, is_right in zip(printed, expected):
                if is_so != is_right:
                    print("  printed  %s\n  expected %s" % (is_so, is_right))
    print("%d queries, %d scripts with failures" % (tried, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
