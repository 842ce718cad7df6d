#!/usr/bin/env python3
"""Random programs that change vectors which may be one another: on one side of an `if`, in structs, in the state of
`iterate`s. What each does is said once more here, by lists that are copied.

    random_changes.py WELD_TEST [COUNT [SEED]]

weld-test runs them in every way, and overwrites what is freed. The file of programs stays if one fails.
"""
import pathlib
import random
import subprocess
import sys
import tempfile

GIVEN = [3, 1, 4, 1, 5]


class Program:
    """Makes texts, and functions of an environment (a dict from names to lists and numbers) that do the same."""

    def __init__(self, rng):
        self.rng = rng
        self.names = 0

    def name(self):
        self.names += 1
        return f"q{self.names}"

    def condition(self, vectors, at):
        v, by = self.rng.choice(vectors), self.rng.choice([2, 3])
        return self.rng.choice([
            (f"{at} % 2L == 0L", lambda env: env[at] % 2 == 0),
            (f"lookup({v}, {at} % 4L) % {by}L == 0L", lambda env: env[v][env[at] % 4] % by == 0),
            (f"{at} > 2L", lambda env: env[at] > 2)])

    def vector(self, vectors, at, depth):
        """An expression of at least four numbers; `at` names a number."""
        v, u = self.rng.choice(vectors), self.rng.choice(vectors)
        kind = self.rng.choices(
            ["name", "set", "merge", "loop", "map", "if", "let", "struct", "rounds"],
            [30, 20, 10, 6, 6, 18, 5, 5, 12])[0]
        if depth == 0 or kind == "name":
            return v, lambda env: env[v]
        if kind == "set":
            more = self.rng.randrange(9)
            return (f"result(merge(vecsetter[i64]({v}), {{{at} % 4L, {at} + {more}L}}))",
                    lambda env: changed(env[v], env[at] % 4, lambda _: env[at] + more))
        if kind == "merge":
            return (f"result(merge(vecmerger[i64,+]({v}), {{{at} % 3L, lookup({u}, {at} % 4L)}}))",
                    lambda env: changed(env[v], env[at] % 3, lambda x: x + env[u][env[at] % 4]))
        if kind == "loop":
            return (f"result(for(rangeiter(0L, 3L, 1L), vecsetter[i64]({v}), |b, i, x| merge(b, {{i, x + {at}}})))",
                    lambda env: [k + env[at] for k in range(3)] + env[v][3:])
        if kind == "map":
            return f"map({v}, |x| x + 1L)", lambda env: [x + 1 for x in env[v]]
        if kind == "if":
            holds, this, other = (self.condition(vectors, at), self.vector(vectors, at, depth - 1),
                                  self.vector(vectors, at, depth - 1))
            return (f"if({holds[0]}, {this[0]}, {other[0]})",
                    lambda env: this[1](env) if holds[1](env) else other[1](env))
        if kind == "let":
            q, first = self.name(), self.vector(vectors, at, depth - 1)
            rest = self.vector(vectors + [q], at, depth - 1)
            return f"(let {q} = {first[0]}; {rest[0]})", lambda env: rest[1]({**env, q: first[1](env)})
        if kind == "rounds":
            return self.rounds(vectors, at, depth)
        inner = self.vector(vectors, at, depth - 1)
        return f"{{{inner[0]}, {u}}}.$0", inner[1]

    def rounds(self, vectors, at, depth, first=None):
        """An `iterate` that has no round at all, or up to two, or one at least."""
        q, most = self.name(), self.rng.randrange(3)
        first = first or self.vector(vectors, at, self.rng.randrange(depth))
        body = self.vector(vectors + [f"{q}.$0"] * 3, f"{q}.$1", depth - 1)
        at_least = self.rng.randrange(2)
        text = (f"{{{{{body[0]}, {q}.$1 + 1L}}, {q}.$1 + 1L < {most}L}}" if at_least else
                f"if({q}.$1 >= {most}L, {{{q}, false}}, {{{{{body[0]}, {q}.$1 + 1L}}, true}})")

        def run(env):
            state = first[1](env)
            for k in range(max(at_least, most)):
                state = body[1]({**env, f"{q}.$0": state, f"{q}.$1": k})
            return state
        return f"iterate({{{first[0]}, 0L}}, |{q}| {text}).$0", run

    def lets(self, vectors, at, count):
        """(text, function that gives the environment behind it, names of vectors there)"""
        text, steps, vectors = "", [], list(vectors)
        for _ in range(count):
            q = self.name()
            kind = self.rng.choices(
                ["vector", "branches", "iterate", "state", "struct", "rounds or not"], [40, 15, 10, 20, 5, 15])[0]
            if kind == "vector":
                value, fn = self.vector(vectors, at, 3)
                steps.append(lambda env, q=q, fn=fn: env.update({q: fn(env)}))
                vectors.append(q)
            elif kind == "rounds or not":
                v, holds = self.rng.choice(vectors[:2] + vectors[-2:]), self.condition(vectors, at)
                same = (v, lambda env, v=v: env[v])
                sides = [self.rounds(vectors, at, 2, same), same if self.rng.random() < 0.8 else self.vector(vectors, at, 1)]
                self.rng.shuffle(sides)
                value = f"if({holds[0]}, {sides[0][0]}, {sides[1][0]})"
                steps.append(lambda env, q=q, holds=holds, sides=sides: env.update(
                    {q: sides[0 if holds[1](env) else 1][1](env)}))
                vectors.append(q)
            elif kind == "branches":
                holds = self.condition(vectors, at)
                parts = [self.vector(vectors, at, 2) for _ in range(4)]
                value = (f"if({holds[0]}, {{{parts[0][0]}, {parts[1][0]}}}, {{{parts[2][0]}, {parts[3][0]}}})")
                steps.append(lambda env, q=q, holds=holds, parts=parts: env.update(pair(
                    q, *[p[1](env) for p in (parts[:2] if holds[1](env) else parts[2:])])))
                vectors += [f"{q}.$0", f"{q}.$1"]
            elif kind == "iterate":
                v, most = self.rng.choice(vectors), self.rng.randrange(1, 4)
                body = self.vector(vectors + ["t.$0"], "t.$1", 3)
                value = (f"iterate({{{v}, 0L}}, |t| {{{{{body[0]}, t.$1 + 1L}}, "
                         f"t.$1 < {most}L && lookup(t.$0, 0L) < 100L}}).$0")
                steps.append(lambda env, q=q, v=v, most=most, body=body: env.update(
                    {q: iterated(env, v, most, body[1])}))
                vectors.append(q)
            elif kind == "state":
                value, fn = self.state(vectors)
                steps.append(lambda env, q=q, fn=fn: env.update(zip((f"{q}.$0", f"{q}.$1", f"{q}.$2"), fn(env))))
                vectors += [f"{q}.$0", f"{q}.$1", f"{q}.$2"]
            else:
                v, u = self.rng.choice(vectors), self.rng.choice(vectors)
                value = f"{{{v}, {u}}}"
                steps.append(lambda env, q=q, v=v, u=u: env.update(pair(q, env[v], env[u])))
                vectors += [f"{q}.$0", f"{q}.$1"]
            text += f"  let {q} = {value};\n"

        def run(env):
            env = dict(env)
            for step in steps:
                step(env)
            return env
        return text, run, vectors

    def state(self, vectors):
        """An `iterate` with two vectors and a builder, which it changes or leaves as they are. Gives three vectors."""
        given = [self.rng.choice(vectors[-3:] if self.rng.random() < 0.5 else vectors) for _ in range(3)]  # of the last, too
        inside = vectors + ["t.$0", "t.$1"] * 2
        holds, most = self.condition(inside, "t.$2"), self.rng.randrange(1, 4)
        parts = [self.vector(inside, "t.$2", 2) for _ in range(2)] + [
            self.vector(inside, "t.$2", 2) if self.rng.random() < 0.3 else (name, lambda env, name=name: env[name])
            for name in ("t.$0", "t.$1")]
        text = (f"(let w = iterate({{{given[0]}, {given[1]}, 0L, for({given[2]}, appender[i64], |b, i, x| merge(b, x))}}, |t| "
                f"{{if({holds[0]}, {{{parts[0][0]}, {parts[1][0]}, t.$2 + 1L, merge(t.$3, t.$2)}}, "
                f"{{{parts[2][0]}, {parts[3][0]}, t.$2 + 1L, t.$3}}), t.$2 < {most}L}}); "
                f"{{w.$0, w.$1, result(w.$3)}})")

        def run(env):
            state, added = [env[given[0]], env[given[1]]], list(env[given[2]])
            for at in range(most + 1):
                here = {**env, "t.$0": state[0], "t.$1": state[1], "t.$2": at}
                if holds[1](here):
                    added.append(at)
                    state = [p[1](here) for p in parts[:2]]
                else:
                    state = [p[1](here) for p in parts[2:]]
            return (*state, added)
        return text, run

    def whole(self, n):
        """(text, the result for GIVEN and `n`)"""
        before, run_before, outside = self.lets(["v0", "v"], "n", self.rng.randrange(3))
        body, run_body, inside = self.lets(["s.$0", "s.$1"], "s.$2", self.rng.randrange(1, 4))
        next0, next1, asked = self.rng.choice(inside[-3:]), self.rng.choice(inside), self.rng.choice(inside)
        after, run_after, behind = self.lets(["r.$0", "r.$1"] + outside[-1:], "n", self.rng.randrange(3))
        init0, init1 = self.rng.choice(outside), self.rng.choice(outside)
        out0, out1 = self.rng.choice(behind), self.rng.choice(behind)
        text = (f"|v: vec[i64], n: i64|\n  let v0 = map(v, |x| x * 2L);\n{before}"
                f"  let r = iterate({{{init0}, {init1}, 0L}}, |s|\n{body}"
                f"  {{{{{next0}, {next1}, s.$2 + 1L}}, s.$2 < n && lookup({asked}, s.$2 % 4L) < 1000L}});\n"
                f"{after}  {{{out0}, {out1}, r.$2}}\n")
        env = run_before({"v": GIVEN, "v0": [2 * x for x in GIVEN], "n": n})
        state = {"s.$0": env[init0], "s.$1": env[init1], "s.$2": 0}
        goes_on = True
        while goes_on:
            round_env = run_body({**env, **state})
            at = state["s.$2"]
            goes_on = at < n and round_env[asked][at % 4] < 1000
            state = {"s.$0": round_env[next0], "s.$1": round_env[next1], "s.$2": at + 1}
        env = run_after({**env, "r.$0": state["s.$0"], "r.$1": state["s.$1"]})
        return text, f"{{{env[out0]}, {env[out1]}, {state['s.$2']}}}"


def changed(v, at, new):
    return v[:at] + [new(v[at])] + v[at + 1:]


def pair(name, first, second):
    return {f"{name}.$0": first, f"{name}.$1": second}


def iterated(env, v, most, body):
    state, at, goes_on = env[v], 0, True
    while goes_on:
        goes_on = at < most and state[0] < 100
        state, at = body({**env, "t.$0": state, "t.$1": at}), at + 1
    return state


def main():
    weld_test = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 13
    rng = random.Random(seed)
    path = pathlib.Path(tempfile.mkdtemp()) / f"changes-{seed}.weld"
    with path.open("w") as out:
        for k in range(count):
            n = rng.randrange(1, 7)
            text, result = Program(rng).whole(n)
            out.write(f"#@ program: {seed}, {k}\n{text}#@ call: {GIVEN}, {n} => {result}\n\n")
    done = subprocess.run([weld_test, path], stdout=subprocess.PIPE, text=True)
    print(done.stdout[-2000:], end="")
    if done.returncode:
        sys.exit(f"the programs are in {path}")
    path.unlink()
    path.parent.rmdir()


main()
