#!/usr/bin/env python3
"""make install: what it installs works without the source tree, pkg-config and CMake find it, make uninstall leaves nothing; make dist gives
the same bytes each time."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import BUILD, SANITIZED, environment, program  # noqa: E402

PROGRAM = """#include <cgtrace.h>
int main(void)
{
    cgtrace_span_end(cgtrace_span_begin("work"));
    return 0;
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(cgtrace 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user cgtrace::cgtrace)
if(NOT EXISTS "${cgtrace_LIBRARY}")
  message(FATAL_ERROR "no library at ${cgtrace_LIBRARY}")
endif()
"""


def make(*words):
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'CHECK')}
    with open(f'{BUILD}/flags', encoding='utf-8') as file:
        built_with = file.read()  # what is there is what is installed, whichever compiler make would take here
    p = subprocess.run(['make', '-s', f'BUILD={os.path.relpath(BUILD, ROOT)}', f'BUILT_WITH={built_with}', *words], cwd=ROOT, env=env, capture_output=True,
                       text=True, timeout=300)
    return tap.ok(p.returncode == 0, f'make {words[0]}', p.stdout + p.stderr)


def files(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def folders(folder):
    return [at for at, _, _ in os.walk(folder) if 'cgtrace' in os.path.basename(at)]


def run(words, cwd, **more):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=120, **more)


def installed(prefix):
    there = files(prefix)
    with open(os.path.join(ROOT, 'VERSION'), encoding='utf-8') as file:
        version = file.read().strip()
    wanted = ['bin/cg-analyze', 'bin/cgtrace', 'include/cgtrace.h', 'lib/libcgtrace.so', 'lib/libcgtrace.so.1', f'lib/libcgtrace.so.{version}',
              'lib/pkgconfig/cgtrace.pc', 'lib/cmake/cgtrace/cgtraceConfig.cmake', 'lib/cmake/cgtrace/cgtraceConfigVersion.cmake',
              'share/man/man1/cgtrace.1', 'share/man/man1/cg-analyze.1', 'share/man/man1/cg-analyze-query.1', 'share/man/man3/libcgtrace.3',
              *(f'share/man/man5/cgtrace-{n}.5' for n in ('bundle', 'capture', 'evidence', 'nsight', 'trace')),
              'share/man/man7/cgtrace.7', 'share/man/man7/cgtrace-tutorial.7', 'share/cgtrace/trace.schema.json',
              *(path.format(n) for n in ('cg-analyze', 'cgtrace') for path in
                ('share/bash-completion/completions/{}', 'share/zsh/site-functions/_{}', 'share/fish/vendor_completions.d/{}.fish'))]
    tap.equal([w for w in wanted if w not in there], [], 'all is there')
    tap.equal([f for f in there if f not in wanted and not re.fullmatch(r'share/man/man1/cg-analyze-[a-z-]+\.1', f)], [], 'and nothing else')
    dynamic = run(['readelf', '-d', f'{prefix}/lib/libcgtrace.so'], prefix).stdout
    tap.ok('[libcgtrace.so.1]' in dynamic, 'the name that the library is known by has its version', dynamic)


def used(prefix, folder):
    """A recording and a query, with what was installed alone."""
    if SANITIZED:
        tap.skip('a recording with what was installed', 'the library of this build needs a sanitizer in front of it')
        return
    env = environment(False, SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so')
    p = run([f'{prefix}/bin/cgtrace', 'record', '--quiet', '--output', 'run.jsonl', '--', program('trainer'), '10'], folder, env=env)
    tap.ok(p.returncode == 0 and os.path.exists(f'{folder}/run.jsonl'), 'a recording with what was installed', p.stderr)
    p = run([f'{prefix}/bin/cg-analyze', 'query', 'run.jsonl', '--kind', 'kernels'], folder)
    tap.ok(p.returncode == 0 and 'linear_forward' in json.dumps(json.loads(p.stdout)), 'a query with what was installed', p.stderr)


def found(prefix, folder):
    with open(f'{folder}/user.c', 'w', encoding='utf-8') as file:
        file.write(PROGRAM)
    if shutil.which('pkg-config'):
        env = dict(os.environ, PKG_CONFIG_PATH=f'{prefix}/lib/pkgconfig')
        flags = run(['pkg-config', '--cflags', '--libs', 'cgtrace'], folder, env=env).stdout.split()
        tap.equal(flags, [f'-I{prefix}/include', '-ldl'], 'pkg-config: where the header is')
        tap.ok(os.path.exists(run(['pkg-config', '--variable=library', 'cgtrace'], folder, env=env).stdout.strip()), 'pkg-config: where the library is')
        p = run(['cc', 'user.c', *flags, '-o', 'by_pkg_config'], folder)
        tap.ok(p.returncode == 0 and run(['./by_pkg_config'], folder).returncode == 0, 'a program built so', p.stderr)
    else:
        tap.skip('pkg-config', 'it is not installed')
    if shutil.which('cmake'):
        with open(f'{folder}/CMakeLists.txt', 'w', encoding='utf-8') as file:
            file.write(PROJECT)
        p = run(['cmake', '-S', '.', '-B', 'b', f'-DCMAKE_PREFIX_PATH={prefix}'], folder)
        q = run(['cmake', '--build', 'b'], folder)
        tap.ok(p.returncode == 0 and q.returncode == 0 and run(['b/user'], folder).returncode == 0, 'a program built by CMake', p.stderr + q.stdout)
    else:
        tap.skip('a program built by CMake', 'cmake is not installed')


def dist():
    digests, archive = set(), ''
    for _ in range(2):
        if not make('dist'):
            return
        with open(os.path.join(ROOT, 'VERSION'), encoding='utf-8') as file:
            archive = f'{BUILD}/cgtrace-{file.read().strip()}.tar.gz'
        with open(archive, 'rb') as file:
            digests.add(hashlib.sha256(file.read()).hexdigest())
    tap.equal(len(digests), 1, 'make dist: the same bytes each time')
    names = run(['tar', 'tzf', archive], BUILD).stdout.splitlines()
    tap.ok({n.split('/', 1)[1] for n in names} >= {'Makefile', 'VERSION', 'LICENSE', 'preload/cgtrace.h', 'man/cgtrace.7'}, 'make dist: the sources', names[:20])


base = tempfile.mkdtemp(prefix='cgtrace-install-')
try:
    prefix, folder = f'{base}/prefix', f'{base}/work'
    os.mkdir(folder)
    if make('install', f'PREFIX={prefix}'):
        installed(prefix)
        used(prefix, folder)
        found(prefix, folder)
        if make('uninstall', f'PREFIX={prefix}'):
            tap.equal((files(prefix), folders(prefix)), ([], []), 'make uninstall leaves nothing, no folder of ours either')
    if make('install', 'PREFIX=/usr', f'DESTDIR={base}/stage'):
        with open(f'{base}/stage/usr/lib/pkgconfig/cgtrace.pc', encoding='utf-8') as file:
            tap.ok(file.readline() == 'prefix=/usr\n', 'DESTDIR is in none of the installed files')
    if shutil.which('git') and os.path.exists(os.path.join(ROOT, '.git')):
        dist()
    else:
        tap.skip('make dist', 'this is no checkout')
finally:
    shutil.rmtree(base, ignore_errors=True)
tap.done()
