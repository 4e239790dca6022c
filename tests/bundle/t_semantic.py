#!/usr/bin/env python3
"""Semantic verification: the evidence derived anew, compared by value and then without the texts for people (doc/spec/bundle.md 10)."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bundles import Folder, copy, done, equal, failed, interval, memory, ok, op, publish, read, region, run, seal, stats  # noqa: E402

folder = Folder()
BIG = 2**63 + 12345
GOOD = publish(folder, 'good', region(op('m', 'mm', 200, 10), memory('alloc', 150, 's', BIG), stats('loss', rms=0.1), interval('m', 5, 7),
                                      contract=dict(tensors='partial'), tags={'a/b~c': 'x'}))
numbers = iter(range(1000))


def sealed(edit):
    """A bundle whose evidence.json was changed and declared again: edit takes the text or the value."""
    bundle = copy(folder, GOOD, f'sealed-{next(numbers)}')
    path = os.path.join(bundle, 'evidence.json')
    content = read(path).decode()
    value = json.loads(content)
    result = edit(value)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(result if isinstance(result, str) else json.dumps(value))
    seal(bundle)
    return bundle


def status_of(bundle):
    status, out, err = run('verify', '--semantic', bundle)
    return (status, json.loads(out)['semantic'] if out else None, err)


def match(name, edit, expected='rederived_match'):
    status, semantic, err = status_of(sealed(edit))
    ok((status, semantic) == (0, dict(status=expected)), name, f'{status} {semantic} {err}')


def different(name, edit, pointer):
    status, semantic, err = status_of(sealed(edit))
    ok((status, semantic) == (1, None) and (f'at {pointer}\n' in err or pointer == '' and err), f'{name}: different at {pointer}', f'{status} {err}')


def at(value, pointer):
    parts = [p.replace('~1', '/').replace('~0', '~') for p in pointer.split('/')[1:]]
    for part in parts[:-1]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    last = int(parts[-1]) if isinstance(value, list) else parts[-1]
    return value, last


def put(pointer, new):
    def edit(value):
        place, last = at(value, pointer)
        place[last] = new
    return edit


def drop(pointer):
    def edit(value):
        place, last = at(value, pointer)
        del place[last]
    return edit


equal(status_of(GOOD)[:2], (0, dict(status='rederived_match')), 'as published')
equal(str(BIG) in read(os.path.join(GOOD, 'evidence.json')).decode(), True, 'a number beyond 2^63 is in it')
equal(status_of(publish(folder, 'failed', region(terminal=failed('stopped'))))[:2], (0, dict(status='rederived_match')), 'a failed capture')

# ---- the same value in another form ----
match('on one line', lambda value: json.dumps(value))
match('members in another order', lambda value: json.dumps(value, sort_keys=True, indent=7))
match('members in reverse', lambda value: json.dumps(dict(reversed(list(value.items())))))
match('all text escaped', lambda value: json.dumps(value, ensure_ascii=True))
match('a double written otherwise', lambda value: json.dumps(value).replace('"rms": 0.1,', '"rms": 1.00e-1,'))

# ---- texts for people ----
TEXTS = ['/capabilities/structural_trace/reason', '/capabilities/gpu_correlation/source', '/activations/definition', '/activations/coverage/reason',
         '/activations/host_time/source', '/facts/0/label', '/facts/0/source', '/findings/0/summary', '/health/issues/0/message', '/gpu/reason', '/gaps/0']
for pointer in TEXTS:
    match(f'another text at {pointer}', put(pointer, 'another'), 'rederived_match_except_text')
for pointer in ('/gpu/reason', '/gaps', '/gaps/0', '/facts/0/label'):
    match(f'no text at {pointer}', drop(pointer), 'rederived_match_except_text')
match('more gaps', lambda value: value['gaps'].append('another'), 'rederived_match_except_text')
match('a diagnostic more', lambda value: value['gpu']['diagnostics'].append('another'), 'rederived_match_except_text')

# ---- everything else ----
different('another size', put('/memory/logical/lifetimes/0/bytes', BIG + 1), '/memory/logical/lifetimes/0/bytes')
different('a size through a double', put('/memory/logical/lifetimes/0/bytes', float(BIG)), '/memory/logical/lifetimes/0/bytes')
different('1000.0 for 1000', put('/graph/summary/outer_wall_time_ns', 1000.0), '/graph/summary/outer_wall_time_ns')
different('the next double', put('/tensor_stats/0/rms', 0.10000000000000002), '/tensor_stats/0/rms')
different('another text', put('/tensor_stats/0/label', 'Loss'), '/tensor_stats/0/label')
different('another level', put('/capabilities/tensor_coverage/level', 'complete'), '/capabilities/tensor_coverage/level')
different('true for false', put('/health/structurally_valid', False), '/health/structurally_valid')
different('null for a missing member', put('/graph/spans/0/shape', None), '/graph/spans/0/shape')
different('a member missing', drop('/timing/device_clocks'), '/timing/device_clocks')
different('an unknown member', put('/timing/more', 1), '/timing/more')
different('an element more', lambda value: value['timing']['device_clocks'].append({}), '/timing/device_clocks/1')
different('an element less', lambda value: value['timing']['device_clocks'].pop(), '/timing/device_clocks/0')
different('a list for an object', put('/gpu/coverage', []), '/gpu/coverage')
different('a key that needs escapes', put('/provenance/tags/a~1b~0c', 'y'), '/provenance/tags/a~1b~0c')
different('the first of two', lambda value: (put('/timing/device_coverage', 'none')(value), put('/provenance/device', 'x')(value)), '/provenance/device')
different('an issue another code', put('/health/issues/0/code', 'x'), '/health/issues/0/code')
different('a text and a number', lambda value: (put('/gpu/reason', 'x')(value), put('/health/coverage/spans', 9)(value)), '/health/coverage/spans')

# ---- what cannot be compared ----
for name, edit, what in (('an older schema', put('/schema', 'candle-graph/evidence/4'), 'candle-graph/evidence/4'), ('no schema', drop('/schema'), 'schema'),
                         ('not JSON', lambda value: 'x', 'evidence.json'), ('half of it', lambda value: json.dumps(value)[:-1], 'evidence.json'),
                         ('a list', lambda value: '[]', 'schema'), ('nested too deeply', lambda value: '[' * 200 + ']' * 200, 'evidence.json'),
                         ('two values', lambda value: json.dumps(value) + '{}', 'evidence.json')):
    status, semantic, err = status_of(sealed(edit))
    ok((status, semantic) == (1, None) and what in err and err.count('\n') == 1, f'{name}: said so', f'{status} {err}')
bundle = copy(folder, GOOD, 'without')
os.remove(os.path.join(bundle, 'evidence.json'))
seal(bundle)
ok(run('verify', bundle)[0] == 0 and status_of(bundle)[0] == 1 and 'evidence.json' in status_of(bundle)[2], 'a bundle without evidence')
bundle = copy(folder, GOOD, 'bad-trace')
open(os.path.join(bundle, 'trace.jsonl'), 'w').write('not a trace\n')
seal(bundle)
ok(run('verify', bundle)[0] == 0 and status_of(bundle)[0] == 1 and 'trace.jsonl:1' in status_of(bundle)[2], 'a bundle with a trace that cannot be read', status_of(bundle))
os.makedirs(folder('empty'))
bundle = copy(folder, GOOD, 'empty-nsight')
os.mkdir(os.path.join(bundle, 'nsight'))
equal(status_of(bundle)[:2], (0, dict(status='rederived_match')), 'an empty nsight/ changes nothing')
done()
