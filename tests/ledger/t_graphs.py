#!/usr/bin/env python3
"""What the trace says of graphs: their nodes and kernels when they are made ready and updated, which graph a launch is of, and memory that
launches allocate, alive from the launch to its end. Expected values are those of tests/programs/graph_nodes.c."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import Run, program  # noqa: E402

EVERY_KIND = dict(kernel=3, memcpy=1, memset=1, host=1, child_graph=1, empty=1, event_record=1)
READY = [  # (api, graph, nodes, kernels)
    ('cuGraphInstantiateWithFlags', 1, EVERY_KIND, dict(fill=1, nothing=2)),
    ('cuGraphInstantiateWithParams', 2, dict(kernel=1), dict(fill=1)),
    ('cuGraphExecUpdate_v2', 2, dict(kernel=1), dict(nothing=1)),
    ('cuGraphInstantiateWithFlags', 3, dict(mem_alloc=3, mem_free=3, kernel=1), dict(fill=1)),
    ('cuGraphInstantiateWithFlags', 4, dict(mem_alloc=1, kernel=1), dict(nothing=1)),
    ('cuGraphInstantiateWithFlags', 5, dict(mem_free=1), {}),
    ('cuGraphInstantiateWithFlags', 6, dict(mem_alloc=2), {}),
]
LAUNCHES = [1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 4, 6, 6, 6, 6]
PAGE = 1024  # BYTES of the program
# Of each launch that changes something: bytes alive afterwards. Graph 3 frees what it allocates.
SAME_GRAPH_PEAK = 3 * PAGE


def steps():
    """Graphs made ready before the captured regions: the first launch of each region says what its graph is made of, and memory that a launch
    before the region has allocated is alive at its start."""
    with Run([program('graph_steps')], SIM_KERNELS=None, CGTRACE_RANGE='step', CGTRACE_STEP='2,4') as run:
        if not tap.equal((run.status, len(run.traces)), (0, 2), 'two steps, two traces'):
            return
        for path in run.traces:
            tap.equal(check(path), [], 'a step: a valid trace')
            lines = [json.loads(line) for line in open(path, encoding='utf-8')]
            launches = [(r['graph'], r.get('nodes'), r.get('kernels')) for r in lines if r.get('api') == 'cuGraphLaunch' and r['kind'] == 'op']
            tap.equal(launches, [('graph:1', dict(kernel=2, memset=1), dict(fill=2)), ('graph:1', None, None)], 'a step: its first launch tells the nodes')
            held = [(r['action'], r.get('preexisting', False), r['bytes'], r['api']) for r in lines if r['kind'] == 'memory' and r['memory_kind'] == 'graph']
            tap.equal(held, [('alloc', True, PAGE, 'cuGraphLaunch'), ('free', False, PAGE, 'cuMemFreeAsync')], 'a step: memory of a launch before it')


def main():
    steps()
    with Run([program('graph_nodes')], SIM_KERNELS=None) as run:
        lines = [json.loads(line) for line in open(run.traces[0], encoding='utf-8')]
    ops = [r for r in lines if r['kind'] == 'op']
    ready = [(r['api'], int(r['graph'].split(':')[1]), r['nodes'], r['kernels']) for r in ops if 'nodes' in r]
    versions = [(api if not api.startswith('cuGraphInstantiate') else 'cuGraphInstantiate', *rest) for api, *rest in ready]
    tap.equal(versions, [(api if not api.startswith('cuGraphInstantiate') else 'cuGraphInstantiate', *rest) for api, *rest in READY],
              'graphs made ready: number, nodes by type, kernels by name')
    tap.equal([r['api'] for r in ops if r['api'].startswith(('cuGraphInst', 'cuGraphExecUp')) and 'nodes' not in r and 'error' not in r], [],
              'a call that succeeded tells the nodes')
    tap.equal([int(r['graph'].split(':')[1]) for r in ops if r['api'] == 'cuGraphLaunch'], LAUNCHES, 'each launch names its graph')
    memory = [r for r in lines if r['kind'] == 'memory' and r['memory_kind'] == 'graph']
    tap.equal({r['category'] for r in memory} | {r['device'] for r in memory}, {'other', 'cuda:0'}, 'storages of launches: device and category')
    alive, peak, most = {}, 0, []
    for r in sorted(memory, key=lambda r: r['timestamp_ns']):
        if r['action'] == 'alloc':
            alive[r['storage_id']] = r['bytes']
        else:
            known = r['storage_id'] in alive
            tap.ok(known, f'{r["storage_id"]} ends after it began') if not known else None
            alive.pop(r['storage_id'], None)
        peak = max(peak, sum(alive.values()))
        most.append(sum(alive.values()))
    tap.equal(peak, SAME_GRAPH_PEAK, 'side by side: what one walk through the graph has alive')
    # Three launches of graph 3 (a; a+b; b; nothing; c; nothing), then a alone, then a and b of graph 6.
    tap.equal(most[:18], [PAGE, 3 * PAGE, 2 * PAGE, 0, 3 * PAGE, 0] * 3, 'bytes alive, step by step')
    tap.equal(most[18:26], [PAGE, 0] * 4, 'freed by calls, by another graph, after the graph is gone: each once')
    tap.equal(sorted(alive.values()), [PAGE, 2 * PAGE], 'what the last launch left is alive at the end')
    freed_by = [r['api'] for r in memory if r['action'] == 'free'][9:14]
    tap.equal(freed_by, ['cuMemFreeAsync', 'cuMemFree_v2', 'cuGraphLaunch', 'cuMemFree_v2', 'cuMemFreeAsync'], 'by which call')
    tap.done()


if __name__ == '__main__':
    main()
