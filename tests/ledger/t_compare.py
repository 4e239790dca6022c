#!/usr/bin/env python3
"""The comparison with the ledger can fail: each change made to a good trace or ledger is told."""
import copy
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from compare import Ledger, Recorded, differences  # noqa: E402

LEDGER = [
    dict(seq=1, op='alloc', tid=7, api='cuMemAlloc_v2', device=0, address='0x1000', bytes=64, kind='device', result=0),
    dict(seq=2, op='alloc', tid=7, api='cuMemAlloc_v2', device=0, bytes=1 << 50, result=2),
    dict(seq=3, op='launch', tid=7, api='cuLaunchKernel', device=0, stream='0xaa', name='k', grid=[1, 2, 3], block=[4, 5, 6], shared=7, result=0),
    dict(seq=4, op='launch', tid=7, api='cuLaunchKernel', device=0, stream='0xbb', name='l', grid=[1, 1, 1], block=[1, 1, 1], shared=0, result=0),
    dict(seq=5, op='copy', tid=7, api='cuMemcpyHtoD_v2', device=0, stream='legacy', bytes=64, result=0),
    dict(seq=6, op='free', tid=7, api='cuMemFree_v2', device=0, address='0x1000', bytes=64, kind='device', result=0),
    dict(seq=7, op='free', tid=7, api='cuCtxDestroy_v2', device=0, address='0x2000', bytes=32, kind='device', reason='ctx_destroy', result=0),
]
STORAGE = dict(kind='memory', tid=7, address='0x1000', bytes=64, memory_kind='device', device='cuda:0')
TRACE = [
    dict(kind='op', tid=7, op_name='cuMemAlloc', api='cuMemAlloc_v2', bytes=64),
    dict(STORAGE, action='alloc'),
    dict(kind='op', tid=7, op_name='cuMemAlloc', api='cuMemAlloc_v2', error=2, requested_bytes=1 << 50),
    dict(kind='op', tid=7, op_name='k', api='cuLaunchKernel', grid=[1, 2, 3], block=[4, 5, 6], shared_bytes=7, stream_id='stream:1'),
    dict(kind='op', tid=7, op_name='l', api='cuLaunchKernel', grid=[1, 1, 1], block=[1, 1, 1], shared_bytes=0, stream_id='stream:2'),
    dict(kind='op', tid=7, op_name='cuMemcpyHtoD', api='cuMemcpyHtoD_v2', bytes=64, stream_id='legacy'),
    dict(kind='op', tid=7, op_name='cuCtxSynchronize', api='cuCtxSynchronize'),
    dict(kind='op', tid=7, op_name='cuMemFree', api='cuMemFree_v2', bytes=64),
    dict(STORAGE, action='free'),
    dict(STORAGE, action='free', address='0x2000', bytes=32, end_reason='ctx_destroy'),
]


def compared(trace, ledger=None):
    recorded, truth = Recorded(), Ledger()
    for record in trace:
        recorded.feed(record)
    for record in ledger or LEDGER:
        truth.add(json.loads(json.dumps(record)))
    return differences(recorded, truth)


def changed(index, **fields):
    trace = copy.deepcopy(TRACE)
    trace[index].update(fields)
    return trace


def main():
    tap.equal(compared(TRACE), [], 'what is equal is equal')
    for index, record in enumerate(TRACE):
        if record.get('api') != 'cuCtxSynchronize':
            name = f'{record["kind"]} {record.get("api", record.get("action"))} ({index})'
            tap.ok(compared(TRACE[:index] + TRACE[index + 1:]), f'{name} left out: told')
            tap.ok(compared(TRACE[:index + 1] + TRACE[index:]), f'{name} twice: told')
    for index, fields in ((3, dict(grid=[1, 2, 4])), (3, dict(block=[4, 5, 7])), (3, dict(shared_bytes=8)), (3, dict(op_name='other')), (3, dict(error=1)),
                          (3, dict(tid=8)), (3, dict(api='cuLaunchKernel_ptsz')), (3, dict(stream_id='stream:2')), (5, dict(stream_id='stream:3')),
                          (5, dict(bytes=65)), (1, dict(address='0x1001')), (1, dict(bytes=65)), (1, dict(memory_kind='host')), (1, dict(device='cuda:1')),
                          (2, dict(error=3)), (2, dict(requested_bytes=5)), (9, dict(end_reason='primary_reset')), (9, dict(address='0x2001'))):
        tap.ok(compared(changed(index, **fields)), f'record {index} with {fields}: told')
    swapped = [*TRACE[:3], TRACE[4], TRACE[3], *TRACE[5:]]
    tap.ok(compared(swapped), 'two launches in the other order: told')
    again = [dict(LEDGER[2], stream=s) for s in ('0xaa', '0xaa', '0xaa')]
    names = ('stream:1', 'stream:2', 'stream:1')
    tap.ok(compared([dict(TRACE[3], stream_id=n) for n in names], again), 'an old name for a handle that has a new one: told')
    tap.equal(compared([dict(TRACE[3], stream_id=n) for n in names[:2]], again[:2]), [], 'a new name for a handle that is used again: right')
    tap.done()


if __name__ == '__main__':
    main()
