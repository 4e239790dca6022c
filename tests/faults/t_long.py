#!/usr/bin/env python3
"""A trace that is long enough to be brought to its disk while it is written (preload/early_sync.h), and to have space taken in large pieces: it is
whole however the program ends, and where what is done for that fails the program goes on as before, and the trace is whole, can be recovered whole,
or says what it lacks."""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from harness import BUILD, SANITIZED, THREAD_SANITIZED, Run, environment  # noqa: E402

LONG, INJECTOR, ANALYZE = f'{BUILD}/tests/faults/long', f'{BUILD}/tests/faults/injector.so', f'{BUILD}/cg-analyze'
SPANS = 400000  # about 90 MB
EIO = 5
# The commonest error of each call that only a long trace makes; ENOSPC, EAGAIN, ENOSYS, ENOMEM, EINVAL by number.
ERRORS = {'fsync': EIO, 'fallocate': 28, 'sync_file_range': EIO, 'pthread_create': 11, 'pthread_attr_init': 12, 'pthread_attr_setstacksize': 22, 'prctl': 22,
          'syscall': 38}


def lines_of(trace):
    """How many spans it has and its terminal, once it is valid; else what is wrong."""
    result = subprocess.run([ANALYZE, 'overview', trace], capture_output=True, text=True)
    if result.returncode:
        return result.stderr[:500]
    spans, last = 0, ''
    with open(trace) as lines:
        for last in lines:
            spans += last.startswith('{"kind":"span_end"')
    return spans, json.loads(last)


def recorded(run):
    """What is wrong with what a run left: the trace, or what is recovered of it, has each span, or says how many records it lost."""
    captures = glob.glob(f'{run.folder}/work/*.cgt')
    trace = run.traces[0] if run.traces else f'{run.folder}/recovered.jsonl'
    if not run.traces:
        if not captures:
            return f'no trace, no capture: {run.files}'
        result = subprocess.run([ANALYZE, 'recover', captures[0], '-o', trace], capture_output=True, text=True)
        if result.returncode:
            return f'recover: {result.returncode} {result.stderr}'
    found = lines_of(trace)
    if isinstance(found, str):
        return found
    spans, terminal = found
    lost = terminal['lost']['total']
    if spans < SPANS and not lost:
        return f'{spans} spans of {SPANS}, none said to be lost: {terminal}'
    return None


SETTINGS = dict(CGTRACE_OVERFLOW='block', CGTRACE_QUIET=None)


def endings():
    for how in ('return', '_exit', 'last-thread'):
        name = f'{SPANS} spans, {how}'
        if how == 'last-thread' and THREAD_SANITIZED:
            tap.skip(name, "the sanitizer's own thread outlives the program's last one")
            continue
        with Run([LONG, str(SPANS), how], record=False) as bare, Run([LONG, str(SPANS), how], **SETTINGS) as run:
            tap.equal((run.status, run.out), (bare.status, bare.out), f'{name}: ends as without the library')
            tap.equal(recorded(run), None, f'{name}: each span')
            beyond = [os.stat(trace).st_blocks * 512 - os.stat(trace).st_size for trace in run.traces]
            tap.ok(all(bytes < 1 << 20 for bytes in beyond), f'{name}: no space is kept behind the end', beyond)


def inject(order, spans=SPANS):
    return Run([LONG, str(spans), 'return'], INJECT=order, LD_PRELOAD=f'{environment(True)["LD_PRELOAD"]}:{INJECTOR}', **SETTINGS)


def places(spans):
    with tempfile.NamedTemporaryFile() as listed:
        with inject(f'list:{listed.name}', spans) as run:
            tap.equal((run.status, run.out), (0, b'worked\n'), f'{spans} spans with the injector, nothing injected')
        return {tuple(line.split()) for line in open(listed.name)}


def failing():
    long, short = places(SPANS), places(10)
    [fsync] = [place for name, place in long if name == 'fsync']
    # The second of at least three: an early one, whose error no later one tells again.
    for nth in (1, 2):
        with inject(f'fail:fsync:{fsync}:{EIO}:{nth}') as run:
            tap.equal((run.status, run.out), (0, b'worked\n'), f'fsync {nth} fails: the program goes on')
            tap.ok(run.err.count(b'\n') == 1 and b'Input/output error' in run.err and not run.traces, f'fsync {nth} fails: it is said, and the trace is not called whole', run.err)
            tap.equal(recorded(run), None, f'fsync {nth} fails: each span is recovered')
    new = sorted(long - short)
    tap.ok({'pthread_create', 'sync_file_range', 'fallocate'} <= {name for name, _ in new}, 'a long trace makes calls of its own', new)
    for name, place in new:
        with inject(f'fail:{name}:{place}:{ERRORS[name]}:0') as run:
            tap.equal((run.status, run.out, recorded(run)), (0, b'worked\n', None), f'{name} fails at {place}')


def main():
    endings()
    if SANITIZED or os.uname().machine != 'x86_64':
        tap.skip('injected failures', 'sanitizers stand in for the same functions' if SANITIZED else 'the injector is for x86-64')
    else:
        failing()
    tap.done()


main()
