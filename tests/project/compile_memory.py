#!/usr/bin/env python3
"""Checks what long literals take: the peak memory of a whole run, from the text to the result, against the characters of
the program. Usage: compile_memory.py WELD_CLI"""
import os
import subprocess
import sys
import tempfile

CHARACTERS = 16_000_000
MOST_OF_STRING = 10.0  # bytes per character, with what the process and the compiler take without any
MOST_OF_NUMBERS = 60.0  # which pass through nodes of the surface tree


def string(n):
    return '"' + "a" * n + '"'


def escaped(n):
    return '"' + "abc\\n" * (n // 5) + '"'


def numbers(n):
    return "[" + ", ".join(str(i % 90_000 + 10_000) for i in range(n // 7)) + "]"


# name: (program of n characters, the most bytes for each, options, arguments)
PROGRAMS = {
    "a string": (string, MOST_OF_STRING, [], []),
    "a string with escapes": (escaped, MOST_OF_STRING, [], []),
    "a string, checked only": (string, MOST_OF_STRING, ["--check"], []),
    "a string that is looked up in": (lambda n: f"|k: i64| let s = {string(n)}; {{lookup(s, k), len(s)}}",
                                      MOST_OF_STRING, [], ["5"]),
    "a string, kept": (string, MOST_OF_STRING, ["--cache", "CACHE"], []),
    "a string, kept before": (string, MOST_OF_STRING, ["--cache", "CACHE"], []),
    "numbers": (lambda n: numbers(n // 4), MOST_OF_NUMBERS, [], []),
}


def peak(cli, arguments):
    """Bytes."""
    with subprocess.Popen([cli, *arguments], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"weld-cli ends with {process.returncode}")
    return usage.ru_maxrss * 1024


def main():
    cli = sys.argv[1]
    failed = False
    with tempfile.TemporaryDirectory(prefix="weld-memory-") as folder:
        os.mkdir(os.path.join(folder, "cache"))
        for name, (program, most, options, arguments) in PROGRAMS.items():
            text = program(CHARACTERS)
            path = os.path.join(folder, "program.weld")
            with open(path, "w") as f:
                f.write(text)
            options = [os.path.join(folder, "cache") if o == "CACHE" else o for o in options]
            ratio = peak(cli, [*options, path, *arguments]) / len(text)
            print(f"{name}: {ratio:.1f} bytes for each character, at most {most:.0f}")
            failed |= ratio > most
    return failed


if __name__ == "__main__":
    sys.exit(main())
