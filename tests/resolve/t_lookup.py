#!/usr/bin/env python3
"""How programs find the driver's functions, against a driver that does nothing and a recorder that writes down what it is told."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import header  # noqa: E402
import tap  # noqa: E402
from harness import SANITIZED  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', os.path.join(ROOT, 'build')))
DIR = f'{BUILD}/tests/resolve'
LIBRARY = f'{BUILD}/libcgtrace.so'


def run(program, *words, preload=(), log=None, path=DIR):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('CGTRACE', 'LD_'))}
    env['LD_LIBRARY_PATH'] = path
    if preload:
        env['LD_PRELOAD'] = ':'.join(preload)
    if log:
        env['CGT_TEST_LOG'] = log
    return subprocess.run([f'{DIR}/{program}', *words], env=env, capture_output=True, text=True, timeout=60)


def recorded(program, *words, preload=(f'{DIR}/libhooks.so',), path=DIR):
    """(output without the library, output with it, status, lines of the log)."""
    with tempfile.TemporaryDirectory() as folder:
        log = f'{folder}/log'
        plain = run(program, *words, path=path)
        hooked = run(program, *words, preload=preload, log=log, path=path)
        lines = open(log, encoding='utf-8').read().splitlines() if os.path.exists(log) else []
    return plain, hooked, [re.sub(r'per-thread:\d+', 'per-thread:N', line) for line in lines]


BASIC = [
    'driver 13000',
    'device 3 Nothing 3 5000',
    'alloc cuMemAlloc_v2 result=0 device=3 stream= kind=0 address=0x10000000 bytes=1024 owner=0xc0de0',
    'launch cuLaunchKernel result=0 device=3 stream=legacy name=_Z6kernelPf grid=1,2,3 block=4,5,6 shared=7',
    'free cuMemFree_v2 result=0 device=3 stream= address=0x10000000',
    'sample cuMemAlloc_v2 device=3 used=4000 free=1000 capacity=5000',
    'alloc cuMemAlloc_v2 result=2 device=3 stream= kind=0 address=0 bytes=1099511627776 owner=0',
    'free cuMemFree_v2 result=0 device=3 stream= address=0',
]
PER_THREAD = [
    'launch cuLaunchKernel_ptsz result=0 device=3 stream=per-thread:N name=_Z6kernelPf grid=1,1,1 block=1,1,1 shared=0',
    # One function of the driver under two symbols: name and flags tell which was meant.
    'copy cuMemcpyAsync result=0 device=3 stream=legacy kind=5 to=0x10 from=0x20 bytes=30',
    'copy cuMemcpyAsync_ptsz result=0 device=3 stream=per-thread:N kind=5 to=0x10 from=0x20 bytes=40',
]


def ways():
    for way, expected in (('dlsym', BASIC), ('dlopen-plain', BASIC), ('default', BASIC),
                          # A version of a known function that the driver does not export passes through, and is counted.
                          ('getproc', ['gap 0 count=1'] + BASIC + PER_THREAD), ('getproc2', ['gap 0 count=1'] + BASIC + PER_THREAD)):
        plain, hooked, lines = recorded('calls', way)
        tap.ok(plain.returncode == 0 and plain.stdout, f'{way}: the program runs without the library', plain.stderr)
        tap.equal((hooked.returncode, hooked.stdout, hooked.stderr), (plain.returncode, plain.stdout, plain.stderr), f'{way}: unchanged')
        tap.equal(lines, expected, f'{way}: recorded, each call once')
    plain, hooked, lines = recorded('calls', 'absent')
    tap.equal((hooked.returncode, hooked.stdout), (0, '1 1\n1 1\n'), 'without a driver its names are not found, and dlerror says so')
    tap.equal(plain.stdout, hooked.stdout, 'which is what the program gets without the library')


def linked():
    plain, hooked, lines = recorded('linked')
    tap.equal((hooked.returncode, hooked.stdout), (plain.returncode, plain.stdout), 'linked with the driver: unchanged')
    lines = [line for line in lines if not line.startswith(('driver', 'device'))]
    tap.equal([line.split()[:2] for line in lines], [['alloc', 'cuMemAlloc_v2'], ['free', 'cuMemFree_v2'], ['alloc', 'cuMemAlloc_v2']],
              'linked with the driver: recorded, by symbol and by address')
    # Another library that wraps the same functions, before us and behind us: nobody is his own next, every call counts once.
    other = f'{DIR}/interposer.so'
    for name, preload in (('behind', (f'{DIR}/libhooks.so', other)), ('before', (other, f'{DIR}/libhooks.so'))):
        plain, hooked, lines = recorded('linked', preload=preload)
        tap.equal((hooked.returncode, hooked.stdout, hooked.stderr), (0, plain.stdout, ''), f'a library {name} us that wraps getpid and cuMemAlloc')
        lines = [line for line in lines if not line.startswith(('driver', 'device'))]
        tap.equal([line.split()[:2] for line in lines],
                  [['alloc', 'cuMemAlloc_v2'], ['free', 'cuMemFree_v2'], ['alloc', 'cuMemAlloc_v2']], f'a library {name} us: each call once')


def names():
    for driver, path in (('a driver that tells names', DIR), ('a driver that does not', f'{DIR}/old')):
        plain, hooked, lines = recorded('calls', 'names', path=path)
        tap.equal((hooked.returncode, hooked.stdout), (0, plain.stdout), f'{driver}: unchanged')
        tap.equal([line.split('name=')[1].split()[0] for line in lines if line.startswith('launch')], ['first', 'first', 'second', 'second'],
                  f'{driver}: a handle that is used again has the new name')


def two_runtimes():
    words = ('two_runtimes', f'{DIR}/runtime_plugin.so')
    plain, hooked, lines = recorded(*words, path=f'{BUILD}/sim')
    tap.equal((hooked.returncode, hooked.stdout, hooked.stderr), (0, plain.stdout, ''), 'two runtimes: unchanged, each with its own last error')
    tap.ok('its 2' in plain.stdout and 'mine 0' in plain.stdout, 'two runtimes: two they are', plain.stdout)
    calls = [line.split(' device')[0] for line in lines if line.startswith(('alloc', 'copy', 'free'))]
    tap.equal(calls, ['alloc cudaMalloc result=0', 'alloc cudaMalloc result=2', 'alloc cudaMalloc result=1', 'copy cudaMemset result=0',
                      'copy cuMemsetD8_v2 result=0', 'free cudaFree result=0'],
              "two runtimes: each call once, under the runtime's name, also one that never reached the driver; by dlsym under the driver's")


def reloaded():
    plain, hooked, lines = recorded('reload', f'{DIR}/runtime_plugin.so', path=f'{BUILD}/sim')
    tap.equal((hooked.returncode, hooked.stdout, hooked.stderr), (0, 'last 0, malloc 2, calls so far 1, gone\n' * 2, ''),
              'a plugin with a runtime is closed and opened again: both begin anew')
    tap.equal(plain.stdout, hooked.stdout, 'a plugin with a runtime is closed and opened again: unchanged')
    tap.equal([line.split(' device')[0] for line in lines if line.startswith('alloc')], ['alloc cudaMalloc result=2'] * 2,
              'a plugin with a runtime is closed and opened again: each call')


def disassembly(name):
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', f'--disassemble={name}@@GLIBC_2.34', LIBRARY], capture_output=True, text=True).stdout
    return [line.split('\t')[1].strip() for line in text.splitlines() if line.startswith(' ') and '\t' in line]


def jumps():
    machine = os.uname().machine
    indirect, ret, call = (('jmp    *%rax', 'ret', 'call') if machine == 'x86_64' else ('br\tx16', 'ret', 'bl\t'))
    for name in ('dlsym', 'dlopen'):
        code = disassembly(name)
        tap.ok(code and indirect in code, f'{name} goes on to the real one by a jump', '\n'.join(code))
        tap.ok(code and not any(i.startswith(ret) for i in code), f'{name} never returns by itself', '\n'.join(code))
        stack = [i for i in code if 'rbp' in i]
        tap.equal(stack, [], f'{name} keeps no frame')
        calls = [i.split('<')[-1].rstrip('>') for i in code if i.startswith(call)]
        tap.ok(calls and set(calls) <= {'resolve_is_ours', 'resolve_next_dlsym', 'resolve_new_objects', 'resolve_dlopen'},
               f'{name} calls only what looks at the names', calls)


def names_in(table, macro):
    """The tables' symbols, by the preprocessor alone."""
    source = f'#define {macro}(s,...) @s@\n#include "preload/hooks/{table}"\n'
    text = subprocess.run(['cc', '-E', '-P', '-I', ROOT, '-x', 'c', '-'], input=source, capture_output=True, text=True, check=True).stdout
    return re.findall(r'@ ?(\w+) ?@', text)


def exports():
    text = subprocess.run(['nm', '-D', '--defined-only', LIBRARY], capture_output=True, text=True, check=True).stdout
    exported = [line.split()[2] for line in text.splitlines() if line.split()[1] != 'A']
    driver, runtime = names_in('all.def', 'HOOK'), names_in('runtime.def', 'RUNTIME')
    tap.equal(len(driver), len(set(driver)), 'no symbol stands twice in the tables')
    tap.equal([name for name in driver if not re.match('cu[A-Z]', name)], [], 'each name is one that dlsym_entry.S looks for in the tables')
    tap.equal(sorted(e for e in exported if e.startswith('cu') and '@' not in e), sorted(driver), 'exported cu* symbols are the tables')
    versions = ('libcudart.so.11.0', 'libcudart.so.12', 'libcudart.so.13')
    tap.equal(sorted(e for e in exported if '@libcudart' in e), sorted(f'{n}@{v}' for n in runtime for v in versions),
              "exported runtime symbols are the table's, in each version and none of them a default")
    # AddressSanitizer has a symbol of its own for each variable that is exported.
    rest = sorted(e for e in exported if '@libcudart' not in e and not e.startswith(('cu', '__odr_asan.')))
    first = 'GLIBC_2.17' if os.uname().machine == 'aarch64' else 'GLIBC_2.2.5'
    loader = {f'{name}@{version}' for name in ('dlsym', 'dlopen', 'dlclose') for version in (first, '@GLIBC_2.34')}
    known = loader | {'_exit', '_Exit', 'exit', 'abort', 'InitializeInjectionNvtx', 'InitializeInjectionNvtx2', 'cgtrace_api_1',
                      '__asan_default_options', '__tsan_default_suppressions'}
    tap.ok(loader <= set(rest) <= known, 'nothing else is exported', rest)
    needed = subprocess.run(['objdump', '-p', LIBRARY], capture_output=True, text=True).stdout
    if SANITIZED:
        tap.skip('it needs libc alone', 'of this build it needs a sanitizer too')
        return
    tap.equal(re.findall(r'NEEDED\s+(\S+)', needed), ['libc.so.6'], 'it needs libc alone')
    coverage(set(driver))


def coverage(driver):
    """Every function of the header, in each version and form, has a hook, or a reason to be left alone."""
    table = f'{ROOT}/preload/hooks/passed.def'
    passed = header.reasons(table)
    names = [line.split('(')[1].split(',')[0] for line in open(table, encoding='utf-8') if line.startswith('PASSED(')]
    tap.equal(names, sorted(set(names)), 'what is left alone is sorted, each name once, each with a reason' if len(names) == len(passed) else 'a row has no reason')
    tap.equal(sorted(set(passed.values()) - header.reason_classes(table)), [], 'every reason is explained')
    tap.equal(sorted({header.base(n) for n in driver} & set(passed)), [], 'nothing is both hooked and left alone')
    path = next((p for p in header.HEADERS if os.path.exists(p)), None)
    if not path:
        tap.skip('every function of cuda.h is hooked or left alone', 'no cuda.h')
        return
    declared = header.symbols(path)
    tap.ok(len(declared) > 500 and {'cuMemAlloc_v2', 'cuMemcpyHtoD_v2_ptds', 'cuLaunchKernel_ptsz', 'cuInit'} <= declared, 'the header is read', len(declared))
    tap.equal(header.judge(declared, driver, passed), [], 'every function of cuda.h, in each version and form, is hooked or left alone')
    tap.equal(header.judge(declared | {'cuMemAllocLater', 'cuMemAlloc_v9'}, driver, passed), ['cuMemAllocLater', 'cuMemAlloc_v9'],
              'a function or a version that is in neither would be told')


ways()
linked()
names()
two_runtimes()
reloaded()
jumps()
exports()
tap.done()
