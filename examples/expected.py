#!/usr/bin/env python3
"""What the examples print, computed without Weld: expected.py NAME ARG... (the standard library is enough).

The test `examples-reference` compares this with what is written in the examples.
"""
import json
import math
import sys

WORD = 2 ** 64 - 1


def mixed(stream, i):
    a = (stream * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15) & WORD
    b = ((a ^ a >> 30) * 0xBF58476D1CE4E5B9) & WORD
    c = ((b ^ b >> 27) * 0x94D049BB133111EB) & WORD
    return c ^ c >> 31


def draw(stream, i, n):
    return (mixed(stream, i) >> 32) * n >> 32


def shown(value):
    """As weld-cli prints it: tuples are structs."""
    if isinstance(value, tuple):
        return '{' + ', '.join(map(shown, value)) + '}'
    if isinstance(value, list):
        return '[' + ', '.join(map(shown, value)) + ']'
    return json.dumps(value)


def order(i):
    quantity = 1.0 + draw(61, i, 50)
    price = quantity * ((90000 + draw(62, i, 110001)) / 100)
    return draw(65, i, 2526), quantity, price, draw(63, i, 11) / 100


def tpch_q6(rows):
    selected = (o for o in map(order, range(rows))
                if 730 <= o[0] < 1095 and 0.05 - 1e-9 <= o[3] <= 0.07 + 1e-9 and o[1] < 24)
    return math.fsum(o[2] * o[3] for o in selected)


def tpch_q1(rows):
    groups = {}
    for i in range(rows):
        ship, quantity, price, discount = order(i)
        if ship > 2436:
            continue
        arrived = ship + 1 + draw(66, i, 30) <= 1263
        key = ('ANR'[2 * draw(67, i, 2) if arrived else 1], 'FO'[ship > 1263])
        discounted = price * (1 - discount)
        charge = discounted * (1 + draw(64, i, 9) / 100)
        groups.setdefault(key, []).append((quantity, price, discounted, charge, discount))
    out = []
    for key in sorted(groups):
        n = len(groups[key])
        sums = [math.fsum(column) for column in zip(*groups[key])]
        out.append((*key, *sums[:4], sums[0] / n, sums[1] / n, sums[4] / n, n))
    return out


def black_scholes(*columns):
    cdf = lambda x: math.erfc(-x / math.sqrt(2)) / 2
    calls, puts = [], []
    for s, k, t, r, v in zip(*columns):
        d1 = (math.log(s / k) + (r + v * v / 2) * t) / (v * math.sqrt(t))
        d2 = d1 - v * math.sqrt(t)
        owed = k * math.exp(-r * t)
        calls.append(s * cdf(d1) - owed * cdf(d2))
        puts.append(owed * cdf(-d2) - s * cdf(-d1))
    return calls, puts


def word_count(text):
    words = text.split()
    return [(w, words.count(w)) for w in sorted(set(words), key=lambda w: (-words.count(w), w))]


def kmeans(points, centres):
    rounds = 0
    while True:
        members = [[] for _ in centres]
        for p in points:
            members[min(range(len(centres)), key=lambda k: math.dist(p, centres[k]))].append(p)
        moved = [tuple(sum(xs) / len(m) for xs in zip(*m)) if m else c for m, c in zip(members, centres)]
        rounds += 1
        if moved == centres:
            return moved, [len(m) for m in members], rounds
        centres = moved


def logistic_regression(rows, labels, rate, steps):
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    weights = [0.0] * len(rows[0])
    for _ in range(steps):
        errors = [1 / (1 + math.exp(-dot(r, weights))) - y for r, y in zip(rows, labels)]
        weights = [w - rate / len(rows) * dot(errors, column) for w, column in zip(weights, zip(*rows))]
    right = sum((dot(r, weights) > 0) == (y > 0.5) for r, y in zip(rows, labels))
    return weights, right / len(rows)


def mandelbrot(columns, lines, rounds):
    def shade(column, line):
        c = complex(3.2 * (column + 0.5) / columns - 2.2, 2.4 * (line + 0.5) / lines - 1.2)
        z, stayed = 0, 0
        while stayed < rounds:
            z = z * z + c
            if abs(z) > 2:
                break
            stayed += 1
        return ' .:-=+*%@#'[int(math.log(stayed + 1) / math.log(rounds + 1) * 9)]
    return [''.join(shade(x, y) for x in range(columns)) for y in range(lines)]


def life(board, generations):
    h, w = len(board), len(board[0])
    cells = {(x, y) for y in range(h) for x in range(w) if board[y][x] == '#'}
    for _ in range(generations):
        near = {(x, y): [((x + a) % w, (y + b) % h) in cells for a in (-1, 0, 1) for b in (-1, 0, 1)]
                for x in range(w) for y in range(h)}
        cells = {c for c, n in near.items() if sum(n) == 3 or sum(n) == 4 and c in cells}
    return [''.join('.#'[(x, y) in cells] for x in range(w)) for y in range(h)]


def spelling(words, typo):
    def distance(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(distance(a[1:], b[1:]) + (a[0] != b[0]), distance(a[1:], b) + 1, distance(a, b[1:]) + 1)
    best = sorted((distance(w, typo), w) for w in words)[:3]
    return [w for d, w in best if d <= 3]


def argument(text):
    """A literal of Weld, in these examples: JSON with structs in braces."""
    value = json.loads(text.replace('{', '["struct", ').replace('}', ']'))
    as_struct = lambda v: tuple(v[1:]) if v[:1] == ['struct'] else [as_struct(x) if isinstance(x, list) else x for x in v]
    return as_struct(value) if isinstance(value, list) else value


if __name__ == '__main__':
    sys.setrecursionlimit(10000)
    print(shown(globals()[sys.argv[1]](*map(argument, sys.argv[2:]))))
