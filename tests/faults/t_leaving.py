#!/usr/bin/env python3
"""Threads that go on to call the driver while the first one returns from main. The driver is taken down by a handler of exit(); without us
the process is gone next to at once then, with them it must not be that they end it, with a status of theirs, because we still write: they
would in each run, and leave no trace."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
from check_trace import check  # noqa: E402
from harness import BUILD, THREAD_SANITIZED, Run  # noqa: E402
from tap import done, ok, skip  # noqa: E402

TIMES, PAIRS, SLACK = 8, 1500, 4  # runs; allocations and frees of each of two threads; the race is one without us, too


def run(how, call, record, reads=False):
    command = [f'{BUILD}/tests/faults/leaving', '2', str(PAIRS), '5', how, call]
    with Run(command, record=record, SIM_LEDGER=None) as program:
        wrong = check(program.traces[0]) if reads and program.traces else []
        return program.status, program.files, wrong


def main():
    for how, call, theirs in (('exit', 'pair', 7), ('exit', 'poll', 7), ('_exit', 'poll', 7), ('abort', 'poll', -6)):
        bare = [run(how, call, False) for _ in range(TIMES)]
        ours = [run(how, call, True, i == 0) for i in range(TIMES)]
        name = f'{how}, {"calls that are recorded" if call == "pair" else "calls that are not"}'
        counts = [sum(status == theirs for status, *_ in runs) for runs in (bare, ours)]
        print(f'# {name}: of {TIMES} runs threads ended {counts[0]} without us, {counts[1]} with us')
        seldom = f'{name}: they end it no more often than without us'
        if THREAD_SANITIZED:
            skip(seldom, 'the sanitizer has an end of its own, behind ours, and its threads go on meanwhile')
        else:
            ok({status for status, *_ in ours} <= {3, theirs} and counts[1] <= counts[0] + SLACK, seldom, [status for status, *_ in ours])
        whole = sum(len(files) == 1 and files[0].endswith('.jsonl') and not wrong for _, files, wrong in ours)
        ok(whole >= TIMES - 1, f'{name}: a whole trace and nothing else', [(files, wrong[:3]) for _, files, wrong in ours])
    done()


main()
