#!/usr/bin/env python3
"""The JSON Schema of a trace's lines, read by a validator that shares nothing with it: accepted traces of other producers and of ours keep it, and
a line that it refuses is one that cg-analyze refuses, field by field."""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path[:0] = [os.path.join(HERE, '..', 'cli'), os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from harness import BUILD, SANITIZED, Run, program  # noqa: E402

try:
    import jsonschema
except ImportError:
    # The distribution's package is its own interpreter's.
    system = '/usr/bin/python3'
    if os.path.realpath(sys.executable) != os.path.realpath(system) and subprocess.run([system, '-c', 'import jsonschema'], capture_output=True).returncode == 0:
        os.execv(system, [system, *sys.argv])
    tap.skip('the schema', 'jsonschema is not installed (python3-jsonschema)')
    tap.done()

with open(f'{BUILD}/trace.schema.json', encoding='utf-8') as file:
    SCHEMA = json.load(file)
jsonschema.Draft202012Validator.check_schema(SCHEMA)
# By kind: oneOf over all of them tries each.
VALIDATORS = {kind: jsonschema.Draft202012Validator(dict(SCHEMA['$defs'][kind], **{'$defs': SCHEMA['$defs']})) for kind in (r['$ref'].split('/')[-1] for r in SCHEMA['oneOf'])}
WHOLE = jsonschema.Draft202012Validator(SCHEMA)


def refused(record):
    return not (record.get('kind') in VALIDATORS and VALIDATORS[record['kind']].is_valid(record))


def accepted(path):
    with open(path, encoding='utf-8') as file:
        return [record for record in map(json.loads, filter(str.strip, file)) if refused(record)]


def conformance():
    count, wrong = 0, []
    for path in sorted(glob.glob(os.path.join(ROOT, 'tests/conformance/traces/*.jsonl'))):
        with open(path.replace('/traces/', '/expected/').replace('.jsonl', '.json'), encoding='utf-8') as file:
            if json.load(file) == {'rejected': True}:
                continue
        with open(path, encoding='utf-8-sig') as file:
            first = json.loads(next(filter(str.strip, file)))
        if first['schema'].endswith('/10'):
            count += 1
            wrong += [(os.path.basename(path), record) for record in accepted(path)]
    tap.ok(count > 100 and not wrong, 'accepted conformance traces', wrong[:3] or count)


def recorded():
    if SANITIZED:
        tap.skip('a recorded trace', 'a sanitizer must be preloaded first')
        return
    with Run([program('trainer_spans'), '60'], SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so', CGTRACE_STACKS='all') as run:
        tap.equal([accepted(path)[:2] for path in run.traces], [[]], 'a recorded trace')
        with open(run.traces[0], encoding='utf-8') as file:
            line = json.loads(file.readline())
        tap.ok(WHOLE.is_valid(line) and not WHOLE.is_valid(dict(line, kind='metal')), 'the schema as a whole: a line, and one of an unknown kind')


# A trace with every kind; each has a required field and more.
CONTRACT = dict(measurement_scope='profiled_work', operations='partial', logical_memory='partial', physical_memory='partial', device_timing='partial')
IDENTITY = dict(workload_id='w', model_id='m', config_id='c', data_id='d', seed_policy='s', physical_batch=1, accumulation_steps=1, precision='f32', device_state='x')
TRACE = [
    dict(kind='meta', schema='candle-graph/trace/10', run_id='r', correlation_id='c', entrypoint='e', phase='train', timestamp='t', capture_step=1, warmup_steps=0,
         device='cuda:0', timing_mode='host', capture_contract=CONTRACT, comparison_identity=IDENTITY, tags=dict(job='7'), measured_region_device_synchronized=True),
    dict(kind='span_start', id='a', name='root', start_ns=0, span_kind='function'),
    dict(kind='span_start', id='b', parent_id='a', name='region', start_ns=1, span_kind='module', measured=True, step='forward'),
    dict(kind='op', span_id='b', op_name='mul', inputs=['x'], output='y', shape=[2], dtype='f32', device='cuda:0', duration_ns=1, timestamp_ns=2, input_dense_bytes=8),
    dict(kind='tensor', span_id='b', tensor_id='y', shape=[2], dtype='f32', device='cuda:0', requires_grad=False, category='activation'),
    dict(kind='tensor_stats', span_id='b', label='y', shape=[2], dtype='f32', elements=2, non_finite=0, rms=1.0, abs_max=1.0, mean=0.5),
    dict(kind='memory', timestamp_ns=2, storage_id='s', tensor_id='y', span_id='b', device='cuda:0', bytes=8, action='alloc', dtype='f32', category='activation'),
    dict(kind='device_memory', timestamp_ns=2, span_id='b', device='cuda:0', used_bytes=5),
    dict(kind='device_interval', span_id='b', device='cuda:0', stream_id='1', clock_id='g', backend='e', start_ns=1, duration_ns=1),
    dict(kind='gradient', event_id='g', root='v', key='k', state='present', norm=1.0),
    dict(kind='edge', edge_kind='call', from_span='a', to_span='b', host_duration_ns=9),
    dict(kind='edge', edge_kind='data', from_tensor='x', to_tensor='y'),
    dict(kind='span_end', id='b', duration_ns=9),
    dict(kind='span_end', id='a', duration_ns=10),
    dict(kind='terminal', outcome='complete', timestamp_ns=20),
]
# What another value than one of the field's type is: a text for numbers, a number for texts, -1 and a fraction for integers.
ODD = {str: (7, None), int: ('7', -1, 1.5, None), float: ('x', None), bool: ('yes', None), list: ('x', [{}], None), dict: ([], None)}


def variants(record):
    """Each field of a record taken out, and with odd values: (what, record)."""
    for key, value in record.items():
        if key == 'kind':
            continue
        yield f'without {key}', {k: v for k, v in record.items() if k != key}
        for odd in ODD[type(value)]:
            yield f'{key} {json.dumps(odd)}', dict(record, **{key: odd})
        if isinstance(value, dict):
            for what, inner in variants(value):
                yield f'{key}: {what}', dict(record, **{key: inner})


def with_cg_analyze():
    """The trace as standard input of cg-analyze: read (whatever its health), or refused."""
    def read(records):
        text = ''.join(json.dumps(r) + '\n' for r in records)
        return subprocess.run([f'{BUILD}/cg-analyze', 'summary', '-'], input=text.encode(), capture_output=True).returncode != 3
    tap.ok(read(TRACE) and not any(map(refused, TRACE)), 'a trace with every kind')
    differs, counts = [], [0, 0]
    for at, record in enumerate(TRACE):
        for what, variant in variants(record):
            answer = refused(variant)
            counts[answer] += 1
            if read([*TRACE[:at], variant, *TRACE[at + 1:]]) == answer:
                differs.append(f'{record["kind"]}: {what}: {"refused" if answer else "accepted"} by the schema alone')
    tap.ok(min(counts) > 20 and not differs, f'{sum(counts)} lines with one odd field: refused by both or by neither', '\n'.join(map(str, differs)) or counts)


conformance()
recorded()
with_cg_analyze()
tap.done()
