#!/usr/bin/env python3
"""query suspects: impossible records planted in a recording of a program on the simulated driver: found, nothing else, their share of the time worked out here;
kinds of ours answer as if they were not there, those of the format as they always do. Its times are the simulated device's."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
from cli import Folder, done, equal, interval, memory, ok, query, region, run, op, start, end  # noqa: E402
from harness import Run, program  # noqa: E402

folder = Folder()
OURS = ('kernels', 'copies', 'api', 'oom', 'leaks', 'temporaries', 'peak', 'churn', 'ledger')


def lines(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def with_records(name, records, planted):
    """The trace with these records before its terminal record."""
    return folder.put(name, records[:-1] + planted + records[-1:])


def without(answer):
    return {key: value for key, value in answer.items() if key not in ('suspects', 'intervals', 'unassigned_intervals')}


run_of = Run([program('launches')], CGTRACE_TIMING='events')
good = run_of.traces[0]
records = lines(good)
intervals = [r for r in records if r['kind'] == 'device_interval']
ops = {r['correlation']: r for r in records if r['kind'] == 'op' and 'correlation' in r}
ok(len(intervals) > 20 and len(ops) > 20, 'the recording has work with times', f'{len(intervals)} {len(ops)}')
clean = query(good, 'suspects')
equal((clean['total'], clean['rows'], [c['suspects'] for c in clean['clocks']]), (0, [], [0] * len(clean['clocks'])), 'a true recording has no suspects')
ok(clean['launches_compared'] > 0 and all(c['anchored'] for c in clean['clocks']), 'though its launches were compared with its intervals', clean['clocks'])

# ---- planted: a kernel before its launch, one longer than the run, one at once with another ----
end_ns = records[-1]['timestamp_ns']
kernel = next(r for r in intervals if r['activity'] == 'kernel')
lone = dict(kernel, stream_id='planted')
last = max((r for r in intervals if r['activity'] == 'kernel'), key=lambda r: ops[r['correlation']]['timestamp_ns'])
early = dict(lone, correlation=last['correlation'], duration_ns=777, uncertainty_ns=0, stream_id='planted 2')  # the last launch, where the first one ran
endless = dict(lone, duration_ns=end_ns + 5_000_000, uncertainty_ns=0, stream_id='planted 3')
first = dict(lone, start_ns=kernel['start_ns'] + 10**9, duration_ns=50_000, correlation=10**9, uncertainty_ns=0)
at_once = dict(first, start_ns=first['start_ns'] + 20_000, duration_ns=40_000, correlation=10**9 + 1)
planted = with_records('planted.jsonl', records, [endless, first, at_once, early])
answer = query(planted, 'suspects')
found = {r['rule']: r for r in answer['rows']}
equal((sorted(found), answer['total']), (['before_launch', 'kernels_overlap_on_stream', 'longer_than_run'], 3), 'planted: found, each by its rule, nothing else')
equal((found['longer_than_run']['excess'], found['kernels_overlap_on_stream']['excess'], found['kernels_overlap_on_stream']['timestamp_ns']),
      (5_000_000, 30_000, at_once['start_ns']), 'by how much, and which of the two')
suspect_ns = sum(r['duration_ns'] for r in answer['rows'])
all_ns = sum(r['duration_ns'] for r in intervals) + sum(r['duration_ns'] for r in (endless, first, at_once, early))
tally = answer['records']['device_interval']
ok(abs(tally['share_of_time'] - suspect_ns / all_ns) < 1e-12 and tally['duration_ns'] == suspect_ns, 'the share of time that they would have made up')
status, out, err = run('query', planted, '--kind', 'suspects', '--format', 'csv')
ok(status == 0 and out.splitlines()[0].startswith('rule,record,name,device,timestamp_ns,clock_id,stream_id,duration_ns') and len(out.splitlines()) == 1 + len(found),
   'suspects: CSV', out + err)
status, out, err = run('query', planted, '--kind', 'suspects', '--format', 'table')
ok(status == 0 and 'longer_than_run' in out and 'share of time' in out.replace('_', ' '), 'suspects: a table', out + err)
equal(query(planted, 'suspects', '--label', kernel['name'])['matched'], len(found), 'suspects: filtered by name')

# Kinds of ours: as in the trace that has the true ones of the planted records alone.
rest = with_records('rest.jsonl', records, [first])
for kind in ('kernels', 'copies', 'api'):
    answer = query(planted, kind)
    equal((without(answer), answer['suspects']['count']), (without(query(rest, kind)), dict(kernels=3, copies=0, api=2)[kind]), f'{kind}: as if they were not there, and says so')
equal(run('summary', planted)[0], run('summary', good)[0], 'the health of the trace is what it was')
timing = query(planted, 'slowest-device')
ok(timing is not None and timing != query(rest, 'slowest-device'), 'the kinds of the format take them as they are')

# ---- before the launch, by anchors worked out here ----
clock = dict(devices={'gpu': [dict(device_ns=10**6, host_ns=0, uncertainty_ns=100)]})
LAUNCH = dict(api='cuLaunchKernel', grid=[1, 1, 1], block=[1, 1, 1])
TRACE = region(op('m', 'k', 600, 10, correlation=1, **LAUNCH), interval('m', 10**6 - 501, 10, activity='kernel', name='k', correlation=1),   # 1,101 before: suspect
               op('m', 'k', 620, 10, correlation=2, **LAUNCH), interval('m', 10**6 - 480, 10, activity='kernel', name='k', correlation=2), clock=clock)  # 1,100: allowed
early_only = folder.put('early.jsonl', TRACE)
answer = query(early_only, 'suspects')
equal([(r['rule'], r['timestamp_ns'], r['launched_ns'], r['excess']) for r in answer['rows']], [('before_launch', 10**6 - 501, 600, 1101)], 'a kernel before its launch')
equal((answer['launches_compared'], answer['clocks'][0]['suspects'], answer['clocks'][0]['share_of_time']), (2, 1, 0.5), 'and its share')
answer = query(folder.put('no-anchors.jsonl', [dict(r, clock={}) if r['kind'] == 'meta' else r for r in TRACE]), 'suspects')
equal((answer['total'], answer['launches_compared'], answer['clocks'][0]['anchored']), (0, 0, False), 'without anchors nothing was compared, which is said')

# ---- storages and samples ----
SAMPLE = dict(kind='device_memory', timestamp_ns=150, device='cuda:0', capacity_bytes=10000, used_bytes=4000, free_bytes=6000)
SOUND = [dict(SAMPLE), memory('alloc', 0, 'old', 500, span='r', preexisting=True), memory('alloc', 200, 'a', 3000), memory('free', 300, 'a', 3000)]
ODD = [memory('alloc', 210, 'huge', 10001), memory('free', 220, 'huge', 10001), memory('alloc', 0, 'odd', 100), memory('free', 400, 'odd', 100),
       dict(SAMPLE, timestamp_ns=250, used_bytes=10001)]
sound, odd = folder.put('sound.jsonl', region(*SOUND)), folder.put('odd.jsonl', region(*SOUND, *ODD))
equal(query(sound, 'suspects')['total'], 0, 'storages that were there before are not suspect')
answer = query(odd, 'suspects')
equal([(r['rule'], r['record'], r['name'], r['bytes'], r['excess']) for r in answer['rows']],
      [('larger_than_device', 'memory', 'huge', 10001, 1), ('no_time', 'memory', 'odd', 100, 100), ('of_suspect_storage', 'memory', 'huge', 10001, None),
       ('of_suspect_storage', 'memory', 'odd', 100, None), ('more_than_capacity', 'device_memory', None, None, 1)], 'storages and samples that cannot be')
equal(answer['records']['memory']['byte_share'], 10101 / 13601, 'their share of the bytes')
for kind in ('leaks', 'temporaries', 'peak', 'churn', 'ledger'):
    for words in ([], ['--device', 'cuda:0']):
        equal(without(query(odd, kind, *words)), without(query(sound, kind, *words)) | ({'planes': query(odd, kind, *words)['planes']} if kind == 'ledger' else {}),
              f'{kind} {words}: as if they were not there')
equal(query(odd, 'peak')['totals']['bytes'], 3500, 'the peak is that of what can be')
equal((query(odd, 'churn')['suspects']['count'], query(odd, 'ledger')['suspects']['device_memory']['count'], query(odd, 'oom')['suspects']['count']), (4, 1, 4),
      'and they say how many were left out')
equal(query(odd, 'memory')['logical']['by_device'][0]['peak_live_bytes'], 13601, 'the memory plane of the format takes them as they are')
done()
