#!/usr/bin/env python3
"""Calls leave errno alone, and are no points where a thread is cancelled, whatever the library does in them: also where it opens its files anew
for each use (few descriptors), and where what it asks the C library for fails. Nor does what a program has chosen of floating-point arithmetic
change what is recorded, or what is recorded spring its traps."""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run, environment  # noqa: E402

KEPT, INJECTOR = f'{BUILD}/tests/faults/kept', f'{BUILD}/tests/faults/injector.so'
NAMES = 800  # of each kind, 100 bytes: more than what the file system promises of the file at once
OUT = b'came through, then cancelled\n'
FEW_DESCRIPTORS = ['prlimit', '--nofile=40']
# What fails, and with what: EINTR of calls that wait, of others what a machine that runs short answers.
FAILED = {'fallocate': 28, 'mmap': 12, 'fstat': 5, 'syscall': 4}
ALL = os.environ.get('INJECT') == 'all'
# How it is recorded, and which calls of a place fail: the first is that of the session's opening, which keeps errno on its own, but where the
# session is still to come.
WAYS = (({'CGTRACE_STACKS': 'all'}, range(1, 25) if ALL else (2, 4)), ({'CGTRACE_RANGE': 'to come', 'CGTRACE_STACKS': 'all'}, range(1, 25) if ALL else (1, 2)))


def whole(run, name):
    tap.equal((run.status, run.out), (0, OUT), name)


def in_short_supply():
    with Run([KEPT, str(NAMES)], record=False) as run:
        whole(run, 'without the library')
    for stacks in ('off', 'all'):
        for prefix in ([], FEW_DESCRIPTORS):
            with Run([*prefix, KEPT, str(NAMES)], CGTRACE_STACKS=stacks) as run:
                name = f'stacks {stacks}{", few descriptors" if prefix else ""}'
                whole(run, name)
                tap.equal([check(trace) for trace in run.traces], [[]], f'{name}: a trace')


def injected(order, settings):
    return Run([KEPT, str(NAMES)], INJECT=order, LD_PRELOAD=f'{environment(True)["LD_PRELOAD"]}:{INJECTOR}', **settings)


def places(name, settings):
    with tempfile.NamedTemporaryFile() as listed:
        with injected(f'list:{listed.name}', settings):
            pass
        return sorted({line.split()[1] for line in open(listed.name) if line.split()[0] == name})


def failing():
    for name, error in FAILED.items():
        found, runs = [], 0
        for settings, calls in WAYS:
            for order in (f'fail:{name}:{place}:{error}:{nth}' for place in places(name, settings) for nth in calls):
                with injected(order, settings) as run:
                    runs += 1
                    if (run.status, run.out) != (0, OUT):
                        found.append(f'{settings} {order}: {run.status} {run.out.decode()}')
        tap.ok(not found and runs > 0, f'{name} fails', '\n'.join(found))
        print(f'# {runs} runs')


# rms, abs_max, mean. Of 1, 2, 4: the floats nearest to the root of 7, and to 7/3, which is below it.
STATS = {'plain': (2.6457512378692627, 4.0, 2.3333332538604736), 'small': (9.99994610111476e-41,) * 3, 'none': (0.0, 0.0, 0.0), 'third': (0.3,) * 3,
         'smallest': (5e-324,) * 3}


def floats():
    for how in ('nearest', 'up', 'flush', 'traps'):
        with Run([f'{BUILD}/tests/faults/floats', how], CGTRACE_TIMING='events') as run:
            tap.equal((run.status, run.out), (0, b'plain: 0\nsmall: 0\nnone: 0\nraised: 0\n'), f'arithmetic, {how}: unchanged')
            lines = [json.loads(line) for trace in run.traces for line in open(trace)]
            found = {r['label']: (r['rms'], r['abs_max'], r['mean']) for r in lines if r['kind'] == 'tensor_stats'}
            tap.equal(found, STATS, f'arithmetic, {how}: what is recorded')
            found = {r['name']: r.get('payload') for r in lines if r['kind'] == 'span_start' and r['name'] in STATS}
            tap.equal(found, {'small': STATS['small'][0], 'none': None}, f'arithmetic, {how}: payloads')
            tap.ok(any(r['kind'] == 'device_interval' for r in lines), f'arithmetic, {how}: work is timed')


def main():
    floats()
    in_short_supply()
    if SANITIZED or not os.path.exists(INJECTOR):
        tap.skip('failing calls', 'sanitizers stand in for the same functions' if SANITIZED else 'the injector is for x86-64')
    else:
        failing()
    tap.done()


main()
