#!/usr/bin/env python3
"""What comes between two instructions of a plain call, at each of them: a handler that ends the session under it and has the thread join another one,
one that leaves it for good outside of sessions, or while it takes numbers, and one that forks."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run  # noqa: E402

BETWEEN = f'{BUILD}/tests/regions/between'
LEAST = 20  # instructions that such a call has at least
NAMES = {'before', 'beside', 'main', 'handler', 'step'}


def read(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def crossed():
    with Run([BETWEEN, 'crossed'], CGTRACE_RANGE='step', CGTRACE_STEP='1-100000', CGTRACE_RING_BYTES='64K') as run:
        out = run.out.decode()
        tap.ok(run.status == 0 and int(out.split('steps ')[1]) > LEAST, 'a session ends under a call: runs', (run.status, out, run.err))
        # One for each step, and another one where the handler came before the call was one.
        tap.ok(len(run.traces) > int(out.split('steps ')[1]) + LEAST / 2, 'a session ends under a call: the next ones are there', (out, len(run.traces)))
        wrong = [(os.path.basename(path), violations[:3]) for path in run.traces if (violations := check(path))]
        tap.ok(not wrong, 'a session ends under a call: every trace is valid', wrong[:3])
        strange = [(os.path.basename(path), line) for path in run.traces for line in read(path)
                   if line['kind'] == 'span_start' and line['name'] not in NAMES and line.get('parent_id')]
        tap.ok(not strange, 'a session ends under a call: and has no record that nobody made', strange[:3])


def outside(what):
    name = f'a {what} outside is left'
    with Run([BETWEEN, what], CGTRACE_RANGE='step') as run:
        told = [tuple(map(int, line.split())) for line in run.out.decode().splitlines()]
        if not tap.equal((run.status, run.err, len(run.traces)), (0, b'', 1), f'{name}: runs, one trace'):
            return
        tap.ok(len(told) > LEAST and len({is_open for _, is_open in told}) == 2, f'{name}: before it was done, and behind', told[:5])
        got = {line['bytes']: line.get('category') for line in read(run.traces[0]) if line['kind'] == 'memory' and line.get('preexisting')}
        wrong = [(size, is_open, got.get(size, 'missing')) for size, is_open in told if got.get(size, 'missing') != ('activation' if is_open else 'other')]
        tap.ok(not wrong, f'{name}: what is allocated next is of the step that is open', wrong[:5])
        tap.equal(check(run.traces[0]), [], f'{name}: valid')


def around():
    name = 'a pop of what is around a region is left'
    with Run([BETWEEN, 'around'], CGTRACE_RANGE='step', CGTRACE_STEP='1-100000', CGTRACE_RING_BYTES='64K') as run:
        tap.equal((run.status, run.out, run.err), (0, b'', b''), f'{name}: runs')
        tap.ok(len(run.traces) > LEAST, f'{name}: a trace of each', len(run.traces))
        wrong = []
        for path in run.traces:
            lines = read(path)
            inside = [line['id'] for line in lines if line['kind'] == 'span_start' and line['name'] == 'inside']
            ends = [line for line in lines if line['kind'] == 'span_end' and line['id'] in inside]
            if len(inside) != 1 or len(ends) != 1 or 'clipped' in ends[0] or check(path):
                wrong.append((os.path.basename(path), ends, check(path)))
        tap.ok(not wrong, f'{name}: later spans end where the program ends them', wrong[:3])


def forked(what):
    """Outside of sessions too, where there is no trace to look at."""
    name = f'a handler forks in {what}'
    with Run([BETWEEN, f'fork-{what}'], CGTRACE_RANGE='never') as run:
        tap.equal((run.status, run.out, run.err), (0, b'', b''), f'{name}, outside: each child goes on and ends as it wants to')
    with Run([BETWEEN, f'fork-{what}', '3'], CGTRACE_RING_BYTES='64K') as run:
        if not tap.equal((run.status, run.out, run.err), (0, b'', b''), f'{name}: each child goes on and ends as it wants to'):
            return
        names = [[line['name'] for line in read(path) if line['kind'] == 'span_start' and line.get('parent_id') and not line['measured']] for path in run.traces]
        tap.ok(len(names) > LEAST / 3 and sum('around' in those for those in names) == 1, f'{name}: a trace of each', names[:3])
        # "forked" where the handler came before the call was one.
        wrong = [those for those in names if 'around' not in those and those not in (['child', 'child'], ['forked', 'child', 'child'])]
        tap.ok(not wrong, f'{name}: a child has no spans but its own', wrong[:3])
        wrong = [(os.path.basename(path), violations[:3]) for path in run.traces if (violations := check(path))]
        tap.ok(not wrong, f'{name}: every trace is valid', wrong[:3])


def numbers():
    with Run([BETWEEN, 'numbers'], CGTRACE_OVERFLOW='block') as run:
        tap.equal((run.status, run.out, run.err), (0, b'', b''), 'numbers are being taken when a call is left: none is given twice')


if SANITIZED or os.uname().machine != 'x86_64':
    tap.skip('between the instructions of a call', 'a sanitizer is no program to step through' if SANITIZED else 'the stepping is x86-64\'s')
else:
    crossed()
    outside('push')
    outside('pop')
    around()
    for one in ('begin', 'end', 'push', 'pop'):
        forked(one)
    numbers()
tap.done()
