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
          'syscall': 38, 'fstat': EIO}


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
    # An early one, whose error no later one tells again, and the last.
    for place in sorted(place for name, place in long if name == 'fsync'):
        with inject(f'fail:fsync:{place}:{EIO}:1') as run:
            tap.equal((run.status, run.out), (0, b'worked\n'), f'fsync at {place} fails: the program goes on')
            tap.ok(run.err.count(b'\n') == 1 and b'Input/output error' in run.err and not run.traces, f'fsync at {place} fails: it is said, and the trace is not called whole', run.err)
            tap.equal(recorded(run), None, f'fsync at {place} fails: each span is recovered')
    new = sorted(long - short)
    tap.ok({'sync_file_range', 'fallocate'} <= {name for name, _ in new}, 'a long trace makes calls of its own', new)
    # The thread is there from the opening on, as the writer's own is: each call of both.
    new += sorted(place for place in short if place[0] in ('pthread_create', 'pthread_attr_init', 'pthread_attr_setstacksize', 'prctl'))
    for name, place in new:
        with inject(f'fail:{name}:{place}:{ERRORS[name]}:0') as run:
            tap.equal((run.status, run.out, recorded(run)), (0, b'worked\n', None), f'{name} fails at {place}')


def allocating():
    """Threads of ours leave the allocator alone while the program records: it may hold what they would wait for, and wait for them."""
    name = 'records inside of malloc, in a small ring that is waited for'
    with Run([f'{BUILD}/tests/faults/long_heap', str(SPANS)], CGTRACE_RING_BYTES=65536, **SETTINGS) as run:
        tap.equal((run.status, run.out), (0, b'worked\n'), f'{name}: the program ends, and none of ours has called it')
        tap.equal(recorded(run), None, f'{name}: each span')


def main():
    endings()
    if SANITIZED:
        tap.skip('an allocator that records', 'sanitizers have their own')
    else:
        allocating()
    if SANITIZED or os.uname().machine != 'x86_64':
        tap.skip('injected failures', 'sanitizers stand in for the same functions' if SANITIZED else 'the injector is for x86-64')
    else:
        failing()
    tap.done()


main()
