#!/usr/bin/env python3
"""overview, summary, protocol and import: members, values worked out by hand, caps, --require-valid (doc/spec/cli.md 5.1 to 5.4)."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import (Folder, complete, document, done, end, equal, failed, interval, memory, meta, ok, op, query,  # noqa: E402
                 read, region, run, start, stats)

folder = Folder()


def is_sorted(value):
    if isinstance(value, dict):
        keys = [k.encode() for k in value]
        return keys == sorted(keys) and all(map(is_sorted, value.values()))
    return all(map(is_sorted, value)) if isinstance(value, list) else True


def pretty(out):
    return json.dumps(json.loads(out), indent=2, ensure_ascii=False) + '\n' == out


# Six children of m, so that five of seven rows show. Their self times are 11 to 16, m keeps 1000 - 81 = 919.
children = []
for i in range(6):
    children += [start(f'c{i}', 'm', f'child {i}', 200 + 20 * i, kind='module'), end(f'c{i}', 11 + i)]
TRACE = folder.put('t.jsonl', region(
    *children, op('m', 'mul', 400, 7, inputs=['t1'], output='t2', shape=[4]),
    dict(kind='tensor', span_id='m', tensor_id='t2', shape=[4], dtype='f32', device='cuda:0', category='activation'),
    memory('alloc', 401, 's1', 16, op_name='mul'), memory('alloc', 402, 's2', 100, category='other'), memory('free', 500, 's2', 100),
    dict(kind='device_memory', timestamp_ns=600, device='cuda:0', used_bytes=5),
    stats('a'), stats('b', non_finite=2), stats('c', non_finite=1), interval('m', 5, 50)))
FAILED = folder.put('failed.jsonl', region(terminal=failed('killed')))
INVALID = folder.put('invalid.jsonl', [r for r in region() if r.get('id') != 'm' or r['kind'] != 'span_end'])
NEITHER = folder.put('neither.jsonl', region(memory('free', 200, 's', 1), terminal=failed('killed')))
TOOL = {'package': 'cg-analyze', 'version': read(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'VERSION')).decode().strip()}
INPUT = {'evidence_source': 'trace_reconstruction', 'gpu_identity_bound': False, 'kind': 'raw_trace', 'requested_path': TRACE,
         'trace_path': TRACE}

# ---- overview ----
status, out, err = run('overview', TRACE)
overview = json.loads(out)
ok((status, err) == (0, '') and is_sorted(overview) and pretty(out), 'overview: sorted, two spaces a level')
equal(list(overview), ['activations', 'capabilities', 'counts', 'findings', 'gaps', 'gpu', 'health', 'input', 'memory', 'provenance', 'schema',
                       'timing', 'timing_unavailable_reason', 'tool'], 'overview: members')
equal((overview['schema'], overview['tool'], overview['input']), ('candle-graph/overview/2', TOOL, INPUT), 'overview: schema, tool, input')
# Nodes: r, m, six children; the op; tensors t1 and t2.
equal(overview['counts'], dict(graph_spans=11, tensor_stat_events=3, tensor_stat_non_finite_events=2), 'overview: counts')
equal(overview['capabilities'], query(TRACE, 'capabilities'), 'overview: capabilities')
summary = document('summary', TRACE)
issues = summary['health']['issues']
equal(overview['health'], dict(capture_complete=True, structurally_valid=True, error_count=0,
                               warning_count=sum(i['severity'] == 'warning' for i in issues)), 'overview: health')
spans = overview['timing'].pop('slowest_host_spans')
equal((overview['timing'], overview['timing_unavailable_reason']), (dict(entrypoint='demo::step', outer_wall_time_ns=1000), None), 'overview: timing')
# m: 1000 - 81 (children) - 7 (op) = 912.
equal(([(r['id'], r['measured_overlap_self_time_ns']) for r in spans['rows']], {k: v for k, v in spans.items() if k != 'rows'}),
      ([('m', 912), ('c5', 16), ('c4', 15), ('c3', 14), ('c2', 13)], dict(displayed=5, total=7, truncated=True)), 'overview: five spans of seven')
equal(overview['memory'], dict(logical=True, physical=True, logical_totals=dict(
    matched_storage_free_count=1, peak_live_bytes=116, peak_timestamp_ns=402, storage_allocation_count=2, total_allocated_bytes=116)), 'overview: memory')
equal((overview['findings']['total'], overview['findings']['truncated'], overview['findings']['rows']), (2, False, summary['findings']), 'overview: findings')
equal(overview['gaps'], dict(displayed=len(summary['gaps']), rows=summary['gaps'], total=len(summary['gaps']), truncated=False), 'overview: gaps')
equal(overview['provenance'], summary['provenance'], 'overview: provenance')
equal(overview['gpu'], summary['gpu'], 'overview: gpu')
equal((overview['gpu']['status'], overview['gpu']['diagnostic_count'], overview['gpu']['attributed_phases']['total'],
       overview['gpu']['correlation']['complete'], list(overview['gpu'])),
      ('unavailable', len(query(TRACE, 'gpu-status')['diagnostics']['rows']), None, None,
       ['attributed_phases', 'correlation', 'coverage', 'diagnostic_count', 'normalized_rows', 'provenance_binding', 'reason', 'status']), 'overview: gpu members')
# The op's storage of 16 bytes lives from 401 to the measured end, 1100: 699 ns.
rankings = query(TRACE, 'activations')['rankings']
equal(overview['activations']['top'], dict(
    device_busy=None, dense_output=dict(id='m/op/0', name='mul', dense_output_bytes=16),
    host_duration=dict(id='m/op/0', name='mul', observed_host_duration_ns=7),
    logical_allocated=dict(id='m/op/0', name='mul', logical_allocated_bytes=16),
    logical_byte_nanoseconds=dict(id='m/op/0', name='mul', logical_byte_nanoseconds=str(16 * 699)),
    logical_retained=dict(id='m/op/0', name='mul', logical_retained_bytes_at_measured_end=16)), 'overview: heads of the activation rankings')
equal((overview['activations']['operation_count'], overview['activations']['unattributed_activation_storages'], sorted(overview['activations'])),
      (1, 0, ['coverage', 'operation_count', 'top', 'unattributed_activation_storages']), 'overview: activations')
equal({name: overview['activations']['top'][name]['id'] for name in rankings if name != 'device_busy'},
      {name: rankings[name]['rows'][0]['id'] for name in rankings if name != 'device_busy'}, 'overview and query agree on the first of each ranking')

bare = document('overview', folder.put('bare.jsonl', region()))
equal((bare['memory'], bare['activations']['top']),
      (dict(logical=False, physical=False, logical_totals=None),
       dict.fromkeys(['dense_output', 'device_busy', 'host_duration', 'logical_allocated', 'logical_byte_nanoseconds', 'logical_retained'])),
      'overview of a capture without memory or activations')
for path, name in ((FAILED, 'failed'), (INVALID, 'invalid')):
    without = document('overview', path)
    equal((without['timing'], without['counts']['graph_spans'], isinstance(without['timing_unavailable_reason'], str)), (None, None, True),
          f'overview of a {name} capture: no timing, and why')

# Lists and texts are bounded in overview, whole in summary.
long = 'ä' * 3000  # 6000 bytes; at most 4096 are shown
wide = folder.put('wide.jsonl', region(
    tags={f'k{i:02}': 'v' for i in range(25)}, entrypoint=long, contract=dict(required_semantic_labels=[f'l{i}' for i in range(20)]),
    **{}))
shown = document('overview', wide)['provenance']
equal((shown['tags']['displayed'], shown['tags']['total'], shown['tags']['truncated'], len(shown['tags']['rows'])), (20, 25, True, 20),
      'overview: 25 tags are a bounded list')
equal(shown['capture_contract']['required_semantic_labels'], [f'l{i}' for i in range(20)], 'overview: 20 labels are written whole')
ok(shown['entrypoint'].endswith('…') and len(shown['entrypoint'].encode()) <= 4096 + 3 and set(shown['entrypoint']) == {'ä', '…'},
   'overview: a long text is cut at a character', len(shown['entrypoint'].encode()))
whole = document('summary', wide)['provenance']
equal((whole['entrypoint'], len(whole['tags'])), (long, 25), 'summary: nothing is cut')
gaps = region(*[r for i in range(30) for r in (memory('alloc', 200, f's{i}', 1),)], **{'contract': {}})
many = folder.put('gaps.jsonl', gaps)
overview, summary_gaps = document('overview', many), document('summary', many)['gaps']
equal((overview['gaps']['rows'], overview['gaps']['total']), (summary_gaps[:20], len(summary_gaps)), 'overview: at most 20 gaps, the first ones')

# ---- summary ----
status, out, err = run('summary', TRACE)
ok((status, err) == (0, '') and is_sorted(json.loads(out)) and pretty(out), 'summary: sorted, two spaces a level')
equal(list(summary), ['activations', 'capabilities', 'findings', 'gaps', 'gpu', 'health', 'input', 'memory', 'provenance', 'schema', 'summary',
                      'tensor_stats', 'timing', 'tool'], 'summary: members')
equal((summary['schema'], summary['tool'], summary['input'], summary['tensor_stats']),
      ('candle-graph/summary/6', TOOL, INPUT, dict(events=3, non_finite_events=2)), 'summary: schema, tool, input, tensor_stats')
packet = document('import', TRACE)
equal({k: summary[k] for k in ('activations', 'capabilities', 'findings', 'gaps', 'health', 'memory', 'provenance', 'timing')},
      {k: packet[k] for k in ('activations', 'capabilities', 'findings', 'gaps', 'health', 'memory', 'provenance', 'timing')}, 'summary: parts of the packet')
equal(summary['summary'], packet['graph']['summary'], 'summary: the summary of the graph')
equal(document('summary', FAILED)['summary'], None, 'summary of a failed capture: no graph')
equal(summary['provenance'], {k: v for k, v in dict(
    meta(), measured_region_device_synchronized=False,
    capture_contract=dict(meta()['capture_contract'], activations='none', tensors='none', gradients='none', required_semantic_labels=[])).items()
    if k not in ('kind', 'schema')}, 'summary: provenance with its defaults')

# ---- --require-valid: after writing ----
for path, name, words in ((FAILED, 'failed', ['complete']), (INVALID, 'invalid', ['structurally valid']),
                          (NEITHER, 'failed and invalid', ['structurally valid', 'complete'])):
    plain = run('summary', path)
    status, out, err = run('summary', path, '--require-valid')
    ok(plain[0] == 0 and status == 1 and out == plain[1] and err.count('\n') == 1 and all(w in err for w in words),
       f'--require-valid on a {name} capture: written, status 1, says which', f'{status} {err}')
equal(run('summary', TRACE, '--require-valid')[0], 0, '--require-valid on a good capture: status 0')
target = folder('s.json')
equal((run('summary', FAILED, '--require-valid', '-o', target)[0], json.loads(read(target))['schema']), (1, 'candle-graph/summary/6'),
      '--require-valid writes the file too')

# ---- protocol ----
status, out, err = run('protocol')
protocol = json.loads(out)
ok((status, err) == (0, '') and is_sorted(protocol) and pretty(out), 'protocol: sorted, two spaces a level')
equal((protocol['schema'], protocol['tool']), ('candle-graph/protocol/1', TOOL), 'protocol: schema and tool')
FORMAT = ['import', 'view', 'summary', 'query', 'overview', 'compare', 'report', 'verify', 'protocol', 'campaign-status', 'series']
names = [c['name'] for c in protocol['commands']]
listed = [n for n in names if n in FORMAT]
equal((listed, names[:len(listed)]), ([n for n in FORMAT if n in names], listed), "protocol: the format's commands first, in their order")
ok(all(sorted(c) == ['about', 'name'] and c['about'] for c in protocol['commands']), 'protocol: every command has its sentence')
ok(all(run('help', n)[0] == 0 for n in names) and all((run('help', n)[0] == 0) == (n in names) for n in FORMAT), 'protocol lists exactly what is built in')
SIXTEEN = ['slowest-host', 'slowest-device', 'heaviest', 'memory', 'spans', 'tensors', 'tensor-stats', 'gradients', 'labels', 'activations',
           'capabilities', 'gpu-status', 'gpu-correlation', 'gpu-phases', 'gpu-kernels', 'gpu-attribution-gaps']
kinds = [k['name'] for k in protocol['query_kinds']]
equal((kinds[:16], kinds[16:]), (SIXTEEN, ['kernels', 'copies', 'api', 'oom', 'leaks', 'temporaries', 'peak', 'churn', 'ledger', 'suspects', 'idle']), "protocol: the format's sixteen kinds, then ours")
equal(protocol['schemas'], dict(
    bundle='candle-graph/bundle/1', bundle_verification='candle-graph/bundle-verification/1', campaign='candle-graph/campaign/1',
    campaign_status='candle-graph/campaign-status/1', comparison='candle-graph/comparison/6', evidence='candle-graph/evidence/5',
    gradient_manifest='candle-graph/gradient-manifest/1', graph='candle-graph/graph/5', nsight_capture='candle-graph/nsight-capture/1',
    overview='candle-graph/overview/2', publication='candle-graph/publication/1', query='candle-graph/trace-query/7',
    series='candle-graph/series/1', summary='candle-graph/summary/6', trace_read=['candle-graph/trace/9', 'candle-graph/trace/10'],
    trace_write='candle-graph/trace/10', verify='candle-graph/verify/1', viewer='candle-graph/viewer/6' if 'view' in names else None), 'protocol: schemas')

# ---- import ----
equal(list(packet), ['schema', 'provenance', 'health', 'capabilities', 'findings', 'facts', 'gaps', 'graph', 'tensor_stats', 'timing', 'memory',
                     'activations', 'gpu'], 'import: members in declared order')
equal(list(document('import', FAILED)), ['schema', 'provenance', 'health', 'capabilities', 'findings', 'facts', 'gaps', 'timing', 'memory',
                                         'activations', 'gpu'], 'import: no graph and no statistics where there are none')
ok(pretty(run('import', TRACE)[1]), 'import: two spaces a level')
equal(run('import', TRACE)[1], run('import', '-', stdin=read(TRACE))[1], 'import: the packet does not depend on the path')
done()
