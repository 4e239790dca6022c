#!/usr/bin/env python3
"""What the recorder writes against what the simulated driver did: every allocation, free, launch, copy, memset and graph launch once,
in order, with the same sizes, addresses, names and grids; nothing invented; every trace keeps the format's rules."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from compare import judge, lost  # noqa: E402
from harness import BUILD, Run, missing, program  # noqa: E402

KERNELS = {'SIM_KERNELS': f'{BUILD}/examples/libtrainer_kernels.so'}

# (name, command's words, environment, whether the trace's calls carry the driver's names)
PROGRAMS = [
    ('allocations of every kind', ['alloc_mix'], {}, True),
    ('launches of every form', ['launches'], {}, True),
    ('copies and memsets', ['copies'], {}, True),
    ('streams and events', ['streams'], {}, True),
    ('contexts, one device', ['contexts'], {}, True),
    ('contexts, three devices', ['contexts'], {'SIM_DEVICES': '3'}, True),
    ('graphs', ['graphs'], {}, True),
    ('graphs: nodes, updates, memory', ['graph_nodes'], {}, True),
    ('batches and what others share', ['batches'], {}, True),
    ('batches, three devices', ['batches'], {'SIM_DEVICES': '3'}, True),
    ('memory by parts, arrays', ['vmm'], {}, True),
    ('hostile names', ['names'], {}, True),
    ('1 thread', ['threads', '1', '20000', '2000'], {}, True),
    ('4 threads', ['threads', '4', '10000', '1000'], {}, True),
    ('16 threads', ['threads', '16', '2000', '500'], {}, True),
    ('out of memory', ['threads', '2', '10', '3000'], {'SIM_MEM_MB': '1'}, True),
    ('calls that fail', ['launches'], {'SIM_FAIL': 'cuMemAlloc_v2:1:2'}, True),
    ('_exit', ['endings', '_exit'], {}, True),
    ('trainer', ['trainer', '30'], KERNELS, True),
    ('trainer on the runtime', ['trainer_cuda', '10'], KERNELS, False),
    ('memory on the runtime', ['rt_memory'], {}, False),
]


def whole_programs():
    for name, words, more, api in PROGRAMS:
        if reason := missing(words):
            tap.skip(name, reason)
            continue
        with Run([program(words[0]), *words[1:]], **more) as run:
            if 'SIM_FAIL' not in more and words[0] != 'endings':
                tap.equal((run.status, run.err), (0, b''), f'{name}: the program does its work')
            recorded, found = judge(run, api)
            if tap.ok(not found, f'{name}: trace equals ledger', '\n'.join(found)):
                tap.equal(lost(recorded), 0, f'{name}: nothing lost')


def main():
    whole_programs()
    tap.done()


if __name__ == '__main__':
    main()
