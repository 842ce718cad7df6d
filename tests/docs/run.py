#!/usr/bin/env python3
"""Runs what the documentation shows: the programs and commands in Markdown files, and whole example programs.

  run.py --cli build/release/weld-cli [--root DIR] [--build DIR] [--reference SCRIPT]
         [--cpu CPU] [--bless] [--programs-only] [-v] FILE...

In a Markdown file, a block fenced as `weld` is a program. Comment lines say how to run it and what to expect;
each expectation is one run, with the arguments, options and libraries named since the last one:

  # args: '[1, 2, 3]' 5      words as in a shell, one per parameter
  # options: --threads 1     more options of weld-cli
  # library: udf.cpp         a C++ file, made into a shared library that `cudf` can call
  # prints: hello            prints this line before what comes next; any number of times
  # => [2, 4, 6]             prints exactly this
  # ~> 0.25                  prints this, numbers to 1e-9 relative
  # type: vec[i64]           has this type
  # error: cannot            is rejected (exit code 1), with this in the message
  # usage: expected          is refused (exit code 2), with this in the message
  # fails: out of            fails while running (exit code 3), with this in the message
  # warning: unused          runs, with this in what it says on standard error

A block fenced as `console` is a session: lines after `$ ` are run by a shell, the lines below them are what they
print (standard error included). `…` stands for any lines. With `console numbers-vary` numbers and spacing may
differ, for measured times. `--bless` writes the sessions anew from what was printed.

A block fenced as `daphne` is a script of DaphneDSL. `#> TEXT` at the end of a line or in a line of its own is a line that
it prints; without any it has just to run.

A table whose last columns are called `script` and `prints` has a script of DaphneDSL in each row, statements or one
expression to be printed, and what it prints: lines cut by ` / `, the first lines of matrices left out.

A block fenced as `LANGUAGE file=NAME` is only saved under that name, for the sessions below it.

A `.weld` file is one program with such comment lines. With `--reference`, the script computes what is expected
in another way: it is given the name of the example and the arguments instead of weld-cli.
"""
import argparse
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

DIRECTIVE = re.compile(r'^# (?=[=~]>|\w+:)(args|options|library|prints|type|error|usage|fails|warning|=>|~>):? ?(.*)$')
SETTINGS = ('args', 'options', 'library')
EXIT_CODES = {'error': 1, 'usage': 2, 'fails': 3}
NUMBER = re.compile(r'-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')


class Block:
    """A fenced block: `line` is that of its first line of text, `words` what stands after the fence."""

    def __init__(self, line, words, text):
        self.line, self.words, self.text = line, words, text


def blocks_of(lines):
    start = None
    for i, line in enumerate(lines):
        if not line.startswith('```'):
            continue
        if start is None:
            start = i
        else:
            yield Block(start + 1, lines[start][3:].split(), lines[start + 1:i])
            start = None


class Session:
    """A directory with the examples beside what blocks save, and the tool in PATH."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.libraries = {}
        os.symlink(os.path.join(options.root, 'examples'), os.path.join(directory, 'examples'))
        build = options.build or os.path.dirname(options.cli)
        self.env = dict(os.environ, LC_ALL='C.UTF-8', CPATH=os.path.join(options.root, 'include'),
                        LIBRARY_PATH=build, LD_LIBRARY_PATH=build,
                        PATH=os.path.dirname(self.tool()) + os.pathsep + os.environ['PATH'])

    def tool(self):
        """weld-cli, or what calls it with the `--cpu` that was chosen."""
        if not self.options.cpu:
            return self.options.cli
        path = os.path.join(self.directory, 'bin', 'weld-cli')
        if not os.path.exists(path):
            os.mkdir(os.path.dirname(path))
            with open(path, 'w') as f:
                f.write('#!/bin/sh\nexec "%s" --set weld.compile.cpu=%s "$@"\n' % (self.options.cli, self.options.cpu))
            os.chmod(path, 0o755)
        return path

    def run(self, command, **more):
        return subprocess.run(command, cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, encoding='utf-8', errors='replace',
                              timeout=self.options.timeout, **more)

    def library(self, source):
        if source not in self.libraries:
            out = os.path.join(self.directory, 'lib%d.so' % len(self.libraries))
            subprocess.run([self.options.cxx, '-std=c++20', '-O2', '-shared', '-fPIC', '-o', out, source],
                           cwd=self.directory, check=True)
            self.libraries[source] = out
        return self.libraries[source]


def close(a, b):
    return math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12)


def same_numbers(expected, found):
    """Texts that are equal but for the last digits of their floats."""
    if NUMBER.sub('0', expected) != NUMBER.sub('0', found):
        return False
    return all(map(close, NUMBER.findall(expected), NUMBER.findall(found)))


def check(kind, expected, p):
    """What is wrong, or None."""
    code = EXIT_CODES.get(kind, 0)
    if p.returncode != code:
        return 'exit code %d, not %d\n%s%s' % (p.returncode, code, p.stdout, p.stderr)
    if kind in EXIT_CODES or kind == 'warning':
        return None if expected in p.stderr else 'standard error is\n' + p.stderr
    found = p.stdout.rstrip('\n')
    if kind != 'warning' and p.stderr and kind != 'type':
        return 'standard error is\n' + p.stderr
    same = same_numbers(expected, found) if kind == '~>' else expected == found
    return None if same else 'found    ' + found


def programs(text, path, session):
    """Runs a program once per expectation: yields (offset, what was expected, what is wrong or None)."""
    settings = {}
    printed = []
    seen = False
    for offset, line in enumerate(text):
        m = DIRECTIVE.match(line)
        if not m:
            continue
        kind, rest = m.groups()
        if kind == 'prints':
            printed.append(rest + '\n')
            continue
        if kind in SETTINGS:
            settings[kind] = rest
            continue
        seen = True
        args = shlex.split(settings.get('args', ''))
        if session.options.reference:
            name = os.path.splitext(os.path.basename(path))[0]
            command = [sys.executable, session.options.reference, name] + args
        else:
            command = [session.tool()] + shlex.split(settings.get('options', ''))
            if 'library' in settings:
                beside = os.path.join(os.path.dirname(path), settings['library'])
                command += ['--lib', session.library(beside)]
            command += ['--type'] if kind == 'type' else []
            command += [path] + args
        try:
            wrong = check(kind, ''.join(printed) + rest, session.run(command, stderr=subprocess.PIPE))
        except subprocess.TimeoutExpired:
            wrong = 'no result within %g s' % session.options.timeout
        settings.pop('args', None)
        printed.clear()
        yield offset, line, wrong
    if not seen:
        yield 0, 'an expectation such as `# => 3`', 'the program has none'


def run_script(text, name, session):
    """What a script of DaphneDSL prints, and what is wrong or None."""
    with open(os.path.join(session.directory, name), 'w', encoding='utf-8') as f:
        f.write(text)
    p = session.run([session.tool(), name], stderr=subprocess.PIPE)
    return p.stdout, None if p.returncode == 0 and not p.stderr else 'exit code %d\n%s' % (p.returncode, p.stderr)


def run_daphne(block, name, session):
    """Yields as `programs` does."""
    expected = ''.join(m[1] + '\n' for m in (re.search(r'#>(?: (.*))?$', line) for line in block.text) if m)
    found, wrong = run_script('\n'.join(block.text) + '\n', name, session)
    yield 0, expected, wrong or (None if found == expected else 'found\n' + found)


def cells_of(line):
    return [c.strip() for c in re.split(r'(?<!\\)\|', line)[1:-1]] if line.startswith('|') else []


def run_tables(lines, session):
    """Yields as `programs` does; what was printed is left in `lines`, for `--bless`."""
    is_scripts = False
    for i, line in enumerate(lines):
        cells = cells_of(line)
        if not cells or lines[i - 1] == '':
            is_scripts = cells[-2:] == ['script', 'prints']
        if not is_scripts or not cells or set(line) <= set('| -') or cells[-1] == 'prints':
            continue
        script = cells[-2].strip('`').replace('\\|', '|')
        found, wrong = run_script(script if script.endswith(';') else 'print(%s);' % script, 'row.daphne', session)
        found = ' / '.join(l for l in found.splitlines() if not l.startswith('DenseMatrix('))
        found = '`%s`' % found if found else ''
        lines[i] = '| %s |' % ' | '.join(cells[:-1] + [found])
        yield i, script + ' prints ' + cells[-1], wrong or (None if found == cells[-1] else 'found ' + found)


def matches(expected, found, numbers_vary):
    """Whether lines are equal, where `…` among the expected stands for any lines."""
    if numbers_vary:
        expected, found = ([' '.join(NUMBER.sub('0', l).split()) for l in ls] for ls in (expected, found))
    pattern = ''.join('(?:.*\n)*' if l.strip() == '…' else re.escape(l) + '\n' for l in expected)
    return re.fullmatch(pattern, ''.join(l + '\n' for l in found)) is not None


def commands_of(text):
    """(offset, command, expected lines) of a session."""
    at = [i for i, l in enumerate(text) if l.startswith('$ ')] + [len(text)]
    for start, end in zip(at, at[1:]):
        body = start + 1
        while text[body - 1].endswith('\\'):
            body += 1
        yield start, '\n'.join(text[start:body])[2:], text[body:end]


def run_console(block, session):
    """Yields as `programs` does; the blessed text is left in `block.blessed`."""
    numbers_vary = 'numbers-vary' in block.words
    block.blessed = []
    for offset, command, expected in commands_of(block.text):
        p = session.run(['bash', '-c', command], stderr=subprocess.STDOUT)
        found = p.stdout.replace(session.directory + '/', '').splitlines()
        same = matches(expected, found, numbers_vary)
        keep = same and not session.options.bless_all
        block.blessed += ['$ ' + l if i == 0 else l for i, l in enumerate(command.split('\n'))]
        block.blessed += expected if keep else found
        yield offset, '$ ' + command, None if same else 'found\n' + '\n'.join(found)


def run_markdown(path, lines, session):
    """Yields (line, expected, wrong)."""
    blessed = []
    for offset, expected, wrong in run_tables(lines, session):
        yield offset + 1, expected, wrong
    for block in blocks_of(lines):
        saved = [w[5:] for w in block.words[1:] if w.startswith('file=')]
        language = block.words[0] if block.words else ''
        name = saved[0] if saved else 'block%d.weld' % block.line
        if saved or language == 'weld':
            with open(os.path.join(session.directory, name), 'w', encoding='utf-8') as f:
                f.write('\n'.join(block.text) + '\n')
        if language == 'console':
            if session.options.programs_only:
                continue
            results = run_console(block, session)
        elif language == 'weld' and (not saved or any(DIRECTIVE.match(l) for l in block.text)):
            results = programs(block.text, os.path.join(session.directory, name), session)
        elif language == 'daphne' and not saved:
            results = run_daphne(block, 'block%d.daphne' % block.line, session)
        else:
            continue
        for offset, expected, wrong in results:
            yield block.line + 1 + offset, expected, wrong
        if language == 'console':
            blessed.append(block)
    if session.options.bless:
        for block in reversed(blessed):
            lines[block.line:block.line + len(block.text)] = block.blessed
        with open(path, 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')


def run_file(path, options):
    with open(path, encoding='utf-8') as f:
        lines = f.read().splitlines()
    with tempfile.TemporaryDirectory(prefix='weld-docs-') as directory:
        session = Session(options, directory)
        if path.endswith('.md'):
            yield from run_markdown(path, lines, session)
        else:
            for offset, expected, wrong in programs(lines, os.path.abspath(path), session):
                yield offset + 1, expected, wrong


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    ap = argparse.ArgumentParser(description='runs the programs and commands of the documentation')
    ap.add_argument('--cli', required=True)
    ap.add_argument('--root', default=os.path.dirname(os.path.dirname(here)), help='where examples/ and include/ are')
    ap.add_argument('--build', help='where libweld.so is (default: beside weld-cli)')
    ap.add_argument('--cxx', default='g++')
    ap.add_argument('--reference', help='script that computes what examples print')
    ap.add_argument('--cpu', help='value of weld.compile.cpu; a machine that lacks it skips all (exit code 77)')
    ap.add_argument('--timeout', type=float, default=600)
    ap.add_argument('--bless', action='store_true', help='write sessions that changed anew')
    ap.add_argument('--bless-all', action='store_true', help='write all sessions anew, measured numbers too')
    ap.add_argument('--programs-only', action='store_true', help='run no sessions')
    ap.add_argument('-v', action='store_true', help='say what is run')
    ap.add_argument('files', nargs='+')
    options = ap.parse_args()
    options.cli = os.path.abspath(options.cli)
    options.root = os.path.abspath(options.root)
    options.bless |= options.bless_all
    if options.cpu and subprocess.run([options.cli, '--set', 'weld.compile.cpu=' + options.cpu, '--check', '-e', '1'],
                                      stderr=subprocess.DEVNULL).returncode:
        print('this machine cannot run code for ' + options.cpu)
        return 77
    count = failed = 0
    for path in options.files:
        for line, expected, wrong in run_file(path, options):
            count += 1
            if options.v:
                print('%s:%d: %s' % (path, line, expected), flush=True)
            if wrong is not None:
                failed += 1
                print('%s:%d: expected %s\n  %s' % (path, line, expected, wrong.rstrip().replace('\n', '\n  ')))
    print('%d of %d as expected' % (count - failed, count))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
