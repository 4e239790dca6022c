#!/usr/bin/env python3
"""query oom, leaks, temporaries, peak, churn, ledger: on recordings of a program with one planted fault each (tests/programs/memory_faults.c), whose size it
prints: found, its size exact, nothing else reported; also in a fork and in a killed process. Then options, filters, suppressions on traces made here."""
import csv
import io
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
from cli import PROGRAM, Folder, done, equal, failed, memory, ok, op, query, region, run, start, end  # noqa: E402
from check_trace import check  # noqa: E402
from harness import Run, program  # noqa: E402

folder = Folder()
MIB = 1 << 20
STEP = ['train_step', 'forward']  # below the program and its process


def record(fault, **more):
    """The recorded program, and what it printed after a word: {'leaked': 921600}."""
    result = Run([program('memory_faults'), fault], SIM_MEM_MB=64, **more)
    words = result.out.decode().split()
    said = {word: int(value) for word, value in zip(words, words[1:]) if value.lstrip('-').isdigit()}
    return result, said


def groups(path, kind, *words):
    """Rows of a kind, by what they are called, whatever the program's own names above are."""
    return {row['name']: row for row in query(path, kind, '--by', 'span', *words)['rows']}


def below_process(rows):
    return {' / '.join(name.split(' / ')[2:]): row for name, row in rows.items()}


# ---- planted leak ----
result, said = record('leak')
trace = result.traces[0]
equal((check(trace), said), ([], dict(leaked=3 * 300 * 1024)), 'leak: a valid trace, and what was leaked')
for words in ([], ['--after-steps', '1'], ['--after-steps', '2', '--step-span', 'train_step'], ['--by', 'stack'], ['--by', 'size'], ['--by', 'category']):
    answer = query(trace, 'leaks', *words)
    equal((len(answer['rows']), answer['rows'][0]['bytes'], answer['rows'][0]['storages'], answer['totals']['bytes']), (1, said['leaked'], 3, said['leaked']),
          f'leak: found, nothing else, its size exact {words}')
rows = below_process(groups(trace, 'leaks', '--after-steps', '1'))
equal(list(rows), ['train_step / forward / mask'], 'leak: where')
equal((rows['train_step / forward / mask']['steps'], rows['train_step / forward / mask']['span_path'][2:]), (3, [*STEP, 'mask']), 'leak: in three steps')
equal(query(trace, 'leaks', '--after-steps', '1')['training_steps'], dict(after_steps=1, step_span=None, steps=6), 'leak: steps end with their optimizer')
equal(query(trace, 'oom')['total'], 0, 'leak: nothing failed')

# ---- what the same program does besides ----
temporaries = below_process(groups(trace, 'temporaries'))
equal({name: (row['storages'], row['bytes'], row['share_of_allocations']) for name, row in temporaries.items()}, {'train_step / forward / attention': (18, 18 * 512 * 1024, 1.0)},
      'temporaries: the workspaces, nothing else')
churn = below_process(groups(trace, 'churn'))
equal({name: (row['allocations'], row['allocated_bytes'], row['frees'], row['freed_bytes']) for name, row in churn.items()},
      {'load_model': (4, 12 * MIB, 4, 12 * MIB), 'train_step / forward': (18, 36 * MIB, 18, 36 * MIB), 'train_step / forward / attention': (18, 9 * MIB, 18, 9 * MIB),
       'train_step / forward / mask': (3, 900 * 1024, 0, 0)}, 'churn: every byte, by span')
ok(churn['train_step / forward / mask']['mean_lifetime_ns'] is None and 0 < churn['train_step / forward / attention']['mean_lifetime_ns'] < churn['load_model']['mean_lifetime_ns'],
   'churn: mean lifetimes', churn)
# The peak is in the fifth or sixth step, with the third layer's workspace: all that was leaked is there.
peak = query(trace, 'peak', '--by', 'span')
equal({row['name'].split(' / ')[-1]: row['bytes'] for row in peak['rows']}, dict(load_model=12 * MIB, forward=6 * MIB, mask=said['leaked'], attention=512 * 1024), 'peak: who makes it')
whole = query(trace, 'memory')['logical']['peak']
equal((peak['totals']['bytes'], peak['peak_timestamp_ns']), (whole['live_bytes'], whole['timestamp_ns']), 'peak: the one of the memory profile')
equal(round(sum(row['share_of_peak'] for row in peak['rows']), 9), 1.0, 'peak: shares add up')


# ---- planted out of memory ----
def oom(path, asked, alive, verdict, name, before=20):
    answer = query(path, 'oom')
    equal((answer['total'], len(answer['rows'])), (1, 1), f'{name}: one failure, nothing else')
    row = answer['rows'][0]
    equal((row['operation'], row['api'], row['device'], row['requested_bytes'], row['verdict']), ('cuMemAlloc', 'cuMemAlloc_v2', 'cuda:0', asked, verdict), f'{name}: what was asked for')
    equal(row['span_path'][2:], ['train_step', 'logits'], f'{name}: where')
    live = row['live']
    equal((live['bytes'], live['storages']), (alive, 7), f'{name}: what was alive')
    equal({r['name'].split(' / ')[-1]: r['bytes'] for r in live['by_span']['rows']}, dict(load_model=12 * MIB, forward=6 * MIB), f'{name}: by span')
    equal({r['name']: r['bytes'] for r in live['by_category']['rows']}, dict(activation=6 * MIB, other=12 * MIB), f'{name}: by category')
    equal((sum(r['bytes'] for r in live['by_call_site']['rows']), live['by_call_site']['truncated']), (alive, False), f'{name}: by call site')
    equal([(r['bytes'], r['span_path'][-1]) for r in live['largest']['rows']], [(3 * MIB, 'load_model')] * 4 + [(2 * MIB, 'forward')] * 3, f'{name}: the largest first')
    device = row['device_memory']
    equal((device['used_bytes'], device['free_bytes'], device['changes_before_sample'], live['used_and_in_no_storage_bytes']), (alive, 64 * MIB - alive, 0, 0), f'{name}: the device')
    events = [(e['event'], e['bytes']) for e in row['last_events']]
    equal((len(events), events[-3:]), (before, [('alloc', 2 * MIB), ('alloc', 512 * 1024), ('free', 512 * 1024)]), f'{name}: what came before')
    ok(all(e['duration_ns'] is not None for e in row['last_events']), f'{name}: joined with their calls', row['last_events'])
    return row


result, said = record('oom')
oom(result.traces[0], said['asked'], said['alive'], 'more_than_free', 'oom')
equal(query(result.traces[0], 'leaks')['totals']['storages'], 0, 'oom: and no leak')
result, said = record('fragmented', SIM_FAIL='cuMemAlloc_v2:11:2')
oom(result.traces[0], said['asked'], said['alive'], 'fits_in_free', 'fragmented', before=13)
result, said = record('pool')
answer = query(result.traces[0], 'oom')
row = answer['rows'][0]
equal((answer['total'], row['requested_bytes'], row['verdict'], row['pool']), (1, 40 * MIB, 'more_than_free', dict(reserved_bytes=said['held'] + said['kept'], live_bytes=said['kept'], held_back_bytes=said['held'])),
      'pool: what it held back')
equal((row['live']['bytes'], row['live']['used_and_in_no_storage_bytes']), (12 * MIB + said['kept'], said['held']), 'pool: is what the device has in use beyond all storages')
rows = [r for r in query(result.traces[0], 'ledger')['rows'] if r['timestamp_ns'] == row['device_memory']['timestamp_ns']]
equal([(r['logical_bytes'], r['logical_in_pools_bytes'], r['reserved_bytes'], r['attributed_bytes'], r['unattributed_bytes']) for r in rows],
      [(12 * MIB + said['kept'], said['kept'], said['held'] + said['kept'], 12 * MIB + said['held'] + said['kept'], 0)], 'pool: the ledger attributes it')
result, said = record('oom-fork')
equal((len(result.traces), said['child']), (1, 0), 'oom in a fork: the child has a trace')
oom(result.traces[0], said['asked'], said['alive'], 'more_than_free', 'oom in a fork', before=13)
result, said = record('oom-kill')
equal((result.status, result.traces), (-9, []), 'oom in a killed process: no trace yet')
capture = next(f'{result.folder}/work/{name}' for name in result.files if name.endswith('.cgt'))
equal(subprocess.run([PROGRAM, 'recover', capture], capture_output=True).returncode, 0, 'oom in a killed process: recovered')
trace = result.traces[0]
oom(trace, said['asked'], said['alive'], 'more_than_free', 'oom in a killed process')
answer = query(trace, 'leaks', '--by', 'span')
equal((answer['totals']['bytes'], answer['notes']), (12 * MIB, ['the capture failed: the program may have had no chance to free what was alive then']), 'killed: what was alive is no proof of a leak')
equal(run('query', trace, '--kind', 'oom', '--format', 'table')[1].count('failure 1 / live / largest: 7 of 7'), 1, 'as a table')

last = query(trace, 'ledger')['rows'][-1]  # when the allocation failed; others may fall between a call and its record
equal((last['logical_bytes'], last['used_bytes'], last['unattributed_bytes']), (said['alive'], said['alive'], 0), 'ledger of a recovered trace: what is alive is what the device says')

# ---- in the overview and in the report ----
brief = dict(operation='cuMemAlloc', device='cuda:0', requested_bytes=said['asked'], free_bytes=64 * MIB - said['alive'], live_bytes=said['alive'], verdict='more_than_free')
status, out, _ = run('overview', trace)
shown = json.loads(out)['out_of_memory']
equal((shown['total'], {key: shown['rows'][0][key] for key in brief}, shown['rows'][0]['span'].split(' / ')[2:]), (1, brief, ['train_step', 'logits']), 'overview of a failed capture: the failure in brief')
with open(trace, 'rb') as file:
    equal(json.loads(run('overview', '-', stdin=file.read())[1])['out_of_memory'], shown, 'from standard input too')
equal(run('report', trace, '--bundle', folder('bundle'))[0], 0, 'a bundle of it')
equal(json.loads(run('overview', folder('bundle'))[1])['out_of_memory'], shown, 'from a bundle too')
with open(folder('bundle/report.md')) as file:
    report = file.read()
wanted = f"| `cuMemAlloc` | `cuda:0` | `{said['asked']}` | `{64 * MIB - said['alive']}` | `{said['alive']}` |"
ok('\n## Failed allocations\n' in report and wanted in report and 'train_step / logits` |' in report, 'and in its report', report)
equal('out_of_memory' in json.loads(run('overview', record('leak')[0].traces[0])[1]), False, 'nothing failed: no section')

# ---- options ----
FRAMES = dict(id='st:1', frames=[dict(module='/opt/lib/torch.so', offset=16, symbol='grow'), dict(module='/bin/train', offset=32, symbol='main')])
RECORDS = [start('e', 'm', 'encoder', 110), end('e', 900),
           memory('alloc', 200, 'a', 1000, span='e', stack=FRAMES), memory('alloc', 210, 'b', 500, span='e', stack=dict(id='st:1')),
           memory('alloc', 220, 'c', 40, op_name='mm', device='cuda:1'), memory('alloc', 230, 'd', 7, api='cuMemAlloc_v2'), memory('alloc', 240, 'x', 9),
           memory('free', 250, 'x', 9)]
path = folder.put('t.jsonl', region(*RECORDS))


def names(*words, kind='leaks'):
    answer = query(path, kind, *words)
    return [row['name'] for row in answer['rows']]


equal(names(), ['grow', 'mm', 'cuMemAlloc_v2'], 'by call site: the innermost frame, else the operation, else the entry point; most bytes first')
equal([row['frames'] for row in query(path, 'leaks')['rows']], [['grow', 'main'], None, None], 'frames')
equal((query(path, 'leaks')['totals'], query(path, 'leaks')['notes']), (dict(groups=3, storages=4, bytes=1547, storages_with_stack=2), ['some storages have no stack: they are grouped by operation or entry point']), 'totals')
equal(names('--by', 'span'), ['root / measured / encoder', 'root / measured'], 'by span')
equal(names('--by', 'category'), ['activation'], 'by category')
equal(names('--by', 'size'), ['512 to 1023 bytes', '256 to 511 bytes', '32 to 63 bytes', '4 to 7 bytes'], 'by size')
equal(names('--device', 'cuda:1'), ['mm'], 'of one device')
equal(names('--min-bytes', '40'), ['grow', 'mm'], 'at least so many bytes')
equal(query(path, 'leaks', '--min-bytes', '41')['left_out'], dict(minimum_bytes=41, groups=2, storages=2, bytes=47), 'what is left out is said')
equal(names('--label', 'mm'), ['mm'], '--label')
equal(names('--label-prefix', 'cuMem'), ['cuMemAlloc_v2'], '--label-prefix')
equal(names('--limit', '1', '--offset', '1'), ['mm'], 'pages')
equal(names(kind='temporaries'), ['(not known)'], 'temporaries')
equal(names('--within-events', '5', kind='temporaries'), ['(not known)'], 'the others are never freed')
equal((names('--device', 'cuda:1', kind='peak'), query(path, 'peak', '--device', 'cuda:1')['peak_timestamp_ns']), (['mm'], 220), "a device's own peak")
equal([(r['name'], r['allocations'], r['frees'], r['mean_lifetime_ns']) for r in query(path, 'churn')['rows']], [('grow', 2, 0, None), ('mm', 1, 0, None), ('(not known)', 1, 1, 10), ('cuMemAlloc_v2', 1, 0, None)], 'churn')
for kind in ('leaks', 'temporaries', 'peak', 'churn'):
    answer = query(path, kind)
    ok(len(answer['definition']) > 60 and answer['by'] == 'stack', f'{kind}: says by which definition', answer['definition'])
status, out, _ = run('query', path, '--kind', 'leaks', '--format', 'csv')
equal(out.splitlines()[:2], ['name,storages,bytes,largest_bytes,first_timestamp_ns,frames', 'grow,2,1500,1000,200,"grow, main"'], 'CSV')

# ---- suppressions ----
patterns = folder.put('known.txt', '# known\n\n  main  \ncuMem*\nnever\n')
answer = query(path, 'leaks', '--suppressions', patterns)
equal([row['name'] for row in answer['rows']], ['mm'], 'a frame anywhere in the stack, and a pattern')
equal(answer['suppressed'], dict(groups=2, storages=3, bytes=1507, patterns=[dict(pattern='main', groups=1), dict(pattern='cuMem*', groups=1), dict(pattern='never', groups=0)]), 'what each took out')
equal(answer['totals']['bytes'], 1547, 'totals are of all')
equal([row['name'] for row in query(path, 'leaks', '--by', 'span', '--suppressions', folder.put('span.txt', 'encoder\n'))['rows']], ['root / measured'], 'a span by its name')
equal([row['name'] for row in query(path, 'leaks', '--by', 'span', '--suppressions', folder.put('marked.txt', b'\xef\xbb\xbfencoder\r\n'))['rows']], ['root / measured'],
      'a file that begins with a byte order mark')
equal(query(path, 'leaks', '--by', 'span', '--suppressions', folder.put('path.txt', 'root / meas*'))['totals']['groups'], 2, 'a path')
for name, file, status in (('missing', folder('none'), 3), ('a directory', folder.path, 3), ('with a NUL', folder.put('nul.txt', b'a\0b\n'), 3)):
    equal(run('query', path, '--kind', 'leaks', '--suppressions', file)[0], status, f'suppressions: {name}')
equal(run('query', path, '--kind', 'leaks', '--suppressions', patterns, '-o', patterns)[0], 2, 'suppressions are not overwritten')

# ---- what is refused ----
for words, status in ((['--kind', 'leaks', '--within-events', '1'], 2), (['--kind', 'peak', '--suppressions', patterns], 2), (['--kind', 'memory', '--by', 'span'], 2), (['--kind', 'oom', '--by', 'span'], 2),
                      (['--kind', 'leaks', '--by', 'color'], 2), (['--kind', 'leaks', '--after-steps', '0'], 2), (['--kind', 'leaks', '--device', 'cuda:9'], 3), (['--kind', 'leaks', '--step-span', 'none'], 3),
                      (['--kind', 'leaks', '--device', 'encoder'], 3), (['--kind', 'ledger', '--device', 'encoder'], 3), (['--kind', 'leaks', '--step-span', 'cuda:0'], 3)):
    got, out, err = run('query', path, *words)
    ok((got, out, err.count('\n')) == (status, '', 1), f'refused: {" ".join(words)}', (got, err))

# ---- invalid and empty ----
invalid = folder.put('invalid.jsonl', region(memory('free', 300, 'never', 8), memory('alloc', 1200, 'late', 16), op('m', 'alloc', 1300, 5, error=2)))
equal(([r['bytes'] for r in query(invalid, 'leaks')['rows']], query(invalid, 'oom')['total']), ([16], 1), 'an invalid trace is answered too')
empty = folder.put('empty.jsonl', region())
equal([(query(empty, kind)['total'], query(empty, kind).get('notes')) for kind in ('leaks', 'oom')], [(0, ['the trace has no memory records']), (0, None)], 'nothing recorded')
row = query(folder.put('failed.jsonl', region(op('nowhere', 'alloc', 300, 5, error=2), terminal=failed('gone'))), 'oom')['rows'][0]
equal((row['requested_bytes'], row['device_memory'], row['pool'], row['span_path'], row['frames'], row['verdict'], row['last_events']), (None, None, None, None, None, 'not_known', []), 'what is not known is null')
pool = region(memory('alloc', 200, 'a', 100, memory_kind='pool'), memory('alloc', 201, 'b', 30, memory_kind='device'), memory('alloc', 202, 'f', 20, op_name='view'), op('m', 'alloc', 300, 5, error=2, requested_bytes=50),
              dict(kind='device_memory', timestamp_ns=303, device='cuda:0', used_bytes=400, free_bytes=20, reserved_bytes=250))
row = query(folder.put('pool.jsonl', pool), 'oom')['rows'][0]
several = folder.put('several.jsonl', region(*[op('m', f'a|{i}', 300 + i, 1, error=2) for i in range(12)]))
shown = json.loads(run('overview', several)[1])['out_of_memory']
equal((shown['displayed'], shown['total'], shown['rows'][0]['largest_owner']), (5, 12, None), 'overview: five of twelve')
equal(run('report', several, '--bundle', folder('several'))[0], 0, 'a bundle of many failures')
with open(folder('several/report.md')) as file:
    report = file.read()
ok('10 of 12 are shown' in report and report.count('`a\\|') == 10 and '| none | `root / measured` |' in report, 'report: ten of twelve', report)
equal((row['pool'], row['live']['used_and_in_no_storage_bytes']), (dict(reserved_bytes=250, live_bytes=100, held_back_bytes=150), 270), 'what a pool held back')
framework = row['live_of_framework']
equal((framework['storages'], framework['bytes'], [(r['name'], r['share_of_live']) for r in framework['by_call_site']['rows']], [r['storage_id'] for r in framework['largest']['rows']]), (1, 20, [('view', 1.0)], ['f']),
      "what a framework's allocator gave out of it")
equal(query(folder('pool.jsonl'), 'peak')['notes'][0], "some storages are of a framework's allocator and lie within those of the driver: sums count both", 'where both are summed it is said')

status, out, err = run('query', folder('pool.jsonl'), '--kind', 'oom', '--format', 'csv')
brief = list(csv.DictReader(io.StringIO(out)))
equal([(r['timestamp_ns'], r['device'], r['requested_bytes'], r['verdict'], r['live_bytes']) for r in brief],
      [(str(r['timestamp_ns']), r['device'], str(r['requested_bytes']) if r['requested_bytes'] is not None else '', r['verdict'], str(r['live']['bytes'])) for r in query(folder('pool.jsonl'), 'oom')['rows']],
      'oom: CSV, a row for each failure')
ok(len(brief) == 1 and run('query', folder('pool.jsonl'), '--kind', 'oom', '--format', 'csv', '--offset', '1')[:2] == (0, ''), 'oom: CSV of the page behind it')

# ---- ledger ----
ledger = query(folder('pool.jsonl'), 'ledger')
equal(ledger['rows'], [dict(device='cuda:0', timestamp_ns=303, logical_bytes=150, logical_in_pools_bytes=100, logical_of_framework_bytes=20, reserved_bytes=250, used_bytes=400, attributed_bytes=280, unattributed_bytes=120, over_attributed_bytes=0)],
      'ledger: 30 outside of pools and 250 in them are 280 of 400')
equal([(p['plane'], p['clock'], p['records'], p['coverage']['level']) for p in ledger['planes']],
      [('logical', 'host', 3, 'partial'), ('reserved', 'host', 1, 'partial'), ('used', 'host', 1, 'partial'), ('unattributed', 'host', 1, 'partial')], 'ledger: each plane with its clock and coverage')
equal((ledger['most_used'], ledger['most_unattributed'], ledger['devices']), (ledger['rows'], ledger['rows'], [dict(device='cuda:0', samples=1, samples_with_used=1, samples_with_reserved=1)]), 'ledger: its extremes')
equal((query(folder('pool.jsonl'), 'ledger', '--device', 'cuda:0')['total'], run('query', folder('pool.jsonl'), '--kind', 'ledger', '--device', 'cuda:7')[0], query(folder('pool.jsonl'), 'ledger', '--label', 'cuda:1')['matched']), (1, 3, 0), 'ledger: of a device')
answer = query(empty, 'ledger')
equal((answer['rows'], answer['most_used'], [p['coverage']['level'] for p in answer['planes']]), ([], [], ['unavailable'] * 4), 'ledger: nothing recorded, nothing claimed')
many = folder.put('many.jsonl', region(*[dict(kind='device_memory', timestamp_ns=200 + i, device='cuda:0', used_bytes=i) for i in range(120)]))
pages = [query(many, 'ledger', '--offset', str(at)) for at in (0, 50, 100)]
equal(([r['used_bytes'] for page in pages for r in page['rows']], [page['next_offset'] for page in pages]), (list(range(120)), [50, 100, None]), 'ledger: pages')
done()
