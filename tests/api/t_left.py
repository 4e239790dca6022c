#!/usr/bin/env python3
"""A call that a signal's handler leaves for good in the midst (by a jump, by ending the thread, by its cancellation), at as many of its instructions as
there is time for: later calls of all kinds return, on that thread and others, the trace is valid, and what is missing in it is counted."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run  # noqa: E402

LEFT = f'{BUILD}/tests/api/left'
POINTS = int(os.environ.get('LEFT_POINTS', 40))
SEED = int(os.environ.get('LEFT_SEED', 1))
LATER_BYTES = 7777
CALLS = {  # at least so many instructions of the recorder's, so many with signals held back; calls of the API and hooks are counted when they are left
    'alloc': (1000, 100, True), 'free': (100, 0, True), 'name': (300, 100, True), 'string': (100, 100, False), 'stream': (500, 100, True),
    'storage': (300, 0, True), 'range': (300, 0, True), 'thread': (1000, 500, True)}


def told(out):
    words = out.split()
    return dict(zip(words[::2], map(int, words[1::2])))


def leave(what, how, points):
    name = f'{what}, {how}'
    with Run([LEFT, what, how, str(points), str(SEED)]) as run:
        out = run.out.decode()
        if not tap.equal((run.status, run.err, len(run.traces)), (0, b'', 1), f'{name}: later calls return, one trace ({out.strip()}, seed {SEED})'):
            return
        said = told(out)
        steps, holding, counted = CALLS[what]
        tap.ok(said['steps'] > steps and said['holding'] >= holding and said['left'] > points / 4, f'{name}: left at so many places', said)
        violations = check(run.traces[0])
        tap.ok(not violations, f'{name}: valid', '\n'.join(violations[:10]))
        with open(run.traces[0], encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        allocations = sum(line['kind'] == 'op' and line.get('api') == 'cuMemAlloc_v2' and line.get('bytes') == LATER_BYTES for line in lines)
        storages = sum(line['kind'] == 'memory' and line.get('action') == 'alloc' and line.get('bytes') == 64 for line in lines)
        tap.ok(allocations == said['allocations'] and storages == said['storages'] and lines[-1]['lost']['total'] == 0, f'{name}: what came later is all there',
               (allocations, storages, lines[-1]['lost']))
        passed = lines[-1]['coverage']['not_covered']
        tap.ok((0 < passed['abandoned_calls'] <= said['left'] + said['lost']) if counted else passed['abandoned_calls'] == said['lost'], f'{name}: what was left is counted', passed)
        # Of another thread that waited for the place of the storage: one allocation, and its free.
        tap.ok(passed['nested_calls'] == 0 and passed['unknown_frees'] <= 2 * said['left'], f'{name}: and nothing else', passed)


if SANITIZED or os.uname().machine != 'x86_64':
    tap.skip('calls that are left in the midst', 'a sanitizer is no program to step through' if SANITIZED else 'the stepping is x86-64\'s')
else:
    for what in CALLS:
        leave(what, 'jump', POINTS)
    for what in ('alloc', 'free', 'name', 'thread'):
        for how in ('exit', 'cancel'):
            leave(what, how, POINTS // 3)
tap.done()
