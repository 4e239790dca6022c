#!/usr/bin/env python3
"""make clean: the builds of known names and the one that BUILD names, and nothing else."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, '..', '..'))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402

NAMED = ['build', 'build-asan', 'build-clang', 'build-tsan', 'build-ub']
KEPT = ['build-tools', 'builds', 'mine', 'src']


def clean(folder, *words):
    """(status, what is left) of make clean there, and what it says."""
    env = {k: v for k, v in os.environ.items() if k not in ('BUILD', 'MAKEFLAGS', 'MAKELEVEL', 'MFLAGS')}
    env['PATH'] = f'{walks.path}:{env["PATH"]}'
    done = subprocess.run(['make', '-s', '-C', folder, '-f', f'{ROOT}/Makefile', 'clean', *words], env=env, capture_output=True, text=True)
    return (done.returncode, sorted(os.listdir(folder))), done.stderr


class Walks:
    """Stands in for find, and knows whether it was called."""

    def __init__(self, path):
        self.path = path
        with open(f'{path}/find', 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\necho "$@" >> {path}/asked\n')
        os.chmod(f'{path}/find', 0o755)

    def asked(self):
        return os.path.exists(f'{self.path}/asked')


with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as aside:
    walks = Walks(aside)
    for name in [*NAMED, *KEPT, 'out']:
        os.makedirs(f'{folder}/{name}/within')
    open(f'{folder}/out/flags', 'w', encoding='utf-8').close()
    tap.equal(clean(folder)[0], (0, [*KEPT[:3], 'out', 'src']), 'make clean: the builds of known names are gone, the rest is there')
    tap.equal(clean(folder, 'BUILD=mine')[0], (2, [*KEPT[:3], 'out', 'src']), 'BUILD names a folder that is no build: it stays')
    for place in ('.', '..', f'{folder}/', '/', ''):  # `..` is the temporary folder
        (status, left), said = clean(f'{folder}/src', f'BUILD={place}')
        tap.ok(status == 2 and left == ['within'] and f"BUILD is '{place}', which holds the sources" in said, f"BUILD='{place}' is refused", said)
    os.symlink('src', f'{folder}/link')
    open(f'{folder}/src/flags', 'w', encoding='utf-8').close()
    (status, left), said = clean(f'{folder}/src', f'BUILD={folder}/link/')
    tap.ok(status == 2 and left == ['flags', 'within'] and 'which holds the sources' in said, 'a link to the sources is refused', said)
    os.remove(f'{folder}/link')
    os.makedirs(f'{folder}/build-asan')
    tap.equal(clean(folder, 'BUILD=mine')[0], (2, ['build-asan', *KEPT[:3], 'out', 'src']), 'where one is refused none is gone')
    tap.equal(clean(folder, 'BUILD=out')[0], (0, KEPT), 'BUILD names a build: it is gone, too')
    tap.equal(clean(folder, 'BUILD=out')[0], (0, KEPT), 'one that is not there')
    tap.ok(not walks.asked(), 'no folder is walked through, refused or not')
    subprocess.run(['make', '-s', '-n', '-C', folder, '-f', f'{ROOT}/Makefile', 'uninstall', 'BUILD=mine'], env={**os.environ, 'PATH': f'{aside}:{os.environ["PATH"]}'}, capture_output=True)
    tap.ok(walks.asked(), 'as it is where a build is asked for')
tap.done()
