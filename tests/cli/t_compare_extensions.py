#!/usr/bin/env python3
"""compare beyond comparison/6: permutation test against every assignment listed here, noise floor, least effects, verdicts, --fail-on."""
import itertools
import json
import math
import os
import random
import sys
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, equal, failed, ok, region, run  # noqa: E402

folder = Folder()
numbers = iter(range(100000))
IDENTITY = dict(implementation_id='i', workload_id='w', model_id='m', config_id='c', data_id='d', seed_policy='s', physical_batch=1, accumulation_steps=1, precision='p', device_state='x')


def cohort(durations, paired=False, **changes):
    paths = []
    for i, duration in enumerate(durations):
        identity = dict(IDENTITY, pair_id=f'p{i:03}') if paired else IDENTITY
        records = region(run_id=f'run-{next(numbers)}', device='cpu', contract=dict(measurement_scope='production_equivalent'), comparison_identity=identity, **changes)
        for record in records:
            if record['kind'] == 'span_end':
                record['duration_ns'] = duration if record['id'] == 'm' else 2**40
            if record['kind'] == 'terminal':
                record['timestamp_ns'] = 2**41
        name = f'b{next(numbers)}'
        assert run('report', folder.put(f'{name}.jsonl', records), '--bundle', folder(name))[0] == 0
        paths.append(folder(name))
    return paths


def compare(baseline, candidate, *words):
    status, out, err = run('compare', '--baseline', *baseline, '--candidate', *candidate, *words)
    return status, json.loads(out) if out else None, err


def extensions(*arguments):
    status, document, err = compare(*arguments)
    return (document or {}).get('extensions') or f'{status} {err}'


def mean(values):
    return Fraction(sum(values), len(values))


def p_unpaired(before, after):
    pool, observed = before + after, abs(mean(after) - mean(before))
    splits = [[pool[i] for i in chosen] for chosen in itertools.combinations(range(len(pool)), len(after))]
    hits = sum(abs(mean(c) - Fraction(sum(pool) - sum(c), len(before))) >= observed for c in splits)
    return hits / len(splits), len(splits)


def p_paired(before, after):
    differences = [c - b for b, c in zip(before, after)]
    sums = [abs(sum(d * s for d, s in zip(differences, signs))) for signs in itertools.product((1, -1), repeat=len(differences))]
    return sum(s >= abs(sum(differences)) for s in sums) / len(sums), len(sums)


# ---- the permutation test ----
FAST, SLOW = [75, 80, 78, 79, 77], [100, 102, 99, 101, 103]
A, B = [1000, 1013, 987, 1044, 1002, 1021], [1001, 990, 1015, 1060, 976, 1008]
equal(p_unpaired(SLOW, FAST), (2 / 252, 252), 'the reference itself: only the two complete separations differ as much')
for before, after in ((SLOW, FAST), (A, B), (SLOW, SLOW), ([2**39] * 5, [2**39 + 1] * 5), ([5, 5, 5, 5, 9], [5, 5, 5, 9, 9, 9, 4])):
    test = extensions(cohort(before), cohort(after), '--extensions')['permutation_test']
    p, count = p_unpaired(before, after)
    equal(test, dict(statistic='difference_of_means', method='exact', assignments=count, p_value=p, standard_error=0.0), f'unpaired {before} and {after}')
for before, after in ((A, B), ([200, 210, 205, 220, 215], [207, 211, 213, 222, 218]), (SLOW, SLOW)):
    test = extensions(cohort(before, True), cohort(after, True), '--extensions')['permutation_test']
    p, count = p_paired(before, after)
    equal(test, dict(statistic='difference_of_means', method='exact', assignments=count, p_value=p, standard_error=0.0), f'paired {before} and {after}')
chance = random.Random(3)
before, after = [chance.randrange(900, 1100) for _ in range(13)], [chance.randrange(930, 1130) for _ in range(13)]
large = cohort(before), cohort(after)
answer = extensions(*large, '--extensions')
test, exact = answer['permutation_test'], p_unpaired(before, after)[0] if math.comb(26, 13) < 1 else None
equal((test['method'], test['assignments'], math.comb(26, 13) > 4000000), ('monte_carlo', 100000, True), 'too many assignments: drawn')
# The reference: another generator, ten times fewer draws; six standard errors of both.
pool, observed, hits = before + after, abs(sum(after) - sum(before)), 0
for _ in range(10000):
    chance.shuffle(pool)
    hits += abs(sum(pool[:13]) - sum(pool[13:])) >= observed
ok(abs(test['p_value'] - hits / 10000) < 6 * (test['standard_error'] + math.sqrt(max(hits, 1) / 10000 / 10000)), 'near what other draws give', (test, hits))
equal(test['standard_error'], math.sqrt(test['p_value'] * (1 - test['p_value']) / 100000), 'its standard error')
equal(extensions(*large, '--extensions'), answer, 'the same each time')

# ---- only when asked for, and nothing else changes ----
S, F = cohort(SLOW), cohort(FAST)
plain, full = compare(S, F)[1], compare(S, F, '--extensions')[1]
equal('extensions' in plain, False, 'no member without an option of ours')
equal((list(full)[-1], {key: value for key, value in full.items() if key != 'extensions'}), ('extensions', plain), 'one member more, at the end')


# ---- verdicts ----
def verdict(*arguments):
    answer = extensions(*arguments)
    return answer if isinstance(answer, str) else (answer['verdict'], [reason['code'] for reason in answer['reasons']])


equal(verdict(S, F, '--extensions'), ('faster', ['difference_established']), 'faster')
equal(verdict(F, S, '--extensions'), ('slower', ['difference_established']), 'slower')
equal(verdict(cohort(A), cohort(B), '--extensions'), ('inconclusive', ['interval_contains_zero', 'p_value_above_level']), 'inconclusive')
equal(verdict(S, cohort(FAST[:4]), '--extensions'), ('not_comparable', ['cohorts_not_comparable']), 'not comparable')
equal(extensions(S, cohort(FAST[:4]), '--extensions')['permutation_test'], None, 'and no test')
# The interval is -26 to -20, the median difference -23, the baseline's median 101.
equal(verdict(S, F, '--min-effect-ns', '22'), ('faster', ['difference_established']), 'beyond the least effect')
equal(verdict(S, F, '--min-effect-ns', '23'), ('inconclusive', ['below_threshold']), 'not beyond it')
equal(verdict(S, F, '--min-effect-ns', '26'), ('same', ['within_threshold']), 'all of the interval within it')
equal(verdict(S, F, '--min-effect', '22'), ('faster', ['difference_established']), '22 % of 101 is 22.22')
equal(verdict(S, F, '--min-effect', '25.8'), ('same', ['within_threshold']), '25.8 % of 101 is 26.058')
answer = extensions(S, F, '--min-effect', '1', '--min-effect-ns', '7')
equal(answer['minimum_effect'], dict(percent=1.0, ns=7, threshold_ns=7.0), 'the greater of both counts')
# Pairs that are all slower, but only five: 2 of 32 assignments.
equal(verdict(cohort([200, 210, 205, 220, 215], True), cohort([207, 211, 213, 222, 218], True), '--extensions'), ('inconclusive', ['p_value_above_level']), 'five pairs cannot establish it')

# ---- noise ----
N = cohort([101, 99, 104, 100, 102])
answer = extensions(S, F, '--noise', *N)
noise = compare(S, N)[1]
interval = noise['confidence_interval']
floor = max(-interval['lower_delta_ns'], interval['upper_delta_ns'])
equal(answer['noise'], dict(runs=5, median_ns=101.0, median_delta_ns=0.0, floor_ns=floor, reasons=[]), 'the noise floor is the far end of the interval of baseline against noise')
equal((answer['verdict'], answer['minimum_effect']['threshold_ns']), ('faster', floor), 'and a least effect')
equal(verdict(S, cohort([d + 2 for d in SLOW]), '--noise', *cohort([d + 40 for d in SLOW])), ('same', ['within_threshold']), 'a difference within noise')
answer = extensions(S, F, '--noise', *cohort([100] * 4))
equal((answer['verdict'], [r['code'] for r in answer['reasons']], answer['noise']['floor_ns'], answer['noise']['reasons']), ('not_comparable', ['noise_not_comparable'], None, ['insufficient_runs']), 'noise that cannot be compared')
equal(extensions(S, F, '--extensions')['noise'], None, 'none given')
equal(compare(S, F, '--noise', folder('none'))[0], 3, 'a noise bundle that is not there')
equal(compare(S, F, '--noise', *N, '-o', N[0] + '/x')[0], 2, 'nothing is written into one')

# ---- warnings ----
equal([w['code'] for w in extensions(S, F, '--extensions')['warnings']], ['few_runs'], 'fewer than ten runs')
equal(extensions(*large, '--extensions')['warnings'], [], 'ten and more')

# ---- --fail-on slower ----
for name, arguments, expected in (('slower', (F, S), 1), ('faster', (S, F), 0), ('inconclusive', (cohort(A), cohort(B)), 0), ('not comparable', (S, cohort(FAST[:4])), 1)):
    status, document, err = compare(*arguments, '--fail-on', 'slower')
    ok(status == expected and document['extensions']['verdict'] == name.replace(' ', '_') and err.count('\n') == expected, f'--fail-on slower: {name} gives {expected}, after writing', err)
equal(compare(F, S, '--fail-on', 'slower', '--min-effect', '50')[0], 0, 'slower by less than matters passes')
equal(compare(S, F, '--fail-on', 'faster')[0], 2, 'no other word')
for value in ('', '-1', 'x', '1x', 'inf', 'nan', ' 1', '+1', '0x10', '.', '1000000.5'):
    equal(compare(S, F, f'--min-effect={value}')[0], 2, f'--min-effect {value!r} is refused')
equal((compare(S, F, '--min-effect-ns', '1.5')[0], compare(S, F, '--min-effect', '0')[0]), (2, 0), 'whole nanoseconds; 0 is allowed')
done()
