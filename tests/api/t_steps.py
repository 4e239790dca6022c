#!/usr/bin/env python3
"""A call that a signal's handler interrupts behind each of its instructions: the handler's records and the call's are all there under their own
names, or counted as nested where the call is not yet over; where the handler leaves the call for good, the trace stays valid and all that is made later is in it."""
import collections
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run  # noqa: E402

STEPS = f'{BUILD}/tests/api/steps'
LEAST = 20  # instructions that such a call has at least


def told(out, word):
    return collections.Counter(tuple(line.split()[1:]) for line in out.splitlines() if line.startswith(f'{word} '))


def recorded(lines):
    return collections.Counter((line['label'], f'{line["mean"]:.0f}') for line in lines if line['kind'] == 'tensor_stats')


def step(what, how):
    name = f'{what}, {how}'
    with Run([STEPS, what, how]) as run:
        out = run.out.decode()
        tap.equal((run.status, run.err, len(run.traces)), (0, b'', 1), f'{name}: runs, one trace')
        steps = int(out.split('steps ')[1]) if 'steps ' in out else 0
        tap.ok(steps > LEAST and 'not ended' not in out, f'{name}: interrupted at each instruction', out[-300:])
        violations = check(run.traces[0])
        tap.ok(not violations, f'{name}: valid', '\n'.join(violations[:10]))
        with open(run.traces[0], encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        got, wanted, maybe = recorded(lines), told(out, 'scalar'), told(out, 'maybe')
        tap.ok(not wanted - got and not got - wanted - maybe, f'{name}: every value under its label, and no other',
               (list((wanted - got).items())[:5], list((got - wanted - maybe).items())[:5]))
        # Where handlers go back, some of them have come between two calls, and some into the midst of one.
        refused, nested = int(out.split('refused ')[1].split()[0]), lines[-1]['coverage']['not_covered']['nested_calls']
        tap.ok(nested == refused and (refused > 0) == (how == 'record'), f'{name}: each call that was refused is counted as nested', (refused, nested))


if SANITIZED or os.uname().machine != 'x86_64':
    tap.skip('calls that are interrupted at each instruction', 'a sanitizer is no program to step through' if SANITIZED else 'the stepping is x86-64\'s')
else:
    for what in ('scalar', 'begin', 'end', 'push'):
        for how in ('record', 'jump'):
            step(what, how)
    step('first', 'record')
tap.done()
