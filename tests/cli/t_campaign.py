#!/usr/bin/env python3
"""campaign-status and series: plans, states, points, what is refused (doc/spec/compare.md 2 to 4, doc/spec/cli.md 5.10 and 5.11)."""
import hashlib
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, equal, failed, ok, read, region, run, start, end, stats  # noqa: E402

folder = Folder()


def publish(name, records):
    status, _, err = run('report', folder.put('traces/' + name.replace('/', '-') + '.jsonl', records), '--bundle', folder(name))
    assert status == 0, err
    return folder(name)


def step(number, *inside, **changes):
    changes.setdefault('run_id', f'run-{number}')
    return region(*inside, capture_step=number, warmup_steps=0, **changes)


def gradient(key, state, norm=None, number=iter(range(1000))):
    record = dict(kind='gradient', event_id=f'g{next(number)}', root='vb', key=key, state=state)
    return record if norm is None else dict(record, norm=norm)


def plan(*captures, name='plan.json', **changes):
    whole = dict(schema='candle-graph/campaign/1', campaign_id='night', entrypoint='demo::step', planned=[dict(capture_step=n, bundle=b) for n, b in captures])
    whole.update(changes)
    return folder.put(name, json.dumps({key: value for key, value in whole.items() if value is not None}))


def digest(bundle):
    return hashlib.sha256(read(bundle + '/bundle.json')).hexdigest()


def status_of(*words, **more):
    status, out, err = run('campaign-status', '--manifest', *words, **more)
    return status, json.loads(out) if out else None, err


# ---- states ----
B100, B200 = publish('b/100', step(100)), publish('b/200', step(200))
publish('b/300', step(999))
PLAN = plan((300, 'b/300'), (100, 'b/100'), (400, 'b/400'), (200, 'b//200'))
status, document, err = status_of(PLAN)
equal((status, err, list(document)), (0, '', ['schema', 'campaign_id', 'entrypoint', 'planned', 'published', 'missing', 'failed', 'captures']), 'members')
equal([document[key] for key in list(document)[:-1]], ['candle-graph/campaign-status/1', 'night', 'demo::step', 4, 2, 1, 1], 'values')
equal([(c['capture_step'], c['bundle'], c['state']['state']) for c in document['captures']],
      [(100, 'b/100', 'published'), (200, 'b//200', 'published'), (300, 'b/300', 'identity_mismatch'), (400, 'b/400', 'missing')], 'captures by step')
equal((list(document['captures'][0]), document['captures'][0]['state']), (['capture_step', 'bundle', 'state'], dict(state='published', run_id='run-100', manifest_sha256=digest(B100))), 'published')
ok('999' in document['captures'][2]['state']['message'] and '300' in document['captures'][2]['state']['message'], 'both steps are in the message')
equal(document['captures'][3]['state'], dict(state='missing'), 'missing')

publish('failed', step(1, terminal=failed('out of memory')))
publish('invalid', step(2, timestamp=' '))
publish('other', step(3, entrypoint='other'))
shutil.copytree(folder('b/100'), folder('changed'))
open(folder('changed/report.md'), 'a').write('x')
shutil.copytree(folder('b/100'), folder('renamed'))
open(folder('renamed/bundle.json'), 'w').write(read(folder('b/100/bundle.json')).decode().replace('run-100', 'run-101'))
publish('no-trace', step(6))
value = json.loads(read(folder('no-trace/bundle.json')))
value['files'] = [f for f in value['files'] if f['path'] != 'trace.jsonl']
os.remove(folder('no-trace/trace.jsonl'))
open(folder('no-trace/bundle.json'), 'w').write(json.dumps(value))
folder.put('a-file', 'x')
os.symlink('nowhere', folder('dangling'))
os.symlink('b/200', folder('link'))
document = status_of(plan((1, 'failed'), (2, 'invalid'), (3, 'other'), (4, 'changed'), (5, 'renamed'), (6, 'no-trace'), (7, 'a-file'), (8, 'dangling'), (200, 'link'), (0, 'none')))[1]
states = {c['bundle']: c['state'] for c in document['captures']}
equal(states['failed'], dict(state='failed_run', run_id='run-1', reason='out of memory'), 'a failed run, with its reason')
equal(states['invalid']['state'], 'published', 'structural validity is not looked at')
ok(states['other']['state'] == 'identity_mismatch' and 'demo::step' in states['other']['message'] and 'other' in states['other']['message'], 'another entrypoint', states['other'])
for name, what in (('changed', 'report.md'), ('renamed', 'run_id'), ('no-trace', 'trace.jsonl'), ('a-file', 'a-file')):
    ok(states[name]['state'] == 'verification_failed' and what in states[name]['message'] and list(states[name]) == ['state', 'message'], f'{name}: does not verify', states[name])
equal((states['dangling']['state'], states['none']['state'], states['link']['state']), ('missing', 'missing', 'published'), 'links are followed, dangling ones are absent')
equal((document['planned'], document['published'], document['missing'], document['failed']), (10, 2, 2, 6), 'counts')
equal([c['capture_step'] for c in document['captures']], [0, 1, 2, 3, 4, 5, 6, 7, 8, 200], 'step 0 may be planned')

# ---- where paths begin ----
equal(status_of('plan.json', cwd=folder.path)[1]['captures'][0]['state']['state'], 'missing', 'a bare name: the current directory')
equal(status_of('../plan2.json', cwd=folder('b'))[0], 3, 'a manifest that is not there')
os.mkdir(folder('sub'))
plan((100, '100'), name='b/plan.json')
equal(status_of('b/plan.json', cwd=folder.path)[1]['published'], 1, 'relative to the manifest')
plan((2**64 - 1, 'none'), name='big.json')
equal(status_of(folder('big.json'))[1]['captures'][0]['capture_step'], 2**64 - 1, 'the greatest step')

# ---- plans that are refused ----
for name, path in (('another schema', plan((1, 'a'), schema='candle-graph/campaign/2')), ('a blank id', plan((1, 'a'), campaign_id=' \u2003', name='p1.json')),
                   ('a blank entrypoint', plan((1, 'a'), entrypoint='', name='p2.json')), ('no captures', plan(name='p3.json')),
                   ('a step twice', plan((1, 'a'), (1, 'b'), name='p4.json')), ('a path twice', plan((1, 'a'), (2, 'a'), name='p5.json')),
                   ('no planned', plan(planned=None, name='p6.json')), ('no id', plan((1, 'a'), campaign_id=None, name='p7.json')),
                   ('a null', plan((1, None), name='p8.json')), ('a step 1.0', plan((1.0, 'a'), name='p9.json')), ('a step -1', plan((-1, 'a'), name='p10.json')),
                   ('a step 2^64', plan((2**64, 'a'), name='p11.json')), ('a step as text', plan(('1', 'a'), name='p12.json')),
                   ('not JSON', folder.put('p13.json', '{')), ('two values', folder.put('p14.json', read(PLAN) + b'{}')), ('a byte order mark', folder.put('p15.json', b'\xef\xbb\xbf' + read(PLAN))),
                   ('a member twice', folder.put('p16.json', read(PLAN).replace(b'"planned"', b'"planned": [], "planned"'))), ('a directory', folder('b')), ('nothing', folder('nothing.json'))):
    status, document, err = status_of(path)
    ok((status, document) == (3, None) and path in err and err.count('\n') == 1, f'{name}: refused', f'{status} {err}')
for path in ('', '/abs/b1', '../escape', 'a/../b', 'a\\b', '.', './b', '..', 'a/..', 'a\0b'):
    ok(status_of(plan((1, path), name='path.json'))[0] == 3, f'the path {path!r} is refused')
for path in ('b1', 'bundles/b1', 'a//b', 'a/./b', 'a/', '...', '.b'):
    equal(status_of(plan((1, path), (2, path + '/'), name='path.json'))[0], 0, f'the path {path!r} is taken, and with a slash it is another')
ok(status_of(plan((1, 'a'), (2, 'b'), more=dict(a=2**64), name='more.json'))[0] == 0, 'unknown members are passed over')
equal(run('campaign-status')[0], 2, '--manifest is required')
equal(run('campaign-status', '--manifest', PLAN, '-o', PLAN)[0], 2, 'the plan is not overwritten')
PLAN = plan((300, 'b/300'), (100, 'b/100'), (400, 'b/400'), (200, 'b//200'))
equal(run('campaign-status', '--manifest', PLAN, '-o', folder('b/100/x'))[0], 2, 'nor anything written into a bundle')
equal((run('campaign-status', '--manifest', PLAN, '-o', folder('status.json'))[0], json.loads(read(folder('status.json')))['planned']), (0, 4), 'an output')


# ---- series ----
def series(*words):
    status, out, err = run('series', *words)
    return status, json.loads(out) if out else None, err


S100 = publish('s/100', step(100, stats('enc', rms=1.5), stats('loss', rms=0.25, non_finite=2), stats('enc', rms=2.5), gradient('enc.w', 'present', 0.5), gradient('dec.w', 'missing')))
S200 = publish('s/200', step(200, stats('enc', rms=3.5), gradient('enc.w', 'zero', 0.0)))
two = step(300, gradient('enc.w', 'non_finite'))
two[3:3] = [start('n', 'r', 'second', 600, measured=True), end('n', 10)]
S300 = publish('s/300', two)
status, document, err = series('--bundle', S300, S100, '--bundle', S200)
equal((status, err, list(document)), (0, '', ['schema', 'entrypoint', 'coordinate', 'label_prefix', 'inputs', 'outer_wall_time', 'tensor_stats', 'gradients']), 'series: members')
equal([document[key] for key in list(document)[:4]], ['candle-graph/series/1', 'demo::step', 'capture_step', None], 'series: values')
equal(document['inputs'], [dict(capture_step=n, run_id=f'run-{n}', bundle=b, manifest_sha256=digest(b)) for n, b in ((100, S100), (200, S200), (300, S300))], 'inputs by step')
equal(document['outer_wall_time'], [dict(capture_step=n, run_id=f'run-{n}', outer_wall_time_ns=t) for n, t in ((100, 1000), (200, 1000), (300, None))], 'no time of two measured regions')
equal(list(document['tensor_stats']), ['enc', 'loss'], 'labels ascend')
equal([(p['capture_step'], p['rms']) for p in document['tensor_stats']['enc']], [(100, 1.5), (100, 2.5), (200, 3.5)], 'every event is a point, in trace order')
equal(document['tensor_stats']['loss'], [dict(capture_step=100, run_id='run-100', rms=0.25, abs_max=2.0, mean=-0.5, non_finite=2, elements=2)], 'a point')
equal(document['gradients'], {'vb/dec.w': [dict(capture_step=100, run_id='run-100', state='missing', norm=None)],
                              'vb/enc.w': [dict(capture_step=n, run_id=f'run-{n}', state=s, norm=v) for n, s, v in ((100, 'present', 0.5), (200, 'zero', 0.0), (300, 'non_finite', None))]}, 'gradients by root and key')
filtered = series('--bundle', S100, S200, '--label-prefix', 'vb/enc')[1]
equal((filtered['label_prefix'], filtered['tensor_stats'], list(filtered['gradients']), len(filtered['inputs'])), ('vb/enc', {}, ['vb/enc.w'], 2), '--label-prefix')
equal(list(series('--bundle', S100, '--label-prefix', 'en')[1]['tensor_stats']), ['enc'], 'is a prefix')
equal(series('--bundle', S100, '--label-prefix', 'Enc')[1]['tensor_stats'], {}, 'of bytes')
equal(series('--bundle', S100, '--label-prefix', '')[1]['label_prefix'], '', 'an empty one keeps all, and is said')
good = plan((200, 's/200'), (100, 's/100'), name='good.json')
equal([(i['capture_step'], i['bundle']) for i in series('--manifest', good)[1]['inputs']], [(100, folder('s/100')), (200, folder('s/200'))], 'of a plan')
equal(series('--bundle', folder('failed'))[0], 0, 'a failed run given by name is taken')
status, document, err = series('--manifest', plan((1, 'failed'), (300, 'b/300'), (100, 'b/100'), (400, 'b/400'), (4, 'changed'), name='bad.json'))
ok((status, document) == (1, None) and err.count('\n') == 5, 'a plan that is not all published: status 1', f'{status} {err}')
order = [err.find(what) for what in ('step 1 (failed): failed_run', 'step 4 (changed): verification_failed', 'step 300 (b/300): identity_mismatch', 'step 400 (b/400): missing')]
ok(order == sorted(order) and min(order) >= 0 and 'b/100' not in err, 'all others are named in step order', err)
publish('infer', step(500, phase='infer'))
publish('again', step(100, run_id='again'))
for name, words, what in (('another entrypoint', (S100, folder('other')), ('entrypoint',)), ('another phase', (S100, folder('infer')), ('phase',)),
                          ('a step twice', (S100, S200, folder('again')), ('100', S100, folder('again'))), ('a bundle twice', (S200, S100, S200), ('200', S200)),
                          ('a changed bundle', (S100, folder('changed')), ('report.md',)), ('another run in the manifest', (S200, folder('renamed')), ('run_id',)),
                          ('a raw trace', (folder('traces/s-100.jsonl'),), ('s-100.jsonl',)), ('nothing', (folder('none'),), ('none',))):
    status, document, err = series('--bundle', *words)
    ok((status, document) == (3, None) and all(w in err for w in what) and err.count('\n') == 1, f'series: {name} is refused', f'{status} {err}')
equal((series()[0], series('--bundle')[0], series('--manifest', good, '--bundle', S100)[0]), (2, 2, 2), 'exactly one of --manifest and --bundle')
equal((series('--bundle', S100, '-o', S100 + '/x')[0], series('--manifest', good, '-o', S200 + '/x')[0], series('--manifest', good, '-o', good)[0]), (2, 2, 2), 'outputs in bundles and over the plan are refused')
equal(series('--manifest', folder('p3.json'))[0], 3, 'a plan that is refused')
many = plan(*[(n, f'gone/{n}') for n in range(1, 101)], name='many.json')
status, document, err = series('--manifest', many)
ok(status == 1 and all(f'step {n} ' in err for n in range(1, 101)), 'a hundred captures missing: all are named', len(err))
done()
