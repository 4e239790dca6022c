#!/usr/bin/env python3
"""query: envelope, results of the kinds worked out by hand, order, ties, caps, filters, pages (doc/spec/cli.md 5.5 and 6)."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import (Folder, document, done, end, equal, interval, memory, ok, op, query, read, region, run,  # noqa: E402
                 start, stats)

folder = Folder()
EMPTY = folder.put('empty.jsonl', region())

# Spans: r 0..1500 (root), m 100..1100 (measured), in it a 100..400 and b 500..900 (with op `mul` 600..700), beside it x 900..1500.
# Self times: m = 1000 - 300 - 400 = 300, a = 300, b = 400 - 100 = 300; x overlaps m by 200 of its 600.
MEMORY = dict(dtype='u8', category='activation')
SMALL = folder.put('small.jsonl', region(
    start('a', 'm', 'load', 100), memory('alloc', 200, 's1', 1000, 'a'), end('a', 300),
    memory('free', 450, 's1', 1000),
    start('b', 'm', 'layer', 500, kind='module'),
    op('b', 'mul', 600, 100, inputs=['t1'], output='t2', shape=[2, 3]),
    memory('alloc', 650, 's2', 500, 'b', op_name='mul'),
    dict(kind='tensor', span_id='b', tensor_id='t1', label='weight', shape=[2, 3], dtype='f32', device='cuda:0', requires_grad=True,
         category='parameter'),
    dict(kind='tensor', span_id='b', tensor_id='t2', shape=[], dtype='bf16', device='cuda:0'),
    interval('b', 10, 50, '7'), interval('b', 40, 40, '8'), interval('a', 5, 70, '7'),
    end('b', 400), start('x', 'r', 'other thread', 900), end('x', 600),
    dict(kind='gradient', event_id='g1', root='model', key='w.0', state='present', norm=0.25),
    dict(kind='gradient', event_id='g2', root='model', key='w.1', state='missing'),
    stats('loss'), stats('act', non_finite=1)))

# ---- the envelope ----
status, out, err = run('query', SMALL, '--kind', 'gradients', '--label-prefix', 'model/')
answer = json.loads(out)
equal(list(answer), ['capabilities', 'filter', 'input', 'kind', 'result', 'schema', 'tool'], 'members of the envelope, in order')
equal((answer['schema'], answer['kind'], answer['filter']),
      ('candle-graph/trace-query/7', 'gradients', {'label': None, 'label_prefix': 'model/'}), 'schema, kind and filter')
VERSION = read(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'VERSION')).decode().strip()
equal(answer['tool'], {'package': 'cg-analyze', 'version': VERSION}, 'tool')
equal(answer['capabilities'], query(SMALL, 'capabilities'), 'the capability matrix is in every query')
equal(list(answer['capabilities']),
      ['gpu_correlation', 'gradient_coverage', 'logical_memory_coverage', 'nested_device_time', 'nested_host_time', 'operation_coverage',
       'outer_wall_time', 'physical_memory_coverage', 'provenance_binding', 'structural_trace', 'tensor_coverage'], 'its members')


def is_sorted(value):
    if isinstance(value, dict):
        keys = [k.encode() for k in value]
        return keys == sorted(keys) and all(map(is_sorted, value.values()))
    return all(map(is_sorted, value)) if isinstance(value, list) else True


KINDS = ['slowest-host', 'slowest-device', 'heaviest', 'memory', 'spans', 'tensors', 'tensor-stats', 'gradients', 'labels', 'activations', 'capabilities',
         'gpu-status', 'gpu-correlation', 'gpu-phases', 'gpu-kernels', 'gpu-attribution-gaps', 'kernels', 'copies', 'api']
for kind in KINDS:
    status, out, err = run('query', SMALL, '--kind', kind)
    ok(status == 0 and is_sorted(json.loads(out)), f'{kind}: keys ascend at every level', err)
    equal(out, json.dumps(json.loads(out), indent=2, ensure_ascii=False) + '\n', f'{kind}: two spaces a level, one newline at the end')

# ---- times ----
equal(query(SMALL, 'slowest-host'), {
    'entrypoint': 'demo::step', 'outer_wall_time_ns': 1000,
    'slowest_host_spans': [
        dict(id='a', name='load', scope='measured_subtree', host_self_time_ns=300, measured_overlap_self_time_ns=300, full_duration_ns=300,
             measured_overlap_duration_ns=300),
        dict(id='b', name='layer', scope='measured_subtree', host_self_time_ns=300, measured_overlap_self_time_ns=300, full_duration_ns=400,
             measured_overlap_duration_ns=400),
        dict(id='m', name='measured', scope='measured_subtree', host_self_time_ns=300, measured_overlap_self_time_ns=300,
             full_duration_ns=1000, measured_overlap_duration_ns=1000),
        dict(id='x', name='other thread', scope='concurrent_overlap', host_self_time_ns=600, measured_overlap_self_time_ns=200,
             full_duration_ns=600, measured_overlap_duration_ns=200)]}, 'slowest-host: ties by id, ancestors left out, clipped overlap')
equal(query(SMALL, 'slowest-device'), {
    'entrypoint': 'demo::step',
    'slowest_device_spans': [dict(id='a', name='load', device='cuda:0', clock_id='gpu', device_busy_ns=70),
                             dict(id='b', name='layer', device='cuda:0', clock_id='gpu', device_busy_ns=70)]},
      'slowest-device: overlapping intervals count once, ties by id')

# ---- memory ----
LIFE1 = dict(device='cuda:0', storage_id='s1', tensor_ids=['ts1'], allocation_span_id='a', op_name=None, bytes=1000, shape=[],
             start_timestamp_ns=200, **MEMORY)
LIFE2 = dict(device='cuda:0', storage_id='s2', tensor_ids=['ts2'], allocation_span_id='b', op_name='mul', bytes=500, shape=[],
             start_timestamp_ns=650, **MEMORY)
POINT1 = dict(timestamp_ns=200, live_bytes=1000, live_bytes_by_device={'cuda:0': 1000}, live_bytes_by_category={'activation': 1000})
equal(query(SMALL, 'memory'), {'logical': dict(
    storage_allocation_count=2, matched_storage_free_count=1, total_allocated_bytes=1500, peak=dict(POINT1, live_allocations=[LIFE1]),
    timeline=[POINT1, dict(timestamp_ns=450, live_bytes=0, live_bytes_by_device={}, live_bytes_by_category={}),
              dict(timestamp_ns=650, live_bytes=500, live_bytes_by_device={'cuda:0': 500}, live_bytes_by_category={'activation': 500})],
    lifetimes=[dict(LIFE1, end_timestamp_ns=450), LIFE2],
    by_device=[dict(device='cuda:0', storage_allocation_count=2, matched_storage_free_count=1, total_allocated_bytes=1500,
                    peak_live_bytes=1000, peak_timestamp_ns=200)])}, 'memory: the profile')
equal(query(EMPTY, 'memory'), {}, 'memory that was not observed is left out, not zero')
equal(query(SMALL, 'heaviest'), {
    'entrypoint': 'demo::step',
    'heaviest_ops': [dict(id='b/op/0', parent_id='b', name='mul', kind='op', start_ns=600, host_self_time_ns=100, host_total_time_ns=100,
                          shape=[2, 3], dtype='f32', device='cuda:0', allocated_bytes=500, dense_bytes=24)],
    'heaviest_spans': [dict(id='a', name='load', allocated_bytes=1000, peak_live_bytes=1000),
                       dict(id='b', name='layer', allocated_bytes=500, peak_live_bytes=500)]}, 'heaviest')

# ---- rows ----
PAGE = dict(limit=50, offset=0, next_offset=None, truncated=False)
equal(query(SMALL, 'tensors'), dict(PAGE, displayed=2, matched=2, total=2, rows=[
    dict(span_id='b', tensor_id='t1', label='weight', shape=[2, 3], dtype='f32', device='cuda:0', requires_grad=True, dense_bytes=24,
         category='parameter'),
    dict(span_id='b', tensor_id='t2', shape=[], dtype='bf16', device='cuda:0', requires_grad=False, dense_bytes=2, category='other')]),
      'tensors')
STATS = [dict(span_id='m', label=label, shape=[2], dtype='f32', elements=2, non_finite=n, rms=1.5, abs_max=2.0, mean=-0.5)
         for label, n in (('loss', 0), ('act', 1))]
equal(query(SMALL, 'tensor-stats'), dict(PAGE, displayed=2, matched=2, total=2, rows=STATS), 'tensor-stats: order of the trace')
GRADIENTS = [dict(root='model', key='w.0', state='present', norm=0.25), dict(root='model', key='w.1', state='missing')]
equal(query(SMALL, 'gradients'), dict(PAGE, displayed=2, matched=2, total=2, rows=GRADIENTS), 'gradients')
spans = query(SMALL, 'spans')
equal([row['id'] for row in spans['rows']], ['a', 'b', 'm', 'r', 'x', 'b/op/0', 'tensor/t1', 'tensor/t2'], 'spans: order of nodes')
# Edges: m-a, m-b, r-m, r-x, b-op (calls), t1-op and op-t2 (data).
equal((spans['edges'], spans['edges_total'], isinstance(spans['edges_reason'], str)), (None, 7, True), 'spans: a page has no edges and says so')
everything = folder('all.json')
equal(run('query', SMALL, '--kind', 'spans', '--all', '-o', everything), (0, '', ''), 'spans --all')
spans = json.loads(read(everything))['result']
equal([(e['kind'], e.get('from_span', e.get('from_tensor')), e.get('to_span', e.get('to_tensor'))) for e in spans['edges']],
      [('call', 'b', 'b/op/0'), ('data', 'b/op/0', 'tensor/t2'), ('call', 'm', 'a'), ('call', 'm', 'b'), ('call', 'r', 'm'),
       ('call', 'r', 'x'), ('data', 'tensor/t1', 'b/op/0')], 'spans --all: edges by their ends')
equal((spans['edges_reason'], spans['limit'], spans['displayed'], spans['next_offset']), (None, None, 8, None), 'spans --all: the envelope')
run('query', SMALL, '--kind', 'spans', '--all', '--label', 'load', '-o', everything)
spans = json.loads(read(everything))['result']
equal((spans['edges'], spans['displayed'], spans['total']), (None, 1, 8), 'spans --all with a filter has no edges')
labels = query(SMALL, 'labels')
equal((labels['rows'], labels['unavailable_kinds'], labels['total']), ([
    dict(label='act', count=1, kinds={'tensor-stats': 1}), dict(label='layer', count=1, kinds={'spans': 1}),
    dict(label='load', count=1, kinds={'spans': 1}), dict(label='loss', count=1, kinds={'tensor-stats': 1}),
    dict(label='measured', count=1, kinds={'spans': 1}), dict(label='model/w.0', count=1, kinds={'gradients': 1}),
    dict(label='model/w.1', count=1, kinds={'gradients': 1}), dict(label='mul', count=1, kinds={'spans': 1}),
    dict(label='other thread', count=1, kinds={'spans': 1}), dict(label='root', count=1, kinds={'spans': 1}),
    dict(label='t2', count=2, kinds={'spans': 1, 'tensors': 1}), dict(label='weight', count=2, kinds={'spans': 1, 'tensors': 1})],
    [], 12), 'labels: every name, its kinds, ascending')
from cli import failed  # noqa: E402
labels = query(folder.put('failed.jsonl', region(stats('a'), terminal=failed('killed'))), 'labels')
equal((labels['rows'], labels['unavailable_kinds']),
      ([dict(label='a', count=1, kinds={'tensor-stats': 1})], ['gradients', 'spans', 'tensors']), 'labels without a graph')

# ---- filters ----
FILTERS = [('spans', ['--label', 'layer'], ['b']), ('spans', ['--label', 'mul'], ['b/op/0']), ('spans', ['--label', 'weight'], ['tensor/t1']),
           ('spans', ['--label', 't2'], ['tensor/t2']), ('spans', ['--label', 'lay'], []), ('spans', ['--label-prefix', 'l'], ['a', 'b']),
           ('spans', ['--label-prefix', 'L'], []), ('spans', ['--label-prefix', 'layers'], []),
           ('spans', ['--label-prefix', ''], ['a', 'b', 'm', 'r', 'x', 'b/op/0', 'tensor/t1', 'tensor/t2']), ('spans', ['--label', ''], [])]
for kind, words, ids in FILTERS:
    result = query(SMALL, kind, *words)
    equal(([row['id'] for row in result['rows']], result['matched'], result['total']), (ids, len(ids), 8), f'{kind} {" ".join(words)!r}')
for words, keys in ((['--label', 'w.0'], ['w.0']), (['--label', 'model/w.1'], ['w.1']), (['--label', 'model'], []), (['--label', 'model/'], []),
                    (['--label-prefix', 'w.'], ['w.0', 'w.1']), (['--label-prefix', 'model/w'], ['w.0', 'w.1']),
                    (['--label-prefix', 'mod'], ['w.0', 'w.1']), (['--label-prefix', 'model/w.1x'], []), (['--label-prefix', '/'], [])):
    equal([row['key'] for row in query(SMALL, 'gradients', *words)['rows']], keys, f'gradients {" ".join(words)!r}: by key or root/key')
equal([row['tensor_id'] for row in query(SMALL, 'tensors', '--label', 't2')['rows']], ['t2'], 'tensors without a label: by id')
equal([row['tensor_id'] for row in query(SMALL, 'tensors', '--label', 't1')['rows']], [], 'tensors with a label: not by id')
equal([row['label'] for row in query(SMALL, 'tensor-stats', '--label-prefix', 'a')['rows']], ['act'], 'tensor-stats by label')

# ---- a name that no row has: the nearest one is named on standard error, the answer stays ----
for kind, word, meant in (('spans', 'laod', 'load'), ('spans', 'othr thread', 'other thread'), ('tensors', 'wieght', 'weight'), ('tensor-stats', 'los', 'loss'),
                          ('gradients', 'w.2', 'w.0'), ('labels', 'model/w.2', 'model/w.0'), ('spans', 'load', None), ('spans', 'zzzzzzzz', None),
                          ('gradients', 'model/w.0', None)):
    status, out, err = run('query', SMALL, '--kind', kind, '--label', word)
    wanted = f"cg-analyze: no row is named '{word}': did you mean '{meant}'?\n" if meant else ''
    equal((status, json.loads(out)['result']['matched'], err), (0, 0 if meant or word == 'zzzzzzzz' else 1, wanted), f'{kind} --label {word}: did you mean')

# ---- pages: 120 rows, every third of them `even` ----
MANY = folder.put('many.jsonl', region(*[stats(('even' if i % 3 == 0 else 'odd') + str(i)) for i in range(120)]))
PAGES = [([], 50, 0, 50, 120, 50), (['--limit', '1'], 1, 0, 1, 120, 1), (['--limit', '120'], 120, 0, 120, 120, None),
         (['--limit', '1000'], 120, 0, 120, 120, None), (['--offset', '50'], 50, 50, 50, 120, 100),
         (['--offset', '100'], 20, 100, 50, 120, None), (['--offset', '70'], 50, 70, 50, 120, None), (['--offset', '69'], 50, 69, 50, 120, 119),
         (['--offset', '120'], 0, 120, 50, 120, None), (['--offset', '18446744073709551615'], 0, 2**64 - 1, 50, 120, None),
         (['--label-prefix', 'even'], 40, 0, 50, 40, None), (['--label-prefix', 'even', '--limit', '7', '--offset', '35'], 5, 35, 7, 40, None),
         (['--label-prefix', 'even', '--limit', '7', '--offset', '28'], 7, 28, 7, 40, 35), (['--label', 'odd1'], 1, 0, 50, 1, None)]
for words, displayed, offset, limit, matched, following in PAGES:
    result = query(MANY, 'tensor-stats', *words)
    got = (result['displayed'], result['offset'], min(result['limit'], limit), result['matched'], result['next_offset'], len(result['rows']),
           result['total'], result['truncated'])
    equal(got, (displayed, offset, limit, matched, following, displayed, 120, displayed < matched), f'page {" ".join(words) or "without options"}')
for words, expected in (([], [f'{"even" if i % 3 == 0 else "odd"}{i}' for i in range(120)]),
                        (['--label-prefix', 'even'], [f'even{i}' for i in range(0, 120, 3)])):
    seen, offset = [], 0
    while offset is not None:
        result = query(MANY, 'tensor-stats', '--limit', '11', '--offset', str(offset), *words)
        seen += [row['label'] for row in result['rows']]
        offset = result['next_offset']
    equal(seen, expected, f'following next_offset yields every row once, in order ({" ".join(words) or "no filter"})')
whole = folder('whole.json')
run('query', MANY, '--kind', 'tensor-stats', '--all', '-o', whole)
result = json.loads(read(whole))['result']
equal((result['displayed'], result['limit'], result['next_offset'], result['truncated'], len(result['rows'])), (120, None, None, False, 120),
      '--all: every row, limit null')

# ---- caps: 8 spans, 50 operations ----
records = []
for i in range(60):
    records += [op('m', f'op{i:02}', 100 + i, 1), memory('alloc', 100 + i, f's{i:02}', 1000 + i // 2, op_name=f'op{i:02}')]
for i in range(12):
    records += [start(f'c{i:02}', 'm', f'child{i}', 200 + 10 * i), memory('alloc', 200 + 10 * i, f'c{i}', 10 + i // 3, f'c{i:02}'),
                interval(f'c{i:02}', 1000 * i, 100 - i // 4), end(f'c{i:02}', 5 + i % 2)]
CAPPED = folder.put('capped.jsonl', region(*records))
# 1000 + i//2 descending, ties by id: 58 before 59, ... ; ids are m/op/<i> and compare as bytes.
pairs = [i for top in range(58, 8, -2) for i in sorted((top, top + 1), key=lambda i: f'm/op/{i}'.encode())]
heaviest = query(CAPPED, 'heaviest')
equal([row['id'] for row in heaviest['heaviest_ops']], [f'm/op/{i}' for i in pairs], 'heaviest: 50 operations, ties by id')
equal([row['id'] for row in heaviest['heaviest_spans']], ['m', 'c09', 'c10', 'c11', 'c06', 'c07', 'c08', 'c03'], 'heaviest: 8 spans, ties by id')
equal([row['id'] for row in query(CAPPED, 'slowest-host')['slowest_host_spans']],
      ['m', 'c01', 'c03', 'c05', 'c07', 'c09', 'c11', 'c00'], 'slowest-host: 8 spans, ties by id')
equal([row['id'] for row in query(CAPPED, 'slowest-device')['slowest_device_spans']],
      ['c00', 'c01', 'c02', 'c03', 'c04', 'c05', 'c06', 'c07'], 'slowest-device: 8 rows, ties by id')

# ---- text and numbers ----
ODD = 'quote " slash \\ / tab \t nul \0 del \x7f sep \u2028 ü 空 \U0001f600'
row = query(folder.put('odd.jsonl', region(stats(ODD))), 'tensor-stats')['rows'][0]
equal(row['label'], ODD, 'every character of a label comes back')
out = run('query', folder('odd.jsonl'), '--kind', 'tensor-stats')[1]
ok('"quote \\" slash \\\\ / tab \\t nul \\u0000 del \x7f sep \u2028 ü 空 \U0001f600"' in out, 'and only what must be is escaped')
big = query(folder.put('big.jsonl', region(memory('alloc', 200, 's', 2**64 - 1), memory('alloc', 200, 's2', 5))), 'memory')['logical']
equal((big['total_allocated_bytes'], big['peak']['live_bytes'], big['lifetimes'][0]['bytes']), (2**64 - 1,) * 3, 'numbers to 2^64-1, sums clamped')
equal(query(folder.put('d.jsonl', region(stats('a', rms=0.1, abs_max=1e16, mean=-0.0))), 'tensor-stats')['rows'][0]['rms'], 0.1, 'doubles')
ok('"abs_max": 1e16,' in run('query', folder('d.jsonl'), '--kind', 'tensor-stats')[1] and
   '"mean": -0.0,' in run('query', folder('d.jsonl'), '--kind', 'tensor-stats')[1], 'doubles are written as they are')
done()
