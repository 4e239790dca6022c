#!/usr/bin/env python3
"""Rules for reports, rows, labels and phases: the worked cases and the edges. Expected values are by hand."""
import os

from nsight import KEYED, NAMES, PROJECTION, SUMMARY, TIMELINE, directory, done, equal, gpu, ok, packet, run, trace

K, R, M, P, T = ('x_%s.csv' % NAMES[name] for name in ('kernels', 'runtime_calls', 'memory_operations', 'nvtx_ranges', 'gpu_timeline'))
FLAGS = dict(zip(('kernel_summary', 'runtime_summary', 'memory_summary', 'nvtx_projection', 'gpu_timeline'), (K, R, M, P, T)))
SHORT = 'Total Time (ns),Instances,Name\n'


def real(name, operations='3', start=1000, duration=500, original=100):
    return '%s,%d,%d,%d,200,PushPop,1,1,%s,0,0,1,,:1\n' % (name, start, duration, original, operations)


def keyed(name, start, duration, operations, correlation='', device='', context='', stream=''):
    return '%s,%d,%d,%d,%d,%s,%s,%s,%s,%s\n' % (name, start, duration, start, duration, operations, correlation, device, context, stream)


def busy(start, duration, correlation='', device='d', context='1', stream='7', name='k'):
    return '%d,%d,%s,1,1,1,1,1,1,32,0,0,,,,,%s,%s,,%s,%s\n' % (start, duration, correlation, device, context, stream, name)


def covered(result):
    return sorted(name for name, flag in result['coverage'].items() if flag)


# ---- statuses ----
got = gpu({K: SUMMARY})
equal((covered(got), got['limits'], got['status'], got['diagnostics']),
      (['kernel_summary'], {K: dict(total_rows=0, displayed_rows=0, truncated=False)}, 'unavailable', []), 'header only: a report of no rows')
got = gpu({})
equal((got['status'], covered(got), got['source_csv'], got['limits']), ('unavailable', [], [], {}), 'empty directory')
equal(gpu({'status.txt': 'state=no\r\nreason= no GPU here \r\nreason=2\n'})['reason'], 'no GPU here', 'reason of status.txt')
for title, text in {'empty': '', 'preamble': '\n ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\nSKIPPED: x does not contain CUDA kernel data, none.\n',
                    'words': 'nothing here\n'}.items():
    got = gpu({K: text, R: SHORT + '5,1,call\n'})
    equal((covered(got), got['status'], got['limits'].get(K), len(got['source_csv']), len(got['diagnostics'])),
          (['runtime_summary'], 'available', None, 1, 1), 'absent, not zero: ' + title)
    ok(not any(name in got['diagnostics'][0] for name in NAMES.values()), 'absent is not told as failed: ' + title, got['diagnostics'])
for flag, name in FLAGS.items():
    got = gpu({name: 'Unknown,Value\na,1\n'})
    equal((covered(got), got['status'], len(got['diagnostics'])), ([], 'unavailable', 1), 'unknown header: ' + flag)
    ok(name[2:-4] in got['diagnostics'][0], 'failed report is named: ' + flag, got['diagnostics'])
got = gpu({K: SHORT + 'x,1,a\n', 'y_cuda_gpu_kern_sum.csv': SHORT + '5,1,b\n'})
equal((covered(got), [row['name'] for row in got['kernels']], len(got['diagnostics'])), (['kernel_summary'], ['b'], 1), 'one file failed, one did not')
got = gpu({'x_gpukernsum.csv': SHORT + 'x,1,a\n'})
ok('cuda_gpu_kern_sum' in got['diagnostics'][0], 'old name: the failure is told by the new one', got['diagnostics'])
equal(gpu({'xgpukernsum.csv': SHORT + '5,1,a\n'})['kernels'], [], 'old names are whole words')
equal(covered(gpu({'x_cuda_gpu_kern_sum.CSV': SHORT + '5,1,a\n', '.csv': SHORT})), [], 'other extensions')

# ---- numbers ----
for cell, value in {'"5,000,000"': 5000000, '433.9': 433, '+7': 7, ' 8 ': 8, '18446744073709551615': 2**64 - 1, '1e3': 1000, '1.5E2': 150, '.5': 0,
                    '5.': 5, '0e99': 0, '00012': 12, '1e-400': 0}.items():
    equal([row['total_ns'] for row in gpu({K: SHORT + cell + ',1,a\n'})['kernels']], [value], 'number ' + cell)
for cell in ('garbage', '-1', '-0', '-0.0', 'NaN', 'inf', '18446744073709551616', '1e20', '0x10', '1_0', '1e', '.', '+', '1 2', '9' * 400):
    got = gpu({K: SHORT + '1,1,b\n' + cell + ',1,a\n'})
    equal((got['kernels'], covered(got), len(got['diagnostics'])), ([], [], 1), 'no number: ' + cell[:30])
    ok('line 3' in got['diagnostics'][0], 'line of the defect: ' + cell[:30], got['diagnostics'])
equal(gpu({K: SHORT + '5,,a\n'})['kernels'], [dict(name='a', total_ns=5)], 'empty count: no count')
equal(gpu({K: SHORT + ',1,a\n'})['kernels'], [], 'empty total: failed')
equal(gpu({K: SHORT + '5,x,a\n'})['kernels'], [], 'malformed count: failed')
equal(gpu({K: SHORT + 'x,1, \n5,1,a\n'})['kernels'], [dict(name='a', total_ns=5, count=1)], 'nameless rows are skipped unread')
for unit, factor in dict(ns=1, nsec=1, us=10**3, usec=10**3, ms=10**6, msec=10**6, s=10**9, sec=10**9).items():
    got = gpu({T: 'Start(%s),Duration (%s),Name,CorrId\n1.2345678912,2,a,1\n' % (unit, unit)})['gpu_timeline']
    equal([(row['start_ns'], row['duration_ns']) for row in got], [(12345678912 * factor // 10**10, 2 * factor)], 'unit ' + unit)
equal(covered(gpu({T: 'Start (min),Duration (ns),Name,CorrId\n1,2,a,1\n'})), [], 'unknown unit: no column')
equal(gpu({T: 'Start (ns),Duration (ns),Device,Name\n0,1,"a, ""b""\n c",k\n'})['gpu_timeline'][0]['device'], 'a, "b"\n c', 'quotes, commas and line ends in a cell')

# ---- rows ----
got = gpu({T: TIMELINE + busy(5, 0) + busy(1, 2) + busy(7, 0)})
equal((len(got['gpu_timeline']), got['limits'][T]['total_rows'], len(got['diagnostics']), '2 rows' in got['diagnostics'][0], 'line 2' in got['diagnostics'][0]),
      (1, 1, 1, True, True), 'rows of zero duration are skipped and counted')
got = gpu({P: PROJECTION + real('a', duration=0) + real('b')})
equal([row['name'] for row in got['nvtx_ranges']], ['b'], 'ranges of zero projected duration too')
for cells in ('a,,500,100,200', 'a,1000,,100,200', 'a,1000,500,,200'):
    equal(covered(gpu({P: PROJECTION + cells + ',P,1,1,1,0,0,1,,:1\n'})), [], 'projection without a time: ' + cells)
equal([row['name'] for row in gpu({P: PROJECTION + real(':') + real('a', start=0)})['nvtx_ranges']], ['a'], 'a colon alone is no name; start 0 is a start')
got = gpu({K: ''.join([SHORT, *('%d,1,k%d\n' % (i, i) for i in range(101))])})
equal((len(got['kernels']), got['kernels'][0]['name'], got['kernels'][-1]['name'], got['limits'][K]),
      (100, 'k100', 'k1', dict(total_rows=101, displayed_rows=100, truncated=True)), '101 kernels')
head = 'Total Time (ns),Instances,Avg (ns),Min (ns),Max (ns),Name,Category\n'
got = gpu({K: head + '10,2,5,4,6,a,\n7,1,7,7,7,b,\n20,3,6,2,9,a,\n1,1,1,1,1,a,c\n9,,9,9,9,b,\n', 'y_' + K: head + '100,1,100,100,100,a,\n'})
equal(got['kernels'], [dict(name='a', total_ns=130, count=6, average_ns=21, minimum_ns=2, maximum_ns=100),
                       dict(name='b', total_ns=16, minimum_ns=7, maximum_ns=9), dict(name='a', total_ns=1, count=1, average_ns=1, minimum_ns=1, maximum_ns=1, category='c')],
      'kernels of one name become one row, over all files')
equal([got['limits'][name]['total_rows'] for name in (K, 'y_' + K)], [3, 1], 'rows are counted merged, by file')
equal(covered(gpu({K: SHORT + '18446744073709551615,1,a\n1,1,a\n'})), [], 'a sum over 64 bits fails')
equal([row['name'] for row in gpu({R: SHORT + '1,1,a\n3,1,b\n1,1,c\n3,1,d\n'})['runtime_calls']], ['b', 'd', 'a', 'c'], 'ties keep the order of the file')

# ---- parts ----
both = (' ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n' + SUMMARY + '100.0,5,1,5.0,5.0,5,5,0.0,k\n\n'
        'Processing [x] with ["y"]...\n\n ** CUDA API Summary (cuda_api_sum):\n\n' + SUMMARY.replace('Instances', 'Num Calls') + '100.0,x,1,5.0,5.0,5,5,0.0,c\n'
        ' ** OS Runtime Summary (osrt_sum):\n\n' + SUMMARY + '100.0,9,1,9.0,9.0,9,9,0.0,poll\n ** Memory (gpumemtimesum):\n' + SHORT + '8,1,m\n' + TIMELINE + busy(1, 2))
got = gpu({'all.csv': both})
equal((covered(got), [row['name'] for row in got['kernels'] + got['memory_operations'] + got['gpu_timeline']], len(got['source_csv'])),
      (['gpu_timeline', 'kernel_summary', 'memory_summary'], ['k', 'm', 'k'], 1), 'reports one after another, one of them failed')
equal(sorted(got['limits']), ['all.csv#cuda_gpu_kern_sum', 'all.csv#cuda_gpu_mem_time_sum', 'all.csv#cuda_gpu_trace'], 'limits of parts')
equal(('cuda_api_sum' in got['diagnostics'][0], len(got['diagnostics'])), (True, 1), 'the part that failed')
equal(covered(gpu({'y.csv': SUMMARY + '100.0,5,1,5.0,5.0,5,5,0.0,k\n', 'p.csv': PROJECTION + real('a'), 't.csv': TIMELINE + busy(1, 2)})),
      ['gpu_timeline', 'nvtx_projection'], 'by header: timelines, never a summary')
got = gpu({K: SHORT + '5,1,a\nNOTICE: said, "x\n6,1,b\n\n ** so (what):\n7,1,c\n'})
equal([row['name'] for row in got['kernels']], ['b', 'a'], 'what nsys says between rows is no row; a title ends the report')

# ---- hostile ----
for title, text in {'quote not closed': b'5,1,"a\n', 'text behind a quote': b'5,1,"a"b\n', 'quote in a field': b'5,1,a"b\n', 'NUL': b'5,1,a\0b\n',
                    'not UTF-8': b'5,1,a\xff\n', 'surrogate': b'5,1,\xed\xa0\x80\n', '20 MB cell': b'5,1,' + b'a' * 20000000 + b'\n',
                    '20 MB quoted cell': b'5,1,"' + b'\n' * 20000000 + b'"\n'}.items():
    got = gpu({K: SHORT.encode() + b'9,1,first\n' + text, R: SHORT + '5,1,c\n'})
    equal((got['kernels'], covered(got), len(got['diagnostics']), 'line 3' in got['diagnostics'][0]), ([], ['runtime_summary'], 1, True), 'hostile: ' + title)
got = gpu({K: SHORT + '5,1,a'})
equal(len(got['kernels']), 1, 'last line without an end')
path, source = directory({}), trace()
os.symlink('/etc/passwd', os.path.join(path, K))
equal(run('report', source, '--nsight-dir', path, '--bundle', path + '-bundle')[0], 3, 'a link is refused by a bundle')

# ---- labels ----
LABELS = dict(expected=['pipeline/gpu'], cpu_only=['pipeline/prepare'])


def ledger(text, files=None, **labels):
    got = gpu({P: PROJECTION + text, **(files or {})}, **(labels or LABELS))
    return got['correlation'], got


for name, form in (('pipeline/gpu', 'plain'), (':pipeline/gpu', 'colon')):
    correlation, got = ledger(real(name))
    equal((correlation['complete'], correlation['label_form'], correlation['ledger']['matched'], got['phase_attribution'], got['nvtx_ranges'][0]['name']),
          (True, form, ['pipeline/gpu'], [], name), 'real projection alone is complete: ' + form)
correlation, _ = ledger(real('pipeline/gpu') + real('pipeline/prepare'))
equal((correlation['complete'], correlation['ledger']['unexpected_cpu_only'], correlation['ledger']['unexpected_observed']), (False, ['pipeline/prepare'], []),
      'a label of the CPU was projected')
correlation, got = ledger(real('pipeline/gpu') + real(':pipeline/gpu') + real('other') + real('::x'))
equal((correlation['label_form'], correlation['ledger']['duplicates'], correlation['ledger']['unexpected_observed'], len(got['diagnostics'])),
      ('mixed', [dict(semantic_key='pipeline/gpu', occurrences=2)], [':x', 'other'], 1), 'both forms are one label')
correlation, _ = ledger(real('a'), expected=['a', 'b'])
equal((correlation['complete'], correlation['ledger']['matched'], correlation['ledger']['missing_expected']), (False, ['a'], ['b']), 'one label is missing')
correlation, _ = ledger(real(':a'), expected=[':a'])
equal((correlation['complete'], correlation['label_form'], correlation['ledger']['matched']), (True, 'plain', [':a']), 'a label that itself begins with a colon')
correlation, _ = ledger(real('a', '0'), expected=['a'])
equal(correlation['complete'], False, 'no operations: the count fails')
correlation, _ = ledger(real('a', ''), expected=['a'])
equal(correlation['complete'], True, 'operations not told: relies on the projection')
correlation, _ = ledger(real('a'), required=[])
ok(not correlation['complete'] and 'nothing was expected' in correlation['reason'], 'nothing expected', correlation)
got = gpu({K: SHORT + '5,1,a\n'}, expected=['a'], cpu_only=['b'])['correlation']
equal((got['mode'], got['complete'], got['ledger']), ('none', False, dict(expected=['a'], cpu_only=['b'], observed=[], matched=[], missing_expected=['a'],
                                                                          unexpected_observed=[], duplicates=[])), 'no projection')

# ---- phases ----


def phases(ranges, operations, **labels):
    got = gpu({P: KEYED + ranges, T: TIMELINE + operations}, **labels)
    return [(row['semantic_key'], row['gpu_busy_ns'], row['gpu_operation_count'], row['join_keys']) for row in got['phase_attribution']], got['correlation']


rows, _ = phases(keyed('a', 0, 100, 2, '1'), busy(0, 70, '1') + busy(40, 60, '1') + busy(0, 100, '2'), expected=['a'])
equal(rows, [('a', 100, 2, ['correlation_id'])], 'union of overlapping operations')
rows, _ = phases(keyed('a', 25, 50, 2, '1'), busy(0, 70, '1') + busy(40, 60, '1'), expected=['a'])
equal(rows, [('a', 50, 2, ['correlation_id'])], 'clipped to the range')
rows, correlation = phases(keyed('a', 0, 100, 1, '1'), ''.join(busy(10 * i, 5, '1') for i in range(5)), expected=['a'])
equal((rows, correlation['complete'], 'distinct' in correlation['reason']), ([('a', 25, 5, ['correlation_id'])], True, True), 'a graph: one id, five rows')
rows, correlation = phases(keyed('a', 0, 100, 3, '1'), busy(0, 5, '1'), expected=['a'])
equal((rows, correlation['complete']), ([], False), 'an operation is missing')
rows, _ = phases(keyed('a', 100, 100, 0, '1'), busy(0, 100, '1') + busy(200, 9, '1'), expected=['a'])
equal(rows, [('a', 0, 0, ['correlation_id'])], 'touching is not joining; none declared, none joined')
rows, _ = phases(keyed('a', 0, 100, 2, '', 'd', '1', '7') + keyed('b', 50, 100, 3, '', 'd'),
                 busy(0, 10, '1') + busy(20, 10, '2', stream='8') + busy(90, 20, '3') + busy(95, 5, '4', device='e') + busy(140, 20, '5', stream='9')
                 + busy(60, 5, '6', context='2'), expected=['a', 'b'])
equal(rows, [('a', 20, 2, ['device', 'context', 'stream']), ('b', 35, 3, ['device'])], 'every key that the range has must agree')
rows, _ = phases(keyed('a', 0, 100, 2, '', 'd'), busy(0, 9, '1') + busy(10, 9, '1') + busy(20, 9, '2'), expected=['a'])
equal(rows, [('a', 27, 3, ['device'])], 'two ids in three rows')
rows, _ = phases(keyed('a', 0, 100, 3, '', 'd'), busy(0, 9, '1') + busy(10, 9, '1') + busy(20, 9, '') + busy(40, 9, ''), expected=['a'])
equal(rows, [('a', 36, 4, ['device'])], 'rows without an id count by themselves')
rows, _ = phases(keyed('a', 2**64 - 11, 2**63, 1, '1'), busy(2**64 - 6, 2**63, '1'), expected=['a'])
equal(rows, [('a', 5, 1, ['correlation_id'])], 'ends beyond 64 bits are cut')
labels = ['l%03d' % i for i in range(501)]
result = packet({P: KEYED + ''.join(keyed(l, 10 * i, 10, 1, str(i)) for i, l in enumerate(labels)),
                 T: TIMELINE + ''.join(busy(10 * i, 5, str(i)) for i in range(501))}, expected=labels)
got = result['gpu']
equal((got['correlation']['complete'], len(got['nvtx_ranges']), got['limits'][P], len(got['phase_attribution'])),
      (True, 500, dict(total_rows=501, displayed_rows=500, truncated=True), 501), '501 labels: cut for display, complete all the same')
done()
