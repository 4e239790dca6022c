#!/usr/bin/env python3
"""A thread's first record with a call stack, made by a handler that has interrupted the heap: nothing is allocated there, and the stack is recorded."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run  # noqa: E402

HEAP = f'{BUILD}/tests/faults/heap'

if SANITIZED:
    tap.skip('a handler that has interrupted the heap', "the sanitizer's heap is not the C library's")
else:
    with Run([HEAP], record=False) as run:
        without = run.out
        tap.equal((run.status, run.out.split()[2:]), (0, [b'good', b'1']), 'without the library')
    with Run([HEAP]) as run:
        tap.equal((run.status, run.out, run.err, len(run.traces)), (0, without, b'', 1), 'the heap is entered from inside of itself no more often than without')
        tap.equal(check(run.traces[0]), [], 'a valid trace')
        with open(run.traces[0], encoding='utf-8') as file:
            stacks = [line['stack']['frames'] for line in map(json.loads, file) if line['kind'] == 'op' and line.get('bytes') == 7777]
        names = [frame.get('symbol') for frames in stacks for frame in frames]
        tap.ok(len(stacks) == 1 and {'handler', 'run'} <= set(names), 'the call, with its stack', names)
tap.done()
