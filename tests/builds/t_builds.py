#!/usr/bin/env python3
"""The recorder as other compilers and flags make it: its own tests against a library built with clang, and against one in which undefined
behaviour traps (-O0, where no optimisation hides a misaligned access). The rest, the programs and the simulated driver, is that of $BUILD."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, '..', '..'))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import BUILD, SANITIZED  # noqa: E402

# Trapping needs no runtime library, which would be a second DT_NEEDED of the library.
BUILDS = {'clang': ['CC=clang'],
          'undefined': ['OPT=-O0', 'SANITIZE=-fsanitize=undefined -fsanitize-undefined-trap-on-error -Wno-error']}
# All that is linked from the recorder's objects.
BUILT = ['libcgtrace.so', 'tests/record/drive']
SHARED = ['cg-analyze', 'examples', 'man', 'sim', 'tests/api', 'tests/nvtx', 'tests/programs', 'tests/regions']
TESTS = [f'tests/{name}.py' for name in ('api/t_api', 'nvtx/t_nvtx', 'record/t_kill', 'record/t_record', 'regions/t_regions')]


def make(folder, words):
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'CC', 'OPT', 'SANITIZE')}
    command = ['make', '-s', f'BUILD={os.path.relpath(folder, ROOT)}', *words, *(os.path.relpath(f'{folder}/{name}', ROOT) for name in BUILT)]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


def share(folder):
    for name in SHARED:
        os.makedirs(os.path.dirname(f'{folder}/{name}'), exist_ok=True)
        if not os.path.islink(f'{folder}/{name}'):
            os.symlink(f'{BUILD}/{name}', f'{folder}/{name}')


def recorded(name, words):
    folder = f'{BUILD}/as-{name}'
    made = make(folder, words)
    if not tap.ok(made.returncode == 0, f'{name}: the recorder is built', made.stdout + made.stderr):
        return
    share(folder)
    p = subprocess.run([sys.executable, 'tests/run.py', *TESTS], cwd=ROOT, env=dict(os.environ, BUILD=folder), capture_output=True, text=True)
    ran = re.findall(r'^(?:ok  |FAIL) (\S+): [1-9]', p.stdout, re.M)
    tap.equal(ran, TESTS, f'{name}: its tests have run')
    tap.ok(p.returncode == 0, f'{name}: all pass', p.stdout + p.stderr)


for name, words in BUILDS.items():
    compiler = next((w.removeprefix('CC=') for w in words if w.startswith('CC=')), None)
    if SANITIZED:
        tap.skip(f'the recorder as {name}', 'a sanitizer is at work')
    elif compiler and not shutil.which(compiler):
        tap.skip(f'the recorder as {name}', f'{compiler} is not installed')
    else:
        recorded(name, words)
tap.done()
