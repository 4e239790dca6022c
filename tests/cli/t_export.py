#!/usr/bin/env python3
"""export: every format read back by a strict reader of its own, with values worked out by hand and totals equal to those of query."""
import csv
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import ROOT, Folder, complete, document, done, end, equal, failed, interval, memory, ok, op, read, region, run, skip, start, stats  # noqa: E402

folder = Folder()
FRAMES = dict(id='stack:1', frames=[dict(module='/usr/lib/libm.so', offset=16, symbol='inner'), dict(module='/bin/prog', offset=32)])
RECORDS = [
    start('a', 'm', 'load; "x"\n', 200, tid=7), end('a', 300),
    op('a', 'gemm', 250, 100, tid=7, api='cuLaunchKernel', correlation=1, stack=FRAMES),
    op('m', 'copy', 600, 50, tid=7, api='cuMemcpyHtoDAsync_v2', correlation=2, bytes=4096),
    op('m', 'other', 620, 100, tid=7),                             # overlaps copy without nesting: 620 to 720
    op('m', 'untimed', 0, 5, tid=7),
    interval('a', 5000, 40, correlation=1, activity='kernel', name='gemm_k'),
    interval('m', 5300, 20, correlation=2, activity='memcpy', name='HtoD'),
    memory('alloc', 300, 'A', 1000, span='a', stack=dict(id='stack:1')), memory('alloc', 400, 'B', 24), memory('free', 500, 'A', 1000),
    dict(kind='device_memory', timestamp_ns=450, device='cuda:0', used_bytes=77)]
TRACE = folder.put('t.jsonl', region(*RECORDS))
OPEN = folder.put('open.jsonl', [r for r in region(*RECORDS, terminal=failed('killed')) if r.get('id') != 'r' or r['kind'] != 'span_end'])
EMPTY = folder.put('empty.jsonl', region())


def export(path, to, *words):
    """(text of the export, its description, standard error)"""
    out = folder('out')
    status, described, err = run('export', path, '--to', to, '--output', out, *words)
    if status:
        return None, None, err
    return read(out).decode(), json.loads(described), err


# ---- what all have in common ----
TO = run('export', TRACE, '--to', 'nothing', '--output', folder('x'))
equal((TO[0], TO[2]), (2, "cg-analyze: export: --to has no 'nothing': it is one of chrome, perfetto, folded, speedscope, pprof, csv, ndjson-flat\n"),
      'a format that is not there: one line with those that are')


# A record that cannot be true goes out as it is, which is said.
ODD = folder.put('odd.jsonl', region(*RECORDS, interval('m', 6000, 5000, activity='kernel', name='endless')))
_, odd_result, odd_err = export(ODD, 'chrome')
equal((odd_result['suspects'], odd_err.splitlines()[-1]),
      (1, 'cg-analyze: chrome: 1 records that cannot be true are in it as they are: see query --kind suspects'), 'suspects are exported as they are')


def common(to, *words):
    status, described, err = run('export', TRACE, '--to', to, '-o', folder('plain'), *words)
    result = json.loads(described)
    lines = err.splitlines()
    equal((status, result['schema'], result['format'], bool(result['losses'])), (0, 'cgtrace/export/1', to, True), f'{to}: the result says what was made')
    equal(lines[:len(result['losses'])], [f'cg-analyze: {to}: {loss}' for loss in result['losses']], f'{to}: what is lost is told on standard error')
    equal(result['suspects'], 0, f'{to}: nothing in it is suspect')
    status, out, _ = run('export', TRACE, '--to', to, '-o', '-', *words)
    ok(status == 0 and out.encode() == read(folder('plain')), f'{to}: standard output holds the export alone')
    equal(run('export', TRACE, '--to', to, '-o', TRACE, *words)[0], 2, f'{to}: never over what is read')
    equal(run('export', OPEN, '--to', to, '-o', folder('failed'), *words)[0], 0, f'{to}: of a failed capture too')
    equal(run('export', EMPTY, '--to', to, '-o', folder('none'), *words)[0], 0, f'{to}: of a capture without work too')
    return result


# ---- chrome ----
def check_events(events, name):
    """What the description of the format asks of every event; slices of a thread must nest."""
    faults, threads = [], {}
    for e in events:
        if e['ph'] not in ('X', 'B', 'M', 'C', 's', 'f') or not isinstance(e.get('name'), str) or not isinstance(e['pid'], int):
            faults.append(e)
        if e['ph'] != 'M' and not (isinstance(e['ts'], (int, float)) and e['ts'] >= 0):
            faults.append(e)
        if e['ph'] == 'X' and e['dur'] < 0 or e['ph'] == 'C' and not all(isinstance(v, int) for v in e['args'].values()):
            faults.append(e)
        if e['ph'] in 'XB':
            threads.setdefault((e['pid'], e['tid']), []).append(e)
    for slices in threads.values():
        stack = []
        for e in slices:
            begin = round(e['ts'] * 1000)
            stop = begin + round(e['dur'] * 1000) if e['ph'] == 'X' else 10**18
            while stack and stack[-1] <= begin:
                stack.pop()
            if stack and stack[-1] < stop:
                faults.append(e)
            stack.append(stop)
    starts = {e['id']: e for e in events if e['ph'] == 's'}
    for e in events:
        if e['ph'] == 'f' and not (starts[e['id']]['ts'] <= e['ts'] and e['bp'] == 'e'):
            faults.append(e)
    equal(faults, [], f'chrome: {name}: well formed, nested, flows forward')


common('chrome')
text, result, _ = export(TRACE, 'chrome')
chrome = json.loads(text)
events = chrome['traceEvents']
check_events(events, 'a whole run')
slices = {e['name']: e for e in events if e['ph'] == 'X'}
thread = {(e['pid'], e['tid']): e['args']['name'] for e in events if e['ph'] == 'M' and e['name'] == 'thread_name'}
# One thread recorded: spans without one are its own. The device clock moves by 600 - 5300 = -4700 at the least for the copy and
# 250 - 5000 = -4750 for the kernel: by -4700, so that the kernel begins at 300 and the copy at 600.
equal({n: (e['ts'], e['dur'], thread[e['pid'], e['tid']]) for n, e in slices.items()},
      {'root': (0, 1.5, 'thread 7'), 'measured': (0.1, 1, 'thread 7'), 'load; "x"\n': (0.2, 0.3, 'thread 7'), 'gemm': (0.25, 0.1, 'thread 7'),
       'copy': (0.6, 0.05, 'thread 7'), 'other': (0.62, 0.1, 'thread 7 (overlapping 1)'), 'gemm_k': (0.3, 0.04, 'cuda:0 stream 7'),
       'HtoD': (0.6, 0.02, 'cuda:0 stream 7')}, 'chrome: slices, times in microseconds, threads')
equal([(e['ph'], e['id'], e['ts'], e['pid']) for e in events if e['ph'] in 'sf'],
      [('s', 1, 0.25, 1), ('f', 1, 0.3, 2), ('s', 2, 0.6, 1), ('f', 2, 0.6, 2)], 'chrome: flows from calls to their work')
equal([(e['name'], e['ts'], e['args']) for e in events if e['ph'] == 'C'],
      [('device memory cuda:0', 0.45, dict(used_bytes=77)), ('live storages cuda:0', 0.3, dict(bytes=1000)),
       ('live storages cuda:0', 0.4, dict(bytes=1024)), ('live storages cuda:0', 0.5, dict(bytes=24))], 'chrome: counters of memory')
equal((result['records'], result['left_out'], chrome['otherData']['origin_ns']), (8, 1, 0), 'chrome: how many, and the one without a time')
busy = sum(c['busy_ns'] for c in document('summary', TRACE)['timing']['device_clocks'])
equal(round(sum(e['dur'] * 1000 for e in events if e.get('cat') in ('kernel', 'memcpy'))), busy, 'chrome: device time equals the summary')
events = json.loads(export(OPEN, 'chrome')[0])['traceEvents']
check_events(events, 'a failed run')
equal([e['name'] for e in events if e['ph'] == 'B'], ['root'], 'chrome: a span that nobody ended begins and does not end')
MANY = folder.put('many.jsonl', region(*[op('m', f'o{i}', 100 + i, 50, tid=i % 3) for i in range(500)],
                                       *[interval('m', 10 + i * 3, 40, stream=str(i % 2)) for i in range(300)], terminal=complete(5000)))
events = json.loads(export(MANY, 'chrome')[0])['traceEvents']
check_events(events, 'many that overlap')
equal(sum(e['ph'] == 'X' for e in events), 802, 'chrome: none of them is lost')

# ---- folded ----
def folded(path, *words):
    """{stack: number}; a stack that comes twice is a fault."""
    lines = [line.rsplit(' ', 1) for line in export(path, 'folded', *words)[0].split('\n')[:-1]]
    ok(len({stack for stack, _ in lines}) == len(lines) and all(int(n) > 0 for _, n in lines), f'folded {words}: each stack once, with a number')
    return {stack: int(n) for stack, n in lines}


common('folded')
# Of root's 1500 the region takes 1000; of these load 300 (of which gemm 100) and copy 50.
equal(folded(TRACE), {'thread 7;root': 500, 'thread 7;root;measured': 650, 'thread 7;root;measured;load: "x" ': 200,
                      'thread 7;root;measured;load: "x" ;gemm': 100, 'thread 7;root;measured;copy': 50, 'thread 7 (overlapping 1);other': 100},
      'folded: host time, of each what is its own')
equal(folded(TRACE, '--weight', 'device-time'), {'root;measured;load: "x" ;gemm_k': 40, 'root;measured;HtoD': 20}, 'folded: device time by span')
equal(folded(TRACE, '--weight', 'bytes'), {'root;measured;load: "x" ;prog+0x20;inner': 1000, 'root;measured;call not recorded': 24},
      'folded: bytes by span and call stack, outermost call first')
equal(sum(folded(TRACE, '--weight', 'bytes').values()), document('summary', TRACE)['memory']['logical']['total_allocated_bytes'],
      'folded: bytes equal the summary')
equal(sum(folded(TRACE, '--weight', 'device-time').values()), busy, 'folded: device time equals the summary')
equal(sum(folded(MANY, '--weight', 'device-time').values()), 300 * 40, 'folded: overlapping intervals count each')
equal(run('export', TRACE, '--to', 'chrome', '-o', folder('x'), '--weight', 'time')[0], 2, 'chrome takes no weight')

# ---- speedscope ----
def check_profile(profile, frames):
    """What the schema asks, and that every close is of the innermost open frame, in time."""
    stack, last, held = [], profile['startValue'], {}
    for e in profile['events']:
        if not profile['startValue'] <= last <= e['at'] <= profile['endValue']:
            return 'time'
        if e['type'] == 'O':
            stack.append(e)
        elif not stack or stack[-1]['frame'] != e['frame']:
            return 'nesting'
        else:
            name = frames[e['frame']]['name']
            held[name] = held.get(name, 0) + e['at'] - stack.pop()['at']
        last = e['at']
    return 'open' if stack or profile['type'] != 'evented' or profile['unit'] != 'nanoseconds' else held


def speedscope(path):
    text, result, _ = export(path, 'speedscope')
    made = json.loads(text)
    ok(made['$schema'] == 'https://www.speedscope.app/file-format-schema.json' and sorted(made) == ['$schema', 'exporter', 'name', 'profiles', 'shared'],
       'speedscope: the members of the schema')
    return {p['name']: check_profile(p, made['shared']['frames']) for p in made['profiles']}


common('speedscope')
equal(speedscope(TRACE), {'thread 7': {'root': 1500, 'measured': 1000, 'load; "x"\n': 300, 'gemm': 100, 'copy': 50},
                          'thread 7 (overlapping 1)': {'other': 100}, 'cuda:0 stream 7': {'gemm_k': 40, 'HtoD': 20}},
      'speedscope: a profile for each thread and stream, opened and closed in order')
ok(all(isinstance(held, dict) for held in speedscope(MANY).values()), 'speedscope: many that overlap')
equal(speedscope(OPEN)['thread 7']['root'], 2000, 'speedscope: a span that nobody ended ends with the capture')

# ---- pprof ----
def fields(data):
    """[(number, value)] of a protobuf message: numbers for varints and fixed ones, bytes for what has a length; nothing else is in ours."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        elif key & 7 == 1:
            found.append((key >> 3, int.from_bytes(data[at:at + 8], 'little')))
            at += 8
        else:
            assert key & 7 == 2, key
            length = varint()
            found.append((key >> 3, data[at:at + length]))
            assert at + length <= len(data)
            at += length
    return found


def packed(data):
    return [value for _, value in fields(b''.join(b'\x08' + part for part in re.findall(rb'[\x80-\xff]*[\x00-\x7f]', data, re.S)))]


def pprof(path, *words):
    """{stack: values}, outermost first, and the types of the values."""
    run('export', path, '--to', 'pprof', '-o', folder('profile'), *words)
    profile = fields(gzip.decompress(read(folder('profile'))))
    strings = [v.decode() for n, v in profile if n == 6]
    functions = {dict(fields(v))[1]: strings[dict(fields(v))[2]] for n, v in profile if n == 5}
    locations = {dict(fields(v))[1]: functions[dict(fields(dict(fields(v))[4]))[1]] for n, v in profile if n == 4}
    types = [tuple(strings[x] for _, x in fields(v)) for n, v in profile if n == 1]
    samples = [dict(fields(v)) for n, v in profile if n == 2]
    ok(strings[0] == '' and 0 not in functions and 0 not in locations and strings[dict(profile)[14]] == types[1][0], f'pprof {words}: as its description asks')
    return {';'.join(locations[i] for i in reversed(packed(s[1]))): tuple(packed(s[2])) for s in samples}, types


status, described, err = run('export', TRACE, '--to', 'pprof', '-o', folder('profile'))
result = json.loads(described)
equal((status, [f'cg-analyze: pprof: {loss}' for loss in result['losses']]), (0, err.splitlines()[:5]), 'pprof: what is lost is told')
equal((result['records'], result['left_out'], result['weight']), (6, 1, 'time'), 'pprof: what was made')
equal(pprof(TRACE), ({'thread 7;root': (1, 500), 'thread 7;root;measured': (1, 650), 'thread 7;root;measured;load; "x"\n': (1, 200),
                      'thread 7;root;measured;load; "x"\n;gemm': (1, 100), 'thread 7;root;measured;copy': (1, 50),
                      'thread 7 (overlapping 1);other': (1, 100)}, [('calls', 'count'), ('time', 'nanoseconds')]), 'pprof: host time')
equal(pprof(TRACE, '--weight', 'bytes'), ({'root;measured;load; "x"\n;prog+0x20;inner': (1, 1000), 'root;measured;call not recorded': (1, 24)},
                                          [('alloc_objects', 'count'), ('alloc_space', 'bytes')]), 'pprof: bytes and objects')
samples = pprof(MANY, '--weight', 'device-time')[0].values()
equal((sum(c for c, _ in samples), sum(w for _, w in samples)), (300, 300 * 40), 'pprof: device time')
equal([run('export', p, '--to', 'pprof', '-o', folder('x'))[0] for p in (OPEN, EMPTY)], [0, 0], 'pprof: of failed and empty captures too')
equal(run('export', TRACE, '--to', 'pprof', '-o', folder('again'))[0] or read(folder('again')), read(folder('profile')) if not run(
    'export', TRACE, '--to', 'pprof', '-o', folder('profile'))[0] else None, 'pprof: the same trace gives the same bytes')

# ---- perfetto ----
def perfetto(path):
    """Slices [(track, name, start, duration or None, flow)] and counters {track: [(time, value)]}, as a reader of the packets sees them."""
    status, described, err = run('export', path, '--to', 'perfetto', '-o', folder('packets'))
    result = json.loads(described)
    equal(err.splitlines()[:len(result['losses'])], [f'cg-analyze: perfetto: {loss}' for loss in result['losses']], 'perfetto: what is lost is told')
    names, tracks, stacks, slices, counters, faults = {}, {}, {}, [], {}, []
    for number, (field, packet) in enumerate(fields(read(folder('packets')))):
        p = dict(fields(packet))
        if field != 1 or p[10] != 1 or p[13] != (3 if number == 0 else 2):
            faults.append(p)
        if 12 in p:
            entry = dict(fields(dict(fields(p[12]))[2]))
            names[entry[1]] = entry[2].decode()
        if 60 in p:
            track = dict(fields(p[60]))
            if 5 in track and track[5] not in tracks or track[1] in tracks:
                faults.append(track)
            tracks[track[1]] = track[2].decode()
        if 11 in p:
            event = dict(fields(p[11]))
            stack = stacks.setdefault(event[11], [])
            if event[9] == 1:
                slices.append([tracks[event[11]], names[event[10]], p[8], None, event.get(47)])
                stack.append(slices[-1])
            elif event[9] == 2:
                ended = stack.pop()
                ended[3] = p[8] - ended[2]
            else:
                counters.setdefault(tracks[event[11]], []).append((p[8], event[30]))
    equal(faults, [], 'perfetto: packets, names before their use, tracks once and after those they hang under')
    return [tuple(s) for s in slices], counters, sorted(tracks.values())


slices, counters, tracks = perfetto(TRACE)
equal(slices, [('thread 7', 'root', 0, 1500, None), ('thread 7', 'measured', 100, 1000, None), ('thread 7', 'load; "x"\n', 200, 300, None),
               ('thread 7', 'gemm', 250, 100, 1), ('thread 7', 'copy', 600, 50, 2), ('thread 7 (overlapping 1)', 'other', 620, 100, None),
               ('cuda:0 stream 7', 'gemm_k', 300, 40, 1), ('cuda:0 stream 7', 'HtoD', 600, 20, 2)], 'perfetto: slices and flows')
equal(counters, {'device memory used cuda:0': [(450, 77)], 'live storages cuda:0': [(300, 1000), (400, 1024), (500, 24)]}, 'perfetto: counters')
equal(tracks, sorted(['host', 'cuda:0 (clock gpu)', 'thread 7', 'thread 7 (overlapping 1)', 'cuda:0 stream 7', *counters]), 'perfetto: tracks')
equal([s[1] for s in perfetto(OPEN)[0] if s[3] is None], ['root'], 'perfetto: a span that nobody ended begins and does not end')
equal((len(perfetto(MANY)[0]), perfetto(EMPTY)[0]), (802, [('thread not recorded', 'root', 0, 1500, None), ('thread not recorded', 'measured', 100, 1000, None)]),
      'perfetto: many, and a capture without work')
shell = shutil.which('trace_processor') or shutil.which('trace_processor_shell')
if shell:
    run('export', TRACE, '--to', 'perfetto', '-o', folder('packets'))
    asked = folder.put('asked.sql', 'SELECT count(*) AS n, sum(dur) AS total FROM slice;')
    # 1500 + 1000 + 300 + 100 + 50 + 100 + 40 + 20
    told = subprocess.run([shell, '-q', asked, folder('packets')], stdout=subprocess.PIPE).stdout.decode()
    ok('8,3110' in told, 'trace_processor: number and sum of the slices')
else:
    skip('trace_processor reads the packets', 'trace_processor is not installed')

# ---- tables: CSV and NDJSON ----
TABLES = ['span', 'op', 'tensor', 'tensor_stats', 'memory', 'device_memory', 'device_interval', 'gradient', 'edge', 'stack']
status, described, err = run('export', TRACE, '--to', 'csv', '-o', folder('tables'))
result = json.loads(described)
# 3 spans, 4 operations, 3 memory records, 1 sample, 2 intervals, 2 frames.
equal((status, result['files'], result['records']), (0, 10, 15), 'csv: files and records')
ok(all(f'cg-analyze: csv: {loss}' in err.splitlines() for loss in result['losses']) and result['losses'], 'csv: what is lost is told')
equal(sorted(os.listdir(folder('tables'))), sorted(t + '.csv' for t in TABLES), 'csv: a file for each kind of record')
equal(run('export', TRACE, '--to', 'csv', '-o', folder('tables'))[0], 2, 'csv: a directory that is there is not replaced')
equal((run('export', TRACE, '--to', 'csv', '-o', '-')[0], run('export', TRACE, '--to', 'chrome', '--table', 'op', '-o', '-')[0]), (2, 2),
      'csv: tables want a directory, other formats have none')
equal([run('export', p, '--to', 'csv', '-o', folder(n))[0] for p, n in ((OPEN, 'open'), (EMPTY, 'empty'))], [0, 0], 'csv: of failed and empty captures too')


def load(name):
    """Rows of a table by column; an empty field is None."""
    with open(folder('tables', name + '.csv'), newline='') as file:
        rows = list(csv.reader(file, strict=True))
    ok(all(len(r) == len(rows[0]) for r in rows), f'csv: {name}: every row has every column')
    return rows[0], [dict(zip(rows[0], r)) for r in rows[1:]]


status, text, _ = run('export', TRACE, '--to', 'csv', '--table', 'op', '-o', '-')
ok(status == 0 and text.encode() == read(folder('tables', 'op.csv')), 'csv: one table alone')
tables = {t: load(t) for t in TABLES}
equal([(r['name'], r['parent_id'], r['start_ns'], r['duration_ns'], r['measured'], r['tid']) for r in tables['span'][1]],
      [('load; "x"\n', 'm', '200', '300', 'false', '7'), ('measured', 'r', '100', '1000', 'true', ''), ('root', '', '0', '1500', 'false', '')],
      'csv: spans, quotes and line breaks kept')
equal([(r['op_name'], r['inputs'], r['bytes'], r['stack']) for r in tables['op'][1]],
      [('gemm', '[]', '', 'stack:1'), ('copy', '[]', '4096', ''), ('other', '[]', '', ''), ('untimed', '[]', '', '')], 'csv: operations')
equal([(r['stack'], r['depth'], r['frame'], r['module'], r['offset'], r['symbol']) for r in tables['stack'][1]],
      [('stack:1', '0', 'inner', '/usr/lib/libm.so', '16', 'inner'), ('stack:1', '1', 'prog+0x20', '/bin/prog', '32', '')], 'csv: frames of stacks')
equal([(r['used_bytes'], r['free_bytes']) for r in tables['device_memory'][1]], [('77', '')], 'csv: what is absent is empty')
equal(sum(int(r['duration_ns']) for r in tables['device_interval'][1]), busy, 'csv: device time equals the summary')

result = common('ndjson-flat')
flat = [json.loads(line) for line in export(TRACE, 'ndjson-flat')[0].splitlines()]
ok(all(isinstance(v, (str, int, float, bool)) for r in flat for v in r.values()), 'ndjson-flat: plain values alone')
equal((result['records'], [r['record'] for r in flat]),
      (15, ['span'] * 3 + ['op'] * 4 + ['memory'] * 3 + ['device_memory'] + ['device_interval'] * 2 + ['stack'] * 2), 'ndjson-flat: a line for each record')
as_text = {True: 'true', False: 'false'}
equal([{k: as_text[v] if isinstance(v, bool) else str(v) for k, v in r.items() if k != 'record'} for r in flat],
      [{k: v for k, v in r.items() if v != ''} for t in TABLES for r in tables[t][1]], 'ndjson-flat and csv say the same')
LISTS = folder.put('lists.jsonl', region(op('m', 'l', 200, 1, inputs=['a"b', 'c,d'], shape=[2, 18446744073709551615]), stats('loss', rms=0.1)))
flat = [json.loads(line) for line in export(LISTS, 'ndjson-flat')[0].splitlines()]
equal([json.loads(flat[2][k]) for k in ('inputs', 'shape')], [['a"b', 'c,d'], [2, 18446744073709551615]], 'lists are JSON text')
equal((flat[3]['record'], flat[3]['rms']), ('tensor_stats', 0.1), 'numbers with a fraction are exact')

# ---- the queries of scripts/sql on the tables, by two readers of their own ----
EXPECTED = {'kernels': [('gemm_k', 'cuda:0', 1, 40, 40)], 'calls': [('gemm', 1, 40), ('copy', 1, 20)],
            'allocations': [('load; "x"\n', 'cuda:0', 1, 1000), ('measured', 'cuda:0', 1, 24)]}
SQL = os.path.join(ROOT, 'scripts', 'sql')
equal(sorted(os.listdir(SQL)), sorted(q + '.sql' for q in EXPECTED), 'every query of scripts/sql is tried here')
lite = sqlite3.connect(':memory:')
for name, (columns, rows) in tables.items():
    lite.execute(f'CREATE TABLE {name} ({", ".join(chr(34) + c + chr(34) + " NUMERIC" for c in columns)})')
    lite.executemany(f'INSERT INTO {name} VALUES ({", ".join("?" * len(columns))})', [[r[c] or None for c in columns] for r in rows])
for name, expected in EXPECTED.items():
    equal(lite.execute(read(os.path.join(SQL, name + '.sql')).decode()).fetchall(), expected, f'sqlite: {name}.sql')


def duckdb(statements):
    """The rows of each statement as text; None where DuckDB is not installed."""
    if not shutil.which('node'):
        return None
    p = subprocess.run(['node', os.path.join(ROOT, 'tests', 'browser', 'duckdb.mjs')], input=json.dumps(statements).encode(), stdout=subprocess.PIPE)
    return None if p.returncode == 3 else json.loads(p.stdout or b'null') or f'exit status {p.returncode}'


if duckdb(['SELECT 1']) is None:
    skip('DuckDB reads CSV and NDJSON', 'not installed: npm install --no-save @duckdb/node-api in tests/browser')
else:
    queries = [read(os.path.join(SQL, name + '.sql')).decode() for name in EXPECTED]
    expected = [[[str(value) for value in row] for row in rows] for rows in EXPECTED.values()]
    views = [f"CREATE TABLE {t} AS SELECT * FROM read_csv('{folder('tables', t + '.csv')}', header = true)" for t in TABLES]
    equal(duckdb(views + queries)[len(views):], expected, 'DuckDB: every query on CSV')
    export(TRACE, 'ndjson-flat')
    views = [f"CREATE TABLE {t} AS SELECT * FROM read_json('{folder('out')}', format = 'newline_delimited', sample_size = -1) WHERE record = '{t}'"
             for t in ('op', 'span', 'memory', 'device_interval')]
    equal(duckdb(views + queries)[len(views):], expected, 'DuckDB: every query on NDJSON')

done()
