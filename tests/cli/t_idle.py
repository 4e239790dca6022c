#!/usr/bin/env python3
"""query idle: recordings of a program on the simulated driver whose device waits for the host, for its input, or for launches (tests/programs/waits.c), held
against the driver's ledger and what the program says it slept: found, its size within 1 %, nothing else. Then traces made here, worked out by hand.
All times are the simulated device's."""
import csv
import io
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
from cli import Folder, done, end, equal, failed, interval, ok, op, query, region, run, skip, start  # noqa: E402
from harness import SANITIZED, Run, program  # noqa: E402

folder = Folder()


def recorded(mode, rounds, kernel_us):
    result = Run([program('waits'), mode, str(rounds)], CGTRACE_TIMING='events', CGTRACE_RANGE='train', CGTRACE_OVERFLOW='block', SIM_KERNELS=None,
                 SIM_KERNEL_US=kernel_us)
    return result, int(result.out.split()[1])


def busy_of_ledger(result, window):
    """Nanoseconds within the window in which the simulated device worked, and did not."""
    with open(result.traces[0], encoding='utf-8') as lines:
        zero = json.loads(next(lines))['clock']['first']['monotonic_ns']
    with open(result.ledgers[0], encoding='utf-8') as lines:
        work_lines = [line for line in map(json.loads, (text for text in lines if text.strip('\0\n'))) if 'end_ns' in line]
    first, last = window['start_ns'], window['start_ns'] + window['duration_ns']
    spans = sorted((max(first, d['start_ns'] - zero), min(last, d['end_ns'] - zero)) for d in work_lines)
    busy, reached = 0, first
    for begin, finish in spans:
        busy += max(0, finish - max(begin, reached))
        reached = max(reached, finish)
    return busy, last - first - busy


def causes(clock):
    return {c['cause']: c['idle_ns'] for c in clock['causes']}


def verdicts(clock):
    return {v['verdict']: v['is'] for v in clock['verdicts']}


def small(clock, window, *names):
    return max(causes(clock)[name] for name in names) <= 0.01 * window


def judged(mode, rounds, kernel_us, *words, nothing=()):
    """nothing: causes that there must be none of; a run that the machine took off its processor within a call, which is one of them, is made again."""
    for _ in range(3):
        result, slept = recorded(mode, rounds, kernel_us)
        answer = query(result.traces[0], 'idle', *words)
        clock, window = answer['clocks'][0], answer['window']['duration_ns']
        if not nothing or small(clock, window, *nothing):
            break
    if nothing and SANITIZED:
        skip(f'{mode}: nothing else is reported', 'instrumented calls take long')
    elif nothing:
        ok(small(clock, window, *nothing), f'{mode}: nothing else is reported', str(causes(clock)))
    _, idle = busy_of_ledger(result, answer['window'])
    # An interval of events around a call may be longer than its work, by as much as it says.
    ok(-0.01 * window - clock['busy_may_be_less_by_ns'] <= clock['idle_ns'] - idle <= 0.01 * window, f'{mode}: idle is that of the ledger within 1 %',
       f'{clock["idle_ns"]} {idle} of {window}, {clock["busy_may_be_less_by_ns"]}')
    equal((sum(causes(clock).values()), answer['window']['of']), (clock['idle_ns'], 'the measured region'), f'{mode}: causes make up all idle time')
    return answer, clock, window, slept


# ---- planted ----
answer, clock, window, slept = judged('host', 40, 7000, nothing=('host_input', 'kernel_wait', 'other', 'host_launching'))
found = causes(clock)
ok(0.2 < slept / window, 'host: the planted wait is there', f'{slept} of {window}')
ok(found['host_elsewhere'] >= slept - 0.01 * window and clock['host_wait_ns'] == found['host_elsewhere'] + found['host_launching'] + found['host_input'],
   'host: the planted wait is found', f'{found} {slept}')
equal(verdicts(clock), dict(launch_bound=False, input_bound=None), 'host: neither launch-bound, nor is anything known of input')
answer, clock, window, slept = judged('input', 40, 7000, '--input', 'next_batch', nothing=('kernel_wait', 'other', 'host_launching'))
found = causes(clock)
ok(abs(found['host_input'] - slept) <= 0.01 * window, 'input: the planted stall is found, its size within 1 %', f'{found} {slept} of {window}')
equal(verdicts(clock), dict(launch_bound=False, input_bound=True), 'input: input-bound')
equal((answer['options']['input_span'], answer['options']['kernel_wait_ns'], answer['options']['launch_gap_ns']), ('next_batch', 30, 20000), 'input: what was asked')
answer, clock, window, slept = judged('launch', 1000, 1, '--launch-gap-ns', '100000000')
ok(verdicts(clock)['launch_bound'] is True, 'launch: launch-bound', str(causes(clock)))
kernel_us = 3000 if SANITIZED else 300  # instrumented calls take long: the queue would never be full
answer, clock, window, slept = judged('queue', 2500, kernel_us)
depth = clock['queue_depth']
ok(1024 < depth['maximum'] <= 2500 and 0 < depth['share_full'] < 1 and depth['median'] <= depth['p90'] <= depth['p99'] <= depth['maximum'],
   'queue: more than 1024 in the queue', str(depth))
delay = clock['launch_delay']
ok(delay['launches'] == 2500 and delay['minimum_ns'] <= delay['median_ns'] <= delay['maximum_ns'] < 2500 * kernel_us * 1000 + window and delay['maximum_ns'] > 50_000_000,
   'queue: the last launch waited for all before it', str(delay))
ok(causes(clock)['other'] <= 0.01 * window, 'queue: nothing is unattributed', str(causes(clock)))
answer, clock, window, slept = judged('busy', 20, 7000)
ok(clock['busy_ns'] >= 20 * 7_000_000 - 1_000_000 and verdicts(clock)['launch_bound'] is False, 'busy: busy', str(clock))

# ---- by hand: the measured region is 100 to 1100; the device's clock is a million ahead of the host's ----
CLOCK = dict(devices={'gpu': [dict(device_ns=10**6, host_ns=0, uncertainty_ns=100)]})


def launch(at, duration, correlation, tid=5, **more):
    return op('m', 'k', at, duration, api='cuLaunchKernel', grid=[1, 1, 1], block=[1, 1, 1], correlation=correlation, tid=tid, **more)


def work(at, duration, correlation=None, activity='kernel', stream='7', **more):
    extra = {} if correlation is None else dict(correlation=correlation)
    return interval('m', 10**6 + at, duration, stream=stream, activity=activity, **extra, **more)


RECORDS = [start('i', 'm', 'load', 300), end('i', 100), launch(200, 10, 1), work(215, 50, 1), launch(600, 10, 2), work(800, 100, 2)]
hand = folder.put('hand.jsonl', region(*RECORDS, clock=CLOCK))
clock = query(hand, 'idle', '--input', 'load')['clocks'][0]
equal(causes(clock), dict(kernel_wait=0, host_input=100, host_launching=255, host_elsewhere=300, other=195), 'by hand: each nanosecond of idle has its cause')
equal((clock['busy_ns'], clock['idle_ns'], clock['gaps'], clock['longest_gap_ns'], clock['host_wait_ns'], clock['unattributed_share']), (150, 850, 3, 535, 655, 195 / 850),
      'by hand: busy and idle')
equal(clock['launch_delay'], dict(launches=2, began_before_return=0, minimum_ns=5, median_ns=98, p90_ns=172, p99_ns=188, maximum_ns=190), 'by hand: launch delays 5 and 190')
equal(clock['queue_depth'], dict(mean=0.345, median=0, p90=1, p99=1, maximum=1, share_empty=0.655, share_full=0.0), 'by hand: queue depth, 55 + 290 of 1000 with one')
clock = query(hand, 'idle', '--launch-gap-ns', '389')['clocks'][0]
equal(causes(clock), dict(kernel_wait=0, host_input=0, host_launching=20, host_elsewhere=635, other=195), 'launches farther apart than that are not one launching')
equal(query(folder.put('untagged.jsonl', region(*RECORDS, clock=CLOCK)), 'idle')['untimed_calls'], 0, 'all calls are timed')

# Copies and kernels at once, kernels of NCCL, graphs, a short gap, work of which no call is known, a call without work.
MIXED = [work(200, 100), work(250, 100, activity='memcpy', stream='8'), work(300, 20, stream='9', name='ncclDevKernel_AllReduce'), work(379, 21),
         work(500, 100, activity='graph'), work(550, 10, stream='9', name='ncclDevKernel_AllReduce'), launch(700, 5, 9), launch(710, 5, 10, error=700)]
answer = query(folder.put('mixed.jsonl', region(*MIXED, clock=CLOCK)), 'idle')
clock = answer['clocks'][0]
equal({o['work']: (o['total_ns'], o['while_computing_ns']) for o in clock['overlap']}, dict(copies=(100, 50), communication=(30, 10)), 'overlap of copies and of communication')
# Busy 200-350, 379-400, 500-600; gaps 100 and 100 before unknown work, 29 short, 500 at the end.
equal(causes(clock), dict(kernel_wait=29, host_input=0, host_launching=5, host_elsewhere=495, other=200), 'work of which no call is known: unattributed')
ok(answer['untimed_calls'] == 1 and any('not timed' in note for note in answer['notes']), 'a launch without an interval is said, one that failed is none')
equal(causes(query(folder.put('mixed.jsonl', region(*MIXED, clock=CLOCK)), 'idle', '--kernel-wait-ns', '29')['clocks'][0])['kernel_wait'], 0, 'gaps of so many are none of the device')

# A graph: one call, two pieces of work, of which the second waits for the first. It is in the queue from 205 to 600.
GRAPH = [launch(200, 5, 1), work(300, 50, 1), work(500, 100, 1)]
clock = query(folder.put('graph.jsonl', region(*GRAPH, clock=CLOCK)), 'idle')['clocks'][0]
equal((clock['launch_delay']['launches'], clock['launch_delay']['maximum_ns'], clock['queue_depth']['maximum'], clock['queue_depth']['mean']), (1, 95, 1, 0.395), 'a graph is one launch')
equal(causes(clock), dict(kernel_wait=0, host_input=0, host_launching=5, host_elsewhere=600, other=245), 'and between its kernels nothing waits for the host')

# Suspects are left out: a kernel before its launch would have made the device busy.
SUSPECT = RECORDS + [launch(1090, 5, 3), work(850 - 10**5, 10**3 - 100, 3, stream='8')]
answer = query(folder.put('suspect.jsonl', region(*SUSPECT, clock=dict(devices={'gpu': [dict(device_ns=10**6, host_ns=0, uncertainty_ns=0)]}))), 'idle')
equal((answer['clocks'][0]['busy_ns'], answer['suspects']['count']), (150, 1), 'suspects are left out, and counted')

# Without anchors; failed; without a measured region; without intervals.
answer = query(folder.put('alone.jsonl', region(*RECORDS)), 'idle', '--input', 'load')
clock = answer['clocks'][0]
equal((clock['busy_ns'], clock['idle_ns'], clock['causes'], clock['launch_delay'], clock['queue_depth'], clock['host_wait_ns'], verdicts(clock)),
      (150, 850, [], None, None, None, dict(launch_bound=None, input_bound=None)), 'without anchors: busy and idle, nothing that needs the host')
ok(any('not in the trace' in note for note in answer['notes']), 'and it says so', answer['notes'])
FAILED = [r for r in region(*RECORDS, clock=CLOCK, terminal=failed('killed', 1100)) if r['kind'] != 'span_end' or r['id'] == 'i']
equal(causes(query(folder.put('failed.jsonl', FAILED), 'idle', '--input', 'load')['clocks'][0]), dict(kernel_wait=0, host_input=100, host_launching=255, host_elsewhere=300, other=195),
      'a failed capture, its region open to its end')
NONE = [dict(r, measured=False) if r.get('measured') else r for r in region(*RECORDS, clock=CLOCK)]
answer = query(folder.put('none.jsonl', NONE), 'idle')
equal((answer['window'], answer['clocks'][0]['idle_ns']), (dict(of='the whole capture', start_ns=0, duration_ns=2000), 1850), 'without a measured region: the whole capture')
answer = query(folder.put('empty.jsonl', region()), 'idle')
equal((answer['clocks'], answer['notes']), ([], ['the trace has no device intervals']), 'without intervals')
equal(run('query', hand, '--kind', 'idle', '--input', 'cuda:0')[0], 3, 'an input that no span is named')
equal(run('query', hand, '--kind', 'idle', '--device', 'cuda:0')[0], 2, 'an option of other kinds')

# ---- other forms ----
status, out, _ = run('query', hand, '--kind', 'idle', '--input', 'load', '--format', 'csv')
rows = list(csv.DictReader(io.StringIO(out)))
equal({r['cause']: r['idle_ns'] for r in rows if r['list'] == 'causes'}, dict(kernel_wait='0', host_input='100', host_launching='255', host_elsewhere='300', other='195'), 'CSV: causes')
status, out, _ = run('query', hand, '--kind', 'idle', '--input', 'load', '--format', 'table')
ok(status == 0 and 'launch_bound' in out and 'host_launching' in out and max(map(len, out.splitlines()[3:])) < 200, 'a table', out)
done()
