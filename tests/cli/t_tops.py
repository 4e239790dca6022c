#!/usr/bin/env python3
"""Kinds kernels, copies and api: sums and order worked out by hand, suspects, failed captures, traces without the extra fields."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, end, equal, failed, interval, ok, op, query, region, start  # noqa: E402

folder = Folder()


def launch(name, at, duration, correlation, api='cuLaunchKernel', **more):
    return op('m', name, at, duration, api=api, correlation=correlation, grid=[2, 1, 1], block=[64, 1, 1], **more)


def kernel(at, duration, correlation, **more):
    return interval('m', at, duration, activity='kernel', correlation=correlation, **more)


RECORDS = [
    launch('gemm', 110, 10, 1), kernel(5000, 300, 1), launch('gemm', 130, 20, 2), kernel(6000, 500, 2),
    launch('relu', 160, 90, 3), kernel(7000, 40, 3), launch('relu', 260, 5, 4, api='cuLaunchKernelEx'), kernel(8000, 60, 4, stream='8'),
    launch('gone', 270, 1, 5, error=700),
    op('m', 'copy', 280, 30, api='cuMemcpyHtoDAsync_v2', correlation=6, bytes=4096),
    interval('m', 9000, 2000, activity='memcpy', name='HtoD', bytes=4096, correlation=6),
    op('m', 'copy', 320, 10, api='cuMemcpyHtoDAsync_v2', correlation=7, bytes=1024),
    interval('m', 12000, 2000, activity='memcpy', name='HtoD', correlation=7),
    op('m', 'sync', 340, 400, api='cuStreamSynchronize')]
TRACE = folder.put('t.jsonl', region(*RECORDS, terminal=dict(kind='terminal', outcome='complete', timestamp_ns=20000)))


def rows(result, which, *members):
    return [tuple(row.get(m) for m in members) for row in result[which]['rows']]


TIMES = ('count', 'total_ns', 'average_ns', 'minimum_ns', 'maximum_ns')
result = query(TRACE, 'kernels')
equal(rows(result, 'by_device_time', 'name', 'device', 'clock_id', *TIMES),
      [('gemm', 'cuda:0', 'gpu', 2, 800, 400, 300, 500), ('relu', 'cuda:0', 'gpu', 2, 100, 50, 40, 60)],
      'kernels by device time, named by the call that launched them')
equal(rows(result, 'by_host_time', 'name', 'api', *TIMES, 'errors'),
      [('relu', 'cuLaunchKernel', 1, 90, 90, 90, 90, 0), ('gemm', 'cuLaunchKernel', 2, 30, 15, 10, 20, 0),
       ('relu', 'cuLaunchKernelEx', 1, 5, 5, 5, 5, 0), ('gone', 'cuLaunchKernel', 1, 1, 1, 1, 1, 1)], 'kernels by host time')
equal((result['calls'], result['calls_timed'], result['intervals'], result['unassigned_intervals'], result['suspects']['count'],
       result['suspects']['share']), (5, 4, 4, 0, 0, 0.0), 'kernels: what was counted')
ok(isinstance(result['definition'], str) and len(result['definition']) > 50, 'kernels: the definition is in the result')

ok('devices' not in result, 'a trace that does not name its devices: no names')
NAMED = folder.put('named.jsonl', region(*RECORDS, terminal=dict(kind='terminal', outcome='complete', timestamp_ns=20000),
                                         cuda=dict(driver=13000, devices=[dict(device='cuda:0', name='Simulated device 0 (not a GPU)', bytes=1)])))
for kind in ('kernels', 'copies', 'api'):
    equal(query(NAMED, kind)['devices'], [dict(device='cuda:0', name='Simulated device 0 (not a GPU)')], f'{kind}: times stand beside the name of their device')

result = query(TRACE, 'copies')
# 5120 bytes in 4000 ns are 1.28e9 bytes in a second.
equal(rows(result, 'by_device_time', 'name', *TIMES, 'bytes', 'bytes_per_second'), [('HtoD', 2, 4000, 2000, 2000, 2000, 5120, 1.28e9)],
      'copies by device time: bytes from the interval, else from the call')
equal(rows(result, 'by_host_time', 'name', 'count', 'total_ns', 'bytes'), [('cuMemcpyHtoDAsync_v2', 2, 40, 5120)], 'copies by host time')

result = query(TRACE, 'api')
equal(rows(result, 'by_host_time', 'name', 'count', 'total_ns', 'errors'),
      [('cuStreamSynchronize', 1, 400, 0), ('cuLaunchKernel', 4, 121, 1), ('cuMemcpyHtoDAsync_v2', 2, 40, 0), ('cuLaunchKernelEx', 1, 5, 0)],
      'api by host time')
equal(rows(result, 'by_device_time', 'name', 'count', 'total_ns'),
      [('cuMemcpyHtoDAsync_v2', 2, 4000), ('cuLaunchKernel', 3, 840), ('cuLaunchKernelEx', 1, 60)], 'api by the device time that it issued')

# ---- a failed capture, with its spans open ----
FAILED = folder.put('failed.jsonl', [r for r in region(*RECORDS, terminal=failed('killed', 20000)) if r['kind'] != 'span_end'])
equal({k: query(FAILED, k) for k in ('kernels', 'copies', 'api')}, {k: query(TRACE, k) for k in ('kernels', 'copies', 'api')},
      'failed captures have them too')

# ---- suspects: left out, counted by rule ----
SUSPECT = folder.put('suspect.jsonl', region(
    launch('k', 110, 1, 1), kernel(10**9, 5000, 1), launch('k', 111, 1, 2), kernel(10**9 + 3000, 100, 2),      # 2000 over: suspect
    launch('k', 112, 1, 3), kernel(10**9 + 4000, 100, 3),                                                        # exactly 1000: allowed
    launch('k', 113, 1, 4), kernel(10**9 + 50000, 5000, 4), launch('k', 114, 1, 5),
    kernel(10**9 + 52000, 100, 5, uncertainty_ns=2000),                                                          # 3000 over, 3000 allowed
    launch('k', 115, 1, 6), kernel(10**9, 5000, 6, stream='8'),                                                  # another stream
    launch('k', 116, 1, 7), kernel(0, 10, 7), launch('k', 117, 1, 8), kernel(10**9 + 10**6, 20001, 8),            # no start; too long
    terminal=dict(kind='terminal', outcome='complete', timestamp_ns=20000)))
result = query(SUSPECT, 'kernels')
equal({r['rule']: r['count'] for r in result['suspects']['rules']},
      {'longer_than_run': 1, 'no_start': 1, 'kernels_overlap_on_stream': 1}, 'suspects by rule')
equal((result['suspects']['count'], result['suspects']['share'], result['intervals']), (3, 0.375, 8), 'their number and share')
equal(rows(result, 'by_device_time', 'count', 'total_ns'), [(5, 5000 + 100 + 5000 + 100 + 5000)], 'and they are not in the sums')
near = folder.put('near.jsonl', region(kernel(0, 10, 1), kernel(50, 10, 2)))
equal(query(near, 'kernels')['suspects']['count'], 0, 'a clock that begins at 0 is no suspect')

# ---- other producers' traces ----
FOREIGN = folder.put('foreign.jsonl', region(op('m', 'matmul', 110, 10), op('m', 'matmul', 130, 30), interval('m', 5, 7)))
result = query(FOREIGN, 'api')
equal((rows(result, 'by_host_time', 'name', 'count', 'total_ns'), result['unassigned_intervals']), ([('matmul', 2, 40)], 1),
      'without an entry point an operation counts under its name')
result = query(FOREIGN, 'kernels')
equal((result['calls'], result['intervals'], result['unassigned_intervals'], result['by_device_time']['rows']), (0, 0, 1, []),
      'an interval that says nothing of its kind is no kernel')

# ---- order and cap ----
records = []
for i in range(60):
    records += [launch(f'k{i:02}', 100 + i, 1, i + 1), kernel(1000 * i, 10 + i // 2, i + 1)]
result = query(folder.put('many.jsonl', region(*records, terminal=dict(kind='terminal', outcome='complete', timestamp_ns=20000))), 'kernels')
pairs = [i for top in range(58, 8, -2) for i in (top, top + 1)]
equal([row['name'] for row in result['by_device_time']['rows']], [f'k{i:02}' for i in pairs], 'by device time, ties by name, first 50')
equal({k: v for k, v in result['by_device_time'].items() if k != 'rows'}, dict(displayed=50, total=60, truncated=True), 'and it says so')
equal([row['name'] for row in result['by_host_time']['rows']], [f'k{i:02}' for i in range(50)], 'by host time, ties by name, first 50')
done()
