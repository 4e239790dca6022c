#!/usr/bin/env python3
"""Bundles as the input of import, overview, summary and query; what is refused then (doc/spec/bundle.md 11, doc/spec/cli.md 2 and 3)."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bundles import PROGRAM, Folder, copy, document, done, equal, failed, interval, manifest, memory, ok, op, publish, read, region, run, seal, skip, stats, tree  # noqa: E402

folder = Folder()
RECORDS = region(op('m', 'mm', 200, 10, api='cuLaunchKernel', grid=[1, 1, 1], correlation=7),
                 interval('m', 5, 7, activity='kernel', name='gemm', correlation=7), memory('alloc', 150, 's', 2**63 + 1), stats('loss', rms=0.1),
                 contract=dict(tensors='partial', gradient_contract=None), tags={'k': 'v'})
GOOD = publish(folder, 'good', RECORDS)
TRACE = folder.put('alone/t.jsonl', RECORDS)
KINDS = ('slowest-host', 'slowest-device', 'heaviest', 'memory', 'spans', 'tensors', 'tensor-stats', 'gradients', 'labels', 'activations', 'capabilities',
         'gpu-status', 'gpu-correlation', 'gpu-phases', 'gpu-kernels', 'gpu-attribution-gaps', 'kernels', 'copies', 'api', 'oom', 'leaks', 'temporaries', 'peak',
         'churn', 'ledger', 'suspects', 'idle')
COMMANDS = [('overview',), ('summary',)] + [('query', '--kind', kind) for kind in KINDS]
receipt = document('verify', GOOD)['receipt']
numbers = iter(range(1000))

# ---- the same answers as from the trace alone ----
equal(run('import', GOOD), (0, read(os.path.join(GOOD, 'evidence.json')).decode(), ''), 'import writes the packet again')
for words in COMMANDS:
    name = ' '.join(words).replace('--kind ', '')
    raw, bundle = document(words[0], TRACE, *words[1:]), document(words[0], GOOD, *words[1:])
    equal(bundle['input'], dict(bundle_root=GOOD, evidence_source='verified_evidence_json', gpu_identity_bound=False, kind='verified_bundle',
                                requested_path=GOOD, trace_path=GOOD + '/trace.jsonl', verification=receipt), f'{name}: the input')
    equal(list(bundle['input']['verification']), sorted(receipt), f'{name}: the receipt ascends')
    raw.pop('input'), bundle.pop('input')
    equal(bundle, raw, f'{name}: as from the trace')
equal(document('query', GOOD, '--kind', 'kernels')['result']['by_device_time']['rows'][0]['name'], 'gemm', 'kinds of ours read the trace in the bundle')
status, out, err = run('query', GOOD, '--kind', 'spans', '--all', '--format', 'csv', '-o', folder('rows.csv'))
ok(status == 0 and read(folder('rows.csv')).count(b'\n') > 3, 'CSV', err)
ok(run('overview', GOOD, '--format', 'table')[0] == 0, 'tables')

# ---- a file in it stands for it ----
for name in ('trace.jsonl', 'evidence.json', 'report.md', 'bundle.json'):
    answer = document('summary', os.path.join(GOOD, name))
    equal((answer['input']['kind'], answer['input']['bundle_root'], answer['input']['requested_path']), ('verified_bundle', GOOD, os.path.join(GOOD, name)),
          f'{name} stands for the bundle')
status, out, err = run('summary', 'trace.jsonl', cwd=GOOD)
equal((status, json.loads(out or '{}').get('input', {}).get('bundle_root')), (0, '.'), 'a bare name: the current directory')
equal(document('summary', '.', cwd=GOOD)['input']['trace_path'], './trace.jsonl', 'the current directory')
os.symlink(GOOD, folder('link'))
equal(document('summary', folder('link'))['input']['bundle_root'], folder('link'), 'through a link, as it was given')

# ---- failed captures ----
stopped = publish(folder, 'failed', region(terminal=failed('out of memory')))
equal((run('summary', stopped, '--require-valid')[0], run('query', stopped, '--kind', 'spans')[0], run('query', stopped, '--kind', 'kernels')[0]), (1, 3, 0),
      'a failed capture: no graph, but the kinds of ours')


# ---- what is refused ----
def sealed(edit, reseal=True, **changes):
    bundle = copy(folder, GOOD, f'sealed-{next(numbers)}')
    edit(bundle)
    if reseal:
        seal(bundle, **changes)
    return bundle


def evidence(edit):
    def change(bundle):
        path = os.path.join(bundle, 'evidence.json')
        value = json.loads(read(path))
        edit(value)
        with open(path, 'w') as file:
            json.dump(value, file)
    return change


def write(name, content):
    def change(bundle):
        with open(os.path.join(bundle, name), 'wb') as file:
            file.write(content)
    return change


def refused(name, bundle, what):
    for words in (('import',), ('overview',), ('summary',), ('query', '--kind', 'capabilities'), ('query', '--kind', 'api')):
        status, out, err = run(words[0], bundle, *words[1:])
        ok((status, out) == (3, '') and what in err and err.count('\n') == 1, f'{name}: {" ".join(words)} refuses', f'{status} {err}')


def removed(name):
    return lambda bundle: os.remove(os.path.join(bundle, name))


refused('a byte changed', sealed(lambda bundle: open(os.path.join(bundle, 'report.md'), 'r+').write('X'), reseal=False), 'report.md')
refused('an undeclared file', sealed(write('extra', b''), reseal=False), 'extra')
refused('no trace', sealed(removed('trace.jsonl')), 'trace.jsonl')
refused('no evidence', sealed(removed('evidence.json')), 'evidence.json')
refused('another run_id', sealed(lambda bundle: None, run_id='another'), 'run_id')
refused('a trace that is none', sealed(write('trace.jsonl', b'x\n')), 'trace.jsonl:1')
bad = sealed(write('trace.jsonl', b'x\n'))
write('trace.jsonl', b'x\n\n')(bad)
refused('a trace that is none, of another size', bad, 'trace.jsonl: 3 bytes')
bad = sealed(write('trace.jsonl', b'x\n' * 700000))
write('trace.jsonl', b'x\n' * 699999 + b'y\n')(bad)
refused('a trace that is none, changed far behind its defect', bad, 'trace.jsonl: its SHA-256')
bad = sealed(write('trace.jsonl', b'x\n'))
write('report.md', read(os.path.join(bad, 'report.md')).replace(b'e', b'E', 1))(bad)
refused('a trace that is none beside a changed report', bad, 'report.md: its SHA-256')
refused('a compressed trace', sealed(write('trace.jsonl', __import__('gzip').compress(read(os.path.join(GOOD, 'trace.jsonl'))))), 'trace.jsonl:1')
refused('evidence that is not JSON', sealed(write('evidence.json', b'{')), 'evidence.json')
for schema in ('candle-graph/evidence/4', 'candle-graph/evidence/6'):
    refused(schema, sealed(evidence(lambda value, schema=schema: value.update(schema=schema))), 'schema')
refused('another graph schema', sealed(evidence(lambda value: value['graph'].update(schema='candle-graph/graph/4'))), 'graph.schema')
for name in ('schema', 'provenance', 'health', 'capabilities', 'findings', 'facts', 'gaps', 'timing', 'memory', 'gpu', 'activations'):
    refused(f'no {name}', sealed(evidence(lambda value, name=name: value.pop(name))), name)
for name, changes in dict(run_id='x', correlation_id='x', entrypoint='x', phase='infer', timestamp='x', capture_step=4, warmup_steps=1, device='cpu', tags={}).items():
    refused(f'provenance: another {name}', sealed(evidence(lambda value, name=name, changes=changes: value['provenance'].update({name: changes}))), 'provenance')
refused('provenance: another contract', sealed(evidence(lambda value: value['provenance']['capture_contract'].update(operations='none'))), 'provenance')
os.mkdir(folder('dangling'))
os.symlink('nowhere', folder('dangling/bundle.json'))
refused('bundle.json a dangling link', folder('dangling'), 'bundle.json')

# ---- what is believed ----
bundle = sealed(evidence(lambda value: (value['facts'][0].update(label='another'), value.update(unknown=1), value['capabilities'].pop('tensor_coverage'), value.pop('tensor_stats'))))
answer = document('summary', bundle)
equal((answer['capabilities']['tensor_coverage']['level'], answer['tensor_stats']['events']), ('unavailable', 0), 'the packet is used as it stands')
equal(json.loads(run('import', bundle)[1])['facts'][0]['label'], 'another', 'import writes what it says')
equal('unknown' in json.loads(run('import', bundle)[1]), False, 'and drops what it does not know')
bundle = sealed(evidence(lambda value: value['gpu']['provenance'].update(binding='bound')))
equal(document('overview', bundle)['input']['gpu_identity_bound'], True, 'gpu_identity_bound')

# ---- each file is read once, and nothing outside ----
if shutil.which('strace') and subprocess.run(['strace', '-f', 'true'], capture_output=True).returncode == 0:
    for words in (('overview', GOOD), ('query', GOOD, '--kind', 'kernels'), ('compare', '--baseline', GOOD, '--candidate', GOOD, '--structure'), ('series', '--bundle', GOOD)):
        subprocess.run(['strace', '-f', '-y', '-o', folder('calls'), '-e', 'trace=%file,%desc', PROGRAM, *words, '-o', folder('answer')], capture_output=True)
        calls = read(folder('calls')).decode()
        got = {}
        for path, count in re.findall(r'\b(?:read|pread64)\(\d+<([^>]*)>.* = (\d+)$', calls, re.M):
            if path.startswith(GOOD + '/'):
                got[path[len(GOOD) + 1:]] = got.get(path[len(GOOD) + 1:], 0) + int(count)
        times = 2 if words[0] == 'compare' else 1
        expected = {f['path']: times * f['bytes'] for f in manifest(GOOD)['files']}
        manifest_reads = got.pop('bundle.json') / os.path.getsize(os.path.join(GOOD, 'bundle.json'))
        equal((got, manifest_reads), (expected, times * 2), f'{words[0]}: every file is read once, the manifest once more at the end')
        lines = calls.splitlines()
        first = next(i for i, line in enumerate(lines) if 'openat' in line and GOOD in line)
        outside = [line for line in lines[first:] if re.search(r'\bopen(at)?\(AT_FDCWD', line) and not any(name in line for name in (GOOD, '/.cg-analyze.', 'O_TMPFILE', 'openssl.cnf', '/proc/', '/sys/'))]
        equal(outside, [], f'{words[0]}: nothing outside is opened')
else:
    skip('each file is read once', 'strace cannot be used here')

# ---- never into it ----
before = tree(GOOD)
os.mkdir(folder('elsewhere'))
os.symlink(os.path.join(GOOD, 'report.md'), folder('elsewhere/to-file'))
os.link(os.path.join(GOOD, 'report.md'), folder('elsewhere/hard'))
for output in ('good/new.json', 'good/trace.jsonl', 'good', 'link/new.json', 'elsewhere/to-file', 'elsewhere/hard', 'good/new/../../outside', 'elsewhere/../good/x', 'elsewhere/../link/./x'):
    for words in (('import',), ('overview',), ('query', '--kind', 'spans')):
        status, out, err = run(words[0], GOOD, *words[1:], '-o', folder(output))
        equal((status, out), (2, ''), f'{words[0]} into {output} is refused')
equal(run('import', '.', '-o', 'x', cwd=GOOD)[0], 2, 'from inside it too')
equal(run('import', GOOD, '-o', folder('goodness'))[0], 0, 'a name that begins like it is outside')
equal(tree(GOOD), before, 'nothing in it was changed')
done()
