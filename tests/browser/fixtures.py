"""Traces that the page is tested with; their figures are worked out in t_viewer.py and page_test.mjs."""
import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from cli import PROGRAM, complete, end, failed, interval, memory, meta, op, region, start, stats  # noqa: E402


def launch(span, name, at, duration, correlation, **more):
    return op(span, name, at, duration, api='cuLaunchKernel', correlation=correlation, grid=[2, 1, 1], block=[64, 1, 1], tid=7, **more)


def kernel(span, at, duration, correlation, **more):
    return interval(span, at, duration, activity='kernel', correlation=correlation, **more)


def gradient(number, key, state, **more):
    return dict(kind='gradient', event_id=f'g{number}', root='vb', key=key, state=state, **more)


def frame(symbol, offset):
    return dict(module='/opt/app/trainer', build_id='ab12', offset=offset, symbol=symbol)


def manifest(entries):
    """The digest of expected gradients (doc/spec/bundle.md 3)."""
    digest = hashlib.sha256(b'candle-graph/gradient-manifest/1\0')
    for entry in entries:
        for key in ('root', 'key', 'family'):
            text = entry[key].encode()
            digest.update(len(text).to_bytes(8, 'little') + text)
    return 'sha256:' + digest.hexdigest()


EXPECTED = [dict(root='vb', key=key, family=family) for key, family in (('encoder.weight', 'encoder'), ('encoder.bias', 'encoder'), ('head.weight', 'head'))]
CONTRACT = dict(gradients='complete', gradient_contract=dict(manifest_sha256=manifest(EXPECTED), expected=EXPECTED, families=[
    dict(family='encoder', expectation='active', min_present=1), dict(family='head', expectation='inactive', min_present=0)]))
SUMMARY = 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n90.0,800,2,400.0,400.0,300,500,141.4,gemm\n10.0,80,1,80.0,80.0,80,80,0.0,relu\n'

# Two spans of work with launches on two streams; three storages, one of them kept; samples; measurements.
SMALL = [
    start('f', 'm', 'forward', 110, step='forward', tid=7),
    launch('f', 'gemm', 115, 10, 1, inputs=['x', 'w'], output='h', stack=dict(id='stack:1', frames=[frame('run_layer', 64), frame('main', 16)])),
    kernel('f', 5000, 300, 1),
    launch('f', 'relu', 140, 20, 2, inputs=['h'], output='y', stack=dict(id='stack:2', frames=[frame('activate', 96), frame('main', 24)])),
    kernel('f', 5400, 80, 2, stream='8'),
    memory('alloc', 120, 'a', 4096, span='f', address='0x1000', op_name='cuMemAlloc', stack=dict(id='stack:1')),
    memory('alloc', 150, 'b', 1024, span='f', address='0x3000', op_name='cuMemAlloc', category='parameter'),
    end('f', 100),
    start('g', 'm', 'backward', 300, step='backward', tid=7),
    launch('g', 'gemm', 310, 30, 3), kernel('g', 6000, 500, 3),
    op('g', 'copy', 350, 40, api='cuMemcpyHtoDAsync_v2', correlation=4, bytes=4096, tid=7),
    interval('g', 7000, 2000, activity='memcpy', name='HtoD', bytes=4096, correlation=4),
    memory('alloc', 360, 'c', 2048, span='g', address='0x5000', op_name='cuMemAlloc'),
    memory('free', 380, 'a', 4096, span='g', address='0x1000'),
    memory('free', 390, 'c', 2048, span='g', address='0x5000'),
    end('g', 120),
    dict(kind='device_memory', timestamp_ns=100, device='cuda:0', used_bytes=100000, free_bytes=900000, capacity_bytes=1000000),
    dict(kind='device_memory', timestamp_ns=400, device='cuda:0', used_bytes=120000, free_bytes=880000, capacity_bytes=1000000),
    dict(kind='tensor', span_id='f', tensor_id='h', label='hidden', shape=[2, 4], dtype='f32', device='cuda:0', category='activation'),
    stats('loss'), stats('logits', non_finite=1),
    gradient(1, 'encoder.weight', 'present', norm=0.5), gradient(2, 'encoder.bias', 'zero', norm=0.0), gradient(3, 'head.weight', 'missing'),
]
END = dict(kind='terminal', outcome='complete', timestamp_ns=20000)

BREAKOUT = '</script><script>window.hacked=1</script>'
HOSTILE = [BREAKOUT, '<img src=x onerror="window.hacked=2">', 'long ' + 'x' * 10240, 'שלום עולם \u202e evil', '🚀🔥 kernel 👩‍👩‍👧', '"><svg onload=window.hacked=3>',
           '=HYPERLINK("http://x")', '\u0001#12345678901234567890', "it's $(touch /tmp/x) `id`", '</style><style>*{display:none}</style>', '<!--', ']]>', '']


def hostile():
    inside = []
    at = 110
    for i, name in enumerate(HOSTILE):
        inside += [start(f's{i}', 'm', name or ' ', at, tid=7), launch(f's{i}', name or ' ', at + 1, 2, i + 1), kernel(f's{i}', 5000 + 10 * i, 5, i + 1),
                   memory('alloc', at + 3, f'{i}{name}', 64, span=f's{i}', op_name=name or ' ', device=name or 'cuda:0'), end(f's{i}', 8), stats(name or 'x')]
        at += 20
    return region(*inside, terminal=END, entrypoint=BREAKOUT, tags={BREAKOUT: HOSTILE[1]}, run_id='run-<b>1</b>')


def large_numbers():
    """Figures beyond 2^53, which a page must show as they are."""
    return region(op('m', 'vast', 110, 9007199254740993, api='cuVast', tid=7, correlation=1), memory('alloc', 200, 'v', 18446744073709551615),
                  interval('m', 1795989824635842813, 7, activity='kernel', correlation=1), interval('m', 1795989824635842823, 9, activity='kernel', name='second'),
                  terminal=dict(kind='terminal', outcome='complete', timestamp_ns=18446744073709551615))


def many(count):
    """More slices than a small page can hold: `count` operations of 3 ns, 10 ns apart."""
    inside = [start('w', 'm', 'work', 105, tid=7)]
    inside += [op('w', f'op{i % 50}', 110 + 10 * i, 3 + i * 7919 % 5, api='cuOp', tid=7) for i in range(count)]
    inside.append(end('w', 10 * count + 10))
    last = 10 * count + 200
    return [meta(), start('r', None, 'root', 0), start('m', 'r', 'measured', 100, measured=True), *inside, end('m', last), end('r', last + 200), complete(last + 300)]


def traces(folder):
    """{name: path} of all traces."""
    records = region(*SMALL, terminal=END, contract=CONTRACT)
    open_ended = [r for r in records if r['kind'] != 'span_end']
    open_ended[-1] = failed('killed by signal 9', 20000)
    changed = [dict(r) for r in records]
    for record in changed:
        if record['kind'] == 'op' and record['op_name'] == 'gemm':
            record['duration_ns'] *= 2
    at = SMALL.index(end('g', 120))
    starved = [*SMALL[:at], op('g', 'cuMemAlloc', 370, 5, api='cuMemAlloc_v2', error=2, requested_bytes=900000, tid=7), *SMALL[at:]]
    return dict(
        starved=folder.put('starved.jsonl', region(*starved, terminal=END, contract=CONTRACT)), small=folder.put('small.jsonl', records), failed=folder.put('failed.jsonl', open_ended),
        invalid=folder.put('invalid.jsonl', region(start('z', 'nobody', 'lost', 300), memory('free', 400, 'n', 5), terminal=END)),
        empty=folder.put('empty.jsonl', region()), bare=folder.put('bare.jsonl', [meta(), complete()]), hostile=folder.put('hostile.jsonl', hostile()),
        vast=folder.put('vast.jsonl', large_numbers()), many=folder.put('many.jsonl', many(60000)), slower=folder.put('slower.jsonl', changed))


def view(trace, page, *more):
    p = subprocess.run([PROGRAM, 'view', trace, '-o', page, *more], stderr=subprocess.PIPE)
    if p.returncode:
        raise SystemExit(f'view {trace}: {p.stderr.decode()}')
    return page


def answer(trace, *words):
    out = subprocess.run([PROGRAM, *words[:1], trace, *words[1:]], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)
