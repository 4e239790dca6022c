#!/usr/bin/env python3
"""The gpu-* queries on a bundle with reports: figures by hand."""
from nsight import KEYED, NAMES, SUMMARY, TIMELINE, directory, done, document, equal, folder, ok, query, run, trace

P, T, K = ('x_%s.csv' % NAMES[name] for name in ('nvtx_ranges', 'gpu_timeline', 'kernels'))
FILES = {
    P: KEYED + 'a,0,10,1000,100,2,1,,,\nb,20,10,2000,300,1,2,,,\nprep,30,10,3000,5,1,,,,\nother,40,10,4000,6,,,,,\na,50,10,5000,7,1,,,,\n',
    T: TIMELINE + ''.join('%d,%d,%d,1,1,1,1,1,1,32,0,0,,,,,d,1,,7,k\n' % row for row in ((1000, 50, 1), (1040, 20, 1), (2000, 30, 2))),
    K: SUMMARY + ''.join('1.0,%d,1,1.0,1.0,1,1,0.0,k%03d\n' % (1000 - i, i) for i in range(120)),
    'x_cuda_api_sum.csv': 'a,b\n1,2\n',
}


def bundle(files):
    path, source, out = directory(files), trace(expected=['a', 'b', 'c'], cpu_only=['prep']), folder('bundle-of-%d' % len(files))
    equal(run('report', source, '--nsight-dir', path, '--bundle', out)[0], 0, 'published')
    return out


made = bundle(FILES)
status = query(made, 'gpu-status')
equal((status['status'], status['provenance_binding']), ('available', 'partial'), 'gpu-status')
totals = {name: (row['status'], row['total']) for name, row in status['normalized_rows'].items()}
equal(totals, dict(gpu_timeline=('available', 3), kernels=('available', 120), memory_operations=('unavailable', None), projected_ranges=('available', 5),
                   runtime_calls=('failed', None)), 'gpu-status: rows of each report')
correlation = query(made, 'gpu-correlation')
equal((correlation['complete'], correlation['mode'], correlation['clock_aligned']), (False, 'nvtx_projected_range', False), 'gpu-correlation')
phases = query(made, 'gpu-phases')
equal([(r['name'], r['projected_duration_ns'], r['declared_gpu_operations'], r['join_keys']) for r in phases['projected_ranges']['rows']],
      [('b', 300, 1, ['correlation_id']), ('a', 100, 2, ['correlation_id']), ('a', 7, 1, []), ('other', 6, None, []), ('prep', 5, 1, [])],
      'gpu-phases: ranges by projected duration')
equal([(r['semantic_key'], r['gpu_busy_ns'], r['gpu_operation_count']) for r in phases['attributed_phases']['rows']], [('a', 60, 2), ('b', 30, 1)],
      'gpu-phases: phases by busy time')
kernels = query(made, 'gpu-kernels')
equal((kernels['population_total'], kernels['displayed'], kernels['display_truncated'], kernels['rows'][0]['name'], kernels['rows'][0]['total_ns']),
      (120, len(kernels['rows']), True, 'k000', 1000), 'gpu-kernels')
gaps = query(made, 'gpu-attribution-gaps')
equal([gaps[name]['rows'] for name in ('missing_expected', 'unexpected_observed', 'unexpected_cpu_only')], [['c'], ['other'], ['prep']],
      'gpu-attribution-gaps: labels')
equal((gaps['duplicate_labels']['rows'], gaps['projected_range_rows'], gaps['exactly_attributed_phase_rows']),
      ([dict(semantic_key='a', occurrences=2)], 5, 2), 'gpu-attribution-gaps: duplicates and counts')
equal((gaps['matched_without_exact_gpu_busy_attribution']['rows'], gaps['attributed_unexpected']['rows']), ([], []), 'gpu-attribution-gaps: phases')
truncated = gaps['truncated_reports']
equal(truncated['rows'] if isinstance(truncated, dict) else truncated, [dict(report=K, total_rows=120, displayed_rows=100)], 'gpu-attribution-gaps: what was cut')
overview = document('overview', made)
equal((overview['gpu']['attributed_phases']['total'], overview['gpu']['coverage']['gpu_timeline']), (2, True), 'overview')
failed = query(bundle({T: FILES[T], P: 'a,b\n1,2\n'}), 'gpu-phases')
equal((failed['status'], failed['attributed_phases']['rows'], failed['attributed_phases']['population_total']), ('failed', [], None),
      'gpu-phases: a failed report is unknown, not zero')
reports = failed['required_reports']
ok('not zero' in reports[NAMES['nvtx_ranges']]['reason'] and reports[NAMES['gpu_timeline']]['status'] == 'available',
   'gpu-phases: which is said, and for which report', reports)
done()
