#!/usr/bin/env python3
"""compare: every reason, the numbers of doc/spec/compare.md 6, tensor statistics, statuses (doc/spec/cli.md 5.9)."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, equal, failed, ok, read, region, run, start, end, stats  # noqa: E402

folder = Folder()
IDENTITY = dict(implementation_id='impl', workload_id='w', model_id='m', config_id='c', data_id='d', seed_policy='s', physical_batch=8,
                accumulation_steps=1, precision='bf16', device_state='warm')
numbers = iter(range(100000))


def one(duration, *inside, identity=None, pair=None, measured=1, terminal=None, more=(), **changes):
    """A run: its records. identity: members that differ from IDENTITY, None leaves one out; False: none at all."""
    contract = dict(dict(measurement_scope='production_equivalent'), **changes.pop('contract', {}))
    if identity is not False:
        whole = dict(IDENTITY, **(identity or {}))
        if pair is not None:
            whole['pair_id'] = pair
        changes['comparison_identity'] = {key: value for key, value in whole.items() if value is not None}
    changes.setdefault('run_id', f'run-{next(numbers)}')
    changes.setdefault('device', 'cpu')
    records = region(*inside, terminal=terminal, contract=contract, **changes)
    for record in records:
        if record['kind'] == 'span_end' and record['id'] == 'm':
            record['duration_ns'] = duration
        if record['kind'] == 'span_end' and record['id'] == 'r':
            record['duration_ns'] = 100000
        if record['kind'] == 'terminal':
            record['timestamp_ns'] = 200000
    if measured == 0:
        for record in records:
            record.pop('measured', None)
    if measured == 2:
        records[3:3] = [start('n', 'r', 'second', 50000, measured=True), end('n', 10)]
    return records


def bundles(runs):
    paths = []
    for records in runs:
        name = f'b{next(numbers)}'
        status, _, err = run('report', folder.put(f'{name}.jsonl', records), '--bundle', folder(name))
        assert status == 0, err
        paths.append(folder(name))
    return paths


def compare(baseline, candidate, *words):
    """(status, document, standard error) of runs as records or as paths."""
    b, c = (bundles(runs) if runs and isinstance(runs[0], list) else runs for runs in (baseline, candidate))
    status, out, err = run('compare', '--baseline', *b, '--candidate', *c, *words)
    return status, json.loads(out) if out else None, err


def codes(document):
    return [reason['code'] for reason in document['reasons']]


def expect(name, baseline, candidate, expected):
    status, document, err = compare(baseline, candidate)
    ok(status == 0 and codes(document) == expected, f'{name}: {", ".join(expected) or "no reason"}', f'{err} {document and document["reasons"]}')
    equal((document['comparable'], document['verdict'] == 'ineligible', document['confidence_interval'] is None), (not expected, bool(expected), bool(expected)),
          f'{name}: verdict and interval follow')
    return document


def cohort(durations=(100, 102, 99, 101, 103), **changes):
    return [one(duration, **changes) for duration in durations]


# ---- the numbers ----
VECTORS = [
    ((100, 102, 99, 101, 103), (75, 80, 78, 79, 77), False, -23.0, -22.772277227722775, (-26.0, -20.0), 'candidate_faster'),
    ((1000, 1013, 987, 1044, 1002, 1021), (1001, 990, 1015, 1060, 976, 1008), False, -3.0, -0.2977667493796526, (-32.5, 33.0), 'inconclusive'),
    ((1000, 1013, 987, 1044, 1002, 1021), (1001, 990, 1015, 1060, 976, 1008), True, -6.0, -0.5955334987593052, (-24.5, 22.0), 'inconclusive'),
    ((200, 210, 205, 220, 215), (207, 211, 213, 222, 218), False, 3.0, 1.4285714285714286, (-8.0, 17.0), 'inconclusive'),
    ((200, 210, 205, 220, 215), (207, 211, 213, 222, 218), True, 3.0, 1.4285714285714286, (1.0, 8.0), 'candidate_slower'),
]
for before, after, paired, delta, percent, interval, verdict in VECTORS:
    b = [one(d, pair=f'p{i}' if paired else None) for i, d in enumerate(before)]
    c = [one(d, pair=f'p{i}' if paired else None) for i, d in enumerate(after)]
    document = compare(b, c)[1]
    equal((document['comparable'], document['paired'], document['verdict'], document['median_delta_ns'], document['median_delta_percent'], document['confidence_interval']),
          (True, paired, verdict, delta, percent, dict(level=0.95, lower_delta_ns=interval[0], upper_delta_ns=interval[1])), f'{before} and {after}, {"paired" if paired else "unpaired"}')
    equal((document['baseline']['samples_ns'], document['candidate']['samples_ns']), (list(before), list(after)), 'samples in the order of the arguments')
document = compare(cohort((10, 11, 12, 13, 100)), cohort((1, 2, 3, 5, 0)))[1]
equal(document['baseline'], dict(samples_ns=[10, 11, 12, 13, 100], median_ns=12.0, p95_ns=82.6, mad_ns=1.0), 'median, p95, mad')
equal(compare(cohort((0, 0, 0, 0, 0)), cohort())[1]['median_delta_percent'], None, 'no percent of a median of 0')

# ---- the document ----
B, C = bundles(cohort()), bundles(cohort((75, 80, 78, 79, 77), identity=dict(implementation_id='other')))
status, out, err = run('compare', '--baseline', *B, '--candidate', *C)
document = json.loads(out)
equal(list(document), ['schema', 'metric', 'inputs', 'comparable', 'paired', 'verdict', 'reasons', 'baseline_implementation_id', 'candidate_implementation_id', 'identity',
                       'baseline', 'candidate', 'median_delta_ns', 'median_delta_percent', 'confidence_interval', 'tensor_stats'], 'the members in declared order')
equal((document['schema'], document['metric'], document['baseline_implementation_id'], document['candidate_implementation_id']),
      ('candle-graph/comparison/6', 'outer_wall_time_ns', 'impl', 'other'), 'their values')
equal((list(document['identity']), document['identity']), ([key for key in IDENTITY if key != 'implementation_id'], {key: value for key, value in IDENTITY.items() if key != 'implementation_id'}), 'the identity')
equal(document['inputs'], dict(verification='verified_bundles', **{
    side: [dict(run_id=json.loads(read(p + '/bundle.json'))['run_id'], manifest_sha256=json.loads(run('verify', p)[1])['receipt']['manifest_sha256']) for p in paths]
    for side, paths in (('baseline', B), ('candidate', C))}), 'the inputs')
equal(run('compare', '--baseline', *B, '--candidate', *C)[1], out, 'the same inputs give the same bytes')
split = run('compare', '--baseline', B[0], '--candidate', *C[:2], '--baseline', *B[1:], f'--candidate={C[2]}', '--candidate', *C[3:])
equal(split, (0, out, ''), 'lists given in parts')

# ---- every reason ----
def with_one(index=2, duration=101, **changes):
    """A cohort in which one run is another."""
    runs = cohort()
    runs[index] = one(duration, **changes)
    return runs


GOOD = bundles(cohort())
expect('good cohorts', GOOD, cohort(), [])
expect('too few', GOOD, cohort()[:4], ['insufficient_runs'])
twice = bundles(cohort())
expect('the same cohort twice', twice, twice, ['duplicate_run_ids'])
runs = cohort()[:4]
runs[3][0]['run_id'] = runs[0][0]['run_id']
expect('four, one of them twice', runs, cohort(), ['insufficient_runs', 'duplicate_run_ids'])
expect('a failed capture', GOOD, with_one(terminal=failed('x')), ['incomplete_capture'])
expect('an invalid capture', GOOD, with_one(more=(), timestamp=' '), ['incomplete_capture'])
expect('two in both', with_one(terminal=failed('x')), with_one(terminal=failed('x')), ['incomplete_capture'] * 2)
document = expect('another scope', GOOD, with_one(contract=dict(measurement_scope='profiled_work')), ['not_production_equivalent', 'capture_semantics_mismatch'])
ok('candidate run 3' in document['reasons'][0]['message'], 'the message names cohort and run', document['reasons'])
expect('all of another scope', cohort(contract=dict(measurement_scope='unknown')), cohort(contract=dict(measurement_scope='unknown')), ['not_production_equivalent'] * 10)
expect('a device without synchronisation', cohort(device='cuda:0'), cohort(device='cuda:0'), ['unsynchronized_device_region'] * 10)
expect('a device with it', cohort(device='cuda:0', measured_region_device_synchronized=True), cohort(device='cuda:0', measured_region_device_synchronized=True), [])
expect('Cpu is a device', cohort(device='Cpu'), cohort(device='Cpu'), ['unsynchronized_device_region'] * 10)
expect('cpux is none', cohort(device='cpux'), cohort(device='cpux'), [])
document = expect('no measured region', GOOD, with_one(measured=0), ['incomplete_capture', 'measured_region_count_invalid'])
equal(document['candidate']['samples_ns'], [100, 102, 0, 101, 103], 'its sample is 0')
document = expect('two measured regions', GOOD, with_one(measured=2), ['incomplete_capture', 'measured_region_count_invalid'])
equal(document['candidate']['samples_ns'][2], 101, 'the first in span order counts')
for name, value in dict(entrypoint='other', phase='infer', device='cpu:1', warmup_steps=1, timing_mode='device_synchronized', measured_region_device_synchronized=True).items():
    expect(f'another {name}', GOOD, with_one(**{name: value}), ['capture_semantics_mismatch'])
expect('another contract', GOOD, with_one(contract=dict(required_semantic_labels=[], operations='none')), ['capture_semantics_mismatch'])
expect('label lists in another order', cohort(contract=dict(required_semantic_labels=['measured', 'root'])), cohort(contract=dict(required_semantic_labels=['root', 'measured'])), ['capture_semantics_mismatch'])
expect('an absent list and an empty one', GOOD, cohort(contract=dict(required_semantic_labels=[], tensors='none')), [])
expect('what is not compared', GOOD, with_one(tags=dict(a='b'), correlation_id='x', timestamp='y', candle_version='z'), [])
expect('step 0', GOOD, cohort(capture_step=0, warmup_steps=0), ['incomplete_capture'] * 5 + ['capture_semantics_mismatch'])
expect('no identity', GOOD, with_one(identity=False), ['identity_missing', 'implementation_id_missing'])
expect('batch 0 in all', cohort(identity=dict(physical_batch=0)), cohort(identity=dict(physical_batch=0)), ['incomplete_capture'] * 10 + ['identity_invalid'])
expect('only the first is looked at', GOOD, with_one(identity=dict(model_id=' ')), ['incomplete_capture', 'identity_conditions_differ'])
for name in IDENTITY:
    if name != 'implementation_id':
        expect(f'another {name}', GOOD, with_one(identity={name: 9 if isinstance(IDENTITY[name], int) else 'other'}), ['identity_conditions_differ'])
expect('an implementation missing', with_one(identity=dict(implementation_id=None)), GOOD, ['implementation_id_missing'])
expect('an implementation blank', GOOD, with_one(identity=dict(implementation_id='\u3000')), ['incomplete_capture', 'implementation_id_empty'])
document = expect('another implementation', GOOD, with_one(identity=dict(implementation_id='impl ')), ['implementation_id_inconsistent'])
equal((document['baseline_implementation_id'], document['candidate_implementation_id']), ('impl', None), 'the id that a cohort has not in common is null')
pairs = [one(100 + i, pair=f'p{i}') for i in range(5)]
PAIRED = bundles(pairs)
runs = [one(100 + i, pair=f'p{i}' if i != 2 else None) for i in range(5)]
equal(expect('a run without pair', PAIRED, runs, ['pairing_incomplete'])['paired'], False, 'not paired')
expect('only one with pair', GOOD, with_one(pair='x'), ['pairing_incomplete'])
expect('a pair id twice', PAIRED, [one(100, pair=f'p{i % 4}') for i in range(5)], ['pair_ids_duplicated'])
expect('other pair ids', PAIRED, [one(100, pair=f'q{i}') for i in range(5)], ['pair_sets_mismatch'])
expect('a pair more', PAIRED, [one(100, pair=f'p{i}') for i in range(6)], ['pair_sets_mismatch'])
equal(expect('pairs in another order', PAIRED, [one(200 + i, pair=f'p{i}') for i in (3, 1, 4, 0, 2)], [])['median_delta_ns'], 100.0, 'pairs go by their ids')

# ---- raw traces ----
raw = [folder.put(f'raw{i}.jsonl', records) for i, records in enumerate(cohort() + cohort((75, 80, 78, 79, 77)))]
status, document, err = compare(raw[:5], raw[5:], '--unverified-traces')
equal((status, codes(document), document['inputs'], document['confidence_interval'], document['baseline']['median_ns'], document['median_delta_ns']),
      (0, ['unverified_inputs'], dict(verification='unverified_traces', baseline=[], candidate=[]), None, 101.0, -23.0), 'unverified traces')
equal(run('compare', '--unverified-traces', '--baseline', *raw[:5], '--candidate', *raw[5:], '-o', raw[0])[0], 2, 'an input is not overwritten')
equal(compare(raw[:5], raw[5:])[0], 3, 'raw traces are not bundles')
equal(compare(B, C, '--unverified-traces')[0], 3, 'nor bundles raw traces')

# ---- tensor statistics ----
base = cohort()
base[0] = one(100, stats('drift', rms=1.0, non_finite=1), stats('drift', rms=100.0), stats('stable', rms=2.0), stats('only_a'), stats('zero', rms=0.0, abs_max=0.0), stats('gone', rms=0.0))
cand = cohort()
cand[1] = one(100, stats('drift', rms=4.0), stats('stable', rms=2.2), stats('only_b'), stats('zero', rms=0.0, abs_max=1.0), stats('gone', rms=1.0))
table = compare(base, cand)[1]['tensor_stats']
rows = {row['label']: row for row in table['matched']}
equal([row['label'] for row in table['matched']], ['gone', 'drift', 'stable', 'zero'], 'rows by distance')
equal(rows['drift'], dict(label='drift', rms_a=50.5, rms_b=4.0, rms_ratio=4 / 50.5, abs_max_ratio=1.0, non_finite_a=1, non_finite_b=0, samples_a=2, samples_b=1, runs_a=1, runs_b=1), 'a row')
equal((rows['gone']['rms_ratio'], rows['zero']['rms_ratio'], rows['zero']['abs_max_ratio']), (None, 1.0, None), 'ratios of zeros')
equal((table['baseline_runs'], table['candidate_runs'], table['unmatched_a'], table['unmatched_b']), (5, 5, ['only_a'], ['only_b']), 'what is in one cohort only')

# ---- statuses ----
status, document, err = compare(GOOD, cohort()[:4], '--require-eligible')
ok(status == 1 and document['verdict'] == 'ineligible' and 'insufficient_runs' in err and err.count('\n') == 1, '--require-eligible: status 1 after writing', err)
equal(compare(GOOD, B, '--require-eligible')[0], 0, 'eligible: status 0')
status, document, err = compare(with_one(identity=False, terminal=failed('x')), with_one(terminal=failed('x'), identity=dict(implementation_id=None)), '--require-eligible')
ok('identity_missing, implementation_id_missing, incomplete_capture' in err.replace('capture_semantics_mismatch, ', ''), 'distinct codes, sorted', err)
equal((run('compare', '--baseline', *GOOD)[0], run('compare')[0], run('compare', '--baseline', '--candidate', *GOOD)[0]), (2, 2, 2), 'both cohorts are required')
broken = bundles(cohort())
open(broken[3] + '/report.md', 'a').write('x')
status, document, err = compare(GOOD, broken)
ok((status, document) == (3, None) and 'candidate 4' in err and 'report.md' in err and err.count('\n') == 1, 'a bundle that does not verify: cohort, position and file', err)
renamed = bundles(cohort())
text = read(renamed[0] + '/bundle.json').decode()
open(renamed[0] + '/bundle.json', 'w').write(text.replace('"run_id": "run-', '"run_id": "nur-'))
status, document, err = compare(renamed, GOOD)
ok((status, document, run('verify', renamed[0])[0]) == (3, None, 0) and 'baseline 1' in err and 'run_id' in err, 'a manifest of another run', err)
equal(compare([folder('none')], GOOD)[0], 3, 'a path that is not there')
equal(compare([GOOD[0] + '/trace.jsonl'], GOOD)[0], 3, 'a file in a bundle is no bundle here')
for output in (GOOD[4] + '/new', B[0] + '/x/../../y', B[2] + '/report.md'):
    status, _, err = compare(GOOD, B, '-o', output)
    ok(status == 2 and 'bundle' in err, 'an output in one of the bundles is refused', err)
equal((compare(GOOD, B, '-o', folder('c/d.json'))[0], json.loads(read(folder('c/d.json')))['verdict']), (0, 'inconclusive'), 'an output elsewhere')
done()
