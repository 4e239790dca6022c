#!/usr/bin/env python3
"""convert: hand-made files of PyTorch's profiler, of Chrome and of PyTorch's memory snapshots become valid traces that say what the files say and no more;
what is damaged, cut, or would run code is refused or said."""
import gzip
import json
import os
import pickle
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
from check_trace import check  # noqa: E402
from cli import PROGRAM, Folder, document, done, equal, ok, query, run, skip  # noqa: E402

folder = Folder()
BASE = 1_700_000_000_000_000  # microseconds: 14 November 2023, 22:13:20


def convert(name, content, *words, env=None):
    """(what it said, the trace's records, standard error) of a file with this content."""
    path = folder.put(name, content if isinstance(content, (bytes, str)) else json.dumps(content))
    trace = folder(f'{name}.jsonl')
    status, out, err = run('convert', path, '-o', trace, *words, env=env)
    if status:
        return status, None, err
    with open(trace, encoding='utf-8') as lines:
        records = [json.loads(line) for line in lines]
    faults = check(trace)
    health = document('summary', trace)['health']
    ok(not faults and health['structurally_valid'], f'{name}: a valid trace', f'{faults} {health}')
    return json.loads(out), records, err


def of_kind(records, kind):
    return [r for r in records if r['kind'] == kind]


def losses(said):
    return {row['loss']: row['count'] for row in said['losses']}


def event(ph, cat, name, ts, dur=None, pid=10, tid=20, **args):
    made = dict(ph=ph, name=name, ts=ts, pid=pid, tid=tid)
    if cat:
        made['cat'] = cat
    if dur is not None:
        made['dur'] = dur
    if args:
        made['args'] = args
    return made


def memory_event(at, address, size, reserved, device_type=1, device=0):
    return event('i', 'cpu_instant_event', '[memory]', at, **{'Device Type': device_type, 'Device Id': device, 'Addr': address, 'Bytes': size, 'Total Reserved': reserved})


# ---- kineto ----
KINETO = dict(
    schemaVersion=1, deviceProperties=[dict(id=1, name='A GPU "of" ours', totalGlobalMem=1000000)], distributedInfo=dict(backend='nccl', rank=3, world_size=4),
    displayTimeUnit='ms', traceEvents=[
        event('M', None, 'process_name', BASE, labels='python'),
        event('X', 'user_annotation', 'ProfilerStep#7', BASE, 1000),
        event('X', 'cpu_op', 'aten::mm', BASE + 100, 200.5),
        event('X', 'cuda_runtime', 'cudaLaunchKernel', BASE + 150.5, 20, correlation=77, cbid=211),
        event('X', 'kernel', 'gemm', BASE + 180.5, 50.5, pid=1, tid=7, device=1, stream=7, correlation=77, grid=[4, 2, 1], block=[64, 1, 1], **{'shared memory': 128}),
        event('X', 'python_function', 'nn.Module: Linear_0', BASE + 90, 220),
        event('X', 'cuda_runtime', 'cudaMemcpyAsync', BASE + 400, 10, correlation=78),
        event('X', 'gpu_memcpy', 'Memcpy HtoD', BASE + 420, 5, pid=1, tid=9, device=1, stream=9, correlation=78, bytes=4096),
        event('X', 'gpu_memset', 'Memset (Device)', BASE + 440, 0, pid=1, tid=9, device=1, stream=9, correlation=79),
        dict(event('s', 'ac2g', 'ac2g', BASE + 150), id=77), dict(event('f', 'ac2g', 'ac2g', BASE + 180, pid=1, tid=7), id=77),
        event('X', 'gpu_user_annotation', 'Optimizer.step#SGD.step', BASE + 500, 10, pid=1, tid=7),
        event('X', 'user_annotation', 'Optimizer.step#SGD.step', BASE + 500, 100),
        event('X', 'Trace', 'PyTorch Profiler (0)', BASE - 10, 2000, pid='Spans', tid='PyTorch Profiler'),
        memory_event(BASE + 110, 0x7f0000000000, 512, 2048, device=1), memory_event(BASE + 300.5, 0x7f0000000000, -512, 2048, device=1),
        memory_event(BASE + 120, 0x7f0000001000, 256, 4096, device=1), memory_event(BASE + 130, 0x55, -64, 0, device_type=0),
        event('X', 'cpu_op', 'other thread', BASE + 50, 700, tid=21), event('X', 'cpu_op', 'overlaps', BASE + 700, 100, tid=21)])
said, records, err = convert('kineto.json', KINETO)
meta, terminal = records[0], records[-1]
equal((said['form'], said['events'], said['records'], said['cut'], err), ('chrome', 20, dict(spans=6, ops=2, memory=3, device_memory=2, device_intervals=2), False, ''), 'kineto: what was read and written')
equal(losses(said), dict(other_events=5, empty_intervals=1, not_nested=1, unknown_frees=1), 'kineto: what was not taken')
spans = {r['name']: r for r in of_kind(records, 'span_start')}
durations = {r['id']: r['duration_ns'] for r in of_kind(records, 'span_end')}
equal({name: (s['start_ns'], durations[s['id']], s['span_kind'], s.get('tid')) for name, s in spans.items()},
      {'file': (0, 1000000, 'function', None), 'converted': (0, 1000000, 'function', None), 'ProfilerStep#7': (0, 1000000, 'function', 20),
       'nn.Module: Linear_0': (90000, 220000, 'module', 20), 'aten::mm': (100000, 200500, 'op', 20), 'Optimizer.step#SGD.step': (500000, 100000, 'function', 20),
       'other thread': (50000, 700000, 'op', 21), 'overlaps': (700000, 100000, 'op', 21)}, 'kineto: spans by thread, to the nanosecond')
names = {s['id']: name for name, s in spans.items()}
equal({name: names.get(s.get('parent_id')) for name, s in spans.items()},
      {'file': None, 'converted': 'file', 'ProfilerStep#7': 'converted', 'nn.Module: Linear_0': 'ProfilerStep#7', 'aten::mm': 'nn.Module: Linear_0',
       'Optimizer.step#SGD.step': 'ProfilerStep#7', 'other thread': 'converted', 'overlaps': 'converted'}, 'kineto: each in the innermost one that holds it')
equal((spans['Optimizer.step#SGD.step'].get('step'), meta['phase'], meta['capture_step'], meta['rank'], meta['timestamp'], meta['entrypoint']),
      ('optimizer', 'train', 7, 3, '2023-11-14T22:13:20.000Z', 'kineto'), 'kineto: the run')
equal(meta['capture_contract'], dict(measurement_scope='unknown', operations='partial', logical_memory='partial', physical_memory='partial', device_timing='partial'), 'kineto: coverage')
equal(meta['cuda'], dict(devices=[dict(device='cuda:1', name='A GPU "of" ours', bytes=1000000)]), 'kineto: devices')
equal(meta['clock']['devices'], {'cuda:1/file': [dict(device_ns=0, host_ns=0, uncertainty_ns=1), dict(device_ns=1000000, host_ns=1000000, uncertainty_ns=1)]}, 'kineto: one clock')
equal((meta['clock']['first']['realtime_ns'], meta['clock']['last']['tick']), (BASE * 1000, 1000000), 'kineto: and its place')
ops = {r['api']: r for r in of_kind(records, 'op')}
launch = ops['cudaLaunchKernel']
equal({k: launch.get(k) for k in ('op_name', 'timestamp_ns', 'duration_ns', 'correlation', 'grid', 'block', 'shared_bytes', 'stream_id', 'device', 'tid')},
      dict(op_name='gemm', timestamp_ns=150500, duration_ns=20000, correlation=77, grid=[4, 2, 1], block=[64, 1, 1], shared_bytes=128, stream_id='7', device='cuda:1', tid=20), 'kineto: a launch')
equal((names[launch['span_id']], names[ops['cudaMemcpyAsync']['span_id']], ops['cudaMemcpyAsync']['bytes']), ('aten::mm', 'ProfilerStep#7', 4096), 'kineto: calls in their spans')
work = {r['activity']: r for r in of_kind(records, 'device_interval')}
equal({k: work['kernel'].get(k) for k in ('name', 'start_ns', 'duration_ns', 'stream_id', 'clock_id', 'correlation', 'device')},
      dict(name='gemm', start_ns=180500, duration_ns=50500, stream_id='7', clock_id='cuda:1/file', correlation=77, device='cuda:1'), 'kineto: a kernel')
equal((names[work['kernel']['span_id']], work['memcpy']['bytes']), ('aten::mm', 4096), 'kineto: work belongs to the span of its call')
equal([(r['timestamp_ns'], r['action'], r['bytes'], r['address'], names[r['span_id']]) for r in of_kind(records, 'memory')],
      [(110000, 'alloc', 512, '0x7f0000000000', 'aten::mm'), (120000, 'alloc', 256, '0x7f0000001000', 'aten::mm'), (300500, 'free', 512, '0x7f0000000000', 'aten::mm')], 'kineto: storages')
equal([(r['timestamp_ns'], r['reserved_bytes']) for r in of_kind(records, 'device_memory')], [(110000, 2048), (120000, 4096)], 'kineto: what was reserved, where it changes')
trace = folder('kineto.json.jsonl')
clock = query(trace, 'idle')['clocks'][0]
equal((clock['launch_delay']['maximum_ns'], clock['busy_ns'], query(trace, 'kernels')['by_device_time']['rows'][0]['total_ns'], query(trace, 'suspects')['total']),
      (10000, 55500, 50500, 0), 'kineto: our queries work on it')

# The same in other forms: on one line and on many, compressed, from standard input, with a base, in quotes, older categories.
PLAIN = [{k: v for k, v in r.items() if k not in ('run_id', 'correlation_id', 'converted') or r['kind'] != 'meta'} for r in records]


def same(name, content, *more):
    _, made, _ = convert(name, content, *more)
    equal([{k: v for k, v in r.items() if k not in ('run_id', 'correlation_id', 'converted') or r['kind'] != 'meta'} for r in made], PLAIN, f'{name}: the same trace')


same('lines.json', json.dumps(KINETO, indent=2).replace('\n', '\r\n'))
same('marked.json', b'\xef\xbb\xbf' + json.dumps(KINETO).encode())
same('packed.json.gz', gzip.compress(json.dumps(KINETO).encode()))
late = dict(reversed(list(KINETO.items())))
late['traceEvents'] = [dict(reversed(list(e.items()))) for e in KINETO['traceEvents']]
same('turned.json', late)
status, out, err = run('convert', '-', '-o', '-', stdin=json.dumps(KINETO).encode())
equal((status, len(out.splitlines())), (0, len(records)), 'from standard input to standard output')
ok('5 events of kinds' in err, 'and what was not taken is said', err)
based = json.loads(json.dumps(KINETO))
based['baseTimeNanoseconds'] = BASE * 1000
for e in based['traceEvents']:
    e['ts'] = str(e['ts'] - BASE) if e['ph'] == 'X' else e['ts'] - BASE
same('based.json', based)
old = json.loads(json.dumps(KINETO))
for e in old['traceEvents']:
    e['cat'] = dict(cpu_op='Operator', kernel='Kernel', cuda_runtime='Runtime', gpu_memcpy='Memcpy', gpu_memset='Memset').get(e.get('cat'), e.get('cat', 'none'))
same('old.json', old)

# ---- Chrome's own: a list, begin and end, open at its end, several processes, moments, words for threads ----
CHROME = [event('B', 'a', 'outer', 10), event('B', 'a', 'inner', 20), event('E', None, '', 30), dict(ph='E', ts=40, pid=10, tid=20), dict(ph='E', ts=50, pid=10, tid=20),
          event('B', 'a', 'open', 60), event('i', 'a', 'moment', 70), event('X', 'a', 'elsewhere', -5, 25.0004, pid='p', tid='t'), event('X', 'a', 'edge', 20, 10, tid=9),
          event('X', 'a', 'rounded', 25, 5.5, tid=9), event('C', 'a', 'counter', 5, value=3), event('X', 'a', 'no duration', 5), event('X', 'a', 'backwards', 5, -1), dict(ph='X', ts=1, dur=1), 7,
          event('X', 'a', 'far', 1e300, 1), event('X', 'a', 'power', 1e1, 1e0)]
said, records, err = convert('chrome.json', json.dumps(CHROME).replace('1e+300', '1e300')[:-1] + ',')
spans = {r['name']: r for r in of_kind(records, 'span_start')}
durations = {r['id']: r['duration_ns'] for r in of_kind(records, 'span_end')}
equal({name: (s['start_ns'], durations[s['id']], s.get('clipped'), s.get('tid')) for name, s in spans.items() if name not in ('file', 'converted')},
      {'outer': (15000, 30000, None, 20), 'inner': (25000, 10000, None, 20), 'open': (65000, 10000, 'end', 20), 'moment': (75000, 0, None, 20), 'elsewhere': (0, 25000, None, None),
       'edge': (25000, 10000, None, 9), 'rounded': (30000, 5000, None, 9), 'power': (15000, 1000, None, 20)}, 'Chrome: spans, a list that is not closed')
equal(losses(said), dict(other_events=1, malformed=5, unmatched_ends=1, clipped=2), 'Chrome: what was not taken')
equal((records[0]['timestamp'], records[0]['capture_contract']['device_timing'], records[-1]['outcome'], said['cut']), ('unknown', 'none', 'complete', False), 'Chrome: no dates, no devices')
equal((convert('empty.json', '[]')[0]['records']['spans'], convert('none.json', dict(traceEvents=[]))[0]['events']), (0, 0), 'no events at all')

# Three decimals behind sixteen digits are more than a double holds; what is below a nanosecond is cut off.
_, records, _ = convert('decimals.json', '[{"ph":"X","name":"a","ts":1700000000000000.001,"dur":0.0029},{"ph":"X","name":"b","ts":1700000000000150.251,"dur":1}]')
equal([(r['start_ns'], r['name']) for r in of_kind(records, 'span_start')][2:] + [r['duration_ns'] for r in of_kind(records, 'span_end')][:2], [(0, 'a'), (150250, 'b'), 2, 1000], 'times are decimals')

# ---- a call with several pieces of work is none of them; a number below 0 is no correlation ----
GRID = dict(grid=[2, 1, 1], block=[32, 1, 1])
GRAPH = [event('X', 'cuda_runtime', 'cudaGraphLaunch', 10, 5, correlation=5), event('X', 'kernel', 'first', 20, 5, pid=1, device=1, stream=7, correlation=5, **GRID),
         event('X', 'kernel', 'second', 30, 5, pid=1, device=1, stream=8, correlation=5, **GRID), event('X', 'cuda_runtime', 'cudaLaunchKernel', 40, 5, correlation=1),
         event('X', 'cuda_runtime', 'cudaDeviceSynchronize', 50, 5, correlation=-1), event('X', 'kernel', 'alone', 60, 5, pid=1, device=1, stream=7, correlation=-1, **GRID)]
_, records, _ = convert('graph.json', GRAPH)
equal([(r['op_name'], r['device'], r.get('correlation'), r.get('grid'), r.get('stream_id')) for r in of_kind(records, 'op')],
      [('cudaGraphLaunch', 'cuda:1', 5, None, None), ('cudaLaunchKernel', 'cuda:1', 1, None, None), ('cudaDeviceSynchronize', 'cuda:1', None, None, None)],
      'the launch of a graph is not that of its first kernel, -1 joins nothing')
equal([(r['name'], r.get('correlation')) for r in of_kind(records, 'device_interval')], [('first', 5), ('second', 5), ('alone', None)], 'and work keeps its correlation')

# ---- an address given out twice, allocations before the profile ----
said, records, _ = convert('twice.json', [memory_event(10, 16, 100, 0), memory_event(20, 16, 50, 0), memory_event(30, 16, -50, 0), memory_event(40, 32, -5, 0),
                                          event('i', 'cpu_instant_event', '[memory]', 50, Bytes=4)])
equal([(r['timestamp_ns'], r['action'], r['bytes'], r.get('end_reason')) for r in of_kind(records, 'memory')],
      [(0, 'alloc', 100, None), (10000, 'free', 100, 'address_reused'), (10000, 'alloc', 50, None), (20000, 'free', 50, None)], 'an address that is given out again')
equal(losses(said), dict(memory_without_address=1, unknown_frees=1, missing_frees=1), 'is said')

# ---- cut, damaged, other files ----
whole = json.dumps(KINETO)
said, records, err = convert('cut.json', whole[:whole.index('"Memcpy HtoD"')])
equal((said['cut'], records[-1]['outcome'], records[-1]['reason'], said['events']), (True, 'failed', 'the file that was converted ends in the middle', 7), 'a cut file: failed, up to there')
ok('ends in the middle' in err, 'and says so', err)
for name, content, expected in (
        ('nan.json', '{"traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"a"},{"ts":NaN}]}', 'event 2: '), ('text.json', 'hello', 'not JSON as expected'),
        ('key.json', '{"a\\nb\\u007f":nothing}', "member 'a\\x0ab\\x7f': "), ('nothing.json', '', 'it is empty'),
        ('other.json', '{"nodes":[]}', 'no traceEvents'), ('newline.json', '[{"name":"a\nb"}]', 'event 1: '), ('utf8.json', b'[{"name":"\xff"}]', 'event 1: '),
        ('member.json', '{"schemaVersion":01,"traceEvents":[]}', "member 'schemaVersion': "), ('deep.json', '[' + '[' * 200 + ']' * 200 + ']', 'event 1: '),
        ('torn.json.gz', gzip.compress(whole.encode())[:-40], 'gzip'), ('zip.zip', 'PK\3\4', 'ZIP'), ('missing.json', None, 'No such file')):
    if content is not None:
        folder.put(name, content)
    status, out, err = run('convert', folder(name), '-o', folder('refused.jsonl'))
    ok(status == 3 and expected in err and len(err.splitlines()) == 1 and not os.path.exists(folder('refused.jsonl')), f'{name}: refused, no trace', f'{status} {err}')
long = folder.put('long.json', '[{"name":"' + 'x' * (17 << 20) + '"}]')
status, _, err = run('convert', long, '-o', folder('refused.jsonl'))
ok(status == 3 and 'longer than 16 MiB' in err, 'an event of more than 16 MiB', err)
equal(run('convert', folder('kineto.json'), '-o', folder('kineto.json'))[0], 2, 'not over the file itself')
equal((run('convert', folder('kineto.json'))[0], run('convert', folder('kineto.json'), '-o', folder('x.jsonl'), '--format', 'csv')[0]), (2, 2), 'wrong uses')

# ---- memory snapshots ----
FORWARD = [dict(filename='/a/train.py', line=10, name='forward'), dict(filename='/a/train.py', line=99, name='main')]
LOAD = [dict(filename='/a/data.py', line=5, name='load')]
A = 0x7f0000000000
SNAPSHOT = dict(
    segments=[dict(device=0, address=A, total_size=2 << 20, stream=0, segment_type='small', blocks=[
        dict(address=A, size=1024, requested_size=1000, state='active_allocated', frames=LOAD), dict(size=2048, requested_size=2000, state='active_allocated', frames=FORWARD),
        dict(size=(2 << 20) - 3072, requested_size=0, state='inactive', frames=[])])],
    device_traces=[[
        dict(action='segment_alloc', addr=A, size=2 << 20, stream=0, time_us=BASE, frames=FORWARD), dict(action='free_requested', addr=A + 4096, size=512, stream=0, time_us=BASE + 5, frames=[]),
        dict(action='free_completed', addr=A + 4096, size=512, stream=0, time_us=BASE + 6, frames=[]), dict(action='alloc', addr=A + 1024, size=2000, stream=0, time_us=BASE + 10, frames=FORWARD),
        dict(action='alloc', addr=A + 8192, size=300, stream=0, time_us=BASE + 11, frames=FORWARD), dict(action='free_completed', addr=A + 8192, size=300, stream=0, time_us=BASE + 20, frames=FORWARD),
        dict(action='oom', addr=0, size=1 << 40, stream=0, device_free=12345, time_us=BASE + 30, frames=LOAD), dict(action='snapshot', time_us=BASE + 40)], []],
    allocator_settings=dict(max_split_size=-1, ratio=0.5, gc=None, expandable=False, big=1 << 63))
for protocol in (2, 3, 4, 5):
    said, records, _ = convert(f'snapshot{protocol}.pickle', pickle.dumps(SNAPSHOT, protocol))
    equal((said['form'], said['events'], said['records'], losses(said)), ('pytorch-snapshot', 8, dict(spans=0, ops=1, memory=6, device_memory=2, device_intervals=0), dict(other_events=1)),
          f'protocol {protocol}: what was read and written')
    equal([(r['timestamp_ns'], r['action'], r['bytes'], r['address'], r.get('preexisting'), (r.get('stack') or {}).get('id')) for r in of_kind(records, 'memory')],
          [(0, 'alloc', 512, hex(A + 4096), True, None), (0, 'alloc', 1000, hex(A), True, 'stack:2'), (6000, 'free', 512, hex(A + 4096), None, None), (10000, 'alloc', 2000, hex(A + 1024), None, 'stack:1'),
           (11000, 'alloc', 300, hex(A + 8192), None, 'stack:1'), (20000, 'free', 300, hex(A + 8192), None, None)], f'protocol {protocol}: storages, those before the history too')
trace = folder('snapshot4.pickle.jsonl')
equal((records[0]['timestamp'], records[0]['capture_contract']['operations'], records[0]['capture_contract']['device_timing']), ('2023-11-14T22:13:20.000Z', 'partial', 'none'), 'snapshot: the run')
answer = query(trace, 'leaks')
equal([(r['name'], r['bytes'], r['frames']) for r in answer['rows']], [('forward at train.py:10', 2000, ['forward at train.py:10', 'main at train.py:99'])], 'snapshot: what leaks, and where')
failure = query(trace, 'oom')['rows'][0]
equal((failure['requested_bytes'], failure['device_memory']['free_bytes'], failure['frames'], failure['live']['bytes']), (1 << 40, 12345, ['load at data.py:5'], 3000), 'snapshot: out of memory')
equal([(r['timestamp_ns'], r['reserved_bytes']) for r in of_kind(records, 'device_memory')], [(0, 2 << 20), (30000, 2 << 20)], 'snapshot: what was reserved')
# What was there before the history was there all at once, also where its first event is a free.
before = dict(segments=[], device_traces=[[dict(action=action, addr=addr, size=size, time_us=BASE + at) for action, addr, size, at in (
    ('free_completed', 16, 100, 0), ('alloc', 32, 10, 5), ('free_completed', 64, 1000, 9), ('free_completed', 32, 10, 12))]])
_, records, _ = convert('before.pickle', pickle.dumps(before))
equal([(r['timestamp_ns'], r['action'], r['bytes']) for r in of_kind(records, 'memory')],
      [(0, 'alloc', 100), (0, 'alloc', 1000), (1, 'free', 100), (5001, 'alloc', 10), (9001, 'free', 1000), (12001, 'free', 10)],
      'snapshot: what was there before comes first')
equal(query(folder('before.pickle.jsonl'), 'memory')['logical']['peak']['live_bytes'], 1100, 'snapshot: and counts in the peak')
untimed = json.loads(json.dumps(SNAPSHOT))
untimed['device_traces'] = [[{k: v for k, v in e.items() if k != 'time_us'} for e in t if e['action'] != 'snapshot'] for t in untimed['device_traces']]
said, records, _ = convert('untimed.pickle', pickle.dumps(untimed))
equal((losses(said), [r['timestamp_ns'] for r in of_kind(records, 'memory')], records[0]['timestamp']), (dict(times_made_up=6), [0, 0, 1000, 2000, 3000, 4000], 'unknown'), 'snapshot without times: their order, said')


class Evil:
    def __reduce__(self):
        return (os.system, (f'touch {folder("ran")}',))


LOOP = []
LOOP.append(LOOP)
MANY = [dict(action='alloc', addr=1, size=1)] * 2
shared = [MANY[0]] * 1000
for name, content, expected in (
        ('evil.pickle', pickle.dumps(dict(segments=Evil())), 'would run code'), ('evil2.pickle', pickle.dumps(dict(segments=Evil()), 2), 'opcode GLOBAL would run code'),
        ('set.pickle', pickle.dumps(dict(segments=[{1, 2}])), 'not one of plain data'), ('big.pickle', pickle.dumps(dict(segments=[1 << 64])), 'more than 64 bits'),
        ('small.pickle', pickle.dumps(dict(segments=[-(1 << 70)])), 'more than 64 bits'), ('plain.pickle', pickle.dumps([1, 2]), 'no memory snapshot'), ('cut.pickle', pickle.dumps(SNAPSHOT)[:-50], 'ends in the middle'),
        ('memo.pickle', b'\x80\x02]r\xff\xff\xff\x7f.', 'memo number'), ('stack.pickle', b'\x80\x02.', 'too few values'), ('mark.pickle', b'\x80\x02e.', 'no mark'),
        ('append.pickle', b'\x80\x02K\x01K\x02a.', 'no list'), ('length.pickle', b'\x80\x02X\xff\xff\xff\xff', 'ends in the middle'), ('get.pickle', b'\x80\x02h\x05.', 'not there'),
        ('odd.pickle', b'\x80\x02}(K\x01u.', 'key without a value'), ('protocol.pickle', b'\x80\x01N.', 'protocol other than'),
        ('laugh.pickle', pickle.dumps(dict(device_traces=[shared] * 1000)), 'more records than bytes')):
    folder.put(name, content)
    status, out, err = run('convert', folder(name), '-o', folder('refused.jsonl'))
    ok(status == 3 and expected in err and len(err.splitlines()) == 1 and not os.path.exists(folder('refused.jsonl')), f'{name}: refused', f'{status} {err}')
ok(not os.path.exists(folder('ran')), 'nothing of a pickle ran')
convert('loop.pickle', pickle.dumps(dict(segments=LOOP, device_traces=LOOP)))

# ---- large: memory does not grow with the text ----
one = json.dumps(event('X', 'cpu_op', 'aten::' + 'x' * 50, BASE, 1, **{'Input Dims': [[1] * 200], 'Call stack': 'y' * 3000}))
path = folder('large.json')
with open(path, 'w', encoding='utf-8') as file:
    file.write('{"traceEvents":[' + ',\n'.join([one] * 10000) + ']}')
if not os.path.exists('/usr/bin/time'):
    skip('memory of a large file', '/usr/bin/time is not installed')
else:
    timed = subprocess.run(['/usr/bin/time', '-f', '%M', PROGRAM, 'convert', path, '-o', folder('large.jsonl')], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak, size = int(timed.stderr.split()[-1]) * 1024, os.path.getsize(path)
    if 'san' in os.environ.get('BUILD', ''):
        skip('memory of a large file', 'an instrumented program takes more')
    else:
        ok(timed.returncode == 0 and peak < size / 2, f'a file of {size >> 20} MiB takes less than half of that in memory', f'{peak} of {size}')
done()
