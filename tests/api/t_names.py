#!/usr/bin/env python3
"""Names of spans and ranges, with a handler between any two instructions: one that ends with its page is not read beyond it, and one whose text has
changed is not taken for what it was, whatever names the handler gives and whether it comes back."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import BUILD, SANITIZED, Run  # noqa: E402

NAMES = f'{BUILD}/tests/api/names'
LEAST = 100  # instructions that such a call has at least
# Every one, or every second where the faults that are known took two of them.
EACH = {'edge': 1, 'text': 1, 'edge-left': 2, 'text-left': 2}


def wrong_names(path):
    """Spans that bear the buffer's text of before, behind the one that says that it has changed."""
    changed, wrong = False, []
    with open(path, encoding='utf-8') as file:
        for line in map(json.loads, file):
            if line['kind'] == 'span_start':
                changed |= line['name'] == 'changed'
                wrong += [line['id']] * (changed and line['name'] == 'foo')
    return wrong


def step(what, call):
    name = f'{what}, {call}'
    with Run([NAMES, what, call, str(EACH[what])], CGTRACE_RING_BYTES='64K') as run:
        out = run.out.decode()
        tap.equal(run.status, 0, f'{name}: runs')
        tap.ok('signal' not in out and int(out.split('steps ')[1]) > LEAST, f'{name}: no step ends the program', out[-300:])
        tap.ok(len(run.traces) > LEAST / EACH[what], f'{name}: a trace of each', len(run.traces))
        wrong = [(os.path.basename(path), wrong_names(path)) for path in run.traces if wrong_names(path)]
        tap.ok(not wrong, f'{name}: every span under its own name', wrong[:5])


if SANITIZED or os.uname().machine != 'x86_64':
    tap.skip('names at each instruction', 'a sanitizer is no program to step through' if SANITIZED else 'the stepping is x86-64\'s')
else:
    for one in EACH:
        for way in ('api', 'nvtx'):
            step(one, way)
tap.done()
