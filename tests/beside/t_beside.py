#!/usr/bin/env python3
"""Other tools in the same process, or over it: allocators, hooks of dlsym, of malloc and of _exit, an auditor of the loader, sanitizers, gdb,
strace, valgrind, heaptrack, this library once more. The program does what it does with that tool alone, the tool sees what it sees without us, and
the trace holds each call once."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(HERE, '..', 'tools'), os.path.join(HERE, '..', 'resolve')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, LIBRARY, SANITIZED, Run, environment, program  # noqa: E402
from header import HEADERS  # noqa: E402

DIR = f'{BUILD}/tests/beside'
PROGRAMS = (['threads', '4', '300', '50'], ['loadpath_lookup', 'dlopen'], ['loadpath_lookup', 'getproc'], ['loadpath_lookup', 'getproc-v1'],
            ['endings', 'return'], ['endings', '_exit'])
ROUNDS = 20


def calls(trace):
    """How often each function of the driver is in it."""
    with open(trace) as f:
        return collections.Counter(r['api'] for r in map(json.loads, f) if r['kind'] == 'op')


_alone = {}


def alone(words):
    """The calls of a program that is recorded with nobody beside us."""
    if tuple(words) not in _alone:
        with Run([program(words[0]), *words[1:]]) as run:
            _alone[tuple(words)] = calls(run.traces[0])
    return _alone[tuple(words)]


def compare(name, plain, run, words, extra=0):
    """extra: allocations that the tool itself makes while we record."""
    tap.equal((run.status, run.out, run.err), (plain.status, plain.out, plain.err), f'{name}: {" ".join(words)}: as with it alone')
    left = [f for f in run.files if f not in plain.files]
    expected = alone(words) + collections.Counter(cuMemAlloc_v2=extra)
    tap.equal((len(left), [v for t in run.traces for v in check(t)], [calls(t) for t in run.traces]), (1, [], [expected]),
              f'{name}: {" ".join(words)}: one valid trace, each call once')


def preloaded(name, library, programs=PROGRAMS, extra_before=0, **more):
    """The other library before us and behind us."""
    for words in programs:
        command = [program(words[0]), *words[1:]]
        with Run(command, record=False, LD_PRELOAD=library, **more) as plain:
            for where, order in (('behind us', (LIBRARY, library)), ('before us', (library, LIBRARY))):
                with Run(command, LD_PRELOAD=':'.join(order), **more) as run:
                    compare(f'{name} {where}', plain, run, words, extra_before if where == 'before us' else 0)


def allocators():
    known = subprocess.run(['/sbin/ldconfig', '-p'], capture_output=True, text=True).stdout
    for name, pattern in (('jemalloc', r'libjemalloc\.so\.\d+'), ('tcmalloc', r'libtcmalloc_minimal\.so\.\d+')):
        found = re.search(rf'^\s*{pattern} .*=> (\S+)$', known, re.M)
        if found:
            preloaded(name, found.group(1), PROGRAMS[:2])
        else:
            tap.skip(name, 'not installed')


def hooks():
    preloaded('hooks of dlsym', f'{DIR}/hooks_dlsym.so', PROGRAMS[:4])
    with Run([program('loadpath_lookup'), 'getproc'], record=False, LD_PRELOAD=f'{DIR}/hooks_dlsym.so') as plain:
        tap.ok(plain.out.endswith(b'hooks_dlsym: 2 allocations\n'), 'hooks of dlsym: they see the allocations', plain.out[-200:])
    # It finds ours where it looks for the true one: passed by, but not without end.
    with Run([program('loadpath_lookup'), 'dlopen'], LD_PRELOAD=f'{LIBRARY}:{DIR}/hooks_dlsym.so', HOOKS_DLSYM='default') as run:
        tap.equal((run.status, [calls(t) for t in run.traces]), (0, [alone(['loadpath_lookup', 'dlopen'])]), 'hooks of dlsym that come back to us: it ends')
    preloaded('hooks of malloc', f'{DIR}/hooks_malloc.so', PROGRAMS[:2])
    preloaded('hooks of _exit', f'{DIR}/hooks_exit.so', PROGRAMS[-2:])
    # Destructors run in the reverse order of their libraries: before ours, and behind it when nothing is recorded any more.
    preloaded('a destructor that allocates', f'{DIR}/late.so', (['endings', 'return'],), extra_before=1)


def loader():
    audit = {'LD_AUDIT': f'{DIR}/audit.so'}
    for name, more in (('LD_AUDIT', audit), ('LD_BIND_NOW', {'LD_BIND_NOW': '1'}), ('both', dict(audit, LD_BIND_NOW='1'))):
        for words in (*PROGRAMS[:3], ['endings', '_exit']):
            command = [program(words[0]), *words[1:]]
            with Run(command, record=False, **more) as plain, Run(command, **more) as run:
                compare(name, plain, run, words)
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(LIBRARY, f'{folder}/libcgtrace.so')
        for name, order in (('preloaded twice', (LIBRARY, LIBRARY)), ('two copies preloaded', (LIBRARY, copy))):
            for words in PROGRAMS[:3]:
                command = [program(words[0]), *words[1:]]
                with Run(command, record=False) as plain, Run(command, LD_PRELOAD=':'.join(order)) as run:
                    compare(name, plain, run, words)
        with Run([f'{BUILD}/cgtrace', 'record', '--', program('endings'), 'return'], record=False, LD_PRELOAD=copy, CGTRACE_QUIET='1') as run:
            tap.equal((run.status, [calls(t) for t in run.traces]), (3, [alone(['endings', 'return'])]), 'cgtrace record, and a copy is preloaded: one trace')


# ---- programs that are built with a sanitizer ----

def sanitized(compiler, kind, folder):
    include = next((os.path.dirname(h) for h in HEADERS if os.path.exists(h)), '/usr/include')
    path = f'{folder}/midway-{compiler}-{kind}'
    sources = [f'{ROOT}/tests/programs/midway.c', f'{ROOT}/tests/programs/target.c', f'{BUILD}/sim/libcuda.so.1']
    built = shutil.which(compiler) and subprocess.run([compiler, '-g', '-D_GNU_SOURCE', f'-fsanitize={kind}', f'-I{ROOT}', '-isystem', include, '-o', path, *sources],
                                                      capture_output=True).returncode == 0
    return path if built else None


def sanitizers():
    more = {'ASAN_OPTIONS': 'detect_leaks=0', 'TSAN_OPTIONS': ''}
    with tempfile.TemporaryDirectory() as folder, Run([program('midway'), 'nothing', str(ROUNDS)]) as reference:
        for compiler in ('gcc', 'clang'):
            for kind in ('address', 'undefined', 'thread'):
                name, path = f'{compiler} -fsanitize={kind}', sanitized(compiler, kind, folder)
                if not path:
                    tap.skip(name, f'{compiler} is not here or has no such runtime')
                    continue
                if (compiler, kind) == ('clang', 'thread'):
                    told = subprocess.run([f'{BUILD}/cgtrace', 'check', path], env=environment(False), capture_output=True, text=True).stdout
                    tap.ok('TSAN_OPTIONS=ignore_noninstrumented_modules=1' in told, f'{name}: cgtrace check says what it needs', told)
                    more['TSAN_OPTIONS'] = 'ignore_noninstrumented_modules=1'
                command = [path, 'nothing', str(ROUNDS)]
                with Run(command, record=False, **more) as plain, Run(command, **more) as run:
                    tap.equal((run.status, run.out, run.err), (plain.status, plain.out, plain.err), f'{name}: as without us')
                    tap.equal((plain.status, [v for t in run.traces for v in check(t)], [calls(t) for t in run.traces]),
                              (3, [], [calls(reference.traces[0])]), f'{name}: a valid trace, each call once')
                if kind == 'address':
                    leaks(name, command)


def leaks(name, command):
    """What it finds at the end is the program's and the driver's; it ends the process before us, and the trace is recovered."""
    with Run(command, ASAN_OPTIONS='detect_leaks=1') as run:
        if b'LeakSanitizer has encountered a fatal error' in run.err:
            tap.skip(f'{name}: leaks', 'leak detection does not run here')
            return
        made = re.findall(rb'^ +#1 .*', run.err, re.M)
        tap.ok(not any(b'libcgtrace.so' in line for line in made), f'{name}: no leak is ours', b'\n'.join(made).decode(errors='replace'))
        for capture in (f for f in run.files if f.endswith('.cgt')):
            recovered = subprocess.run([f'{BUILD}/cg-analyze', 'recover', capture, '-o', 'r.jsonl'], cwd=f'{run.folder}/work', capture_output=True, text=True)
            tap.equal((recovered.returncode, check(f'{run.folder}/work/r.jsonl')), (0, []), f'{name}: ended by its leak check: recovered')


# ---- tools over the process ----

def strace():
    if not shutil.which('strace') or subprocess.run(['strace', '-o', '/dev/null', 'true'], capture_output=True).returncode:
        tap.skip('strace', 'not installed, or not allowed here')
        return
    for words in (PROGRAMS[0], ['endings', '_exit']):
        command = [program(words[0]), *words[1:]]
        with Run(['strace', '-f', '-o', '/dev/null', *command], record=False) as plain:
            with Run(['strace', '-f', '-o', '/dev/null', '-E', f'LD_PRELOAD={LIBRARY}', *command], record=False, CGTRACE_QUIET='1') as run:
                compare('strace -f', plain, run, words)


def valgrind():
    """Standard error too: it finds nothing to say of us."""
    if not shutil.which('valgrind'):
        tap.skip('valgrind', 'not installed')
        return
    for words in PROGRAMS[-2:]:
        command = ['valgrind', '-q', program(words[0]), *words[1:]]
        with Run(command, record=False) as plain, Run(command) as run:
            compare('valgrind', plain, run, words)


def heaptrack():
    if not shutil.which('heaptrack'):
        tap.skip('heaptrack', 'not installed')
        return
    words = ['threads', '2', '100', '20']
    with Run(['heaptrack', '-o', 'heap', program(words[0]), *words[1:]]) as run:
        lines = [line for line in run.out.splitlines() if line.startswith(b'2 threads')]
        tap.equal((run.status, len(lines)), (0, 1), 'heaptrack: the program runs')
        tap.ok(any(f.startswith('heap') for f in run.files), 'heaptrack: its file is there', run.files)
        tap.equal(([v for t in run.traces for v in check(t)], [calls(t) for t in run.traces]), ([], [alone(words)]), 'heaptrack: one valid trace, each call once')


def gdb_command(*orders, args=(), pid=None):
    words = ['gdb', '-nx', '-batch', '-ex', 'set debuginfod enabled off', '-ex', 'set confirm off']
    for order in orders:
        words += ['-ex', order]
    return words + (['-p', str(pid)] if pid else ['--args', *args])


def gdb():
    allowed = shutil.which('gdb') and b'exited normally' in subprocess.run(gdb_command('run', args=['true']), capture_output=True).stdout
    if not allowed:
        tap.skip('gdb', 'not installed, or it may not trace here')
        return
    preload = f'set environment LD_PRELOAD {LIBRARY}'
    command = [program('midway'), 'nothing', str(ROUNDS)]
    with Run(gdb_command(preload, 'run', args=command), record=False, CGTRACE_QUIET='1') as run, Run(command) as reference:
        tap.ok(b'exited with code 03' in run.out and b'SIG' not in run.out, 'gdb: the program runs to its end, no signal stops it', run.out)
        tap.equal(([v for t in run.traces for v in check(t)], [calls(t) for t in run.traces]), ([], [calls(reference.traces[0])]), 'gdb: a valid trace, each call once')
    with Run(gdb_command(preload, 'break exit', 'run', 'kill', args=command), record=False, CGTRACE_QUIET='1', CGTRACE_OUTPUT='t.jsonl') as run:
        recovered = subprocess.run([f'{BUILD}/cg-analyze', 'recover', 't.jsonl.cgt'], cwd=f'{run.folder}/work', capture_output=True, text=True)
        tap.equal((recovered.returncode, check(f'{run.folder}/work/t.jsonl')), (0, []), 'gdb kills it: recovered')
        # All but the allocation behind exit(), which fails.
        tap.equal(calls(f'{run.folder}/work/t.jsonl')['cuMemAlloc_v2'], 2 * ROUNDS, 'gdb kills it: every call is kept')
    attach()


def attach():
    with tempfile.TemporaryDirectory() as folder:
        running = subprocess.Popen([program('midway'), 'wait', str(ROUNDS)], cwd=folder, env=environment(True), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        head = running.stdout.readline() + running.stdout.readline()
        result = subprocess.run(gdb_command('info threads', 'detach', pid=running.pid), capture_output=True, text=True)
        attached = 'Id' in result.stdout
        time.sleep(0.2)
        out, err = running.communicate()
        if not attached:
            tap.skip('gdb attaches', 'it may not, here')
            return
        tap.equal((running.returncode, head + out, err), (3, b'sum 190\nhalf\nsum 190\ncuMemAlloc(&pointer, 1024): 4\n', b''), 'gdb attaches and detaches: unchanged')
        traces = [f'{folder}/{f}' for f in os.listdir(folder)]
        tap.equal(([v for t in traces for v in check(t)], [calls(t)['cuMemAlloc_v2'] for t in traces]), ([], [2 * ROUNDS + 1]),
                  'gdb attaches and detaches: a valid trace, each call once')


# ---- programs that nothing can be preloaded into ----

def refused():
    with tempfile.TemporaryDirectory() as folder:
        source = f'{folder}/p.c'
        with open(source, 'w') as f:
            f.write('int main(void) { return 0; }\n')
        cases = []
        for flag in ('-static', '-static-pie'):
            path = f'{folder}/p{flag}'
            built = subprocess.run(['cc', flag, '-o', path, source], capture_output=True).returncode == 0
            cases.append((flag, path if built else None, 'no static libc here', 'statically linked'))
        for flag, mode in (('setuid', 0o4755), ('setgid', 0o2755)):
            path = f'{folder}/{flag}'
            subprocess.run(['cc', '-o', path, source], check=True, capture_output=True)
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
                os.chmod(path, mode)
            cases.append((flag, path if os.geteuid() == 0 else None, 'only root can make such a file', 'more rights than its caller'))
        for name, path, why, message in cases:
            if not path:
                tap.skip(f'{name} program', why)
                continue
            result = subprocess.run([f'{BUILD}/cgtrace', 'record', '--', path], env=environment(False), capture_output=True, text=True)
            tap.ok(result.returncode == 3 and message in result.stderr and path in result.stderr and result.stderr.count('\n') == 1,
                   f'{name} program: refused with the reason, not run', f'{result.returncode} {result.stderr}')


def main():
    if SANITIZED:
        tap.skip('other tools beside us', 'the sanitizer of the library is one already')
    else:
        for test in (allocators, hooks, loader, sanitizers, strace, valgrind, heaptrack, gdb):
            test()
    refused()
    tap.done()


main()
