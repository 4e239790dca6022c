#!/usr/bin/env python3
"""Every conformance cohort, published as bundles and compared, against the answer of an independent implementation: equal to the last bit."""
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
from tap import done, equal, ok  # noqa: E402

PROGRAM = os.path.join(os.environ.get('BUILD', 'build'), 'cg-analyze')


def bits(value):
    """The value with doubles as their 64 bits, so that equality is that of every bit (and 1 is not 1.0)."""
    if isinstance(value, float):
        return struct.pack('>d', value).hex()
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    return [bits(item) for item in value] if isinstance(value, list) else value


def reduced(comparison):
    """Run ids instead of receipts, codes instead of reasons with messages."""
    inputs = comparison['inputs']
    for cohort in ('baseline', 'candidate'):
        inputs[cohort] = [run['run_id'] for run in inputs[cohort]]
    comparison['reasons'] = [{'code': reason['code']} for reason in comparison['reasons']]
    return comparison


def cohort(folder, case, side):
    """The bundles of one cohort, made in name order of their traces."""
    bundles = []
    for trace in sorted(glob.glob(os.path.join(case, side + '-*.jsonl'))):
        bundle = os.path.join(folder, os.path.basename(case) + '-' + os.path.basename(trace))
        subprocess.run([PROGRAM, 'report', trace, '--bundle', bundle], check=True, stdout=subprocess.DEVNULL)
        bundles.append(bundle)
    return bundles


with tempfile.TemporaryDirectory() as folder:
    cases = sorted(glob.glob(os.path.join(HERE, 'compare', '*')))
    ok(cases, 'there are cases')
    for case in cases:
        name = os.path.basename(case)
        baseline, candidate = cohort(folder, case, 'base'), cohort(folder, case, 'cand')
        answer = subprocess.run([PROGRAM, 'compare', '--baseline', *baseline, '--candidate', *candidate],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if not ok(answer.returncode == 0, f'{name}: compared', answer.stderr.decode()):
            continue
        with open(os.path.join(case, 'expected.json'), encoding='utf-8') as file:
            expected = json.load(file)
        ours = reduced(json.loads(answer.stdout))
        equal(sorted(ours), sorted(expected), f'{name}: the members')
        for member in sorted(expected):
            equal(bits(ours.get(member)), bits(expected[member]), f'{name}: {member}')
done()
