#!/usr/bin/env python3
"""A fork while another thread looks at the loader's list of objects, whose lock stays taken in the child: the fork waits for it, for a while;
where that is not enough the child does without what needs the list, and says so."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, LIBRARY, SANITIZED, Run  # noqa: E402

LOOK_FORK, HOLDER = f'{BUILD}/tests/faults/look_fork', f'{BUILD}/tests/faults/holder.so'
RUNTIME = f'{BUILD}/tests/faults/libcudart-renamed.so.12'


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def of_child(run):
    """(allocations with a stack, those without, counted without) of the one trace in which 8192 bytes are allocated."""
    for path in run.traces:
        records = lines(path)
        calls = [r for r in records if r['kind'] == 'op' and r['api'] == 'cuMemAlloc_v2']
        if any(r['kind'] == 'memory' and r['bytes'] == 8192 for r in records):
            return sum('stack' in r for r in calls), sum('stack' not in r for r in calls), records[-1]['coverage']['not_covered']['stacks_without_room']
    return None


def main():
    if SANITIZED:
        tap.skip('forks during looks at the list of objects', 'sanitizers stand in for the same function')
        tap.done()
        return
    for words, allocations in ((['alloc', 'brief'], 2), (['dlsym', 'brief'], 1), (['runtime', 'brief', RUNTIME], 1),
                               (['alloc', 'long'], 2), (['dlsym', 'long'], 1)):
        name = ' '.join(words[:2])
        # The driver opens no library of kernels: in the child of a long look nobody can open one.
        with Run([LOOK_FORK, *words], LD_PRELOAD=f'{LIBRARY}:{HOLDER}', SIM_KERNELS=None) as run:
            tap.equal((run.status, run.out, run.err), (0, b'child: 0\n', b'held: 1\n'), f'{name}: a thread is held while the child is made, which ends')
            stacks = (allocations, 0, 0) if words[1] == 'brief' else (0, allocations, allocations)
            tap.equal((of_child(run), [v for t in run.traces for v in check(t)]), (stacks, []), f'{name}: the child has recorded, with stacks or saying that it has none')
    tap.done()


main()
