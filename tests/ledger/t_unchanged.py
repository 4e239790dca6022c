#!/usr/bin/env python3
"""A program does not notice the recorder: standard output, standard error, exit status or signal, and the CUDA results that it prints
are byte for byte the same with CGTRACE_QUIET=1; without it our lines come on the start descriptor 2 and nowhere else."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, Run, environment, missing, program  # noqa: E402

KERNELS = {'SIM_KERNELS': f'{BUILD}/examples/libtrainer_kernels.so'}
PLUGIN = f'{BUILD}/tests/programs/lib_families.so'
ENDINGS = ('return', 'exit', '_exit', '_Exit', 'quick_exit', 'abort', 'kill', 'term', 'segv', 'failing', 'thread-exit', 'main-pthread-exit',
           'handler', 'atexit', 'exec', 'closed-stderr', 'close-all')
PROGRAMS = [(['alloc_mix'], {}), (['launches'], {}), (['copies'], {}), (['streams'], {}), (['contexts'], {'SIM_DEVICES': '2'}), (['graphs'], {}),
            (['names'], {}), (['threads', '4', '2000', '200'], {}), (['output'], {}), (['forks'], {}), (['rt_memory'], {}), (['loadpath_linked'], {}),
            (['trainer', '20'], KERNELS), (['trainer_cuda', '10'], KERNELS), (['trainer', 'rubbish'], KERNELS),
            (['streams'], {'SIM_FAIL': 'cuStreamSynchronize:1:700'}), (['copies'], {'SIM_FAIL': 'cuMemcpyDtoH_v2:2:719'}),
            (['alloc_mix'], {'SIM_MEM_MB': '4'}), (['launches'], {'SIM_FAIL': 'cuInit:1:100'}),
            (['threads', '1', '100', '50'], {'SIM_FAIL': 'cuLaunchKernel:37:701'})]
PROGRAMS += [(['endings', how], {}) for how in ENDINGS]
# Without kernels as host functions: the simulated driver's own threads would outlive the last one.
PROGRAMS += [(['endings', 'last-thread'], {'SIM_KERNELS': None})]
PROGRAMS += [(['loadpath_lookup', how], {}) for how in ('dlopen', 'dlopen-so', 'getproc', 'getproc-v1')]
PROGRAMS += [(['loadpath_lookup', how, PLUGIN], {}) for how in ('plugin-local', 'plugin-deepbind')]

# Endings after which the process had time to finish its trace, by how the program ends.
ORDERLY = ('return', 'exit', '_exit', '_Exit', 'quick_exit', 'failing', 'thread-exit', 'main-pthread-exit', 'last-thread', 'handler', 'atexit', 'closed-stderr',
           'close-all')


def seen(run):
    return run.status, run.out, run.err


def difference(plain, recorded):
    for what, a, b in zip(('status', 'stdout', 'stderr'), seen(plain), seen(recorded)):
        if a != b:
            if isinstance(a, bytes):
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                return f'{what} differs at byte {at}: without {a[max(0, at - 40):at + 80]!r}, with {b[max(0, at - 40):at + 80]!r}'
            return f'{what}: without {a}, with {b}; stderr {recorded.err[-300:]!r}'
    return None


def same_everywhere():
    for words, more in PROGRAMS:
        name = ' '.join([os.path.basename(w) for w in words] + [f'{k}={os.path.basename(v)}' for k, v in more.items() if k != 'SIM_KERNELS'])
        if reason := missing(words):
            tap.skip(f'{name}: unchanged', reason)
            continue
        command = [program(words[0]), *words[1:]]
        with Run(command, record=False, **more) as plain, Run(command, **more) as recorded:
            found = difference(plain, recorded)
            tap.ok(found is None, f'{name}: unchanged', found)
            violations = [v for trace in recorded.traces for v in check(trace)]
            tap.ok(not violations, f'{name}: every trace it left is valid', '\n'.join(violations[:10]))
            if words[0] == 'endings' and words[1] in ORDERLY:
                left = [f for f in recorded.files if not f.endswith('.jsonl')]
                tap.ok(len(recorded.traces) == 1 and not left, f'{name}: one trace and no leftovers', recorded.files)
            if words[0] == 'endings' and words[1] in ('kill', 'segv', 'abort', 'term'):
                tap.ok(any(f.endswith('.cgt') for f in recorded.files) or len(recorded.traces) == 1,
                       f'{name}: a capture or a trace is left', recorded.files)


def forked():
    """The parent and the child with work of its own each leave a trace; the other children leave none."""
    with Run([program('forks')]) as run:
        tap.equal(len(run.traces), 2, 'forks: a trace of the parent and one of the child that worked')
        tap.equal([f for f in run.files if not f.endswith('.jsonl')], [], 'forks: nothing else is left')


def not_quiet():
    """Our own lines, without CGTRACE_QUIET: on the start descriptor 2, each told by its beginning; nothing else is touched."""
    for words in (['copies'], ['output'], ['endings', 'return'], ['endings', 'closed-stderr']):
        command = [program(words[0]), *words[1:]]
        with Run(command, record=False) as plain, Run(command, CGTRACE_QUIET=None) as recorded:
            name = ' '.join(words)
            tap.equal((recorded.status, recorded.out), (plain.status, plain.out), f'{name}, not quiet: output and status')
            ours = [line for line in recorded.err.splitlines(True) if line.startswith(b'cgtrace: ')]
            rest = b''.join(line for line in recorded.err.splitlines(True) if not line.startswith(b'cgtrace: '))
            tap.equal(rest, plain.err, f'{name}, not quiet: the rest of standard error')
            if words[-1] == 'closed-stderr':
                tap.equal(ours, [], f'{name}, not quiet: no line where the descriptor was closed')
            else:
                trace = os.path.basename(recorded.traces[0]).encode() if recorded.traces else b'no trace'
                tap.ok(any(trace in line for line in ours), f'{name}, not quiet: a line names the trace', ours)


def nobody_reads():
    """Our line into a pipe that nobody reads: the program has not written there, so it knows of no SIGPIPE."""
    with tempfile.TemporaryDirectory() as folder:
        reader, writer = os.pipe()
        os.close(reader)
        status = subprocess.run([program('copies')], cwd=folder, env=environment(True, CGTRACE_QUIET=None), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=writer).returncode
        os.close(writer)
        tap.equal((status, len(os.listdir(folder))), (0, 1), 'a standard error that nobody reads: status unchanged, one trace')


def disabled():
    """Settings under which nothing is recorded: off, and a value that is not allowed (one line, the program goes on)."""
    with Run([program('copies')], record=False) as plain:
        with Run([program('copies')], CGTRACE_DISABLE='1') as off:
            tap.equal((seen(off), off.files), (seen(plain), []), 'CGTRACE_DISABLE=1: unchanged, no file')
        with Run([program('copies')], CGTRACE_OVERFLOW='sometimes', CGTRACE_QUIET=None) as bad:
            tap.equal((bad.status, bad.out, bad.files), (plain.status, plain.out, []), 'a bad value: unprofiled, unchanged')
            tap.ok(re.search(rb'^cgtrace: .*CGTRACE_OVERFLOW.*sometimes.*block', bad.err, re.M) and bad.err.count(b'\n') == 1,
                   'a bad value: one line with variable, value and what is allowed', bad.err)


def main():
    same_everywhere()
    forked()
    not_quiet()
    nobody_reads()
    disabled()
    tap.done()


if __name__ == '__main__':
    main()
