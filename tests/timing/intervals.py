"""Device intervals of a trace against the simulated driver's ledger, which knows when each piece of work began and ended.

Work is matched thread by thread, in order, as tests/ledger/compare.py does; a call's interval is found by its correlation."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
from check_trace import check  # noqa: E402

RESOLUTION_NS = 500
ACTIVITY = {'launch': 'kernel', 'copy': 'memcpy', 'memset': 'memset', 'graph_launch': 'graph'}


class Timed:
    """meta, terminal, ops with a correlation, intervals, samples; work: the ledger's lines; events: those it has of events."""

    def __init__(self, trace, ledger):
        self.ops, self.intervals, self.samples, self.work, self.events, self.faults = [], [], [], [], [], []
        keep = {'op': self.ops, 'device_interval': self.intervals, 'device_memory': self.samples}
        self.faults += check(trace)
        with open(trace, encoding='utf-8') as lines:
            for line in map(json.loads, lines):
                if line['kind'] in keep:
                    keep[line['kind']].append(line)
                elif line['kind'] in ('meta', 'terminal'):
                    setattr(self, line['kind'], line)
        by_seq = {}
        with open(ledger, encoding='utf-8') as lines:
            for line in lines:
                if not line.strip('\0\n'):
                    continue
                line = json.loads(line)
                if line['op'] == 'done':
                    by_seq[line['seq']].update(start_ns=line['start_ns'], end_ns=line['end_ns'])
                elif line['op'] == 'event':
                    self.events.append(line)
                elif line['op'] in ACTIVITY and line['result'] == 0:
                    self.work.append(line)
                    by_seq[line['seq']] = line
        self.calls = [op for op in self.ops if 'correlation' in op and 'error' not in op and not op.get('captured')]
        self.timing = self.terminal['coverage']['device_timing']

    def pairs(self):
        """(ledger's line, op, interval or None) of each piece of work; a fault when the two sides do not match."""
        sides = [{}, {}]
        for side, rows in zip(sides, (self.work, self.calls)):
            for row in rows:
                side.setdefault(row['tid'], []).append(row)
        by_correlation = {}
        for interval in self.intervals:
            if interval['correlation'] in by_correlation:
                self.faults.append(f'two intervals of call {interval["correlation"]}')
            by_correlation[interval['correlation']] = interval
        rows = []
        for tid in sorted(set(sides[0]) | set(sides[1])):
            work, calls = sides[0].get(tid, []), sides[1].get(tid, [])
            if len(work) != len(calls):
                self.faults.append(f'thread {tid}: {len(work)} in the ledger, {len(calls)} calls in the trace')
            rows += [(w, c, by_correlation.pop(c['correlation'], None)) for w, c in zip(work, calls)]
        for correlation in by_correlation:
            self.faults.append(f'an interval of call {correlation}, which did no work')
        return rows

    def judge(self, anchors=True):
        """Faults: each interval holds its work, is longer than it by no more than it says, stands where the work stood."""
        rows = self.pairs()
        latest, earliest = {}, {}
        for work, op, interval in rows:
            if not interval:
                continue
            did, text = work['end_ns'] - work['start_ns'], f'call {op["correlation"]} ({op["op_name"]})'
            over = interval['duration_ns'] - did
            step = float_step(interval['duration_ns'])
            if not -RESOLUTION_NS - step <= over <= interval['uncertainty_ns']:
                self.faults.append(f'{text}: {over} ns longer than its work of {did} ns, said {interval["uncertainty_ns"]}')
            if interval['activity'] != ACTIVITY[work['op']]:
                self.faults.append(f'{text}: {interval["activity"]} is {work["op"]}')
            for key in ('stream_id', 'device', 'span_id'):
                if interval[key] != op[key]:
                    self.faults.append(f'{text}: {key} {interval[key]}, of the call {op[key]}')
            if interval.get('bytes', 0) != op.get('bytes', 0) or interval['backend'] != 'cuda_events':
                self.faults.append(f'{text}: {interval}')
            if work['op'] == 'launch' and interval['name'] != op['op_name']:
                self.faults.append(f'{text}: named {interval["name"]}')
            clock = interval['clock_id']
            if not clock.startswith(interval['device'] + '/ctx:'):
                self.faults.append(f'{text}: clock {clock}')
            # The ledger's clock less the device's: the same for all intervals of a clock that stand within 16 s, as far as each
            # allows and the roundings of the device's clock in that time: 61 parts in a billion.
            offset, when = work['start_ns'] - interval['start_ns'], (clock, interval['start_ns'] >> 34)
            latest.setdefault(when, []).append(offset - interval['uncertainty_ns'] - 500)
            earliest.setdefault(when, []).append(offset + RESOLUTION_NS + step + 500)
        for (clock, when), low in latest.items():
            high = min(earliest[clock, when])
            if max(low) > high:
                self.faults.append(f'{clock}: places differ by {max(low) - high} ns more than the intervals allow')
            if anchors:
                self.anchors(clock, max(low), high)
        if self.timing['timed'] != len(self.intervals) or len(self.intervals) + sum(self.timing['untimed'].values()) != len(rows):
            self.faults.append(f'{len(rows)} pieces of work, {self.timing}')
        complete = len(rows) > 0 and len(self.intervals) == len(rows)
        level = 'complete' if complete else 'partial' if self.intervals else 'none'
        if self.meta['capture_contract']['device_timing'] != level:
            self.faults.append(f'declared {self.meta["capture_contract"]["device_timing"]}, was {level}')
        return rows

    def anchors(self, clock, low, high):
        """The anchors tie the clock to the host's within their uncertainty."""
        for anchor in self.meta['clock']['devices'].get(clock, []):
            offset = self.meta['clock']['first']['monotonic_ns'] + anchor['host_ns'] - anchor['device_ns']
            if not low - anchor['uncertainty_ns'] <= offset <= high + anchor['uncertainty_ns']:
                self.faults.append(f'{clock}: anchor {anchor} says {offset}, the ledger {low} to {high}')


def float_step(ns):
    """Distance of the 32-bit floats around ns in milliseconds, in ns, rounded up."""
    step = 2.0 ** -149
    while step * 2 ** 24 <= ns / 1e6:
        step *= 2
    return int(step * 1e6) + 1
