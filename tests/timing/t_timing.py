#!/usr/bin/env python3
"""Times of device work, against what the simulated driver did: every interval holds its work and says how much longer it may be,
nothing is timed that was not there, what has no time is counted with its reason, and events go nowhere but around calls.
The times are the simulated device's: nothing here says anything about a GPU."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from harness import BUILD, SANITIZED, Run, environment  # noqa: E402
from intervals import Timed  # noqa: E402

HANGS_S = 60
TIMED = f'{BUILD}/tests/timing/timed'
ALL = dict(SIM_KERNELS=None, SIM_EVENT_STEP_NS=500, SIM_LEDGER_EVENTS=1, CGTRACE_TIMING='events')


def timed(*words, **more):
    return Run([TIMED, *map(str, words)], **{**ALL, **more})


def judged(name, *words, untimed=None, anchors=True, **more):
    """Runs it, holds its only trace against its ledger; untimed: the reasons and counts there must be."""
    with timed(*words, **more) as run:
        if run.status or len(run.traces) != 1 or len(run.ledgers) != 1:
            tap.ok(False, name, f'status {run.status}, {run.files}, {run.err[-300:]!r}')
            return None
        seen = Timed(run.traces[0], run.ledgers[0])
        rows = seen.judge(anchors)
        tap.ok(not seen.faults and rows, f'{name}: {len(seen.intervals)} of {len(rows)} timed, within what they say', '\n'.join(seen.faults[:12]))
        if untimed is not None:
            tap.equal(seen.timing['untimed'], untimed, f'{name}: what was not timed, and why')
        return seen


def only_around_calls(seen, name):
    """Events stand in streams of work, two for each piece of it that was timed, and never in a capture."""
    streams = {(w['ctx'], w['stream']) for w in seen.work}
    tap.equal([e for e in seen.events if e['kind'] != 'plain'], [], f'{name}: no event into a capture')
    tap.equal({(e['ctx'], e['stream']) for e in seen.events} - streams, set(), f'{name}: events only in streams with work')


def exact():
    for threads, rounds in ((1, 3000), (4, 1000), (16, 250)):
        seen = judged(f'{threads} threads, each with a stream', 'busy', threads, rounds, untimed={})
        if seen:
            only_around_calls(seen, f'{threads} threads')
            tap.ok(2 * len(seen.intervals) <= len(seen.events) <= 2 * len(seen.intervals) + 2 * threads, 'two events a call, and the anchors',
                   f'{len(seen.events)} events')
    seen = judged('streams of two contexts, the legacy one between them', 'streams', 200, untimed={})
    if seen:
        tap.equal({i['clock_id'] for i in seen.intervals}, {'cuda:0/ctx:1', 'cuda:0/ctx:2'}, 'a clock for each context')
        only_around_calls(seen, 'two contexts')
    seen = judged('per-thread default streams', 'per-thread', 4, 200, untimed={})
    if seen:
        tap.equal(len({i['stream_id'] for i in seen.intervals}), 4, 'a stream for each thread')
        only_around_calls(seen, 'per-thread default streams')


    seen = judged('work that waits for the device', 'queued', 100, untimed={}, SIM_KERNEL_US=2000)
    if seen:
        sharp = sum(i['uncertainty_ns'] < 1500 for i in seen.intervals)
        tap.ok(sharp >= 80, 'is not charged with the time of the host', f'{sharp} of {len(seen.intervals)} are sharp')


def graphs():
    seen = judged('graph launches, and work beside a capture', 'graphs', 20, 300)
    if seen:
        tap.equal(sum(i['activity'] == 'graph' for i in seen.intervals), 20, 'a launch of a graph is one interval')
        tap.equal(seen.timing['untimed'].get('captured', 0), 0, 'what is captured is no work')
        own = [e for e in seen.events if e['kind'] != 'plain']
        tap.equal(len(own), 2, 'into the capture go the two events of the program, and none of ours')
    seen = judged('a context whose first work is a capture', 'captured-first', 100, untimed={})
    if seen:
        tap.equal([e for e in seen.events if e['kind'] != 'plain'], [], 'no event into the capture')


def endings():
    judged('contexts destroyed with work under way', 'destroyed', 5, 40, untimed={})
    judged('the primary context reset with work under way', 'reset', 5, 40, untimed={})
    judged('the primary context released, the last time too', 'released', 5, 40, untimed={})
    judged('work under way at exit', 'unfinished', 200, untimed={}, SIM_KERNEL_US=500)
    judged('work that lasts beyond the wait at exit', 'unfinished', 3, untimed={'session_end': 2}, SIM_KERNEL_US=4000000)
    # 3 + 1 launches before the last look (the handler registered last runs first), 3 behind it, 3 that the driver refuses.
    seen = judged('handlers of exit() that work', 'at-exit', 3, untimed={'session_end': 3})
    if seen:
        tap.equal([o['error'] for o in seen.ops if 'error' in o], [4, 4, 4], 'a driver that is gone answers 4')
    seen = judged('a driver that is gone when events are read', 'unfinished', 50, SIM_FAIL='cuEventQuery:*:4')
    if seen:
        tap.ok(seen.timing['untimed'].get('session_end') and set(seen.timing['untimed']) <= {'session_end', 'error'}, 'counted', str(seen.timing))


def refusals():
    judged('no event can be made', 'busy', 1, 200, untimed={'error': 200}, SIM_FAIL='cuEventCreate:*:2')
    judged('the 9th event cannot be recorded', 'busy', 1, 200, untimed={'error': 1}, SIM_FAIL='cuEventRecord:9:400')
    judged('the 10th event cannot be recorded', 'busy', 1, 200, untimed={'error': 1}, SIM_FAIL='cuEventRecord:10:400')
    judged('a time cannot be read', 'busy', 1, 200, untimed={'error': 1}, SIM_FAIL='cuEventElapsedTime:30:999')
    judged('launches that fail', 'at-exit', 3, untimed={'session_end': 3}, SIM_FAIL='cuLaunchKernel:2:701')
    judged('events too coarse for the work', 'unfinished', 50, untimed={'below_resolution': 50}, SIM_EVENT_STEP_NS=10 ** 12)
    with timed('busy', 1, 200, CGTRACE_TIMING='off') as run:
        seen = Timed(run.traces[0], run.ledgers[0])
        tap.equal((seen.faults, len(seen.intervals), len(seen.events), seen.meta['capture_contract']['device_timing']), ([], 0, 0, 'none'),
                  'off: no event, no interval, no coverage')


def long_runs():
    """The driver's times are 32-bit floats of milliseconds: one anchor for all would be off by 250 us after an hour."""
    for seconds in (3, 7):
        seen = judged(f'{seconds} s between steps', 'steps', 4000 // seconds, untimed={}, anchors=False, SIM_JUMP_S=seconds)
        if seen:
            hours = max(i['start_ns'] for i in seen.intervals) - min(i['start_ns'] for i in seen.intervals)
            tap.ok(hours > 3900e9, 'the intervals span more than an hour', f'{hours / 1e9} s')
            middle = sorted(i['uncertainty_ns'] for i in seen.intervals)[len(seen.intervals) // 2]
            tap.ok(middle < 100_000, 'not as uncertain as a float of an hour is', f'{middle} ns in the middle')


def budget():
    """Pairs that cost 20 us each and reads of 10 us, on a program that launches as fast as it can. A run is made again where it was over the budget: the machine
    may have taken it off its processor within what is counted as cost, for longer than the rest of the run makes up for."""
    cost = dict(SIM_EVENT_COST_NS=10000, SIM_EVENT_READ_NS=3000, SIM_KERNEL_US=20, CGTRACE_TIMING='auto', CGTRACE_OVERFLOW='block')
    for percent in (2, 10):
        most = percent * 1.5 + 0.5
        for _ in range(1 if SANITIZED else 10):
            with timed('flood', 2500, CGTRACE_BUDGET=percent, **cost) as run:
                seen = Timed(run.traces[0], run.ledgers[0])
                seen.judge()
                share = 100 * seen.timing['cost_ns'] / seen.terminal['timestamp_ns']
                tap.ok(not seen.faults and seen.intervals and seen.timing['untimed'].get('budget'), f'budget {percent} %: valid, partly timed',
                       '\n'.join(seen.faults[:10]) or str(seen.timing))
            if share <= most:
                break
        name = f'budget {percent} %: {share:.2f} % of the wall time, {len(seen.intervals)} of {len(seen.work)} timed'
        if SANITIZED:
            tap.skip(name, 'instrumented calls cost what no budget knows')
        else:
            tap.ok(share <= most, name)
    with timed('flood', 300, **{**cost, 'CGTRACE_TIMING': 'events'}) as run:
        seen = Timed(run.traces[0], run.ledgers[0])
        seen.judge()
        tap.equal((seen.faults, seen.timing['untimed'].get('budget')), ([], None), 'events: no budget')


def settings():
    for name, value, allowed in (('TIMING', 'cupti', 'auto|events|off'), ('BUDGET', '0', '1 to 100'), ('BUDGET', '101', '1 to 100'),
                                 ('BUDGET', '5%', '1 to 100'), ('BUDGET', '-1', '1 to 100'), ('MEMORY_SAMPLE_MS', '3600001', '0 to 3600000')):
        with timed('unfinished', 1, CGTRACE_QUIET=0, **{f'CGTRACE_{name}': value}) as run:
            tap.equal((run.status, run.files, run.err.decode()),
                      (0, [], f'cgtrace: CGTRACE_{name}: {value} is not allowed; allowed: {allowed}; the program runs unprofiled\n'),
                      f'CGTRACE_{name}={value}: one line, unprofiled')


def memory():
    seen = judged('samples of memory', 'pools', 200, untimed={}, CGTRACE_MEMORY_SAMPLE_MS=10)
    if seen:
        used = [s['pool_used_bytes'] for s in seen.samples if 'pool_used_bytes' in s]
        span = seen.samples[-1]['timestamp_ns'] - seen.samples[0]['timestamp_ns']
        tap.ok(8 <= len(seen.samples) <= span / 10e6 + 2, 'one every 10 ms while there is work', f'{len(seen.samples)} in {span} ns')
        # A slow machine has samples before the second MiB is given back.
        settled = used[max((i + 1 for i, n in enumerate(used) if n != 1 << 20), default=0):]
        tap.ok(len(settled) >= 4 and set(used) <= {n << 20 for n in (0, 1, 2)} and all(s['reserved_bytes'] >= s['pool_used_bytes'] for s in seen.samples
               if 'pool_used_bytes' in s), 'what the pool holds and what of it is used', str(seen.samples))
        tap.ok(all(s['used_bytes'] + s['free_bytes'] == s['capacity_bytes'] == 16384 << 20 for s in seen.samples), 'used, free, capacity')
    with timed('unfinished', 20, CGTRACE_MEMORY_SAMPLE_MS=0) as run:
        tap.equal(Timed(run.traces[0], run.ledgers[0]).samples, [], '0: none')
    with timed('unfinished', 20, CGTRACE_TIMING='off') as run:
        tap.ok(len(Timed(run.traces[0], run.ledgers[0]).samples) >= 1, 'samples without times')


def processes():
    with timed('forked', 50) as run:
        tap.equal((run.status, len(run.traces), len(run.ledgers)), (0, 2, 2), 'fork: parent and child have a trace each')
        ledgers = {path.rsplit('.', 1)[1]: path for path in run.ledgers}
        for trace in run.traces:
            with open(trace, encoding='utf-8') as lines:
                pid = str(json.loads(lines.readline())['pid'])
            seen = Timed(trace, ledgers[pid])
            seen.judge()
            tap.equal((seen.faults, len(seen.intervals), seen.timing['untimed']), ([], 50, {}), 'fork: each with its own intervals')


def intervals_written(path):
    with contextlib.suppress(FileNotFoundError), open(path, 'rb') as part:
        return part.read().count(b'"kind":"device_interval"')
    return 0


def killed():
    """By its caller, once the times of its work have been read and written."""
    with tempfile.TemporaryDirectory() as folder:
        env = environment(True, SIM_LEDGER=f'{folder}/ledger', CGTRACE_OUTPUT=f'{folder}/t.jsonl', **ALL)
        with subprocess.Popen([TIMED, 'killed', '300'], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            end = time.monotonic() + HANGS_S
            while intervals_written(f'{folder}/t.jsonl.part') < 250 and program.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            program.kill()
        made = subprocess.run([f'{BUILD}/cg-analyze', 'recover', 't.jsonl.cgt'], cwd=folder, capture_output=True)
        if tap.equal((program.returncode, made.returncode), (-signal.SIGKILL, 0), 'killed: recovered'):
            seen = Timed(f'{folder}/t.jsonl', f'{folder}/ledger')
            rows = seen.pairs()
            tap.equal((seen.faults, len(rows), len(seen.intervals) + sum(seen.timing['untimed'].values())), ([], 300, 300),
                      'killed: each launch has its interval or is counted')
            tap.ok(len(seen.intervals) >= 250, 'killed: what had been read is there', f'{len(seen.intervals)}, {seen.timing}')
            tap.ok(seen.meta['clock']['devices'].get('cuda:0/ctx:1'), 'killed: the anchors too')


def analyzed():
    with timed('busy', 2, 200) as run:
        query = json.loads(subprocess.run([f'{BUILD}/cg-analyze', 'query', run.traces[0], '--kind', 'kernels'], capture_output=True).stdout)['result']
        tap.ok(query['calls'] == query['calls_timed'] == query['intervals'] > 0 and query['by_device_time']['rows'][0]['name'] == 'nothing',
               'query --kind kernels shows the device times', json.dumps(query)[:300])
        tap.equal(query['suspects']['count'], 0, 'no interval is suspect')
        overview = json.loads(subprocess.run([f'{BUILD}/cg-analyze', 'overview', run.traces[0]], capture_output=True).stdout)
        tap.equal(overview['capabilities']['nested_device_time']['level'], 'complete', 'overview: device times are complete')


def on_this_driver():
    """The program that scripts/gpu-check runs on a GPU: here that it runs, and the simulated driver's answers."""
    with Run([f'{BUILD}/tests/timing/events'], record=False, SIM_KERNELS=None) as run:
        lines = run.out.decode().splitlines()
        tap.ok(run.status == 0 and 'Simulated device 0 (not a GPU)' in lines[0] and any('so a pair costs' in l for l in lines),
               'costs of events and rules of captures can be asked for', run.out.decode()[-500:] + run.err.decode()[-300:])


def main():
    for part in (on_this_driver, exact, graphs, endings, refusals, long_runs, budget, settings, memory, processes, killed, analyzed):
        part()
    tap.done()


if __name__ == '__main__':
    main()
