#!/usr/bin/env python3
"""Runs the programs of this folder in many ways, which all must give the same text.

    tests/bits/same_bits.py build/release/weld-cli

On any number of threads, at the first run (in quick code) and later ones, optimised before the first, with code for less than the
machine has, kept in a folder. The lines `# args:` of a program are the arguments of one call each, behind options and `--` if there are any.
"""
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def output(cli, options):
    done = subprocess.run([cli, *options], capture_output=True, text=True, timeout=300)
    return done.stdout if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr}"


def ways(cli, cache):
    yield ["--threads", "1"]
    yield from (["--threads", threads] for threads in ("2", "3", "8"))
    yield ["--threads", "1", "--repeat", "3"]
    yield ["--threads", "2", "--repeat", "3"]
    yield from (["--threads", threads, "--set", "weld.compile.tiers=false"] for threads in ("1", "2"))
    yield from (["--threads", "2", "--cache", cache] for _ in ("cold", "kept"))
    avx2 = ["--set", "weld.compile.cpu=avx2"]
    if output(cli, [*avx2, "-e", "|| 1"]) == "1\n":
        yield ["--threads", "2", *avx2]


def main():
    cli, failed = sys.argv[1], 0
    for program in sorted(HERE.glob("*.weld")):
        calls = [line[7:] for line in program.read_text().splitlines() if line.startswith("# args:")]
        for call in calls:
            options, _, args = call.rpartition("-- ")
            with tempfile.TemporaryDirectory() as cache:
                first = None
                for way in ways(cli, cache):
                    text = output(cli, [*way, *shlex.split(options), str(program), *shlex.split(args)])
                    first = first or text
                    if text != first or text.startswith("exit code"):
                        failed += 1
                        print(f"{program.name} {call} {' '.join(way)}:\n  {text.strip()}\ninstead of\n  {first.strip()}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
