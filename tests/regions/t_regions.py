#!/usr/bin/env python3
"""Regions: what the ways of regions.c do, worked out by hand, against the traces of their selected ranges. Every trace is valid."""
import difflib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, THREAD_SANITIZED, Run  # noqa: E402

REGIONS, ANALYZE = f'{BUILD}/tests/regions/regions', f'{BUILD}/cg-analyze'


class Trace:
    """A trace of one region."""

    def __init__(self, path):
        self.violations = check(path)
        with open(path, encoding='utf-8') as file:
            self.lines = [json.loads(line) for line in file]
        self.meta, self.terminal = self.lines[0], self.lines[-1]
        self.spans = {}
        for line in self.lines:
            if line['kind'] == 'span_start':
                self.spans[line['id']] = line
            elif line['kind'] == 'span_end':
                span = self.spans[line['id']]
                span.update(duration_ns=line['duration_ns'], end_clipped=line.get('clipped'), end_ns=span['start_ns'] + line['duration_ns'])
        self.region = next((s for s in self.spans.values() if s['measured']), {})

    def kind(self, name):
        return [line for line in self.lines if line['kind'] == name]

    def one(self, name):
        found = [s for s in self.spans.values() if s['name'] == name and not s['measured']]
        return found[0] if len(found) == 1 else {'missing': f'{len(found)} spans named {name}'}

    def parent(self, span):
        return self.spans[span['parent_id']]['name'] if span.get('parent_id') else None

    def tree(self):
        """Names of the spans but the session's own two, each with its parent's."""
        return [(s['name'], self.parent(s)) for s in self.spans.values() if s.get('parent_id') and not s['measured']]

    def ops(self):
        return [(o['op_name'], self.spans[o['span_id']]['name']) for o in self.kind('op')]

    def memory(self):
        return [(m['action'], m['bytes'], bool(m.get('preexisting'))) for m in self.kind('memory')]

    def gap(self, name):
        return self.terminal['coverage']['not_covered'][name]


def capture(way, count, *words, status=0, range_='step', **more):
    """(what it printed line by line, its traces in the order of their numbers, the run's standard error), and that it did as without."""
    more.setdefault('CGTRACE_RANGE', range_)
    kernels = {k: v for k, v in more.items() if k == 'SIM_KERNELS'}
    with Run([REGIONS, way, *words], **more) as run, Run([REGIONS, way, *words], record=False, **kernels) as plain:
        tap.equal((run.status, len(run.out)), (status, len(plain.out) if way != 'enclosing' else 14), f'{way}: runs as without the library')
        names = [f for f in run.files if f.endswith('.jsonl')]
        paths = sorted(names, key=lambda n: [int(p) for p in n.split('.')[-3:-1]])
        traces = [Trace(f'{run.folder}/work/{p}') for p in paths]
        tap.equal((len(traces), [f for f in run.files if not f.endswith('.jsonl')]), (count, []), f'{way}: so many traces, nothing else left')
        for number, trace in enumerate(traces, 1):
            tap.ok(not trace.violations, f'{way}: trace {number} is valid', '\n'.join(trace.violations[:10]))
        if len(traces) != count:
            sys.exit(1)
        return run.out.decode().split('\n')[:-1], traces, run.err.decode()


def shape(value):
    """A trace without what must differ: times, identities of process and run, addresses, and where the threads of the recorder stood."""
    varies = {'timestamp_ns', 'start_ns', 'duration_ns', 'end_ns', 'tid', 'run_id', 'timestamp', 'pid', 'clock', 'address', 'correlation', 'host',
              'uncertainty_ns', 'overhead_ns', 'threads', 'stack'}
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items() if k not in varies}
    return [shape(v) for v in value] if isinstance(value, list) else value


def repeated():
    shapes = []
    for _ in range(5):
        _, traces, _ = capture('training', 1, range_='train_step', CGTRACE_STEP='10', CGTRACE_TIMING='off', CGTRACE_MEMORY_SAMPLE_MS='0')
        meta, trace = traces[0].meta, traces[0]
        shapes.append('\n'.join(json.dumps(shape(line), sort_keys=True) for line in trace.lines))
        tap.equal((meta['capture_step'], meta['warmup_steps'], meta['correlation_id'], meta['phase']), (10, 9, 'regions/update-10', 'train'),
                  'training: the selected step, those before it, phase')
    tap.ok(len(set(shapes)) == 1, 'training: five runs differ in times and identities alone',
           '\n'.join(difflib.unified_diff(shapes[0].split('\n'), next((s for s in shapes if s != shapes[0]), '').split('\n'), lineterm='', n=0)))
    tap.equal((meta['measured_region_device_synchronized'], meta['timing_mode']), (True, 'host'), 'training: synchronised at both ends')
    region = trace.region
    tap.equal((region['name'], region['source'], region['start_ns'], trace.parent(region), region['enclosing']),
              ('train_step', 'nvtx', 0, 'regions', ['epoch']), 'training: the range is the measured region')
    tap.equal(trace.tree(), [('forward', 'train_step'), ('backward', 'train_step'), ('optimizer', 'train_step')], 'training: what is in it')
    tap.equal(trace.ops(), [('cuMemAlloc', 'forward')] + [('nothing', 'forward')] * 2 + [('nothing', 'backward')] * 3 +
              [('nothing', 'optimizer'), ('cuMemFree', 'train_step')], 'training: operations')
    tap.equal(sorted(trace.memory()[:2]), [('alloc', 512, True), ('alloc', 4096, True)], 'training: the model is there before')
    tap.equal(trace.memory()[2:], [('alloc', 1024, False), ('free', 1024, False)], 'training: activations come and go')
    tap.ok(all(m['timestamp_ns'] == 0 and trace.spans[m['span_id']].get('parent_id') is None for m in trace.kind('memory')[:2]),
           'training: what is there before is there at time 0, under the root')
    tap.equal([trace.meta['capture_contract'][k] for k in ('operations', 'logical_memory')], ['complete', 'complete'], 'training: coverage')


def six():
    _, traces, err = capture('training', 6, range_='train_step', CGTRACE_STEP='10-14,20', CGTRACE_QUIET=None)
    tap.equal([t.meta['capture_step'] for t in traces], [10, 11, 12, 13, 14, 20], 'six: each selected occurrence')
    tap.ok(err.count('\n') == 1 and '.*.jsonl: 6 traces, ' in err and 'cg-analyze overview ' in err and 'occurred' not in err,
           'six: one line, with their number and the pattern of their names', err)


def tools():
    with Run([REGIONS, 'training'], CGTRACE_RANGE='train_step', CGTRACE_STEP='3,5') as run:
        for path in run.traces:
            for command in (['overview', path], ['import', path, '--output', f'{path}.bundle']):
                done = subprocess.run([ANALYZE, *command], capture_output=True, text=True)
                tap.ok(done.returncode == 0, f'cg-analyze {command[0]} of a region', done.stderr)


def nested():
    _, traces, _ = capture('nested', 2, CGTRACE_STEP='1,4')
    first, second = traces
    # occurrence 1 holds the second, of its own thread, and the third, of another
    tap.equal(sorted(first.tree()), [('step', 'regions'), ('step', 'step')], 'nested: inner ones are ordinary spans, of another thread under the root')
    tap.equal((len(first.ops()), len(second.ops()), second.meta['capture_step']), (3, 4, 4), 'nested: they are counted')
    _, traces, err = capture('nested', 1, CGTRACE_STEP='1-2', CGTRACE_QUIET=None)
    tap.ok('range step occurred 4 times, 1 of 2 selected ones captured' in err, 'nested: a selected one inside another is not captured, and said', err)


def other_thread():
    _, traces, _ = capture('other-thread', 1)
    trace = traces[0]
    tap.equal(trace.tree(), [('waiting', 'regions'), ('forward', 'waiting')], 'other thread: ranges of a thread that does nothing')
    for name in ('waiting', 'forward'):
        span = trace.one(name)
        tap.equal((span['clipped'], span['end_clipped'], span['start_ns'], span['end_ns'] >= trace.region['end_ns']), ('both', 'both', 0, True),
                  f'other thread: {name} is cut at both ends')
    tap.equal((trace.one('forward').get('step'), 'enclosing' in trace.region), ('forward', False), 'other thread: step; nothing encloses the region')


def clipped():
    _, traces, _ = capture('clipped', 1)
    trace = traces[0]
    tap.equal(trace.tree(), [('open before', 'regions'), ('open behind', 'open before'), ('not ended', 'regions')], 'clipped: tree')
    before, behind, left = (trace.one(n) for n in ('open before', 'open behind', 'not ended'))
    tap.equal((before.get('clipped'), before['end_clipped'], before['start_ns']), ('start', None, 0), 'clipped: open before')
    tap.equal((behind.get('clipped'), behind['end_clipped']), (None, None), 'clipped: inside of it')
    tap.equal((left.get('clipped'), left['end_clipped']), (None, 'end'), 'clipped: not ended in the region')
    tap.equal(trace.ops(), [('nothing', 'open before')], 'clipped: what came before the region is not in it')


def enclosing():
    out, traces, _ = capture('enclosing', 1)
    trace = traces[0]
    tap.equal(out, ['1', '0', '2', '0', '1', '0', '1'], 'enclosing: levels')
    tap.equal(trace.region['enclosing'], ['outermost', 'of the library', 'inner'], 'enclosing: names, outermost first')
    tap.equal(trace.tree(), [('longer', 'step'), ('outlives', 'step')], 'enclosing: they are no spans')
    outlives = trace.one('outlives')
    tap.equal((outlives['end_clipped'], outlives['end_ns'], trace.region['end_clipped']), ('end', trace.region['end_ns'], None),
              'enclosing: what outlives the region ends with it')
    tap.equal((trace.ops(), trace.gap('unknown_span_ends')), ([('nothing', 'step'), ('nothing', 'longer')], 0), 'enclosing: operations; no end is unknown')


def started():
    _, traces, _ = capture('started', 2, CGTRACE_STEP='1-2')
    first, second = traces
    tap.equal(first.tree(), [('pushed', 'step'), ('before', 'regions'), ('behind', 'regions')], 'started: tree; the region is there once')
    tap.equal(first.region['enclosing'], ['around'], 'started: what was pushed around it')
    tap.equal([(first.one(n).get('clipped'), first.one(n)['end_clipped']) for n in ('pushed', 'before', 'behind')],
              [(None, 'end'), ('start', 'start'), ('end', 'end')], 'started: cut ranges')
    tap.equal((first.ops(), second.ops(), second.tree()), ([('nothing', 'step'), ('nothing', 'pushed')], [('nothing', 'step')], []),
              'started: ended by another thread, and by its own')


def storages():
    _, traces, _ = capture('storages', 2, CGTRACE_STEP='1,2')
    first, second = (t.memory() for t in traces)
    tap.equal((sorted(first[:4]), first[4:]), ([('alloc', n, True) for n in (100, 200, 300, 400)], [('free', 100, False), ('alloc', 500, False)]),
              'storages: freed inside, kept, made inside')
    tap.equal((sorted(second[:3]), second[3:]), ([('alloc', n, True) for n in (300, 400, 500)], [('free', 300, False), ('free', 500, False)]),
              'storages: those freed between, or with their context, are gone')


def straddling():
    _, traces, _ = capture('straddling', 2, CGTRACE_STEP='1,2', CGTRACE_SYNC='off')
    tap.equal([t.gap('straddling_calls') for t in traces], [1, 0], 'straddling: a call under way at the end is counted')
    tap.equal([len([o for o in t.ops() if o[0] == 'cuStreamSynchronize']) for t in traces], [1, 0], 'straddling: it is in neither trace')
    tap.equal([t.meta['capture_contract']['operations'] for t in traces], ['complete', 'complete'], 'straddling: it lowers no coverage')
    tap.equal([t.meta['measured_region_device_synchronized'] for t in traces], [False, False], 'straddling: not synchronised, as asked')


def borders():
    for sync, both in (('both', True), ('start', False), ('end', False), ('off', False)):
        _, traces, _ = capture('nested', 1, CGTRACE_SYNC=sync)
        tap.equal((traces[0].meta['measured_region_device_synchronized'], traces[0].meta['timing_mode']), (both, 'host'), f'CGTRACE_SYNC={sync}')
    _, traces, _ = capture('capture', 2, CGTRACE_STEP='1-2')
    tap.equal([t.meta['measured_region_device_synchronized'] for t in traces], [False, True],
              'stream capture: no waiting while a stream is captured, and the region says so')
    _, traces, _ = capture('host-function', 2, CGTRACE_STEP='1-2')
    tap.equal([t.meta['measured_region_device_synchronized'] for t in traces], [False, True],
              'host function: no waiting for the device inside of it, and the region says so')


def killed():
    with Run([REGIONS, 'killed'], CGTRACE_RANGE='step') as run:
        tap.equal((run.status, sorted(f.rsplit('.', 1)[1] for f in run.files)), (-9, ['cgt', 'part']), 'killed: by SIGKILL, two files are left')
        capture_file = next(f'{run.folder}/work/{f}' for f in run.files if f.endswith('.cgt'))
        done = subprocess.run([ANALYZE, 'recover', capture_file], capture_output=True, text=True)
        tap.ok(done.returncode == 0, 'killed: recovered', done.stderr)
        trace = Trace(capture_file[:-4] + '.jsonl' if os.path.exists(capture_file[:-4] + '.jsonl') else capture_file[:-4])
        tap.ok(not trace.violations, 'killed: the trace is valid', '\n'.join(trace.violations[:10]))
        tap.equal((trace.terminal['outcome'], trace.region['name'], trace.region['enclosing'], trace.tree()),
                  ('failed', 'step', ['around'], [('inside', 'step')]), 'killed: the region and what is in it')
        tap.equal((trace.memory(), trace.ops()), ([('alloc', 100, True)], [('nothing', 'inside')]), 'killed: what was alive, what was done')
        done = subprocess.run([ANALYZE, 'overview', trace_path(run)], capture_output=True, text=True)
        tap.ok(done.returncode == 0, 'killed: overview', done.stderr)


def trace_path(run):
    return next(f'{run.folder}/work/{f}' for f in os.listdir(f'{run.folder}/work') if f.endswith('.jsonl'))


def endings():
    _, traces, err = capture('exits', 1, status=5, CGTRACE_QUIET=None)
    trace = traces[0]
    tap.equal((trace.terminal['outcome'], trace.terminal['end'], trace.region['end_clipped'], trace.one('inside')['end_clipped']),
              ('complete', 'exit', 'end', 'end'), 'exit inside the region: cut there, complete')
    tap.ok(err.count('\n') == 1 and '1 records' not in err and 'next: cg-analyze overview' in err, 'exit inside the region: one line', err)
    _, traces, _ = capture('thread-ends', 2, CGTRACE_STEP='1-2')
    tap.equal([(t.terminal['end'], t.region['end_clipped'], t.meta['measured_region_device_synchronized']) for t in traces],
              [('thread', 'end', False), ('region', None, True)], 'a thread that ends ends its region, and another one may begin')
    if THREAD_SANITIZED:
        tap.skip('a program that ends with its last thread', 'the sanitizer has a thread that does not end')
        return
    _, traces, _ = capture('last-thread', 1, SIM_KERNELS=None)
    tap.equal(len(traces[0].ops()), 5, 'a program that ends with its last thread, behind the region')


def forked():
    if SANITIZED:
        tap.skip('fork inside a region', 'the child waits for ever where another thread was within the allocator of the sanitizer')
        return
    _, traces, _ = capture('forked', 3, CGTRACE_STEP='1-3')
    parent = next(t.meta['pid'] for t in traces if t.meta['capture_step'] == 1)
    tap.equal(sorted((t.meta['capture_step'], t.meta['pid'] == parent, t.tree()) for t in traces),
              [(1, True, []), (2, True, []), (3, False, [('in the child', 'step')])], 'fork inside a region: the child counts on, and captures its own')


def domains():
    for name, count, launches in (('step', 2, [1, 2]), ('library/step', 1, [2]), ('library/other', 1, [0])):
        _, traces, _ = capture('domains', count, range_=name, CGTRACE_STEP=f'1-{count}')
        tap.equal([len(t.ops()) for t in traces], launches, f'CGTRACE_RANGE={name}')
    tap.equal(traces[0].region['domain'], 'library', 'the region has its domain')


def never():
    for name, step, want in (('nowhere', None, 'cgtrace: range nowhere occurred 0 times; nothing captured\n'),
                             ('other', '2', 'cgtrace: range other occurred 1 time; nothing captured\n'),
                             ('two\nlines\x1b[1m', None, 'cgtrace: range two\\x0alines\\x1b[1m occurred 0 times; nothing captured\n')):
        _, _, err = capture('nothing', 0, range_=name, CGTRACE_STEP=step, CGTRACE_QUIET=None)
        tap.equal(err, want, f'{name!r}: a range that did not come is told in one line')
    _, _, err = capture('nothing', 0, range_='nowhere')
    tap.equal(err, '', 'CGTRACE_QUIET: it is not told')


def usage():
    for more, word in (({'CGTRACE_STEP': '2'}, 'CGTRACE_STEP: 2 is not allowed; allowed: only with CGTRACE_RANGE, whose occurrences it selects'),
                       ({'CGTRACE_RANGE': 'step', 'CGTRACE_STEP': '0-3'}, 'CGTRACE_STEP: 0-3 is not allowed'),
                       ({'CGTRACE_RANGE': 'step', 'CGTRACE_STEP': '5-3'}, 'CGTRACE_STEP: 5-3 is not allowed'),
                       ({'CGTRACE_RANGE': 'step', 'CGTRACE_SYNC': 'yes'}, 'CGTRACE_SYNC: yes is not allowed; allowed: both|start|end|off'),
                       ({'CGTRACE_ENTRYPOINT': ' \t'}, 'CGTRACE_ENTRYPOINT:  \\x09 is not allowed; allowed: text that is not blank')):
        with Run([REGIONS, 'nested'], CGTRACE_QUIET=None, **more) as run:
            err = run.err.decode()
            tap.ok(run.status == 0 and not run.traces and err.count('\n') == 1 and word in err, f'{more}: one line, unprofiled', err)


def names():
    with Run([REGIONS, 'nested'], CGTRACE_RANGE='step', CGTRACE_STEP='1,4', CGTRACE_OUTPUT='out/t-%n.jsonl', RANK='3') as run:
        tap.equal(sorted(os.listdir(f'{run.folder}/work/out')), ['t-1.jsonl', 't-2.jsonl'], '%n is the number of the capture')
    with Run([REGIONS, 'nested'], CGTRACE_RANGE='step', CGTRACE_STEP='1,4', CGTRACE_OUTPUT='t.jsonl') as run:
        tap.equal(run.files, ['t.1.jsonl', 't.jsonl'], 'without it a name that exists gets a number')


for test in (repeated, six, tools, nested, other_thread, clipped, enclosing, started, storages, straddling, borders, killed, endings, forked, domains, never,
             usage, names):
    test()
tap.done()
