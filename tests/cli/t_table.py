#!/usr/bin/env python3
"""Tables on a terminal, their units, width and colours; CSV (doc/spec/cli.md 1.3)."""
import csv
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import PROGRAM, Folder, document, done, end, equal, failed, interval, memory, ok, op, query, region, run, start, stats  # noqa: E402

folder = Folder()
CODES = re.compile(r'\x1b\[[0-9;]*[A-Za-z]')


def terminal(*words, columns=100, env=None, cwd=None):
    """(status, what is shown) with all three descriptors on a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    clean = {k: v for k, v in os.environ.items() if k not in ('NO_COLOR', 'COLUMNS', 'TERM')}
    p = subprocess.Popen([PROGRAM, *words], stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=dict(clean, **{'TERM': 'xterm', **(env or {})}))
    os.close(slave)
    shown = b''
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(master)
    return p.wait(), shown.decode().replace('\r\n', '\n')


def width(line):
    line = CODES.sub('', line)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in line)


LONG = 'a_rather_long_name_of_a_layer_that_has_no_room_' * 3
TRACE = folder.put('t.jsonl', region(
    start('a', 'm', LONG, 100), memory('alloc', 200, 's1', 3 * 2**20, 'a'), end('a', 300), start('b', 'm', '卷积层' * 12, 500), end('b', 250),
    op('m', 'mul', 900, 1), stats('loss'), memory('alloc', 300, 's2', 1023), interval('a', 0, 70), start('c', 'm', 'e\u0301vil \x1b[31m red', 800),
    end('c', 20), dict(kind='device_memory', timestamp_ns=500, device='cuda:0', used_bytes=2**30, free_bytes=0)))
FAILED = folder.put('failed.jsonl', region(terminal=failed('killed')))

# ---- which format ----
ok(terminal('overview', TRACE)[1].lstrip('\x1b[1m').startswith('input'), 'on a terminal: a table')
ok(terminal('overview', TRACE, '--format', 'json')[1].startswith('{\n'), '--format json on a terminal')
ok(run('overview', TRACE)[1].startswith('{\n'), 'not on a terminal: JSON')
ok(not run('overview', TRACE, '--format', 'table')[1].startswith('{'), '--format table without one')
target = folder('x.json')
status, shown = terminal('overview', TRACE, '-o', target)
equal((status, shown, open(target).read()), (0, '', run('overview', TRACE)[1]), 'to a file: JSON, also on a terminal, and nothing is shown')
status, shown = terminal('overview', FAILED)
ok(status == 0 and 'did not complete' in shown, 'a failed capture has a table too', shown)
status, shown = terminal('summary', FAILED, '--require-valid')
ok(status == 1 and shown.rstrip().endswith('the capture is not complete'), '--require-valid with a table')

# ---- width and colours ----
KINDS = [k['name'] for k in document('protocol')['query_kinds']]
for columns in (40, 80, 200):
    for words in (['overview', TRACE], ['summary', TRACE], ['protocol'], *(['query', TRACE, '--kind', k] for k in KINDS)):
        status, shown = terminal(*words, columns=columns)
        wide = [line for line in shown.split('\n') if width(line) > columns]
        ok(status == 0 and not wide and shown, f'{words[0]} {words[-1] if len(words) > 2 else ""}: no line is wider than {columns} columns',
           f'{status}\n' + '\n'.join(map(repr, wide)))
ok(max(map(width, terminal('query', TRACE, '--kind', 'slowest-host', columns=200, env={'COLUMNS': '60'})[1].split('\n'))) <= 60, 'COLUMNS wins')
ok('\n  1\n' not in CODES.sub('', terminal('query', TRACE, '--kind', 'slowest-host', env={'COLUMNS': '4294967297'})[1]), 'COLUMNS beyond 32 bits is wide')
shown = terminal('overview', TRACE)[1]
ok('\x1b[1m' in shown and '\x1b[32mcomplete\x1b[0m' in shown, 'colours on a terminal')
# A reason whose last line is the word "invalid" alone: the colours of verdicts are for whole values.
BROKEN = folder.put('broken.jsonl', region(start('a', 'gone', 'a', 0), end('a', 1), op('m', 'mm', 0, 1)))
shown = terminal('overview', BROKEN, columns=80)[1]
ok(re.search(r'\n +invalid\n', CODES.sub('', shown)) and not re.search(r'\n +\x1b\[31minvalid\x1b\[0m\n', shown), 'no colour for a word on a line of its own', shown)
shown = terminal('overview', TRACE)[1]
for name, env, coloured in (('NO_COLOR=1', {'NO_COLOR': '1'}, False), ('NO_COLOR empty', {'NO_COLOR': ''}, True), ('TERM=dumb', {'TERM': 'dumb'}, False)):
    equal('\x1b[' in terminal('overview', TRACE, env=env)[1], coloured, f'{name}: {"" if coloured else "no "}colours')
equal(terminal('overview', TRACE, env={'NO_COLOR': '1'})[1], CODES.sub('', shown), 'and the same text')
ok('\x1b' not in run('overview', TRACE, '--format', 'table')[1], 'no colours without a terminal')
ok('\x1b[31m red' not in terminal('query', TRACE, '--kind', 'spans', '--label-prefix', 'e')[1] and
   'vil \\x1b[31m red' in terminal('query', TRACE, '--kind', 'spans', '--label-prefix', 'e')[1], 'a name cannot send escape sequences')
ok(not re.search(r' $', run('query', TRACE, '--kind', 'spans', '--format', 'table')[1], re.M), 'no line ends in a blank')
equal(run('query', TRACE, '--kind', 'slowest-host', '--format', 'table')[1].count(LONG), 1, 'without a terminal nothing is cut')
ok('…' in terminal('query', TRACE, '--kind', 'slowest-host', columns=160)[1], 'on a terminal what is cut shows it')

# ---- what is cut: of names the middle, since those of one program begin alike; of all else the end ----
DEEP = [f'{level}_' + 'layer_' * 8 for level in ('one', 'two', 'three')]
ENDS = ('forward', 'backward', '卷积层e\u0301')
PATHS = folder.put('paths.jsonl', region(
    *(start(f'l{i}', f'l{i - 1}' if i else 'm', name, 100) for i, name in enumerate(DEEP)),
    *(record for i, name in enumerate(ENDS) for record in (
        start(f'e{i}', 'l2', name, 200 + 10 * i), memory('alloc', 201 + 10 * i, f's{i}', 1024, f'e{i}'), end(f'e{i}', 5))),
    *(end(f'l{i}', 900) for i in (2, 1, 0))))
for columns in (80, 100):
    lines = CODES.sub('', terminal('query', PATHS, '--kind', 'peak', '--by', 'span', columns=columns)[1]).split('\n')
    ends = [next((e for e in ENDS if f'{e}  ' in line), None) for line in lines if '1.000 KiB' in line and '…' in line]
    equal(sorted(map(str, ends)), sorted(ENDS), f'rows of paths that begin alike show their ends in {columns} columns')
    equal({width(line) <= columns for line in lines}, {True}, f'and fit into {columns}')
shown = run('query', PATHS, '--kind', 'peak', '--by', 'span', '--format', 'table')[1]
equal([shown.count(' / '.join(['root', 'measured', *DEEP, e]) + '  ') for e in ENDS], [1, 1, 1], 'without a terminal each path is whole')
HUGE = folder.put('huge.jsonl', region(
    *(start(f'h{i}', f'h{i - 1}' if i else 'm', f'{i}' * 400, 100) for i in range(3)),
    *(record for i, name in enumerate(ENDS) for record in (
        start(f'e{i}', 'h2', name, 200 + 10 * i), memory('alloc', 201 + 10 * i, f's{i}', 1024, f'e{i}'), end(f'e{i}', 5))),
    *(end(f'h{i}', 900) for i in (2, 1, 0))))
equal(sorted(row['name'] for row in query(HUGE, 'peak', '--by', 'span')['rows']),
      sorted(f'… / {"1" * 400} / {"2" * 400} / {e}' for e in ENDS), 'a path of more than a thousand bytes: its outer names are left out')
WORDS = folder.put('words.jsonl', region(start('s', 'm', LONG, 100), end('s', 300)))
shown = CODES.sub('', terminal('query', WORDS, '--kind', 'slowest-host', columns=73)[1])
row = next(line for line in shown.split('\n') if re.match(r' +s +a', line))
ok(re.search(r' a[a-z_]*…[a-z_]*no_room_ ', row), 'a name loses its middle', shown)
ok(re.search(r' measured_[a-z]*… ', row), 'a word of the format its end', shown)
shown = CODES.sub('', terminal('overview', WORDS, columns=80)[1])
ok(re.search(r'\n  largest_[a-z_]*…  "m[^…\n]*…  ', shown), 'a sentence too', shown)
ok('host self time' in terminal('query', TRACE, '--kind', 'slowest-host', columns=40)[1], 'where no row fits, its members stand below one another')

# ---- units: 1,048,576 bytes are a MiB, a thousand nanoseconds a microsecond ----
BYTES = {0: '0 B', 1: '1 B', 1023: '1023 B', 1024: '1.000 KiB', 1536: '1.500 KiB', 10239: '9.999 KiB', 102400: '100.0 KiB',
         1048575: '1.000 MiB', 1048576: '1.000 MiB', 3 * 2**30: '3.000 GiB', 2**40: '1.000 TiB', 2**64 - 1: '16.00 EiB'}
for number, expected in BYTES.items():
    path = folder.put('bytes.jsonl', region(memory('alloc', 200, 's', number)))
    lines = run('query', path, '--kind', 'memory', '--format', 'table')[1].split('\n')
    shown = next(line for line in lines if line.startswith('  total allocated'))
    equal(shown.split(None, 2)[2], expected, f'{number} bytes')
NANOSECONDS = {1: '1 ns', 999: '999 ns', 1000: '1.000 µs', 12345: '12.35 µs', 123456: '123.5 µs', 999949: '999.9 µs', 999950: '1.000 ms',
               999999: '1.000 ms', 1500000: '1.500 ms', 2 * 10**9: '2.000 s', 3600 * 10**9: '3600 s'}
for number, expected in NANOSECONDS.items():
    path = folder.put('ns.jsonl', [
        *region()[:1], start('r', None, 'root', 0), start('m', 'r', 'measured', 0, measured=True), end('m', number), end('r', number),
        dict(kind='terminal', outcome='complete', timestamp_ns=number)])
    lines = run('query', path, '--kind', 'slowest-host', '--format', 'table')[1].split('\n')
    shown = next(line for line in lines if line.startswith('  outer wall time'))
    equal(shown.split(None, 3)[3], expected, f'{number} nanoseconds')

# ---- the same facts: every number and text of the JSON is in the table ----
facts = query(TRACE, 'slowest-host')
table = run('query', TRACE, '--kind', 'slowest-host', '--format', 'table')[1]
ok(all(row['id'] in table and row['scope'] in table for row in facts['slowest_host_spans']), 'rows of slowest-host')
equal(run('query', TRACE, '--kind', 'tensor-stats', '--format', 'table')[1].split('\n')[0], '1 of 1', 'a page says how much of what it is')
MANY = folder.put('many.jsonl', region(*[stats(f'l{i:03}') for i in range(300)]))
equal([run('query', MANY, '--kind', 'tensor-stats', '--format', 'table', *words)[1].split('\n')[0] for words in (
    [], ['--offset', '290'], ['--label-prefix', 'l1', '--limit', '10', '--offset', '5'])],
    ['50 of 300; more: --offset 50', '10 of 300, from 290 on', '10 of 100 that match, 300 in all, from 5 on; more: --offset 15'], 'captions of pages')
lines = terminal('query', MANY, '--kind', 'tensor-stats', '--limit', '300')[1].split('\n')
equal((sum(line.startswith('  m ') for line in lines), [line for line in lines if '…' in line]),
      (100, ['  … 200 more: --format json has them all']), 'a long table is cut on a terminal, and says so')
equal(sum(line.startswith('  m ') for line in run('query', MANY, '--kind', 'tensor-stats', '--limit', '300', '--format', 'table')[1].split('\n')), 300,
      'and is whole elsewhere')


# ---- CSV ----
def rows(path, kind, *words):
    status, out, err = run('query', path, '--kind', kind, '--format', 'csv', *words)
    ok(status == 0 and (out == '' or out.endswith('\r\n')), f'{kind} as CSV', err)
    return list(csv.reader(io.StringIO(out, newline='')))


ODD = 'comma, "quote"\nand a line'
path = folder.put('odd.jsonl', region(stats(ODD), stats('b', shape=[], elements=1, non_finite=1)))
equal(rows(path, 'tensor-stats'), [['span_id', 'label', 'shape', 'dtype', 'elements', 'non_finite', 'rms', 'abs_max', 'mean'],
                                   ['m', ODD, '2', 'f32', '2', '0', '1.5', '2.0', '-0.5'], ['m', 'b', '', 'f32', '1', '1', '1.5', '2.0', '-0.5']],
      'CSV: names, numbers in full, quoted texts')
equal(rows(path, 'gradients'), [], 'CSV without rows is empty')
got = rows(TRACE, 'memory')
equal((got[0][0], sorted({row[0] for row in got[1:]})),
      ('list', ['logical.by_device', 'logical.lifetimes', 'logical.peak.live_allocations', 'logical.timeline', 'physical.by_device', 'physical.timeline']),
      'CSV of several lists: a column says which')
names = got[0]
life = [dict(zip(names, row)) for row in got if row[0] == 'logical.lifetimes']
equal([(r['storage_id'], r['bytes'], r['start_timestamp_ns'], r['op_name']) for r in life],
      [('s1', '3145728', '200', ''), ('s2', '1023', '300', '')], 'CSV: null is an empty field')
equal([row[0] for row in rows(TRACE, 'capabilities')][:3], ['name', 'structural_trace', 'outer_wall_time'], 'CSV of the capability matrix')
equal(len(rows(MANY, 'tensor-stats')), 51, 'CSV follows the pages')
whole = folder('all.csv')
run('query', MANY, '--kind', 'tensor-stats', '--format', 'csv', '--all', '-o', whole)
equal(len(open(whole, newline='').read().split('\r\n')), 302, 'CSV of all rows into a file')
done()
