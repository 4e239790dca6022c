#!/usr/bin/env python3
"""scripts/gpu-check: says SKIP without a GPU; on the simulated driver, where it can be tried out, every check of it passes; a check that
fails is told, the others go on, and the status says so."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from harness import BUILD, SANITIZED, environment  # noqa: E402

SCRIPT = f'{ROOT}/scripts/gpu-check'


def run(**more):
    env = environment(False, **more)
    return subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, timeout=600)


def main():
    r = run(LD_LIBRARY_PATH=None) if not os.path.exists('/dev/nvidiactl') else None
    if r is None:
        tap.skip('no GPU', 'there is one')
    else:
        tap.ok(r.returncode == 0 and r.stdout.startswith('SKIP   no GPU: '), 'no GPU: said, and no failure', r.stdout)
    if SANITIZED:
        tap.skip('on the simulated driver', 'times of sanitized programs say nothing')
        tap.done()
    r = run(SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so', BUILD=BUILD)
    lines = r.stdout.splitlines()
    tap.ok(re.match(r'on Simulated device 0 \(not a GPU\), driver for CUDA \d+\.\d+, 20\d\d-', lines[0]), 'it says what it runs on, and when', lines[:1])
    wrong = [line for line in lines if line.startswith('NOT OK')]
    tap.ok(r.returncode == 0 and not wrong and ' 0 failed' in lines[-1], 'every check passes on the simulated driver', '\n'.join(wrong) + r.stderr)
    tap.equal(re.findall(r'^(\d+) ok', lines[-1]), [str(sum(line.startswith('ok ') for line in lines))], 'the summary counts them')
    with tempfile.TemporaryDirectory() as folder:  # a build in which one program is another one's, and few are there
        for part in ('tests/programs', 'examples'):
            os.makedirs(f'{folder}/{part}')
        for name in ('libcgtrace.so', 'cgtrace'):
            shutil.copy(f'{BUILD}/{name}', folder)
        with open(f'{folder}/tests/programs/copies', 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nexit 3\n')
        os.chmod(f'{folder}/tests/programs/copies', 0o755)
        shutil.copy(f'{BUILD}/tests/programs/vmm', f'{folder}/tests/programs')
        r = run(BUILD=folder)
        lines = r.stdout.splitlines()
        tap.ok(r.returncode == 1 and ' 1 failed' in lines[-1] and 'NOT OK copies: one trace: []' in lines, 'a program that records nothing: told, and status 1', r.stdout)
        tap.ok(any(line.startswith('ok     vmm: valid') for line in lines), 'the checks behind it go on')
        tap.ok(sum(line.startswith('SKIP ') for line in lines) > 5, 'what is not there is skipped, with the reason')
    tap.done()


if __name__ == '__main__':
    main()
