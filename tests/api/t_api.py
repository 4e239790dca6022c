#!/usr/bin/env python3
"""The API of cgtrace.h: what the programs of calls.c told, worked out by hand, against what their traces say, field by field; each mistake
against its error, and that it left nothing behind."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import check_trace  # noqa: E402
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, THREAD_SANITIZED, Run, preload  # noqa: E402

CALLS = f'{BUILD}/tests/api/calls'
ANALYZE = f'{BUILD}/cg-analyze'
U64_MAX = 2**64 - 1
(OK, OFF, LOST, NULL, BLANK, TOO_BIG, VALUE, TIME, NOT_OPEN, THREAD, ORDER, PARENT, MEASURED, STORAGE, UNKNOWN, FULL, RUN, IDENTITY, LABELS,
 GRADIENTS, BUSY, NO_SESSION, OPEN_SPANS, IO) = (0, 1, 2, *range(-1, -22, -1))


def results(out):
    """What was printed: [(what, result)] in order."""
    return [(line[:line.rindex(' ')], int(line[line.rindex(' ') + 1:])) for line in out.decode(errors='replace').splitlines()
            if re.search(r' -?\d+$', line)]


def lines_of(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


class Trace:
    def __init__(self, path):
        self.violations = check(path)
        self.lines = lines_of(path)
        self.meta, self.terminal = self.lines[0], self.lines[-1]
        self.spans = {line['id']: line for line in self.lines if line['kind'] == 'span_start'}
        for line in self.of('span_end'):
            self.spans[line['id']]['duration_ns'] = line['duration_ns']

    def of(self, kind):
        return [line for line in self.lines if line['kind'] == kind]

    def api_spans(self):
        return [span for span in self.spans.values() if span.get('source') == 'api']

    def name(self, span_id):
        return self.spans[span_id]['name']

    def one(self, name):
        found = [span for span in self.spans.values() if span['name'] == name]
        return found[0] if len(found) == 1 else {'missing': f'{len(found)} spans named {name}'}


def without(line, *keys):
    return {key: value for key, value in line.items() if key not in ('kind', 'span_id', 'tid', *keys)}


def record(command, name, **more):
    """A run that leaves one trace; (results, Trace)."""
    with Run(command, **more) as run:
        tap.equal((run.status, run.err), (0, b''), f'{name}: runs')
        if not tap.ok(len(run.traces) == 1, f'{name}: one trace', run.files):
            tap.done()
        trace = Trace(run.traces[0])
        tap.ok(not trace.violations, f'{name}: valid', '\n'.join(trace.violations[:10]))
        tap.equal(trace.terminal['lost']['total'], 0, f'{name}: nothing lost')
        return run.out, trace


# ---- what each function leaves in a trace ----


def check_spans(out, trace):
    got = [(s['name'], s['span_kind'], s.get('step'), s['measured'], trace.name(s['parent_id'])) for s in trace.api_spans()]
    tap.equal(got[:5], [('train_step', 'function', None, False, 'process'), ('encoder', 'module', 'forward', False, 'train_step'),
                        ('forward', 'op', None, False, 'encoder'), ('trainer/update-10/backward', 'function', 'backward', False, 'train_step'),
                        ('loading', 'function', None, False, 'process')], 'spans: name, kind, step, parent')
    loading = trace.one('loading')
    start = int(re.search(rb'loading_start (\d+)', out)[1])
    tap.equal((loading['start_ns'], loading['duration_ns']), (start, 1000), 'a completed span: the very times that were given')
    edges = [(trace.name(e['from_span']), trace.name(e['to_span']), e['host_duration_ns'] == trace.spans[e['to_span']]['duration_ns'])
             for e in trace.of('edge') if e['edge_kind'] == 'call']
    tap.equal(edges, [('encoder', 'forward', True), ('train_step', 'encoder', True)], 'call edges: along the hierarchy, with the duration')


def check_tensors(out, trace):
    start = int(re.search(rb'matmul_start (\d+)', out)[1])
    tensors = trace.of('tensor')
    tap.equal([without(t) for t in tensors],
              [dict(tensor_id='tensor:1', label='input', shape=[2, 3], dtype='f32', device='cuda:1', requires_grad=False, dense_bytes=24,
                    category='optimizer'),
               dict(tensor_id='tensor:2', shape=[], dtype='q4', device='cpu', requires_grad=True, dense_bytes=77, category='parameter')],
              'tensors: every field; category from the step, footprint from shape and type')
    ops = trace.of('op')
    tap.equal(without(ops[0]), dict(op_name='matmul', inputs=['tensor:1', 'tensor:2'], output='tensor:3', shape=[2, 3], dtype='bf16',
                                    device='cuda:1', duration_ns=400, timestamp_ns=start, output_dense_bytes=12, input_dense_bytes=101),
              'an operation: every field')
    tap.equal(without(ops[1], 'timestamp_ns'), dict(op_name='print', inputs=[], shape=[], dtype='unknown', device='cpu', duration_ns=0,
                                                    input_dense_bytes=0), 'an operation of which only the name is known')
    tap.equal({trace.name(r['span_id']) for r in tensors + ops}, {'optimizer'}, 'tensors and operations belong to the innermost span')
    tap.equal([without(e, 'edge_kind') for e in trace.of('edge') if e['edge_kind'] == 'data'],
              [dict(from_tensor='tensor:1', to_tensor='tensor:3'), dict(from_tensor='tensor:2', to_tensor='tensor:3')], 'data edges')


def check_statistics(trace):
    def stats(label, shape, dtype, elements, non_finite, rms, abs_max, mean):
        return dict(label=label, shape=shape, dtype=dtype, elements=elements, non_finite=non_finite, rms=rms, abs_max=abs_max, mean=mean)
    rms = 2.0412414073944092  # sqrt(25/6) as a float
    wanted = [stats('grad/w', [2, 3], 'f16', 6, 1, 0.1, 1e300, -0.0), stats('values', [2, 3], 'f32', 6, 0, rms, 4.0, -0.1666666716337204),
              stats('broken', [2, 3], 'f32', 6, 2, 0.0, 0.0, 0.0), stats('none', [0, 7], 'f32', 0, 0, 0.0, 0.0, 0.0),
              stats('loss', [], 'f64', 1, 0, 2.5, 2.5, -2.5), stats('lost', [], 'f64', 1, 1, 0.0, 0.0, 0.0),
              stats('far', [], 'f64', 1, 1, 0.0, 0.0, 0.0), stats('bytes \ufffd"\n', [], 'f64', 1, 0, 0.0, 0.0, 0.0)]
    got = [without(line) for line in trace.of('tensor_stats')]
    tap.equal(got, wanted, 'statistics: every field; of values, of numbers, of what is not finite')
    tap.equal(repr(got[0]['mean']), '-0.0', 'statistics: the sign of zero is kept')


def check_storages(trace):
    def memory(action, tensor, device, size, op, shape, dtype, category):
        line = dict(storage_id='framework:7', tensor_id=f'tensor:{tensor}', device=device, bytes=size, action=action, shape=shape, dtype=dtype,
                    category=category)
        return dict(line, op_name=op) if op else line
    alloc = 'alloc', 'free'
    got = [without(m, 'timestamp_ns') for m in trace.of('memory')]
    tap.equal(got, [memory(alloc[0], 1, 'cuda:1', 24, 'matmul', [2, 3], 'f32', 'gradient'),
                    memory(alloc[0], 2, 'cuda:1', 24, 'matmul', [2, 3], 'f32', 'gradient'),
                    memory(alloc[1], 1, 'cuda:1', 24, None, [], 'f32', 'gradient'),
                    memory(alloc[0], 1, 'cuda:1', 24, 'matmul', [2, 3], 'f32', 'activation'),
                    memory(alloc[0], 1, 'cpu', 8, 'matmul', [2, 3], 'f32', 'other'),
                    memory(alloc[1], 1, 'cuda:1', 24, None, [], 'f32', 'activation')], 'storages: alias, end, the number anew, another device')
    times = [m['timestamp_ns'] for m in trace.of('memory')]
    tap.equal(times, sorted(set(times)), 'storages: each event later than the one before')


def check_devices(trace):
    tap.equal([without(s, 'timestamp_ns') for s in trace.of('device_memory')],
              [dict(device='cuda:1', used_bytes=10, reserved_bytes=0, capacity_bytes=100)], 'a sample: what is unknown is left out')
    intervals = trace.of('device_interval')
    tap.equal([without(i) for i in intervals],
              [dict(device='cuda:1', stream_id='stream 5', clock_id='cuda:1/events', backend='events', start_ns=18446744073709551000,
                    duration_ns=615, activity='kernel', name='gemm', correlation=9),
               dict(device='cpu', stream_id='s', clock_id='c', backend='b', start_ns=0, duration_ns=1)], 'intervals: every field')
    tap.equal([trace.name(i['span_id']) for i in intervals], ['measured by events', 'process'], 'intervals: of a span that has ended; of none')


def check_gradients(trace):
    tap.equal([without(g) for g in trace.of('gradient')],
              [dict(event_id='gradient-1', root='vb', key='encoder.weight', state='present', norm=0.5),
               dict(event_id='gradient-2', root='vb', key='encoder.bias', state='zero', norm=0.0),
               dict(event_id='gradient-3', root='vb', key='head.weight', state='missing'),
               dict(event_id='gradient-4', root='vb', key='head.bias', state='non_finite')], 'gradients: every state')


def check_meta(trace):
    meta, declared = trace.meta, trace.meta['capture_contract']
    tap.equal(meta['tags'], {'model': 'tiny "2"', 'empty': ''}, 'tags: the last of equal keys counts')
    tap.equal(meta['comparison_identity'],
              dict(workload_id='w', model_id='m"1"', config_id='c', data_id='d', seed_policy='fixed', physical_batch=8, accumulation_steps=2,
                   precision='bf16', device_state='idle', pair_id='p'), 'identity: every field')
    tap.equal((meta['phase'], meta['device']), ('train', 'cuda:1'), 'phase and device follow from what was seen')
    tap.equal({k: v for k, v in declared.items() if not k.endswith('labels')},
              dict(measurement_scope='profiled_work', operations='partial', activations='complete', tensors='complete', gradients='partial',
                   logical_memory='partial', physical_memory='partial', device_timing='partial'), 'contract: declared levels, those that were seen')
    tap.equal({k: v for k, v in declared.items() if k.endswith('labels')},
              dict(required_semantic_labels=['train_step', 'loading'], gpu_expected_semantic_labels=['train_step'],
                   cpu_only_semantic_labels=['loading']), 'contract: labels and their classes')


def check_everything(out, trace):
    check_spans(out, trace)
    check_tensors(out, trace)
    check_statistics(trace)
    check_storages(trace)
    check_devices(trace)
    check_gradients(trace)
    check_meta(trace)


def everything():
    out, trace = record([CALLS, 'everything'], 'everything')
    wrong = [(what, result) for what, result in results(out)
             if result != (1 if 'span_begin' in what or 'span_complete' in what or 'recording' in what else OK) and '_start' not in what]
    tap.equal(wrong, [], 'everything: every call succeeds')
    check_everything(out, trace)
    version = open(os.path.join(ROOT, 'VERSION')).read().strip()
    tap.ok(f'version {version}\n'.encode() in out, "the library's version", out[:40])


# ---- mistakes ----

BEGIN, COMPLETE, END = 'cgtrace_span_begin', 'cgtrace_span_complete', 'cgtrace_span_end'
WRONG_SPANS = [
    (BEGIN, NULL), (BEGIN, BLANK), (BEGIN, BLANK), (BEGIN, TOO_BIG), (BEGIN + '_as', VALUE), (BEGIN + '_as', VALUE),
    ('cgtrace_measured_begin', MEASURED), (BEGIN, 1), (BEGIN, 1), (END, ORDER), ('cgtrace_call_edge', PARENT), (END, OK), (END, NOT_OPEN),
    ('cgtrace_call_edge', NOT_OPEN), (END, NOT_OPEN), (END, OFF), (END, BLANK - 1), (END, THREAD), ('cgtrace_call_edge', THREAD),
    ('cgtrace_now', NULL), ('cgtrace_from_monotonic', NULL), ('cgtrace_from_monotonic', TIME), ('cgtrace_from_monotonic', TIME),
    ('cgtrace_from_monotonic', OK), (COMPLETE, NULL), (COMPLETE, VALUE), (COMPLETE, TIME), (COMPLETE, TIME), (COMPLETE, TIME), (END, OK)]
WRONG_RECORDS = (
    [('cgtrace_op', r) for r in (NULL, NULL, BLANK, TOO_BIG, NULL, TOO_BIG, NULL, TOO_BIG, VALUE, BLANK, TIME, TIME, TIME)] +
    [('cgtrace_tensor', r) for r in (NULL, VALUE, NULL, VALUE, BLANK, TOO_BIG)] +
    [('cgtrace_tensor_stats', r) for r in (NULL, NULL, BLANK, NULL, VALUE, VALUE, VALUE, VALUE, VALUE, VALUE)] +
    [('cgtrace_tensor_values', NULL), ('cgtrace_tensor_values', VALUE), ('cgtrace_scalar', NULL), ('cgtrace_scalar', BLANK)])
WRONG_STORAGES = (
    [('cgtrace_alloc', NULL), ('cgtrace_free', STORAGE), ('cgtrace_alloc', OK), ('cgtrace_alloc', STORAGE), ('cgtrace_alloc', STORAGE),
     ('cgtrace_free', STORAGE), ('cgtrace_free', VALUE), ('cgtrace_free', OK), ('cgtrace_free', STORAGE), ('cgtrace_alloc', VALUE),
     ('cgtrace_alloc', VALUE), ('cgtrace_device_memory', NULL), ('cgtrace_device_memory', VALUE)] +
    [('cgtrace_device_interval', r) for r in (NULL, TIME, TIME, UNKNOWN, NULL)] +
    [('cgtrace_gradient', r) for r in (NULL, BLANK, VALUE, VALUE, VALUE, VALUE, VALUE, VALUE)] +
    [('cgtrace_data_edge', VALUE), ('cgtrace_data_edge', UNKNOWN)])
WRONG_DECLARATIONS = (
    [('cgtrace_tag', r) for r in (NULL, NULL, BLANK, TOO_BIG)] + [('cgtrace_identity', IDENTITY)] * 4 +
    [('cgtrace_contract', r) for r in (LABELS, LABELS, NULL, LABELS, LABELS, LABELS, GRADIENTS, GRADIENTS, GRADIENTS, GRADIENTS, GRADIENTS,
                                       GRADIENTS, GRADIENTS, NULL, GRADIENTS, VALUE, VALUE)])
WRONG_SESSIONS = [('cgtrace_session_begin', NULL), ('cgtrace_session_begin', BUSY), ('cgtrace_gradient', OK), ('cgtrace_capture_explicit_only', BUSY),
                  ('cgtrace_session_finish', NO_SESSION), ('cgtrace_session_fail', NO_SESSION)]
MISUSE = WRONG_SPANS + WRONG_RECORDS + WRONG_STORAGES + WRONG_DECLARATIONS + WRONG_SESSIONS


def compare(got, wanted, name):
    got = [(what.split('(')[0], result) for what, result in got]
    differ = [f'{i}: got {g}, expected {w}' for i, (g, w) in enumerate(zip(got, wanted)) if g != w]
    tap.ok(not differ and len(got) == len(wanted), name, '\n'.join(differ) or f'{len(got)} results, {len(wanted)} expected')


def misuse():
    out, trace = record([CALLS, 'misuse'], 'misuse')
    compare(results(out), MISUSE, 'misuse: each mistake has its error')
    kinds = [line['kind'] for line in trace.lines if line['kind'] not in ('span_start', 'span_end')]
    tap.equal(kinds, ['meta', 'memory', 'memory', 'gradient', 'terminal'], 'misuse: nothing of it is recorded')
    tap.equal([s['name'] for s in trace.api_spans()], ['outer', 'inner'], 'misuse: nor any span')
    tap.equal((trace.meta['tags'], 'comparison_identity' in trace.meta, trace.meta['capture_contract']['required_semantic_labels']),
              ({}, False, []), 'misuse: nothing is declared')
    more = {OFF: 'nothing is recorded', FULL: 'tags', RUN: 'sessions', OPEN_SPANS: 'sessions', IO: 'sessions'}
    tap.equal({*range(-21, 0)} - {value for _, value in MISUSE} - {*more}, set(), 'misuse: every error is seen, here or there')


def tags():
    out, trace = record([CALLS, 'tags'], 'tags', CGTRACE_TAGS='key 1=from the setting,other=2')
    tap.equal([result for _, result in results(out)], [OK] * 64 + [FULL] + [OK] * 3, 'tags: 64, and no more')
    tap.equal(trace.meta['tags'], {'other': '2', **{f'key {i}': 'y' if i == 3 else 'x' for i in range(64)}}, "tags: the program's after the setting's")


def mistaken():
    with Run([CALLS, 'mistaken']) as run:
        compare(results(run.out), [(BEGIN, BLANK), ('cgtrace_scalar', NULL), ('cgtrace_op', NULL), (END, OFF)], 'a first call that is wrong: its error')
        tap.equal((run.status, run.files), (0, []), 'a first call that is wrong: opens nothing')


# ---- threads, ways to be there, and to die ----


def threads():
    _, trace = record([CALLS, 'threads'], 'threads', CGTRACE_OVERFLOW='block', CGTRACE_RING_BYTES='64K')
    count = 8 * 2000
    tap.equal([len(trace.of(kind)) for kind in ('op', 'tensor_stats', 'memory', 'edge')], [count, count, 2 * count, count - 8],
              'threads: every record')
    tap.equal(len(trace.api_spans()), count, 'threads: every span of a block')
    shapes = sorted(tuple(op['shape']) for op in trace.of('op'))
    wanted = sorted(tuple([i, *range(1, 11)][:i % 12 - 1]) if i % 12 else () for i in range(2000) for _ in range(8))
    tap.equal(shapes == wanted, True, 'threads: shapes of every rank, across the ends of rings')
    out, trace = record([CALLS, 'contention'], 'contention', CGTRACE_OVERFLOW='block', CGTRACE_RING_BYTES='64K')
    memory = sorted(trace.of('memory'), key=lambda m: m['timestamp_ns'])
    opened = closed = 0
    live = False
    for m in memory:
        opened += m['action'] == 'alloc' and not live
        closed += m['action'] == 'free'
        live = m['action'] == 'alloc'
    tap.ok(results(out) == [('allocations', sum(m['action'] == 'alloc' for m in memory))] and opened - closed == live,
           'contention: one storage of eight threads begins and ends in turns', (results(out), len(memory)))


def full():
    with Run([CALLS, 'threads'], CGTRACE_OVERFLOW='drop', CGTRACE_RING_BYTES='64K') as run:
        trace = Trace(run.traces[0])
        tap.ok(not trace.violations, 'a full ring that drops: the trace stays valid', '\n'.join(trace.violations[:10]))
        coverage = trace.terminal['coverage']
        tap.equal(run.status, 0, 'a full ring that drops: the program sees no error')
        lost = sum(coverage[f]['lost'] for f in ('api_op', 'api_statistics', 'api_storage', 'api_edge', 'span'))
        tap.equal(lost, trace.terminal['lost']['total'], 'a full ring that drops: the losses are counted')


def ways_in():
    for name, command in (('fixed address', [f'{CALLS}-no-pie']), ('plugin', [f'{BUILD}/tests/api/host', f'{CALLS}.so'])):
        out, trace = record([*command, 'everything'], name)
        check_statistics(trace)
        out, _ = record([*command, 'misuse'], f'{name}, misuse')
        compare(results(out), MISUSE, f'{name}: each mistake has its error')
    for name, command, preload in (('without the library', [CALLS], False), ('static', [f'{CALLS}-static'], True)):
        if preload and SANITIZED:
            tap.skip(f'{name}: nothing happens', 'a static program has no sanitizer')
            continue
        for way in ('everything', 'misuse', 'sessions', 'threads'):
            with Run([*command, way], record=preload) as run:
                tap.equal((run.status, run.err), (0, b''), f'{name}: {way} runs')
                wrong = [(what, result) for what, result in results(run.out) if '_start' not in what and
                         result != (0 if re.search('begin(_as)?[(]|complete|recording', what) and 'session' not in what else OFF)]
                wrong = [w for w in wrong if w != (f'{END}(-3)', OFF)]
                tap.equal((wrong, run.files), ([], []), f'{name}: {way}: every call says that nothing is recorded, and nothing is')


def cplusplus():
    out, trace = record([f'{BUILD}/tests/api/scopes'], 'C++')
    tap.equal(out, b'scalar 0\nop 0\nopen 1\n', 'C++: results')
    tap.equal([(s['name'], s['span_kind'], s.get('step'), trace.name(s['parent_id'])) for s in trace.api_spans()],
              [('outer', 'function', None, 'process'), ('leaves early', 'module', 'backward', 'outer'), ('throws', 'function', None, 'outer'),
               ('handler', 'function', None, 'outer')], 'C++: scopes that are left by return and by an exception')


def killed():
    for name, more in (('killed', {}), ('killed, small ring', dict(CGTRACE_RING_BYTES='64K'))):
        with Run([CALLS, 'killed'], CGTRACE_OUTPUT='t.jsonl', **more) as run:
            tap.equal(run.status, -9, f'{name}: by SIGKILL')
            work = f'{run.folder}/work'
            result = subprocess.run([ANALYZE, 'recover', 't.jsonl.cgt'], cwd=work, capture_output=True, text=True)
            if not tap.equal((result.returncode, result.stderr), (0, ''), f'{name}: recovered'):
                continue
            trace = Trace(f'{work}/t.jsonl')
            tap.equal(trace.violations, [], f'{name}: valid')
            check_spans(run.out, trace)
            check_tensors(run.out, trace)
            last = trace.of('tensor_stats').pop()
            tap.equal((last['label'], last['mean'], trace.name(last['span_id'])), ('last', 4.0, 'open at death'), f'{name}: to the last record')
            trace.lines.remove(last)
            check_statistics(trace)
            check_storages(trace)
            check_devices(trace)
            check_gradients(trace)
            tap.equal({k: trace.meta['capture_contract'][k] for k in ('operations', 'tensors', 'gradients', 'logical_memory')},
                      dict.fromkeys(('operations', 'tensors', 'gradients', 'logical_memory'), 'partial'), f'{name}: levels of a recovered trace')


def data_of(path):
    """Where a sparse file has data: the places of its bytes behind the header, the rings among them."""
    places, at, size = [], 0, os.path.getsize(path)
    with open(path, 'rb') as file:
        while at < size:
            try:
                begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            places.append((begin, os.pread(file.fileno(), at - begin, begin)))
    return places


def damaged():
    """Records in the rings that a broken disk changed: a trace that readers take, or a refusal in one line; never a crash."""
    chance = random.Random(11)
    with Run([CALLS, 'killed'], CGTRACE_OUTPUT='t.jsonl', CGTRACE_RING_BYTES='64K') as run:
        work = f'{run.folder}/work'
        # a slot of a ring: not all zeros, type and number of slots in their ranges
        slots = [begin + i for begin, data in data_of(f'{work}/t.jsonl.cgt') if begin > 1 << 20 for i in range(0, len(data) - 63, 64)
                 if 1 <= data[i + 12] <= 25 and 1 <= data[i + 13] <= 8 and data[i:i + 8] != bytes(8)]
        faults, recovered = [], 0
        with open(f'{work}/t.jsonl.cgt', 'r+b') as file:
            for _ in range(60 if slots else 0):
                place = chance.choice(slots)
                whole = os.pread(file.fileno(), 64, place)
                broken = bytearray(whole)
                for _ in range(chance.choice((1, 2, 12))):
                    broken[chance.randrange(64)] = chance.choice((0, 1, 2, 20, 255, chance.randrange(256)))
                os.pwrite(file.fileno(), broken, place)
                result = subprocess.run([ANALYZE, 'recover', 't.jsonl.cgt', '-o', 'd.jsonl'], cwd=work, capture_output=True, text=True)
                if result.returncode not in (0, 3) or (result.returncode and result.stderr.count('\n') != 1):
                    faults.append(f'status {result.returncode}: {result.stderr[-300:]}')
                if result.returncode == 0:
                    recovered += 1
                    try:
                        check_trace.read(f'{work}/d.jsonl')
                    except check_trace.Rejected as rejected:
                        faults.append(f'{place}: {broken.hex()}: {rejected}')
                os.pwrite(file.fileno(), whole, place)
        tap.ok(len(slots) > 20 and recovered > 20 and not faults, 'damaged records of the API: traces that readers take',
               '\n'.join(faults[:10]) or f'{len(slots)} slots, {recovered} recovered')


def flushed():
    with Run([CALLS, 'flushed'], CGTRACE_OUTPUT='t.jsonl') as run:
        tap.equal((run.status, results(run.out)), (-9, [('cgtrace_flush()', OK)]), 'flush: succeeds')
        with open(f'{run.folder}/work/t.jsonl.part', encoding='utf-8') as file:
            labels = [json.loads(line).get('label') for line in file if line.strip()]
        tap.ok('flushed' in labels, 'flush: what was recorded before is written when it returns', labels)


def forked():
    if THREAD_SANITIZED:
        tap.skip('fork', 'the sanitizer has no threads in a child of several threads')
        return
    with Run([CALLS, 'forked']) as run:
        # the two print in either order: the storage is alive in the parent alone, whose span it is
        got = sorted((what.split('(')[0], result) for what, result in results(run.out))
        tap.equal(got, sorted([('cgtrace_alloc', OK), ('cgtrace_alloc', STORAGE), ('cgtrace_alloc', OK), ('cgtrace_data_edge', UNKNOWN),
                               ('cgtrace_data_edge', UNKNOWN), (END, OK), (END, THREAD)]), 'fork: results')
        traces = [Trace(path) for path in run.traces]
        tap.equal([trace.violations for trace in traces], [[], []], 'fork: two valid traces')
        tap.equal(sorted((len(trace.of('memory')), [s['name'] for s in trace.api_spans()]) for trace in traces), [(1, []), (1, ['parent'])],
                  'fork: each process has its own spans and storages')


def compilers():
    """The header alone, by what there is of compilers, in every edition of the languages that they know."""
    warnings = ['-Wall', '-Wextra', '-Wshadow', '-Wconversion', '-pedantic', '-Werror']
    for language, programs, editions in (('c', ('gcc', 'clang'), ('c11', 'c17', 'gnu17', 'gnu2x')),
                                         ('c++', ('g++', 'clang++'), ('c++11', 'c++14', 'c++17', 'c++20'))):
        for compiler in programs:
            name = f'{compiler} takes the header without a warning: {", ".join(editions)}'
            if not shutil.which(compiler):
                tap.skip(name, f'{compiler} is not installed')
                continue
            faults = [subprocess.run([compiler, '-fsyntax-only', '-x', language, f'-std={edition}', *warnings, f'-I{ROOT}/preload', '-'],
                                     input='#include <cgtrace.h>\nint main(void) { return cgtrace_scalar("x", 1) < 0; }\n', capture_output=True,
                                     text=True).stderr for edition in editions]
            tap.equal(faults, [''] * len(editions), name)


def manual():
    page = f'{BUILD}/man/libcgtrace.3'
    if not shutil.which('mandoc'):
        tap.skip('libcgtrace(3)', 'mandoc is not installed')
        return
    lint = subprocess.run(['mandoc', '-Tlint', '-Wwarning', page], capture_output=True, text=True)
    tap.equal((lint.returncode, lint.stdout), (0, ''), 'libcgtrace(3): what mandoc says of it')
    shown = subprocess.run(['mandoc', '-Tascii', page], capture_output=True, text=True).stdout
    shown = re.sub('.\b', '', shown)
    with open(os.path.join(ROOT, 'preload', 'cgtrace.h'), encoding='utf-8') as file:
        functions = re.findall(r'^    F\((cgtrace_\w+),', file.read(), re.M)
    tap.ok(len(functions) > 25 and all(shown.count(f'{name}(') >= 2 for name in functions), 'libcgtrace(3): every function, its form and its text',
           [name for name in functions if shown.count(f'{name}(') < 2])


def older():
    with Run([CALLS, 'everything'], record=False, LD_PRELOAD=preload(f'{BUILD}/tests/api/older.so')) as run:
        tap.equal(run.status, 0, 'an older library: runs')
        known = {'cgtrace_recording', BEGIN, BEGIN + '_as', END, COMPLETE}
        tap.equal({(what.split('(')[0], result) for what, result in results(run.out) if what.split('(')[0] in known},
                  {('cgtrace_recording', 1), (BEGIN, 1), (BEGIN + '_as', 1), (END, OK), (COMPLETE, 0)}, 'an older library: what it has is called')
        tap.equal({result for what, result in results(run.out) if what.split('(')[0] not in known and '_start' not in what}, {OFF},
                  'an older library: what it lacks does nothing')


# ---- sessions ----

START, FINISH, FAIL = 'cgtrace_session_begin', 'cgtrace_session_finish', 'cgtrace_session_fail'
REQUESTS = [(START, r) for r in (NULL, RUN, RUN, BLANK, NULL, VALUE, NULL, IDENTITY, GRADIENTS, IO)] + [(FINISH, NO_SESSION)]


def one_session(own):
    """The results of one session: the program's own measured region or not."""
    gradients = [('cgtrace_gradient', r) for r in (OK, GRADIENTS, GRADIENTS, OK)]
    return ([(START, OK), (START, BUSY)] + [('cgtrace_measured_begin', 1)] * own + [('cgtrace_measured_begin', MEASURED), (BEGIN, 1), (BEGIN, 1)] +
            gradients + [('cgtrace_free', OK), (FINISH, OPEN_SPANS), (END, OK), (END, OK)] + [(END, OK)] * own + [('cgtrace_alloc', OK), (FINISH, OK)])


def check_session(trace, step, own):
    name = f'session {step}'
    tap.equal(trace.violations, [], f'{name}: valid')
    meta, declared = trace.meta, trace.meta['capture_contract']
    tap.equal((meta['entrypoint'], meta['phase'], meta['capture_step'], meta['warmup_steps'], meta['correlation_id'], meta['tags']),
              ('trainer', 'train', step, step - 1, f'trainer/update-{step}', {'run': '1', 'a': 'b'}), f'{name}: what it was asked for with')
    tap.equal(meta['comparison_identity']['workload_id'], 'w', f'{name}: identity')
    tap.equal((declared['gradients'], declared['gradient_contract']),
              ('complete', dict(manifest_sha256='sha256:7f1983ed6a3b87d5dfb81e8565e7c3177dc21b82be07503396367f7416a18502',
                                expected=[dict(root='vb', key='encoder.weight', family='encoder'), dict(root='vb', key='head.bias', family='head')],
                                families=[dict(family='encoder', expectation='active', min_present=1),
                                          dict(family='head', expectation='inactive', min_present=0)])), f'{name}: manifest and its digest')
    measured = [s for s in trace.spans.values() if s['measured']]
    tap.equal([(s['name'], s.get('source')) for s in measured], [('update' if own else 'region', 'api')], f'{name}: one measured span')
    spans = [(s['name'], trace.name(s['parent_id'])) for s in trace.api_spans() if s not in measured]
    around = 'update' if own else 'region'
    tap.equal(spans, [('epoch', 'trainer')] * own + [('train_step', around), ('loading', 'train_step')], f'{name}: its spans')
    memory = [(m['action'], m['tensor_id'], m['timestamp_ns'] == 0, m.get('preexisting')) for m in trace.of('memory')]
    before = 'tensor:1' if step == 3 else 'tensor:3'
    tap.equal(memory, [('alloc', before, True, True), ('free', before, False, None), ('alloc', f'tensor:{step}', False, None)],
              f'{name}: a storage that is alive at its start, and one at its end')


def sessions():
    with Run([CALLS, 'sessions']) as run:
        tap.equal((run.status, run.err), (0, b''), 'sessions: runs')
        wanted = ([('cgtrace_capture_explicit_only', OK), ('cgtrace_recording', 0), ('cgtrace_scalar', OFF), ('cgtrace_alloc', OFF)] + REQUESTS +
                  [(BEGIN, 1)] + one_session(0) + one_session(1) +
                  [(END, OFF), (START, OK), ('cgtrace_recording', 1), (BEGIN, 1), (FAIL, NULL), (FAIL, BLANK), (FAIL, OK), (FAIL, NO_SESSION), (END, OFF),
                   ('cgtrace_flush', OFF)])
        compare(results(run.out), wanted, 'sessions: results')
        paths = re.findall(rb'^path (.*)$', run.out, re.M)
        if not tap.equal([len(paths), len(run.traces)], [3, 3], 'sessions: three traces'):
            return
        for i, step in enumerate((3, 4)):
            check_session(Trace(paths[i].decode()), step, own=i)
        work = f'{run.folder}/work'
        tap.equal(paths[2].decode(), f'{work}/named.jsonl'[:7], 'sessions: a path is cut where it does not fit')
        last = Trace(f'{work}/named.jsonl')
        tap.equal((last.violations, last.terminal['outcome'], last.terminal['reason'], last.meta['correlation_id'], last.meta['warmup_steps']),
                  ([], 'failed', 'loss is "nan"', 'last/inference-9', 1), 'sessions: one that failed, at a path of its own')


def unmeasured():
    with Run([CALLS, 'unmeasured']) as run:
        compare(results(run.out), [(START, OK), (FINISH, MEASURED), (BEGIN, 1)], 'a session without its measured region: cannot be finished')
        trace = Trace(run.traces[0])
        tap.equal((trace.violations, trace.terminal['outcome']), ([], 'failed'), 'a session without its measured region: failed where the program ends')


def words():
    with Run([CALLS, 'words'], record=False) as run:
        out = run.out.decode()
    phases = [(w, int(r), int(v)) for w, r, v in re.findall(r'^phase:(.*) (-?\d+) (\d)$', out, re.M)]
    tap.equal(phases, [('train', 0, 1), ('TRAINING', 0, 1), ('Infer', 0, 2), ('inference', 0, 2), ('eval', 0, 2), ('Evaluate', 0, 2), ('test', VALUE, 0),
                       ('', VALUE, 0)], 'names of phases')
    steps = [(w, int(r), int(v)) for w, r, v in re.findall(r'^step:(.*) (-?\d+) (\d)$', out, re.M)]
    tap.equal(steps, [('forward', 0, 2), ('FWD', 0, 2), ('backward', 0, 3), ('Backward-Pass', 0, 3), ('bwd', 0, 3), ('backprop', 0, 3), ('optim', 0, 4),
                      ('optimizer', 0, 4), ('step', 0, 4), ('steps', VALUE, 1), ('fw', VALUE, 1), ('backward__pass', VALUE, 1)], 'names of steps')
    got = [(w.split('(')[0], r) for w, r in results(run.out) if '(' in w]
    tap.equal(got, [('cgtrace_parse_phase', NULL), ('cgtrace_parse_step', NULL), ('cgtrace_select', VALUE), ('cgtrace_selected', 0),
                    ('cgtrace_select', OK), ('cgtrace_selected', 0), ('cgtrace_selected', 1), ('cgtrace_selected', 0)], 'the selector of an invocation')
    named = re.findall(r'^(CGTRACE_\w+) (-?\d+) (.+)$', out, re.M)
    tap.equal([int(value) for _, value, _ in named], [0, 1, 2, *range(-1, -22, -1)], 'results: their values')
    tap.ok(len({text for _, _, text in named}) == 24 and out.endswith('unknown result\n'), 'results: each has its own words', named)


if __name__ == '__main__':
    for test in (words, everything, misuse, tags, mistaken, threads, full, ways_in, cplusplus, killed, damaged, flushed, forked, older, manual, compilers, sessions, unmeasured):
        test()
    tap.done()
