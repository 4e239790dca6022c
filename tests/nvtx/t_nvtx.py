#!/usr/bin/env python3
"""NVTX ranges in traces: what the programs of ranges.c did, worked out by hand, against the spans of their traces. Every trace is valid."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, THREAD_SANITIZED, Run  # noqa: E402

RANGES, PLUGIN, TOOL = (f'{BUILD}/tests/nvtx/{name}' for name in ('ranges', 'plugin.so', 'tool.so'))


class Spans:
    """The spans of a trace but the session's own two, in the order of their lines."""

    def __init__(self, path):
        self.violations = check(path)
        self.names, self.of, self.list = {}, {}, []
        with open(path, encoding='utf-8') as file:
            for line in map(json.loads, file):
                if line['kind'] == 'span_start' and line.get('source') == 'nvtx':
                    self.list.append(line)
                    self.of[line['id']] = line
                elif line['kind'] == 'span_end' and line['id'] in self.of:
                    self.of[line['id']].update(duration_ns=line['duration_ns'], end_tid=line.get('tid'), end_clipped=line.get('clipped'))
                elif line['kind'] == 'terminal':
                    self.terminal = line
                elif line['kind'] == 'meta':
                    self.meta = line
        self.end = self.terminal['timestamp_ns']

    def named(self, name):
        return [span for span in self.list if span['name'] == name]

    def one(self, name):
        found = self.named(name)
        return found[0] if len(found) == 1 else {'missing': f'{len(found)} spans named {name}'}

    def parent(self, span):
        """Name of the span around; None for the measured region."""
        return self.of[span['parent_id']]['name'] if span['parent_id'] in self.of else None

    def tree(self):
        return [(span['name'], self.parent(span)) for span in self.list]

    def unmatched(self):
        return self.terminal['coverage']['not_covered']['unknown_span_ends']


def record(way, *words, **more):
    """(what it printed line by line, Spans) of a way that leaves one trace."""
    with Run([RANGES, way, *words], **more) as run, Run([RANGES, way, *words], record=False, **more) as plain:
        tap.equal((run.status, run.err, plain.status, plain.err), (0, b'', 0, b''), f'{way}: runs with and without the library')
        if len(run.traces) != 1:
            tap.ok(False, f'{way}: one trace', (run.files, run.err))
            sys.exit(1)
        spans = Spans(run.traces[0])
        tap.ok(not spans.violations, f'{way}: a valid trace', '\n'.join(spans.violations[:10]))
        tap.equal(spans.terminal['lost']['total'], 189 if way == 'deep' else 0, f'{way}: what is lost')
        return run.out.decode().split('\n')[:-1], spans


def pick(span, *keys):
    return {key: span.get(key) for key in keys}


def nested():
    out, spans = record('nested')
    tap.equal(out, ['0', '1', '2', '2', '1', '0'], 'nested: levels')
    tap.equal(spans.tree(), [('outer', None), ('trainer/update-000000000010/forward', 'outer'),
                             ('wide é😀', 'trainer/update-000000000010/forward')], 'nested: tree, wide names')
    tap.equal([span.get('step') for span in spans.list], [None, 'forward', None], 'nested: the step of the last part of the name')
    tap.ok(all('clipped' not in span and span['end_clipped'] is None for span in spans.list), 'nested: nothing is clipped')
    tap.equal(spans.meta['phase'], 'infer', 'nested: forward alone is inference')


def attributes():
    out, spans = record('attributes')
    tap.equal(out, ['1', '0', '0', '0', '0', '0', '0'], 'attributes: levels are counted by domain')
    keys = 'domain', 'category', 'color', 'payload'
    tap.equal(pick(spans.one('all of it'), *keys), {'domain': None, 'category': 'loading', 'color': 0xff8040c0, 'payload': 2**64 - 1},
              'attributes: category, colour, a payload of 64 bits')
    tap.equal(pick(spans.one('registered'), *keys), {'domain': 'library', 'category': 'other loading', 'color': 0xff8040c0, 'payload': -0.1},
              'attributes: domain, its own category, registered string, a real payload')
    tap.equal(pick(spans.one('signed'), *keys), {'domain': 'wide é', 'category': '9', 'color': None, 'payload': -5},
              'attributes: wide domain, category without a name, a negative payload')
    tap.equal(pick(spans.one('not finite'), 'payload', 'duration_ns'), {'payload': None, 'duration_ns': 0},
              'attributes: a payload that JSON cannot hold is absent; a mark has no length')
    tap.equal(spans.parent(spans.one('not finite')), 'signed', 'attributes: a mark belongs to the innermost range')
    tap.equal([(span['duration_ns'], spans.parent(span)) for span in spans.named('mark') + spans.named('wide mark')], [(0, None)] * 2,
              'attributes: marks of both forms')
    tap.equal([pick(span, 'domain', 'duration_ns')['domain'] for span in spans.named('')], ['library', None], 'attributes: NULL is the empty name')
    raw = spans.one('bytes \ufffd"\n')
    tap.equal(raw.get('name_raw'), b'bytes \xff"\n'.hex(), 'attributes: bytes that are no UTF-8')


def crossing():
    out, spans = record('crossing')
    tap.equal(out, ['1', '0', '2', '1', '0', '1'], 'crossing: levels, and a pop too many')
    # a1 (b1 (a2 (forward))); a2 is popped: forward goes on beside it, under b1, then b3; a1 is popped: b1, forward, b3 go on under the region.
    tap.equal(spans.tree(), [('a1', None), ('b1', 'a1'), ('a2', 'b1'), ('forward', 'a2'), ('forward', 'b1'), ('b3', 'forward'),
                             ('b1', None), ('forward', 'b1'), ('b3', 'forward')], 'crossing: tree')
    continued = [(span['name'], spans.of[span['continues']]['name']) for span in spans.list if 'continues' in span]
    tap.equal(continued, [(name, name) for name in ('forward', 'b1', 'forward', 'b3')], 'crossing: what goes on says what it was')
    parts = spans.named('forward')
    tap.ok(all(a['start_ns'] + a['duration_ns'] == b['start_ns'] and b['continues'] == a['id'] for a, b in zip(parts, parts[1:])),
           'crossing: the parts of a range follow without a gap', parts)
    tap.equal({span.get('step') for span in parts}, {'forward'}, 'crossing: every part has the step')
    tap.equal(spans.unmatched(), 1, 'crossing: the pop too many is counted')


def unmatched():
    out, spans = record('unmatched')
    tap.equal(out, ['1', '1', '1'], 'unmatched: pops without a push answer below 0')
    tap.equal((spans.tree(), spans.unmatched()), ([('one', None)], 4), 'unmatched: pops and an end are counted, nothing else changes')
    tap.equal(spans.terminal['outcome'], 'complete', 'unmatched: the trace is complete')


def beside_spans():
    out, spans = record('beside')
    off, blank, too_big = '1', '-2', '-3'  # of cgtrace.h
    tap.equal(out[:2], [off, '0'], 'beside: no span is 0, and the range that is open stays so')
    tap.equal(out[2:], [blank, blank] * 2 + [too_big, too_big], 'beside: texts that NVTX takes stay refused as names of spans and of scalars')
    tap.equal((len(spans.list), spans.unmatched()), (4, 0), 'beside: the ranges alone, each with its pop')


def left_open():
    _, spans = record('open')
    tap.equal(sorted(span['name'] for span in spans.list), ['left by its thread', 'never ended', 'never popped', 'nor this'], 'open: all are there')
    tap.ok(all(span['end_clipped'] == 'end' for span in spans.list), 'open: all are marked as clipped', spans.list)
    tap.ok(all(span['start_ns'] + span['duration_ns'] == spans.end for name in ('never popped', 'nor this') for span in spans.named(name)),
           'open: what was not popped ends with the session')
    tap.equal(spans.parent(spans.one('nor this')), 'never popped', 'open: nesting holds')
    tap.ok(spans.one('left by its thread')['tid'] != spans.one('never popped')['tid'], 'open: of two threads')


def deep():
    out, spans = record('deep')
    tap.equal(out, ['1 1'], 'deep: 700 levels are counted, also those that are not recorded')
    coverage = spans.terminal['coverage']['span']
    tap.equal((len(spans.list), coverage['lost'], coverage['seen']), (512, 189, 701), 'deep: 512 recorded, the others counted')


def started():
    out, spans = record('started')
    tap.equal(out, ['1', '1'], 'started: numbers are unique, also after an end')
    tap.equal(sorted(spans.tree()), sorted([('pushed', None), ('handed over', None), ('kept', None), ('in a domain', None), ('new number', None)]),
              'started: such ranges hang under the region, whatever is pushed')
    over = spans.one('handed over')
    tap.ok(over['tid'] == spans.one('pushed')['tid'] and over['end_tid'] not in (None, over['tid']), 'started: ended on another thread', over)
    pushed = spans.one('pushed')
    tap.ok(over['start_ns'] >= pushed['start_ns'] and over['start_ns'] + over['duration_ns'] > pushed['start_ns'] + pushed['duration_ns'],
           'started: may overlap what is pushed')
    tap.equal((spans.one('in a domain').get('domain'), spans.unmatched()), ('library', 1), 'started: domain; the second end is counted')
    tap.equal(pick(spans.one('new number'), 'clipped', 'end_clipped'), {'clipped': 'end', 'end_clipped': 'end'}, 'started: never ended is clipped')


def threads():
    if THREAD_SANITIZED:
        tap.skip('threads', 'the header of NVTX reads its functions without a barrier while another thread sets them, as it is meant to')
        return
    _, spans = record('threads', CGTRACE_OVERFLOW='block')
    names = [span['name'] for span in spans.list]
    tap.equal({name: names.count(name) for name in set(names)}, {'step': 8000, 'inner': 16000, 'mark': 8000, 'async': 8000},
              'threads: every range of four threads, inner ones in two parts')
    tap.equal((len({span['tid'] for span in spans.list}), spans.unmatched()), (4, 0), 'threads: of four threads, all matched')
    tap.equal({(span['name'], spans.parent(span)) for span in spans.list},
              {('step', None), ('inner', 'step'), ('inner', None), ('mark', 'inner'), ('async', None)}, 'threads: no range under another thread\'s')


def forked():
    if THREAD_SANITIZED:
        tap.skip('forked', 'the sanitizer has no threads in a child of several threads')
        return
    with Run([RANGES, 'forked']) as run:
        traces = [Spans(path) for path in run.traces]
        tap.equal([v for spans in traces for v in spans.violations], [], 'forked: valid traces')
        found = sorted([(span['name'], span.get('domain')) for span in spans.list] for spans in traces)
        tap.equal(found, [[("child's", 'library')], [("parent's", 'library')]], 'forked: each has its own, with the domain made before the fork')


def forked_inside():
    with Run([RANGES, 'forked-inside'], CGTRACE_RING_BYTES='1M') as run:
        tap.equal((run.status, run.err), (0, b''), 'forked inside: runs')
        tap.equal([v for path in run.traces for v in check(path)], [], 'forked inside: every trace is valid, whatever call a child ends for its parent')
        spans = Spans(max(run.traces, key=os.path.getsize))
        tap.equal((spans.terminal['coverage']['span']['seen'], spans.unmatched()), (int(run.out), 0), 'forked inside: the parent has its own ranges, no more')


def plugin():
    if SANITIZED:
        tap.skip('plugin: hidden, RTLD_LOCAL and RTLD_DEEPBIND', 'sanitizers refuse RTLD_DEEPBIND')
        return
    out, spans = record('plugin', PLUGIN)
    tap.equal(out, ['2', '0'], 'plugin: levels over two copies of NVTX')
    tap.equal(spans.tree(), [('program', None), ('plugin', 'program'), ('plugin/inner', 'plugin')], 'plugin: hidden, RTLD_LOCAL and RTLD_DEEPBIND')


def tool():
    with Run([RANGES, 'tool'], NVTX_INJECTION64_PATH=TOOL) as run, Run([RANGES, 'tool'], record=False, NVTX_INJECTION64_PATH=TOOL) as plain:
        tap.ok(b'tool init\n' in plain.out and b'tool push pushed\n70\n' in plain.out, 'tool: the tool works by itself', plain.out)
        ours = run.out.split(b'\n')
        theirs = plain.out.split(b'\n')
        # The tool has no function for a pop in a domain: NVTX answers -2 without us, we the level.
        tap.equal(sum(line == b'-2' for line in theirs), 1, 'tool: one answer that the tool does not give')
        tap.equal([line for line in ours if line != b'0'], [line for line in theirs if line != b'-2'], 'tool: the program and the tool see the same')
        spans = Spans(run.traces[0])
        tap.equal(spans.violations, [], 'tool: a valid trace')
        tap.equal([(s['name'], s.get('domain'), spans.parent(s)) for s in spans.list],
                  [('pushed', None, None), ('registered', 'library', 'pushed'), ('started', None, None)], 'tool: all of it is recorded as well')
        tap.equal(spans.unmatched(), 0, 'tool: all is matched')


def inherited():
    """A program that inherits the variable without LD_PRELOAD: the library is loaded by NVTX, and is only a way to the tool."""
    library = f'{BUILD}/libcgtrace.so'
    with Run([RANGES, 'nested'], record=False, NVTX_INJECTION64_PATH=library) as run, Run([RANGES, 'nested'], record=False) as plain:
        tap.equal((run.status, run.out, run.err, run.files), (0, plain.out, plain.err, plain.files), 'inherited: without LD_PRELOAD nothing happens')
    with Run([RANGES, 'tool'], record=False, NVTX_INJECTION64_PATH=library, CGTRACE_NVTX_NEXT=TOOL) as run, \
            Run([RANGES, 'tool'], record=False, NVTX_INJECTION64_PATH=TOOL) as plain:
        tap.equal((run.status, run.out), (0, plain.out), 'inherited: the tool behind works as without us')


def names():
    out, spans = record('streams')
    given = {(n['kind'], n['id']): n['name'] for n in spans.meta.get('names', [])}
    tap.equal(given, {('stream', 'stream:1'): 'copies', ('device', 'cuda:0'): 'the first', ('thread', out[0]): 'main "loop"'},
              'names: of streams, devices and threads; the last one counts')


def phases(spans):
    """Names and steps of the spans, and the shape of their tree."""
    return {(span['name'].split('/')[0], span.get('step'), (spans.parent(span) or '').split('/')[0]) for span in spans.list}


TRAINING = {('train_step', None, ''), ('forward', 'forward', 'train_step'), ('backward', 'backward', 'train_step'),
            ('optimizer', 'optimizer', 'train_step')}


def examples():
    with Run([f'{BUILD}/examples/trainer_nvtx', '20'], SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so') as run, \
            Run([f'{BUILD}/examples/trainer', '20'], record=False, SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so') as plain:
        tap.equal((run.status, run.out, run.err), (0, plain.out, b''), 'trainer_nvtx: computes what the trainer does')
        spans = Spans(run.traces[0])
        tap.equal(spans.violations, [], 'trainer_nvtx: a valid trace')
        tap.equal((phases(spans), len(spans.list), spans.meta['phase']), (TRAINING, 80, 'train'), 'trainer_nvtx: 20 steps of three parts; a training run')
    script = os.path.join(HERE, '..', '..', 'examples', 'nvtx_ctypes.py')
    with Run([sys.executable, script, '3']) as run:
        if run.status == 77:
            tap.skip('nvtx_ctypes', run.err.decode().strip())
            return
        tap.equal((run.status, run.out), (0, b'3 steps\n'), 'nvtx_ctypes: runs')
        spans = Spans(run.traces[0])
        tap.equal((spans.violations, phases(spans), len(spans.list)), ([], TRAINING, 12), 'nvtx_ctypes: 3 steps of three parts, from the toolkit\'s library')


def nothing():
    for name, more in (('domains and names alone', {}), ('CGTRACE_DISABLE=1', {'CGTRACE_DISABLE': '1'}),
                       ('CGTRACE_RECORD without span', {'CGTRACE_RECORD': 'memory,launch'})):
        way = 'nested' if more else 'none'
        with Run([RANGES, way], **more) as run, Run([RANGES, way], record=False) as plain:
            tap.equal((run.status, run.out, run.files), (0, plain.out, plain.files), f'{name}: no session, and NVTX without a tool')


def main():
    for part in (nested, attributes, crossing, unmatched, beside_spans, left_open, deep, started, threads, forked, forked_inside, plugin, tool, inherited, names, examples, nothing):
        part()
    tap.done()


if __name__ == '__main__':
    main()
