#!/usr/bin/env python3
"""A million launches from 1, 4 and 16 threads: none lost when threads wait for room, and with drops what is written and what is lost are
together what was issued. Each trace is checked whole and compared with the ledger record by record."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from compare import Recorded, judge, lost  # noqa: E402
from harness import Run, program  # noqa: E402


def issued(side):
    return sum(map(len, side.calls.values()))


def million(threads):
    each = 1000000 // threads
    with Run([program('threads'), str(threads), str(each), '0'], SIM_KERNELS=None, CGTRACE_OVERFLOW='block',
             CGTRACE_RING_BYTES='1048576') as run:
        recorded, found = judge(run)
        name = f'{threads} threads, 1,000,000 launches, waiting for room'
        if tap.ok(not found, f'{name}: trace equals ledger', '\n'.join(found)):
            tap.equal((lost(recorded), issued(recorded)), (0, threads * each), f'{name}: none lost')
        status = os.stat(run.traces[0])
        beyond = status.st_blocks * 512 - status.st_size
        tap.ok(status.st_size > 80 << 20 and beyond < 1 << 20, f'{name}: no space is kept behind the end', f'{status.st_size} bytes, {beyond} more on the disk')


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
    for threads in (1, 4, 16):
        million(threads)
    dropping(16)
    tap.done()


if __name__ == '__main__':
    main()
