#!/usr/bin/env python3
"""Every conformance trace through `cg-analyze import`, reduced to codes, levels and numbers, against the
answers of an independent implementation."""
import glob
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'tools')]
import tap  # noqa: E402
from reduce import reduce  # noqa: E402

PROGRAM = os.path.join(os.environ.get('BUILD', 'build'), 'cg-analyze')


def first_difference(path, ours, theirs):
    """Where two JSON values differ first, in words; None when they are equal. A bool is no number."""
    if type(ours) is not type(theirs):
        return f'{path}: {ours!r} instead of {theirs!r}'
    if isinstance(ours, dict):
        for key in sorted(set(ours) | set(theirs)):
            if key not in ours or key not in theirs:
                return f'{path}.{key}: {"missing" if key in theirs else "not expected"}'
            if difference := first_difference(f'{path}.{key}', ours[key], theirs[key]):
                return difference
        return None
    if isinstance(ours, list):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if difference := first_difference(f'{path}[{i}]', a, b):
                return difference
        return None if len(ours) == len(theirs) else f'{path}: {len(ours)} rows instead of {len(theirs)}'
    return None if ours == theirs or close(ours, theirs) else f'{path}: {ours!r} instead of {theirs!r}'


def close(ours, theirs):
    """Measurements: the other implementation reads some decimals one place off, so two units are allowed."""
    return isinstance(ours, float) and isinstance(theirs, float) and abs(ours - theirs) <= 2 * math.ulp(theirs)


def measurements(packet, trace):
    """The first measurement of the packet that is not exactly what the trace says."""
    with open(trace, 'rb') as file:
        records = [json.loads(line.decode('utf-8')) for line in file if line.strip()]
    stats = [r for r in records if r['kind'] == 'tensor_stats']
    for row, (ours, record) in enumerate(zip(packet['tensor_stats'], stats, strict=True)):
        for field in ('rms', 'abs_max', 'mean'):
            if ours[field] != record[field]:
                return f'tensor_stats[{row}].{field}: {ours[field]!r} instead of {record[field]!r}'
    if 'graph' in packet:
        gradients = [r.get('norm') for r in records if r['kind'] == 'gradient']
        for row, (ours, norm) in enumerate(zip(packet['graph']['gradients'], gradients, strict=True)):
            if ours.get('norm') != norm:
                return f'gradients[{row}].norm: {ours.get("norm")!r} instead of {norm!r}'
    return None


def judge(trace, expected):
    run = subprocess.run([PROGRAM, 'import', trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if expected.get('rejected'):
        if run.returncode != 3 or run.stdout:
            return f'exit status {run.returncode} instead of 3, {len(run.stdout)} bytes on standard output'
        lines = run.stderr.decode().splitlines()
        return None if len(lines) == 1 else f'{len(lines)} lines on standard error instead of one'
    if run.returncode != 0:
        return f'exit status {run.returncode} instead of 0: {run.stderr.decode().strip()}'
    packet = reduce(json.loads(run.stdout))
    return measurements(packet, trace) or first_difference('packet', packet, expected)


def main():
    expectations = sorted(glob.glob(os.path.join(HERE, 'expected', '*.json')))
    for path in expectations:
        name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding='utf-8') as file:
            expected = json.load(file)
        fault = judge(os.path.join(HERE, 'traces', name + '.jsonl'), expected)
        tap.ok(not fault, name, fault)
    tap.done()


if __name__ == '__main__':
    main()
