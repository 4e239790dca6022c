#!/usr/bin/env python3
"""compare --structure: what differs in labels, operations, kernels and storages between two cohorts; caps, --all, the table, and that comparison/6 stays as it is."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, end, equal, failed, memory, ok, op, region, run, start  # noqa: E402

folder = Folder()
numbers = iter(range(100000))
PARTS = ['labels', 'ops', 'kernels', 'storages_by_label', 'storages_by_category', 'storages_by_call_site']


def launch(name, at):
    return op('m', name, at, 10, grid=[1, 1, 1], block=[32, 1, 1], api='cuLaunchKernel')


def trace(*inside, **changes):
    return folder.put(f't{next(numbers)}.jsonl', region(*inside, run_id=f'run-{next(numbers)}', **changes))


def compare(baseline, candidate, *words):
    status, out, err = run('compare', '--unverified-traces', '--baseline', *baseline, '--candidate', *candidate, *words)
    return json.loads(out) if status == 0 else f'{status} {err}'


def structure(*arguments):
    answer = compare(*arguments, '--structure')
    return answer if isinstance(answer, str) else answer['extensions']['structure']


BEFORE = [start('e', 'm', 'encoder', 120), end('e', 100), launch('gemm', 130), launch('gemm', 150), launch('relu', 170),
          op('m', 'copy', 190, 5, bytes=400), memory('alloc', 200, 's1', 1000, op_name='copy'),
          memory('alloc', 210, 's2', 24, category='gradient', api='cuMemAlloc_v2'), memory('free', 220, 's1', 1000)]
AFTER = [start('e', 'm', 'encoder', 120), end('e', 100), start('f', 'm', 'decoder', 320), end('f', 100), launch('gemm', 130),
         launch('fused "relu" <é>', 170), op('m', 'copy', 190, 5, bytes=500), op('m', 'memset', 195, 1, bytes=8),
         memory('alloc', 200, 's1', 1000, op_name='copy'), memory('alloc', 330, 's3', 2000, op_name='copy', span='f'),
         memory('alloc', 210, 's2', 24, category='gradient', api='cuMemAlloc_v2'), memory('free', 220, 's1', 1000)]
before, after = trace(*BEFORE), trace(*AFTER)


def row(name, change, counts, sizes=None):
    made = dict(name=name, change=change, baseline_count=counts[0], candidate_count=counts[1])
    return dict(made, baseline_bytes=sizes[0], candidate_bytes=sizes[1]) if sizes else made


answer = structure([before], [after])
rows = {part: answer[part]['differences']['rows'] for part in PARTS}
counts = {part: [answer[part][key] for key in ('added', 'removed', 'changed', 'unchanged')] for part in PARTS}
equal(list(answer), ['baseline', 'candidate', *PARTS], 'parts in a fixed order')
equal(rows['labels'], [row('decoder', 'added', (0, 1))], 'labels')
equal(rows['ops'], [row('copy', 'changed', (1, 1), (400, 500)), row('memset', 'added', (0, 1), (0, 8))], 'operations: the larger change first')
equal(rows['kernels'], [row('fused "relu" <é>', 'added', (0, 1)), row('gemm', 'changed', (2, 1)), row('relu', 'removed', (1, 0))], 'kernels: equal changes by name')
equal(rows['storages_by_label'], [row('decoder', 'added', (0, 1), (0, 2000))], 'storages by label')
equal(rows['storages_by_category'], [row('activation', 'changed', (1, 2), (1000, 3000))], 'storages by category')
equal(rows['storages_by_call_site'], [row('copy', 'changed', (1, 2), (1000, 3000))], 'storages by call site')
equal(counts, dict(labels=[1, 0, 0, 3], ops=[1, 0, 1, 0], kernels=[1, 1, 1, 0], storages_by_label=[1, 0, 0, 1], storages_by_category=[0, 0, 1, 1],
                   storages_by_call_site=[0, 0, 1, 1]), 'how many were added, removed, changed, unchanged')
equal((answer['ops']['baseline_coverage'], answer['labels']['candidate_coverage']), ('partial', 'complete'), 'how far each side is covered')
equal([(part, answer[part]['differences']['total']) for part in PARTS if structure([before], [before])[part]['differences']['total']], [], 'a run does not differ from itself')
back = structure([after], [before])
equal([(r['name'], r['change']) for r in back['kernels']['differences']['rows']], [('fused "relu" <é>', 'removed'), ('gemm', 'changed'), ('relu', 'added')], 'the other way round')

# ---- comparison/6 is untouched ----
plain, full = compare([before], [after]), compare([before], [after], '--structure')
equal('extensions' in plain, False, 'no member without the option')
equal({key: value for key, value in full.items() if key != 'extensions'}, plain, 'the rest is as without it')
equal('structure' in compare([before], [after], '--extensions')['extensions'], False, 'only when asked for')

# ---- which run stands for a cohort ----
bad = trace(*BEFORE, terminal=failed('killed'))
other = trace(*AFTER)
answer = structure([bad, before, other, trace(*BEFORE)], [after, other])
equal([answer['baseline'][k] for k in ('position', 'complete', 'runs', 'runs_alike')], [2, True, 4, 3], 'the first complete run; a failed one can have the same structure')
equal([answer['candidate'][k] for k in ('position', 'complete', 'runs', 'runs_alike')], [1, True, 2, 2], 'of the candidate too')
equal(answer['kernels']['changed'], 1, 'and it is compared')
answer = structure([bad], [bad])
equal([answer['baseline'][k] for k in ('position', 'complete', 'runs_alike')], [1, False, 1], 'no complete run: the first')
invalid = trace(*BEFORE, op('m', 'late', 1200, 50))  # after its span has ended
answer = structure([invalid, before], [after])
equal(answer['baseline']['position'], 2, 'an invalid run is passed over')

# ---- verified bundles ----
bundles = []
for path in (before, after):
    bundle = folder(f'b{next(numbers)}')
    equal(run('report', path, '--bundle', bundle)[0], 0, 'a bundle')
    bundles.append(bundle)
status, out, _ = run('compare', '--baseline', bundles[0], '--candidate', bundles[1], '--structure')
verified = json.loads(out)['extensions']['structure']
equal({part: verified[part] for part in PARTS}, {part: structure([before], [after])[part] for part in PARTS}, 'bundles and traces say the same')

# ---- caps ----
many = trace(*[launch(f'k{i:03}', 200 + i) for i in range(45) for _ in range(1 + i % 3)])
answer = structure([many], [before])['kernels']
shown = answer['differences']
equal((shown['displayed'], shown['total'], shown['truncated'], answer['removed']), (20, 47, True, 45), '20 of 47 are shown')
whole = compare([many], [before], '--structure', '--all')['extensions']['structure']['kernels']['differences']
expected = sorted([(1 + i % 3, f'k{i:03}') for i in range(45)] + [(2, 'gemm'), (1, 'relu')], key=lambda r: (-r[0], r[1]))
equal([(abs(r['baseline_count'] - r['candidate_count']), r['name']) for r in whole['rows']], expected, 'with --all every one, the largest change first, ties by name')
equal(whole['rows'][:20], shown['rows'], 'and they begin alike')
equal(compare([many], [before], '--all')[:1], '2', '--all is for --structure')

# ---- the table ----
status, out, _ = run('compare', '--unverified-traces', '--baseline', many, '--candidate', before, '--structure', '--format', 'table')
equal(status, 0, 'a table')
ok('extensions / structure / kernels / differences: 20 of 47' in out, 'it says how many of how many', out)
ok(any(line.split() == ['k002', 'removed', '3', '0'] for line in out.splitlines()), 'and has the rows', out)
ok(any(line.split() == ['copy', 'added', '0', '1', '0', 'B', '400', 'B'] for line in out.splitlines()), 'bytes with their unit', out)
done()
