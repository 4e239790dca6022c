#!/usr/bin/env python3
"""Binding: the manifest that we write, and every reason for which one does not bind."""
import json
import os

from nsight import PROJECTION, SUMMARY, directory, done, equal, folder, gpu, manifest_of, ok, packet, run, trace

RANGE = PROJECTION + 'step,1000,500,100,200,PushPop,1,1,3,0,0,1,,:1\nprep/x,1000,500,100,200,PushPop,1,1,3,0,0,1,,:1\n'
FILES = {'a.nsys-rep': b'raw\0bytes', 'x_nvtx_gpu_proj_trace.csv': PROJECTION + 'step,1000,500,100,200,PushPop,1,1,3,0,0,1,,:1\n',
         'x_cuda_gpu_kern_sum.csv': SUMMARY + '100.0,9000,3,3000.0,3000.0,2000,4000,1.0,gemm\n'}
LABELS = dict(expected=['step'], cpu_only=['prep'])


def bound(changes=None, files=FILES, labels=LABELS, spoil=None, source=None, manifest=None):
    """(binding, provenance diagnostics) with a manifest made here, changed as told."""
    path = directory(files)
    made = manifest_of(path, **labels) if manifest is None else manifest
    if callable(changes):
        changes(made)
    elif changes:
        made.update(changes)
    with open(os.path.join(path, 'capture-manifest.json'), 'w') as file:
        file.write(made if isinstance(made, str) else json.dumps(made))
    if spoil:
        spoil(path)
    result = gpu(path, source, **LABELS)
    return (result['provenance']['binding'], result['provenance']['diagnostics'], result) if isinstance(result, dict) else (result, [], {})


def mismatch(name, changes, word, count=1, **more):
    binding, lines, result = bound(changes, **more)
    ok(binding == 'mismatch' and len(lines) == count and word in ' '.join(lines), name, (binding, lines))
    ok(result and result['status'] == 'available' and len(result['kernels']) == 1, name + ': rows stay', result)


def artifact(place, **changes):
    return lambda made: made['artifacts'][place].update(changes)


equal(bound()[:2], ('bound', []), 'a right manifest binds')
equal(bound(lambda made: [made['artifacts'][i].update(sha256=made['artifacts'][i]['sha256'].upper()) for i in range(3)])[:2], ('bound', []),
      'digests in upper case')
equal(bound(dict(hardware=dict(host=None, devices=['a']), run=dict(id='run-1', started_at=None), other=1))[:2], ('bound', []),
      'null for what is optional, unknown members')
mismatch('schema', dict(schema='candle-graph/nsight-capture/2'), 'schema')
mismatch('no raw report', None, 'raw report', files={k: v for k, v in FILES.items() if 'rep' not in k[-4:]})
mismatch('required label twice', dict(required_semantic_labels=['step', 'prep', 'step']), 'repeats')
mismatch('required labels differ', dict(required_semantic_labels=['step']), 'contract')
mismatch('expected label twice', dict(gpu_expected_semantic_labels=['step', 'step']), 'gpu_expected')
mismatch('CPU label twice', dict(cpu_only_semantic_labels=['prep', 'prep']), 'cpu_only')
mismatch('expected labels differ', dict(gpu_expected_semantic_labels=['step', 'prep']), 'expects')
mismatch('CPU labels differ', dict(cpu_only_semantic_labels=['step']), 'cpu_only')
mismatch('both class lists left out', lambda made: (made.pop('gpu_expected_semantic_labels'), made.pop('cpu_only_semantic_labels')), 'expects', 2)
mismatch('path twice', lambda made: made['artifacts'].append(made['artifacts'][0]), 'more than once')
for path in ('/etc/passwd', '../x', 'a/../b', '', './a', 'a\\b', 'a\0b'):
    mismatch('unsafe path %r' % path, lambda made: made['artifacts'].append(dict(path=path, size_bytes=0, sha256='0' * 64)), 'safe')
mismatch('missing file', lambda made: made['artifacts'].append(dict(path='gone', size_bytes=0, sha256='0' * 64)), 'missing')
mismatch('size', artifact(1, size_bytes=1), 'bytes')
mismatch('digest', artifact(1, sha256='0' * 64), 'SHA-256')
mismatch('size and digest', artifact(0, size_bytes=1, sha256='f' * 63), 'SHA-256', 2)
mismatch('undeclared report', lambda made: made['artifacts'].pop(1), 'not declared')
mismatch('undeclared raw report', lambda made: made['artifacts'].pop(0), 'not declared')
mismatch('another raw report, undeclared', lambda made: made['artifacts'].pop(1), 'b.qdrep', files={**FILES, 'b.qdrep': b'x'})
mismatch('run', dict(run=dict(id='run-2')), 'run.id')
mismatch('correlation', dict(correlation=dict(id='c-2')), 'correlation.id')
mismatch('run and correlation', dict(run=dict(id='run-2'), correlation=dict(id='c-2')), 'correlation.id', 2)
mismatch('a file behind a declared one', lambda made: made['artifacts'].append(
    dict(path='a.nsys-rep/x', size_bytes=0, sha256='0' * 64)), 'missing')

result = packet(FILES, **LABELS)
ok(result['gpu']['provenance']['binding'] == 'partial' and 'manifest' not in result['gpu']['provenance'] and
   len(result['gpu']['provenance']['diagnostics']) == 2, 'no manifest', result['gpu']['provenance'])
good = manifest_of(directory(FILES), **LABELS)
BAD = {'no object': '[]', 'cut': json.dumps(good)[:-1], 'text behind': json.dumps(good) + 'x', 'member twice': json.dumps(good)[:-1] + ',"schema":"x"}',
       'no tool': json.dumps({k: v for k, v in good.items() if k != 'tool'}), 'null list': json.dumps({**good, 'commands': None}),
       'null devices': json.dumps({**good, 'hardware': dict(devices=None)}), 'fraction': json.dumps(good).replace('"size_bytes": 9', '"size_bytes": 9.0'),
       'negative': json.dumps(good).replace('"size_bytes": 9', '"size_bytes": -9'), 'empty': '', 'list of numbers': json.dumps({**good, 'commands': [1]})}
for name, text in BAD.items():
    binding, lines, result = bound(manifest=text)
    ok(binding == 'partial' and len(lines) == 2 and 'manifest' not in result['provenance'] and len(result['kernels']) == 1,
       'manifest is nothing: ' + name, (binding, lines))
binding, lines, result = bound(dict(source_revisions=dict(b='2', a='1')))
equal((binding, list(result['provenance']['manifest']['source_revisions'].items())), ('bound', [('a', '1'), ('b', '2')]), 'revisions by component')
binding, lines, result = bound(files={'a.nsys-rep': b'x'})
equal((binding, result['status']), ('bound', 'unavailable'), 'binding is independent of rows')

# The command.
path, source = directory({**FILES, 'note.txt': 'x'}), trace(**LABELS)
os.symlink('/etc/passwd', os.path.join(path, 'link'))
status, out, err = run('nsight-manifest', path, '--trace', source, '--tool-version', '2026.1', '--command', 'nsys profile x', 'nsys stats', '--revision',
                       'b=2', 'a=1=1', '--format', 'json')
receipt = json.loads(out) if status == 0 else {}
equal((status, receipt.get('binding'), receipt.get('artifacts'), receipt.get('reports')), (0, 'bound', 4, 2), 'nsight-manifest: bound')
ok('link' in err, 'nsight-manifest: a link is not followed, which is said', err)
with open(os.path.join(path, 'capture-manifest.json')) as file:
    written = json.load(file)
os.remove(os.path.join(path, 'link'))
expected = manifest_of(path, **LABELS, commands=['nsys profile x', 'nsys stats'], hardware=dict(devices=[]), source_revisions=dict(a='1=1', b='2'))
equal(written, expected, 'nsight-manifest: what an independent hand writes')
equal(list(written), ['schema', 'run', 'correlation', 'tool', 'commands', 'hardware', 'source_revisions', 'required_semantic_labels',
                      'gpu_expected_semantic_labels', 'cpu_only_semantic_labels', 'artifacts'], 'nsight-manifest: order of members')
equal(gpu(path, source)['provenance']['binding'], 'bound', 'nsight-manifest: the bundle is bound')
ok(run('nsight-manifest', path, '--trace', source)[0] == 2, 'nsight-manifest: replaces nothing')
ok(run('nsight-manifest', path, '--trace', source, '--force')[0] == 0, 'nsight-manifest: --force')
ok(run('nsight-manifest', folder('none'), '--trace', source)[0] == 3, 'nsight-manifest: no directory')
ok(run('nsight-manifest', path, '--trace', source, '--force', '--revision', 'x')[0] == 2, 'nsight-manifest: a revision without component')
path = directory({'x_cuda_gpu_kern_sum.csv': FILES['x_cuda_gpu_kern_sum.csv']})
status, out, err = run('nsight-manifest', path, '--trace', source, '--format', 'json')
equal((status, json.loads(out)['binding'], 'raw report' in err), (0, 'mismatch', True), 'nsight-manifest: without raw report it is said at once')

# Verified anew, with all that Nsight gave.
bundle = folder('verified')
path = directory(FILES)
run('nsight-manifest', path, '--trace', source)
run('report', source, '--nsight-dir', path, '--bundle', bundle)
status, out, err = run('verify', bundle, '--semantic')
equal(status, 0, 'verify --semantic of a bundle with Nsight reports' + err)
done()
