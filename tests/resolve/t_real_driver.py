#!/usr/bin/env python3
"""The toolkit's own runtime, static and shared, against the real driver library as Debian packages it (libcuda1, non-free; unpacked
under build/, never installed). There need be no device: the runtime looks everything up before it asks for one. Every look-up that
resolves to a symbol with a wrapper must give the wrapper of exactly that symbol, every other one what it gives without us; the program
must not notice."""
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import SANITIZED  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', os.path.join(ROOT, 'build')))
DIR, REAL = f'{BUILD}/tests/resolve', f'{BUILD}/real-driver'
CUDA = os.environ.get('CUDA_HOME', '/usr/local/cuda')
LIMIT_S = 120


def quiet(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, **more)


def fetch():
    """The directory with the driver, or (None, why not)."""
    found = glob.glob(f'{REAL}/root/usr/lib/*/**/libcuda.so.1', recursive=True)
    if found:
        return os.path.dirname(found[0]), None
    if not shutil.which('apt-get') or not shutil.which('dpkg-deb'):
        return None, 'no apt-get or dpkg-deb'
    key = '/usr/share/keyrings/debian-archive-keyring.gpg'
    release = re.search(r'^VERSION_CODENAME=(\w+)', open('/etc/os-release').read(), re.M)
    if not os.path.exists(key) or not release:
        return None, 'not a Debian system'
    for folder in ('lists/partial', 'cache/archives/partial', 'root'):
        os.makedirs(f'{REAL}/{folder}', exist_ok=True)
    with open(f'{REAL}/sources.list', 'w') as file:
        file.write(f'deb [signed-by={key}] http://deb.debian.org/debian {release[1]} non-free\n')
    options = ['-o', f'Dir::Etc::sourcelist={REAL}/sources.list', '-o', 'Dir::Etc::sourceparts=/dev/null', '-o',
               f'Dir::State::lists={REAL}/lists', '-o', f'Dir::Cache={REAL}/cache', '-o', 'APT::Sandbox::User=root']
    try:
        quiet(['apt-get', *options, 'update'])
        quiet(['apt-get', *options, 'download', 'libcuda1'], cwd=REAL)
        packages = glob.glob(f'{REAL}/libcuda1_*.deb')
        if not packages:
            return None, 'package libcuda1 cannot be had'
        quiet(['dpkg-deb', '-x', packages[0], f'{REAL}/root'])
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f'package libcuda1 cannot be had: {error}'
    found = glob.glob(f'{REAL}/root/usr/lib/*/**/libcuda.so.1', recursive=True)
    return (os.path.dirname(found[0]), None) if found else (None, 'package libcuda1 holds no libcuda.so.1')


def build(name, words):
    program = f'{DIR}/runtime_{name}'
    result = quiet(['cc', '-O2', f'-I{CUDA}/include', '-o', program, f'{HERE}/runtime_program.c', f'-L{CUDA}/lib64', *words])
    return (program, None) if result.returncode == 0 else (None, result.stderr)


def run(program, driver, preload):
    log = f'{DIR}/spy.log'
    if os.path.exists(log):
        os.unlink(log)
    env = {k: v for k, v in os.environ.items() if not k.startswith(('CGTRACE', 'LD_', 'SIM_'))}
    env.update(LD_LIBRARY_PATH=f'{driver}:{CUDA}/lib64', SPY_LOG=log, CGTRACE_QUIET='1', CGTRACE_DIR=DIR)
    if preload:
        env['LD_PRELOAD'] = ':'.join(preload)
    result = quiet([program], env=env)
    lines = [line.split() for line in open(log)] if os.path.exists(log) else []
    return (result.returncode, result.stdout, result.stderr), lines


def hooked_symbols():
    source = '#define HOOK(s,...) @s@\n#include "preload/hooks/all.def"\n'
    return set(re.findall(r'@ ?(\w+) ?@', quiet(['cc', '-E', '-P', '-I', ROOT, '-x', 'c', '-'], input=source).stdout))


def one(name, words, driver, symbols):
    program, why = build(name, words)
    if not program:
        tap.skip(f'{name} runtime', 'it does not link: ' + why.splitlines()[-1] if why else '')
        return
    spy, ours = f'{DIR}/spy.so', f'{BUILD}/libcgtrace.so'
    bare, _ = run(program, driver, ())
    plain, before = run(program, driver, (spy,))
    hooked, after = run(program, driver, (spy, ours))
    alone, _ = run(program, driver, (ours,))
    tap.equal(alone, bare, f'{name}: output, errors and status unchanged')
    tap.equal((plain, hooked), (bare, bare), f'{name}: nor do they change while look-ups are watched')
    looked_up = [line for line in before if line[0] == 'look-up' and line[5] != '-']
    tap.ok(len(looked_up) > 300, f'{name}: the runtime has looked up what it wants', f'{len(looked_up)} of {len(before)} resolve')
    tap.equal([line[:6] for line in after], [line[:6] for line in before], f'{name}: every look-up leads to the same symbol')
    wrong = [line for line in after if line[5] != '-' and (line[6] == 'libcgtrace.so') != (line[5] in symbols)]
    tap.equal(wrong, [], f'{name}: those with a wrapper to ours, the others to the driver\'s')
    passed = set(re.findall(r'PASSED\((\w+),', open(f'{ROOT}/preload/hooks/passed.def').read()))
    unknown = {line[1] for line in after if line[0] == 'look-up' and line[5] != '-' and line[6] != 'libcgtrace.so'} - passed
    tap.equal(sorted(unknown), [], f'{name}: what has no wrapper is known to be left alone')
    print(f'# {name}: {len(before)} look-ups, {len(looked_up)} resolve, {sum(line[6] == "libcgtrace.so" for line in after)} have a wrapper')


driver, why = (None, 'the runtime has no sanitizer, and makes calls before that of the library has begun') if SANITIZED else fetch()
if not driver:
    tap.skip('real static and shared runtime against the real driver library', why)
elif not os.path.exists(f'{CUDA}/include/cuda_runtime_api.h'):
    tap.skip('real static and shared runtime against the real driver library', 'no CUDA toolkit')
else:
    symbols = hooked_symbols()
    one('static', ['-lcudart_static', '-lpthread', '-ldl', '-lrt'], driver, symbols)
    one('shared', ['-lcudart'], driver, symbols)
tap.done()
