#!/usr/bin/env python3
"""The first session of README, cgtrace-tutorial(7) and EXAMPLES of cgtrace(1) and libcgtrace(3): their commands, one after the other on a terminal in one folder, and what the
page shows of their output. A display without commands is the file that the text before it names.

A line "..." of the page (README: "…") stands for any lines, " ..." at the end of a line for the rest of it, "…" for any text. Times (a number with ns, µs, ms or s) and numbers with
a decimal point that are no bytes are not compared, nor are widths of blanks; all else is."""
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import BUILD, SANITIZED, environment, program  # noqa: E402
from terminal import on_terminal  # noqa: E402


def shown(page):
    """([(command, lines that the page shows of its output)], {file: text}) of a page."""
    with open(f'{BUILD}/man/{page}', encoding='utf-8') as file:
        text = file.read()
    if not page.endswith('.7'):
        text = text[text.index('.Sh EXAMPLES'):]
    commands, files = [], {}
    for before, block in re.findall(r'^(.*)\n\.Bd -literal.*\n((?:.*\n)*?)\.Ed$', text, re.M):
        block = block.replace('\\&', '').replace('\\e\n', '').replace('\\e', '\\')
        if not block.startswith('$ '):
            files[re.match(r'\.Pa (\S+)', before)[1]] = block
            continue
        for line in block.splitlines():
            if line.startswith('$ '):
                commands.append((' '.join(line[2:].split()), []))
            else:
                commands[-1][1].append(line)
    return commands, files


def session():
    """The same of README's first session: lines with four blanks in front."""
    with open(f'{ROOT}/README.md', encoding='utf-8') as file:
        text = re.search(r'^## A first session\n(.*?)^## ', file.read(), re.M | re.S)[1]
    commands, within = [], False
    for line in text.splitlines():
        if line.startswith('    $ '):
            commands.append((line[6:], []))
            within = True
        elif line and not line.startswith('    '):
            within = False
        elif within:
            commands[-1][1].append(line[4:])
    return commands, {}


def masked(line):
    line = re.sub(r'\d+(\.\d+)? (ns|µs|ms|s)\b', 'TIME', line)
    line = re.sub(r'\b\d+\.\d+(e[+-]\d+)?\b(?! (B|KiB|MiB|GiB)\b)', 'NUMBER', line)
    return ' '.join(line.split())


def agrees(line, got):
    parts = re.sub(r' \.\.\.$', '…', masked(line)).split('…')
    return re.fullmatch('.*'.join(map(re.escape, parts)), masked(got)) is not None


def missing(lines, output):
    """The first shown line that the output does not have where it should; None: it is as shown."""
    at, anywhere = 0, False
    for line in lines:
        if line in ('...', '…'):
            anywhere = True
            continue
        if anywhere:
            while at < len(output) and not agrees(line, output[at]):
                at += 1
        if at >= len(output) or not agrees(line, output[at]):
            return line
        at, anywhere = at + 1, False
    return None if anywhere or at == len(output) else f'the end, instead of {output[at]!r}'


# The comparison itself.
tap.equal([missing(['a', '...', 'c 1 ms', 'd ...'], ['a', 'b', 'c 2.5 µs', 'd e']), missing(['a', 'c'], ['a', 'b', 'c']), missing(['...', 'x'], ['a']), missing(['a'], ['a', 'b']),
           missing(['1.5 KiB', '0.25'], ['1.5 KiB', '0.75']), missing(['1.5 KiB'], ['2.5 KiB'])],
          [None, 'c', 'x', "the end, instead of 'b'", None, '1.5 KiB'], 'what counts as shown')
if SANITIZED:
    tap.skip('the tutorial', 'the library of this build needs a sanitizer in front of it')
    tap.done()
for page, least in (('README.md', 8), ('cgtrace-tutorial.7', 15), ('cgtrace.1', 3), ('libcgtrace.3', 3)):
    folder = tempfile.mkdtemp(prefix='cgtrace-tutorial-')
    try:
        for name in ('trainer', 'trainer_nvtx'):
            os.symlink(program(name), f'{folder}/{name}')
        env = environment(False, SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so', SIM_MEM_MB='4', COLUMNS='200', NO_COLOR='1', TERM='dumb',
                          LC_ALL='C.UTF-8', C_INCLUDE_PATH=os.path.abspath(f'{ROOT}/preload'))
        env['PATH'] = f'{BUILD}:{env["PATH"]}'
        env['LD_LIBRARY_PATH'] += f':{BUILD}'
        commands, files = session() if page == 'README.md' else shown(page)
        tap.ok(len(commands) >= least, f'{page}: has commands', commands)
        for name, text in files.items():
            with open(f'{folder}/{name}', 'w', encoding='utf-8') as file:
                file.write(text)
        for command, lines in commands:
            status, output = on_terminal(command, folder, env)
            wrong = missing([line for line in lines if line], output)
            # The program whose allocation fails ends with its own status.
            tap.ok(status == ('8192' in command) and wrong is None, f'{page}: {command}', f'status {status}; missing: {wrong}\n' + '\n'.join(output[:60]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
tap.done()
