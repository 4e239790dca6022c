#!/usr/bin/env python3
"""What the recorder writes against what the simulated driver did: every allocation, free, launch, copy, memset and graph launch once,
in order, with the same sizes, addresses, names and grids; nothing invented; every trace keeps the format's rules."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from compare import Ledger, Recorded, differences  # noqa: E402
from harness import BUILD, Run, program  # noqa: E402

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


def judge(run, api=True):
    """(recorded, violations and differences) of a run that left one trace and one ledger."""
    if len(run.traces) != 1 or len(run.ledgers) != 1:
        return None, [f'traces {run.traces}, ledgers {run.ledgers}, files {run.files}', run.err.decode(errors='replace')]
    recorded = Recorded()
    violations = check(run.traces[0], recorded.feed)
    if violations:
        return recorded, violations[:10]
    return recorded, differences(recorded, Ledger(run.ledgers[0]), api)


def lost(recorded):
    """Records lost, all threads together, as the terminal record tells."""
    return recorded.terminal['lost']['total']


def issued(side):
    return sum(map(len, side.calls.values()))


def whole_programs():
    for name, words, more, api in PROGRAMS:
        if not os.path.exists(program(words[0])):
            tap.skip(name, f'{words[0]} was not built (no nvcc)')
            continue
        with Run([program(words[0]), *words[1:]], **more) as run:
            recorded, found = judge(run, api)
            if tap.ok(not found, f'{name}: trace equals ledger', '\n'.join(found)):
                tap.equal(lost(recorded), 0, f'{name}: nothing lost')


def million(threads):
    each = 1000000 // threads
    with Run([program('threads'), str(threads), str(each), '0'], SIM_KERNELS=None, CGTRACE_OVERFLOW='block',
             CGTRACE_RING_BYTES='1048576') as run:
        recorded, found = judge(run)
        name = f'{threads} threads, 1,000,000 launches, waiting for room'
        if tap.ok(not found, f'{name}: trace equals ledger', '\n'.join(found)):
            tap.equal((lost(recorded), issued(recorded)), (0, threads * each), f'{name}: none lost')


def dropping(threads):
    """With the smallest rings and no waiting: what is written is a subsequence, and written and lost together are what was issued."""
    each = 1000000 // threads
    name = f'{threads} threads, 1,000,000 launches, dropping'
    with Run([program('threads'), str(threads), str(each), '0'], CGTRACE_OVERFLOW='drop', CGTRACE_RING_BYTES='65536',
             SIM_KERNELS=None, SIM_LEDGER=None) as run:
        recorded = Recorded()
        violations = check(run.traces[0], recorded.feed) if len(run.traces) == 1 else [f'traces {run.traces}', run.err.decode()]
        if not tap.ok(not violations, f'{name}: a valid trace', '\n'.join(violations[:10])):
            return
        coverage = recorded.terminal['coverage']['launch']
        tap.equal((issued(recorded) + coverage['lost'], coverage['recorded'], coverage['seen']), (threads * each, issued(recorded), threads * each),
                  f'{name}: recorded and lost are issued')
        tap.equal(lost(recorded), sum(recorded.terminal['lost']['threads'].values()), f'{name}: the losses of the threads make up the total')
        numbers = [[what[1] - 1 + 1000 * (what[2] - 1) for _, op, what, _ in calls if op == 'launch'] for calls in recorded.calls.values()]
        tap.ok(all(a < b for n in numbers for a, b in zip(n, n[1:])), f'{name}: each once and in order')
        contract = recorded.meta['capture_contract']
        if lost(recorded):
            tap.equal(contract['operations'], 'partial', f'{name}: losses lower the declared coverage')
        else:
            tap.skip(f'{name}: losses lower the declared coverage', 'nothing was lost in this run')


def main():
    whole_programs()
    for threads in (1, 4, 16):
        million(threads)
    dropping(16)
    tap.done()


if __name__ == '__main__':
    main()
