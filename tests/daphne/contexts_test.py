#!/usr/bin/env python3
"""Runs the scripts below this folder that have a NAME.out in other places, where they must print the same: in a function and a
loop; in a loop and a function that are gone through part by part; with a part that ends after each statement.

    contexts_test.py WELD_CLI [PART_OF_A_NAME]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from run import HERE, header

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|#[^\n]*|//[^\n]*|/\*.*?\*/|\w+|.', re.S)


def pieces(text):
    """The statements of a script: (text, is a definition). One ends with `;` or `}` outside of all brackets, unless it goes
    on behind that."""
    found, current, depth = [], "", 0
    tokens = TOKEN.findall(text)
    for i, token in enumerate(tokens):
        current += token
        depth += (token in "([{") - (token in ")]}")
        rest = "".join(t for t in tokens[i + 1:i + 40] if t[0] not in "#/").lstrip()
        goes_on = token == "}" and re.match(r"(else|while)\b|[;,.)+*/=<>\[&|?:@^%-]", rest) or re.match(r"else\b|while\b.*?\)\s*;", rest)
        if depth == 0 and token in (";", "}") and not goes_on:
            found.append((current, re.match(r"(\s|#[^\n]*\n|//[^\n]*\n)*def\b", current) is not None))
            current = ""
    return found + ([(current, False)] if current.strip() else [])


# The run alone knows what the label is, so the part ends there.
CUT = 'cut%d = createFrame([1], "label" + sum([%d]));\n'


def in_function(body):
    return "def whole() -> si64 {\n" + "".join(body) + "\nreturn 1; }\nwhole();\n"


def in_loop(body):
    return "for (once in 1:as.si64(now() > 0)) {\n" + "".join(body) + "\n}\n"


def in_opened_loop(body):
    return 'for (once in 1:1) {\ncut = createFrame([once], "label" + sum([once]));\n' + "".join(body) + "\n}\n"


def in_opened_function(body):
    return 'def whole(k) {\ncut = createFrame([k], "label" + sum([k]));\n' + "".join(body) + "\nreturn k; }\nlast = whole(sum([1]));\n"


def in_parts(body):
    return "".join(one + "\n" + CUT % (i, i) for i, one in enumerate(body))


CONTEXTS = [in_function, in_loop, in_opened_loop, in_opened_function, in_parts]


def main():
    cli, part = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) > 2 else ""
    count = failures = 0
    for script in sorted(HERE.rglob("*.daphne")):
        if part not in str(script) or not script.with_suffix(".out").exists():
            continue
        options, args = header(script)
        text = script.read_text()
        if re.search(r"^import\b", text, re.M):  # stands outside of all blocks only
            continue
        all_pieces = pieces(text)
        definitions = "".join(one for one, is_definition in all_pieces if is_definition)
        body = [one for one, is_definition in all_pieces if not is_definition]
        expected = script.with_suffix(".out").read_bytes()
        for context in CONTEXTS:
            with tempfile.TemporaryDirectory() as folder:
                wrapped = pathlib.Path(folder) / script.name
                wrapped.write_text(definitions + "\n" + context(body))
                done = subprocess.run([cli, *options, str(wrapped), *args], capture_output=True, timeout=600, cwd=folder)
                count += 1
                if done.returncode == 0 and done.stdout == expected and not done.stderr:
                    continue
                failures += 1
                print(f"{script} {context.__name__}: exit code {done.returncode}\n{wrapped.read_text()}-- printed\n"
                      f"{done.stdout.decode(errors='replace')}{done.stderr.decode(errors='replace')}")
    print(f"{count} runs, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
