#!/usr/bin/env python3
"""Runs scripts of DaphneDSL: each NAME.daphne below this folder, and each example, that has a NAME.out must print exactly that and
exit with 0; one that has a NAME.fails must exit with the code in its first line, having printed the rest of it
and said why: at the place `LINE:COLUMN`, if that stands behind the code. All at every level, on one thread and several, cold and from a cache.

    run.py WELD_CLI [PART_OF_A_NAME]

Comments at the top of a script say how it is run: `# args: a=1 b=2`, `# options: --select-matrix-repr`.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = [HERE, HERE.parents[1] / "examples" / "daphne"]
WAYS = [["-O0"], ["-O1", "--threads", "4"], ["-O2", "--threads", "1"], ["-O3", "--threads", "4"],
        ["--verify"], ["--cache", "CACHE"], ["--cache", "CACHE"]]


def header(script):
    options, args = [], []
    for line in script.read_text().splitlines():
        found = re.match(r"# (args|options): (.*)", line)
        if not found:
            break
        (args if found[1] == "args" else options).extend(shlex.split(found[2]))
    return options, args


def run(cli, script, way, folder):
    options, args = header(script)
    way = [str(folder / "cache") if word == "CACHE" else word for word in way]
    return subprocess.run([cli, *way, *options, str(script), *args], capture_output=True, timeout=600, cwd=folder)


def expected(script):
    fails = script.with_suffix(".fails")
    if not fails.exists():
        return 0, "", script.with_suffix(".out").read_bytes()
    first, _, printed = fails.read_bytes().partition(b"\n")
    code, _, place = first.decode().partition(" ")
    return int(code), place and f"{script.name}:{place}: error: ", printed


def main():
    cli, part = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) > 2 else ""
    scripts = [s for folder in FOLDERS for s in sorted(folder.rglob("*.daphne"))
               if part in str(s) and (s.with_suffix(".out").exists() or s.with_suffix(".fails").exists())]
    failures = 0
    for script in scripts:
        code, place, printed = expected(script)
        with tempfile.TemporaryDirectory() as folder:
            for way in WAYS:
                done = run(cli, script, way, pathlib.Path(folder))
                good = (done.returncode == code and done.stdout == printed and bool(done.stderr) == bool(code)
                        and place in done.stderr.decode(errors="replace"))
                if not good:
                    failures += 1
                    print(f"{script} {' '.join(way)}: exit code {done.returncode}, printed\n{done.stdout.decode(errors='replace')}"
                          f"{done.stderr.decode(errors='replace')}")
                    break
    print(f"{len(scripts)} scripts, {failures} failures")
    return 1 if failures or not scripts else 0


if __name__ == "__main__":
    sys.exit(main())
