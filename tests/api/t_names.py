#!/usr/bin/env python3
"""Names of spans and ranges, with a handler between any two instructions: one that ends with its page is not read beyond it, and one whose text has
changed is not taken for what it was, whatever names the handler gives and whether it comes back."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import BUILD, SANITIZED, Run  # noqa: E402

NAMES = f'{BUILD}/tests/api/names'
LEAST = 100  # instructions that such a call has at least, different ones
BATCH = 32  # of them in one process
# A process's first call of a kind has a few that later ones do not come to.
MOST_MISSED = 0.02


def wrong_names(path):
    """Spans that bear another text's name, behind the one that says that none may from there on, until the next step."""
    changed, wrong = False, []
    with open(path, encoding='utf-8') as file:
        for line in map(json.loads, file):
            if line['kind'] == 'span_start':
                changed = line['name'] == 'changed' or changed and line['name'] != 'round'
                wrong += [line['id']] * (changed and line['name'].startswith('wrong'))
    return wrong


def step(what, call):
    name = f'{what}, {call}'
    with Run([NAMES, what, call, str(BATCH)], CGTRACE_RING_BYTES='64K') as run:
        out = run.out.decode()
        tap.equal(run.status, 0, f'{name}: runs')
        told = re.search(r'steps (\d+) places (\d+) missed (\d+)$', out.strip())
        steps, places, missed = map(int, told.groups()) if told else (0, 0, 0)
        tap.ok('signal' not in out and places > LEAST and missed <= MOST_MISSED * steps, f'{name}: no step ends the program ({told and told[0]})', out[-300:])
        tap.ok(len(run.traces) >= steps / BATCH, f'{name}: a trace of each process', len(run.traces))
        wrong = [(os.path.basename(path), wrong_names(path)) for path in run.traces if wrong_names(path)]
        tap.ok(not wrong, f'{name}: every span under its own name', wrong[:5])


if SANITIZED or os.uname().machine != 'x86_64':
    tap.skip('names at each instruction', 'a sanitizer is no program to step through' if SANITIZED else 'the stepping is x86-64\'s')
else:
    for one in ('edge', 'text', 'edge-left', 'text-left', 'back-left'):
        for way in ('api', 'nvtx'):
            step(one, way)
tap.done()
