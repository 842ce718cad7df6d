#!/usr/bin/env python3
"""weld-cli without memory, and with files that cannot be read or written: tool_test.py WELD_CLI LIBFAULTS [--all]

For each command the allocation, reading, writing or opening number n fails, for many n (--all: for every n). Each time
the tool ends by itself, with the right answer or with the code and the words that the failure has, and leaves files as
they were or as they were to be.
"""
import errno
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

CLI, LIBRARY = map(os.path.abspath, sys.argv[1:3])
EVERY = '--all' in sys.argv
failures = []

NPY = (b'\x93NUMPY\x01\x00' + (118).to_bytes(2, 'little') +
       b"{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }".ljust(117) + b'\n' +
       b''.join(n.to_bytes(8, 'little') for n in (1, 2, 3)))
SUM = '|v: vec[i64]| result(for(v, merger[i64,+], |b, i, x| merge(b, x)))'


class Command:
    """A command, the files that it finds, and those that it makes: name -> content."""

    def __init__(self, *arguments, answer='', finds=None, makes=None, stdin=None, codes=(2, 3)):
        self.arguments, self.answer, self.stdin = arguments, answer, stdin
        self.finds, self.makes = finds or {}, makes or {}
        self.codes = codes  # of reading and writing that fails

    def __str__(self):
        return ' '.join(self.arguments)


COMMANDS = [
    Command('-e', '1 + 2', answer='3\n'),
    Command('program.weld', '[1, 2, 3]', answer='6\n', finds={'program.weld': SUM.encode()}),
    Command('-', '[1, 2, 3]', answer='6\n', stdin=SUM.encode()),
    Command('-e', SUM, '@v.npy', answer='6\n', finds={'v.npy': NPY}),
    Command('-e', '|t: {vec[i64], vec[f64]}| {t.$0, map(t.$1, |x| x + 1.0)}', '@t.csv', answer='{[1, 2], [1.5, 2.5]}\n',
            finds={'t.csv': b'c0,c1\n1,0.5\n2,1.5\n'}),
    Command('--out', 'o.npy', '-e', '[1L, 2L, 3L]', finds={'o.npy': b'old'}, makes={'o.npy': NPY}),
    Command('--out', 'o.csv', '-e', '{[1, 2], ["x", "y"]}', makes={'o.csv': b'c0,c1\n1,x\n2,y\n'}),
    Command('--out', 'o.npy', '-e', '{[1L, 2L, 3L], [1L, 2L, 3L]}', finds={'o.0.npy': b'old'},
            makes={'o.0.npy': NPY, 'o.1.npy': NPY}),
    Command('--lang', 'daphne', '-e', 'if (sum(as.matrix<f64>(readFrame("t.csv", true)[, 0])) != 3.0) stop();', codes=(1, 3),
            finds={'t.csv': b'c0;c1\n1;x\n2;y\n'}),
    Command('--lang', 'daphne', '-e', 'write([1, 2](1, 2), "o.csv");', finds={'o.csv': b'old'},
            makes={'o.csv': b'1,2\n', 'o.csv.meta': b'{"numCols":2,"numRows":1,"valueType":"si64"}\n'}),
    Command('--cache', 'cache', '-e', '2 + 3', answer='5\n'),
    Command('--json', '-e', 'result(for(rangeiter(0L, 30000L, 1L), appender[i64], |b, i, x| merge(b, x)))',
            answer='[' + ', '.join(map(str, range(30000))) + ']\n'),
]


def complain(command, fault, what):
    failures.append(f'{command}: {fault}: {what}')
    print(failures[-1])


def run(command, folder, **environment):
    env = {**os.environ, 'LD_PRELOAD': LIBRARY, **environment}
    return subprocess.run([CLI, *command.arguments], cwd=folder, env=env, input=command.stdin, capture_output=True,
                          timeout=600)


def put_files(command, folder):
    for path in folder.iterdir():
        if path.name != 'cache':
            path.unlink()
    for name, content in command.finds.items():
        (folder / name).write_bytes(content)


def check_files(command, folder, done):
    """All that it was to make is there, or nothing has happened."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ('cache', 'calls')}
    if found != ({**command.finds, **command.makes} if done else command.finds):
        return f'the folder holds {[(name, len(content)) for name, content in found.items()]}'
    return ''


def check(command, folder, fault, error, codes):
    out = run(command, folder, FAULT=fault)
    told = out.stderr.decode(errors='replace')
    if out.returncode == 0:
        if out.stdout.decode() != command.answer:
            complain(command, fault, f'it says {out.stdout[:100]} and succeeds')
    elif out.returncode not in codes:
        complain(command, fault, f'exit code {out.returncode}: {told[:300]}')
    elif error.lower() not in told.lower():
        complain(command, fault, f'exit code {out.returncode}, without `{error}`: {told[:300]}')
    if wrong := check_files(command, folder, out.returncode == 0):
        complain(command, fault, f'exit code {out.returncode}: {wrong}')
    put_files(command, folder)


def some(count, most):
    """Numbers from 1 to count: the first ones and the last ones each, between them fewer."""
    if EVERY or count <= most:
        return range(1, count + 1)
    few = most // 4
    return sorted({*range(1, few), *range(1, count + 1, count // most), *range(count + 2 - few, count + 1)})


def again(command, folder, fault):
    out = run(command, folder)
    if (out.returncode, out.stdout.decode()) != (0, command.answer):
        complain(command, fault, f'afterwards it does not work: {out.returncode} {out.stderr[:200]}')
    put_files(command, folder)


def try_all(command, folder):
    put_files(command, folder)
    # twice: a cache has the program the second time; what is counted is the first
    calls = folder / 'calls'
    out = run(command, folder, FAULT_CALLS=str(calls))
    if (out.returncode, out.stdout.decode()) != (0, command.answer):
        return complain(command, 'none', f'{out.returncode} {out.stdout[:100]} {out.stderr[:300]}')
    count = {name: int(n) for name, n in map(str.split, calls.read_text().splitlines())}
    put_files(command, folder)
    cache = folder / 'cache'

    def forget():
        for path in cache.glob('*') if cache.is_dir() else ():
            path.unlink()

    for on in 'once', 'on':
        for n in some(count['memory'], 40):
            forget()
            check(command, folder, f'memory,{n},{on}', 'memory', [3])
        again(command, folder, 'memory')
    for what, errors in (('read', (errno.EIO, 0)), ('write', (errno.EIO, errno.ENOSPC, 0)),
                         ('open', (errno.EIO, errno.EMFILE)), ('name', (errno.EIO,))):
        for error in errors:
            for n in some(count[what], 20):
                for kept in (False, True) if cache.is_dir() else (False,):
                    if not kept:
                        forget()
                    # what is renamed could not be put back if that failed, too
                    for on in ('once',) if what == 'name' else ('once', 'on'):
                        check(command, folder, f'{what},{n},{on},{error}', os.strerror(error) if error else '', command.codes)
                again(command, folder, what)


def many_loops():
    """A program whose compiling takes some tens of MiB, in several threads."""
    loops = ','.join(f'result(for(v,merger[f64,+],|b,i,x| if(x > {k}.0,merge(b,x*{k}.0),b)))' for k in range(40))
    return '|v: vec[f64]| {len(v),' + loops + '}'


def try_small_machines():
    """Less address space each time: the tool runs, or says that there is not enough memory, at every size."""
    arguments = [CLI, '--threads', '4', '--quiet', '-e', many_loops(), '[1, 2, 3]']
    codes = []
    for mib in range(60, 1000, 4 if EVERY else 20):
        limit = mib << 20
        out = subprocess.run(arguments, capture_output=True, timeout=600,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        told = out.stderr.decode(errors='replace')
        codes.append(out.returncode)
        if out.returncode not in (0, 3) or out.returncode == 3 and 'memory' not in told:
            complain('many loops', f'{mib} MiB', f'exit code {out.returncode}: {told[:300]}')
    if codes[0] != 3 or codes[-1] != 0:
        complain('many loops', 'address space', f'the exit codes are {codes}')


try_small_machines()
for command in COMMANDS:
    with tempfile.TemporaryDirectory() as folder:
        try_all(command, pathlib.Path(folder))
    print(command)
print(f'{len(failures)} failures')
sys.exit(bool(failures))
