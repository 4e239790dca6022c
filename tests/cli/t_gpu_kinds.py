#!/usr/bin/env python3
"""The gpu-* kinds on a raw trace: unavailable, every member there, nothing that looks like a zero (doc/spec/cli.md 4.4 and 6.4)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, equal, ok, query, region  # noqa: E402

folder = Folder()
TRACE = folder.put('t.jsonl', region())

BOUNDED = {'displayed', 'rows', 'total', 'truncated'}


def check(kind, members, reports, nulls):
    """The members of a result, its required reports, and those members that are null."""
    result = query(TRACE, kind)
    equal(list(result), sorted(members), f'{kind}: members')
    equal(sorted(k for k, v in result.items() if v is None), sorted(nulls), f'{kind}: what is not known is null')
    equal((result['status'], result['provenance_binding']), ('unavailable', 'partial'), f'{kind}: status and binding')
    if reports:
        equal({k: v['status'] for k, v in result['required_reports'].items()}, dict.fromkeys(sorted(reports), 'unavailable'),
              f'{kind}: required reports')
        for report, state in result['required_reports'].items():
            ok(list(state) == ['reason', 'status'] and report in state['reason'] and 'not zero' in state['reason'], f'{kind}: reason of {report}',
               state)
        ok(isinstance(result['reason'], str) and all(r in result['reason'] for r in reports), f'{kind}: the reason names the reports in order',
           result['reason'])
    return result


status = check('gpu-status', ['capabilities', 'correlation', 'coverage', 'diagnostics', 'normalized_rows', 'provenance_binding', 'reason',
                              'source_artifacts', 'status'], [], [])
equal({k: v['level'] for k, v in status['capabilities'].items()},
      {'gpu_correlation': 'unavailable', 'provenance_binding': 'unavailable'}, 'gpu-status: capabilities')
equal((status['correlation']['complete'], status['correlation']['status'], sorted(status['correlation'])),
      (None, 'unavailable', ['complete', 'reason', 'status']), 'gpu-status: correlation')
equal(status['coverage'], dict(gpu_timeline=False, kernel_summary=False, memory_summary=False, nvtx_projection=False, runtime_summary=False),
      'gpu-status: coverage')
equal({k: (v['status'], v['total'], sorted(v)) for k, v in status['normalized_rows'].items()},
      {k: ('unavailable', None, ['reason', 'status', 'total'])
       for k in ('gpu_timeline', 'kernels', 'memory_operations', 'projected_ranges', 'runtime_calls')}, 'gpu-status: normalized rows')
equal(status['source_artifacts'], dict(csv_files=0, raw_report=False), 'gpu-status: artifacts')
diagnostics = status['diagnostics']
ok(set(diagnostics) == BOUNDED and diagnostics['rows'] == sorted(set(diagnostics['rows'])) and
   diagnostics['displayed'] == diagnostics['total'] == len(diagnostics['rows']) > 0 and diagnostics['truncated'] is False,
   'gpu-status: diagnostics', diagnostics)

check('gpu-correlation', ['capabilities', 'clock_aligned', 'complete', 'correlation_reason', 'ledger', 'mode', 'provenance_binding', 'reason',
                          'required_reports', 'status'], ['nvtx_gpu_proj_trace'],
      ['clock_aligned', 'complete', 'correlation_reason', 'ledger', 'mode'])

phases = check('gpu-phases', ['attributed_phases', 'clock_plane', 'projected_ranges', 'provenance_binding', 'reason', 'required_reports',
                              'status'], ['nvtx_gpu_proj_trace', 'cuda_gpu_trace'], [])
equal(phases['clock_plane'], 'nsight_projected_not_host_aligned', 'gpu-phases: clock')
reason = phases['projected_ranges'].pop('reason')
equal(phases['projected_ranges'],
      dict(display_truncated=None, displayed=0, global_duration_ranking=False, ordering='projected_duration_ns_desc_within_retained_sample',
           population_total=None, population_truncated_before_ranking=None, retained_sample_total=None, rows=[],
           sample_selection='earliest_original_start_rows', status='unavailable'), 'gpu-phases: projected ranges')
ok('nvtx_gpu_proj_trace' in reason and 'cuda_gpu_trace' not in reason, 'gpu-phases: reason of the ranges alone', reason)
equal(phases['attributed_phases'],
      dict(display_truncated=None, displayed=0, ordering='gpu_busy_ns_desc_across_normalized_population', population_total=None,
           reason=phases['reason'], rows=[], status='unavailable'), 'gpu-phases: attributed phases')

kernels = check('gpu-kernels', ['clock_plane', 'display_truncated', 'displayed', 'population_total', 'provenance_binding', 'reason',
                                'required_reports', 'rows', 'status'], ['cuda_gpu_kern_sum'], ['display_truncated', 'population_total'])
equal((kernels['clock_plane'], kernels['displayed'], kernels['rows']), ('nsight_gpu', 0, []), 'gpu-kernels: no rows')

gaps = check('gpu-attribution-gaps',
             ['attributed_unexpected', 'correlation_complete', 'correlation_reason', 'diagnostics', 'duplicate_labels',
              'exactly_attributed_phase_rows', 'matched_without_exact_gpu_busy_attribution', 'missing_expected', 'projected_range_rows',
              'provenance_binding', 'reason', 'required_reports', 'status', 'truncated_reports', 'unexpected_cpu_only', 'unexpected_observed'],
             ['nvtx_gpu_proj_trace', 'cuda_gpu_trace'],
             ['attributed_unexpected', 'correlation_complete', 'correlation_reason', 'duplicate_labels', 'exactly_attributed_phase_rows',
              'matched_without_exact_gpu_busy_attribution', 'missing_expected', 'projected_range_rows', 'truncated_reports',
              'unexpected_cpu_only', 'unexpected_observed'])
equal(gaps['diagnostics'], diagnostics, 'gpu-attribution-gaps: diagnostics are there all the same')
done()
