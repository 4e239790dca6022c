#!/usr/bin/env python3
"""make clean: every folder that a build may have made, and nothing else."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, '..', '..'))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402

MADE = ['build', 'build-asan', 'build-clang', 'build-tsan', 'build-ub']
KEPT = ['build-notes', 'builds', 'src']

with tempfile.TemporaryDirectory() as folder:
    for name in MADE + KEPT[1:]:
        os.makedirs(f'{folder}/{name}/within')
    open(f'{folder}/{KEPT[0]}', 'w', encoding='utf-8').close()
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS')}
    done = subprocess.run(['make', '-s', '-C', folder, '-f', f'{ROOT}/Makefile', 'clean'], env=env, capture_output=True, text=True)
    tap.equal((done.returncode, sorted(os.listdir(folder))), (0, KEPT), 'make clean: builds are gone, the rest is there')
tap.done()
