#!/usr/bin/env python3
"""The same sources give the same bytes: what is small of them, built in two folders. (All of it: make check-deb.)"""
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, '..', '..'))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402

PRODUCTS = ['libcommon.a', 'cgtrace', 'trace.schema.json', 'man/cgtrace.1', 'completions/cgtrace.bash']
FOLDERS = ['common', 'preload', 'launcher', 'man', 'packaging', 'analyzer', 'examples', 'tests']


def build(folder):
    """Copies the sources there and builds; what make says."""
    for name in FOLDERS:
        shutil.copytree(f'{ROOT}/{name}', f'{folder}/{name}', ignore=shutil.ignore_patterns('node_modules', '*.jsonl', '__pycache__'))
    for name in ('Makefile', 'VERSION'):
        shutil.copy(f'{ROOT}/{name}', folder)
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'BUILD')}
    p = subprocess.run(['make', '-s', *(f'build/{name}' for name in PRODUCTS)], cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    return p.returncode, p.stderr


def main():
    with tempfile.TemporaryDirectory(prefix='cgtrace-once-') as once, tempfile.TemporaryDirectory(prefix='cgtrace-and-once-more-') as again:
        tap.equal((build(once), build(again)), ((0, ''), (0, '')), 'builds in two folders')
        for name in PRODUCTS:
            tap.ok(filecmp.cmp(f'{once}/build/{name}', f'{again}/build/{name}', shallow=False), f'{name}: the same bytes')
    tap.done()


if __name__ == '__main__':
    main()
