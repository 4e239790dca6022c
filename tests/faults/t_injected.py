#!/usr/bin/env python3
"""Every call that the library makes into the C library and into the driver fails, one after the other: the program's output and exit status
stay the same, it is told at most once what went wrong, beside the closing line of a process that left a trace, and what is left is a valid
trace, or can be recovered into one, or nothing.

A place is a function and where in the library it is called from; the programs' places are found by a run that lists them. In make check each
place fails at its first call with its commonest error; with INJECT=all (make faults) with every error, at the first, the second and every call.
JOBS=N: how many programs run at a time."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
import harness  # noqa: E402
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run, environment, missing, program  # noqa: E402

INJECTOR = f'{BUILD}/tests/faults/injector.so'
ALL, JOBS = os.environ.get('INJECT') == 'all', int(os.environ.get('JOBS', '1'))
KERNELS = {'SIM_KERNELS': f'{BUILD}/examples/libtrainer_kernels.so'}
PROGRAMS = [(['trainer', '5'], KERNELS), (['trainer_nvtx', '3'], dict(KERNELS, CGTRACE_RANGE='forward', CGTRACE_STEP='2-3')), (['graphs'], {}), (['forks'], {}),
            (['threads', '2', '300', '50'], {}), (['threads', '2', '8000', '50'], {}), (['endings', '_exit'], {}), (['endings', 'last-thread'], {'SIM_KERNELS': None})]

# The errors of a call, the commonest first (errno(3) by number, so that the table says what is injected); 0: see injector.c.
EINTR, EIO, EBADF, EAGAIN, ENOMEM, EACCES, ENODEV, EINVAL, EMFILE, EFBIG, ENOSPC, ESPIPE, EROFS, ENOSYS, EOPNOTSUPP, EPERM, EDQUOT = 4, 5, 9, 11, 12, 13, 19, 22, 24, 27, 28, 29, 30, 38, 95, 1, 122
ERRORS = {'open': (EMFILE, EACCES, ENOSPC, EROFS, EDQUOT), 'mmap': (ENOMEM, ENODEV, EAGAIN), 'mremap': (ENOMEM,), 'mprotect': (ENOMEM, EACCES), 'munmap': (ENOMEM,),
          'madvise': (EINVAL, EAGAIN, ENOMEM), 'memfd_create': (ENOSYS, EMFILE), 'fallocate': (ENOSPC, EOPNOTSUPP, EINTR, EFBIG, EIO, EDQUOT), 'ftruncate': (EIO, EFBIG, EINTR),
          'fsync': (EIO, ENOSPC, EDQUOT, EINTR), 'sync_file_range': (EIO, ENOSPC, ESPIPE, EINVAL, ENOSYS), 'pwrite': (ENOSPC, EIO, EINTR, EDQUOT, 0), 'write': (EIO, EAGAIN, 0), 'pread': (EIO, EINTR, 0), 'read': (EIO, EINTR, 0), 'close': (EIO, EINTR),
          'fcntl': (EMFILE, EINVAL), 'fstat': (EIO,), 'lstat': (EACCES,), 'stat': (EACCES, ENOSYS), 'readlink': (EACCES, ENOSYS), 'statfs': (ENOSYS, EIO), 'mkdir': (EROFS, EACCES, EDQUOT), 'link': (EPERM, EIO), 'unlink': (EROFS, EACCES),
          'getrlimit': (EINVAL,), 'prctl': (EINVAL,), 'syscall': (ENOSYS, EPERM, EINVAL, EIO), 'malloc': (ENOMEM,), 'realloc': (ENOMEM,),
          'pthread_create': (EAGAIN, EPERM), 'pthread_attr_init': (ENOMEM,), 'pthread_getattr_np': (ENOMEM,), 'pthread_attr_setstacksize': (EINVAL,), 'pthread_key_create': (EAGAIN,),
          'pthread_setspecific': (ENOMEM,), '__register_atfork': (ENOMEM,), 'sigtimedwait': (EAGAIN, EINTR), 'sigpending': (EINVAL,), 'gethostname': (EINVAL,), 'getcwd': (EACCES, ENOMEM),
          'realpath': (EACCES,), 'setenv': (ENOMEM,), 'newlocale': (ENOMEM,), 'dladdr': (0,)}
# Read by the library through the driver (preload/hooks/asked.def): what a driver answers when it is short of memory, done for, or does not know the call.
CODES = (2, 4, 999) if ALL else (999,)


def inject(command, order, **more):
    # CGTRACE_QUIET off: our lines are part of what is looked at.
    return Run(command, CGTRACE_QUIET=None, INJECT=order, LD_PRELOAD=f'{environment(True)["LD_PRELOAD"]}:{INJECTOR}', **more)


def split(err):
    """The program's standard error, and our lines in it."""
    lines = err.splitlines(True)
    return b''.join(line for line in lines if not line.startswith(b'cgtrace: ')), [line for line in lines if line.startswith(b'cgtrace: ')]


def faults(run, plain):
    found = []
    rest, ours = split(run.err)
    if (run.status, run.out, rest) != plain:
        found.append(f'status {plain[0]}, now {run.status}; output {"same" if run.out == plain[1] else "differs"}; stderr {rest[-200:]!r}')
    closing = [line for line in ours if b' records, ' in line]
    if len(ours) - len(closing) > 1 or len(closing) > len(run.traces):
        found.append(f'told {len(ours) - len(closing)} times, and the end {len(closing)} times: {b"".join(ours)!r}')
    for trace in run.traces:
        found += [f'{os.path.basename(trace)}: {v}' for v in check(trace)[:2]]
    for capture in glob.glob(f'{run.folder}/work/*.cgt'):
        result = subprocess.run([f'{BUILD}/cg-analyze', 'recover', capture, '-o', f'{run.folder}/r.jsonl'], capture_output=True, text=True)
        if result.returncode == 0:
            found += [f'recovered: {v}' for v in check(f'{run.folder}/r.jsonl')[:2]]
        elif 'nothing to recover' not in result.stderr and 'not a capture file' not in result.stderr:
            found.append(f'recover: {result.returncode} {result.stderr}')
    return found


def orders(name, every):
    errors = ERRORS[name] if ALL else ERRORS[name][:1]
    return [(error, nth) for error in errors for nth in ((1, 2, 0) if ALL else (0,) if every else (1,))]


def injected(command, plain, order, **more):
    """What is wrong in one run: a text, or None."""
    try:
        with inject(command, order, **more) as run:
            found = faults(run, plain)
    except subprocess.TimeoutExpired:
        found = ['it does not end']
    return '; '.join(found) or None


def all_injected(command, plain, runs):
    """The same of many runs, each an order and settings."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(lambda run: injected(command, plain, run[0], **run[1]), runs))


def libc_calls():
    met, count = {}, 0
    failed = {}
    for words, more in PROGRAMS:
        if missing(words):
            continue
        command = [program(words[0]), *words[1:]]
        with Run(command, record=False, **more) as bare:
            plain = (bare.status, bare.out, bare.err)
        with tempfile.NamedTemporaryFile() as listed:
            with inject(command, f'list:{listed.name}', **more) as run:
                tap.equal(faults(run, plain), [], f'{" ".join(words)}: with the injector, nothing injected')
            places = sorted({tuple(line.split()) for line in open(listed.name)})
        # A program that ends with its last thread must end whichever of ours there are, and whatever cannot be told.
        last = 'last-thread' in words
        new = [place for place in places if place not in met or (last and place[0].startswith('pthread_'))]
        met.update(dict.fromkeys(new))
        runs = [(name, f'fail:{name}:{offset}:{error}:{nth}') for name, offset in new for error, nth in orders(name, last)]
        count += len(runs)
        for (name, order), found in zip(runs, all_injected(command, plain, [(order, more) for _, order in runs])):
            if found:
                failed.setdefault(name, []).append(f'{" ".join(words)}: {order}: {found}')
    for name in sorted({name for name, _ in met}):
        tap.ok(name not in failed, f'{name}: {sum(n == name for n, _ in met)} places', '\n'.join(failed.get(name, [])))
    print(f'# {len(met)} places, {count} runs')
    tap.ok(len(met) > 60, 'places are found', sorted(met))


def asked():
    with open(os.path.join(HERE, '..', '..', 'preload', 'hooks', 'asked.def')) as f:
        return re.findall(r'^ASKED\((\w+)', f.read(), re.M)


def driver_calls():
    """What the library itself asks the driver; the program's own calls are failed in tests/ledger/t_unchanged.py."""
    for words in (['copies'], ['graphs'], ['contexts'], ['threads', '2', '300', '50']):
        command = [program(words[0]), *words[1:]]
        with Run(command, record=False) as bare:
            plain = (bare.status, bare.out, bare.err)
        calls = subprocess.run(['nm', '-D', '--undefined-only', command[0]], capture_output=True, text=True, check=True).stdout.split()
        # Where the program itself calls it, it would see the failure.
        fails = [f'{name}:{nth}:{code}' for name in asked() if name not in calls for code in CODES for nth in (('1', '2', '*') if ALL else '*')]
        failed = [f'{fail}: {found}' for fail, found in zip(fails, all_injected(command, plain, [('none', {'SIM_FAIL': fail}) for fail in fails])) if found]
        tap.ok(not failed and len(fails) > 20, f'{" ".join(words)}: {len(fails)} failures of what the library asks the driver', '\n'.join(failed))


def main():
    harness.LIMIT_S = 60
    if SANITIZED or os.uname().machine != 'x86_64':
        tap.skip('injected failures', 'sanitizers stand in for the same functions' if SANITIZED else 'the injector is for x86-64')
    else:
        libc_calls()
        driver_calls()
    tap.done()


main()
